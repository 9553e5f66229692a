#!/usr/bin/env python3
"""Sets the Python package up in build/python and runs its tests.

    scripts/python_package.py                    tests, against build/lib/libsoliton.so
    scripts/python_package.py --torch            the same with torch, which is 3 GB (make test-torch)
    scripts/python_package.py --run program.py   a program with the package

build/python/venv has what python/requirements.txt names, build/python/site the package. SOLITON_PYTHON names another
interpreter, which has to have those already. Exits 77 with the reason where nothing can be installed.
"""

import argparse
import contextlib
import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TORCH = "torch==2.6.0"
SKIP_CODE = 77


@contextlib.contextmanager
def alone(build: Path):
    """Tests and pages set the package up at the same time: one does it, the others wait."""
    (build / "python").mkdir(parents=True, exist_ok=True)
    with open(build / "python" / "setup.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def set_up(build: Path, torch: bool) -> tuple[Path, Path]:
    """(interpreter, folder that PYTHONPATH names)."""
    with alone(build):
        interpreter = environment(build, torch)
        return interpreter, build_package(build, interpreter)


def pip(interpreter: Path, *arguments: str) -> None:
    command = [str(interpreter), "-m", "pip", "--quiet", "--disable-pip-version-check", "install", *arguments]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        print(made.stdout + made.stderr, file=sys.stderr)
        print("the Python packages could not be installed: " + (made.stderr.strip().splitlines() or ["no reason given"])[-1])
        sys.exit(SKIP_CODE)


def environment(build: Path, torch: bool) -> Path:
    """The interpreter of a virtual environment with what the package needs; made once for each list of packages."""
    if named := os.environ.get("SOLITON_PYTHON"):
        return Path(named)
    requirements = ROOT / "python" / "requirements.txt"
    folder = build / "python" / ("venv-torch" if torch else "venv")
    state = hashlib.sha256(requirements.read_bytes() + (TORCH if torch else "").encode()).hexdigest()
    stamp, interpreter = folder / "soliton-state", folder / "bin" / "python"
    if not (stamp.exists() and stamp.read_text() == state):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip(interpreter, "-r", str(requirements), *([TORCH] if torch else []))
        stamp.write_text(state)
    return interpreter


def quiet(*command: str) -> None:
    made = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if made.returncode != 0:
        print(made.stdout + made.stderr)
        sys.exit(made.returncode)


def build_package(build: Path, interpreter: Path) -> Path:
    """The folder that PYTHONPATH names; incremental."""
    folder = build / "python" / ("torch" if "torch" in interpreter.parent.parent.name else "extension")
    site = folder / "site"
    if not (folder / "build.ninja").exists():
        options = [f"-DPython_EXECUTABLE={interpreter}", f"-DSOLITON_BUILD={build}", "-DSOLITON_INSTALL_SOURCES=ON"]
        options += [f"-DCMAKE_INSTALL_PREFIX={site}", "-DCMAKE_CXX_COMPILER=clang++-22", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
        options += ["-DCMAKE_MODULE_LINKER_FLAGS=-fuse-ld=lld-22"]
        quiet("cmake", "-G", "Ninja", "-S", str(ROOT / "python"), "-B", str(folder), *options)
    quiet("ninja", "-C", str(folder))
    quiet("cmake", "--install", str(folder))
    quiet(str(interpreter), str(ROOT / "python" / "stubs.py"), str(site))
    return site


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--run", nargs=argparse.REMAINDER)
    options, rest = parser.parse_known_args()
    build = options.build.resolve()
    interpreter, site = set_up(build, options.torch)
    environ = {**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    if options.run:
        return subprocess.call([str(interpreter), *options.run], env=environ)
    # Tests look at compilations, not at what was kept of earlier ones.
    environ.setdefault("SOLITON_CACHE", "off")
    environ["SOLITON_STAND_INS"] = str(build / "lib")  # libraries that play a GPU's driver
    command = [str(interpreter), "-m", "pytest", "-v", "-rs", "-p", "no:cacheprovider", "--color=no", "python/tests", *rest]
    return subprocess.call(command, cwd=ROOT, env=environ)


if __name__ == "__main__":
    sys.exit(main())
