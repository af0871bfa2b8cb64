"""`qw train --log-dir` as TensorBoard itself reads it. QW_PROGRAM names the program qw."""

import csv
import json
import math
import os
import pathlib
import signal
import subprocess
import time

import numpy as np
import pytest

accumulators = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator", reason="tensorboard is not installed"
)
QW = os.environ.get("QW_PROGRAM", "")
if not os.access(QW, os.X_OK):
    pytest.skip("QW_PROGRAM names no program qw", allow_module_level=True)

NAMES = {
    "loss": "loss",
    "val_loss": "val_loss",
    "accuracy/train": "train",
    "accuracy/val": "val",
    "accuracy/test": "test",
}
GRAPH = "csbm:nodes=200,degree=6,features=8,classes=3,seed=4"


def train(*more, data=GRAPH, **how):
    return subprocess.run(
        [QW, "train", "--data", data, "--quiet", "--baselines", "none", *map(str, more)],
        check=True,
        timeout=300,
        stdout=subprocess.DEVNULL,
        **how,
    )


def events(folder):
    found = accumulators.EventAccumulator(str(folder), size_guidance={accumulators.SCALARS: 0})
    found.Reload()
    return found


def kept(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def check(log, run):
    """Every value is that of metrics.jsonl, every epoch stands once."""
    rows = kept(run)
    found = events(log)
    given = {tag for tag, name in NAMES.items() if any(row[name] is not None for row in rows)}
    assert set(found.Tags()["scalars"]) == given
    for tag in given:
        expected = [(row["epoch"], np.float32(row[NAMES[tag]])) for row in rows if row[NAMES[tag]] is not None]
        assert [(event.step, np.float32(event.value)) for event in found.Scalars(tag)] == expected
    times = [event.wall_time for event in found.Scalars("loss")]
    assert times == sorted(times) and abs(times[-1] - time.time()) < 3600
    with open(log / "metrics.csv", newline="") as table:
        read = list(csv.DictReader(table))
    assert [int(row["epoch"]) for row in read] == [row["epoch"] for row in rows]
    for tag, name in NAMES.items():
        for row, expected in zip(read, rows):
            assert (float(row[tag]) if row[tag] else None) == expected[name]
    return found


def test_every_value_of_every_run(tmp_path):
    train("--runs", 3, "--epochs", 30, "--hidden", 17, "--out", tmp_path / "run", "--log-dir", tmp_path / "log")
    for k in range(3):
        found = check(tmp_path / "log" / f"run-{k}", tmp_path / "run" / f"run-{k}")
        (text,) = found.Tensors("options")
        assert b"| hidden | 17 |" in text.tensor_proto.string_val[0]
        assert found.SummaryMetadata("options").plugin_data.plugin_name == "text"


def test_a_log_beside_the_run_itself(tmp_path):
    train("--epochs", 5, "--out", tmp_path, "--log-dir", tmp_path)
    check(tmp_path / "run-0", tmp_path / "run-0")


def test_what_is_not_measured_is_left_out(tmp_path):
    (tmp_path / "split.csv").write_text("id,part\n" + "".join(f"{k},{'train' if k < 20 else 'test'}\n" for k in range(34)))
    train(
        "--split-file", tmp_path / "split.csv", "--epochs", 5, "--out", tmp_path / "run",
        "--log-dir", tmp_path / "log", data="karate",
    )  # fmt: skip
    rows = kept(tmp_path / "run" / "run-0")
    assert all(row["val"] is None for row in rows)
    check(tmp_path / "log" / "run-0", tmp_path / "run" / "run-0")


def killed_after(log, epochs, *options):
    """A training whose process is gone without a word."""
    process = subprocess.Popen(
        [QW, "train", "--data", GRAPH, "--quiet", "--baselines", "none", *map(str, options)],
        stdout=subprocess.DEVNULL,
    )
    table = log / "run-0" / "metrics.csv"
    end = time.monotonic() + 120
    while not table.exists() or table.read_text().count("\n") <= epochs:
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("epochs", [3, 43, 90])  # before the first checkpoint, and between two
def test_a_killed_training_goes_on_without_repeating_epochs(tmp_path, epochs):
    run, log = tmp_path / "run", tmp_path / "log"
    options = ["--epochs", 3000, "--patience", 0, "--checkpoint-every", 20, "--out", run, "--log-dir", log]
    killed_after(log, epochs, *options)
    (file,) = (log / "run-0").glob("*tfevents*")
    with open(file, "ab") as cut:
        cut.write(b"\x18\0\0\0\0\0\0\0\x11")  # a record that a crash cut off
    before = events(log / "run-0").Scalars("loss")
    assert len(before) >= epochs
    train(*options)
    found = check(log / "run-0", run / "run-0")
    assert [event.value for event in found.Scalars("loss")][: len(before)] == [event.value for event in before]


def test_a_reader_that_watches_sees_each_epoch_once(tmp_path):
    run, log = tmp_path / "run", tmp_path / "log"
    options = ["--epochs", 2000, "--patience", 0, "--checkpoint-every", 20, "--out", run, "--log-dir", log]
    killed_after(log, 50, *options)
    watching = events(log / "run-0")
    seen = len(watching.Scalars("loss"))
    assert seen >= 50, "to be seen while it trains"
    train(*options)
    watching.Reload()
    assert [event.step for event in watching.Scalars("loss")] == list(range(2000))


def test_resume_into_a_new_folder_has_all_epochs(tmp_path):
    run, log = tmp_path / "run", tmp_path / "log"
    options = ["--epochs", 3000, "--patience", 0, "--checkpoint-every", 20, "--runs", 2, "--threads", 1, "--out", run]
    killed_after(log, 50, *options, "--log-dir", log)
    other = tmp_path / "other"
    subprocess.run([QW, "train", "--resume", run, "--log-dir", other, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    for k in range(2):
        check(other / f"run-{k}", run / f"run-{k}")
    again = tmp_path / "again"  # all runs are done
    subprocess.run([QW, "train", "--resume", run, "--log-dir", again, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    for k in range(2):
        check(again / f"run-{k}", run / f"run-{k}")


def test_several_trainings_lie_beside_each_other(tmp_path):
    train("--epochs", 3, "--out", tmp_path / "a", "--log-dir", tmp_path / "log" / "a")
    train("--epochs", 4, "--out", tmp_path / "b", "--log-dir", tmp_path / "log" / "b")
    for name in "ab":
        check(tmp_path / "log" / name / "run-0", tmp_path / name / "run-0")
    assert not math.isnan(events(tmp_path / "log" / "a" / "run-0").Scalars("loss")[0].value)
    assert sorted(path.name for path in pathlib.Path(tmp_path / "log").iterdir()) == ["a", "b"]
