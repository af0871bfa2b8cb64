"""qw: node labels on graphs by the Quasi-Wasserstein loss.

Without torch: Graph, Dataset, load, read_csv, wasserstein1, Report. With torch: QWLoss, EdgeWeights, nn, ops,
accelerate, and the estimators NodeClassifier, NodeRegressor, AutoNodeClassifier and AutoNodeRegressor. Torch is
imported when it is first needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np  # noqa: F401  Before _core: torch 2.11 crashed where that was the first to import it.

from . import _core
from ._lib import Error, InternalError
from .data import Dataset, Split, from_arrays, from_pyg, load, read_csv
from .graph import Graph
from .report import Report
from .transport import Path, Transport, wasserstein1

if TYPE_CHECKING:
    from . import nn, ops
    from .auto import AutoNodeClassifier, AutoNodeRegressor
    from .estimators import NodeClassifier, NodeRegressor
    from .loss import EdgeWeights, QWLoss
    from .optim import QWOptimizer
    from .swap_layers import accelerate

__version__: str = _core.version

_WITH_TORCH = {
    "QWLoss": "loss",
    "EdgeWeights": "loss",
    "QWOptimizer": "optim",
    "accelerate": "swap_layers",
    "AutoNodeClassifier": "auto",
    "AutoNodeRegressor": "auto",
    "NodeClassifier": "estimators",
    "NodeRegressor": "estimators",
}
_MODULES = ("nn", "ops")

__all__ = [
    "AutoNodeClassifier",
    "AutoNodeRegressor",
    "Dataset",
    "EdgeWeights",
    "Error",
    "Graph",
    "InternalError",
    "NodeClassifier",
    "NodeRegressor",
    "Path",
    "QWLoss",
    "QWOptimizer",
    "Report",
    "Split",
    "Transport",
    "accelerate",
    "from_arrays",
    "from_pyg",
    "load",
    "nn",
    "ops",
    "read_csv",
    "set_threads",
    "threads",
    "wasserstein1",
]


def __getattr__(name: str) -> Any:
    if name in _WITH_TORCH:
        return getattr(importlib.import_module(f".{_WITH_TORCH[name]}", __name__), name)
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'qw' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def threads() -> int:
    """How many threads the library uses: the cores this process may run on, unless set."""
    return _core.thread_count()


def set_threads(count: int) -> None:
    """Uses so many; results do not depend on it."""
    if count < 1:
        raise Error(f"qw: threads must be at least 1, got {count}")
    _core.set_thread_count(count)
