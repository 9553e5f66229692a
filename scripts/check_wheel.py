#!/usr/bin/env python3
"""Installs the wheel of dist/ where nothing else is, and runs a matrix product with it.

    scripts/check_wheel.py                   for every Python from 3.10 on that is found here, each in a fresh environment
    scripts/check_wheel.py --chroot FOLDER   in a bare Debian, which debootstrap makes in FOLDER first (as root)
    scripts/check_wheel.py --with torch==2.6.0 --with triton==3.2.0
                                             beside other packages too, imported before and after

Also asks auditwheel (from PyPI) whether the wheel keeps the promise of its tag. Exits 77 with the reason where nothing
can be installed.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SKIP_CODE = 77
AUDITWHEEL = "auditwheel==6.8.2"

# What every environment runs: without NumPy, on arrays of Python's own, which go through ctypes' buffers.
PROGRAM = ROOT / "python" / "tests" / "wheel_gemm.py"


def run(*command, **options) -> str:
    made = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    if made.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))}\n{made.stdout}{made.stderr}")
    return made.stdout


def interpreters() -> list[Path]:
    """One of each minor version from 3.10 on."""
    found: dict[tuple[int, int], Path] = {}
    candidates = [Path(sys.executable), *Path.home().glob(".pyenv/versions/*/bin/python")]
    candidates += [Path(folder) / f"python3.{minor}" for folder in os.environ["PATH"].split(":") for minor in range(10, 20)]
    for candidate in candidates:
        if candidate.exists():
            asked = subprocess.run([candidate, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
            version = tuple(map(int, asked.stdout.split()))
            if version >= (3, 10):
                found.setdefault(version, candidate)
    return [found[version] for version in sorted(found)]


def install(python: Path, *packages) -> None:
    made = subprocess.run([python, "-m", "pip", "-q", "--disable-pip-version-check", "install", *packages], capture_output=True, text=True)
    if made.returncode != 0:
        print(f"{' '.join(map(str, packages))} cannot be installed: {made.stderr.strip().splitlines()[-1]}")
        sys.exit(SKIP_CODE)


def clean_environment(**added) -> dict:
    """Without what this session's variables would lend it."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SOLITON", "PYTHON", "LD_"))}
    return {**kept, "SOLITON_CACHE": "off", **added}


def check_environment(python: Path, wheel: Path, others: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        inside = Path(folder) / "bin" / "python"
        run(inside, "-m", "pip", "-q", "--disable-pip-version-check", "install", "--no-index", wheel)
        result = run(inside, PROGRAM, cwd=folder, env=clean_environment())
        command = run(Path(folder) / "bin" / "soliton", "targets", cwd=folder, env=clean_environment())
        print(f"{result.strip()}; soliton targets: {' '.join(line.split()[0] for line in command.splitlines() if line.strip())}")
        if others:
            install(inside, "numpy", *others)
            names = [re.split("[=<>]", each)[0] for each in others]
            for order in ([*names, "soliton"], ["soliton", *names]):
                print(f"  {' then '.join(order)}: " + run(inside, PROGRAM, *order, cwd=folder, env=clean_environment()).strip())


def check_chroot(folder: Path, wheel: Path, mirror: str) -> None:
    """A Debian with Python and nothing else. debootstrap needs root, and so do chroots."""
    if not (folder / "usr" / "bin" / "python3").exists():
        run("debootstrap", "--variant=minbase", "--include=python3,python3-venv", "bookworm", folder, *([mirror] if mirror else []))
    inside = folder / "wheel"
    run("rm", "-rf", inside)
    inside.mkdir()
    run("cp", wheel, PROGRAM, inside)
    shell = "cd /wheel && python3 -m venv v && v/bin/pip -q install --no-index *.whl && SOLITON_CACHE=off v/bin/python wheel_gemm.py"
    print("bare chroot: " + run("chroot", folder, "sh", "-c", shell, env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}).strip())


def check_tag(wheel: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install(Path(folder) / "bin" / "python", AUDITWHEEL)
        said = " ".join(run(Path(folder) / "bin" / "auditwheel", "show", wheel).split())
    tag = wheel.stem.rsplit("-", 1)[1]
    if f'consistent with the following platform tag: "{tag}"' not in said:
        sys.exit(f"error: auditwheel says: {said}; expected `{tag}`")
    print(f"auditwheel: {tag}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chroot", type=Path)
    parser.add_argument("--mirror", default="", help="of Debian, for debootstrap")
    parser.add_argument("--with", dest="others", action="append", default=[], metavar="PACKAGE")
    options = parser.parse_args()
    wheels = list((ROOT / "dist").glob("soliton-*.whl"))
    if len(wheels) != 1:
        sys.exit(f"error: dist/ has {len(wheels)} wheels, expected one; hint: make wheel")
    if options.chroot:
        check_chroot(options.chroot.resolve(), wheels[0], options.mirror)
        return 0
    check_tag(wheels[0])
    for python in interpreters():
        check_environment(python, wheels[0], options.others)
    return 0


if __name__ == "__main__":
    sys.exit(main())
