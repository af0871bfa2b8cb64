"""What other libraries call a graph, as numpy arrays. None of them is imported unless its objects are given."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._lib import fail


@dataclasses.dataclass
class Edges:
    """Edges as given: index[0] are their sources, index[1] their destinations."""

    index: NDArray[np.int64]
    num_nodes: int
    directed: bool = False
    costs: NDArray[np.float64] | None = None
    weights: NDArray[np.float64] | None = None
    names: list[Any] | None = None  # of the nodes, where they are not numbers


def is_instance(value: Any, module: str, name: str) -> bool:
    """Whether it is one of another library's objects, without importing that library."""
    loaded = sys.modules.get(module)
    kind = getattr(loaded, name, None)  # older ones may lack it
    return kind is not None and isinstance(value, kind)


def as_array(value: Any, name: str) -> NDArray[Any]:
    """numpy's array of an array, a tensor or a list."""
    if is_instance(value, "torch", "Tensor"):
        value = value.detach().cpu().numpy()
    try:
        return np.asarray(value)
    except ValueError as error:
        raise fail(f"{name} must be an array: {error}") from error


def edges_of(given: Any, num_nodes: int | None = None, directed: bool | None = None) -> Edges:
    """Edges in any of the forms that qw.Graph takes."""
    if is_instance(given, "networkx", "Graph"):
        edges = _of_networkx(given, num_nodes)
    elif is_instance(given, "torch_geometric.data", "Data"):
        edges = _of_pyg(given, num_nodes)
    elif is_instance(given, "scipy.sparse", "spmatrix") or is_instance(given, "scipy.sparse", "sparray"):
        edges = _of_scipy(given)
        if edges.directed and directed is None:
            warnings.warn(
                "the matrix is not symmetric: its entries are arcs from row to column; directed=False joins both ways",
                stacklevel=4,
            )
    elif is_instance(given, "pandas", "DataFrame"):
        if given.shape[1] < 2:
            raise fail(f"edges must have two columns, got {given.shape[1]}")
        edges = _of_index(_numbers(given.iloc[:, :2].to_numpy()).T, num_nodes)
    else:
        edges = _of_index(_index_of(given), num_nodes)
    if directed is not None:
        edges.directed = directed
    return edges


def as_pairs(given: Any) -> list[Any] | None:
    """A list of pairs of nodes; None for anything else."""
    if not (isinstance(given, (list, tuple)) and given and isinstance(given[0], (list, tuple)) and len(given[0]) == 2):
        return None
    if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in given):
        raise fail("edges must be pairs of nodes")
    return list(given)


def _index_of(given: Any) -> NDArray[np.int64]:
    pairs = as_pairs(given)
    if pairs is not None:
        array = _numbers(as_array(pairs, "edges"))
        if array.ndim != 2:
            raise fail("edges must be pairs of nodes")
        return array.T
    array = _numbers(as_array(given, "edges"))
    if array.size == 0:
        return np.empty((2, 0), dtype=np.int64)
    if array.ndim != 2 or array.shape[0] != 2:
        raise fail(f"edges must be [2, E] or a list of pairs, got the shape {list(array.shape)}")
    return array


def _numbers(array: NDArray[Any]) -> NDArray[np.int64]:
    if array.size == 0:
        return array.reshape(array.shape).astype(np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        whole = array.astype(np.float64) if np.issubdtype(array.dtype, np.floating) else None
        if whole is None or not np.all(np.isfinite(whole) & (whole == np.floor(whole)) & (np.abs(whole) < 2**53)):
            raise fail(f"edges must be whole numbers from 0, got {array.dtype}")
    return array.astype(np.int64)


def _of_index(index: NDArray[np.int64], num_nodes: int | None) -> Edges:
    named = int(index.max()) + 1 if index.size else 0
    if num_nodes is None:
        num_nodes = named
    if num_nodes < 0:
        raise fail(f"num_nodes must not be negative, got {num_nodes}")
    return Edges(np.ascontiguousarray(index), int(num_nodes))


def _of_networkx(graph: Any, num_nodes: int | None) -> Edges:
    names = list(graph.nodes)
    number = {name: place for place, name in enumerate(names)}
    pairs = [(number[a], number[b]) for a, b in graph.edges()]
    index = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    edges = _of_index(index, len(names) if num_nodes is None else num_nodes)
    edges.directed = graph.is_directed()
    edges.names = None if names == list(range(len(names))) else names
    attributes = [data for _, _, data in graph.edges(data=True)]
    edges.costs = _attribute(attributes, "cost")
    edges.weights = _attribute(attributes, "weight")
    return edges


def _attribute(attributes: list[dict[str, Any]], name: str) -> NDArray[np.float64] | None:
    if not any(name in each for each in attributes):
        return None
    return np.array([each.get(name, 1.0) for each in attributes], dtype=np.float64)


def _of_pyg(data: Any, num_nodes: int | None) -> Edges:
    if data.edge_index is None:
        raise fail("the Data object has no edge_index")
    index = _numbers(as_array(data.edge_index, "edge_index"))
    edges = _of_index(index, int(data.num_nodes) if num_nodes is None else num_nodes)
    edges.directed = bool(data.is_directed())
    if getattr(data, "edge_weight", None) is not None:
        edges.weights = as_array(data.edge_weight, "edge_weight").astype(np.float64).reshape(-1)
    return edges


def _of_scipy(matrix: Any) -> Edges:
    if matrix.shape[0] != matrix.shape[1]:
        raise fail(f"an adjacency matrix must be square, got {list(matrix.shape)}")
    entries = matrix.tocoo()
    index = np.stack([entries.row, entries.col]).astype(np.int64)
    weights = np.asarray(entries.data, dtype=np.float64)
    edges = _of_index(index, matrix.shape[0])
    edges.directed = bool((abs(matrix - matrix.T) > 0).nnz)
    edges.weights = None if np.all(weights == 1) else weights
    return edges
