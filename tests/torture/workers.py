#!/usr/bin/env python3
"""Workers of one sweep on PostgreSQL, killed at random: in the end there is the table of one that was left alone.

    tests/torture/workers.py --qw build/release/qw [--workers 8] [--kills 50] [--seed 1]

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
CUT_SHARE = 0.1  # of the blows: connections are cut, and nobody is killed
KILLS_PER_CRASH = 25
BEGINNING = 10  # seconds, from the start of a worker until it is connected
TIME_LIMIT = 900  # seconds, for the workers to end when nobody is killed any more


class Difference(Exception):
    """What the workers have that the undisturbed one has not."""


def outcome(qw, url, folder):
    """All trainings less their times, and the table."""
    exported = program.run_well(qw, ["sweep", "export", url], folder).out.decode()
    rows = list(csv.DictReader(io.StringIO(exported)))
    for row in rows:
        row.pop("seconds")
        row.pop("config")
    shown = program.run_well(qw, ["sweep", "show", url, "--top", "100"], folder).out.decode()
    return sorted(json.dumps(row) for row in rows), shown


class Crew:
    """So many workers on one database, whoever of them may fall."""

    def __init__(self, qw, folder, server, database, size):
        self.qw, self.folder, self.server, self.database = qw, folder, server, database
        self.errors = open(folder / f"{database}.errors", "wb")
        self.began = {}  # by process id
        self.away_until = None  # the server, when it crashed last
        self.workers = [self.start() for _ in range(size)]

    def start(self):
        command = ["sweep", "sweep.json", "--store", self.server.url(self.database), "--threads", "1", "--quiet"]
        worker = program.start(self.qw, command, self.folder, stdout=subprocess.DEVNULL, stderr=self.errors)
        self.began[worker.pid] = time.monotonic()
        return worker

    def all_ended(self):
        return all([self.ended_well(k) for k in range(len(self.workers))])

    def ended_well(self, k):
        """Who was just beginning when the server was away may say so and end, and is started again."""
        worker = self.workers[k]
        code = worker.poll()
        if code == 1 and self.away_until is not None:
            if self.away_from - BEGINNING < self.began[worker.pid] < self.away_until:
                self.workers[k] = self.start()
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
        self.workers[unlucky] = self.start()
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
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    qw, rng = arguments.qw.absolute(), random.Random(arguments.seed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="qw-workers-"))
    (folder / "sweep.json").write_text(json.dumps(SWEEP))
    try:
        server = postgres.Server()
    except postgres.NoServer as reason:
        print(f"PostgreSQL: {reason}")
        return postgres.SKIPPED
    with server:
        program.run_well(qw, ["sweep", "sweep.json", "--store", "whole.db", "--threads", "2"], folder)
        expected = outcome(qw, "whole.db", folder)
        kills = crashes = rounds = 0
        while kills < arguments.kills:
            rounds += 1
            database = f"sweep_{rounds}"
            server.sql(f"CREATE DATABASE {database}")
            crew = Crew(qw, folder, server, database, arguments.workers)
            try:
                more, fallen = torture(crew, rng, arguments.kills - kills, kills)
                if outcome(qw, server.url(database), folder) != expected:
                    raise Difference("the table differs")
            except Difference as difference:
                sys.exit(f"after {kills} kills with seed {arguments.seed}, database {database}: {difference}\n"
                         f"what there is: {folder}")
            finally:
                crew.dismiss()
            kills, crashes = kills + more, crashes + fallen
            print(f"{database}: {arguments.workers} workers, {more} killed, the same table", flush=True)
        print(f"{kills} kills and {crashes} crashes of the server in {rounds} sweeps of {len(expected[0])} trainings by "
              f"{arguments.workers} workers: the table of one undisturbed worker")
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
