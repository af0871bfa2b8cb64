"""Post-steps on the scores of a trained network, each a small function on arrays."""

from __future__ import annotations

import numpy as np
from conditions import BoolArray, FloatArray, IntArray, Sparse
from linear import GraphMatrices, conjugate_gradients
from scipy.optimize import nnls
from scipy.stats import rankdata

STEPS = 50  # of propagation


def softmax(scores: FloatArray) -> FloatArray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    found: FloatArray = powers / powers.sum(axis=1, keepdims=True)
    return found


def as_shares(values: FloatArray) -> FloatArray:
    """Rows of positive numbers with sum one, in the same order within a row unless below zero."""
    positive = np.maximum(values, 1e-6)
    found: FloatArray = positive / positive.sum(axis=1, keepdims=True)
    return found


def one_hot(classes: IntArray, width: int) -> FloatArray:
    return np.eye(width)[classes]


def propagate(matrix: Sparse, start: FloatArray, alpha: float, steps: int = STEPS) -> FloatArray:
    """x = alpha * matrix x + (1 - alpha) * start."""
    x, own = start, (1 - alpha) * start
    for _ in range(steps):
        x = alpha * (matrix @ x) + own
    return x


def label_propagation(graph: GraphMatrices, train: IntArray, targets: FloatArray, alpha: float) -> FloatArray:
    """Shares of the labels that reach a node; the mean label where none does."""
    start = np.zeros((graph.nodes, targets.shape[1]))
    start[train] = targets
    found = propagate(graph.normalised, start, alpha)
    unreached = found.sum(axis=1) < 1e-12
    found[unreached] = targets.mean(axis=0)
    return as_shares(found / found.sum(axis=1, keepdims=True))


def correct(
    graph: GraphMatrices, probabilities: FloatArray, train: IntArray, targets: FloatArray, alpha: float
) -> FloatArray:
    """Spreads the errors of the training nodes, scaled to their mean size (Huang et al., ICLR 2021)."""
    errors = np.zeros_like(probabilities)
    errors[train] = targets - probabilities[train]
    size = np.abs(errors[train]).sum(axis=1).mean()
    spread = propagate(graph.normalised, errors, alpha)
    found = np.abs(spread).sum(axis=1, keepdims=True)
    scale = np.where(found > size / 1000, size / np.maximum(found, 1e-300), 0)
    return probabilities + scale * spread


def smooth(
    graph: GraphMatrices, probabilities: FloatArray, train: IntArray, targets: FloatArray, alpha: float
) -> FloatArray:
    """Spreads predictions, with the labels in place."""
    start = probabilities.copy()
    start[train] = targets
    return propagate(graph.normalised, start, alpha)


def least_squares_flow(
    graph: GraphMatrices, train: IntArray, residuals: FloatArray, ridge: float
) -> tuple[FloatArray, FloatArray]:
    """The flow F [E, C] with least |S F - r|^2 + ridge |F|^2 at the training nodes, and S F [N, C].

    F = S_T' x with (L_TT + ridge) x = r, where S_T are the rows of the training nodes and L = S S'.
    """
    block = graph.laplacian[train][:, train]
    diagonal = graph.degrees[train][:, None] + ridge
    x = conjugate_gradients(lambda v: block @ v + ridge * v, residuals, diagonal, 1e-6, 500)
    spread = np.zeros((graph.nodes, residuals.shape[1]))
    spread[train] = x
    return graph.gradient @ spread, graph.laplacian @ spread


def neighbour_residuals(graph: GraphMatrices, train: IntArray, residuals: FloatArray) -> FloatArray:
    """[N, C]: the sum over the training nodes around a node, divided by its degree."""
    spread = np.zeros((graph.nodes, residuals.shape[1]))
    spread[train] = residuals
    found: FloatArray = (graph.adjacency @ spread) / np.maximum(graph.degrees, 1)[:, None]
    return found


def flow_at_nodes(graph: GraphMatrices, flow: FloatArray, nodes: IntArray) -> FloatArray:
    """The sum of |F| over the edges of a node."""
    carried: FloatArray = (abs(graph.incidence) @ np.abs(flow).sum(axis=1))[nodes]
    return carried


def total_variation(
    graph: GraphMatrices,
    train: IntArray,
    residuals: FloatArray,
    capacities: tuple[float, ...],
    steps: int = 100,
) -> list[FloatArray]:
    """For each capacity lam: u with least sum_T (u - r)^2 / 2 + lam sum_edges |grad u|.

    Its dual is a flow with |F| <= lam. Chambolle and Pock's method, with steps by degree; every capacity starts from
    the solution of the one before.
    """
    gradient = graph.gradient.astype(np.float32)
    incidence = gradient.T  # by columns: half the time of graph.incidence
    step = (1 / np.maximum(graph.degrees, 1)).astype(np.float32)[:, None]
    pull = np.zeros_like(step)
    pull[train] = step[train]
    aim = np.zeros((graph.nodes, residuals.shape[1]), dtype=np.float32)
    aim[train] = pull[train] * residuals
    u, flow = np.zeros_like(aim), np.zeros((graph.heads.size, residuals.shape[1]), dtype=np.float32)
    found = []
    for capacity in capacities:
        ahead, limit = u, np.float32(capacity)
        for _ in range(steps):
            flow += np.float32(0.5) * (gradient @ ahead)
            np.minimum(np.maximum(flow, -limit, out=flow), limit, out=flow)
            before, u = u, (u - step * (incidence @ flow) + aim) / (1 + pull)
            ahead = 2 * u - before
        found.append(u.astype(np.float64))
    return found


def assign_volumes(probabilities: FloatArray, shares: FloatArray, temperature: float) -> FloatArray:
    """Rows p^(1/temperature) * weight of the class, with weights such that the mean over the rows is `shares`.

    Entropic transport of nodes to classes of given sizes; as the temperature falls, the likeliest assignment.
    """
    logits = np.log(np.maximum(probabilities, 1e-12)) / temperature
    wanted = np.maximum(shares, 1e-6)
    wanted = wanted / wanted.sum()
    weights = np.zeros(shares.size)
    for _ in range(300):
        found = softmax(logits + weights)
        volumes = found.mean(axis=0)
        if np.abs(volumes - wanted).max() < 1e-5:
            break
        weights += np.log(wanted) - np.log(np.maximum(volumes, 1e-300))
    return softmax(logits + weights)


def estimate_shares(predicted: IntArray, val: IntArray, labels: IntArray, others: IntArray, width: int) -> FloatArray:
    """Class shares of `others` from a confusion matrix on validation nodes (Lipton et al., ICML 2018).

    Weights w solve joint w = shares of the predictions, with a pull to 1 as strong as one validation node.
    """
    joint = np.zeros((width, width))
    np.add.at(joint, (predicted[val], labels[val]), 1 / val.size)
    found = np.bincount(predicted[others], minlength=width) / others.size
    pull = 1 / np.sqrt(val.size)
    weights, _ = nnls(np.vstack([joint, pull * np.eye(width)]), np.concatenate([found, pull * np.ones(width)]))
    counts = np.bincount(labels[val], minlength=width) + 1 / width
    shares = weights * counts
    return shares / shares.sum() if shares.sum() > 0 else counts / counts.sum()


def roc_auc(values: FloatArray, positive: BoolArray) -> float | None:
    """The chance that a positive has a higher value than another, ties counted half; None where one kind is missing."""
    count, others = int(positive.sum()), int((~positive).sum())
    if count == 0 or others == 0:
        return None
    ranks = rankdata(values)
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * others))


def measure(metric: str, shares: FloatArray, labels: IntArray) -> float:
    """Accuracy, or the area under the ROC curve of class 1: a half where it is undefined."""
    if metric == "roc_auc":
        found = roc_auc(shares[:, 1], labels == 1)
        return 0.5 if found is None else found
    return float((shares.argmax(axis=1) == labels).mean())
