"""What the library says of data that it read: a warning of each guess and loss, in words of Python."""

from __future__ import annotations

import re
import sys
from typing import Any

from ._lib import warn

# Of these nothing is lost, or nobody expects otherwise: said with verbose only.
ROUTINE = ("self-loops were dropped", "repeated edges were dropped", "there are no features; made from the graph")


def of_tables(note: str, names: dict[str, str]) -> str:
    """The note by the names of tables, without advice for the command line."""
    for file, name in names.items():
        note = note.replace(file, name)
    note = re.sub(r" \([^()]*(--[a-z]|qw data info)[^()]*\)", "", note)
    unused = "--edge-weight" in note
    note = re.sub(r"; [^;]*--[a-z][^;]*$", "", note)
    return note + "; edges=qw.Graph(...) takes weights and costs" if unused else note


def of_options(note: str) -> str:
    """The note with options as keywords: edge_weight= for --edge-weight."""
    return re.sub(r"--([a-z][a-z-]*)", lambda found: found[1].replace("-", "_") + "=", note)


def say(notes: list[str], verbose: int, words: Any = of_options) -> None:
    for note in notes:
        if not any(routine in note for routine in ROUTINE):
            warn(words(note))
        elif verbose:
            print(f"qw: {words(note)}", file=sys.stderr)
