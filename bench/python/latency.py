#!/usr/bin/env python3
"""What a user of Python waits for: the import, a kernel that another process compiled, the call of a kernel.

    scripts/python_package.py --run bench/python/latency.py --out bench/results/python-latency.md
    python bench/python/latency.py                where the wheel is installed

Each import and each process is started anew, and the median of 15 is said. The call is one of a kernel on three matrices without
rows: a launch of no workgroup, so that what is left is the way there; on the emulator, since there is no GPU here. With `torch`
installed its tensors are measured too.
"""

import argparse
import datetime
import os
import statistics
import subprocess
import sys
import tempfile
import timeit

IMPORT = """
import time
start = time.perf_counter()
import {what}
print(1e3 * (time.perf_counter() - start))
"""

KERNEL = """
import time
start = time.perf_counter()
import soliton.lang as tkl
import soliton.wave as tkw
from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from soliton.wave.compile import WaveCompileOptions, wave_compile

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
constraints = [tkw.WorkgroupConstraint(M, BLOCK_M, 0), tkw.WorkgroupConstraint(N, BLOCK_N, 1), tkw.TilingConstraint(K, BLOCK_K)]
constraints += [tkw.WaveConstraint(M, BLOCK_M / 2), tkw.WaveConstraint(N, BLOCK_N / 2)]
constraints += [tkw.HardwareConstraint(mma_type=tkw.MMAType.F32_16x16x16_F16)]


@tkw.wave(constraints)
def gemm(a: tkl.Memory[M, K, SHARED_ADDRESS_SPACE, tkl.f16], b: tkl.Memory[N, K, SHARED_ADDRESS_SPACE, tkl.f16],
         c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
    @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
    def repeat(acc):
        return tkw.mma(tkw.read(a), tkw.read(b), acc)

    tkw.write(repeat, c)


def compiled(**sizes):
    subs = {M: 128, N: 128, K: 64, BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 32}
    dynamic = [M] if sizes.get("dynamic") else []
    for each in dynamic:
        del subs[each]
    return wave_compile(WaveCompileOptions(subs=subs, dynamic_symbols=dynamic, target="gfx942", run_on="emulator"), gemm)
"""

RESULT = (
    KERNEL
    + """
import numpy as np
run = compiled()
a, b, c = np.ones((128, 64), np.float16), np.ones((128, 64), np.float16), np.empty((128, 128), np.float32)
run(a, b, c)
assert (c == 64).all()
print(1e3 * (time.perf_counter() - start), run._compiled.is_from_cache)
"""
)


def in_processes(program: str, environment: dict, times: int = 15) -> list[str]:
    path = os.path.join(os.path.dirname(environment["SOLITON_CACHE_DIR"]), "program.py")  # a kernel knows where it was written
    with open(path, "w") as file:
        file.write(program)
    made = [subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, check=True) for _ in range(times)]
    return [each.stdout.strip() for each in made]


def median(said: list[str]) -> float:
    return statistics.median(float(each.split()[0]) for each in said)


def call_microseconds(module: str) -> tuple[float, float]:
    """(by the way of C++, by that of Python) of one call."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(KERNEL)
        file.flush()
        scope: dict = {"__name__": "latency", "__file__": file.name}
        exec(compile(KERNEL, file.name, "exec"), scope)
        run = scope["compiled"](dynamic=True)
    library = __import__(module)
    arrays = [library.zeros((0, 64), dtype=library.float16), library.zeros((128, 64), dtype=library.float16), library.zeros((0, 128), dtype=library.float32)]
    run(*arrays)

    def best() -> float:
        return 1e6 * min(timeit.repeat(lambda: run(*arrays), number=2000, repeat=7)) / 2000

    plain = best()
    run._is_plain = False
    return plain, best()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "SOLITON_CACHE": "on", "SOLITON_CACHE_DIR": os.path.join(cache, "cache")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled to bytecode once
        in_processes(IMPORT.format(what="numpy, soliton.lang, soliton.wave"), environment, 1)
        rows = [("`import soliton`, without torch", median(in_processes(IMPORT.format(what="soliton"), environment)), "ms", "150")]
        rows += [("`import soliton.lang, soliton.wave`", median(in_processes(IMPORT.format(what="soliton.lang, soliton.wave"), environment)), "ms", "")]
        first = in_processes(RESULT, environment, 1)
        later = in_processes(RESULT, environment)
        assert first[0].endswith("False") and all(each.endswith("True") for each in later), "the cache was not used"
        rows += [("first process: import to first result, with NumPy's import", median(first), "ms", "")]
        rows += [("second process: the same, the kernel from the cache", median(later), "ms", "400")]
    os.environ["SOLITON_CACHE"] = "off"
    for module in ("numpy", "torch"):
        try:
            __import__(module)
        except ImportError:
            rows += [(f"call with three arrays of {module}", float("nan"), "not installed", "")]
            continue
        plain, careful = call_microseconds(module)
        rows += [(f"call with three arrays of {module}, in C++", plain, "µs", ""), ("the same by `_tensors.py`", careful, "µs", "")]
    lines = ["# Waiting for Python", "", f"{datetime.date.today()}; `bench/python/latency.py`; Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", ""]
    lines += ["| what | found | bar |", "| --- | --- | --- |"]
    lines += [f"| {what} | {unit if value != value else f'{value:.1f} {unit}'} | {f'≤ {bar} {unit}' if bar else ''} |" for what, value, unit, bar in rows]
    lines += ["", "Calls are of a launch without workgroups on the emulator: the way there, no GPU's driver.", ""]
    print("\n".join(lines))
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write("\n".join(lines))


if __name__ == "__main__":
    main()
