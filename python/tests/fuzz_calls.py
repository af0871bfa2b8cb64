"""Calls operators, the loss, layers, graphs and distances with damaged arguments: each must be refused or right.

    python python/tests/fuzz_calls.py [calls] [seed]

An error must be a Python exception; what is accepted must have the shapes that the operator promises without numbers.
"""

import random
import sys
import warnings

import numpy as np
import torch
from test_ops import cases, internals

import qw

REFUSALS = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError, OverflowError, MemoryError)
DTYPES = [torch.float32, torch.float64, torch.int32, torch.int64, torch.bool, torch.float16, torch.uint8, torch.complex64]


def damaged_tensor(tensor, rng):
    """A tensor like it, with one thing wrong."""
    tensor = tensor.detach().clone()
    what = rng.randrange(12)
    if what == 0:
        return tensor.to(rng.choice(DTYPES))
    if what == 1:
        return tensor[: rng.randrange(tensor.shape[0] + 1)] if tensor.dim() else tensor.reshape(1)
    if what == 2:
        return torch.cat([tensor, tensor]) if tensor.dim() else tensor.expand(3)
    if what == 3:
        return tensor.unsqueeze(rng.randrange(tensor.dim() + 1))
    if what == 4:
        return tensor.reshape(-1)
    if what == 5:
        return torch.empty(0, dtype=tensor.dtype)
    if what == 6 and tensor.dim() == 2:
        return tensor.t()
    if what in (7, 8, 9) and tensor.numel():
        flat = tensor.reshape(-1)
        values = [-1, 2**31 - 1, -(2**31), 10**9, 7, 1000]
        if tensor.dtype == torch.int64:
            values += [2**62, -(2**63)]
        if tensor.is_floating_point():
            values = [float("nan"), float("inf"), -6e4, 0.0]
        if tensor.dtype in (torch.int32, torch.int64) or tensor.is_floating_point():
            flat[rng.randrange(flat.numel())] = rng.choice(values)
        return tensor
    if what == 10:
        size = [rng.randrange(5) for _ in range(rng.randrange(4))]
        return torch.zeros(size, dtype=tensor.dtype)
    if what == 11:
        return tensor.to("meta")
    return tensor


def damaged(value, rng):
    if isinstance(value, torch.Tensor):
        return damaged_tensor(value, rng)
    if isinstance(value, (list, tuple)) and value:
        made = list(value)
        if rng.random() < 0.15:
            return made[: rng.randrange(len(made))]
        place = rng.randrange(len(made))
        made[place] = damaged(made[place], rng)
        return made
    if isinstance(value, bool) or value is None:
        return rng.choice([None, True, False, 3, "x", torch.zeros(2)])
    if isinstance(value, (int, float)):
        return rng.choice([0, -1, 1, 2**40, 2**31, -(2**63), 0.5, float("nan"), float("inf"), -float("inf"), 1e300, None])
    if isinstance(value, str):
        return rng.choice(["", "x", value, "softmax", "\0", "é" * 50])
    return value


def shapes(value):
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), value.dtype
    if isinstance(value, (list, tuple)):
        return [shapes(each) for each in value]
    return None


def to_meta(value):
    if isinstance(value, torch.Tensor):
        return value.to("meta")
    return [to_meta(each) for each in value] if isinstance(value, (list, tuple)) else value


def call_operator(operator, arguments, rng):
    arguments = list(arguments)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        place = rng.randrange(len(arguments))
        arguments[place] = damaged(arguments[place], rng)
    try:
        result = operator(*arguments)
    except REFUSALS:
        return False
    assert shapes(result) == shapes(operator(*to_meta(arguments))), (operator, arguments)
    return True


def random_value(rng):
    return rng.choice([
        None, -1, 0, 3, 2**31, "abc", b"\x00\xff", [], [[1, 2]], [[0, 1], [1, 0]], np.zeros((2, 3)), np.arange(4),
        torch.randint(-3, 40, (2, rng.randrange(6))), torch.randn(5, 3), torch.zeros(0), float("nan"), {}, object(),
        np.array(["a", "b"]), torch.arange(3) > 1, np.random.default_rng(rng.randrange(9)).bytes(rng.randrange(20)),
        torch.full((2, 2), 2**40), [(0, 1), (1, 10**6)], [(0, 0.5)], np.full((2, 2), np.nan),
    ])


def call_python(rng):
    edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    loss = qw.QWLoss(edges, 4, 3)
    out, y = torch.randn(4, 3), torch.tensor([0, 1, 2, 0])
    layer = rng.choice([qw.nn.GCNConv(3, 2), qw.nn.GATConv(3, 2), qw.nn.SAGEConv(3, 2), qw.nn.APPNP(2, 0.1)])
    calls = [
        lambda: qw.Graph(random_value(rng), rng.choice([None, 4, -1, 10**10])),
        lambda: qw.Graph(edges, 4, costs=random_value(rng), weights=random_value(rng)),
        lambda: qw.QWLoss(random_value(rng), random_value(rng), random_value(rng)),
        lambda: qw.QWLoss(edges, 4, 3, edge_cost=random_value(rng), class_weight=random_value(rng)),
        lambda: loss(damaged(out, rng), y),
        lambda: loss(out, damaged(y, rng), rng.choice([None, damaged(y, rng), damaged(y > 0, rng)])),
        lambda: loss(random_value(rng), random_value(rng), random_value(rng)),
        lambda: loss.predict(damaged(out, rng)),
        lambda: layer(damaged(out, rng), damaged(edges, rng)),
        lambda: layer(random_value(rng), random_value(rng)),
        lambda: qw.wasserstein1(edges, random_value(rng), random_value(rng), labelled=random_value(rng)),
        lambda: qw.wasserstein1(edges, damaged(out, rng), out, labelled=damaged(y, rng)),
        lambda: qw.ops.pattern(damaged(edges[0], rng), damaged(edges[1], rng), rng.choice([4, 0, -1, 2**33]), 4),
        lambda: qw.ops.incidence_of(damaged(edges[0], rng), edges[1], rng.choice([4, 0, -1])),
    ]
    try:
        rng.choice(calls)()
    except (*REFUSALS, AttributeError, KeyError):
        return False
    return True


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    operators = [(operator.default, arguments) for operator, arguments in cases().values()]
    operators += [(getattr(torch.ops.qw, name).default, arguments) for name, arguments in internals().items()]
    accepted = 0
    for number in range(count):
        if number % 3 == 2:
            accepted += call_python(rng)
        else:
            operator, arguments = rng.choice(operators)
            with torch.no_grad():
                accepted += call_operator(operator, arguments, rng)
    print(f"{count} calls, {accepted} accepted")


if __name__ == "__main__":
    main()
