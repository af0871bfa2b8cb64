"""What layers know of a graph and of features: matrices and products that are made once and kept until they change."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from . import ops
from ._lib import fail
from .ops import Pattern

SPARSE_BELOW = 0.25  # of non-zeros: features are multiplied as a sparse matrix


def _state(tensor: Tensor) -> tuple[Any, ...]:
    """What differs when the tensor is changed, or has other numbers by `tensor.data = ...`."""
    try:
        at = tensor.data_ptr()
    except RuntimeError:  # of a transform or a compiler, which show no memory
        at = 0
    return tensor._version, at, tensor.dtype, tensor.device, tensor.shape


class Kept:
    """What was computed from a tensor, until the tensor changes or is gone."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[weakref.ref[Tensor], tuple[Any, ...], dict[Any, Any]]] = {}

    def of(self, tensor: Tensor) -> dict[Any, Any]:
        if tensor.is_inference():  # nobody counts its changes
            return {}
        key, state = id(tensor), _state(tensor)
        found = self._of.get(key)
        if found is not None and found[0]() is tensor and found[1] == state:
            return found[2]
        made: dict[Any, Any] = {}
        self._of[key] = (weakref.ref(tensor, lambda _: self._of.pop(key, None)), state, made)
        return made


KEPT = Kept()


@contextlib.contextmanager
def for_later() -> Iterator[None]:
    """What is made here may be used in a training, even where this is called under torch.inference_mode()."""
    with torch.inference_mode(False), torch.no_grad():
        yield


def state_of(tensor: Tensor) -> tuple[Any, ...] | None:
    return None if tensor.is_inference() else _state(tensor)


class PropagationGraph:
    """The matrices of an edge_index: row i gathers from the sources of the edges into i."""

    def __init__(self, edge_index: Tensor, num_nodes: int) -> None:
        if edge_index.dim() != 2 or edge_index.shape[0] != 2 or edge_index.is_floating_point():
            raise fail(f"edge_index must be [2, E] of integers, got {list(edge_index.shape)} of {edge_index.dtype}")
        self.source, self.target = edge_index[0].clone(), edge_index[1].clone()  # no views: those keep it alive
        self.num_nodes = num_nodes
        self.loops = self.source == self.target
        self._patterns: dict[bool, tuple[Pattern, Tensor]] = {}
        self._values: dict[Any, Tensor] = {}
        self._symmetric: bool | None = None

    def pattern(self, self_loops: bool) -> tuple[Pattern, Tensor]:
        """Of A, or with its self-loops replaced by one for each node; and the given edge of each entry.

        With self-loops edge E + i is that of node i.
        """
        if self_loops not in self._patterns:
            with for_later():
                self._patterns[self_loops] = self._make_pattern(self_loops)
        return self._patterns[self_loops]

    def _make_pattern(self, self_loops: bool) -> tuple[Pattern, Tensor]:
        rows, columns = self.target, self.source
        numbers = torch.arange(rows.shape[0], device=rows.device)
        if self_loops:
            kept, nodes = ~self.loops, torch.arange(self.num_nodes, device=rows.device)
            rows, columns = torch.cat([rows[kept], nodes]), torch.cat([columns[kept], nodes])
            numbers = torch.cat([numbers[kept], self.loops.shape[0] + nodes])
        pattern, order = ops.pattern(rows, columns, self.num_nodes, self.num_nodes)
        return pattern, numbers[order]

    def is_symmetric(self) -> bool:
        """Whether edges go both ways. Looked at once: on a GPU that is waited for."""
        if self._symmetric is None:
            pattern, _ = self.pattern(False)
            there, back = (pattern.offsets, pattern.columns), (pattern.transposed_offsets, pattern.transposed_columns)
            self._symmetric = all(torch.equal(one, other) for one, other in zip(there, back))
        return self._symmetric

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
        pattern, _ = self.pattern(self_loops)
        if edge_weight is not None:
            return ops.normalise(pattern, self.weights(edge_weight, self_loops, fill, dtype))
        key = ("symmetric", self_loops, dtype)
        if key not in self._values:
            with for_later():
                self._values[key] = ops.normalise(pattern, self.weights(None, self_loops, fill, dtype))
        return self._values[key]

    def ones(self, dtype: torch.dtype) -> Tensor:
        if dtype not in self._values:
            with for_later():
                self._values[dtype] = self.weights(None, False, 1.0, dtype)
        return self._values[dtype]

    def means(self, dtype: torch.dtype) -> Tensor:
        key = ("rows", dtype)
        if key not in self._values:
            with for_later():
                self._values[key] = ops.normalise(self.pattern(False)[0], self.ones(dtype), "rows")
        return self._values[key]


def graph_of(edge_index: Any, num_nodes: int) -> PropagationGraph:
    if not isinstance(edge_index, Tensor) or edge_index.layout != torch.strided:
        raise fail("edge_index must be a tensor [2, E]; leave layers on sparse adjacency matrices to PyTorch Geometric")
    kept = KEPT.of(edge_index)
    if num_nodes not in kept:
        with for_later():
            kept[num_nodes] = PropagationGraph(edge_index, num_nodes)
    found: PropagationGraph = kept[num_nodes]
    return found


def check_features(name: str, x: Any) -> None:
    if not isinstance(x, Tensor):
        raise fail(f"{name} takes one matrix of features; leave layers on pairs of them to PyTorch Geometric")
    if x.dim() != 2 or x.dtype not in (torch.float32, torch.float64):
        raise fail(f"{name} takes features [N, C] of float32 or float64, got {list(x.shape)} of {x.dtype}")


class SparseRows:
    """Features with few non-zeros, for products with a weight."""

    def __init__(self, x: Tensor) -> None:
        rows, columns = x.nonzero(as_tuple=True)
        self.pattern, order = ops.pattern(rows, columns, x.shape[0], x.shape[1])
        self.values = x[rows, columns][order]

    def times(self, weight: Tensor) -> Tensor:
        return ops.spmm(self.pattern, self.values, weight.t())


def _may_change_unseen(x: Tensor) -> bool:
    """By another process, by numpy, whose memory torch does not own, or between two replays of a CUDA graph."""
    if x.is_cuda:
        return bool(torch.cuda.is_current_stream_capturing())
    if x.device.type != "cpu":
        return False
    resizable = getattr(x.untyped_storage(), "resizable", None) if hasattr(x, "untyped_storage") else None
    return x.is_shared() or (resizable is not None and not resizable())  # older ones do not tell


def sparse_rows(x: Tensor) -> SparseRows | None:
    """Of features that stay as they are, where it pays."""
    if not stays(x, None):
        return None
    kept = KEPT.of(x)
    if "sparse" not in kept:
        with for_later():
            few = x.numel() >= 4096 and int(torch.count_nonzero(x)) < SPARSE_BELOW * x.numel()
            kept["sparse"] = SparseRows(x) if few else None
    found: SparseRows | None = kept["sparse"]
    return found


def linear(x: Tensor, weight: Tensor) -> Tensor:
    rows = sparse_rows(x)
    return ops.dense_linear(x, weight) if rows is None else rows.times(weight)


def stays(x: Tensor, edge_weight: Tensor | None) -> bool:
    """Whether what is computed from these features may be kept for the next call."""
    return edge_weight is None and not x.requires_grad and x.grad_fn is None and not _may_change_unseen(x)


def kept_product(x: Tensor, edge_index: Tensor, key: Any, pattern: Pattern, values: Tensor) -> Tensor:
    """Of a matrix of the graph and features that stay as they are, kept with the features."""
    kept = KEPT.of(x)
    found = kept.get(key)
    if found is None or found[1] is None or found[0]() is not edge_index or found[1] != state_of(edge_index):
        with for_later():
            found = (weakref.ref(edge_index), state_of(edge_index), ops.spmm(pattern, values, x))
        kept[key] = found
    product: Tensor = found[2]
    return product
