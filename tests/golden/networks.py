"""The networks of src/nn/models as dense matrices, written from the equations of their papers.

Arrays are numpy's, real or complex: with complex ones a derivative is an imaginary part (see
`gradients` in cases.py), so kinks decide by real parts. `adjacency[i, j]` is the weight of the arc
from j to i. There is no dropout.
"""

import math

import numpy as np


def relu(x):
    return np.where(x.real > 0, x, 0)


def elu(x):
    return np.where(x.real > 0, x, np.expm1(x))


def leaky_relu(x):
    return np.where(x.real > 0, x, 0.2 * x)


def inverse_or_zero(degrees):
    return np.array([1 / degree if degree.real > 0 else 0 for degree in degrees])


def symmetric_normalised(matrix):
    """D^-1/2 matrix D^-1/2, D the sums of rows; nothing where a row is empty."""
    scale = np.sqrt(inverse_or_zero(matrix.sum(1)))
    return scale[:, None] * matrix * scale[None, :]


def with_self_loops(adjacency):
    return adjacency + np.eye(len(adjacency))


def perceptron(given, p):
    hidden = relu(given.x @ p["lin1.weight"].T + p["lin1.bias"])
    return hidden @ p["lin2.weight"].T + p["lin2.bias"]


def mlp(given, adjacency, p):
    return perceptron(given, p)


def gcn(given, adjacency, p):
    """Kipf and Welling, 2017: M relu(M X W1 + b1) W2 + b2, M = D^-1/2 (A + I) D^-1/2."""
    matrix = symmetric_normalised(with_self_loops(adjacency))
    hidden = relu(matrix @ given.x @ p["conv1.lin.weight"].T + p["conv1.bias"])
    return matrix @ hidden @ p["conv2.lin.weight"].T + p["conv2.bias"]


def gcn_lpa(given, adjacency, p):
    """Wang and Leskovec, 2020: a GCN over a learned matrix, the softmax of one score per entry of
    A + I; given weights multiply it, and rows sum to one again. Scores stand row by row."""
    nodes = len(adjacency)
    matrix = np.zeros((nodes, nodes), p["adjacency"].dtype)
    weights = with_self_loops(adjacency)
    at = 0
    for i in range(nodes):
        for j in range(nodes):
            if given.pattern[i, j] or i == j:
                matrix[i, j] = np.exp(p["adjacency"][at])
                at += 1
        matrix[i] /= matrix[i].sum()
    assert at == len(p["adjacency"])
    matrix = matrix * weights
    matrix = matrix / matrix.sum(1)[:, None]
    hidden = relu(matrix @ given.x @ p["conv1.lin.weight"].T + p["conv1.lin.bias"])
    return matrix @ hidden @ p["conv2.lin.weight"].T + p["conv2.lin.bias"]


def gat_layer(given, adjacency, x, p, name):
    """Velickovic et al., 2018: softmax over the neighbours and oneself; weights multiply it after."""
    source, target = p[name + ".att_src"][0], p[name + ".att_dst"][0]  # [heads, depth]
    weights = with_self_loops(adjacency)
    mapped = x @ p[name + ".lin.weight"].T
    heads, depth = source.shape
    nodes = len(adjacency)
    result = np.zeros((nodes, heads * depth), np.result_type(mapped, weights, source))
    for head in range(heads):
        own = mapped[:, head * depth : (head + 1) * depth]
        for i in range(nodes):
            senders = [j for j in range(nodes) if given.pattern[i, j] or j == i]
            scores = np.array([own[j] @ source[head] + own[i] @ target[head] for j in senders])
            attention = np.exp(leaky_relu(scores))
            attention = attention / attention.sum()
            for j, share in zip(senders, attention):
                result[i, head * depth : (head + 1) * depth] += share * weights[i, j] * own[j]
    return result + p[name + ".bias"]


def gat(given, adjacency, p):
    hidden = elu(gat_layer(given, adjacency, given.x, p, "conv1"))
    return gat_layer(given, adjacency, hidden, p, "conv2")


def gin(given, adjacency, p):
    """Xu et al., 2019, eps = 0: a perceptron of x_i plus the sum over neighbours; elu between."""

    def layer(x, name):
        total = x + adjacency @ x
        hidden = relu(total @ p[name + ".nn.0.weight"].T + p[name + ".nn.0.bias"])
        return hidden @ p[name + ".nn.2.weight"].T + p[name + ".nn.2.bias"]

    return layer(elu(layer(given.x, "conv1")), "conv2")


def graphsage(given, adjacency, p):
    """Hamilton et al., 2017: the mean over neighbours and the node itself, a matrix for each."""
    mean = inverse_or_zero(adjacency.sum(1))[:, None] * adjacency

    def layer(x, name):
        neighbours = mean @ x @ p[name + ".lin_l.weight"].T + p[name + ".lin_l.bias"]
        return neighbours + x @ p[name + ".lin_r.weight"].T

    return layer(elu(layer(given.x, "conv1")), "conv2")


def appnp(given, adjacency, p):
    """Klicpera et al., 2019: z <- (1 - alpha) M z + alpha h, K times."""
    matrix = symmetric_normalised(with_self_loops(adjacency))
    start = perceptron(given, p)
    z = start
    for _ in range(given.k):
        z = (1 - given.alpha) * (matrix @ z) + given.alpha * start
    return z


def bernnet(given, adjacency, p):
    """He et al., 2021: sum_k relu(theta_k) binomial(K, k) / 2^K (2 I - L)^(K-k) L^k h."""
    identity = np.eye(len(adjacency))
    laplacian = identity - symmetric_normalised(adjacency)
    theta = relu(p["prop1.temp"])
    matrix = np.zeros_like(laplacian, dtype=np.result_type(laplacian, theta))
    for k in range(given.k + 1):
        power = np.linalg.matrix_power(2 * identity - laplacian, given.k - k)
        power = power @ np.linalg.matrix_power(laplacian, k)
        matrix += theta[k] * math.comb(given.k, k) / 2**given.k * power
    return matrix @ perceptron(given, p)


def chebnetii(given, adjacency, p):
    """He et al., 2022: sum_k c_k T_k(L - I) h, where the filter has the values relu(theta_j) at the
    Chebyshev nodes x_j: c_k = 2 / (K + 1) sum_j relu(theta_j) T_k(x_j), halved for k = 0."""
    shifted = -symmetric_normalised(adjacency)
    theta = relu(p["prop1.temp"])
    count = given.k + 1
    angles = [(given.k - j + 0.5) * math.pi / count for j in range(count)]
    before, term = shifted, np.eye(len(adjacency))  # T_-1 = T_1, T_0
    matrix = np.zeros_like(shifted, dtype=np.result_type(shifted, theta))
    for k in range(count):
        value = sum(theta[j] * math.cos(k * angles[j]) for j in range(count)) * 2 / count
        matrix += (value / 2 if k == 0 else value) * term
        before, term = term, 2 * shifted @ term - before
    return matrix @ perceptron(given, p)


NETWORKS = {
    "appnp": appnp,
    "bernnet": bernnet,
    "chebnetii": chebnetii,
    "gat": gat,
    "gcn": gcn,
    "gcn-lpa": gcn_lpa,
    "gin": gin,
    "graphsage": graphsage,
    "mlp": mlp,
}
PERCEPTRONS = {"appnp", "bernnet", "chebnetii", "mlp"}  # their lin1, lin2 are not the predictor's


def shapes(model, inputs, hidden, outputs, heads, k, entries):
    """The names and shapes of a network's parameters, as PyTorch Geometric's layers have them."""
    if model in PERCEPTRONS:
        named = {"lin1.weight": (hidden, inputs), "lin1.bias": (hidden,)}
        named |= {"lin2.weight": (outputs, hidden), "lin2.bias": (outputs,)}
        return named | ({"prop1.temp": (k + 1,)} if model in ("bernnet", "chebnetii") else {})
    named = {}
    for layer in ("conv1", "conv2"):
        first = layer == "conv1"
        columns, rows = (inputs, hidden) if first else (hidden, outputs)
        if model == "gcn":
            named |= {layer + ".lin.weight": (rows, columns), layer + ".bias": (rows,)}
        elif model == "gcn-lpa":
            named |= {layer + ".lin.weight": (rows, columns), layer + ".lin.bias": (rows,)}
        elif model == "gin":
            named |= {layer + ".nn.0.weight": (hidden, columns), layer + ".nn.0.bias": (hidden,)}
            named |= {layer + ".nn.2.weight": (rows, hidden), layer + ".nn.2.bias": (rows,)}
        elif model == "graphsage":
            named |= {layer + ".lin_l.weight": (rows, columns), layer + ".lin_l.bias": (rows,)}
            named |= {layer + ".lin_r.weight": (rows, columns)}
        elif model == "gat":
            count = heads if first else 1
            columns = inputs if first else heads * hidden
            named |= {layer + ".att_src": (1, count, rows), layer + ".att_dst": (1, count, rows)}
            named |= {layer + ".bias": (count * rows,), layer + ".lin.weight": (count * rows, columns)}
    return named | ({"adjacency": (entries,)} if model == "gcn-lpa" else {})
