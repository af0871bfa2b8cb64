#!/usr/bin/env bash
# Format, layers, documents and clang-tidy; any finding fails. Needs build/release/compile_commands.json (make build).
# --torch goes over the modules that need LibTorch instead, whose headers take clang-tidy ten seconds a file.
# --deep adds slow checks: the rest of bugprone and the static analyzer.
set -euo pipefail
cd "$(dirname "$0")/.."
checks=()
torch=
for option in "$@"; do
  case $option in
    --deep) checks=(--checks='bugprone-*,-bugprone-easily-swappable-parameters,-bugprone-narrowing-conversions,-bugprone-implicit-widening-of-multiplication-result,-bugprone-exception-escape,clang-analyzer-*') ;;
    --torch) torch=yes ;;
    *) echo "usage: tools/lint.sh [--torch] [--deep]" >&2; exit 2 ;;
  esac
done

mapfile -t sources < <(git ls-files --cached --others --exclude-standard '*.cpp' '*.h' '*.cu' '*.cuh')
echo "clang-format: ${#sources[@]} files"
clang-format --dry-run -Werror "${sources[@]}"

echo "layers"
python3 tools/check_layers.py

echo "documents"
python3 tools/check_docs.py

of_torch='^src/(ops|comm|nn|learn|distributed|study|paper|cli/learn)/|^python/src/learn'
if [ -n "$torch" ]; then
  mapfile -t units < <(printf '%s\n' "${sources[@]}" | grep -E '^(python/)?src/.*\.cpp$' | grep -E "$of_torch" | grep -v '_cuda\.cpp$')
  # Clang 14 needs this header of LibTorch 1.13 before all others. The check is a third of the time.
  arguments=(--extra-arg-before=-include --extra-arg-before=ATen/core/ivalue.h
             --extra-arg=-Wno-unneeded-internal-declaration)  # what only CUDA needs
  if [ ${#checks[@]} -eq 0 ]; then checks=(--checks=-performance-unnecessary-value-param); fi
else
  mapfile -t units < <(printf '%s\n' "${sources[@]}" | grep -E '^(python/)?src/.*\.cpp$' | grep -vE "$of_torch")
  arguments=()
fi
# g++'s precompiled headers mean nothing to clang; files that are compiled twice, for the emulator, are read once, and those
# that are not compiled here (c10d's groups by name, where there is Gloo) not at all.
database=$(mktemp -d)
trap 'rm -rf "$database"' EXIT
mapfile -t units < <(printf '%s\n' "${units[@]}" | python3 -c '
import json, os, re, sys
commands = {}
for each in json.load(open("build/release/compile_commands.json")):
    each["command"] = re.sub(r"-include \S*cmake_pch\.hxx|-Winvalid-pch", "", each["command"])
    commands.setdefault(each["file"], each)
json.dump(list(commands.values()), open(sys.argv[1], "w"))
print("".join(unit for unit in sys.stdin if os.path.abspath(unit.strip()) in commands), end="")
' "$database/compile_commands.json")
echo "clang-tidy: ${#units[@]} files"
printf '%s\n' "${units[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy -p "$database" --quiet "${checks[@]}" "${arguments[@]}" \
  --extra-arg=-Wno-unknown-warning-option 2> >(grep -vE "^[0-9]+ warnings? generated|^Suppressed|^Use -header" >&2)
