#!/usr/bin/env python3
"""Counts what ctest ran: tests that passed, failed and were skipped, and why.

Usage: summarise_tests.py BUILD, after ctest in that folder. A test program that ran many tests counts
them all: a test that is skipped inside it is skipped here, where ctest says that the program passed.
"""
import pathlib
import re
import sys
from collections import Counter

# An entry of the log. ctest says of a test that it could not start, before the entry only, that it is not found.
ENTRY = re.compile(r"^(Unable to find executable.*\n)?\d+/\d+ Testing: ", re.M)
DISABLED = re.compile(r'^Command: ""$', re.M)
SKIPPED_BY_CTEST = re.compile(r"^Skip regular expression found", re.M)
RAN = re.compile(r"^\[==========\] (\d+) tests? from .* ran\.", re.M)
FAILED = re.compile(r"^\[  FAILED  \] (\d+) tests?, listed below", re.M)
SKIPPED = re.compile(r"^skipped (\d+): (.*)$", re.M)  # tests/support/skip_report.cpp
REASON = re.compile(r"(?:^|, )(.*?) \((\d+)\)")
PYTHON_RAN = re.compile(r"^Ran (\d+) tests? in", re.M)
PYTHON_FAILED = re.compile(r"^FAILED \((.*)\)$", re.M)
PYTHON_SKIPPED = re.compile(r"\.\.\. skipped (['\"])(.*)\1$", re.M)
SCRIPT_SKIPPED = re.compile(r"^skipped: (.*)$", re.M)  # a script that ends with 77


def reasons_of(output):
    """{reason: how many tests} of one entry of ctest."""
    match = SKIPPED.search(output)
    if match:
        return Counter({reason: int(count) for reason, count in REASON.findall(match[2])})
    match = SCRIPT_SKIPPED.search(output)
    if match:
        return Counter({match[1]: 1})
    return Counter(reason for _, reason in PYTHON_SKIPPED.findall(output))


def failures_of(output):
    """How many tests failed in an entry that did: one at least."""
    match = FAILED.search(output)
    if match:
        return int(match[1])
    match = PYTHON_FAILED.search(output)
    counts = re.findall(r"(?:failures|errors)=(\d+)", match[1]) if match else []
    return max(1, sum(map(int, counts)))


def counts_of(entry):
    """(passed, failed, {reason: skipped}) of one entry. What ended without a count was one test."""
    output, _, end = entry.partition("<end of output>")
    reasons = reasons_of(output)
    if DISABLED.search(output):
        reasons = Counter({"disabled": 1})
    elif SKIPPED_BY_CTEST.search(end) and not reasons:
        reasons = Counter({"no reason given": 1})
    ran = RAN.search(output) or PYTHON_RAN.search(output)
    passed = "Test Passed." in end or "Test Pass Reason:" in end
    failures = 0 if passed else failures_of(output)
    tests = max(int(ran[1]) if ran else 1, failures + reasons.total())
    return tests - failures - reasons.total(), failures, reasons


def summary(log):
    passed, failed, skipped = 0, 0, Counter()
    parts = ENTRY.split(log)[1:]
    for not_found, entry in zip(parts[::2], parts[1::2]):
        of_entry = (0, 1, Counter()) if not_found else counts_of(entry)
        passed, failed, skipped = passed + of_entry[0], failed + of_entry[1], skipped + of_entry[2]
    lines = [f"{passed} passed, {failed} failed, {skipped.total()} skipped"]
    lines += [f"  skipped {count}: {reason}" for reason, count in skipped.most_common()]
    return "\n".join(lines)


def main():
    path = pathlib.Path(sys.argv[1]) / "Testing" / "Temporary" / "LastTest.log"
    if not path.exists():
        sys.exit(f"{path} is not here: run ctest in {sys.argv[1]} first")
    print(summary(path.read_text(errors="replace")))


if __name__ == "__main__":
    main()
