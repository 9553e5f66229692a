"""Results that leave in boxes beside those that lanes write: products and attention under `auto`, with and without."""
from sections import attention, gemm

SIZES = [(2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (8192, 28672, 4096)]
SHAPES = [(4, 16, 4096, 128), (4, 32, 4096, 64)]
WAYS = [("boxes", ["--schedule", "auto"]), ("lanes", ["--schedule", "auto", "--boxed-writes", "off"])]


class Stores:
    @staticmethod
    def wanted():
        return [gemm.words_of(*size, words, dtype) for size in SIZES for dtype in ("f16", "bf16") for _, words in WAYS] + [
            attention.words_of("attention", shape, words) for shape in SHAPES for _, words in WAYS]

    @staticmethod
    def tables(bench):
        products = [gemm.table(bench, "{} GEMM {}x{}x{} ({} out), how it is written".format(dtype, *size, dtype), size, WAYS, dtype)
                    for dtype in ("f16", "bf16") for size in SIZES]
        return products + [attention.table(bench, shape, "attention", WAYS) for shape in SHAPES]
