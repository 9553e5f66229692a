"""Attention in which several query heads share a head of keys and values, tensors [B, S, H, D].

    kernel, hyperparams, dynamic_symbols = get_gqa_bshd_attention_kernel(shape, mfma_variant, is_causal=True)
"""

import math

import sympy

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE, WORKGROUP_0
from wave_lang.kernel.wave.utils.general_utils import torch_dtype_range, torch_dtype_to_wave
from wave_lang.kernel.wave.utils.torch_names import float8_e4m3fnuz, float16, float32

from . import attention_common as common
from .attention_common import ADDRESS_SPACE, BLOCK_B, BLOCK_D_KV, BLOCK_H, BLOCK_N_KV, BLOCK_N_Q, D_KV, D_Q, H_KV, N_KV, N_Q, B, H


class Quantised:
    """Numbers of 8 bits: weights use all of the type's range, which cancels in the end."""

    def __init__(self, dtype):
        self.dtype, self.largest = torch_dtype_to_wave(dtype), torch_dtype_range(dtype)[1]
        self.offset = math.log2(self.largest)

    def value(self, tile):
        """A tile in the type."""
        return tile if tile.dtype == self.dtype else tkw.cast(tile, self.dtype)

    def weights(self, powers):
        """Weights up to the largest number of the type, since what is beyond would be no number."""
        return tkw.cast(tkw.minimum(powers, self.largest), self.dtype)


def get_gqa_bshd_attention_kernel(
    shape,
    mfma_variant,
    input_dtype=float16,
    output_dtype=float32,
    is_causal=False,
    layer_scaling=None,
    sliding_window_size=-1,
    q_scale=1.0,
    k_scale=1.0,
    v_scale=1.0,
    use_fp8=False,
):
    """q [B, N_Q, H, D_Q], k [B, N_KV, H_KV, D_Q], v [B, N_KV, H_KV, D_KV], c [B, N_Q, H, D_KV].

    With `use_fp8` products are of 8-bit floats, and the scales are those of the tensors.
    """
    wave_input_dtype, wave_output_dtype = torch_dtype_to_wave(input_dtype), torch_dtype_to_wave(output_dtype)
    ratio = shape.num_query_heads // shape.num_kv_heads
    factor = common.factor_of(shape, layer_scaling) * (q_scale * k_scale if use_fp8 else 1.0)
    eight = Quantised(float8_e4m3fnuz)
    kept = eight.value if use_fp8 else lambda tile: tile
    weights, offset = (eight.weights, eight.offset) if use_fp8 else (wave_input_dtype, 0.0)

    # Of a causal pair, a workgroup walks only the tiles that one of its queries sees.
    tiles = sympy.ceiling(N_KV / BLOCK_N_KV)
    if is_causal:
        tiles = sympy.Min(tiles, sympy.ceiling((WORKGROUP_0 + 1) * BLOCK_N_Q / BLOCK_N_KV))
    constraints = [
        tkw.WorkgroupConstraint(N_Q, BLOCK_N_Q, 0),
        tkw.WorkgroupConstraint(D_KV, BLOCK_D_KV, 1),
        tkw.WorkgroupConstraint(B, BLOCK_B, 2),
        tkw.WorkgroupConstraint(H, BLOCK_H, 3),
        tkw.TilingConstraint(N_KV, BLOCK_N_KV, iters=tiles),
        tkw.WaveConstraint(N_Q, BLOCK_N_Q / 4),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=mfma_variant[1], vector_shapes={B: 0, H: 0}),
    ]

    @tkw.wave(constraints)
    def base_attention(
        q: tkl.Memory[B, N_Q, H, D_Q, GLOBAL_ADDRESS_SPACE, wave_input_dtype],
        k: tkl.Memory[B, N_KV, H_KV, D_Q, ADDRESS_SPACE, wave_input_dtype],
        v: tkl.Memory[B, N_KV, H_KV, D_KV, ADDRESS_SPACE, wave_input_dtype],
        c: tkl.Memory[B, N_Q, H, D_KV, GLOBAL_ADDRESS_SPACE, wave_output_dtype],
    ):
        batch = (B, H)

        def shared_head(memory, tile):
            return kept(common.read_as(memory, tile, {H_KV: common.place_in(tile, H) // ratio}))

        reads = (
            lambda: kept(common.read_as(q, (*batch, N_Q, D_Q))),
            lambda: shared_head(k, (*batch, N_KV, D_Q)),
            lambda: shared_head(v, (*batch, D_KV, N_KV)),
        )
        scores = lambda products: common.masked(products * factor, common.seen(N_Q, N_KV, is_causal, sliding_window_size))  # noqa: E731
        _, total, sums = common.attend(N_KV, N_Q, D_KV, batch, reads, scores, mfma_variant, weights, offset=offset)
        result = common.means(total, sums)
        common.write_as(result * v_scale if use_fp8 else result, c, (*batch, D_KV, N_Q))

    hyperparams = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_B: 1, BLOCK_H: 1, BLOCK_N_Q: 128, BLOCK_D_KV: 128, BLOCK_N_KV: 32}
    hyperparams |= {B: shape.num_seqs, H: shape.num_query_heads, H_KV: shape.num_kv_heads, N_Q: shape.query_seq_len}
    hyperparams |= {D_KV: shape.head_size_kv, D_Q: shape.head_size, N_KV: shape.kv_seq_len}
    return base_attention, hyperparams, []
