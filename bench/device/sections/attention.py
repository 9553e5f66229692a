"""Attention forward beside cuDNN."""
import ctypes

from arms import difference
from protocol import sets_of
from report import Table

# batch, heads, length, depth: as many queries in all as keep the device busy.
SHAPES = [(4, 16, 4096, 128), (1, 16, 16384, 128), (4, 32, 4096, 64)]
KERNELS = {"attention": False, "attention_causal": True}
# Rows and the step along the keys; 192 rows leave registers for 64 columns.
TILES = [(rows, step) for rows in (64, 128, 192) for step in (64, 96, 128, 160)]
BESIDE = ["--schedule", "ring", "--mma", "F32_64xNx16_F16", "--direct-copies", "on", "--staged-writes", "on"]


def words_of(kernel, shape, words, dtype="f16"):
    b, h, s, d = shape
    return [kernel, "--dtype", dtype, "--size", f"B={b},H={h},Q={s},KV={s},D={d}", *words]


def choices(shape):
    """What `auto` takes, and tiles that it could take."""
    fits = [(rows, step) for rows, step in TILES if rows * shape[3] <= 192 * 64 or (rows <= 128 and step <= 128)]
    return [("auto", ["--schedule", "auto"])] + [
        (f"ring, {rows} rows by {step}", ["--set", f"BLOCK_Q={rows},BLOCK_KV={step},WAVES={rows // 16}", *BESIDE]) for rows, step in fits]


class Attention:
    @staticmethod
    def wanted():
        return [words_of(kernel, shape, words) for shape in SHAPES for kernel in KERNELS for _, words in choices(shape)]

    @staticmethod
    def tables(bench):
        return [table(bench, shape, kernel) for shape in SHAPES for kernel in KERNELS]


def table(bench, shape, kernel, ways=None):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    b, h, s, d = shape
    causal, scale = KERNELS[kernel], d ** -0.5

    def make():
        q, k, v = (torch.randn(b, h, s, d, device="cuda", dtype=torch.float16) for _ in range(3))
        return q, k, v, torch.empty_like(q)

    def theirs(backend, q, k, v, o):
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)

    sets = sets_of(make, 4 * b * h * s * d * 2)
    arms = {name: [lambda each=each, backend=backend: theirs(backend, *each) for each in sets]
            for name, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION), ("FLASH", SDPBackend.FLASH_ATTENTION))}
    reference = torch.cat([torch.nn.functional.scaled_dot_product_attention(*(t[:, i:i + 1].float() for t in sets[0][:3]), is_causal=causal, scale=scale)
                           for i in range(h)], dim=1)
    for choice, words in ways or choices(shape):
        sets[0][3].fill_(float("nan"))
        # The scale comes behind the inputs.
        bench.arm(arms, choice, [(words_of(kernel, shape, words), [(*each[:3], ctypes.c_float(scale), each[3]) for each in sets])],
                  lambda: difference(sets[0][3], reference, 4e-3))
    sets[0][3].fill_(float("nan"))
    bench.triton(arms, "Triton", lambda kernels, q, k, v, o: kernels.attention(q, k, v, o, scale, causal), sets, lambda: difference(sets[0][3], reference, 4e-3))
    work = 4.0 * b * h * s * s * d * (0.5 if causal else 1.0)
    return Table(f"{'causal ' if causal else ''}attention f16 B{b} H{h} S{s} D{d}", ("cuDNN",), work, "TFLOP/s", bench.measure(arms))
