"""Graphs and trainings by the qw package."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import qw
from conditions import FloatArray, IntArray, Parts, metric_of, minesweeper
from linear import GraphMatrices
from qw import _core

NETWORKS = ("mlp", "gcn")  # the simpler first
WEIGHT_DECAY = 5e-4
OPTIONS = {
    "hidden": 64,
    "lr": 0.01,
    "dropout": 0.5,
    "epochs": 200,
    "patience": 100,
    "split": "stored",
    "scale_features": "none",  # rows that sum to one cost GCN 15 points and more on computers and photo in 200 epochs
}
# With the sum no flow pays below 1/2: a unit on an edge costs 1 and gains at most lambda at either end.
LAMBDAS = (1.0, 2.0, 4.0)
SIGNAL = 0.3  # of csbm's features; with 1 a perceptron is right on 98 % of the nodes from one label for each class


@dataclasses.dataclass
class GraphData:
    dataset: qw.Dataset
    classes: IntArray
    width: int
    matrices: GraphMatrices
    metric: str
    select: str = "metric"  # how the best epoch is known


@dataclasses.dataclass
class FlowTraining:
    """scores: of network and flow together; flow: [E, C] on the edges of the graph."""

    lam: float
    scores: FloatArray
    flow: FloatArray


@functools.lru_cache(maxsize=1)
def load(name: str) -> GraphData:
    """A graph of conditions.GRAPHS. The generated ones are the same for all seeds, as the others are."""
    if name == "mines":
        x, edges, classes = minesweeper()
        dataset = qw.from_arrays(x, edges, _core.class_targets(classes, []), directed=False)
    elif name.startswith("csbm-"):
        dataset = qw.load(f"csbm:nodes=3000,signal={SIGNAL},homophily={name.removeprefix('csbm-')}")
    else:
        dataset = qw.load(name)
    graph, classes = dataset.graph, dataset.y.astype(np.int64)
    if (classes < 0).any():
        raise SystemExit(f"{name} has nodes without a label")
    matrices = GraphMatrices(graph.heads, graph.tails, graph.num_nodes)
    return GraphData(dataset, classes, dataset.num_classes, matrices, metric_of(name))


def give_labels(data: GraphData, labels: IntArray, parts: Parts) -> None:
    """What the next trainings learn from. Labels of test nodes are only looked at by metrics that we do not use."""
    inner = data.dataset._data
    inner.targets = _core.class_targets(labels, inner.targets.names)
    inner.splits = [_core.Split(parts.train, parts.val, parts.test)]
    inner.default_split = "stored"
    data.select = "metric" if np.unique(labels[parts.val]).size > 1 else "loss"  # one class has no ROC curve


def _fit(data: GraphData, model: str, seed: int, **options: Any) -> dict[str, Any]:
    chosen_by = {"metric": data.metric, "select": data.select}
    classifier = qw.NodeClassifier(model, seed=seed + 1, **{**OPTIONS, **chosen_by, **options})
    classifier.fit(data.dataset)
    found: dict[str, Any] = classifier.fitted_.scores(data.dataset._data, 0)
    return found


def train_cross_entropy(data: GraphData, model: str, seed: int) -> FloatArray:
    """Logits of all nodes."""
    found: FloatArray = _fit(data, model, seed, solver="ce", weight_decay=WEIGHT_DECAY)["network"]
    return found


def train_with_flow(data: GraphData, model: str, seed: int, lam: float, labels: int) -> FlowTraining:
    """QW loss with the sum over `labels` training nodes.

    Weight decay grows as the gradient does, so that without a flow Adam's steps are those of cross-entropy.
    """
    found = _fit(
        data,
        model,
        seed,
        solver="proximal",
        reduction="sum",
        weight_decay=WEIGHT_DECAY * lam * labels,
        flow_lr=0.1,
        **{"lambda": lam},
    )
    return FlowTraining(lam, found["network"] + found["transport"], found["flow"])
