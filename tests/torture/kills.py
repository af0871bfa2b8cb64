#!/usr/bin/env python3
"""Kills trainings, sweeps and fits at random moments, resumes them, and compares with one that was left alone.

    tests/torture/kills.py --qw build/release/qw [--kills 100] [--seed 1]

Files must have the same bytes, but for the times in them.
"""
import argparse
import json
import pathlib
import random
import shutil
import sqlite3
import subprocess
import tempfile
import time

import corpus
import program

GRAPH = "csbm:nodes=200,degree=6,features=16,classes=3,signal=0.5"
NETWORK = ["--epochs", "100", "--patience", "0", "--checkpoint-every", "7"]
TABLES = ["--edges", "FOLDER/edges.csv", "--nodes", "FOLDER/nodes.csv"]
TRAININGS = {
    "ce": [GRAPH, "--solver", "ce", "--model", "gat", "--norm", "batch", *NETWORK],
    "mse": [*TABLES, "--target", "score", "--solver", "mse", *NETWORK],
    "bregman": [*TABLES, "--target", "team", "--solver", "bregman", "--edge-weights", *NETWORK],
    "proximal": [GRAPH, "--solver", "proximal", "--select", "metric", *NETWORK],
    "badmm": [GRAPH, "--solver", "badmm", "--inner-steps", "2", "--dual", "probability", *NETWORK],
    "exact": [GRAPH, "--solver", "exact", "--solve-every", "3", *NETWORK],
    "gcn-lpa": [GRAPH, "--solver", "gcn-lpa", "--model", "gcn-lpa", *NETWORK],
    "correct-and-smooth": [GRAPH, "--solver", "correct-and-smooth", "--model", "mlp", *NETWORK],
    "label-propagation": [*TABLES, "--target", "team", "--solver", "label-propagation", "--model", "none"],
}
SWEEP = {
    "method": "ce",
    "each": {"data": [GRAPH], "model": ["gcn", "mlp"]},
    "fixed": {"epochs": 60, "solver": "ce"},
    "search": {"lr": [0.001, 0.01, 0.1], "hidden": [4, 16], "weight_decay": [0, 0.01]},
    "strategy": "halving",
    "samples": 9,
    "runs": 9,
}
FIT = ["fit", GRAPH, "--trials", "16", "--seed", "2", "--out", "run"]
SHARE_OF_SEARCHES = 0.15  # of sweeps, and of fits
MOST_KILLS_IN_A_ROW = 4


class Difference(Exception):
    """What an interrupted run has that the other has not."""


def train_command(solver, folder):
    options = [option.replace("FOLDER", str(folder)) for option in TRAININGS[solver]]
    return ["train", *options, "--runs", "3", "--baselines", "all", "--out", "run"]


def resume_training(command, folder, rng):
    """One of two ways to go on; the first is only for a folder that has begun."""
    begun = (folder / "run" / "config.json").exists()
    return ["train", "--resume", "run"] if begun and rng.random() < 0.8 else command


def repeat(command, folder, rng):
    return command


def without_times(path, contents):
    """summary.json of all runs has the time of a step, and the manifest its checksum; fit.json has its own."""
    if path == pathlib.PurePath("fit.json"):
        document = json.loads(contents)
        document.pop("seconds")
        return json.dumps(document)
    if path == pathlib.PurePath("summary.json"):
        document = json.loads(contents)
        document.pop("step_ms")
        return json.dumps(document)
    if path == pathlib.PurePath("manifest.json"):
        document = json.loads(contents)
        document["files"].pop("summary.json")
        return json.dumps(document)
    return contents


def training_outcome(qw, folder):
    """Of a fit what came out, not how."""
    files = [path for path in sorted((folder / "run").rglob("*")) if path.is_file() and "search" not in path.parts]
    outcome = {}
    for path in files:
        name = path.relative_to(folder / "run")
        outcome[str(name)] = without_times(name, path.read_bytes())
    return outcome


def sweep_outcome(qw, folder):
    database = sqlite3.connect(folder / "sweep.db")
    rows = database.execute("SELECT options, run, val, test, epochs, device, error, summary"
                            " FROM result JOIN config ON config.id = result.config").fetchall()
    database.close()
    outcome = {}
    for *columns, summary in rows:
        document = json.loads(summary)
        document.pop("step_ms", None)
        outcome[f"{columns[0]} run {columns[1]}"] = (columns, document)
    outcome["qw sweep show"] = program.run_well(qw, ["sweep", "show", "sweep.db", "--top", "100"], folder).out
    return outcome


def compare(actual, expected, folder):
    for name in sorted(actual.keys() | expected.keys()):
        if name not in expected:
            raise Difference(f"{name} is there, and is not after an uninterrupted run")
        if name not in actual:
            raise Difference(f"{name} is missing")
        if actual[name] != expected[name]:
            raise Difference(f"{name} differs")
    parts = program.part_files(folder)
    if parts:
        raise Difference(f"{parts[0]} was left behind")


def run_and_kill(qw, command, folder, moment):
    """Whether it was killed; it may have come to its end before."""
    with open(folder / "errors.txt", "wb") as errors:
        process = program.start(qw, command, folder, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            code = process.wait(timeout=moment)
        except subprocess.TimeoutExpired:
            return program.kill_group(process) < 0
    if code != 0:
        raise Difference(f"qw {' '.join(command)} ended with {code}: {(folder / 'errors.txt').read_text()}")
    return False


class Case:
    """A command with the outcome and the duration of its uninterrupted run, which is made when first needed."""

    def __init__(self, qw, folder, name, command, go_on, outcome):
        self.qw, self.folder, self.name = qw, folder, name
        self.command, self.go_on, self.outcome = command, go_on, outcome
        self.expected = None

    def prepare(self):
        whole = self.folder / f"{self.name}-whole"
        whole.mkdir()
        begin = time.monotonic()
        program.run_well(self.qw, self.command, whole)
        self.duration = time.monotonic() - begin
        self.expected = self.outcome(self.qw, whole)

    def torture(self, rng, most):
        """Kills it up to `most` times on its way, and returns how often it did."""
        if self.expected is None:
            self.prepare()
        folder = self.folder / f"{self.name}-killed"
        folder.mkdir()
        killed = 0
        command = self.command
        for _ in range(min(most, rng.randint(1, MOST_KILLS_IN_A_ROW))):
            if not run_and_kill(self.qw, command, folder, rng.uniform(0, self.duration)):
                break
            killed += 1
            command = self.go_on(self.command, folder, rng)
        if run_and_kill(self.qw, command, folder, 600):
            raise Difference("it did not end within 600 s")
        compare(self.outcome(self.qw, folder), self.expected, folder)
        shutil.rmtree(folder)
        return killed


def make_cases(qw, folder):
    nodes, edges = corpus.people_csv(people=120)
    (folder / "nodes.csv").write_bytes(nodes)
    (folder / "edges.csv").write_bytes(edges)
    (folder / "sweep.json").write_text(json.dumps(SWEEP))
    trainings = [Case(qw, folder, solver, train_command(solver, folder), resume_training, training_outcome)
                 for solver in TRAININGS]
    sweep = ["sweep", "../sweep.json", "--store", "sweep.db", "--threads", "2"]
    searches = [Case(qw, folder, "sweep", sweep, repeat, sweep_outcome),
                Case(qw, folder, "fit", FIT, repeat, training_outcome)]
    return trainings, searches


def torture(arguments, folder):
    rng = random.Random(arguments.seed)
    trainings, searches = make_cases(arguments.qw, folder)
    kills = {case.name: 0 for case in [*trainings, *searches]}
    turn = 0
    while sum(kills.values()) < arguments.kills:
        done = sum(kills.values())
        due = [case for case in searches if kills[case.name] < SHARE_OF_SEARCHES * (done + 1)]
        case = due[0] if due else trainings[turn % len(trainings)]
        turn += not due
        try:
            times = case.torture(rng, arguments.kills - done)
        except Difference as difference:
            raise SystemExit(f"{case.name}, after {done} kills with seed {arguments.seed}: {difference}\n"
                             f"what there is: {folder}/{case.name}-whole and {folder}/{case.name}-killed")
        kills[case.name] += times
        print(f"{case.name} ({case.duration:.1f} s): killed {times} times, the same bytes", flush=True)
    in_trainings = sum(kills[case.name] for case in trainings)
    solvers = sum(kills[case.name] > 0 for case in trainings)
    print(f"{sum(kills.values())} kills: {in_trainings} in train ({solvers} solvers), {kills['sweep']} in sweep, {kills['fit']} in fit; "
          "all resumed to the same bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qw", type=pathlib.Path, default="build/release/qw", help="the program")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.qw = arguments.qw.absolute()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="qw-kills-"))
    torture(arguments, folder)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
