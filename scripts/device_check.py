#!/usr/bin/env python3
"""Checks and times everything on a GPU, in one call, and prints tables.

  python3 scripts/device_check.py --soliton build/bin/soliton --out bench/results/h200.md
  python3 scripts/device_check.py --soliton dist/bin/soliton --launch-bench dist/bin/launch-overhead

Every kernel of the library runs at all its sizes (aligned, odd, 1x1, larger than a tile, dynamic) and is compared with
its reference; GEMM is timed beside cuBLAS (through torch) in the same run; compute-sanitizer checks one size of each
kernel where the tool is found.
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


def time_gemm(soliton, tiles):
    import torch

    rows = []
    for n in (1024, 2048, 4096, 8192):
        a = torch.randn(n, n, device="cuda", dtype=torch.float16)
        b = torch.randn(n, n, device="cuda", dtype=torch.float16)
        for _ in range(5):
            torch.matmul(a, b.T)
        samples = []
        for _ in range(30):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            torch.matmul(a, b.T)
            end.record()
            torch.cuda.synchronize()
            samples.append(start.elapsed_time(end) * 1e3)
        cublas = sorted(samples)[len(samples) // 2]
        for tile in tiles:
            code, report, err = call([soliton, "bench", "gemm", "--device", "cuda", "--size", f"M={n},N={n},K={n}", "--set", tile, "--json"])
            if code != 0:
                rows.append((n, tile, None, cublas, None, err.strip()[:200]))
                continue
            rows.append((n, tile, report["median_us"], cublas, report["registers"], report["local_bytes"]))
    return rows


def sanitize(soliton):
    tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    if not tool:
        return None
    _, listing, _ = call([soliton, "kernels", "--json"])
    rows = []
    for kernel in listing["kernels"]:
        for check in ("memcheck", "racecheck"):
            size = SIZES[tuple(kernel["sizes"])][1]
            done = subprocess.run([tool, "--tool", check, "--error-exitcode", "9", soliton, "run", kernel["name"], "--device", "cuda", "--size", size],
                                  capture_output=True, text=True, timeout=300)
            rows.append((kernel["name"], check, size, done.returncode == 0, done.stdout[-300:] if done.returncode else ""))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soliton", default="build/bin/soliton")
    parser.add_argument("--launch-bench", default="")
    parser.add_argument("--out", default="", help="also write the tables to this Markdown file")
    parser.add_argument("--tile", action="append", default=[], help="BLOCK_M=128,BLOCK_N=128,BLOCK_K=32; may be repeated")
    arguments = parser.parse_args()
    tiles = arguments.tile or ["BLOCK_M=128,BLOCK_N=128,BLOCK_K=32", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64", "BLOCK_M=128,BLOCK_N=256,BLOCK_K=32"]
    begin = time.time()
    clock = subprocess.run(["nvidia-smi", "--query-gpu=name,clocks.sm,clocks.max.sm,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    lines = [f"# On the GPU: {clock}", "", f"{datetime.date.today()}; command: `{' '.join(sys.argv)}`", ""]
    rows, wrong = check_kernels(arguments.soliton)
    lines += ["| kernel | dtype | right | wrong | largest error / bound |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {k} | {d} | {p} | {f} | {w:.3f} |" for k, d, p, f, w in rows]
    lines += [""] + [f"- WRONG `{c}` (exit {code}): {text}" for c, code, text in wrong]
    print(f"kernels done after {time.time() - begin:.0f} s", flush=True)
    lines += ["", "f16 GEMM with f32 sums, beside cuBLAS (f16 out) in the same run:", "",
              "| n | tile | us | TFLOP/s | cuBLAS TFLOP/s | ratio | registers | local bytes |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for n, tile, us, cublas, registers, local in time_gemm(arguments.soliton, tiles):
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
    lines += ["", f"{sum(r[2] for r in rows)} right, {sum(r[3] for r in rows)} wrong; {time.time() - begin:.0f} s in all."]
    text = "\n".join(lines)
    print(text)
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write(text + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
