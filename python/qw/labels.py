"""Labels as people give them: which are unknown, which classes or values they are."""

from __future__ import annotations

import re
import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._lib import fail
from .convert import as_array, is_instance
from .data import Dataset, targets_of


def is_missing(value: Any) -> bool:
    """None, NaN or pandas' NA."""
    if value is None:
        return True
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    return value is getattr(sys.modules.get("pandas"), "NA", object())


def is_unknown(value: Any) -> bool:
    """Whether it stands for no class: a missing one, or -1."""
    if isinstance(value, (bool, np.bool_)):
        return False
    return is_missing(value) or (isinstance(value, (int, float, np.integer, np.floating)) and value == -1)


def check_index(x: Any, y: Any) -> None:
    """Labels in a table belong to the rows of the same index."""
    tables = is_instance(x, "pandas", "DataFrame") and (
        is_instance(y, "pandas", "Series") or is_instance(y, "pandas", "DataFrame")
    )
    if tables and not y.index.equals(x.index):
        raise fail("y must have the index of X")


def _given(y: Any) -> NDArray[Any]:
    # As objects: an array of ["a", None] or ["a", nan] would have the text "nan".
    return np.array(y, dtype=object) if isinstance(y, (list, tuple)) else as_array(y, "y")


def _without_column(array: NDArray[Any]) -> NDArray[Any]:
    if array.ndim != 2 or array.shape[1] != 1:
        return array
    try:
        from sklearn.exceptions import DataConversionWarning as kind
    except ImportError:
        kind = UserWarning
    warnings.warn("A column-vector y was passed when a 1d array was expected", kind, stacklevel=6)
    return array[:, 0]


def labels_of(y: Any, rows: int) -> list[Any]:
    """A label for each node."""
    values: list[Any] = _without_column(_given(y)).ravel().tolist()
    if len(values) != rows:
        raise fail(f"y must have a label for each of {rows} nodes, got {len(values)}")
    return values


def class_targets(y: Any, rows: int) -> tuple[_core.Targets, NDArray[Any]]:
    """Targets, and the classes in ascending order."""
    values = labels_of(y, rows)
    known = [value for value in values if not is_unknown(value)]
    if any(isinstance(value, float) and (not np.isfinite(value) or value != int(value)) for value in known):
        raise fail("Unknown label type: y must be classes; for numbers use NodeRegressor")
    if not known:
        raise fail("y has no label that is known")
    texts = [isinstance(value, str) for value in known]
    if any(texts) and not all(texts):
        text, other = known[texts.index(True)], known[texts.index(False)]
        raise fail(f"y has texts and numbers, such as '{text}' and {other}; give labels of one kind")
    classes, numbers = np.unique(np.array(known), return_inverse=True)
    if len(classes) == 1 and -1 in values:
        raise fail(f"-1 stands for unknown, and all other labels are '{classes[0]}'; name them 0 and 1")
    places = np.full(rows, -1, dtype=np.int32)
    places[[not is_unknown(value) for value in values]] = numbers
    names = [str(int(value) if isinstance(value, float) else value) for value in classes.tolist()]
    return _core.class_targets(places, names), classes


def values_of(y: Any, rows: int) -> NDArray[np.float64]:
    """[rows] or [rows, columns] numbers, NaN where unknown."""
    array = _given(y)
    if array.dtype == object:
        array = np.where(np.frompyfunc(is_missing, 1, 1)(array).astype(bool), np.nan, array)
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise fail(f"y must be numbers: {error}") from error
    numbers = _without_column(numbers)
    if numbers.ndim not in (1, 2) or numbers.shape[0] != rows:
        raise fail(f"y must have a value for each of {rows} nodes, got the shape {list(numbers.shape)}")
    if np.isinf(numbers).any():
        raise fail("y must be finite, or NaN where unknown")
    return numbers


def value_targets(y: Any, rows: int) -> _core.Targets:
    values = values_of(y, rows).reshape(rows, -1)
    names = [str(column) for column in range(values.shape[1])] if values.shape[1] > 1 else []
    return _core.value_targets(values, names, False)


def r2(truth: NDArray[np.float64], found: NDArray[np.float64]) -> float:
    """R2 of the known values, the mean over the columns that have some."""
    if truth.shape != found.shape:
        raise fail(f"y must be {list(found.shape)} as what is predicted, got {list(truth.shape)}")
    scores = []
    for column, predicted in zip(truth.reshape(len(truth), -1).T, found.reshape(len(found), -1).T):
        known = ~np.isnan(column)
        if not known.any():
            continue
        error = np.sum((column[known] - predicted[known]) ** 2)
        spread = np.sum((column[known] - column[known].mean()) ** 2)
        scores.append(1 - error / spread if spread > 0 else float(error == 0))
    if not scores:
        raise fail("y has no value that is known")
    return float(np.mean(scores))


def classes_of(names: list[str], count: int) -> NDArray[Any]:
    """The classes that a run folder or a data set names: whole numbers where all names are."""
    if not names:
        return np.arange(count)
    whole = all(re.fullmatch(r"0|-?[1-9]\d{0,17}", name) for name in names)
    return np.array([int(name) for name in names] if whole else names)


def _targets_in(x: Any, task: str) -> _core.Targets:
    targets = x._data.targets if isinstance(x, Dataset) else targets_of(x.y) if x.y is not None else None
    if targets is None or targets.task != task:
        raise fail(f"X has no labels for {task}; give score y")
    return targets


def classes_in(x: Any) -> list[Any]:
    """A class for each node of a Dataset or a PyG Data object, None where it is unknown."""
    targets = _targets_in(x, "classification")
    classes = classes_of(targets.names, targets.width).tolist()
    return [classes[place] if place >= 0 else None for place in targets.classes.tolist()]


def values_in(x: Any) -> NDArray[np.float64]:
    values = _targets_in(x, "regression").values
    return values[:, 0] if values.shape[1] == 1 else values
