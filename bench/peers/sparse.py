"""Sparse matrix products, attention sums and dropout in plain PyTorch, each the fastest of the known ways.

Which way is fastest depends on the width, the graph and the version of torch, so it is measured when a shape is first
met (in the warm-up). Torch 1.13 on two Neoverse-V1 cores: COO or CSR products from about width 64 on, embedding_bag for
widths of a few classes, gather + index_add nowhere on graphs of this size.
"""
import time
import warnings
from typing import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

# "usual": what most people write. "tuned": also what few people know to be faster.
STYLES = ("usual", "tuned")

# What was measured to be fastest: shape -> way.
chosen: dict[str, str] = {}

warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")

_MAX_GATHERED = 1 << 24  # numbers; a larger gather loses by far, and measuring it would be the peak of memory
_DOTS_AT_ONCE = 1 << 20  # numbers; stays in the cache


class Pattern:
    """Where the entries of a square sparse matrix are, row by row; (i, j) is one of them when (j, i) is."""

    def __init__(self, offsets: Tensor, columns: Tensor, style: str) -> None:
        self.style = style
        self.size = offsets.numel() - 1
        self.offsets = offsets
        self.columns = columns
        self.lengths = offsets.diff()
        self.rows = torch.arange(self.size).repeat_interleave(self.lengths)
        self.indices = torch.stack([self.rows, columns])
        self._mirror = torch.argsort(columns * self.size + self.rows)

    def copies(self, count: int) -> "Pattern":
        """`count` disjoint copies as one pattern: copy c of node i is node i * count + c, as in [N, heads, C]."""
        lengths = self.lengths.repeat_interleave(count)
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        nodes = torch.arange(self.size * count).repeat_interleave(lengths)
        within = torch.arange(nodes.numel()) - offsets[nodes]
        columns = self.columns[self.offsets[nodes // count] + within] * count + nodes % count
        return Pattern(offsets, columns, self.style)

    def mirror_of(self, values: Tensor) -> Tensor:
        """The values of the transposed matrix; no gradient."""
        return values.detach().index_select(0, self._mirror)

    def row_sums(self, values: Tensor) -> Tensor:
        return torch.segment_reduce(values, "sum", lengths=self.lengths, unsafe=True)

    def row_maxima(self, values: Tensor) -> Tensor:
        return torch.segment_reduce(values, "max", lengths=self.lengths, unsafe=True)

    def product(self, values: Tensor, x: Tensor) -> Tensor:
        """The matrix with these values times x; no gradient."""
        names = ["coo", "csr"]
        if self.columns.numel() * x.size(1) <= _MAX_GATHERED:
            names.append("scatter")
        if self.style == "tuned":
            names.append("bag")
        return self._fastest("product", names, PRODUCTS, values, x)

    def dots(self, left: Tensor, right: Tensor) -> Tensor:
        """left[i] . right[j] for every entry (i, j); no gradient."""
        names = ["gather", "bag"] if self.style == "tuned" else ["gather"]
        return self._fastest("dots", names, DOTS, left, right)

    def _fastest(self, task: str, names: list[str], ways: dict[str, Callable], left: Tensor, right: Tensor) -> Tensor:
        shape = f"{task} {self.columns.numel()} x {right.size(1)}"
        if shape not in chosen:
            chosen[shape] = min(names, key=lambda name: _seconds(ways[name], self, left, right))
        return ways[chosen[shape]](self, left, right)


def _seconds(way: Callable, *arguments) -> float:
    way(*arguments)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        way(*arguments)
        best = min(best, time.perf_counter() - start)
    return best


# The unsafe constructors skip a check of the indices that the users of constant matrices pay only once.
def product_coo(pattern: Pattern, values: Tensor, x: Tensor) -> Tensor:
    shape = (pattern.size, pattern.size)
    if hasattr(torch, "_sparse_coo_tensor_unsafe"):
        return torch._sparse_coo_tensor_unsafe(pattern.indices, values, shape)._coalesced_(True) @ x
    return torch.sparse_coo_tensor(pattern.indices, values, shape, check_invariants=False, is_coalesced=True) @ x


def product_csr(pattern: Pattern, values: Tensor, x: Tensor) -> Tensor:
    shape = (pattern.size, pattern.size)
    if hasattr(torch, "_sparse_csr_tensor_unsafe"):
        return torch._sparse_csr_tensor_unsafe(pattern.offsets, pattern.columns, values, shape) @ x
    return torch.sparse_csr_tensor(pattern.offsets, pattern.columns, values, shape, check_invariants=False) @ x


def product_scatter(pattern: Pattern, values: Tensor, x: Tensor) -> Tensor:
    messages = x.index_select(0, pattern.columns).mul_(values.unsqueeze(1))
    return torch.zeros_like(x).index_add_(0, pattern.rows, messages)


def product_bag(pattern: Pattern, values: Tensor, x: Tensor) -> Tensor:
    return F.embedding_bag(pattern.columns, x, pattern.offsets, mode="sum", per_sample_weights=values,
                           include_last_offset=True)


def dots_gather(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    entries = max(1, _DOTS_AT_ONCE // left.size(1))
    pieces = zip(pattern.rows.split(entries), pattern.columns.split(entries))
    return torch.cat([left.index_select(0, rows).mul_(right.index_select(0, columns)).sum(1)
                      for rows, columns in pieces])


def dots_bag(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """What embedding_bag computes as the gradient of its weights."""
    return torch.ops.aten._embedding_bag_per_sample_weights_backward(
        left, right, pattern.columns, pattern.offsets[:-1], pattern.rows, 0)


PRODUCTS = {"coo": product_coo, "csr": product_csr, "scatter": product_scatter, "bag": product_bag}
DOTS = {"gather": dots_gather, "bag": dots_bag}


class _Multiply(torch.autograd.Function):
    """A x, with the gradient by x from the mirrored values instead of a transposed sparse tensor."""

    @staticmethod
    def forward(ctx, pattern: Pattern, values: Tensor, mirrored: Tensor | None, x: Tensor) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(values, mirrored, x if ctx.needs_input_grad[1] else None)
        return pattern.product(values, x)

    @staticmethod
    def backward(ctx, gradient: Tensor):
        values, mirrored, x = ctx.saved_tensors
        gradient = gradient.contiguous()
        by_values = ctx.pattern.dots(gradient, x) if ctx.needs_input_grad[1] else None
        by_x = None
        if ctx.needs_input_grad[3]:
            if mirrored is None:
                mirrored = ctx.pattern.mirror_of(values)
            by_x = ctx.pattern.product(mirrored, gradient)
        return None, by_values, None, by_x


class _EntrySums(torch.autograd.Function):
    """of_row[i] + of_column[j] for every entry (i, j)."""

    @staticmethod
    def forward(ctx, pattern: Pattern, of_row: Tensor, of_column: Tensor) -> Tensor:
        ctx.pattern = pattern
        return of_column.index_select(0, pattern.columns).add_(of_row.index_select(0, pattern.rows))

    @staticmethod
    def backward(ctx, gradient: Tensor):
        pattern = ctx.pattern
        return None, pattern.row_sums(gradient), pattern.row_sums(pattern.mirror_of(gradient))


class _RowSoftmax(torch.autograd.Function):
    """softmax over the entries of each row; no row is empty."""

    @staticmethod
    def forward(ctx, pattern: Pattern, scores: Tensor) -> Tensor:
        result = (scores - pattern.row_maxima(scores).index_select(0, pattern.rows)).exp_()
        result.div_(pattern.row_sums(result).index_select(0, pattern.rows))
        ctx.pattern = pattern
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, gradient: Tensor):
        (result,) = ctx.saved_tensors
        product = result * gradient
        sums = ctx.pattern.row_sums(product).index_select(0, ctx.pattern.rows)
        return None, product.sub_(sums.mul_(result))


def multiply(pattern: Pattern, values: Tensor, x: Tensor, mirrored: Tensor | None = None) -> Tensor:
    """The matrix with these values times x; gradients by both. `mirrored`: pattern.mirror_of(values), when at hand."""
    return _Multiply.apply(pattern, values, mirrored, x)


def entry_sums(pattern: Pattern, of_row: Tensor, of_column: Tensor) -> Tensor:
    return _EntrySums.apply(pattern, of_row, of_column)


def row_softmax(pattern: Pattern, scores: Tensor) -> Tensor:
    return _RowSoftmax.apply(pattern, scores)


class ConstantMatrix:
    """A sparse matrix that does not learn."""

    def __init__(self, pattern: Pattern, values: Tensor) -> None:
        self.pattern = pattern
        self.values = values
        self.mirrored = pattern.mirror_of(values)

    def __matmul__(self, x: Tensor) -> Tensor:
        return _Multiply.apply(self.pattern, self.values, self.mirrored, x)


def dropout(x: Tensor, p: float, training: bool, style: str) -> Tensor:
    """Torch 1.13 draws the Bernoulli numbers of F.dropout four times as slowly as uniform ones."""
    if style == "usual" or not training or p == 0:
        return F.dropout(x, p, training)
    mask = torch.rand_like(x).ge_(p).mul_(1 / (1 - p))
    return mask * x if x.requires_grad else mask.mul_(x)
