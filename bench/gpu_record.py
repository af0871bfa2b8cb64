#!/usr/bin/env python3
"""Runs one command under a time limit and keeps what it said, for gpu_report.py.

    bench/gpu_record.py --folder build/gpu/parts --part step --limit 30 --label model=gcn -- build/cuda/qw bench step ...

Writes FOLDER/PART/LABELS.json: the command, its exit status ("timed out" where it was stopped), seconds, the JSON document
that it printed (or wrote to --result FILE) and the ends of its output. Exits as the command did; 124: stopped.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

STOPPED = 124
NOT_STARTED = 127
TAIL = 6000  # characters


def execute(command: list[str], limit: float) -> tuple[int | str, str, str]:
    """(status, output, errors); a command that is stopped takes what it started along."""
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, errors="replace", start_new_session=True)
    except OSError as error:
        return NOT_STARTED, "", f"{command[0]}: {error.strerror}"
    try:
        output, errors = child.communicate(timeout=limit)
        return child.returncode, output, errors
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGTERM)
        try:
            output, errors = child.communicate(timeout=3)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            output, errors = child.communicate()
        return "timed out", output, errors


def document_of(text: str):
    """The JSON in `text`, or None."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def record(options: argparse.Namespace, command: list[str]) -> dict:
    if options.result:
        pathlib.Path(options.result).unlink(missing_ok=True)
    start = time.monotonic()
    status, output, errors = execute(command, options.limit) if options.limit > 0 else ("no time left", "", "")
    seconds = round(time.monotonic() - start, 2)
    if options.log:
        with open(options.log, "a", encoding="utf-8") as log:
            log.write(f"$ {shlex.join(command)}\n{output}{errors}")
    printed = document_of(output)
    written = pathlib.Path(options.result) if options.result else None
    document = printed if written is None else document_of(written.read_text()) if written.exists() else None
    return {"part": options.part, "labels": dict(options.label), "command": shlex.join(command), "status": status,
            "seconds": seconds, "result": document, "output": "" if printed is not None else output[-TAIL:],
            "errors": errors[-TAIL:]}


def file_name(labels: dict[str, str]) -> str:
    return (re.sub(r"[^\w.=-]+", "_", "-".join(labels.values())) or "record") + ".json"


def label(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"NAME=VALUE was expected, found '{text}'")
    return name, value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--part", required=True)
    parser.add_argument("--limit", type=float, required=True, metavar="SECONDS", help="0 or less: it is not run")
    parser.add_argument("--label", type=label, action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--result", metavar="FILE", help="where the command writes its JSON document")
    parser.add_argument("--log", metavar="FILE", help="the whole output is appended here")
    arguments = sys.argv[1:]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, command = parser.parse_args(arguments[:end]), arguments[end + 1:]
    if not command:
        parser.error("no command was given after --")
    entry = record(options, command)
    folder = pathlib.Path(options.folder) / options.part
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file_name(entry["labels"])).write_text(json.dumps(entry, indent=1) + "\n")
    what = " ".join([options.part, *entry["labels"].values()])
    print(f"{what}: {'done' if entry['status'] == 0 else entry['status']}, {entry['seconds']:.1f} s", flush=True)
    if entry["status"] not in (0, "no time left"):
        print("\n".join((entry["errors"].strip() or entry["output"].strip()).splitlines()[-5:]), flush=True)
    return entry["status"] if isinstance(entry["status"], int) else STOPPED


if __name__ == "__main__":
    sys.exit(main())
