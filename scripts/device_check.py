#!/usr/bin/env python3
"""Checks and times everything on a GPU, in one call, and prints tables.

  python3 scripts/device_check.py --soliton build/bin/soliton --out bench/results/h200.md
  python3 scripts/device_check.py --soliton dist/bin/soliton --launch-bench dist/bin/launch-overhead

Every kernel of the library runs at all its sizes (aligned, odd, 1x1, larger than a tile, dynamic) and is compared with
its reference, and so does GEMM under every schedule; GEMM is timed beside cuBLAS (through torch) in the same run, cuBLAS and ours
taking turns; compute-sanitizer checks one size of each kernel, and GEMM under schedules, where the tool is found.
"""
import argparse
import datetime
import json
import shutil
import subprocess
import sys
import time

SIZES = {
    ("M",): ["M=4096", "M=813", "M=1", "M=100003"],
    ("M", "N"): ["M=256,N=256", "M=111,N=813", "M=1,N=1", "M=1000,N=520"],
    ("M", "N", "K"): ["M=256,N=256,K=256", "M=127,N=131,K=77", "M=1,N=1,K=1", "M=640,N=384,K=320", "M=111,N=813,K=64"],
}
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
# What is timed: schedule, direct copies, tile.
TIMED = [("none", "off", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64"), ("prefetch", "off", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64"),
         ("modulo", "off", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64"), ("cp_async_multistage", "on", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=32"),
         ("modulo", "on", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64"), ("modulo", "on", "BLOCK_M=128,BLOCK_N=256,BLOCK_K=32,WAVES_M=2,WAVES_N=4"),
         ("modulo", "on", "BLOCK_M=128,BLOCK_N=256,BLOCK_K=64,WAVES_M=2,WAVES_N=4")]


def call(command, timeout=300):
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return done.returncode, (json.loads(lines[-1]) if lines else {}), done.stderr


def check_kernels(soliton):
    _, listing, _ = call([soliton, "kernels", "--json"])
    rows, wrong = [], []
    for kernel in listing["kernels"]:
        names = tuple(kernel["sizes"])
        for dtype in kernel["dtypes"]:
            passed = failed = 0
            worst = 0.0
            runs = [(size, []) for size in SIZES[names]] + [(size, ["--dynamic", ",".join(names)]) for size in DYNAMIC_SIZES[names]]
            for size, dynamic in runs:
                command = [soliton, "run", kernel["name"], "--device", "cuda", "--dtype", dtype, "--size", size, "--json", *dynamic]
                code, report, err = call(command)
                if code == 0 and report.get("ok"):
                    passed += 1
                    if report["error_bound"] > 0:
                        worst = max(worst, report["max_abs_error"] / report["error_bound"])
                else:
                    failed += 1
                    wrong.append((" ".join(command[1:]), code, (err or json.dumps(report))[:400]))
            rows.append((kernel["name"], dtype, passed, failed, worst))
            print(f"  {kernel['name']:12} {dtype:10} {passed} right, {failed} wrong", flush=True)
    return rows, wrong


def check_schedules(soliton):
    rows, wrong = [], []
    for schedule, copies, tile in SCHEDULES:
        passed = failed = 0
        for size, dynamic in SCHEDULE_SIZES + (SCHEDULE_SIZES_OF_REGISTERS if copies == "off" else []):
            command = [soliton, "run", "gemm", "--device", "cuda", "--size", size, "--schedule", schedule, "--direct-copies", copies, "--json"]
            command += (["--set", tile] if tile else []) + (["--dynamic", dynamic] if dynamic else [])
            code, report, err = call(command)
            if code == 0 and report.get("ok"):
                passed += 1
            else:
                failed += 1
                wrong.append((" ".join(command[1:]), code, (err or json.dumps(report))[:400]))
        rows.append((schedule, copies, passed, failed))
        print(f"  {schedule:32} copies {copies:4} {passed} right, {failed} wrong", flush=True)
    return rows, wrong


def cublas_us(n, samples=30):
    import torch

    a, b = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(2))
    for _ in range(5):
        torch.matmul(a, b.T)
    times = []
    for _ in range(samples):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        torch.matmul(a, b.T)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return sorted(times)[samples // 2]


def time_gemm(soliton):
    """Three rounds in which cuBLAS and ours take turns; the medians of each."""
    rows = []
    for n in (2048, 4096, 8192):
        for schedule, copies, tile in TIMED:
            ours, theirs, report = [], [], {}
            for _ in range(3):
                theirs.append(cublas_us(n))
                code, report, err = call([soliton, "bench", "gemm", "--device", "cuda", "--size", f"M={n},N={n},K={n}", "--set", tile,
                                          "--schedule", schedule, "--direct-copies", copies, "--json"])
                if code != 0:
                    break
                ours.append(report["median_us"])
            name = f"{schedule}{', direct copies' if copies == 'on' else ''} | {'x'.join(v.split('=')[1] for v in tile.split(',')[:3])}"
            if code != 0:
                rows.append((n, name, None, theirs[0], None, err.strip()[:200]))
            else:
                rows.append((n, name, sorted(ours)[1], sorted(theirs)[1], report["registers"], report["local_bytes"]))
    return rows


def sanitize(soliton):
    tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    if not tool:
        return None
    _, listing, _ = call([soliton, "kernels", "--json"])
    rows = []
    runs = [(kernel["name"], SIZES[tuple(kernel["sizes"])][1], []) for kernel in listing["kernels"]]
    runs += [("gemm", "M=130,N=70,K=264", ["--schedule", schedule, "--direct-copies", copies] + (["--set", tile] if tile else []))
             for schedule, copies, tile in SCHEDULES if schedule not in ("list", "seed000", "gemm_prefetch", "gemm_pipeline_then_unroll")]
    for kernel, size, words in runs:
        for check in ("memcheck", "racecheck"):
            done = subprocess.run([tool, "--tool", check, "--error-exitcode", "9", soliton, "run", kernel, "--device", "cuda", "--size", size, *words],
                                  capture_output=True, text=True, timeout=300)
            name = kernel + ("" if not words else f" ({words[1]}, direct copies {words[3]})")
            rows.append((name, check, size, done.returncode == 0, done.stdout[-300:] if done.returncode else ""))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soliton", default="build/bin/soliton")
    parser.add_argument("--launch-bench", default="")
    parser.add_argument("--out", default="", help="also write the tables to this Markdown file")
    arguments = parser.parse_args()
    begin = time.time()
    clock = subprocess.run(["nvidia-smi", "--query-gpu=name,clocks.sm,clocks.max.sm,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    lines = [f"# On the GPU: {clock}", "", f"{datetime.date.today()}; command: `{' '.join(sys.argv)}`", ""]
    rows, wrong = check_kernels(arguments.soliton)
    lines += ["| kernel | dtype | right | wrong | largest error / bound |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {k} | {d} | {p} | {f} | {w:.3f} |" for k, d, p, f, w in rows]
    lines += [""] + [f"- WRONG `{c}` (exit {code}): {text}" for c, code, text in wrong]
    print(f"kernels done after {time.time() - begin:.0f} s", flush=True)
    scheduled, more = check_schedules(arguments.soliton)
    wrong += more
    lines += ["", "GEMM under every schedule (static and dynamic sizes, from one iteration on):", "",
              "| schedule | direct copies | right | wrong |", "| --- | --- | --- | --- |"]
    lines += [f"| {s} | {c} | {p} | {f} |" for s, c, p, f in scheduled]
    lines += [""] + [f"- WRONG `{c}` (exit {code}): {text}" for c, code, text in more]
    print(f"schedules done after {time.time() - begin:.0f} s", flush=True)
    lines += ["", "f16 GEMM with f32 sums, beside cuBLAS (f16 out) in the same run, taking turns:", "",
              "| n | schedule | tile | us | TFLOP/s | cuBLAS TFLOP/s | ratio | registers | local bytes |", "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for n, tile, us, cublas, registers, local in time_gemm(arguments.soliton):
        flops = 2.0 * n**3
        if us is None:
            lines.append(f"| {n} | {tile} | failed: {local} |")
        else:
            lines.append(f"| {n} | {tile} | {us:.1f} | {flops / us / 1e6:.0f} | {flops / cublas / 1e6:.0f} | {cublas / us:.3f} | {registers} | {local} |")
    if arguments.launch_bench:
        done = subprocess.run([arguments.launch_bench], capture_output=True, text=True, timeout=120)
        lines += ["", "Launch overhead:", "", "```", done.stdout.strip() + done.stderr.strip(), "```"]
    checked = sanitize(arguments.soliton)
    if checked is None:
        lines += ["", "compute-sanitizer: not found on this machine, not run."]
    else:
        lines += ["", "| kernel | compute-sanitizer | size | clean |", "| --- | --- | --- | --- |"]
        lines += [f"| {k} | {t} | {s} | {'yes' if ok else 'NO: ' + text} |" for k, t, s, ok, text in checked]
    lines += ["", f"{sum(r[2] for r in rows + scheduled)} right, {sum(r[3] for r in rows + scheduled)} wrong; {time.time() - begin:.0f} s in all."]
    text = "\n".join(lines)
    print(text)
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write(text + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
