"""A process of scripts/attack_cache.py: compiles kernels by name, runs them, and says of each whether the result is right.

    python cache_worker.py copy gemm softmax         {"kernel": "copy", "ok": true, "from_cache": false}, one line each

What it prints is all that is known of it if it is killed, so every line is flushed.
"""

import json
import sys

import numpy as np

import soliton.lang as tkl
import soliton.wave as tkw
from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K


@tkw.wave([tkw.WorkgroupConstraint(M, 16, 0), tkw.WorkgroupConstraint(N, 32, 1), tkw.HardwareConstraint()])
def copy(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
    tkw.write(tkw.read(a), b)


@tkw.wave([tkw.WorkgroupConstraint(M, 16, 0), tkw.WorkgroupConstraint(N, 32, 1), tkw.HardwareConstraint()])
def transpose(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], b: tkl.Memory[N, M, GLOBAL_ADDRESS_SPACE, tkl.f32]):
    tkw.write(tkw.permute(tkw.read(a), [N, M]), b)


@tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), tkw.HardwareConstraint()])
def softmax(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
    row = tkw.read(a)
    weights = tkw.exp(row - tkw.broadcast(tkw.max(row, dim=N), [M, N]))
    tkw.write(weights / tkw.broadcast(tkw.sum(weights, dim=N), [M, N]), b)


CONSTRAINTS = [tkw.WorkgroupConstraint(M, 32, 0), tkw.WorkgroupConstraint(N, 32, 1), tkw.TilingConstraint(K, 32), tkw.HardwareConstraint()]


@tkw.wave(CONSTRAINTS)
def gemm(
    a: tkl.Memory[M, K, SHARED_ADDRESS_SPACE, tkl.f16],
    b: tkl.Memory[N, K, SHARED_ADDRESS_SPACE, tkl.f16],
    c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
):
    @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
    def loop(acc):
        return tkw.mma(tkw.read(a), tkw.read(b), acc)

    tkw.write(loop, c)


def soft(x):
    weights = np.exp(x - x.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


# Name: the kernel, its target, its sizes, what it makes of one or two inputs.
KERNELS = {
    "copy": (copy, "gfx942", {M: 64, N: 64}, lambda a: a),
    "ragged": (copy, "gfx942", {M: 70, N: 33}, lambda a: a),
    "copy950": (copy, "gfx950", {M: 64, N: 64}, lambda a: a),
    "transpose": (transpose, "gfx942", {M: 64, N: 40}, lambda a: a.T),
    "softmax": (softmax, "sm_90a", {M: 16, N: 64}, soft),
    "gemm": (gemm, "gfx942", {M: 64, N: 64, K: 64}, lambda a, b: a.astype(np.float32) @ b.astype(np.float32).T),
}


def check(name: str) -> dict:
    kernel, target, sizes, expected = KERNELS[name]
    run = tkw.wave_compile(tkw.WaveCompileOptions(subs=sizes, target=target, run_on="emulator"), kernel)
    draw = np.random.default_rng(0)
    rows, columns = sizes[M], sizes.get(K, sizes[N])
    given = [draw.integers(-3, 4, (rows, columns)).astype(np.float16 if name == "gemm" else np.float32)]
    if name == "gemm":
        given.append(draw.integers(-3, 4, (sizes[N], columns)).astype(np.float16))
    wanted = expected(*given)
    found = np.full(wanted.shape, np.nan, np.float32)
    run(*given, found)
    return {"kernel": name, "ok": bool(np.allclose(found, wanted, rtol=1e-5, atol=1e-6)), "from_cache": run.summary["is_from_cache"]}


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(json.dumps(check(each)), flush=True)
