#!/bin/sh
# Packs a compiler that needs nothing but libc into dist/soliton-bundle.tar.xz, for machines without LLVM.
#
#   scripts/bundle.sh                     build, pack, say how large it is
#   tar xJf dist/soliton-bundle.tar.xz && soliton-bundle/bin/soliton targets
#
# In it: bin/ (the command line and the benchmarks, stripped), bench/ (their scripts and inputs), LICENSE. Fails if a
# binary needs a library that not every Linux has, or the bundle is 64 MiB or more.
set -eu
cd "$(dirname "$0")/.."

LIMIT=$((64 * 1024 * 1024))
build=build-bundle
stage=dist/soliton-bundle

[ -f $build/build.ninja ] && [ $build/build.ninja -nt CMakePresets.json ] || cmake --preset bundle
ninja -C $build -j "$(scripts/jobs.sh)"

rm -rf "$stage"
mkdir -p "$stage/bin"
for binary in "$build"/bin/*; do
  case "$(basename "$binary")" in
    soliton-opt | *Tests | *Fuzz*) continue ;; # As large as the compiler, or of no use without its sources.
  esac
  [ -f "$binary" ] && [ -x "$binary" ] || continue
  cp "$binary" "$stage/bin/"
  strip "$stage/bin/$(basename "$binary")"
done
[ -x "$stage/bin/soliton" ] || { echo "error: the build made no bin/soliton" >&2; exit 1; }

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
"$stage/bin/soliton" targets >/dev/null

tar -C dist -cf - soliton-bundle | xz -6 -T0 >dist/soliton-bundle.tar.xz
size=$(stat -c %s dist/soliton-bundle.tar.xz)
echo "dist/soliton-bundle.tar.xz: $size bytes"
if [ "$size" -ge "$LIMIT" ]; then
  echo "error: expected less than $LIMIT bytes" >&2
  exit 1
fi
