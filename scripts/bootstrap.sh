#!/bin/sh
# Installs the packages that building and testing need and that are missing; does nothing, and asks no network, when
# none is.
#
#   scripts/bootstrap.sh            install what is missing (as root, or through sudo)
#   scripts/bootstrap.sh --list     print the names
#
# LLVM 22 is part of Debian 12: the security suite carries it.
set -eu

PACKAGES="
  clang-22 lld-22 cmake ninja-build ccache g++ git python3
  llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools liblld-22-dev
  libzstd-dev zlib1g-dev libsqlite3-dev
  nlohmann-json3-dev libcli11-dev
  libgtest-dev libgmock-dev libgmp-dev libz3-dev
  clang-format-22 clang-tidy-22 libclang-rt-22-dev xz-utils python3-pip
  python3-venv python3-dev"
# compiler and build | LLVM, MLIR, lld | what LLVM's own packages link, and the tuner's database | files and command line | tests and their exact
# oracles | style, fuzzers and sanitizers, the bundle, ptxas | the Python package

if [ "${1:-}" = --list ]; then
  printf '%s\n' $PACKAGES
  exit 0
fi

here=$(dirname "$0")
trap '"$here/get_ptxas.sh"' EXIT

missing=""
for package in $PACKAGES; do
  case "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" in
    installed) ;;
    *) missing="$missing $package" ;;
  esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=""
elif command -v sudo >/dev/null 2>&1; then
  as_root="sudo"
else
  echo "bootstrap: these packages are missing and neither root nor sudo is at hand:$missing" >&2
  echo "  hint: as root, run: apt-get install$missing" >&2
  exit 1
fi

echo "bootstrap: installing$missing"
export DEBIAN_FRONTEND=noninteractive
# A source that is out of reach does not matter while the others have what is asked for.
$as_root apt-get update -q || true
if ! $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing; then
  echo "bootstrap: apt-get could not install$missing" >&2
  echo "  hint: LLVM 22 comes from Debian 12's security suite; is \`bookworm-security\` among the sources of apt?" >&2
  exit 1
fi
