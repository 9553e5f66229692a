#!/bin/sh
# Prints how many compilations may run at once: one per core, as far as memory goes.
#
#   ninja -C build -j "$(scripts/jobs.sh)"
#
# The dearest file (the precompiled header of MLIR) takes 1.1 GB, others half of that; 1.25 GB a job keeps two cores
# below 6 GiB with room for the linker. SOLITON_JOBS=N overrides it. Limits of a container (cgroups) count.
set -eu

if [ -n "${SOLITON_JOBS:-}" ]; then
  echo "$SOLITON_JOBS"
  exit 0
fi

cores=$(nproc)
if read -r quota period 2>/dev/null </sys/fs/cgroup/cpu.max && [ "$quota" != max ]; then
  allowed=$(((quota + period - 1) / period))
  [ "$allowed" -ge "$cores" ] || cores=$allowed
fi

memory_kb=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
for file in /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes; do
  if read -r limit 2>/dev/null <"$file" && [ "$limit" != max ]; then
    limit_kb=$((limit / 1024))
    [ "$limit_kb" -ge "$memory_kb" ] || memory_kb=$limit_kb
  fi
done

jobs=$((memory_kb / 1250000))
[ "$jobs" -le "$cores" ] || jobs=$cores
[ "$jobs" -ge 1 ] || jobs=1
echo "$jobs"
