"""DataFrames: edges in every form give the graph that is meant, and no cell, id or label becomes another."""

import numpy as np
import pytest
import qw

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pytestmark = [
    pytest.mark.filterwarnings("ignore:no edges were given"),
    pytest.mark.filterwarnings("ignore:A column-vector y was passed"),
]

NODES = 12
Y = np.arange(NODES) % 3
PAIRS = [(a, b) for a in range(NODES) for b in range(a) if (a * b) % 5 == 1]


def people(ids):
    return pd.DataFrame({"a": np.arange(NODES) * 0.5, "b": np.cos(np.arange(NODES))}, index=ids)


def fitted(x, edges, y=Y, **more):
    return qw.NodeClassifier("mlp", "ce", epochs=2).fit(x, y, edges, **more)


def edges_in(data):
    """The edges by the ids of their ends."""
    graph, ids = data.graph, data.node_ids
    return {frozenset((ids[a], ids[b])) for a, b in zip(graph.tails, graph.heads)}


def forms(names):
    """The same edges as people have them."""
    named = [(names[a], names[b]) for a, b in PAIRS]
    yield "pairs", named
    yield "lists", [list(pair) for pair in named]
    yield "array", np.array(named).T
    yield "table", pd.DataFrame(named, columns=["from", "to"])
    yield "table without names", pd.DataFrame(named)


@pytest.mark.parametrize("pattern", ["p{}", "#{}", "%{}", "NA{}", "a,b{}", "a b{}", 'x"{}', "sep={}", "{}"])
def test_edges_in_every_form(pattern):
    names = [pattern.format(number) for number in range(NODES)]
    wanted = {frozenset((names[a], names[b])) for a, b in PAIRS}
    for form, edges in forms(names):
        assert edges_in(fitted(people(names), edges).data_) == wanted, form


def test_numbers_that_are_ids():
    ids = [10 * number for number in range(NODES)]
    wanted = {frozenset((str(ids[a]), str(ids[b]))) for a, b in PAIRS}
    for form, edges in forms(ids):
        assert edges_in(fitted(people(ids), edges).data_) == wanted, form


def test_two_pairs_are_two_edges():
    names = [f"p{number}" for number in range(NODES)]
    data = fitted(people(names), [("p0", "p1"), ("p2", "p3")]).data_
    assert edges_in(data) == {frozenset(("p0", "p1")), frozenset(("p2", "p3"))}


def test_networkx_graphs_go_by_their_names():
    nx = pytest.importorskip("networkx", reason="networkx is not installed")
    names = [f"p{number}" for number in range(NODES)]
    graph = nx.Graph()
    graph.add_nodes_from(reversed(names))
    graph.add_edges_from((names[a], names[b], {"weight": a + 0.5, "cost": b + 0.25}) for a, b in PAIRS)
    data = fitted(people(names), graph).data_
    assert edges_in(data) == {frozenset((names[a], names[b])) for a, b in PAIRS}
    there = data.graph
    for tail, head, weight, cost in zip(there.tails, there.heads, there.weights, there.costs):
        high, low = max(tail, head), min(tail, head)
        assert (weight, cost) == (high + 0.5, low + 0.25)
    arcs = nx.DiGraph([("p0", "p1"), ("p1", "p0"), ("p2", "p3")])
    assert fitted(people(names), arcs).data_.graph.num_edges == 3
    assert fitted(people(names), arcs, directed=False).data_.graph.num_edges == 2
    grid = nx.grid_2d_graph(3, 4)
    assert fitted(people(pd.Index(list(grid), tupleize_cols=False)), grid).data_.graph.num_edges == 17


def test_matrices_go_by_the_rows_of_x():
    scipy = pytest.importorskip("scipy.sparse")
    names = [f"p{number}" for number in range(NODES)]
    a, b = np.array(PAIRS).T
    weights = np.arange(len(PAIRS)) + 0.5
    matrix = scipy.coo_matrix((weights, (a, b)), shape=(NODES, NODES))
    data = fitted(people(names), matrix + matrix.T).data_
    assert edges_in(data) == {frozenset((names[a], names[b])) for a, b in PAIRS}
    wanted = qw.Graph(matrix + matrix.T)
    assert np.array_equal(data.graph.weights, wanted.weights)
    with pytest.raises(qw.Error, match="edges must be between the 12 rows of X, got a graph of 3 nodes"):
        fitted(people(names), scipy.identity(3).tocsr())


@pytest.mark.parametrize(
    ("edges", "text"),
    [
        ([("p0", "p1", 2.0), ("p1", "p2", 1.0), ("p2", "p3", 1.0)], r"or a list of pairs, got the shape \[3, 3\]"),
        (np.array([("p0", "p1"), ("p1", "p2"), ("p2", "p3")]), r"or a list of pairs, got the shape \[3, 2\]"),
        ([("p0", "p1"), ("p1",)], "edges must be pairs of nodes"),
        (pd.DataFrame({"from": ["p0"]}), "edges must have two columns, got 1"),
        ([("p0", "nobody")], "nobody"),
    ],
)
def test_other_edges_are_refused(edges, text):
    with pytest.raises(qw.Error, match=text) as raised:
        fitted(people([f"p{number}" for number in range(NODES)]), edges)
    assert "\n" not in str(raised.value)


def test_the_index_must_be_free_and_unique():
    names = [f"p{number}" for number in range(NODES)]
    with pytest.raises(qw.Error, match="a column of X is named qw_id"):
        fitted(people(names).assign(qw_id=1), None)
    with pytest.raises(qw.Error, match="must name every node once"):
        fitted(people(["same"] * NODES), None)


@pytest.mark.parametrize("word", ["None", "NA", "?", "null", "nan"])
def test_words_are_no_missing_cells(word):
    names = [f"p{number}" for number in range(NODES)]
    labels = np.array([word, "Mild", "Severe"])[Y]
    table = people(names).assign(kind=np.array([word, "else"])[Y % 2])
    model = fitted(table, None, pd.Series(labels, index=names))
    assert word in model.classes_ and (model.data_.y >= 0).all()
    columns = dict(zip(model.data_.feature_names, model.data_.x.T))
    assert (columns[f"kind={word}"] == (Y % 2 == 0)).all()


def test_missing_cells_are_empty():
    names = [f"p{number}" for number in range(NODES)]
    table = people(names).assign(kind=["x", "y", None] * 4)
    table.loc["p3", "a"] = np.nan
    data = fitted(table, None).data_
    columns = dict(zip(data.feature_names, data.x.T))
    assert columns["kind=x"].sum() == 4 and columns["kind=y"].sum() == 4 and "kind=" not in columns
    assert columns["a"][3] == pytest.approx(np.delete(np.arange(NODES) * 0.5, 3).mean())


def test_minus_one_is_a_value():
    names = [f"p{number}" for number in range(NODES)]
    values = np.where(Y == 0, -1.0, np.arange(NODES))
    values[5] = np.nan
    data = qw.NodeRegressor("mlp", "mse", epochs=2).fit(people(names), values, None).data_
    assert np.array_equal(data.y[:, 0], values, equal_nan=True)


def test_labels_in_a_table():
    names = [f"p{number}" for number in range(NODES)]
    table = people(names)
    both = pd.DataFrame({"one": np.arange(NODES), "two": -1.0 * np.arange(NODES)}, index=names)
    values = qw.NodeRegressor("mlp", "mse", epochs=2).fit(table, both[["one"]], None)
    assert values.predict().shape == (NODES,) and np.array_equal(values.data_.y[:, 0], np.arange(NODES))
    assert qw.NodeRegressor("mlp", "mse", epochs=2).fit(table, both, None).predict().shape == (NODES, 2)
    classes = fitted(table, None, pd.DataFrame({"y": Y}, index=names))
    assert np.array_equal(classes.data_.y, Y)
    assert classes.score(table, pd.DataFrame({"y": Y}, index=names), None) == (classes.predict() == Y).mean()
    other = pd.Series(Y, index=names[::-1])
    for call in (lambda: fitted(table, None, other), lambda: classes.score(table, other)):
        with pytest.raises(qw.Error, match="y must have the index of X"):
            call()


def test_tables_train_as_arrays_do():
    names = [f"p{number}" for number in range(NODES)]
    table = people(names)
    named = [(names[a], names[b]) for a, b in PAIRS]
    for y in (Y.astype(float), np.array(["None", "b", "c"])[Y], np.where(Y == 2, -1, Y)):
        one, other = fitted(table, named, y), fitted(table.to_numpy(), np.array(PAIRS).T, y)
        assert one.classes_.dtype == other.classes_.dtype and np.array_equal(one.classes_, other.classes_)
        assert np.array_equal(one.data_.y, other.data_.y)
        assert np.array_equal(one.predict_proba(), other.predict_proba())


def test_tables_without_columns():
    """Features are made from the edges, which the X that is given again has not."""
    names = [f"p{number}" for number in range(NODES)]
    table = pd.DataFrame(index=names)
    model = fitted(table, [(names[a], names[b]) for a, b in PAIRS])
    assert np.array_equal(model.predict_proba(table), model.predict_proba())
