"""Kernels as plain functions: `wave_sim` computes what the kernel does."""

import numpy as np
import pytest

pytest.importorskip("sympy")

import soliton.compat  # noqa: E402

soliton.compat.install()

import wave_lang.kernel.lang as tkl  # noqa: E402
import wave_lang.kernel.wave as tkw  # noqa: E402
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE  # noqa: E402
from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile  # noqa: E402
from wave_lang.kernel.wave.wave_sim import wave_sim  # noqa: E402

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE


def small(*shape, seed=0):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float16)


def gemm(
    a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
    b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
    c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
):
    c_reg = tkl.Register[M, N, tkl.f32](0.0)

    @tkw.iterate(K, init_args=[c_reg])
    def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
        a_reg = tkw.read(a, elements_per_thread=4)
        b_reg = tkw.read(b, elements_per_thread=4)
        return tkw.mma(a_reg, b_reg, acc)

    tkw.write(repeat, c, elements_per_thread=4)


def test_a_function_is_simulated_and_compiled():
    a, b = small(20, 32), small(30, 32, seed=1)
    simulated, computed = np.full((20, 30), np.nan, np.float32), np.full((20, 30), np.nan, np.float32)
    wave_sim()(gemm)(a, b, simulated)
    constraints = [tkw.WorkgroupConstraint(M, 16, 0), tkw.WorkgroupConstraint(N, 16, 1), tkw.TilingConstraint(K, 16)]
    constraints += [tkw.HardwareConstraint(threads_per_wave=64, mma_type=tkw.MMAType.F32_16x16x16_F16)]
    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, M: 20, N: 30, K: 32}
    wave_compile(WaveCompileOptions(subs=subs, target="gfx942", run_on="emulator"), tkw.wave(constraints)(gemm))(a, b, computed)
    assert np.array_equal(simulated, a.astype(np.float32) @ b.astype(np.float32).T)
    assert np.array_equal(simulated, computed)


def test_mappings_are_walked_place_by_place():
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    turned = tkw.IndexMapping(2, inputs={M: j, N: i}, outputs={N: i, M: j})
    shifted = tkw.IndexMapping(2, inputs={N: i, M: j}, outputs={N: i, M: (j + 1) % M})

    @wave_sim()
    def turn(a: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f16], b: tkl.Memory[N, M, ADDRESS_SPACE, tkl.f16]):
        tkw.write(tkw.read(a, mapping=turned) * 2, b, mapping=shifted)

    a, b = small(5, 7), np.zeros((7, 5), np.float16)
    turn(a, b)
    assert np.array_equal(b, np.roll(2 * a.T, 1, axis=1))


def test_what_is_not_there_is_named():
    @wave_sim()
    def root(a: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f16]):
        tkw.write(tkw.sqrt(tkw.read(a)), a)

    with pytest.raises(soliton.CompileError, match="`sqrt` in `wave_sim`"):
        root(small(2, 2))
