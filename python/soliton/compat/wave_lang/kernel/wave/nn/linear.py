"""`torch.nn.Linear` by a kernel of Wave's.

    layer = WaveLinear(64, 128)
    y = layer(x)                 # x [..., M, 64] of f16
"""

import math

import torch
from torch import nn

from wave_lang.kernel.wave.templates.linear import get_linear_kernel
from wave_lang.kernel.wave.utils.torch_utils import get_default_device


class WaveLinear(nn.Module):
    """y = x · weightᵀ + bias; the kernel is compiled once, for any number of rows."""

    dtypes = (torch.float16,)

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        device, dtype = torch.device(device or get_default_device()), dtype or torch.float16
        if dtype not in self.dtypes:
            raise ValueError(f"{type(self).__name__} takes {', '.join(map(str, self.dtypes))}, found {dtype}")
        self.in_features, self.out_features = in_features, out_features
        self.weight = nn.Parameter(torch.empty(out_features, in_features, device=device, dtype=dtype))
        self.register_parameter("bias", nn.Parameter(torch.empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()
        self.kernel = self._compile(bias)

    def _compile(self, bias):
        return get_linear_kernel([self.in_features, self.out_features], use_bias=bias)

    def reset_parameters(self) -> None:
        """Uniform numbers, as `torch.nn.Linear` draws them."""
        bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input):
        """[..., M, in_features] → [..., M, out_features]."""
        *batch, rows, features = input.shape
        flat = input.reshape(math.prod(batch), rows, features)
        output = torch.empty(flat.shape[0], rows, self.out_features, dtype=self.weight.dtype, device=self.weight.device)
        parameters = (self.weight,) if self.bias is None else (self.weight, self.bias)
        self.kernel(flat, *parameters, output)
        return output.view(*batch, rows, self.out_features)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
