"""What other libraries call a graph, as numpy arrays. None of them is imported unless its objects are given."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._lib import fail, warn


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


def is_sparse_matrix(value: Any) -> bool:
    return is_instance(value, "scipy.sparse", "spmatrix") or is_instance(value, "scipy.sparse", "sparray")


def is_pyg(value: Any) -> bool:
    return is_instance(value, "torch_geometric.data", "Data")


def is_graph(value: Any) -> bool:
    return is_instance(value, f"{__package__}.graph", "Graph")


def as_array(value: Any, name: str) -> NDArray[Any]:
    """numpy's array of an array, a tensor or a list."""
    if is_instance(value, "torch", "Tensor"):
        value = _of_tensor(value, name)
    try:
        return np.asarray(value)
    except ValueError as error:
        raise fail(f"{name} must be an array: {error}") from error


def _of_tensor(tensor: Any, name: str) -> Any:
    if str(tensor.layout) != "torch.strided":
        raise fail(f"{name} must be a dense tensor, got one of {tensor.layout}; to_dense() makes one")
    try:
        return tensor.detach().cpu().numpy()
    except TypeError:
        raise fail(f"{name} is of {tensor.dtype}, which numpy has not; float() makes float32 of it") from None


def edges_of(given: Any, num_nodes: int | None = None, directed: bool | None = None) -> Edges:
    """Edges in any of the forms that qw.Graph takes."""
    if is_graph(given):
        edges = _of_graph(given, directed)
    elif is_instance(given, "networkx", "Graph"):
        edges = _of_networkx(given)
    elif is_pyg(given):
        edges = _of_pyg(given, directed)
    elif is_sparse_matrix(given):
        edges = _of_scipy(given, directed)
    elif is_instance(given, "pandas", "DataFrame"):
        edges = _of_index(_numbers(_two_columns(given).to_numpy()).T, num_nodes)
    else:
        edges = _of_index(_index_of(given), num_nodes)
    if num_nodes is not None and num_nodes != edges.num_nodes:
        kind = type(given).__name__
        raise fail(f"the {kind} of edges has {edges.num_nodes} nodes, not {num_nodes} (num_nodes, or rows of features)")
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


def _two_columns(table: Any) -> Any:
    if table.shape[1] == 2:
        return table
    if table.shape[1] < 2:
        raise fail(f"edges must have two columns, got {table.shape[1]}")
    more = ", ".join(f"'{name}'" for name in table.columns[2:])
    raise fail(
        f"edges has columns beside the two ends: {more}; give the two alone, and qw.Graph costs= or weights= if the "
        "others are that"
    )


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


def _of_graph(graph: Any, directed: bool | None) -> Edges:
    if directed is not None and directed != graph.directed:
        raise fail(f"directed={directed} contradicts the qw.Graph of edges, which has directed={graph.directed}")
    index = np.stack([graph.tails, graph.heads]).astype(np.int64)
    return Edges(index, graph.num_nodes, graph.directed, graph.costs, graph.weights, graph.node_names)


def _of_networkx(graph: Any) -> Edges:
    names = list(graph.nodes)
    numbers = all(isinstance(name, (int, np.integer)) and not isinstance(name, bool) for name in names)
    numbered = numbers and set(names) == set(range(len(names)))
    number = {name: int(name) if numbered else place for place, name in enumerate(names)}
    pairs = [(number[a], number[b]) for a, b in graph.edges()]
    edges = _of_index(np.array(pairs, dtype=np.int64).reshape(-1, 2).T, len(names))
    edges.directed = graph.is_directed()
    edges.names = None if numbered else names
    attributes = [data for _, _, data in graph.edges(data=True)]
    edges.costs = _attribute(attributes, "cost")
    edges.weights = _attribute(attributes, "weight")
    return edges


def _attribute(attributes: list[dict[str, Any]], name: str) -> NDArray[np.float64] | None:
    if not any(name in each for each in attributes):
        return None
    try:
        return np.array([each.get(name, 1.0) for each in attributes], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise fail(f"the attribute {name} of edges must be a number: {error}") from None


def _of_pyg(data: Any, directed: bool | None) -> Edges:
    if data.edge_index is None:
        raise fail("the Data object has no edge_index")
    edges = _of_index(_index_of(data.edge_index), int(data.num_nodes))
    there, back, loops = _arcs(edges)
    edges.directed = not np.array_equal(there, back)
    if directed is None and edges.directed and not np.isin(there, back[~loops]).any():
        warn(
            "edge_index has no edge in both directions: its edges are taken as arcs from source to destination; "
            "directed=False makes them undirected, directed=True says that arcs are meant"
        )
    if getattr(data, "edge_weight", None) is not None:
        edges.weights = as_array(data.edge_weight, "edge_weight").astype(np.float64).reshape(-1)
        _check_weights(edges, "edge_weight", edges.directed if directed is None else directed)
    return edges


def _arcs(edges: Edges) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """All arcs as numbers in order, each once, the same of their reverses, and which of these are loops."""
    source, target = edges.index
    count = max(edges.num_nodes, int(edges.index.max(initial=0)) + 1)
    there, back = np.unique(source * count + target), np.unique(target * count + source)
    return there, back, back // count == back % count


def _check_weights(edges: Edges, name: str, directed: bool) -> None:
    """An undirected edge has one weight, in whichever direction it is given."""
    weights = edges.weights
    if directed or weights is None or weights.size != edges.index.shape[1]:  # the size is checked with the graph
        return
    low, high = edges.index.min(axis=0), edges.index.max(axis=0)
    order = np.lexsort((high, low))
    low, high, weights = low[order], high[order], weights[order]
    other = (low[1:] == low[:-1]) & (high[1:] == high[:-1]) & ~np.isclose(weights[1:], weights[:-1], rtol=1e-6, atol=0)
    if other.any():
        at = int(np.argmax(other))
        raise fail(
            f"{name} has {weights[at]:g} and {weights[at + 1]:g} for the edge between {low[at]} and {high[at]}: give "
            "one weight for both directions, or directed=True"
        )


def _of_scipy(matrix: Any, directed: bool | None) -> Edges:
    if matrix.shape[0] != matrix.shape[1]:
        raise fail(f"an adjacency matrix must be square, got {list(matrix.shape)}")
    entries = matrix.tocoo()
    index = np.stack([entries.row, entries.col]).astype(np.int64)
    weights = np.asarray(entries.data, dtype=np.float64)
    edges = _of_index(index, matrix.shape[0])
    edges.directed = bool((abs(matrix - matrix.T) > 0).nnz)
    edges.weights = None if np.all(weights == 1) else weights
    if edges.directed and directed is None:
        warn("the matrix is not symmetric: its entries are arcs from row to column; directed=False joins both ways")
    _check_weights(edges, "the matrix", edges.directed if directed is None else directed)
    return edges
