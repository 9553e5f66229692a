#!/usr/bin/env python3
"""Makes one wheel for every Python from 3.10 on: dist/soliton-VERSION-….whl (make wheel).

    scripts/make_wheel.py                        with build/lib/self-contained/libsoliton.so
    scripts/make_wheel.py --python 3.10=/opt/py310/bin/python

In it: the package, libsoliton.so with LLVM and a C++ library inside, and three extensions: for CPython 3.10, for 3.11,
and one of the stable interface for 3.12 and all that follow. The three interpreters are looked for among `python3.N` of
PATH and pyenv's versions. The platform tag is read off the binaries: the oldest glibc that has every symbol they take.
Anything but the libraries that each manylinux has is an error, as is a wheel of more than 80 MiB.
"""

import argparse
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from python_package import ROOT, environment, quiet

LIMIT = 80 * 1024 * 1024
# What an extension is made with, and the tags (Python, interface) that it answers for.
VERSIONS = {"3.10": ("cp310", "cp310"), "3.11": ("cp311", "cp311"), "3.12": ("cp312", "abi3")}
# The libraries that a wheel may take from its machine, as far as ours do (PEP 600, auditwheel's list).
SYSTEM_LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
# Whose code is inside, and where Debian's packages keep their terms.
OTHERS = {"LLVM": "libmlir-22-dev", "zlib": "zlib1g-dev", "zstd": "libzstd-dev", "SQLite": "libsqlite3-dev", "libstdc++": "libstdc++-12-dev"}


def interpreters(named: list[str]) -> dict[str, Path]:
    """An interpreter for each of VERSIONS."""
    found = dict(each.split("=", 1) for each in named)
    for version in VERSIONS:
        candidates = [shutil.which(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
        for candidate in candidates:
            asked = [str(candidate), "-c", "import sys, sysconfig; print('%d.%d' % sys.version_info[:2])"]
            if candidate and version not in found and subprocess.run(asked, capture_output=True, text=True).stdout.strip() == version:
                found[version] = candidate
    if missing := [version for version in VERSIONS if version not in found]:
        sys.exit(f"error: no Python {', '.join(missing)} found, expected one for each of {', '.join(VERSIONS)}; hint: --python 3.10=PATH")
    return {version: Path(found[version]) for version in VERSIONS}


def extension(build: Path, version: str, interpreter: Path, nanobind: str) -> Path:
    """The folder with the extension for an interpreter; incremental."""
    folder = build / "python" / f"wheel-{version}"
    options = [f"-DPython_EXECUTABLE={interpreter}", f"-DSOLITON_BUILD={build}", "-DSOLITON_SELF_CONTAINED=ON", f"-Dnanobind_DIR={nanobind}"]
    options += [f"-DCMAKE_INSTALL_PREFIX={folder / 'site'}", "-DCMAKE_CXX_COMPILER=clang++-22", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
    # One stub is enough; it is made by the newest.
    options += ["-DCMAKE_MODULE_LINKER_FLAGS=-fuse-ld=lld-22", f"-DSOLITON_MODULE_ONLY={'OFF' if version == '3.12' else 'ON'}"]
    quiet("cmake", "-G", "Ninja", "-S", str(ROOT / "python"), "-B", str(folder), *options)
    quiet("ninja", "-C", str(folder))
    quiet("cmake", "--install", str(folder))
    return folder / "site"


def metadata(interpreter: Path, folder: Path) -> Path:
    """The .dist-info folder as pyproject.toml says it."""
    program = "import sys; from scikit_build_core.build import prepare_metadata_for_build_wheel as p; print(p(sys.argv[1]))"
    asked = subprocess.run([interpreter, "-c", program, folder], cwd=ROOT, capture_output=True, text=True)
    if asked.returncode != 0:
        sys.exit(asked.stderr)
    return folder / asked.stdout.strip().splitlines()[-1]


def glibc_of(binary: Path) -> tuple[int, int]:
    """The oldest glibc that has all a binary takes; whatever else it takes from its machine is an error."""
    dynamic = subprocess.run(["readelf", "--dynamic", "--version-info", "--wide", binary], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)) - SYSTEM_LIBRARIES
    if needed - {"libsoliton.so"}:
        sys.exit(f"error: {binary.name} needs {', '.join(sorted(needed))}, expected only libraries that every Linux has")
    return max(tuple(map(int, found)) for found in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", dynamic))


def platform_tag(binaries: list[Path]) -> str:
    versions = {binary.name: glibc_of(binary) for binary in binaries}
    for name, version in versions.items():
        print(f"  {name}: glibc {version[0]}.{version[1]}, {dict((b.name, b) for b in binaries)[name].stat().st_size / 2**20:.1f} MiB")
    return "manylinux_%d_%d_x86_64" % max(versions.values())


def stage(folder: Path, build: Path, interpreter: Path) -> list[Path]:
    """Lays the wheel's files out; returns the binaries among them."""
    nanobind = subprocess.run([interpreter, "-m", "nanobind", "--cmake_dir"], capture_output=True, text=True, check=True).stdout.strip()
    shutil.copytree(ROOT / "python" / "soliton", folder / "soliton", ignore=shutil.ignore_patterns("__pycache__"))
    for version, python in interpreters(arguments.python).items():
        site = extension(build, version, python, nanobind)
        shutil.copytree(site / "soliton", folder / "soliton", dirs_exist_ok=True)
    quiet(str(interpreter), "-B", str(ROOT / "python" / "stubs.py"), str(folder))
    binaries = sorted((folder / "soliton").rglob("*.so"))
    modules = [each.name for each in binaries if each.name.startswith("_native")]
    expected = ["_native.abi3.so", *(f"_native.cpython-{v.replace('.', '')}-x86_64-linux-gnu.so" for v in ("3.10", "3.11"))]
    if modules != expected:
        sys.exit(f"error: the extensions are {modules}, expected {expected}")
    return binaries


def add_terms(info: Path) -> None:
    """The terms of those whose code is inside."""
    folder = info / "licenses" / "others"
    folder.mkdir(parents=True)
    for name, package in OTHERS.items():
        terms = Path("/usr/share/doc") / package / "copyright"
        if not terms.exists():
            sys.exit(f"error: the terms of {name} are not in {terms}; a wheel that carries it has to carry them")
        shutil.copy(terms, folder / f"{name}.txt")


def digest(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def pack(folder: Path, info: Path, wheel: Path) -> None:
    """A zip file of the folder, the same for the same files, with the list of their hashes last."""
    record = []
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted(files, key=lambda each: info in each.parents):
            name, content = file.relative_to(folder).as_posix(), file.read_bytes()
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o755 if file.suffix == ".so" else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
            record.append(f"{name},{digest(content)},{len(content)}")
        name = f"{info.name}/RECORD"
        archive.writestr(zipfile.ZipInfo(name), "\n".join([*record, f"{name},,", ""]))


def main() -> int:
    build = arguments.build.resolve()
    if not (build / "lib" / "self-contained" / "libsoliton.so").exists():
        sys.exit(f"error: no {build / 'lib' / 'self-contained' / 'libsoliton.so'}; hint: `make wheel`, or `ninja -C {build} SolitonSelfContained`")
    interpreter = environment(build, torch=False)
    with tempfile.TemporaryDirectory(dir=build / "python") as temporary:
        folder = Path(temporary)
        binaries = stage(folder, build, interpreter)
        info = metadata(interpreter, folder)
        add_terms(info)
        pythons, interfaces = (list(dict.fromkeys(tags)) for tags in zip(*VERSIONS.values()))
        tag = f"{'.'.join(pythons)}-{'.'.join(interfaces)}-{platform_tag(binaries)}"
        lines = ["Wheel-Version: 1.0", "Generator: soliton make_wheel.py", "Root-Is-Purelib: false"]
        platform = tag.rsplit("-", 1)[1]
        lines += [f"Tag: {python}-{interface}-{platform}" for python in pythons for interface in interfaces]
        (info / "WHEEL").write_text("\n".join(lines) + "\n")
        (ROOT / "dist").mkdir(exist_ok=True)
        wheel = ROOT / "dist" / f"{info.name.removesuffix('.dist-info')}-{tag}.whl"
        for old in (ROOT / "dist").glob("soliton-*.whl"):
            old.unlink()
        pack(folder, info, wheel)
    size = wheel.stat().st_size
    print(f"{wheel.relative_to(ROOT)}: {size / 2**20:.1f} MiB")
    if size > LIMIT:
        sys.exit(f"error: expected at most {LIMIT / 2**20:.0f} MiB")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--python", action="append", default=[], metavar="VERSION=PATH")
    arguments = parser.parse_args()
    sys.exit(main())
