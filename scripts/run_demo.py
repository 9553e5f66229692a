#!/usr/bin/env python3
"""Computes a matrix product on every emulated target, and on a GPU where there is one, and says how right it is.

    scripts/run_demo.py                         f16, 256×256×256
    scripts/run_demo.py --size M=111,N=813,K=77

Prints one row per run and where the artefacts lie. Exits 1 if a result is wrong, 2 if the compiler cannot be run.
"""

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGETS = {"gfx942": "hsaco", "gfx950": "hsaco", "sm_90a": "ptx"}
NO_PROCESS = 127


@dataclass
class Run:
    """One execution: where, and what came of it (`report` is empty where nothing did)."""

    target: str
    device: str
    report: dict
    error: str = ""

    @property
    def ok(self) -> bool:
        return bool(self.report.get("ok"))


class Soliton:
    """The command line, as a function from arguments to JSON."""

    def __init__(self, binary: Path):
        self.binary = binary

    def call(self, *arguments: str, timeout: int = 300) -> tuple[int, str, str]:
        command = [str(self.binary), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        except FileNotFoundError:
            return NO_PROCESS, "", f"{self.binary} does not exist; hint: run `make build`"
        except subprocess.TimeoutExpired:
            return NO_PROCESS, "", f"`{' '.join(command)}` took longer than {timeout} s"
        return done.returncode, done.stdout, done.stderr

    def json(self, *arguments: str) -> tuple[object, str]:
        """The parsed output, or None and what went wrong."""
        code, output, errors = self.call(*arguments, "--json")
        try:
            return json.loads(output), errors.strip()
        except ValueError:
            return None, errors.strip() or f"exit {code}, and no JSON: {output.strip()[:200]!r}"


def device_selector(device: dict) -> str:
    """What `--device` takes for an entry of `soliton targets`: `cuda:0`; empty for the emulator."""
    for key in ("device", "id", "name"):
        if re.fullmatch(r"(cuda|hip)(:\d+)?", str(device.get(key, ""))):
            return str(device[key])
    if device.get("kind") in ("cuda", "hip"):
        return f"{device['kind']}:{device.get('index', 0)}"
    return ""


def device_target(device: dict) -> str:
    """Which of the targets a device runs: drivers report `sm_90` for sm_90a and `gfx942:sramecc+` for gfx942."""
    architecture = str(device.get("target") or device.get("architecture") or "").split(":")[0]
    return next((target for target in TARGETS if architecture in (target, target.rstrip("a"))), "")


def gpu_devices(soliton: Soliton) -> list[tuple[str, str]]:
    """(device, target) of every GPU that the runtime found and the compiler can serve."""
    report, _ = soliton.json("targets")
    devices = report.get("devices", []) if isinstance(report, dict) else []
    pairs = [(device_selector(device), device_target(device)) for device in devices if isinstance(device, dict)]
    return [(device, target) for device, target in pairs if device and target]


def run_gemm(soliton: Soliton, target: str, device: str, options: argparse.Namespace) -> Run:
    report, errors = soliton.json(
        *("run", "gemm", "--target", target, "--device", device),
        *("--size", options.size, "--dtype", options.dtype, "--seed", str(options.seed)),
    )
    if not isinstance(report, dict):
        return Run(target, device, {}, errors)
    return Run(target, device, report, "" if report.get("ok") else errors)


@dataclass
class CodeObject:
    """The file that a target's compilation left, and what the compiler said about it."""

    path: Path
    report: dict
    error: str = ""


def compile_code_object(soliton: Soliton, target: str, options: argparse.Namespace) -> CodeObject:
    kind = TARGETS[target]
    path = options.artefacts / f"gemm-{options.dtype}-{target}.{kind}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    report, errors = soliton.json(
        *("compile", "gemm", "--target", target, "--size", options.size, "--dtype", options.dtype),
        *("--emit", kind, "-o", str(path)),
    )
    if not isinstance(report, dict) or not path.is_file():
        return CodeObject(path, {}, errors or str(report))
    return CodeObject(path, report)


def number(report: dict, key: str, pattern: str) -> str:
    value = report.get(key)
    return format(value, pattern) if isinstance(value, (int, float)) else "–"


def print_columns(rows: list[list[str]]) -> None:
    """A header and rows, padded to equal widths."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for index, row in enumerate(rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        if index == 0:
            print("  ".join("-" * width for width in widths))


def print_runs(runs: list[Run], objects: dict[str, CodeObject], options: argparse.Namespace) -> None:
    header = ["target", "device", "size", "right", "max error", "its bound", "run ms", "compile ms", "code bytes"]
    rows = [header]
    for run in runs:
        compiled = objects[run.target]
        rows.append(
            [
                run.target,
                run.device,
                options.size.replace(",", " "),
                "yes" if run.ok else "NO",
                number(run.report, "max_abs_error", ".2e"),
                number(run.report, "error_bound", ".2e"),
                number(run.report, "run_ms", ".2f"),
                number(compiled.report.get("compile_ms", {}), "total", ".1f"),
                str(compiled.path.stat().st_size) if not compiled.error else "–",
            ]
        )
    print_columns(rows)


def print_phases(objects: dict[str, CodeObject]) -> None:
    """Compile time by phase, in milliseconds, one row per target."""
    phases: list[str] = []
    for compiled in objects.values():
        phases += [name for name in compiled.report.get("compile_ms", {}) if name not in phases and name != "total"]
    rows = [["compile ms", *phases]]
    for target, compiled in objects.items():
        rows.append([target, *(number(compiled.report.get("compile_ms", {}), phase, ".1f") for phase in phases)])
    print_columns(rows)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soliton", type=Path, default=ROOT / "build" / "bin" / "soliton", help="the compiler's tool")
    parser.add_argument("--size", default="M=256,N=256,K=256", help="default %(default)s")
    parser.add_argument("--dtype", default="f16", help="default %(default)s")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--artefacts", type=Path, default=ROOT / "build" / "artefacts", help="where code objects go")
    return parser.parse_args()


def main() -> int:
    options = parse_options()
    soliton = Soliton(options.soliton)
    if not options.soliton.is_file():
        print(f"error: {options.soliton} does not exist\n  hint: run `make build`", file=sys.stderr)
        return 2

    print(f"gemm, {options.dtype}: c[M, N] = a[M, K] · b[N, K]ᵀ\n")
    places = [("emulator", target) for target in TARGETS] + gpu_devices(soliton)
    runs = [run_gemm(soliton, target, device, options) for device, target in places]
    objects = {target: compile_code_object(soliton, target, options) for target in TARGETS}
    print_runs(runs, objects, options)
    print()
    print_phases(objects)

    print("\ncompile ms: to the code object; run ms on the emulator: of the emulation, not of a GPU")
    if len(places) == len(TARGETS):
        print("no GPU was found: code objects were compiled, and the emulator executed the same machine form")
    print("\nartefacts:")
    for target, compiled in objects.items():
        print(f"  {target}  {compiled.path if not compiled.error else 'none'}")

    problems = [f"{run.target} on {run.device}: {run.error or 'the result is wrong'}" for run in runs if not run.ok]
    problems += [f"{target}: no code object: {c.error}" for target, c in objects.items() if c.error]
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
