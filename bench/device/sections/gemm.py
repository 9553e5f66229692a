"""Matrix products beside cuBLAS: under `auto`, with rows that are not aligned, by hand-picked tiles and schedules."""
from arms import difference
from protocol import sets_of
from report import Table

SQUARE = [("modulo", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64"), ("modulo", "BLOCK_M=128,BLOCK_N=256,BLOCK_K=32,WAVES_M=2,WAVES_N=4"),
          ("modulo", "BLOCK_M=128,BLOCK_N=256,BLOCK_K=64,WAVES_M=2,WAVES_N=4"), ("cp_async_multistage", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=32"),
          ("modulo", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=32"), ("prefetch", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64")]
# Matrix instructions of four waves that read shared memory by themselves: instruction, schedule, tiles.
GROUPS = [("F32_64x256x16_F16", schedule, "BLOCK_M=128,BLOCK_N=256,BLOCK_K=64,WAVES_M=8,WAVES_N=1") for schedule in ("prefetch", "modulo")]
GROUPS += [("F32_64x128x16_F16", "prefetch", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64,WAVES_M=8,WAVES_N=1"),
           ("F32_64x256x16_F16", "prefetch", "BLOCK_M=128,BLOCK_N=256,BLOCK_K=32,WAVES_M=8,WAVES_N=1")]
# Few rows: sizes, and tiles whose rows are the instruction's. Others have them on its columns.
FEW_SIZES = [(16, 4096, 4096), (16, 8192, 8192), (64, 4096, 4096), (128, 4096, 4096)]
FEW_TILES = [(64, 64), (64, 128), (128, 64), (128, 128)]
# Declared pipelines and the ring, by the same instructions and copies: schedule, instruction, tiles.
WRITTEN = ["--direct-copies", "on", "--raster", "8", "--staged-writes", "on"]
DECLARED = [("ring", "F32_64x256x16_F16", "BLOCK_M=128,BLOCK_N=256,BLOCK_K=64,WAVES_M=8,WAVES_N=1"),
            ("pipeline4wave", "F32_64x64x16_F16", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64,WAVES_M=4,WAVES_N=1"),
            ("pipeline4wave", "F32_64x64x16_F16", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=32,WAVES_M=4,WAVES_N=1"),
            ("pipeline4wave", "F32_64x96x16_F16", "BLOCK_M=128,BLOCK_N=192,BLOCK_K=64,WAVES_M=4,WAVES_N=1"),
            ("ping_pong", "F32_64x64x16_F16", "BLOCK_M=256,BLOCK_N=128,BLOCK_K=64,WAVES_M=8,WAVES_N=1"),
            ("ping_pong", "F32_64x64x16_F16", "BLOCK_M=128,BLOCK_N=256,BLOCK_K=64,WAVES_M=4,WAVES_N=2"),
            ("single_buffer", "F32_64x64x16_F16", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64,WAVES_M=4,WAVES_N=1")]
UNALIGNED = (4095, 4097, 4099)
# What nobody said anything about: sizes, and element types.
AUTO = [(4096, 4096, 4096), (8192, 8192, 8192), (8192, 28672, 4096), (2048, 2048, 2048), (128, 4096, 4096), (16, 4096, 4096), (16, 8192, 8192), UNALIGNED]
AUTO_WORDS = ["--schedule", "auto"]
DIRECT = ["--schedule", "modulo", "--direct-copies", "on"]
ROWS = [("as chosen, 128x128x64", [*DIRECT, "--set", SQUARE[0][1]]), ("as chosen, 128x256x64", [*DIRECT, "--set", SQUARE[2][1]]),
        ("as chosen, 128x128x32", [*DIRECT, "--set", SQUARE[4][1]]),
        ("as chosen, cp_async_multistage, 128x128x32", ["--schedule", "cp_async_multistage", "--set", SQUARE[3][1]]),
        ("as chosen, sizes known at launch, 128x128x32", [*DIRECT, "--set", SQUARE[4][1], "--dynamic", "M,N,K"]),
        ("rows as they are, 128x128x64", ["--schedule", "modulo", "--padded-rows", "off", "--set", SQUARE[0][1]])]


def words_of(m, n, k, words, dtype="f16"):
    return ["gemm", "--dtype", f"{dtype}-{dtype}", "--size", f"M={m},N={n},K={k}", *words]


def table(bench, title, size, choices, dtype="f16", triton=False):
    """cuBLAS and ours, and Triton's where asked for, on the same buffers; results are compared with f32 first."""
    import torch

    m, n, k = size
    element, bound = {"f16": (torch.float16, 2e-3), "bf16": (torch.bfloat16, 1e-2)}[dtype]

    def make():
        a, b = (torch.randn(rows, k, device="cuda", dtype=element) for rows in (m, n))
        return a, b, torch.empty(m, n, device="cuda", dtype=element)

    sets = sets_of(make, 2 * (m * k + n * k + m * n))
    arms = {"cuBLAS": [lambda a=a, b=b, c=c: torch.matmul(a, b.T, out=c) for a, b, c in sets]}
    reference = sets[0][0].float() @ sets[0][1].float().T
    for name, words in choices:
        sets[0][2].fill_(float("nan"))
        bench.arm(arms, name, [(words_of(*size, words, dtype), sets)], lambda: difference(sets[0][2], reference, bound))
    if triton:
        sets[0][2].fill_(float("nan"))
        bench.triton(arms, "Triton", lambda kernels, a, b, c: kernels.matmul(a, b, c), sets, lambda: difference(sets[0][2], reference, bound))
    return Table(title, ("cuBLAS",), 2.0 * m * n * k, "TFLOP/s", bench.measure(arms))


class Auto:
    """Nothing but the sizes is said."""

    @staticmethod
    def wanted():
        return [words_of(*size, AUTO_WORDS, dtype) for size in AUTO for dtype in ("f16", "bf16")]

    @staticmethod
    def tables(bench):
        return [table(bench, "{} GEMM {}x{}x{} ({} out), `--schedule auto`".format(dtype, *size, dtype), size, [("auto", AUTO_WORDS)], dtype, triton=True)
                for dtype in ("f16", "bf16") for size in AUTO]


class FewRows:
    """Products whose weights are read once: tiles, what an iteration takes of K, and clusters, one beside the other."""

    @staticmethod
    def choices(m):
        straight = [(rows, columns, False) for rows, columns in FEW_TILES if rows <= m or rows == columns == 64]
        for rows, columns, exchanged in straight + ([(m, 64, True)] if m <= 64 else []):
            for deep in (64, 128, 256) if exchanged else (64, 128):
                for cluster in (1, 2):
                    waves = (1, columns // 16) if exchanged else (rows // 16, 1)
                    words = ["--schedule", "ring", "--direct-copies", "on", "--staged-writes", "off" if cluster > 1 else "on", "--raster", "8",
                             "--mma", f"F32_64x{rows if exchanged else columns}x16_F16",
                             "--set", f"BLOCK_M={rows},BLOCK_N={columns},BLOCK_K={deep},WAVES_M={waves[0]},WAVES_N={waves[1]}"]
                    name = f"{rows}x{columns}x{deep}" + (" exchanged" if exchanged else "") + (f", cluster {cluster}" if cluster > 1 else "")
                    yield name, words + (["--cluster", str(cluster)] if cluster > 1 else [])

    @classmethod
    def wanted(cls):
        return [words_of(*size, words) for size in FEW_SIZES for _, words in [("auto", AUTO_WORDS), *cls.choices(size[0])]]

    @classmethod
    def tables(cls, bench):
        return [table(bench, "f16 GEMM {}x{}x{} (f16 out): few rows".format(*size), size, [("auto", AUTO_WORDS), *cls.choices(size[0])])
                for size in FEW_SIZES]


class Unaligned:
    @staticmethod
    def wanted():
        return [words_of(*UNALIGNED, words) for _, words in ROWS]

    @staticmethod
    def tables(bench):
        return [table(bench, "f16 GEMM {}x{}x{} (f16 out): rows that are not aligned".format(*UNALIGNED), UNALIGNED, ROWS)]


def named(tile):
    """128x256x64, of `BLOCK_M=128,BLOCK_N=256,BLOCK_K=64,…`."""
    return "x".join(value.split("=")[1] for value in tile.split(",")[:3])


class Pipelines:
    """Declared pipelines beside the ring."""

    @staticmethod
    def choices():
        return [(f"{s}, {mma}, {named(tile)}", ["--schedule", s, "--mma", mma, "--set", tile, *WRITTEN]) for s, mma, tile in DECLARED]

    @classmethod
    def wanted(cls):
        return [words_of(4096, 4096, 4096, words, dtype) for dtype in ("f16", "bf16") for _, words in cls.choices()]

    @classmethod
    def tables(cls, bench):
        return [table(bench, f"{dtype} GEMM 4096³ ({dtype} out), declared pipelines", (4096, 4096, 4096), cls.choices(), dtype)
                for dtype in ("f16", "bf16")]


class Square:
    """Tiles, instructions and schedules that somebody wrote down."""

    @staticmethod
    def choices():
        return [(f"{s}, direct copies, {named(tile)}", ["--schedule", s, "--direct-copies", "on", "--set", tile]) for s, tile in SQUARE] + [
            (f"{mma}, {s}, direct copies, {named(tile)}", ["--mma", mma, "--schedule", s, "--direct-copies", "on", "--set", tile]) for mma, s, tile in GROUPS]

    @classmethod
    def wanted(cls):
        return [words_of(n, n, n, words) for n in (2048, 4096, 8192) for _, words in cls.choices()]

    @classmethod
    def tables(cls, bench):
        return [table(bench, f"f16 GEMM {n}³ (f16 out)", (n, n, n), cls.choices()) for n in (2048, 4096, 8192)]
