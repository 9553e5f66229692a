"""Attention with T5's relative positions: a bias by the distance of the key behind the query.

    kernel, hyperparams, dynamic_symbols = get_t5_rpe_attention_kernel(shape, mfma_variant, False, max_rpe_context_length=30)

Products and biases come times log2(e), and queries times the scale: exponentials are powers of 2.
"""

import sympy

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE

from . import attention_common as common
from .attention_common import ADDRESS_SPACE, BLOCK_B, K1, K2, B, M, N
from .vanilla_attention import bindings_of, constraints_of

RPE = tkl.sym.RPE


def biases(rpe, queries, keys, longest):
    """The bias of each pair: that of its distance, or the last one where the key is ahead or too far behind."""
    query, key = common.indices_of(queries, keys)
    place = lambda q, k: sympy.Piecewise((q - k, (q - k >= 0) & (q - k < longest)), (longest, True))  # noqa: E731
    distance = tkw.apply_expr([query, key], place)
    return common.read_as(rpe, (queries, keys), {RPE: tkw.IndexMapping.dynamic_val(0)}, (distance, (queries, keys)))


def get_t5_rpe_attention_kernel(shape, mfma_variant, dynamic_dims, max_rpe_context_length):
    """q [B, M, K1], k [B, K2, K1], v [B, N, K2], rpe [max_rpe_context_length + 1], c [B, M, N]."""
    sizes = {B: shape.num_query_heads, M: shape.query_seq_len, N: shape.head_size_kv, K1: shape.head_size, K2: shape.kv_seq_len}
    subs, dynamic = bindings_of(sizes, [M, N, B, K2] if dynamic_dims else [])
    subs[RPE] = max_rpe_context_length + 1

    @tkw.wave(constraints_of(mfma_variant, [(B, BLOCK_B)], 4, dynamic_dims))
    def base_attention(
        q: tkl.Memory[B, M, K1, GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, K2, K1, ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, N, K2, ADDRESS_SPACE, tkl.f16],
        rpe: tkl.Memory[RPE, GLOBAL_ADDRESS_SPACE, tkl.f32],
        c: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        reads = (lambda: tkw.read(q), lambda: tkw.read(k), lambda: tkw.read(v))
        scores = lambda products: products + biases(rpe, M, K2, max_rpe_context_length)  # noqa: E731
        _, total, sums = common.attend(K2, M, N, (B,), reads, scores, mfma_variant)
        common.write_as(common.means(total, sums), c, (B, N, M))

    return base_attention, subs, dynamic
