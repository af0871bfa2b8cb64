#!/usr/bin/env python3
"""Times one training step (forward, loss, backward, Adam) of seven graph neural networks on a GPU, with PyTorch Geometric.

    bench/peers/gpu.py --qw build/cuda/qw --json FILE
    bench/peers/gpu.py --quick --data cora --model gcn

The loss is QW (variants qw-eager, qw-captured, qw-dense) or cross-entropy (ce-eager, ce-captured). "captured": the whole
step replayed as one CUDA graph. "dense": S as a dense matrix of nodes x edges, as released. Otherwise S F is computed by
the fastest of torch's ways, which "way" in the JSON names. FILE is written after every measurement, so that a run that is
cut short leaves what it has.
"""
import argparse
import dataclasses
import json
import pathlib
import statistics
import sys
import time
from typing import Callable

import numpy
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import compare
from models import Graph, Settings
from torch_gnn import Transport, load_features, load_graph

DATA = ["cora", "squirrel", "computers"]
MODELS = ["gcn", "gat", "gin", "graphsage", "appnp", "bernnet", "chebnetii"]
# In the order in which they are measured: what matters most comes first, since time may run out.
VARIANTS = ["qw-eager", "qw-captured", "qw-dense", "ce-eager", "ce-captured"]
MOST_DENSE_BYTES = 40e9

Build = Callable[[int, int, Graph, Settings], nn.Module]


class Skipped(Exception):
    """Why there is no figure."""


@dataclasses.dataclass
class Effort:
    """How long to measure."""

    block: int = 20  # steps between two synchronisations
    least_steps: int = 60
    seconds: float = 0.3
    warmup: int = 10


QUICK = Effort(block=2, least_steps=4, seconds=0, warmup=2)


class Problem:
    """A data set on the device."""

    def __init__(self, name: str, archive: str, split: str, device: torch.device) -> None:
        with numpy.load(archive) as file:
            self.features = load_features(file).to(device)
            self.graph = load_graph(file, "usual")  # on the CPU; what the models take from it they move themselves
            labels = torch.from_numpy(file["labels"].astype(numpy.int64))
        self.name, self.device = name, device
        self.classes = int(labels.max()) + 1
        train = torch.tensor(json.loads(pathlib.Path(split).read_text())["train"])
        self.train, self.labels = train.to(device), labels[train].to(device)
        self.transports: dict[bool, Transport] = {}

    def dense_bytes(self) -> int:
        return 4 * self.graph.degrees.numel() * (self.graph.plain.columns.numel() // 2)

    def transport(self, dense: bool) -> Transport:
        """With a fresh flow; the incidence matrix, which takes seconds to make, is kept."""
        if dense and self.dense_bytes() > MOST_DENSE_BYTES:
            raise Skipped(f"the dense incidence matrix takes {self.dense_bytes() / 1e9:.0f} GB")
        if dense not in self.transports:
            make = Transport(self.graph, self.classes, True) if dense else SparseTransport(self.graph, self.classes)
            self.transports[dense] = make.to(self.device)
            if not dense:
                use_fastest_way(self.transports[dense])
        transport = self.transports[dense]
        transport.flow = nn.Parameter(nn.init.kaiming_uniform_(torch.empty_like(transport.flow)))
        return transport


class SparseProduct(torch.autograd.Function):
    """S F, its gradient from a transpose made once."""

    @staticmethod
    def forward(ctx, matrix: Tensor, transpose: Tensor, flow: Tensor) -> Tensor:
        ctx.transpose = transpose
        return matrix @ flow

    @staticmethod
    def backward(ctx, gradient: Tensor):
        return None, None, ctx.transpose @ gradient.contiguous()


class SparseTransport(Transport):
    """Transport by any of torch's ways to multiply by the sparse S."""

    WAYS = ("index_add", "coo", "csr")

    def __init__(self, graph: Graph, classes: int) -> None:
        super().__init__(graph, classes, dense=False)
        self.way = "index_add"
        self.matrices: dict[str, tuple[Tensor, Tensor]] = {}

    def use(self, way: str) -> None:
        if way != "index_add" and way not in self.matrices:
            self.matrices[way] = self._matrices(way)
        self.way = way

    def _matrices(self, way: str) -> tuple[Tensor, Tensor]:
        """S and its transpose."""
        edges, device = self.flow.size(0), self.flow.device
        columns = torch.arange(edges, device=device).repeat(2)
        signs = torch.ones(2 * edges, device=device)
        signs[edges:] = -1
        indices = torch.stack([torch.cat([self.heads, self.tails]), columns])
        matrix = torch.sparse_coo_tensor(indices, signs, (self.nodes, edges)).coalesce()
        transpose = matrix.t().coalesce()
        return (matrix, transpose) if way == "coo" else (matrix.to_sparse_csr(), transpose.to_sparse_csr())

    def forward(self) -> Tensor:
        if self.way == "index_add":
            return super().forward()
        return SparseProduct.apply(*self.matrices[self.way], self.flow)


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def use_fastest_way(transport: SparseTransport) -> None:
    """The one that takes the least time forward and backward."""

    def seconds(way: str) -> float:
        try:
            transport.use(way)
            device, best = transport.flow.device, float("inf")
            for _ in range(4):
                synchronise(device)
                start = time.perf_counter()
                for _ in range(5):
                    transport().sum().backward()
                synchronise(device)
                best = min(best, time.perf_counter() - start)
            return best
        except RuntimeError:
            return float("inf")

    transport.use(min(SparseTransport.WAYS, key=seconds))


class Training:
    """A model, its flow where the loss is QW, and Adam, as published: one rate for both, no decay for the flow."""

    def __init__(self, problem: Problem, build: Build, variant: str, settings: Settings) -> None:
        torch.manual_seed(1)
        self.problem = problem
        loss, how = variant.split("-")
        self.captured = how == "captured"
        self.model = build(problem.features.size(1), problem.classes, problem.graph, settings).to(problem.device)
        self.transport = problem.transport(how == "dense") if loss == "qw" else None
        groups = [{"params": list(self.model.parameters()), "weight_decay": 5e-4}]
        if self.transport:
            groups.append({"params": [self.transport.flow]})
        # Eager: Adam as everyone calls it. Captured: the fastest that can be captured.
        fastest = {"capturable": True, "fused": True} if self.captured else {}
        self.optimizer = torch.optim.Adam(groups, lr=0.01, **fastest)

    def loss(self) -> Tensor:
        scores = self.model(self.problem.features)
        if self.transport:
            scores = scores + self.transport()
        loss = F.cross_entropy(scores.index_select(0, self.problem.train), self.problem.labels)
        return loss + self.transport.flow.abs().sum() if self.transport else loss

    def step(self) -> Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def stepper(self, warmup: int) -> Callable[[], Tensor]:
        """A step, warmed up."""
        if not self.captured:
            for _ in range(max(1, warmup)):
                self.step()
            return self.step
        return self._capture(warmup)

    def _capture(self, warmup: int) -> Callable[[], Tensor]:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(max(3, warmup)):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            loss = self.step()

        def replay() -> Tensor:
            graph.replay()
            return loss

        for _ in range(max(1, warmup)):
            replay()
        return replay


def times_of(step: Callable[[], Tensor], effort: Effort, device: torch.device) -> list[float]:
    """Milliseconds per step, of each block of steps."""
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) * effort.block < effort.least_steps or time.perf_counter() - begin < effort.seconds:
        synchronise(device)
        start = time.perf_counter()
        for _ in range(effort.block):
            step()
        synchronise(device)
        times.append(1000 * (time.perf_counter() - start) / effort.block)
    return times


def measure(problem: Problem, name: str, build: Build, variant: str, effort: Effort,
            settings: Settings = Settings()) -> dict:
    """One entry of the document: a figure, or why there is none."""
    entry = {"data": problem.name, "model": name, "variant": variant}
    try:
        if variant.endswith("captured") and problem.device.type != "cuda":
            raise Skipped("CUDA graphs need a GPU")
        try:
            return {**entry, **figures(Training(problem, build, variant, settings), effort)}
        except RuntimeError:
            sparse = problem.transports.get(False)
            if variant != "qw-captured" or not sparse or sparse.way == "index_add":
                raise
            sparse.use("index_add")  # it can be captured for sure
            return {**entry, **figures(Training(problem, build, variant, settings), effort)}
    except (Skipped, RuntimeError, ValueError, TypeError, AssertionError) as error:
        return {**entry, "skipped": (str(error).strip() or type(error).__name__).splitlines()[0]}


def figures(training: Training, effort: Effort) -> dict:
    device = training.problem.device
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    step = training.stepper(effort.warmup)
    times = times_of(step, effort, device)
    found = {"step_ms": {"median": round(statistics.median(times), 4), "min": round(min(times), 4)},
             "steps": len(times) * effort.block, "loss": round(step().item(), 6)}
    if isinstance(training.transport, SparseTransport):
        found["way"] = training.transport.way
    if device.type == "cuda":
        found["peak_memory_mb"] = round(torch.cuda.max_memory_allocated() / 1e6, 1)
    return found


def about(device: torch.device) -> dict:
    try:
        import torch_geometric
        version = torch_geometric.__version__
    except ImportError:
        version = None
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    return {"device": name, "torch": torch.__version__, "torch_geometric": version}


def builders() -> dict[str, Build]:
    try:
        import pyg_models
    except ImportError as error:
        raise compare.Failure(f"the models need torch_geometric: {error}") from error
    return pyg_models.MODELS


def load(names: list[str], options: argparse.Namespace, device: torch.device) -> list[Problem]:
    comparison = compare.Comparison(compare.parse(["--qw", options.qw, "--folder", options.folder]))
    problems = []
    for name in names:
        comparison.prepare(name)
        problems.append(Problem(name, f"{comparison.stem(name)}.npz", f"{comparison.stem(name)}.json", device))
    return problems


def run(options: argparse.Namespace, build: dict[str, Build], problems: list[Problem], start: float) -> list[dict]:
    results: list[dict] = []
    document = {**about(torch.device(options.device)), "results": results}
    effort = QUICK if options.quick else Effort()
    for variant in options.variant or VARIANTS:
        for problem in problems:
            for name in options.model or MODELS:
                if time.perf_counter() - start > options.seconds:
                    result = {"data": problem.name, "model": name, "variant": variant,
                              "skipped": f"the {options.seconds:g} seconds were over"}
                else:
                    result = measure(problem, name, build[name], variant, effort)
                results.append(result)
                said = f"{result['step_ms']['median']:10.3f} ms" if "step_ms" in result else result["skipped"]
                print(f"{variant:12} {problem.name:12} {name:12} {said}", flush=True)
                if options.json:
                    pathlib.Path(options.json).write_text(json.dumps(document, indent=1) + "\n")
            if variant.endswith("dense"):
                problem.transports.pop(True, None)  # gigabytes
    return results


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", action="append", help=f"may be repeated; default {' '.join(DATA)}")
    parser.add_argument("--model", action="append", choices=MODELS, help="may be repeated; default all")
    parser.add_argument("--variant", action="append", choices=VARIANTS, help="may be repeated; default all")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--qw", default=str(compare.ROOT / "build" / "cuda" / "qw"), help="the program that prepares data")
    parser.add_argument("--folder", default=str(compare.ROOT / "build" / "peers"), help="where converted data goes")
    parser.add_argument("--seconds", type=float, default=150, help="for everything; what does not fit is left out")
    parser.add_argument("--quick", action="store_true", help="a few steps of each: does it run?")
    parser.add_argument("--json", metavar="FILE", help="write the figures here")
    return parser.parse_args(arguments)


def main() -> int:
    start = time.perf_counter()
    options = parse()
    try:
        device = torch.device(options.device)
        if device.type == "cuda" and not torch.cuda.is_available():
            raise compare.Failure("torch sees no GPU; --device cpu shows that the steps run")
        build = builders()
        results = run(options, build, load(options.data or DATA, options, device), start)
    except compare.Failure as failure:
        print(f"gpu.py: {failure}", file=sys.stderr)
        return compare.FAILED
    return 0 if any("step_ms" in result for result in results) else compare.FAILED


if __name__ == "__main__":
    sys.exit(main())
