"""What other libraries call a graph: directions, weights and numbers of nodes are what was given, or a word is said."""

import sys
import types
import warnings

import numpy as np
import pytest
import qw
import torch


@pytest.fixture
def data(monkeypatch):
    """Makes a Data object; a plain one where torch_geometric is not installed."""
    try:
        from torch_geometric.data import Data
    except ImportError:
        class Data(types.SimpleNamespace):
            pass

        monkeypatch.setitem(sys.modules, "torch_geometric.data", types.SimpleNamespace(Data=Data))

    def make(pairs, **more):
        given = {"x": torch.eye(4), "y": torch.tensor([0, 1, 0, 1]), **more}
        return Data(edge_index=torch.tensor(pairs).t().contiguous(), num_nodes=4, **given)

    return make


BOTH = [(0, 1), (1, 0), (2, 3), (3, 2), (1, 1)]
ONCE = [(0, 1), (2, 3), (1, 1)]
MIXED = [(0, 1), (1, 0), (2, 3)]


@pytest.mark.parametrize(("pairs", "directed", "edges"), [(BOTH, False, 2), (MIXED, True, 3)])
def test_directions_of_data_are_those_of_its_edges(data, pairs, directed, edges):
    """Features of edges say nothing of directions."""
    attr = torch.randn(len(pairs), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = qw.Graph(data(pairs, edge_attr=attr))
    assert graph.directed is directed and graph.num_edges == edges
    assert not qw.Graph(data(pairs), directed=False).directed and qw.Graph(data(pairs), directed=True).directed


def test_edges_that_are_listed_once_are_said_to_be_arcs(data):
    with pytest.warns(UserWarning, match="no edge in both directions: its edges are taken as arcs") as said:
        assert qw.from_pyg(data(ONCE)).graph.directed
    assert len(said) == 1 and said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert qw.from_pyg(data(ONCE), directed=True).graph.directed
        assert not qw.from_pyg(data(ONCE), directed=False).graph.directed
        assert not qw.Graph(data(BOTH)).directed


def test_an_undirected_edge_has_one_weight(data):
    same = torch.tensor([2.0, 2.0, 3.0, 3.0 + 1e-7, 1.0])
    assert np.allclose(qw.Graph(data(BOTH, edge_weight=same)).weights, [2, 3])
    other = torch.tensor([2.0, 2.0, 3.0, 4.0, 1.0])
    with pytest.raises(qw.Error, match=r"edge_weight has 3 and 4 for the edge between 2 and 3: give one weight"):
        qw.Graph(data(BOTH, edge_weight=other))
    assert sorted(qw.Graph(data(BOTH, edge_weight=other), directed=True).weights) == [2, 2, 3, 4]


def test_an_undirected_matrix_has_one_weight():
    scipy = pytest.importorskip("scipy.sparse")
    matrix = scipy.coo_matrix(([1.0, 2.0, 5.0], ([0, 1, 1], [1, 0, 2])), shape=(3, 3))
    with pytest.raises(qw.Error, match="the matrix has 1 and 2 for the edge between 0 and 1"):
        qw.Graph(matrix, directed=False)
    assert qw.Graph(matrix, directed=True).num_edges == 3
    upper = scipy.coo_matrix(([1.0, 5.0], ([0, 1], [1, 2])), shape=(3, 3))
    assert qw.Graph(upper, directed=False).weights.tolist() == [1, 5]


def test_networkx_nodes_that_are_numbers_keep_them():
    nx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = nx.Graph([(3, 1), (1, 0), (0, 2)])  # inserted as 3, 1, 0, 2
    made = qw.Graph(graph)
    assert made.node_names is None
    assert {frozenset(ends) for ends in zip(made.tails.tolist(), made.heads.tolist())} == {
        frozenset(pair) for pair in graph.edges
    }
    for names in ([3, 1, 0, 7], ["3", "1", "0", "2"], [True, False, 2, 3]):
        renamed = nx.relabel_nodes(graph, dict(zip([3, 1, 0, 2], names)))
        assert qw.Graph(renamed).node_names == names
    assert qw.Graph(nx.Graph([(True, False)])).node_names == [True, False]


def test_a_graph_is_a_graph():
    graph = qw.Graph([(0, 1), (1, 2)], 5, costs=[2.0, 3.0], weights=[0.5, 0.25])
    again = qw.Graph(graph)
    assert again.num_nodes == 5 and not again.directed
    assert again.costs.tolist() == [2, 3] and again.weights.tolist() == [0.5, 0.25]
    loss = qw.QWLoss(graph, 5, 2, directed=False)
    assert loss.num_nodes == 5 and loss.cost.tolist() == [2, 3]
    assert qw.from_arrays(np.eye(5), graph).graph.weights.tolist() == [0.5, 0.25]


def square(nodes):
    scipy = pytest.importorskip("scipy.sparse")
    return scipy.coo_matrix(([1.0, 1.0], ([0, 1], [1, 0])), shape=(nodes, nodes))


def named(nodes):
    nx = pytest.importorskip("networkx", reason="networkx is not installed")
    return nx.path_graph(nodes)


def table():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    return pd.DataFrame({"a": [0, 1], "b": [1, 2], "weight": [0.5, 2.0], "since": [1999, 2001]})


def half(shape):
    return torch.zeros(shape, dtype=torch.bfloat16)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda g: qw.Graph(g, 3), r"the Graph of edges has 2 nodes, not 3"),
        (lambda g: qw.Graph(square(4), 10), r"the coo_matrix of edges has 4 nodes, not 10"),
        (lambda g: qw.Graph(named(4), 10), r"the Graph of edges has 4 nodes, not 10"),
        (lambda g: qw.Graph(g, directed=True), "directed=True contradicts the qw.Graph of edges, which has directed=False"),
        (lambda g: qw.QWLoss(g, 3, 2), "the Graph of edges has 2 nodes, not 3"),
        (lambda g: qw.QWLoss(g, 2, 2, directed=True), "directed=True contradicts the qw.Graph"),
        (lambda g: qw.Graph(table()), "columns beside the two ends: 'weight', 'since'; give the two alone"),
        (lambda g: qw.from_arrays(np.eye(3), g), "the Graph of edges has 2 nodes, not 3"),
        (lambda g: qw.from_arrays(half((2, 2)), g), r"features is of torch.bfloat16, which numpy has not; float\(\)"),
        (lambda g: qw.from_arrays(torch.eye(2).to_sparse(), g), r"features must be a dense tensor, got .*to_dense\(\)"),
        (lambda g: qw.Graph([(0, 1)], weights=half(1)), "weights is of torch.bfloat16"),
        (lambda g: qw.Graph([(0, 1)], weights=["x"]), "weights must be numbers"),
        (lambda g: qw.wasserstein1(g, torch.ones(2), torch.ones(2), time_limit=1), "are for arrays; with tensors"),
        (lambda g: qw.wasserstein1(g, torch.ones(2), torch.ones(2), solver="ns"), "are for arrays; with tensors"),
        (lambda g: qw.wasserstein1(g, torch.ones(2), torch.ones(2), gap=0.1), "are for arrays; with tensors"),
    ],
)
def test_what_would_be_ignored_is_refused(call, text):
    with pytest.raises(qw.Error, match=text) as raised:
        call(qw.Graph([(0, 1)]))
    assert "\n" not in str(raised.value)


def test_networkx_weights_are_numbers():
    nx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = nx.Graph()
    graph.add_edge(0, 1, weight="heavy")
    with pytest.raises(qw.Error, match="the attribute weight of edges must be a number"):
        qw.Graph(graph)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int64])
def test_classes_of_any_integers(data, dtype):
    classes = [0, 1, 3 if dtype == torch.uint8 else -1, 1]
    assert qw.from_pyg(data(BOTH, y=torch.tensor(classes).to(dtype))).y.tolist() == classes
