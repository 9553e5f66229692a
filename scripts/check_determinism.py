#!/usr/bin/env python3
"""Compiles kernels in many processes and compares every byte.

    scripts/check_determinism.py --soliton build/bin/soliton                  two processes for each kernel
    scripts/check_determinism.py --soliton build/bin/soliton --processes 100

Each process has other addresses and another environment. Exits 1 and names the first kernel whose code objects differ.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Kernel, target, what is emitted, further words.
KERNELS = [
    ("gemm", "gfx942", "hsaco", ["--schedule", "modulo"]),
    ("gemm_nn", "gfx950", "hsaco", ["--schedule", "prefetch", "--dynamic", "M,N,K"]),
    ("row_softmax", "gfx942", "machine", []),
    ("gemm", "sm_90a", "ptx", ["--schedule", "prefetch", "--direct-copies", "on"]),
    ("transpose", "sm_90a", "ptx", ["--dynamic", "M,N"]),
]


def digest(soliton: str, kernel: str, target: str, emit: str, words: list[str], number: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out"
        environment = {**os.environ, "SOLITON_NUMBER": "x" * (97 * number % 4096)}
        command = [soliton, "compile", kernel, "--target", target, "--emit", emit, "-o", str(output), *words]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
        if done.returncode != 0:
            sys.exit(f"check_determinism.py: error: {' '.join(command)}\n{done.stderr}")
        return hashlib.sha256(output.read_bytes()).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soliton", default="build/bin/soliton")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    wrong = 0
    for kernel, target, emit, words in KERNELS:
        with ThreadPoolExecutor(options.jobs) as pool:
            found = set(pool.map(lambda n: digest(options.soliton, kernel, target, emit, words, n), range(options.processes)))
        name = f"{kernel} {target} {emit} {' '.join(words)}".strip()
        wrong += len(found) != 1
        print(f"{'ok' if len(found) == 1 else 'FAILED'}: {name}: {len(found)} different of {options.processes}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
