#!/usr/bin/env bash
# The main job on a built-in graph, offline. usage: tools/demo.sh PATH_TO_QW
set -euo pipefail
qw=$1
out=$(dirname "$qw")/demo
rm -rf "$out"
graph=csbm:nodes=2000,degree=6,homophily=0.1,features=64,classes=5,signal=0.3,seed=1
step() { printf '\n$ qw %s\n' "$*" >&2; "$qw" "$@"; }

step data info karate
step data info "$graph"
step train --data "$graph" --model gcn --solver ce --runs 3 --epochs 400 --out "$out/ce" --json > "$out.ce.json"
step train --data "$graph" --model gcn --solver bregman --edge-weights --lambda 10 --runs 3 --epochs 400 --out "$out/qw" --json > "$out.qw.json"

python3 - "$out.ce.json" "$out.qw.json" <<'PYTHON'
import json
import sys

print("\nGCN on a graph whose edges mostly join different classes, test accuracy over 3 splits:")
for name, path in zip(("cross-entropy", "Quasi-Wasserstein"), sys.argv[1:]):
    with open(path) as file:
        result = json.load(file)
    accuracy = result["test"]["accuracy"]
    print(f"  {name:18} {100 * accuracy['mean']:5.1f} % +- {100 * accuracy['ci95']:.1f}   ({result['step_ms']:.2f} ms per step)")
PYTHON
echo "predictions of every node: $out/qw/run-0/predictions.csv"
