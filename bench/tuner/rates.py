#!/usr/bin/env python3
"""How many candidates a second the tuner gets through: by verifier and model alone, and compiled and checked; by one worker and by two.

    python3 bench/tuner/rates.py --soliton build/bin/soliton --json bench/results/tuner-rates.json
    python3 bench/tuner/rates.py --only moves --moves 4000

`moves`: schedules of attention's loop (D 64, gfx942) judged by the one verifier and timed by the one model, a second of one processor, by each
strategy; the bar is 1,000. `compiled`: tiles of a product compiled for gfx942, its registers and spills looked at, winners run on the
emulator, a second of two cores; the bar is 10. `scaling`: the same by two workers over one; the bar is 1.7.

Others may use the machine. So what is compiled is counted by what processors did for it: a worker's seconds are those in which it ran or was
ready to run (/proc/PID/schedstat), and two workers are as fast as their seconds are many while the run lasts, and as a candidate's
seconds are few. On a machine that does nothing else that is the ratio of times by the clock, which is printed too.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

STRATEGIES = ("random", "hill_climbing", "annealing", "evolution", "model")
ATTENTION = ["attention", "--target", "gfx942", "--size", "B=1,H=32,Q=512,KV=512,D=64", "--space", "none"]
GEMM = ["gemm", "--target", "gfx942", "--size", "M=1024,N=1024,K=1024", "--space", "BLOCK_M=32,64,128", "--space", "BLOCK_N=32,64,128",
        "--space", "BLOCK_K=16,32,64", "--space", "schedule=none,prefetch,modulo", "--space", "raster=0,4,8", "--space", "staged_writes=off,on"]  # fmt: skip


@dataclass
class Usage:
    """What the workers of a run did, in seconds: running, waiting for a processor."""

    ran: dict[int, float] = field(default_factory=dict)
    waited: dict[int, float] = field(default_factory=dict)
    first: float = 0.0
    last: float = 0.0

    def look(self, parent: int) -> None:
        try:  # each is a child of the thread that forked it
            lists = [path.read_text() for path in Path(f"/proc/{parent}/task").glob("*/children")]
        except OSError:
            return
        for child in (int(word) for text in lists for word in text.split()):
            try:
                ran, waited, _ = map(int, Path(f"/proc/{child}/schedstat").read_text().split())
            except (OSError, ValueError):
                continue
            self.ran[child], self.waited[child] = ran * 1e-9, waited * 1e-9
            self.first = self.first or time.monotonic()
            self.last = time.monotonic()


def tune(soliton: str, words: list[str], usage: Usage | None = None) -> tuple[dict, float]:
    """(what it printed, seconds by the clock)."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "SOLITON_CACHE": "off", "SOLITON_CACHE_DIR": folder}
        command = [soliton, "tune", *words, "--database", f"{folder}/tuning.db", "--json"]
        begun = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
        while usage and process.poll() is None:
            usage.look(process.pid)
            time.sleep(0.01)
        out, _ = process.communicate()
        if process.returncode != 0:
            sys.exit(f"error: `{' '.join(command)}` ended with {process.returncode}")
        return json.loads(out), time.monotonic() - begun


def moves(soliton: str, count: int) -> list[dict]:
    rows = []
    for strategy in STRATEGIES:
        # Nothing is compiled in parallel: the search has the process for itself. The best of three, since others disturb caches too.
        best: dict = {}
        for _ in range(3):
            said = tune(soliton, [*ATTENTION, "--moves", str(count), "--strategy", strategy, "--workers", "0"])[0]["moves"]
            if said["per_processor_second"] > best.get("per_processor_second", 0):
                best = said
        rows.append({"what": f"moves, {strategy}", "a_second": round(best["per_processor_second"]), "bar": 1000, "tried": best["tried"], "cycles_best": best["cycles_best"]})
        print(json.dumps(rows[-1]), flush=True)
    return rows


def compiled(soliton: str, count: int) -> list[dict]:
    rates, rows = {}, []
    for workers in (1, 2):
        usage = Usage()
        # One generation, so that nobody waits for the end of another.
        said, seconds = tune(soliton, [*GEMM, "--moves", "0", "--strategy", "random", "--budget", str(count), "--generation", str(count), "--workers", str(workers)], usage)
        ran, asked = sum(usage.ran.values()), sum(usage.ran.values()) + sum(usage.waited.values())
        span = usage.last - usage.first
        # As on a machine where who wants a processor has one.
        busy = min(asked / span, workers)
        rates[workers] = busy * said["tried"] / ran
        rows.append({"what": f"compiled and checked, {workers} workers", "a_second": round(rates[workers], 1), "by_the_clock": round(said["tried"] / seconds, 1),
                     "tried": said["tried"], "processor_ms_each": round(1e3 * ran / said["tried"], 1), "busy": round(busy, 2)})  # fmt: skip
        if workers == 2:
            rows[-1]["bar"] = 10
        print(json.dumps(rows[-1]), flush=True)
    clock = rows[1]["by_the_clock"] / rows[0]["by_the_clock"]
    rows.append({"what": "two workers over one", "ratio": round(rates[2] / rates[1], 2), "by_the_clock": round(clock, 2), "bar": 1.7})
    print(json.dumps(rows[-1]), flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soliton", default="build/bin/soliton")
    parser.add_argument("--only", default="moves,compiled", help="parts, by name")
    parser.add_argument("--moves", type=int, default=3000, help="schedules of each search")
    parser.add_argument("--candidates", type=int, default=120, help="that are compiled")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    if "moves" in options.only:
        rows += moves(options.soliton, options.moves)
    if "compiled" in options.only:
        rows += compiled(options.soliton, options.candidates)
    if options.json:
        options.json.write_text(json.dumps({"load": os.getloadavg()[0], "cores": os.cpu_count(), "rows": rows}, indent=1) + "\n")
    missed = [row["what"] for row in rows if "bar" in row and row.get("ratio", row.get("a_second")) < row["bar"]]
    print("missed: " + ", ".join(missed) if missed else "every bar is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
