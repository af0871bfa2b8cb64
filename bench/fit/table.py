#!/usr/bin/env python3
"""`qw fit` beside every network of ours: the table of docs/fit.md.

    bench/fit/table.py --qw build/release/qw --out build/fit-table --time 3m

For every graph and seed: one `qw fit`, and one `qw train` of every network with its default options (cross-entropy, or
squared error, and QW), of the presets of that graph, and the linear baseline, all on the same stratified split. What is
done is kept in --out, and a repeated command does the rest. --cores divides the machine: every fit and training gets so
many, as many side by side as there are. The table goes to standard output. With a GPU the networks can be trained there
while the fits run on the host: --only fits, and beside it --only networks --device cuda, and then the table without both.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import queue
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator

GRAPHS = ("cora", "citeseer", "texas", "cornell", "chameleon", "actor", "photo", "county-facebook")
VALUES = ("county-facebook",)
NETWORKS = ("gcn", "gat", "gin", "graphsage", "appnp", "bernnet", "chebnetii", "mlp")
LINEAR = "linear"
FIT = "fit"


class Job:
    """One command; its JSON is kept in a file of its own name."""

    def __init__(self, graph: str, name: str, command: list[str], cost: float) -> None:
        self.graph, self.name, self.command, self.cost = graph, name, command, cost

    def file(self, out: pathlib.Path) -> pathlib.Path:
        return out / (f"{self.graph}-{self.name}".replace("/", "_") + ".json")


def jobs(arguments: argparse.Namespace) -> Iterator[Job]:
    presets = json.loads(subprocess.run([arguments.qw, "presets", "--json"], capture_output=True, check=True).stdout)
    for graph in arguments.graphs.split(","):
        common = ["--split", "stratified", "--device", arguments.device, "--json", "--quiet"]
        for seed in range(1, arguments.seeds + 1):
            folder = arguments.out / f"{graph}-{FIT}-{seed}"
            command = ["fit", graph, *common, "--seed", str(seed), "--time", arguments.time, "--out", str(folder)]
            yield Job(graph, f"{FIT}-{seed}", command, 2)
        train = ["train", graph, *common, "--seed", "1", "--runs", str(arguments.seeds)]
        plain = "mse" if graph in VALUES else "ce"
        for network in NETWORKS:
            for solver in (plain, "proximal"):
                more = ["--model", network, "--solver", solver, "--baselines", "all" if network == "mlp" else "none"]
                yield Job(graph, f"{network} {solver}", train + more, 1)
        for preset in presets:
            if preset.startswith(graph + "/"):
                yield Job(graph, preset, [*train, "--preset", preset, "--baselines", "none"], 1)


def run_all(arguments: argparse.Namespace) -> None:
    todo: queue.Queue[Job] = queue.Queue()
    for job in sorted(jobs(arguments), key=lambda job: (-job.cost, job.graph != "photo")):
        is_fit = job.name.startswith(FIT)
        wanted = arguments.only is None or (arguments.only == "fits") == is_fit
        if wanted and not job.file(arguments.out).exists():
            todo.put(job)

    def work(first: int) -> None:
        cores = ",".join(str(core) for core in range(first, first + arguments.cores))
        while True:
            try:
                job = todo.get_nowait()
            except queue.Empty:
                return
            done = subprocess.run(
                ["taskset", "-c", cores, arguments.qw, *job.command], capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                print(f"{job.graph} {job.name}: {done.stderr.strip()}", file=sys.stderr)
                continue
            unfinished = job.file(arguments.out).with_suffix(".part")
            unfinished.write_text(done.stdout)
            unfinished.rename(job.file(arguments.out))
            print(f"{job.graph} {job.name}", file=sys.stderr)

    places = max(1, (os.cpu_count() or 1) // arguments.cores)
    workers = [threading.Thread(target=work, args=(place * arguments.cores,)) for place in range(places)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def read(job: Job, out: pathlib.Path, metric: str) -> tuple[float, float] | None:
    """Mean and half width over the seeds."""
    if not job.file(out).exists():
        return None
    found = json.loads(job.file(out).read_text())["test"][metric]
    return found["mean"], found["ci95"]


def table(arguments: argparse.Namespace) -> str:
    rows = [
        "| | `qw fit` | best of ours alone | | best network for all | linear |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    singles: dict[str, dict[str, tuple[float, float]]] = {}
    fits: dict[str, list[float]] = {}
    linear: dict[str, float] = {}
    for job in jobs(arguments):
        metric = "r2" if job.graph in VALUES else "accuracy"
        if job.name.startswith(FIT):
            if job.file(arguments.out).exists():
                found = json.loads(job.file(arguments.out).read_text())
                fits.setdefault(job.graph, []).append(found["test"][metric])
            continue
        result = read(job, arguments.out, metric)
        if result is not None:
            singles.setdefault(job.graph, {})[job.name] = result
            if "mlp" in job.name and "/" not in job.name and job.graph not in linear:
                whole = json.loads(job.file(arguments.out).read_text())
                linear[job.graph] = whole["baselines"]["linear"][metric]["mean"]
    classes = [graph for graph in fits if graph not in VALUES]
    fixed = [name for name in singles[classes[0]] if "/" not in name]
    means = {name: statistics.mean(singles[graph][name][0] for graph in classes) for name in fixed}
    best_fixed = max(means, key=lambda name: means[name])

    def shown(graph: str, value: float) -> str:
        return f"{value:.3f}" if graph in VALUES else f"{100 * value:.1f}"

    for graph, scores in fits.items():
        best = max(singles[graph], key=lambda name: singles[graph][name][0])
        mean, half = singles[graph][best]
        everywhere = shown(graph, singles[graph][best_fixed][0]) if graph not in VALUES else ""
        rows.append(
            f"| {graph} | {shown(graph, statistics.mean(scores))} | {shown(graph, mean)} ± {shown(graph, half)} "
            f"| {best} | {everywhere} | {shown(graph, linear[graph])} |"
        )
    mean_fit = statistics.mean(statistics.mean(fits[graph]) for graph in classes)
    mean_linear = statistics.mean(linear[graph] for graph in classes)
    rows.append(
        f"| mean of classes | {100 * mean_fit:.1f} | | | {100 * means[best_fixed]:.1f} ({best_fixed}) "
        f"| {100 * mean_linear:.1f} |"
    )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qw", default="build/release/qw")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/fit-table"))
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--time", default="3m")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", choices=["fits", "networks"], help="train these, and print no table")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    run_all(arguments)
    if arguments.only is None:
        print(table(arguments))


if __name__ == "__main__":
    main()
