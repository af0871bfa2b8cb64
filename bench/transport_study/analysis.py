"""Verdicts over seeds: which method beats cross-entropy, Correct & Smooth and label propagation, and where."""

from __future__ import annotations

import collections
import csv
import dataclasses
import json
import pathlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from conditions import GRAPHS, Condition
from scipy import stats

BASELINES = ("ce", "cs", "lp")
LEAST_SEEDS = 2
Line = dict[str, Any]
Lines = dict[Condition, dict[int, Line]]  # by seed


@dataclasses.dataclass(frozen=True)
class Interval:
    """Mean of paired differences and its 95 % interval by Student's t."""

    mean: float
    half: float

    @property
    def is_above(self) -> bool:
        return self.mean - self.half > 0

    @property
    def is_below(self) -> bool:
        return self.mean + self.half < 0

    def __str__(self) -> str:
        return f"{100 * self.mean:+.1f} ± {100 * self.half:.1f}"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """won: better than every baseline; lost: worse than one of them; else undecided."""

    result: str
    against: dict[str, Interval]


def paired_interval(differences: Iterable[float]) -> Interval:
    values = np.asarray(list(differences), dtype=float)
    error = values.std(ddof=1) / np.sqrt(values.size)
    return Interval(float(values.mean()), float(stats.t.ppf(0.975, values.size - 1) * error))


def judge(lines: Iterable[Line], method: str) -> Verdict | None:
    """None where the method has not run on two seeds."""
    rows = [line["methods"] for line in lines if method in line["methods"]]
    if len(rows) < LEAST_SEEDS:
        return None
    against = {
        baseline: paired_interval(row[method]["test"] - row[baseline]["test"] for row in rows) for baseline in BASELINES
    }
    if all(interval.is_above for interval in against.values()):
        return Verdict("won", against)
    lost = any(interval.is_below for interval in against.values())
    return Verdict("lost" if lost else "undecided", against)


def read_lines(path: pathlib.Path) -> list[Line]:
    """Finished cells; a line that an interruption cut off is left out."""
    found = []
    for text in path.read_text().splitlines() if path.exists() else []:
        try:
            found.append(json.loads(text))
        except ValueError:
            continue
    return found


def condition_of(line: Line) -> Condition:
    return Condition(line["graph"], line["rate"], line["noise"])


def by_condition(lines: Iterable[Line]) -> Lines:
    found: Lines = collections.defaultdict(dict)
    for line in lines:
        found[condition_of(line)][line["seed"]] = line
    return dict(found)


class Study:
    """first, fresh: the seeds that make a claim, and those that must repeat it."""

    def __init__(self, lines: Lines, first: range, fresh: range) -> None:
        self.lines = lines
        self.first, self.fresh = first, fresh
        names = dict.fromkeys(name for seeds in lines.values() for line in seeds.values() for name in line["methods"])
        self.methods = [name for name in names if name not in BASELINES]
        self.verdicts = self._verdicts(first)
        self.fresh_verdicts = self._verdicts(fresh)

    def of(self, condition: Condition, seeds: range) -> list[Line]:
        return [line for seed, line in sorted(self.lines[condition].items()) if seed in seeds]

    def _verdicts(self, seeds: range) -> dict[tuple[Condition, str], Verdict]:
        found = {}
        for condition in self.lines:
            for method in self.methods:
                verdict = judge(self.of(condition, seeds), method)
                if verdict is not None:
                    found[condition, method] = verdict
        return found

    def wins(self) -> list[tuple[Condition, str]]:
        return [key for key, verdict in self.verdicts.items() if verdict.result == "won"]

    def is_confirmed(self, key: tuple[Condition, str]) -> bool:
        return key in self.fresh_verdicts and self.fresh_verdicts[key].result == "won"


def table(header: list[str], rows: Iterable[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows]]
    return "\n".join(lines)


def counts_table(study: Study) -> str:
    rows = []
    for method in study.methods:
        results = collections.Counter(v.result for (_, name), v in study.verdicts.items() if name == method)
        confirmed = sum(study.is_confirmed(key) for key in study.wins() if key[1] == method)
        numbers = [results.total(), results["won"], confirmed, results["lost"], results["undecided"]]
        rows.append([method, *map(str, numbers)])
    return table(["method", "conditions", "won", "won again", "lost", "undecided"], rows)


def groups_table(study: Study, title: str, group_of: Callable[[Condition], str]) -> str:
    """won / lost / undecided in each group of conditions."""
    groups = list(dict.fromkeys(group_of(condition) for condition in study.lines))
    rows = []
    for method in study.methods:
        row = [method]
        for group in groups:
            results = collections.Counter(
                verdict.result
                for (condition, name), verdict in study.verdicts.items()
                if name == method and group_of(condition) == group
            )
            row.append(" / ".join(str(results[each]) for each in ("won", "lost", "undecided")) if results else "")
        rows.append(row)
    return table([title, *groups], rows)


def wins_table(study: Study, confirmed: bool) -> str:
    rows = []
    for condition, method in study.wins():
        if study.is_confirmed((condition, method)) != confirmed:
            continue
        again = study.fresh_verdicts.get((condition, method))
        row = [method, condition.graph, condition.rate, condition.noise]
        for baseline in BASELINES:
            row.append(str(study.verdicts[condition, method].against[baseline]))
            row.append(str(again.against[baseline]) if again else "")
        rows.append(row)
    pairs = [name for baseline in BASELINES for name in (f"to {baseline}", "fresh seeds")]
    return table(["method", "graph", "labels", "noise", *pairs], sorted(rows))


def accuracy_table(study: Study) -> str:
    """Cross-entropy in percent, the others as their mean difference to it, and how often validation chose it."""
    kinds = list(dict.fromkeys(GRAPHS[condition.graph] for condition in study.lines))
    rows = []
    for method in [*BASELINES, *study.methods]:
        found = collections.defaultdict(list)
        unchanged = []
        for condition in study.lines:
            for line in study.of(condition, study.first):
                if method in line["methods"]:
                    less = 0 if method == "ce" else line["methods"]["ce"]["test"]
                    found[GRAPHS[condition.graph]].append(100 * (line["methods"][method]["test"] - less))
                    unchanged.append(line["methods"][method]["settings"] in ("mlp", "gcn"))
        form = "{:.1f}" if method == "ce" else "{:+.1f}"
        means = [form.format(np.mean(found[kind])) if found[kind] else "" for kind in kinds]
        rows.append([method, *means, f"{100 * np.mean(unchanged):.0f} %"])
    return table(["method", *kinds, "plain network chosen"], rows)


def detector_table(study: Study) -> str:
    """Mean AUC over conditions, and where a flow finds more wrong labels than the loss of the chosen network does."""
    values: dict[tuple[str, str], list[float]] = collections.defaultdict(list)
    results: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for condition in study.lines:
        differences = collections.defaultdict(list)
        for line in study.of(condition, study.first):
            network, found = line["methods"]["ce"]["settings"], line["detectors"]
            loss = found.get(f"loss {network}")
            if loss is None:
                continue
            for name, value in _comparable(found, network).items():
                values[name, condition.noise].append(value)
                differences[name].append(value - loss)
        for name, each in differences.items():
            if len(each) >= LEAST_SEEDS:
                interval = paired_interval(each)
                results[name]["above" if interval.is_above else "below" if interval.is_below else "same"] += 1
    noises = list(dict.fromkeys(noise for _, noise in values))
    rows = []
    for name in dict.fromkeys(name for name, _ in values):
        means = [f"{np.mean(values[name, noise]):.3f}" if values[name, noise] else "" for noise in noises]
        compared = " / ".join(str(results[name][each]) for each in ("above", "below", "same"))
        rows.append([name, *means, compared])
    return table(["detector", *noises, "above / below / like the loss"], rows)


def _comparable(found: dict[str, float | None], network: str) -> dict[str, float]:
    """Detectors of the chosen network, without its name, and those of trained flows."""
    return {
        name.removesuffix(f" {network}"): value
        for name, value in found.items()
        if value is not None and (name.endswith(f" {network}") or name.startswith("trained"))
    }


def write_csv(study: Study, path: pathlib.Path) -> None:
    """A row for each condition, method and group of seeds."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        against = [name for baseline in BASELINES for name in (f"to_{baseline}", f"to_{baseline}_ci95")]
        writer.writerow(["graph", "labels", "noise", "seeds", "method", "runs", "accuracy", *against, "verdict"])
        for condition in study.lines:
            for seeds, verdicts in ((study.first, study.verdicts), (study.fresh, study.fresh_verdicts)):
                lines = study.of(condition, seeds)
                for method in [*BASELINES, *study.methods]:
                    tests = [100 * line["methods"][method]["test"] for line in lines if method in line["methods"]]
                    if not tests:
                        continue
                    row: list[Any] = [condition.graph, condition.rate, condition.noise, f"{seeds[0]}-{seeds[-1]}"]
                    row += [method, len(tests), f"{np.mean(tests):.2f}"]
                    verdict = verdicts.get((condition, method))
                    for baseline in BASELINES:
                        interval = verdict.against[baseline] if verdict else None
                        row += [f"{100 * interval.mean:.2f}", f"{100 * interval.half:.2f}"] if interval else ["", ""]
                    writer.writerow([*row, verdict.result if verdict else ""])


def report(study: Study) -> str:
    """All tables, in Markdown."""
    judged = len({condition for condition, _ in study.verdicts})
    seconds = sum(line["seconds"] for lines in study.lines.values() for line in lines.values())
    parts = [
        f"{judged} conditions, {sum(map(len, study.lines.values()))} cells, {seconds / 3600:.1f} hours of one core. "
        f"Without any effect at most {0.025 * judged:.0f} wins of a method are to be expected.",
        "## Won, lost, undecided",
        counts_table(study),
        "Won / lost / undecided by graph, labels for each class and noise:",
        groups_table(study, "graphs", lambda condition: GRAPHS[condition.graph]),
        groups_table(study, "labels", lambda condition: condition.rate),
        groups_table(study, "noise", lambda condition: condition.noise),
        "## Wins that fresh seeds repeat",
        wins_table(study, confirmed=True),
        "## Wins that fresh seeds do not repeat, or that have none",
        wins_table(study, confirmed=False),
        "## Mean test accuracy, and differences to cross-entropy",
        accuracy_table(study),
        "## Detectors of wrong labels",
        detector_table(study),
    ]
    return "\n\n".join(parts)
