#!/usr/bin/env python3
"""Instructions of the inner loop of the f16 GEMM on AMD, counted in the disassembled code object.

  python3 bench/census.py --soliton build/bin/soliton --out bench/results/census.md

Nothing is executed: there is no AMD GPU here. Wave's rows are those of wave-lang 3.9.1's code objects for the same tile, unscheduled
and with PREFETCH, counted the same way. The ping-pong kernel is also counted cluster by cluster (a cluster ends at a barrier), beside the
static issue cost of what is in it: clocks of its busiest unit by the published tables (a 16x16x32 MFMA occupies the matrix unit for
16, a conflict-free ds_read_b128 the LDS for 4, a vector instruction its issue port for 4).
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
COLUMNS = ["mfma", "LDS reads", "LDS writes", "global loads", "VALU", "barriers", "waits", "SALU", "all"]
CROSS_LANE = ("ds_bpermute", "ds_permute", "ds_swizzle")
# Clocks of one wave, gfx950.
CLOCKS = {"mfma": ("matrix", 16), "LDS reads": ("LDS", 4), "global loads": ("memory", 16), "VALU": ("issue", 4), "SALU": ("issue", 4),
          "waits": ("issue", 4), "barriers": ("issue", 4)}


def classify(mnemonic):
    return next((name for prefix, name in CLASSES if mnemonic.startswith(prefix)), "other")


def loop_of(hsaco):
    """The instructions between the target of the backward branch that encloses most MFMAs and that branch."""
    text = subprocess.run(["llvm-objdump-22", "-d", "--symbolize-operands", hsaco], capture_output=True, text=True, check=True).stdout
    code, labels, best = [], {}, []
    for line in text.splitlines():
        label = re.match(r"^(?:[0-9a-f]+ )?<(L\d+)>:$", line.strip())
        if label:
            labels[label.group(1)] = len(code)
            continue
        op = re.match(r"^([a-z]\w+)\b(.*?)(//.*)?$", line.strip())
        if op and line[:1] in "\t ":
            code.append((op.group(1), op.group(2).strip()))
            goal = re.search(r"<?(L\d+)>?", op.group(2)) if op.group(1).startswith(("s_cbranch", "s_branch")) else None
            if goal and goal.group(1) in labels:
                best = max(best, code[labels[goal.group(1)]:], key=lambda c: sum(classify(m) == "mfma" for m, _ in c))
    return best


def count(loop):
    counts = collections.Counter(classify(mnemonic) for mnemonic, _ in loop)
    counts["all"] = len(loop)
    return counts


def clusters(loop):
    """The table of a loop, cluster by cluster; a cluster ends at a barrier, and the first begins where the loop does."""
    parts = [[]]
    for mnemonic, operands in loop:
        parts[-1].append((mnemonic, operands))
        if mnemonic == "s_barrier":
            parts.append([])
    rows = ["| cluster | mfma | LDS reads | direct copies | VALU | waits | clocks of the busiest unit |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for number, part in enumerate(parts):
        counts, units = count(part), collections.Counter()
        for name, (unit, clocks) in CLOCKS.items():
            units[unit] += counts[name] * clocks
        waits = ", ".join(operands for mnemonic, operands in part if mnemonic == "s_waitcnt") or "none"
        unit, clocks = units.most_common(1)[0]
        rows.append(f"| {number} | {counts['mfma']} | {counts['LDS reads']} | {counts['global loads']} | {counts['VALU']} | {waits} | {clocks} ({unit}) |")
    return rows


ATTENTION_COLUMNS = ["mfma", "LDS reads", "LDS writes", "global loads", "cross-lane", "VALU", "barriers", "waits"]
# What others' loops hold, from their disassembly: Wave's 1x32x512x64 (wave-lang 3.9.1) and the kernels that AMD ships with AITER
# (head dimension 128, so with twice the products for each exponential). Blank: not counted.
OTHERS = [("Wave 3.9.1, gfx942 f16 1x32x512x64, none", 4096, {"mfma": 32, "VALU": 376}),
          ("Wave 3.9.1, gfx942 f16 1x32x512x64, modulo", 4096, {"mfma": 32, "VALU": 481}),
          ("AMD's own (AITER), gfx942 bf16 d128 forward", 32 * 32 * 8, {"mfma": 64, "LDS reads": 48, "global loads": 16, "VALU": 478 + 34, "barriers": 10}),
          ("AMD's own (AITER), gfx950 bf16 d128 forward", 32 * 32 * 16, {"mfma": 64, "LDS reads": 96, "global loads": 8, "VALU": 386 + 66 + 48, "barriers": 6})]


def products(loop):
    """Multiply-adds of one MFMA of the loop."""
    shape = next(re.search(r"_(\d+)x(\d+)x(\d+)", mnemonic) for mnemonic, _ in loop if classify(mnemonic) == "mfma")
    return int(shape.group(1)) * int(shape.group(2)) * int(shape.group(3))


def attention_row(name, size, counts, more=("", "")):
    """Per 32 MFMA, and VALU again per 2^17 multiply-adds: 32 MFMA of 16x16x16."""
    scale = 32 / counts["mfma"]
    cells = [f"{counts[c] * scale:g}" if c in counts else "" for c in ATTENTION_COLUMNS]
    return f"| {name} | " + " | ".join(cells) + f" | {counts['VALU'] / counts['mfma'] / size * 2**17:g} | {more[0]} | {more[1]} |"


def attention(soliton):
    rows = ["", "## Attention forward, instructions per 32 MFMA", "",
            "Ours is 1x32x512x64, f16, the kernel `attention` with its own tiles. VALU counts exponentials and packed instructions too, once each; an MFMA of",
            "AMD's kernels multiplies two or four times as much, hence the column per 2^17 multiply-adds, which is 32 of 16x16x16. Wave's and AMD's figures are",
            "counts of compiled, disassembled code like ours; nothing here was run.", "",
            "| code | " + " | ".join(ATTENTION_COLUMNS) + " | VALU per 2^17 multiply-adds | VGPRs | spill bytes |",
            "| --- |" + " --- |" * (len(ATTENTION_COLUMNS) + 3)]
    rows += [attention_row(name, size, counts) for name, size, counts in OTHERS]
    for target in ["gfx942", "gfx950"]:
        for schedule in ["none", "modulo"]:
            with tempfile.NamedTemporaryFile(suffix=".hsaco") as file:
                done = subprocess.run([soliton, "compile", "attention", "--target", target, "--size", "B=1,H=32,Q=512,KV=512,D=64", "--schedule", schedule,
                                       "--emit", "hsaco", "-o", file.name, "--json"], capture_output=True, text=True, check=True)
                loop = loop_of(file.name)
            report, counts = json.loads(done.stdout), count(loop)
            counts["cross-lane"] = sum(mnemonic.startswith(CROSS_LANE) for mnemonic, _ in loop)
            for name in ATTENTION_COLUMNS:
                counts[name] += 0
            rows.append(attention_row(f"Soliton, {target} f16, {schedule}", products(loop), counts, (report["vgprs"], report["spill_bytes"])))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soliton", default="build/bin/soliton")
    parser.add_argument("--out", default="")
    arguments = parser.parse_args()
    lines = ["# Inner loop of the GEMM on AMD, instructions per 32 MFMA", "",
             f"{datetime.date.today()}; `{' '.join(sys.argv)}`; compiled and disassembled, never run on hardware.", "",
             "| code | " + " | ".join(COLUMNS) + " | VGPRs | spill bytes | bank conflicts (model) |", "| --- |" + " --- |" * (len(COLUMNS) + 3),
             "| Wave 3.9.1, gfx942 f16 128x128x32, none | 32 | 8 | 4 | 4 | 5 | 2 | | | | 120 | 0 | |",
             "| Wave 3.9.1, gfx942 f16 128x128x32, prefetch | 32 | 8 | 4 | 4 | 6 | 2 | 6 | | 67 | 130 | 0 | |"]
    small, large = "BLOCK_M=128,BLOCK_N=128,BLOCK_K=32", "BLOCK_M=256,BLOCK_N=256,BLOCK_K=64"
    eight = large + ",WAVES_M=2,WAVES_N=4"
    four = "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64"
    cases = [("gfx942", "f16", small, "none"), ("gfx942", "f16", small, "prefetch"), ("gfx942", "f16", small, "modulo"), ("gfx950", "f16", small, "none"),
             ("gfx950", "f16", large, "none"), ("gfx950", "bf16", eight, "two_pp_cluster"), ("gfx950", "bf16", eight, "async_two_pp_clusters"),
             ("gfx950", "bf16", four, "modulo"), ("gfx950", "bf16", four, "modulo direct"), ("gfx950", "bf16", four, "pipeline4wave"),
             ("gfx950", "bf16", four, "single_buffer"), ("gfx950", "bf16", eight, "modulo"), ("gfx950", "bf16", eight, "modulo direct"),
             ("gfx950", "bf16", eight, "ping_pong")]
    details = []
    for target, dtype, tile, schedule in cases:
        algorithm, *direct = schedule.split()
        with tempfile.NamedTemporaryFile(suffix=".hsaco") as file:
            done = subprocess.run([arguments.soliton, "compile", "gemm", "--target", target, "--dtype", dtype, "--size", "M=4096,N=4096,K=4096", "--set", tile,
                                   "--schedule", algorithm, "--emit", "hsaco", "-o", file.name, "--json"] + (["--direct-copies", "on"] if direct else []),
                                  capture_output=True, text=True, check=True)
            report = json.loads(done.stdout)
            loop = loop_of(file.name)
        counts = count(loop)
        scale = 32 / counts["mfma"]
        conflicts = sum(entry["conflicts"] for entry in report["bank_conflicts"])
        cells = [f"{counts[c] * scale:g}" for c in COLUMNS]
        name = f"{target} {dtype} {'x'.join(re.findall(r'BLOCK_.=([0-9]+)', tile))}, {schedule}"
        lines.append(f"| Soliton, {name} | " + " | ".join(cells) + f" | {report['vgprs']} | {report['spill_bytes']} | {conflicts} |")
        if schedule.startswith("async"):
            details += ["", f"## Clusters of {name}", ""] + clusters(loop)
    lines += details + attention(arguments.soliton)
    text = "\n".join(lines)
    print(text)
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
