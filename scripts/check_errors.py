#!/usr/bin/env python3
"""Checks that every error id has a test: a diagnostic that no test provokes may have rotted.

    scripts/check_errors.py          lists the ids that no test names, exits 1 if there is one

An id counts where a test file (*Test.cpp below soliton/ and kernels/, or anything in test/) names it: `[mma-unknown]`,
`"mma-unknown"` or `DiagId::MmaUnknown`.
"""

import argparse
import re
import sys
from pathlib import Path

ENTRY = re.compile(r'^SOLITON_DIAGNOSTIC\((\w+),\s*"([^"]+)"', re.M)
TEXTS = (".cpp", ".h", ".mlir", ".py", ".sh", ".txt", ".test")


def test_files(root: Path) -> list[Path]:
    found = [p for folder in ("soliton", "kernels", "tools") for p in (root / folder).rglob("*Test.cpp")]
    found += [p for folder in ("soliton", "kernels", "tools") for p in (root / folder).rglob("*Test.h")]
    found += [p for p in (root / "test").rglob("*") if p.suffix in TEXTS and p.is_file()]
    return sorted(found)


def untested(root: Path) -> tuple[list[tuple[str, str]], int]:
    """The (enumerator, id) pairs that no test names, and how many there are in all."""
    entries = ENTRY.findall((root / "soliton" / "support" / "Diagnostics.def").read_text())
    words: set[str] = set()
    for path in test_files(root):
        text = path.read_text(encoding="utf-8", errors="replace")
        words |= set(re.findall(r"[\[\"]([a-z][a-z0-9]*(?:-[a-z0-9]+)+)[\]\"]", text))
        words |= set(re.findall(r"DiagId::(\w+)", text))
    return [(name, text) for name, text in entries if name not in words and text not in words], len(entries)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    options = parser.parse_args()
    missing, total = untested(options.root)
    for name, text in missing:
        print(f"soliton/support/Diagnostics.def: error: no test provokes `{text}` (DiagId::{name})")
    print(f"error coverage: {total - len(missing)} of {total} ids have a test")
    return 1 if missing or not total else 0


if __name__ == "__main__":
    sys.exit(main())
