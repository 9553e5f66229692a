"""What may be chosen: names with lists of values, and conditions on them.

    Space().choice(BLOCK_M, [64, 128, 256]).choice("schedule", ["prefetch", "modulo"]).where(BLOCK_M * BLOCK_N <= 16384)

| name | values |
| --- | --- |
| a symbol, or its name | numbers |
| `schedule` | algorithms: `none`, `prefetch`, `modulo`, … |
| `direct_copies` | `off`, `on`; also False, True |
| `mma` | `default`, or a matrix instruction |
| `padded_rows` | `auto`, `on`, `off` |
| `staged_writes`, `overlap_tiles`, `turns` | the same |
| `raster`, `cluster`, `persistent`, `service_waves` | numbers, as the command's |
| `workgroups_per_cluster` | `1`, `2` along the first dimension of the grid, `1x2` along the second |
"""

from __future__ import annotations

import re

from .. import _native
from .._errors import error
from .._symbols import to_expr

# Fields of the options by the same name: numbers, and what is on or off.
NUMBERS = ("raster", "cluster", "persistent", "service_waves")
SWITCHES = ("staged_writes", "overlap_tiles", "turns")
OPTIONS = ("schedule", "direct_copies", "mma", "padded_rows", *NUMBERS, *SWITCHES, "workgroups_per_cluster")


def _name(symbol) -> str:
    if isinstance(symbol, str):
        return symbol
    expr = to_expr(symbol)
    if expr.kind != "symbol":
        raise error("substitution-invalid", f"found `{symbol}` as a choice, expected a symbol or a name")
    return expr.name


# What options take: words, or numbers from the least to the most.
ON_OFF = ("off", "on")
WORDS = {"direct_copies": ON_OFF, "padded_rows": ("auto", "on", "off"), **dict.fromkeys(SWITCHES, ON_OFF)}
RANGES = {"raster": (-65535, 65535), "cluster": (0, 16), "persistent": (0, 65535), "service_waves": (0, 4)}


def _text(name: str, value) -> str:
    """A value as a candidate has it; what the option or symbol of that name does not take is refused."""
    if name in WORDS and isinstance(value, bool):
        value = "on" if value else "off"
    if name == "workgroups_per_cluster" and isinstance(value, (tuple, list)):
        value = "x".join(map(str, value))
    text = str(getattr(value, "name", value))
    if name == "schedule":
        return text.lower()
    if name in WORDS and text not in WORDS[name]:
        raise _none(name, value, f"one of {', '.join(f'`{each}`' for each in WORDS[name])}")
    if name == "workgroups_per_cluster" and not re.fullmatch(r"([1-9]|1[0-6])(x([1-9]|1[0-6])){0,2}", text):
        raise _none(name, value, "`2` or `1x2`, of 1 to 16")
    if name not in OPTIONS or name in NUMBERS:
        least, most = RANGES.get(name, (1, 2**31 - 1))
        if not re.fullmatch(r"-?\d+", text) or not least <= int(text) <= most:
            raise _none(name, value, f"a whole number from {least} to {most}")
    return text


def _none(name: str, value, expected: str):
    return error("tune-space", f"found `{value!r}` as a value of `{name}`, expected {expected}")


def _value(text: str):
    return int(text) if text.lstrip("-").isdigit() else text


class Space:
    """Choices and conditions; both return the space, so that they are said in one go."""

    def __init__(self):
        self._native = _native.Space()

    def choice(self, name, values) -> Space:
        """One of these values. Numbers have an order, words have none."""
        name = _name(name)
        if isinstance(values, str) or not hasattr(values, "__iter__"):
            raise error("tune-space", f"found `{values!r}` as the values of `{name}`, expected a list of them", f'`choice("{name}", [{values!r}])` for one')
        self._native.choice(name, [_text(name, each) for each in values])
        return self

    def where(self, condition, text: str = "") -> Space:
        """Only what meets a condition: an expression of symbols that is not 0, or a function of the choices by name."""
        if callable(condition):
            said = text or getattr(condition, "__name__", "a function")
            self._native.where(said, lambda found: bool(condition({name: _value(value) for name, value in found.items()})))
            return self
        formula = to_expr(condition)
        self._native.where(text or str(formula), lambda found: self._holds(formula, found))
        return self

    @staticmethod
    def _holds(formula, found: dict) -> bool:
        pairs = [(_native.symbol(name), to_expr(_value(value))) for name, value in found.items() if name not in OPTIONS or name in NUMBERS]
        value = formula._substitute(pairs).value
        if value is None:
            raise error("substitution-invalid", f"`where({formula})` is no number for {found}", "use choices of the space alone")
        return value != 0

    @property
    def choices(self) -> dict:
        """The values of each name."""
        return {name: [_value(each) for each in values] for name, values in self._native.choices}

    def __len__(self) -> int:
        """Combinations, those included that conditions forbid."""
        return self._native.size

    def allows(self, **choices) -> bool:
        """Whether the conditions hold."""
        return self._native.allows({name: str(value) for name, value in choices.items()})

    def __repr__(self) -> str:
        return f"<space of {len(self)}: {', '.join(self.choices)}>"
