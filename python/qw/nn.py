"""PyTorch Geometric's layers on the operators of this library: same constructors, calls and parameter names.

A graph's matrices are built once and kept with its edge_index until that changes, and so are products with features
that stay as they are. qw.accelerate(model) puts these layers in the place of PyTorch Geometric's.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import ops
from ._lib import fail
from .filters import APPNP, BernConv, ChebIIConv, chebyshev_coefficients
from .layer import Layer, check_channels, check_options, glorot, is_plain, seed
from .propagation import KEPT, check_features, for_later, graph_of, kept_product, linear, sparse_rows, stays

__all__ = ["APPNP", "BernConv", "ChebIIConv", "GATConv", "GCNConv", "GINConv", "SAGEConv", "chebyshev_coefficients"]


def _tensor(value: Any) -> Tensor:
    made: Tensor = value
    return made


def _reset(module: Any) -> None:
    """As PyTorch Geometric does it: by the module itself where it can, else by its children."""
    if hasattr(module, "reset_parameters"):
        module.reset_parameters()
        return
    for child in module.children() if hasattr(module, "children") else []:
        _reset(child)


class GCNConv(Layer):
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
        **options: Any,
    ) -> None:
        super().__init__()
        check_options("GCNConv", options)
        check_channels("GCNConv", in_channels, out_channels)
        add_self_loops = normalize if add_self_loops is None else add_self_loops
        if add_self_loops and not normalize:
            raise fail("GCNConv cannot add self-loops without normalize")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.improved, self.cached, self.add_self_loops, self.normalize = improved, cached, add_self_loops, normalize
        self.lin = nn.Linear(in_channels, out_channels, bias=False)
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        glorot(self.lin.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        x = self._given(x)
        if self._leaves(x, edge_index):
            return _tensor(self._answer(x, edge_index, edge_weight))
        check_features("GCNConv", x)
        graph = graph_of(edge_index, x.shape[0])
        fill = 2.0 if self.improved else 1.0
        pattern, _ = graph.pattern(self.add_self_loops)
        if self.normalize:
            values = graph.normalised(edge_weight, self.add_self_loops, fill, x.dtype)
        else:
            values = graph.weights(edge_weight, False, fill, x.dtype)
        if stays(x, edge_weight) and sparse_rows(x) is None and self.normalize:
            out = ops.dense_linear(
                kept_product(x, edge_index, ("gcn", self.add_self_loops), pattern, values), self.lin.weight
            )
        else:
            out = ops.spmm(pattern, values, linear(x, self.lin.weight))
        return out if self.bias is None else out + self.bias

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}"


class GATConv(Layer):
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
        **options: Any,
    ) -> None:
        super().__init__()
        check_options("GATConv", options)
        check_channels("GATConv", in_channels, out_channels, heads)
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
        glorot(self.lin.weight, self.att_src, self.att_dst)
        if self.res is not None:
            glorot(self.res.weight)
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
        x = self._given(x)
        if self._leaves(x, edge_index, edge_attr, size, return_attention_weights):
            more = {} if return_attention_weights is None else {"return_attention_weights": return_attention_weights}
            return _tensor(self._answer(x, edge_index, edge_attr, size=size, **more))
        check_features("GATConv", x)
        if edge_attr is not None or size is not None or return_attention_weights is not None:
            raise fail(
                "GATConv takes features and edge_index; leave edge_attr, size and return_attention_weights to "
                "PyTorch Geometric"
            )
        pattern, _ = graph_of(edge_index, x.shape[0]).pattern(self.add_self_loops)
        dropout = self.dropout if self.training else 0.0
        out = ops.graph_attention(
            pattern,
            linear(x, self.lin.weight),
            self.att_src,
            self.att_dst,
            None,
            self.negative_slope,
            dropout,
            seed() if dropout else 0,
        )
        if not self.concat:
            out = out.view(-1, self.heads, self.out_channels).mean(dim=1)
        if self.res is not None:
            out = out + self.res(x)
        return out if self.bias is None else out + self.bias

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, heads={self.heads}"


class GINConv(Layer):
    """torch_geometric.nn.GINConv: nn((1 + eps) x_i + sum over neighbours of x_j)."""

    eps: Tensor
    nn: Any

    def __init__(self, nn: torch.nn.Module, eps: float = 0.0, train_eps: bool = False, **options: Any) -> None:
        super().__init__()
        check_options("GINConv", options)
        self.nn = nn
        self.initial_eps = eps
        if train_eps:
            self.eps = torch.nn.Parameter(torch.full((1,), float(eps)))
        else:
            self.register_buffer("eps", torch.full((1,), float(eps)))

    def reset_parameters(self) -> None:
        _reset(self.nn)
        with torch.no_grad():
            self.eps.fill_(self.initial_eps)

    def forward(self, x: Tensor, edge_index: Tensor, size: Any = None) -> Tensor:
        x = self._given(x)
        if self._leaves(x, edge_index, size):
            return _tensor(self._answer(x, edge_index, size=size))
        check_features("GINConv", x)
        if size is not None:
            raise fail("GINConv takes features and edge_index; leave size to PyTorch Geometric")
        graph = graph_of(edge_index, x.shape[0])
        pattern, _ = graph.pattern(False)
        values = graph.ones(x.dtype)
        first, rest = self._first()
        if first is not None and first.out_features < first.in_features and sparse_rows(x) is not None:
            out = linear(x, first.weight)  # the sum commutes with it
            out = ops.spmm(pattern, values, out, self._own(out))
            out = out if first.bias is None else out + first.bias
            for module in rest:
                out = module(out)
            return out
        if stays(x, None):
            summed = self._summed(x, kept_product(x, edge_index, "sum", pattern, values))
            return _tensor(self.nn(summed if first is not None else summed.clone()))  # others may change it in place
        return _tensor(self.nn(ops.spmm(pattern, values, x, self._own(x))))

    def _known_eps(self) -> float | None:
        """Unless it is learned. Looked at once: on a GPU that is waited for."""
        if self.eps.requires_grad:
            return None
        kept = KEPT.of(self.eps)
        if "value" not in kept:
            kept["value"] = float(self.eps)
        value: float = kept["value"]
        return value

    def _own(self, x: Tensor) -> Tensor:
        eps = self._known_eps()
        return x if eps == 0 else (1 + (self.eps if eps is None else eps)) * x

    def _summed(self, x: Tensor, neighbours: Tensor) -> Tensor:
        eps = self._known_eps()
        if eps is None:
            return neighbours + self._own(x)
        kept = KEPT.of(neighbours)
        if eps not in kept:
            with for_later():
                kept[eps] = neighbours + self._own(x)
        found: Tensor = kept[eps]
        return found

    def _first(self) -> tuple[nn.Linear | None, list[nn.Module]]:
        """The linear map that the network begins with, if it does and nobody watches it, and what follows it."""
        modules = list(self.nn) if type(self.nn) is nn.Sequential else [self.nn]
        if not modules or type(modules[0]) is not nn.Linear or not is_plain(modules[0]) or not is_plain(self.nn):
            return None, []
        return modules[0], modules[1:]

    def extra_repr(self) -> str:
        return f"nn={self.nn}"


class SAGEConv(Layer):
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
        **options: Any,
    ) -> None:
        super().__init__()
        check_options("SAGEConv", options)
        if aggr not in ("mean", "sum", "add") or project:
            raise fail("SAGEConv has the aggregations mean and sum, without project; leave others to PyTorch Geometric")
        both = (in_channels, in_channels) if isinstance(in_channels, int) else in_channels
        check_channels("SAGEConv", *both, out_channels)
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
        x = self._given(x)
        if self._leaves(x, edge_index, size):
            return _tensor(self._answer(x, edge_index, size=size))
        check_features("SAGEConv", x)
        if size is not None:
            raise fail("SAGEConv takes features and edge_index; leave size to PyTorch Geometric")
        graph = graph_of(edge_index, x.shape[0])
        pattern, _ = graph.pattern(False)
        mean = self.aggr == "mean"
        values = graph.means(x.dtype) if mean else graph.ones(x.dtype)
        own = linear(x, self.lin_r.weight) if self.root_weight else None
        if stays(x, None) and sparse_rows(x) is None:
            of_neighbours = ops.dense_linear(kept_product(x, edge_index, mean, pattern, values), self.lin_l.weight)
            out = of_neighbours if own is None else of_neighbours + own
        elif self.lin_l.out_features <= self.lin_l.in_features:
            out = ops.spmm(pattern, values, linear(x, self.lin_l.weight), own)
        else:
            out = ops.dense_linear(ops.spmm(pattern, values, x), self.lin_l.weight)
            out = out if own is None else out + own
        if self.lin_l.bias is not None:
            out = out + self.lin_l.bias
        return F.normalize(out, p=2.0, dim=-1) if self.normalize else out

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, aggr={self.aggr}"
