"""What an estimator is given: guesses and losses are said, and nothing that is given is ignored."""

import copy
import json
import pickle
import warnings

import numpy as np
import pytest
import qw
import torch
from test_estimators import groups
from test_graphs import data  # noqa: F401  a fixture
from test_tables import NODES, PAIRS, Y, people

NAMES = [f"p{number}" for number in range(NODES)]
NAMED = [(NAMES[a], NAMES[b]) for a, b in PAIRS]


def small(**more):
    return qw.NodeClassifier("mlp", "ce", **{"epochs": 2, **more})


def said(call):
    """The texts of the warnings, each of which must be at the line of the caller."""
    with warnings.catch_warnings(record=True) as all_of_them:
        warnings.simplefilter("always")
        call()
    ours = [each for each in all_of_them if each.category is UserWarning and "split= decides" not in str(each.message)]
    assert all(each.filename == __file__ for each in ours), [str(each) for each in ours]
    return [str(each.message) for each in ours]


def test_the_direction_of_the_training_is_kept(tmp_path):
    x, y, edges = groups(40)
    model = qw.NodeClassifier("gcn", "ce", epochs=5).fit(x, y, edges, directed=True)
    model.save(tmp_path / "run")
    for each in (model, qw.NodeClassifier.load(tmp_path / "run"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(each.predict_proba(x, edges), model.predict_proba())
        assert np.array_equal(each.predict_proba(x, edges, directed=True), model.predict_proba())
        assert each.score(x, y, edges) == (model.predict() == y).mean()
        assert each.explain(3, x, edges)["network"] == model.explain(3)["network"]
        assert each.explain(3, x, edges, directed=True)["network"] == model.explain(3)["network"]
        for call in (each.predict, each.predict_proba, lambda *a, **o: each.explain(3, *a, **o)):
            with pytest.raises(qw.Error, match="directed=False contradicts the training, which was on arcs"):
                call(x, edges, directed=False)
        with pytest.raises(qw.Error, match="the edges have no direction, those of the training do"):
            each.predict(x, qw.Graph(edges, 40))
    with pytest.raises(qw.Error, match="directed=False contradicts the training"):
        model.predict(x, directed=False)  # the training's X


def test_arcs_are_no_edges_of_an_undirected_training():
    x, y, edges = groups(40)
    model = small().fit(x, y, edges)
    with pytest.raises(qw.Error, match="directed=True contradicts the training, which was on edges without direction"):
        model.predict(x, edges, directed=True)
    with pytest.raises(qw.Error, match="the edges are arcs, those of the training are not; directed=False joins"):
        model.predict(x, qw.Graph(edges, 40, directed=True))
    nx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = nx.DiGraph(edges.T.tolist())
    graph.add_nodes_from(range(40))
    with pytest.raises(qw.Error, match="directed=False joins"):
        model.predict(x, graph)
    assert np.array_equal(model.predict(x, graph, directed=False), model.predict())


def test_a_symmetric_matrix_may_be_of_arcs():
    scipy = pytest.importorskip("scipy.sparse")
    x, y, edges = groups(40)
    model = qw.NodeClassifier("gcn", "ce", epochs=3).fit(x, y, edges, directed=True)
    both = np.concatenate([edges, edges[::-1]], axis=1)
    matrix = scipy.coo_matrix((np.ones(both.shape[1]), tuple(both)), shape=(40, 40))
    assert np.array_equal(model.predict_proba(x, matrix), model.predict_proba(x, both))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda m, x, y, e: m.predict(edges=e), "edges and directed go with X: give X too, or neither"),
        (lambda m, x, y, e: m.predict_proba(directed=False), "edges and directed go with X"),
        (lambda m, x, y, e: m.explain(0, edges=e), "edges and directed go with X"),
        (lambda m, x, y, e: m.score(edges=e), "edges and directed go with X"),
        (lambda m, x, y, e: m.score(x), "score needs y beside X; without both it is of the test nodes"),
        (lambda m, x, y, e: m.score(x, None, e), "score needs y beside X"),
        (lambda m, x, y, e: m.score(qw.from_arrays(x, e)), "X has no labels for classification; give score y"),
        (lambda m, x, y, e: small().fit(qw.load("karate"), directed=True), "contradicts X, a Dataset with directed=False"),
        (lambda m, x, y, e: small().fit(x, y, qw.Graph(e, 120), directed=True), "contradicts the qw.Graph of edges"),
        (lambda m, x, y, e: small().fit(x, y, qw.Graph(e, 200)), "the Graph of edges has 200 nodes, not 120"),
    ],
)
def test_what_would_be_ignored_is_refused(call, text):
    x, y, edges = groups()
    with pytest.raises(qw.Error, match=text) as raised:
        call(small().fit(x, y, edges), x, y, edges)
    assert "\n" not in str(raised.value)


def test_graphs_are_edges():
    x, y, edges = groups()
    graph = qw.Graph(edges, 120, weights=np.linspace(0.5, 1.5, edges.shape[1]))
    model = qw.NodeClassifier("gcn", "ce", epochs=3).fit(x, y, graph)
    assert np.array_equal(model.data_.graph.weights, graph.weights)
    pytest.importorskip("pandas", reason="pandas is not installed")
    kept = qw.Graph([(a, b) for a, b in PAIRS] + [(3, 3)], NODES, self_loops="keep", weights=[0.5] * (len(PAIRS) + 1))
    table = small().fit(people(NAMES), Y, kept).data_
    assert table.graph.num_edges == len(PAIRS) + 1 and np.array_equal(table.graph.weights, kept.weights)


def test_score_takes_the_labels_of_the_data_that_it_is_given(data):  # noqa: F811
    both = [(0, 1), (1, 0), (2, 3), (3, 2)]
    given = data(both, x=torch.eye(4), y=torch.tensor([0, 1, 1, -1]))
    karate = qw.load("karate")
    for model, each, y in ((small().fit(karate), karate, karate.y), (small().fit(given), given, np.array([0, 1, 1, -1]))):
        wanted = np.mean((model.predict() == y)[y >= 0])
        assert model.score(each) == model.score(each, y) == pytest.approx(wanted)
    values = qw.from_arrays(np.eye(4), [(0, 1)], qw._core.value_targets(np.array([[0.5], [1], [np.nan], [2]]), [], False))
    model = qw.NodeRegressor("mlp", "mse", epochs=2).fit(values)
    assert model.score(values) == model.score(values, [0.5, 1, np.nan, 2])
    with pytest.raises(qw.Error, match="X has no labels for regression"):
        model.score(qw.from_arrays(np.eye(4), [(0, 1)]))


def test_nobody_was_held_out():
    x, y, edges = groups()
    with warnings.catch_warnings(record=True) as all_of_them:
        warnings.simplefilter("always")
        model = small(split="random:train=0.8,val=0.2").fit(x, y, edges)
    assert any("no node is in the part test" in str(each.message) for each in all_of_them)
    with pytest.raises(qw.Error, match="no node with a label was held out for test; give score X and y"):
        model.score()


def test_masks_that_are_dropped_are_said(data):  # noqa: F811
    mask = torch.tensor([True, True, False, False])
    given = data([(0, 1), (1, 0)], train_mask=mask)
    texts = said(lambda: small().fit(given))
    assert texts == ["the masks are not used: train_mask and test_mask are needed; a split is drawn"]


def test_tables_without_edges_are_said():
    table = people(NAMES)
    none = "no edges were given: every node is alone"
    model = small()
    assert said(lambda: model.fit(table, Y)) == [none]
    assert said(lambda: model.predict(table)) == []  # the training's own
    assert said(lambda: model.predict(table.iloc[:5])) == [none]
    assert said(lambda: model.predict(table.iloc[:5], [])) == ["there is no edge"]


def test_what_is_lost_of_tables_is_said(capsys):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    table = pd.concat([people(NAMES), people([f"q{number}" for number in range(NODES)])])
    table["name"] = [f"{index} of somewhere" for index in table.index]
    table.loc["p3", "a"] = np.nan
    links = pd.DataFrame(NAMED, columns=["from", "to"]).assign(weight=0.5)
    model = small()
    texts = said(lambda: model.fit(table, np.tile(Y, 2), pd.concat([links, links.iloc[:1]])))
    assert any(text.startswith("column 'weight' is not used; edges=qw.Graph(...) takes weights") for text in texts)
    assert any("column 'a' of X" in text and "filled with the mean" in text for text in texts)
    assert any("'name'" in text and "is left out" in text for text in texts)
    assert len(texts) == 3 and not any("--" in text or "qw-tables" in text for text in texts), texts
    assert "repeated" not in capsys.readouterr().err
    more = table.assign(new=1)
    texts = said(lambda: model.predict(more, links[["from", "to"]]))
    assert any("'new'" in text and "the training did not have it" in text for text in texts)
    small(verbose=1).fit(people(NAMES), Y, pd.concat([links, links])[["from", "to"]])
    assert "repeated edges were dropped" in capsys.readouterr().err


def test_guesses_of_files_are_said(tmp_path):
    (tmp_path / "e.csv").write_text("a,b,km\n1,2,0.5\n2,3,1.5\n")
    (tmp_path / "n.csv").write_text("id,size,kind\n1,0.5,x\n2,1.5,y\n3,2.5,x\n")
    texts = said(lambda: qw.read_csv(tmp_path / "e.csv", tmp_path / "n.csv", id="id", target="kind"))
    assert any("column 'km' is not used; edge_weight= km would read it" in text for text in texts)


def test_text_of_digits_is_text(tmp_path):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    codes = ["01234", "1234", "99"]
    table = people(NAMES).assign(
        zip=[codes[y] for y in Y], kind=pd.Categorical(Y + 1), word=[["x", "y"][y % 2] for y in Y]
    )
    table.loc["p4", "zip"] = None
    model = small(epochs=20).fit(table, Y, NAMED)
    columns = dict(zip(model.data_.feature_names, model.data_.x.T))
    assert {"zip='01234'", "zip='1234'", "zip='99'", "kind='1'", "kind='2'", "kind='3'", "word=x", "word=y"} <= set(columns)
    assert np.array_equal(columns["kind='2'"], Y == 1) and columns["zip='1234'"][4] == 0
    model.save(tmp_path / "run")
    for each in (model, qw.NodeClassifier.load(tmp_path / "run"), pickle.loads(pickle.dumps(model))):
        again = table.assign(kind=Y + 1).iloc[::-1]  # numbers now, which mean the same categories
        assert np.allclose(each.predict_proba(again, NAMED)[::-1], model.predict_proba(), atol=1e-6)


def test_options_of_other_libraries_are_taken():
    x, y, edges = groups()
    more = {"hidden": np.int64(8), "lr": np.float32(0.01), "residual": np.bool_(True)}
    model = qw.NodeClassifier(
        np.str_("mlp"), "ce", seed=np.int64(3), runs=np.int32(2), device=torch.device("cpu"), epochs=np.int64(3), **more
    ).fit(x, y, edges)
    assert len(model.results_) == 2
    json.dumps(model._request())


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"runs": 2.7}, "runs must be a whole number from 1, got 2.7"),
        ({"runs": 0}, "runs must be a whole number from 1, got 0"),
        ({"runs": True}, "runs must be a whole number"),
        ({"seed": None}, "seed cannot be None"),
        ({"seed": np.random.default_rng(0)}, "seed must be a number, a text, True or False"),
        ({"seed": 2**70}, r"seed must be below 2\^63"),
        ({"device": 0}, "device must be a text, got 0"),
        ({"model": None}, "model cannot be None"),
        ({"lr": float("nan")}, "lr must be finite, got nan"),
        ({"lr": np.inf}, "lr must be finite, got inf"),
        ({"hidden": None}, "hidden cannot be None; leave it out"),
        ({"hidden": [8, 8]}, r"hidden must be a number, a text, True or False, got \[8, 8\]"),
        ({"hidden": 2.5}, "hidden"),
    ],
)
def test_options_that_cannot_be_are_named(options, text):
    x, y, edges = groups()
    with pytest.raises(qw.Error, match=text) as raised:
        qw.NodeClassifier(**{"model": "mlp", "solver": "ce", **options}).fit(x, y, edges)
    assert "\n" not in str(raised.value)
    if options.keys() <= {"seed", "device"}:
        with pytest.raises(qw.Error, match=text):
            qw.AutoNodeClassifier(trials=1, **options).fit(x, y, edges)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_of_data_know_their_columns(again, tmp_path):
    (tmp_path / "e.csv").write_text("a,b\n1,2\n2,3\n")
    (tmp_path / "n.csv").write_text("id,size,kind,job\n1,0.5,x,cook\n2,,y,smith\n3,2.5,x,cook\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = qw.read_csv(tmp_path / "e.csv", tmp_path / "n.csv", id="id", target="kind")
    parts = ("name", "role", "type", "values", "missing", "fill")
    columns = [[getattr(column, part) for part in parts] for column in given._data.columns]
    assert ["size", "feature", "number", [], 1, 1.5] in columns
    made = again(again(given))
    assert [[getattr(column, part) for part in parts] for column in made._data.columns] == columns
    assert made._data.of_paper == given._data.of_paper
