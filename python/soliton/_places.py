"""Where the author's text stands that called us: file, line and, from Python 3.11 on, column.

    here()  ->  ("gemm.py", 12, 9)

Frames of this package are not the author's; what they were called from is.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap

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


def of_parameters(function) -> dict:
    """Where the parameters of a function are declared, by their names; empty where the text is not known."""
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return {}
    indent = len(lines[0]) - len(lines[0].lstrip())
    file, places = function.__code__.co_filename, {}
    declared = getattr(tree.body[0], "args", None) if tree.body else None
    for each in [*declared.posonlyargs, *declared.args, *declared.kwonlyargs] if declared else ():
        place = (file, first + each.lineno - 1, each.col_offset + indent + 1)
        if each.end_lineno == each.lineno:
            _ends[place] = each.end_col_offset + indent + 1
        places[each.arg] = place
    return places


def of_failure(failure: BaseException):
    """The author's place that a failure inside of this package comes from; None if it is the author's own."""
    frames, trace = [], failure.__traceback__
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    if not frames or not _is_ours(frames[-1].tb_frame):
        return None
    for each in reversed(frames):
        if not _is_ours(each.tb_frame):
            code = each.tb_frame.f_code
            if not hasattr(code, "co_positions"):
                return code.co_filename, each.tb_lineno, 1
            line, _, column, _ = list(code.co_positions())[each.tb_lasti // 2]
            return code.co_filename, line or each.tb_lineno, (column or 0) + 1
    return None


def end_column(file: str, line: int, column: int) -> int:
    """Where what begins there ends, counted from 1; 0 where nobody knows."""
    return _ends.get((file, line, column), 0)
