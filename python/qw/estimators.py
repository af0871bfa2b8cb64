"""Estimators with scikit-learn's contract, trained by the library as `qw train` does."""

from __future__ import annotations

import copy
import json
import os
import tempfile
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._lib import fail, learning, warn
from .convert import as_array, is_graph, is_instance, is_pyg, is_sparse_matrix
from .data import Dataset, _load_options, from_arrays, from_pyg
from .labels import (
    check_index,
    class_targets,
    classes_in,
    classes_of,
    is_unknown,
    labels_of,
    r2,
    value_targets,
    values_in,
    values_of,
)
from .notes import of_tables, say
from .options import plain, text, whole
from .progress import Progress
from .run_folder import files_of, keep_in, kept_in, was_directed, write_files
from .tables import TableFiles, to_be_quoted

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
except ImportError:  # scikit-learn is not needed

    class BaseEstimator:  # type: ignore[no-redef]
        pass

    class ClassifierMixin:  # type: ignore[no-redef]
        pass

    class RegressorMixin:  # type: ignore[no-redef]
        pass


NO_EDGE = "there is no edge"  # of notes: said already where no edges were given


def _has_labels(x: Any) -> bool:
    """Whether it is a data set with edges and labels, rather than features."""
    return isinstance(x, Dataset) or is_pyg(x)


def _labelled(x: Any, directed: bool | None) -> Dataset:
    if not isinstance(x, Dataset):
        return from_pyg(x, directed=directed)
    here = x._data.graph.directed
    if directed is not None and directed != here:
        raise fail(f"directed={directed} contradicts X, a Dataset with directed={here}; give that to qw.load")
    return x


def _are_equal(one: _core.Features, other: _core.Features) -> bool:
    if (one.rows, one.columns, one.sparse) != (other.rows, other.columns, other.sparse):
        return False
    parts = ("offsets", "indices", "values") if one.sparse else ("dense",)
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in parts)


def _moves(data: Dataset, place: int, flow: Any, names: list[str]) -> list[dict[str, Any]]:
    """What transport brings along each edge of a node."""
    moves: list[dict[str, Any]] = []
    if flow is None:
        return moves
    graph, ids = data.graph, data.node_ids
    for sign, here, there in ((1, graph.heads, graph.tails), (-1, graph.tails, graph.heads)):
        for edge in np.flatnonzero(here == place):
            brought = {names[c]: float(sign * flow[edge, c]) for c in np.flatnonzero(flow[edge])}
            if brought:
                moves.append({"neighbour": ids[int(there[edge])], "brings": brought})
    return moves


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
        texts = {name: text(name, getattr(self, name)) for name in ("model", "solver", "split", "device")}
        numbers = {"seed": whole("seed", self.seed), "runs": whole("runs", self.runs, 1)}
        return json.dumps({**texts, **numbers, **{name: plain(name, value) for name, value in self.options.items()}})

    def _train(self, data: Dataset) -> dict[str, Any]:
        """What it has after a fit; nothing of it before the training is over."""
        request = self._request()
        progress = Progress(self.verbose) if self.verbose else None
        try:
            fitted = learning().fit(data._data, request, progress)
        finally:
            if progress is not None:
                progress.close()
        say(fitted.split_warnings(), self.verbose)
        return {"fitted_": fitted}

    def _check_fitted(self) -> None:
        if not hasattr(self, "fitted_"):
            try:
                from sklearn.exceptions import NotFittedError
            except ImportError:
                raise fail(f"this {type(self).__name__} is not fitted yet; call fit first") from None
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")

    def _data(self, x: Any, edges: Any, directed: bool | None, *, training: bool = False) -> Dataset:
        """The data as the library has it, with labels only where they are part of X."""
        wanted = directed if training else self._direction(x if _has_labels(x) else edges, directed)
        if _has_labels(x):
            if edges is not None:
                raise fail(f"X is a {type(x).__name__} with edges of its own; give edges beside arrays and tables only")
            data = _labelled(x, wanted)
        elif is_instance(x, "pandas", "DataFrame"):
            data = self._of_tables(x, edges, wanted, training)
        else:
            x = self._checked(x, training)
            known = np.empty((2, 0), dtype=np.int64) if edges is None else edges
            data = from_arrays(x, known, directed=wanted)
        if edges is None and not _has_labels(x):
            warn("no edges were given: every node is alone")
        if not training:
            self._check_direction(data)
        return data

    def _checked(self, x: Any, training: bool) -> Any:
        """An array or a scipy matrix of features."""
        if not is_sparse_matrix(x):
            x = as_array(x, "X")
            if x.ndim != 2:
                raise fail(f"X must be [nodes, features], got the shape {list(x.shape)}; Reshape your data")
        for count, what in ((x.shape[0], "sample"), (x.shape[1], "feature")):
            if count == 0:
                raise fail(f"X has 0 {what}(s) (shape={tuple(x.shape)}) while a minimum of 1 is required.")
        if hasattr(self, "n_features_in_") and not training and x.shape[1] != self.n_features_in_:
            raise fail(
                f"X has {x.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input"
            )
        return x

    def _of_tables(self, x: Any, edges: Any, directed: bool | None, training: bool) -> Dataset:
        quoted = to_be_quoted(x) if training else getattr(self, "quoted_", [])
        files = TableFiles(x, edges, directed, quoted)
        options = _load_options(files.options)
        data = _core.load_dataset("", options) if training else self.fitted_.load("", options)
        notes = [note for note in data.notes if edges is not None or not note.startswith(NO_EDGE)]
        say(notes, self.verbose, lambda note: of_tables(note, files.names))
        made = Dataset(data)
        made._quoted = quoted
        return made

    def _was_directed(self) -> bool:
        known = self.__dict__.get("data_")
        return was_directed(self.fitted_.folder) if known is None else bool(known._data.graph.directed)

    def _direction(self, given: Any, directed: bool | None) -> bool | None:
        """What `directed` is after the training: what it was there, unless the edges that are given say it."""
        known = self._was_directed()
        if directed is not None and directed != known:
            was = "arcs" if known else "edges without direction"
            raise fail(f"directed={directed} contradicts the training, which was on {was}; leave it out, or fit again")
        if directed is None and (is_sparse_matrix(given) or is_pyg(given)):
            return known or None  # a symmetric one may be of arcs
        says = isinstance(given, Dataset) or is_graph(given) or is_instance(given, "networkx", "Graph")
        return directed if says else known

    def _check_direction(self, data: Dataset) -> None:
        graph, known = data._data.graph, self._was_directed()
        if graph.num_edges == 0 or graph.directed == known:
            return
        if known:
            raise fail("the edges have no direction, those of the training do; directed=True takes them as arcs")
        raise fail("the edges are arcs, those of the training are not; directed=False joins both directions")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _fit(self, x: Any, y: Any, edges: Any, directed: bool | None) -> None:
        data = self._data(x, edges, directed, training=True)
        learned: dict[str, Any] = {}
        if y is not None:
            if data.task != "none":
                raise fail(f"X is a {type(x).__name__} with labels of its own; give y beside arrays and tables only")
            check_index(x, y)
            targets, learned = self._targets(y, data.num_nodes)
            data = copy.copy(data) if data is x else data
            data._data.targets = targets
            data._data.check()
        if data.task == "none":
            raise fail("requires y to be passed, but the target y is None")
        if data.task != self._task:
            raise fail(
                f"X has labels for {data.task}, but {type(self).__name__} learns {self._task}: whole numbers are "
                "classes, others are values"
            )
        learned["quoted_"] = data._quoted
        learned = {"data_": data, "n_features_in_": data._data.features.columns, **learned, **self._train(data)}
        self.__dict__.update(learned)
        if y is None:
            self._loaded()

    def _given(self, x: Any, edges: Any, directed: bool | None) -> Dataset:
        """The training's data, unless other data is given."""
        self._check_fitted()
        if x is None:
            if edges is not None or directed is not None:
                raise fail("edges and directed go with X: give X too, or neither for the training's data")
            if not hasattr(self, "data_"):
                raise fail("a loaded estimator has not its training's data; give X and edges")
            return self.data_
        if edges is None and self._is_training_x(x):
            self._direction(None, directed)
            return self.data_
        return self._data(x, edges, directed)

    def _predictions(self, x: Any, edges: Any, directed: bool | None) -> dict[str, Any]:
        data = self._given(x, edges, directed)
        found: dict[str, Any] = self.fitted_.predict(data._data)
        return found

    def _test(self, metric: str) -> float:
        found = [result["test"][metric] for result in self.results_]
        if any(value is None for value in found):
            raise fail("no node with a label was held out for test; give score X and y")
        return float(np.mean(found))

    def _is_scored_by_split(self, x: Any, y: Any, edges: Any, directed: bool | None) -> bool:
        """Whether score() was given nothing."""
        self._check_fitted()
        if y is None and x is None and (edges is not None or directed is not None):
            raise fail("edges and directed go with X: give X too, or neither for the test nodes of the training")
        if y is None and x is not None and not _has_labels(x):
            raise fail("score needs y beside X; without both it is of the test nodes of the training")
        return x is None and y is None

    def _is_training_x(self, x: Any) -> bool:
        """The very X of fit(), given again as scikit-learn's users do: its edges are known."""
        if not hasattr(self, "data_") or _has_labels(x):
            return False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = self._data(x, None, None)._data
        known = self.data_._data
        if given.node_ids != known.node_ids:
            return False
        if known.made_features:  # from the edges, which X has not
            return bool(given.made_features)
        return _are_equal(given.features, known.features)

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
        classes = self.classes_.tolist() if hasattr(self, "classes_") else None
        kept = {"estimator": type(self).__name__, "parameters": self.get_params(), "classes": classes}
        keep_in(folder, {**kept, "quoted": getattr(self, "quoted_", [])})

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Any:
        """From a run folder, of save() or of `qw train --out`."""
        fitted = learning().load_fitted(os.fspath(folder))
        made = cls(**cls._parameters_of(fitted))
        made.fitted_ = fitted
        made.quoted_ = kept_in(fitted.folder).get("quoted", [])
        made._check_task(folder)
        made._loaded()
        return made

    @classmethod
    def _parameters_of(cls, fitted: Any) -> dict[str, Any]:
        kept = kept_in(fitted.folder)
        if kept.get("estimator") == cls.__name__:
            return dict(kept["parameters"])
        asked = json.loads(fitted.request())
        request, learn = asked["request"], asked["learn"]
        known = {name: request[name] for name in ("model", "split", "runs", "seed", "device", "scale_features")}
        return {**known, **asked["model_options"], **learn}

    def _loaded(self) -> None:
        """Takes from the run folder what the labels that were given do not say."""

    def _check_task(self, folder: str | os.PathLike[str]) -> None:
        if self.fitted_.task != self._task:
            raise fail(f"{os.fspath(folder)} learned {self.fitted_.task}, which is not for {type(self).__name__}")

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "_folder"}
        if "fitted_" in state:
            state["fitted_"] = files_of(self.fitted_.folder)
            data = self.__dict__.get("data_")
            if data is not None:
                state["data_"] = data.__getstate__()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "fitted_" in state:
            self._folder = tempfile.TemporaryDirectory(prefix="qw-run-")
            write_files(self._folder.name, state["fitted_"])
            self.fitted_ = learning().load_fitted(self._folder.name)
            if isinstance(state.get("data_"), dict):
                self.data_ = Dataset.__new__(Dataset)
                self.data_.__setstate__(state["data_"])

    def explain(
        self,
        node: Any,
        x: Any = None,
        edges: Any = None,
        run: int = 0,
        *,
        column: str | None = None,
        top: int = 10,
        directed: bool | None = None,
    ) -> dict[str, Any]:
        """Where the scores of a node come from, in the training's data or in what is given as to predict().

        network, transport: what the network says and what is added to it, by class (label, value).
        flows: what transport brings along each edge.
        paths, neighbours, features, labels: for what is predicted, or for one column ("all": each), the paths of
        transport and what changes when a neighbour, a feature or a training label is left out, as the JSON of
        `qw explain`; None where the solver has no such thing. top: so many of each, the largest first; 0: all.
        """
        data = self._given(x, edges, directed)
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
        transport = found["transport"]
        return {
            "node": ids[place],
            "network": dict(zip(names, map(float, found["network"][place]))),
            "transport": None if transport is None else dict(zip(names, map(float, transport[place]))),
            "flows": _moves(data, place, found["flow"], names),
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

    def _targets(self, y: Any, rows: int) -> tuple[_core.Targets, dict[str, Any]]:
        targets, classes = class_targets(y, rows)
        return targets, {"classes_": classes}

    def fit(self, X: Any, y: Any = None, edges: Any = None, *, directed: bool | None = None) -> NodeClassifier:
        self._fit(X, y, edges, directed)
        return self

    def _loaded(self) -> None:
        kept = kept_in(self.fitted_.folder).get("classes")
        self.classes_ = classes_of(self.fitted_.names, self.fitted_.width) if kept is None else np.array(kept)

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
        """The share of known labels that are predicted. Of y, or of X where that has labels; without both, of the nodes
        that were held out for test."""
        if self._is_scored_by_split(X, y, edges, directed):
            return self._test("accuracy")
        found = self.predict(X, edges, directed=directed)
        y = classes_in(X) if y is None else y
        check_index(X, y)
        pairs = zip(found.tolist(), labels_of(y, len(found)))
        right = [predicted == label for predicted, label in pairs if not is_unknown(label)]
        if not right:
            raise fail("y has no label that is known")
        return float(np.mean(right))


class NodeRegressor(RegressorMixin, _Node):
    """Values of nodes; see NodeClassifier. y has a number, or several, for each node; NaN where unknown."""

    _task = "regression"
    _estimator_type = "regressor"

    def _targets(self, y: Any, rows: int) -> tuple[_core.Targets, dict[str, Any]]:
        return value_targets(y, rows), {}

    def fit(self, X: Any, y: Any = None, edges: Any = None, *, directed: bool | None = None) -> NodeRegressor:
        self._fit(X, y, edges, directed)
        return self

    def predict(self, X: Any = None, edges: Any = None, *, directed: bool | None = None) -> NDArray[np.float64]:
        """[N], or [N, values]: the mean over the runs; of the training's data unless other data is given."""
        values: NDArray[np.float64] = self._predictions(X, edges, directed)["values"]
        return values[:, 0] if values.shape[1] == 1 else values

    def score(self, X: Any = None, y: Any = None, edges: Any = None, *, directed: bool | None = None) -> float:
        """R2 of the known values, the mean over the columns. Of y, or of X where that has labels; without both, of the
        nodes that were held out for test."""
        if self._is_scored_by_split(X, y, edges, directed):
            return self._test("r2")
        found = self.predict(X, edges, directed=directed)
        y = values_in(X) if y is None else y
        check_index(X, y)
        return r2(values_of(y, len(found)), found)
