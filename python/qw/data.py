"""Data sets: by name, from files, from arrays and from PyTorch Geometric, and back."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._lib import fail, warn
from .convert import as_array, is_sparse_matrix
from .graph import Graph, as_graph
from .notes import say


@dataclasses.dataclass(frozen=True)
class Split:
    """Numbers of nodes."""

    train: NDArray[np.int32]
    val: NDArray[np.int32]
    test: NDArray[np.int32]


COLUMN = ("name", "role", "type", "values", "missing", "fill")  # what is known of a column of a table


def _column(parts: dict[str, Any]) -> _core.TableColumn:
    made = _core.TableColumn()
    for part, value in parts.items():
        setattr(made, part, value)
    return made


class Dataset:
    """A graph with features and labels of its nodes. Made by load, read_csv, from_pyg and from_arrays."""

    _quoted: list[str] = []  # columns of a DataFrame whose values were written between quotes

    def __init__(self, data: _core.Dataset) -> None:
        self._data = data

    def __getstate__(self) -> dict[str, Any]:
        data, graph, features, targets = self._data, self._data.graph, self._data.features, self._data.targets
        return {
            "graph": (graph.num_nodes, graph.tails, graph.heads, graph.costs, graph.weights, graph.directed),
            "features": (features.columns, features.offsets, features.indices, features.values)
            if features.sparse
            else features.dense,
            "feature_names": features.names,
            "targets": (targets.task, targets.classes, targets.values, targets.names),
            "splits": [(split.train, split.val, split.test) for split in data.splits],
            "columns": [{part: getattr(column, part) for part in COLUMN} for column in data.columns],
            "made_features": data.made_features,
            "of_paper": data.of_paper,
            "texts": {name: getattr(data, name) for name in ("name", "format", "node_ids", "notes", "default_split")},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        data = self._data = _core.Dataset()
        nodes, tails, heads, costs, weights, directed = state["graph"]
        data.graph, _ = _core.build_graph(nodes, np.stack([tails, heads]), costs, weights, directed, "keep", "keep")
        given = state["features"]
        features = _core.sparse_features(*given) if isinstance(given, tuple) else _core.dense_features(given)
        features.names = state["feature_names"]
        data.features = features
        data.columns = [_column(parts) for parts in state.get("columns", [])]
        data.made_features = state["made_features"]
        data.of_paper = state.get("of_paper", False)
        task, classes, values, names = state["targets"]
        if task == "classification":
            data.targets = _core.class_targets(classes, names)
        elif task != "none":
            data.targets = _core.value_targets(values, names, task == "multi-label")
        data.splits = [_core.Split(*parts) for parts in state["splits"]]
        for name, value in state["texts"].items():
            setattr(data, name, value)

    @property
    def name(self) -> str:
        return self._data.name

    @property
    def graph(self) -> Graph:
        return Graph._of(self._data.graph)

    @property
    def num_nodes(self) -> int:
        return self._data.graph.num_nodes

    @property
    def task(self) -> str:
        """none, classification, multi-label or regression."""
        return self._data.targets.task

    @property
    def x(self) -> NDArray[np.float32]:
        """[N, F], dense."""
        features = self._data.features
        if not features.sparse:
            return features.dense
        dense = np.zeros((features.rows, features.columns), dtype=np.float32)
        rows = np.repeat(np.arange(features.rows), np.diff(features.offsets))
        dense[rows, features.indices] = features.values
        return dense

    @property
    def y(self) -> NDArray[Any]:
        """[N] classes, -1 where unknown; or [N, width] values or 0/1 labels, NaN where unknown."""
        targets = self._data.targets
        return targets.classes if targets.task == "classification" else targets.values

    @property
    def num_classes(self) -> int:
        """Columns of what is predicted: classes, labels or values."""
        return self._data.targets.width

    @property
    def class_names(self) -> list[str]:
        return self._data.targets.names or [str(number) for number in range(self.num_classes)]

    @property
    def feature_names(self) -> list[str]:
        return self._data.features.names

    @property
    def node_ids(self) -> list[str]:
        return self._data.node_ids or [str(number) for number in range(self.num_nodes)]

    @property
    def notes(self) -> list[str]:
        """What was guessed or dropped when it was read."""
        return self._data.notes

    def split(self, spec: str = "auto", run: int = 0, seed: int = 1) -> Split:
        """Who trains, validates and tests, as `qw train --split` draws it."""
        drawn = self._data.split(spec, run, seed)
        return Split(drawn.train, drawn.val, drawn.test)

    def to_pyg(self, split: str | None = "auto") -> Any:
        """A torch_geometric Data object, with masks of the split unless that is None."""
        import torch
        from torch_geometric.data import Data

        graph = self.graph
        data = Data(x=torch.tensor(self.x), edge_index=torch.tensor(graph.edge_index))  # in memory of torch
        data.num_nodes = self.num_nodes
        if graph.weights is not None:
            loops = graph.tails == graph.heads
            back = graph.weights if graph.directed else np.concatenate([graph.weights, graph.weights[~loops]])
            data.edge_weight = torch.from_numpy(back.astype(np.float32))
        if self.task == "classification":
            data.y = torch.from_numpy(self.y.astype(np.int64))
        elif self.task != "none":
            data.y = torch.from_numpy(self.y.astype(np.float32))
        if split is not None and self.task != "none":
            drawn = self.split(split)
            for name in ("train", "val", "test"):
                mask = torch.zeros(self.num_nodes, dtype=torch.bool)
                mask[torch.from_numpy(getattr(drawn, name)).long()] = True
                data[f"{name}_mask"] = mask
        return data

    def __repr__(self) -> str:
        return (
            f"Dataset({self.name or 'unnamed'}: {self.graph.num_nodes} nodes, {self.graph.num_edges} edges, "
            f"{self._data.features.columns} features, {self.task} of {self.num_classes})"
        )


def _load_options(options: dict[str, Any]) -> _core.LoadOptions:
    made = _core.LoadOptions()
    for name, value in options.items():
        if not hasattr(made, name):
            known = ", ".join(name for name in dir(made) if not name.startswith("_"))
            raise fail(f"the option '{name}' is unknown; known: {known}")
        if isinstance(getattr(made, name), list) and isinstance(value, str):
            value = [value]
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if name == "target" and isinstance(value, (list, tuple)):
            value = ",".join(value)
        try:
            setattr(made, name, value)
        except TypeError as error:
            raise fail(f"the option '{name}' cannot be {value!r}") from error
    return made


def load(what: str | os.PathLike[str], **options: Any) -> Dataset:
    """A data set by name ("cora"), a generator ("csbm:nodes=3000"), a file or a folder; options as in `qw train`."""
    try:
        return Dataset(_core.load_dataset(os.fspath(what), _load_options(options)))
    except _core.Error as error:
        raise fail(str(error).removeprefix("qw: ").removeprefix("--data ")) from None


def read_csv(
    edges: str | os.PathLike[str], nodes: str | os.PathLike[str] | None = None, *, target: Any = "", **options: Any
) -> Dataset:
    """A graph in CSV files: edges, and nodes with an id, features and the target; options as `qw train` has them.

    id="person", target="team", features=[...], drop=[...], directed=True, edge_cost="km", ...

    What is guessed or left out is warned of.
    """
    more = {} if nodes is None else {"nodes": os.fspath(nodes)}
    made = load("", edges=os.fspath(edges), target=target, **more, **options)
    say(made.notes, 0)
    return made


def _features(x: Any, num_nodes: int) -> _core.Features:
    if is_sparse_matrix(x):
        rows = x.tocsr()
        if rows.shape[0] != num_nodes:
            raise fail(f"features must have a row for each of {num_nodes} nodes, got {rows.shape[0]}")
        if not np.isfinite(rows.data).all():
            raise fail("features must be finite numbers, not NaN or inf")
        return _core.sparse_features(rows.shape[1], rows.indptr, rows.indices, rows.data)
    array = as_array(x, "features")
    if array.ndim != 2 or array.shape[0] != num_nodes:
        raise fail(f"features must be [{num_nodes}, columns], a row for each node, got the shape {list(array.shape)}")
    if np.iscomplexobj(array):
        raise fail("features must be real numbers. Complex data not supported")
    try:
        array = array.astype(np.float32)
    except (TypeError, ValueError) as error:
        raise fail(f"features must be numbers: {error}") from error
    if not np.isfinite(array).all():
        raise fail("features must be finite numbers, not NaN or inf; a DataFrame may have missing ones")
    return _core.dense_features(array)


def from_arrays(
    x: Any,
    edges: Any,
    targets: _core.Targets | None = None,
    *,
    num_nodes: int | None = None,
    directed: bool | None = None,
) -> Dataset:
    """From features [N, F] (an array, a tensor or a scipy.sparse matrix) and edges as qw.Graph takes them."""
    count = num_nodes if num_nodes is not None else x.shape[0]
    data = _core.Dataset()
    data.graph = as_graph(edges, count, directed=directed)._graph
    data.features = _features(x, count)
    if targets is not None:
        data.targets = targets
    data.format = "arrays"
    data.check()
    return Dataset(data)


def targets_of(y: Any, task: str = "auto") -> _core.Targets:
    """Labels as PyTorch Geometric has them: integers are classes, -1 unknown; others values, NaN unknown."""
    array = as_array(y, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    whole = np.issubdtype(array.dtype, np.integer)
    if task == "classification" or (task == "auto" and array.ndim == 1 and whole):
        if array.size and array.max() >= 2**31:
            raise fail("classes must be below 2^31")
        return _core.class_targets(np.maximum(array.astype(np.int64), -1), [])  # of unsigned ones -1 is none
    values = array.astype(np.float64).reshape(array.shape[0], -1)
    known = values[~np.isnan(values)]
    labels = values.shape[1] > 1 and bool(np.isin(known, (0.0, 1.0)).all())
    return _core.value_targets(values, [str(c) for c in range(values.shape[1])] if values.shape[1] > 1 else [], labels)


def _mask(given: Any, name: str, nodes: int) -> NDArray[Any] | None:
    """[nodes, runs]."""
    if getattr(given, name, None) is None:
        return None
    mask = as_array(getattr(given, name), name)
    mask = mask[:, None] if mask.ndim == 1 else mask
    if mask.ndim != 2 or mask.shape[0] != nodes or mask.shape[1] == 0:
        raise fail(f"{name} must have a row for each of {nodes} nodes, got the shape {list(mask.shape)}")
    return mask


def _note(data: _core.Dataset, text: str) -> None:
    data.notes = [*data.notes, text]
    warn(text)


def _take_masks(given: Any, data: _core.Dataset) -> None:
    nodes = data.graph.num_nodes
    names = ("train_mask", "val_mask", "test_mask")
    train, val, test = (_mask(given, name, nodes) for name in names)
    if train is None or test is None:
        if train is not None or val is not None or test is not None:
            _note(data, "the masks are not used: train_mask and test_mask are needed; a split is drawn")
        return
    if val is None:
        val = np.zeros((nodes, 1), dtype=bool)
        _note(data, "there is no val_mask: a training keeps its last epoch")
    counts = [mask.shape[1] for mask in (train, val, test)]
    if any(count not in (1, max(counts)) for count in counts):
        raise fail(f"masks must have one column, or one for each run; train, val and test have {counts}")
    parts = [np.broadcast_to(mask, (nodes, max(counts))) for mask in (train, val, test)]
    data.splits = [_core.Split(*(np.flatnonzero(part[:, run]) for part in parts)) for run in range(max(counts))]
    data.default_split = "stored"


def from_pyg(data: Any, *, directed: bool | None = None) -> Dataset:
    """From a torch_geometric Data object: x, edge_index, edge_weight, y and, where it has them, masks.

    directed: whether edges are arcs; unless given, they are where some edge has no edge back.
    """
    if data.x is None:
        raise fail("the Data object has no features x")
    x = as_array(data.x, "x")
    targets = None if data.y is None else targets_of(data.y)
    made = from_arrays(x, data, targets, directed=directed)
    _take_masks(data, made._data)
    return made
