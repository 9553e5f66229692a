#!/bin/sh
# Tunes GEMM on the GPU of this machine from a poor start, and compares the winner with what `auto` takes by its table.
#
#   bench/tuner/device.sh [soliton] [device] [sizes]       in the bundle: bench/tuner/device.sh bin/soliton cuda
#
# Prints the JSON of the run, then one line for each of four arms, timed by `soliton bench`: the poor start, the tuned
# candidate, `auto` without tuned results, and `auto` with them, which must have taken the tuned one and says so; then the
# ratio. The bar: the tuned one is at least 0.98 of `auto`, within 200 candidates. SECONDS_FOR_TUNING (150) ends a run that
# takes longer; its best so far counts then, and nothing is left for `auto`. RESULTS=FOLDER keeps the rows of the database.
# STRATEGY (model), SEED (1) and GENERATION (16) are the run's. Needs Python 3 for JSON.
set -eu
soliton=${1:-build/bin/soliton}
device=${2:-cuda}
size=${3:-M=4096,N=4096,K=4096}
workers=$(($(nproc) > 2 ? $(nproc) - 2 : 1))
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Results of this run alone, and none that is left for others.
export SOLITON_CACHE_DIR="$folder/cache"
poor="--set BLOCK_M=64,BLOCK_N=64,BLOCK_K=32 --schedule none"

begun=$(date +%s)
timeout -s INT "${SECONDS_FOR_TUNING:-150}" "$soliton" tune gemm --device "$device" --size $size $poor --strategy "${STRATEGY:-model}" --budget 200 \
  --patience 120 --moves 0 --generation "${GENERATION:-16}" --seed "${SEED:-1}" --workers "$workers" --timeout 30 --database "$folder/tuning.db" --json ||
  echo "the run was ended before its budget (exit code $?)"
echo "the run took $(($(date +%s) - begun)) s"
"$soliton" tune verify --database "$folder/tuning.db"
"$soliton" tune best --database "$folder/tuning.db" --json | tee "$folder/best.json"
"$soliton" tune show --database "$folder/tuning.db" --json >"$folder/show.json"
if [ -n "${RESULTS:-}" ]; then
  "$soliton" tune export "$RESULTS/tuner-rows-${SEED:-1}.jsonl" --database "$folder/tuning.db"
  cp "$folder/show.json" "$RESULTS/tuner-show-${SEED:-1}.json"
fi

# The winner's choices as options.
winner=$(python3 - "$folder" <<'EOF'
import json, sys
best = json.load(open(sys.argv[1] + "/best.json"))
options = {"schedule": "--schedule", "direct_copies": "--direct-copies", "staged_writes": "--staged-writes", "mma": "--mma",
           "swizzle": "--swizzle", "padded_rows": "--padded-rows", "service_waves": "--service-waves"}
words, tiles = [], []
for name, value in best["choices"].items():
    if name in ("raster", "cluster", "persistent"):
        words += ["--" + name, value] if value not in ("0", "1") else []
    elif name in options:
        words += [] if (name, value) == ("mma", "default") else [options[name], value]
    else:
        tiles.append(name + "=" + value)
print(" ".join(words + (["--set", ",".join(tiles)] if tiles else [])))
EOF
)
arm() {
  name=$1
  shift
  "$soliton" bench gemm --device "$device" --size $size --repetitions 50 --json "$@" >"$folder/$name.json"
  echo "$name $*: $(cat "$folder/$name.json")"
}
arm start $poor --tuned off
for turn in 1 2 3; do # in turns, so that clock and heat are the same for both
  arm "tuned$turn" $winner --tuned off
  arm "auto$turn" --schedule auto --tuned off
  arm "taken$turn" --schedule auto
done
python3 - "$folder" <<'EOF'
import json, sys
median = lambda name: json.load(open(f"{sys.argv[1]}/{name}.json"))["median_us"]
tuned, auto, taken = (sorted(median(f"{arm}{turn}") for turn in (1, 2, 3))[1] for arm in ("tuned", "auto", "taken"))
trials = json.load(open(sys.argv[1] + "/show.json"))["trials"]
refused = {}
for trial in trials:
    refused[trial["refused_by"]] = refused.get(trial["refused_by"], 0) + 1
print(f"candidates {len(trials)}, by filter {refused}")
print(f"start {median('start'):.1f} us, tuned {tuned:.1f} us, auto {auto:.1f} us: tuned is {auto / tuned:.3f} of auto (bar 0.98)")
said = json.load(open(sys.argv[1] + "/taken1.json")).get("auto", [])
print(f"auto with tuned results {taken:.1f} us: {' '.join(said)}")
EOF
