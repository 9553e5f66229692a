"""Listings of Wave's own documents, as they are written, and the programs around them that check what they compute.

Each file of seeds/ is one listing, to the letter; only what they leave out stands here. They run with the names that Wave's programs
import (soliton.compat), in the SymPy that those bring. test_seeds.py runs them with NumPy's arrays on the emulators,
bench/python/device.py with torch's on a GPU: `Arrays` says how an array gets there and back.
"""

import pathlib
import textwrap
from typing import Callable, NamedTuple

import numpy as np

import soliton.compat

soliton.compat.install()

import wave_lang.kernel.lang as tkl  # noqa: E402
import wave_lang.kernel.wave as tkw  # noqa: E402
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE  # noqa: E402
from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile  # noqa: E402
from wave_lang.kernel.wave.constraints import MMAType  # noqa: E402
from wave_lang.kernel.wave.scheduling.schedule import SchedulingType  # noqa: E402

SEEDS = pathlib.Path(__file__).parent / "seeds"


class Arrays(NamedTuple):
    """Where kernels find their arrays: `give` takes one of NumPy there, `take` brings one back."""

    give: Callable = lambda array: array
    take: Callable = lambda array: array


def listing(name: str) -> str:
    return (SEEDS / f"{name}.py").read_text()


def execute(name: str, namespace: dict) -> dict:
    exec(compile(listing(name), str(SEEDS / f"{name}.py"), "exec"), namespace)
    return namespace


def symbols(names: str) -> dict:
    return {name: getattr(tkl.sym, name) for name in names.split()}


def small(shape, seed=0):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float16)


WORDS = {"tkl": tkl, "tk1": tkl, "tkw": tkw, "GLOBAL_ADDRESS_SPACE": GLOBAL_ADDRESS_SPACE, "F32_16x16x16_F16": MMAType.F32_16x16x16_F16}


def prefetched_product(target: str, arrays: Arrays) -> None:
    import wave_lang.kernel.wave as wave
    from wave_lang.kernel.wave import wave_schedule

    names = symbols("M N K BLOCK_M BLOCK_N BLOCK_K ADDRESS_SPACE ADDRESS_SPACE_0")
    scope = {**names, "wave": wave, "wave_schedule": wave_schedule, "GLOBAL_ADDRESS_SPACE": GLOBAL_ADDRESS_SPACE}
    scope |= {"Memory": tkl.Memory, "Register": tkl.Register, "f16": tkl.f16, "f32": tkl.f32}
    M, N, K, BLOCK_M, BLOCK_N, BLOCK_K = (names[each] for each in "M N K BLOCK_M BLOCK_N BLOCK_K".split())
    scope["constraints"] = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / 2),
        tkw.WaveConstraint(N, BLOCK_N / 2),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=MMAType.F32_16x16x16_F16),
    ]
    execute("schedule_kernel", scope)
    execute("schedule", scope)
    subs = {M: 128, N: 64, K: 256, BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 32}
    subs |= {names["ADDRESS_SPACE_0"]: SHARED_ADDRESS_SPACE, names["ADDRESS_SPACE"]: GLOBAL_ADDRESS_SPACE}
    options = WaveCompileOptions(subs=subs, schedule=SchedulingType.MANUAL, use_scheduling_barriers=True, target=target)
    a, b, c = small((128, 256)), small((256, 64), 1), arrays.give(np.full((128, 64), np.nan, np.float16))
    wave_compile(options, scope["gemm_prefetch"], scope["prefetch_schedule"])(arrays.give(a), arrays.give(b), c)
    assert np.array_equal(arrays.take(c), (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16))

    # "compile_to_mlir=True", as the listing says.
    options = WaveCompileOptions(subs=subs, schedule=SchedulingType.MANUAL, use_scheduling_barriers=True, compile_to_mlir=True, target=target)
    assert "machine.mma" in wave_compile(options, scope["gemm_prefetch"], scope["prefetch_schedule"]).asm


def product(target: str, arrays: Arrays, dynamic_dims: bool) -> None:
    scope = {**WORDS, **symbols("M N K BLOCK_M BLOCK_N BLOCK_K ADDRESS_SPACE"), "dynamic_dims": dynamic_dims}
    execute("gemm", scope)
    sizes = {scope["M"]: 100, scope["N"]: 72, scope["K"]: 160}
    tiles = {scope["BLOCK_M"]: 64, scope["BLOCK_N"]: 64, scope["BLOCK_K"]: 32, scope["ADDRESS_SPACE"]: SHARED_ADDRESS_SPACE}
    options = WaveCompileOptions(subs=tiles if dynamic_dims else {**sizes, **tiles}, dynamic_symbols=list(sizes) if dynamic_dims else [], target=target)
    a, b, c = small((100, 160)), small((72, 160), 1), arrays.give(np.full((100, 72), np.nan, np.float32))
    wave_compile(options, scope["gemm"])(arrays.give(a), arrays.give(b), c)
    assert np.array_equal(arrays.take(c), a.astype(np.float32) @ b.astype(np.float32).T)


def copy(target: str, arrays: Arrays, shape: tuple) -> None:
    """The listing names no target: `WAVE_DEFAULT_ARCH` does."""
    assert WaveCompileOptions().target == target
    scope = {**WORDS, **symbols("M N ADDRESS_SPACE"), "BLOCK_M": 1, "BLOCK_N": 64, "shape": shape}
    scope |= {"WaveCompileOptions": WaveCompileOptions, "wave_compile": wave_compile, "GLOBAL_MEMORY": GLOBAL_ADDRESS_SPACE}
    scope |= {"a": arrays.give(small(shape)), "b": arrays.give(np.zeros(shape, np.float16))}
    for part in ("copy_constraints", "copy", "copy_options", "copy_call"):
        execute(part, scope)
    assert np.array_equal(small(shape), arrays.take(scope["b"]))


def convolution(target: str, arrays: Arrays) -> None:
    scope = {**WORDS, **symbols("N C H W HF WF NF M K BLOCK_M BLOCK_N BLOCK_K ADDRESS_SPACE")}
    n, c, h, w, hf, wf, nf, stride = 2, 8, 10, 10, 3, 3, 20, 1
    h_out = w_out = 8
    scope |= {"stride": stride, "SZ_OUT": h_out * w_out, "H_OUT": tkl.sym.H_OUT, "W_OUT": tkl.sym.W_OUT}
    execute("conv_mappings", scope)
    # The listing elides the last mapping: rows of the product are places of the picture.
    i, j = scope["i"], scope["j"]
    M, NF, N, K = (scope[each] for each in ("M", "NF", "N", "K"))
    H_OUT, W_OUT, SZ_OUT = scope["H_OUT"], scope["W_OUT"], scope["SZ_OUT"]
    scope["out_mapping"] = tkw.IndexMapping(
        num_iterators=2,
        inputs={M: i, NF: j},
        outputs={N: i // SZ_OUT, NF: j, H_OUT: (i % SZ_OUT) % W_OUT, W_OUT: (i % SZ_OUT) // W_OUT},
    )
    scope["constraints"] = [
        tkw.WorkgroupConstraint(M, scope["BLOCK_M"], 0),
        tkw.WorkgroupConstraint(NF, scope["BLOCK_N"], 1),
        tkw.TilingConstraint(K, scope["BLOCK_K"]),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=MMAType.F32_16x16x16_F16),
    ]
    execute("conv", scope)
    subs = {N: n, scope["C"]: c, scope["H"]: h, scope["W"]: w, scope["HF"]: hf, scope["WF"]: wf, NF: nf}
    subs |= {H_OUT: h_out, W_OUT: w_out, M: n * h_out * w_out, K: hf * wf * c}
    subs |= {scope["BLOCK_M"]: 16, scope["BLOCK_N"]: 16, scope["BLOCK_K"]: 16, scope["ADDRESS_SPACE"]: SHARED_ADDRESS_SPACE}
    x, we = small((n, h, w, c)), small((hf, wf, c, nf), 1)
    out = arrays.give(np.full((n, h_out, w_out, nf), np.nan, np.float32))
    wave_compile(WaveCompileOptions(subs=subs, target=target), scope["conv"])(arrays.give(x), arrays.give(we), out)
    wanted = np.zeros((n, h_out, w_out, nf), np.float32)
    for dy in range(hf):
        for dx in range(wf):
            part = x[:, dy : dy + h_out, dx : dx + w_out].astype(np.float32)
            wanted += part @ we[dy, dx].astype(np.float32)
    assert np.array_equal(arrays.take(out), wanted)


def attention_kernel(scope: dict):
    """The loop of the listing between what it takes for granted."""
    before = """
        @tkw.wave(constraints)
        def attention(
            q: tkl.Memory[B, M, K1, GLOBAL_ADDRESS_SPACE, tkl.f16],
            k: tkl.Memory[B, K2, K1, ADDRESS_SPACE, tkl.f16],
            v: tkl.Memory[B, K2, N, ADDRESS_SPACE, tkl.f16],
            c: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        ):
            c_reg = tkl.Register[B, N, M, tkl.f32](0.0)
            init_sum = tkl.Register[B, M, tkl.f32](0.0)
            init_max = tkl.Register[B, M, tkl.f32](-1e6)
            ZERO = tkl.Register[M, K2, tkl.f32](0.0)
            MIN_INF = tkl.Register[M, K2, tkl.f32](-1e6)
    """
    after = """
            res_max, res_sum, res_mm = repeat
            res = res_mm * tkw.reciprocal(res_sum)
            tkw.write(tkw.permute(res, target_shape=[B, M, N]), c)
    """
    loop = textwrap.indent(listing("attention_loop"), "    ")
    source = textwrap.dedent(before) + loop + textwrap.indent(textwrap.dedent(after), "    ")
    exec(compile(source, str(SEEDS / "attention_loop.py"), "exec"), scope)
    return scope["attention"]


def attention(target: str, arrays: Arrays, keys: int) -> None:
    scope = {**WORDS, **symbols("B M N K1 K2 BLOCK_B BLOCK_M BLOCK_N BLOCK_K2 ADDRESS_SPACE")}
    B, M, N, K1, K2 = (scope[each] for each in "B M N K1 K2".split())
    i, j, k = (tkw.IndexMapping.iterator(each) for each in range(3))
    scope["v_mapping"] = tkw.IndexMapping(num_iterators=3, inputs={B: i, N: j, K2: k}, outputs={B: i, N: j, K2: k})
    scope["mfma_variant"] = (MMAType.F32_16x16x16_F16, MMAType.F32_16x16x16_F16)
    scope["constraints"] = [
        tkw.WorkgroupConstraint(M, scope["BLOCK_M"], 0),
        tkw.WorkgroupConstraint(N, scope["BLOCK_N"], 1),
        tkw.WorkgroupConstraint(B, scope["BLOCK_B"], 2),
        tkw.TilingConstraint(K2, scope["BLOCK_K2"]),
        tkw.WaveConstraint(M, scope["BLOCK_M"] / 4),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=scope["mfma_variant"][1], vector_shapes={B: 0, M: 16, N: 16}),
    ]
    sizes = {B: 2, M: 128, N: 32, K1: 64, K2: keys}
    tiles = {scope["BLOCK_B"]: 1, scope["BLOCK_M"]: 64, scope["BLOCK_N"]: 32, scope["BLOCK_K2"]: 32}
    subs = {**sizes, **tiles, scope["ADDRESS_SPACE"]: SHARED_ADDRESS_SPACE}
    draw = np.random.default_rng(5)
    q, key, v = (draw.normal(size=shape).astype(np.float16) for shape in ((2, 128, 64), (2, keys, 64), (2, keys, 32)))
    c = arrays.give(np.full((2, 128, 32), np.nan, np.float32))
    wave_compile(WaveCompileOptions(subs=subs, target=target), attention_kernel(scope))(*map(arrays.give, (q, key, v)), c)
    scores = np.exp2(q.astype(np.float64) @ key.astype(np.float64).transpose(0, 2, 1))
    wanted = scores / scores.sum(-1, keepdims=True) @ v.astype(np.float64)
    assert np.allclose(arrays.take(c), wanted, rtol=1e-2, atol=2e-3)


# ---- Tuning ------------------------------------------------------------------------------------------------------------------


def tuned_attention() -> dict:
    """The listing as it is: the folder is `attention_tuning` in the working directory."""
    return execute("tune_attention", {})


def as_written(name: str) -> dict:
    """A listing of that document behind the one line that gives it the names which it leaves out."""
    scope: dict = {}
    exec("from soliton.tuner.example import *", scope)
    return execute(name, scope)
