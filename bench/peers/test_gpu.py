#!/usr/bin/env python3
"""Checks gpu.py as far as the CPU can: the models of models.py stand in for PyTorch Geometric's where it is missing."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

try:
    import numpy
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import gpu
import models
from torch_gnn import Transport

CPU = torch.device("cpu")
SETTINGS = models.Settings(hidden=4, heads=2, steps=3)


def write_problem(folder: pathlib.Path, nodes: int = 12, inputs: int = 5, classes: int = 3) -> gpu.Problem:
    """A ring with chords."""
    adjacency = numpy.zeros((nodes, nodes), bool)
    for node in range(nodes):
        for step in (1, 5):
            adjacency[node, (node + step) % nodes] = adjacency[(node + step) % nodes, node] = True
    offsets = numpy.concatenate([[0], adjacency.sum(1).cumsum()])
    numpy.savez(folder / "ring.npz", adj_indptr=offsets, adj_indices=adjacency.nonzero()[1],
                attr_matrix=numpy.random.default_rng(1).random((nodes, inputs)), labels=numpy.arange(nodes) % classes)
    (folder / "ring.json").write_text(json.dumps({"train": list(range(0, nodes, 2))}))
    return gpu.Problem("ring", folder / "ring.npz", folder / "ring.json", CPU)


class Gpu(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        torch.manual_seed(1)
        torch.set_default_dtype(torch.float32)
        self.problem = write_problem(self.folder)

    def test_all_ways_give_the_same_flow_and_gradient(self) -> None:
        dense = Transport(self.problem.graph, 3, dense=True)
        gradient = torch.randn(12, 3)
        dense().backward(gradient)
        for way in gpu.SparseTransport.WAYS:
            with self.subTest(way=way):
                sparse = gpu.SparseTransport(self.problem.graph, 3)
                sparse.load_state_dict(dense.state_dict(), strict=False)
                sparse.use(way)
                sparse().backward(gradient)
                torch.testing.assert_close(sparse(), dense())
                torch.testing.assert_close(sparse.flow.grad, dense.flow.grad)

    def test_the_fastest_way_is_used_and_every_training_starts_afresh(self) -> None:
        first = self.problem.transport(False).flow
        transport = self.problem.transport(False)
        self.assertIn(transport.way, gpu.SparseTransport.WAYS)
        self.assertIsNot(transport.flow, first)
        self.assertIsNone(transport.flow.grad)
        self.assertEqual([name for name, _ in transport.named_parameters()], ["flow"])

    def test_sparse_and_dense_incidence_are_the_same_training(self) -> None:
        settings = models.Settings(hidden=4, dropout=0)
        losses = []
        for variant in ("qw-eager", "qw-dense"):
            self.problem.transport(variant == "qw-dense")  # choosing a way takes random numbers
            training = gpu.Training(self.problem, models.MODELS["gcn"], variant, settings)
            losses.append([training.step().item() for _ in range(20)])
        numpy.testing.assert_allclose(*losses, rtol=1e-4)
        self.assertLess(losses[0][-1], losses[0][0])

    def test_figures(self) -> None:
        effort = gpu.Effort(block=2, least_steps=6, seconds=0, warmup=1)
        for variant in ("qw-eager", "qw-dense", "ce-eager"):
            for name in gpu.MODELS:
                with self.subTest(variant=variant, model=name):
                    result = gpu.measure(self.problem, name, models.MODELS[name], variant, effort, SETTINGS)
                    self.assertNotIn("skipped", result)
                    self.assertEqual((result["data"], result["model"], result["steps"]), ("ring", name, 6))
                    self.assertLessEqual(result["step_ms"]["min"], result["step_ms"]["median"])
                    self.assertEqual("way" in result, variant == "qw-eager")

    def test_what_is_left_out_says_why(self) -> None:
        def measure(variant: str, build=models.MODELS["gcn"]) -> str:
            return gpu.measure(self.problem, "gcn", build, variant, gpu.QUICK, SETTINGS)["skipped"]

        self.assertEqual(measure("qw-captured"), "CUDA graphs need a GPU")
        self.assertEqual(measure("ce-eager", mock.Mock(side_effect=RuntimeError("broken\nat line 1"))), "broken")
        with mock.patch.object(gpu, "MOST_DENSE_BYTES", 10):
            self.assertEqual(measure("qw-dense"), "the dense incidence matrix takes 0 GB")

    def test_document(self) -> None:
        file = self.folder / "out.json"
        arguments = ["--device", "cpu", "--quick", "--json", str(file), "--model", "gcn", "--variant", "qw-eager",
                     "--variant", "ce-captured", "--seconds", "1000"]
        with contextlib.redirect_stdout(io.StringIO()) as output:
            results = gpu.run(gpu.parse(arguments), models.MODELS, [self.problem], gpu.time.perf_counter())
        document = json.loads(file.read_text())
        self.assertEqual(document["results"], results)
        self.assertEqual(document["device"], "cpu")
        self.assertEqual(document["torch"], torch.__version__)
        self.assertEqual([result["variant"] for result in results], ["qw-eager", "ce-captured"])
        self.assertEqual(len(output.getvalue().splitlines()), 2)

    def test_time_that_is_over(self) -> None:
        options = gpu.parse(["--device", "cpu", "--model", "gcn", "--variant", "qw-eager", "--seconds", "0"])
        with contextlib.redirect_stdout(io.StringIO()):
            (result,) = gpu.run(options, models.MODELS, [self.problem], gpu.time.perf_counter() - 1)
        self.assertEqual(result["skipped"], "the 0 seconds were over")

    @unittest.skipIf(torch.cuda.is_available(), "there is a GPU")
    def test_without_a_gpu(self) -> None:
        errors = io.StringIO()
        with mock.patch("sys.argv", ["gpu.py"]), contextlib.redirect_stderr(errors):
            self.assertEqual(gpu.main(), 2)
        self.assertEqual(errors.getvalue(), "gpu.py: torch sees no GPU; --device cpu shows that the steps run\n")


class Geometric(unittest.TestCase):
    """PyTorch Geometric's layers compute what models.py computes."""

    def setUp(self) -> None:
        try:
            import pyg_models
        except ImportError as error:
            self.skipTest(str(error))
        self.models = pyg_models.MODELS
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        torch.manual_seed(1)
        torch.set_default_dtype(torch.float32)
        self.problem = write_problem(pathlib.Path(folder.name))

    def test_same_logits_and_gradients(self) -> None:
        x = self.problem.features
        self.assertEqual(list(self.models), gpu.MODELS)
        for name in gpu.MODELS:
            with self.subTest(model=name):
                ours = models.MODELS[name](x.size(1), 3, self.problem.graph, SETTINGS).eval()
                theirs = self.models[name](x.size(1), 3, self.problem.graph, SETTINGS).eval()
                missing, unexpected = theirs.load_state_dict(ours.state_dict(), strict=False)
                self.assertEqual([key for key in missing if not key.endswith("eps")], [])  # a constant of GINConv
                self.assertEqual(unexpected, [])
                torch.testing.assert_close(theirs(x), ours(x), rtol=1e-4, atol=1e-5)
                for model in (ours, theirs):
                    model(x).square().sum().backward()
                wanted = dict(ours.named_parameters())
                for key, parameter in theirs.named_parameters():
                    torch.testing.assert_close(parameter.grad, wanted[key].grad, rtol=1e-3, atol=1e-4)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
