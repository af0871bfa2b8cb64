#!/usr/bin/env python3
"""Makes gpu.json and gpu.md of what gpu_record.py kept.

    bench/gpu_report.py --parts build/gpu/parts --out build/gpu [--earlier gpu.json]

--earlier: the gpu.json of another call; parts that were not run this time are taken from it.
"""
import argparse
import json
import math
import pathlib
import re
import sys

DATA = ["cora", "squirrel", "computers"]
MODELS = ["gcn", "gat", "gin", "graphsage", "appnp", "bernnet", "chebnetii"]
TITLES = {"bregman": "QW loss (`bregman`)", "ce": "cross-entropy (`ce`)"}
PEERS = {"bregman": ["qw-eager", "qw-captured", "qw-dense"], "ce": ["ce-eager", "ce-captured"]}
LINEAR_FROM = 1e6  # edges; below, launches take the larger part


def load(parts: pathlib.Path, earlier: pathlib.Path | None) -> list[dict]:
    records = [json.loads(file.read_text()) for file in sorted(parts.glob("*/*.json"))]
    if earlier:
        known = {record["part"] for record in records}
        records += [record for record in json.loads(earlier.read_text())["records"] if record["part"] not in known]
    return records


def of_part(records: list[dict], part: str) -> list[dict]:
    return [record for record in records if record["part"] == part]


def mean(values: list[float]) -> float | None:
    """Geometric."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None


def exponent(points: list[tuple[float, float]]) -> float | None:
    """The slope of log y over log x, by least squares."""
    if len({x for x, _ in points}) < 2:
        return None
    logs = [(math.log(x), math.log(y)) for x, y in points]
    middle_x = math.fsum(x for x, _ in logs) / len(logs)
    middle_y = math.fsum(y for _, y in logs) / len(logs)
    covariance = math.fsum((x - middle_x) * (y - middle_y) for x, y in logs)
    return covariance / math.fsum((x - middle_x) ** 2 for x, _ in logs)


def number(value, digits: int = 3) -> str:
    if value is None:
        return "-"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.{digits}g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{int(value):,}"


def milliseconds(record: dict | None) -> float | None:
    """The median step of a `qw bench` record; the numbers of `train` and `bench flow` are plain."""
    times = ((record or {}).get("result") or {}).get("step_ms")
    return times.get("median") if isinstance(times, dict) else times


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    return [" | ".join(["", *line, ""]).strip() for line in [head, ["---"] * len(head), *rows]] + [""]


def ratio(value: float | None, unit: float | None) -> float | None:
    return value / unit if value and unit else None


class Steps:
    """Times by solver, data, model, and by the number of runs or the peer's variant."""

    def __init__(self, records: list[dict]) -> None:
        self.ours: dict[tuple, float] = {}
        for record in of_part(records, "step") + of_part(records, "batch"):
            labels = record["labels"]
            time = milliseconds(record)
            if time:
                self.ours[labels["solver"], labels["data"], labels["model"], int(labels["runs"])] = time
        self.theirs: dict[tuple, float] = {}
        self.skipped: list[str] = []
        self.peer: set[str] = set()
        self.ways: set[str] = set()
        for record in of_part(records, "peers"):
            result = record["result"] or {}
            if "torch" in result:
                self.peer.add(f"torch {result['torch']}, torch_geometric {result['torch_geometric']}")
            for entry in result.get("results", []):
                if "step_ms" in entry:
                    self.theirs[entry["variant"], entry["data"], entry["model"]] = entry["step_ms"]["median"]
                    self.ways |= {f"{entry['data']} {entry['way']}"} if "way" in entry else set()
                else:
                    self.skipped.append(f"{entry['variant']}, {entry['data']}, {entry['model']}: {entry['skipped']}")

    def rows(self, solver: str) -> list[tuple[str, str]]:
        return [(data, model) for data in DATA for model in MODELS
                if any((solver, data, model, runs) in self.ours for runs in (1, 10))]

    def against_peers(self, solver: str) -> dict[str, list[float]]:
        """How many times as long each variant takes."""
        ratios: dict[str, list[float]] = {variant: [] for variant in PEERS[solver]}
        for data, model in self.rows(solver):
            for variant, found in ratios.items():
                value = ratio(self.theirs.get((variant, data, model)), self.ours.get((solver, data, model, 1)))
                if value:
                    found.append(value)
        return ratios


def section_machine(records: list[dict]) -> list[str]:
    lines = []
    for record in of_part(records, "machine"):
        said = record["output"].strip() or record["errors"].strip() or json.dumps(record["result"])
        lines.append(f"- {record['labels']['what']}: {'; '.join(said.splitlines())}")
    return ["## Machine", "", *lines, ""] if lines else []


def section_checks(records: list[dict]) -> list[str]:
    rows = []
    for record in [record for part in ("build", "test", "sanitize", "peer_models") for record in of_part(records, part)]:
        text = record["output"] + record["errors"]
        said = re.findall(r"\d+% tests passed.*|(?:ERROR|RACECHECK) SUMMARY: .*|\[  (?:PASSED|FAILED)  \] \d+ tests?.*", text)
        status = "done" if record["status"] == 0 else str(record["status"])
        rows.append([" ".join([record["part"], *record["labels"].values()]), status, number(record["seconds"]),
                     "; ".join(said[-3:])])
    return ["## Build and tests", "", *table(["what", "status", "s", "said"], rows)] if rows else []


def section_steps(steps: Steps) -> list[str]:
    lines = []
    for solver, title in TITLES.items():
        rows, gains = [], []
        for data, model in steps.rows(solver):
            one, ten = (steps.ours.get((solver, data, model, runs)) for runs in (1, 10))
            gain = ratio(10 * one if one else None, ten)
            gains += [gain] if gain else []
            rows.append([data, model, number(one), number(ten), number(ratio(ten, one)), number(gain)])
        if rows:
            lines += [f"### {title}", "", *table(["data", "model", "one run", "ten runs", "ten / one", "gain"], rows)]
        if gains:
            lines += [f"Gain by batching, geometric mean {number(mean(gains))}, smallest {number(min(gains))}.", ""]
    start = ["## Training steps", "", "Milliseconds, median. Ten runs: ten trainings at once, one step of each. "
             "Gain: ten single steps over that.", ""]
    return start + lines if lines else []


def section_peers(steps: Steps) -> list[str]:
    lines = []
    for solver, title in TITLES.items():
        variants = PEERS[solver]
        rows = []
        for data, model in steps.rows(solver):
            ours = steps.ours.get((solver, data, model, 1))
            theirs = [steps.theirs.get((variant, data, model)) for variant in variants]
            rows.append([data, model, number(ours),
                         *(f"{number(time)} ({number(ratio(time, ours))})" if time else "-" for time in theirs)])
        if steps.theirs and rows:
            lines += [f"### {title}", "", *table(["data", "model", "qw", *variants], rows)]
            for variant, ratios in steps.against_peers(solver).items():
                if ratios:
                    lines += [f"- {variant}: geometric mean {number(mean(ratios))}, smallest {number(min(ratios))}"]
            lines.append("")
    if steps.skipped:
        lines += ["Without a figure:", "", *(f"- {line}" for line in steps.skipped), ""]
    ways = f" ({', '.join(sorted(steps.ways))})" if steps.ways else ""
    start = ["## Beside PyTorch Geometric", "", f"Milliseconds, median (ratio to qw); {'; '.join(sorted(steps.peer))}. "
             f"Eager: S F by torch's fastest sparse way{ways}; captured: the whole step as one CUDA graph, fused Adam; "
             "dense: S as a dense matrix, as released. The peer's flow lives on all edges, qw's on those that touch a "
             "labelled node.", ""]
    return start + lines if lines else []


def section_spmm(records: list[dict]) -> list[str]:
    lines = []
    for record in of_part(records, "spmm"):
        lines += ["```", record["output"].rstrip(), "```", ""]
    return ["## Sparse products beside cuSPARSE", "", *lines] if lines else []


def section_flow(records: list[dict]) -> list[str]:
    rows = []
    for record in sorted(of_part(records, "flow"), key=lambda record: int(record["labels"]["edges"])):
        result = record["result"] or {}
        rows.append([number(int(record["labels"]["edges"])), record["labels"]["columns"], number(milliseconds(record)),
                     *(number(result.get(key)) for key in ("gb_per_s", "copy_gb_per_s", "share"))])
    head = ["edges", "columns", "ms", "GB/s", "copy GB/s", "share"]
    return ["## Flow step", "", *table(head, rows)] if rows else []


def scaling(records: list[dict]) -> dict:
    points = sorted((float(record["labels"]["edges"]), milliseconds(record)) for record in of_part(records, "scale")
                    if milliseconds(record))
    large = [point for point in points if point[0] >= LINEAR_FROM]
    return {"points": points, "exponent": exponent(points), "exponent_from_1e6_edges": exponent(large)}


def section_scale(records: list[dict]) -> list[str]:
    rows = []
    for record in sorted(of_part(records, "scale"), key=lambda record: float(record["labels"]["edges"])):
        edges, time = float(record["labels"]["edges"]), milliseconds(record)
        memory = (record["result"] or {}).get("peak_memory_mb")
        rows.append([number(edges), number(time), number(ratio(1e6 * time if time else None, edges)), number(memory),
                     number(record["seconds"])])
    if not rows:
        return []
    found = scaling(records)
    return ["## Scaling over edges", "", *table(["edges", "ms per step", "ns per edge", "peak MB", "s in all"], rows),
            f"Time grows with edges to the power {number(found['exponent_from_1e6_edges'])} from a million edges on "
            f"({number(found['exponent'])} over all).", ""]


def section_products(records: list[dict]) -> list[str]:
    rows = []
    for record in of_part(records, "products"):
        result = record["result"] or {}
        accuracy = result.get("test", {}).get("accuracy", {}).get("mean")
        rows.append([record["labels"]["what"], "done" if record["status"] == 0 else str(record["status"]),
                     number(milliseconds(record)), number(result.get("peak_memory_mb")), number(accuracy),
                     number(record["seconds"])])
    head = ["what", "status", "ms per step", "peak MB", "test accuracy", "s in all"]
    return ["## A graph of the size of ogbn-products", "", *table(head, rows)] if rows else []


def section_failures(records: list[dict]) -> list[str]:
    lines = []
    for record in records:
        if record["status"] != 0:
            said = (record["errors"].strip() or record["output"].strip() or "said nothing").splitlines()[-1]
            lines.append(f"- {' '.join([record['part'], *record['labels'].values()])}: {record['status']}: {said}")
    return ["## What failed", "", *lines, ""] if lines else []


def section_commands(records: list[dict]) -> list[str]:
    lines = [record["command"] for record in records]
    return ["## Commands", "", "```sh", *lines, "```", ""] if lines else []


def markdown(records: list[dict]) -> str:
    steps = Steps(records)
    sections = [section_machine(records), section_checks(records), section_failures(records), section_steps(steps),
                section_peers(steps), section_spmm(records), section_flow(records), section_scale(records),
                section_products(records), section_commands(records)]
    return "\n".join(["# qw on a GPU", "", *(line for section in sections for line in section)])


def summary(records: list[dict]) -> dict:
    steps = Steps(records)
    against = {variant: {"mean_ratio": mean(ratios), "min_ratio": min(ratios), "count": len(ratios)}
               for solver in TITLES for variant, ratios in steps.against_peers(solver).items() if ratios}
    failed = sorted({record["part"] for record in records if record["status"] != 0})
    return {"against_peers": against, "scaling": scaling(records), "failed_parts": failed}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--earlier", type=pathlib.Path)
    options = parser.parse_args()
    records = load(options.parts, options.earlier)
    options.out.mkdir(parents=True, exist_ok=True)
    document = {"summary": summary(records), "records": records}
    (options.out / "gpu.json").write_text(json.dumps(document, indent=1) + "\n")
    (options.out / "gpu.md").write_text(markdown(records))
    return 0


if __name__ == "__main__":
    sys.exit(main())
