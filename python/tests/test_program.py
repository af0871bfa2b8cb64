"""The program in the package: `python -m qw`, alone and over several processes."""

import json
import os
import subprocess
import sys

import pytest
from conftest import DEVICE

import qw

TRAIN = ["--epochs", "4", "--model", "gcn", "--solver", "proximal", "--quiet"]
QW = os.environ.get("QW_PROGRAM", "")


def run(words, before=("-m", "qw")):
    """What it printed; it must go well."""
    command = [sys.executable, *before, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(words):
    """The exit code and the error of a command that goes wrong."""
    done = subprocess.run([sys.executable, "-m", "qw", *words], capture_output=True, text=True, timeout=120)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    return done.returncode, done.stderr


def results(folder):
    """What a training leaves, without what depends on the machine."""
    names = ("calibration.json", "flow.safetensors", "model.safetensors", "predictions.csv")
    return {name: (folder / "run-0" / name).read_bytes() for name in names}


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """A partition, and what one process makes of it."""
    folder = tmp_path_factory.mktemp("parts")
    data = "csbm:nodes=9000,degree=4,features=4,classes=2,seed=1"
    run(["data", "partition", data, "--parts", "2", "--out", folder / "parts", "--quiet"])
    run(["train", folder / "parts", *TRAIN, "--out", folder / "one"])
    return folder / "parts", results(folder / "one")


def test_says_what_it_is():
    about = json.loads(run(["--version", "--json"]))
    assert about["version"] == qw.__version__
    assert about["libtorch"] == qw._core.torch_version


def test_commands_without_torch_and_with_it_are_there():
    assert "karate" in run(["data", "list"])
    assert "--patience" in run(["train", "--help"])


def test_the_command_line_is_kept_as_a_person_writes_it(tmp_path):
    run(["train", "karate", *TRAIN, "--out", tmp_path / "a run"])
    schema = json.loads((tmp_path / "a run" / "schema.json").read_text())
    assert schema["command"] == f"qw train karate {' '.join(TRAIN)} --out '{tmp_path / 'a run'}'"


@pytest.mark.skipif(not QW, reason="QW_PROGRAM names no program qw")
def test_the_program_predicts_with_what_the_package_trained(tmp_path):
    run(["train", "karate", *TRAIN, "--out", tmp_path / "run"])
    said = subprocess.run([QW, "predict", tmp_path / "run"], capture_output=True, text=True, timeout=300, check=True)
    texts = said.stdout, run(["predict", tmp_path / "run"])
    theirs, ours = ([line.split(",") for line in text.splitlines()] for text in texts)
    assert [row[:2] for row in theirs] == [row[:2] for row in ours]
    for their_row, our_row in zip(theirs[1:], ours[1:]):  # another LibTorch adds in another order
        assert float(their_row[2]) == pytest.approx(float(our_row[2]), abs=1e-5)


def test_errors_are_one_line_with_their_exit_code():
    code, error = refused(["train", "karate", "--model", "nonsense"])
    assert code == 2
    assert "nonsense" in error
    code, error = refused(["data", "info", "--edges", "no-such-file.csv"])
    assert code == 1
    assert "no-such-file.csv" in error


def test_processes_give_the_bits_of_one(parts, tmp_path):
    run(["train", parts[0], *TRAIN, "--out", tmp_path / "two", "--processes", "2"])
    assert results(tmp_path / "two") == parts[1]


def torchrun(processes, words):
    """Runs the words with so many processes."""
    launcher = ["torch.distributed.run", "--nproc-per-node", str(processes), "--rdzv-backend", "c10d"]
    launcher += ["--rdzv-endpoint", "127.0.0.1:0", "-m", "qw"]
    run([*launcher, *words], before=("-m",))


def test_torchrun_gives_the_bits_of_one_process(parts, tmp_path):
    if qw._core.torch_version.startswith("1."):
        pytest.skip("Debian's torchrun does not run with Python 3.11")
    torchrun(2, ["train", parts[0], *TRAIN, "--out", tmp_path / "two"])
    assert results(tmp_path / "two") == parts[1]


@pytest.mark.skipif(DEVICE != "cuda", reason="QW_TEST_DEVICE is not cuda")
@pytest.mark.parametrize(
    "options",
    [
        "--model gcn --solver proximal",
        "--model gat --heads 2 --solver ce",
        "--model chebnetii --solver bregman",
        "--model gin --norm batch --solver badmm",
        "--model gcn --solver bregman --edge-weights",
    ],
)
def test_processes_on_a_gpu_give_the_bits_of_one(parts, tmp_path, options):
    """One process with NCCL, and two that share the GPU and send rows over the host."""
    words = ["train", parts[0], *options.split(), "--epochs", "4", "--device", "cuda", "--quiet"]
    run([*words, "--out", tmp_path / "alone"])
    for processes in (1, 2):
        torchrun(processes, [*words, "--out", tmp_path / str(processes)])
    names = ["model.safetensors", "predictions.csv"]
    alone, one, two = ([(tmp_path / by / "run-0" / name).read_bytes() for name in names] for by in ("alone", "1", "2"))
    assert alone == one == two
