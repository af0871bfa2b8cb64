#!/usr/bin/env python3
"""Damages data files, run folders and stores at random, and sees how qw takes it.

    tests/torture/campaign.py --qw build/release/qw [--data 10000] [--runs 2000] [--stores 500]
                              [--seconds S] [--seed 1] [--only KIND:NUMBER]

Every command must end in time, by itself, with 0, 1 or 2, and with a short text of qw's own when it fails.
A damaged run folder must be refused, or give the answers of the whole one. Findings are kept, and make the
exit code 1.
"""
import argparse
import collections
import json
import pathlib
import random
import shutil
import tempfile
import time

import corpus
import mutate
import program
import run_folders
import stores

SHARE_TRAINED = 0.02  # of the data files: LibTorch takes half a second to start


class DataFiles:
    kind = "data"

    def __init__(self, qw, folder):
        self.qw = qw
        samples = corpus.samples(qw, folder)
        self.pool = [contents for sample in samples for contents in sample.files.values()]
        self.by_name = collections.defaultdict(list)
        for sample in samples:
            self.by_name[sample.name].append(sample)

    def attempt(self, rng, folder):
        """Damages one sample in `folder` and uses it. Returns what was damaged, the command, and its result."""
        sample = rng.choice(self.by_name[rng.choice(sorted(self.by_name))])
        files = damaged(rng, sample.files, self.pool)
        for name, contents in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(contents)
        command = rng.choice(sample.commands)
        if sample.trains and rng.random() < SHARE_TRAINED:
            command = ["train", *rng.choice(sample.trains), "--epochs", "2", "--out", "run"]
        return sample.name, command, program.run(self.qw, command, folder), None


def damaged(rng, files, pool):
    files = dict(files)
    names = sorted(files)
    how = rng.random()
    if how < 0.03 and len(names) > 1:
        del files[rng.choice(names)]
    elif how < 0.06 and len(names) > 1:
        first, second = rng.sample(names, 2)
        files[first], files[second] = files[second], files[first]
    else:
        for name in rng.sample(names, min(len(names), rng.choice((1, 1, 1, 2)))):
            files[name] = mutate.mutate(rng, files[name], rng.choice(pool))
    return files


def keep_finding(kind, number, folder, command, result, what):
    (folder / "command.txt").write_text("qw " + " ".join(map(str, command)) + "\n")
    (folder / "stdout.txt").write_bytes(result.out)
    (folder / "stderr.txt").write_bytes(result.err)
    print(f"finding {kind}:{number}: {what}\n  cd {folder} && qw {' '.join(map(str, command))}", flush=True)
    for line in result.err.decode(errors="backslashreplace")[:400].splitlines()[:4]:
        print(f"  | {line}", flush=True)


def refuse_constant(name):
    raise ValueError(f"{name} is no number of JSON")


def bad_json(command, result):
    """What is wrong with the JSON that a command promised, or None."""
    if "--batch" in command:
        documents = result.out.splitlines()
    elif "--json" in command and result.code == 0:
        documents = [result.out]
    else:
        return None
    try:
        for document in documents:
            json.loads(document.decode(), parse_constant=refuse_constant)
    except ValueError as error:
        return f"prints what is no JSON: {error}"
    return None


class Tally:
    def __init__(self):
        self.outcomes = collections.Counter()
        self.samples = collections.Counter()

    def add(self, sample, code):
        self.outcomes[{0: "read", 1: "refused", 2: "refused"}.get(code, "broke")] += 1
        self.samples[sample] += 1

    def text(self, kind):
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        samples = ", ".join(f"{name} {count}" for name, count in sorted(self.samples.items()))
        return f"{kind}: {sum(self.outcomes.values())} tried, {outcomes or 'none'} ({samples})"


def torture(arguments, folder):
    """The number of findings."""
    (folder / "made").mkdir()
    wanted = {DataFiles: arguments.data, run_folders.RunFolders: arguments.runs, stores.Stores: arguments.stores}
    attempts = []
    tallies = {}
    for maker, count in wanted.items():
        if count == 0:
            continue
        victims = maker(arguments.qw, folder / "made")
        tallies[maker.kind] = Tally()
        attempts += [(victims, number) for number in range(count)]
    if arguments.only:
        attempts = [each for each in attempts if f"{each[0].kind}:{each[1]}" == arguments.only]
    random.Random(arguments.seed).shuffle(attempts)
    findings = 0
    begin = time.monotonic()
    for victims, number in attempts:
        if arguments.seconds and time.monotonic() - begin > arguments.seconds:
            break
        place = folder / f"{victims.kind}-{number}"
        place.mkdir()
        rng = random.Random(f"{arguments.seed} {victims.kind} {number}")
        sample, command, result, difference = victims.attempt(rng, place)
        what = program.complaint(result) or difference or bad_json(command, result)
        if what is None and program.part_files(place):
            what = f"{program.part_files(place)[0].name} was left behind"
        tallies[victims.kind].add(sample, result.code)
        if what is None:
            shutil.rmtree(place)
        else:
            findings += 1
            keep_finding(victims.kind, number, place, command, result, what)
    for kind, tally in tallies.items():
        print(tally.text(kind))
    print(f"campaign, seed {arguments.seed}, {time.monotonic() - begin:.0f} s: {findings} findings")
    return findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qw", type=pathlib.Path, default="build/release/qw", help="the program")
    parser.add_argument("--data", type=int, default=10_000, help="data files")
    parser.add_argument("--runs", type=int, default=2_000, help="run folders")
    parser.add_argument("--stores", type=int, default=500, help="stores of sweeps")
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time; 0: when all is done")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", metavar="KIND:NUMBER", help="one attempt again, such as data:17")
    arguments = parser.parse_args()
    arguments.qw = arguments.qw.absolute()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="qw-campaign-"))
    program.limit_memory()
    if torture(arguments, folder) > 0:
        raise SystemExit(f"findings are in {folder}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
