#!/usr/bin/python3
"""Checks the models against reference values, gradients included: those of tests/golden, and those of
QW_GOLDEN_DIR (default ../shared/golden) where they are here."""
import json
import os
import pathlib
import struct
import sys
import unittest

try:
    import numpy
    import torch
    import torch.nn.functional as F
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import sparse
from models import MODELS, Graph, Settings

ROOT = pathlib.Path(__file__).resolve().parents[2]
OWN_GOLDEN = ROOT / "tests" / "golden" / "models"
GOLDEN = pathlib.Path(os.environ.get("QW_GOLDEN_DIR", ROOT.parent / "shared" / "golden")) / "models"
DTYPES = {"F64": numpy.float64, "I64": numpy.int64}


def read_safetensors(path: pathlib.Path) -> tuple[dict, dict]:
    """(metadata, tensors)."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + size])
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        values = numpy.frombuffer(content[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        tensors[name] = torch.from_numpy(values.copy())
    return metadata, tensors


def read_json(path: pathlib.Path) -> tuple[dict, dict]:
    """(metadata, tensors)."""
    document = json.loads(path.read_text())
    return document["metadata"], {name: torch.tensor(value) for name, value in document["tensors"].items()}


def graph_of(edges: torch.Tensor, nodes: int, style: str) -> Graph:
    sparse.chosen.clear()
    adjacency = torch.zeros(nodes, nodes, dtype=torch.bool)
    adjacency[edges[0], edges[1]] = adjacency[edges[1], edges[0]] = True
    offsets = torch.cat([torch.zeros(1, dtype=torch.long), adjacency.sum(1).cumsum(0)])
    return Graph(offsets, adjacency.nonzero()[:, 1].contiguous(), torch.float64, style)


def assert_close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-12)


class Models(unittest.TestCase):
    def setUp(self) -> None:
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(1)

    def check_golden(self, path: pathlib.Path, style: str) -> None:
        metadata, golden = read_json(path) if path.suffix == ".json" else read_safetensors(path)
        settings = Settings(hidden=int(metadata["hidden"]), heads=int(metadata["heads"]), steps=int(metadata["K"]),
                            teleport=float(metadata["alpha"]), style=style)
        nodes, inputs = golden["x"].shape
        graph = graph_of(golden["edge_index"], nodes, style)
        model = MODELS[metadata["model"]](inputs, golden["logits"].size(1), graph, settings).eval()
        model.load_state_dict({name: golden["param/" + name] for name in model.state_dict()})
        assert_close(model(golden["x"]), golden["logits"])
        train = golden["train_index"]
        loss = model.loss(golden["x"], golden["y"][train], train)
        loss.backward()
        assert_close(loss, golden["loss/ce"].squeeze())
        for name, parameter in model.named_parameters():
            assert_close(parameter.grad, golden[f"grad/ce/{name}"])

    def test_own_golden(self) -> None:
        names = [name for name in MODELS if name != "gcn-lpa"]  # whose parameters have other names here
        self.check_all([OWN_GOLDEN / f"{name}.json" for name in names])

    def test_published_golden(self) -> None:
        paths = [path for path in sorted(GOLDEN.glob("*.safetensors")) if "edge-weights" not in path.stem]
        if not paths:
            self.skipTest("no ../shared")
        self.check_all(paths)

    def check_all(self, paths: list[pathlib.Path]) -> None:
        for path in paths:
            for style in sparse.STYLES:
                with self.subTest(model=path.stem, style=style):
                    self.check_golden(path, style)

    def test_gcn_lpa_against_dense_matrices(self) -> None:
        nodes, inputs, classes = 30, 6, 3
        edges = torch.randint(nodes - 1, (2, 60))
        edges = edges[:, edges[0] != edges[1]]
        x, train = torch.randn(nodes, inputs), torch.arange(0, nodes, 2)
        labels = torch.randint(classes, (train.numel(),))
        for style in sparse.STYLES:
            with self.subTest(style=style):
                model = MODELS["gcn-lpa"](inputs, classes, graph_of(edges, nodes, style), Settings(style=style)).eval()
                torch.nn.init.normal_(model.scores)
                expected = self.dense_gcn_lpa(model, x, labels, train)
                loss = model.loss(x, labels, train)
                assert_close(loss, expected)
                parameters = list(model.parameters())
                for actual, wanted in zip(torch.autograd.grad(loss, parameters),
                                          torch.autograd.grad(expected, parameters)):
                    assert_close(actual, wanted)

    @staticmethod
    def dense_gcn_lpa(model, x, labels, train) -> torch.Tensor:
        pattern = model.pattern
        scores = torch.full((pattern.size, pattern.size), -torch.inf)
        matrix = scores.index_put((pattern.rows, pattern.columns), model.scores).softmax(1)
        hidden = (matrix @ model.conv1.lin(x) + model.conv1.bias).relu()
        logits = matrix @ model.conv2.lin(hidden) + model.conv2.bias
        start = torch.zeros(pattern.size, model.classes)
        start[train] = F.one_hot(labels, model.classes).to(x.dtype)
        known = torch.zeros(pattern.size, 1).index_fill(0, train, 1)
        propagated = start
        for _ in range(4):
            propagated = known * start + (1 - known) * (matrix @ propagated)
        propagated = matrix @ propagated
        return F.cross_entropy(logits[train], labels) - propagated[train, labels].log().mean()


class Sparse(unittest.TestCase):
    def setUp(self) -> None:
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(1)

    def test_all_ways_agree(self) -> None:
        dense = torch.rand(20, 20) < 0.3
        dense = (dense | dense.t()).logical_or_(torch.eye(20, dtype=torch.bool))
        offsets = torch.cat([torch.zeros(1, dtype=torch.long), dense.sum(1).cumsum(0)])
        pattern = sparse.Pattern(offsets, dense.nonzero()[:, 1].contiguous(), "tuned")
        values, x, y = torch.randn(pattern.columns.numel()), torch.randn(20, 7), torch.randn(20, 7)
        matrix = torch.zeros(20, 20).index_put((pattern.rows, pattern.columns), values)
        for name, product in sparse.PRODUCTS.items():
            with self.subTest(product=name):
                assert_close(product(pattern, values, x), matrix @ x)
                assert_close(product(pattern, pattern.mirror_of(values), x), matrix.t() @ x)
        for name, dots in sparse.DOTS.items():
            with self.subTest(dots=name):
                assert_close(dots(pattern, x, y), (x @ y.t())[pattern.rows, pattern.columns])

    def test_dropout_keeps_the_mean(self) -> None:
        x = torch.ones(200_000)
        for style in sparse.STYLES:
            dropped = sparse.dropout(x, 0.25, True, style)
            self.assertEqual(set(dropped.tolist()), {0.0, 1 / 0.75})
            self.assertAlmostEqual(dropped.mean().item(), 1, delta=0.01)
            self.assertTrue(torch.equal(sparse.dropout(x, 0.25, False, style), x))


if __name__ == "__main__":
    unittest.main(warnings="ignore")
