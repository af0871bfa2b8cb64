"""The seven models with PyTorch Geometric's own layers, built as those of models.py are and with the same parameters' names.

BernNet and ChebNetII have no layer there: they propagate by MessagePassing, as published. What does not change between
steps (normalisation, self-loops, coefficients) is prepared once, which the layers need for capture in a CUDA graph, too.
"""
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import APPNP as Propagation
from torch_geometric.nn import GATConv, GCNConv, GINConv, MessagePassing, SAGEConv
from torch_geometric.utils import add_self_loops, get_laplacian

import models
from models import Graph, Settings


class Convolutions(models.Model):
    """Two layers and the graph's edges."""

    def __init__(self, conv1: nn.Module, conv2: nn.Module, edges: Tensor, settings: Settings) -> None:
        super().__init__(settings)
        self.conv1 = conv1
        self.conv2 = conv2
        self.register_buffer("edges", edges, persistent=False)


class GCN(Convolutions):
    def __init__(self, inputs: int, classes: int, graph: Graph, settings: Settings) -> None:
        super().__init__(GCNConv(inputs, settings.hidden, cached=True), GCNConv(settings.hidden, classes, cached=True),
                         graph.plain.indices, settings)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv2(self.drop(self.conv1(x, self.edges).relu()), self.edges)


class GAT(Convolutions):
    def __init__(self, inputs: int, classes: int, graph: Graph, settings: Settings) -> None:
        options = {"dropout": settings.dropout, "add_self_loops": False}  # the edges have them
        super().__init__(GATConv(inputs, settings.hidden, settings.heads, **options),
                         GATConv(settings.heads * settings.hidden, classes, **options), graph.looped.indices, settings)

    def forward(self, x: Tensor) -> Tensor:
        x = F.elu(self.conv1(self.drop(x), self.edges))
        return self.conv2(self.drop(x), self.edges)


class GIN(Convolutions):
    def __init__(self, inputs: int, classes: int, graph: Graph, settings: Settings) -> None:
        def layer(width: int, outputs: int) -> GINConv:
            return GINConv(nn.Sequential(nn.Linear(width, settings.hidden), nn.ReLU(), nn.Linear(settings.hidden, outputs)))

        super().__init__(layer(inputs, settings.hidden), layer(settings.hidden, classes), graph.plain.indices, settings)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv2(self.drop(F.elu(self.conv1(self.drop(x), self.edges))), self.edges)


class GraphSAGE(Convolutions):
    def __init__(self, inputs: int, classes: int, graph: Graph, settings: Settings) -> None:
        super().__init__(SAGEConv(inputs, settings.hidden), SAGEConv(settings.hidden, classes), graph.plain.indices,
                         settings)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv2(self.drop(F.elu(self.conv1(self.drop(x), self.edges))), self.edges)


class APPNP(models.SpectralModel):
    def __init__(self, inputs: int, classes: int, graph: Graph, settings: Settings) -> None:
        super().__init__(inputs, classes, settings)
        self.propagation = Propagation(settings.steps, settings.teleport, cached=True)
        self.register_buffer("edges", graph.plain.indices, persistent=False)

    def filter(self, x: Tensor) -> Tensor:
        return self.propagation(x, self.edges)


class Messages(MessagePassing):
    """A sparse matrix; `@ x` sends weighted messages along its entries."""

    def __init__(self, edges: Tensor, weights: Tensor) -> None:
        super().__init__(aggr="add")
        self.register_buffer("edges", edges, persistent=False)
        self.register_buffer("weights", weights, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.propagate(self.edges, x=x, norm=self.weights)

    def __matmul__(self, x: Tensor) -> Tensor:
        return self(x)

    def message(self, x_j: Tensor, norm: Tensor) -> Tensor:
        return norm.view(-1, 1) * x_j


def laplacian(graph: Graph) -> tuple[Tensor, Tensor]:
    """I - D^-1/2 A D^-1/2."""
    return get_laplacian(graph.plain.indices, normalization="sym", dtype=graph.degrees.dtype,
                         num_nodes=graph.degrees.numel())


class BernNet(models.BernNet):
    def __init__(self, inputs: int, classes: int, graph: Graph, settings: Settings) -> None:
        super().__init__(inputs, classes, graph, settings)
        edges, weights = laplacian(graph)
        self.laplacian = Messages(edges, weights)
        self.two_minus_laplacian = Messages(*add_self_loops(edges, -weights, 2.0, graph.degrees.numel()))


class ChebNetII(models.ChebNetII):
    def __init__(self, inputs: int, classes: int, graph: Graph, settings: Settings) -> None:
        super().__init__(inputs, classes, graph, settings)
        edges, weights = laplacian(graph)
        inner = edges[0] != edges[1]
        self.doubled = Messages(edges[:, inner], 2 * weights[inner])


MODELS = {
    "gcn": GCN,
    "gat": GAT,
    "gin": GIN,
    "graphsage": GraphSAGE,
    "appnp": APPNP,
    "bernnet": BernNet,
    "chebnetii": ChebNetII,
}
