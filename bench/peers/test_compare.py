#!/usr/bin/python3
"""Checks compare.py with a stand-in for qw; needs no torch."""
import contextlib
import io
import json
import pathlib
import tempfile
import unittest
from unittest import mock

import compare


class Compare(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compare(self, bench: str, *more: str) -> tuple[int, str, str]:
        """(status, output, errors) when `qw bench` runs the shell command `bench` and torch takes 40, then 30 ms."""
        qw = self.folder / "qw"
        qw.write_text(f'#!/bin/sh\nif [ "$1" = bench ]; then {bench}; fi\n')
        qw.chmod(0o755)
        peer = mock.Mock(side_effect=[{"step_ms": {"median": time}} for time in (40, 30) * 2])
        arguments = ["compare.py", "--qw", str(qw), "--folder", str(self.folder), "--data", "cora", *more]
        output, errors = io.StringIO(), io.StringIO()
        with mock.patch.object(compare.Comparison, "run_torch", peer), mock.patch("sys.argv", arguments), \
                contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            status = compare.main()
        return status, output.getvalue(), errors.getvalue()

    STEP = """case $6 in gcn) t=10;; *) t=2.5;; esac; echo '{"step_ms":{"median":'$t'}}'"""
    MODELS = ("--model", "gcn", "--model", "gin")

    def test_table(self) -> None:
        status, output, _ = self.compare(self.STEP, *self.MODELS, "--require-mean", "6", "--require-min", "3")
        self.assertEqual(status, 0)
        self.assertEqual([line.split() for line in output.splitlines()[1:]],
                         [["cora", "gcn", "10.00", "30.00", "3.00"], ["cora", "gin", "2.50", "30.00", "12.00"],
                          "geometric mean 6.00, smallest 3.00".split()])

    def test_json(self) -> None:
        status, output, _ = self.compare(self.STEP, *self.MODELS, "--json")
        self.assertEqual(status, 0)
        document = json.loads(output)
        self.assertEqual([result["ratio"] for result in document["results"]], [3, 12])
        self.assertAlmostEqual(document["mean_ratio"], 6)

    def test_requirements(self) -> None:
        status, _, errors = self.compare(self.STEP, *self.MODELS, "--require-mean", "7", "--require-min", "3.5")
        self.assertEqual(status, 1)
        self.assertEqual(errors.splitlines(), ["compare.py: the geometric mean ratio is 6.00, required is 7",
                                               "compare.py: the smallest ratio is 3.00, required is 3.5"])

    def test_what_does_not_run(self) -> None:
        for bench, message in [("echo \"qw: argument 'bench' is unknown\" >&2; exit 2", "does not know 'bench step'"),
                               ("echo no memory >&2; exit 3", "--json: exit status 3: no memory\n"),
                               ("exit 1", "exit status 1: nothing on standard error"),
                               ("echo hello", "printed no JSON document: Expecting value")]:
            with self.subTest(bench=bench):
                status, _, errors = self.compare(bench)
                self.assertEqual(status, 2)
                self.assertIn(message, errors)
        status, _, errors = self.compare("exit 0", "--qw", str(self.folder / "absent"))
        self.assertEqual(status, 2)
        self.assertIn("absent data convert cora", errors)
        self.assertIn("No such file or directory", errors)


if __name__ == "__main__":
    unittest.main()
