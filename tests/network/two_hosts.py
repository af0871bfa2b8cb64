#!/usr/bin/env python3
"""Two hosts for real: qw's processes in two network namespaces, joined by a cable that is slow, late or cut.

    tests/network/two_hosts.py build/release/qw

Needs root and iproute2; ends with 77, and a line that says why, where namespaces cannot be made. Delays need
the kernel's netem; what needs them is left out where it is missing.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
PORT = "29500"
ADDRESSES = ["10.213.0.1", "10.213.0.2"]
MOST_TO_END = 15  # seconds, as docs/processes.md promises
QUICK = ["--seconds", "0.2"]
GIGABIT = 0.125  # GB/s


class Cable:
    """Two namespaces and a pair of virtual network cards, gone at the end."""

    def __init__(self):
        self.hosts = [f"qw{os.getpid()}{side}" for side in "ab"]
        self.cards = [f"qw{os.getpid()}{side}"[:15] for side in "cd"]

    def __enter__(self):
        for host in self.hosts:
            run("ip", "netns", "add", host)
        run("ip", "link", "add", self.cards[0], "type", "veth", "peer", "name", self.cards[1])
        for host, card, address in zip(self.hosts, self.cards, ADDRESSES):
            run("ip", "link", "set", card, "netns", host)
            run("ip", "-n", host, "addr", "add", address + "/24", "dev", card)
            run("ip", "-n", host, "link", "set", "lo", "up")
            run("ip", "-n", host, "link", "set", card, "up")
        return self

    def __exit__(self, *_):
        for host in self.hosts:
            subprocess.run(["ip", "netns", "del", host], check=False, capture_output=True)

    def shape(self, *how):
        for host, card in zip(self.hosts, self.cards):
            run("ip", "netns", "exec", host, "tc", "qdisc", "replace", "dev", card, "root", *how)

    def cut(self, side):
        run("ip", "-n", self.hosts[side], "link", "set", self.cards[side], "down")

    def mend(self, side):
        run("ip", "-n", self.hosts[side], "link", "set", self.cards[side], "up")


def run(*words):
    subprocess.run(words, check=True, capture_output=True, text=True)


class Pair:
    """One command of qw as two processes, one on each host."""

    def __init__(self, qw, cable, *words):
        self.files = [tempfile.TemporaryFile("w+") for _ in range(4)]
        self.processes = []
        for rank, host in enumerate(cable.hosts):
            environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": ADDRESSES[0],
                           "MASTER_PORT": PORT}
            self.processes.append(subprocess.Popen(
                ["ip", "netns", "exec", host, qw, *words],
                env=environment, stdout=self.files[2 * rank], stderr=self.files[2 * rank + 1]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()
        for file in self.files:
            file.close()

    def end(self, seconds):
        """The exit codes; fails when one is still running after so many seconds."""
        limit = time.monotonic() + seconds
        return [process.wait(timeout=max(0.0, limit - time.monotonic())) for process in self.processes]

    def text(self, rank, error=False):
        file = self.files[2 * rank + (1 if error else 0)]
        return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode()  # the process writes where it was

    def await_line(self, line):
        """Until process 0 says this."""
        while line not in self.text(0, True):
            assert [process.poll() for process in self.processes] == [None, None], self.text(0, True)
            time.sleep(0.1)


NETWORK = ["bench", "network", "--json"]


def measure(qw, cable):
    with Pair(qw, cable, *NETWORK, *QUICK) as pair:
        codes = pair.end(120)
        assert codes == [0, 0], pair.text(0, True) + pair.text(1, True)
        assert pair.text(1) == "", "process 1 prints nothing"
        return json.loads(pair.text(0))


def test_bandwidth(qw, cable):
    cable.shape("tbf", "rate", "1gbit", "burst", "1mb", "latency", "50ms")
    speed = measure(qw, cable)["sizes"][-1]["gb_per_s"]
    assert 0.3 * GIGABIT < speed < 1.1 * GIGABIT, f"{speed} GB/s over 1 Gbit/s"


def test_latency(qw, cable):
    for milliseconds in (1, 20):
        cable.shape("netem", "delay", f"{milliseconds}ms", "rate", "1gbit")
        microseconds = measure(qw, cable)["sizes"][0]["exchange_us"]
        assert 1e3 * milliseconds < microseconds < 5e3 * milliseconds + 2000, f"{microseconds} us"


def test_cut(qw, cable):
    """Each host names the other, whichever end of the cable is pulled."""
    for side in (0, 1):
        with Pair(qw, cable, *NETWORK, "--seconds", "1000") as pair:
            pair.await_line("2 processes have met\n")
            cable.cut(side)
            codes = pair.end(MOST_TO_END)
            assert codes == [1, 1], codes
            for rank, before in ((0, "2 processes have met\n"), (1, "")):
                line = before + rf"qw: process {1 - rank} \(machine \S*, id \d+\) has ended or [a-z ]*\n"
                assert re.fullmatch(line, pair.text(rank, True)), pair.text(rank, True)
        cable.mend(side)


def training(parts, out, epochs):
    return ["train", str(parts), "--solver", "proximal", "--epochs", str(epochs), "--patience", str(epochs),
            "--split", "random:train=0.5,val=0.25", "--checkpoint-every", "5", "--out", str(out), "--threads", "1"]


def leaves(out):
    return [(out / "run-0" / name).read_bytes() for name in ("model.safetensors", "flow.safetensors", "predictions.csv")]


def test_training(qw, cable):
    """Two hosts train what one machine does, to the bit; a cut cable ends both."""
    with tempfile.TemporaryDirectory() as folder:
        parts, one, two, broken = (pathlib.Path(folder) / name for name in ("parts", "one", "two", "broken"))
        run(qw, "data", "partition", "karate", "--parts", "3", "--align", "1", "--out", str(parts))
        run(qw, *training(parts, one, 30))
        cable.shape("tbf", "rate", "1gbit", "burst", "1mb", "latency", "50ms")
        with Pair(qw, cable, *training(parts, two, 30)) as pair:
            codes = pair.end(120)
            assert codes == [0, 0], pair.text(0, True) + pair.text(1, True)
        assert leaves(one) == leaves(two)
        with Pair(qw, cable, *training(parts, broken, 1000000)) as pair:
            while not (broken / "run-0" / "checkpoint.safetensors").exists():
                time.sleep(0.1)
            cable.cut(1)
            assert pair.end(MOST_TO_END) == [1, 1], pair.text(0, True) + pair.text(1, True)
            said = pair.text(0, True)
            end = rf"qw: process 1 \(.*\) has ended or [a-z ]*; go on with: qw train --resume {re.escape(str(broken))}\n$"
            assert re.search(end, said), said


def has_netem():
    with Cable() as cable:
        try:
            cable.shape("netem", "delay", "1ms")
            return True
        except subprocess.CalledProcessError:
            return False


def main():
    qw = sys.argv[1]
    try:
        with Cable():
            pass
    except (OSError, subprocess.CalledProcessError):
        print("network namespaces cannot be made: needs root and iproute2")
        return SKIPPED
    tests = [test_bandwidth, test_cut, test_training]
    if has_netem():
        tests.append(test_latency)
    else:
        print("delays are left out: this kernel has no netem")
    for test in tests:
        with Cable() as cable:
            test(qw, cable)
        print(f"{test.__name__}: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
