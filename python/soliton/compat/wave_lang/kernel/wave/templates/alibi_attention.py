"""Attention with linear biases: keys lose by their distance behind the query.

    kernel, hyperparams, dynamic_symbols = get_alibi_attention_kernel(shape, mfma_variant, dynamic_dims=False)

Products and slopes come times log2(e), and queries times the scale: exponentials are powers of 2.
"""

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE

from . import attention_common as common
from .attention_common import ADDRESS_SPACE, BLOCK_B, K1, K2, B, M, N
from .vanilla_attention import bindings_of, constraints_of


def get_alibi_attention_kernel(shape, mfma_variant, dynamic_dims):
    """q [B, M, K1], k [B, K2, K1], v [B, N, K2], slopes m [B], c [B, M, N]: scores are q · k + m · min(key - query, 0)."""
    sizes = {B: shape.num_query_heads, M: shape.query_seq_len, N: shape.head_size_kv, K1: shape.head_size, K2: shape.kv_seq_len}
    subs, dynamic = bindings_of(sizes, [M, N, B, K2] if dynamic_dims else [])

    @tkw.wave(constraints_of(mfma_variant, [(B, BLOCK_B)], 4, dynamic_dims))
    def alibi_attention(
        q: tkl.Memory[B, M, K1, GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, K2, K1, GLOBAL_ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, N, K2, ADDRESS_SPACE, tkl.f16],
        m: tkl.Memory[B, GLOBAL_ADDRESS_SPACE, tkl.f32],
        c: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        slopes = tkw.broadcast(tkw.read(m), target_shape=[B, M, K2])

        def scores(products):
            query, key = common.indices_of(M, K2)
            behind = tkw.cast(tkw.minimum(key - query, 0), tkl.f32)
            return products + slopes * tkw.broadcast(behind, target_shape=[B, M, K2])

        reads = (lambda: tkw.read(q), lambda: tkw.read(k), lambda: tkw.read(v))
        _, total, sums = common.attend(K2, M, N, (B,), reads, scores, mfma_variant)
        common.write_as(common.means(total, sums), c, (B, N, M))

    return alibi_attention, subs, dynamic
