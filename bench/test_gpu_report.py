#!/usr/bin/env python3
"""Checks gpu_record.py and gpu_report.py with made-up measurements; needs nothing but Python."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import gpu_report

HERE = pathlib.Path(__file__).resolve().parent


def made_up(part: str, labels: dict, result=None, status=0, output="", errors="") -> dict:
    return {"part": part, "labels": labels, "command": f"run {part}", "status": status, "seconds": 1.5,
            "result": result, "output": output, "errors": errors}


def step(part: str, data: str, model: str, runs: int, time: float, solver: str = "bregman") -> dict:
    labels = {"solver": solver, "data": data, "model": model, "runs": str(runs)}
    return made_up(part, labels, {"step_ms": {"median": time, "min": time, "p90": time}})


PEER = {"torch": "2.11", "torch_geometric": "2.8", "results": [
    {"data": "cora", "model": "gcn", "variant": "qw-eager", "step_ms": {"median": 2.0}, "way": "csr"},
    {"data": "cora", "model": "gcn", "variant": "qw-dense", "step_ms": {"median": 0.8}},
    {"data": "cora", "model": "gat", "variant": "qw-eager", "step_ms": {"median": 3.2}},
    {"data": "cora", "model": "gat", "variant": "qw-captured", "skipped": "no graph"}]}
RECORDS = [
    made_up("machine", {"what": "gpu"}, output="NVIDIA H200, 580\n"),
    made_up("build", {"what": "programs"}, status="timed out"),
    made_up("test", {"what": "cuda"}, output="...\n100% tests passed, 0 tests failed out of 12\n"),
    made_up("sanitize", {"what": "memcheck"}, output="[  PASSED  ] 3 tests.\n========= ERROR SUMMARY: 0 errors\n"),
    step("step", "cora", "gcn", 1, 0.1), step("batch", "cora", "gcn", 10, 0.25),
    step("step", "cora", "gat", 1, 0.4), step("step", "cora", "gcn", 1, 0.08, "ce"),
    made_up("peers", {"what": "steps"}, PEER),
    made_up("spmm", {"what": "spmm"}, output="cora 7: ours 2 us, cuSPARSE 5 us\n"),
    made_up("flow", {"edges": "1000", "columns": "7"},
            {"step_ms": 0.5, "gb_per_s": 3000.0, "copy_gb_per_s": 4300.0, "share": 0.7}),
    *(made_up("scale", {"edges": str(edges)}, {"step_ms": {"median": time}, "peak_memory_mb": 12.5})
      for edges, time in [(100000, 0.5), (1000000, 1.0), (10000000, 10.0), (100000000, 100.0)]),
    made_up("products", {"what": "train"}, {"step_ms": 42.0, "test": {"accuracy": {"mean": 0.81}}}),
    made_up("products", {"what": "step"}, status=3, errors="first\nqw: out of memory\n"),
]


class Report(unittest.TestCase):
    def setUp(self) -> None:
        self.text = gpu_report.markdown(RECORDS)

    def has_row(self, *cells: str) -> None:
        self.assertIn("| " + " | ".join(cells) + " |", self.text.splitlines())

    def test_steps(self) -> None:
        self.has_row("cora", "gcn", "0.1", "0.25", "2.5", "4")
        self.has_row("cora", "gat", "0.4", "-", "-", "-")
        self.has_row("cora", "gcn", "0.08", "-", "-", "-")
        self.assertIn("Gain by batching, geometric mean 4, smallest 4.", self.text)

    def test_peers(self) -> None:
        self.has_row("cora", "gcn", "0.1", "2 (20)", "-", "0.8 (8)")
        self.has_row("cora", "gat", "0.4", "3.2 (8)", "-", "-")
        self.assertIn("- qw-eager: geometric mean 12.6, smallest 8", self.text)
        self.assertIn("- qw-captured, cora, gat: no graph", self.text)
        self.assertIn("torch 2.11, torch_geometric 2.8. Eager: S F by torch's fastest sparse way (cora csr);", self.text)
        against = gpu_report.summary(RECORDS)["against_peers"]
        self.assertAlmostEqual(against["qw-eager"]["mean_ratio"], 160**0.5)
        self.assertEqual(against["qw-dense"]["count"], 1)
        self.assertNotIn("qw-captured", against)

    def test_scaling(self) -> None:
        found = gpu_report.scaling(RECORDS)
        self.assertAlmostEqual(found["exponent_from_1e6_edges"], 1)
        self.assertLess(found["exponent"], 1)
        self.has_row("1,000,000", "1", "1", "12.5", "1.5")
        self.assertIsNone(gpu_report.exponent([(10.0, 1.0)]))
        self.assertAlmostEqual(gpu_report.exponent([(1.0, 3.0), (2.0, 12.0), (4.0, 48.0)]), 2)

    def test_the_rest(self) -> None:
        self.assertIn("- gpu: NVIDIA H200, 580", self.text)
        self.has_row("build programs", "timed out", "1.5", "")
        self.has_row("test cuda", "done", "1.5", "100% tests passed, 0 tests failed out of 12")
        self.has_row("sanitize memcheck", "done", "1.5", "[  PASSED  ] 3 tests.; ERROR SUMMARY: 0 errors")
        self.has_row("1,000", "7", "0.5", "3,000", "4,300", "0.7")
        self.has_row("train", "done", "42", "-", "0.81", "1.5")
        self.assertIn("cora 7: ours 2 us, cuSPARSE 5 us", self.text)
        self.assertIn("- build programs: timed out: said nothing", self.text)
        self.assertIn("- products step: 3: qw: out of memory", self.text)
        self.assertEqual(gpu_report.summary(RECORDS)["failed_parts"], ["build", "products"])

    def test_nothing_was_measured(self) -> None:
        self.assertEqual(gpu_report.markdown([]).strip(), "# qw on a GPU")
        self.assertEqual(gpu_report.summary([])["against_peers"], {})


class Programs(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def record(self, *arguments: str) -> subprocess.CompletedProcess:
        command = [sys.executable, str(HERE / "gpu_record.py"), "--folder", str(self.folder / "parts"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def recorded(self, name: str) -> dict:
        return json.loads((self.folder / "parts" / name).read_text())

    def test_a_document_is_kept(self) -> None:
        done = self.record("--part", "step", "--limit", "20", "--label", "data=csbm:n=1,k", "--label", "model=gcn", "--",
                           "echo", '{"step_ms": 1}', "--", "")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.recorded("step/csbm_n=1_k-gcn.json")["result"], None)  # two dashes are the command's own
        self.record("--part", "step", "--limit", "20", "--label", "model=gcn", "--", "echo", '{"step_ms": 1}')
        record = self.recorded("step/gcn.json")
        self.assertEqual((record["result"], record["status"], record["output"]), ({"step_ms": 1}, 0, ""))
        self.assertEqual(record["command"], "echo '{\"step_ms\": 1}'")

    def test_failures(self) -> None:
        log = str(self.folder / "log")
        done = self.record("--part", "a", "--limit", "20", "--log", log, "--", "sh", "-c", "echo out; echo no >&2; exit 3")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stdout.splitlines()[1:], ["no"])
        record = self.recorded("a/record.json")
        self.assertEqual((record["status"], record["output"], record["errors"]), (3, "out\n", "no\n"))
        self.assertEqual(pathlib.Path(log).read_text().splitlines()[1:], ["out", "no"])
        self.assertEqual(self.record("--part", "b", "--limit", "1", "--", str(self.folder / "absent")).returncode, 127)
        self.assertIn("No such file", self.recorded("b/record.json")["errors"])
        self.assertEqual(self.record("--part", "c", "--limit", "1").returncode, 2)

    def test_limits(self) -> None:
        result = self.folder / "result.json"
        script = f"echo '{{\"half\": 1}}' > {result}; echo begun; sleep 60"
        done = self.record("--part", "a", "--limit", "0.5", "--result", str(result), "--", "sh", "-c", script)
        self.assertEqual(done.returncode, 124)
        record = self.recorded("a/record.json")
        self.assertEqual((record["status"], record["result"], record["output"]), ("timed out", {"half": 1}, "begun\n"))
        self.assertLess(record["seconds"], 20)
        self.record("--part", "b", "--limit", "-3", "--", "touch", str(self.folder / "touched"))
        self.assertEqual(self.recorded("b/record.json")["status"], "no time left")
        self.assertFalse((self.folder / "touched").exists())

    def test_an_earlier_report_fills_the_gaps(self) -> None:
        earlier = self.folder / "earlier.json"
        earlier.write_text(json.dumps({"records": [made_up("spmm", {}, output="old spmm"),
                                                   made_up("flow", {"edges": "5", "columns": "1"})]}))
        self.record("--part", "spmm", "--limit", "20", "--", "echo", "new spmm")
        subprocess.run([sys.executable, str(HERE / "gpu_report.py"), "--parts", str(self.folder / "parts"), "--out",
                        str(self.folder / "out"), "--earlier", str(earlier)], check=True)
        text = (self.folder / "out" / "gpu.md").read_text()
        self.assertIn("new spmm", text)
        self.assertNotIn("old spmm", text)
        self.assertIn("## Flow step", text)
        document = json.loads((self.folder / "out" / "gpu.json").read_text())
        self.assertEqual({record["part"] for record in document["records"]}, {"spmm", "flow"})


if __name__ == "__main__":
    unittest.main()
