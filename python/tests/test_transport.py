"""Exact transport beside POT, scipy and its own certificate; and its gradient."""

import numpy as np
import pytest
import qw
import torch
from random_graphs import random_edges


def connected(seed, nodes=12):
    generator = np.random.default_rng(seed)
    tree = [(int(generator.integers(v)), v) for v in range(1, nodes)]
    more = [tuple(int(n) for n in generator.choice(nodes, 2, replace=False)) for _ in range(nodes)]
    return tree + more, generator


def distances(edges, costs, nodes):
    best = np.full((nodes, nodes), np.inf)
    np.fill_diagonal(best, 0)
    for (a, b), cost in zip(edges, costs):
        best[a, b] = best[b, a] = min(best[a, b], cost)
    for middle in range(nodes):
        best = np.minimum(best, best[:, [middle]] + best[[middle], :])
    return best


@pytest.mark.parametrize("seed", range(10))
def test_distance_is_that_of_pot(seed):
    ot = pytest.importorskip("ot", reason="POT is not installed")
    edges, generator = connected(seed)
    costs = generator.random(len(edges)) + 0.1
    mu, nu = (generator.dirichlet(np.ones(12)) for _ in range(2))
    solved = qw.wasserstein1(qw.Graph(edges, costs=costs), mu, nu)
    assert solved.status == "optimal"
    assert solved.distance == pytest.approx(ot.emd2(mu, nu, distances(edges, costs, 12)), abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_certificate_holds(seed):
    edges, generator = connected(seed)
    graph = qw.Graph(edges, costs=generator.random(len(edges)) + 0.1)
    mu, nu = (generator.dirichlet(np.ones(12), size=3).T for _ in range(2))
    solved = qw.wasserstein1(graph, mu, nu)
    for c in range(3):
        flow, potential = solved.flow[:, c], solved.potential[:, c]
        moved = np.zeros(12)
        np.add.at(moved, graph.heads, flow)
        np.add.at(moved, graph.tails, -flow)
        assert np.allclose(moved, nu[:, c] - mu[:, c], atol=1e-9)
        assert np.all(np.abs(potential[graph.heads] - potential[graph.tails]) <= graph.costs + 1e-9)
        assert potential @ (nu[:, c] - mu[:, c]) == pytest.approx(solved.distance[c], abs=1e-9)
        assert np.sum(graph.costs * np.abs(flow)) == pytest.approx(solved.distance[c], abs=1e-9)
        paths = solved.paths(c)
        assert sum(path.amount for path in paths) == pytest.approx(np.maximum(mu[:, c] - nu[:, c], 0).sum(), abs=1e-9)


def test_networkx_graphs_keep_costs_and_directions():
    nx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = nx.DiGraph()
    graph.add_edge("a", "b", cost=2.0)
    graph.add_edge("b", "c", cost=3.0)
    made = qw.Graph(graph)
    assert made.directed and made.node_names == ["a", "b", "c"]
    assert qw.wasserstein1(made, [1, 0, 0], [0, 0, 1]).distance == 5
    assert qw.wasserstein1(made, [0, 0, 1], [1, 0, 0]).status == "infeasible"


def test_the_torch_version_is_differentiable():
    edges, generator = connected(3)
    graph = qw.Graph(edges)
    mu = torch.tensor(generator.dirichlet(np.ones(12)), requires_grad=True)
    nu = torch.tensor(generator.dirichlet(np.ones(12)))
    distance = qw.wasserstein1(graph, mu, nu)
    assert distance.dim() == 0
    assert float(distance) == pytest.approx(qw.wasserstein1(graph, mu.detach().numpy(), nu.numpy()).distance)
    distance.backward()
    step = torch.zeros(12, dtype=torch.float64)
    step[0], step[5] = 1e-6, -1e-6
    moved = qw.wasserstein1(graph, mu.detach() + step, nu)
    assert float(moved - distance) == pytest.approx(float(mu.grad @ step), abs=1e-12)
    batch = qw.wasserstein1(graph, torch.stack([mu.detach(), nu], 1), torch.stack([nu, nu], 1))
    assert batch.shape == (2,) and batch[1] == 0


def test_labelled_nodes_alone_are_bound():
    graph = qw.Graph([(0, 1), (1, 2)])
    assert qw.wasserstein1(graph, [1, 0, 0], [0, 0, 0], labelled=[0]).distance == 1
    assert qw.wasserstein1(graph, [1, 0, 0], [0, 0, 0], labelled=np.array([True, False, False])).distance == 1
    assert qw.wasserstein1(graph, [1, 0, 0], [0, 0, 0]).status == "infeasible"
    assert np.isnan(qw.wasserstein1(graph, [1, 0, 0], [0, 0, 0]).distance)
    assert qw.wasserstein1(graph, [1, 0, 0], [0, 0, 0], slack=4).distance == 4


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda g: qw.wasserstein1(g, [1, 0], [0, 0, 1]), "mu must be"),
        (lambda g: qw.wasserstein1(g, [1, 0, np.nan], [0, 0, 1]), "mu must be finite"),
        (lambda g: qw.wasserstein1(g, ["a", "b", "c"], [0, 0, 1]), "mu must be numbers"),
        (lambda g: qw.wasserstein1(g, [[1, 2]] * 3, [0, 0, 1]), "the same shape"),
        (lambda g: qw.wasserstein1(g, [1, 0, 0], [0, 0, 1], labelled=[7]), "labelled must be nodes"),
        (lambda g: qw.wasserstein1(g, [1, 0, 0], [0, 0, 1], labelled=[0.5]), "labelled must be"),
        (lambda g: qw.wasserstein1(g, [1, 0, 0], [0, 0, 1], labelled=[0, 0]), "twice"),
        (lambda g: qw.wasserstein1(g, [1, 0, 0], [0, 0, 1], slack=0), "slack must be positive"),
        (lambda g: qw.wasserstein1(g, [1, 0, 0], [0, 0, 1], solver="fast"), "solver"),
        (lambda g: qw.wasserstein1(g, torch.ones(2), torch.ones(3)), "mu and nu must both"),
        (lambda g: qw.Graph([[0, 1, 2]]), r"edges must be \[2, E\]"),
        (lambda g: qw.Graph([(0, 1)], 1), "node"),
        (lambda g: qw.Graph([(-1, 1)]), "from 0"),
        (lambda g: qw.Graph("cora"), "edges must be"),
        (lambda g: qw.Graph([(0, 1)], duplicates="x"), "duplicates must be"),
        (lambda g: qw.Graph([(0, 1)], costs=[-1]), "cost"),
        (lambda g: qw.Graph([(0, 1)], num_nodes=-5), "num_nodes"),
    ],
)
def test_refusals_are_one_line(call, text):
    with pytest.raises(qw.Error, match=text) as raised:
        call(qw.Graph([(0, 1), (1, 2)]))
    assert "\n" not in str(raised.value)


def test_graphs_from_other_libraries():
    edge_index, nodes = random_edges(3, nodes=10, edges=25, loops=False)
    wanted = qw.Graph(edge_index, nodes)
    forms = [edge_index.numpy(), edge_index.t().tolist()]
    for form in forms:
        made = qw.Graph(form, nodes)
        assert np.array_equal(made.heads, wanted.heads) and np.array_equal(made.tails, wanted.tails)
    again = qw.Graph(wanted.edge_index, nodes)
    assert np.array_equal(again.heads, wanted.heads)
    try:
        import scipy.sparse
    except ImportError:
        return
    ones = np.ones(wanted.edge_index.shape[1])
    made = qw.Graph(scipy.sparse.coo_matrix((ones, tuple(wanted.edge_index)), shape=(nodes, nodes)))
    assert not made.directed and np.array_equal(made.heads, wanted.heads)
