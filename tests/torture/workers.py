#!/usr/bin/env python3
"""Workers of one sweep, or of one fit, on PostgreSQL, killed at random: in the end there is what one has that was left
alone.

    tests/torture/workers.py --qw build/release/qw [--of sweep|fit] [--workers 8] [--kills 50] [--seed 1]

Whoever is killed is started again. Now and then the connections are cut instead, and once for every 25 kills the server
crashes and comes back. Ends with 77, and a line that says why, where no server can be started.
"""
import argparse
import csv
import io
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import program

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import postgres  # noqa: E402

GRAPH = "csbm:nodes=600,degree=8,features=16,classes=3,signal=0.5"
SWEEP = {
    "method": "ce",
    "each": {"data": [GRAPH], "model": ["gcn", "mlp"]},
    "fixed": {"epochs": 200, "solver": "ce"},
    "search": {"lr": [0.001, 0.003, 0.01, 0.03, 0.1], "hidden": [4, 8, 16], "weight_decay": [0, 0.001, 0.01]},
    "strategy": "halving",
    "samples": 40,
    "runs": 9,
}
FIT = ["fit", "csbm:nodes=150,degree=6,features=8,classes=3", "--seed", "3", "--trials", "34"]
CUT_SHARE = 0.1  # of the blows: connections are cut, and nobody is killed
KILLS_PER_CRASH = 25
BEGINNING = 10  # seconds, from the start of a worker until it is connected
TIME_LIMIT = 900  # seconds, for the workers to end when nobody is killed any more


class Difference(Exception):
    """What the workers have that the undisturbed one has not."""


class Sweep:
    """A sweep: its table."""

    THE_SAME = "the same table"

    def __init__(self, qw, folder):
        self.qw, self.folder = qw, folder
        (folder / "sweep.json").write_text(json.dumps(SWEEP))

    def command(self, store, _):
        return ["sweep", "sweep.json", "--store", store]

    def undisturbed(self):
        program.run_well(self.qw, [*self.command("whole.db", "whole"), "--threads", "2"], self.folder)
        return self.outcome("whole.db")

    def outcomes(self, store, _):
        return [self.outcome(store)]

    def outcome(self, store):
        """All trainings less their times, and the table."""
        exported = program.run_well(self.qw, ["sweep", "export", store], self.folder).out.decode()
        rows = list(csv.DictReader(io.StringIO(exported)))
        for row in rows:
            row.pop("seconds")
            row.pop("config")
        shown = program.run_well(self.qw, ["sweep", "show", store, "--top", "100"], self.folder).out.decode()
        return sorted(json.dumps(row) for row in rows), shown


class Fit:
    """A fit: the folder of every worker."""

    THE_SAME = "the same folders"

    def __init__(self, qw, folder):
        self.qw, self.folder = qw, folder

    def command(self, store, name):
        return [*FIT, "--out", name, "--store", store]

    def undisturbed(self):
        program.run_well(self.qw, [*FIT, "--out", "whole", "--threads", "2"], self.folder)
        return self.outcome("whole")

    def outcomes(self, _, names):
        return [self.outcome(name) for name in names]

    def outcome(self, name):
        """The files of a folder less the race, and what has times or the command."""
        folder = self.folder / name
        files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        fit = json.loads(files["fit.json"])
        fit.pop("seconds")
        files["fit.json"] = json.dumps(fit).encode()
        return {path: content for path, content in files.items()
                if not path.startswith("search/") and path not in ("summary.json", "schema.json", "manifest.json")}


class Crew:
    """So many workers on one database, whoever of them may fall."""

    def __init__(self, study, server, database, size):
        self.study, self.folder, self.server, self.database = study, study.folder, server, database
        self.errors = open(self.folder / f"{database}.errors", "wb")
        self.began = {}  # by process id
        self.away_until = None  # the server, when it crashed last
        self.workers = [self.start(k) for k in range(size)]

    def start(self, k):
        command = [*self.study.command(self.server.url(self.database), self.name(k)), "--threads", "1", "--quiet"]
        worker = program.start(self.study.qw, command, self.folder, stdout=subprocess.DEVNULL, stderr=self.errors)
        self.began[worker.pid] = time.monotonic()
        return worker

    def name(self, k):
        return f"{self.database}-{k}"

    def outcomes(self):
        return self.study.outcomes(self.server.url(self.database), [self.name(k) for k in range(len(self.workers))])

    def all_ended(self):
        return all([self.ended_well(k) for k in range(len(self.workers))])

    def ended_well(self, k):
        """Who was just beginning when the server was away may say so and end, and is started again."""
        worker = self.workers[k]
        code = worker.poll()
        if code == 1 and self.away_until is not None:
            if self.away_from - BEGINNING < self.began[worker.pid] < self.away_until:
                self.workers[k] = self.start(k)
                return False
        if code not in (None, 0):
            raise Difference(f"a worker ended with {code}: {(self.folder / f'{self.database}.errors').read_text()[-500:]}")
        return code == 0

    def kill(self, rng):
        """Whether somebody was there to be killed."""
        alive = [k for k in range(len(self.workers)) if not self.ended_well(k)]
        if not alive:
            return False
        unlucky = rng.choice(alive)
        killed = program.kill_group(self.workers[unlucky]) == -signal.SIGKILL
        self.workers[unlucky] = self.start(unlucky)
        return killed

    def cut(self):
        self.server.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.database}'")

    def crash(self):
        self.away_from = time.monotonic()
        self.server.stop(signal.SIGQUIT)
        self.server.start()
        self.away_until = time.monotonic()

    def finish(self):
        end = time.monotonic() + TIME_LIMIT
        while not self.all_ended():
            if time.monotonic() > end:
                raise Difference(f"the workers did not end within {TIME_LIMIT} s")
            time.sleep(0.1)

    def dismiss(self):
        for worker in self.workers:
            program.kill_group(worker)
        self.errors.close()


def torture(crew, rng, kills, before):
    """How often somebody was killed before the work was done, and the server crashed; `before`: the kills of others."""
    killed = crashes = 0
    while killed < kills and not crew.all_ended():
        time.sleep(rng.uniform(0.2, 1.5))
        if rng.random() < CUT_SHARE:
            crew.cut()
        elif crew.kill(rng):
            killed += 1
        if (before + killed) // KILLS_PER_CRASH > before // KILLS_PER_CRASH + crashes:
            crew.crash()
            crashes += 1
    crew.finish()
    return killed, crashes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qw", type=pathlib.Path, default="build/release/qw", help="the program")
    parser.add_argument("--of", choices=["sweep", "fit"], default="sweep", help="what they work on")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    qw, rng = arguments.qw.absolute(), random.Random(arguments.seed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="qw-workers-"))
    study = {"sweep": Sweep, "fit": Fit}[arguments.of](qw, folder)
    try:
        server = postgres.Server()
    except postgres.NoServer as reason:
        print(f"PostgreSQL: {reason}")
        return postgres.SKIPPED
    with server:
        expected = study.undisturbed()
        kills = crashes = rounds = 0
        while kills < arguments.kills:
            rounds += 1
            database = f"{arguments.of}_{rounds}"
            server.sql(f"CREATE DATABASE {database}")
            crew = Crew(study, server, database, arguments.workers)
            try:
                more, fallen = torture(crew, rng, arguments.kills - kills, kills)
                if any(outcome != expected for outcome in crew.outcomes()):
                    raise Difference(f"not {study.THE_SAME}")
            except Difference as difference:
                sys.exit(f"after {kills} kills with seed {arguments.seed}, database {database}: {difference}\n"
                         f"what there is: {folder}")
            finally:
                crew.dismiss()
            kills, crashes = kills + more, crashes + fallen
            print(f"{database}: {arguments.workers} workers, {more} killed, {study.THE_SAME}", flush=True)
        print(f"{kills} kills and {crashes} crashes of the server in {rounds} rounds of {arguments.workers} workers: "
              f"{study.THE_SAME} as of one undisturbed worker")
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
