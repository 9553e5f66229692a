"""Teams of waves that take turns at products, with tiles that overlap and without: attention."""
from sections import attention, overlap

AUTO = ["--schedule", "auto"]
TURNS, OVERLAP = ["--turns", "on"], ["--persistent", "132", "--overlap-tiles", "on"]
WAYS = [("auto", AUTO), ("turns", [*AUTO, *TURNS]), ("tiles overlap", [*AUTO, *OVERLAP]), ("turns, tiles overlap", [*AUTO, *OVERLAP, *TURNS])]


class Turns:
    @staticmethod
    def wanted():
        return [attention.words_of(kernel, shape, words) for shape in overlap.SHAPES for kernel in attention.KERNELS for _, words in WAYS]

    @staticmethod
    def tables(bench):
        return [attention.table(bench, shape, kernel, WAYS) for shape in overlap.SHAPES for kernel in attention.KERNELS]
