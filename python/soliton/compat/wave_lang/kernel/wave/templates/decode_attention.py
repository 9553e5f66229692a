"""Attention of few queries in two phases: parts of the keys by different workgroups, then their means.

    phase_0, phase_1, symbols_0, symbols_1, dynamic_0, dynamic_1, parts = get_decode_attention_kernels(shape, mfma_variant)

Queries come times the scale and log2(e): exponentials are powers of 2.
"""

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from wave_lang.kernel.wave.utils.general_utils import ceildiv

from . import attention_common as common
from .attention_common import ADDRESS_SPACE, BLOCK_B, BLOCK_K2, BLOCK_M, BLOCK_N, K1, K2, B, M, N

U, BLOCK_U = tkl.sym.U, tkl.sym.BLOCK_U


def get_decode_attention_kernels(shape, mfma_variant, use_dynamic_dims=False):
    """(B, M, N, K1, K2) → two kernels: U parts of K2 keys, then their means.

    phase_0(q [B, M, K1], k [B, K2, K1], v [B, N, K2], output [U, B, N, M], output_max [U, B, M])
    phase_1(logits [U, B, N, M], logits_max [U, B, M], output [B, M, N])
    """
    first = [tkw.WorkgroupConstraint(M, BLOCK_M, 0), tkw.WorkgroupConstraint(N, BLOCK_N, 1), tkw.WorkgroupConstraint(U, BLOCK_U, 2)]
    first += [tkw.WorkgroupConstraint(K2, BLOCK_K2, 2, primary=False), tkw.WorkgroupConstraint(B, BLOCK_B, 3)]
    first += [tkw.WaveConstraint(M, BLOCK_M / 2), tkw.WaveConstraint(N, BLOCK_N / 2)]
    first += [tkw.HardwareConstraint(threads_per_wave=64, mma_type=mfma_variant, vector_shapes={B: 0})]

    @tkw.wave(first)
    def phase_0(
        q: tkl.Memory[B, M, K1, GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, K2, K1, ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, N, K2, ADDRESS_SPACE, tkl.f16],
        output: tkl.Memory[U, B, N, M, GLOBAL_ADDRESS_SPACE, tkl.f32],
        output_max: tkl.Memory[U, B, M, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        products = tkw.mma(tkw.read(k), tkw.read(q), tkl.Register[B, K2, M, tkl.f32](0.0))
        scores = tkw.permute(products, target_shape=[B, M, K2])
        largest = tkw.max(scores, dim=K2)
        powers = tkw.exp2(scores - largest)
        total = tkw.sum(powers, dim=K2)
        sums = tkw.mma(tkw.read(v), tkw.cast(powers, tkl.f16), tkl.Register[B, N, M, tkl.f32](0.0))
        tkw.write(tkw.broadcast(largest + tkw.log2(total), target_shape=[U, B, M]), output_max)
        tkw.write(tkw.broadcast(sums / total, target_shape=[U, B, N, M]), output)

    second = [tkw.WorkgroupConstraint(M, BLOCK_M, 0), tkw.WorkgroupConstraint(N, BLOCK_N, 1), tkw.WorkgroupConstraint(B, BLOCK_B, 2)]
    second += [tkw.TilingConstraint(U, BLOCK_U), tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={B: 0})]

    @tkw.wave(second)
    def phase_1(
        logits: tkl.Memory[U, B, N, M, GLOBAL_ADDRESS_SPACE, tkl.f32],
        logits_max: tkl.Memory[U, B, M, GLOBAL_ADDRESS_SPACE, tkl.f32],
        output: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        tkw.write(common.combine(U, (B, M), N, logits, logits_max), output)

    symbols_0 = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_B: 1, BLOCK_M: 64, BLOCK_N: 64, BLOCK_K2: 64, BLOCK_U: 1}
    symbols_0 |= dict(zip((B, M, N, K1, K2), shape))
    parts = ceildiv(symbols_0[K2], symbols_0[BLOCK_K2])
    symbols_0[U] = parts
    symbols_1 = symbols_0 | {BLOCK_M: 64, BLOCK_N: 1, BLOCK_U: 4}
    dynamic_0 = [B, M, N, K2, U] if use_dynamic_dims else []
    dynamic_1 = [symbol for symbol in dynamic_0 if symbol != K2]
    for symbol in dynamic_0:
        del symbols_0[symbol], symbols_1[symbol]
    return phase_0, phase_1, symbols_0, symbols_1, dynamic_0, dynamic_1, parts
