"""Small data in every format that qw reads, made on the spot."""
import collections
import gzip
import io
import json
import pathlib
import struct
import zipfile

import program

# files: bytes by name; commands: what to do with them, in their folder; trains: arguments of `qw train`.
Sample = collections.namedtuple("Sample", "name files commands trains")

PLANETOID_FILES = ["allx", "ally", "tx", "ty", "x", "y", "graph", "test.index"]
FUZZ_CORPUS = pathlib.Path(__file__).resolve().parents[2] / "fuzz" / "corpus"


def people_csv(people=40):
    """Node and edge tables as people write them: text, gaps, dates, a split and values."""
    rows = ["id,age,city,pay,member,since,team,score,part"]
    for i in range(people):
        pay = "" if i % 9 == 4 else f"{1000 + 13 * i}.5"
        team = "" if i % 5 == 4 else "red" if i < people // 2 else "blue"
        part = ("train", "val", "test")[i % 3]
        rows.append(f'p{i},{20 + 7 * i % 45},"{("Bonn", "Lyon, FR", "Oslo")[i // 4 % 3]}",{pay},'
                    f"{('yes', 'no')[i % 2]},2024-01-{i % 28 + 1:02},{team},{(i * 37 % 100) / 8},{part}")
    edges = ["from,to,cost,weight"]
    for i in range(people):
        edges.append(f"p{i},p{(i + 1) % people},{1 + i % 3},{0.5 + i % 2}")
        if i % 3 == 0:
            edges.append(f"p{i},p{(i + 7) % people},2.5,1")
    return "\n".join(rows).encode() + b"\n", "\n".join(edges).encode() + b"\n"


def edge_lists():
    """Ways in which other programs write edges."""
    ring = [(i, (i + 1) % 12) for i in range(12)]
    return {
        "snap.txt": "# Directed graph\n# Nodes: 12 Edges: 12\n" + "".join(f"{a}\t{b}\n" for a, b in ring),
        "out.konect.txt": "% bip weighted\n% 12 12 12\n" + "".join(f"{a + 1} {b + 1} 2.5\n" for a, b in ring),
        "networkx.edgelist": "".join(f"{a} {b} {{'weight': 2.0, 'kind': 'x'}}\n" for a, b in ring),
        "gephi.csv": "Source,Target,Type,Weight\n" + "".join(f"n{a},n{b},Directed,1.5\n" for a, b in ring),
        "excel.csv": "sep=;\nu;v;cost\n" + "".join(f"{a};{b};1,5\n" for a, b in ring),
        "pandas.csv": ",source,target\n" + "".join(f"{k},{a},{b}\n" for k, (a, b) in enumerate(ring)),
        "matrix.csv": ",a,b,c\na,0,1,0\nb,1,0,2\nc,0,2,0\n",
        "counts.txt": "12 12\n" + "".join(f"{a} {b}\n" for a, b in ring),
    }


def npy(kind, shape, values):
    sizes = {"<i4": "i", "<i8": "q", "<f4": "f", "<f8": "d", "|b1": "?"}
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    header = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode() + struct.pack(
        f"<{len(values)}{sizes[kind]}", *values)


def heterophilous_npz(nodes=12):
    arrays = {
        "node_features": npy("<f4", (nodes, 3), [i % 5 / 4 for i in range(3 * nodes)]),
        "node_labels": npy("<i8", (nodes,), [i % 3 for i in range(nodes)]),
        "edges": npy("<i4", (nodes, 2), [end for i in range(nodes) for end in (i, (i + 1) % nodes)]),
    }
    for k, part in enumerate(("train", "val", "test")):
        arrays[f"{part}_masks"] = npy("|b1", (2, nodes), [(i + i // nodes) % 3 == k for i in range(2 * nodes)])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, contents in arrays.items():
            archive.writestr(name + ".npy", contents)
    return packed.getvalue()


def geom_gcn(nodes=12):
    rows = "".join(f"{i}\t{','.join('01'[(i + k) % 3 == 0] for k in range(5))}\t{i % 3}\n" for i in range(nodes))
    edges = "".join(f"{i}\t{(i + 1) % nodes}\n" for i in range(nodes))
    return {"out1_node_feature_label.txt": b"node_id\tfeature\tlabel\n" + rows.encode(),
            "out1_graph_edges.txt": b"node_id\tnode_id\n" + edges.encode()}


def ogb(nodes=12):
    columns = {
        "raw/num-node-list": [nodes],
        "raw/num-edge-list": [nodes],
        "raw/edge": [f"{i},{(i + 1) % nodes}" for i in range(nodes)],
        "raw/node-label": [i % 3 for i in range(nodes)],
        "raw/node-feat": [f"0.5,{i}e-1,-{i}" for i in range(nodes)],
        "raw/node_year": [2000 + i for i in range(nodes)],
        "split/time/train": range(0, nodes, 2),
        "split/time/valid": range(1, nodes, 4),
        "split/time/test": range(3, nodes, 4),
    }
    return {name + ".csv.gz": gzip.compress("".join(f"{row}\n" for row in rows).encode(), mtime=0)
            for name, rows in columns.items()}


def planetoid():
    """From the seeds of the fuzzer: pickles of arrays cannot be written without numpy."""
    for seed in sorted((FUZZ_CORPUS / "planetoid_fuzz").iterdir()):
        pieces = seed.read_bytes().split(b"\n%%%%\n", len(PLANETOID_FILES) - 1)
        if len(pieces) == len(PLANETOID_FILES):
            files = {f"ind.{seed.name}.{part}": piece for part, piece in zip(PLANETOID_FILES, pieces)}
            yield Sample("planetoid", files, [["data", "info", "."]], [])


def w1_samples():
    edges = b"from,to,length\n" + b"".join(b"%d,%d,%d.5\n" % (i, i + 1, i % 3) for i in range(8))
    mu = b"id,red,blue\n" + b"".join(b"%d,%d,%d\n" % (i, i == 0, i % 2) for i in range(9))
    gamma = b"id,red,blue\n" + b"".join(b"%d,%d,%d\n" % (i, i == 8, i % 2) for i in range(9))
    tables = ["w1", "--edges", "e.csv", "--mu", "mu.csv", "--gamma", "gamma.csv"]
    yield Sample("w1", {"e.csv": edges, "mu.csv": mu, "gamma.csv": gamma},
                 [tables + ["--cost", "length", "--json"], tables + ["--absent", "free", "--normalize"],
                  tables + ["--directed", "--absent", "zero", "--flow", "flow.csv"]], [])
    lines = []
    for k in range(8):
        ends = [[i, (i + 1) % 6] for i in range(6)]
        lines.append(json.dumps({"nodes": 6, "edges": ends, "weights": [1 + (i + k) % 3 for i in range(6)],
                                 "directed": k % 2 == 1, "labelled": [0, 1, 3], "mu": [1, 0, k / 8],
                                 "gamma": [0, 1, k / 8]}))
    yield Sample("w1 --batch", {"cases.jsonl": "\n".join(lines).encode() + b"\n"},
                 [["w1", "--batch", "cases.jsonl", "--time-limit", "2"]], [])


def csv_samples():
    nodes, edges = people_csv()
    tables = ["--edges", "edges.csv", "--nodes", "nodes.csv"]
    files = {"nodes.csv": nodes, "edges.csv": edges}
    info = ["data", "info", *tables]
    yield Sample("csv", files,
                 [info, info + ["--target", "team", "--json"], info + ["--target", "score", "--directed"],
                  info + ["--target", "team", "--split-column", "part", "--edge-cost", "cost"],
                  info + ["--id", "id", "--unknown-nodes", "add", "--edge-weight", "weight"],
                  ["data", "convert", *tables, "--target", "team", "--out", "made.npz"],
                  ["data", "split", *tables, "--target", "team", "--json"]],
                 [[*tables, "--target", "team"], [*tables, "--target", "score"],
                  [*tables, "--target", "team", "--split-column", "part", "--edge-cost", "cost"],
                  [*tables, "--target", "team", "--edge-weight", "weight", "--solver", "ce"]])
    split = b"id,run_0,run_1\n" + b"".join(b"p%d,%s,%s\n" % (i, (b"train", b"val", b"test")[i % 3],
                                                              (b"test", b"train", b"val")[i % 3])
                                           for i in range(40))
    with_split = [*tables, "--target", "team", "--split-file", "split.csv"]
    yield Sample("split file", {**files, "split.csv": split}, [["data", "info", *with_split]], [with_split])
    for name, text in edge_lists().items():
        yield Sample("edge list", {name: text.encode()},
                     [["data", "info", "--edges", name], ["data", "info", name, "--directed", "--json"]], [])
        yield Sample("edge list", {name + ".gz": gzip.compress(text.encode(), mtime=0)},
                     [["data", "info", "--edges", name + ".gz"]], [])


def converted_samples(qw, folder):
    """What `qw data convert` writes."""
    for number, data in enumerate(("karate", "csbm:nodes=30,degree=4,features=3,classes=3")):
        for target in ("made.npz", "made.mtx", "made"):
            place = folder / f"convert-{number}-{target}"
            place.mkdir()
            program.run_well(qw, ["data", "convert", data, "--out", target], place)
            files = {str(path.relative_to(place)): path.read_bytes()
                     for path in sorted(place.rglob("*")) if path.is_file()}
            yield Sample(f"converted to {target}", files, [["data", "info", target, "--json"]], [[target]])


def samples(qw, folder):
    made = list(csv_samples()) + list(w1_samples()) + list(planetoid())
    made.append(Sample("heterophilous npz", {"graph.npz": heterophilous_npz()},
                       [["data", "info", "graph.npz"], ["data", "convert", "graph.npz", "--out", "copy.mtx"]],
                       [["graph.npz"]]))
    made.append(Sample("geom-gcn", geom_gcn(), [["data", "info", "."]], [["."]]))
    made.append(Sample("ogb", ogb(), [["data", "info", "."], ["data", "info", ".", "--target", "year"]], [["."]]))
    return made + list(converted_samples(qw, folder))
