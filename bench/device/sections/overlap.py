"""Tiles that overlap, beside those that begin when all waves are done with the last one: attention, and products with service waves."""
from sections import attention, eight_bit, gemm

ON, OFF = ["--overlap-tiles", "on"], ["--overlap-tiles", "off"]
AUTO = ["--schedule", "auto"]
# The length that the bars are about, and one whose tiles have few steps, between which there is the most to gain.
SHAPES = [*attention.SHAPES, (16, 32, 1024, 64), (16, 16, 1024, 128)]
CHAINS = [("no tiles overlap", [*AUTO, *OFF]), ("tiles overlap", [*AUTO, "--persistent", "132", *ON])]
SIZES = [(4096, 4096, 4096), (8192, 8192, 8192)]
SERVED = [*AUTO, "--service-waves", "4", "--persistent", "132"]
PRODUCTS = [("auto", AUTO), ("service waves", SERVED), ("service waves, tiles overlap", [*SERVED, *ON])]
BYTES = [("no tiles overlap", [*AUTO, *OFF]), ("tiles overlap", [*AUTO, *ON])]


class Overlap:
    @staticmethod
    def wanted():
        chains = [attention.words_of(kernel, shape, words) for shape in SHAPES for kernel in attention.KERNELS for _, words in CHAINS]
        products = [gemm.words_of(*size, words) for size in SIZES for _, words in PRODUCTS]
        return chains + products + [eight_bit.words_of(*size, words, "f16") for size in SIZES for _, words in BYTES]

    @staticmethod
    def tables(bench):
        chains = [attention.table(bench, shape, kernel, CHAINS) for shape in SHAPES for kernel in attention.KERNELS]
        products = [gemm.table(bench, "f16 GEMM {}x{}x{} (f16 out), tiles that overlap".format(*size), size, PRODUCTS) for size in SIZES]
        return chains + products + [eight_bit.table(bench, size, "exact", "f16", BYTES) for size in SIZES]
