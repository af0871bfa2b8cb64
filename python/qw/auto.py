"""Estimators that choose the model themselves, in the time they get: `qw fit`."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import sys
import tempfile
import time as clock
from typing import Any

from ._lib import fail, learning, warn
from .data import Dataset
from .estimators import NodeClassifier, NodeRegressor, _Node
from .options import text, whole
from .run_folder import kept_in, members_of

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def _seconds(time: float | str) -> float:
    text = str(time).strip()
    number = text.rstrip("smhin")
    try:
        found = float(number) * _UNITS[text[len(number) :]]
    except (ValueError, KeyError):
        found = 0.0
    if not 0 < found < float("inf"):
        raise fail(f"time {time!r} is no time; give seconds, or '90s', '5m', '2h'")
    return found


def _kept_of(outcome: dict[str, Any]) -> dict[str, Any]:
    return {
        "outcome_": outcome,
        "candidates_": outcome["candidates"],
        "verdicts_": outcome.get("verdicts", []),
        "learning_curve_": outcome.get("learning_curve", []),
        "warnings_": outcome["warnings"],
    }


class _Auto(_Node):
    _own = ("time", "trials", "metric", "split", "seed", "device", "verbose")

    def __init__(
        self,
        time: float | str = "5m",
        *,
        trials: int = 0,
        metric: str = "auto",
        split: str = "auto",
        seed: int = 0,
        device: str = "cpu",
        verbose: int = 0,
    ) -> None:
        self.time = time
        self.trials = trials
        self.metric = metric
        self.split = split
        self.seed = seed
        self.device = device
        self.verbose = verbose
        self.options = {}

    def set_params(self, **params: Any) -> _Auto:
        for name, value in params.items():
            if name not in self._own:
                raise fail(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(self._own)}")
            setattr(self, name, value)
        return self

    def _train(self, data: Dataset) -> dict[str, Any]:
        asked: dict[str, Any] = {name: text(name, getattr(self, name)) for name in ("metric", "split", "device")}
        asked.update({"seed": whole("seed", self.seed), "trials": whole("trials", self.trials)})
        asked["seconds"] = _seconds(self.time)
        folder = tempfile.TemporaryDirectory(prefix="qw-fit-")
        progress = _Race() if self.verbose else None
        found = learning().fit_best(data._data, json.dumps(asked), folder.name, progress)
        shutil.rmtree(pathlib.Path(folder.name, "search"), ignore_errors=True)
        fitted = learning().load_fitted(folder.name)
        return {"fitted_": fitted, "_folder": folder, **_kept_of(json.loads(found))}

    def _fit(self, x: Any, y: Any, edges: Any, directed: bool | None) -> None:
        super()._fit(x, y, edges, directed)
        for warning in self.warnings_:
            warn(warning)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Any:
        """From a folder of save() or of `qw fit --out`."""
        outcome = pathlib.Path(folder, "fit.json")
        if not outcome.exists():
            raise fail(f"{os.fspath(folder)} is no folder of qw fit; NodeClassifier.load reads those of qw train")
        made = super().load(folder)
        made.__dict__.update(_kept_of(json.loads(outcome.read_text())))
        return made

    @classmethod
    def _parameters_of(cls, fitted: Any) -> dict[str, Any]:
        kept = kept_in(fitted.folder)
        return dict(kept["parameters"]) if kept.get("estimator") == cls.__name__ else {}

    def _test(self, metric: str) -> float:
        self._check_fitted()
        if metric not in self.outcome_["test"]:
            raise fail("no node was held out for test; give score X and y")
        return float(self.outcome_["test"][metric])


    def to_pyg(self, run: int | None = None) -> Any:
        """A torch_geometric model with the weights of one member's network; see qw.pyg.

        run: which of the members, where several predict together; it alone predicts otherwise than they do.
        """
        self._check_fitted()
        members = members_of(self.fitted_.folder)
        if run is None and len(members) > 1:
            shown = ", ".join(f"{each} ({weight:.2g})" for each, weight in members.items())
            raise fail(f"{len(members)} networks predict together, which one model is not; run= takes one: {shown}")
        if run is not None and run not in members:
            raise fail(f"there is no run {run} among the members {', '.join(map(str, members))}")
        return super().to_pyg(next(iter(members)) if run is None else run)


class AutoNodeClassifier(_Auto, NodeClassifier):
    """The best prediction of classes in the time it gets: AutoNodeClassifier(time="5m").fit(X, y, edges=edges)

    Candidates of all kinds race on folds of the labelled nodes, and the best of them predict together, as `qw fit` does
    it (docs/fit.md). time: seconds, or "90s", "5m", "2h". trials: so many trainings instead; the same result every
    time. metric: what counts. split: who is held out for test. fit, predict and the rest are those of NodeClassifier.

    verdicts_: whether the graph, the features, QW, edge weights and more labels help, each with an interval.
    candidates_: who raced, best first, with options, score and weight. learning_curve_: scores from fewer labels.
    outcome_: everything, as in fit.json.
    """


class AutoNodeRegressor(_Auto, NodeRegressor):
    """The best prediction of values in the time it gets; see AutoNodeClassifier."""


class _Race:
    """A line now and then."""

    _pause = 5.0

    def __init__(self) -> None:
        self._last = clock.monotonic() - self._pause

    def __call__(self, trials: int, best: str, score: float, seconds_left: float, trials_left: int) -> None:
        if trials == 0 or clock.monotonic() - self._last < self._pause:
            return
        self._last = clock.monotonic()
        left = f"{seconds_left:.0f} s" if trials_left < 0 else f"{trials_left} trials"
        print(f"qw: {trials} trials, {left} left; best {score:.4f}: {best}", file=sys.stderr)
