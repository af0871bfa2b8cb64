"""What layers keep of a graph and of features is made once, and must serve a training whoever asked first."""

import pytest
import torch
import torch.nn.utils.parametrize
import torch.nn.utils.prune
from qw import nn as qnn
from random_graphs import random_edges

WIDTH = 120

LAYERS = {
    "gcn": lambda: qnn.GCNConv(WIDTH, 4),
    "gcn-sum": lambda: qnn.GCNConv(WIDTH, 4, normalize=False),
    "gat": lambda: qnn.GATConv(WIDTH, 4, heads=2),
    "gin": lambda: qnn.GINConv(torch.nn.Linear(WIDTH, 4)),
    "gin-eps": lambda: qnn.GINConv(torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Linear(WIDTH, 4)), eps=0.3),
    "sage": lambda: qnn.SAGEConv(WIDTH, 4),
    "sage-sum": lambda: qnn.SAGEConv(WIDTH, 4, aggr="sum"),
    "appnp": lambda: qnn.APPNP(3, 0.2),
    "bern": lambda: qnn.BernConv(3),
}


def gradients(layer, x, edge_index, of_x):
    x = x.requires_grad_() if of_x else x
    leaves = [*layer.parameters(), *([x] if of_x else [])]
    return torch.autograd.grad(layer(x, edge_index).sin().sum(), leaves)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("density", [0.05, 1.0])
@pytest.mark.parametrize("constant", [True, False])
def test_training_after_a_forward_under_inference_mode(name, density, constant):
    of_x = not constant or name == "appnp"  # which has no parameters
    edge_index, nodes = random_edges(3, nodes=60, edges=300)
    x = torch.randn(nodes, WIDTH, dtype=torch.float64) * (torch.rand(nodes, WIDTH) < density)
    layer = LAYERS[name]().double()
    wanted = gradients(layer, x.clone(), edge_index.clone(), of_x)
    with torch.inference_mode():
        first = layer(x, edge_index)
    found = gradients(layer, x, edge_index, of_x)
    assert torch.allclose(first.clone(), layer(x, edge_index).detach())
    for one, other in zip(found, wanted, strict=True):
        assert torch.allclose(one, other)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("density", [0.05, 1.0])
def test_tensors_that_are_made_under_inference_mode(name, density):
    edge_index, nodes = random_edges(3, nodes=60, edges=300)
    x = torch.randn(nodes, WIDTH, dtype=torch.float64) * (torch.rand(nodes, WIDTH) < density)
    layer = LAYERS[name]().double()
    wanted = layer(x, edge_index).detach()
    with torch.inference_mode():
        inside, edges_inside = x.clone(), edge_index.clone()
        assert torch.allclose(layer(inside, edges_inside).clone(), wanted)
        assert torch.allclose(layer(x, edges_inside).clone(), wanted)
        inside *= 2  # nobody counts this change
        assert torch.allclose(layer(inside, edge_index).clone(), layer(2 * x, edge_index).clone())
    with torch.no_grad():
        assert torch.allclose(layer(x, edges_inside), wanted)
    outside = layer(x.requires_grad_(), edges_inside)
    assert torch.allclose(outside.detach(), wanted)
    assert torch.autograd.grad(outside.sum(), x)[0].shape == x.shape


def summed(x, edge_index):
    """x_i and the sum over its neighbours, as GINConv gives it to its network."""
    return x.index_add(0, edge_index[1], x[edge_index[0]])


@pytest.mark.parametrize(
    "first", [torch.nn.LeakyReLU(0.5, inplace=True), torch.nn.Sequential(torch.nn.ELU(inplace=True))]
)
def test_networks_that_change_their_input_in_place(first):
    edge_index, nodes = random_edges(5, nodes=20, edges=60)
    x = torch.randn(nodes, 6, dtype=torch.float64)
    last = torch.nn.Linear(6, 3).double()
    layer = qnn.GINConv(torch.nn.Sequential(first, last)).double()
    wanted = last(first(summed(x, edge_index)))
    for _ in range(3):
        assert torch.allclose(layer(x, edge_index), wanted)


def test_what_a_layer_gives_is_the_callers():
    edge_index, nodes = random_edges(5, nodes=20, edges=60)
    x = torch.randn(nodes, 6, dtype=torch.float64)
    layer = qnn.GINConv(torch.nn.Identity())
    layer(x, edge_index).zero_()
    assert torch.allclose(layer(x, edge_index), summed(x, edge_index))


class Doubled(torch.nn.Sequential):
    def forward(self, x):
        return 2 * super().forward(x)


def watched(how, linear):
    """A network that begins with the linear map, and what becomes of the layer's input."""
    network = torch.nn.Sequential(linear)
    if how == "hook":
        linear.register_forward_hook(lambda module, given, out: out + 1)
    elif how == "hook on the network":
        network.register_forward_hook(lambda module, given, out: out + 1)
    elif how == "pre-hook":
        linear.register_forward_pre_hook(lambda module, given: (given[0] * 3,))
    elif how == "pruned":
        torch.nn.utils.prune.random_unstructured(linear, "weight", 0.5)
    elif how == "parametrized":
        torch.nn.utils.parametrize.register_parametrization(linear, "weight", torch.nn.Tanh())
    elif how == "normed":
        torch.nn.utils.weight_norm(linear)
        with torch.no_grad():
            linear.weight_g.mul_(2)  # the weight itself is made before the next forward
    elif how == "subclass":
        network = Doubled(linear)
    return network


HOWS = ["hook", "hook on the network", "pre-hook", "pruned", "parametrized", "normed", "subclass", "plain"]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.filterwarnings("ignore:.*weight_norm")
def test_hooks_are_called_on_sparse_features(how):
    edge_index, nodes = random_edges(3, nodes=60, edges=300)
    x = torch.randn(nodes, WIDTH, dtype=torch.float64) * (torch.rand(nodes, WIDTH) < 0.05)
    network = watched(how, torch.nn.Linear(WIDTH, 4).double())
    found = qnn.GINConv(network).double()(x, edge_index)
    assert torch.allclose(found, network(summed(x, edge_index)))


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("density", [0.05, 1.0])
def test_other_numbers_in_the_same_tensor(name, density):
    """`tensor.data = ...` moves no version."""
    edge_index, nodes = random_edges(3, nodes=60, edges=300)
    x = torch.randn(nodes, WIDTH, dtype=torch.float64) * (torch.rand(nodes, WIDTH) < density)
    layer = LAYERS[name]().double()
    layer(x, edge_index)
    other, turned = torch.randn_like(x), edge_index.roll(1, 1).flip(0)
    x.data, edge_index.data = other.clone(), turned.clone()
    assert torch.equal(layer(x, edge_index), layer(other, turned))


@pytest.mark.parametrize("density", [0.05, 1.0])
@pytest.mark.parametrize("name", ["gcn", "gin", "sage", "gat"])
@pytest.mark.parametrize("how", ["numpy", "shared"])
def test_features_that_change_without_torch(name, density, how):
    if how == "numpy" and not hasattr(torch.UntypedStorage, "resizable"):
        pytest.skip("this torch does not tell whose memory it is")
    edge_index, nodes = random_edges(3, nodes=60, edges=300)
    x = torch.randn(nodes, WIDTH, dtype=torch.float64) * (torch.rand(nodes, WIDTH) < density)
    given = torch.from_numpy(x.numpy().copy()) if how == "numpy" else x.clone().share_memory_()
    layer = LAYERS[name]().double()
    layer(given, edge_index)
    given.numpy()[:] *= 3
    assert torch.allclose(layer(given, edge_index), layer(3 * x, edge_index))


class Own(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 3)


@pytest.mark.parametrize("network", [lambda: torch.nn.Linear(3, 2), lambda: torch.nn.Sequential(torch.nn.Linear(3, 2)), Own])
def test_gin_resets_its_network(network):
    """As PyTorch Geometric does: a module that can, or its children."""
    layer = qnn.GINConv(network(), eps=0.5, train_eps=True)
    before = [parameter.detach().clone() for parameter in layer.nn.parameters()]
    with torch.no_grad():
        layer.eps.fill_(3.0)
    layer.reset_parameters()
    assert not any(torch.equal(one, other) for one, other in zip(before, layer.nn.parameters())) and layer.eps == 0.5


def test_gin_sees_that_eps_was_reset():
    edge_index, nodes = random_edges(5, nodes=20, edges=60)
    x = torch.randn(nodes, 3)
    layer = qnn.GINConv(torch.nn.Identity(), eps=0.5)
    wanted = layer(x, edge_index)
    layer.eps.fill_(2.0)
    assert not torch.allclose(layer(x, edge_index), wanted)
    layer.reset_parameters()
    assert torch.equal(layer(x, edge_index), wanted)


FILTERS = {"appnp": lambda: qnn.APPNP(7, 0.2), "bern": lambda: qnn.BernConv(5), "cheb": lambda: qnn.ChebIIConv(5)}


@pytest.mark.parametrize("name", FILTERS)
def test_constants_of_filters_are_no_tensors_of_the_module(name):
    edge_index, nodes = random_edges(5, nodes=20, edges=60, both=True)
    x = torch.randn(nodes, 3, dtype=torch.float64)
    layer = FILTERS[name]().double()
    wanted = layer(x, edge_index)
    assert not list(layer.buffers())
    assert torch.equal(layer.half().double()(x, edge_index), wanted)
    empty = FILTERS[name]().to("meta").to_empty(device="cpu").double()
    empty.reset_parameters()
    assert torch.equal(empty(x, edge_index), wanted)


def test_alpha_that_is_set_later_holds():
    edge_index, nodes = random_edges(5, nodes=20, edges=60)
    x = torch.randn(nodes, 3)
    layer = qnn.APPNP(3, 0.1)
    layer(x, edge_index)
    layer.alpha = 0.4
    assert torch.equal(layer(x, edge_index), qnn.APPNP(3, 0.4)(x, edge_index))


@pytest.mark.parametrize("weighted", [False, True])
def test_many_steps_on_arcs_keep_their_numbers(weighted):
    """Chebyshev's polynomials of such a matrix grow; the steps themselves do not."""
    edge_index, nodes = random_edges(4, nodes=60, edges=240)
    if weighted:
        edge_index = torch.cat([edge_index, edge_index.flip(0)], 1)
    weight = torch.rand(edge_index.shape[1], dtype=torch.float64) if weighted else None
    x = torch.randn(nodes, 3, dtype=torch.float64)
    matrix = qnn.APPNP(1, 0.0)(torch.eye(nodes, dtype=torch.float64), edge_index, weight)
    wanted = x
    for _ in range(100):
        wanted = 0.9 * matrix @ wanted + 0.1 * x
    assert torch.allclose(qnn.APPNP(100, 0.1)(x, edge_index, weight), wanted, atol=1e-9)
