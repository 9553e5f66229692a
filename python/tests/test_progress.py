"""Compilations that take long say where they are, to whoever looks."""

import io
import sys
import time
import types

import pytest
import soliton
import soliton.lang as tkl
import soliton.wave as tkw
from soliton import _progress
from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE
from soliton.wave.compile import WaveCompileOptions, wave_compile

N = tkl.sym.N


@tkw.wave([tkw.WorkgroupConstraint(N, 64, 0), tkw.HardwareConstraint()])
def copy(a: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, tkl.f32], b: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
    tkw.write(tkw.read(a), b)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def writes_to(monkeypatch, made):
    """Not by `sys.stderr`, which is pytest's own."""
    monkeypatch.setattr(_progress, "sys", types.SimpleNamespace(stderr=made, modules=sys.modules))
    monkeypatch.delenv("SOLITON_PROGRESS", raising=False)
    return made


@pytest.fixture
def terminal(monkeypatch):
    return writes_to(monkeypatch, Terminal())


def compiled(**options):
    return wave_compile(WaveCompileOptions(subs={N: 100}, target="gfx942", run_on="emulator", **options), copy)


@pytest.fixture
def slow(monkeypatch):
    """A compilation of a second, in a pass, and nobody is patient."""
    real, steps = _progress._native, []

    class Native:
        def __getattr__(self, name):
            return getattr(real, name)

        def compile(self, kernel, request, place, progress=None):
            made = real.compile(kernel, request, place, progress)
            steps.append(progress and progress.step)
            time.sleep(0.3)
            return made

    monkeypatch.setattr(_progress, "_native", Native())
    monkeypatch.setattr(_progress, "PATIENCE_S", 0.1)
    monkeypatch.setattr(_progress, "STEP_S", 0.02)
    return steps


def test_a_quick_compilation_says_nothing(terminal):
    compiled()
    assert terminal.getvalue() == ""


def test_a_long_one_says_its_step_and_in_the_end_what_came_of_it(terminal, slow):
    compiled()
    lines = terminal.getvalue().split("\r")
    assert slow == ["emulator"] and "copy for gfx942: 0 s, emulator" in [line.rstrip() for line in lines]
    assert lines[-1].startswith("copy for gfx942: compiled in 0.0 s (") and lines[-1].endswith("\n")


def test_who_reads_a_file_reads_nothing(monkeypatch, slow):
    written = writes_to(monkeypatch, io.StringIO())
    compiled()
    assert written.getvalue() == "" and slow == [None]


@pytest.mark.parametrize("variable, option", [("on", None), ("off", True)])
def test_it_can_be_asked_for(monkeypatch, terminal, variable, option):
    monkeypatch.setenv("SOLITON_PROGRESS", variable)
    compiled(progress=option)
    assert terminal.getvalue().startswith("\rcopy for gfx942: compiled in 0.0 s")


@pytest.mark.parametrize("variable, option", [("off", None), ("on", False)])
def test_and_refused(monkeypatch, terminal, slow, variable, option):
    monkeypatch.setenv("SOLITON_PROGRESS", variable)
    compiled(progress=option)
    assert terminal.getvalue() == "" and slow == [None]


def test_another_word_is_refused(monkeypatch):
    monkeypatch.setenv("SOLITON_PROGRESS", "perhaps")
    with pytest.raises(soliton.CompileError, match="expected `on`, `off` or `auto`"):
        compiled()


def test_a_mistake_leaves_no_line_behind(terminal, monkeypatch):
    monkeypatch.setattr(_progress, "PATIENCE_S", 0.0)
    with pytest.raises(soliton.CompileError):
        wave_compile(WaveCompileOptions(subs={}, target="gfx942"), copy)
    assert not terminal.getvalue().strip()


def test_the_summary_of_a_kernel():
    summary = compiled().summary
    assert summary["threads"] == (64, 1, 1) and summary["machine_ops"] > 0 and "transform" in summary["phases_ms"]
