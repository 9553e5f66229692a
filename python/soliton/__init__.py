"""Soliton: the Wave kernel language for GPU kernels.

>>> import soliton.lang as tkl, soliton.wave as tkw

`python -m soliton.compat program.py` runs a program that imports `wave_lang` or `iree.turbine.kernel` as it is.
"""

from ._errors import CompileError, Diagnostic, Note
from ._native import Expr, explain, targets
from ._options import OptionWarning, default_target
from ._symbols import ceildiv, eq, max, min, ne, select, sym

__version__ = "0.1.0"
__all__ = [
    *["CompileError", "Diagnostic", "Expr", "Note", "OptionWarning", "ceildiv", "default_target", "eq", "explain"],
    *["max", "min", "ne", "select", "sym", "targets"],
]
