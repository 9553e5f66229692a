"""What kernels should compute; torch's answer in place of IREE's."""

import torch

from soliton._errors import error

_F8 = torch.float8_e4m3fnuz


def _product(a, b):
    wide = torch.int32 if a.dtype == torch.int8 else torch.float32
    return a.to(wide) @ b.to(wide).transpose(-1, -2)


def _chain(query, key, value, dtype):
    scores = _product(key, query).to(dtype)
    return _product(scores.transpose(-1, -2), value).transpose(-1, -2)


def _convolution(inputs, layout, stride):
    x, w = (each.float() for each in inputs[:2])
    if layout == "nhwc":
        x, w = x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)
    made = torch.nn.functional.conv2d(x, w, stride=stride)
    return made.permute(0, 2, 3, 1) if layout == "nhwc" else made


def generate_iree_ref(kind, inputs, outputs, options=None, stride=1, **_):
    """Writes what the kernel should compute into `outputs[0]`."""
    if kind in ("mmt", "bmmt"):
        made = _product(*inputs[:2])
    elif kind == "mmt_f8":
        made = _product(*(each.to(_F8).float() for each in inputs[:2]))
    elif kind == "chain_mmt":
        made = _chain(*inputs[:3], inputs[0].dtype)
    elif kind == "chain_mmt_f8":
        made = _chain(*(each.to(_F8).float() for each in inputs[:3]), _F8)
    elif kind in ("conv_2d_nchw_fchw", "conv_2d_nhwc_hwcf"):
        made = _convolution(inputs, kind.split("_")[2], stride)
    else:
        raise error("not-supported-here", f"the reference `{kind}`")
    outputs[0].copy_(made)


__all__ = ["generate_iree_ref"]
