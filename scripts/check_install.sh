#!/bin/sh
# Installs the build into a scratch folder and builds examples/cpp against the package that is there, as a user would.
#
#   scripts/check_install.sh [build]
#
# Fails if the package cannot be found, an example does not build, or one of them does not run on the emulator.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build}" && pwd)
scratch=$build/installed
examples=$root/examples/cpp

if [ ! -f "$examples/CMakeLists.txt" ]; then
  echo "error: $examples has no CMakeLists.txt"
  exit 1
fi

rm -rf "$scratch"
cmake --install "$build" --prefix "$scratch/prefix" >"$build/install.log" || {
  tail -20 "$build/install.log"
  exit 1
}
if grep -rlE '#include ["<](llvm|mlir)/' "$scratch/prefix/include"; then
  echo "error: an installed header includes LLVM's"
  exit 1
fi

# The user's own compiler; nothing of the source tree is in reach.
cmake -G Ninja -S "$examples" -B "$scratch/examples" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_COMPILER=g++-12 >"$scratch/configure.log" 2>&1 || {
  tail -20 "$scratch/configure.log"
  exit 1
}
ninja -C "$scratch/examples" -j "$("$root/scripts/jobs.sh")"

ran=0
for program in "$scratch"/examples/*; do
  if [ -f "$program" ] && [ -x "$program" ]; then
    echo "$program"
    "$program"
    ran=$((ran + 1))
  fi
done
if [ "$ran" = 0 ]; then
  echo "error: $examples builds no program"
  exit 1
fi
# Kernels of a file, with the installed tool, its headers and the user's compiler, built once.
for kernel in scale rows; do
  SOLITON_CACHE=on SOLITON_CACHE_DIR="$scratch/cache" CXX=g++-12 \
    "$scratch/prefix/bin/soliton" run "$root/examples/plugin/scale.cpp:$kernel" --target gfx942
done
plugins=$(find "$scratch/cache" -name '*.plugin' | wc -l)
if [ "$plugins" != 1 ]; then
  echo "error: found $plugins plug-ins in the cache, expected 1"
  exit 1
fi
# A product: a C program that launches what was compiled before, without LLVM.
cmake -G Ninja -S "$root/examples/aot" -B "$scratch/aot" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_C_COMPILER=gcc-12 -DCMAKE_CXX_COMPILER=g++-12 >"$scratch/configure-aot.log" 2>&1 || {
  tail -20 "$scratch/configure-aot.log"
  exit 1
}
ninja -C "$scratch/aot"
"$scratch/aot/relu" "$scratch/aot/shipped/relu.emulated.kernel" emulator
if readelf -d "$scratch/aot/relu" | grep -E 'NEEDED.*(LLVM|MLIR)'; then
  echo "error: the program that launches needs the compiler's libraries"
  exit 1
fi
echo "installed package: $ran examples built and ran, and a file of kernels, and a kernel that was shipped"
