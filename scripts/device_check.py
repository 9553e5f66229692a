#!/usr/bin/env python3
"""Checks and times everything on a GPU, in one call, and prints tables.

  python3 scripts/device_check.py --soliton build/bin/soliton --out bench/results/h200.md
  python3 scripts/device_check.py --soliton dist/bin/soliton --launch-bench dist/bin/launch-overhead --only timing,kernels
  python3 scripts/device_check.py --soliton dist/bin/soliton --large --out bench/results/h200.md   adds tensors above 4 GiB

Every kernel of the library runs at all its sizes (aligned, odd, 1x1, larger than a tile, dynamic) and is compared with
its reference, and so does GEMM under every schedule and with padded rows; copy, transpose and GEMM are timed beside torch and cuBLAS
by the protocol of bench/device/timing.py; compute-sanitizer checks one size of each kernel, and GEMM under schedules, where the tool
is found. Timing comes first, alone on the machine; the checks run several at a time.
"""
import argparse
import concurrent.futures
import datetime
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench", "device"))
import timing
from launch import Compiler

SIZES = {
    ("M",): ["M=4096", "M=813", "M=1", "M=100003"],
    ("M", "N"): ["M=256,N=256", "M=111,N=813", "M=1,N=1", "M=1000,N=520"],
    ("M", "N", "K"): ["M=256,N=256,K=256", "M=127,N=131,K=77", "M=1,N=1,K=1", "M=640,N=384,K=320", "M=111,N=813,K=64"],
    ("M", "N", "K", "GROUP"): ["M=256,N=256,K=256", "M=127,N=131,K=77", "M=1,N=1,K=1", "M=100,N=200,K=512,GROUP=128"],
    ("B", "M", "N", "K"): ["B=3,M=256,N=128,K=96", "B=2,M=127,N=131,K=77", "B=1,M=1,N=1,K=1"],
    ("B", "S", "H", "D"): ["B=2,S=256,H=4,D=64", "B=3,S=111,H=5,D=42", "B=1,S=1,H=1,D=2"],
    ("B", "H", "Q", "KV", "D"): ["B=2,H=4,Q=256,KV=512,D=64", "B=1,H=3,Q=77,KV=131,D=40", "B=1,H=1,Q=1,KV=1,D=1", "B=1,H=2,Q=300,KV=100,D=128"],
    ("B", "H", "Q", "KV", "D", "WINDOW"): ["B=2,H=4,Q=256,KV=512,D=64", "B=1,H=3,Q=77,KV=131,D=40,WINDOW=9", "B=1,H=2,Q=300,KV=100,D=64,WINDOW=50"],
    ("B", "H", "H_KV", "Q", "KV", "D"): ["B=2,H=8,H_KV=2,Q=256,KV=512,D=64", "B=1,H=6,H_KV=3,Q=77,KV=131,D=40", "B=1,H=1,H_KV=1,Q=1,KV=1,D=1"],
    ("B", "H", "W", "C", "F", "R", "S", "STRIDE", "PAD", "DILATION"): ["B=2,H=28,W=28,C=32,F=64", "B=2,H=9,W=11,C=5,F=7,R=3,S=2,STRIDE=2,PAD=1,DILATION=2",
                                                                       "B=1,H=1,W=1,C=1,F=1,R=1,S=1,PAD=0"],
    ("M", "BINS"): ["M=4096,BINS=64", "M=813,BINS=37", "M=1,BINS=1"],
    ("M", "N", "TOPK"): ["M=256,N=128,TOPK=4", "M=111,N=77,TOPK=5", "M=1,N=1,TOPK=1"],
    ("E", "M", "N", "K"): ["E=4,M=256,N=256,K=256", "E=3,M=127,N=131,K=77", "E=1,M=1,N=1,K=1"],
    ("E", "M", "N", "K", "TOPK"): ["E=8,M=256,N=256,K=256,TOPK=2", "E=3,M=127,N=131,K=77,TOPK=3", "E=1,M=1,N=1,K=1,TOPK=1"],
    ("T", "E", "TOPK"): ["T=256,E=64,TOPK=4", "T=77,E=13,TOPK=3", "T=1,E=1,TOPK=1"],
    ("M", "E"): ["M=1024,E=64", "M=177,E=13", "M=1,E=1"],
    ("B", "S", "V"): ["B=16,S=4,V=4096", "B=7,S=5,V=813", "B=1,S=1,V=1"],
    ("B", "N", "H", "Q", "KV", "D"): ["B=2,N=3,H=4,Q=256,KV=256,D=64", "B=1,N=2,H=3,Q=77,KV=131,D=40", "B=1,N=1,H=1,Q=1,KV=1,D=1"],
    ("B", "H", "Q", "KV", "D", "BUCKETS", "MAX_DISTANCE"): ["B=2,H=4,Q=256,KV=512,D=64", "B=1,H=3,Q=77,KV=131,D=40,BUCKETS=8,MAX_DISTANCE=20"],
    ("B", "H", "H_KV", "Q", "KV", "D", "PAGES", "PAGE"): ["B=2,H=8,H_KV=2,Q=16,KV=512,D=64", "B=2,H=6,H_KV=3,Q=7,KV=131,D=40,PAGES=7,PAGE=32"],
    ("B", "H_KV", "GROUP", "SPLITS", "KV", "D"): ["B=2,H_KV=2,GROUP=4,SPLITS=4,KV=1024,D=64", "B=3,H_KV=3,GROUP=5,SPLITS=3,KV=131,D=40", "B=1,H_KV=1,GROUP=1,SPLITS=1,KV=1,D=1"],
    ("B", "H", "SPLITS", "D"): ["B=2,H=8,SPLITS=4,D=64", "B=3,H=15,SPLITS=13,D=40", "B=1,H=1,SPLITS=1,D=1"],
    ("B", "W", "C", "F", "S", "STRIDE", "PAD", "DILATION"): ["B=2,W=128,C=32,F=64", "B=3,W=31,C=5,F=7,S=3,STRIDE=2,PAD=2"],
}
# K is whole blocks with a scale.
BLOCK_SIZES = ["M=256,N=256,K=256", "M=127,N=131,K=96", "M=1,N=1,K=32", "M=640,N=384,K=320"]
DYNAMIC_SIZES = {
    ("M",): ["M=1", "M=64", "M=813", "M=4096", "M=10007"],
    ("M", "N"): ["M=1,N=1", "M=64,N=64", "M=111,N=813", "M=256,N=300", "M=5,N=700"],
    ("M", "N", "K"): ["M=1,N=1,K=1", "M=64,N=64,K=32", "M=127,N=131,K=77", "M=300,N=200,K=100", "M=256,N=512,K=128"],
}


# Schedule, whether its tiles come by direct copies, tiles that it needs, and the sizes: direct copies need rows of whole chunks.
EIGHT = "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64,WAVES_M=2,WAVES_N=4"
SCHEDULES = [("prefetch", "off", ""), ("four_stage", "off", ""), ("list", "off", ""), ("modulo", "off", ""), ("modulo", "on", ""),
             ("seed000", "off", ""), ("gemm_prefetch", "off", ""), ("gemm_unroll", "off", ""), ("gemm_pipeline_then_unroll", "off", ""),
             ("two_pp_cluster", "off", EIGHT), ("async_two_pp_clusters", "on", EIGHT), ("async_two_cluster_triple_buffer", "on", EIGHT),
             ("cp_async_multistage", "on", "")]
SCHEDULE_SIZES = [("M=256,N=256,K=512", ""), ("M=256,N=128,K=32", ""), ("M=128,N=256,K=96", ""), ("M=130,N=70,K=264", ""), ("M=257,N=300,K=512", "M,N")]
SCHEDULE_SIZES_OF_REGISTERS = [("M=127,N=131,K=77", ""), ("M=127,N=131,K=20", "M,N,K"), ("M=300,N=200,K=200", "M,N,K")]
# Rows that are not aligned, read from padded copies: kernel, sizes, dynamic ones.
PADDED = [(kernel, size, dynamic) for kernel in ("gemm", "gemm_nn") for size, dynamic in
          (("M=127,N=131,K=77", ""), ("M=300,N=201,K=333", ""), ("M=257,N=129,K=65", "M,N,K"), ("M=1,N=1,K=1", ""), ("M=129,N=264,K=131", "K"))]

# Matrix instructions of four waves that read shared memory by themselves: kernel, element types, instruction, tiles.
GROUPS = [("gemm", "f16", "F32_64x128x16_F16", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64,WAVES_M=8,WAVES_N=1"),
          ("gemm", "bf16", "F32_64x256x16_F16", "BLOCK_M=128,BLOCK_N=256,BLOCK_K=64,WAVES_M=8,WAVES_N=1"),
          ("gemm", "f16", "F32_64x64x16_F16", "BLOCK_M=64,BLOCK_N=128,BLOCK_K=128,WAVES_M=4,WAVES_N=2"),
          ("gemm", "i8", "I32_64x128x32_I8", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=128,WAVES_M=8,WAVES_N=1"),
          ("gemm_nn", "f16", "F32_64x128x16_F16", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64,WAVES_M=8,WAVES_N=1"),
          ("gemm_tn", "f16", "F32_64x128x16_F16", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64,WAVES_M=8,WAVES_N=1"),
          ("gemm_tt", "f16", "F32_64x128x16_F16", "BLOCK_M=64,BLOCK_N=128,BLOCK_K=32,WAVES_M=4,WAVES_N=1")]

# Tensors above 4 GiB: a base beyond 32 bits, rows of one tile that lie 64 MiB apart, waves that do.
LARGE = [("copy", "f64", "M=65536,N=8256"), ("transpose", "i32", "M=16777280,N=64"), ("row_sum", "f32", "M=16,N=67108928")]


def sizes_of(kernel: dict) -> list[str]:
    return BLOCK_SIZES if "_mxfp" in kernel["name"] else SIZES[tuple(kernel["sizes"])]


def call(command, timeout=300):
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return done.returncode, (json.loads(lines[-1]) if lines else {}), done.stderr


def right(command):
    """Whether a run is right, its report, and what went wrong."""
    code, report, err = call(command)
    if code == 0 and report.get("ok"):
        return True, report, None
    return False, report, (" ".join(command[1:]), code, (err or json.dumps(report))[:400])


def check_all(groups):
    """{group: commands} -> rows (group, right, wrong, largest error / bound) and the list of what is wrong."""
    rows, wrong = [], []
    with concurrent.futures.ThreadPoolExecutor(max(2, min(8, (os.cpu_count() or 2) // 2))) as pool:
        runs = {group: [pool.submit(right, command) for command in commands] for group, commands in groups.items()}
        for group, futures in runs.items():
            results = [future.result() for future in futures]
            worst = max([0.0] + [r["max_abs_error"] / r["error_bound"] for ok, r, _ in results if ok and r["error_bound"] > 0])
            passed = sum(ok for ok, _, _ in results)
            rows.append((*group, passed, len(results) - passed, worst))
            wrong += [problem for _, _, problem in results if problem]
            print(f"  {' '.join(group):40} {passed} right, {len(results) - passed} wrong", flush=True)
    return rows, wrong


def check_kernels(soliton):
    _, listing, _ = call([soliton, "kernels", "--json"])
    groups = {}
    for kernel in listing["kernels"]:
        names = tuple(kernel["sizes"])
        free = [name for name in names if name not in kernel["fixed_sizes"]]
        fixed = sizes_of(kernel)
        launched = fixed if fixed is BLOCK_SIZES else DYNAMIC_SIZES.get(names, fixed)
        runs = [(size, []) for size in fixed] + [(size, ["--dynamic", ",".join(free)]) for size in launched]
        for dtype in kernel["dtypes"]:
            groups[kernel["name"], dtype] = [[soliton, "run", kernel["name"], "--device", "cuda", "--dtype", dtype, "--size", size, "--json", *dynamic]
                                             for size, dynamic in runs]
    return check_all(groups)


def check_schedules(soliton):
    groups = {}
    for schedule, copies, tile in SCHEDULES:
        groups[schedule, copies] = [
            [soliton, "run", "gemm", "--device", "cuda", "--size", size, "--schedule", schedule, "--direct-copies", copies, "--json"]
            + (["--set", tile] if tile else []) + (["--dynamic", dynamic] if dynamic else [])
            for size, dynamic in SCHEDULE_SIZES + (SCHEDULE_SIZES_OF_REGISTERS if copies == "off" else [])]
    for kernel, dtype, mma, tile in GROUPS:
        for schedule, copies in (("none", "off"), ("prefetch", "off"), ("prefetch", "on"), ("modulo", "on")):
            groups[f"{kernel} {dtype} {mma}, {schedule}", copies] = [
                [soliton, "run", kernel, "--device", "cuda", "--dtype", dtype, "--mma", mma, "--set", tile, "--size", size, "--schedule", schedule,
                 "--direct-copies", copies, "--json"] + (["--dynamic", dynamic] if dynamic else [])
                for size, dynamic in SCHEDULE_SIZES + SCHEDULE_SIZES_OF_REGISTERS]
    for copies in ("off", "on"):
        groups["modulo, padded rows", copies] = [
            [soliton, "run", kernel, "--device", "cuda", "--size", size, "--schedule", "modulo", "--direct-copies", copies, "--padded-rows", "on", "--json"]
            + (["--dynamic", dynamic] if dynamic else []) for kernel, size, dynamic in PADDED]
    return check_all(groups)


def check_large(soliton):
    """Each takes 30 to 50 GiB of the host's memory, for the numbers in f64 that the result is compared with."""
    rows, wrong = [], []
    for kernel, dtype, size in LARGE:
        command = [soliton, "run", kernel, "--device", "cuda", "--dtype", dtype, "--size", size, "--json"]
        code, report, err = call(command, timeout=590)
        ok = code == 0 and report.get("ok", False)
        if not ok:
            wrong.append((" ".join(command[1:]), code, (err or json.dumps(report))[:400]))
        rows.append((kernel, dtype, size, ok))
        print(f"  {kernel:12} {dtype:10} {size} {'right' if ok else 'WRONG'}", flush=True)
    return rows, wrong


def report_large(arguments):
    rows, wrong = check_large(arguments.soliton)
    lines = ["Tensors above 4 GiB:", "", "| kernel | dtype | size | right |", "| --- | --- | --- | --- |"]
    lines += [f"| {k} | {d} | {s} | {'yes' if ok else 'NO'} |" for k, d, s, ok in rows]
    lines += [""] + [f"- WRONG `{c}` (exit {code}): {text}" for c, code, text in wrong]
    print("\n".join(lines))
    if arguments.out:
        with open(arguments.out, "a") as file:
            file.write("\n".join(["", *lines]) + "\n")
    return wrong


def sanitize(soliton):
    tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    if not tool:
        return None
    _, listing, _ = call([soliton, "kernels", "--json"])
    runs = [(kernel["name"], sizes_of(kernel)[1], []) for kernel in listing["kernels"]]
    runs += [("gemm", "M=130,N=70,K=264", ["--schedule", schedule, "--direct-copies", copies] + (["--set", tile] if tile else []))
             for schedule, copies, tile in SCHEDULES if schedule not in ("list", "seed000", "gemm_prefetch", "gemm_pipeline_then_unroll")]
    def clean(kernel, size, words, check):
        done = subprocess.run([tool, "--tool", check, "--error-exitcode", "9", soliton, "run", kernel, "--device", "cuda", "--size", size, *words],
                              capture_output=True, text=True, timeout=300)
        name = kernel + ("" if not words else f" ({words[1]}, direct copies {words[3]})")
        return name, check, size, done.returncode == 0, done.stdout[-300:] if done.returncode else ""

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(clean, kernel, size, words, check) for kernel, size, words in runs for check in ("memcheck", "racecheck")]
        rows = [future.result() for future in futures]
    return rows


def table_of(head, rows):
    lines = ["", "| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return lines + ["| " + " | ".join(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row) + " |" for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soliton", default="build/bin/soliton")
    parser.add_argument("--launch-bench", default="")
    parser.add_argument("--only", default="timing,kernels,schedules,sanitize", help="which parts, separated by commas")
    parser.add_argument("--images", default="", help="what bench/device/timing.py --prepare has compiled; otherwise it is compiled here")
    parser.add_argument("--out", default="", help="also write the tables to this Markdown file")
    parser.add_argument("--large", action="store_true", help="tensors above 4 GiB, and nothing else")
    arguments = parser.parse_args()
    parts = arguments.only.split(",")
    begin = time.time()
    if arguments.large:
        return 1 if report_large(arguments) else 0
    clock = subprocess.run(["nvidia-smi", "--query-gpu=name,clocks.sm,clocks.max.sm,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    lines = [f"# On the GPU: {clock}", "", f"{datetime.date.today()}; command: `{' '.join(sys.argv)}`", ""]
    rows, wrong = [], []

    def done(part):
        print(f"{part} done after {time.time() - begin:.0f} s", flush=True)

    if "timing" in parts:
        timed, problems = timing.tables(Compiler(arguments.soliton, arguments.images))
        lines += timed
        wrong += [(problem, 1, "") for problem in problems]
        print("\n".join(timed), flush=True)
        done("timing")
    if "kernels" in parts:
        checked, more = check_kernels(arguments.soliton)
        rows, wrong = rows + checked, wrong + more
        lines += table_of(("kernel", "dtype", "right", "wrong", "largest error / bound"), checked)
        done("kernels")
    if "schedules" in parts:
        checked, more = check_schedules(arguments.soliton)
        rows, wrong = rows + checked, wrong + more
        lines += ["", "GEMM under every schedule (static and dynamic sizes, from one iteration on):"]
        lines += table_of(("schedule", "direct copies", "right", "wrong", "largest error / bound"), checked)
        done("schedules")
    if arguments.launch_bench:
        run = subprocess.run([arguments.launch_bench], capture_output=True, text=True, timeout=120)
        lines += ["", "Launch overhead:", "", "```", run.stdout.strip() + run.stderr.strip(), "```"]
    sanitized = sanitize(arguments.soliton) if "sanitize" in parts else None
    if sanitized:
        lines += table_of(("kernel", "compute-sanitizer", "size", "clean"), [(k, t, s, "yes" if ok else "NO: " + text) for k, t, s, ok, text in sanitized])
    elif "sanitize" in parts:
        lines += ["", "compute-sanitizer: not found on this machine, not run."]
    lines += [""] + [f"- WRONG `{c}` (exit {code}): {text}" for c, code, text in wrong]
    lines += ["", f"{sum(r[2] for r in rows)} right, {sum(r[3] for r in rows)} wrong; {time.time() - begin:.0f} s in all."]
    text = "\n".join(lines)
    print(text)
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write(text + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
