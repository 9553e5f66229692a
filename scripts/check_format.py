#!/usr/bin/env python3
"""Checks the style of what changed: clang-format on every changed source, clang-tidy on changed .cpp files.

    scripts/check_format.py                  against the merge base with the main branch, or the last commit
    scripts/check_format.py --all --fix      format everything
    scripts/check_format.py --base HEAD~3

clang-tidy needs the build's compile_commands.json and takes a second a file, so it stops when --tidy-seconds are over
and says how many files it left out. It reads a file with what that includes itself: of a precompiled header it would walk
through everything, which takes ten times as long. Exits 1 if something is to be changed, 77 if there is nothing to look at.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("soliton", "kernels", "tools", "bench", "examples", "test", "cmake")
SUFFIXES = (".cpp", ".h", ".inc")
SKIP = 77


def git(*arguments: str) -> str | None:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def find_base() -> str | None:
    """What the tree is compared with: where it left the main branch, else the commit before, else nothing."""
    head = git("rev-parse", "HEAD")
    for branch in ("origin/main", "origin/master", "main", "master"):
        base = git("merge-base", "HEAD", branch)
        if base and base != head:
            return base
    return git("rev-parse", "--verify", "-q", "HEAD~1")


def is_source(path: str) -> bool:
    return path.startswith(tuple(folder + "/" for folder in FOLDERS)) and path.endswith(SUFFIXES)


def changed_files(base: str | None) -> list[str]:
    """Sources that differ from the base, those not committed included; all of them where there is no base."""
    listed = git("ls-files", "--others", "--exclude-standard") or ""
    listed += "\n" + ((git("diff", "--name-only", "--diff-filter=d", base) if base else git("ls-files")) or "")
    return sorted({path for path in listed.splitlines() if is_source(path) and (ROOT / path).is_file()})


def all_files() -> list[str]:
    found = [p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in SUFFIXES]
    return sorted(str(p.relative_to(ROOT)) for p in found)


def tool(name: str) -> str | None:
    return shutil.which(f"{name}-22") or shutil.which(f"/usr/lib/llvm-22/bin/{name}")


def format_files(files: list[str], fix: bool) -> list[str]:
    """The files that clang-format would change (and does, with `fix`)."""
    clang_format = tool("clang-format")
    if not clang_format:
        raise SystemExit("error: clang-format-22 is missing; run scripts/bootstrap.sh")
    changed = []
    for start in range(0, len(files), 40):
        part = files[start : start + 40]
        done = subprocess.run([clang_format, "--dry-run", *part], cwd=ROOT, capture_output=True, text=True)
        bad = {line.split(":", 1)[0] for line in done.stderr.splitlines() if "[-Wclang-format-violations]" in line}
        changed += sorted(bad)
        if fix and bad:
            subprocess.run([clang_format, "-i", *sorted(bad)], cwd=ROOT, check=True)
    return changed


def without_precompiled(command: str) -> str:
    """The compiler's command without the header that the build puts before every file."""
    return re.sub(r"-Xclang -include(-pch)? -Xclang \S*cmake_pch\.hxx(\.pch)? ?", "", command)


def tidy_files(files: list[str], build: Path, seconds: float, jobs: int) -> tuple[int, int, int]:
    """(files with findings, which are printed as they are found, files looked at, files left out)."""
    clang_tidy = tool("clang-tidy")
    if not clang_tidy:
        raise SystemExit("error: clang-tidy-22 is missing; run scripts/bootstrap.sh")
    database = json.loads((build / "compile_commands.json").read_text())
    known = {os.path.normpath(os.path.join(entry["directory"], entry["file"])) for entry in database}
    wanted = [path for path in files if path.endswith(".cpp") and str(ROOT / path) in known]
    deadline = time.monotonic() + seconds

    def findings_of(path: str, commands: Path) -> str:
        done = subprocess.run([clang_tidy, "--quiet", "-p", str(commands), path], cwd=ROOT, capture_output=True, text=True)
        return done.stdout if done.returncode != 0 else ""

    def look(path: str) -> str | None:
        if time.monotonic() > deadline:
            return None
        found = findings_of(path, plain)
        # What lacks an include of its own is looked at as it is compiled.
        return findings_of(path, build) if "[clang-diagnostic-error]" in found else found

    findings = left_out = 0
    with tempfile.TemporaryDirectory(prefix="soliton-tidy-") as folder, ThreadPoolExecutor(jobs) as pool:
        plain = Path(folder)
        changed = [{**entry, "command": without_precompiled(entry["command"])} for entry in database]
        (plain / "compile_commands.json").write_text(json.dumps(changed))
        for output in pool.map(look, wanted):
            left_out += output is None
            findings += bool(output)
            print(output or "", end="", flush=True)
    return findings, len(wanted) - left_out, left_out


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", help="the commit to compare with")
    parser.add_argument("--all", action="store_true", help="look at every source file")
    parser.add_argument("--fix", action="store_true", help="format instead of complaining; runs no clang-tidy")
    parser.add_argument("--no-format", action="store_true")
    parser.add_argument("--no-tidy", action="store_true")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--tidy-seconds", type=float, default=180, help="default %(default)s")
    parser.add_argument("--jobs", type=int, default=max(1, min(2, os.cpu_count() or 1)))
    return parser.parse_args()


def main() -> int:
    options = parse_options()
    files = all_files() if options.all else changed_files(options.base or find_base())
    if not files:
        print("style: no source file has changed")
        return SKIP
    status = 0
    if not options.no_format:
        changed = format_files(files, options.fix)
        for path in changed:
            print(f"{path}: " + ("formatted" if options.fix else "error: not formatted; run `make format`"))
        print(f"format: {len(files)} files, {len(changed)} to change")
        status = 1 if changed and not options.fix else 0
    if not options.no_tidy and not options.fix:
        if not (options.build / "compile_commands.json").exists():
            print(f"tidy: {options.build} has no compile_commands.json")
            return status or SKIP
        findings, seen, left_out = tidy_files(files, options.build, options.tidy_seconds, options.jobs)
        print(f"tidy: {seen} files looked at, {findings} with findings, {left_out} left out for time")
        status = 1 if findings else status
    return status


if __name__ == "__main__":
    sys.exit(main())
