"""Operators: gradients against finite differences, what torch asks of an operator, and refusals."""

import warnings

import pytest
import qw
import torch
from qw import ops
from random_graphs import random_edges

DOUBLE = torch.float64
VERSION = tuple(int(number) for number in torch.__version__.split(".")[:2])


def matrix(seed=0, nodes=9, edges=30):
    edge_index, nodes = random_edges(seed, nodes=nodes, edges=edges)
    pattern, _ = ops.pattern(edge_index[1], edge_index[0], nodes, nodes)
    return pattern, nodes, edges


def graph(seed=0, nodes=9, edges=20):
    edge_index, nodes = random_edges(seed, nodes=nodes, edges=edges)
    return ops.incidence_of(edge_index[1], edge_index[0], nodes), nodes, edges


def numbers(*shape, seed=1):
    generator = torch.Generator().manual_seed(seed)
    made = torch.randn(*shape, dtype=DOUBLE, generator=generator)
    return (made + made.sign() * 0.1).requires_grad_()


def on(device, value):
    """The same there: tensors, alone or in lists."""
    if isinstance(value, (list, tuple)):
        return type(value)(on(device, each) for each in value)
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().to(device).requires_grad_(value.requires_grad)


def cases():
    """Name: the operator, its arguments; those that require a gradient are differentiated."""
    pattern, nodes, entries = matrix()
    incidence, _, edges = graph()
    positive = (numbers(entries, seed=2).detach().abs() + 0.5).requires_grad_()
    y = torch.arange(nodes) % 3
    values = numbers(nodes, 3, seed=5).detach()
    known = torch.tensor([0, 3, 5], dtype=torch.int32)
    q = torch.ops.qw
    qw.ops.operators()
    edge_of_entry = torch.tensor([0, 1, 1, -1, 2])
    entries_of = torch.tensor([[0, -1], [1, 2], [4, -1]])
    labelled = torch.arange(nodes, dtype=torch.int32)
    heads, tails = torch.arange(1, nodes, dtype=torch.int32), torch.arange(nodes - 1, dtype=torch.int32)
    shifted = values - values.mean(0)
    p, g = list(pattern), list(incidence)
    return {
        "spmm": (q.spmm, (p, positive, numbers(nodes, 3), numbers(nodes, 3, seed=4))),
        "spmm-alone": (q.spmm, (p, positive, numbers(nodes, 3))),
        "chebyshev_filter": (q.chebyshev_filter, (p, (positive.detach() / 20).requires_grad_(), numbers(4), numbers(nodes, 2))),
        "graph_attention": (
            q.graph_attention, (p, numbers(nodes, 6), numbers(1, 2, 3), numbers(1, 2, 3, seed=8), positive, 0.2, 0.3, 5)
        ),
        "graph_attention-plain": (q.graph_attention, (p, numbers(nodes, 6), numbers(1, 2, 3), numbers(1, 2, 3, seed=8))),
        "normalise": (q.normalise, (p, positive)),
        "normalise-rows": (q.normalise, (p, positive, "rows")),
        "normalise-softmax": (q.normalise, (p, positive, "softmax")),
        "incidence": (q.incidence, (numbers(edges, 3), g)),
        "incidence_transpose": (q.incidence_transpose, (numbers(nodes, 3), g)),
        "edge_values": (q.edge_values, (numbers(3), edge_of_entry, entries_of)),
        "dense_linear": (q.dense_linear, (numbers(nodes, 4), numbers(3, 4))),
        "dropout": (q.dropout, (numbers(nodes, 4), 0.4, 3, 1, 2)),
        "activate": (q.activate, (numbers(nodes, 4), numbers(4, seed=3), "elu", 0.2, 1)),
        "activate-plain": (q.activate, (numbers(nodes, 4),)),
        "batch_norm": (
            q.batch_norm,
            (numbers(nodes, 4), numbers(4), numbers(4), torch.zeros(4, dtype=DOUBLE), torch.ones(4, dtype=DOUBLE)),
        ),
        "layer_norm": (q.layer_norm, (numbers(nodes, 4), numbers(4), numbers(4))),
        "qw_loss": (q.qw_loss, (numbers(nodes, 3), numbers(edges, 3), g, y, y < 2)),
        "qw_loss-values": (
            q.qw_loss,
            (numbers(nodes, 3), numbers(edges, 3), g, values, None, None, None, "least_squares", 2.0, "sum"),
        ),
        "wasserstein1_partial": (
            q.wasserstein1_partial,
            (shifted.clone().requires_grad_(), torch.zeros_like(shifted), labelled, heads, tails, nodes, None, False, 3.0),
        ),
        "divergence": (q.divergence, ("softmax", values, known, torch.tensor([0, 1, 2], dtype=torch.int32))),
    }


NAMES = list(cases())
DIFFERENTIABLE = [name for name in NAMES if name not in ("divergence", "wasserstein1_partial")]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_those_of_finite_differences(name, device):
    operator, arguments = on(device, cases()[name])
    leaves = [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]

    def call(*given):
        left = iter(given)
        return operator(*(next(left) if isinstance(a, torch.Tensor) and a.requires_grad else a for a in arguments))

    assert torch.autograd.gradcheck(call, leaves)


def test_the_distance_has_the_potential_as_its_gradient():
    operator, arguments = cases()["wasserstein1_partial"]
    distance, potential = operator(*arguments)
    distance.sum().backward()
    assert torch.equal(arguments[0].grad, -potential)


@pytest.mark.skipif(not hasattr(torch.library, "opcheck"), reason="torch.library.opcheck came with torch 2.4")
@pytest.mark.parametrize("name", NAMES)
def test_operators_are_what_torch_asks_of_them(name, device):
    operator, arguments = on(device, cases()[name])
    torch.library.opcheck(operator.default, arguments)


def internals():
    pattern, nodes, entries = matrix()
    incidence, _, edges = graph()
    p, g = list(pattern), list(incidence)
    q = torch.ops.qw
    plain = [numbers(*shape).detach() for shape in ((nodes, 3), (entries,), (edges, 3), (4,))]
    rows, values, flow, coefficients = plain
    key = [1, 0, 0]
    heads = numbers(1, 3, 1).detach()
    result, statistics = q._graph_attention_forward(p, rows, heads, heads, None, 0.2, 0.0, key)
    normalised, scales = q._normalise_forward(p, values.abs() + 1, "symmetric")
    terms, _ = q._chebyshev_forward(p, values, coefficients, rows)
    ones, zeros = torch.ones(3, dtype=DOUBLE), torch.zeros(3, dtype=DOUBLE)
    normed, moments = q._layer_norm_forward(rows, ones, zeros, 1e-5)
    of_batch = q._batch_norm_forward(rows, ones, zeros, zeros.clone(), ones.clone(), False, 0.1, 1e-5)[1]
    y = torch.arange(nodes) % 3
    residual = q._qw_loss_forward(rows, flow, g, y, None, None, None, "softmax", 1.0, "mean")[1]
    return {
        "_csr_matmul": (*p[:2], p[4][:0], values, rows),
        "_sampled_products": (*p[:2], rows, rows),
        "_chebyshev_forward": (p, values, coefficients, rows),
        "_chebyshev_backward": (p, values, coefficients, terms, rows, True),
        "_graph_attention_forward": (p, rows, heads, heads, None, 0.2, 0.0, key),
        "_graph_attention_backward": (p, rows, heads, heads, None, result, statistics, rows, 0.2, 0.0, key, False),
        "_normalise_forward": (p, values.abs() + 1, "symmetric"),
        "_normalise_backward": (p, normalised, scales, values, "symmetric"),
        "_edge_values_backward": (numbers(5).detach(), torch.tensor([[0, -1], [1, 2], [4, -1]])),
        "_blocked_product": (rows, rows.t().contiguous()),
        "_blocked_transposed_product": (rows, rows),
        "_activate_backward": (rows, rows, True, "relu", 0.0, 0, 0, 0),
        "_layer_norm_forward": (rows, ones, zeros, 1e-5),
        "_layer_norm_backward": (rows, ones, moments, rows),
        "_batch_norm_forward": (rows, ones, zeros, zeros.clone(), ones.clone(), False, 0.1, 1e-5),
        "_batch_norm_backward": (rows, ones, of_batch, rows, False),
        "_incidence_into_": (torch.zeros(nodes, 3, dtype=DOUBLE), flow, g),
        "_flow_step_": (
            flow.clone(), flow * 0, flow * 0, *g[:2], rows, flow, None, None, "proximal", 0.1, 0.0, 1, False,
            torch.zeros(3, dtype=DOUBLE),
        ),
        "_qw_loss_forward": (rows, flow, g, y, None, None, None, "softmax", 1.0, "mean"),
        "_qw_loss_backward": (torch.ones((), dtype=DOUBLE), residual, flow, g, None),
        "adam_": ([flow.clone()], [flow], [flow * 0], [flow * 0]),
    }


@pytest.mark.skipif(not hasattr(torch.library, "opcheck"), reason="torch.library.opcheck came with torch 2.4")
@pytest.mark.parametrize("name", list(internals()) if hasattr(torch.library, "opcheck") else [])
def test_internals_are_what_torch_asks_of_them(name, device):
    torch.library.opcheck(getattr(torch.ops.qw, name).default, on(device, internals()[name]))


def registered():
    return {schema.name.split("::")[1] for schema in torch._C._jit_get_all_schemas() if schema.name.startswith("qw::")}


def test_every_operator_is_checked_here():
    assert {name.split("-")[0] for name in NAMES} | set(internals()) == registered()


def test_what_has_no_gradient_raises():
    predictions = numbers(9, 3)
    value, _ = ops.divergence("softmax", predictions, torch.tensor([0], dtype=torch.int32), torch.tensor([1], dtype=torch.int32))
    with pytest.raises(RuntimeError, match="not implemented"):
        value.backward()
    for name in ("_blocked_product", "_csr_matmul"):
        arguments = [a.clone().requires_grad_() if isinstance(a, torch.Tensor) and a.is_floating_point() else a
                     for a in internals()[name]]
        with pytest.raises(RuntimeError, match="not implemented"):
            getattr(torch.ops.qw, name)(*arguments).sum().backward()


def test_functions_say_what_operators_refuse_in_one_line():
    pattern, nodes, entries = matrix()
    with pytest.raises(qw.Error, match=r"^qw::spmm: dense must be \[9, C\]") as raised:
        ops.spmm(pattern, torch.ones(entries), torch.ones(3, 2))
    assert "\n" not in str(raised.value)
    wrong = pattern._replace(columns=pattern.columns + 5)
    with pytest.raises(qw.Error, match=r"columns must be in \[0, 9\)"):
        ops.spmm(wrong, torch.ones(entries), torch.ones(9, 2))
    with pytest.raises(qw.Error, match="kind must be symmetric, rows or softmax, got 'x'"):
        ops.normalise(pattern, torch.ones(entries), "x")
    with pytest.raises(qw.Error, match="rows must be from 0 to 3"):
        ops.pattern(torch.tensor([4]), torch.tensor([0]), 4, 4)
    with pytest.raises(qw.Error, match="heads and tails"):
        ops.incidence_of(torch.tensor([4]), torch.tensor([0, 1]), 4)


def test_every_public_operator_has_a_function_with_words():
    for name in registered():
        assert name.startswith("_") or getattr(ops, name).__doc__, name


def test_a_changed_index_is_looked_at_again():
    pattern, nodes, entries = matrix()
    x = torch.ones(nodes, 2)
    ops.spmm(pattern, torch.ones(entries), x)
    pattern.columns[0] = 10**9
    with pytest.raises(qw.Error, match="columns must be in"):
        ops.spmm(pattern, torch.ones(entries), x)


@pytest.mark.skipif(VERSION < (2, 4), reason="torch.compile of today")
def test_compiled_training_gives_the_same_numbers(device):
    pyg = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")
    edge_index, nodes = random_edges(5, nodes=30, edges=80, loops=False, both=True)
    x, y, mask = torch.randn(nodes, 6), torch.randint(4, (nodes,)), torch.arange(nodes) < 12
    edge_index, x, y, mask = on(device, (edge_index, x, y, mask))
    ends = []
    for compiled in (False, True):
        torch.manual_seed(1)
        # Self-loops are added by a mask, whose size torch.compile could not trace before.
        model = pyg.GCNConv(6, 4, add_self_loops=VERSION >= (2, 9)).to(device)
        loss = qw.QWLoss(edge_index, nodes, 4, lam=50.0)
        opt = loss.optimizer(model.parameters(), lr=0.05)

        def value(model=model, loss=loss):
            return loss(model(x, edge_index), y, mask)

        step = torch.compile(value, fullgraph=True, backend="aot_eager") if compiled else value
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(10):
                opt.zero_grad()
                step().backward()
                opt.step()
        ends.append((loss.flow.detach().clone(), model.lin.weight.detach().clone()))
    for one, other in zip(*ends):
        assert torch.allclose(one, other, atol=1e-6)
    assert ends[0][0].any()
