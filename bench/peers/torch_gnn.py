#!/usr/bin/python3
"""Times one training step (forward, loss, backward, Adam) of graph neural networks in plain PyTorch.

The loss is cross-entropy, or the Quasi-Wasserstein loss with the incidence matrix sparse (--loss qw) or dense as released
(--loss qw-dense).

    torch_gnn.py --data FILE.npz --split SPLIT.json --model all --json

FILE.npz and SPLIT.json are what `qw data convert --to csr-npz` and `qw data split` write.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import multiprocessing
import os
import pathlib
import resource
import statistics
import time

import numpy
import torch
from torch import Tensor

import sparse
from models import MODELS, Graph, Settings


@dataclasses.dataclass
class Task:
    """A data set on disk, and how to measure on it."""

    data: str
    split: str
    threads: int = 2
    steps: int = 0
    warmup: int = 3
    seconds: float = 5
    style: str = "usual"
    loss: str = "ce"


LOSSES = ("ce", "qw", "qw-dense")


class Transport(torch.nn.Module):
    """The flow F on the edges (each once, u < v), and S F: +F at u, -F at v."""

    def __init__(self, graph: Graph, classes: int, dense: bool) -> None:
        super().__init__()
        pattern = graph.plain
        once = pattern.rows < pattern.columns
        self.register_buffer("heads", pattern.rows[once])
        self.register_buffer("tails", pattern.columns[once])
        edges = self.heads.numel()
        self.flow = torch.nn.Parameter(torch.empty(edges, classes))
        torch.nn.init.kaiming_uniform_(self.flow)
        self.nodes = graph.degrees.numel()
        incidence = None
        if dense:
            incidence = torch.zeros(self.nodes, edges)
            incidence[self.heads, torch.arange(edges)] = 1
            incidence[self.tails, torch.arange(edges)] = -1
        self.register_buffer("incidence", incidence)

    def forward(self) -> Tensor:
        if self.incidence is not None:
            return self.incidence @ self.flow
        brought = self.flow.new_zeros(self.nodes, self.flow.size(1))
        return brought.index_add(0, self.heads, self.flow).index_add(0, self.tails, self.flow, alpha=-1)


def load_features(file) -> Tensor:
    """Dense, each row divided by its sum where that is above 1."""
    if "attr_matrix" in file:
        features = torch.from_numpy(file["attr_matrix"].astype(numpy.float32))
    else:
        features = torch.zeros(*map(int, file["attr_shape"]))
        rows = numpy.repeat(numpy.arange(features.size(0)), numpy.diff(file["attr_indptr"]))
        features[rows, file["attr_indices"].astype(numpy.int64)] = torch.from_numpy(file["attr_data"])
    return features.div_(features.sum(1, keepdim=True).clamp_(min=1))


def load_graph(file, style: str) -> Graph:
    offsets = torch.from_numpy(file["adj_indptr"].astype(numpy.int64))
    neighbours = torch.from_numpy(file["adj_indices"].astype(numpy.int64))
    return Graph(offsets, neighbours, torch.float32, style)


def measure(task: Task, name: str) -> dict:
    torch.set_num_threads(task.threads)
    torch.manual_seed(1)
    with numpy.load(task.data) as file:
        features = load_features(file)
        graph = load_graph(file, task.style)
        labels = torch.from_numpy(file["labels"])
    train = torch.tensor(json.loads(pathlib.Path(task.split).read_text())["train"])
    train_labels = labels[train]
    model = MODELS[name](features.size(1), int(labels.max()) + 1, graph, Settings(style=task.style))
    groups = [{"params": list(model.parameters()), "weight_decay": 5e-4}]
    transport = None
    if task.loss != "ce":
        transport = Transport(graph, int(labels.max()) + 1, task.loss == "qw-dense")
        groups.append({"params": [transport.flow]})
    # Not foreach: with these few tensors it is no faster in torch 1.13.
    optimizer = torch.optim.Adam(groups, lr=0.01)

    def qw_loss() -> Tensor:
        scores = model(features) + transport()
        return transport.flow.abs().sum() + torch.nn.functional.cross_entropy(scores[train], train_labels)

    def step() -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = qw_loss() if transport else model.loss(features, train_labels, train)
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(max(1, task.warmup)):  # the first one chooses among the ways to multiply
        step()
    times: list[float] = []
    while len(times) < (task.steps or 5) or (not task.steps and sum(times) < 1000 * task.seconds):
        start = time.perf_counter()
        loss = step()
        times.append(1000 * (time.perf_counter() - start))
    return {
        "data": pathlib.Path(task.data).stem,
        "model": name,
        "step_ms": {
            "median": round(statistics.median(times), 4),
            "min": round(min(times), 4),
            "p90": round(float(numpy.quantile(times, 0.9)), 4),
        },
        "steps": len(times),
        "threads": task.threads,
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "torch": torch.__version__,
        "style": task.style,
        "objective": task.loss,
        "loss": round(loss.item(), 6),
        "ways": sparse.chosen,
    }


def parse() -> tuple[argparse.Namespace, Task]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, metavar="FILE.npz")
    parser.add_argument("--split", required=True, metavar="SPLIT.json")
    parser.add_argument("--model", required=True, action="append", choices=[*MODELS, "all"], help="may be repeated")
    parser.add_argument("--threads", type=int, default=Task.threads)
    parser.add_argument("--steps", type=int, default=Task.steps, help="0: as many as --seconds allows, at least 5")
    parser.add_argument("--warmup", type=int, default=Task.warmup)
    parser.add_argument("--seconds", type=float, default=Task.seconds)
    parser.add_argument("--style", choices=sparse.STYLES, default=Task.style, help="see README.md")
    parser.add_argument("--loss", choices=LOSSES, default=Task.loss)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    fields = {field.name: getattr(options, field.name) for field in dataclasses.fields(Task)}
    return options, Task(**fields)


def main() -> None:
    options, task = parse()
    names = list(MODELS) if "all" in options.model else options.model
    # A process for each model: its own peak of memory, and a BLAS that reads the number of threads when it is loaded.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(task.threads)
    spawn = multiprocessing.get_context("spawn")
    results = []
    for name in names:
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
            results.append(pool.submit(measure, task, name).result())
        if not options.json:
            times = results[-1]["step_ms"]
            print(f"{results[-1]['data']:12} {name:10} {times['median']:10.2f} ms "
                  f"(min {times['min']:.2f}, p90 {times['p90']:.2f})", flush=True)
    if options.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
