"""Launches that begin before those ahead of them have ended: asked for, right, and refused where there is no such thing."""

import numpy as np
import pytest

import soliton
import soliton.lang as tkl
import soliton.wave as tkw
from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE
from soliton.wave.compile import WaveCompileOptions, wave_compile

M, N = tkl.sym.M, tkl.sym.N
Tile = tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]


@tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), tkw.HardwareConstraint(threads_per_wave=32)])
def add(a: Tile, weights: Tile, b: Tile):
    tkw.write(tkw.read(weights) + tkw.read(a), b)


def compiled(target="sm_90a", **options):
    return wave_compile(WaveCompileOptions(subs={M: 7, N: 64}, target=target, run_on="emulator", **options), add)


def test_the_emulator_finds_nothing_too_early():
    a, weights = (np.arange(7 * 64, dtype=np.float32).reshape(7, 64) * factor for factor in (1, 3))
    for stable in ((), ("weights",), "weights", ("a", "weights")):
        b = np.zeros_like(a)
        compiled(dependent_launch=True, stable=stable)(a, weights, b)
        assert (b == a + weights).all()


def test_kernels_with_and_without_are_not_the_same():
    texts = {compiled(**options).assembly for options in ({}, {"dependent_launch": True}, {"dependent_launch": True, "stable": ("weights",)})}
    assert len(texts) == 3 and sum("griddepcontrol.wait" in text for text in texts) == 2


def refusal(**options):
    with pytest.raises(soliton.CompileError) as caught:
        compiled(**options)
    return caught.value


def test_refused_where_launches_do_not_overlap():
    with pytest.raises(soliton.CompileError) as caught:
        wave_compile(WaveCompileOptions(subs={M: 8, N: 64}, target="gfx942", run_on="emulator", dependent_launch=True), of_64_lanes)
    assert caught.value.id == "not-supported-here" and "gfx942" in str(caught.value)


@tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), tkw.HardwareConstraint(threads_per_wave=64)])
def of_64_lanes(a: Tile, b: Tile):
    tkw.write(tkw.read(a), b)


def test_refused_where_stable_memory_is_written_or_is_not_there():
    written = refusal(stable=("b",))
    assert written.id == "stable-memory" and "`b` is stable, and the kernel writes it here" in str(written)
    assert "did you mean `weights`?" in str(refusal(stable=("weight",)))
