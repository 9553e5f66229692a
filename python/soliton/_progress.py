"""A line for those who wait: a compilation of more than two seconds says where it is, and in the end what came of it.

    gemm for gfx942: 3 s, wave-assign-layouts
    gemm for gfx942: compiled in 4.1 s (transform 3.2, verify 0.6); 148 VGPRs, 64 matrix instructions

On a terminal and in a notebook only, on standard error, and never of a kernel that is quick. SOLITON_PROGRESS=on says every
compilation wherever it goes, SOLITON_PROGRESS=off says none; `WaveCompileOptions(progress=True)` and `False` do so for one kernel.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from . import _native
from ._errors import error

PATIENCE_S, STEP_S = 2.0, 0.25


def _is_watched() -> bool:
    """Is somebody there to read a line that changes?"""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    is_notebook = shell is not None and type(shell).__name__ == "ZMQInteractiveShell"
    return is_notebook or (hasattr(sys.stderr, "isatty") and sys.stderr.isatty())


def wanted(option: bool | None) -> bool | None:
    """True: say everything; None: what takes long; False: nothing."""
    said = os.environ.get("SOLITON_PROGRESS", "auto")
    if said not in ("on", "off", "auto"):
        raise error("not-supported-here", f"`SOLITON_PROGRESS` is `{said}`, expected `on`, `off` or `auto`")
    if option is not None:
        return bool(option)
    return {"on": True, "off": False}.get(said, None if _is_watched() else False)


class Line:
    """One line of standard error that is written over."""

    def __init__(self, name: str):
        self.name, self.width = name, 0

    def say(self, text: str, is_last: bool = False) -> None:
        line = f"{self.name}: {text}"
        sys.stderr.write("\r" + line.ljust(self.width) + ("\n" if is_last else ""))
        sys.stderr.flush()
        self.width = len(line)

    def clear(self) -> None:
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()


def summary_line(summary: dict) -> str:
    """What came of a compilation, in a line."""
    if summary["is_from_cache"]:
        return "compiled before"
    longest = sorted(summary["phases_ms"].items(), key=lambda each: -each[1])[:3]
    steps = ", ".join(f"{name} {ms / 1e3:.1f}" for name, ms in longest if ms >= 0.05 * summary["total_ms"])
    taken = [f"{summary[name]} {word}" for name, word in (("vgprs", "VGPRs"), ("spill_bytes", "bytes spilled")) if summary[name]]
    taken += [f"{summary['matrix_ops']} matrix instructions"] if summary["matrix_ops"] else []
    return f"compiled in {summary['total_ms'] / 1e3:.1f} s ({steps})" + ("; " + ", ".join(taken) if taken else "")


def compile_watched(kernel, request: dict, place, option: bool | None):
    """`_native.compile`, and a line about it where somebody wants one."""
    verbose = wanted(option)
    if verbose is False:
        return _native.compile(kernel, request, place)
    progress, done, line = _native.Progress(), threading.Event(), Line(f"{kernel.name} for {request['target']}")
    start = time.monotonic()

    def watch() -> None:
        while not done.wait(STEP_S):
            passed = time.monotonic() - start
            if passed >= PATIENCE_S:
                line.say(f"{passed:.0f} s, {progress.step}")

    watcher = threading.Thread(target=watch, name="soliton-progress", daemon=True)
    watcher.start()
    compiled = None
    try:
        compiled = _native.compile(kernel, request, place, progress)
    finally:
        done.set()
        watcher.join()
        if compiled is not None and (verbose or line.width):
            line.say(summary_line(compiled.summary()), is_last=True)
        else:
            line.clear()
    return compiled
