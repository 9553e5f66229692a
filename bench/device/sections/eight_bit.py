"""Products of 8-bit floats beside cuBLASLt: sums that go on in f32 after every tile beside its slow accumulation, short ones beside its fast one."""
from arms import difference
from protocol import sets_of
from report import Table

SIZES = [(8192, 8192, 8192), (4096, 4096, 4096)]
OUTPUTS = ("f16", "bf16")
# The words, cuBLASLt's way of adding, and the error that random normal inputs may have, of the largest element: several times what
# hand-written kernels had at K = 8192 (2.4e-4 and 2.1e-3 of the norm), since the output's own rounding is in it.
MODES = {"exact": ([], False, {"f16": 2e-3, "bf16": 1e-2}), "short sums": (["--short-sums", "on"], True, {"f16": 1e-2, "bf16": 2e-2})}
TILES = [("128x192x128", "F32_64x192x32_F8", "BLOCK_M=128,BLOCK_N=192,BLOCK_K=128,WAVES_M=8,WAVES_N=1"),
         ("128x128x128", "F32_64x128x32_F8", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=128,WAVES_M=8,WAVES_N=1")]
BESIDE = ["--schedule", "ring", "--direct-copies", "on", "--staged-writes", "on", "--raster", "8"]


def words_of(m, n, k, words, out):
    return ["gemm", "--dtype", f"f8-{out}", "--size", f"M={m},N={n},K={k}", *words]


def choices(mode):
    words = MODES[mode][0]
    return [("auto", ["--schedule", "auto", *words])] + [
        (f"ring, {name}", ["--mma", mma, "--set", tile, *BESIDE, *words]) for name, mma, tile in TILES]


class EightBit:
    @staticmethod
    def wanted():
        return [words_of(*size, words, out) for mode in MODES for size in SIZES for out in OUTPUTS for _, words in choices(mode)]

    @staticmethod
    def tables(bench):
        return [table(bench, size, mode, out) for size in SIZES for mode in MODES for out in OUTPUTS]


def table(bench, size, mode, out, ways=None):
    import torch

    m, n, k = size
    _, fast, bounds = MODES[mode]
    element = {"f16": torch.float16, "bf16": torch.bfloat16}[out]
    one = torch.ones((), device="cuda")

    def make():
        a, b = (torch.randn(rows, k, device="cuda").to(torch.float8_e4m3fn) for rows in (m, n))
        return a, b, torch.empty(m, n, device="cuda", dtype=element)

    def theirs(a, b, c):
        return torch._scaled_mm(a, b.T, scale_a=one, scale_b=one, out_dtype=element, use_fast_accum=fast, out=c)

    sets = sets_of(make, m * k + n * k + 2 * m * n)
    name = f"cuBLASLt, {'fast' if fast else 'slow'} accumulation"
    arms = {name: [lambda a=a, b=b, c=c: theirs(a, b, c) for a, b, c in sets]}
    reference = sets[0][0].float() @ sets[0][1].float().T
    for choice, words in ways or choices(mode):
        sets[0][2].fill_(float("nan"))
        bench.arm(arms, choice, [(words_of(*size, words, out), sets)], lambda: difference(sets[0][2], reference, bounds[out]))
    return Table(f"f8 (e4m3) GEMM {m}x{n}x{k} ({out} out), {mode}", (name,), 2.0 * m * n * k, "TFLOP/s", bench.measure(arms))
