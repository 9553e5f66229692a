#!/usr/bin/env python3
"""Instructions of the inner loop of the f16 GEMM on AMD, counted in the disassembled code object.

  python3 bench/census.py --soliton build/bin/soliton --out bench/results/census.md

Nothing is executed: there is no AMD GPU here. Wave's row is that of wave-lang 3.9.1's unscheduled code object for the same
tile, counted the same way (8 LDS reads, 4 LDS writes, 4 global loads, 5 VALU, 2 barriers, 120 VGPRs, no spill).
"""
import argparse
import collections
import datetime
import json
import re
import subprocess
import sys
import tempfile

CLASSES = [("v_mfma", "mfma"), ("v_smfma", "mfma"), ("ds_read", "LDS reads"), ("ds_write", "LDS writes"),
           ("buffer_load", "global loads"), ("global_load", "global loads"), ("buffer_store", "global stores"),
           ("global_store", "global stores"), ("s_waitcnt", "waits"), ("s_barrier", "barriers"), ("v_", "VALU"), ("s_", "SALU")]
COLUMNS = ["mfma", "LDS reads", "LDS writes", "global loads", "VALU", "barriers", "waits", "SALU"]


def classify(mnemonic):
    return next((name for prefix, name in CLASSES if mnemonic.startswith(prefix)), "other")


def loop_of(hsaco):
    """Counts between the target of the backward branch that encloses most MFMAs and that branch."""
    text = subprocess.run(["llvm-objdump-22", "-d", "--symbolize-operands", hsaco], capture_output=True, text=True, check=True).stdout
    code, labels, best = [], {}, collections.Counter()
    for line in text.splitlines():
        label = re.match(r"^(?:[0-9a-f]+ )?<(L\d+)>:$", line.strip())
        if label:
            labels[label.group(1)] = len(code)
            continue
        op = re.match(r"^([a-z]\w+)\b(.*?)(//.*)?$", line.strip())
        if op and line[:1] in "\t ":
            code.append(op.group(1))
            goal = re.search(r"<?(L\d+)>?", op.group(2)) if op.group(1).startswith(("s_cbranch", "s_branch")) else None
            if goal and goal.group(1) in labels:
                counts = collections.Counter(map(classify, code[labels[goal.group(1)]:]))
                best = max(best, counts, key=lambda c: c["mfma"])
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soliton", default="build/bin/soliton")
    parser.add_argument("--out", default="")
    arguments = parser.parse_args()
    lines = ["# Inner loop of the f16 GEMM, instructions per 32 MFMA", "",
             f"{datetime.date.today()}; `{' '.join(sys.argv)}`; compiled and disassembled, never run on hardware.", "",
             "| code | " + " | ".join(COLUMNS) + " | VGPRs | spill bytes | bank conflicts (model) |", "| --- |" + " --- |" * (len(COLUMNS) + 3),
             "| Wave 3.9.1, gfx942, 128x128x32, unscheduled | 32 | 8 | 4 | 4 | 5 | 2 | | | 120 | 0 | |"]
    cases = [("gfx942", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=32"), ("gfx950", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=32"), ("gfx950", "BLOCK_M=256,BLOCK_N=256,BLOCK_K=64")]
    for target, tile in cases:
        with tempfile.NamedTemporaryFile(suffix=".hsaco") as file:
            done = subprocess.run([arguments.soliton, "compile", "gemm", "--target", target, "--size", "M=4096,N=4096,K=4096", "--set", tile,
                                   "--emit", "hsaco", "-o", file.name, "--json"], capture_output=True, text=True, check=True)
            report = json.loads(done.stdout)
            counts = loop_of(file.name)
        scale = 32 / counts["mfma"]
        conflicts = sum(entry["conflicts"] for entry in report["bank_conflicts"])
        cells = [f"{counts[c] * scale:g}" for c in COLUMNS]
        lines.append(f"| Soliton, {target}, {tile} | " + " | ".join(cells) + f" | {report['vgprs']} | {report['spill_bytes']} | {conflicts} |")
    text = "\n".join(lines)
    print(text)
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
