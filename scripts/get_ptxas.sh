#!/bin/sh
# Puts NVIDIA's assembler, which judges the PTX of the tests, into .tools/bin; does nothing, and asks no network, where
# there is one already. Where it cannot be had the tests say so and count what they skip.
#
#   scripts/get_ptxas.sh            scripts/get_ptxas.sh --where     prints the folder
set -eu
tools=$(cd "$(dirname "$0")/.." && pwd)/.tools
[ "${1:-}" != --where ] || { echo "$tools/bin"; exit 0; }
for place in "$(command -v ptxas || true)" "${CUDA_HOME:-/usr/local/cuda}/bin/ptxas" "$tools/bin/ptxas"; do
  [ -z "$place" ] || [ ! -x "$place" ] || exit 0
done
[ "$(uname -m)" = x86_64 ] || exit 0

download=$(mktemp -d)
trap 'rm -rf "$download"' EXIT
# 12.8 knows all of PTX 8.7, the newest that is emitted.
if python3 -m pip download -q --no-deps --disable-pip-version-check -d "$download" nvidia-cuda-nvcc-cu12==12.8.93 &&
  python3 -m zipfile -e "$download"/*.whl "$download/wheel"; then
  mkdir -p "$tools/bin"
  install -m 755 "$download/wheel/nvidia/cuda_nvcc/bin/ptxas" "$tools/bin/ptxas"
  echo "bootstrap: ptxas is in $tools/bin"
else
  echo "bootstrap: ptxas could not be had from PyPI; tests that assemble PTX are skipped" >&2
fi
exit 0
