"""Attention of one query a head in two phases; the heads that share one of keys and values are rows of one product.

    phase_0, phase_1, symbols_0, symbols_1 = get_gqa_decode_attention_kernels(shape, mfma_variant, 8, k_shape, v_shape)
"""

import sympy

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE, WORKGROUP_0, WORKGROUP_1
from wave_lang.kernel.wave.utils.general_utils import ceildiv

from . import attention_common as common
from .attention_common import ADDRESS_SPACE, BLOCK_B, BLOCK_D_KV, BLOCK_H_Q, BLOCK_N_KV, D_KV, D_Q, H_KV, H_Q, N_KV, B

U, BLOCK_U, GROUP = tkl.sym.U, tkl.sym.BLOCK_U, tkl.sym.GROUP


def rounded_up(size: int, step: int) -> int:
    """The next multiple."""
    return step * ceildiv(size, step)


def get_gqa_decode_attention_kernels(shape, mfma_variant, num_kv_splits, k_shape, v_shape, layer_scaling=None):
    """phase_0(q [B, H_Q, D_Q], k [B, N_KV, H_KV, D_Q], v [B, N_KV, H_KV, D_KV], output [U, B, D_KV, H_Q], output_max [U, B, H_Q])
    phase_1(logits [U, B, D_KV, H_Q], logits_max [U, B, H_Q], output [B, H_Q, D_KV])"""
    ratio, share = shape.num_query_heads // shape.num_kv_heads, ceildiv(shape.kv_seq_len, num_kv_splits)
    factor = common.factor_of(shape, layer_scaling)
    first, end = WORKGROUP_0 * share, sympy.Min(N_KV, (WORKGROUP_0 + 1) * share)
    constraints = [
        tkw.WorkgroupConstraint(U, BLOCK_U, 0),
        tkw.WorkgroupConstraint(H_KV, 1, 1),
        tkw.WorkgroupConstraint(B, BLOCK_B, 2),
        tkw.WorkgroupConstraint(GROUP, rounded_up(ratio, 16), 3, iters=1),
        tkw.WorkgroupConstraint(D_KV, rounded_up(shape.head_size_kv, 32), 4, iters=1),
        tkw.TilingConstraint(N_KV, BLOCK_N_KV, iters=sympy.Max(sympy.ceiling((end - first) / BLOCK_N_KV), 0), start=first),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=mfma_variant[1], vector_shapes={B: 0, H_KV: 0}),
    ]

    @tkw.wave(constraints)
    def phase_0(
        q: tkl.Memory[B, H_Q, D_Q, GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, N_KV, H_KV, D_Q, ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, N_KV, H_KV, D_KV, ADDRESS_SPACE, tkl.f16],
        output: tkl.Memory[U, B, D_KV, H_Q, GLOBAL_ADDRESS_SPACE, tkl.f32],
        output_max: tkl.Memory[U, B, H_Q, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        batch = (B, H_KV)

        def head(tile):
            return {H_Q: common.place_in(tile, GROUP) + WORKGROUP_1 * ratio}

        def scores(products):
            inside = tkw.apply_expr(tkw.self_index(N_KV, tkl.i32), lambda key: key < end)
            return common.masked(products * factor, inside)

        reads = (
            lambda: common.read_as(q, (*batch, GROUP, D_Q), head((*batch, GROUP, D_Q))),
            lambda: common.read_as(k, (*batch, N_KV, D_Q)),
            lambda: common.read_as(v, (*batch, D_KV, N_KV)),
        )
        largest, total, sums = common.attend(N_KV, GROUP, D_KV, batch, reads, scores, mfma_variant)
        rows, tile = (U, *batch, GROUP), (U, *batch, D_KV, GROUP)
        logarithms = tkw.broadcast(common.logarithm(largest, total), target_shape=list(rows))
        common.write_as(logarithms, output_max, rows, head(rows))
        common.write_as(tkw.broadcast(common.means(total, sums), target_shape=list(tile)), output, tile, head(tile))

    second = [tkw.WorkgroupConstraint(H_Q, BLOCK_H_Q, 0), tkw.WorkgroupConstraint(D_KV, BLOCK_D_KV, 1), tkw.WorkgroupConstraint(B, BLOCK_B, 2)]
    second += [tkw.TilingConstraint(U, BLOCK_U), tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={B: 0})]

    @tkw.wave(second)
    def phase_1(
        logits: tkl.Memory[U, B, D_KV, H_Q, GLOBAL_ADDRESS_SPACE, tkl.f32],
        logits_max: tkl.Memory[U, B, H_Q, GLOBAL_ADDRESS_SPACE, tkl.f32],
        output: tkl.Memory[B, H_Q, D_KV, GLOBAL_ADDRESS_SPACE, tkl.f16],
    ):
        tkw.write(tkw.cast(common.combine(U, (B, H_Q), D_KV, logits, logits_max), tkl.f16), output)

    symbols_0 = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_B: 1, BLOCK_U: 1, BLOCK_N_KV: 32, GROUP: ratio, U: num_kv_splits}
    symbols_0 |= {H_Q: shape.num_query_heads, H_KV: shape.num_kv_heads, D_KV: shape.head_size_kv, D_Q: shape.head_size}
    symbols_0 |= {N_KV: shape.kv_seq_len, B: shape.num_seqs}
    return phase_0, phase_1, symbols_0, symbols_0 | {BLOCK_H_Q: 16, BLOCK_D_KV: 16, BLOCK_U: 4}
