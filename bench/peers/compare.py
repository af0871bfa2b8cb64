#!/usr/bin/python3
"""Compares a training step of qw with the same step in plain PyTorch, on the same data, split and number of threads.

    bench/peers/compare.py
    bench/peers/compare.py --data cora --model gcn --model gat --require-mean 5 --require-min 2
    bench/peers/compare.py --large --model gcn --rounds 1

The two take turns, because machines are noisy, and the smallest median of each one's rounds counts.
"""
import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DATA = ["cora", "chameleon", "squirrel", "photo"]
LARGE = ["csbm:nodes=20000,degree=10", "csbm:nodes=200000,degree=10", "csbm:nodes=2000000,degree=10"]  # 10^5 to 10^7 edges
MODELS = ["gcn", "gat", "gin", "graphsage", "appnp", "bernnet", "chebnetii", "gcn-lpa"]
FAILED = 2  # the exit status when something does not run; 1: a required ratio is not met


class Failure(Exception):
    """One line that says what did not run."""


def run(command: list[str], environment: dict[str, str]) -> str:
    """Its standard output."""
    line = " ".join(command)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failure(f"{line}: {error.strerror}") from error
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["nothing on standard error"]
        raise Failure(f"{line}: exit status {done.returncode}: {said[-1]}")
    return done.stdout


def run_json(command: list[str], environment: dict[str, str]):
    output = run(command, environment)
    try:
        return json.loads(output)
    except ValueError as error:
        raise Failure(f"{' '.join(command)}: printed no JSON document: {error}") from error


class Comparison:
    """Runs the two programs."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.folder = pathlib.Path(options.folder)
        self.environment = dict(os.environ)
        shared = ROOT.parent / "shared" / "datasets"
        if "QW_DATA_MIRROR" not in os.environ and shared.is_dir():
            self.environment["QW_DATA_MIRROR"] = str(shared)
            self.environment.setdefault("QW_CACHE_DIR", str(self.folder / "cache"))

    def prepare(self, data: str) -> None:
        """Writes what the peer reads."""
        self.folder.mkdir(parents=True, exist_ok=True)
        qw, stem = self.options.qw, self.stem(data)
        run([qw, "data", "convert", data, "--to", "csr-npz", "--out", f"{stem}.npz"], self.environment)
        run([qw, "data", "split", data, "--out", f"{stem}.json"], self.environment)

    def stem(self, data: str) -> pathlib.Path:
        """Of the files that hold `data`, which may be a path or a generator."""
        return self.folder / re.sub(r"[^\w=-]+", "_", data)

    def run_qw(self, data: str, model: str) -> dict:
        command = [self.options.qw, "bench", "step", "--data", data, "--model", model]
        command += ["--solver", "bregman" if self.options.loss != "ce" else "gcn-lpa" if model == "gcn-lpa" else "ce"]
        try:
            return run_json([*command, "--threads", str(self.options.threads), "--json"], self.environment)
        except Failure as failure:
            if "'bench' is unknown" in str(failure):
                raise Failure(f"{self.options.qw} does not know 'bench step': build a newer qw") from failure
            raise

    def run_torch(self, data: str, model: str) -> dict:
        options = self.options
        command = [sys.executable, str(HERE / "torch_gnn.py"), "--model", model, "--threads", str(options.threads)]
        command += ["--data", f"{self.stem(data)}.npz", "--split", f"{self.stem(data)}.json"]
        command += ["--seconds", str(options.seconds), "--style", options.style]
        command += ["--loss", options.loss, "--json"]
        (result,) = run_json(command, self.environment)
        return result

    def measure(self, data: str, model: str) -> dict:
        rounds = [(self.run_qw(data, model), self.run_torch(data, model)) for _ in range(self.options.rounds)]
        ours, theirs = (min(results, key=median) for results in zip(*rounds))
        return {"data": data, "model": model, "qw": ours, "torch": theirs, "ratio": median(theirs) / median(ours)}


def median(result: dict) -> float:
    return result["step_ms"]["median"]


def summary(results: list[dict]) -> dict:
    ratios = [result["ratio"] for result in results]
    return {"mean_ratio": math.exp(math.fsum(map(math.log, ratios)) / len(ratios)), "min_ratio": min(ratios)}


def unmet(totals: dict, options: argparse.Namespace) -> list[str]:
    wanted = [("geometric mean", totals["mean_ratio"], options.require_mean),
              ("smallest", totals["min_ratio"], options.require_min)]
    return [f"the {name} ratio is {ratio:.2f}, required is {least:g}" for name, ratio, least in wanted if ratio < least]


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", action="append", help=f"may be repeated; default {' '.join(DATA)}")
    parser.add_argument("--large", action="store_true", help=f"adds generated graphs: {' '.join(LARGE)}")
    parser.add_argument("--model", action="append", choices=MODELS, help="may be repeated; default all")
    parser.add_argument("--qw", default=str(ROOT / "build" / "release" / "qw"), metavar="PATH", help="the program")
    parser.add_argument("--folder", default=str(ROOT / "build" / "peers"), help="where converted data goes")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5, help="for the peer, each round")
    parser.add_argument("--style", choices=["usual", "tuned"], default="usual", help="of the peer, see README.md")
    parser.add_argument("--loss", choices=["ce", "qw", "qw-dense"], default="ce",
                        help="cross-entropy, or the QW loss against a sparse or a dense incidence matrix")
    parser.add_argument("--json", action="store_true", help="one document instead of the table")
    parser.add_argument("--require-mean", type=float, default=0, metavar="RATIO", help="exit 1 below this mean")
    parser.add_argument("--require-min", type=float, default=0, metavar="RATIO", help="exit 1 below this ratio")
    return parser.parse_args(arguments)


def models_for(loss: str) -> list[str]:
    """GCN-LPA has a loss of its own."""
    return [model for model in MODELS if loss == "ce" or model != "gcn-lpa"]


def compare(options: argparse.Namespace) -> int:
    comparison = Comparison(options)
    table = sys.stderr if options.json else sys.stdout
    print(f"{'data':12} {'model':12}{'qw ms':>10}{'torch ms':>12}{'ratio':>9}", file=table)
    results = []
    for data in (options.data or ([] if options.large else DATA)) + (LARGE if options.large else []):
        comparison.prepare(data)
        for model in options.model or models_for(options.loss):
            result = comparison.measure(data, model)
            results.append(result)
            times = f"{median(result['qw']):10.2f}{median(result['torch']):12.2f}{result['ratio']:9.2f}"
            print(f"{data:12} {model:12}{times}", file=table, flush=True)
    totals = summary(results)
    print(f"geometric mean {totals['mean_ratio']:.2f}, smallest {totals['min_ratio']:.2f}", file=table)
    if options.json:
        print(json.dumps({"results": results, **totals}))
    missed = unmet(totals, options)
    for line in missed:
        print(f"compare.py: {line}", file=sys.stderr)
    return 1 if missed else 0


def main() -> int:
    try:
        return compare(parse())
    except Failure as failure:
        print(f"compare.py: {failure}", file=sys.stderr)
        return FAILED


if __name__ == "__main__":
    sys.exit(main())
