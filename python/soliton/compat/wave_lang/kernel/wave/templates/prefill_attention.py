"""Attention of sequences one behind the other, each to itself.

    kernel, hyperparams = get_prefill_attention_kernel(shape, mfma_variant, q.shape, k.shape, v.shape, o.shape)

Queries come times the scale and log2(e): exponentials are powers of 2.
"""

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from wave_lang.kernel.wave.utils.general_utils import ceildiv, torch_dtype_to_wave
from wave_lang.kernel.wave.utils.torch_names import float16, float32, int32

from . import attention_common as common
from .attention_common import ADDRESS_SPACE, BLOCK_D_KV, BLOCK_H, BLOCK_N_KV, BLOCK_N_Q, D_KV, D_Q, H_KV, N_KV, N_Q, H

S, BLOCK_S, FIRST = tkl.sym.S, tkl.sym.BLOCK_S, tkl.sym.FIRST_TOKEN


def get_prefill_attention_kernel(
    shape, mfma_variant, q_shape, k_shape, v_shape, o_shape, input_dtype=float16, output_dtype=float32, size_dtype=int32
):
    """q [N_Q, H, D_Q], k [N_KV, H_KV, D_Q], v [N_KV, H_KV, D_KV], offsets [S], sequence_lengths [S], c [N_Q, H, D_KV]."""
    kind, result, size = (torch_dtype_to_wave(each) for each in (input_dtype, output_dtype, size_dtype))
    ratio = shape.num_query_heads // shape.num_kv_heads
    constraints = [
        tkw.WorkgroupConstraint(N_Q, BLOCK_N_Q, 0, iters=ceildiv(shape.max_seq_len, 64)),
        tkw.WorkgroupConstraint(D_KV, BLOCK_D_KV, 1),
        tkw.WorkgroupConstraint(H, BLOCK_H, 2),
        tkw.WorkgroupConstraint(S, BLOCK_S, 3),
        tkw.TilingConstraint(N_KV, BLOCK_N_KV),
        tkw.WaveConstraint(N_Q, BLOCK_N_Q / 4),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=mfma_variant[1], vector_shapes={H: 0, S: 0}),
    ]

    @tkw.wave(constraints)
    def prefill_attention(
        q: tkl.Memory[N_Q, H, D_Q, GLOBAL_ADDRESS_SPACE, kind],
        k: tkl.Memory[N_KV, H_KV, D_Q, ADDRESS_SPACE, kind],
        v: tkl.Memory[N_KV, H_KV, D_KV, ADDRESS_SPACE, kind],
        offsets: tkl.Memory[S, GLOBAL_ADDRESS_SPACE, size],
        sequence_lengths: tkl.Memory[S, GLOBAL_ADDRESS_SPACE, size],
        c: tkl.Memory[N_Q, H, D_KV, GLOBAL_ADDRESS_SPACE, result],
    ):
        length = tkw.read(sequence_lengths)
        tkw.set_symbol(FIRST, tkw.read(offsets))
        tkw.set_symbol(N_Q, length)
        tkw.set_symbol(N_KV, length)

        def rows(memory, tile, sequence):
            places = {sequence: common.place_in(tile, sequence) + FIRST, H_KV: common.place_in(tile, H) // ratio}
            return common.read_as(memory, tile, places)

        reads = (
            lambda: rows(q, (H, N_Q, D_Q), N_Q),
            lambda: rows(k, (H, N_KV, D_Q), N_KV),
            lambda: rows(v, (H, D_KV, N_KV), N_KV),
        )
        _, total, sums = common.attend(N_KV, N_Q, D_KV, (H,), reads, lambda products: products, mfma_variant, kind)
        tile = (H, D_KV, N_Q)
        common.write_as(tkw.cast(common.means(total, sums), result), c, tile, {N_Q: common.place_in(tile, N_Q) + FIRST})

    hyperparams = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_H: 1, BLOCK_S: 1, BLOCK_N_Q: 64, BLOCK_D_KV: 64, BLOCK_N_KV: 64}
    hyperparams |= {H: shape.num_query_heads, H_KV: shape.num_kv_heads, D_KV: shape.head_size_kv, D_Q: shape.head_size}
    return prefill_attention, hyperparams | {S: shape.num_seqs, N_Q: q_shape[0], N_KV: k_shape[0]}
