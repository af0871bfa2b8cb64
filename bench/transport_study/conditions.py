"""What is studied: graphs, labels per class, wrong labels, and the draws of a seed."""

from __future__ import annotations

import dataclasses
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Sparse = Any  # scipy has no types

# Large graphs first, so that the last processes to end have little to do.
GRAPHS = {
    "computers": "homophilous",
    "squirrel": "heterophilous",
    "photo": "homophilous",
    "pubmed": "homophilous",
    "actor": "heterophilous",
    "chameleon": "heterophilous",
    "mines": "grid",
    "citeseer": "homophilous",
    "cora": "homophilous",
    "csbm-0.1": "csbm",
    "csbm-0.3": "csbm",
    "csbm-0.5": "csbm",
    "csbm-0.7": "csbm",
    "csbm-0.9": "csbm",
    "cornell": "heterophilous",
    "texas": "heterophilous",
}
RATES = ("1", "3", "5", "20", "60%")
NOISES = ("clean", "uniform-20", "uniform-40", "neighbour-20", "neighbour-40")
LEAST_VALIDATION = 5  # nodes for each class


def metric_of(graph: str) -> str:
    """Four of five nodes of the grid are of one class, so that accuracy says little there."""
    return "roc_auc" if graph == "mines" else "accuracy"


@dataclasses.dataclass(frozen=True)
class Condition:
    """rate: labels for each class, or a share of all nodes; noise: its kind and percentage."""

    graph: str
    rate: str
    noise: str

    @property
    def is_noisy(self) -> bool:
        return self.noise != "clean"

    @property
    def has_many_labels(self) -> bool:
        return self.rate in ("20", "60%")

    def random(self, seed: int, purpose: str) -> np.random.Generator:
        """The split does not depend on the noise: conditions of one rate and seed are paired."""
        parts = [self.graph, self.rate, purpose] + ([self.noise] if purpose != "split" else [])
        return np.random.default_rng([seed, zlib.crc32("/".join(parts).encode())])


@dataclasses.dataclass(frozen=True)
class Parts:
    train: IntArray
    val: IntArray
    test: IntArray


def draw_split(classes: IntArray, rate: str, random: np.random.Generator) -> Parts:
    """`rate` nodes of each class train, but at most half of a class and at least one node of it.

    As many nodes validate, but at least five for each class and at most half of what is left. They are drawn without
    regard to their class, so that validation accuracy estimates test accuracy. The rest tests. A rate in percent
    trains that share of each class, and a third of what is left validates: 60/20/20 but for rounding.
    """
    counts = np.bincount(classes)
    if rate.endswith("%"):
        wanted = np.round(counts * float(rate[:-1]) / 100).astype(int)
        train = _of_each_class(classes, np.maximum(wanted, counts > 0), random)
        rest = random.permutation(np.setdiff1d(np.arange(classes.size), train))
        in_turn = rest[np.argsort(classes[rest], kind="stable")]
        takes = np.arange(in_turn.size) % 2 == 0
        val, test = in_turn[takes], in_turn[~takes]
    else:
        train = _of_each_class(classes, np.minimum(int(rate), np.maximum(counts // 2, counts > 0)), random)
        rest = random.permutation(np.setdiff1d(np.arange(classes.size), train))
        size = min(max(int(rate), LEAST_VALIDATION) * counts.size, rest.size // 2)
        val, test = rest[:size], rest[size:]
    return Parts(np.sort(train), np.sort(val), np.sort(test))


def _of_each_class(classes: IntArray, wanted: IntArray, random: np.random.Generator) -> IntArray:
    drawn = [random.permutation(np.flatnonzero(classes == c))[:count] for c, count in enumerate(wanted)]
    return np.concatenate(drawn)


def add_noise(
    classes: IntArray, nodes: IntArray, noise: str, adjacency: Sparse, random: np.random.Generator
) -> IntArray:
    """The classes with that share of `nodes` made wrong: exactly round(share * count) of them."""
    kind, _, percentage = noise.partition("-")
    wrong = classes.copy()
    if kind == "clean":
        return wrong
    count = round(nodes.size * int(percentage) / 100)
    for node in random.permutation(nodes)[:count]:
        others = np.empty(0, dtype=int)
        if kind == "neighbour":
            around = classes[adjacency.indices[adjacency.indptr[node] : adjacency.indptr[node + 1]]]
            others = around[around != classes[node]]
        if others.size == 0:  # also where all neighbours are of the node's class
            others = np.setdiff1d(np.arange(classes.max() + 1), classes[node])
        wrong[node] = random.choice(others)
    return wrong


def minesweeper(side: int = 100, seed: int = 1) -> tuple[FloatArray, IntArray, IntArray]:
    """Features, edges [2, E] and classes of a field as Platonov et al. (ICLR 2023) describe it.

    A grid where every node has up to eight neighbours. One node in five is a mine, which is its class. The features
    are the number of neighbouring mines, one-hot; for half of the nodes they are zero and a last feature is one.
    """
    random = np.random.default_rng(seed)
    number = np.arange(side * side).reshape(side, side)
    pairs = [
        (number[:, :-1], number[:, 1:]),
        (number[:-1], number[1:]),
        (number[:-1, :-1], number[1:, 1:]),
        (number[:-1, 1:], number[1:, :-1]),
    ]
    edges = np.stack([np.concatenate([pair[end].ravel() for pair in pairs]) for end in (0, 1)])
    mines = np.zeros(side * side, dtype=int)
    mines[random.permutation(mines.size)[: mines.size // 5]] = 1
    around = adjacency_of(edges[0], edges[1], mines.size) @ mines
    features = np.zeros((mines.size, 10))
    features[np.arange(mines.size), around.astype(int)] = 1
    hidden = random.permutation(mines.size)[: mines.size // 2]
    features[hidden] = 0
    features[hidden, -1] = 1
    return features, edges, mines


def adjacency_of(heads: IntArray, tails: IntArray, nodes: int) -> Sparse:
    """Symmetric, of ones, without loops."""
    kept = heads != tails
    rows, columns = np.concatenate([heads[kept], tails[kept]]), np.concatenate([tails[kept], heads[kept]])
    made = sparse.csr_matrix((np.ones(rows.size), (rows, columns)), shape=(nodes, nodes))
    made.data[:] = 1
    return made
