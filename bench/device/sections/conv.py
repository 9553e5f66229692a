"""Convolution (NHWC) beside cuDNN, which torch asks with `channels_last` and `cudnn.benchmark`."""
from arms import difference
from protocol import sets_of
from report import Table

# Images, rows and columns, channels in and out, filter, stride, padding, dilation: the measure's, one without neighbours, one with steps, a
# larger image, a wider filter, few channels, channels that no whole row of shared memory holds.
SHAPES = [(32, 28, 28, 512, 512, 3, 1, 1, 1), (32, 28, 28, 512, 512, 1, 1, 0, 1), (32, 28, 28, 512, 512, 3, 2, 1, 1), (32, 56, 56, 256, 256, 3, 1, 1, 1),
          (32, 28, 28, 512, 512, 3, 1, 2, 2), (32, 56, 56, 64, 64, 3, 1, 1, 1), (32, 56, 56, 96, 192, 3, 1, 1, 1)]
# Tiles beside what `auto` takes: rows, columns, depth, tiles of a band.
TILES = {SHAPES[0]: [(128, 128, 64, 8), (256, 128, 64, 8)], SHAPES[1]: [(128, 128, 64, 8), (256, 128, 64, 8)], SHAPES[3]: [(128, 128, 64, 8), (256, 128, 64, 8)],
         SHAPES[5]: [(64, 64, 64, 8), (256, 64, 64, 8)], SHAPES[6]: [(128, 192, 96, 8)]}


def words_of(shape, words, dtype="f16"):
    b, h, w, c, f, r, stride, pad, dilation = shape
    return ["conv2d_nhwc", "--dtype", dtype, "--size", f"B={b},H={h},W={w},C={c},F={f},R={r},S={r},STRIDE={stride},PAD={pad},DILATION={dilation}", *words]


def by_hand(rows, columns, depth, raster):
    return ["--schedule", "ring", "--direct-copies", "on", "--staged-writes", "on", "--raster", str(raster), "--mma", f"F32_64x{columns}x16_F16",
            "--set", f"BLOCK_M={rows},BLOCK_F={columns},BLOCK_K={depth},WAVES_M={rows // 16},WAVES_F=1"]


def choices(shape):
    yield "auto", ["--schedule", "auto"]
    for rows, columns, depth, raster in TILES.get(shape, []):
        yield f"ring, {rows}x{columns}x{depth}, bands of {raster}", by_hand(rows, columns, depth, raster)


class Convolution:
    @staticmethod
    def wanted():
        return [words_of(shape, words) for shape in SHAPES for _, words in choices(shape)] + [words_of(SHAPES[0], ["--schedule", "auto"], "bf16")]

    @staticmethod
    def tables(bench):
        return [table(bench, shape, list(choices(shape))) for shape in SHAPES] + [table(bench, SHAPES[0], [("auto", ["--schedule", "auto"])], "bf16")]


def table(bench, shape, choices, dtype="f16"):
    import torch

    b, h, w, c, f, r, stride, pad, dilation = shape
    element, bound = {"f16": (torch.float16, 2e-3), "bf16": (torch.bfloat16, 1e-2)}[dtype]
    rows, columns = ((size + 2 * pad - dilation * (r - 1) - 1) // stride + 1 for size in (h, w))

    def make():
        x, filters = (torch.randn(*size, device="cuda", dtype=element) for size in ((b, h, w, c), (f, r, r, c)))
        return x, filters, torch.empty(b, rows, columns, f, device="cuda", dtype=element)

    def theirs(x, filters):
        # Views of NHWC tensors in torch's order of dimensions: `channels_last`, without a copy.
        return torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), filters.permute(0, 3, 1, 2), stride=stride, padding=pad, dilation=dilation)

    sets = sets_of(make, 2 * (b * h * w * c + f * r * r * c + b * rows * columns * f))
    torch.backends.cudnn.benchmark = True
    arms = {"cuDNN": [lambda x=x, filters=filters: theirs(x, filters) for x, filters, _ in sets]}
    # Without TF32, which would be no reference.
    torch.backends.cudnn.allow_tf32 = False
    reference = theirs(sets[0][0].float(), sets[0][1].float()).permute(0, 2, 3, 1)
    for name, words in choices:
        sets[0][2].fill_(float("nan"))
        bench.arm(arms, name, [(words_of(shape, words, dtype), sets)], lambda: difference(sets[0][2], reference, bound))
    title = f"{dtype} convolution {r}x{r}, {b}x{h}x{w}x{c} to {f}, stride {stride}, padding {pad}" + (f", dilation {dilation}" if dilation > 1 else "")
    return Table(title, ("cuDNN",), 2.0 * b * rows * columns * f * r * r * c, "TFLOP/s", bench.measure(arms))
