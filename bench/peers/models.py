"""Eight graph neural networks in plain PyTorch. Parameters are named as in the published code (PyG's layers)."""
import dataclasses
import math
from typing import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sparse import ConstantMatrix, Pattern, dropout, entry_sums, multiply, row_softmax


@dataclasses.dataclass
class Settings:
    """Sizes as published; the tests take smaller ones."""

    hidden: int = 64
    heads: int = 8
    steps: int = 10
    teleport: float = 0.1
    dropout: float = 0.5
    lpa_iterations: int = 5
    lpa_weight: float = 1.0
    style: str = "usual"


class Graph:
    """An undirected graph without self-loops: row i of (offsets, neighbours) lists the neighbours of node i, sorted."""

    def __init__(self, offsets: Tensor, neighbours: Tensor, dtype: torch.dtype, style: str) -> None:
        self.plain = Pattern(offsets, neighbours, style)
        self.looped = _with_loops(self.plain)
        self.degrees = self.plain.lengths.to(dtype)

    def mean(self) -> ConstantMatrix:
        """D^-1 A."""
        return ConstantMatrix(self.plain, self.degrees.reciprocal()[self.plain.rows])

    def sum_with_self(self) -> ConstantMatrix:
        """A + I."""
        return ConstantMatrix(self.looped, self.degrees.new_ones(self.looped.columns.numel()))

    def smoothing(self, scale: float = 1) -> ConstantMatrix:
        """scale (D+I)^-1/2 (A + I) (D+I)^-1/2."""
        roots = (self.degrees + 1).rsqrt()
        return ConstantMatrix(self.looped, scale * roots[self.looped.rows] * roots[self.looped.columns])

    def normalised(self, scale: float) -> ConstantMatrix:
        """scale D^-1/2 A D^-1/2."""
        return ConstantMatrix(self.plain, scale * self._normalised_entries(self.plain))

    def identity_plus_normalised(self, scale: float) -> ConstantMatrix:
        """I + scale D^-1/2 A D^-1/2."""
        loops = self.looped.rows == self.looped.columns
        values = scale * self._normalised_entries(self.looped)
        return ConstantMatrix(self.looped, values.masked_fill_(loops, 1))

    def _normalised_entries(self, pattern: Pattern) -> Tensor:
        roots = self.degrees.rsqrt()
        return roots[pattern.rows] * roots[pattern.columns]


def _with_loops(pattern: Pattern) -> Pattern:
    nodes = torch.arange(pattern.size)
    keys = torch.cat([pattern.rows * pattern.size + pattern.columns, nodes * (pattern.size + 1)])
    offsets = pattern.offsets + torch.arange(pattern.size + 1)
    return Pattern(offsets, keys.sort().values % pattern.size, pattern.style)


class Model(nn.Module):
    """Maps features to logits; `loss` is what one step minimises."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings

    def drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.settings.dropout, self.training, self.settings.style)

    def loss(self, x: Tensor, labels: Tensor, train: Tensor) -> Tensor:
        """`labels` are those of the nodes `train`."""
        return F.cross_entropy(self(x).index_select(0, train), labels)


class GCNConv(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.lin = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))


class GCN(Model):
    def __init__(self, inputs: int, classes: int, graph: Graph, settings: Settings) -> None:
        super().__init__(settings)
        self.conv1 = GCNConv(inputs, settings.hidden)
        self.conv2 = GCNConv(settings.hidden, classes)
        self.matrix = graph.smoothing()

    def forward(self, x: Tensor) -> Tensor:
        x = self.drop((self.matrix @ self.conv1.lin(x) + self.conv1.bias).relu())
        return self.matrix @ self.conv2.lin(x) + self.conv2.bias


class GATConv(nn.Module):
    """Attention heads are disjoint copies of the graph, so that all of them are one sparse product."""

    def __init__(self, inputs: int, outputs: int, heads: int, pattern: Pattern) -> None:
        super().__init__()
        self.lin = nn.Linear(inputs, heads * outputs, bias=False)
        self.att_src = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, heads, outputs)))
        self.att_dst = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, heads, outputs)))
        self.bias = nn.Parameter(torch.zeros(heads * outputs))
        self.pattern = pattern.copies(heads) if heads > 1 else pattern

    def forward(self, x: Tensor, drop) -> Tensor:
        heads, width = self.att_src.shape[1:]
        x = self.lin(x).view(-1, heads, width)
        from_source = (x * self.att_src).sum(-1).view(-1)
        from_target = (x * self.att_dst).sum(-1).view(-1)
        scores = F.leaky_relu(entry_sums(self.pattern, from_target, from_source), 0.2)
        attention = drop(row_softmax(self.pattern, scores))
        return multiply(self.pattern, attention, x.view(-1, width)).view(-1, heads * width) + self.bias


class GAT(Model):
    def __init__(self, inputs: int, classes: int, graph: Graph, settings: Settings) -> None:
        super().__init__(settings)
        self.conv1 = GATConv(inputs, settings.hidden, settings.heads, graph.looped)
        self.conv2 = GATConv(settings.heads * settings.hidden, classes, 1, graph.looped)

    def forward(self, x: Tensor) -> Tensor:
        x = F.elu(self.conv1(self.drop(x), self.drop))
        return self.conv2(self.drop(x), self.drop)


class GINConv(nn.Module):
    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.nn = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


class GIN(Model):
    def __init__(self, inputs: int, classes: int, graph: Graph, settings: Settings) -> None:
        super().__init__(settings)
        self.conv1 = GINConv(inputs, settings.hidden, settings.hidden)
        self.conv2 = GINConv(settings.hidden, settings.hidden, classes)
        self.matrix = graph.sum_with_self()

    def forward(self, x: Tensor) -> Tensor:
        x = self.drop(F.elu(self.conv1.nn(self.matrix @ self.drop(x))))
        return self.conv2.nn(self.matrix @ x)


class SAGEConv(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.lin_l = nn.Linear(inputs, outputs)
        self.lin_r = nn.Linear(inputs, outputs, bias=False)

    def forward(self, matrix: ConstantMatrix, x: Tensor) -> Tensor:
        return self.lin_l(matrix @ x) + self.lin_r(x)


class GraphSAGE(Model):
    def __init__(self, inputs: int, classes: int, graph: Graph, settings: Settings) -> None:
        super().__init__(settings)
        self.conv1 = SAGEConv(inputs, settings.hidden)
        self.conv2 = SAGEConv(settings.hidden, classes)
        self.matrix = graph.mean()

    def forward(self, x: Tensor) -> Tensor:
        return self.conv2(self.matrix, self.drop(F.elu(self.conv1(self.matrix, self.drop(x)))))


class SpectralModel(Model):
    """A perceptron of two layers, then a filter."""

    def __init__(self, inputs: int, classes: int, settings: Settings) -> None:
        super().__init__(settings)
        self.lin1 = nn.Linear(inputs, settings.hidden)
        self.lin2 = nn.Linear(settings.hidden, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.filter(self.lin2(self.drop(self.lin1(self.drop(x)).relu())))


class APPNP(SpectralModel):
    def __init__(self, inputs: int, classes: int, graph: Graph, settings: Settings) -> None:
        super().__init__(inputs, classes, settings)
        self.matrix = graph.smoothing(1 - settings.teleport)

    def filter(self, x: Tensor) -> Tensor:
        back = self.settings.teleport * x
        for _ in range(self.settings.steps):
            x = self.matrix @ x + back
        return x


class Coefficients(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.temp = nn.Parameter(torch.ones(count))


class BernNet(SpectralModel):
    """Evaluated as in the published code: K (K + 3) / 2 propagations."""

    def __init__(self, inputs: int, classes: int, graph: Graph, settings: Settings) -> None:
        super().__init__(inputs, classes, settings)
        self.prop1 = Coefficients(settings.steps + 1)
        self.laplacian = graph.identity_plus_normalised(-1)
        self.two_minus_laplacian = graph.identity_plus_normalised(1)

    def filter(self, x: Tensor) -> Tensor:
        last = self.settings.steps
        weights = self.prop1.temp.relu()
        powers = [x]
        for _ in range(last):
            powers.append(self.two_minus_laplacian @ powers[-1])
        result = weights[0] / 2**last * powers[last]
        for k in range(1, last + 1):
            x = powers[last - k]
            for _ in range(k):
                x = self.laplacian @ x
            result = result + math.comb(last, k) / 2**last * weights[k] * x
        return result


class ChebNetII(SpectralModel):
    def __init__(self, inputs: int, classes: int, graph: Graph, settings: Settings) -> None:
        super().__init__(inputs, classes, settings)
        count = settings.steps + 1
        self.prop1 = Coefficients(count)
        self.doubled = graph.normalised(-2)  # 2 (L - I)
        angles = (count - 0.5 - torch.arange(count, dtype=torch.float64)) * math.pi / count
        polynomials = torch.cos(torch.arange(count).unsqueeze(1) * angles) * 2 / count
        polynomials[0] /= 2
        self.register_buffer("interpolation", polynomials.to(graph.degrees.dtype), persistent=False)

    def filter(self, x: Tensor) -> Tensor:
        weights = self.interpolation @ self.prop1.temp.relu()
        before, x = x, 0.5 * (self.doubled @ x)
        result = weights[0] * before + weights[1] * x
        for k in range(2, weights.numel()):
            before, x = x, self.doubled @ x - before
            result = result + weights[k] * x
        return result


class GCNLPA(GCN):
    """A GCN that learns its adjacency matrix, also from how well that matrix propagates the training labels."""

    def __init__(self, inputs: int, classes: int, graph: Graph, settings: Settings) -> None:
        super().__init__(inputs, classes, graph, settings)
        self.pattern = self.matrix.pattern
        self.classes = classes
        self.scores = nn.Parameter(torch.ones(self.pattern.columns.numel()))
        self.known: tuple[Tensor, Tensor] | None = None

    def forward(self, x: Tensor) -> Tensor:
        return self._logits(self._matrix(), x)

    def loss(self, x: Tensor, labels: Tensor, train: Tensor) -> Tensor:
        matrix = self._matrix()
        by_features = F.cross_entropy(self._logits(matrix, x).index_select(0, train), labels)
        by_labels = -self._propagated(matrix, labels, train).log().mean()
        return by_features + self.settings.lpa_weight * by_labels

    def _matrix(self) -> Callable[[Tensor], Tensor]:
        """Multiplies by the learned matrix."""
        values = row_softmax(self.pattern, self.scores)
        mirrored = self.pattern.mirror_of(values)
        return lambda x: multiply(self.pattern, values, x, mirrored)

    def _logits(self, matrix: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        x = self.drop((matrix(self.conv1.lin(x)) + self.conv1.bias).relu())
        return matrix(self.conv2.lin(x)) + self.conv2.bias

    def _propagated(self, matrix: Callable[[Tensor], Tensor], labels: Tensor, train: Tensor) -> Tensor:
        """How much of its own label each training node has after the last iteration."""
        if self.known is None:
            start = self.scores.new_zeros(self.pattern.size, self.classes)
            start[train, labels] = 1
            unknown = torch.ones(self.pattern.size, 1, dtype=torch.bool)
            unknown[train] = False
            self.known = start, unknown
        start, unknown = self.known
        x = start
        for iteration in range(self.settings.lpa_iterations):
            x = matrix(torch.where(unknown, x, start) if iteration else x)
        return x.view(-1).index_select(0, train * self.classes + labels)


MODELS = {
    "gcn": GCN,
    "gat": GAT,
    "gin": GIN,
    "graphsage": GraphSAGE,
    "appnp": APPNP,
    "bernnet": BernNet,
    "chebnetii": ChebNetII,
    "gcn-lpa": GCNLPA,
}
