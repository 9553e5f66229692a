"""A linear layer whose products are of 8-bit floats, with one scale for weights and one for inputs.

    params = {"weight_scale": s, "weight_scale_shape": [], "input_scale": t, "input_scale_shape": [], "qdtype": torch.float8_e4m3fnuz}
    layer = WaveQuantLinear(64, 128, params)
"""

import torch

from wave_lang.kernel.wave.templates.linear import get_quant_linear_kernel

from .linear import WaveLinear


def extract_quant_params(quant_params: dict):
    """(scale of weights, scale of inputs, type of elements)."""
    weight, input_ = (quant_params[f"{name}_scale"].clone().detach().view(quant_params[f"{name}_scale_shape"]) for name in ("weight", "input"))
    return weight, input_, quant_params["qdtype"]


class WaveQuantLinear(WaveLinear):
    """y = (x · weightᵀ by 8-bit floats) + bias; parameters are of the wider type."""

    dtypes = (torch.float16, torch.bfloat16)

    def __init__(self, in_features, out_features, quant_params, bias=True, device=None, dtype=None):
        self._given = extract_quant_params(quant_params), dtype or torch.float16
        super().__init__(in_features, out_features, bias, device, dtype)
        self.weight_scale, self.input_scale, self.qdtype = self._given[0]

    def _compile(self, bias):
        (weight_scale, input_scale, qdtype), dtype = self._given
        return get_quant_linear_kernel([self.in_features, self.out_features], dtype, (weight_scale, input_scale, qdtype), use_bias=bias)
