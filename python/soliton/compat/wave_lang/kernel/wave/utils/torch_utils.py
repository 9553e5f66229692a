"""Tensors on the device on which kernels run: the GPU that torch sees, otherwise the CPU."""

import torch

DEFAULT_GPU_DEVICE = None


def get_default_device() -> str:
    if not torch.cuda.is_available():
        return "cpu"
    return "cuda" if DEFAULT_GPU_DEVICE is None else f"cuda:{DEFAULT_GPU_DEVICE}"


def to_default_device(tensor):
    return tensor.to(get_default_device())


def _define(name: str):
    function = getattr(torch, name)

    def made(*args, **kwargs):
        return to_default_device(function(*args, **kwargs))

    made.__name__ = made.__qualname__ = f"device_{name}"
    made.__doc__ = f"`torch.{name}` on the default device."
    return made


device_arange, device_empty, device_full = _define("arange"), _define("empty"), _define("full")
device_ones, device_randint, device_randn = _define("ones"), _define("randint"), _define("randn")
device_rand, device_randperm, device_tensor = _define("rand"), _define("randperm"), _define("tensor")
device_zeros, device_zeros_like, device_empty_like = _define("zeros"), _define("zeros_like"), _define("empty_like")
device_randn_like = _define("randn_like")


def quantized_tensor(shape, dtype, scale):
    """Whole numbers between -scale and scale."""
    return to_default_device(torch.ceil(torch.clamp(torch.randn(shape, dtype=dtype) * scale, -scale, scale)))
