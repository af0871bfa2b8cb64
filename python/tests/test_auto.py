"""AutoNodeClassifier and AutoNodeRegressor: what they choose, keep and say."""

import pickle

import numpy as np
import pytest
import qw


def two_groups(nodes=120, seed=1):
    random = np.random.default_rng(seed)
    y = np.arange(nodes) % 2
    x = random.normal(size=(nodes, 6)) + y[:, None]
    heads, tails = random.integers(0, nodes, (2, 6 * nodes))
    keep = (heads != tails) & ((y[heads] == y[tails]) | (random.random(6 * nodes) < 0.1))
    return x, y, np.stack([heads[keep], tails[keep]])


@pytest.fixture(scope="module")
def fitted():
    x, y, edges = two_groups()
    return qw.AutoNodeClassifier(trials=16, seed=3).fit(x, np.where(y == 0, "no", "yes"), edges=edges)


def test_it_predicts_and_says_who_does(fitted):
    x, y, edges = two_groups()
    assert list(fitted.classes_) == ["no", "yes"]
    assert np.mean((fitted.predict() == "yes") == y) > 0.9
    assert fitted.score() > 0.8
    np.testing.assert_allclose(fitted.predict_proba().sum(1), 1, atol=1e-6)
    np.testing.assert_array_equal(fitted.predict_proba(x), fitted.predict_proba())  # the training's X
    np.testing.assert_allclose(fitted.predict_proba(x, edges), fitted.predict_proba(), atol=1e-6)
    assert sum(row["weight"] for row in fitted.candidates_) == pytest.approx(1)
    assert {row["question"] for row in fitted.verdicts_} >= {"does the graph help?", "do the features help?"}
    assert fitted.outcome_["trials"] == 16


def test_trials_give_the_same_result(fitted):
    x, y, edges = two_groups()
    again = qw.AutoNodeClassifier(trials=16, seed=3).fit(x, np.where(y == 0, "no", "yes"), edges=edges)
    np.testing.assert_array_equal(again.predict_proba(), fitted.predict_proba())
    assert again.candidates_ == fitted.candidates_


def test_it_is_kept(fitted, tmp_path):
    fitted.save(tmp_path / "run")
    loaded = qw.AutoNodeClassifier.load(tmp_path / "run")
    x, _, edges = two_groups()
    np.testing.assert_allclose(loaded.predict_proba(x, edges), fitted.predict_proba(x, edges), atol=1e-12)
    assert loaded.verdicts_ == fitted.verdicts_
    with pytest.raises(qw.Error, match="learned classification, which is not for AutoNodeRegressor"):
        qw.AutoNodeRegressor.load(tmp_path / "run")
    with pytest.raises(qw.Error, match="learned classification, which is not for NodeRegressor"):
        qw.NodeRegressor.load(tmp_path / "run")
    twice = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(fitted))))
    np.testing.assert_array_equal(twice.predict_proba(), fitted.predict_proba())


def test_values_in_a_time():
    x, y, edges = two_groups()
    values = y + 0.1 * x[:, 0]
    found = qw.AutoNodeRegressor(time="6s", seed=1).fit(x, values, edges=edges)
    assert found.score() > 0.5
    assert found.predict().shape == (120,)
    assert found.outcome_["seconds"] < 9


def test_progress_is_shown(capfd):
    x, y, edges = two_groups(60)
    qw.AutoNodeClassifier(trials=3, verbose=1).fit(x, y, edges=edges)
    assert "trials left; best" in capfd.readouterr().err


def test_what_is_wrong_is_said(tmp_path):
    x, y, edges = two_groups(60)
    for time in ("soon", 0, -1, "inf", "3 days"):
        with pytest.raises(qw.Error, match="is no time; give seconds, or '90s', '5m', '2h'"):
            qw.AutoNodeClassifier(time=time).fit(x, y, edges=edges)
    for wrong in ({"trials": -1}, {"trials": "x"}, {"seed": -1}):
        with pytest.raises(qw.Error, match="must be a whole number that is not negative"):
            qw.AutoNodeClassifier(**wrong).fit(x, y, edges=edges)
    with pytest.raises(qw.Error, match="has no parameter 'hidden'"):
        qw.AutoNodeClassifier().set_params(hidden=3)
    with pytest.raises(qw.Error, match="is no folder of qw fit"):
        qw.AutoNodeClassifier.load(tmp_path)
    with pytest.raises(qw.Error, match="metric"):
        qw.AutoNodeClassifier(trials=2, metric="beauty").fit(x, y, edges=edges)


def test_scikit_learn_copies_it():
    base = pytest.importorskip("sklearn.base", reason="scikit-learn is not installed")
    made = base.clone(qw.AutoNodeClassifier(time=20, seed=4))
    assert made.get_params()["time"] == 20 and made.get_params()["seed"] == 4
