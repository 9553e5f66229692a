"""What a section of the bench has to say: tables, as Markdown and as raw results.

    Table("f16 GEMM 4096³", base=("cuBLAS",), work=2.0 * 4096**3, unit="TFLOP/s", timings={"cuBLAS": ..., "auto": ...})

A ratio is that of the table's base, the fastest of the arms named so, to the arm: above 1 is faster than the base.
"""
from dataclasses import dataclass


@dataclass
class Table:
    title: str
    base: tuple
    work: float
    """Operations, or bytes, of a launch."""
    unit: str
    """`TFLOP/s` or `TB/s`: both are millions of `work` a microsecond."""
    timings: dict

    def reference(self, figure):
        """The base's microseconds: the fastest of its arms."""
        return min((figure(self.timings[name]) for name in self.base if name in self.timings), default=None)

    def lines(self):
        head = ("arm", "burst us", "spread", self.unit, "ratio", "steady us", self.unit, "ratio")
        lines = ["", self.title, "", "| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
        for name, timing in self.timings.items():
            cells = [name, f"{timing.burst:.1f}", f"{100 * timing.spread:.1f} %", *self.rates(lambda t: t.burst, timing)]
            if timing.steadies:
                cells += [f"{timing.steady:.1f}", *self.rates(lambda t: t.steady, timing)]
            else:
                cells += ["–", "–", "–"]
            lines.append("| " + " | ".join(cells) + " |")
        return lines

    def rates(self, figure, timing):
        base, digits = self.reference(figure), 0 if self.unit == "TFLOP/s" else 2
        return f"{self.work / figure(timing) / 1e6:.{digits}f}", f"{base / figure(timing):.3f}" if base else "–"

    def raw(self):
        return {"title": self.title, "base": list(self.base), "work": self.work, "unit": self.unit,
                "arms": {name: {"burst_us": timing.bursts, "steady_us": timing.steadies} for name, timing in self.timings.items()}}
