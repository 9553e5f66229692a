"""Attention of tensors [B, S, H, D] with tags, for schedules that an author says.

    kernel, hyperparams, dynamic_symbols = get_tagged_bshd_attention_kernel(shape, mfma_variant, False)
    run = wave_compile(options, kernel, get_attention_prefetch_schedule())

Tags: `n_kv_loop`, `read_k`, `read_v`, `mma_qk`, `mma_pv`, `softmax0` up to the difference of scores from the largest, and
`softmax1` behind it.
"""

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from wave_lang.kernel.wave.utils.general_utils import get_default_scheduling_params

from . import attention_common as common
from .attention_common import ADDRESS_SPACE, BLOCK_B, BLOCK_D_KV, BLOCK_H, BLOCK_N_KV, BLOCK_N_Q, D_KV, D_Q, H_KV, N_KV, N_Q, B, H

TAGS = common.Tags("n_kv_loop", "mma_qk", "mma_qk_init", "mma_pv", "softmax0", "softmax1")


def get_tagged_bshd_attention_kernel(shape, mfma_variant, dynamic_dims, is_causal=False, num_waves=8):
    """q [B, N_Q, H, D_Q], k [B, N_KV, H_KV, D_Q], v [B, N_KV, H_KV, D_KV], c [B, N_Q, H, D_KV]."""
    ratio = shape.num_query_heads // (shape.num_kv_heads or shape.num_query_heads)
    factor = common.factor_of(shape)
    constraints = [
        tkw.WorkgroupConstraint(N_Q, BLOCK_N_Q, 0),
        tkw.WorkgroupConstraint(D_KV, BLOCK_D_KV, 1),
        tkw.WorkgroupConstraint(B, BLOCK_B, 2),
        tkw.WorkgroupConstraint(H, BLOCK_H, 3),
        tkw.TilingConstraint(N_KV, BLOCK_N_KV),
        tkw.WaveConstraint(N_Q, BLOCK_N_Q / num_waves),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=mfma_variant[1], vector_shapes={B: 0, H: 0}),
    ]
    if dynamic_dims:
        constraints += [tkw.Assumption(N_KV > 4 * BLOCK_N_KV)]

    @tkw.wave(constraints)
    def tagged_attention(
        q: tkl.Memory[B, N_Q, H, D_Q, GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, N_KV, H_KV, D_Q, ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, N_KV, H_KV, D_KV, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[B, N_Q, H, D_KV, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        batch = (B, H)
        query = common.read_as(q, (*batch, N_Q, D_Q), tag="read_q")
        # Which keys a query sees does not depend on any score, so it has a tag of its own.
        first = tkw.broadcast(tkw.self_index(N_Q, tkl.i32), target_shape=[N_Q, N_KV]) if is_causal else None

        def shared_head(memory, tile, tag):
            return common.read_as(memory, tile, {H_KV: common.place_in(tile, H) // ratio}, tag=tag)

        def scores(products):
            score = tkw.mul(products, factor, tag="softmax0")
            if not is_causal:
                return score
            key = tkw.broadcast(tkw.self_index(N_KV, tkl.i32, tag="softmax0"), target_shape=[N_Q, N_KV], tag="softmax0")
            return common.masked(score, tkw.le(key, first, tag="softmax0"), tag="softmax0")

        reads = (
            lambda: query,
            lambda: shared_head(k, (*batch, N_KV, D_Q), "read_k"),
            lambda: shared_head(v, (*batch, D_KV, N_KV), "read_v"),
        )
        _, total, sums = common.attend(N_KV, N_Q, D_KV, batch, reads, scores, mfma_variant, tags=TAGS)
        common.write_as(common.means(total, sums), c, (*batch, D_KV, N_Q))

    hyperparams = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_B: 1, BLOCK_H: 1, BLOCK_N_Q: 32 * num_waves, BLOCK_D_KV: 64, BLOCK_N_KV: 64}
    hyperparams |= {B: shape.batch_size or shape.num_seqs or 1, H: shape.num_query_heads, H_KV: shape.num_kv_heads or shape.num_query_heads}
    hyperparams |= {N_Q: shape.query_seq_len, D_KV: shape.head_size_kv, D_Q: shape.head_size, N_KV: shape.kv_seq_len}
    hyperparams.update(get_default_scheduling_params())
    dynamic = [N_Q, D_KV, B, N_KV] if dynamic_dims else []
    for symbol in dynamic:
        del hyperparams[symbol]
    return tagged_attention, hyperparams, dynamic
