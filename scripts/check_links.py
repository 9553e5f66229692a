#!/usr/bin/env python3
"""Checks that every relative link of every page leads to a file, and that README reaches each page in two clicks.

    scripts/check_links.py

Exits 1 with `file:line: error: …` per dead link or lost page.
"""

import argparse
import re
import sys
from pathlib import Path

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def links(page: Path) -> list[tuple[int, str]]:
    """(line, target) of every relative link outside code."""
    found, in_code = [], False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            in_code = not in_code
        if in_code:
            continue
        for target in LINK.findall(re.sub(r"`[^`]*`", lambda code: code.group(0).replace("(", " "), line)):
            if not re.match(r"[a-z]+:|#", target):
                found.append((number, target.split("#")[0]))
    return found


def pages(root: Path) -> list[Path]:
    return sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])


def reachable(root: Path, clicks: int) -> set[Path]:
    seen = {root / "README.md"}
    for _ in range(clicks):
        texts = [page for page in seen if page.suffix == ".md" and page.is_file()]
        seen |= {(page.parent / target).resolve() for page in texts for _, target in links(page)}
    return seen


def check(root: Path) -> list[str]:
    errors = []
    for page in pages(root):
        for number, target in links(page):
            if not (page.parent / target).exists():
                errors.append(f"{page.relative_to(root)}:{number}: error: `{target}` does not exist")
    for page in set(pages(root)) - reachable(root, 2):
        errors.append(f"{page.relative_to(root)}:1: error: README does not lead here in two clicks")
    return sorted(errors)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    errors = check(parser.parse_args().root.resolve())
    print("\n".join(errors) if errors else "links: every link leads somewhere")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
