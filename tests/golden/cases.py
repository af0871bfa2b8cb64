"""One case per network: a small graph, drawn parameters, logits, losses and their gradients.

Losses are those of docs/learning.md: `ce` and `mse` of the logits z at the training nodes, `qw_kl`
and `qw_ls` the cost sum |flow| plus lambda times the same of z + S flow. A gradient is the
imaginary part of a loss whose parameter was moved by i h: with h = 1e-100 it is exact to rounding.
"""

from dataclasses import dataclass

import numpy as np

from networks import NETWORKS, PERCEPTRONS, relu, shapes

INPUTS, HIDDEN, OUTPUTS, HEADS, K, ALPHA, LAMBDA = 5, 4, 3, 2, 3, 0.2, 3.0
PREDICTOR_HIDDEN = 32
LOSSES = ("ce", "mse", "qw_kl", "qw_ls")
STEP = 1e-100

# Node 8 is alone, node 7 hangs on one edge; edges are in no order.
UNDIRECTED = [(0, 1), (2, 3), (0, 2), (1, 2), (3, 4), (4, 5), (3, 5), (1, 5), (0, 7), (5, 6), (4, 6)]
# 0 and 1 send to each other, nobody sends to 7, 6 sends to nobody.
DIRECTED = [(1, 0), (0, 1), (2, 0), (1, 2), (2, 3), (4, 3), (3, 5), (5, 4), (7, 0), (5, 6), (1, 5)]
NODES = 9
LABELS = [0, 1, 2, 1, 0, 2, 1, 0, 2]
TRAIN = [0, 2, 3, 5, 8]


class Draw:
    """Numbers in (-1, 1): s <- (1103515245 s + 12345) mod 2^31, then (2 (s div 2^16 mod 1000) - 999)
    / 1000. They are odd thousandths, never 0, and the same everywhere."""

    def __init__(self, seed):
        self.state = seed

    def number(self):
        self.state = (1103515245 * self.state + 12345) % 2**31
        return (2 * (self.state // 2**16 % 1000) - 999) / 1000

    def array(self, shape):
        return np.array([self.number() for _ in range(int(np.prod(shape)))]).reshape(shape)


@dataclass
class Given:
    """What a network is given beside its parameters, and what a loss is."""

    model: str
    x: np.ndarray
    edges: np.ndarray  # [2, E]
    directed: bool
    labels: np.ndarray
    train: np.ndarray
    predictor: bool
    k: int = K
    alpha: float = ALPHA
    lambda_: float = LAMBDA

    def __post_init__(self):
        self.pattern = self.adjacency(np.ones(self.edges.shape[1])) != 0
        self.flow_name = "prop1.Q" if self.model in PERCEPTRONS else "Q"
        self.predictor_prefix = "prop1." if self.model in PERCEPTRONS else ""

    def adjacency(self, weights):
        """[i, j]: the weight of the arc from j to i. An undirected edge has both arcs."""
        matrix = np.zeros((len(self.x), len(self.x)), weights.dtype)
        for (u, v), weight in zip(self.edges.T, weights):
            matrix[v, u] = weight
            if not self.directed:
                matrix[u, v] = weight
        return matrix

    def brought(self, flow):
        """S flow: the first end of an undirected edge gets the flow, of an arc the second."""
        result = np.zeros((len(self.x), flow.shape[1]), flow.dtype)
        for (u, v), row in zip(self.edges.T, flow):
            head, tail = (v, u) if self.directed else (u, v)
            result[head] += row
            result[tail] -= row
        return result

    def edge_weights(self, p):
        if not self.predictor:
            return np.ones(self.edges.shape[1])
        own = {name: p[self.predictor_prefix + name] for name in predictor_shapes(1)}
        hidden = relu(p[self.flow_name] @ own["lin1.weight"].T + own["lin1.bias"])
        return 1 / (1 + np.exp(-(hidden @ own["lin2.weight"].T + own["lin2.bias"])[:, 0]))

    def logits(self, p):
        return NETWORKS[self.model](self, self.adjacency(self.edge_weights(p)), p)

    def losses(self, p):
        flow = p[self.flow_name]
        z = self.logits(p)
        cost = (np.sign(flow.real) * flow).sum()
        moved = z + self.brought(flow)
        return {
            "ce": self.cross_entropy(z),
            "mse": self.squared_error(z),
            "qw_kl": cost + self.lambda_ * self.cross_entropy(moved),
            "qw_ls": cost + self.lambda_ * self.squared_error(moved),
        }

    def cross_entropy(self, scores):
        rows = scores[self.train]
        of_label = rows[np.arange(len(self.train)), self.labels[self.train]]
        return (np.log(np.exp(rows).sum(1)) - of_label).mean()

    def squared_error(self, scores):
        one_hot = np.eye(scores.shape[1])[self.labels[self.train]]
        return ((scores[self.train] - one_hot) ** 2).mean()


def predictor_shapes(outputs):
    named = {"lin1.weight": (PREDICTOR_HIDDEN, outputs), "lin1.bias": (PREDICTOR_HIDDEN,)}
    return named | {"lin2.weight": (1, PREDICTOR_HIDDEN), "lin2.bias": (1,)}


def slopes(given, p, name, direction):
    """{loss: its derivative} when one parameter moves in a direction."""
    moved = {other: value.astype(complex) for other, value in p.items()}
    moved[name] += 1j * STEP * direction
    return {loss: value.imag / STEP for loss, value in given.losses(moved).items()}


def gradients(given, p):
    """{grad/LOSS/PARAMETER: gradient}, one number at a time."""
    result = {f"grad/{loss}/{name}": np.zeros(p[name].shape) for loss in LOSSES for name in p}
    for name, value in p.items():
        for at in np.ndindex(value.shape):
            direction = np.zeros(value.shape)
            direction[at] = 1
            for loss, slope in slopes(given, p, name, direction).items():
                result[f"grad/{loss}/{name}"][at] = slope
    return result


def outcome(given, p):
    """The tensors that follow from a case, gradients apart: logits, losses, prediction."""
    tensors = {"loss/" + loss: np.array([value]) for loss, value in given.losses(p).items()}
    logits = given.logits(p)
    return tensors | {"logits": logits, "pred/transductive": logits + given.brought(p[given.flow_name])}


def model_case(model, directed=False, predictor=False):
    """Of the first seed 1, 2, ... that leaves more than half of every gradient of qw_kl unequal to 0:
    a relu that is always 0 hides what is before it."""
    for seed in range(1, 100):
        case = drawn_case(model, seed, directed, predictor)
        moved = [value for name, value in case["tensors"].items() if name.startswith("grad/qw_kl/")]
        if all((value != 0).mean() > 0.5 for value in moved):
            return case
    raise AssertionError(f"{model}: no seed has gradients everywhere")


def drawn_case(model, seed, directed, predictor):
    draw = Draw(seed)
    edges = np.array(DIRECTED if directed else UNDIRECTED).T
    given = Given(model, draw.array((NODES, INPUTS)), edges, directed, np.array(LABELS),
                  np.array(TRAIN), predictor)
    flow = draw.array((edges.shape[1], OUTPUTS))
    p = {given.flow_name: abs(flow) if directed else flow}
    if predictor:
        for name, shape in predictor_shapes(OUTPUTS).items():
            p[given.predictor_prefix + name] = draw.array(shape)
    entries = int(given.pattern.sum()) + NODES
    for name, shape in shapes(model, INPUTS, HIDDEN, OUTPUTS, HEADS, K, entries).items():
        p[name] = draw.array(shape)
    tensors = {"x": given.x, "edge_index": edges, "y": given.labels, "train_index": given.train}
    tensors |= {"flow": p[given.flow_name]} | {"param/" + name: value for name, value in p.items()}
    metadata = {"model": model, "edge_weight_predictor": str(predictor), "directed": str(directed),
                "lambda": str(LAMBDA), "hidden": str(HIDDEN), "heads": str(HEADS), "K": str(K),
                "alpha": str(ALPHA)}
    return {"metadata": metadata, "tensors": tensors | outcome(given, p) | gradients(given, p)}


def model_cases():
    """{file name: case}. The papers of spectral filters know no directed graphs, mlp no edges."""
    cases = {}
    for model in sorted(NETWORKS):
        cases[model] = model_case(model)
        if model != "mlp":
            cases[model + "-edge-weights"] = model_case(model, predictor=True)
        if model not in ("mlp", "bernnet", "chebnetii"):
            cases[model + "-directed"] = model_case(model, directed=True)
    return cases
