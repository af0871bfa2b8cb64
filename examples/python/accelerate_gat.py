"""A GAT of PyTorch Geometric, trained on the layers of this library."""

import time

import qw
import torch
import torch.nn.functional as F
from torch_geometric.nn import GAT


def seconds_of(model, data, steps):
    opt = torch.optim.Adam(model.parameters(), lr=0.005)
    begin = time.perf_counter()
    for _ in range(steps):
        opt.zero_grad()
        out = model(data.x, data.edge_index)
        F.cross_entropy(out[data.train_mask], data.y[data.train_mask]).backward()
        opt.step()
    return time.perf_counter() - begin


def main(steps=10):
    torch.manual_seed(0)
    data = qw.load("cora").to_pyg()
    model = GAT(data.num_features, hidden_channels=64, num_layers=2, out_channels=7, heads=8)
    model.eval()
    before = model(data.x, data.edge_index)
    slow = seconds_of(model, data, steps)

    torch.manual_seed(0)
    model = GAT(data.num_features, hidden_channels=64, num_layers=2, out_channels=7, heads=8)
    model.eval()
    count = qw.accelerate(model)
    after = model(data.x, data.edge_index)
    fast = seconds_of(model, data, steps)

    difference = (before - after).abs().max().item()
    print(f"{count} layers were swapped: {slow / fast:.1f} times as fast, outputs differ by at most {difference:.1e}")
    return count, difference


if __name__ == "__main__":
    main()
