"""Our layers in the place of PyTorch Geometric's."""

from __future__ import annotations

from typing import Any

from torch import nn

from .layer import Layer, is_plain
from .nn import APPNP, GATConv, GCNConv, GINConv, SAGEConv


def accelerate(model: nn.Module) -> int:
    """Puts this module's layers in the place of PyTorch Geometric's, in place; returns how many.

    Parameters are taken over, not copied: an optimiser made before goes on. Layers with options that these have not
    (features of edges, bipartite channels, other aggregations) stay what they are, and so do layers with hooks, pruning
    or norms of their weights. Calls that these layers have not (pairs of feature matrices, adj_t, size=,
    return_attention_weights=) go to the layer that was there, with the same parameters.
    """
    count = 0
    for name, child in list(model.named_children()):
        made = _like(child)
        if made is None:
            count += accelerate(child)
            continue
        made.train(child.training)
        made.replaces(child)
        setattr(model, name, made)
        count += 1
    return count


def _like(layer: nn.Module) -> Layer | None:
    kind = type(layer)
    if kind.__module__.split(".")[:3] != ["torch_geometric", "nn", "conv"]:
        return None
    if getattr(layer, "flow", "source_to_target") != "source_to_target" or not _is_as_made(layer):
        return None
    make = _LIKE.get(kind.__name__)
    if make is None or any(isinstance(p, nn.parameter.UninitializedParameter) for p in layer.parameters()):
        return None
    made: Layer | None = make(layer)
    return made


def _is_as_made(layer: nn.Module) -> bool:
    """Without what a swap would lose. GINConv's network is kept whole, with all that is on it."""
    own = [child for name, child in layer.named_children() if name != "nn"]
    learned = [type(child) for child in own if any(True for _ in child.parameters())]
    known = all(kind.__name__ == "Linear" and kind.__module__.startswith("torch") for kind in learned)
    return known and is_plain(layer) and all(is_plain(module) for child in own for module in child.modules())


def _sums(layer: Any) -> bool:
    return getattr(layer, "aggr", "add") in ("add", "sum")


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
    if not _sums(layer):
        return None
    made = GCNConv(1, 1, layer.improved, layer.cached, layer.add_self_loops, layer.normalize, bias=False)
    made.in_channels, made.out_channels = layer.in_channels, layer.out_channels
    made.lin = _weight_only(layer.lin)
    return _take_over(made, layer, "bias")


def _gat_like(layer: Any) -> nn.Module | None:
    if layer.lin is None or layer.edge_dim is not None or not isinstance(layer.in_channels, int) or not _sums(layer):
        return None
    made = GATConv(1, 1, 1, layer.concat, layer.negative_slope, layer.dropout, layer.add_self_loops, bias=False)
    made.in_channels, made.out_channels, made.heads = layer.in_channels, layer.out_channels, layer.heads
    made.lin = _weight_only(layer.lin)
    made.res = None if getattr(layer, "res", None) is None else _weight_only(layer.res)
    return _take_over(made, layer, "att_src", "att_dst", "bias")


def _gin_like(layer: Any) -> nn.Module | None:
    if not _sums(layer):
        return None
    made = GINConv(layer.nn, layer.initial_eps, isinstance(layer.eps, nn.Parameter))
    return _take_over(made, layer, "eps")


def _sage_like(layer: Any) -> nn.Module | None:
    if layer.aggr not in ("mean", "sum", "add") or layer.project or not isinstance(layer.in_channels, int):
        return None
    made = SAGEConv(1, 1, layer.aggr, layer.normalize, layer.root_weight)
    made.in_channels, made.out_channels = layer.in_channels, layer.out_channels
    made.lin_l = _weight_only(layer.lin_l)
    if layer.root_weight:
        made.lin_r = _weight_only(layer.lin_r)
    return made


def _appnp_like(layer: Any) -> nn.Module | None:
    if not _sums(layer):
        return None
    return APPNP(layer.K, layer.alpha, layer.dropout, layer.cached, layer.add_self_loops, layer.normalize)


_LIKE: dict[str, Any] = {
    "GCNConv": _gcn_like,
    "GATConv": _gat_like,
    "GINConv": _gin_like,
    "SAGEConv": _sage_like,
    "APPNP": _appnp_like,
}
