#!/usr/bin/python3
"""Checks the mathematics of the study on small graphs; needs neither torch nor qw."""

from __future__ import annotations

import json
import pathlib
import sys
import tempfile
import unittest

try:
    import numpy as np
    from scipy import stats
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import analysis
import conditions
import methods
import potentials
from conditions import Condition
from linear import GraphMatrices, conjugate_gradients

import study


def random_graph(nodes: int = 30, extra: int = 40, seed: int = 0) -> GraphMatrices:
    """A connected one: a random tree and some more edges."""
    random = np.random.default_rng(seed)
    pairs = {(int(random.integers(node)), node) for node in range(1, nodes)}
    while len(pairs) < nodes - 1 + extra:
        one, other = sorted(random.integers(nodes, size=2))
        if one != other:
            pairs.add((int(one), int(other)))
    heads, tails = np.array(sorted(pairs)).T
    return GraphMatrices(heads, tails, nodes)


def path(nodes: int) -> GraphMatrices:
    return GraphMatrices(np.arange(nodes - 1), np.arange(1, nodes), nodes)


def two_paths() -> GraphMatrices:
    """0 - 1 - 2 and 3 - 4, and a node alone."""
    return GraphMatrices(np.array([0, 1, 3]), np.array([1, 2, 4]), 6)


class Linear(unittest.TestCase):
    def test_matrices(self) -> None:
        graph = random_graph()
        np.testing.assert_allclose((graph.incidence @ graph.gradient).toarray(), graph.laplacian.toarray())
        np.testing.assert_allclose(graph.laplacian @ np.ones(30), 0, atol=1e-12)

    def test_conjugate_gradients(self) -> None:
        graph = random_graph()
        matrix = graph.laplacian.toarray() + np.eye(30)
        right = np.random.default_rng(1).normal(size=(30, 3))
        right[:, 2] = 0
        x = conjugate_gradients(lambda v: matrix @ v, right, np.diag(matrix)[:, None], 1e-12)
        np.testing.assert_allclose(x, np.linalg.solve(matrix, right), atol=1e-9)

    def test_component_means(self) -> None:
        values = np.arange(6.0)[:, None]
        np.testing.assert_allclose(two_paths().component_means(values).ravel(), [1, 1, 1, 3.5, 3.5, 5])
        some = two_paths().component_means(values, np.array([0, 4]))
        np.testing.assert_allclose(some.ravel(), [0, 0, 0, 4, 4, 0])


class SignedTransport(unittest.TestCase):
    def test_flow_is_that_of_dense_least_squares(self) -> None:
        graph, ridge = random_graph(), 0.3
        random = np.random.default_rng(2)
        train = np.sort(random.permutation(30)[:12])
        residuals = random.normal(size=(12, 2))
        flow, moved = methods.least_squares_flow(graph, train, residuals, ridge)
        incidence = graph.incidence.toarray()
        edges = incidence.shape[1]
        stacked = np.vstack([incidence[train], np.sqrt(ridge) * np.eye(edges)])
        wanted = np.linalg.lstsq(stacked, np.vstack([residuals, np.zeros((edges, 2))]), rcond=None)[0]
        np.testing.assert_allclose(flow, wanted, atol=1e-5)
        np.testing.assert_allclose(moved, incidence @ wanted, atol=1e-5)

    def test_transport_makes_no_mass(self) -> None:
        _, moved = methods.least_squares_flow(random_graph(), np.array([3, 7]), np.ones((2, 1)), 0.1)
        self.assertAlmostEqual(moved.sum(), 0)
        self.assertGreater(moved[3, 0], 0.5)

    def test_sizes_at_nodes(self) -> None:
        carried = methods.flow_at_nodes(path(3), np.array([[1.0, -2.0], [0.5, 0.0]]), np.array([0, 1, 2]))
        np.testing.assert_allclose(carried, [3, 3.5, 0.5])

    def test_neighbour_residuals(self) -> None:
        found = methods.neighbour_residuals(path(3), np.array([0, 2]), np.array([[1.0], [3.0]]))
        np.testing.assert_allclose(found.ravel(), [0, 2, 0])


class Potentials(unittest.TestCase):
    def setUp(self) -> None:
        self.graph = random_graph()
        self.train = np.array([0, 5, 9, 14, 20])
        targets = methods.one_hot(np.array([0, 1, 1, 2, 0]), 3)
        self.source = potentials.sources(self.graph, self.train, targets)

    def test_sources_are_balanced_in_every_component(self) -> None:
        graph = two_paths()
        source = potentials.sources(graph, np.array([0, 2, 3, 5]), methods.one_hot(np.array([0, 1, 1, 0]), 2))
        np.testing.assert_allclose(graph.membership @ source, 0, atol=1e-12)
        np.testing.assert_allclose(source[[0, 2]], [[0.5, -0.5], [-0.5, 0.5]])
        np.testing.assert_allclose(source[[1, 3, 4, 5]], 0)

    def test_quadratic_solves_poisson(self) -> None:
        u = potentials.quadratic(self.graph, self.source)
        np.testing.assert_allclose(self.graph.laplacian @ u, self.source, atol=1e-5)
        np.testing.assert_allclose(u.mean(axis=0), 0, atol=1e-9)

    def test_quadratic_on_components(self) -> None:
        graph = two_paths()
        source = potentials.sources(graph, np.array([0, 2, 3]), methods.one_hot(np.array([0, 1, 1]), 2))
        u = potentials.quadratic(graph, source)
        np.testing.assert_allclose(u[:, 0], [0.5, 0, -0.5, 0, 0, 0], atol=1e-6)

    def test_cubic_is_optimal(self) -> None:
        start = potentials.quadratic(self.graph, self.source)
        u = potentials.cubic(self.graph, self.source, start, steps=60, inner_steps=200)
        slope = self.graph.gradient @ u
        np.testing.assert_allclose(self.graph.incidence @ (np.abs(slope) * slope), self.source, atol=1e-5)

    def test_cubic_on_a_path(self) -> None:
        source = np.array([[1.0], [0], [0], [-1.0]])
        u = potentials.cubic(path(4), source, potentials.quadratic(path(4), source))
        np.testing.assert_allclose(u.ravel(), [1.5, 0.5, -0.5, -1.5], atol=1e-4)

    def test_extension_is_midway(self) -> None:
        known, given = np.array([0, 4]), np.array([[2.0], [9], [9], [9], [0], [9]])
        u = potentials.extend(path(6), known, given)  # between 0 and 4 it may change by 4 and does by 2
        np.testing.assert_allclose(u.ravel(), [2, 2, 1, 0, 0, 0])

    def test_extension_without_labels(self) -> None:
        u = potentials.extend(two_paths(), np.array([0]), np.ones((6, 1)))
        np.testing.assert_allclose(u.ravel(), [1, 1, 1, 0, 0, 0])

    def test_unit_spread(self) -> None:
        u = np.array([[100.0, 0], [1, 0], [-1, 0]])
        np.testing.assert_allclose(potentials.unit_spread(u, np.array([0])), u)
        np.testing.assert_allclose(potentials.unit_spread(3 * u, np.array([0])), u)


class Capacities(unittest.TestCase):
    def test_optimal_on_a_path(self) -> None:
        """On a path the flow is the running sum of what the nodes still miss."""
        graph, train, residuals = path(4), np.array([0, 1, 3]), np.array([[1.0], [0.2], [-0.7]])
        for capacity in (0.05, 0.2, 0.5):
            (u,) = methods.total_variation(graph, train, residuals, (capacity,), steps=4000)
            missing = np.zeros(4)
            missing[train] = residuals.ravel() - u[train].ravel()
            flow = np.cumsum(missing)
            self.assertAlmostEqual(flow[-1], 0, places=4)
            self.assertLessEqual(np.abs(flow).max(), capacity + 1e-4)
            slope = u[:-1, 0] - u[1:, 0]
            moving = np.abs(slope) > 1e-3
            np.testing.assert_allclose(flow[:-1][moving], capacity * np.sign(slope[moving]), atol=1e-3)

    def test_nothing_is_better(self) -> None:
        graph, train, capacity = random_graph(8, 5), np.array([1, 4, 6]), 0.15
        residuals = np.array([[0.9], [-0.4], [0.3]])
        (u,) = methods.total_variation(graph, train, residuals, (capacity,), steps=4000)

        def energy(values: np.ndarray) -> float:
            fit = np.sum((values[train] - residuals) ** 2) / 2
            return float(fit + capacity * np.abs(graph.gradient @ values).sum())

        random = np.random.default_rng(3)
        for size in (1e-3, 1e-2, 0.1):
            for _ in range(200):
                self.assertLessEqual(energy(u), energy(u + size * random.normal(size=u.shape)) + 1e-5)

    def test_one_after_another_as_alone(self) -> None:
        graph, train, residuals = random_graph(), np.array([1, 4, 6]), np.array([[0.9], [-0.4], [0.3]])
        both = methods.total_variation(graph, train, residuals, (0.02, 0.1), steps=4000)
        (alone,) = methods.total_variation(graph, train, residuals, (0.1,), steps=4000)
        np.testing.assert_allclose(both[1][train], alone[train], atol=1e-3)


class Volumes(unittest.TestCase):
    def test_mean_of_the_rows(self) -> None:
        shares = methods.softmax(2 * np.random.default_rng(4).normal(size=(200, 3)))
        wanted = np.array([0.6, 0.3, 0.1])
        for temperature in (1.0, 0.2):
            found = methods.assign_volumes(shares, wanted, temperature)
            np.testing.assert_allclose(found.sum(axis=1), 1)
            np.testing.assert_allclose(found.mean(axis=0), wanted, atol=1e-4)

    def test_estimate_undoes_a_shift(self) -> None:
        """Errors are the same on both sides, but the shares of the classes are not."""
        random = np.random.default_rng(5)
        labels = np.concatenate([random.choice(2, 4000, p=[0.5, 0.5]), random.choice(2, 4000, p=[0.9, 0.1])])
        predicted = np.where(random.random(8000) < 0.2, 1 - labels, labels)
        val, others = np.arange(4000), np.arange(4000, 8000)
        found = methods.estimate_shares(predicted, val, labels, others, 2)
        np.testing.assert_allclose(found, [0.9, 0.1], atol=0.04)


class Baselines(unittest.TestCase):
    def test_label_propagation(self) -> None:
        shares = methods.label_propagation(two_paths(), np.array([0, 3]), np.eye(2), 0.9)
        np.testing.assert_array_equal(shares.argmax(axis=1)[:5], [0, 0, 0, 1, 1])
        np.testing.assert_allclose(shares[5], [0.5, 0.5])  # no label reaches it

    def test_correct_leaves_no_errors_alone(self) -> None:
        graph, train = random_graph(), np.array([0, 1])
        shares = np.full((30, 2), 0.5)
        shares[train] = np.eye(2)
        np.testing.assert_allclose(methods.correct(graph, shares, train, np.eye(2), 0.9), shares)

    def test_correct_has_the_size_of_the_errors(self) -> None:
        shares = np.full((30, 2), 0.5)
        found = methods.correct(random_graph(), shares, np.array([0, 1]), np.eye(2), 0.9)
        sizes = np.abs(found - shares).sum(axis=1)
        np.testing.assert_allclose(sizes[sizes > 0], 1)

    def test_roc_auc(self) -> None:
        positive = np.array([False, True, True, False])
        self.assertEqual(methods.roc_auc(np.array([0.1, 0.9, 0.5, 0.5]), positive), 0.875)
        self.assertIsNone(methods.roc_auc(np.ones(4), np.ones(4, dtype=bool)))


class Draws(unittest.TestCase):
    def setUp(self) -> None:
        self.random = np.random.default_rng(6)
        self.classes = self.random.choice(4, size=400, p=[0.4, 0.3, 0.295, 0.005])
        self.classes[:2] = 3
        self.graph = random_graph(400, 400)

    def test_noise_is_the_share_it_says(self) -> None:
        nodes = np.arange(50, 250)
        for noise, count in (("clean", 0), ("uniform-20", 40), ("uniform-40", 80), ("neighbour-40", 80)):
            labels = conditions.add_noise(self.classes, nodes, noise, self.graph.adjacency, self.random)
            changed = np.flatnonzero(labels != self.classes)
            self.assertEqual(changed.size, count)
            self.assertTrue(np.isin(changed, nodes).all())

    def test_neighbour_noise_is_a_label_around(self) -> None:
        nodes = np.arange(400)
        labels = conditions.add_noise(self.classes, nodes, "neighbour-40", self.graph.adjacency, self.random)
        for node in np.flatnonzero(labels != self.classes):
            around = self.classes[self.graph.adjacency[node].indices]
            self.assertTrue(labels[node] in around or (around == self.classes[node]).all())

    def test_splits(self) -> None:
        for rate in conditions.RATES:
            parts = conditions.draw_split(self.classes, rate, self.random)
            everyone = np.concatenate([parts.train, parts.val, parts.test])
            np.testing.assert_array_equal(np.sort(everyone), np.arange(400))
            self.assertEqual(np.unique(self.classes[parts.train]).size, 4)
        self.assertLessEqual(abs(parts.train.size - 240), 3)
        self.assertLessEqual(abs(parts.val.size - 80), 3)

    def test_few_labels(self) -> None:
        parts = conditions.draw_split(self.classes, "3", self.random)
        np.testing.assert_array_equal(np.bincount(self.classes[parts.train])[:3], 3)
        self.assertEqual(parts.val.size, 20)

    def test_noise_does_not_move_the_split(self) -> None:
        clean, noisy = (Condition("cora", "3", noise).random(0, "split").random() for noise in ("clean", "uniform-20"))
        self.assertEqual(clean, noisy)

    def test_minesweeper(self) -> None:
        x, edges, mines = conditions.minesweeper(side=20)
        self.assertEqual(edges.shape[1], 2 * 20 * 19 + 2 * 19 * 19)
        self.assertEqual(mines.sum(), 80)
        self.assertEqual(x[:, -1].sum(), 200)
        np.testing.assert_array_equal(x.sum(axis=1), 1)
        around = conditions.adjacency_of(edges[0], edges[1], 400) @ mines
        seen = np.flatnonzero(x[:, -1] == 0)
        np.testing.assert_array_equal(x[seen].argmax(axis=1), around[seen])


def line(seed: int, noise: str = "clean", **tests: float) -> analysis.Line:
    found = {name.replace("_", "-"): {"test": value, "settings": "gcn"} for name, value in tests.items()}
    condition = {"graph": "cora", "rate": "3", "noise": noise}
    return {**condition, "seed": seed, "methods": found, "detectors": {}, "seconds": 1.0}


class Verdicts(unittest.TestCase):
    def test_interval_is_students(self) -> None:
        differences = np.random.default_rng(7).normal(0.3, 1, size=10)
        found = analysis.paired_interval(differences)
        low, high = stats.t.interval(0.95, 9, differences.mean(), stats.sem(differences))
        self.assertAlmostEqual(found.mean - found.half, low)
        self.assertAlmostEqual(found.mean + found.half, high)
        self.assertEqual(found.is_above, low > 0)

    def test_verdicts(self) -> None:
        def verdict(gain: float) -> str:
            bases = [(0.5, 0.51, 0.4), (0.52, 0.5, 0.41), (0.49, 0.5, 0.38)]
            rows = [line(s, ce=a, cs=b, lp=c, signed=max(a, b) + gain) for s, (a, b, c) in enumerate(bases)]
            found = analysis.judge(rows, "signed")
            assert found is not None
            return found.result

        self.assertEqual([verdict(gain) for gain in (0.1, 0.0, -0.2)], ["won", "undecided", "lost"])

    def test_no_difference_is_no_win(self) -> None:
        rows = [line(seed, ce=0.5, cs=0.5, lp=0.5, signed=0.5) for seed in range(3)]
        verdict = analysis.judge(rows, "signed")
        self.assertEqual(verdict and verdict.result, "undecided")

    def study(self, fresh_gain: float) -> analysis.Study:
        gains = [0.1] * 3 + [fresh_gain] * 3
        rows = [line(s, ce=0.5, cs=0.5, lp=0.5, signed=0.5 + g + 0.001 * s) for s, g in enumerate(gains)]
        return analysis.Study(analysis.by_condition(rows), range(3), range(3, 6))

    def test_a_win_must_hold_again(self) -> None:
        key = (Condition("cora", "3", "clean"), "signed")
        for gain, confirmed in ((0.1, True), (-0.1, False)):
            found = self.study(gain)
            self.assertEqual(found.wins(), [key])
            self.assertEqual(found.is_confirmed(key), confirmed)

    def test_report(self) -> None:
        text = analysis.report(self.study(0.1))
        self.assertIn("| signed | 1 | 1 | 1 | 0 | 0 |", text)
        self.assertIn("| signed | cora | 3 | clean | +10.1 ± 0.2 |", text)


class Command(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        asked = [
            "--out",
            folder.name,
            "--graphs",
            "cora",
            "--rates",
            "3",
            "--noise",
            "clean,uniform-20",
            "--seeds",
            "2",
        ]
        self.asked = asked

    def write(self, *lines: analysis.Line, end: str = "\n") -> None:
        (self.folder / "results.jsonl").write_text("\n".join(map(json.dumps, lines)) + end)

    def test_only_what_is_missing(self) -> None:
        options = study.parse(self.asked)
        self.assertEqual(len(study.missing_tasks(options)), 4)
        self.write(line(1, ce=0.5), end='\n{"graph": "cor')
        self.assertEqual(
            [(each.noise, seed) for each, seed in study.missing_tasks(options)],
            [("clean", 0), ("uniform-20", 0), ("uniform-20", 1)],
        )
        with study.open_results(self.folder / "results.jsonl") as file:
            file.write(json.dumps(line(0, ce=0.5)) + "\n")
        self.assertEqual(len(study.missing_tasks(options)), 2)

    def test_confirm_runs_winners_on_fresh_seeds(self) -> None:
        won = [line(seed, ce=0.5, cs=0.5, lp=0.5, signed=0.7 + seed / 1000) for seed in range(2)]
        same = [line(seed, "uniform-20", ce=0.5, cs=0.5, lp=0.5, signed=0.5) for seed in range(2)]
        self.write(*won, *same)
        tasks = study.missing_tasks(study.parse([*self.asked, "--confirm"]))
        self.assertEqual([(each.noise, seed) for each, seed in tasks], [("clean", 2), ("clean", 3)])


if __name__ == "__main__":
    unittest.main()
