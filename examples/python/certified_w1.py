"""A certified Wasserstein-1 distance on a networkx graph, checked against POT."""

import networkx as nx
import numpy as np
import ot
import qw


def main():
    city = nx.grid_2d_graph(12, 12)
    generator = np.random.default_rng(0)
    for a, b in city.edges:
        city.edges[a, b]["cost"] = float(generator.uniform(1, 3))  # minutes
    morning, evening = (generator.dirichlet(np.ones(len(city))) for _ in range(2))

    solved = qw.wasserstein1(city, morning, evening)
    print(f"{solved.lower:.9f} <= distance <= {solved.upper:.9f}: {solved.status}")
    longest = max(solved.paths(), key=lambda path: len(path.nodes))
    names = list(city)
    print(f"the longest of {len(solved.paths())} paths: {' '.join(str(names[node]) for node in longest.nodes)}")

    minutes = np.array([list(row.values()) for row in _distances(city, names)])
    other = ot.emd2(morning, evening, minutes)
    print(f"POT on all {minutes.size} pairs: {other:.9f}")
    return solved, other


def _distances(graph, names):
    found = dict(nx.all_pairs_dijkstra_path_length(graph, weight="cost"))
    return [{name: found[start][name] for name in names} for start in names]


if __name__ == "__main__":
    main()
