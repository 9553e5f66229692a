#!/usr/bin/env python3
"""Compile times beside Wave's, in one run.

  python3 bench/compile/compare.py --bench build/bin/compile-bench --wave-python venv/bin/python --out bench/results/compile.md
  python3 bench/compile/compare.py                       ours only, where Wave is not installed

Wave is `wave-lang` 3.9.1 from PyPI with torch, in an environment of its own; it needs no GPU. Its time is the better of two
compilations to its MLIR (schedule NONE, and MODULO), and to a code object through IREE. Ours is the median of 20 in a warm process, the
first one printed as cold.
"""
import argparse
import datetime
import json
import os
import subprocess
import sys

WAVE = r"""
import json, os, sys, time
os.environ.setdefault("WAVE_CACHE_ON", "0")
import torch
from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile
from wave_lang.kernel.wave.constraints import MMAType
from wave_lang.kernel.wave.scheduling.schedule import SchedulingType
from wave_lang.kernel.wave.templates.gemm import get_gemm_kernel

def build(block, target, mlir, schedule):
    kernel, subs, dynamic = get_gemm_kernel((4096, 4096, 4096), False, MMAType.F32_16x16x16_F16, torch.float16,
                                            block_shape=block, waves_per_block=(2, 2))
    extra = {"compile_to_mlir": True} if mlir else {}
    return WaveCompileOptions(subs=dict(subs), canonicalize=True, schedule=schedule, dynamic_symbols=list(dynamic),
                              target=target, use_scheduling_barriers=schedule != SchedulingType.NONE, **extra), kernel

for target, block, mode in (("gfx942", (128, 128, 32), "mlir"), ("gfx942", (128, 128, 32), "full"), ("gfx950", (256, 256, 64), "mlir"),
                            ("gfx942", (128, 128, 32), "modulo")):
    times = []
    for _ in range(2):
        options, kernel = build(block, target, mode != "full", SchedulingType.MODULO if mode == "modulo" else SchedulingType.NONE)
        start = time.perf_counter()
        wave_compile(options, kernel)
        times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps({"target": target, "block": block, "mode": mode, "ms": min(times)}), flush=True)
"""


def ours(bench, *words):
    done = subprocess.run([bench, *map(str, words)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def wave(python):
    if not python:
        return {}
    done = subprocess.run([python, "-c", WAVE], capture_output=True, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not rows:
        print("Wave did not run: " + done.stderr.strip()[-300:], file=sys.stderr)
    return {(r["target"], tuple(r["block"]), r["mode"]): r["ms"] for r in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/bin/compile-bench")
    parser.add_argument("--soliton", default="build/bin/soliton")
    parser.add_argument("--wave-python", default=os.environ.get("WAVE_PYTHON", ""))
    parser.add_argument("--out", default="")
    arguments = parser.parse_args()
    # Where Wave is installed says nothing to others.
    words = ["venv/bin/python" if word == arguments.wave_python else word for word in sys.argv]
    command = " ".join(["python3", *words])
    theirs = wave(arguments.wave_python)
    lines = ["# Compile times", "", f"{datetime.date.today()}; `{command}`; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", "",
             "| what | ours, ms | cold, ms | Wave 3.9.1, ms | ratio |", "| --- | --- | --- | --- | --- |"]
    for target, block in (("gfx942", (128, 128, 32)), ("gfx950", (256, 256, 64))):
        row = ours(arguments.bench, "machine", target, *block)
        peer = theirs.get((target, block, "mlir"))
        lines.append(f"| trace to machine form, f16 GEMM {block}, {target} | {row['front_ms']:.2f} | {row['front_cold_ms']:.2f} | "
                     + (f"{peer:.0f} | {peer / row['front_ms']:.0f} |" if peer else "not installed | |"))
    for target, block in (("gfx942", (128, 128, 32)), ("gfx950", (256, 256, 64))):
        row = ours(arguments.bench, "machine", target, *block, 20, "modulo")
        peer = theirs.get((target, block, "modulo"))
        lines.append(f"| the same with MODULO: {row['loop_ops']} ops in the loop, {row['schedule_ms']:.2f} ms to schedule them, "
                     f"{row['proof_ms']:.2f} ms to prove it, {block}, {target} | {row['front_ms']:.2f} | {row['front_cold_ms']:.2f} | "
                     + (f"{peer:.0f} | {peer / row['front_ms']:.0f} |" if peer else "| |"))
    row = ours(arguments.bench, "hsaco", "gfx942", 128, 128, 32)
    peer = theirs.get(("gfx942", (128, 128, 32), "full"))
    lines.append(f"| whole compile to HSACO, 128x128x32, gfx942 | {row['total_ms']:.1f} | | "
                 + (f"{peer:.0f} | {peer / row['total_ms']:.1f} |" if peer else "not installed | |"))
    lines += ["", f"LLVM alone takes {row['llvm_ms']:.1f} ms of the {row['total_ms']:.1f} ms: {row['total_ms'] / row['llvm_ms']:.2f} times LLVM's own; "
              f"{row['machine_ops'] / row['matrix_ops']:.1f} machine ops per matrix instruction.", ""]
    llvm = subprocess.run([arguments.soliton, "compile", "gemm", "--target", "gfx942", "--size", "M=4096,N=4096,K=4096", "--set",
                           "BLOCK_M=128,BLOCK_N=128,BLOCK_K=32", "--emit", "llvm"], capture_output=True, text=True, check=True).stdout
    instructions = [line for line in llvm.splitlines() if line.startswith("  ") and not line.lstrip().startswith((";", "#"))]
    matrix = sum("amdgcn.mfma" in line for line in instructions)
    lines += [f"LLVM gets {len(instructions)} instructions for {matrix} matrix instructions: {len(instructions) / matrix:.1f} each.", ""]
    tiles = {n: ours(arguments.bench, "machine", "gfx942", n, n, 32) for n in (64, 128, 256)}

    def marginal(small, large):
        return (tiles[large]["front_ms"] - tiles[small]["front_ms"]) / (tiles[large]["machine_ops"] - tiles[small]["machine_ops"])

    lines.append(f"Growth: {marginal(64, 128) * 1e3:.2f} us per op from 64 to 128, {marginal(128, 256) * 1e3:.2f} us from 128 to 256: ratio {marginal(128, 256) / marginal(64, 128):.2f}.")
    chain = {n: ours(arguments.bench, "chain", n)["front_ms"] for n in (2000, 4000)}
    lines.append(f"A chain of element-wise ops: {chain[2000]:.1f} ms for 2000, {chain[4000]:.1f} ms for 4000: ratio {chain[4000] / chain[2000]:.2f}.")
    text = "\n".join(lines)
    print(text)
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
