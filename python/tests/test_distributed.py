"""The loss inside DistributedDataParallel: the network is shared, every process has a flow of its own."""

import os
import warnings

import pytest
import torch
from random_graphs import random_edges

import qw

if not torch.distributed.is_available():
    pytest.skip("this torch has no torch.distributed", allow_module_level=True)


class Step(torch.nn.Module):
    def __init__(self, edge_index, nodes):
        super().__init__()
        self.model = torch.nn.Linear(5, 3)
        self.loss = qw.QWLoss(edge_index, nodes, 3, lam=50.0)

    def forward(self, x, y, mask):
        return self.loss(self.model(x), y, mask)


def work(rank, size, folder):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=size)
    edge_index, nodes = random_edges(3, nodes=20, edges=60, loops=False)
    torch.manual_seed(0)
    step = Step(edge_index, nodes)
    x, y = torch.randn(nodes, 5), torch.randint(3, (nodes,))
    mask = torch.arange(nodes) % size == rank
    parallel = torch.nn.parallel.DistributedDataParallel
    parallel._set_params_and_buffers_to_ignore_for_model(step, ["loss.flow"])
    shared = parallel(step)
    opt = step.loss.optimizer(step.model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        shared(x, y, mask).backward()
        opt.step()
    torch.save((step.model.weight.detach(), step.loss.flow.detach()), os.path.join(folder, f"{rank}.pt"))
    torch.distributed.destroy_process_group()


def test_processes_share_the_network_and_not_the_flow(tmp_path, monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    torch.multiprocessing.spawn(work, args=(2, str(tmp_path)), nprocs=2)
    (one, flow), (other, other_flow) = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    assert torch.equal(one, other)
    assert flow.any() and other_flow.any() and not torch.equal(flow, other_flow)
