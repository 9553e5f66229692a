#!/usr/bin/env python3
"""Times kernels of the library beside cuBLAS, cuDNN and torch in one process, and prints tables.

  python3 bench/device/timing.py --soliton build/bin/soliton
  python3 bench/device/timing.py --soliton dist/soliton-bundle/bin/soliton --only transpose,unaligned --out tables.md
  python3 bench/device/timing.py --arms auto           # nothing that somebody chose
  python3 bench/device/timing.py --prepare images      # on a machine with the compiler
  python3 bench/device/timing.py --images images       # on one with the GPU

protocol.py says how: burst and steady, arms in turn, rotating buffers, random inputs. Kernels come from `soliton compile --emit image`
(launch.py); the result of each arm is compared with torch's in f32 first. What is timed is in sections/, one file per family. Arms of
Triton (triton_arms.py) come along where it is installed. results.py puts the raw results of several runs together, plots.py draws them.
"""
import argparse
import concurrent.futures
import datetime
import json
import os
import sys

from arms import Bench
from launch import Compiler, Driver
from sections import SECTIONS


def prepare(compiler, names):
    """Compiles everything that is timed; what cannot be is said."""
    all_words = {tuple(words) for name in names for words in SECTIONS[name].wanted()}
    wrong = []

    def one(words):
        try:
            compiler.compile(words)
        except RuntimeError as error:
            wrong.append(str(error))

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(one, sorted(all_words)))
    print(f"{len(all_words) - len(wrong)} of {len(all_words)} images written")
    for text in wrong:
        print("- " + text)
    return 1 if wrong else 0


def device_name():
    import torch

    return f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}"


def measured(bench, name):
    """The tables of a section; what stops one of them is a problem, and the other sections go on."""
    try:
        return SECTIONS[name].tables(bench)
    except RuntimeError as error:
        bench.problems.append(f"{name}: {str(error).splitlines()[0]}")
        return []


def tables(compiler, only=None, steady=True, results=None, wanted=""):
    """(lines of Markdown, problems); raw results are appended to `results`."""
    import torch

    torch.zeros(1, device="cuda")
    bench, lines = Bench(Driver(), compiler, steady, wanted), []
    for name in only or SECTIONS:
        for table in measured(bench, name):
            lines += table.lines()
            if results is not None:
                results.append({"section": name, **table.raw()})
            print("\n".join(table.lines()), file=sys.stderr, flush=True)
        torch.cuda.empty_cache()
    return lines + [""] + ["- " + problem for problem in bench.problems] + ["- left out: " + why for why in bench.left_out], bench.problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soliton", default="build/bin/soliton")
    parser.add_argument("--only", default="", help="sections, separated by commas: " + ", ".join(SECTIONS))
    parser.add_argument("--out", default="", help="also write the tables to this file")
    parser.add_argument("--json", default="", help="also write every round of every arm to this file")
    parser.add_argument("--burst", action="store_true", help="leave the steady speeds out")
    parser.add_argument("--arms", default="", help="of ours, and of Triton's, only those with this in their names: auto")
    parser.add_argument("--prepare", default="", help="only compile, into this folder")
    parser.add_argument("--images", default="", help="the folder with what was compiled before")
    arguments = parser.parse_args()
    names = [name for name in arguments.only.split(",") if name] or list(SECTIONS)
    if unknown := [name for name in names if name not in SECTIONS]:
        parser.error(f"no section `{unknown[0]}`; there are {', '.join(SECTIONS)}")
    if arguments.prepare:
        os.makedirs(arguments.prepare, exist_ok=True)
        return prepare(Compiler(arguments.soliton, arguments.prepare), names)
    try:
        import torch

        if not torch.cuda.is_available():
            raise ImportError("torch sees no CUDA device")
    except ImportError as error:
        print(f"cannot run here: {error}")
        return 77
    results = []
    lines, problems = tables(Compiler(arguments.soliton, arguments.images), names, not arguments.burst, results, arguments.arms)
    lines = [f"{device_name()}, {datetime.date.today()}", *lines]
    print("\n".join(lines))
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write("\n".join(lines) + "\n")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"device": device_name(), "date": str(datetime.date.today()), "command": " ".join(sys.argv), "problems": problems, "tables": results}, file, indent=1)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
