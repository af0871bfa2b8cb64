#!/usr/bin/env python3
"""Does `qw bench scale` foretell what two machines take? Two network namespaces at 1 Gbit/s stand for them.

    bench/network/predicted.py --qw build/release/qw [--nodes 200000 --degree 20 --features 64] [--model gcn]

An epoch is measured by two processes on this machine, and predicted from that for the bandwidth and the latency that
`qw bench network` finds between the namespaces; then it is measured there. Processes have one thread each. Needs root
and iproute2, two idle cores, and some minutes.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "network"))
from two_hosts import Cable, Pair  # noqa: E402


def across(cable, qw, words):
    """What process 0 of two says, one in each namespace."""
    with Pair(qw, cable, *words, "--json") as pair:
        codes = pair.end(1200)
        assert codes == [0, 0], pair.text(0, True) + pair.text(1, True)
        return json.loads(pair.text(0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qw", default="build/release/qw")
    parser.add_argument("--nodes", type=int, default=200000)
    parser.add_argument("--degree", type=float, default=20)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--model", default="gcn")
    parser.add_argument("--rate", default="1gbit")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Cable() as cable:
        parts = f"{folder}/parts"
        data = f"csbm:nodes={options.nodes},degree={options.degree},features={options.features},classes=4"
        subprocess.run([options.qw, "data", "partition", data, "--parts", "2", "--out", parts, "--quiet"], check=True)
        cable.shape("tbf", "rate", options.rate, "burst", "1mb", "latency", "50ms")
        network = across(cable, options.qw, ["bench", "network", "--megabytes", "64", "--seconds", "2"])
        speed, delay = network["sizes"][-1]["gb_per_s"], network["sizes"][0]["exchange_us"]
        print(f"between the namespaces: {8 * speed:.2f} Gbit/s, {delay:.0f} us for a small exchange")
        scale = ["bench", "scale", parts, "--model", options.model, "--threads", "1"]
        network = ["--bandwidth", str(8 * speed), "--latency", str(delay / 1000)]
        done = subprocess.run([options.qw, *scale, *network, "--processes", "2", "--json"], capture_output=True,
                              check=True, text=True)
        here = json.loads(done.stdout)
        predicted = next(each for each in here["predicted"] if each["processes"] == 2)
        there = across(cable, options.qw, scale)
        print(f"on one machine {here['milliseconds']:.0f} ms an epoch, {here['computing_ms']:.0f} of them computing")
        print(f"predicted {predicted['milliseconds']:.0f} ms, measured {there['milliseconds']:.0f} ms: "
              f"{predicted['milliseconds'] / there['milliseconds']:.2f}")


if __name__ == "__main__":
    main()
