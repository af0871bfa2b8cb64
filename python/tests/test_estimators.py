"""Estimators: scikit-learn's contract, tables, run folders, interrupts."""

import copy
import inspect
import json
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
import qw

pytestmark = pytest.mark.filterwarnings("ignore:no edges were given")


def groups(nodes=120, seed=0, classes=3):
    """Groups whose members know each other, with features that say a little."""
    generator = np.random.default_rng(seed)
    y = generator.integers(classes, size=nodes)
    x = generator.normal(size=(nodes, 5)) + np.eye(classes, 5)[y]
    pairs = [(a, b) for a in range(nodes) for b in range(a) if generator.random() < (0.15 if y[a] == y[b] else 0.01)]
    return x.astype(np.float32), y, np.array(pairs).T


def test_fit_predict_and_score():
    x, y, edges = groups()
    known = np.where(np.arange(120) % 2 == 0, y, -1)
    model = qw.NodeClassifier("gcn", "ce", epochs=100, seed=3).fit(x, known, edges)
    assert (model.predict() == y).mean() > 0.85
    chances = model.predict_proba()
    assert chances.shape == (120, 3) and np.allclose(chances.sum(1), 1)
    assert model.score(x, y, edges) == (model.predict(x, edges) == y).mean()
    assert 0 < model.score() <= 1
    assert model.results_[0]["epochs"] <= 100
    again = qw.NodeClassifier("gcn", "ce", epochs=100, seed=3).fit(x, known, edges)
    assert np.array_equal(again.predict_proba(), chances)


@pytest.mark.parametrize("unknown", [-1, None, float("nan")])
def test_labels_of_any_kind(unknown):
    x, y, edges = groups()
    names = np.array(["red", "green", "blue"])
    for values in (names[y].tolist(), y.tolist(), (y + 10).tolist()):
        some = [value if place % 3 else unknown for place, value in enumerate(values)]
        model = qw.NodeClassifier("mlp", "ce", epochs=20).fit(x, some, edges)
        assert set(model.classes_.tolist()) == set(values)
        assert set(model.predict().tolist()) <= set(values)


def test_scipy_torch_and_pyg_give_the_same():
    scipy = pytest.importorskip("scipy.sparse")
    torch = pytest.importorskip("torch")
    x, y, edges = groups()
    fitted = [
        qw.NodeClassifier("gcn", "ce", epochs=20).fit(*given)
        for given in ((x, y, edges), (scipy.csr_matrix(x), y, edges), (torch.from_numpy(x), torch.from_numpy(y), edges))
    ]
    for other in fitted[1:]:
        assert np.array_equal(other.predict_proba(), fitted[0].predict_proba())
    try:
        from torch_geometric.data import Data
    except ImportError:
        return
    both = np.concatenate([edges, edges[::-1]], axis=1)
    data = Data(x=torch.from_numpy(x), y=torch.from_numpy(y), edge_index=torch.from_numpy(both))
    assert np.array_equal(qw.NodeClassifier("gcn", "ce", epochs=20).fit(data).predict_proba(), fitted[0].predict_proba())


def test_tables_with_categories_and_missing_cells():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    x, y, edges = groups()
    ids = [f"p{number}" for number in range(120)]
    table = pd.DataFrame(x, index=ids, columns=list("abcde"))
    table["job"] = np.array(["baker", "smith"])[y % 2]
    table.loc["p3", "a"] = np.nan
    links = pd.DataFrame({"from": [ids[a] for a in edges[0]], "to": [ids[b] for b in edges[1]]})
    labels = pd.Series(np.array(["x", "y", "z"])[y], index=ids)
    labels.iloc[::4] = None
    model = qw.NodeClassifier("gcn", "ce", epochs=50).fit(table, labels, links)
    assert sorted(model.classes_) == ["x", "y", "z"]
    found = pd.Series(model.predict(), index=ids)
    assert (found == np.array(["x", "y", "z"])[y]).mean() > 0.8
    shuffled = table.sample(frac=1, random_state=1)[["job", "e", "d", "c", "b", "a"]]
    again = pd.Series(model.predict(shuffled, links), index=shuffled.index)
    assert (again[ids] == found).all()
    with pytest.raises(qw.Error, match="'b'"):
        model.predict(table.drop(columns="b"), links)
    with pytest.raises(qw.Error, match="index"):
        model.fit(pd.concat([table, table]), labels, links)


def test_regression():
    x, y, edges = groups()
    values = x[:, 0] * 3 + y
    some = np.where(np.arange(120) % 3 == 0, np.nan, values)
    model = qw.NodeRegressor("mlp", "mse", epochs=300, lr=0.02).fit(x, some, edges)
    assert model.predict().shape == (120,)
    assert model.score(x, values, edges) > 0.6
    two = qw.NodeRegressor("mlp", "mse", epochs=20).fit(x, np.stack([values, -values], 1), edges)
    assert two.predict().shape == (120, 2)


def test_other_rows_are_other_nodes():
    """Rows that are not the training's get the network's word: no transport of a node of the same number."""
    x, y, edges = groups()
    model = qw.NodeClassifier("mlp", "bregman", epochs=30, flow_lr=0.5, **{"lambda": 500}).fit(x, y, edges)
    scores = model.explain(0)
    assert scores["transport"] is not None
    changed = x.copy()
    changed[5] += 1
    plain = model.predict_proba(changed, edges)
    network = [model.explain(node, changed, edges) for node in (0, 1)]
    for node, each in enumerate(network):
        assert each["transport"] is None or not any(each["transport"].values())
        logits, calibrated = np.array(list(each["network"].values())), np.log(plain[node])
        ratios = (logits - logits.mean()) / (calibrated - calibrated.mean())  # by one temperature
        assert np.allclose(ratios, ratios[0], rtol=1e-3)


def test_run_folders_go_both_ways(tmp_path):
    x, y, edges = groups()
    model = qw.NodeClassifier("gcn", "bregman", epochs=30, runs=2).fit(x, y, edges)
    model.save(tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["request"]["model"] == "gcn"
    again = qw.NodeClassifier.load(tmp_path / "run")
    assert again.get_params()["solver"] == "bregman" and again.runs == 2
    with pytest.raises(qw.Error, match="give X and edges"):
        again.predict()
    assert np.array_equal(again.predict_proba(x, edges), model.predict_proba())
    with pytest.raises(qw.Error, match="not empty"):
        model.save(tmp_path / "run")
    with pytest.raises(qw.Error):
        qw.NodeClassifier.load(tmp_path)


@pytest.mark.parametrize("model", ["gcn", "gat", "gin", "graphsage", "appnp", "bernnet", "chebnetii", "mlp"])
@pytest.mark.parametrize("more", [{}, {"norm": "batch", "residual": True, "layers": 3}, {"norm": "layer"}])
def test_networks_go_on_in_pyg(model, more):
    pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
    torch = pytest.importorskip("torch")
    x, y, edges = groups()
    x = x * 3 + 1
    both = torch.from_numpy(np.concatenate([edges, edges[::-1]], axis=1))
    fitted = qw.NodeClassifier(model, "ce", epochs=15, **more).fit(x, y, edges)
    network = fitted.to_pyg()
    logits = network(torch.from_numpy(x), both).detach().numpy()
    ours = fitted.fitted_.scores(fitted.data_._data, 0)["network"]
    assert np.allclose(logits, ours, atol=1e-5 * max(1, np.abs(ours).max()))
    values = qw.NodeRegressor(model, "mse", epochs=5, **more).fit(x, x[:, 0] * 100 + y, edges)
    given = values.to_pyg()(torch.from_numpy(x), both).detach().numpy()[:, 0]
    assert np.allclose(given, values.predict(), rtol=1e-4, atol=1e-2)
    with pytest.raises(qw.Error, match="no run 7"):
        fitted.to_pyg(7)


def test_explain_adds_up():
    x, y, edges = groups()
    model = qw.NodeClassifier("gcn", "bregman", epochs=30, flow_lr=0.5, **{"lambda": 500}).fit(x, y, edges)
    for node in range(0, 120, 17):
        found = model.explain(node)
        total = dict.fromkeys(found["network"], 0.0)
        for move in found["flows"]:
            for name, amount in move["brings"].items():
                total[name] += amount
        assert total == pytest.approx(found["transport"], abs=1e-4)
        (paths,) = found["paths"]
        assert paths["class"] == found["prediction"]
        assert paths["amount"] == pytest.approx(found["transport"][found["prediction"]], abs=1e-4)
    with pytest.raises(qw.Error, match="no node 'x'"):
        model.explain("x")
    with pytest.raises(qw.Error, match="no 'y' among"):
        model.explain(0, column="y")


def test_explain_says_what_counts_without_transport():
    pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
    x, y, edges = groups()
    model = qw.NodeClassifier("gcn", "ce", epochs=30, layers=1).fit(x, y, edges)
    found = model.explain(5, column="all", top=0)
    assert found["paths"] is None and found["labels"] is None
    assert [each["class"] for each in found["neighbours"]] == list(found["network"])
    network = model.to_pyg()
    bias = dict(network.named_parameters())["conv1.bias"].detach().numpy()
    for place, (name, score) in enumerate(found["network"].items()):
        features = found["features"][place]
        assert features["gradient_times_input"] + bias[place] == pytest.approx(score, abs=1e-4), name
        assert sum(each["own"] + each["neighbourhood"] for each in features["features"]) == pytest.approx(
            features["gradient_times_input"], abs=1e-4
        )


INTERRUPTED = """
import faulthandler, signal, sys, threading, time, os
faulthandler.dump_traceback_later(100, exit=True)  # a fit that does not stop says where it stands
import numpy as np, qw
x = np.random.rand(3000, 50).astype("float32"); y = np.arange(3000) % 5
edges = np.random.randint(3000, size=(2, 30000))
qw.NodeClassifier("mlp", "ce", epochs=1).fit(x, y, edges)  # torch is loaded
model = qw.NodeClassifier("gat", epochs=100000, patience=100000)
def later():
    time.sleep(1); global sent; sent = time.time(); os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=later, daemon=True).start()
try:
    model.fit(x, y, edges)
except KeyboardInterrupt:
    print("stopped after", time.time() - sent)
    assert time.time() - sent < 20  # a second on a machine that is idle
model.set_params(epochs=2)
model.fit(x, y, edges)
print("fitted again", len(model.predict()))
"""


def test_interrupts_stop_a_fit():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120,
                          env={**os.environ}, check=False)
    assert done.returncode == 0, done.stderr
    assert "fitted again 3000" in done.stdout


def test_the_gil_is_free_while_training():
    x, y, edges = groups(nodes=400)
    ticks = []

    def count():
        end = time.time() + 30
        while time.time() < end and not done.is_set():
            ticks.append(time.time())
            time.sleep(0.01)

    done = threading.Event()
    thread = threading.Thread(target=count)
    thread.start()
    qw.NodeClassifier("gat", epochs=60, patience=60).fit(x, y, edges)
    done.set()
    thread.join()
    gaps = np.diff(ticks)
    assert len(ticks) > 5 and np.median(gaps) < 1


def test_parameters_clone_and_pipelines():
    sklearn = pytest.importorskip("sklearn.base", reason="scikit-learn is not installed")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = qw.NodeClassifier("mlp", "ce", epochs=20, hidden=8)
    copy = sklearn.clone(model)
    assert copy.get_params() == model.get_params() and copy is not model
    assert copy.set_params(hidden=16).get_params()["hidden"] == 16
    assert model.get_params()["hidden"] == 8
    x, y, edges = groups()
    pipe = make_pipeline(StandardScaler(), qw.NodeClassifier("gcn", "ce", epochs=30))
    pipe.fit(x, y, nodeclassifier__edges=edges)
    assert pipe.predict(x, edges=edges).shape == (120,)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x, y, e: qw.NodeClassifier("gnc").fit(x, y, e), "gnc"),
        (lambda x, y, e: qw.NodeClassifier(hiden=3).fit(x, y, e), "hiden"),
        (lambda x, y, e: qw.NodeClassifier(epochs=-3).fit(x, y, e), "epochs"),
        (lambda x, y, e: qw.NodeClassifier().fit(x, y[:5], e), "y must have a label"),
        (lambda x, y, e: qw.NodeClassifier().fit(x, y + 0.5, e), "Unknown label type"),
        (lambda x, y, e: qw.NodeClassifier().fit(x, [-1] * len(y), e), "no label"),
        (lambda x, y, e: qw.NodeClassifier().fit(x, y, e + 1000), "node"),
        (lambda x, y, e: qw.NodeClassifier().fit(x * np.nan, y, e), "finite"),
        (lambda x, y, e: qw.NodeClassifier().fit(x[0], y, e), "X must be"),
        (lambda x, y, e: qw.NodeClassifier(device="tpu").fit(x, y, e), "tpu"),
        (lambda x, y, e: qw.NodeRegressor("mlp", "mse").fit(x, y[:3], e), "y must have a value"),
        (lambda x, y, e: qw.NodeClassifier().predict(x, e), "not fitted"),
        (lambda x, y, e: qw.load("nothing-like-that"), "nothing-like-that"),
        (lambda x, y, e: qw.load("karate", colour="red"), "'colour' is unknown"),
        (lambda x, y, e: qw.load("karate", directed="red"), "'directed' cannot be"),
    ],
)
def test_refusals_are_one_line(call, text):
    x, y, edges = groups()
    with pytest.raises(ValueError, match=text) as raised:
        call(x, y, edges)
    assert "\n" not in str(raised.value)


def test_datasets(tmp_path):
    data = qw.load("karate")
    assert data.task == "classification" and data.num_nodes == 34 and data.num_classes == 4
    assert data.x.shape == (34, 34) and data.y.shape == (34,)
    split = data.split()
    assert len(set(split.train) | set(split.val) | set(split.test)) == 34
    (tmp_path / "e.csv").write_text("a,b\n1,2\n2,3\n")
    (tmp_path / "n.csv").write_text("id,size,kind\n1,0.5,x\n2,1.5,y\n3,2.5,x\n")
    own = qw.read_csv(tmp_path / "e.csv", tmp_path / "n.csv", id="id", target="kind")
    assert own.class_names == ["x", "y"] and own.node_ids == ["1", "2", "3"] and own.feature_names == ["size"]
    pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
    pyg = data.to_pyg()
    assert pyg.num_nodes == 34 and pyg.edge_index.shape == (2, 156) and pyg.is_undirected()
    back = qw.from_pyg(pyg)
    assert np.array_equal(back.x, data.x) and np.array_equal(back.y, data.y)
    assert np.array_equal(back.graph.heads, data.graph.heads)
    assert np.array_equal(back.split().train, split.train)


def test_estimators_pickle():
    x, y, edges = groups()
    model = qw.NodeClassifier("mlp", "ce", epochs=5)
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()
    model.fit(x, y, edges)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(), model.predict_proba())
    assert np.array_equal(copy.deepcopy(model).predict(), model.predict())


# What scikit-learn asks of estimators and these do not give, and why.
EXCEPTIONS = {
    "check_no_attributes_set_in_init": "any option of `qw train` is a parameter; they are kept in one attribute",
    "check_dtype_object": "features that are no numbers raise qw.Error, a ValueError; a TypeError is asked for",
    "check_classifiers_classes": "-1 stands for unknown; the check's classes are -1 and 1",
}


@pytest.mark.parametrize("estimator", [qw.NodeClassifier("mlp", "ce", epochs=30), qw.NodeRegressor("mlp", "mse", epochs=30)])
def test_scikit_learns_own_checks(estimator):
    checks = pytest.importorskip("sklearn.utils.estimator_checks", reason="scikit-learn is not installed")
    if "on_fail" not in inspect.signature(checks.check_estimator).parameters:
        pytest.skip("check_estimator names what failed since scikit-learn 1.6")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = checks.check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert len(results) > 40 and failed.keys() <= EXCEPTIONS.keys(), failed


def test_minus_one_beside_a_single_class_is_refused():
    x, y, edges = groups()
    with pytest.raises(qw.Error, match="-1 stands for unknown, and all other labels are '1'"):
        qw.NodeClassifier("mlp", "ce", epochs=1).fit(x, np.where(y > 0, 1, -1), edges)
