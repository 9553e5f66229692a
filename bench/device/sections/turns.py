"""Teams of waves that take turns at products, with tiles that overlap and without: attention."""
from sections import attention

AUTO = ["--schedule", "auto"]
TURNS, OVERLAP = ["--turns", "on"], ["--persistent", "132", "--overlap-tiles", "on"]
SHAPES = [*attention.SHAPES, (16, 32, 1024, 64), (16, 16, 1024, 128)]
WAYS = [("auto", AUTO), ("turns", [*AUTO, *TURNS]), ("tiles overlap", [*AUTO, *OVERLAP]), ("turns, tiles overlap", [*AUTO, *OVERLAP, *TURNS])]


class Turns:
    @staticmethod
    def wanted():
        return [attention.words_of(kernel, shape, words) for shape in SHAPES for kernel in attention.KERNELS for _, words in WAYS]

    @staticmethod
    def tables(bench):
        return [attention.table(bench, shape, kernel, WAYS) for shape in SHAPES for kernel in attention.KERNELS]
