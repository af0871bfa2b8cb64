"""Networks of estimators as models of PyTorch Geometric: with the weights of edges, or refused."""

import warnings

import numpy as np
import pytest
import qw
import torch
from test_auto import two_groups
from test_estimators import groups

pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")


def weighted():
    """A weighted graph, the same as an edge_index in both directions, features and labels."""
    x, y, edges = groups()
    weights = np.random.default_rng(0).uniform(0.1, 3.0, edges.shape[1])
    both = torch.from_numpy(np.concatenate([edges, edges[::-1]], axis=1))
    twice = torch.from_numpy(np.concatenate([weights, weights])).float()
    return x, y, qw.Graph(edges, 120, weights=weights), both, twice


@pytest.mark.parametrize("model", ["gcn", "appnp", "bernnet", "chebnetii"])
def test_weights_of_edges_reach_the_layers(model):
    x, y, graph, both, weights = weighted()
    fitted = qw.NodeClassifier(model, "ce", epochs=10).fit(x, y, graph)
    network = fitted.to_pyg()
    wanted = fitted.fitted_.scores(fitted.data_._data, 0)["network"]
    logits = network(torch.from_numpy(x), both, weights).detach().numpy()
    assert np.allclose(logits, wanted, atol=1e-5 * max(1, np.abs(wanted).max()))
    with pytest.raises(qw.Error, match="was trained on weighted edges; give it edge_weight"):
        network(torch.from_numpy(x), both)


def test_weights_that_a_network_has_no_place_for():
    x, y, graph, both, weights = weighted()
    for model in ("gat", "gin", "graphsage"):
        fitted = qw.NodeClassifier(model, "ce", epochs=2).fit(x, y, graph)
        with pytest.raises(qw.Error, match=f"{model} was trained on weighted edges, which its layers"):
            fitted.to_pyg()
        plain = qw.NodeClassifier(model, "ce", epochs=2).fit(x, y, qw.Graph(graph.edge_index, 120)).to_pyg()
        with pytest.raises(qw.Error, match=f"the layers of {model} in PyTorch Geometric take no edge_weight"):
            plain(torch.from_numpy(x), both, weights)
    fitted = qw.NodeClassifier("mlp", "ce", epochs=2).fit(x, y, graph)
    assert fitted.to_pyg()(torch.from_numpy(x), both).shape == (120, 3)


def test_weights_that_are_read_off_the_flow_are_refused():
    x, y, edges = groups()
    fitted = qw.NodeClassifier("gcn", "bregman", epochs=3, edge_weights=True).fit(x, y, edges)
    with pytest.raises(qw.Error, match="run 0 reads weights of edges off the flow"):
        fitted.to_pyg()


def test_data_goes_to_pyg_in_memory_of_torch():
    given = qw.load("karate").to_pyg()
    if hasattr(torch.UntypedStorage, "resizable"):
        assert given.x.untyped_storage().resizable() and given.edge_index.untyped_storage().resizable()


def test_one_network_of_several_is_named():
    x, y, edges = two_groups(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = qw.AutoNodeClassifier(trials=8, seed=3).fit(x, y, edges=edges)
    from qw.run_folder import members_of

    members = members_of(fitted.fitted_.folder)
    if len(members) > 1:
        with pytest.raises(qw.Error, match=f"{len(members)} networks predict together, .* run= takes one: "):
            fitted.to_pyg()
    with pytest.raises(qw.Error, match="there is no run 999 among the members"):
        fitted.to_pyg(999)
    for run in members:
        try:
            network = fitted.to_pyg(run)
        except qw.Error as error:
            assert "has no network" in str(error) or "has no layers" in str(error) or "read" in str(error), error
            continue
        assert network is not None
