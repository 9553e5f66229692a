#!/usr/bin/env python3
"""How fast the emulator runs the compiler's own f16 GEMM on each target: 512³ with all checks, 1024³ without.

    python3 bench/emulator/measure.py --soliton build/bin/soliton --out bench/results/emulator.md

Times are the emulator's alone (`run_ms` of `soliton run --json`), the middle one of several runs. Exits 1 if a result is
wrong.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys

CASES = [(target, size, check) for target in ("gfx942", "gfx950", "sm_90a") for size, check in ((512, "on"), (1024, "off"))]
BARS = {512: 1.5, 1024: 2.5}


def run(soliton, target, size, check):
    command = [soliton, "run", "gemm", "--target", target, "--device", "emulator", "--json", "--check", check]
    command += ["--size", f"M={size},N={size},K={size}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)} failed: {done.stderr}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soliton", default="build/bin/soliton")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", default="", help="write the table there too")
    options = parser.parse_args()
    lines = [
        "# Emulator",
        "",
        f"{datetime.date.today()}; `python3 {' '.join(sys.argv)}`; f16 GEMM, {platform.machine()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f}",
        "",
        "| target | size | checks | seconds, median | slowest | bar | right |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    right = True
    for target, size, check in CASES:
        outcomes = [run(options.soliton, target, size, check) for _ in range(options.runs)]
        seconds = [outcome["run_ms"] / 1e3 for outcome in outcomes]
        ok = all(outcome["ok"] for outcome in outcomes)
        right = right and ok
        lines.append(f"| {target} | {size}³ | {check} | {statistics.median(seconds):.2f} | {max(seconds):.2f} | "
                     f"{BARS[size]} | {'yes' if ok else 'no'} |")  # fmt: skip
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.out:
        with open(options.out, "w") as file:
            file.write(text)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
