"""What of Soliton works on this machine, and what to do about the rest.

    python -m soliton.doctor           one line for each thing, and a hint where something can be done
    python -m soliton.doctor --json    the same as data

Exits with 1 where something is broken. What is merely not there (a GPU, torch) is not broken.
"""

import argparse
import glob
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field

GOOD, ABSENT, BROKEN = "ok", "none", "broken"


@dataclass
class Finding:
    """One thing that was looked at."""

    name: str
    state: str
    found: str
    hint: str = ""
    data: dict = field(default_factory=dict)


def _package() -> Finding:
    from . import __version__, _native

    library = os.path.join(os.path.dirname(_native.__file__), "lib", "libsoliton.so")
    has_llvm = os.path.exists(library) and os.path.getsize(library) > 50 * 2**20
    kind = "with LLVM inside" if has_llvm else "of a checkout: takes LLVM from this machine"
    data = {"version": __version__, "extension": _native.__file__, "self_contained": has_llvm}
    return Finding("soliton", GOOD, f"{__version__}, {kind}", data=data)


def _python() -> Finding:
    glibc = " ".join(platform.libc_ver()) or "no glibc"
    found = f"{platform.python_version()} on {platform.machine()}, {glibc}"
    if sys.version_info < (3, 11):
        return Finding("Python", GOOD, found, "errors say columns from Python 3.11 on")
    return Finding("Python", GOOD, found)


def _targets() -> Finding:
    from . import _native, default_target

    targets = [each["name"] for each in _native.target_list()]
    chosen = default_target()
    if chosen not in targets:
        where = "SOLITON_TARGET" if os.environ.get("SOLITON_TARGET") else "WAVE_DEFAULT_ARCH" if os.environ.get("WAVE_DEFAULT_ARCH") else "the GPU"
        return Finding("targets", BROKEN, f"{chosen}, which {where} says, is none of {', '.join(targets)}", f"set SOLITON_TARGET to one of {', '.join(targets)}")
    return Finding("targets", GOOD, f"{', '.join(targets)}; kernels are compiled for {chosen} unless `target=` says otherwise", data={"targets": targets, "default": chosen})


def _gpus() -> Finding:
    from . import _native

    found = _native.device_list()
    gpus = [each for each in found["devices"] if each["kind"] != "emulator"]
    problems = [each["message"] for each in found["problems"]]
    if gpus:
        text = "; ".join(f"{each['kind']}:{each['index']} {each['name']} ({each['architecture']}, {each['memory_bytes'] / 2**30:.0f} GiB)" for each in gpus)
        unusable = [each["architecture"] for each in gpus if not each["target"]]
        hint = f"no target runs on {', '.join(unusable)}: kernels are emulated there" if unusable else ""
        return Finding("GPU", GOOD, text, hint, {"devices": gpus, "problems": problems})
    if problems:
        return Finding("GPU", BROKEN, "; ".join(problems), "the driver is there and gives no GPU: is the device visible to this process?", {"problems": problems})
    libraries = " or ".join(each for each in found["libraries"] if each)
    return Finding("GPU", ABSENT, f"none: no {libraries}", "kernels run on the emulator; a GPU needs its driver, nothing else")


def _ptxas() -> Finding:
    # In the order in which the compiler looks.
    folders = [os.path.join(os.environ[name], "bin") for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    folders += os.environ.get("PATH", "").split(os.pathsep)
    folders += glob.glob(os.path.join(os.environ.get("VIRTUAL_ENV") or "-", "lib", "python*", "site-packages", "nvidia", "cuda_nvcc", "bin"))
    path = shutil.which("ptxas", path=os.pathsep.join([*folders, "/usr/local/cuda/bin"]))
    if not path:
        return Finding("ptxas", ABSENT, "none", "the driver assembles PTX for NVIDIA's GPUs; with ptxas spills are found while compiling. It is part of CUDA's toolkit")
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError) as reason:
        return Finding("ptxas", BROKEN, f"{path}: {reason}", "set CUDA_HOME to a toolkit whose `bin/ptxas` runs")
    version = next((line.strip() for line in said.splitlines() if "release" in line), "no version")
    return Finding("ptxas", GOOD, f"{version} ({path})", data={"path": path})


def _distribution(name: str, why: str, hint: str) -> Finding:
    """A package, without importing it: torch takes seconds."""
    if importlib.util.find_spec(name) is None:
        return Finding(name, ABSENT, f"none: {why}", hint)
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        version = "of unknown version"
    return Finding(name, GOOD, version, data={"version": version})


def _torch() -> Finding:
    finding = _distribution("torch", "kernels take arrays of NumPy and DLPack", "pip install 'torch>=2.6'")
    version = finding.data.get("version", "")
    numbers = [int(part) for part in version.split("+")[0].split(".")[:2] if part.isdigit()]
    if finding.state == GOOD and numbers and numbers < [2, 6]:
        finding.hint = "torch.compile and custom operators want torch 2.6 or later"
    return finding


def _cache() -> Finding:
    from . import cache

    if flaw := cache.flaw():
        return Finding("cache", ABSENT if "off" in flaw else BROKEN, flaw, "set SOLITON_CACHE_DIR to a folder of your own")
    entries = cache.entries()
    bytes_ = sum(each["bytes"] for each in entries)
    damaged = sum(not each["ok"] for each in entries)
    hint = "`soliton cache verify` removes the damaged ones" if damaged else ""
    text = f"{len(entries)} kernels, {bytes_ / 2**20:.1f} MiB in {cache.folder()}" + (f", {damaged} damaged" if damaged else "")
    return Finding("cache", GOOD, text, hint, {"folder": cache.folder(), "entries": len(entries), "bytes": bytes_, "damaged": damaged})


def _trial() -> Finding:
    """A kernel, compiled and run on the emulator; what is found here is what a user would find."""
    import array

    from . import CompileError, lang as tkl, wave as tkw
    from .lang.global_symbols import GLOBAL_ADDRESS_SPACE
    from .wave.compile import WaveCompileOptions, wave_compile

    M, N = tkl.sym.M, tkl.sym.N
    constraints = [tkw.WorkgroupConstraint(M, 16, 0), tkw.WaveConstraint(M, 16), tkw.HardwareConstraint(vector_shapes={M: 16, N: 64})]
    constraints += [tkw.WorkgroupConstraint(N, 64, 1), tkw.WaveConstraint(N, 64)]

    @tkw.wave(constraints)
    def double(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):  # type: ignore
        value = tkw.read(a)
        tkw.write(value + value, b)

    start = time.perf_counter()
    try:
        run = wave_compile(WaveCompileOptions(subs={M: 16, N: 64}, target="gfx942", run_on="emulator"), double)
        given = memoryview(array.array("f", range(1024))).cast("B").cast("f", (16, 64))
        made = memoryview(array.array("f", bytes(4096))).cast("B").cast("f", (16, 64))
        run(given, made)
    except CompileError as failure:
        return Finding("a kernel", BROKEN, str(failure).strip(), "this is a mistake of Soliton: please report it with this text")
    if made.tolist() != [[2.0 * (64 * row + column) for column in range(64)] for row in range(16)]:
        return Finding("a kernel", BROKEN, "the emulator gave a wrong result", "this is a mistake of Soliton: please report it")
    return Finding("a kernel", GOOD, f"traced, compiled for gfx942, emulated and right, in {1000 * (time.perf_counter() - start):.0f} ms")


def examine() -> list[Finding]:
    """Everything, in the order in which a user needs it."""
    numpy = ("numpy", "kernels take torch's tensors, DLPack and Python's buffers", "pip install numpy")
    sympy = ("sympy", "symbols are Soliton's own", "programs of Wave want it: pip install sympy")
    return [_package(), _python(), _targets(), _gpus(), _ptxas(), _torch(), _distribution(*numpy), _distribution(*sympy), _cache(), _trial()]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m soliton.doctor", description="what of Soliton works on this machine")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    options = parser.parse_args(arguments)
    findings = examine()
    if options.json:
        print(json.dumps({"ok": all(each.state != BROKEN for each in findings), "findings": [asdict(each) for each in findings]}))
    else:
        for each in findings:
            print(f"{each.state:>6}  {each.name:<9} {each.found}")
            if each.hint:
                print(f"        {'':<9} hint: {each.hint}")
    return 1 if any(each.state == BROKEN for each in findings) else 0


if __name__ == "__main__":
    sys.exit(main())
