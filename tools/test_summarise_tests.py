#!/usr/bin/env python3
"""Checks summarise_tests.py with entries as ctest writes them; needs nothing but Python."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import summarise_tests

HERE = pathlib.Path(__file__).resolve().parent
SHARD = """[==========] 12 tests from 3 test suites ran. (5 ms total)
[  PASSED  ] 9 tests.
skipped 3: no ../shared (2), no CUDA device, or none free (1)
"""
BROKEN = """[==========] 12 tests from 3 test suites ran. (5 ms total)
[  PASSED  ] 10 tests.
[  FAILED  ] 2 tests, listed below:
"""
PYTHON = """test_a (__main__.Gpu.test_a) ... ok
test_b (__main__.Gpu.test_b) ... skipped "No module named 'torch_geometric'"
Ran 2 tests in 0.7s
"""


def log(*entries):
    """The log of ctest with these (output, what follows it[, what stands before])."""
    written = "Start testing\n"
    for number, (output, end, *before) in enumerate(entries, 1):
        written += "".join(before) + f"{number}/{len(entries)} Testing: t{number}\n"
        written += f"{output}<end of output>\n{end}\n"
    return written


class Summary(unittest.TestCase):
    def summary(self, *entries):
        return summarise_tests.summary(log(*entries)).splitlines()

    def test_tests_within_a_program_count_each(self):
        self.assertEqual(self.summary((SHARD, "Test Passed.")), [
            "9 passed, 0 failed, 3 skipped", "  skipped 2: no ../shared",
            "  skipped 1: no CUDA device, or none free"])

    def test_reasons_of_all_programs_are_added(self):
        found = self.summary((SHARD, "Test Passed."), (SHARD, "Test Passed."))
        self.assertEqual(found[:2], ["18 passed, 0 failed, 6 skipped", "  skipped 4: no ../shared"])

    def test_failures(self):
        self.assertEqual(self.summary((BROKEN, "Test Failed.")), ["10 passed, 2 failed, 0 skipped"])
        self.assertEqual(self.summary(("Segmentation fault\n", "Test Failed.")),
                         ["0 passed, 1 failed, 0 skipped"])
        self.assertEqual(
            self.summary(('Command: ""\n', "Test Passed.", "Unable to find executable: /nowhere\n")),
            ["0 passed, 1 failed, 0 skipped"])

    def test_skipped_by_ctest(self):
        by_text = "Test Pass Reason:\nSkip regular expression found in output. Regex=[x]"
        self.assertEqual(self.summary(("x\n", by_text)),
                         ["0 passed, 0 failed, 1 skipped", "  skipped 1: no reason given"])
        self.assertEqual(self.summary(('Command: ""\n', "Test Passed.")),
                         ["0 passed, 0 failed, 1 skipped", "  skipped 1: disabled"])

    def test_scripts(self):
        self.assertEqual(self.summary(("fine\n", "Test Passed.")), ["1 passed, 0 failed, 0 skipped"])
        self.assertEqual(self.summary(("skipped: No module named 'numpy'\n", "Test Passed.")),
                         ["0 passed, 0 failed, 1 skipped", "  skipped 1: No module named 'numpy'"])
        self.assertEqual(self.summary((PYTHON + "\nOK (skipped=1)\n", "Test Passed.")),
                         ["1 passed, 0 failed, 1 skipped", "  skipped 1: No module named 'torch_geometric'"])
        self.assertEqual(self.summary((PYTHON + "\nFAILED (failures=1, skipped=1)\n", "Test Failed.")),
                         ["0 passed, 1 failed, 1 skipped", "  skipped 1: No module named 'torch_geometric'"])

    def test_without_a_log(self):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([sys.executable, HERE / "summarise_tests.py", folder], text=True,
                                 capture_output=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stderr, f"{folder}/Testing/Temporary/LastTest.log is not here: "
                                     f"run ctest in {folder} first\n")


if __name__ == "__main__":
    unittest.main()
