#!/usr/bin/env bash
# Builds, tests and measures qw on a machine with an NVIDIA GPU. What fails is reported, and the rest goes on.
#
#   bench/gpu.sh                      everything, in the order of ALL below
#   bench/gpu.sh build test step      only these parts, in this order (untimed: sanitize, products and peer_models)
#
# Writes gpu.json, gpu.md and logs to $OUT (build/gpu). Figures of parts that ran earlier in this checkout stay;
# EARLIER=gpu.json takes the missing ones from another machine's call.
#
# Variables: OUT, SECONDS_IN_ALL (590: what does not fit is left out, and said), JOBS, PEERS_SECONDS, QW_COMMIT (else
# _shared/commit, else git's), SOLVERS (of steps), TEST_CPU=1 (test the CPU backends there, too), SANITIZE_FILTER (of
# GoogleTest), EARLIER.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

# The tests, and what is timed, have the GPU for themselves; then all the rest, at once.
ALL="build test step batch flow spmm peers scale untimed"
UNTIMED="sanitize products peer_models"
DATA="cora squirrel computers"
MODELS="gcn gat gin graphsage appnp bernnet chebnetii"
SOLVERS=${SOLVERS:-bregman}

OUT=${OUT:-build/gpu}
SECONDS_IN_ALL=${SECONDS_IN_ALL:-590}
JOBS=${JOBS:-$(nproc)}
BUILD=build/cuda
QW=$BUILD/qw
WORK=build/gpu
PARTS=$WORK/parts
mkdir -p "$OUT" "$PARTS"
export PATH="$PATH:/usr/local/cuda/bin" PYTHONUNBUFFERED=1

# record PART LIMIT LABEL=VALUE... [--result FILE] [--log FILE] -- COMMAND...
record() {
  local part=$1 limit=$2 left=$((SECONDS_IN_ALL - SECONDS - 10))
  shift 2
  local options=()
  while [ "$1" != -- ]; do
    case $1 in
      --result | --log) options+=("$1" "$2"); shift ;;
      *) options+=(--label "$1") ;;
    esac
    shift
  done
  [ "$limit" -le "$left" ] || limit=$left
  bench/gpu_record.py --folder "$PARTS" --part "$part" --limit "$limit" "${options[@]}" "$@"
}

commit() {
  if [ -n "${QW_COMMIT:-}" ]; then
    echo "$QW_COMMIT"
  elif [ -f _shared/commit ]; then
    cat _shared/commit
  else
    git describe --always --dirty 2>/dev/null || echo unknown
  fi
}

bring_data() {
  if [ ! -e ../shared ] && [ -d _shared ]; then
    cp -r _shared ../shared || echo "gpu.sh: _shared could not be copied to ../shared" >&2
  fi
  if [ -d ../shared/datasets ] && [ -z "${QW_DATA_MIRROR:-}" ]; then
    QW_DATA_MIRROR=$(cd ../shared/datasets && pwd)
    QW_CACHE_DIR=${QW_CACHE_DIR:-$PWD/$WORK/cache}
    export QW_DATA_MIRROR QW_CACHE_DIR
  fi
}

gpu_state() {
  record machine 20 "what=$1" -- nvidia-smi --format=csv,noheader --query-gpu="$2"
}

describe_machine() {
  record machine 10 what=commit -- echo "$(commit)"
  gpu_state gpu name,driver_version,memory.total
  gpu_state "clocks before (SM, its maximum, memory, temperature)" clocks.sm,clocks.max.sm,clocks.mem,temperature.gpu
  record machine 20 what=nvcc -- sh -c 'nvcc --version | tail -1'
  record machine 20 what=compiler -- sh -c 'c++ --version | head -1; cmake --version | head -1'
  record machine 20 what=processors -- sh -c 'nproc; lscpu | grep "Model name"'
}

part_build() {
  rm -f "$OUT/build.log"
  command -v ninja >/dev/null && export CMAKE_GENERATOR=Ninja
  local architecture  # only this GPU's: the build has minutes
  architecture=$(nvidia-smi --format=csv,noheader --query-gpu=compute_cap | head -1 | tr -d .)
  record build 120 what=configure --log "$OUT/build.log" -- \
    cmake --preset cuda -DCMAKE_CUDA_ARCHITECTURES="$architecture" $(test -e /usr/include/sqlite3.h || echo -DQW_SWEEP=OFF) || return
  local keep_going=()
  [ "${CMAKE_GENERATOR:-}" != Ninja ] || keep_going=(-- -k 0)
  record build 420 what=programs --log "$OUT/build.log" -- cmake --build $BUILD -j "$JOBS" --target \
    qw_cli qw_learn_cli qw_ops_test qw_nn_test qw_learn_test "${keep_going[@]}"
  record build 120 what=spmm_bench --log "$OUT/build.log" -- cmake --build $BUILD -j "$JOBS" --target qw_spmm_cuda_bench
  record build 20 what=version -- $QW --version
}

part_test() {
  rm -f "$OUT/test.log"
  record test 150 what=cuda --log "$OUT/test.log" -- \
    ctest --test-dir $BUILD -L '^cuda$' -j 4 --timeout 120 --no-tests=error --output-on-failure
  [ "${TEST_CPU:-0}" = 1 ] || return 0
  record test 120 what=cpu --log "$OUT/test.log" -- \
    ctest --test-dir $BUILD -L '^(ops|nn|learn)$' -LE '^cuda$' -j 8 --timeout 110 --no-tests=error --output-on-failure
}

# Several processes for each tool, since most of the time goes into instrumenting and starting kernels, on the host. Only
# our own kernels: LibTorch's, which the tests compare with, would take many times as long. Left out are tests of the
# host's threads, under which racecheck stands still, and one of 24,000 steps.
part_sanitize() {
  local tool shard pids shards=5
  pids=()
  for tool in memcheck racecheck; do
    rm -f "$OUT/$tool.log"
    for shard in $(seq 0 $((shards - 1))); do
      # Without the caching allocator, so that memcheck sees where every tensor ends.
      record sanitize 500 "what=$tool-$((shard + 1))of$shards" --log "$OUT/$tool.log" -- \
        env QW_TEST_DEVICE=cuda PYTORCH_NO_CUDA_MEMORY_CACHING=1 OMP_NUM_THREADS=2 \
        GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX="$shard" \
        compute-sanitizer --tool "$tool" --kernel-name kns=qw --error-exitcode 99 $BUILD/qw_ops_test \
        --gtest_filter="${SANITIZE_FILTER:--*Thread*:FlowStep.ProximalStepsArriveAndStay}" &
      pids+=($!)
    done
  done
  wait "${pids[@]}"
}

# steps PART RUNS
steps() {
  local solver data model
  for solver in $SOLVERS; do
    for data in $DATA; do
      for model in $MODELS; do
        record "$1" 30 "solver=$solver" "data=$data" "model=$model" "runs=$2" -- \
          $QW bench step "$data" --model "$model" --solver "$solver" --device cuda --runs "$2" \
          --warmup 3 --seconds 0.2 --json
      done
    done
  done
}

part_step() {
  steps step 1
  gpu_state "clocks after training steps" clocks.sm,clocks.mem,temperature.gpu
}

part_batch() { steps batch 10; }

# peers SECONDS NAME VARIANT...
peers() {
  local limit=$1 name=$2 variants=() variant
  shift 2
  for variant in "$@"; do variants+=(--variant "$variant"); done
  record peers $((limit + 15)) "what=$name" --result "$WORK/peers-$name.json" -- \
    python3 bench/peers/gpu.py --qw $QW --folder $WORK/peers --seconds "$limit" "${variants[@]}" \
    --json "$WORK/peers-$name.json"
}

# Two processes: a capture that fails may leave CUDA unusable.
part_peers() {
  local limit=$((SECONDS_IN_ALL - SECONDS - 25))
  [ $limit -lt "$PEERS_SECONDS" ] || limit=$PEERS_SECONDS
  peers $((limit * 2 / 5)) captured qw-captured ce-captured
  peers $((limit * 3 / 5)) eager qw-eager qw-dense ce-eager
}

part_peer_models() { record peer_models 120 what=models -- python3 bench/peers/test_gpu.py; }

part_flow() {
  local size
  for size in 5278:7 198353:5 1000000:16 10000000:10 61859140:47; do
    record flow 60 "edges=${size%:*}" "columns=${size#*:}" -- \
      $QW bench flow --device cuda --edges "${size%:*}" --columns "${size#*:}" --json
  done
}

part_spmm() { record spmm 60 what=spmm -- $BUILD/qw_spmm_cuda_bench; }

# The nodes, edges, features and classes of ogbn-products, whose own files would have to be fetched.
part_products() {
  local data=csbm:nodes=2449029,degree=50.517,homophily=0.8,features=100,classes=47
  record products 150 "what=train gcn, hidden 256, 30 epochs" -- $QW train $data --device cuda --model gcn --hidden 256 \
    --solver bregman --epochs 30 --patience 0 --json
}

# The shape of products with more and fewer edges.
part_scale() {
  local edges
  for edges in 100000 1000000 10000000 100000000; do
    record scale 120 "edges=$edges" -- $QW bench step csbm:nodes=$((edges * 1000 / 25259)),degree=50.517,features=100,classes=47 \
      --model gcn --hidden 256 --solver bregman --device cuda --steps 40 --warmup 2 --json
  done
}

part_untimed() {
  local part pids=()
  for part in $UNTIMED; do
    rm -rf "${PARTS:?}/$part"
    "part_$part" &
    pids+=($!)
  done
  wait "${pids[@]}"
}

main() {
  local part
  for part in "$@"; do
    case " $ALL $UNTIMED " in
      *" $part "*) ;;
      *) echo "gpu.sh: part '$part' is unknown; there are: $ALL $UNTIMED" >&2; exit 2 ;;
    esac
  done
  bring_data
  describe_machine
  for part in "$@"; do
    echo "== $part, after $SECONDS s"
    rm -rf "${PARTS:?}/$part"
    "part_$part"
  done
  bench/gpu_report.py --parts "$PARTS" --out "$OUT" ${EARLIER:+--earlier "$EARLIER"} || exit 1
  echo "== $OUT/gpu.md, after $SECONDS s"
  sed '/^## Commands/,$d' "$OUT/gpu.md"
  ! grep -q '^## What failed' "$OUT/gpu.md"
}

if [ $# -eq 0 ]; then
  PEERS_SECONDS=${PEERS_SECONDS:-90}  # to leave time for the others
  # shellcheck disable=SC2086  # words
  set -- $ALL
fi
PEERS_SECONDS=${PEERS_SECONDS:-150}
main "$@"
