"""Errors as the author of a kernel sees them: place, found and expected, id, hint, and the line of source.

    gemm.py:31:11: error: `mma` contracts 32 columns of `a` with 16 of `b` [mma-shape-mismatch]
            acc = tkw.mma(a_reg, b_reg, acc)
                  ^~~~~~~~~~~~~~~~~~~~~~~~~~
    gemm.py:28:9: note: `b` is read here
      hint: give both operands the same K tile
"""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass, field

from . import _native, _places


@dataclass(frozen=True)
class Note:
    """A place that has to do with an error, and what is there."""

    file: str
    line: int
    column: int
    message: str


@dataclass(frozen=True)
class Diagnostic:
    """One thing that was found; `id` is explained in docs/errors.md."""

    severity: str
    id: str
    file: str
    line: int
    column: int
    message: str
    hint: str = ""
    notes: tuple[Note, ...] = field(default=())

    @staticmethod
    def _of(data: dict) -> Diagnostic:
        notes = tuple(Note(file, line, column, message) for (file, line, column), message in data["notes"])
        file, line, column = data["place"]
        return Diagnostic(data["severity"], data["id"], file, line, column, data["message"], _in_python(data["hint"]), notes)

    def __str__(self) -> str:
        lines = [f"{_where(self)}{self.severity}: {self.message} [{self.id}]", *_caret(self)]
        for note in self.notes:
            lines += [f"{_where(note)}note: {note.message}", *_caret(note)]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


# Hints that show how something is written, in C++ and in Python.
_SPELLINGS = [(r"add `\{(.+?), …\}` to `subs`", r"add `\1: …` to `subs`"), (r", or (\S+) to `dynamic`", r", or \1 to `dynamic_symbols`")]
_SPELLINGS += [(r"`--(database|seed)`", r"`\1=`"), (r"`--space NAME=VALUE,VALUE`", r"`choice(NAME, [VALUE, VALUE])`"), (r"`(\w+)=64,128`", r"`choice(\1, [64, 128])`")]


def _in_python(hint: str) -> str:
    for theirs, ours in _SPELLINGS:
        hint = re.sub(theirs, ours, hint)
    return hint


def _where(at) -> str:
    return f"{at.file}:{at.line}:{at.column}: " if at.file else ""


def _caret(at) -> list[str]:
    """The line of source and a mark under the place; nothing where there is no source."""
    text = linecache.getline(at.file, at.line).rstrip("\n") if at.file else ""
    if not text.strip():
        return []
    column = at.column if 0 < at.column <= len(text) else len(text) - len(text.lstrip()) + 1
    width = max(1, _places.end_column(at.file, at.line, at.column) - column)
    before = "".join(c if c == "\t" else " " for c in text[: column - 1])
    return [text, before + "^" + "~" * (width - 1)]


class CompileError(Exception):
    """Everything that was found wrong with a kernel, its options or a launch; never only the first.

    >>> try:
    ...     wave_compile(options, gemm)
    ... except soliton.CompileError as error:
    ...     for diagnostic in error.diagnostics:
    ...         print(diagnostic.file, diagnostic.line, diagnostic.id)
    """

    def __init__(self, diagnostics):
        found = [Diagnostic._of(each) if isinstance(each, dict) else each for each in diagnostics]
        self.diagnostics: list[Diagnostic] = found
        super().__init__("\n".join(str(each) for each in found))

    @property
    def id(self) -> str:
        """The id of the first error."""
        errors = [each for each in self.diagnostics if each.severity == "error"] or self.diagnostics
        return errors[0].id if errors else ""

    def __str__(self) -> str:
        # What stands alone in a traceback starts on a line of its own.
        return "\n" + super().__str__()

    def __reduce__(self):
        return (CompileError, (self.diagnostics,))


def error(id: str, message: str, hint: str = "", place=None) -> CompileError:
    """An error that Python's side of the language found, at the author's line."""
    file, line, column = place or _places.here() or ("", 0, 0)
    return CompileError([Diagnostic("error", id, file, line, column, message, hint)])


_native.set_error_class(CompileError)
