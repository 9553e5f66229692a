#!/usr/bin/env python3
"""Compile times beside Wave's, in one run.

  python3 bench/compile/compare.py --bench build/bin/compile-bench --wave-python venv/bin/python --out bench/results/compile.md
  python3 bench/compile/compare.py                       ours only, where Wave is not installed

Wave is `wave-lang` 3.9.1 from PyPI with torch, in an environment of its own; it needs no GPU. Its time is the better of two
compilations to its MLIR (schedule NONE, and MODULO), and to a code object through IREE: of its templates for GEMM and attention, and
of the MXFP4 product of its documentation, once. Ours is the median of 20 in a warm process, the first one printed as cold. The
second ratio compares processor times, which say the same on a busy machine (ours includes the emulator's program).
"""
import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile

WAVE = r"""
import json, os, sys, time
os.environ.setdefault("WAVE_CACHE_ON", "0")
import torch
import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile
from wave_lang.kernel.wave.constraints import MMAType, ScaledMMAType
from wave_lang.kernel.wave.scheduling.schedule import SchedulingType
from wave_lang.kernel.wave.templates.attention_common import AttentionShape
from wave_lang.kernel.wave.templates.gemm import get_gemm_kernel
from wave_lang.kernel.wave.templates.vanilla_attention import get_vanilla_attention_kernel
from wave_lang.kernel.wave.utils.general_utils import get_default_scheduling_params


def gemm(*block):
    return get_gemm_kernel((4096, 4096, 4096), False, MMAType.F32_16x16x16_F16, torch.float16, block_shape=block, waves_per_block=(2, 2))


def attention():
    shape = AttentionShape(num_query_heads=32, num_kv_heads=32, head_size=64, head_size_kv=64, query_seq_len=512, kv_seq_len=512)
    return get_vanilla_attention_kernel(shape, [MMAType.F32_16x16x16_F16] * 2, False)


def mxfp4():
    M, N, K, BM, BN, BK, SPACE = (getattr(tkl.sym, name) for name in "M N K BLOCK_M BLOCK_N BLOCK_K ADDRESS_SPACE".split())
    constraints = [tkw.WorkgroupConstraint(M, BM, 0), tkw.WorkgroupConstraint(N, BN, 1), tkw.TilingConstraint(K, BK),
                   tkw.WaveConstraint(M, BM / 2), tkw.WaveConstraint(N, BN / 2),
                   tkw.HardwareConstraint(threads_per_wave=64, mma_type=ScaledMMAType.F32_16x16x128_F8F6F4)]

    @tkw.wave(constraints)
    def product(a: tkl.Memory[M, K / 2, SPACE, tkl.i8], a_scale: tkl.Memory[M, K / 32, SPACE, tkl.i8],
                b: tkl.Memory[N, K / 2, SPACE, tkl.i8], b_scale: tkl.Memory[N, K / 32, SPACE, tkl.i8],
                c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            x = tkw.read(a)
            x = tkw.bitcast(x, tkl.f4e2m1fn)
            xs = tkw.read(a_scale)
            xs = tkw.bitcast(xs, tkl.f8e8m0fnu)
            y = tkw.read(b)
            y = tkw.bitcast(y, tkl.f4e2m1fn)
            ys = tkw.read(b_scale)
            ys = tkw.bitcast(ys, tkl.f8e8m0fnu)
            acc = tkw.scaled_mma(x, xs, y, ys, acc)
            return acc

        tkw.write(repeat, c)

    return product, {SPACE: SHARED_ADDRESS_SPACE, M: 4096, N: 4096, K: 4096, BM: 256, BN: 256, BK: 256}, []


# name, kernel, target, whether it ends at its MLIR, schedule, how often
RUNS = (
    ("gemm 128x128x32 gfx942", lambda: gemm(128, 128, 32), "gfx942", True, SchedulingType.NONE, 2),
    ("gemm 128x128x32 gfx942 whole", lambda: gemm(128, 128, 32), "gfx942", False, SchedulingType.NONE, 2),
    ("gemm 256x256x64 gfx950", lambda: gemm(256, 256, 64), "gfx950", True, SchedulingType.NONE, 2),
    ("gemm 128x128x32 gfx942 modulo", lambda: gemm(128, 128, 32), "gfx942", True, SchedulingType.MODULO, 2),
    ("attention gfx942", attention, "gfx942", True, SchedulingType.NONE, 2),
    ("attention gfx942 modulo", attention, "gfx942", True, SchedulingType.MODULO, 2),
    ("mxfp4 gfx950", mxfp4, "gfx950", True, SchedulingType.NONE, 1),
)
for name, make, target, mlir, schedule, times in RUNS:
    best = None
    try:
        for _ in range(times):
            kernel, subs, dynamic = make()
            subs = {**subs, **get_default_scheduling_params()}
            extra = {"compile_to_mlir": True} if mlir else {}
            options = WaveCompileOptions(subs=subs, canonicalize=True, schedule=schedule, dynamic_symbols=list(dynamic or []), target=target,
                                         use_scheduling_barriers=schedule != SchedulingType.NONE, **extra)
            start, processor = time.perf_counter(), time.process_time()
            wave_compile(options, kernel)
            took = ((time.perf_counter() - start) * 1e3, (time.process_time() - processor) * 1e3)
            best = min(best or took, took)
    except Exception as error:
        print(json.dumps({"name": name, "error": f"{type(error).__name__}: {error}".splitlines()[0][:150]}), flush=True)
        continue
    print(json.dumps({"name": name, "ms": best[0], "processor_ms": best[1]}), flush=True)
"""

# The bar of the MXFP4 product names a time of Wave's that was taken elsewhere.
MXFP4_BAR_MS = 25000


def ours(bench, *words):
    done = subprocess.run([bench, *map(str, words)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def wave(python):
    """What Wave took, by name; {} where it is not installed."""
    if not python:
        return {}
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:  # Wave reads the source of its kernels
        script.write(WAVE)
        script.flush()
        done = subprocess.run([python, script.name], capture_output=True, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not rows:
        print("Wave did not run: " + done.stderr.strip()[-300:], file=sys.stderr)
    return {row["name"]: row for row in rows}


def beside(row, peer, installed):
    """The last columns of a row: Wave's time, and how many times ours it is, by the clock and by processor time."""
    if peer and "ms" in peer:
        clock, processor = peer["ms"] / row["front_ms"], peer["processor_ms"] / row["processor_ms"]
        return f"{peer['ms']:.0f} | {clock:.0f} | {processor:.0f} |"
    return f"`{peer['error']}` | | |" if peer else "| | |" if installed else "not installed | | |"


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
             "| what | ours, ms | cold, ms | Wave 3.9.1, ms | ratio | by processor time |", "| --- | --- | --- | --- | --- | --- |"]

    def add(what, row, name):
        lines.append(f"| {what} | {row['front_ms']:.2f} | {row['front_cold_ms']:.2f} | {beside(row, theirs.get(name), bool(theirs))}")

    for target, block in (("gfx942", (128, 128, 32)), ("gfx950", (256, 256, 64))):
        size = "x".join(map(str, block))
        add(f"trace to machine form, f16 GEMM {block}, {target}", ours(arguments.bench, "machine", target, *block), f"gemm {size} {target}")
    for target, block in (("gfx942", (128, 128, 32)), ("gfx950", (256, 256, 64))):
        size = "x".join(map(str, block))
        row = ours(arguments.bench, "machine", target, *block, 20, "modulo")
        add(f"the same with MODULO: {row['loop_ops']} ops in the loop, {row['schedule_ms']:.2f} ms to schedule them, "
            f"{row['proof_ms']:.2f} ms to prove it, {block}, {target}", row, f"gemm {size} {target} modulo")
    attention = ("kernel", "gfx942", "attention", "B=1,H=32,Q=512,KV=512,D=64,BLOCK_Q=128,BLOCK_KV=64,WAVES=4", 20)
    add("trace to machine form, attention 1x32x512x64, 128 queries by 64 keys, gfx942", ours(arguments.bench, *attention), "attention gfx942")
    row = ours(arguments.bench, *attention, "modulo")
    add(f"the same with MODULO: {row['loop_ops']} ops in the loop, {row['schedule_ms']:.2f} ms to schedule them, {row['proof_ms']:.2f} ms to prove it",
        row, "attention gfx942 modulo")
    scaled = ours(arguments.bench, "machine", "gfx950", 256, 256, 256, 20, "none", "gemm_mxfp4")
    add("trace to machine form, MXFP4 GEMM (256, 256, 256), gfx950", scaled, "mxfp4 gfx950")
    row = ours(arguments.bench, "hsaco", "gfx942", 128, 128, 32)
    add("whole compile to HSACO, 128x128x32, gfx942", {**row, "front_ms": row["total_ms"]}, "gemm 128x128x32 gfx942 whole")
    lines += ["", f"The bar of the MXFP4 product names {MXFP4_BAR_MS / 1e3:.0f} s of Wave's, taken elsewhere: {MXFP4_BAR_MS / scaled['front_ms']:.0f} times ours by "
              f"the clock, {MXFP4_BAR_MS / scaled['processor_ms']:.0f} by processor time."]
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
