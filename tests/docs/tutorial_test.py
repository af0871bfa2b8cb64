#!/usr/bin/env python3
"""Runs the commands of README.md and docs/tutorial.md as they stand there, and compares what they print.

    tests/docs/tutorial_test.py build/release/qw [PAGE...]

- The `sh` fences of a page run in order, in one shell and one temporary folder with examples/ in it, offline.
  A command that fails ends the test. Commands that a test cannot run stand in `console` fences.
- A `text` fence is what the sh fence above it prints. Its lines must stand in the output in their order;
  other lines may stand between. Numbers and blanks do not count, and `...` stands for anything.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs/tutorial.md"]
NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\d|\d)(?:\.\d+)?(?:e[-+]?\d+)?|\bnan\b", re.IGNORECASE)
FENCE = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "== tutorial_test: commands {} end =="


def fences(page: pathlib.Path) -> list[tuple[str, list[str]]]:
    """Commands, each with the lines of output that the page shows."""
    steps: list[tuple[str, list[str]]] = []
    for kind, body in FENCE.findall(page.read_text(encoding="utf-8")):
        if kind == "sh":
            steps.append((body, []))
        elif steps:
            steps[-1][1].extend(line for line in body.splitlines() if line.strip())
    return steps


def plain(line: str) -> str:
    return " ".join(NUMBER.sub("#", line).split())


def matches(shown: str, printed: str) -> bool:
    pieces = [re.escape(plain(piece)) for piece in shown.split("...")]
    return re.fullmatch(r"\s*.*\s*".join(pieces), plain(printed)) is not None


def run(steps: list[tuple[str, list[str]]], folder: pathlib.Path, qw: pathlib.Path) -> tuple[int, str]:
    script = "set -eu\n" + "".join(f"{commands}echo; echo '{MARK.format(number)}'\n"
                                   for number, (commands, _) in enumerate(steps))
    environment = {**os.environ, "PATH": f"{qw.parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def check(page: pathlib.Path, folder: pathlib.Path, qw: pathlib.Path) -> list[str]:
    """What is wrong, one text each."""
    steps = fences(page)
    if not steps:
        return [f"{page.name}: has no sh fences"]
    code, rest = run(steps, folder, qw)
    found = []
    for number, (commands, shown) in enumerate(steps):
        output, mark, rest = rest.partition(MARK.format(number) + "\n")
        if not mark:
            return found + [f"{page.name}: exit code {code} of\n{commands}{output}"]
        printed = iter(output.splitlines())
        for line in shown:
            if not any(matches(line, other) for other in printed):
                found.append(f"{page.name}: the output lacks this line, or has it elsewhere:\n  {line}\n"
                             f"commands:\n{commands}output:\n{output}")
                break
    return found


def main() -> int:
    qw = pathlib.Path(sys.argv[1]).resolve()
    pages = [pathlib.Path(argument).resolve() for argument in sys.argv[2:]] or PAGES
    found = []
    with tempfile.TemporaryDirectory(prefix="qw-docs-") as folder:
        (pathlib.Path(folder) / "examples").symlink_to(ROOT / "examples")
        for page in pages:
            found += check(page, pathlib.Path(folder), qw)
    print("\n".join(found) or f"{len(pages)} pages: every command runs and prints what the page shows")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
