"""As `extend_attention`, with T5's relative positions between new queries and new keys.

    kernel, hyperparams, dynamic_symbols = get_extend_attention_rpe_kernel(shape, mfma_variant, q.shape, …, max_rpe_context_length=30)
"""

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE
from wave_lang.kernel.wave.utils.torch_names import float16, float32, int32

from . import attention_common as common
from .attention_common import ADDRESS_SPACE, D_KV, D_Q, H_KV, N_KV, N_Q, H
from .extend_attention import CACHE, N_PREFIX, S, Tensors, constraints_of, extend
from .t5_rpe_attention import RPE, biases


def get_extend_attention_rpe_kernel(
    shape,
    mfma_variant,
    q_shape,
    k_shape,
    v_shape,
    k_cache_shape,
    v_cache_shape,
    o_shape,
    input_dtype=float16,
    output_dtype=float32,
    size_dtype=int32,
    is_causal=False,
    layer_scaling=None,
    num_waves=4,
    max_rpe_context_length=0,
):
    """Tensors as `get_extend_attention_kernel`, and rpe [max_rpe_context_length + 1] in front of the longest length."""
    tensors = Tensors(shape, input_dtype, output_dtype, size_dtype, num_waves)
    factor, kind = common.factor_of(shape, layer_scaling), tensors.input

    @tkw.wave(constraints_of(mfma_variant, num_waves))
    def extend_attention_rpe(
        q: tkl.Memory[N_Q, H, D_Q, GLOBAL_ADDRESS_SPACE, kind],
        k: tkl.Memory[N_KV, H_KV, D_Q, ADDRESS_SPACE, kind],
        v: tkl.Memory[N_KV, H_KV, D_KV, ADDRESS_SPACE, kind],
        k_cache: tkl.Memory[CACHE, H_KV, D_Q, ADDRESS_SPACE, kind],
        v_cache: tkl.Memory[CACHE, H_KV, D_KV, ADDRESS_SPACE, kind],
        qo_indptr: tkl.Memory[S, GLOBAL_ADDRESS_SPACE, tkl.i32],
        kv_indptr: tkl.Memory[S, GLOBAL_ADDRESS_SPACE, tkl.i32],
        kv_indices: tkl.Memory[N_PREFIX, GLOBAL_ADDRESS_SPACE, tkl.i32],
        rpe: tkl.Memory[RPE, GLOBAL_ADDRESS_SPACE, tkl.f32],
        MAX_EXTEND_SEQ_LEN: tkl.SymbolBind[tkl.i32],
        c: tkl.Memory[N_Q, H, D_KV, GLOBAL_ADDRESS_SPACE, tensors.output],
    ):
        def new_scores(products):
            bias = biases(rpe, N_Q, N_KV, max_rpe_context_length) * common.LOG2E
            return common.masked(products * factor + bias, common.seen(N_Q, N_KV, is_causal))

        memories, starts = (q, k, v, k_cache, v_cache, c), (qo_indptr, kv_indptr, kv_indices)
        extend(tensors, memories, starts, mfma_variant, is_causal, lambda products: products * factor, new_scores)

    return extend_attention_rpe, tensors.hyperparams | {RPE: max_rpe_context_length + 1}, [N_Q, N_KV, S, CACHE, N_PREFIX]
