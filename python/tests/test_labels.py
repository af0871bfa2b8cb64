"""Labels: classes keep what they were, what is unknown stays unknown, and data sets are learned as what they are."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
import qw
from test_estimators import groups

pytestmark = pytest.mark.filterwarnings("ignore:A column-vector y was passed")

KINDS = {
    "ints": [0, 1, 2],
    "floats": [0.0, 1.0, 2.0],
    "others": [3, 7, 11],
    "texts": ["0", "1", "2"],
    "zeros": ["01", "1", "2"],
    "words": ["", "x", "None"],
}


def classifier(**more):
    return qw.NodeClassifier("mlp", "ce", **{"epochs": 5, **more})


@pytest.mark.parametrize("kind", [*KINDS, "bools"])
def test_classes_come_back_as_they_were_given(kind, tmp_path):
    x, y, edges = groups()
    labels = [[False, True, True], KINDS.get(kind)][kind != "bools"]
    given = [labels[number] for number in y]
    model = classifier().fit(x, given, edges)
    model.save(tmp_path / "run")
    again = qw.NodeClassifier.load(tmp_path / "run")
    for each in (model, again, pickle.loads(pickle.dumps(again))):
        assert each.classes_.tolist() == sorted(set(labels)) and type(each.classes_.tolist()[0]) is type(labels[0])
        assert each.score(x, given, edges) == np.mean([a == b for a, b in zip(model.predict().tolist(), given)])
    again.save(tmp_path / "twice")
    assert qw.NodeClassifier.load(tmp_path / "twice").classes_.tolist() == again.classes_.tolist()


@pytest.mark.parametrize(
    ("labels", "found"), [([0, 1, 2], [0, 1, 2]), (["0", "1", "-7"], [-7, 0, 1]), (["01", "1", "2"], ["01", "1", "2"])]
)
def test_folders_of_the_command_line_have_whole_numbers(labels, found, tmp_path):
    x, y, edges = groups()
    classifier().fit(x, [labels[number] for number in y], edges).save(tmp_path / "run")
    (tmp_path / "run" / "python.json").unlink()  # which the command line does not write
    assert qw.NodeClassifier.load(tmp_path / "run").classes_.tolist() == found


def test_the_command_line_reads_what_is_saved(tmp_path):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    x, y, edges = groups()
    table = pd.DataFrame(x, columns=list("abcde"))
    links = pd.DataFrame(edges.T, columns=["source", "target"])
    model = classifier().fit(table, y, links)
    model.save(tmp_path / "run")
    table.assign(team=y).to_csv(tmp_path / "nodes.csv", index_label="qw_id")
    links.to_csv(tmp_path / "edges.csv", index=False)
    own = ["--edges", str(tmp_path / "edges.csv"), "--nodes", str(tmp_path / "nodes.csv")]
    for command in (["predict"], ["eval", "--target", "team"]):
        words = [command[0], str(tmp_path / "run"), *own, *command[1:]]
        done = subprocess.run([sys.executable, "-m", "qw", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "differ" not in done.stderr, done.stderr


@pytest.mark.parametrize("by_python", [True, False])
def test_a_loaded_model_is_trained_again_as_it_was(by_python, tmp_path):
    x, y, edges = groups()
    options = {"hidden": 9, "lr": 0.03, "epochs": 7, "scale_features": "none", "seed": np.int64(5)}
    model = classifier(**options).fit(x, y, edges)
    model.save(tmp_path / "run")
    if not by_python:
        (tmp_path / "run" / "python.json").unlink()
    loaded = qw.NodeClassifier.load(tmp_path / "run")
    parameters = loaded.get_params()
    assert all(parameters[name] == value for name, value in options.items())
    assert by_python == (parameters == model.get_params())
    again = qw.NodeClassifier(**parameters).fit(x, y, edges)
    assert np.array_equal(again.predict_proba(), model.predict_proba())


@pytest.mark.parametrize("content", ["nothing", "[]", "{}"])
def test_a_damaged_file_is_named(content, tmp_path):
    x, y, edges = groups()
    classifier().fit(x, y, edges).save(tmp_path / "run")
    (tmp_path / "run" / "python.json").write_text(content)
    with pytest.raises(qw.Error, match=r"python\.json is damaged") as raised:
        qw.NodeClassifier.load(tmp_path / "run")
    assert "\n" not in str(raised.value)


def test_what_is_kept_is_plain(tmp_path):
    x, y, edges = groups()
    classifier(hidden=3).fit(x, y, edges).save(tmp_path / "run")
    kept = json.loads((tmp_path / "run" / "python.json").read_text())
    assert kept["estimator"] == "NodeClassifier" and kept["classes"] == [0, 1, 2] and kept["parameters"]["hidden"] == 3


class Interrupt(Exception):
    pass


def test_a_fit_that_fails_leaves_the_estimator_as_it_was(monkeypatch):
    x, y, edges = groups()
    model = classifier().fit(x, np.array(["a", "b", "c"])[y], edges)
    values = qw.NodeRegressor("mlp", "mse", epochs=5).fit(x, x[:, :2], edges)
    before = {**model.__dict__}, {**values.__dict__}

    def interrupted(*_):
        raise Interrupt

    def refit():
        with pytest.raises((qw.Error, Interrupt)):
            model.fit(x, np.array(["u", "v", "w"])[y], edges)
        with pytest.raises((qw.Error, Interrupt)):
            values.fit(x, x[:, 0], edges)

    with pytest.raises(qw.Error):
        model.fit(x, np.array(["u", "v", "w"])[y], edges + 1000)
    with monkeypatch.context() as patch:
        patch.setattr(qw._lib.learning(), "fit", interrupted)
        refit()
    model.set_params(epochs=-1)
    values.set_params(epochs=-1)
    refit()
    for each, state in zip((model, values), before):
        assert all(each.__dict__[name] is value for name, value in state.items() if name != "options")
    assert set(model.predict()) <= set("abc") and values.predict().shape == (120, 2)


def data_set(y):
    x, _, edges = groups()
    return qw.from_arrays(x, edges, None if y is None else qw.data.targets_of(y))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x, y: qw.NodeRegressor().fit(data_set(y)), "X has labels for classification, but NodeRegressor learns"),
        (lambda x, y: qw.NodeClassifier().fit(data_set(x[:, 0])), "X has labels for regression, but NodeClassifier"),
        (lambda x, y: qw.NodeClassifier().fit(data_set(np.eye(3)[y])), "X has labels for multi-label"),
        (lambda x, y: qw.NodeClassifier().fit(data_set(y), y), "X is a Dataset with labels of its own"),
        (lambda x, y: qw.NodeClassifier().fit(data_set(y), edges=np.zeros((2, 0))), "X is a Dataset with edges of its"),
        (lambda x, y: qw.NodeClassifier().fit(data_set(None)), "requires y to be passed"),
        (lambda x, y: qw.NodeClassifier().fit(x, np.where(y == 1, "a", y.astype(object)).tolist()), "texts and numbers"),
        (lambda x, y: qw.NodeRegressor().fit(x, np.array(["a", "b", "c"])[y]), "y must be numbers"),
        (lambda x, y: qw.NodeRegressor().fit(x, [[1.0], [1.0, 2.0]] * 60), "y must be numbers"),
        (lambda x, y: qw.NodeRegressor().fit(x, np.where(y == 1, np.inf, y)), "y must be finite"),
        (lambda x, y: classifier().fit(x, y).score(x, [None] * 120), "y has no label that is known"),
        (lambda x, y: classifier().fit(x, y).score(x, y[:7]), "y must have a label for each of 120 nodes, got 7"),
        (lambda x, y: values_model(x).score(x, [np.nan] * 120), "y has no value that is known"),
        (lambda x, y: values_model(x).score(x, x[:, :2]), r"y must be \[120\] as what is predicted, got \[120, 2\]"),
    ],
)
@pytest.mark.filterwarnings("ignore:no edges were given")
def test_refusals_are_one_line(call, text):
    x, y, _ = groups()
    with pytest.raises(qw.Error, match=text) as raised:
        call(x, y)
    assert "\n" not in str(raised.value)


def values_model(x):
    return qw.NodeRegressor("mlp", "mse", epochs=2).fit(x, x[:, 0])


def test_labels_beside_a_data_set_without_any():
    x, y, edges = groups()
    data = data_set(None)
    model = classifier().fit(data, y)
    assert np.array_equal(model.predict_proba(), classifier().fit(x, y, edges).predict_proba())
    assert data.task == "none"


def test_missing_values_of_any_kind():
    x, _, edges = groups()
    values = x[:, 0].astype(float)
    values[:3] = np.nan
    listed = [None, None, None, *values[3:]]
    tables = [listed, np.array(listed, dtype=object)]
    pd = sys.modules.get("pandas")
    if pd is not None:
        tables.append(pd.array([pd.NA] * 3 + list(values[3:]), dtype="Float64"))
    for given in tables:
        data = qw.NodeRegressor("mlp", "mse", epochs=2).fit(x, given, edges).data_
        assert np.array_equal(data.y[:, 0], values, equal_nan=True)


def test_r2_is_the_mean_over_the_columns():
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    x, y, edges = groups()
    truth = np.stack([x[:, 0], x[:, 1] + 1000, np.full(120, 4.0)], axis=1).astype(float)
    model = qw.NodeRegressor("mlp", "mse", epochs=60, lr=0.05).fit(x, truth, edges)
    assert model.score(x, truth, edges) == pytest.approx(metrics.r2_score(truth, model.predict()))
    some = truth.copy()
    some[::2, 1] = np.nan
    some[:, 0] = np.nan
    by_column = [metrics.r2_score(some[1::2, 1], model.predict()[1::2, 1]),
                 metrics.r2_score(some[:, 2], model.predict()[:, 2])]
    assert model.score(x, some, edges) == pytest.approx(np.mean(by_column))
    one = qw.NodeRegressor("mlp", "mse", epochs=60, lr=0.05).fit(x, truth[:, 0], edges)
    assert one.score(x, truth[:, :1], edges) == pytest.approx(metrics.r2_score(truth[:, 0], one.predict()))
