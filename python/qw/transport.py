"""Exact optimal transport on a graph, with proof."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._lib import fail
from .convert import as_array, is_instance
from .graph import Graph, as_graph

if TYPE_CHECKING:
    import torch

FloatArray = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Path:
    """What moves from one node to another along one way."""

    source: int
    sink: int
    amount: float
    nodes: list[int]


@dataclasses.dataclass(frozen=True)
class Transport:
    """A solution and its proof. For values [N] numbers and vectors, for values [N, C] one for each column.

    distance: equals upper; NaN where there is no flow.
    lower, upper: the distance lies between them: potential proves the one, flow the other.
    flow: [E] or [E, C], on the edges of graph: above 0 it goes from tail to head.
    potential: [N] or [N, C].
    status: optimal, infeasible, time_limit or approximate; a list for several columns.
    """

    graph: Graph
    distance: Any
    lower: Any
    upper: Any
    flow: FloatArray
    potential: FloatArray
    status: Any

    def paths(self, column: int = 0, tolerance: float = 0.0) -> list[Path]:
        """Who sends to whom, how much, and by which nodes."""
        flow = self.flow if self.flow.ndim == 1 else self.flow[:, column]
        if np.isnan(flow).any():
            raise fail("there is no flow to follow: the problem has no solution")
        return [Path(*each) for each in _core.decompose_flow(self.graph._graph, flow, tolerance)]


def _columns(values: Any, rows: int, name: str) -> FloatArray:
    array = as_array(values, name)
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise fail(f"{name} must be numbers: {error}") from error
    if array.ndim not in (1, 2) or array.shape[0] != rows:
        raise fail(f"{name} must be [{rows}] or [{rows}, C], a row for each node, got the shape {list(array.shape)}")
    if not np.isfinite(array).all():
        raise fail(f"{name} must be finite")
    return array.reshape(rows, -1)


def labelled_nodes(labelled: Any, num_nodes: int) -> NDArray[np.int32]:
    """The numbers of the labelled nodes, from a mask or numbers; all nodes without."""
    if labelled is None:
        return np.arange(num_nodes, dtype=np.int32)
    array = as_array(labelled, "labelled")
    if array.dtype == np.bool_:
        if array.shape != (num_nodes,):
            raise fail(f"labelled must be a mask [{num_nodes}] or numbers of nodes, got the shape {list(array.shape)}")
        return np.flatnonzero(array).astype(np.int32)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise fail("labelled must be a mask or numbers of nodes")
    if array.size and (array.min() < 0 or array.max() >= num_nodes):
        raise fail(f"labelled must be nodes from 0 to {num_nodes - 1}, got {array.min()} to {array.max()}")
    return array.astype(np.int32)


def wasserstein1(
    graph: Any,
    mu: Any,
    nu: Any,
    *,
    labelled: Any = None,
    slack: float = math.inf,
    solver: str = "auto",
    gap: float = 0.0,
    time_limit: float | None = None,
) -> Any:
    """The Wasserstein-1 distance between mu and nu on a graph: the least cost of a flow that carries mu to nu.

    graph: a qw.Graph, or what qw.Graph takes. Its costs are the lengths of the edges.
    mu, nu: [N] or [N, C] (a problem for each column): real numbers of any sign. With tensors of torch the result is the
        distance as a tensor, [] or [C], with gradients for both.
    labelled: mask or numbers of the nodes that are bound; the others give and take freely. All, unless given.
    slack: above 0: what a unit costs that a labelled node gives away or takes up without moving it.
    solver, gap: how, and how far lower may be from upper, as `qw w1` has them; for arrays only.
    time_limit: seconds; then lower and upper still hold. For arrays only.

    Returns a Transport, or with tensors the distance alone.
    """
    graph = as_graph(graph)
    if is_instance(mu, "torch", "Tensor") or is_instance(nu, "torch", "Tensor"):
        if solver != "auto" or gap != 0 or time_limit is not None:
            raise fail("solver, gap and time_limit are for arrays; with tensors the distance is always exact")
        return _differentiable(graph, mu, nu, labelled, slack)
    nodes = labelled_nodes(labelled, graph.num_nodes)
    from_, to = (_columns(values, graph.num_nodes, name) for values, name in ((mu, "mu"), (nu, "nu")))
    single = as_array(mu, "mu").ndim == 1
    if from_.shape != to.shape:
        raise fail(f"mu and nu must have the same shape, got {list(from_.shape)} and {list(to.shape)}")
    limit = math.inf if time_limit is None else float(time_limit)
    if not slack > 0:
        raise fail(f"slack must be positive, infinite for none, got {slack}")
    solved = _core.solve_transport(graph._graph, nodes, from_[nodes], to[nodes], slack, solver, gap, limit)
    take = (lambda array: array[..., 0]) if single else (lambda array: array)
    upper = take(solved["upper"])
    return Transport(
        graph=graph,
        distance=float(upper) if single else upper,
        lower=float(take(solved["lower"])) if single else solved["lower"],
        upper=float(upper) if single else upper,
        flow=take(solved["flow"]),
        potential=take(solved["potential"]),
        status=solved["status"][0] if single else solved["status"],
    )


def _differentiable(graph: Graph, mu: Any, nu: Any, labelled: Any, slack: float) -> torch.Tensor:
    import torch

    mu, nu = torch.as_tensor(mu), torch.as_tensor(nu)
    if mu.shape != nu.shape or mu.dim() not in (1, 2) or mu.shape[0] != graph.num_nodes:
        raise fail(
            f"mu and nu must both be [{graph.num_nodes}] or [{graph.num_nodes}, C], got the shapes "
            f"{list(mu.shape)} and {list(nu.shape)}"
        )
    nodes = torch.from_numpy(labelled_nodes(labelled, graph.num_nodes)).to(mu.device)
    rows = nodes.long()
    ends = [torch.from_numpy(ends.astype(np.int32)).to(mu.device) for ends in (graph.heads, graph.tails)]
    costs = None if graph.costs is None else torch.from_numpy(graph.costs).to(mu.device)
    from .ops import wasserstein1_partial

    distance, _ = wasserstein1_partial(
        mu.reshape(graph.num_nodes, -1)[rows],
        nu.reshape(graph.num_nodes, -1)[rows],
        nodes,
        ends[0],
        ends[1],
        graph.num_nodes,
        costs,
        graph.directed,
        None if math.isinf(slack) else slack,
    )
    return distance.reshape(()) if mu.dim() == 1 else distance
