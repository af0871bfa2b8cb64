"""Potentials of p-transport from label to label: the dual variables, one for each class."""

from __future__ import annotations

from typing import Any

import numpy as np
from conditions import FloatArray, IntArray
from linear import GraphMatrices, conjugate_gradients


def sources(graph: GraphMatrices, train: IntArray, targets: FloatArray) -> FloatArray:
    """[N, C]: label minus mean label at the training nodes.

    The mean is that of a node's connected component, since no mass moves between components. A component with labels
    of one class alone has no sources, and its potentials are zero: there the network decides.
    """
    found = np.zeros((graph.nodes, targets.shape[1]))
    found[train] = targets
    means = graph.component_means(found, train)
    found[train] -= means[train]
    return found


def quadratic(graph: GraphMatrices, source: FloatArray) -> FloatArray:
    """p = 2, Poisson learning: L u = b, with mean zero on every component."""
    u = conjugate_gradients(lambda x: graph.laplacian @ x, source, graph.degrees[:, None], 1e-6, 500)
    return u - graph.component_means(u)


def cubic(
    graph: GraphMatrices, source: FloatArray, start: FloatArray, steps: int = 8, inner_steps: int = 25
) -> FloatArray:
    """p = 1.5: minimises sum |grad u|^3 / 3 - <b, u> by Newton's method, so that div(|grad u| grad u) = b.

    Steps are halved, for each class by itself, until the energy falls.
    """

    def energy(u: FloatArray) -> FloatArray:
        return np.sum(np.abs(graph.gradient @ u) ** 3, axis=0) / 3 - np.sum(source * u, axis=0)

    cubes = np.sum(np.abs(graph.gradient @ start) ** 3, axis=0)
    u = start * np.sqrt(np.maximum(np.sum(source * start, axis=0), 0) / np.where(cubes > 0, cubes, 1))
    lowest = energy(u)
    ends = abs(graph.incidence)
    for _ in range(steps):
        slope = graph.gradient @ u
        weight = 2 * np.abs(slope)
        weight += 1e-4 * weight.max(axis=0) + 1e-12  # the curvature is zero where the slope is
        missing = source - graph.incidence @ (np.abs(slope) * slope)
        step = conjugate_gradients(
            lambda x, weight=weight: graph.incidence @ (weight * (graph.gradient @ x)),
            missing,
            ends @ weight,
            1e-3,
            inner_steps,
        )
        length = np.ones(source.shape[1])
        for _ in range(12):
            now = energy(u + length * step)
            if np.all(now <= lowest):
                break
            length = np.where(now <= lowest, length, length / 2)
        length = np.where(now <= lowest, length, 0)
        u = u + length * step
        lowest = np.minimum(now, lowest)
    return u - graph.component_means(u)


def linear(graph: GraphMatrices, qw_graph: Any, train: IntArray, source: FloatArray) -> FloatArray:
    """p = 1: Kantorovich potentials of the exact Wasserstein-1 distance."""
    import qw

    solved = qw.wasserstein1(qw_graph, np.zeros_like(source), source)
    u = extend(graph, train, solved.potential)
    return u - graph.component_means(u)


def extend(graph: GraphMatrices, known: IntArray, u: FloatArray) -> FloatArray:
    """Midway between the largest and the smallest function that equals u at `known` and changes by 1 an edge at most.

    Potentials elsewhere are not unique. Midway they do not depend on the solver.
    """
    upper, lower = np.full_like(u, np.inf), np.full_like(u, -np.inf)
    upper[known], lower[known] = u[known], u[known]
    has_neighbours = np.flatnonzero(graph.degrees)
    starts, neighbours = graph.adjacency.indptr[has_neighbours], graph.adjacency.indices
    for _ in range(graph.nodes):
        nearest = np.minimum.reduceat(upper[neighbours], starts) + 1
        highest = np.maximum.reduceat(lower[neighbours], starts) - 1
        higher, lower_now = np.minimum(upper[has_neighbours], nearest), np.maximum(lower[has_neighbours], highest)
        if np.array_equal(higher, upper[has_neighbours]) and np.array_equal(lower_now, lower[has_neighbours]):
            break
        upper[has_neighbours], lower[has_neighbours] = higher, lower_now
    reached = np.isfinite(upper) & np.isfinite(lower)
    return np.where(reached, (np.where(reached, upper, 0) + np.where(reached, lower, 0)) / 2, 0)


def unit_spread(u: FloatArray, train: IntArray) -> FloatArray:
    """Each class divided by its standard deviation over the nodes to be predicted."""
    others = np.setdiff1d(np.arange(u.shape[0]), train)
    spread = u[others].std(axis=0)
    return u / np.where(spread > 1e-9, spread, 1)
