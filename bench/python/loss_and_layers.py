#!/usr/bin/env python3
"""Times the QW loss beside plain torch, and PyTorch Geometric's models before and after qw.accelerate, in one run.

    bench/python/loss_and_layers.py [--device cuda] [--seconds 2] [--data cora squirrel photo]

Needs torch, torch_geometric and qw in the environment. The two of a pair take turns; of the rounds' medians the
smallest counts.
"""

import argparse
import math
import statistics
import time
import warnings

import numpy as np
import qw
import torch
import torch.nn.functional as F
import torch_geometric.nn as pyg

MODELS = ("gcn", "gat", "gin", "sage", "appnp")


class PlainLoss(torch.nn.Module):
    """The loss as one would write it: index_add over the edges, cross-entropy, Adam on the flow."""

    def __init__(self, loss):
        super().__init__()
        self.heads, self.tails, self.lam = loss.heads.long(), loss.tails.long(), loss.lam
        self.flow = torch.nn.Parameter(torch.zeros_like(loss.flow))

    def forward(self, out, y, mask):
        moved = torch.zeros_like(out).index_add(0, self.heads, self.flow).index_add(0, self.tails, -self.flow)
        return self.flow.abs().sum() + self.lam * F.cross_entropy((out + moved)[mask], y[mask])


class Network(torch.nn.Module):
    def __init__(self, name, inputs, outputs, hidden=64):
        super().__init__()
        self.name = name
        mlp = lambda a, b: torch.nn.Sequential(torch.nn.Linear(a, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, b))  # noqa: E731
        make = {
            "gcn": lambda a, b: pyg.GCNConv(a, b),
            "gat": lambda a, b: pyg.GATConv(a, b // 8 if b == hidden else b, heads=8 if b == hidden else 1),
            "gin": lambda a, b: pyg.GINConv(mlp(a, b)),
            "sage": lambda a, b: pyg.SAGEConv(a, b),
            "appnp": torch.nn.Linear,
        }[name]
        self.first, self.second = make(inputs, hidden), make(hidden, outputs)
        self.spread = pyg.APPNP(10, 0.1) if name == "appnp" else None

    def forward(self, x, edge_index):
        if self.spread is not None:
            return self.spread(self.second(F.dropout(F.relu(self.first(x)), 0.5, self.training)), edge_index)
        x = F.dropout(F.relu(self.first(x, edge_index)), 0.5, self.training)
        return self.second(x, edge_index)


def median_ms(step, seconds, device):
    for _ in range(3):
        step()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        if device.type == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return 1000 * statistics.median(times)


def compare(name, theirs, ours, options, device):
    rounds = [
        (median_ms(theirs, options.seconds, device), median_ms(ours, options.seconds, device))
        for _ in range(options.rounds)
    ]
    slow, fast = (min(times) for times in zip(*rounds))
    print(f"{name:28}{slow:10.2f}{fast:10.2f}{slow / fast:8.2f}", flush=True)
    return slow / fast


def loss_steps(data, options, device):
    loss = qw.QWLoss(data.edge_index, data.num_nodes, int(data.y.max()) + 1, lam=10.0)
    plain = PlainLoss(loss)
    out = torch.randn(data.num_nodes, loss.num_classes, device=device, requires_grad=True)
    opt = loss.optimizer(lr=0.01)
    adam = torch.optim.Adam([plain.flow], lr=0.01)

    def ours():
        opt.zero_grad()
        loss(out, data.y, data.train_mask).backward()
        opt.step()

    def theirs():
        adam.zero_grad()
        plain(out, data.y, data.train_mask).backward()
        adam.step()

    return theirs, ours


def training_step(model, data):
    opt = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        opt.zero_grad()
        F.cross_entropy(model(data.x, data.edge_index)[data.train_mask], data.y[data.train_mask]).backward()
        opt.step()

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["cora", "squirrel", "photo"])
    parser.add_argument("--model", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=2, help="for each of a pair in each round")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    device = torch.device(options.device)
    warnings.simplefilter("ignore")
    ratios = []
    print(f"{'':28}{'theirs ms':>10}{'ours ms':>10}{'ratio':>8}")
    for name in options.data:
        data = qw.load(name).to_pyg().to(device)
        compare(f"{name} loss", *loss_steps(data, options, device), options, device)
        for model in options.model:
            torch.manual_seed(0)
            networks = [Network(model, data.x.shape[1], int(data.y.max()) + 1).to(device) for _ in range(2)]
            qw.accelerate(networks[1])
            steps = [training_step(network, data) for network in networks]
            ratios.append(compare(f"{name} {model}", *steps, options, device))
    print(f"layers: geometric mean {math.exp(np.mean(np.log(ratios))):.2f}, smallest {min(ratios):.2f}")


if __name__ == "__main__":
    main()
