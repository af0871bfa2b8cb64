#!/usr/bin/python3
"""Does transport ever help? Compares six uses of it with cross-entropy, Correct & Smooth and label propagation.

    bench/transport_study/study.py --out build/transport-study --processes 2
    bench/transport_study/study.py --out build/transport-study --processes 2 --confirm
    bench/transport_study/study.py --out build/transport-study --table --csv docs/notes/transport-study.csv

The first command runs all cells (a graph, labels for each class, noise, a seed), the second runs those of conditions
where a method won again on fresh seeds, the third prints tables. Every finished cell is a line of OUT/results.jsonl;
a repeated command does what is missing. The package qw must be importable: PYTHONPATH=build/release/python-package.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import pathlib
import sys
import time
import traceback
from typing import Any, TextIO

from analysis import Lines, Study, by_condition, condition_of, read_lines, report, write_csv
from conditions import GRAPHS, NOISES, RATES, Condition

ROOT = pathlib.Path(__file__).resolve().parents[2]
Task = tuple[Condition, int]


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    def names(known: tuple[str, ...]) -> dict[str, Any]:
        return {"default": ",".join(known), "help": f"default {','.join(known)}"}

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "transport-study", metavar="DIR")
    parser.add_argument("--graphs", **names(tuple(GRAPHS)))
    parser.add_argument("--rates", **names(RATES))
    parser.add_argument("--noise", **names(NOISES))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="where networks are trained: cpu or cuda")
    parser.add_argument("--confirm", action="store_true", help="as many fresh seeds where a method won")
    parser.add_argument("--table", action="store_true", help="print tables of what is there, run nothing")
    parser.add_argument("--csv", type=pathlib.Path, metavar="FILE", help="with --table: every condition and method")
    options = parser.parse_args(arguments)
    for name, known in (("graphs", tuple(GRAPHS)), ("rates", RATES), ("noise", NOISES)):
        given = getattr(options, name).split(",")
        unknown = [each for each in given if each not in known]
        if unknown:
            parser.error(f"--{name}: unknown {', '.join(unknown)}; known: {', '.join(known)}")
        setattr(options, name, given)
    return options


def conditions_of(options: argparse.Namespace) -> list[Condition]:
    """Large graphs first."""
    asked = itertools.product((name for name in GRAPHS if name in options.graphs), options.rates, options.noise)
    return [Condition(*each) for each in asked]


def study_of(options: argparse.Namespace) -> Study:
    lines = by_condition(read_lines(options.out / "results.jsonl"))
    asked: Lines = {condition: lines[condition] for condition in conditions_of(options) if condition in lines}
    return Study(asked, range(options.seeds), range(options.seeds, 2 * options.seeds))


def missing_tasks(options: argparse.Namespace) -> list[Task]:
    study = study_of(options)
    conditions, seeds = conditions_of(options), study.first
    if options.confirm:
        won = {condition for condition, _ in study.wins()}
        conditions, seeds = [condition for condition in conditions if condition in won], study.fresh
    done = {(condition_of(line), line["seed"]) for line in read_lines(options.out / "results.jsonl")}
    return [task for task in itertools.product(conditions, seeds) if task not in done]


def start_worker(device: str) -> None:
    import networks
    import qw

    qw.set_threads(1)
    networks.OPTIONS["device"] = device


def run_task(task: Task) -> tuple[Task, str, str]:
    """The line of a cell, or what went wrong."""
    from cell import run_cell

    try:
        return task, json.dumps(run_cell(*task)), ""
    except Exception:
        return task, "", traceback.format_exc()


def open_results(path: pathlib.Path) -> TextIO:
    """To append to, at the start of a line even where an interruption cut one off."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cut = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
    file = path.open("a")
    if cut:
        file.write("\n")
    return file


def run(options: argparse.Namespace) -> int:
    tasks = missing_tasks(options)
    began, failed = time.monotonic(), 0
    print(f"{len(tasks)} cells to run", file=sys.stderr)
    os.environ.update({name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")})  # of the processes below
    context = multiprocessing.get_context("spawn")  # they import numpy anew and see it
    workers = context.Pool(options.processes, start_worker, [options.device])
    with open_results(options.out / "results.jsonl") as file, workers as pool:
        for number, (task, line, error) in enumerate(pool.imap_unordered(run_task, tasks), start=1):
            condition, seed = task
            if error:
                failed += 1
                print(f"{condition}, seed {seed} failed:\n{error}", file=sys.stderr)
                continue
            file.write(line + "\n")
            file.flush()
            if number % 25 == 0 or number == len(tasks):
                minutes = (time.monotonic() - began) / 60
                print(f"{number} of {len(tasks)}, {minutes:.1f} min: {condition.graph}", file=sys.stderr, flush=True)
    return 1 if failed else 0


def find_data(folder: pathlib.Path) -> None:
    """Published graphs come from the cache, and from the folder of shared data sets where there is one."""
    shared = ROOT.parent / "shared" / "datasets"
    if "QW_DATA_MIRROR" not in os.environ and shared.is_dir():
        os.environ["QW_DATA_MIRROR"] = str(shared)
        os.environ.setdefault("QW_CACHE_DIR", str(folder.resolve() / "cache"))


def main() -> int:
    options = parse()
    if options.table:
        study = study_of(options)
        print(report(study))
        if options.csv:
            write_csv(study, options.csv)
        return 0
    find_data(options.out)
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
