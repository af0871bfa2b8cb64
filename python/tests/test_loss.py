"""QWLoss beside a dense reference, and in the ways people use a loss."""

import copy
import pickle
import warnings

import pytest
import qw
import torch
from random_graphs import random_edges

pytestmark = pytest.mark.filterwarnings("ignore:the optimal flow is zero")


def dense_loss(loss, out, y, mask):
    """The definition, with S as a dense matrix."""
    edges = loss.flow.shape[0]
    s = torch.zeros(loss.num_nodes, edges, dtype=loss.flow.dtype, device=out.device)
    numbers = torch.arange(edges, device=out.device)
    s.index_put_((loss.heads.long(), numbers), torch.ones(edges, dtype=s.dtype, device=s.device), accumulate=True)
    s.index_put_((loss.tails.long(), numbers), -torch.ones(edges, dtype=s.dtype, device=s.device), accumulate=True)
    scores = out + s @ loss.flow
    cost = loss.cost if loss.cost is not None else torch.ones(edges, dtype=s.dtype, device=s.device)
    rows = scores[mask]
    reduction = loss.reduction
    if loss.divergence == "softmax":
        divergence = torch.nn.functional.cross_entropy(rows, y[mask], reduction=reduction)
    elif loss.divergence == "bernoulli":
        divergence = torch.nn.functional.binary_cross_entropy_with_logits(rows, y[mask], reduction=reduction)
    else:
        divergence = torch.nn.functional.mse_loss(rows, y[mask], reduction=reduction)
    return (cost[:, None] * loss.flow.abs()).sum() + loss.lam * divergence


@pytest.mark.parametrize("divergence", ["softmax", "bernoulli", "least_squares"])
def test_value_and_gradients_are_the_dense_ones(divergence, device):
    for seed in range(50):
        generator = torch.Generator().manual_seed(seed)
        edge_index, nodes = random_edges(seed)
        classes = int(torch.randint(1, 6, (1,), generator=generator))
        loss = qw.QWLoss(
            edge_index.to(device), nodes, classes, lam=3.0, divergence=divergence, dtype=torch.float64,
            edge_cost=torch.rand(edge_index.shape[1], generator=generator) if seed % 2 else None,
            directed=seed % 3 == 0, reduction="sum" if seed % 5 == 0 else "mean",
        )
        with torch.no_grad():
            loss.flow.copy_(torch.randn(loss.flow.shape, dtype=torch.float64, generator=generator))
            loss.flow[::3] = 0
        out = torch.randn(nodes, classes, dtype=torch.float64, generator=generator).to(device).requires_grad_()
        y = {
            "softmax": torch.randint(classes, (nodes,), generator=generator),
            "bernoulli": torch.randint(2, (nodes, classes), generator=generator).double(),
            "least_squares": torch.randn(nodes, classes, dtype=torch.float64, generator=generator),
        }[divergence].to(device)
        mask = (torch.rand(nodes, generator=generator) < 0.6).to(device)
        mask[0] = True
        ours, theirs = loss(out, y, mask), dense_loss(loss, out, y, mask)
        assert torch.allclose(ours, theirs, rtol=1e-12, atol=1e-12)
        for one, other in zip(*(torch.autograd.grad(2 * v, [out, loss.flow]) for v in (ours, theirs))):
            assert torch.allclose(one, other, rtol=1e-12, atol=1e-12)
        where = mask.nonzero().flatten()
        assert torch.equal(loss(out, y, where), ours)
        scores = loss.predict(out)
        assert torch.allclose(scores - out, dense_transport(loss), atol=1e-12)


def dense_transport(loss):
    moved = torch.zeros(loss.num_nodes, loss.num_classes, dtype=loss.flow.dtype, device=loss.flow.device)
    return moved.index_add(0, loss.heads.long(), loss.flow).index_add(0, loss.tails.long(), -loss.flow).detach()


def test_doubled_edges_are_one(device):
    single, nodes = random_edges(1, nodes=12, edges=30, loops=False)
    doubled = torch.cat([single, single.flip(0)], dim=1)
    one, other = (qw.QWLoss(edges.to(device), nodes, 3) for edges in (single, doubled))
    assert torch.equal(one.heads, other.heads) and torch.equal(one.tails, other.tails)
    assert torch.equal(one.edge_of_given, other.edge_of_given[: single.shape[1]])


def problem(device="cpu", dtype=torch.float32, lam=50.0):
    edge_index, nodes = random_edges(5, nodes=30, edges=80, loops=False)
    loss = qw.QWLoss(edge_index.to(device), nodes, 4, lam=lam, dtype=dtype)
    x = torch.randn(nodes, 6, device=device, dtype=dtype)
    model = torch.nn.Linear(6, 4, device=device, dtype=dtype)
    y = torch.randint(4, (nodes,), device=device)
    mask = torch.arange(nodes, device=device) < 12
    return loss, model, x, y, mask


def proximal_reference(flow, gradient, first, second, step, lr, cost=1.0):
    """One entry at a time, by the definition."""
    first.mul_(0.9).add_(0.1 * gradient)
    second.mul_(0.999).add_(0.001 * gradient * gradient)
    root = (second / (1 - 0.999**step)).sqrt() + 1e-8
    moved = flow - lr * (first / (1 - 0.9**step)) / root
    return moved.sign() * (moved.abs() - lr * cost / root).clamp(min=0)


def test_training_lowers_the_loss_and_steps_are_proximal(device):
    loss, model, x, y, mask = problem(device, torch.float64)
    opt = loss.optimizer(model.parameters(), lr=0.05)
    plain = copy.deepcopy(model)
    theirs = torch.optim.Adam(plain.parameters(), lr=0.05)
    flow = torch.zeros_like(loss.flow)
    first, second = torch.zeros_like(flow), torch.zeros_like(flow)
    values = []
    for step in range(1, 80):
        opt.zero_grad()
        value = loss(model(x), y, mask)
        value.backward()
        opt.step()
        values.append(value.item())
        theirs.zero_grad()
        out = plain(x)
        leaf = flow.clone().requires_grad_()
        moved = torch.zeros_like(out).index_add(0, loss.heads.long(), leaf).index_add(0, loss.tails.long(), -leaf)
        smooth = loss.lam * torch.nn.functional.cross_entropy((out + moved)[mask], y[mask])
        smooth.backward()
        theirs.step()
        flow = proximal_reference(flow, leaf.grad, first, second, step, 0.05)
        assert torch.allclose(loss.flow, flow, atol=1e-10), step
    assert values[-1] < values[0] / 2
    assert (loss.flow == 0).any() and (loss.flow != 0).any()


def test_accumulation_and_scaling_change_nothing(device):
    """Two halves of the loss, or a scaled one that is unscaled, are the same step."""
    flows = []
    for way in ("whole", "halves", "scaled"):
        torch.manual_seed(0)
        loss, model, x, y, mask = problem(device, torch.float64)
        opt = loss.optimizer(model.parameters(), lr=0.05)
        for _ in range(5):
            opt.zero_grad()
            if way == "halves":
                for _ in range(2):
                    (loss(model(x), y, mask) / 2).backward()
            elif way == "scaled":
                (loss(model(x), y, mask) * 8).backward()
                for group in opt.param_groups:
                    for parameter in group["params"]:
                        parameter.grad /= 8
            else:
                loss(model(x), y, mask).backward()
            opt.step()
        flows.append(loss.flow.detach().clone())
    assert torch.allclose(flows[0], flows[1], atol=1e-12) and torch.allclose(flows[0], flows[2], atol=1e-12)


def test_state_copies_and_pickles(device):
    loss, model, x, y, mask = problem(device)
    opt = loss.optimizer(model.parameters(), lr=0.05)
    for _ in range(3):
        opt.zero_grad()
        loss(model(x), y, mask).backward()
        opt.step()
    others = [copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))]
    fresh = problem(device)[0]
    fresh.load_state_dict(loss.state_dict())
    for other in [*others, fresh]:
        assert torch.equal(other.flow, loss.flow)
        assert torch.equal(other(model(x), y, mask), loss(model(x), y, mask))
    again = copy.deepcopy(loss), copy.deepcopy(model)
    opt2 = again[0].optimizer(again[1].parameters(), lr=0.3)
    opt2.load_state_dict(copy.deepcopy(opt.state_dict()))
    for each, net, o in ((loss, model, opt), (*again, opt2)):
        o.zero_grad()
        each(net(x), y, mask).backward()
        o.step()
    assert torch.equal(loss.flow, again[0].flow)
    assert {name for name in loss.state_dict()} == {"flow", "_extra_state"}
    assert [name for name, _ in loss.named_parameters()] == ["flow"]


def test_a_flow_of_another_graph_is_refused():
    one = qw.QWLoss(torch.tensor([[0, 1], [1, 2]]), 3, 2)
    other = qw.QWLoss(torch.tensor([[0, 0], [1, 2]]), 3, 2)
    with pytest.raises(Exception, match="another graph"):
        other.load_state_dict(one.state_dict())


def test_moves_to_other_types():
    loss, model, x, y, mask = problem()
    loss.double()
    assert loss.flow.dtype == torch.float64
    loss(model.double()(x.double()), y, mask).backward()
    assert loss.flow.grad.dtype == torch.float64 and loss._unit.grad.dtype == torch.float64


def test_half_precision_outputs_are_compared_in_the_flows_type():
    loss, model, x, y, mask = problem()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(x)
        assert out.dtype == torch.bfloat16
        value = loss(out, y, mask)
    assert value.dtype == torch.float32
    assert torch.equal(value, loss(out.float(), y, mask))
    value.backward()


def test_the_flow_can_be_stepped_alone():
    flows = []
    for together in (True, False):
        torch.manual_seed(0)
        loss, model, x, y, mask = problem(dtype=torch.float64)
        opts = [loss.optimizer(model.parameters(), lr=0.1)]
        if not together:
            opts = [torch.optim.Adam(model.parameters(), lr=0.1), loss.optimizer(lr=0.1)]
        for _ in range(5):
            for opt in opts:
                opt.zero_grad()
            loss(model(x), y, mask).backward()
            for opt in opts:
                opt.step()
        flows.append(loss.flow.detach().clone())
        alone = loss.optimizer(lr=0.1)
        if not together:
            alone.load_state_dict(opts[1].state_dict())
            assert alone.state_dict()["flow"]["step"] == 5
        else:
            with pytest.raises(qw.Error, match="has a network"):
                alone.load_state_dict(opts[0].state_dict())
    assert torch.equal(*flows) and flows[0].abs().sum() > 0
    with pytest.raises(qw.Error, match="momentum"):
        loss.optimizer(momentum=0.9)


def test_schedulers_and_closures_work():
    loss, model, x, y, mask = problem()
    opt = loss.optimizer(model.parameters(), lr=0.1, optimizer=torch.optim.SGD, momentum=0.9, flow_lr=0.2)
    schedule = torch.optim.lr_scheduler.ExponentialLR(opt, 0.5)

    def closure():
        opt.zero_grad()
        value = loss(model(x), y, mask)
        value.backward()
        return value

    first = opt.step(closure)
    schedule.step()
    assert [group["lr"] for group in opt.param_groups] == [0.05, 0.1]
    assert opt.step(closure) < first


@pytest.mark.skipif(not hasattr(torch, "func"), reason="torch.func came with torch 2.0")
def test_functional_gradients():
    loss, model, x, y, mask = problem(dtype=torch.float64)
    out = model(x).detach()
    flow = torch.randn_like(loss.flow)

    def value(flow, out):
        return torch.func.functional_call(loss, {"flow": flow}, (out, y, mask))

    by_func = torch.func.grad(value, argnums=(0, 1))(flow, out)
    leaves = flow.clone().requires_grad_(), out.clone().requires_grad_()
    by_autograd = torch.autograd.grad(value(*leaves), leaves)
    for one, other in zip(by_func, by_autograd):
        assert torch.allclose(one, other, atol=1e-12)
    several = torch.stack([out, out + 1, out * 2])
    batched = torch.func.vmap(lambda each: value(flow, each))(several)
    assert torch.allclose(batched, torch.stack([value(flow, each) for each in several]), atol=1e-12)


@pytest.mark.parametrize("divergence", ["softmax", "bernoulli", "least_squares", "distribution"])
def test_the_composed_loss_is_the_operator(divergence):
    """What torch.func sees, beside the fused operator, with unknown labels and weights of classes."""
    edge_index, nodes = random_edges(8, nodes=20, edges=60)
    kind = "softmax" if divergence == "distribution" else divergence
    loss = qw.QWLoss(edge_index, nodes, 3, divergence=kind, dtype=torch.float64, class_weight=[1.0, 0.5, 2.0],
                     edge_cost=torch.rand(60))
    with torch.no_grad():
        loss.flow.normal_()
    out = torch.randn(nodes, 3, dtype=torch.float64)
    y = {
        "softmax": torch.randint(-1, 3, (nodes,)),
        "bernoulli": torch.rand(nodes, 3, dtype=torch.float64),
        "least_squares": torch.randn(nodes, 3, dtype=torch.float64),
        "distribution": torch.softmax(torch.randn(nodes, 3, dtype=torch.float64), 1),
    }[divergence]
    if y.is_floating_point():
        y[torch.rand(nodes, 3) < 0.2] = torch.nan
        y[3] = torch.nan
        if divergence == "distribution":
            y[y.isnan().any(1)] = torch.nan
    for mask in (None, y >= 0 if not y.is_floating_point() else y.isnan().logical_not().any(1)):
        assert torch.allclose(loss(out, y, mask), loss._composed(out, y, mask), atol=1e-12)


def test_says_once_that_the_flow_will_be_zero():
    loss, model, x, y, mask = problem(lam=1.0)
    with pytest.warns(UserWarning, match=r"the optimal flow is zero: .* lam above 6, or reduction='sum'"):
        loss(model(x), y, mask)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss(model(x), y, mask)
        loss = problem(lam=6.5)[0]
        loss(model(x), y, mask)


def test_the_flow_is_zero_when_it_was_said():
    loss, model, x, y, mask = problem(dtype=torch.float64, lam=5.9)
    with torch.no_grad():
        loss.flow.normal_()
    opt = loss.optimizer(model.parameters(), lr=0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2000):
            opt.zero_grad()
            loss(model(x), y, mask).backward()
            opt.step()
    assert not loss.flow.any()


def labels_and_outputs(divergence, nodes, classes):
    """Labels, some of them unknown, and outputs that are as wrong as can be; neighbours err in opposite directions."""
    side = torch.arange(nodes) % 2
    certain = torch.full((nodes, classes), -40.0, dtype=torch.float64)
    if divergence == "bernoulli":
        y = side.double().unsqueeze(1).repeat(1, classes)
        out = 80 * (0.5 - y)
        y[2::5, 0] = torch.nan
        y[3] = torch.nan
        return y, out
    certain[torch.arange(nodes), 1 - side] = 40.0
    if divergence == "classes":
        return torch.where(torch.arange(nodes) % 5 == 3, -1, side), certain
    y = torch.nn.functional.one_hot(side, classes).double()
    y[3] = torch.nan
    return y, certain


@pytest.mark.parametrize("divergence", ["classes", "distributions", "bernoulli"])
@pytest.mark.parametrize("masked", ["", "bool", "numbers"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_flow_is_said_to_be_zero_when_no_gradient_reaches_a_cost(divergence, masked, weighted):
    """The bound is reached by neighbours that err in opposite directions, and no gradient is larger."""
    nodes, classes = 12, 4
    edges = torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)])
    y, out = labels_and_outputs(divergence, nodes, classes)
    known = y >= 0 if divergence == "classes" else y.isnan().logical_not().any(1)
    mask = known & (torch.arange(nodes) < 8) if masked else None
    if masked == "numbers":
        mask = mask.nonzero().flatten()
    costs, heaviest = torch.full((nodes - 1,), 3.0 if weighted else 1.0), 1.5 if weighted else 1.0
    more = {"edge_cost": costs, "class_weight": torch.full((classes,), heaviest)} if weighted else {}
    kind = "bernoulli" if divergence == "bernoulli" else "softmax"

    def slope(lam):
        """The largest gradient of the mean of divergences, beside the cost of an edge, and whether it was said."""
        loss = qw.QWLoss(edges, nodes, classes, lam, divergence=kind, dtype=torch.float64, **more)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            loss(out, y, mask).backward()
        return float(loss.flow.grad.abs().max() / costs[0]), said

    largest, said = slope(1.0)
    enough = 1 / largest
    assert len(said) == 1 and f"lam above {enough:g}," in str(said[0].message)
    below, said = slope(0.99 * enough)
    assert below < 1 and len(said) == 1
    above, said = slope(1.01 * enough)
    assert above > 1 and not said


def test_groups_that_are_added_are_stepped():
    loss, model, x, y, mask = problem(lam=50.0)
    more = torch.nn.Linear(4, 4)
    opt = loss.optimizer(model.parameters(), lr=0.1)
    opt.add_param_group({"params": list(more.parameters()), "lr": 0.2})
    assert [group["lr"] for group in opt.param_groups] == [0.1, 0.2, 0.1] and opt.param_groups[-1] is opt.flow_group
    before = more.weight.clone()
    loss(more(model(x)), y, mask).backward()
    opt.step()
    assert not torch.equal(more.weight, before)
    with pytest.raises(qw.Error, match="the flow is among"):
        opt.add_param_group({"params": [loss.flow]})
    assert len(opt.param_groups) == 3 and len(opt.network.param_groups) == 2
    with pytest.raises(qw.Error, match="steps the flow alone"):
        loss.optimizer(lr=0.1).add_param_group({"params": [torch.zeros(2, requires_grad=True)]})


@pytest.mark.parametrize("again", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_of_an_optimiser_go_on(again):
    loss, model, x, y, mask = problem(lam=50.0)
    opt = loss.optimizer(model.parameters(), lr=0.05)

    def steps(loss, model, opt):
        for _ in range(3):
            opt.zero_grad()
            loss(model(x), y, mask).backward()
            opt.step()

    steps(loss, model, opt)
    copied = again((loss, model, opt))
    start = loss.flow.detach().clone()
    steps(*copied)
    assert torch.equal(loss.flow, start) and not torch.equal(copied[0].flow, start)
    steps(loss, model, opt)
    assert torch.equal(copied[0].flow, loss.flow)
    for one, other in zip(copied[1].parameters(), model.parameters()):
        assert torch.equal(one, other)
    assert copied[2].param_groups[-1]["params"][0] is copied[0].flow
    alone = again((loss, loss.optimizer(lr=0.05)))
    alone[0](model(x), y, mask).backward()
    before = alone[0].flow.detach().clone()
    alone[1].step()
    assert not torch.equal(alone[0].flow, before)


def test_edge_weights_reach_any_layer():
    edge_index, nodes = random_edges(6, nodes=15, edges=40, both=True)
    loss = qw.QWLoss(edge_index, nodes, 3, lam=50.0)
    weights = qw.EdgeWeights(loss, hidden=8)
    with torch.no_grad():
        loss.flow.normal_()
    edge_weight = weights()
    assert edge_weight.shape == (edge_index.shape[1],)
    loops = edge_index[0] == edge_index[1]
    assert (edge_weight[loops] == 1).all()
    assert ((edge_weight[~loops] > 0) & (edge_weight[~loops] < 1)).all()
    half = edge_index.shape[1] // 2
    assert torch.equal(edge_weight[:half], edge_weight[half:])
    edge_weight.sum().backward()
    assert loss.flow.grad.abs().sum() > 0
    assert len(list(weights.parameters())) == 4


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda e: qw.QWLoss(e, 30), "num_classes must be"),
        (lambda e: qw.QWLoss(e, 30, 3, divergence="kl"), "divergence must be"),
        (lambda e: qw.QWLoss(e, 30, 3, reduction="none"), "reduction must be"),
        (lambda e: qw.QWLoss(e, 30, 3, lam=-1.0), "lam must be"),
        (lambda e: qw.QWLoss(e, 30, 3, dtype=torch.float16), "dtype must be"),
        (lambda e: qw.QWLoss(e, 5, 3), "node"),
        (lambda e: qw.QWLoss(e.float() + 0.5, 30, 3), "whole numbers"),
        (lambda e: qw.QWLoss(e, 30, 3, edge_cost=torch.ones(2)), "costs must have one number"),
        (lambda e: qw.QWLoss(e, 30, 3, edge_cost=-torch.ones(e.shape[1])), "cost"),
        (lambda e: qw.QWLoss(e, 30, 3, class_weight=[1.0]), "class_weight must be"),
        (lambda e: qw.QWLoss(e, 30, 3).optimizer([torch.zeros(1)], flow_rule="x"), "flow_rule must be"),
        (lambda e: (lambda m: m.optimizer(m.parameters()))(qw.QWLoss(e, 30, 3)), "among the network's"),
    ],
)
def test_constructors_refuse(call, text):
    edge_index, _ = random_edges(5, nodes=30, edges=80)
    with pytest.raises(qw.Error, match=text) as raised:
        call(edge_index)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda o, y, m: (o[:5], y, m), "out must be"),
        (lambda o, y, m: (o.double(), y, m), "give the loss dtype"),
        (lambda o, y, m: (o, y[:5], m), "labels must be"),
        (lambda o, y, m: (o, y + 4, m), r"labels must be in \[0, 4\)"),
        (lambda o, y, m: (o, y, m[:3]), "mask must be"),
        (lambda o, y, m: (o, y, m.float()), "mask must be"),
        (lambda o, y, m: (o, y, torch.tensor([1, 1])), "no node twice"),
        (lambda o, y, m: (o, y, torch.tensor([99])), "mask must be in"),
        (lambda o, y, m: (o, y.bool(), m), "labels must be"),
    ],
)
def test_calls_refuse(change, text):
    loss, model, x, y, mask = problem()
    with pytest.raises(qw.Error, match=text) as raised:
        loss(*change(model(x), y, mask))
    assert "\n" not in str(raised.value)
