#!/usr/bin/env bash
# Runs every fuzz target (or those named) for some seconds each, from its seeds. usage: tools/fuzz.sh [SECONDS [TARGET...]]
# Findings are left in build/fuzz/findings. Long runs: tools/fuzz.sh 600; QW_FUZZ_RUNS=2000000 ends a target after that many inputs.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-15}
shift || true
runs=${QW_FUZZ_RUNS:--1}

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for source in fuzz/*_fuzz.cpp; do targets+=("$(basename "$source" .cpp)"); done
fi
mkdir -p build/fuzz/findings
for target in "${targets[@]}"; do
  mkdir -p "build/fuzz/corpus/$target"
  echo "== $target: at most $seconds s"
  log="build/fuzz/$target.log"
  if ! "build/fuzz/$target" -max_total_time="$seconds" -runs="$runs" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="build/fuzz/findings/$target-" "build/fuzz/corpus/$target" "fuzz/corpus/$target" > "$log" 2>&1; then
    tail -n 40 "$log"
    echo "$target: a finding; see build/fuzz/findings and $log" >&2
    exit 1
  fi
  grep -aE 'number_of_executed_units|peak_rss' "$log"
done
echo "fuzz: ${#targets[@]} targets, no finding"
