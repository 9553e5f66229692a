"""Matrix products: c[M, N] = a[M, K] · b[N, K]ᵀ.

    gemm, hyperparams, dynamic_symbols = get_gemm_kernel((1024, 1024, 512), False, MMAType.F32_16x16x16_F16)
"""

import sympy
import torch

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE, WORKGROUP_2
from wave_lang.kernel.wave.utils.general_utils import get_default_scheduling_params, torch_dtype_to_wave

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE


def _constraints(mfma_variant, threads_per_wave, waves=(2, 2), n_service_waves=0):
    return [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.WaveConstraint(M, sympy.floor(BLOCK_M / waves[0])),
        tkw.WaveConstraint(N, sympy.floor(BLOCK_N / waves[1])),
        tkw.HardwareConstraint(threads_per_wave=threads_per_wave, mma_type=mfma_variant, n_service_waves=n_service_waves),
    ]


def _bindings(shape, block_shape, dynamic_dims):
    """(subs, symbols that the launch binds)."""
    dynamic = (dynamic_dims,) * 3 if isinstance(dynamic_dims, bool) else tuple(dynamic_dims)
    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, M: shape[0], N: shape[1], K: shape[2]}
    subs |= {BLOCK_M: block_shape[0], BLOCK_N: block_shape[1], BLOCK_K: block_shape[2]}
    subs.update(get_default_scheduling_params())
    symbols = [symbol for symbol, is_dynamic in zip((M, N, K), dynamic) if is_dynamic]
    for symbol in symbols:
        del subs[symbol]
    return subs, symbols


def get_gemm_kernel(
    shape,
    dynamic_dims,
    mfma_variant,
    dtype=torch.float16,
    threads_per_wave=64,
    block_shape=None,
    waves_per_block=None,
    n_service_waves=0,
):
    """The plain product; the operands go through shared memory."""
    kind = torch_dtype_to_wave(dtype)
    subs, dynamic = _bindings(shape, block_shape or (64, 64, 32), dynamic_dims)
    waves = tuple(waves_per_block or (2, 2))
    constraints = _constraints(mfma_variant, threads_per_wave, waves, n_service_waves)
    constraints += [tkw.TilingConstraint(K, BLOCK_K)]
    if K in dynamic:
        constraints += [tkw.Assumption(K > 4 * BLOCK_K)]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, kind],
        b: tkl.Memory[N, K, ADDRESS_SPACE, kind],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            a_reg = tkw.read(a)
            b_reg = tkw.read(b)
            return tkw.mma(a_reg, b_reg, acc)

        tkw.write(repeat, c)

    return gemm, subs, dynamic


def get_splitk_gemm_kernel(shape, num_splits=2, mfma_variant=tkw.MMAType.F32_16x16x16_F16, dtype=torch.float16, block_shape=None, threads_per_wave=64):
    """Parts of K by different workgroups, which add up in `c`; it has to be zero before."""
    kind = torch_dtype_to_wave(dtype)
    subs, _ = _bindings(shape, block_shape or (64, 64, 32), False)
    S, PART = tkl.sym.S, tkl.sym.K_PART
    steps = -(-shape[2] // subs[BLOCK_K])
    part = -(-steps // num_splits) * subs[BLOCK_K]
    subs |= {S: num_splits, PART: part}
    begin = WORKGROUP_2 * PART
    rest = sympy.Max(sympy.Min(K, (WORKGROUP_2 + 1) * PART) - begin, 0)
    constraints = _constraints(mfma_variant, threads_per_wave)
    constraints += [tkw.WorkgroupConstraint(S, 1, 2)]
    constraints += [tkw.TilingConstraint(K, BLOCK_K, iters=sympy.ceiling(rest / BLOCK_K), start=begin)]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, kind],
        b: tkl.Memory[N, K, ADDRESS_SPACE, kind],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.atomic_add(repeat, c)

    return gemm, subs


def get_gemm_kernel_transpose_a_b(shape, dynamic_dims, mfma_variant, dtype=torch.float16, threads_per_wave=64):
    """c[M, N] = a[K, M]ᵀ · b[K, N]: both operands lie the other way round."""
    kind = torch_dtype_to_wave(dtype)
    subs, dynamic = _bindings(shape, (64, 64, 32), dynamic_dims)
    m, n, k = (tkl.sym.m, tkl.sym.n, tkl.sym.k)
    constraints = _constraints(mfma_variant, threads_per_wave)
    constraints += [tkw.TilingConstraint(K, BLOCK_K), tkw.IteratorBindings({m: M, n: N, k: K})]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[K, M, ADDRESS_SPACE, kind],
        b: tkl.Memory[K, N, ADDRESS_SPACE, kind],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc):
            a_reg = tkw.read(a, source=(k, m), target=(m, k))
            b_reg = tkw.read(b, source=(k, n), target=(n, k))
            return tkw.mma(a_reg, b_reg, acc)

        tkw.write(repeat, c)

    return gemm, subs, dynamic
