"""Attention whose products are of 8-bit floats, with one scale a tensor.

    kernel, hyperparams, dynamic_symbols = get_brevitas_pertensor_fp8_attention_kernel(shape, mfma_variant, q_scale=0.02)
"""

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from wave_lang.kernel.wave.utils.general_utils import torch_dtype_to_wave
from wave_lang.kernel.wave.utils.torch_names import float8_e4m3fnuz, float16

from . import attention_common as common
from .attention_common import ADDRESS_SPACE, BLOCK_B, BLOCK_D_KV, BLOCK_N_KV, BLOCK_N_Q, D_Q, N_KV, B
from .gqa_vanilla_attention import Quantised

N_Q, D_KV = tkl.sym.N_Q, tkl.sym.N


def get_brevitas_pertensor_fp8_attention_kernel(
    shape,
    mfma_variant,
    logit_dtype=float16,
    f8_dtype=float8_e4m3fnuz,
    dynamic_dims=False,
    is_causal=False,
    q_scale=1.0,
    k_scale=1.0,
    v_scale=1.0,
):
    """q [B, N_Q, D_Q], k [B, N_KV, D_Q], v [B, N_KV, D_KV] over their scales, c [B, N_Q, D_KV]."""
    LOGIT_DTYPE, eight = torch_dtype_to_wave(logit_dtype), Quantised(f8_dtype)
    factor = common.factor_of(shape) * q_scale * k_scale
    constraints = [
        tkw.WorkgroupConstraint(N_Q, BLOCK_N_Q, 0),
        tkw.WorkgroupConstraint(D_KV, BLOCK_D_KV, 1),
        tkw.WorkgroupConstraint(B, BLOCK_B, 2),
        tkw.TilingConstraint(N_KV, BLOCK_N_KV),
        tkw.WaveConstraint(N_Q, BLOCK_N_Q / 4),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=mfma_variant[1], vector_shapes={B: 0}),
    ]
    if dynamic_dims:
        constraints += [tkw.Assumption(N_KV > 4 * BLOCK_N_KV)]

    @tkw.wave(constraints)
    def base_attention(
        q: tkl.Memory[B, N_Q, D_Q, GLOBAL_ADDRESS_SPACE, LOGIT_DTYPE],
        k: tkl.Memory[B, N_KV, D_Q, ADDRESS_SPACE, LOGIT_DTYPE],
        v: tkl.Memory[B, N_KV, D_KV, ADDRESS_SPACE, LOGIT_DTYPE],
        c: tkl.Memory[B, N_Q, D_KV, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        reads = (
            lambda: eight.value(tkw.read(q)),
            lambda: eight.value(tkw.read(k)),
            lambda: eight.value(common.read_as(v, (B, D_KV, N_KV))),
        )
        scores = lambda products: common.masked(products * factor, common.seen(N_Q, N_KV, is_causal))  # noqa: E731
        _, total, sums = common.attend(N_KV, N_Q, D_KV, (B,), reads, scores, mfma_variant, eight.weights, offset=eight.offset)
        common.write_as(common.means(total, sums) * v_scale, c, (B, D_KV, N_Q))

    hyperparams = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_B: 1, BLOCK_N_Q: 128, BLOCK_D_KV: 64, BLOCK_N_KV: 64}
    hyperparams |= {B: shape.num_query_heads, N_Q: shape.query_seq_len, D_KV: shape.head_size_kv}
    hyperparams |= {D_Q: shape.head_size, N_KV: shape.kv_seq_len}
    dynamic = [N_Q, D_KV, B, N_KV] if dynamic_dims else []
    for symbol in dynamic:
        del hyperparams[symbol]
    return base_attention, hyperparams, dynamic
