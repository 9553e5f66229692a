"""`torch.nn.functional.scaled_dot_product_attention` by a kernel of Wave's.

    y = wave_sdpa(query, key, value, is_causal=True)       # [..., S, D] of f16
"""

import functools
import math

import torch

from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile
from wave_lang.kernel.wave.constraints import MMAType
from wave_lang.kernel.wave.templates.attention_common import AttentionShape
from wave_lang.kernel.wave.templates.vanilla_attention import get_vanilla_attention_kernel
from wave_lang.kernel.wave.utils.run_utils import set_default_run_config


def flat_shape(query, key, values):
    """Sizes of attention of tensors [..., S, D], batches and heads being one; `values` is the depth of values."""
    if query.shape[:-2] != key.shape[:-2] or query.shape[-1] != key.shape[-1]:
        raise ValueError(f"queries are {tuple(query.shape)} and keys {tuple(key.shape)}: batches, heads and depth have to be the same")
    heads = math.prod(query.shape[:-2])
    return AttentionShape(
        num_query_heads=heads,
        num_kv_heads=heads,
        query_seq_len=query.shape[-2],
        kv_seq_len=key.shape[-2],
        head_size=query.shape[-1],
        head_size_kv=values,
    )


@functools.lru_cache
def get_wave_kernel(shape, is_causal, is_v_transposed=False, sliding_window_size=-1):
    """A compiled kernel for these sizes."""
    mfma = (MMAType.F32_16x16x16_F16, MMAType.F32_16x16x16_F16)
    kernel, subs, dynamic = get_vanilla_attention_kernel(shape, mfma, False, is_causal, is_v_transposed, sliding_window_size)
    return wave_compile(set_default_run_config(WaveCompileOptions(subs=subs, dynamic_symbols=dynamic)), kernel)


def flattened(tensor):
    """Batches and heads as one dimension."""
    return tensor.reshape(-1, *tensor.shape[-2:])


def wave_sdpa(query, key, value, is_causal=False, is_v_transposed=False, sliding_window_size=-1):
    """Attention of f16 tensors [..., S, D] into f32; values may be [..., D, S]."""
    shape = flat_shape(query, key, value.shape[-2] if is_v_transposed else value.shape[-1])
    output = torch.empty(*query.shape[:-1], shape.head_size_kv, dtype=torch.float32, device=query.device)
    run = get_wave_kernel(shape, is_causal, is_v_transposed, sliding_window_size)
    run(flattened(query), flattened(key), flattened(value), flattened(output))
    return output
