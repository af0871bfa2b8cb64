"""Graphs that nobody designed the code around."""

import torch


def random_edges(seed, *, nodes=None, edges=None, loops=True, duplicates=True, both=False):
    """edge_index and num_nodes, with isolated nodes, self-loops and duplicates unless said otherwise."""
    generator = torch.Generator().manual_seed(seed)
    nodes = nodes or int(torch.randint(1, 40, (1,), generator=generator))
    edges = edges if edges is not None else int(torch.randint(0, 4 * nodes + 1, (1,), generator=generator))
    index = torch.randint(nodes, (2, edges), generator=generator)
    if not loops:
        index = index[:, index[0] != index[1]]
    if not duplicates:
        index = torch.unique(index, dim=1)
    if both:
        index = torch.cat([index, index.flip(0)], dim=1)
    return index, nodes
