"""PyTorch Geometric's masks: who trains, validates and tests, in one run or in several."""

import sys
import types

import numpy as np
import pytest
import qw
import torch

NODES = 20


@pytest.fixture
def data(monkeypatch):
    """Makes a Data object with these masks; a plain one where torch_geometric is not installed."""
    try:
        from torch_geometric.data import Data
    except ImportError:
        class Data(types.SimpleNamespace):
            num_nodes = NODES

            def is_directed(self):
                return False

        monkeypatch.setitem(sys.modules, "torch_geometric.data", types.SimpleNamespace(Data=Data))

    def make(**masks):
        edge_index = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
        return Data(x=torch.randn(NODES, 3), edge_index=edge_index, y=torch.arange(NODES) % 2, **masks)

    return make


def mask(*nodes, runs=None):
    made = torch.zeros(NODES, *(() if runs is None else (runs,)), dtype=torch.bool)
    for run in range(runs or 1):
        (made if runs is None else made[:, run])[torch.tensor(nodes) + run] = True
    return made


def test_one_test_mask_serves_all_runs(data):
    """As WikiCS has them."""
    made = qw.from_pyg(data(train_mask=mask(0, 1, runs=3), val_mask=mask(5, 6, runs=3), test_mask=mask(15, 16, 17)))
    for run in range(3):
        split = made.split(run=run)
        assert split.train.tolist() == [run, run + 1] and split.val.tolist() == [run + 5, run + 6]
        assert split.test.tolist() == [15, 16, 17]
    assert made.notes == []


def test_masks_of_one_run(data):
    split = qw.from_pyg(data(train_mask=mask(0, 1), val_mask=mask(5), test_mask=mask(15, 16))).split()
    assert [part.tolist() for part in (split.train, split.val, split.test)] == [[0, 1], [5], [15, 16]]


def test_without_a_validation_mask(data):
    given = data(train_mask=mask(*range(10)), test_mask=mask(*range(10, 20)))
    with pytest.warns(UserWarning, match="there is no val_mask: a training keeps its last epoch"):
        made = qw.from_pyg(given)
    split = made.split()
    assert split.train.tolist() == list(range(10)) and split.test.tolist() == list(range(10, 20))
    assert split.val.size == 0 and made.notes == ["there is no val_mask: a training keeps its last epoch"]
    with pytest.warns(UserWarning, match="there is no val_mask|no node is in the part val"):
        model = qw.NodeClassifier("mlp", "ce", epochs=4).fit(given)
    right = model.predict()[10:] == np.arange(10, 20) % 2
    assert model.score() == pytest.approx(right.mean()) and model.results_[0]["epochs"] == 4


@pytest.mark.parametrize("there", [("train_mask",), ("train_mask", "val_mask"), ("test_mask",), ("val_mask",)])
def test_masks_that_say_too_little(data, there):
    with pytest.warns(UserWarning, match="the masks are not used"):
        made = qw.from_pyg(data(**{name: mask(1, 2) for name in there}))
    assert made.notes == ["the masks are not used: train_mask and test_mask are needed; a split is drawn"]
    assert made.split().train.size > 2


@pytest.mark.parametrize(
    ("masks", "text"),
    [
        ((mask(0, runs=2), mask(1, runs=3), mask(2)), r"one for each run; train, val and test have \[2, 3, 1\]"),
        ((mask(0)[:7], mask(1), mask(2)), r"train_mask must have a row for each of 20 nodes, got the shape \[7, 1\]"),
        ((mask(0), mask(1)[:, None, None], mask(2)), "val_mask must have a row for each"),
    ],
)
def test_masks_that_do_not_fit(data, masks, text):
    with pytest.raises(qw.Error, match=text) as raised:
        qw.from_pyg(data(**dict(zip(("train_mask", "val_mask", "test_mask"), masks))))
    assert "\n" not in str(raised.value)
