"""Estimators with scikit-learn's contract, trained by the library as `qw train` does."""

from __future__ import annotations

import json
import os
import pathlib
import sys
import tempfile
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._lib import fail, learning
from .convert import as_array, is_instance
from .data import Dataset, TableFiles, _load_options, from_arrays, from_pyg

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
except ImportError:  # scikit-learn is not needed

    class BaseEstimator:  # type: ignore[no-redef]
        pass

    class ClassifierMixin:  # type: ignore[no-redef]
        pass

    class RegressorMixin:  # type: ignore[no-redef]
        pass


ID = "qw_id"
TARGET = "qw_target"


def _is_unknown(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value)) or value == -1
    if isinstance(value, (bool, np.bool_)):
        return False
    if isinstance(value, (int, np.integer)):
        return int(value) == -1
    return value is getattr(sys.modules.get("pandas"), "NA", object())


def _single_column(y: Any) -> NDArray[Any]:
    array = np.asarray(y) if isinstance(y, np.ndarray) else np.array(y, dtype=object)
    if array.ndim == 2 and array.shape[1] == 1:
        try:
            from sklearn.exceptions import DataConversionWarning as kind
        except ImportError:
            kind = UserWarning
        warnings.warn("A column-vector y was passed when a 1d array was expected", kind, stacklevel=5)
    return array.ravel()


def _files_of(folder: str) -> dict[str, bytes]:
    root = pathlib.Path(folder)
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


class _Node(BaseEstimator):
    _own: tuple[str, ...] = ("model", "solver", "split", "runs", "seed", "device", "verbose")

    def __init__(
        self,
        model: str = "gcn",
        solver: str = "bregman",
        *,
        split: str = "auto",
        runs: int = 1,
        seed: int = 0,
        device: str = "cpu",
        verbose: int = 0,
        **options: Any,
    ) -> None:
        self.model = model
        self.solver = solver
        self.split = split
        self.runs = runs
        self.seed = seed
        self.device = device
        self.verbose = verbose
        self.options = options

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {**{name: getattr(self, name) for name in self._own}, **self.options}

    def set_params(self, **params: Any) -> _Node:
        for name, value in params.items():
            if name in self._own:
                setattr(self, name, value)
            else:
                self.options = {**self.options, name: value}
        return self

    def _request(self) -> str:
        given = {"model": self.model, "solver": self.solver, "split": self.split, "seed": int(self.seed)}
        return json.dumps({**given, "runs": int(self.runs), "device": self.device, **self.options})

    def _train(self, data: Dataset) -> None:
        progress = _Progress(self.verbose) if self.verbose else None
        self.fitted_ = learning().fit(data._data, self._request(), progress)
        if progress is not None:
            progress.close()
        self.n_features_in_ = data._data.features.columns

    def _check_fitted(self) -> None:
        if not hasattr(self, "fitted_"):
            try:
                from sklearn.exceptions import NotFittedError
            except ImportError:
                raise fail(f"this {type(self).__name__} is not fitted yet; call fit first") from None
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")

    def _data(self, x: Any, y: Any, edges: Any, directed: bool | None) -> Dataset:
        """The data as the library has it; y is None for data to predict."""
        if isinstance(x, Dataset):
            return x
        if is_instance(x, "torch_geometric.data", "Data"):
            return from_pyg(x)
        if is_instance(x, "pandas", "DataFrame"):
            return self._of_tables(x, y, edges, directed)
        if is_instance(x, "scipy.sparse", "spmatrix") or is_instance(x, "scipy.sparse", "sparray"):
            rows = x.shape[0]
        else:
            x = as_array(x, "X")
            if x.ndim != 2:
                raise fail(f"X must be [nodes, features], got the shape {list(x.shape)}; Reshape your data")
            rows = x.shape[0]
        for count, what in ((rows, "sample"), (x.shape[1], "feature")):
            if count == 0:
                raise fail(f"X has 0 {what}(s) (shape={tuple(x.shape)}) while a minimum of 1 is required.")
        if hasattr(self, "n_features_in_") and y is None and x.shape[1] != self.n_features_in_:
            raise fail(
                f"X has {x.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input"
            )
        return from_arrays(
            x, self._edges(edges, rows), None if y is None else self._targets(y, rows), directed=directed
        )

    def _edges(self, edges: Any, rows: int) -> Any:
        if edges is None:
            warnings.warn("no edges were given: every node is alone", stacklevel=4)
            return np.empty((2, 0), dtype=np.int64)
        return edges

    def _of_tables(self, x: Any, y: Any, edges: Any, directed: bool | None) -> Dataset:
        import pandas as pd

        if not x.index.is_unique:
            raise fail("the index of X must name every node once: it is the nodes' ids")
        nodes = x.copy()
        nodes.columns = [str(name) for name in nodes.columns]
        nodes.insert(0, ID, x.index)
        if y is not None:
            series = y if is_instance(y, "pandas", "Series") else pd.Series(np.asarray(y, dtype=object), index=x.index)
            if len(series) != len(x) or not series.index.equals(x.index):
                raise fail("y must have the index of X")
            nodes[TARGET] = [None if _is_unknown(value) else value for value in series]
        if not is_instance(edges, "pandas", "DataFrame"):
            given = as_array(edges if edges is not None else np.empty((2, 0)), "edges")
            given = given.T if given.ndim == 2 and given.shape[0] == 2 else given
            edges = pd.DataFrame(np.asarray(given).reshape(-1, 2), columns=["source", "target"])
        files = TableFiles(nodes, edges)
        options = _load_options(
            {
                "edges": files.edges,
                "nodes": files.nodes,
                "id": ID,
                "directed": bool(directed),
                "target": TARGET if y is not None else "",
                "task": self._task if y is not None else "auto",
            }
        )
        data = self.fitted_.load("", options) if y is None else _core.load_dataset("", options)
        for note in data.notes:
            if self.verbose:
                print(f"qw: {note}", file=sys.stderr)
        return Dataset(data)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _fit(self, x: Any, y: Any, edges: Any, directed: bool | None) -> Any:
        data = self._data(x, y, edges, directed)
        if data.task == "none":
            raise fail("requires y to be passed, but the target y is None")
        self._train(data)
        self.data_ = data
        return self

    def _predictions(self, x: Any, edges: Any, directed: bool | None) -> dict[str, Any]:
        self._check_fitted()
        if x is None:
            if not hasattr(self, "data_"):
                raise fail("a loaded estimator has not its training's data; give predict X and edges")
            data = self.data_
        elif edges is None and self._is_training_x(x):
            data = self.data_
        else:
            data = self._data(x, None, edges, directed)
        found: dict[str, Any] = self.fitted_.predict(data._data)
        return found

    def _is_training_x(self, x: Any) -> bool:
        """The very X of fit(), given again as scikit-learn's users do: its edges are known."""
        if not hasattr(self, "data_") or isinstance(x, Dataset) or type(x).__module__.startswith("torch_geometric"):
            return False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = self._data(x, None, None, None)._data
        known = self.data_._data
        if given.node_ids != known.node_ids:
            return False
        parts = ("dense", "offsets", "indices", "values")
        return all(np.array_equal(getattr(given.features, each), getattr(known.features, each)) for each in parts)

    @property
    def results_(self) -> list[dict[str, Any]]:
        """What came out of each run: metrics of its train, validation and test nodes, epochs, the flow."""
        self._check_fitted()
        found: list[dict[str, Any]] = json.loads(self.fitted_.results())
        return found

    def save(self, folder: str | os.PathLike[str]) -> None:
        """A run folder as `qw train --out` makes it: `qw predict`, `qw eval` and load() read it."""
        self._check_fitted()
        self.fitted_.save(os.fspath(folder))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Any:
        """From a run folder, of save() or of `qw train --out`."""
        fitted = learning().load_fitted(os.fspath(folder))
        asked = json.loads(fitted.request())
        known = {name: asked["request"][name] for name in ("model", "split", "runs", "seed", "device")}
        made = cls(solver=asked["learn"]["solver"], **known)
        made.fitted_ = fitted
        made._check_task(folder)
        made._loaded()
        return made

    def _loaded(self) -> None:
        pass

    def _check_task(self, folder: str | os.PathLike[str]) -> None:
        if self.fitted_.task != self._task:
            raise fail(f"{os.fspath(folder)} learned {self.fitted_.task}, which is not for {type(self).__name__}")

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "_folder"}
        if "fitted_" in state:
            state["fitted_"] = _files_of(self.fitted_.folder)
            data = self.__dict__.get("data_")
            if data is not None:
                state["data_"] = data.__getstate__()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "fitted_" in state:
            self._folder = tempfile.TemporaryDirectory(prefix="qw-run-")
            for name, content in state["fitted_"].items():
                path = pathlib.Path(self._folder.name, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            self.fitted_ = learning().load_fitted(self._folder.name)
            if isinstance(state.get("data_"), dict):
                self.data_ = Dataset.__new__(Dataset)
                self.data_.__setstate__(state["data_"])

    def explain(
        self, node: Any, x: Any = None, edges: Any = None, run: int = 0, *, column: str | None = None, top: int = 10
    ) -> dict[str, Any]:
        """Where the scores of a node come from.

        network, transport: what the network says and what is added to it, by class (label, value).
        flows: what transport brings along each edge.
        paths, neighbours, features, labels: for what is predicted, or for one column ("all": each), the paths of
        transport and what changes when a neighbour, a feature or a training label is left out, as the JSON of
        `qw explain`; None where the solver has no such thing. top: so many of each, the largest first; 0: all.
        """
        self._check_fitted()
        if x is None and not hasattr(self, "data_"):
            raise fail("a loaded estimator has not its training's data; give explain X and edges")
        data = self.data_ if x is None else self._data(x, None, edges, None)
        ids = data.node_ids
        place = ids.index(str(node)) if str(node) in ids else -1
        if place < 0:
            raise fail(f"there is no node '{node}'")
        names = self.fitted_.names or [str(number) for number in range(self.fitted_.width)]
        if column is not None and column != "all" and column not in names:
            raise fail(f"there is no '{column}' among {', '.join(names)}")
        columns = list(range(len(names))) if column == "all" else [names.index(column)] if column else []
        why = json.loads(self.fitted_.explain(data._data, place, columns, top, run))
        found = self.fitted_.scores(data._data, run)
        graph = data.graph
        moves: list[dict[str, Any]] = []
        if found["flow"] is not None:
            flow = found["flow"]
            for sign, here, there in ((1, graph.heads, graph.tails), (-1, graph.tails, graph.heads)):
                for edge in np.flatnonzero(here == place):
                    brought = {names[c]: float(sign * flow[edge, c]) for c in np.flatnonzero(flow[edge])}
                    if brought:
                        moves.append({"neighbour": ids[int(there[edge])], "brings": brought})
        transport = found["transport"]
        return {
            "node": ids[place],
            "network": dict(zip(names, map(float, found["network"][place]))),
            "transport": None if transport is None else dict(zip(names, map(float, transport[place]))),
            "flows": moves,
            "prediction": why["prediction"],
            "paths": why["transport"],
            **{part: why[part] for part in ("neighbours", "features", "labels")},
        }

    def to_pyg(self, run: int = 0) -> Any:
        """A torch_geometric model with the network's weights; see qw.pyg."""
        self._check_fitted()
        from .pyg import to_pyg

        return to_pyg(self.fitted_.folder, run)


class NodeClassifier(ClassifierMixin, _Node):
    """Classes of nodes: clf = NodeClassifier(model="gcn").fit(X, y, edges=edges); clf.predict()

    model: gcn, gat, gin, graphsage, appnp, bernnet, chebnetii or mlp.
    solver: ce (cross-entropy), bregman, proximal, badmm, exact (the QW loss), correct-and-smooth, ...
    split: who trains, validates and tests among the nodes with a label, as `qw train --split`.
    runs: independent trainings whose probabilities are averaged.
    verbose: 1 shows progress.
    options: any other option of `qw train` by its name: hidden=128, lr=0.005, epochs=500, flow_lr=0.1, ...

    fit(X, y, edges=...): X is an array, a tensor, a scipy.sparse matrix, a DataFrame whose index names the nodes (and
    whose columns may be numbers or categories, with missing cells), a qw.Dataset or a torch_geometric Data object (then
    y and edges are in it). y has a label for each node; NaN, None or -1 where it is unknown. edges are as qw.Graph
    takes them, in the ids of the DataFrame's index where X is one.
    """

    _task = "classification"
    _estimator_type = "classifier"

    def _targets(self, y: Any, rows: int) -> _core.Targets:
        values = _single_column(y if isinstance(y, (list, tuple)) else as_array(y, "y")).tolist()
        if len(values) != rows:
            raise fail(f"y must have a label for each of {rows} nodes, got {len(values)}")
        known = [value for value in values if not _is_unknown(value)]
        if any(isinstance(value, float) and (not np.isfinite(value) or value != int(value)) for value in known):
            raise fail("Unknown label type: y must be classes; for numbers use NodeRegressor")
        if not known:
            raise fail("y has no label that is known")
        self.classes_ = np.unique(np.array(known))
        if len(self.classes_) == 1 and -1 in values:
            raise fail(f"-1 stands for unknown, and all other labels are '{self.classes_[0]}'; name them 0 and 1")
        number = {value: place for place, value in enumerate(self.classes_.tolist())}
        classes = [-1 if _is_unknown(value) else number[value] for value in values]
        return _core.class_targets(np.array(classes, dtype=np.int32), [str(value) for value in self.classes_.tolist()])

    def fit(self, X: Any, y: Any = None, edges: Any = None, *, directed: bool | None = None) -> NodeClassifier:
        self._fit(X, y, edges, directed)
        if is_instance(X, "pandas", "DataFrame"):
            self._classes_of(y)
        elif not hasattr(self, "classes_") or isinstance(X, Dataset) or is_instance(X, "torch_geometric.data", "Data"):
            self._loaded()
        return self

    def _classes_of(self, y: Any) -> None:
        names = {str(value): value for value in list(y) if not _is_unknown(value)}
        self.classes_ = np.array([names.get(name, name) for name in self.fitted_.names])

    def _loaded(self) -> None:
        self.classes_ = np.array(self.fitted_.names) if self.fitted_.names else np.arange(self.fitted_.width)

    def predict_proba(self, X: Any = None, edges: Any = None, *, directed: bool | None = None) -> NDArray[np.float64]:
        """[N, classes], the mean over the runs; of the training's data unless other data is given."""
        values: NDArray[np.float64] = self._predictions(X, edges, directed)["values"]
        return values

    def predict(self, X: Any = None, edges: Any = None, *, directed: bool | None = None) -> NDArray[Any]:
        """[N]: the likeliest of classes_."""
        places = self._predictions(X, edges, directed)["classes"]
        found: NDArray[Any] = self.classes_[places]
        return found

    def score(self, X: Any = None, y: Any = None, edges: Any = None, *, directed: bool | None = None) -> float:
        """The share of known labels that are predicted; without y, on the test nodes of the split."""
        if y is None:
            return float(np.mean([result["test"]["accuracy"] for result in self.results_]))
        found = self.predict(X, edges, directed=directed)
        right = [one == other for one, other in zip(found.tolist(), list(y)) if not _is_unknown(other)]
        return float(np.mean(right))


class NodeRegressor(RegressorMixin, _Node):
    """Values of nodes; see NodeClassifier. y has a number, or several, for each node; NaN where unknown."""

    _task = "regression"
    _estimator_type = "regressor"

    def _targets(self, y: Any, rows: int) -> _core.Targets:
        given = y if isinstance(y, (list, tuple)) else as_array(y, "y")
        array = np.array([np.nan if value is None else value for value in given], dtype=np.float64)
        array = _single_column(array) if array.ndim == 2 and array.shape[1] == 1 else array
        if array.shape[0] != rows:
            raise fail(f"y must have a value for each of {rows} nodes, got {array.shape[0]}")
        if np.isinf(array).any():
            raise fail("y must be finite, or NaN where unknown")
        self.single_ = array.ndim == 1
        values = array.reshape(rows, -1)
        return _core.value_targets(
            values, [str(c) for c in range(values.shape[1])] if values.shape[1] > 1 else [], False
        )

    def fit(self, X: Any, y: Any = None, edges: Any = None, *, directed: bool | None = None) -> NodeRegressor:
        self.single_ = True
        self._fit(X, y, edges, directed)
        return self

    def _loaded(self) -> None:
        self.single_ = self.fitted_.width == 1

    def predict(self, X: Any = None, edges: Any = None, *, directed: bool | None = None) -> NDArray[np.float64]:
        """[N], or [N, values]: the mean over the runs; of the training's data unless other data is given."""
        values: NDArray[np.float64] = self._predictions(X, edges, directed)["values"]
        return values[:, 0] if self.single_ and values.shape[1] == 1 else values

    def score(self, X: Any = None, y: Any = None, edges: Any = None, *, directed: bool | None = None) -> float:
        """R2 of the known values; without y, on the test nodes of the split."""
        if y is None:
            return float(np.mean([result["test"]["r2"] for result in self.results_]))
        found = self.predict(X, edges, directed=directed)
        truth = np.asarray(y, dtype=np.float64)
        known = ~np.isnan(truth)
        spread = np.sum((truth[known] - truth[known].mean()) ** 2)
        return float(1 - np.sum((truth[known] - found[known]) ** 2) / spread)


class _Progress:
    """A bar where tqdm is installed, a line now and then where it is not."""

    def __init__(self, verbose: int) -> None:
        try:
            from tqdm.auto import tqdm

            self._bar: Any = tqdm(total=1, unit="epoch", leave=verbose > 1)
        except ImportError:
            self._bar = None
        self._runs: dict[int, int] = {}

    def __call__(self, run: int, epoch: int, epochs: int, loss: float, metric: float) -> None:
        self._runs[run] = epoch + 1
        if self._bar is None:
            if epoch % 100 == 0:
                print(
                    f"qw: run {run}, epoch {epoch} of {epochs}: loss {loss:.4g}, validation {metric:.4g}",
                    file=sys.stderr,
                )
            return
        self._bar.total = epochs * len(self._runs)
        self._bar.n = sum(self._runs.values())
        if epoch % 10 == 0:
            self._bar.set_postfix(loss=f"{loss:.4g}", val=f"{metric:.4g}")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
