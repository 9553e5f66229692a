"""A matrix product whose rows and columns several devices share.

    gemm, hyperparams, dynamic_symbols = get_dist_gemm_kernel(shape, False, mfma_variant)

Kernels here run on one device, so it is the plain product where each of both has one; more are refused by name.
"""

from soliton._errors import error
from wave_lang.kernel.wave.utils.torch_names import float16

from . import gemm as products


def get_dist_gemm_kernel(shape, dynamic_dims, mfma_variant, dtype=float16, device_m=1, device_n=1):
    """c[M, N] = a[M, K] · b[N, K]ᵀ, M over `device_m` devices and N over `device_n`."""
    if device_m * device_n != 1:
        raise error("not-supported-here", f"a product over {device_m} by {device_n} devices", "run one launch for each part of `a` and `b`")
    return products.get_gemm_kernel(shape, dynamic_dims, mfma_variant, dtype)
