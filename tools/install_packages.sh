#!/usr/bin/env bash
# Installs the Debian packages of the given purposes (first column of packages.txt) that are missing. Says what it
# does; does nothing when all is there.
set -euo pipefail
list="$(dirname "$0")/packages.txt"

missing=()
for purpose in "$@"; do
  while read -r package; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
  done < <(awk -v purpose="$purpose" '$1 == purpose { print $2 }' "$list")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "This is no Debian; please install what these packages hold: ${missing[*]}" >&2
  exit 0
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "Run as root, or install sudo: missing are ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "Installing ${#missing[@]} packages: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
