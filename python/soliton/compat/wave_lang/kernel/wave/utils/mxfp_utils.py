"""Elements of 4 bits that share scales: inputs, and what products of them should be."""

import torch

SCALE_GROUP_SIZE = 32
_VALUES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0]


def mxfp4_to_f32(x):
    """Two elements a byte, the first in the low bits."""
    pairs = torch.stack([x & 0xF, x >> 4], dim=-1).flatten(-2)
    return torch.tensor(_VALUES, dtype=torch.float32, device=x.device)[pairs.long()]


def e8m0_to_f32(x):
    """2 to the power of x - 127; 255 is NaN."""
    made = torch.exp2(x.to(torch.float32) - 127)
    return torch.where(x == 255, float("nan"), made)


def generate_gemm_afp4wfp4_inputs(shape, device=None):
    """x [M, K/2], w [K/2, N] (a transposed view), scales of both."""
    m, n, k = shape
    torch.manual_seed(5)

    def nibbles(rows):
        low, high = (torch.randint(0, 16, (rows, k // 2), dtype=torch.uint8, device=device) for _ in range(2))
        return low | high << 4

    def scales(rows):
        return torch.randint(124, 128, (rows, k // SCALE_GROUP_SIZE), dtype=torch.uint8, device=device)

    x, w = nibbles(m), nibbles(n)
    return x, w.T, scales(m), scales(n)


def torchScaledGemmMXFP4(x, w, x_scales, w_scales):
    """The product of the elements times their scales, in f32."""

    def dequantised(elements, scales):
        return mxfp4_to_f32(elements) * e8m0_to_f32(scales).repeat_interleave(SCALE_GROUP_SIZE, dim=1)

    return dequantised(x, x_scales) @ dequantised(w.T, w_scales).T


def b_preshuffle(b):
    """Rows in blocks of 16, runs of 16 bytes: [N, K/2] in the order in which instructions take it."""
    n, bytes_ = b.shape
    return b.view(n // 16, 16, bytes_ // 32, 2, 16).permute(0, 2, 3, 1, 4).contiguous().view(n, bytes_)


def e8m0_shuffle(scale):
    """Scales in the order in which instructions take them; shape as given."""
    if scale is None:
        return scale
    m, n = scale.shape
    rows, columns = -(-m // 256) * 256, -(-n // 8) * 8
    padded = torch.zeros(rows, columns, dtype=scale.dtype, device=scale.device)
    padded[:m, :n] = scale
    shuffled = padded.view(rows // 32, 2, 16, columns // 8, 2, 4).permute(0, 3, 5, 2, 4, 1).contiguous()
    return shuffled.view(rows, columns)[:m, :n].contiguous()
