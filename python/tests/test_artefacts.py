"""Options that leave files behind, and what is in them."""

import numpy as np
import pytest

pytest.importorskip("sympy")

import soliton.compat  # noqa: E402

soliton.compat.install()

from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile  # noqa: E402
from wave_lang.kernel.wave.constraints import MMAType  # noqa: E402
from wave_lang.kernel.wave.scheduling.schedule import SchedulingType  # noqa: E402
from wave_lang.kernel.wave.templates.gemm import get_gemm_kernel  # noqa: E402
from wave_lang.kernel.wave.utils import run_utils  # noqa: E402


def small(*shape, seed=0):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float16)


def compiled(**options):
    kernel, subs, _ = get_gemm_kernel((64, 64, 128), False, MMAType.F32_16x16x16_F16)
    chosen = WaveCompileOptions(subs=subs, **{"target": "gfx942", "run_on": "emulator", **options})
    return wave_compile(chosen, kernel)


def is_right(run):
    a, b, c = small(64, 128), small(64, 128, seed=1), np.full((64, 64), np.nan, np.float32)
    run(a, b, c)
    return np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


def test_intermediates(tmp_path):
    assert is_right(compiled(dump_intermediates=tmp_path / "made"))
    (assembly,) = [*(tmp_path / "made").glob("*.s"), *(tmp_path / "made").glob("*.rocmasm")]
    assert "v_mfma_f32_16x16x16" in assembly.read_text()
    assert (tmp_path / "made" / "gemm.mlir").read_text().startswith("module")


def test_binaries(tmp_path):
    compiled(dump_binaries=str(tmp_path))
    assert (tmp_path / "gemm.hsaco").read_bytes().startswith(b"\x7fELF")


def test_texts_and_files(tmp_path, capsys):
    run = compiled(print_mlir=True, print_mlir_file=tmp_path / "gemm.mlir", create_vmfb_file=str(tmp_path / "gemm.vmfb"))
    assert capsys.readouterr().out.strip() == run.asm.strip() == (tmp_path / "gemm.mlir").read_text().strip()
    assert (tmp_path / "gemm.vmfb").exists()
    assert "mfma" in run.assembly and "wave.mma" in run.mlir


def test_short_sums_are_asked_for_by_name():
    assert "short_sums" in compiled(short_sums=True).mlir
    assert "short_sums" not in compiled().mlir


@pytest.mark.parametrize("schedule", [SchedulingType.MODULO, SchedulingType.PREFETCH])
def test_a_schedule_is_dumped_and_taken_again(tmp_path, schedule):
    first = compiled(schedule=schedule, dump_schedule=tmp_path / "gemm.schedule")
    text = (tmp_path / "gemm.schedule").read_text()
    assert text.startswith("soliton-schedule") and 'loop "K"' in text
    second = compiled(schedule=schedule, override_schedule=str(tmp_path / "gemm.schedule"))
    assert is_right(first) and is_right(second)
    assert second.schedule_text.split("\n", 3)[3] == text.split("\n", 3)[3]  # all but who made it
    assert compiled().schedule_text == ""


def test_environment_asks_for_dumps(tmp_path, monkeypatch):
    monkeypatch.setattr(run_utils, "dump_generated_mlir", "1")
    monkeypatch.setattr(run_utils, "dump_generated_mlir_file", str(tmp_path / "out.mlir"))
    monkeypatch.setenv("WAVE_DEFAULT_ARCH", "gfx950")
    options = WaveCompileOptions()
    assert run_utils.set_default_run_config(options) is options
    assert (options.print_mlir, options.print_mlir_file, options.target) == (True, str(tmp_path / "out.mlir"), "gfx950")
    assert run_utils.get_arch_family("gfx942") == "gfx94"
