"""Row softmax and norms beside the fastest copy of the same run: what is read and written once."""
import ctypes

from arms import difference
from protocol import sets_of
from report import Table

SIZES = [(8192, 8192), (65536, 1024)]
KERNELS = ("row_softmax", "rms_norm", "layer_norm")
EPSILON = 1e-5


def tiles(columns):
    """What `auto` takes, tiles of several rows that loops walk, a row a workgroup by several waves, and a row a wave."""
    yield "auto", []
    yield "16 rows by 256", ["--set", "BLOCK_M=16,BLOCK_N=256,WAVES_M=4,WAVES_N=1"]
    for waves in (2, 4, 8, 16):
        if columns // (32 * waves) in (8, 16, 32):
            yield f"a row by {waves} waves", ["--set", f"BLOCK_M=1,BLOCK_N={columns},WAVES_M=1,WAVES_N={waves}"]
    if columns <= 1024:
        yield "a row a wave", ["--set", f"BLOCK_M=4,BLOCK_N={columns},WAVES_M=4,WAVES_N=1"]


COPIES = [("copy, auto", []), ("copy, 64 by 64", ["--set", "BLOCK_M=64,BLOCK_N=64"])]


def words_of(kernel, size, words):
    return [kernel, "--dtype", "f16", "--size", f"M={size[0]},N={size[1]}", *words]


class Rows:
    @staticmethod
    def wanted():
        return [words_of(kernel, size, words) for size in SIZES for kernel in KERNELS for _, words in tiles(size[1])] + [
            words_of("copy", size, words) for size in SIZES for _, words in COPIES]

    @staticmethod
    def tables(bench):
        return [table(bench, size) for size in SIZES]


def wanted_of(kernel, a, weight, shift):
    import torch

    x = a.float()
    if kernel == "row_softmax":
        return torch.softmax(x, 1)
    if kernel == "rms_norm":
        return x * torch.rsqrt((x * x).mean(1, keepdim=True) + EPSILON) * weight.float()
    return torch.nn.functional.layer_norm(x, x.shape[1:], weight.float(), shift.float(), EPSILON)


def arguments_of(kernel, a, weight, shift, b):
    scalar = ctypes.c_float(EPSILON)
    return {"row_softmax": (a, b), "copy": (a, b), "rms_norm": (a, weight, scalar, b), "layer_norm": (a, weight, shift, scalar, b)}[kernel]


def table(bench, size):
    import torch

    def make():
        a = torch.randn(*size, device="cuda", dtype=torch.float16)
        return a, torch.randn(size[1], device="cuda", dtype=torch.float16), torch.randn(size[1], device="cuda", dtype=torch.float16), torch.empty_like(a)

    sets = sets_of(make, 4 * size[0] * size[1])
    arms = {"torch copy_": [lambda a=a, b=b: b.copy_(a) for a, _, _, b in sets]}
    a, weight, shift, b = sets[0]
    for name, words in COPIES:
        b.fill_(float("nan"))
        bench.arm(arms, name, [(words_of("copy", size, words), [arguments_of("copy", *each) for each in sets])],
                  lambda: None if torch.equal(a, b) else "wrong elements")
    for kernel in KERNELS:
        reference = wanted_of(kernel, a, weight, shift)
        for tile, words in tiles(size[1]):
            b.fill_(float("nan"))
            bench.arm(arms, f"{kernel}, {tile}", [(words_of(kernel, size, words), [arguments_of(kernel, *each) for each in sets])],
                      lambda: difference(b, reference, 2e-3))
    b.fill_(float("nan"))
    bench.triton(arms, "Triton row_softmax", lambda kernels, a, weight, shift, b: kernels.softmax(a, b), sets,
                 lambda: difference(b, wanted_of("row_softmax", a, weight, shift), 2e-3))
    return Table(f"f16 {size[0]}x{size[1]}: bandwidth beside the fastest copy", ("torch copy_", *(name for name, _ in COPIES)), 4.0 * size[0] * size[1], "TB/s", bench.measure(arms))
