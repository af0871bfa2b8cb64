"""PyTorch Geometric's layers on the operators of this library: same constructors, calls and parameter names.

A graph's matrices are built once and kept with its edge_index until that changes, and so are products with features
that stay as they are. qw.accelerate(model) puts these layers in the place of PyTorch Geometric's.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import ops
from ._lib import fail, operators
from .ops import Pattern

SPARSE_BELOW = 0.25  # of non-zeros: features are multiplied as a sparse matrix


class _Kept:
    """What was computed from a tensor, until the tensor changes or is gone."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[weakref.ref[Tensor], int, dict[Any, Any]]] = {}

    def of(self, tensor: Tensor) -> dict[Any, Any]:
        if tensor.is_inference():  # nobody counts its changes
            return {}
        key, version = id(tensor), tensor._version
        found = self._of.get(key)
        if found is not None and found[0]() is tensor and found[1] == version:
            return found[2]
        made: dict[Any, Any] = {}
        self._of[key] = (weakref.ref(tensor, lambda _: self._of.pop(key, None)), version, made)
        return made


_kept = _Kept()


def _version(tensor: Tensor) -> int:
    return -1 if tensor.is_inference() else tensor._version


class _Graph:
    """The matrices of an edge_index: row i gathers from the sources of the edges into i."""

    def __init__(self, edge_index: Tensor, num_nodes: int) -> None:
        if edge_index.dim() != 2 or edge_index.shape[0] != 2 or edge_index.is_floating_point():
            raise fail(f"edge_index must be [2, E] of integers, got {list(edge_index.shape)} of {edge_index.dtype}")
        self.source, self.target = edge_index[0].clone(), edge_index[1].clone()  # no views: those keep it alive
        self.num_nodes = num_nodes
        self.loops = self.source == self.target
        self._patterns: dict[bool, tuple[Pattern, Tensor]] = {}
        self._values: dict[Any, Tensor] = {}

    def pattern(self, self_loops: bool) -> tuple[Pattern, Tensor]:
        """Of A, or with its self-loops replaced by one for each node; and the given edge of each entry.

        With self-loops edge E + i is that of node i.
        """
        if self_loops not in self._patterns:
            rows, columns = self.target, self.source
            numbers = torch.arange(rows.shape[0], device=rows.device)
            if self_loops:
                kept, nodes = ~self.loops, torch.arange(self.num_nodes, device=rows.device)
                rows, columns = torch.cat([rows[kept], nodes]), torch.cat([columns[kept], nodes])
                numbers = torch.cat([numbers[kept], self.loops.shape[0] + nodes])
            pattern, order = ops.pattern(rows, columns, self.num_nodes, self.num_nodes)
            self._patterns[self_loops] = (pattern, numbers[order])
        return self._patterns[self_loops]

    def weights(self, edge_weight: Tensor | None, self_loops: bool, fill: float, dtype: torch.dtype) -> Tensor:
        """Of the entries of pattern(): existing self-loops keep their weight, as PyTorch Geometric has it."""
        pattern, edges = self.pattern(self_loops)
        if edge_weight is None:
            return torch.ones(edges.shape[0], dtype=dtype, device=edges.device)
        if edge_weight.dim() != 1 or edge_weight.shape[0] != self.loops.shape[0]:
            raise fail(f"edge_weight must be [{self.loops.shape[0]}], got {list(edge_weight.shape)}")
        weights = edge_weight.to(dtype)
        if not self_loops:
            return weights[edges]
        of_loops = torch.full((self.num_nodes,), fill, dtype=dtype, device=edges.device)
        if bool(self.loops.any()):
            of_loops = of_loops.index_put((self.source[self.loops],), weights[self.loops])
        return torch.cat([weights, of_loops])[edges]

    def normalised(self, edge_weight: Tensor | None, self_loops: bool, fill: float, dtype: torch.dtype) -> Tensor:
        """D^-1/2 A D^-1/2."""
        key = ("symmetric", self_loops, dtype)
        if edge_weight is None and key in self._values:
            return self._values[key]
        pattern, _ = self.pattern(self_loops)
        values = ops.normalise(pattern, self.weights(edge_weight, self_loops, fill, dtype))
        if edge_weight is None:
            self._values[key] = values
        return values

    def ones(self, dtype: torch.dtype) -> Tensor:
        if dtype not in self._values:
            self._values[dtype] = self.weights(None, False, 1.0, dtype)
        return self._values[dtype]

    def means(self, dtype: torch.dtype) -> Tensor:
        key = ("rows", dtype)
        if key not in self._values:
            self._values[key] = ops.normalise(self.pattern(False)[0], self.ones(dtype), "rows")
        return self._values[key]


def _graph_of(edge_index: Any, num_nodes: int) -> _Graph:
    if not isinstance(edge_index, Tensor) or edge_index.layout != torch.strided:
        raise fail("edge_index must be a tensor [2, E]; leave layers on sparse adjacency matrices to PyTorch Geometric")
    kept = _kept.of(edge_index)
    if num_nodes not in kept:
        kept[num_nodes] = _Graph(edge_index, num_nodes)
    found: _Graph = kept[num_nodes]
    return found


def _check_features(name: str, x: Any) -> None:
    if not isinstance(x, Tensor):
        raise fail(f"{name} takes one matrix of features; leave layers on pairs of them to PyTorch Geometric")
    if x.dim() != 2 or x.dtype not in (torch.float32, torch.float64):
        raise fail(f"{name} takes features [N, C] of float32 or float64, got {list(x.shape)} of {x.dtype}")


class _SparseRows:
    """Features with few non-zeros, for products with a weight."""

    def __init__(self, x: Tensor) -> None:
        rows, columns = x.nonzero(as_tuple=True)
        self.pattern, order = ops.pattern(rows, columns, x.shape[0], x.shape[1])
        self.values = x[rows, columns][order]

    def times(self, weight: Tensor) -> Tensor:
        return ops.spmm(self.pattern, self.values, weight.t())


def _sparse_rows(x: Tensor) -> _SparseRows | None:
    """Of features that stay as they are, where it pays."""
    if x.requires_grad or x.grad_fn is not None:
        return None
    kept = _kept.of(x)
    if "sparse" not in kept:
        few = x.numel() >= 4096 and int(torch.count_nonzero(x)) < SPARSE_BELOW * x.numel()
        kept["sparse"] = _SparseRows(x) if few else None
    found: _SparseRows | None = kept["sparse"]
    return found


def _linear(x: Tensor, weight: Tensor) -> Tensor:
    rows = _sparse_rows(x)
    return ops.dense_linear(x, weight) if rows is None else rows.times(weight)


def _stays(x: Tensor, edge_weight: Tensor | None) -> bool:
    return edge_weight is None and not x.requires_grad and x.grad_fn is None


def _seed() -> int:
    return int(torch.randint(2**62, (1,)).item())


def _glorot(*tensors: Tensor) -> None:
    for tensor in tensors:
        bound = math.sqrt(6.0 / (tensor.size(-2) + tensor.size(-1)))
        nn.init.uniform_(tensor, -bound, bound)


def _tensor(value: Any) -> Tensor:
    made: Tensor = value
    return made


class _Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        operators()

    def __repr__(self) -> str:
        return f"qw.{type(self).__name__}({self.extra_repr()})"


class GCNConv(_Layer):
    """torch_geometric.nn.GCNConv: D^-1/2 (A + I) D^-1/2 X W^T + b."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        improved: bool = False,
        cached: bool = False,
        add_self_loops: bool | None = None,
        normalize: bool = True,
        bias: bool = True,
    ) -> None:
        super().__init__()
        add_self_loops = normalize if add_self_loops is None else add_self_loops
        if add_self_loops and not normalize:
            raise fail("GCNConv cannot add self-loops without normalize")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.improved, self.cached, self.add_self_loops, self.normalize = improved, cached, add_self_loops, normalize
        self.lin = nn.Linear(in_channels, out_channels, bias=False)
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _glorot(self.lin.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        _check_features("GCNConv", x)
        graph = _graph_of(edge_index, x.shape[0])
        fill = 2.0 if self.improved else 1.0
        pattern, _ = graph.pattern(self.add_self_loops)
        if self.normalize:
            values = graph.normalised(edge_weight, self.add_self_loops, fill, x.dtype)
        else:
            values = graph.weights(edge_weight, False, fill, x.dtype)
        if _stays(x, edge_weight) and _sparse_rows(x) is None and self.normalize:
            out = ops.dense_linear(
                _product(x, edge_index, ("gcn", self.add_self_loops), pattern, values), self.lin.weight
            )
        else:
            out = ops.spmm(pattern, values, _linear(x, self.lin.weight))
        return out if self.bias is None else out + self.bias

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}"


def _product(x: Tensor, edge_index: Tensor, key: Any, pattern: Pattern, values: Tensor) -> Tensor:
    """Of a matrix of the graph and features that stay as they are, kept with the features."""
    kept = _kept.of(x)
    found = kept.get(key)
    if found is None or found[1] < 0 or found[0]() is not edge_index or found[1] != _version(edge_index):
        with torch.no_grad():
            found = (weakref.ref(edge_index), _version(edge_index), ops.spmm(pattern, values, x))
        kept[key] = found
    product: Tensor = found[2]
    return product


class GATConv(_Layer):
    """torch_geometric.nn.GATConv, without features of edges."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        concat: bool = True,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        add_self_loops: bool = True,
        edge_dim: int | None = None,
        fill_value: float | str = "mean",
        bias: bool = True,
        residual: bool = False,
    ) -> None:
        super().__init__()
        if edge_dim is not None:
            raise fail("GATConv has no features of edges; leave this layer to PyTorch Geometric")
        self.in_channels, self.out_channels, self.heads, self.concat = in_channels, out_channels, heads, concat
        self.negative_slope, self.dropout, self.add_self_loops = negative_slope, dropout, add_self_loops
        self.lin = nn.Linear(in_channels, heads * out_channels, bias=False)
        self.att_src = nn.Parameter(torch.empty(1, heads, out_channels))
        self.att_dst = nn.Parameter(torch.empty(1, heads, out_channels))
        width = heads * out_channels if concat else out_channels
        self.res = nn.Linear(in_channels, width, bias=False) if residual else None
        self.bias = nn.Parameter(torch.empty(width)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _glorot(self.lin.weight, self.att_src, self.att_dst)
        if self.res is not None:
            _glorot(self.res.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        size: Any = None,
        return_attention_weights: bool | None = None,
    ) -> Tensor:
        _check_features("GATConv", x)
        if edge_attr is not None or size is not None or return_attention_weights is not None:
            raise fail(
                "GATConv takes features and edge_index; leave edge_attr, size and return_attention_weights to "
                "PyTorch Geometric"
            )
        pattern, _ = _graph_of(edge_index, x.shape[0]).pattern(self.add_self_loops)
        dropout = self.dropout if self.training else 0.0
        out = ops.graph_attention(
            pattern,
            _linear(x, self.lin.weight),
            self.att_src,
            self.att_dst,
            None,
            self.negative_slope,
            dropout,
            _seed() if dropout else 0,
        )
        if not self.concat:
            out = out.view(-1, self.heads, self.out_channels).mean(dim=1)
        if self.res is not None:
            out = out + self.res(x)
        return out if self.bias is None else out + self.bias

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, heads={self.heads}"


class GINConv(_Layer):
    """torch_geometric.nn.GINConv: nn((1 + eps) x_i + sum over neighbours of x_j)."""

    eps: Tensor
    nn: Any

    def __init__(self, nn: torch.nn.Module, eps: float = 0.0, train_eps: bool = False) -> None:
        super().__init__()
        self.nn = nn
        self.initial_eps = eps
        if train_eps:
            self.eps = torch.nn.Parameter(torch.full((1,), float(eps)))
        else:
            self.register_buffer("eps", torch.full((1,), float(eps)))

    def reset_parameters(self) -> None:
        for module in self.nn.modules():
            if module is not self.nn and hasattr(module, "reset_parameters"):
                module.reset_parameters()
        self.eps.data.fill_(self.initial_eps)

    def forward(self, x: Tensor, edge_index: Tensor, size: Any = None) -> Tensor:
        _check_features("GINConv", x)
        if size is not None:
            raise fail("GINConv takes features and edge_index; leave size to PyTorch Geometric")
        graph = _graph_of(edge_index, x.shape[0])
        pattern, _ = graph.pattern(False)
        values = graph.ones(x.dtype)
        first, rest = self._first()
        if first is not None and first.out_features < first.in_features and _sparse_rows(x) is not None:
            mapped = _linear(x, first.weight)  # the sum commutes with it
            out = ops.spmm(pattern, values, mapped, (1 + self.eps) * mapped)
            return _tensor(rest(out if first.bias is None else out + first.bias))
        if _stays(x, None):
            neighbours = _product(x, edge_index, "sum", pattern, values)
            learned = self.eps.requires_grad
            return _tensor(self.nn(neighbours + (1 + self.eps) * x if learned else self._summed(x, neighbours)))
        return _tensor(self.nn(ops.spmm(pattern, values, x, (1 + self.eps) * x)))

    def _summed(self, x: Tensor, neighbours: Tensor) -> Tensor:
        kept = _kept.of(neighbours)
        key = float(self.eps)
        if key not in kept:
            kept[key] = neighbours + (1 + key) * x
        found: Tensor = kept[key]
        return found

    def _first(self) -> tuple[nn.Linear | None, Any]:
        if isinstance(self.nn, nn.Linear):
            return self.nn, nn.Identity()
        if isinstance(self.nn, nn.Sequential) and len(self.nn) and type(self.nn[0]) is nn.Linear:
            return self.nn[0], self.nn[1:]
        return None, None

    def extra_repr(self) -> str:
        return f"nn={self.nn}"


class SAGEConv(_Layer):
    """torch_geometric.nn.SAGEConv with the mean or sum over neighbours: W_l mean(x_j) + W_r x_i + b."""

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        aggr: str = "mean",
        normalize: bool = False,
        root_weight: bool = True,
        project: bool = False,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if aggr not in ("mean", "sum", "add") or project:
            raise fail("SAGEConv has the aggregations mean and sum, without project; leave others to PyTorch Geometric")
        both = (in_channels, in_channels) if isinstance(in_channels, int) else in_channels
        self.in_channels, self.out_channels, self.aggr = in_channels, out_channels, aggr
        self.normalize, self.root_weight, self.project = normalize, root_weight, project
        self.lin_l = nn.Linear(both[0], out_channels, bias=bias)
        if root_weight:
            self.lin_r = nn.Linear(both[1], out_channels, bias=False)

    def reset_parameters(self) -> None:
        self.lin_l.reset_parameters()
        if self.root_weight:
            self.lin_r.reset_parameters()

    def forward(self, x: Tensor, edge_index: Tensor, size: Any = None) -> Tensor:
        _check_features("SAGEConv", x)
        if size is not None:
            raise fail("SAGEConv takes features and edge_index; leave size to PyTorch Geometric")
        graph = _graph_of(edge_index, x.shape[0])
        pattern, _ = graph.pattern(False)
        mean = self.aggr == "mean"
        values = graph.means(x.dtype) if mean else graph.ones(x.dtype)
        own = _linear(x, self.lin_r.weight) if self.root_weight else None
        if _stays(x, None) and _sparse_rows(x) is None:
            of_neighbours = ops.dense_linear(_product(x, edge_index, mean, pattern, values), self.lin_l.weight)
            out = of_neighbours if own is None else of_neighbours + own
        elif self.lin_l.out_features <= self.lin_l.in_features:
            out = ops.spmm(pattern, values, _linear(x, self.lin_l.weight), own)
        else:
            out = ops.dense_linear(ops.spmm(pattern, values, x), self.lin_l.weight)
            out = out if own is None else out + own
        if self.lin_l.bias is not None:
            out = out + self.lin_l.bias
        return F.normalize(out, p=2.0, dim=-1) if self.normalize else out

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, aggr={self.aggr}"


def chebyshev_coefficients(degree: int, polynomial: Any) -> list[float]:
    """c_j with p(x) = sum of c_j T_j(x), for a polynomial of at most this degree."""
    count = degree + 1
    angles = [math.pi * (k + 0.5) / count for k in range(count)]
    values = [polynomial(math.cos(angle)) for angle in angles]
    return [
        (1.0 if j == 0 else 2.0) / count * math.fsum(v * math.cos(j * angle) for v, angle in zip(values, angles))
        for j in range(count)
    ]


class APPNP(_Layer):
    """torch_geometric.nn.APPNP: K steps of z = (1 - alpha) M z + alpha x, as one filter."""

    coefficients: Tensor

    def __init__(
        self,
        K: int,
        alpha: float,
        dropout: float = 0.0,
        cached: bool = False,
        add_self_loops: bool = True,
        normalize: bool = True,
    ) -> None:
        super().__init__()
        self.K, self.alpha, self.dropout = K, alpha, dropout
        self.cached, self.add_self_loops, self.normalize = cached, add_self_loops, normalize

        def steps(x: float) -> float:
            z = 1.0
            for _ in range(K):
                z = (1 - alpha) * x * z + alpha
            return z

        made = torch.tensor(chebyshev_coefficients(K, steps), dtype=torch.float64)
        self.register_buffer("coefficients", made, persistent=False)

    def reset_parameters(self) -> None:
        pass

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        _check_features("APPNP", x)
        graph = _graph_of(edge_index, x.shape[0])
        loops = self.add_self_loops and self.normalize
        pattern, _ = graph.pattern(loops)
        if self.normalize:
            values = graph.normalised(edge_weight, loops, 1.0, x.dtype)
        else:
            values = graph.weights(edge_weight, False, 1.0, x.dtype)
        if not self.normalize or (self.dropout > 0 and self.training):
            return self._step_by_step(pattern, values, x)
        return ops.chebyshev_filter(pattern, values, self.coefficients.to(x.dtype), x)

    def _step_by_step(self, pattern: Pattern, values: Tensor, x: Tensor) -> Tensor:
        z = x
        for _ in range(self.K):
            if self.dropout > 0 and self.training:
                values = ops.dropout(values, self.dropout, _seed())
            z = ops.spmm(pattern, (1 - self.alpha) * values, z, self.alpha * x)
        return z

    def extra_repr(self) -> str:
        return f"K={self.K}, alpha={self.alpha}"


class _Filter(_Layer):
    """A learned polynomial of M = D^-1/2 A D^-1/2, from its values `temp` [K + 1]."""

    basis: Tensor

    def __init__(self, K: int, basis: list[list[float]]) -> None:
        super().__init__()
        if K < 1:
            raise fail(f"K must be at least 1, got {K}")
        self.K = K
        self.temp = nn.Parameter(torch.ones(K + 1))
        self.register_buffer("basis", torch.tensor(basis, dtype=torch.float64), persistent=False)

    def reset_parameters(self) -> None:
        nn.init.ones_(self.temp)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        _check_features(type(self).__name__, x)
        graph = _graph_of(edge_index, x.shape[0])
        pattern, _ = graph.pattern(False)
        values = graph.normalised(edge_weight, False, 1.0, x.dtype)
        coefficients = self.basis.to(x.dtype) @ torch.relu(self.temp).to(x.dtype)
        return ops.chebyshev_filter(pattern, values, coefficients, x)

    def extra_repr(self) -> str:
        return f"K={self.K}"


class BernConv(_Filter):
    """BernNet's filter (He et al., 2021): sum of relu(temp_k) B_k(L), with Bernstein's polynomials B_k.

    L is the normalised Laplacian I - M; the parameter temp has the published name.
    """

    def __init__(self, K: int) -> None:
        columns = [
            chebyshev_coefficients(K, lambda x, k=k: math.comb(K, k) * ((1 + x) / 2) ** (K - k) * ((1 - x) / 2) ** k)
            for k in range(K + 1)
        ]
        super().__init__(K, [list(row) for row in zip(*columns)])


class ChebIIConv(_Filter):
    """ChebNetII's filter (He et al., 2022): the polynomial with values relu(temp_j) at the Chebyshev nodes of L - I."""

    def __init__(self, K: int) -> None:
        angles = [math.pi * (K - j + 0.5) / (K + 1) for j in range(K + 1)]
        super().__init__(
            K,
            [
                [(1.0 if k == 0 else 2.0) / (K + 1) * (-1.0) ** k * math.cos(k * angle) for angle in angles]
                for k in range(K + 1)
            ],
        )


def accelerate(model: nn.Module) -> int:
    """Puts this module's layers in the place of PyTorch Geometric's, in place; returns how many.

    Parameters are taken over, not copied: an optimiser made before goes on. Layers with options that these have not
    (features of edges, bipartite inputs, other aggregations) stay what they are.
    """
    count = 0
    for name, child in list(model.named_children()):
        made = _like(child)
        if made is None:
            count += accelerate(child)
            continue
        made.train(child.training)
        setattr(model, name, made)
        count += 1
    return count


def _like(layer: nn.Module) -> nn.Module | None:
    kind = type(layer)
    if kind.__module__.split(".")[:3] != ["torch_geometric", "nn", "conv"]:
        return None
    if getattr(layer, "flow", "source_to_target") != "source_to_target" or layer._forward_hooks:
        return None
    make = _LIKE.get(kind.__name__)
    if make is None or any(isinstance(p, nn.parameter.UninitializedParameter) for p in layer.parameters()):
        return None
    made: nn.Module | None = make(layer)
    return made


def _take_over(made: nn.Module, layer: Any, *names: str) -> nn.Module:
    for name in names:
        setattr(made, name, getattr(layer, name))
    return made


def _weight_only(linear: Any) -> nn.Linear:
    made = nn.Linear(1, 1, bias=linear.bias is not None, device="meta")
    made.in_features, made.out_features = linear.weight.shape[1], linear.weight.shape[0]
    made.weight = linear.weight
    made.bias = linear.bias
    return made


def _gcn_like(layer: Any) -> nn.Module | None:
    if getattr(layer, "aggr", "add") not in ("add", "sum"):
        return None
    made = GCNConv(1, 1, layer.improved, layer.cached, layer.add_self_loops, layer.normalize, bias=False)
    made.in_channels, made.out_channels = layer.in_channels, layer.out_channels
    made.lin = _weight_only(layer.lin)
    return _take_over(made, layer, "bias")


def _gat_like(layer: Any) -> nn.Module | None:
    if layer.lin is None or layer.edge_dim is not None or not isinstance(layer.in_channels, int):
        return None
    made = GATConv(1, 1, 1, layer.concat, layer.negative_slope, layer.dropout, layer.add_self_loops, bias=False)
    made.in_channels, made.out_channels, made.heads = layer.in_channels, layer.out_channels, layer.heads
    made.lin = _weight_only(layer.lin)
    made.res = None if getattr(layer, "res", None) is None else _weight_only(layer.res)
    return _take_over(made, layer, "att_src", "att_dst", "bias")


def _gin_like(layer: Any) -> nn.Module | None:
    if getattr(layer, "aggr", "add") not in ("add", "sum"):
        return None
    made = GINConv(layer.nn, layer.initial_eps, isinstance(layer.eps, nn.Parameter))
    return _take_over(made, layer, "eps")


def _sage_like(layer: Any) -> nn.Module | None:
    if layer.aggr not in ("mean", "sum", "add") or layer.project:
        return None
    made = SAGEConv(1, 1, layer.aggr, layer.normalize, layer.root_weight)
    made.in_channels, made.out_channels = layer.in_channels, layer.out_channels
    made.lin_l = _weight_only(layer.lin_l)
    if layer.root_weight:
        made.lin_r = _weight_only(layer.lin_r)
    return made


def _appnp_like(layer: Any) -> nn.Module | None:
    return APPNP(layer.K, layer.alpha, layer.dropout, layer.cached, layer.add_self_loops, layer.normalize)


_LIKE: dict[str, Any] = {
    "GCNConv": _gcn_like,
    "GATConv": _gat_like,
    "GINConv": _gin_like,
    "SAGEConv": _sage_like,
    "APPNP": _appnp_like,
}
