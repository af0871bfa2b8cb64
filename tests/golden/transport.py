"""Partial Wasserstein-1 distances on small graphs as linear programs, solved by scipy's HiGHS.

For flow f on edges of cost w, with mass mu to become gamma on the labelled nodes L:
  min sum w |f|  subject to  (S f)_i = gamma_i - mu_i for i in L; unlabelled nodes are free.
An undirected edge (u, v) has S[u, e] = +1, S[v, e] = -1 and f of any sign; an arc (u, v) has
S[v, e] = +1, S[u, e] = -1 and f >= 0. The dual is
  max p . (gamma - mu)  subject to  |p_u - p_v| <= w, for arcs p_v - p_u <= w, p = 0 off L.

Masses and costs are multiples of 1/64. The constraints are totally unimodular, so vertices of the
program and of its dual are such multiples, too: both are rounded to them, and must then be feasible
and have the same value exactly. A distance in the file is a proven optimum, without rounding.
"""

import numpy as np
from scipy.optimize import linprog

from cases import Draw

GRID = 64
NOTE = ("undirected edge (u,v): S[u,e]=+1, S[v,e]=-1, f of any sign. Directed edge (u,v) is an arc "
        "u -> v: mass moves along it from u to v, S[v,e]=+1, S[u,e]=-1, f>=0. Constraint "
        "S_L f = gamma - mu on the labelled nodes; distance = min sum w_e |f_e|; null when infeasible")


def incidence(case):
    matrix = np.zeros((case["nodes"], len(case["edges"])))
    for e, (u, v) in enumerate(case["edges"]):
        head, tail = (v, u) if case["directed"] else (u, v)
        matrix[head, e], matrix[tail, e] = 1, -1
    return matrix


def solve(case):
    """The optimal flow, or None where there is none, and the program's dual values at the labelled."""
    rows = incidence(case)[case["labelled"]]
    costs = np.array(case["weights"])
    wanted = np.array(case["gamma"]) - np.array(case["mu"])
    if not case["directed"]:  # f = forth - back
        rows, costs = np.hstack([rows, -rows]), np.hstack([costs, costs])
    found = linprog(costs, A_eq=rows, b_eq=wanted, bounds=(0, None), method="highs-ds")
    if found.status == 2:
        return None, None
    assert found.status == 0, found.message
    edges = len(case["edges"])
    flow = found.x if case["directed"] else found.x[:edges] - found.x[edges:]
    return flow, found.eqlin.marginals


def certified_distance(case, flow, potential):
    """The value of both programs in integers; fails unless flow and potential prove it optimal."""
    on_grid = [np.rint(np.array(values) * GRID).astype(int)
               for values in (flow, case["weights"], case["gamma"], case["mu"], potential)]
    moved, costs, gamma, mu, prices = on_grid
    matrix = incidence(case).astype(int)
    assert (matrix[case["labelled"]] @ moved == gamma - mu).all()
    p = np.zeros(case["nodes"], int)
    p[case["labelled"]] = prices
    gained = matrix.T @ p
    assert (gained <= costs).all() and (case["directed"] or (-gained <= costs).all())
    assert not case["directed"] or (moved >= 0).all()
    value = int(costs @ abs(moved))
    assert value == int(prices @ (gamma - mu))
    return value / GRID**2


def completed(case):
    flow, potential = solve(case)
    case["feasible"] = flow is not None
    case["distance"] = None if flow is None else certified_distance(case, flow, potential)
    return case


class Random:
    def __init__(self, seed):
        self.draw = Draw(seed)
        for _ in range(10):  # neighbouring seeds part
            self.draw.number()

    def below(self, count):
        return int((self.draw.number() + 1) / 2 * count)

    def on_grid(self, top):
        return self.below(top * GRID + 1) / GRID

    def chosen(self, items, count):
        items = list(items)
        return sorted(items.pop(self.below(len(items))) for _ in range(count))


def random_edges(random, nodes, count, directed, ring):
    edges = {(i, (i + 1) % nodes) for i in range(nodes)} if ring else set()
    while len(edges) < count:
        u, v = random.below(nodes), random.below(nodes)
        if u != v:
            edges.add((u, v) if directed else (min(u, v), max(u, v)))
    return random.chosen(sorted(edges), count)


def drawn_case(seed, nodes, edges, directed, share, kind):
    """kind: `measure` where mu and gamma have the same mass, else `signal`; `zero costs` has those.
    Arcs of a measure hold a ring: what is everywhere to be moved can be."""
    random = Random(seed)
    pairs = random_edges(random, nodes, edges, directed, directed and kind == "measure")
    costs = [random.on_grid(3) for _ in pairs]
    if kind == "zero costs":
        costs = [0.0 if random.below(3) == 0 else cost for cost in costs]
    labelled = random.chosen(range(nodes), max(2, round(share * nodes)))
    mu = [random.on_grid(1) for _ in labelled]
    gamma = [random.on_grid(1) for _ in labelled]
    if kind == "measure":
        gamma = mu[1:] + mu[:1]
    case = {"nodes": nodes, "directed": directed, "edges": [list(pair) for pair in pairs],
            "weights": costs, "labelled": labelled, "mu": mu, "gamma": gamma}
    return completed(case | {"kind": kind})


def named_case(kind, nodes, directed, edges, costs, labelled, mu, gamma):
    return completed({"nodes": nodes, "directed": directed, "edges": edges, "weights": costs,
                      "labelled": labelled, "mu": mu, "gamma": gamma, "kind": kind})


def named_cases():
    path = [[0, 1], [1, 2], [2, 3]]
    ring = [[0, 1], [1, 2], [2, 3], [3, 0]]
    return [
        named_case("path", 4, False, path, [1.0, 0.5, 2.0], [0, 1, 2, 3], [1, 0, 0, 0], [0, 0, 0, 1]),
        named_case("path with a free end", 4, False, path, [1.0, 0.5, 2.0], [0, 1], [1, 0], [0, 0]),
        named_case("path downhill", 4, True, path, [1.0, 0.5, 2.0], [0, 1, 2, 3], [1, 0, 0, 0],
                   [0, 0, 0, 1]),
        named_case("path uphill", 4, True, path, [1.0, 0.5, 2.0], [0, 1, 2, 3], [0, 0, 0, 1],
                   [1, 0, 0, 0]),
        named_case("once around", 4, True, ring, [1.0, 1.0, 1.0, 0.25], [0, 1, 2, 3], [0, 0, 0, 1],
                   [0, 0, 1, 0]),
        named_case("two components", 5, False, [[0, 1], [3, 4]], [1.0, 2.0], [0, 1, 3, 4],
                   [1, 0, 0, 0.5], [0, 1, 0.5, 0]),
        named_case("mass between components", 5, False, [[0, 1], [3, 4]], [1.0, 2.0], [0, 1, 3, 4],
                   [1, 0, 0, 0], [0, 0, 1, 0]),
        named_case("a component with a free node", 5, False, [[0, 1], [1, 2], [3, 4]],
                   [1.0, 0.25, 2.0], [0, 1, 3, 4], [1, 0, 0.5, 0], [0, 0.5, 0, 0.5]),
        named_case("an isolated node that is right", 3, False, [[0, 1]], [1.0], [0, 1, 2],
                   [1, 0, 0.5], [0, 1, 0.5]),
        named_case("an isolated node that is wrong", 3, False, [[0, 1]], [1.0], [0, 1, 2],
                   [1, 0, 0.5], [0, 1, 0]),
        named_case("nothing to do", 3, False, [[0, 1], [1, 2]], [1.0, 1.0], [0, 2], [0.5, 0.25],
                   [0.5, 0.25]),
        named_case("edges for nothing", 3, False, [[0, 1], [1, 2]], [0.0, 0.0], [0, 2], [1, 0], [0, 1]),
    ]


def transport_file():
    cases = named_cases()
    for seed in range(4):
        for directed in (False, True):
            cases.append(drawn_case(seed, 12, 26, directed, 1.0, "measure"))
            cases.append(drawn_case(seed + 10, 14, 34, directed, 0.6, "signal"))
            cases.append(drawn_case(seed + 20, 12, 30, directed, 0.5, "zero costs"))
            cases.append(drawn_case(seed + 30, 16, 14, directed, 0.4, "signal"))  # in several pieces
    return {"note": NOTE, "cases": cases}
