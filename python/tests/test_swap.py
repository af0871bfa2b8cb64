"""Layers in the place of PyTorch Geometric's: calls that they have not, and options as they have them."""

import copy
import io
import pickle

import pytest
import qw
import torch
from qw import nn as qnn
from random_graphs import random_edges



def test_options_of_pyg_where_they_mean_the_same():
    for make, aggr in ((qnn.GCNConv, "add"), (qnn.GATConv, "sum"), (qnn.SAGEConv, "mean")):
        assert make(3, 2, aggr=aggr, flow="source_to_target", node_dim=-2).out_channels == 2
    assert qnn.APPNP(2, 0.1, aggr="sum", aggr_kwargs=None).K == 2
    assert qnn.GINConv(torch.nn.Linear(3, 2), decomposed_layers=1).initial_eps == 0


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: qnn.GCNConv(3, 2, aggr="max"), "GCNConv has no aggr='max'; leave this layer to PyTorch Geometric"),
        (lambda: qnn.GATConv(3, 2, flow="target_to_source"), "GATConv has no flow='target_to_source'"),
        (lambda: qnn.SAGEConv(3, 2, decomposed_layers=2), "SAGEConv has no decomposed_layers=2"),
        (lambda: qnn.APPNP(3, 0.1, node_dim=1), "APPNP has no node_dim=1"),
        (lambda: qnn.GINConv(torch.nn.Linear(3, 2), colour=1), "GINConv has no option colour"),
        (lambda: qnn.GCNConv(-1, 2), r"GCNConv has no lazy channels \(-1\): give their number"),
        (lambda: qnn.GATConv(-1, 2), "GATConv has no lazy channels"),
        (lambda: qnn.SAGEConv((-1, -1), 2), "SAGEConv has no lazy channels"),
        (lambda: qnn.GATConv((3, 4), 2), r"GATConv needs whole numbers of channels, got \(3, 4\); leave pairs"),
    ],
)
def test_options_that_change_the_result_are_refused(call, text):
    with pytest.raises(qw.Error, match=text) as raised:
        call()
    assert "\n" not in str(raised.value)


def test_features_that_autocast_made_are_taken(device):
    edge_index, nodes = random_edges(3, nodes=12, edges=40)
    x, edge_index = torch.randn(nodes, 6, device=device), edge_index.to(device)
    layers = [qnn.GCNConv(6, 4), qnn.GATConv(6, 2, heads=2), qnn.SAGEConv(6, 4), qnn.APPNP(3, 0.2), qnn.BernConv(3)]
    for layer in (*layers, qnn.GINConv(torch.nn.Linear(6, 4))):
        layer = layer.to(device)
        with torch.autocast(device.type, dtype=torch.bfloat16):
            found = layer(x.bfloat16(), edge_index)
        assert torch.allclose(found.float(), layer(x.bfloat16().float(), edge_index), atol=0.05), layer


def swapped(layer):
    """The layer, and ours in the place of a copy of it, with the same parameters as the copy."""
    model = torch.nn.Sequential(copy.deepcopy(layer))
    assert qw.accelerate(model) == 1
    return model


@pytest.fixture
def pyg():
    return pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")


def calls(pyg):
    """Layers, and arguments that ours have not."""
    x, (edge_index, _) = torch.randn(10, 4), random_edges(2, nodes=10, edges=30)
    adjacency = torch.sparse_coo_tensor(edge_index.flip(0), torch.ones(30), (10, 10)).coalesce().to_sparse_csr()
    yield pyg.SAGEConv(4, 3), ((x, x[:10]), edge_index), {}
    yield pyg.SAGEConv(4, 3), (x, edge_index), {"size": (10, 10)}
    yield pyg.GINConv(torch.nn.Linear(4, 3), eps=0.3, train_eps=True), ((x, x), edge_index), {}
    yield pyg.GATConv(4, 3), ((x, x), edge_index), {}
    yield pyg.GATConv(4, 3, heads=2), (x, edge_index), {"return_attention_weights": True}
    yield pyg.GATConv(4, 3), (x, edge_index, torch.randn(30, 2)), {}
    yield pyg.GCNConv(4, 3, normalize=False), (x, adjacency), {}
    yield pyg.GCNConv(4, 3), (torch.stack([x, 2 * x]), edge_index), {}


def flat(found):
    return [found] if isinstance(found, torch.Tensor) else [each for part in found for each in flat(part)]


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_calls_that_ours_have_not_are_answered(pyg):
    for layer, arguments, options in calls(pyg):
        model = swapped(layer)
        wanted = flat(layer(*arguments, **options))
        for one, other in zip(flat(model[0](*arguments, **options)), wanted, strict=True):
            assert torch.allclose(one, other, atol=1e-6), layer


def saved(model):
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    return torch.load(file)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)), lambda model: model])
def test_the_replaced_layer_has_the_same_parameters(pyg, again):
    """At every call: after steps, after .to() and in copies; and nothing counts them twice."""
    edge_index, nodes = random_edges(2, nodes=10, edges=30)
    x = torch.randn(nodes, 4, dtype=torch.float64)
    model = again(swapped(pyg.SAGEConv(4, 3)))
    assert len(list(model.parameters())) == len(saved(model)) == 3 and len(list(model.modules())) == 4
    model.double()
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(2):
        model[0](x, edge_index).square().sum().backward()
        opt.step()
        assert torch.allclose(model[0]((x, x), edge_index), model[0](x, edge_index), atol=1e-10)
    other = swapped(pyg.SAGEConv(4, 3)).double()
    other.load_state_dict(saved(model))
    assert torch.allclose(other[0]((x, x), edge_index), model[0](x, edge_index), atol=1e-10)
    opt.zero_grad()
    model[0]((x, x), edge_index).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_settings_that_are_changed_later_hold_for_the_replaced_layer(pyg):
    edge_index, nodes = random_edges(2, nodes=10, edges=30)
    x = torch.randn(nodes, 4)
    model = swapped(pyg.GATConv(4, 3, dropout=0.9))
    model.eval()
    assert torch.allclose(model[0]((x, x), edge_index), model[0](x, edge_index), atol=1e-6)
    model.train()
    model[0].dropout = 0.0
    assert torch.allclose(model[0]((x, x), edge_index), model[0](x, edge_index), atol=1e-6)


def test_refusals_of_ours_remain_without_a_replaced_layer():
    edge_index, nodes = random_edges(2, nodes=10, edges=30)
    x = torch.randn(nodes, 4)
    with pytest.raises(qw.Error, match="takes one matrix of features"):
        qnn.SAGEConv(4, 3)((x, x), edge_index)
