#!/usr/bin/env bash
# Format, layers, documents and clang-tidy; any finding fails. Needs build/release/compile_commands.json (make build).
# --deep adds slow checks: the rest of bugprone and the static analyzer.
set -euo pipefail
cd "$(dirname "$0")/.."
checks=()
if [ "${1:-}" = --deep ]; then
  checks=(--checks='bugprone-*,-bugprone-easily-swappable-parameters,-bugprone-narrowing-conversions,-bugprone-implicit-widening-of-multiplication-result,-bugprone-exception-escape,clang-analyzer-*')
fi

mapfile -t sources < <(git ls-files --cached --others --exclude-standard '*.cpp' '*.h' '*.cu' '*.cuh')
echo "clang-format: ${#sources[@]} files"
clang-format --dry-run -Werror "${sources[@]}"

echo "layers"
python3 tools/check_layers.py

echo "documents"
python3 tools/check_docs.py

# Not what includes LibTorch: the headers of 1.13 do not compile as C++20 with clang 14.
mapfile -t units < <(printf '%s\n' "${sources[@]}" | grep '^src/.*\.cpp$' | grep -vE '^src/(ops|nn|learn|study|paper|cli/learn)/')
echo "clang-tidy: ${#units[@]} files"
# g++'s precompiled headers mean nothing to clang.
database=$(mktemp -d)
trap 'rm -rf "$database"' EXIT
sed -E 's/-include [^ ]*cmake_pch\.hxx//g; s/-Winvalid-pch//g' build/release/compile_commands.json > "$database/compile_commands.json"
printf '%s\n' "${units[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy -p "$database" --quiet "${checks[@]}" \
  --extra-arg=-Wno-unknown-warning-option 2> >(grep -vE "^[0-9]+ warnings? generated|^Suppressed|^Use -header" >&2)
