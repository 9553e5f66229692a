#!/usr/bin/env python3
"""Checks that every file includes only what its layer may include, and that no layer but the targets names a chip.

    scripts/check_layering.py                 the whole tree
    scripts/check_layering.py --root DIR      another one
    scripts/check_layering.py --table         print the rules

The rules are data in scripts/layers.py. Checked: `#include "soliton/<layer>/…"` of every source file; includes of
mlir/, llvm/ and lld/ in layers without MLIR; that public headers reach public headers only and no MLIR; names of chips in code
(comments and op descriptions may have them as examples); the DEPENDS of every soliton_add_layer. Exits 1 with one
`file:line: error: …` per violation.
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from layers import (  # noqa: E402
    CHIP,
    CHIP_FOLDERS,
    EXTRA,
    LAYERS,
    PUBLIC_HEADERS,
    PUBLIC_USERS,
    STRANGERS,
    UNRESTRICTED_USERS,
    is_test,
    markdown_table,
)

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')
MLIR_PREFIXES = ("mlir/", "mlir-c/", "llvm/", "llvm-c/", "lld/")
SOURCES = (".cpp", ".h", ".inc", ".td", ".def")


class Tree:
    """The source files below a root, and what is wrong with them."""

    def __init__(self, root: Path):
        self.root = root
        self.errors: list[str] = []
        listed = root / PUBLIC_HEADERS
        lines = listed.read_text().splitlines() if listed.exists() else []
        self.public = {line.strip() for line in lines if line.strip() and not line.startswith("#")}

    def files(self) -> list[str]:
        found = []
        for folder in ("soliton", *PUBLIC_USERS, *UNRESTRICTED_USERS):
            found += [p for p in (self.root / folder).rglob("*") if p.suffix in SOURCES and p.is_file()]
        return sorted(str(p.relative_to(self.root)) for p in found)

    def error(self, path: str, line: int, text: str) -> None:
        self.errors.append(f"{path}:{line}: error: {text}")

    def text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def includes(self, path: str) -> list[tuple[int, str]]:
        found = []
        for number, line in enumerate(self.text(path).splitlines(), 1):
            if match := INCLUDE.match(line):
                found.append((number, match.group(2)))
        return found


def layer_of(path: str) -> str | None:
    """The layer of a path below the root: `soliton/layout/Layout.h` is in `layout`."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "soliton" else None


def allowed_layers(path: str, layer: str) -> set[str]:
    allowed = {layer, *LAYERS[layer].may_include}
    for folder, extra in EXTRA.items():
        if path.startswith(f"soliton/{folder}/"):
            allowed |= set(extra)
    return allowed


def check_layer_file(tree: Tree, path: str, layer: str) -> None:
    allowed = allowed_layers(path, layer)
    may_use_mlir = LAYERS[layer].mlir or is_test(path)
    for line, included in tree.includes(path):
        if included.startswith(MLIR_PREFIXES) and not may_use_mlir:
            tree.error(path, line, f"`{layer}` is a layer without MLIR, but includes `{included}`")
        other = layer_of(included)
        if included == "soliton/soliton.h" and layer != "driver" and not is_test(path):
            tree.error(path, line, f"`{layer}` includes the users' header; include the one that declares what is used")
        if other is not None and other not in LAYERS:
            tree.error(path, line, f"`{other}` is no layer of scripts/layers.py")
        elif other is not None and other not in allowed:
            legal = ", ".join(LAYERS[layer].may_include) or "nothing but itself"
            tree.error(path, line, f"`{layer}` must not include `{other}` (`{included}`); it may include {legal}")
        for folder, stranger in STRANGERS:
            if path.startswith(f"soliton/{folder}/") and included.startswith(f"soliton/{stranger}/"):
                tree.error(path, line, f"`{folder}` must not know `{stranger}` (`{included}`)")


def check_public_user(tree: Tree, path: str) -> None:
    for line, included in tree.includes(path):
        if included.startswith(MLIR_PREFIXES):
            tree.error(path, line, f"a user of the language includes `{included}`, but needs no MLIR")
        if included.startswith("soliton/") and included not in tree.public:
            tree.error(path, line, f"`{included}` is no public header; {PUBLIC_HEADERS} lists them")


def check_public_headers(tree: Tree) -> None:
    for path in sorted(tree.public):
        if not (tree.root / path).is_file():
            tree.error(PUBLIC_HEADERS, 1, f"`{path}` does not exist")
            continue
        for line, included in tree.includes(path):
            if included.startswith(MLIR_PREFIXES):
                tree.error(path, line, f"a public header includes `{included}`")
            elif included.startswith("soliton/") and included not in tree.public:
                tree.error(path, line, f"a public header includes `{included}`, which {PUBLIC_HEADERS} does not list")


def strip_comments(path: str, text: str) -> str:
    """The code of a file: comments, and in ODS files descriptions, become blanks; lines stay where they are."""

    def blank(match: re.Match) -> str:
        return "".join("\n" if c == "\n" else " " for c in match.group(0))

    def blank_comment(match: re.Match) -> str:
        return match.group(0) if match.group(0)[0] in "\"'" else blank(match)

    if path.endswith(".td"):
        text = re.sub(r"let (?:description|summary) = (?:\[\{.*?\}\]|\"(?:[^\"\\]|\\.)*\")", blank, text, flags=re.S)
    token = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|//[^\n]*|/\*.*?\*/"
    return re.sub(token, blank_comment, text, flags=re.S)


def check_chips(tree: Tree, path: str) -> None:
    if path.startswith(CHIP_FOLDERS) or is_test(path):
        return
    for number, line in enumerate(strip_comments(path, tree.text(path)).splitlines(), 1):
        for match in CHIP.finditer(line):
            tree.error(path, number, f"names the chip `{match.group(0)}`; ask the target's table instead")


def check_links(tree: Tree) -> None:
    """`DEPENDS` of a layer's library may name the libraries of layers that it may include."""
    libraries = {"Soliton" + name.capitalize(): name for name in LAYERS}
    for cmake in sorted((tree.root / "soliton").rglob("CMakeLists.txt")):
        path = str(cmake.relative_to(tree.root))
        layer = layer_of(path)
        if layer not in LAYERS:
            continue
        text = re.sub(r"#[^\n]*", "", cmake.read_text())
        for call in re.finditer(r"soliton_add_layer\s*\((.*?)\)", text, flags=re.S):
            depends = re.search(r"\bDEPENDS\b(.*?)(?:\b(?:SOURCES|TESTS|TEST_DEPENDS|MLIR)\b|$)", call.group(1), re.S)
            line = text.count("\n", 0, call.start()) + 1
            for library in depends.group(1).split() if depends else []:
                if library in libraries and libraries[library] not in allowed_layers(path, layer):
                    tree.error(path, line, f"`{layer}` must not link `{library}`")


def check(root: Path) -> list[str]:
    """All violations below a root, in the order of its files."""
    tree = Tree(root)
    for path in tree.files():
        layer = layer_of(path)
        if layer in LAYERS:
            check_layer_file(tree, path, layer)
        elif layer is not None:
            tree.error(path, 1, f"`{layer}` is no layer of scripts/layers.py")
        elif path.split("/")[0] in PUBLIC_USERS and not is_test(path):
            check_public_user(tree, path)
        check_chips(tree, path)
    check_public_headers(tree)
    check_links(tree)
    return tree.errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--table", action="store_true", help="print the rules and stop")
    options = parser.parse_args()
    if options.table:
        print(markdown_table(), end="")
        return 0
    errors = check(options.root)
    print("\n".join(errors) if errors else "layering: every file includes only what its layer may include")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
