"""One cell of the study: a condition and a seed, all methods."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from typing import Any

import methods
import networks
import numpy as np
import potentials
from conditions import Condition, FloatArray, IntArray, Parts, add_noise, draw_split
from linear import GraphMatrices
from networks import GraphData

Candidate = tuple[str, FloatArray]  # its settings, and probabilities of all nodes

ALPHAS = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0)
RIDGES = (0.1, 10.0)
BETAS = (0.3, 1.0, 3.0, 10.0)
CAPACITIES = (0.1, 0.3, 1.0)  # divided by the mean degree
TEMPERATURES = (1.0, 0.2)
SPREADS = (0.5, 0.9, 0.99)
CORRECTIONS = (0.0, 0.5, 0.9)
SMOOTHINGS = (0.5, 0.9)


@dataclasses.dataclass
class Cell:
    """What all methods see: noisy labels of the training and validation nodes, scores of the trained networks."""

    data: GraphData
    parts: Parts
    labels: IntArray
    logits: dict[str, FloatArray]

    def __post_init__(self) -> None:
        self.train, self.val = self.parts.train, self.parts.val
        self.width = self.data.width
        self.unlabelled = np.setdiff1d(np.arange(self.labels.size), self.train)
        self.targets = methods.one_hot(self.labels[self.train], self.width)
        self.probabilities = {name: methods.softmax(scores) for name, scores in self.logits.items()}
        self.residuals = {name: self.targets - shares[self.train] for name, shares in self.probabilities.items()}

    @property
    def graph(self) -> GraphMatrices:
        return self.data.matrices


def cross_entropy(cell: Cell) -> Iterator[Candidate]:
    yield from cell.probabilities.items()


def label_propagation(cell: Cell) -> Iterator[Candidate]:
    for alpha in SPREADS:
        yield f"alpha={alpha}", methods.label_propagation(cell.graph, cell.train, cell.targets, alpha)


def correct_and_smooth(cell: Cell) -> Iterator[Candidate]:
    yield from cross_entropy(cell)
    for name, shares in cell.probabilities.items():
        for correction in CORRECTIONS:
            corrected = shares
            if correction > 0:
                corrected = methods.correct(cell.graph, shares, cell.train, cell.targets, correction)
                yield f"{name} correct={correction}", methods.as_shares(corrected)
            for smoothing in SMOOTHINGS:
                smoothed = methods.smooth(cell.graph, corrected, cell.train, cell.targets, smoothing)
                yield f"{name} correct={correction} smooth={smoothing}", methods.as_shares(smoothed)


def _added(cell: Cell, name: str, what: str, change: FloatArray) -> Iterator[Candidate]:
    """To the scores, and to the probabilities."""
    yield f"{name} scores {what}", methods.softmax(cell.logits[name] + change)
    yield f"{name} probabilities {what}", methods.as_shares(cell.probabilities[name] + change)


def signed_transport(cell: Cell) -> Iterator[Candidate]:
    yield from cross_entropy(cell)
    for name, residuals in cell.residuals.items():
        for ridge in RIDGES:
            _, moved = methods.least_squares_flow(cell.graph, cell.train, residuals, ridge)
            for alpha in ALPHAS:
                yield from _added(cell, name, f"ridge={ridge} alpha={alpha}", alpha * moved)


def signed_neighbours(cell: Cell) -> Iterator[Candidate]:
    """A control of signed transport, without a flow: what the labels of the neighbours say beyond the network."""
    yield from cross_entropy(cell)
    for name, residuals in cell.residuals.items():
        around = methods.neighbour_residuals(cell.graph, cell.train, residuals)
        for alpha in ALPHAS:
            yield from _added(cell, name, f"alpha={alpha}", alpha * around)


def capacities(cell: Cell) -> Iterator[Candidate]:
    """Networks side by side, since the columns of a problem do not know of each other."""
    yield from cross_entropy(cell)
    limits = tuple(each / cell.graph.degrees.mean() for each in CAPACITIES)
    beside = np.concatenate(list(cell.residuals.values()), axis=1)
    for share, found in zip(CAPACITIES, methods.total_variation(cell.graph, cell.train, beside, limits)):
        for name, change in zip(cell.logits, np.split(found, len(cell.logits), axis=1)):
            yield from _added(cell, name, f"capacity={share}", change)


def with_potential(cell: Cell, potential: FloatArray) -> Iterator[Candidate]:
    yield from cross_entropy(cell)
    u = potentials.unit_spread(potential, cell.train)
    for name, scores in cell.logits.items():
        for beta in BETAS:
            yield f"{name} beta={beta}", methods.softmax(scores + beta * u)


def _with_volumes(cell: Cell, shares_of: Any) -> Iterator[Candidate]:
    yield from cross_entropy(cell)
    for name, shares in cell.probabilities.items():
        wanted = shares_of(shares)
        for temperature in TEMPERATURES:
            assigned = shares.copy()
            assigned[cell.unlabelled] = methods.assign_volumes(shares[cell.unlabelled], wanted, temperature)
            yield f"{name} temperature={temperature}", assigned


def known_volumes(cell: Cell) -> Iterator[Candidate]:
    """An oracle: the true class shares of the nodes that do not train."""
    truth = np.bincount(cell.data.classes[cell.unlabelled], minlength=cell.width) / cell.unlabelled.size
    return _with_volumes(cell, lambda _: truth)


def estimated_volumes(cell: Cell, stratified: bool) -> Iterator[Candidate]:
    """From the confusion matrix on the validation nodes; from the training labels where those are stratified."""

    def estimate(shares: FloatArray) -> FloatArray:
        if stratified:
            return cell.targets.mean(axis=0)
        return methods.estimate_shares(shares.argmax(axis=1), cell.val, cell.labels, cell.unlabelled, cell.width)

    return _with_volumes(cell, estimate)


def with_flow(cell: Cell, trained: list[networks.FlowTraining]) -> Iterator[Candidate]:
    yield from cross_entropy(cell)
    for training in trained:
        yield f"gcn lambda={training.lam}", methods.softmax(training.scores)


def choose(candidates: Iterator[Candidate], metric: str, labels: IntArray, val: IntArray) -> Candidate:
    """The best on the validation nodes; at ties the lowest log loss, then the first."""
    best: Candidate | None = None
    best_score = (-1.0, -np.inf)
    for name, shares in candidates:
        likelihood = float(np.log(np.maximum(shares[val, labels[val]], 1e-12)).mean())
        score = (methods.measure(metric, shares[val], labels[val]), likelihood)
        if score > best_score:
            best, best_score = (name, shares), score
    assert best is not None
    return best


def _potentials(cell: Cell) -> dict[str, FloatArray]:
    source = potentials.sources(cell.graph, cell.train, cell.targets)
    quadratic = potentials.quadratic(cell.graph, source)
    return {
        "potential-1": potentials.linear(cell.graph, cell.data.dataset.graph, cell.train, source),
        "potential-1.5": potentials.cubic(cell.graph, source, quadratic),
        "potential-2": quadratic,
    }


def _all_methods(
    cell: Cell, condition: Condition, trained: list[networks.FlowTraining]
) -> Iterator[tuple[str, Iterator[Candidate]]]:
    yield "ce", cross_entropy(cell)
    yield "lp", label_propagation(cell)
    yield "cs", correct_and_smooth(cell)
    yield "signed", signed_transport(cell)
    yield "control-signed", signed_neighbours(cell)
    for name, potential in _potentials(cell).items():
        yield name, with_potential(cell, potential)
    yield "capacities", capacities(cell)
    yield "volume-known", known_volumes(cell)
    yield "volume-estimated", estimated_volumes(cell, condition.rate.endswith("%"))
    if trained:
        yield "sum-path", with_flow(cell, trained)


def _detectors(cell: Cell, trained: list[networks.FlowTraining]) -> dict[str, float | None]:
    """AUC of finding wrong training labels."""
    wrong = cell.labels[cell.train] != cell.data.classes[cell.train]
    given = cell.labels[cell.train]
    found = {}
    for name, shares in cell.probabilities.items():
        loss = -np.log(np.maximum(shares[cell.train, given], 1e-300))
        found[f"loss {name}"] = methods.roc_auc(loss, wrong)
        flow, _ = methods.least_squares_flow(cell.graph, cell.train, cell.residuals[name], RIDGES[0])
        carried = methods.flow_at_nodes(cell.graph, flow, cell.train)
        found[f"least-squares flow {name}"] = methods.roc_auc(carried, wrong)
    for training in trained:
        carried = methods.flow_at_nodes(cell.graph, training.flow, cell.train)
        found[f"trained flow {training.lam}"] = methods.roc_auc(carried, wrong)
    return found


def run_cell(condition: Condition, seed: int) -> dict[str, Any]:
    """The line of this cell in results.jsonl."""
    began = time.perf_counter()
    data = networks.load(condition.graph)
    parts = draw_split(data.classes, condition.rate, condition.random(seed, "split"))
    labels, random = data.classes.copy(), condition.random(seed, "noise")
    for nodes in (parts.train, parts.val):
        labels[nodes] = add_noise(data.classes, nodes, condition.noise, data.matrices.adjacency, random)[nodes]
    networks.give_labels(data, labels, parts)
    logits = {name: networks.train_cross_entropy(data, name, seed) for name in networks.NETWORKS}
    trained = []
    if condition.is_noisy and condition.has_many_labels:
        trained = [networks.train_with_flow(data, "gcn", seed, lam, parts.train.size) for lam in networks.LAMBDAS]
    cell = Cell(data, parts, labels, logits)
    results = {}
    for name, candidates in _all_methods(cell, condition, trained):
        settings, shares = choose(candidates, data.metric, labels, parts.val)
        test = methods.measure(data.metric, shares[parts.test], data.classes[parts.test])
        results[name] = {"test": test, "settings": settings}
    return {
        **dataclasses.asdict(condition),
        "seed": seed,
        "sizes": [parts.train.size, parts.val.size, parts.test.size],
        "methods": results,
        "detectors": _detectors(cell, trained) if condition.is_noisy else {},
        "nonzero_flow": {str(each.lam): float(np.mean(each.flow != 0)) for each in trained},
        "seconds": round(time.perf_counter() - began, 2),
    }
