"""Writes what type checkers and editors read about the names of soliton.lang and soliton.wave, many of which are made when the
modules are imported.

    python python/stubs.py FOLDER        FOLDER has the package, and the extension for this interpreter

Names, parameters and which of them may be left out are stated; types are `Any` where the language takes symbols, numbers and tiles
alike. `Memory[M, N, …]` as an annotation is Wave's spelling, which no type checker understands: `# type: ignore` belongs there.
"""

import inspect
import sys
from pathlib import Path

MODULES = ("soliton.lang", "soliton.wave")


def parameters(function) -> str:
    """`(a: Any, b: Any = ..., *, tag: Any = ...)`"""
    words, seen_star = [], False
    for each in inspect.signature(function).parameters.values():
        if each.kind is each.KEYWORD_ONLY and not seen_star:
            words.append("*")
        seen_star |= each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
        star = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        default = "" if each.default is each.empty else " = ..."
        words.append(f"{star}{each.name}: Any{default}")
    return ", ".join(words)


def entry(name: str, value) -> str:
    if inspect.isclass(value) and value.__module__.startswith("soliton."):
        return f"from {value.__module__} import {value.__qualname__} as {name}"
    if inspect.isfunction(value):
        return f"def {name}({parameters(value)}) -> Any: ..."
    return f"{name}: Any"


def main() -> None:
    folder = Path(sys.argv[1])
    sys.path.insert(0, str(folder))
    for module in MODULES:
        loaded = __import__(module, fromlist=["*"])
        names = sorted({*loaded.__all__, *(each for each in vars(loaded) if not each.startswith("_") and not inspect.ismodule(vars(loaded)[each]))})
        entries = sorted((entry(name, getattr(loaded, name)) for name in names), key=lambda each: (not each.startswith("from "), each))
        text = "\n".join(["# Written by python/stubs.py.", "from typing import Any", *entries, ""])
        (folder / Path(*module.split(".")) / "__init__.pyi").write_text(text)


if __name__ == "__main__":
    main()
