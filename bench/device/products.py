#!/usr/bin/env python3
"""Products by matrix instructions of four waves on a GPU: right at every size, between guards, the same bits every time.

  python3 bench/device/products.py --prepare images --soliton build/bin/soliton     # on a machine with the compiler
  python3 bench/device/products.py --images images                                  # on one with the GPU
  python3 bench/device/products.py --images images --way auto                       # what nobody said anything about
  compute-sanitizer --tool memcheck python3 bench/device/products.py --images images --only gemm --small --workers 0

Integers that are small enough to be exact must give the exact result bit for bit; the output begins as NaN and lies between guard
rows that must stay as they are; the largest ones run 300 times and must give the same bits every time. Prints a line for each
kernel and schedule, and exits with 1 if anything is wrong.
"""
import argparse
import concurrent.futures
import functools
import math
import os
import sys

from isolated import WORKERS, Job, judge, report
from launch import Compiler, Kernel

# M, N, K: whole tiles, odd numbers of tiles, rows and columns that fill no tile, boxes larger than the tensor, one row, K of 8.
SIZES = [(256, 512, 256), (384, 768, 320), (640, 384, 1024), (130, 272, 200), (1, 8, 8), (72, 40, 16), (129, 520, 72), (1000, 1000, 1000), (2048, 1024, 512)]
ODD = [(127, 131, 77), (1, 1, 1), (301, 203, 333)]
# Kernel, whether each factor is stored along K first.
KERNELS = {"gemm": (False, False), "gemm_nn": (False, True), "gemm_tn": (True, True), "gemm_tt": (True, False)}
TILE = ["--mma", "F32_64x128x16_F16", "--set", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64,WAVES_M=8,WAVES_N=1", "--direct-copies", "on"]
WAYS = {"auto": ["--schedule", "auto"]}
WAYS |= {schedule: ["--schedule", schedule, *TILE] for schedule in ("none", "prefetch", "modulo", "four_stage", "ring")}
# Few rows: operands exchanged, and K shared by the workgroups of a cluster.
FEW = ["--schedule", "ring", "--direct-copies", "on", "--staged-writes", "on"]
WAYS["exchanged"] = [*FEW, "--mma", "F32_64x16x16_F16", "--set", "BLOCK_M=16,BLOCK_N=64,BLOCK_K=128,WAVES_M=1,WAVES_N=4"]
WAYS["exchanged, cluster"] = [*WAYS["exchanged"], "--cluster", "2"]
WAYS["cluster"] = [*FEW, "--mma", "F32_64x64x16_F16", "--set", "BLOCK_M=128,BLOCK_N=64,BLOCK_K=64,WAVES_M=8,WAVES_N=1", "--cluster", "2"]
WAYS["ring, bands, staged"] = ["--schedule", "ring", *TILE, "--raster", "2", "--staged-writes", "on"]
# Workgroups that walk several tiles, fewer than there are.
WAYS["persistent"] = [*WAYS["ring, bands, staged"], "--persistent", "3"]
# Waves that copy, and neighbours that copy tiles to each other.
WAYS["service waves"] = [*WAYS["ring, bands, staged"], "--service-waves", "4"]
for along in ("2", "1x2", "4"):
    WAYS[f"clusters {along}"] = [*WAYS["service waves"], "--workgroups-per-cluster", along]
WAYS["clusters 2, no service waves"] = [*WAYS["ring, bands, staged"], "--workgroups-per-cluster", "2"]
WAYS["clusters 2, persistent"] = [*WAYS["clusters 2"], "--persistent", "4"]
# Tiles that overlap: whole waves of them, and workgroups that walk all there are.
for workgroups in ("3", "1"):
    WAYS[f"overlap, {workgroups} at once"] = [*WAYS["service waves"], "--persistent", workgroups, "--overlap-tiles", "on"]
# 8-bit floats: sums that go on in f32 after every tile, and short ones.
BYTES = ["--mma", "F32_64x128x32_F8", "--set", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=128,WAVES_M=8,WAVES_N=1", "--direct-copies", "on"]
BYTE_WAYS = {"auto": ["--schedule", "auto"], "none": ["--schedule", "none", *BYTES], "prefetch": ["--schedule", "prefetch", *BYTES],
             "ring": ["--schedule", "ring", *BYTES]}
BYTE_WAYS["pieces in turn"] = ["--schedule", "ring", "--mma", "F32_64x64x32_F8", *BYTES[2:]]
BYTE_WAYS["pieces in turn, persistent"] = [*BYTE_WAYS["pieces in turn"], "--staged-writes", "on", "--persistent", "3"]
BYTE_KERNELS = ("gemm", "gemm_nn")  # those that the library has of them
BYTE_WAYS |= {way + ", short sums": [*words, "--short-sums", "on"] for way, words in list(BYTE_WAYS.items())}
# Declared pipelines divide a wave's part into quadrants: sizes that reach into all of them.
QUADRANTS = ["--mma", "F32_64x64x16_F16", "--direct-copies", "on", "--set"]
DECLARED = {"pipeline4wave": "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64,WAVES_M=4,WAVES_N=1", "ping_pong": "BLOCK_M=256,BLOCK_N=128,BLOCK_K=64,WAVES_M=8,WAVES_N=1",
            "single_buffer": "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64,WAVES_M=4,WAVES_N=1"}
WAYS |= {schedule: ["--schedule", schedule, *QUADRANTS, tile] for schedule, tile in DECLARED.items()}
WAYS["ping_pong, columns shared"] = ["--schedule", "ping_pong", *QUADRANTS, "BLOCK_M=128,BLOCK_N=256,BLOCK_K=64,WAVES_M=4,WAVES_N=2"]
WAYS["pipeline4wave, bands, staged"] = [*WAYS["pipeline4wave"], "--raster", "2", "--staged-writes", "on"]
REPEATS = 300


def cases():
    """(kernel, dtype, way, size, words of the compiler)"""
    for kernel in KERNELS:
        for way, words in WAYS.items():
            declared = QUADRANTS[1] in words
            for dtype in ("f16", "bf16") if way == "auto" or declared else ("f16",):
                for size in SIZES + (ODD if way == "auto" or declared else []):
                    m, n, k = size
                    if declared and (m <= 128 or n <= 192):
                        continue
                    # Neighbours along N share A, and tiles that overlap begin with boxes: its rows have to begin on 16 bytes.
                    if (way == "clusters 1x2" or way.startswith("overlap")) and KERNELS[kernel][0] and m % 8 != 0:
                        continue
                    yield kernel, dtype, way, size, [kernel, "--dtype", dtype, "--size", f"M={m},N={n},K={k}", *words]
        for way, words in BYTE_WAYS.items() if kernel in BYTE_KERNELS else ():
            for m, n, k in SIZES + (ODD if way.startswith("auto") else []):
                for dtype in ("f8", "bf8") if kernel == "gemm" else ("f8",):
                    yield kernel, dtype, way, (m, n, k), [kernel, "--dtype", dtype, "--size", f"M={m},N={n},K={k}", *words]


def prepare(compiler, chosen):
    wrong = []

    def one(case):
        try:
            compiler.compile(case[-1])
        except RuntimeError as error:
            wrong.append(str(error))

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(one, chosen))
    print(f"{len(chosen) - len(wrong)} images written")
    for text in wrong:
        print("- " + text)
    return 1 if wrong else 0


def check(driver, compiler, case):
    """What is wrong, or None."""
    import torch

    kernel, dtype, way, (m, n, k), words = case
    element = {"f16": torch.float16, "bf16": torch.bfloat16, "f8": torch.float8_e4m3fn, "bf8": torch.float8_e5m2}[dtype]
    left, right = KERNELS[kernel]
    a = torch.randint(-2, 3, (k, m) if left else (m, k), device="cuda").float().to(element)
    b = torch.randint(-2, 3, (k, n) if right else (n, k), device="cuda").float().to(element)
    guard = 8
    whole = torch.full((m + 2 * guard, n), float("nan"), device="cuda", dtype=torch.float32)
    whole[:guard], whole[guard + m:] = 7.0, 7.0
    c = whole[guard:guard + m]
    wanted = (a.T if left else a).double() @ (b if right else b.T).double()
    run = Kernel(driver, compiler, words).bound([a, b, c])
    for _ in range(REPEATS if m * n * k >= 2**29 else 2):
        c.fill_(float("nan"))
        run()
        torch.cuda.synchronize()
        if not torch.equal(c.double(), wanted):
            return f"{int((c.double() != wanted).sum())} of {m * n} sums are wrong"
    if not bool((whole[:guard] == 7.0).all() and (whole[guard + m:] == 7.0).all()):
        return "a guard row was written"
    return None


def chosen_by(arguments):
    return [case for case in cases() if case[2].startswith(arguments.way) and arguments.only in ("", case[0])]


def jobs(arguments):
    return [Job(" ".join(map(str, case[:4])), case[:3], functools.partial(check, case=case)) for case in chosen_by(arguments)
            if not arguments.small or math.prod(case[3]) <= 2**25]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soliton", default="build/bin/soliton")
    parser.add_argument("--prepare", default="", help="only compile, into this folder")
    parser.add_argument("--images", default="", help="the folder with what was compiled before")
    parser.add_argument("--only", default="", help="one kernel: " + ", ".join(KERNELS))
    parser.add_argument("--small", action="store_true", help="only sizes that a sanitizer gets through")
    parser.add_argument("--way", default="", help="only ways whose names begin so")
    parser.add_argument("--workers", type=int, default=WORKERS, help="processes beside each other; 0: all in this one, for a sanitizer")
    arguments = parser.parse_args()
    if arguments.prepare:
        os.makedirs(arguments.prepare, exist_ok=True)
        return prepare(Compiler(arguments.soliton, arguments.prepare), chosen_by(arguments))
    return 0 if report(jobs(arguments), judge(jobs, arguments, arguments.workers), ("kernel", "type", "way")) else 1


if __name__ == "__main__":
    sys.exit(main())
