#!/usr/bin/env python3
"""Tracing and compiling attention from Python, beside wave-lang 3.9.1, in one run.

    python3 bench/python/compile.py --wave-python venv/bin/python --out bench/results/python-compile.md

That interpreter has wave-lang with torch (from PyPI) and is lent Soliton, from the folder that scripts/python_package.py makes or from
a wheel that was unpacked (--site). It runs one program twice: as it is, and by
`python -m soliton.compat`: attention of 32 heads, 512 by 512, 64 wide, for gfx942, from Wave's own template where Wave runs it and
from ours where we do. Wave's time is the best of three to its MLIR, which is where its own work ends; ours is the median of 20
in a warm process with the cache off, through all passes to the emulator's program. Python's share of ours is what is not
spent inside of the one call that compiles; it includes the builder's C++, which tracing calls.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile

PROGRAM = r"""
import json, os, statistics, sys, time
os.environ["WAVE_CACHE_ON"] = "0"
os.environ["SOLITON_CACHE"] = "off"
import torch
from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile
from wave_lang.kernel.wave.constraints import MMAType
from wave_lang.kernel.wave.scheduling.schedule import SchedulingType
from wave_lang.kernel.wave.templates.attention_common import AttentionShape
from wave_lang.kernel.wave.templates.vanilla_attention import get_vanilla_attention_kernel
from wave_lang.kernel.wave.utils.general_utils import get_default_scheduling_params

native = sys.modules.get("soliton._native")
inside = 0.0
if native is not None:
    import soliton._progress as ours

    class Timed:
        # Everything else of the extension is called as it is.
        def __getattr__(self, name):
            return getattr(native, name)

        def compile(self, *arguments):
            global inside
            start = time.perf_counter()
            made = native.compile(*arguments)
            inside += time.perf_counter() - start
            return made

    ours._native = Timed()


def once(schedule):
    global inside
    shape = AttentionShape(num_query_heads=32, num_kv_heads=32, head_size=64, head_size_kv=64, query_seq_len=512, kv_seq_len=512)
    kernel, subs, dynamic = get_vanilla_attention_kernel(shape, [MMAType.F32_16x16x16_F16] * 2, False)
    subs = {**subs, **get_default_scheduling_params()}
    extra = {"compile_to_mlir": True} if native is None else {"run_on": "emulator"}
    options = WaveCompileOptions(subs=subs, canonicalize=True, schedule=schedule, dynamic_symbols=list(dynamic or []), target="gfx942", **extra)
    inside = 0.0
    start, processor = time.perf_counter(), time.process_time()
    wave_compile(options, kernel)
    return 1e3 * (time.perf_counter() - start), 1e3 * (time.process_time() - processor), 1e3 * inside


for name, schedule in (("none", SchedulingType.NONE), ("modulo", SchedulingType.MODULO)):
    runs = [once(schedule) for _ in range(3 if native is None else 21)]
    made = min(runs) if native is None else [statistics.median(column) for column in zip(*runs[1:])]
    print(json.dumps({"schedule": name, "ms": made[0], "processor_ms": made[1], "inside_ms": made[2], "cold_ms": runs[0][0]}), flush=True)
"""


def measured(python: str, site: str, *command: str) -> dict[str, dict]:
    """What the program said, by schedule."""
    done = subprocess.run([python, *command], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": site})
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not rows:
        sys.exit("error: " + done.stderr.strip()[-1000:])
    return {row["schedule"]: row for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wave-python", default=os.environ.get("WAVE_PYTHON", ""), help="an interpreter with wave-lang and torch")
    parser.add_argument("--site", default="build/python/extension/site", help="a folder with the package soliton")
    parser.add_argument("--out", default="")
    arguments = parser.parse_args()
    if not arguments.wave_python:
        sys.exit("error: no interpreter with wave-lang; hint: --wave-python venv/bin/python")
    site = os.path.abspath(arguments.site)
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "attention.py")  # Wave reads the source of its kernels
        with open(program, "w") as file:
            file.write(PROGRAM)
        ours = measured(arguments.wave_python, site, "-m", "soliton.compat", program)
        wave = measured(arguments.wave_python, "", program)
    lines = ["# Compiling from Python", "", f"{datetime.date.today()}; `python3 bench/python/compile.py --wave-python venv/bin/python`; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", ""]
    lines += ["| attention 1x32x512x64, gfx942 | ours, ms | cold, ms | Python's share | Wave 3.9.1, ms | ratio | by processor time |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for schedule, row in ours.items():
        peer = wave.get(schedule)
        beside = f"{peer['ms']:.0f} | {peer['ms'] / row['ms']:.0f} | {peer['processor_ms'] / row['processor_ms']:.0f}" if peer else "did not compile | |"
        lines.append(f"| {schedule} | {row['ms']:.1f} | {row['cold_ms']:.1f} | {100 * (1 - row['inside_ms'] / row['ms']):.0f} % | {beside} |")
    lines += ["", "Bars, of `none`: at least 60 times, and at most 30 % of ours in Python.", ""]
    print("\n".join(lines))
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write("\n".join(lines))


if __name__ == "__main__":
    main()
