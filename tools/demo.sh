#!/usr/bin/env bash
# The main job on built-in data, offline. usage: tools/demo.sh PATH_TO_QW
set -euo pipefail
qw=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
step() { printf '\n$ qw %s\n' "$*"; "$qw" "$@"; }

step data info karate
step data info csbm:nodes=3000,degree=10,homophily=0.2,features=64,classes=5,seed=1
step data split csbm:nodes=3000,homophily=0.2 --split published --run 0 --out "$work/split.json"
step data convert karate --to csv --out "$work/karate"
step data info "$work/karate"
