#!/usr/bin/env python3
"""Raw results of timing.py, of one run or of several: which tables there are, and what they say.

  python3 bench/device/results.py run-1.json run-2.json --into bench/results/h200-timing.json

puts runs together: sections that a later run has replace those of the same name, the others stay. Every table keeps the device, the date
and the command of its own run. From these files plots.py draws, on any machine.

    for table in load("bench/results/h200-timing.json"):
        for row in rows_of(table): row.label, row.ratio, row.steady_ratio, row.rate
"""
import argparse
import json
import statistics
import sys
from dataclasses import dataclass, field

RUN = ("device", "date", "command")
# What others wrote; what is named otherwise is ours.
OTHERS = ("cuBLAS", "cuDNN", "FLASH", "torch", "Triton")


def tables_in(run):
    """The tables of a run, each with the device, the date and the command, which a run says once for all of its own."""
    return [{name: run[name] for name in RUN if name in run} | table for table in run["tables"]]


def load(path):
    with open(path) as file:
        return tables_in(json.load(file))


def merged(runs):
    """Lists of tables, the last word of each section, in the order in which sections were first met."""
    sections = {}
    for tables in runs:
        sections |= {name: [table for table in tables if table["section"] == name] for name in dict.fromkeys(table["section"] for table in tables)}
    return [table for tables in sections.values() for table in tables]


def write(path, tables):
    with open(path, "w") as file:
        json.dump({"tables": tables}, file, indent=1)
        file.write("\n")


# ---- What a table says -----------------------------------------------------------------------------------------------


@dataclass
class Row:
    """One kernel at one size beside the base of its table. Ratios above 1 are faster than the base."""

    label: str
    arm: str
    ratio: float
    least: float
    """Of a round, and the most: how far rounds are apart."""
    most: float
    steady_ratio: float | None
    rate: float
    unit: str
    beside: dict = field(default_factory=dict)
    """Arms of others that are not the base, and their ratios."""


def is_ours(name):
    return not name.startswith(OTHERS)


def burst(arm):
    return statistics.median(arm["burst_us"])


def steady(arm):
    return statistics.mean(arm["steady_us"]) if arm["steady_us"] else None


def fastest(arms, figure):
    return min((figure(arm) for arm in arms if figure(arm) is not None), default=None)


def kernel_of(table, name):
    """What arms of one table have in common that compute the same: the kernel, where a table has several."""
    head = name.removeprefix("Triton ").removeprefix("torch ").split(",")[0]
    return "" if table["unit"] == "TFLOP/s" or name.startswith("auto") or name == "Triton" else head


def chosen(names, arms):
    """The arm that a user gets: `auto`, the fastest of several of that name, otherwise the fastest that was tried."""
    own = [name for name in names if "auto" in name.replace(",", " ").split()]
    return min(own or names, key=lambda name: burst(arms[name]))


def rows_of(table):
    arms, base = table["arms"], [table["arms"][name] for name in table["base"] if name in table["arms"]]
    if not base:
        return []
    base_burst, base_steady = fastest(base, burst), fastest(base, steady)
    groups = {}
    for name in arms:
        if name not in table["base"] or (len(table["base"]) > 1 and is_ours(name)):
            groups.setdefault(kernel_of(table, name), []).append(name)
    rows = []
    for kernel, names in groups.items():
        ours = [name for name in names if is_ours(name)]
        if not ours:
            continue
        name = chosen(ours, arms)
        arm, own_steady = arms[name], steady(arms[name])
        rows.append(Row(
            label=label_of(table, kernel), arm=name, ratio=base_burst / burst(arm), least=base_burst / max(arm["burst_us"]),
            most=base_burst / min(arm["burst_us"]), steady_ratio=base_steady / own_steady if own_steady and base_steady else None,
            rate=table["work"] / burst(arm) / 1e6, unit=table["unit"],
            beside={other: base_burst / burst(arms[other]) for other in names if not is_ours(other)}))
    return rows


def label_of(table, kernel):
    """The title without what every row of its picture says."""
    title = table["title"].replace(", `--schedule auto`", "").replace(": bandwidth beside the fastest copy", "").replace(": bandwidth of k and v beside the copy", "")
    for dtype in ("f16", "bf16"):
        title = title.replace(f" ({dtype} out)", "" if title.startswith(dtype) else f" to {dtype}")
    return f"{kernel}, {title}" if kernel else title


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--into", required=True, help="a file, whose own sections come first if it is there")
    arguments = parser.parse_args()
    try:
        before = [load(arguments.into)]
    except FileNotFoundError:
        before = []
    write(arguments.into, merged(before + [load(path) for path in arguments.runs]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
