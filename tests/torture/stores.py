"""Damage to the SQLite files of sweeps."""
import contextlib
import json
import sqlite3

import mutate
import program

SWEEP = {
    "method": "ce",
    "each": {"data": ["karate"], "model": ["gcn", "mlp"]},
    "fixed": {"epochs": 3, "solver": "ce", "split": "random:train=0.5,val=0.25"},
    "search": {"lr": [0.01, 0.1], "hidden": [4, 8]},
    "strategy": "halving",
    "samples": 4,
    "runs": 3,
}
READERS = [["sweep", "show", "sweep.db"], ["sweep", "show", "sweep.db", "--top", "9", "--json"],
           ["sweep", "export", "sweep.db"], ["sweep", "presets", "sweep.db"]]
SHARE_REPEATED = 0.15  # by the sweep itself
SHARE_OF_CELLS = 0.5  # whose text is damaged; the bytes of the file in the others
VALUES = (None, -1, 0, 2 ** 63 - 1, 1e308, float("inf"), b"\0\xff", "", "[" * 100_000, '{"a":' * 60_000)


class Stores:
    kind = "stores"

    def __init__(self, qw, folder):
        self.qw = qw
        self.sweep = folder / "sweep.json"
        self.sweep.write_text(json.dumps(SWEEP))
        program.run_well(qw, ["sweep", self.sweep, "--store", "sweep.db"], folder)
        self.contents = (folder / "sweep.db").read_bytes()

    def attempt(self, rng, folder):
        store = folder / "sweep.db"
        by_cell = rng.random() < SHARE_OF_CELLS
        if by_cell:
            store.write_bytes(self.contents)
            damage_cell(rng, store)
        else:
            store.write_bytes(mutate.mutate_plain(rng, self.contents, self.contents))
            if rng.random() < 0.1:
                (folder / "sweep.db-wal").write_bytes(mutate.mutate_plain(rng, self.contents[:4096], b"\0"))
        again = ["sweep", self.sweep, "--store", "sweep.db"]
        command = again if rng.random() < SHARE_REPEATED else rng.choice(READERS)
        return "cell" if by_cell else "bytes", command, program.run(self.qw, command, folder), None


def damage_cell(rng, store):
    """One cell, or all of a column, of any type."""
    database = sqlite3.connect(store)
    table, column = rng.choice(columns(database))
    cells = database.execute(f"SELECT {column} FROM {table}").fetchall()
    before = rng.choice(cells)[0] if cells else ""
    after = rng.choice(VALUES)
    if rng.random() < 0.7 and isinstance(before, str) and before:
        after = mutate.mutate(rng, before.encode(), before.encode())
        after = after.decode(errors="replace") if rng.random() < 0.9 else after
    where = f"WHERE {column} IS ?" if rng.random() < 0.8 else "WHERE ? IS NOT 1"
    with contextlib.suppress(sqlite3.IntegrityError):  # SQLite keeps its primary keys integers
        database.execute(f"UPDATE OR IGNORE {table} SET {column} = ? {where}", (after, before))
    database.commit()
    database.close()


def columns(database):
    return database.execute("""SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c
                               WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY 1, 2""").fetchall()
