"""The examples of docs/python.md, run as they stand."""

import importlib.util
import os
import pathlib

import pytest

import qw

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "python"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def cora(tmp_path, monkeypatch):
    mirror = ROOT.parent / "shared" / "datasets"
    if "QW_DATA_MIRROR" not in os.environ and mirror.is_dir():
        monkeypatch.setenv("QW_DATA_MIRROR", str(mirror))
        monkeypatch.setenv("QW_CACHE_DIR", str(tmp_path))
    try:
        qw.load("cora")
    except qw.Error as error:
        pytest.skip(f"cora is not here: {error}")


def test_qw_on_pyg_gcn(cora):
    pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
    assert example("qw_on_pyg_gcn").main(epochs=60) > 0.8


def test_two_dataframes():
    pytest.importorskip("pandas", reason="pandas is not installed")
    unknown = example("two_dataframes").main()
    assert len(unknown) and unknown["sure"].between(0, 1).all()


def test_accelerate_gat(cora):
    pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
    count, difference = example("accelerate_gat").main(steps=2)
    assert count == 2 and difference < 1e-4


def test_certified_w1():
    pytest.importorskip("networkx", reason="networkx is not installed")
    pytest.importorskip("ot", reason="POT is not installed")
    solved, other = example("certified_w1").main()
    assert solved.status == "optimal" and abs(solved.distance - other) < 1e-8


def test_examples_are_short_and_in_the_documents():
    text = (ROOT / "docs" / "python.md").read_text()
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text().splitlines()) < 60, path
        assert f"examples/python/{path.name}" in text, path
