"""Layers beside those of PyTorch Geometric: outputs, gradients, checkpoints, graphs that change."""

import gc
import weakref

import pytest
import qw
import torch
import torch.nn.utils.parametrize
import torch.nn.utils.prune
from qw import nn as qnn
from random_graphs import random_edges

pyg = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")


def perceptron(width, out):
    return torch.nn.Sequential(torch.nn.Linear(width, 8), torch.nn.ReLU(), torch.nn.Linear(8, out))


LAYERS = {
    "gcn": lambda m, w: m.GCNConv(w, 5),
    "gcn-plain": lambda m, w: m.GCNConv(w, 5, add_self_loops=False, bias=False),
    "gcn-sum": lambda m, w: m.GCNConv(w, 5, normalize=False),
    "gcn-improved": lambda m, w: m.GCNConv(w, 5, improved=True),
    "gat": lambda m, w: m.GATConv(w, 5, heads=3),
    "gat-mean": lambda m, w: m.GATConv(w, 5, heads=2, concat=False, add_self_loops=False),
    "gin": lambda m, w: m.GINConv(perceptron(w, 5)),
    "gin-eps": lambda m, w: m.GINConv(perceptron(w, 5), eps=0.3, train_eps=True),
    "sage": lambda m, w: m.SAGEConv(w, 5),
    "sage-sum": lambda m, w: m.SAGEConv(w, 40, aggr="sum", normalize=True, root_weight=False),
    "appnp": lambda m, w: m.APPNP(10, 0.1),
    "appnp-plain": lambda m, w: m.APPNP(3, 0.4, normalize=False),
}
WEIGHTED = {"gcn", "gcn-plain", "gcn-sum", "gcn-improved", "appnp", "appnp-plain"}
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}


def results(layer, x, edge_index, weight):
    inputs = [x, *(() if weight is None else (weight,))]
    for tensor in inputs:
        tensor.requires_grad_()
    out = layer(x, edge_index) if weight is None else layer(x, edge_index, weight)
    slope = torch.cos(torch.arange(out.numel(), dtype=out.dtype, device=out.device)).view_as(out)
    found = [out, *torch.autograd.grad((out * slope).sum(), [*inputs, *layer.parameters()], allow_unused=True)]
    return [each.detach() for each in found if each is not None]


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_layers_are_those_of_pyg(name, dtype, weighted, device):
    if weighted and name not in WEIGHTED:
        pytest.skip("the layer takes no edge_weight")
    for seed in range(8):
        edge_index, nodes = random_edges(seed)
        if weighted:  # which of several self-loops of a node counts is chance in PyTorch Geometric
            loops = edge_index[0] == edge_index[1]
            single = torch.unique(edge_index[:, loops], dim=1)
            edge_index = torch.cat([edge_index[:, ~loops], single], dim=1)
        edge_index = edge_index.to(device)
        torch.manual_seed(seed)
        theirs = LAYERS[name](pyg, 7).to(device, dtype)
        ours = LAYERS[name](qnn, 7).to(device, dtype)
        ours.load_state_dict(theirs.state_dict())
        x = torch.randn(nodes, 7, dtype=dtype, device=device)
        weight = torch.rand(edge_index.shape[1], dtype=dtype, device=device) + 0.1 if weighted else None
        for one, other in zip(
            results(ours, x.clone(), edge_index, None if weight is None else weight.clone()),
            results(theirs, x.clone(), edge_index, None if weight is None else weight.clone()),
            strict=True,
        ):
            scale = max(1.0, float(other.abs().max()) if other.numel() else 1.0)
            assert torch.allclose(one, other, atol=scale * TOLERANCE[dtype], rtol=TOLERANCE[dtype]), (name, seed)


@pytest.mark.parametrize("name", ["gcn", "gat", "gin", "sage"])
@pytest.mark.parametrize("density", [0.05, 1.0])
def test_constant_features_take_other_ways(name, density, device):
    """Features without a gradient, sparse or dense, are multiplied otherwise and give the same."""
    edge_index, nodes = random_edges(3, nodes=60, edges=300)
    edge_index = edge_index.to(device)
    x = torch.randn(nodes, 200, dtype=torch.float64) * (torch.rand(nodes, 200) < density)
    x = x.to(device)
    theirs = LAYERS[name](pyg, 200).to(device, torch.float64)
    ours = LAYERS[name](qnn, 200).to(device, torch.float64)
    ours.load_state_dict(theirs.state_dict())
    for _ in range(2):
        outs = [layer(x, edge_index) for layer in (ours, theirs)]
        assert torch.allclose(*outs, atol=1e-10)
        for one, other in zip(*(torch.autograd.grad(out.square().sum(), layer.parameters())
                                for out, layer in zip(outs, (ours, theirs)))):
            assert torch.allclose(one, other, atol=1e-8)
        x[0] += 1  # what was kept of it is made anew
        edge_index[:, 0] = 1 - edge_index[:, 0].clamp(max=1)


def test_what_is_kept_goes_with_the_graph():
    edge_index, nodes = random_edges(1, nodes=20, edges=50)
    layer = qnn.GCNConv(3, 2)
    layer(torch.randn(nodes, 3), edge_index)
    gone = weakref.ref(edge_index)
    del edge_index
    gc.collect()
    assert gone() is None


def test_dropout_of_attention_follows_torchs_seed():
    edge_index, nodes = random_edges(2, nodes=30, edges=200)
    layer = qnn.GATConv(4, 3, heads=2, dropout=0.5)
    x = torch.randn(nodes, 4)
    torch.manual_seed(5)
    first = layer(x, edge_index)
    assert not torch.equal(first, layer(x, edge_index))
    torch.manual_seed(5)
    assert torch.equal(first, layer(x, edge_index))
    layer.eval()
    assert torch.equal(layer(x, edge_index), layer(x, edge_index))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = torch.nn.ModuleList(
            [pyg.GCNConv(7, 16), pyg.GATConv(16, 8, heads=2), pyg.SAGEConv(16, 8), pyg.GINConv(perceptron(8, 8))]
        )
        self.spread = pyg.APPNP(3, 0.2)
        self.last = pyg.GATConv(8, 3, edge_dim=2)

    def forward(self, x, edge_index, edge_attr):
        for conv in self.convs:
            x = torch.tanh(conv(x, edge_index))
        return self.last(self.spread(x, edge_index), edge_index, edge_attr)


def test_accelerate_keeps_weights_and_counts(device):
    edge_index, nodes = random_edges(7, nodes=25, edges=90)
    edge_index = edge_index.to(device)
    model = Net().to(device).eval()
    x, attr = torch.randn(nodes, 7, device=device), torch.randn(90, 2, device=device)
    parameters = {id(parameter) for parameter in model.parameters()}
    state = {name: value.clone() for name, value in model.state_dict().items()}
    before = model(x, edge_index, attr)
    assert qw.accelerate(model) == 5
    assert torch.allclose(model(x, edge_index, attr), before, atol=1e-5)
    assert {id(parameter) for parameter in model.parameters()} == parameters
    assert model.state_dict().keys() == state.keys()
    model.load_state_dict(state)
    assert isinstance(model.last, pyg.GATConv)
    assert qw.accelerate(model) == 0


def hooked(register):
    layer = pyg.GCNConv(3, 2)
    getattr(layer, register)(lambda *_: None)
    return layer


def pruned(layer, linear):
    torch.nn.utils.prune.random_unstructured(getattr(layer, linear), "weight", 0.5)
    return layer


def parametrized(layer, linear):
    torch.nn.utils.parametrize.register_parametrization(getattr(layer, linear), "weight", torch.nn.Tanh())
    return layer


class LowRank(torch.nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


def adapted():
    layer = pyg.GCNConv(3, 2)
    layer.lin = LowRank(3, 2, bias=False)
    return layer


LEFT = {
    "bipartite": lambda: pyg.SAGEConv((3, 4), 2),
    "gat with max": lambda: pyg.GATConv(3, 2, aggr="max"),
    "gcn with mean": lambda: pyg.GCNConv(3, 2, aggr="mean"),
    "appnp with max": lambda: pyg.APPNP(2, 0.1, aggr="max"),
    "forward hook": lambda: hooked("register_forward_hook"),
    "forward pre-hook": lambda: hooked("register_forward_pre_hook"),
    "backward hook": lambda: hooked("register_full_backward_hook"),
    "backward pre-hook": lambda: hooked("register_full_backward_pre_hook"),
    "message hook": lambda: hooked("register_message_forward_hook"),
    "pruned": lambda: pruned(pyg.GATConv(3, 2), "lin"),
    "pruned sage": lambda: pruned(pyg.SAGEConv(3, 2), "lin_r"),
    "parametrized": lambda: parametrized(pyg.GCNConv(3, 2), "lin"),
    "another linear map": adapted,
}


@pytest.mark.parametrize("name", LEFT)
def test_accelerate_leaves_what_it_has_not(name):
    if name == "backward pre-hook" and not hasattr(torch.nn.Module, "register_full_backward_pre_hook"):
        pytest.skip("torch 2 has backward pre-hooks")
    model = torch.nn.ModuleList([LEFT[name]()])
    layer = model[0]
    assert qw.accelerate(model) == 0 and model[0] is layer


def test_accelerate_keeps_the_network_of_gin_with_its_hooks():
    edge_index, nodes = random_edges(7, nodes=25, edges=90)
    network = perceptron(7, 3)
    torch.nn.utils.prune.random_unstructured(network[0], "weight", 0.5)
    model = torch.nn.ModuleList([pyg.GINConv(network)])
    x = torch.randn(nodes, 7)
    before = model[0](x, edge_index)
    assert qw.accelerate(model) == 1
    assert torch.allclose(model[0](x, edge_index), before, atol=1e-5)


def dense_matrix(edge_index, nodes):
    matrix = torch.zeros(nodes, nodes, dtype=torch.float64)
    for source, target in edge_index.t().tolist():
        matrix[target, source] += 1
    scale = matrix.sum(1).clamp(min=0)
    scale = torch.where(scale > 0, scale.pow(-0.5), torch.zeros_like(scale))
    return scale[:, None] * matrix * scale[None, :]


def test_filters_are_their_polynomials():
    edge_index, nodes = random_edges(4, nodes=15, edges=40, both=True)
    m = dense_matrix(edge_index, nodes)
    identity = torch.eye(nodes, dtype=torch.float64)
    laplacian = identity - m
    x = torch.randn(nodes, 3, dtype=torch.float64)
    k = 4
    bern = qnn.BernConv(k).double()
    bern.temp.data = torch.tensor([0.3, -1.0, 2.0, 0.1, 1.5], dtype=torch.float64)
    import math

    wanted = sum(
        torch.relu(bern.temp[j]).item() * math.comb(k, j) / 2**k
        * torch.linalg.matrix_power(2 * identity - laplacian, k - j) @ torch.linalg.matrix_power(laplacian, j) @ x
        for j in range(k + 1)
    )
    assert torch.allclose(bern(x, edge_index), wanted, atol=1e-10)
    cheb = qnn.ChebIIConv(k).double()
    cheb.temp.data = bern.temp.data.clone()
    nodes_at = [math.cos(math.pi * (k - j + 0.5) / (k + 1)) for j in range(k + 1)]
    values, vectors = torch.linalg.eig(laplacian - identity)
    heights = torch.relu(cheb.temp).tolist()

    def interpolated(at):
        return sum(h * math.prod((at - o) / (n - o) for o in nodes_at if o != n) for n, h in zip(nodes_at, heights))

    matrix = vectors @ torch.diag(torch.stack([interpolated(v) for v in values])) @ torch.linalg.inv(vectors)
    assert torch.allclose(cheb(x, edge_index), matrix.real @ x, atol=1e-7)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x, e: qnn.GCNConv(3, 2)((x, x), e), "GCNConv takes one matrix"),
        (lambda x, e: qnn.GCNConv(3, 2)(x.int(), e), "of float32 or float64"),
        (lambda x, e: qnn.GCNConv(3, 2)(x, e.t()), "edge_index must be"),
        (lambda x, e: qnn.GCNConv(3, 2)(x, e + 100), "must be from 0 to"),
        (lambda x, e: qnn.GCNConv(3, 2)(x, e, torch.ones(3)), "edge_weight must be"),
        (lambda x, e: qnn.GCNConv(3, 2)(x, e.float()), "edge_index must be"),
        (lambda x, e: qnn.GCNConv(3, 2)(x, "cora"), "edge_index must be a tensor"),
        (lambda x, e: qnn.GCNConv(4, 2)(x, e), "qw::dense_linear: weight must be"),
        (lambda x, e: qnn.GATConv(3, 2, edge_dim=1), "no features of edges"),
        (lambda x, e: qnn.GATConv(3, 2)(x, e, size=(4, 4)), "leave edge_attr"),
        (lambda x, e: qnn.SAGEConv(3, 2, aggr="max"), "aggregations mean and sum"),
        (lambda x, e: qnn.SAGEConv(3, 2)(x, e, size=(4, 4)), "leave size"),
        (lambda x, e: qnn.GINConv(perceptron(3, 2))(x, e, size=(4, 4)), "leave size"),
        (lambda x, e: qnn.GCNConv(3, 2, add_self_loops=True, normalize=False), "without normalize"),
        (lambda x, e: qnn.BernConv(0), "K must be at least 1"),
    ],
)
def test_errors_are_one_line(call, text):
    edge_index, nodes = random_edges(1, nodes=10, edges=30)
    with pytest.raises(qw.Error, match=text) as raised:
        call(torch.randn(nodes, 3), edge_index)
    assert "\n" not in str(raised.value)
