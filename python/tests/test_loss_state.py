"""What a loss and its optimiser keep: the unit, labels that were looked at, states of other flows."""

import pytest
import qw
import torch
from random_graphs import random_edges

pytestmark = pytest.mark.filterwarnings("ignore:the optimal flow is zero")


def bernoulli(**more):
    edge_index, nodes = random_edges(5, nodes=30, edges=80, loops=False)
    return qw.QWLoss(edge_index, nodes, 3, lam=50.0, divergence="bernoulli", **more), torch.randn(nodes, 3)


def test_the_unit_moves_as_the_flow_does():
    """An optimiser that was made before has both, and a scaler finds their gradients in it."""
    loss, out = bernoulli()
    opt = loss.optimizer(lr=0.1)
    y = torch.randint(2, out.shape)
    loss(out, y).backward()
    loss.double()
    flow, unit = opt.param_groups[-1]["params"]
    assert flow is loss.flow and unit is loss._unit
    assert unit.dtype == flow.dtype == flow.grad.dtype == unit.grad.dtype == torch.float64
    opt.zero_grad()
    (8 * loss(out.double(), y)).backward()
    for parameter in opt.param_groups[-1]["params"]:
        parameter.grad /= 8
    other, _ = bernoulli(dtype=torch.float64)
    alone = other.optimizer(lr=0.1)
    other(out.double(), y).backward()
    assert torch.allclose(unit.grad, other._unit.grad)
    opt.step(), alone.step()
    assert torch.allclose(loss.flow, other.flow)


def test_unknown_bernoulli_labels():
    """Negative integers and NaN are the same; true and false are 1 and 0."""
    loss, out = bernoulli()
    y = torch.randint(2, out.shape)
    y[::4, 1] = -1
    y[3] = -7
    known = torch.where(y < 0, torch.tensor(float("nan")), y.float())
    assert torch.equal(loss(out, y), loss(out, known))
    assert torch.allclose(loss._composed(out, y, None), loss(out, known))
    mask = torch.arange(30) < 12
    assert torch.equal(loss(out, y, mask), loss(out, known, mask))
    assert torch.equal(loss(out, y > 0), loss(out, (y > 0).float()))
    with torch.no_grad():
        loss.flow.normal_()
    assert torch.allclose(loss(out, y), loss._composed(out, y, None))


@pytest.mark.parametrize("wrong", [-1.0, 1.5, float("inf")])
def test_bernoulli_labels_are_from_zero_to_one(wrong):
    loss, out = bernoulli()
    y = torch.rand(out.shape)
    loss(out, y)
    y[4, 1] = wrong  # what was looked at before has changed
    for _ in range(2):
        with pytest.raises(qw.Error, match=f"y has {wrong:g}: bernoulli takes labels from 0 to 1, and NaN") as raised:
            loss(out, y)
    assert "\n" not in str(raised.value)
    with pytest.raises(qw.Error, match="y has 2: bernoulli"):
        loss(out, torch.full(out.shape, 2))


def test_labels_are_looked_at_once(monkeypatch):
    loss, out = bernoulli()
    y = torch.rand(out.shape)
    loss(out, y)
    looked = []
    labels = type(loss)._labels
    monkeypatch.setattr(type(loss), "_labels", lambda self, y: looked.append(1) or labels(self, y))
    loss(out, y)
    assert len(looked) == 1  # by the loss itself


def test_a_flow_of_another_graph_overwrites_nothing():
    one, other = (qw.QWLoss(torch.tensor(edges), 3, 2) for edges in ([[0, 1], [1, 2]], [[0, 0], [1, 2]]))
    with torch.no_grad():
        one.flow.fill_(1.0)
    model = torch.nn.ModuleDict({"loss": other})
    for load in (lambda: other.load_state_dict(one.state_dict()),
                 lambda: model.load_state_dict({f"loss.{name}": value for name, value in one.state_dict().items()}),
                 lambda: other.load_state_dict({"flow": one.flow, "_extra_state": 3})):
        with pytest.raises(qw.Error, match="this flow belongs to another graph"):
            load()
        assert not other.flow.any()


def test_states_of_other_optimisers_change_nothing():
    loss, out = bernoulli()
    model = torch.nn.Linear(3, 3)
    opt = loss.optimizer(model.parameters(), lr=0.1)
    loss(model(out), torch.rand(out.shape)).backward()
    opt.step()
    with pytest.raises(qw.Error, match="this state is of another optimiser: it has no network and flow"):
        opt.load_state_dict(torch.optim.Adam(model.parameters()).state_dict())
    small = qw.QWLoss(torch.tensor([[0, 1], [1, 2]]), 3, 3).optimizer(model.parameters(), lr=0.7)
    with pytest.raises(qw.Error, match=r"this state is of a flow \[\d+, 3\], the flow of this loss is \[2, 3\]"):
        small.load_state_dict(opt.state_dict())
    assert small.param_groups[0]["lr"] == 0.7 and small.state_dict()["flow"]["step"] == 0
