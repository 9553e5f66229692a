"""Teams of waves that take turns at products, with tiles that overlap and without: attention."""
from sections import attention, overlap

AUTO = ["--schedule", "auto"]
OVERLAP = ["--persistent", "132", *overlap.ON]
WAYS = [("auto", AUTO), ("neither", [*AUTO, "--turns", "off", *overlap.OFF]), ("turns", [*AUTO, "--turns", "on", *overlap.OFF]),
        ("tiles overlap", [*AUTO, *OVERLAP, "--turns", "off"]), ("turns, tiles overlap", [*AUTO, *OVERLAP, "--turns", "on"])]


class Turns:
    @staticmethod
    def wanted():
        return [attention.words_of(kernel, shape, words) for shape in overlap.SHAPES for kernel in attention.KERNELS for _, words in WAYS]

    @staticmethod
    def tables(bench):
        return [attention.table(bench, shape, kernel, WAYS) for shape in overlap.SHAPES for kernel in attention.KERNELS]
