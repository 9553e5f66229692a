#!/bin/sh
# Packs a compiler that needs nothing but libc into dist/soliton-bundle.tar.xz, for machines without LLVM.
#
#   scripts/bundle.sh                     build, pack, say how large it is
#   tar xJf dist/soliton-bundle.tar.xz && soliton-bundle/bin/soliton targets
#   scripts/bundle.sh generator           the same for SolitonGenerate, into dist/soliton-generator.tar.xz, linked from build/
#
# In it: bin/ (the command line and the small benchmarks, stripped), bench/ (their scripts and inputs), LICENSE. LLVM
# travels once, inside the command line: what else links it (soliton-opt, compile-bench) stays at home. Fails if a binary
# needs a library that not every Linux has, or the bundle is 64 MiB or more.
set -eu
cd "$(dirname "$0")/.."

LIMIT=$((64 * 1024 * 1024))
if [ "${1:-}" = generator ]; then
  name=soliton-generator
  preset=release
  build=build
  bin=$build/bin/self-contained
  programs=SolitonGenerate
  targets=SolitonGenerateSelfContained
  check="SolitonGenerate --print 0"
else
  name=soliton-bundle
  preset=bundle
  build=build-bundle
  bin=$build/bin
  programs="soliton launch-overhead EmulatorBench ScheduleBench SymbolicBench"
  targets=$programs
  check="soliton targets"
fi
stage=dist/$name

# Lets ccache reuse objects that were compiled against the precompiled header.
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
export CCACHE_DEPEND=1
[ -f $build/build.ninja ] && [ $build/build.ninja -nt CMakePresets.json ] || cmake --preset $preset
ninja -C $build -j "$(scripts/jobs.sh)" $targets

rm -rf "$stage"
mkdir -p "$stage/bin"
for program in $programs; do
  cp "$bin/$program" "$stage/bin/"
  strip "$stage/bin/$program"
done

(cd bench && find . -name '*.py' -o -name '*.sh' -o -name '*.txt' ! -name CMakeLists.txt) | while read -r file; do
  mkdir -p "$stage/bench/$(dirname "$file")"
  cp "bench/$file" "$stage/bench/$file"
done
cp LICENSE "$stage/"

# What a bare machine has; anything else would have to travel too.
for binary in "$stage"/bin/*; do
  needed=$(readelf -d "$binary" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc|libm|libdl|libpthread|librt|ld-linux-x86-64)\.so' || true)
  if [ -n "$needed" ]; then
    echo "error: $binary needs" $needed >&2
    exit 1
  fi
done
"$stage"/bin/$check >/dev/null

tar -C dist -cf - $name | xz -1 -T0 >dist/$name.tar.xz
size=$(stat -c %s dist/$name.tar.xz)
echo "dist/$name.tar.xz: $size bytes"
if [ "$size" -ge "$LIMIT" ]; then
  echo "error: expected less than $LIMIT bytes" >&2
  exit 1
fi
