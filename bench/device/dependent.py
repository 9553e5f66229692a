#!/usr/bin/env python3
"""Chains of launches that begin before those ahead of them have ended, on a GPU: the bits of launches one after the other, every time.

  python3 bench/device/dependent.py --prepare images --soliton build/bin/soliton     # on a machine with the compiler
  python3 bench/device/dependent.py --images images                                  # on one with the GPU

Each chain takes turns between two buffers, so that a launch reads what the one before it writes, and writes what that one reads. It
runs once with a wait of the host behind every launch and plain kernels; then 300 times in a stream and 300 times as a graph, with
`--dependent-launch on`, with weights that are stable and without. Anything but the same bits is wrong, and so is a first run that is
off by more than f16 allows. Prints a line for each chain, and exits with 1 if anything is wrong.
"""
import argparse
import concurrent.futures
import ctypes
import functools
import os
import sys

from isolated import WORKERS, Job, judge, report
from launch import Compiler, Kernel, evaluate

REPEATS = 300
LINKS = 8
EARLY = ["--dependent-launch", "on"]
# Rows and columns: few rows by clusters and without, one, fewer than a box, odd ones, more tiles than compute units.
PRODUCTS = [(16, 4096), (16, 8192), (1, 64), (16, 8), (77, 264), (128, 1024), (130, 200), (512, 4096), (1000, 1000)]
# Links of several kinds behind each other.
MIXED = [(16, 1024), (3, 1000), (129, 520)]


def product(m, n, words):
    return ["gemm", "--dtype", "f16-f16", "--size", f"M={m},N={n},K={n}", "--schedule", "auto", *words]


def rows(kernel, m, n, words):
    return [kernel, "--dtype", "f16", "--size", f"M={m},N={n}", "--schedule", "auto", *words]


def chains():
    """(name, rows, columns, words of each link for what is said of launches)"""
    for m, n in PRODUCTS:
        yield f"products {m}x{n}x{n}", m, n, lambda words, m=m, n=n: [product(m, n, words)] * LINKS
    for m, n in MIXED:
        yield f"norm, product, softmax {m}x{n}", m, n, lambda words, m=m, n=n: [
            [rows("rms_norm", m, n, words), product(m, n, words), rows("row_softmax", m, n, words), product(m, n, words)][i % 4] for i in range(LINKS)]


WAYS = [("early", lambda words: [*words, *EARLY]),
        ("early, stable weights", lambda words: [*words, *EARLY, *{"gemm": ["--stable", "b"], "rms_norm": ["--stable", "weight"]}.get(words[0], [])])]


def links(words_of, way=None):
    return [way(words) if way else words for words in words_of([])]


def prepare(compiler):
    wanted = {tuple(words) for _, _, _, words_of in chains() for way in (None, *(way for _, way in WAYS)) for words in links(words_of, way)}
    wrong = []

    def one(words):
        try:
            compiler.compile(list(words))
        except RuntimeError as error:
            wrong.append(str(error))

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(one, sorted(wanted)))
    print(f"{len(wanted) - len(wrong)} of {len(wanted)} images written")
    print("".join("- " + text + "\n" for text in wrong), end="")
    return 1 if wrong else 0


class Chain:
    """Functions that launch the links; two buffers take turns, everything else a link has for itself."""

    def __init__(self, driver, compiler, all_words, turns, own):
        kernels = {tuple(words): None for words in all_words}
        for words in kernels:
            kernels[words] = Kernel(driver, compiler, list(words))
        self.runs = [kernels[tuple(words)].bound(self.arguments(kernels[tuple(words)], i, turns, own)) for i, words in enumerate(all_words)]

    @staticmethod
    def arguments(kernel, link, turns, own):
        import torch

        given = []
        for spec in kernel.manifest["arguments"]:
            if spec["kind"] == "scalar":
                given.append(ctypes.c_float(1e-5))
            elif spec["output"]:
                given.append(turns[1 - link % 2])
            elif spec["name"] == "a":
                given.append(turns[link % 2])
            else:
                shape = [evaluate(extent, []) for extent in spec["shape"]]
                scale = shape[-1] ** -0.5 if len(shape) == 2 else 1
                given.append(own.setdefault((link, spec["name"]), torch.randn(shape, device="cuda").mul(scale).half()))
        return given


def reference(all_words, first, own):
    """The chain in f32, rounded to f16 behind each link."""
    import torch

    value = first.float()
    for i, words in enumerate(all_words):
        if words[0] == "gemm":
            value = value @ own[i, "b"].float().T
        elif words[0] == "rms_norm":
            value = value * torch.rsqrt((value * value).mean(-1, keepdim=True) + 1e-5) * own[i, "weight"].float()
        else:
            value = torch.softmax(value, -1)
        value = value.half().float()
    return value


def check(driver, compiler, m, n, words_of):
    """What is wrong, or None."""
    import torch

    first, own = torch.randn(m, n, device="cuda").half(), {}
    turns = [torch.empty_like(first), torch.empty_like(first)]

    def again():
        turns[0].copy_(first)
        turns[1].fill_(float("nan"))

    again()
    for run in Chain(driver, compiler, links(words_of), turns, own).runs:
        run()
        torch.cuda.synchronize()
    bits, wanted = turns[LINKS % 2].clone(), reference(links(words_of), first, own)
    off = ((bits.float() - wanted).abs().max() / wanted.abs().max()).item()
    if not off < 2e-2:
        return f"one after the other: off by {off}"
    for name, way in WAYS:
        chain = Chain(driver, compiler, links(words_of, way), turns, own)

        def whole(chain=chain):
            for run in chain.runs:
                run()

        whole()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            whole()
        for how, launch in (("in a stream", whole), ("as a graph", graph.replay)):
            for turn in range(REPEATS):
                again()
                launch()
                if not torch.equal(turns[LINKS % 2].view(torch.int16), bits.view(torch.int16)):
                    return f"{name}, {how}: other bits after {turn + 1} turns"
    return None


def jobs(arguments):
    return [Job(name, (name,), functools.partial(check, m=m, n=n, words_of=words_of)) for name, m, n, words_of in chains()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soliton", default="build/bin/soliton")
    parser.add_argument("--prepare", default="", help="only compile, into this folder")
    parser.add_argument("--images", default="", help="the folder with what was compiled before")
    parser.add_argument("--workers", type=int, default=WORKERS, help="processes beside each other; 0: all in this one")
    arguments = parser.parse_args()
    if arguments.prepare:
        os.makedirs(arguments.prepare, exist_ok=True)
        return prepare(Compiler(arguments.soliton, arguments.prepare))
    try:
        import torch

        if not torch.cuda.is_available():
            raise ImportError("torch sees no CUDA device")
    except ImportError as error:
        print(f"cannot run here: {error}")
        return 77
    return 0 if report(jobs(arguments), judge(jobs, arguments, arguments.workers), ("chain",)) else 1


if __name__ == "__main__":
    sys.exit(main())
