"""The operators of the library on tensors, as functions.

Each is an operator of torch (torch.ops.qw.NAME): it works under autograd, torch.compile and on CUDA where the library
was built with it. Sparse matrices are a Pattern and the values of its entries. What an operator refuses is a qw.Error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ._lib import error_of, fail, operators


class Pattern(NamedTuple):
    """Where the entries of a sparse matrix [R, K] are, and of its transpose; see pattern()."""

    offsets: Tensor  # [R + 1] int64
    columns: Tensor  # [entries] int32
    transposed_offsets: Tensor  # [K + 1] int64
    transposed_columns: Tensor  # [entries] int32
    order: Tensor  # [entries] int64: entry k of the transpose is entry order[k] of the matrix


class Incidence(NamedTuple):
    """A graph as the incidence matrix S sees it; see incidence_of()."""

    heads: Tensor  # [E] int32
    tails: Tensor  # [E] int32
    offsets: Tensor  # [N + 1] int64
    arcs: Tensor  # [2 E] int64: e where the node is the head of edge e, -1 - e where it is the tail


def _offsets(rows: Tensor, count: int) -> Tensor:
    counts = torch.bincount(rows, minlength=count)
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def _sorted_by(first: Tensor, second: Tensor, second_count: int) -> Tensor:
    return torch.sort(first * second_count + second, stable=True)[1]


def _check_range(name: str, index: Tensor, count: int) -> None:
    if index.numel() and (int(index.min()) < 0 or int(index.max()) >= count):
        raise fail(f"{name} must be from 0 to {count - 1}, got {int(index.min())} to {int(index.max())}")


def pattern(rows: Tensor, columns: Tensor, num_rows: int, num_columns: int) -> tuple[Pattern, Tensor]:
    """The pattern of a matrix with an entry at each (rows[k], columns[k]), which may repeat.

    Also gives [entries] int64: which of the given entries each entry of the pattern is, to bring values in order.
    """
    if rows.dim() != 1 or rows.shape != columns.shape:
        raise fail(f"rows and columns must be rows of one length, got {list(rows.shape)} and {list(columns.shape)}")
    if max(num_rows, num_columns) >= 2**31 - 1:
        raise fail("a pattern has at most 2^31 - 2 rows and columns")
    rows, columns = rows.long(), columns.long()
    _check_range("rows", rows, num_rows)
    _check_range("columns", columns, num_columns)
    order = _sorted_by(rows, columns, num_columns)
    rows, columns = rows[order], columns[order]
    transposed = _sorted_by(columns, rows, num_rows)
    made = Pattern(
        _offsets(rows, num_rows),
        columns.int(),
        _offsets(columns, num_columns),
        rows[transposed].int(),
        transposed,
    )
    return made, order


def incidence_of(heads: Tensor, tails: Tensor, num_nodes: int) -> Incidence:
    """S of the edges tails[e] -> heads[e]."""
    if heads.dim() != 1 or heads.shape != tails.shape:
        raise fail(f"heads and tails must be rows of one length, got {list(heads.shape)} and {list(tails.shape)}")
    _check_range("heads", heads, num_nodes)
    _check_range("tails", tails, num_nodes)
    edges = heads.shape[0]
    numbers = torch.arange(edges, device=heads.device)
    ends = torch.cat([heads, tails]).long()
    arcs = torch.cat([numbers, -1 - numbers])
    by_edge = torch.cat([2 * numbers, 2 * numbers + 1])  # at a node by ascending edge
    order = _sorted_by(ends, by_edge, max(1, 2 * edges))
    return Incidence(heads.int(), tails.int(), _offsets(ends, num_nodes), arcs[order])


def _call(operator: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return operator(*arguments)
    except RuntimeError as error:
        known = error_of(error)
        if known is error:
            raise
        raise known from None


def spmm(pattern: Pattern, values: Tensor, dense: Tensor, addend: Tensor | None = None) -> Tensor:
    """The sparse matrix `values` [entries] on a pattern [R, K] times dense [K, C], plus addend [R, C].

    float32 or float64. Gradients for values, dense and addend, none of second order. Every sum has one order: the same
    bits for any number of threads.
    """
    return _call(operators().spmm, list(pattern), values, dense, addend)


def chebyshev_filter(pattern: Pattern, values: Tensor, coefficients: Tensor, x: Tensor) -> Tensor:
    """sum over k of coefficients[k] T_k(M) x, with M the square sparse matrix and T_k Chebyshev's polynomials.

    Gradients for values, coefficients and x.
    """
    return _call(operators().chebyshev_filter, list(pattern), values, coefficients, x)


def graph_attention(
    pattern: Pattern,
    features: Tensor,
    attention_source: Tensor,
    attention_target: Tensor,
    edge_weights: Tensor | None = None,
    negative_slope: float = 0.2,
    dropout: float = 0.0,
    seed: int = 0,
    epoch: int = 0,
    layer: int = 0,
) -> Tensor:
    """GAT's attention: row i of the pattern lists the nodes that send to i; features [N, H * D] -> [N, H * D].

    attention_source and attention_target are [1, H, D]. Which weights are dropped follows from (seed, epoch, layer).
    Gradients for features, both attentions and edge_weights.
    """
    return _call(
        operators().graph_attention,
        list(pattern),
        features,
        attention_source,
        attention_target,
        edge_weights,
        negative_slope,
        dropout,
        seed,
        epoch,
        layer,
    )


def normalise(pattern: Pattern, values: Tensor, kind: str = "symmetric") -> Tensor:
    """values [entries] on a square pattern, normalised: symmetric (as GCN), rows (sum 1) or softmax."""
    return _call(operators().normalise, list(pattern), values, kind)


def incidence(flow: Tensor, graph: Incidence) -> Tensor:
    """S F: what a flow [E, C] brings to the nodes, [N, C]."""
    return _call(operators().incidence, flow, list(graph))


def incidence_transpose(potential: Tensor, graph: Incidence) -> Tensor:
    """S^T Z: potential[head] - potential[tail] for each edge, [E, C]."""
    return _call(operators().incidence_transpose, potential, list(graph))


def edge_values(weights: Tensor, edges: Tensor, entries_of: Tensor) -> Tensor:
    """weights [E] -> [entries]: the weight of each entry's edge edges[k], 1 where that is -1.

    entries_of [E, 2] int64 is the inverse: the entries of each edge, -1 where there is no second.
    """
    return _call(operators().edge_values, weights, edges, entries_of)


def dense_linear(x: Tensor, weight: Tensor) -> Tensor:
    """x [N, in] times the transpose of weight [out, in], with the same bits for any number of threads."""
    return _call(operators().dense_linear, x, weight)


def dropout(values: Tensor, p: float, seed: int = 0, epoch: int = 0, layer: int = 0) -> Tensor:
    """Dropout whose mask follows from (seed, epoch, layer) and the place alone; nothing is kept for its gradient."""
    return _call(operators().dropout, values, p, seed, epoch, layer)


def activate(
    x: Tensor,
    bias: Tensor | None = None,
    activation: str = "none",
    p: float = 0.0,
    seed: int = 0,
    epoch: int = 0,
    layer: int = 0,
) -> Tensor:
    """dropout(activation(x + bias)) in one pass; activation is none, relu or elu."""
    return _call(operators().activate, x, bias, activation, p, seed, epoch, layer)


def batch_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """torch.nn.functional.batch_norm over rows [N, C], with the same bits for any number of threads."""
    return _call(operators().batch_norm, x, weight, bias, running_mean, running_var, training, momentum, eps)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """torch.nn.functional.layer_norm over the columns of [N, C], with the same bits for any number of threads."""
    return _call(operators().layer_norm, x, weight, bias, eps)


def divergence(
    kind: str,
    predictions: Tensor,
    nodes: Tensor,
    classes: Tensor | None = None,
    targets: Tensor | None = None,
    shift: Tensor | None = None,
    class_weights: Tensor | None = None,
    scale: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """The divergence of predictions + shift [N, C] from labels at `nodes` (int32), and its gradient [N, C].

    kind: softmax, least_squares or bernoulli. Not differentiable by autograd: a gradient through it raises.
    """
    return _call(
        operators().divergence, kind, predictions, nodes, classes, targets, shift, class_weights, scale, True, None
    )


def qw_loss(
    predictions: Tensor,
    flow: Tensor,
    graph: Incidence,
    labels: Tensor,
    mask: Tensor | None = None,
    costs: Tensor | None = None,
    class_weights: Tensor | None = None,
    kind: str = "softmax",
    lam: float = 1.0,
    reduction: str = "mean",
    unit: Tensor | None = None,
) -> Tensor:
    """The Quasi-Wasserstein loss: sum of costs * |flow| + lam * mean (or sum) of D(predictions + S flow, labels).

    See qw.QWLoss, which keeps flow and graph. Gradients for predictions, flow and unit (which has what comes in).
    """
    return _call(
        operators().qw_loss,
        predictions,
        flow,
        list(graph),
        labels,
        mask,
        costs,
        class_weights,
        kind,
        lam,
        reduction,
        unit,
    )


def adam_(
    parameters: list[Tensor],
    gradients: list[Tensor],
    first_moments: list[Tensor],
    second_moments: list[Tensor],
    lr: float = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    step: int = 1,
) -> None:
    """One step of torch.optim.Adam over a list of tensors, in place and in one pass."""
    with torch.no_grad():
        _call(
            operators().adam_,
            parameters,
            gradients,
            first_moments,
            second_moments,
            lr,
            beta1,
            beta2,
            eps,
            weight_decay,
            step,
        )


def wasserstein1_partial(
    values: Tensor,
    targets: Tensor,
    labelled: Tensor,
    heads: Tensor,
    tails: Tensor,
    num_nodes: int,
    costs: Tensor | None = None,
    directed: bool = False,
    slack: float | None = None,
) -> tuple[Tensor, Tensor]:
    """The exact distance [C] between values and targets [n, C] of the labelled nodes, and the potential [n, C].

    Gradients for values and targets, by the potential. See qw.wasserstein1 for the whole solution.
    """
    return _call(
        operators().wasserstein1_partial, values, targets, labelled, heads, tails, num_nodes, costs, directed, slack
    )
