"""Matrices of a graph, and systems of equations with them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from conditions import FloatArray, IntArray, Sparse, adjacency_of
from scipy import sparse
from scipy.sparse import csgraph


class GraphMatrices:
    """heads, tails: the ends of every edge, once, without loops."""

    def __init__(self, heads: IntArray, tails: IntArray, nodes: int) -> None:
        kept = heads != tails
        self.heads, self.tails, self.nodes = heads[kept].astype(np.int64), tails[kept].astype(np.int64), nodes
        edges = np.arange(self.heads.size)
        signs = np.concatenate([np.ones(edges.size), -np.ones(edges.size)])
        ends = np.concatenate([self.heads, self.tails])
        self.incidence: Sparse = sparse.csr_matrix((signs, (ends, np.tile(edges, 2))), shape=(nodes, edges.size))
        self.gradient: Sparse = self.incidence.T.tocsr()
        self.adjacency = adjacency_of(self.heads, self.tails, nodes)
        self.degrees: FloatArray = np.asarray(self.adjacency.sum(1)).ravel()
        self.laplacian: Sparse = (sparse.diags(self.degrees) - self.adjacency).tocsr()
        scale = sparse.diags(1 / np.sqrt(np.maximum(self.degrees, 1)))
        self.normalised: Sparse = (scale @ self.adjacency @ scale).tocsr()
        count, self.component = csgraph.connected_components(self.adjacency, directed=False)
        self.membership: Sparse = sparse.csr_matrix(
            (np.ones(nodes), (self.component, np.arange(nodes))), shape=(count, nodes)
        )

    def component_means(self, values: FloatArray, nodes: IntArray | None = None) -> FloatArray:
        """For each node the mean over its component, or over those of `nodes` that are in it."""
        counted = np.zeros((self.nodes, 1))
        counted[slice(None) if nodes is None else nodes] = 1
        means = (self.membership @ (values * counted)) / np.maximum(self.membership @ counted, 1)
        return means[self.component]


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray],
    right: FloatArray,
    diagonal: FloatArray,
    tolerance: float = 1e-6,
    steps: int = 1000,
) -> FloatArray:
    """Solves product(x) = right for every column at once, preconditioned by the diagonal."""
    scale = np.where(diagonal > 0, diagonal, 1)
    x, residual = np.zeros_like(right), right.copy()
    enough = tolerance * np.linalg.norm(right, axis=0)
    direction = residual / scale
    power = np.sum(residual * direction, axis=0)
    for _ in range(steps):
        if np.all(np.linalg.norm(residual, axis=0) <= enough):
            break
        image = product(direction)
        curvature = np.sum(direction * image, axis=0)
        length = np.where(curvature > 0, power / np.where(curvature > 0, curvature, 1), 0)
        x += length * direction
        residual -= length * image
        towards = residual / scale
        next_power = np.sum(residual * towards, axis=0)
        direction = towards + np.where(power > 0, next_power / np.where(power > 0, power, 1), 0) * direction
        power = next_power
    return x
