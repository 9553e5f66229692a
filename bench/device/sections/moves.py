"""Copies and transpositions beside the fastest copy of the run."""
from protocol import sets_of
from report import Table

SIZE = 8192
TILES = [("auto", []), ("64x64", ["--set", "BLOCK_M=64,BLOCK_N=64"]), ("64x128", ["--set", "BLOCK_M=64,BLOCK_N=128"]), ("128x64", ["--set", "BLOCK_M=128,BLOCK_N=64"])]


def words_of(kernel, words):
    return [kernel, "--dtype", "f16", "--size", f"M={SIZE},N={SIZE}", *words]


class Transpose:
    @staticmethod
    def wanted():
        return [words_of(kernel, words) for kernel in ("copy", "transpose") for _, words in TILES]

    @staticmethod
    def tables(bench):
        import torch

        sets = sets_of(lambda: tuple(torch.randn(SIZE, SIZE, device="cuda", dtype=torch.float16) for _ in range(2)), 4 * SIZE**2)
        arms = {"torch copy_": [lambda a=a, b=b: b.copy_(a) for a, b in sets], "torch transpose": [lambda a=a, b=b: b.copy_(a.T) for a, b in sets]}
        first, result = sets[0]
        for kernel, wanted in (("copy", first), ("transpose", first.T)):
            for tile, words in TILES:
                result.fill_(float("nan"))
                bench.arm(arms, f"{kernel}, {tile}", [(words_of(kernel, words), sets)], lambda: None if torch.equal(result, wanted) else "wrong elements")
        copies = tuple(name for name in arms if name.startswith(("torch copy_", "copy")))
        return [Table(f"f16 {SIZE}x{SIZE}: bandwidth beside the fastest copy", copies, 4.0 * SIZE**2, "TB/s", bench.measure(arms))]
