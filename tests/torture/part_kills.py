#!/usr/bin/env python3
"""Kills a training over a partition, all its processes at once, and goes on with another number of them.

    tests/torture/part_kills.py build/release/qw --kills 6

What is left in the end must have the bytes of a training that nobody disturbed, by one process. Needs a qw with Gloo;
ends with 77, and a line that says why, without.
"""
import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile

SKIPPED = 77
SOLVERS = ("badmm", "proximal", "ce")
FILES = ("model.safetensors", "predictions.csv", "metrics.jsonl", "calibration.json")


def training(options, parts, out, processes, solver):
    return [options.qw, "train", str(parts), "--processes", str(processes), "--solver", solver, "--epochs", "200",
            "--patience", "200", "--checkpoint-every", "5", "--threads", "1", "--out", str(out)]


def disturbed(options, parts, out, solver, kills, numbers):
    """Kills that found it at work; then it is done."""
    found = 0
    for _ in range(kills):
        process = subprocess.Popen(training(options, parts, out, numbers.choice((1, 2, 3)), solver),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            process.wait(timeout=numbers.uniform(1.0, 3.0))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            found += 1
    subprocess.run(training(options, parts, out, 2, solver), check=True, capture_output=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qw")
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    numbers = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        parts = folder / "parts"
        subprocess.run([options.qw, "data", "partition", "karate", "--parts", "3", "--align", "1", "--out", str(parts)],
                       check=True, capture_output=True)
        alone = subprocess.run([options.qw, "bench", "network", "--processes", "2", "--megabytes", "1", "--seconds", "0"],
                               capture_output=True, text=True, check=False)
        if alone.returncode != 0:
            print(f"several processes do not work here: {alone.stderr.strip()}")
            return SKIPPED
        found = 0
        for solver in SOLVERS:
            calm, killed = folder / f"calm-{solver}", folder / f"killed-{solver}"
            subprocess.run(training(options, parts, calm, 1, solver), check=True, capture_output=True)
            found += disturbed(options, parts, killed, solver, max(1, options.kills // len(SOLVERS)), numbers)
            for file in FILES:
                if (calm / "run-0" / file).read_bytes() != (killed / "run-0" / file).read_bytes():
                    print(f"{solver}: {file} is another than that of the undisturbed training")
                    return 1
    print(f"{found} kills: the bytes of the undisturbed trainings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
