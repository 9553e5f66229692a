"""Where the author's text stands that called us: file, line and, from Python 3.11 on, column.

    here()  ->  ("gemm.py", 12, 9)

Frames of this package are not the author's; what they were called from is.
"""

from __future__ import annotations

import sys

# Text of kernels that the package brings is text of an author, too.
_WAVE = "soliton.compat.wave_lang.kernel.wave."
_KERNELS = (_WAVE + "templates", _WAVE + "schedules", _WAVE + "nn")
_positions: dict = {}
_ends: dict = {}


def _is_ours(frame) -> bool:
    # By module, not by file: `__init__` of a dataclass has no file of its own.
    module = frame.f_globals.get("__name__", "")
    return module.partition(".")[0] == "soliton" and not module.startswith(_KERNELS)


def _position(frame) -> tuple[int, int]:
    code = frame.f_code
    if not hasattr(code, "co_positions"):
        return frame.f_lineno or 0, 1
    table = _positions.get(code)
    if table is None:
        table = _positions[code] = list(code.co_positions())
    line, end_line, column, end_column = table[frame.f_lasti // 2]
    if line is None:
        return frame.f_lineno or 0, 1
    if column is None:
        return line, 1
    if end_line == line and end_column is not None:
        _ends[code.co_filename, line, column + 1] = end_column + 1
    return line, column + 1


def here():
    """The author's place, or None."""
    frame = sys._getframe(1)
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    if frame is None:
        return None
    return (frame.f_code.co_filename, *_position(frame))


def of_function(function):
    """The line of a function's `def`."""
    code = getattr(function, "__code__", None)
    return (code.co_filename, code.co_firstlineno, 1) if code else None


def end_column(file: str, line: int, column: int) -> int:
    """Where what begins there ends, counted from 1; 0 where nobody knows."""
    return _ends.get((file, line, column), 0)
