#!/usr/bin/env python3
"""Does what a page of docs/ says (by default tutorial-schedules.md), and compares what comes out with what the page shows.

    scripts/run_tutorial.py                  against build/
    scripts/run_tutorial.py --update         write what came out into the page, and the pictures into docs/pictures
    scripts/run_tutorial.py --page docs/tutorial             all pages of a folder, README.md first
    scripts/run_tutorial.py --page docs/tutorial --only 04   one of them, after README.md

Code blocks with a file name (`cpp gemm.h`) become files; lines of `console` blocks that begin with `$ ` are commands, run in
the order of the page with the installed package in reach; the lines behind them are the output. `…` stands for anything
in a line, and alone in a line for any lines. Every picture that the page shows must have been written by a command, byte for byte.
`python` is an interpreter with the Python package (scripts/python_package.py); where that cannot be made, its commands are
skipped, with the reason. The pages of a folder are one reader's day: they share a work folder. One line per thing that was
checked; the last one counts. Exits 1 if something differs.
"""

import argparse
import contextlib
import difflib
import io
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import python_package

ROOT = Path(__file__).resolve().parent.parent
ANYTHING = "…"
TIMEOUT_S = 600


@dataclass
class Command:
    """A line of a console block. `first` and `last` bound the lines of the page that show its output."""

    text: str
    line: int
    first: int
    last: int
    shown: list[str] = field(default_factory=list)


@dataclass
class File:
    name: str
    text: str


@dataclass
class Tutorial:
    """The page in the order in which it is read."""

    lines: list[str]
    steps: list[Command | File]
    pictures: list[str]


def parse(page: str) -> Tutorial:
    lines = page.splitlines()
    steps, pictures, block, begin = [], [], None, 0
    for number, line in enumerate(lines):
        if block is None and line.startswith("```"):
            block, begin = line[3:].split(), number + 1
        elif block is not None and line == "```":
            body = lines[begin:number]
            if len(block) == 2:
                steps.append(File(block[1], "\n".join(body) + "\n"))
            elif block == ["console"]:
                steps += parse_console(body, begin)
            block = None
        elif block is None:
            pictures += re.findall(r"!\[[^\]]*\]\(([^)\s]+\.svg)\)", line)
    if block is not None:
        raise ValueError(f"line {begin}: a block is not closed")
    return Tutorial(lines, steps, pictures)


def parse_console(body: list[str], begin: int) -> list[Command]:
    commands: list[Command] = []
    for number, line in enumerate(body, begin):
        if line.startswith("$ "):
            commands.append(Command(line[2:], number, number + 1, number + 1))
        elif commands:
            commands[-1].shown.append(line)
            commands[-1].last = number + 1
        else:
            raise ValueError(f"line {number + 1}: output without a command")
    return commands


def matches(shown: list[str], output: list[str]) -> bool:
    """True if the output is what is shown, up to what `…` stands for."""
    pattern = ""
    for line in shown:
        if line.strip() == ANYTHING:
            pattern += r"(?:.*\n)*?"
        else:
            pattern += r"[^\n]*?".join(re.escape(part) for part in line.split(ANYTHING)) + r"\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in output)) is not None


def environment(prefix: Path) -> dict[str, str]:
    """A user's shell: the package in reach, nothing of the source tree."""
    made = {key: value for key, value in os.environ.items() if key not in ("CMAKE_PREFIX_PATH", "CXXFLAGS", "LDFLAGS")}
    made["PATH"] = f"{prefix / 'bin'}:{made.get('PATH', '')}"
    made["CMAKE_PREFIX_PATH"] = str(prefix)
    made["CMAKE_GENERATOR"] = "Ninja"
    made["NINJA_STATUS"] = ""
    made["SOLITON_CACHE_DIR"] = str(prefix.parent / "cache")
    if shutil.which("g++-12"):
        made["CXX"] = "g++-12"
    if shutil.which("ld.lld"):
        made["LDFLAGS"] = "-fuse-ld=lld"  # three times faster, and pages have many programs
    return made


class Python:
    """The interpreter with the package, set up when a page first asks for it."""

    def __init__(self, build: Path):
        self.build, self.reason = build, ""
        self.variables: dict[str, str] | None = None

    def environment(self) -> dict[str, str] | None:
        """What its commands find beside the others; nothing where it cannot be made, and then `reason` says why."""
        if self.variables is None and not self.reason:
            said = io.StringIO()
            try:
                with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                    interpreter, site = python_package.set_up(self.build, torch=False)
            except SystemExit as stopped:
                lines = said.getvalue().strip().splitlines() or [f"exit code {stopped.code}"]
                if stopped.code != python_package.SKIP_CODE:
                    raise
                self.reason = lines[-1]
                return None
            self.variables = {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", "PATH": str(interpreter.parent)}
        return self.variables


def run(command: str, work: Path, prefix: Path, more: dict[str, str]) -> tuple[int, list[str]]:
    """Exit code and lines, with the work folder cut off from the names of files. `more` is added to the environment, to PATH in front
    of what was there and behind the package's tools."""
    variables = environment(prefix)
    path = [str(prefix / "bin"), *([more["PATH"]] if "PATH" in more else []), variables["PATH"]]
    try:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=work,
            env={**variables, **more, "PATH": ":".join(path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return 124, [f"took longer than {TIMEOUT_S} s"]
    text = done.stdout.replace(f"{work}/", "")
    return done.returncode, [line.rstrip() for line in text.splitlines()]


class Runner:
    """Executes a page and remembers what differed."""

    def __init__(self, page: Path, work: Path, prefix: Path, python: Python):
        self.page, self.tutorial, self.work, self.prefix, self.python = page, parse(page.read_text()), work, prefix, python
        self.passed, self.failed, self.skipped = 0, 0, 0
        self.changes: list[tuple[Command, list[str]]] = []

    def report(self, good: bool, name: str, detail: list[str]) -> None:
        self.passed += good
        self.failed += not good
        print(f"{'ok' if good else 'FAILED'}: {self.page.name}: {name}", flush=True)
        if not good:
            print("\n".join("    " + line for line in detail), flush=True)

    def steps(self) -> None:
        for step in self.tutorial.steps:
            if isinstance(step, File):
                (self.work / step.name).parent.mkdir(parents=True, exist_ok=True)
                (self.work / step.name).write_text(step.text)
                continue
            name, more = f"line {step.line + 1}: {step.text}", {}
            if step.text.startswith("python "):
                more = self.python.environment()
                if more is None:
                    self.skipped += 1
                    print(f"skipped: {self.page.name}: {name}: {self.python.reason}", flush=True)
                    continue
            code, output = run(step.text, self.work, self.prefix, more)
            builds = step.text.startswith("cmake ")
            if code != 0:
                self.report(False, name, [f"exit code {code}", *output[-30:]])
            elif builds or matches(step.shown, output):
                self.report(True, name, [])
            else:
                detail = difflib.unified_diff(step.shown, output, "shown", "found", lineterm="")
                self.report(False, name, list(detail))
                self.changes.append((step, output))

    def pictures(self, update: bool) -> None:
        for link in self.tutorial.pictures:
            kept, made = self.page.parent / link, self.work / Path(link).name
            if update and made.is_file():
                kept.parent.mkdir(exist_ok=True)
                shutil.copyfile(made, kept)
            if not made.is_file():
                self.report(False, link, ["no command of the page writes it"])
            elif not kept.is_file() or kept.read_bytes() != made.read_bytes():
                self.report(False, link, ["it is not what the commands of the page draw; `scripts/run_tutorial.py --update`"])
            else:
                self.report(True, link, [])

    def updated(self) -> str:
        """The page with what came out in the place of what was shown."""
        lines = list(self.tutorial.lines)
        for step, output in reversed(self.changes):
            lines[step.first : step.last] = output
        return "\n".join(lines) + "\n"


def install(build: Path, prefix: Path) -> None:
    command = ["cmake", "--install", str(build), "--prefix", str(prefix)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print(done.stdout[-2000:])
        sys.exit(f"error: `{' '.join(command)}` failed")


def pages(page: Path, only: str) -> list[Path]:
    """The page, or those of a folder: README.md, then the others whose names contain `only`, in order."""
    if page.is_file():
        return [page]
    found = sorted(each for each in page.glob("*.md") if each.name != "README.md" and only in each.name)
    if not found:
        sys.exit(f"error: {page} has no page that has `{only}` in its name")
    return [each for each in [page / "README.md"] if each.is_file()] + found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "tutorial-schedules.md", help="a page or a folder")
    parser.add_argument("--only", default="", metavar="TEXT", help="of a folder: pages with this in their names")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--update", action="store_true", help="write outputs and pictures instead of comparing them")
    options = parser.parse_args()

    scratch = options.build.resolve() / options.page.resolve().stem
    shutil.rmtree(scratch, ignore_errors=True)
    (scratch / "work").mkdir(parents=True)
    install(options.build, scratch / "prefix")
    passed = failed = skipped = 0
    python = Python(options.build.resolve())
    for page in pages(options.page, options.only):
        runner = Runner(page, scratch / "work", scratch / "prefix", python)
        runner.steps()
        runner.pictures(options.update)
        if options.update:
            page.write_text(runner.updated())
        passed, failed, skipped = passed + runner.passed, failed + runner.failed, skipped + runner.skipped
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
