#!/bin/sh
# Tunes GEMM on the GPU of this machine from a poor start, and compares the winner with what the library takes by itself.
#
#   bench/tuner/device.sh [soliton] [device] [sizes]       in the bundle: bench/tuner/device.sh bin/soliton cuda
#
# Prints the JSON of the run, then one line for each of three arms, timed by `soliton bench`: the poor start, the tuned
# candidate, and the kernel's own tiles with `modulo` and direct copies. The bar: the second is at least 0.98 of the third.
set -eu
soliton=${1:-build/bin/soliton}
device=${2:-cuda}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
size=${3:-M=4096,N=4096,K=4096}
poor="--set BLOCK_M=64,BLOCK_N=64,BLOCK_K=32 --schedule none"

"$soliton" tune gemm --device "$device" --size $size $poor --strategy model --budget 160 --moves 4000 --seed 1 \
  --database "$folder/tuning.db" -o "$folder/best.schedule" --json | tee "$folder/run.json"
"$soliton" tune verify --database "$folder/tuning.db"

arm() {
  name=$1
  shift
  echo "$name: $("$soliton" bench gemm --device "$device" --size $size --repetitions 50 "$@")"
}
# The winner's choices as options; its schedule is the file where moves found one, else the name among its choices.
winner=$(python3 - "$folder" <<'EOF'
import json, sys
folder = sys.argv[1]
best = json.load(open(folder + "/run.json"))["best"]
words, tiles = [], []
for name, value in best["choices"].items():
    if name == "schedule":
        words += ["--schedule", folder + "/best.schedule" if best["has_schedule"] else value]
    elif name == "direct_copies":
        words += ["--direct-copies", value]
    elif name == "mma":
        words += [] if value == "default" else ["--mma", value]
    else:
        tiles.append(name + "=" + value)
print(" ".join(words + (["--set", ",".join(tiles)] if tiles else [])))
EOF
)
arm start $poor
arm tuned $winner
arm own --schedule modulo --direct-copies on
