#!/usr/bin/env python3
"""Attention, rows, convolutions and products with something behind them, on a GPU: right at every size, between guards, the same bits
every time.

  python3 bench/device/chains.py --prepare images --soliton build/bin/soliton     # on a machine with the compiler
  python3 bench/device/chains.py --images images                                  # on one with the GPU
  python3 bench/device/chains.py --images images --only attention                 # kernels whose names begin so
  python3 bench/device/chains.py --images images --overlap                        # attention of few workgroups, whose tiles overlap
  python3 bench/device/chains.py --images images --overlap --turns                # and whose teams of waves take turns
  compute-sanitizer --tool memcheck python3 bench/device/chains.py --images images --small --workers 0

All under `--schedule auto`, but for `--overlap` and `--turns`. Each element must be within what the arithmetic allows (references.py); every tensor lies between guards,
NaN around what is read, so that an element that comes from beside a tensor shows, and outputs begin as NaN. The largest size of a kernel
runs 300 times and must give the same bits every time. Prints a line for each kernel, and exits with 1 if anything is wrong.
"""
import argparse
import concurrent.futures
import ctypes
import functools
import math
import os
import sys

from isolated import WORKERS, Job, judge, report
from launch import Compiler, Kernel, evaluate
from references import REFERENCES

REPEATS = 300
GUARD_BYTES = 1024
# Queries and keys: whole tiles, one row, one key, less than a box, odd numbers of tiles, rows that fill none.
SEQUENCES = [(256, 256), (1, 1), (1, 300), (300, 1), (5, 7), (77, 131), (129, 127), (640, 704), (1000, 1000)]
# More tiles than compute units, of which workgroups walk several: whole ones, and rows that fill none.
WALKED = [(2304, 640), (2200, 2200)]
ATTENTION = ("attention", "attention_causal", "attention_lse", "attention_causal_lse", "attention_bshd")
GROUPED = ("attention_gqa", "attention_gqa_causal_bshd")
OF_DATA = ("attention_lengths", "attention_ragged")
# Keys, heads that share them, parts: more parts than keys, parts that are empty, one of each.
DECODED = [(512, 4, 4), (1, 1, 1), (131, 5, 3), (7, 8, 8), (1000, 4, 7), (4096, 8, 2)]
ROWS = [(1, 1), (1, 8), (3, 1000), (129, 1031), (77, 8192), (1000, 1024), (2, 16384)]
# Odd numbers of tiles, boxes larger than the tensor, one row, K of 8.
PRODUCTS = [(256, 512, 256), (384, 768, 320), (130, 272, 200), (1, 8, 8), (72, 40, 16), (129, 520, 72), (127, 131, 77), (1000, 1000, 1000)]
BEHIND = ("gemm_bias", "gemm_relu", "gemm_gelu", "gemm_silu", "gemm_residual", "gemm_gated")
CONVOLUTIONS = [{"B": 2, "H": 28, "W": 28, "C": 64, "F": 128}, {"B": 1, "H": 9, "W": 11, "C": 8, "F": 24, "STRIDE": 2}, {"B": 3, "H": 14, "W": 14, "C": 40, "F": 72},
                {"B": 1, "H": 1, "W": 1, "C": 8, "F": 8, "R": 1, "S": 1, "PAD": 0}, {"B": 2, "H": 17, "W": 13, "C": 5, "F": 7, "DILATION": 2, "PAD": 2}]


# Six workgroups walk all tiles, in order or as they draw them. Their waves go on by themselves, or teams of them take turns, or both.
WALKING = ["--schedule", "ring", "--mma", "F32_64xNx16_F16", "--direct-copies", "on", "--staged-writes", "on", "--persistent", "6", "--service-waves", "4"]


def walking(sizes, ways):
    # A loop over few keys becomes straight code, which large tiles have no registers for.
    rows = 192 if sizes["D"] == 64 and (sizes["Q"], sizes["KV"]) in WALKED else 128
    return ["--set", f"BLOCK_Q={rows},BLOCK_KV=128,WAVES={rows // 16}", *WALKING, *ways]


def walks(kernel, dtype, sizes, ways):
    # Two or three steps are straight code, of which some spills, and is refused: over 64 columns, and over 128 where waves meet between tiles.
    straight = {64: (256, 300), 128: () if "--overlap-tiles" in ways else (300,)}
    return kernel in ATTENTION + GROUPED and dtype == "f16" and sizes["KV"] not in straight[sizes["D"]]


def all_cases():
    """(kernel, dtype, sizes)"""
    for depth in (64, 128):
        for kernel in ATTENTION + GROUPED + OF_DATA:
            for queries, keys in SEQUENCES + ([] if kernel in OF_DATA else WALKED):
                many = 6 if (queries, keys) in WALKED else 1
                sizes = {"B": 4 if kernel in OF_DATA else 2, "H": 6 if kernel in GROUPED else 2 * many, "Q": queries, "KV": keys, "D": depth}
                if kernel in GROUPED or kernel == "attention_ragged":
                    sizes["H_KV"] = 2 if kernel in GROUPED else 1
                for dtype in ("f16", "bf16") if kernel == "attention" else ("f16",):
                    yield kernel, dtype, sizes
        for queries, keys in SEQUENCES:
            yield "attention_paged", "f16", {"B": 4, "H": 6, "H_KV": 2, "Q": queries, "KV": keys, "D": depth, "PAGES": 2 * -(-keys // 32) + 1, "PAGE": 32}
        for keys, group, splits in DECODED:
            yield "attention_decode_split", "f16", {"B": 4, "H_KV": 2, "GROUP": group, "SPLITS": splits, "KV": keys, "D": depth}
            yield "attention_decode_combine", "f16", {"B": 4, "H": 2 * group, "SPLITS": splits, "D": depth}
    for kernel in ("row_softmax", "rms_norm", "layer_norm"):
        for rows, columns in ROWS:
            for dtype in ("f16", "bf16"):
                yield kernel, dtype, {"M": rows, "N": columns}
    for kernel in BEHIND:
        for m, n, k in PRODUCTS:
            yield kernel, "f16", {"M": m, "N": n, "K": k}
    for m, n, k in PRODUCTS:
        yield "gemm_batched", "f16", {"B": 3, "M": m, "N": n, "K": k}
    for sizes in CONVOLUTIONS:
        yield "conv2d_nhwc", "f16", {"R": 3, "S": 3, "STRIDE": 1, "PAD": 1, "DILATION": 1} | sizes


def words_of(kernel, dtype, sizes, ways=()):
    how = walking(sizes, ways) if ways else ["--schedule", "auto"]
    return [kernel, "--dtype", dtype, "--size", ",".join(f"{name}={value}" for name, value in sizes.items()), *how]


def work_of(sizes):
    """Roughly; pages are keys in another order."""
    return math.prod(value for name, value in sizes.items() if name not in ("PAGES", "PAGE"))


def prepare(compiler, cases, ways):
    wrong = []

    def one(case):
        try:
            compiler.compile(words_of(*case, ways))
        except RuntimeError as error:
            wrong.append(str(error))

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(one, cases))
    print(f"{len(cases) - len(wrong)} of {len(cases)} images written")
    for text in wrong:
        print("- " + text)
    return 1 if wrong else 0


# ---- Tensors between guards ------------------------------------------------------------------------------------------


class Guarded:
    """A tensor with bytes before and behind it that nobody may read or write: NaN, or a number that is no place of anything."""

    def __init__(self, shape, element):
        import torch

        count, guard = math.prod(shape), GUARD_BYTES // element.itemsize
        self.whole = torch.full((count + 2 * guard,), float("nan") if element.is_floating_point else -(2**30), device="cuda", dtype=element)
        self.tensor = self.whole[guard:guard + count].view(shape)
        self.sides = (self.whole[:guard].view(torch.uint8), self.whole[guard + count:].view(torch.uint8))
        self.before = [side.clone() for side in self.sides]

    def intact(self):
        import torch

        return all(torch.equal(side, before) for side, before in zip(self.sides, self.before))


def starts_of(count, sequences):
    """Where sequences begin: one of them is empty."""
    cuts = [0, count // 3, count // 3, count // 3 + (count - count // 3) // 2, count]
    return cuts[:sequences] + [count]


def fill(tensor, name, sizes):
    """Random numbers, or what the kernel takes as places."""
    import torch

    if name == "lengths":
        tensor.copy_(torch.tensor([0, 1, sizes["KV"], sizes["KV"] // 2 + 1][:sizes["B"]]))
    elif name == "table":
        tensor.copy_(torch.randint(sizes["PAGES"], tensor.shape))
    elif name in ("q_starts", "k_starts"):
        tensor.copy_(torch.tensor(starts_of(sizes["Q" if name[0] == "q" else "KV"], sizes["B"])))
    else:
        tensor.copy_(torch.randn(tensor.shape, device="cuda"))


def element_of(name):
    import torch

    return {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "i32": torch.int32}[name]


def difference(found, wanted, dtype):
    """What is wrong with a tensor, or None."""
    import torch

    value, bound, found = wanted.value.flatten(), wanted.bound(dtype).flatten(), found.double().flatten()
    off = (found - value).abs()
    wrong = ~(off <= bound)  # NaN is wrong too
    if not bool(wrong.any()):
        return None
    worst = torch.nan_to_num(off / bound, nan=float("inf")).argmax()
    return f"{int(wrong.sum())} of {len(off)} elements are wrong; element {int(worst)} is {found[worst].item()}, expected {value[worst].item()} within {bound[worst].item():.2g}"


def check(driver, compiler, case, repeats, ways):
    """What is wrong, or None."""
    import torch

    kernel_name, dtype, sizes = case
    kernel = Kernel(driver, compiler, words_of(*case, ways))
    guarded, given, arguments = {}, {}, []
    for spec in kernel.manifest["arguments"]:
        name = spec["name"]
        if spec["kind"] == "scalar":
            given[name] = {"scale": sizes.get("D", 1) ** -0.5, "epsilon": 1e-5}[name]
            arguments.append(ctypes.c_float(given[name]))
            given[name] = arguments[-1].value
            continue
        guarded[name] = Guarded([evaluate(extent, []) for extent in spec["shape"]], element_of(spec["dtype"]))
        arguments.append(guarded[name].tensor)
        if not spec["output"]:
            fill(guarded[name].tensor, name, sizes)
            given[name] = guarded[name].tensor.clone()
    outputs = {spec["name"]: spec["dtype"] for spec in kernel.manifest["arguments"] if spec["output"]}
    run, first = kernel.bound(arguments), {}
    for turn in range(repeats):
        for name in outputs:
            guarded[name].tensor.fill_(float("nan"))
        run()
        torch.cuda.synchronize()
        bits = {name: guarded[name].tensor.contiguous().view(torch.uint8).clone() for name in outputs} if turn in (0, repeats - 1) else {}
        first = first or bits
        for name in outputs:
            if not torch.equal(guarded[name].tensor.view(torch.uint8), first[name]):
                return f"`{name}` has other bits after {turn + 1} launches"
    wanted = REFERENCES[kernel_name](sizes, given, dtype)
    for name, output in outputs.items():
        if problem := difference(guarded[name].tensor, wanted[name], output):
            return f"`{name}`: {problem}"
    for name, each in guarded.items():
        if not each.intact():
            return f"what lies beside `{name}` was written"
        if name in given and not torch.equal(each.tensor, given[name]):
            return f"the input `{name}` was written"
    return None


def jobs(arguments):
    ways = ways_of(arguments)
    cases = [case for case in all_cases() if not arguments.only or case[0].startswith(tuple(arguments.only.split(",")))]
    cases = [case for case in cases if not ways or walks(*case, ways)]
    largest = {}
    for kernel, dtype, sizes in cases:
        largest[kernel, dtype] = max(largest.get((kernel, dtype), 0), work_of(sizes))
    listed = []
    for case in cases:
        kernel, dtype, sizes = case
        if arguments.small and work_of(sizes) > 2**23:
            continue
        repeats = REPEATS if work_of(sizes) == largest[kernel, dtype] and not arguments.small else 2
        listed.append(Job(f"{kernel} {dtype} {sizes}", (kernel, dtype), functools.partial(check, case=case, repeats=repeats, ways=ways)))
    return listed


def ways_of(arguments):
    return [*["--overlap-tiles", "on"] * arguments.overlap, *["--turns", "on"] * arguments.turns]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soliton", default="build/bin/soliton")
    parser.add_argument("--prepare", default="", help="only compile, into this folder")
    parser.add_argument("--images", default="", help="the folder with what was compiled before")
    parser.add_argument("--only", default="", help="kernels whose names begin so, separated by commas")
    parser.add_argument("--overlap", action="store_true", help="attention of few workgroups, whose tiles overlap")
    parser.add_argument("--turns", action="store_true", help="likewise, of teams that take turns")
    parser.add_argument("--small", action="store_true", help="only sizes that a sanitizer gets through, twice each")
    parser.add_argument("--workers", type=int, default=WORKERS, help="processes beside each other; 0: all in this one, for a sanitizer")
    arguments = parser.parse_args()
    if arguments.prepare:
        os.makedirs(arguments.prepare, exist_ok=True)
        ways = ways_of(arguments)
        return prepare(Compiler(arguments.soliton, arguments.prepare), [case for case in all_cases() if not ways or walks(*case, ways)], ways)
    return 0 if report(jobs(arguments), judge(jobs, arguments, arguments.workers), ("kernel", "type")) else 1


if __name__ == "__main__":
    sys.exit(main())
