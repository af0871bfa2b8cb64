#!/usr/bin/python3
"""Partial W1 by `qw w1` beside networkx.network_simplex, on the same problems, with ratios.

    bench/transport/networkx_peer.py
    bench/transport/networkx_peer.py --data cora --data pubmed --seconds 120

60 % of the nodes are labelled; for each class, values near uniform are to be moved to the one-hot labels. networkx gets the
problem as a competent user would give it: unlabelled nodes contracted to one node, both directions of an edge as arcs, whole
numbers (it may not end with fractions). Only its solving is timed; qw's time is that of the whole program, reading and writing
included, divided by the classes.
"""
import argparse
import csv
import json
import multiprocessing
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNITS = 10**6  # of a label in the whole numbers that networkx gets


def load(qw, data, folder):
    """Edges, classes of the nodes (or None), number of classes."""
    subprocess.run([qw, "data", "convert", data, "--out", folder, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    with open(pathlib.Path(folder) / "nodes.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    number = {row["id"]: i for i, row in enumerate(rows)}
    names = sorted({row["label"] for row in rows if row["label"]})
    classes = [names.index(row["label"]) if row["label"] else None for row in rows]
    with open(pathlib.Path(folder) / "edges.csv", newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        next(reader)
        edges = [(number[row[0]], number[row[1]]) for row in reader]
    return edges, classes, len(names)


def one_free_node_each(edges, classes, labelled):
    """Without one node of every connected part that is wholly labelled, so that the problem is feasible."""
    parent = list(range(len(classes)))

    def root(node):
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for a, b in edges:
        parent[root(a)] = root(b)
    has_free = {root(node) for node in range(len(classes)) if node not in labelled}
    for node in sorted(labelled):
        if root(node) not in has_free:
            labelled.discard(node)
            has_free.add(root(node))
    return sorted(labelled)


def problem(edges, classes, num_classes):
    """Whole numbers of UNITS-ths, so that both programs solve the very same problem."""
    draw = random.Random(1)
    drawn = {v for v, label in enumerate(classes) if label is not None and draw.random() < 0.6}
    labelled = one_free_node_each(edges, classes, drawn)
    mu, gamma = [], []
    for node in labelled:
        raw = [0.5 + draw.random() for _ in range(num_classes)]
        mu.append([round(UNITS * value / sum(raw)) / UNITS for value in raw])
        gamma.append([1.0 if c == classes[node] else 0.0 for c in range(num_classes)])
    return {"nodes": len(classes), "edges": edges, "labelled": labelled, "mu": mu, "gamma": gamma}


def solve_with_networkx(given, column, answers):
    import networkx
    labelled = set(given["labelled"])
    graph = networkx.DiGraph()
    total = 0
    for node, before, after in zip(given["labelled"], given["mu"], given["gamma"]):
        demand = round(UNITS * before[column]) - round(UNITS * after[column])
        graph.add_node(node, demand=demand)
        total += demand
    graph.add_node("ground", demand=-total)
    for edge in given["edges"]:
        a, b = (node if node in labelled else "ground" for node in edge)
        if a != b:
            graph.add_edge(a, b, weight=1)
            graph.add_edge(b, a, weight=1)
    # Without capacities it may take a large supply for a negative cycle.
    mass = sum(abs(demand) for _, demand in graph.nodes(data="demand"))
    networkx.set_edge_attributes(graph, mass, "capacity")
    begin = time.perf_counter()
    cost, _ = networkx.network_simplex(graph)
    answers.put((cost / UNITS, time.perf_counter() - begin))


def networkx_column(given, column, seconds):
    """(distance, seconds), or None when it takes longer than `seconds`."""
    answers = multiprocessing.Queue()
    worker = multiprocessing.Process(target=solve_with_networkx, args=(given, column, answers))
    worker.start()
    worker.join(seconds)
    if worker.is_alive():
        worker.kill()
        worker.join()
        return None
    if worker.exitcode != 0:
        sys.exit("networkx failed")
    return answers.get()


def qw_columns(qw, given, folder):
    """Distances and seconds per column."""
    path = pathlib.Path(folder) / "case.jsonl"
    path.write_text(json.dumps(given) + "\n", encoding="utf-8")
    begin = time.perf_counter()
    done = subprocess.run([qw, "w1", "--batch", path, "--quiet"], check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - begin
    columns = json.loads(done.stdout)["columns"]
    return [column["distance"] for column in columns], seconds / len(columns)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qw", default=ROOT / "build/release/qw")
    parser.add_argument("--data", action="append", help="default: karate, cornell, cora, squirrel, pubmed")
    parser.add_argument("--seconds", type=float, default=120, help="give networkx up after this long")
    options = parser.parse_args()
    print(f"{'data':<12}{'column':>7}{'distance':>14}{'qw ms':>10}{'networkx ms':>13}{'ratio':>9}")
    agree = True
    for data in options.data or ["karate", "cornell", "cora", "squirrel", "pubmed"]:
        with tempfile.TemporaryDirectory() as folder:
            given = problem(*load(options.qw, data, folder))
            distances, seconds = qw_columns(options.qw, given, folder)
        answer = networkx_column(given, 0, options.seconds)
        theirs = f"> {1000 * options.seconds:.0f}" if answer is None else f"{1000 * answer[1]:.1f}"
        ratio = (options.seconds if answer is None else answer[1]) / seconds
        print(f"{data:<12}{0:>7}{distances[0]:>14.6f}{1000 * seconds:>10.2f}{theirs:>13}{'>' if answer is None else '':>2}{ratio:>7.0f}", flush=True)
        if answer is not None and abs(answer[0] - distances[0]) > 1e-9 * distances[0]:
            print(f"{data}: networkx says {answer[0]!r}, qw {distances[0]!r}", file=sys.stderr)
            agree = False
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
