"""A compiled kernel with its arguments: launched and compared with what it must compute, or timed. Whoever has the image can do
that, without the kernel that it is made of.

    job = {"image": bytes, "device": "cuda", "specs": […], "shapes": [[128, 64], …], "sizes": {"M": 128}}
    Launching.of(job).measured(warmup=5, samples=21)
"""

from __future__ import annotations

import math

from .. import _native
from .._errors import CompileError


class Launching:
    """`specs` are those of `Compiled.arguments()`, `sizes` those that only the launch knows."""

    def __init__(self, compiled, specs, shapes: list[list[int]], sizes: dict):
        self.compiled, self.specs, self.shapes, self.sizes = compiled, specs, shapes, sizes

    @staticmethod
    def of(job: dict) -> Launching:
        return Launching(_native.load_image(job["image"], job["device"]), job["specs"], job["shapes"], job["sizes"])

    def wrong(self, contents: list[bytes], expected) -> str:
        """What is wrong with what it computes of these contents; empty if nothing."""
        arguments, held = _arguments(self.specs, self.shapes, contents)
        unbound = {name for name, is_bound in self.compiled.symbols() if not is_bound}
        sizes = [(_native.symbol(name), value) for name, value in self.sizes.items() if name in unbound]
        try:
            self.compiled.launch(arguments, sizes)
        except CompileError as failure:
            return str(failure).strip()
        return _difference(self.specs, held, expected)

    def measured(self, warmup: int, samples: int, cold: bool = False) -> tuple[list[float], int]:
        """Seconds of each sample, and how many launches one is the mean of."""
        arguments, _held = _arguments(self.specs, self.shapes, drawn(self.specs, self.shapes))
        microseconds, launches = self.compiled.measure(arguments, self.sizes, warmup, samples, cold)
        return [each * 1e-6 for each in microseconds], launches


def drawn(specs, shapes) -> list:
    """The bytes of each argument: small integers in the kernel's own types; what it only writes is filled with ones."""
    import numpy as np

    draw, contents = np.random.default_rng(1), []
    for (_, _, dtype, is_output, is_read, _), shape in zip(specs, shapes):
        values = [0.0, 1.0] if dtype == "i1" else [-2.0, -1.0, 0.0, 1.0, 2.0]
        patterns = np.frombuffer(_native.encode(dtype, values), dtype=f"u{len(_native.encode(dtype, [0.0]))}")
        data = patterns[draw.integers(0, len(patterns), int(np.prod(shape, dtype=np.int64)))].view(np.uint8)
        contents.append(np.full_like(data, 0xFF) if is_output and not is_read else data)
    return contents


def _arguments(specs, shapes, contents):
    """(arguments as a launch takes them, the arrays behind them)."""
    import numpy as np

    arguments: list = []
    held = []
    for (_, is_array, dtype, *_), shape, data in zip(specs, shapes, contents):
        array = np.frombuffer(bytearray(data), np.uint8)
        held.append(array)
        if is_array:
            strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
            arguments.append((array.ctypes.data, dtype, shape, strides, "host", 0, False))
        else:
            number = _native.decode(dtype, bytes(data))[0]
            arguments.append(number if dtype.startswith(("f", "b")) else int(number))
    return arguments, held


def _difference(specs, held, expected) -> str:
    """Where outputs are further off than they may be; empty if nowhere."""
    import numpy as np

    for (name, is_array, dtype, is_output, *_), array, (wanted, tolerance) in zip(specs, held, expected):
        if not (is_array and is_output):
            continue
        x, y = (np.array(_native.decode(dtype, bytes(each))) for each in (array, wanted))
        with np.errstate(invalid="ignore"):
            is_right = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= (np.array(tolerance) if tolerance else 0.0))
        if not is_right.all():
            first = int(np.argmin(is_right))
            return f"`{name}` is wrong in {(~is_right).sum()} of {x.size} elements: element {first} is {x[first]:g}, expected {y[first]:g}"
    return ""
