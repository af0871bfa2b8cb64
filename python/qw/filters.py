"""Layers that are polynomials of a graph's matrix; part of qw.nn."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from . import ops
from ._lib import fail
from .layer import Layer, check_options, seed
from .ops import Pattern
from .propagation import check_features, for_later, graph_of

MOST_STEPS_AT_ONCE = 10  # of a matrix that is not symmetric: its Chebyshev polynomials grow, and numbers are lost


def chebyshev_coefficients(degree: int, polynomial: Any) -> list[float]:
    """c_j with p(x) = sum of c_j T_j(x), for a polynomial of at most this degree."""
    count = degree + 1
    angles = [math.pi * (k + 0.5) / count for k in range(count)]
    values = [polynomial(math.cos(angle)) for angle in angles]
    return [
        (1.0 if j == 0 else 2.0) / count * math.fsum(v * math.cos(j * angle) for v, angle in zip(values, angles))
        for j in range(count)
    ]


@functools.lru_cache(maxsize=64)
def _constant(make: Callable[..., Any], given: tuple[Any, ...], device: torch.device, dtype: torch.dtype) -> Tensor:
    with for_later():
        made: Tensor = torch.tensor(make(*given), dtype=torch.float64).to(device, dtype)
    return made


def _appnp(K: int, alpha: float) -> list[float]:
    def steps(x: float) -> float:
        z = 1.0
        for _ in range(K):
            z = (1 - alpha) * x * z + alpha
        return z

    return chebyshev_coefficients(K, steps)


class APPNP(Layer):
    """torch_geometric.nn.APPNP: K steps of z = (1 - alpha) M z + alpha x, as one filter."""

    def __init__(
        self,
        K: int,
        alpha: float,
        dropout: float = 0.0,
        cached: bool = False,
        add_self_loops: bool = True,
        normalize: bool = True,
        **options: Any,
    ) -> None:
        super().__init__()
        check_options("APPNP", options)
        self.K, self.alpha, self.dropout = K, alpha, dropout
        self.cached, self.add_self_loops, self.normalize = cached, add_self_loops, normalize

    def reset_parameters(self) -> None:
        pass

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        x = self._given(x)
        if self._leaves(x, edge_index):
            answer: Tensor = self._answer(x, edge_index, edge_weight)
            return answer
        check_features("APPNP", x)
        graph = graph_of(edge_index, x.shape[0])
        loops = self.add_self_loops and self.normalize
        pattern, _ = graph.pattern(loops)
        if self.normalize:
            values = graph.normalised(edge_weight, loops, 1.0, x.dtype)
        else:
            values = graph.weights(edge_weight, False, 1.0, x.dtype)
        drops = self.dropout > 0 and self.training
        many = self.K > MOST_STEPS_AT_ONCE
        if not self.normalize or drops or (many and (edge_weight is not None or not graph.is_symmetric())):
            return self._step_by_step(pattern, values, x)
        coefficients = _constant(_appnp, (int(self.K), float(self.alpha)), x.device, x.dtype)
        return ops.chebyshev_filter(pattern, values, coefficients, x)

    def _step_by_step(self, pattern: Pattern, values: Tensor, x: Tensor) -> Tensor:
        z = x
        for _ in range(self.K):
            if self.dropout > 0 and self.training:
                values = ops.dropout(values, self.dropout, seed())
            z = ops.spmm(pattern, (1 - self.alpha) * values, z, self.alpha * x)
        return z

    def extra_repr(self) -> str:
        return f"K={self.K}, alpha={self.alpha}"


class _Filter(Layer):
    """A learned polynomial of M = D^-1/2 A D^-1/2, from its values `temp` [K + 1]."""

    _basis: Callable[[int], list[list[float]]]

    def __init__(self, K: int) -> None:
        super().__init__()
        if K < 1:
            raise fail(f"K must be at least 1, got {K}")
        self.K = K
        self.temp = nn.Parameter(torch.ones(K + 1))

    def reset_parameters(self) -> None:
        nn.init.ones_(self.temp)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        x = self._given(x)
        check_features(type(self).__name__, x)
        graph = graph_of(edge_index, x.shape[0])
        pattern, _ = graph.pattern(False)
        values = graph.normalised(edge_weight, False, 1.0, x.dtype)
        basis = _constant(type(self)._basis, (int(self.K),), x.device, x.dtype)
        coefficients = (basis * torch.relu(self.temp)).sum(1)  # no product of matrices, which autocast would halve
        return ops.chebyshev_filter(pattern, values, coefficients.to(x.dtype), x)

    def extra_repr(self) -> str:
        return f"K={self.K}"


def _bernstein(K: int) -> list[list[float]]:
    columns = [
        chebyshev_coefficients(K, lambda x, k=k: math.comb(K, k) * ((1 + x) / 2) ** (K - k) * ((1 - x) / 2) ** k)
        for k in range(K + 1)
    ]
    return [list(row) for row in zip(*columns)]


def _interpolating(K: int) -> list[list[float]]:
    angles = [math.pi * (K - j + 0.5) / (K + 1) for j in range(K + 1)]
    return [
        [(1.0 if k == 0 else 2.0) / (K + 1) * (-1.0) ** k * math.cos(k * angle) for angle in angles]
        for k in range(K + 1)
    ]


class BernConv(_Filter):
    """BernNet's filter (He et al., 2021): sum of relu(temp_k) B_k(L), with Bernstein's polynomials B_k.

    L is the normalised Laplacian I - M; the parameter temp has the published name.
    """

    _basis = staticmethod(_bernstein)


class ChebIIConv(_Filter):
    """ChebNetII's filter (He et al., 2022): the polynomial with values relu(temp_j) at the Chebyshev nodes of L - I."""

    _basis = staticmethod(_interpolating)
