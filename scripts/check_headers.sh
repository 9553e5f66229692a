#!/bin/sh
# Compiles what a user writes, with both compilers, and checks what it costs and what it drags in.
#
#   scripts/check_headers.sh              the program of test/headers/user.cpp
#   MAX_SECONDS=3 scripts/check_headers.sh
#
# Fails if the file does not compile, takes more than MAX_SECONDS (2) of processor time at best of five, or includes
# anything of llvm/, mlir/ or lld/. Every public header must also compile on its own.
set -eu
cd "$(dirname "$0")/.."

MAX_SECONDS=${MAX_SECONDS:-2}
USER_FILE=test/headers/user.cpp
FLAGS="-std=c++20 -Wall -Wextra -Wno-unused-parameter -I."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

# Processor seconds of a command: what the shell's children used, so that a busy machine does not count.
cpu_seconds() {
  python3 - "$@" <<'PY'
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime:.2f}" if code == 0 else "failed")
PY
}

for compiler in g++-12 clang++-22; do
  if ! command -v "$compiler" >/dev/null; then
    echo "error: $compiler is missing; run scripts/bootstrap.sh"
    exit 1
  fi
  if $compiler $FLAGS -M "$USER_FILE" | tr ' ' '\n' | grep -E '/(llvm|mlir|lld)(-c)?/[A-Z]' >"$scratch/leaks"; then
    echo "$USER_FILE: error: includes headers of LLVM with $compiler, such as $(head -1 "$scratch/leaks")"
    status=1
  fi
  best=""
  for attempt in 1 2 3 4 5; do
    seconds=$(cpu_seconds $compiler $FLAGS -c "$USER_FILE" -o "$scratch/user.o")
    if [ "$seconds" = failed ]; then
      echo "$USER_FILE: error: does not compile with $compiler"
      exit 1
    fi
    best=$(printf '%s\n%s\n' "${best:-$seconds}" "$seconds" | sort -n | head -1)
    awk "BEGIN { exit !($best <= $MAX_SECONDS) }" && break
  done
  echo "$compiler: $USER_FILE in $best s"
  if ! awk "BEGIN { exit !($best <= $MAX_SECONDS) }"; then
    echo "$USER_FILE: error: takes $best s with $compiler, expected at most $MAX_SECONDS s"
    status=1
  fi
done

# Each public header on its own, twice: nothing must have to come before it, and a second time must do no harm.
for header in $(grep '\.h$' cmake/PublicHeaders.txt); do
  alone=$scratch/$(echo "$header" | tr / -).cpp
  printf '#include "%s"\n#include "%s"\n' "$header" "$header" >"$alone"
  echo "$alone"
done | xargs -n 4 -P 2 clang++-22 $FLAGS -fsyntax-only || {
  echo "error: a public header does not compile on its own"
  status=1
}
exit $status
