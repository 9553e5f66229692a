#!/usr/bin/env python3
"""Draws what bench/results/h200-timing.json says, and writes the figures of docs/performance.md.

  python3 bench/device/plots.py              docs/pictures/h200-*.svg, and the page between its two marks
  python3 bench/device/plots.py --check      exits 1 if a picture or the page says something else than the results

Needs no GPU and nothing but Python: whoever has measured again (make bench ARGS="--only h200") draws again. Pictures follow the reader's
light or dark theme.
"""
import argparse
import html
import os
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from results import load, rows_of  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
BEGIN, END = "<!-- figures: bench/device/plots.py -->", "<!-- end of figures -->"


@dataclass(frozen=True)
class Picture:
    """A name, what it is about, the sections that it shows, what a ratio of 1 is, and where the scale ends."""

    name: str
    title: str
    sections: tuple
    base: str
    end: float

    @property
    def file(self):
        return f"h200-{self.name}.svg"


PICTURES = (
    Picture("gemm", "Matrix products", ("auto", "f8"), "cuBLAS", 1.4),
    Picture("attention", "Attention forward", ("attention",), "cuDNN", 1.2),
    Picture("convolution", "Convolution", ("conv",), "cuDNN", 1.2),
    Picture("memory", "What is read and written once", ("transpose", "rows", "decode"), "the fastest copy", 1.2),
)

# ---- SVG -------------------------------------------------------------------------------------------------------------

WIDTH, LEFT, RIGHT, TOP, LANE, FOOT = 1200, 372, 190, 96, 34, 76
STYLE = """
text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; fill: #1c2430; }
.card { fill: #ffffff; stroke: #e3e6eb; }
.title { font-size: 20px; font-weight: 600; } .strong { font-weight: 600; }
.soft { fill: #5b6778; }
.lane { fill: #f4f6f9; }
.grid { stroke: #d4dae3; stroke-width: 1; }
.one { stroke: #1c2430; stroke-width: 1.4; }
.burst { fill: #3b6fd4; } .steady { fill: #258a72; }
.spread { stroke: #1c2430; stroke-width: 1.2; }
.triton { fill: #d9702b; } .other { fill: #8795a8; } .triton, .other { stroke: #ffffff; }
@media (prefers-color-scheme: dark) {
text { fill: #e4e9f0; }
.card { fill: #1a2028; stroke: #2b333e; }
.soft { fill: #9aa7b8; }
.lane { fill: #202833; }
.grid { stroke: #313b48; }
.one { stroke: #e4e9f0; }
.burst { fill: #5b8dee; } .steady { fill: #35a589; }
.spread { stroke: #e4e9f0; }
.triton { fill: #e0803d; } .other { fill: #9aa7b8; } .triton, .other { stroke: #1a2028; }
}
"""


def number(value):
    """Without a tail of zeros, to a tenth of a unit."""
    return f"{value:.1f}".removesuffix(".0")


def text(x, y, words, css="", anchor=""):
    attributes = (f' class="{css}"' if css else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{number(x)}" y="{number(y)}"{attributes}>{html.escape(words)}</text>'


def rate_of(row):
    return f"{row.rate:.0f} {row.unit}" if row.rate >= 10 else f"{row.rate:.2f} {row.unit}"


class Lanes:
    """A lane for each row: a bar for bursts with the spread of its rounds, a thin one for steady speed, marks for others."""

    def __init__(self, picture):
        self.end, self.lines = picture.end, []

    def x(self, ratio):
        return LEFT + (WIDTH - LEFT - RIGHT) * min(ratio, self.end) / self.end

    def bar(self, y, height, ratio, css):
        # What goes beyond the scale has no end.
        x = self.x(ratio)
        tip = f"L{number(x)} {number(y)}" + (f"l6 {number(height / 2)}l-6 {number(height / 2)}" if ratio > self.end else f"L{number(x)} {number(y + height)}")
        self.lines.append(f'<path class="{css}" d="M{LEFT} {number(y)}{tip}L{LEFT} {number(y + height)}Z"/>')

    def mark(self, y, name, ratio):
        x = self.x(ratio)
        css = "triton" if name.startswith("Triton") else "other"
        self.lines.append(f'<path class="{css}" d="M{number(x)} {number(y - 6)}l5 6l-5 6l-5-6z"><title>{html.escape(name)}: {ratio:.3f}</title></path>')

    def ground(self, count, ticks):
        """What lies under the bars."""
        for index in range(count):
            self.lines.append(f'<rect class="lane" x="{LEFT}" y="{TOP + LANE * index}" width="{WIDTH - LEFT - RIGHT}" height="{LANE - 6}" rx="3"/>')
        for tick in ticks:
            self.lines.append(self.upright(tick, count, "grid"))

    def upright(self, ratio, count, css):
        return f'<path class="{css}" d="M{number(self.x(ratio))} {TOP - 8}L{number(self.x(ratio))} {TOP + LANE * count}"/>'

    def add(self, row, y):
        self.lines.append(text(LEFT - 12, y + 18, row.label, anchor="end"))
        self.bar(y + 4, 12, row.ratio, "burst")
        if row.steady_ratio:
            self.bar(y + 18, 5, row.steady_ratio, "steady")
        if row.most <= self.end:
            self.lines.append(f'<path class="spread" d="M{number(self.x(row.least))} {number(y + 10)}L{number(self.x(row.most))} {number(y + 10)}"/>')
        for name, ratio in row.beside.items():
            self.mark(y + 13, name, ratio)
        self.lines.append(f'<text x="{WIDTH - RIGHT + 14}" y="{number(y + 18)}"><tspan class="strong">{row.ratio:.3f} ×</tspan>'
                          f'<tspan class="soft" dx="8">{html.escape(rate_of(row))}</tspan></text>')


def marks_of(rows):
    names = {name for row in rows for name in row.beside}
    triton, others = any(name.startswith("Triton") for name in names), sorted(name for name in names if not name.startswith("Triton"))
    return (" Orange: Triton." if triton else "") + (f" Grey: {' and '.join(others)}." if others else "")


def drawn(picture, tables):
    rows = [row for table in tables for row in rows_of(table)]
    lanes, height = Lanes(picture), TOP + LANE * len(rows) + FOOT
    bottom, ticks = TOP + LANE * len(rows), [tick / 5 for tick in range(int(5 * picture.end) + 1)]
    lanes.ground(len(rows), ticks)
    for index, row in enumerate(rows):
        lanes.add(row, TOP + LANE * index)
    lanes.lines.append(lanes.upright(1, len(rows), "one"))
    scale = [text(lanes.x(tick), bottom + 16, f"{tick:g}", "soft", "middle") for tick in ticks]
    foot = [f"Speed beside {picture.base} in the same run; right of the line is faster. Wide bars: bursts, the median of five rounds, with their spread.",
            "Thin bars: steady, at the power limit." + marks_of(rows) + (" An arrow goes on beyond the scale." if any(row.ratio > picture.end for row in rows) else "")]
    runs = ", ".join(dict.fromkeys(f"{table['device'].split(',')[0]}, {table['date']}" for table in tables))
    label = f"{picture.title} on an H200 beside {picture.base}"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(label)}">',
        f"<title>{html.escape(label)}</title>", f"<style>{STYLE}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="12"/>',
        f'<text x="22" y="36"><tspan class="title">{html.escape(picture.title)}</tspan><tspan class="soft" dx="10">{html.escape(runs)}</tspan></text>',
        text(22, 60, f"1 is {picture.base}", "soft"), *lanes.lines, *scale,
        *[text(22, bottom + 42 + 18 * index, words, "soft") for index, words in enumerate(foot)], "</svg>", ""])


# ---- The page --------------------------------------------------------------------------------------------------------


def table_of(picture, tables):
    others = sorted({name for table in tables for row in rows_of(table) for name in row.beside})
    head = ["what", "arm", "burst", "rounds", "steady", "rate", *others]
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    for table in tables:
        for row in rows_of(table):
            steady = f"{row.steady_ratio:.3f}" if row.steady_ratio else "–"
            cells = [row.label, row.arm, f"{row.ratio:.3f}", f"{row.least:.3f} to {row.most:.3f}", steady, rate_of(row)]
            cells += [f"{row.beside[name]:.3f}" if name in row.beside else "–" for name in others]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def figures(shown, folder):
    """The part of the page that is made: pictures, tables, and where each comes from."""
    lines = [BEGIN, ""]
    for picture, tables in shown:
        rows = [row for table in tables for row in rows_of(table)]
        behind = [row for row in rows if row.ratio < 1]
        lines += [f"## {picture.title}", "", f"![{picture.title} on an H200 beside {picture.base}]({folder}/{picture.file})", ""]
        lines += [f"{len(rows) - len(behind)} of {len(rows)} are as fast as {picture.base} or faster" + (
            f"; the furthest behind is {min(behind, key=lambda row: row.ratio).label}, {min(row.ratio for row in behind):.3f} ×." if behind else "."), ""]
        lines += table_of(picture, tables) + [""]
        lines += [f"`{command}`, {date}, {device}" for command, date, device in dict.fromkeys((t["command"], t["date"], t["device"]) for t in tables)]
        lines.append("")
    return lines + [END]


def page_with(page, made):
    before, rest = page.split(BEGIN)
    return before + "\n".join(made) + rest.split(END)[1]


def outputs(results, page_path, pictures):
    """{path: text} of everything that is made from the results."""
    tables = [table for table in load(results) if rows_of(table)]
    shown = [(picture, [table for name in picture.sections for table in tables if table["section"] == name]) for picture in PICTURES]
    shown = [(picture, own) for picture, own in shown if own]
    made = {pictures / picture.file: drawn(picture, own) for picture, own in shown}
    folder = os.path.relpath(pictures, page_path.parent)
    made[page_path] = page_with(page_path.read_text(), figures(shown, folder))
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results" / "h200-timing.json")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "performance.md")
    parser.add_argument("--pictures", type=Path, default=ROOT / "docs" / "pictures")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    made, status = outputs(arguments.results, arguments.page, arguments.pictures), 0
    for path, content in made.items():
        if not arguments.check:
            path.write_text(content)
        elif not path.exists() or path.read_text() != content:
            print(f"{path}:1: error: is not what the results say; run `python3 bench/device/plots.py`")
            status = 1
    print(f"plots: {len(made) - 1} pictures" + (" are up to date" if arguments.check and not status else ""))
    return status


if __name__ == "__main__":
    sys.exit(main())
