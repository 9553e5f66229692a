"""Attention whose products are of 8-bit floats, with one scale a tensor.

    y = wave_sdpa_fp8(query, key, value, q_scale, k_scale, v_scale)       # [..., S, D]
"""

import functools

import torch

from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile
from wave_lang.kernel.wave.constraints import MMAType
from wave_lang.kernel.wave.templates.quantized_attention import get_brevitas_pertensor_fp8_attention_kernel
from wave_lang.kernel.wave.utils.run_utils import set_default_run_config

from .attention import flat_shape, flattened


@functools.lru_cache
def get_wave_kernel(shape, q_scale, k_scale, v_scale, logit_dtype, quant_dtype, is_causal):
    """A compiled kernel for these sizes and scales."""
    mfma = (MMAType.F32_16x16x32_F8, MMAType.F32_16x16x32_K4_F8)
    options = {"q_scale": q_scale, "k_scale": k_scale, "v_scale": v_scale, "is_causal": is_causal}
    kernel, subs, dynamic = get_brevitas_pertensor_fp8_attention_kernel(shape, mfma, logit_dtype, quant_dtype, **options)
    return wave_compile(set_default_run_config(WaveCompileOptions(subs=subs, dynamic_symbols=dynamic)), kernel)


def wave_sdpa_fp8(query, key, value, q_scale, k_scale, v_scale, quant_dtype=torch.float8_e4m3fnuz, is_causal=False):
    """Attention of tensors [..., S, D] that come over their scales, into f32."""
    shape = flat_shape(query, key, value.shape[-1])
    output = torch.empty(*query.shape[:-1], shape.head_size_kv, dtype=torch.float32, device=query.device)
    run = get_wave_kernel(shape, q_scale, k_scale, v_scale, query.dtype, quant_dtype, is_causal)
    run(flattened(query), flattened(key), flattened(value), flattened(output))
    return output
