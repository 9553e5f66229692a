"""Pieces of mixtures of experts: a product, and the gate between two."""

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE

from . import gemm

M, N, ADDRESS_SPACE = tkl.sym.M, tkl.sym.N, tkl.sym.ADDRESS_SPACE
LOG2E = 1.4426950408889634


def get_gemm_kernel(m, k, n, mfma_variant, datatype):
    """c[M, N] = a[M, K] · b[N, K]ᵀ."""
    kernel, subs, _ = gemm.get_gemm_kernel((m, n, k), False, mfma_variant, datatype)
    return kernel, subs


def get_silu_and_mul_kernel(m, n, datatype):
    """out = x1 / (1 + exp(-x1)) · x2."""
    constraints = [tkw.WorkgroupConstraint(M, 1, 1), tkw.WorkgroupConstraint(N, min(n, 256), 0)]
    constraints += [tkw.HardwareConstraint(threads_per_wave=64)]

    @tkw.wave(constraints)
    def silu_and_mul(
        x1: tkl.Memory[M, N, ADDRESS_SPACE, datatype],
        x2: tkl.Memory[M, N, ADDRESS_SPACE, datatype],
        out: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, datatype],
    ):
        x = tkw.cast(tkw.read(x1), tkl.f32)
        gate = tkw.cast(tkw.read(x2), tkl.f32)
        one = tkl.Register[M, N, tkl.f32](1.0)
        factor = tkl.Register[M, N, tkl.f32](-LOG2E)
        silu = x / (one + tkw.exp2(x * factor))
        tkw.write(tkw.cast(silu * gate, datatype), out)

    return silu_and_mul, {ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE, M: m, N: n}
