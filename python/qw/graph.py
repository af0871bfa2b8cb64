"""Graphs, from whatever a program has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._lib import fail
from .convert import as_array, edges_of

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class Graph:
    """Nodes 0 .. num_nodes - 1 and edges between them, each once, sorted by (head, tail).

    edges: a [2, E] array or tensor, row 0 the source of an edge and row 1 its destination, as PyTorch Geometric has
        them (an undirected graph may list both directions: they are one edge); a list of pairs; a DataFrame with two
        columns; a networkx graph; a scipy.sparse matrix; a PyTorch Geometric Data object; a Graph. Nodes of networkx
        are numbered as they stand in it (node_names), unless their names are the numbers from 0.
    num_nodes: as many as the edges name, unless given.
    costs: what moving one unit over an edge costs, for each given edge; 1 without.
    weights: of the adjacency matrix, for each given edge; 1 without.
    directed: edges are arcs from source to destination.
    duplicates, self_loops: what to do with them: drop, keep or error. Of duplicates the cheapest is kept.
    """

    def __init__(
        self,
        edges: Any,
        num_nodes: int | None = None,
        *,
        costs: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        directed: bool | None = None,
        duplicates: str = "drop",
        self_loops: str = "drop",
    ) -> None:
        given = edges_of(edges, num_nodes, directed)
        self.node_names: list[Any] | None = given.names
        costs = given.costs if costs is None else costs
        weights = given.weights if weights is None else weights
        self._graph, self._edge_of_given = _core.build_graph(
            given.num_nodes,
            given.index,
            _row(costs, given.index.shape[1], "costs"),
            _row(weights, given.index.shape[1], "weights"),
            given.directed,
            duplicates,
            self_loops,
        )

    @classmethod
    def _of(cls, graph: _core.Graph) -> Graph:
        made = cls.__new__(cls)
        made._graph = graph
        made._edge_of_given = np.arange(graph.num_edges, dtype=np.int64)
        made.node_names = None
        return made

    @property
    def num_nodes(self) -> int:
        return self._graph.num_nodes

    @property
    def num_edges(self) -> int:
        """An undirected edge counts once."""
        return self._graph.num_edges

    @property
    def directed(self) -> bool:
        return self._graph.directed

    @property
    def tails(self) -> NDArray[np.int32]:
        """[E]: where edges begin."""
        return self._graph.tails

    @property
    def heads(self) -> NDArray[np.int32]:
        """[E]: where edges end; a flow above 0 carries mass from tail to head."""
        return self._graph.heads

    @property
    def costs(self) -> FloatArray | None:
        costs = self._graph.costs
        return costs if costs.size else None

    @property
    def weights(self) -> FloatArray | None:
        weights = self._graph.weights
        return weights if weights.size else None

    @property
    def edge_of_given(self) -> IntArray:
        """For each edge that was given, its number here; -1 where it was dropped as a self-loop."""
        return self._edge_of_given

    @property
    def edge_index(self) -> IntArray:
        """[2, arcs] as PyTorch Geometric has it: an undirected edge in both directions."""
        tails, heads = self.tails.astype(np.int64), self.heads.astype(np.int64)
        if self.directed:
            return np.stack([tails, heads])
        loops = tails == heads
        back = np.stack([heads[~loops], tails[~loops]])
        return np.concatenate([np.stack([tails, heads]), back], axis=1)

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return f"Graph({self.num_nodes} nodes, {self.num_edges} {kind} edges)"


def _row(values: ArrayLike | None, size: int, name: str) -> FloatArray:
    if values is None:
        return np.empty(0)
    try:
        row = as_array(values, name).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise fail(f"{name} must be numbers: {error}") from None
    if row.shape != (size,):
        raise fail(f"{name} must have one number for each of {size} given edges, got the shape {row.shape}")
    return row


def as_graph(graph: Any, num_nodes: int | None = None, *, directed: bool | None = None) -> Graph:
    """A Graph, made from what Graph() takes unless it is one."""
    if not isinstance(graph, Graph):
        return Graph(graph, num_nodes, directed=directed)
    edges_of(graph, num_nodes, directed)  # which says what contradicts the graph
    return graph
