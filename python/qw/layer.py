"""What all layers of qw.nn have in common."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from ._lib import fail, operators

HALVES = (torch.float16, torch.bfloat16)

# Options of PyTorch Geometric's MessagePassing, where they mean what these layers do.
_AS_HERE: dict[str, tuple[Any, ...]] = {
    "aggr": ("add", "sum"),
    "aggr_kwargs": (None, {}),
    "flow": ("source_to_target",),
    "node_dim": (-2, 0),
    "decomposed_layers": (1,),
}


def check_options(layer: str, given: dict[str, Any]) -> None:
    """Refuses options of PyTorch Geometric's layer that would change what this one computes."""
    for name, value in given.items():
        if name not in _AS_HERE:
            raise fail(f"{layer} has no option {name}; leave this layer to PyTorch Geometric if that has it")
        if not any(type(value) is type(known) and value == known for known in _AS_HERE[name]):
            raise fail(f"{layer} has no {name}={value!r}; leave this layer to PyTorch Geometric")


def check_channels(layer: str, *channels: Any) -> None:
    for count in channels:
        if not isinstance(count, int):
            raise fail(f"{layer} needs whole numbers of channels, got {count!r}; leave pairs to PyTorch Geometric")
        if count < 0:
            raise fail(
                f"{layer} has no lazy channels ({count}): give their number, or call PyTorch Geometric's layer once "
                "and then qw.accelerate(model)"
            )


def seed() -> int:
    return int(torch.randint(2**62, (1,)).item())


def glorot(*tensors: Tensor) -> None:
    for tensor in tensors:
        bound = math.sqrt(6.0 / (tensor.size(-2) + tensor.size(-1)))
        nn.init.uniform_(tensor, -bound, bound)


def is_plain(module: nn.Module) -> bool:
    """Whether calling it is its forward alone: no hooks (of pruning and norms, too) and no parametrizations."""
    hooks = [kept for name, kept in vars(module).items() if name.endswith("_hooks") and "state_dict" not in name]
    return not any(hooks) and not parametrize.is_parametrized(module)


class Layer(nn.Module):
    """Where it is in the place of a layer of PyTorch Geometric, calls that it has not are answered by that one."""

    def __init__(self) -> None:
        super().__init__()
        operators()
        self._replaced: list[nn.Module] = []  # no child: its parameters are those of this layer

    def replaces(self, layer: nn.Module) -> None:
        self._replaced = [layer]

    def _given(self, x: Any) -> Any:
        """Features in half precision, as autocast makes them, in the type of the weights."""
        if not isinstance(x, Tensor) or x.dtype not in HALVES:
            return x
        dtype = next((parameter.dtype for parameter in self.parameters()), torch.float32)
        return x if dtype in HALVES else x.to(dtype)

    def _leaves(self, x: Any, edge_index: Any, *more: Any) -> bool:
        """Whether the replaced layer has to answer; without one this layer says what is wrong."""
        if not getattr(self, "_replaced", None):
            return False
        usual = isinstance(x, Tensor) and x.dim() == 2 and x.dtype in (torch.float32, torch.float64)
        listed = isinstance(edge_index, Tensor) and edge_index.layout == torch.strided
        return not usual or not listed or any(each is not None for each in more)

    def _answer(self, *arguments: Any, **options: Any) -> Any:
        """Of the replaced layer, with what this one has learned and was set to."""
        layer = self._replaced[0]
        for name, value in vars(self).items():
            if not name.startswith("_") and name in vars(layer):
                setattr(layer, name, value)
        layer.train(self.training)
        for names, kind in ((self.named_parameters(), "_parameters"), (self.named_buffers(), "_buffers")):
            for name, tensor in names:
                owner, _, last = name.rpartition(".")
                getattr(layer.get_submodule(owner), kind)[last] = tensor
        return layer(*arguments, **options)

    def __repr__(self) -> str:
        return f"qw.{type(self).__name__}({self.extra_repr()})"
