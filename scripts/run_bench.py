#!/usr/bin/env python3
"""Runs the measurements of bench/ that this machine can make, and keeps each output with the command that made it.

    scripts/run_bench.py                              all of them; results go to bench/results/
    scripts/run_bench.py --only compile               what has this in its name
    scripts/run_bench.py --only h200                  speeds on a GPU beside cuBLAS, cuDNN, torch and Triton; docs/performance.md
    scripts/run_bench.py --only h200 --sections auto,rows
    scripts/run_bench.py --wave-python venv/bin/python  compile times beside those of wave-lang 3.9.1, installed there
    scripts/run_bench.py --list

A measurement whose program was not built, whose Python module is missing or that needs a GPU where there is none is
named with the reason; the last line counts. Nothing here asserts a bar; docs/status.md compares figures with theirs.
Exits 1 if one failed.
"""

import argparse
import importlib.util
import os
import platform
import shlex
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = "build/bin"


@dataclass(frozen=True)
class Measurement:
    """A name, commands relative to the repository, and what they need beside their program.

    In a command, {results} is the folder of the results, {wave} the option that names Wave's Python, {sections} the one
    that says what of a long measurement is wanted; both may be nothing. A measurement with a `file` writes that one
    itself; of the others the output is kept.
    """

    name: str
    commands: tuple[str, ...]
    module: str = ""
    gpu: bool = False
    file: str = ""
    programs: tuple[str, ...] = ()
    needs_wave: bool = False


MEASUREMENTS = (
    Measurement(
        "symbolic",
        (f"python3 bench/symbolic/compare.py {BIN}/SymbolicBench --json {{results}}/symbolic.json",),
        module="sympy",
        file="symbolic.json",
    ),
    Measurement(
        "compile",
        ("python3 bench/compile/compare.py {wave} --out {results}/compile.md",),
        file="compile.md",
        programs=("compile-bench", "soliton"),
    ),
    Measurement(
        "python-compile",
        ("python3 bench/python/compile.py {wave} --out {results}/python-compile.md",),
        file="python-compile.md",
        needs_wave=True,
    ),
    Measurement(
        "python-latency",
        ("python3 scripts/python_package.py --run bench/python/latency.py --out {results}/python-latency.md",),
        file="python-latency.md",
    ),
    Measurement(
        "growth",
        (
            f"{BIN}/compile-bench machine gfx942 64 64 32 20",
            f"{BIN}/compile-bench machine gfx942 128 128 32 20",
            f"{BIN}/compile-bench machine gfx942 256 256 32 20",
            f"{BIN}/compile-bench chain 2000 5",
            f"{BIN}/compile-bench chain 4000 5",
        ),
    ),
    Measurement("pipeline", (f"{BIN}/PipelineBench",)),
    Measurement("schedule", (f"{BIN}/ScheduleBench", f"{BIN}/ScheduleBench --judge")),
    Measurement(
        "emulator",
        ("python3 bench/emulator/measure.py --out {results}/emulator.md",),
        file="emulator.md",
        programs=("soliton",),
    ),
    Measurement(
        "tuner",
        ("python3 bench/tuner/rates.py --json {results}/tuner-rates.json",),
        file="tuner-rates.json",
        programs=("soliton",),
    ),
    Measurement("launch", (f"{BIN}/launch-overhead",), gpu=True),
    Measurement(
        "h200",
        (
            "python3 bench/device/timing.py {sections} --out {results}/h200-tables.md --json build/h200-run.json",
            "python3 bench/device/results.py build/h200-run.json --into {results}/h200-timing.json",
            "python3 bench/device/plots.py --results {results}/h200-timing.json",
        ),
        module="torch",
        gpu=True,
        file="h200-timing.json",
        programs=("soliton",),
    ),
    Measurement("gemm-gpu", (f"{BIN}/soliton bench gemm --size M=4096,N=4096,K=4096 --json",), gpu=True),
)


def has_gpu() -> bool:
    if not os.access(ROOT / BIN / "soliton", os.X_OK):
        return False
    done = subprocess.run([str(ROOT / BIN / "soliton"), "targets"], capture_output=True, text=True)
    return any(line.strip().startswith(("cuda", "hip")) for line in done.stdout.splitlines())


def obstacle(measurement: Measurement) -> str:
    """Why it cannot run here, all of it, or nothing."""
    words = [word for command in measurement.commands for word in shlex.split(command) if word.startswith(BIN)]
    programs = dict.fromkeys([*words, *[f"{BIN}/{name}" for name in measurement.programs]])
    reasons = [f"{program} was not built" for program in programs if not os.access(ROOT / program, os.X_OK)]
    if measurement.module and importlib.util.find_spec(measurement.module) is None:
        reasons.append(f"the Python module {measurement.module} is missing")
    if measurement.gpu and not has_gpu():
        reasons.append("no GPU was found")
    return "; ".join(reasons)


def run(measurement: Measurement, folder: Path, wave: str, sections: str = "") -> bool:
    """Runs the commands, shows and keeps what they print; false if one failed."""
    good = True
    folder.mkdir(parents=True, exist_ok=True)
    shown = os.path.relpath(folder, ROOT) if folder.is_relative_to(ROOT) else str(folder)
    options = {"wave": f"--wave-python {shlex.quote(wave)}" if wave else "", "sections": f"--only {shlex.quote(sections)}" if sections else ""}
    text = f"{date.today()}, {platform.machine()}, {os.cpu_count()} cores\n"
    for template in measurement.commands:
        command = " ".join(template.format(results=shlex.quote(shown), **options).split())
        done = subprocess.run(shlex.split(command), cwd=ROOT, capture_output=True, text=True)
        good = good and done.returncode == 0
        text += f"\n$ {command}\n{done.stdout}{done.stderr}"
        text += f"exit code {done.returncode}\n" if done.returncode else ""
    print(text, flush=True)
    if not measurement.file:
        (folder / f"{measurement.name}.txt").write_text(text)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results", help="where outputs are kept")
    parser.add_argument("--sections", default="", metavar="NAMES", help="of h200 these only; bench/device/timing.py --help lists them")
    parser.add_argument("--wave-python", default=os.environ.get("WAVE_PYTHON", ""), metavar="PYTHON")
    options = parser.parse_args()
    chosen = [measurement for measurement in MEASUREMENTS if options.only in measurement.name]
    if options.list:
        print("\n".join(measurement.name for measurement in chosen))
        return 0
    failed, left_out = [], []
    for measurement in chosen:
        print(f"== {measurement.name}", flush=True)
        wave_missing = "no interpreter with wave-lang was named (--wave-python)" if measurement.needs_wave and not options.wave_python else ""
        if reason := wave_missing or obstacle(measurement):
            print(f"left out: {reason}\n")
            left_out.append(measurement.name)
        elif not run(measurement, options.results.resolve(), options.wave_python, options.sections):
            failed.append(measurement.name)
    if failed:
        print("failed: " + ", ".join(failed), file=sys.stderr)
    print(f"{len(chosen) - len(failed) - len(left_out)} measured, {len(failed)} failed, {len(left_out)} left out")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
