#!/usr/bin/env bash
# Trains from the packages of the given folder: from the archive, unpacked somewhere, and from the Debian packages, really
# installed, in a copy of this system that is thrown away (an overlay mount; needs root).
set -euo pipefail
packages=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
unset LD_LIBRARY_PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "packages_test: $*" >&2
  exit 1
}

# trains PROGRAM...: a short training, which says how good it became.
trains() {
  local output
  output=$("$@" train karate --epochs 20 2>&1) || fail "$* failed: $output"
  grep -qE '^accuracy +[01]\.' <<<"$output" || fail "$* printed no accuracy: $output"
}

test_archive() {
  local archives=("$packages"/qw-*.tar.gz)
  tar -xzf "${archives[0]}" -C "$work"
  trains "$work"/qw-*/bin/qw
  echo "the archive trains: ${archives[0]##*/}"
}

test_lintian() {
  lintian --fail-on error,warning "$packages"/*.deb
  echo "lintian found nothing"
}

# Runs inside the copy of the system.
test_installed() {
  dpkg -i "$packages"/*.deb >/dev/null
  trains qw
  gzip -dc /usr/share/man/man1/qw.1.gz | grep -q '^.SH COMMANDS' || fail "the manual page is not there"
  # shellcheck disable=SC2046
  c++ -std=c++20 "$packages/certified_distance.cpp" -o "$packages/certified" $(pkg-config --cflags --libs qw)
  "$packages/certified" karate | grep -q '^status: optimal' || fail "the example does not work"
  dpkg -r libqw-dev qw libqw0 >/dev/null
  [ ! -e /usr/bin/qw ] || fail "qw is still there after dpkg -r"
}

# Whether this may mount an overlay of the whole system.
may_copy_the_system() {
  [ "$(id -u)" -eq 0 ] && unshare --mount bash -euo pipefail -s "$1" 2>/dev/null <<'END'
mount -t tmpfs tmpfs "$1"
mkdir "$1"/{changes,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/changes,workdir=$1/work" "$1/root"
END
}

# in_a_copy FOLDER: installs what is in the folder into a copy of this system.
in_a_copy() {
  unshare --mount bash -euo pipefail -s "$1" <<'END'
layers=$1/layers
mkdir "$layers"
mount -t tmpfs tmpfs "$layers"
mkdir "$layers"/{changes,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$layers/changes,workdir=$layers/work" "$layers/root"
for folder in proc dev sys; do mount --rbind /$folder "$layers/root/$folder"; done
mkdir "$layers/root/packages"
cp "$1"/*.* "$layers/root/packages"
chroot "$layers/root" /packages/packages_test.sh /packages installed
END
}

test_debian_packages() {
  local folder=$work/debian
  mkdir "$folder"
  cp "$packages"/*.deb "$source"/tests/install/packages_test.sh "$source"/examples/certified_distance.cpp "$folder"
  if may_copy_the_system "$folder"; then
    in_a_copy "$folder"
    echo "the Debian packages install, train and are removed"
  else
    for package in "$folder"/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
    LD_LIBRARY_PATH=$(dirname "$folder"/root/usr/lib/*/libqw.so.0) trains "$folder/root/usr/bin/qw"
    echo "the Debian packages train, unpacked: only root, where mounts are allowed, can install them in a copy of the system"
  fi
}

if [ "${2:-}" = installed ]; then
  test_installed
else
  test_archive
  test_lintian
  test_debian_packages
fi
