"""Programs that import Wave run as they are."""

import subprocess
import sys
import textwrap

import pytest

import soliton.compat

pytest.importorskip("sympy")
soliton.compat.install()

COPY = """
    import sys
    import numpy as np
    import {package}.lang as tkl
    import {package}.wave as tkw
    from {package}.lang.global_symbols import *
    from {package}.wave.compile import WaveCompileOptions, wave_compile
    from {package}.wave.utils.run_utils import set_default_run_config

    M, N = tkl.sym.M, tkl.sym.N
    ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE
    constraints = [tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={{M: 16, N: 16}})]
    constraints += [tkw.WorkgroupConstraint(M, 16, 1), tkw.WorkgroupConstraint(N, 16, 0)]

    @tkw.wave(constraints)
    def test(a: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f16], b: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f16]):
        tkw.write(tkw.read(a, elements_per_thread=4), b, elements_per_thread=4)

    options = WaveCompileOptions(subs={{M: 20, N: 30, ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE}}, canonicalize=True)
    options = set_default_run_config(options)
    a, b = np.arange(600, dtype=np.float16).reshape(20, 30), np.zeros((20, 30), np.float16)
    wave_compile(options, test)(a, b)
    assert (a == b).all()
    assert isinstance(M, sympy.Symbol) and index_symbol("x").is_nonnegative
    print(options.target, *sys.argv[1:])
"""


def run(*arguments, **environment):
    import os

    made = subprocess.run(
        [sys.executable, "-m", "soliton.compat", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return made.stdout


@pytest.mark.parametrize("package", ["wave_lang.kernel", "iree.turbine.kernel"])
def test_a_program_runs_unchanged(tmp_path, package):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(COPY.format(package=package)))
    assert run(program, "one", "two", WAVE_DEFAULT_ARCH="gfx950").split() == ["gfx950", "one", "two"]


def test_a_module_runs_unchanged(tmp_path):
    (tmp_path / "test_program.py").write_text("def test_it():\n" + textwrap.indent(textwrap.dedent(COPY.format(package="wave_lang.kernel")).replace("import *", "import GLOBAL_ADDRESS_SPACE, index_symbol, sympy"), "    "))
    assert "1 passed" in run("-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path / "test_program.py")


def test_both_names_are_one_module():
    import iree.turbine.kernel.wave as theirs
    import wave_lang.kernel.wave as ours
    from wave_lang.kernel.wave.wave import wave

    assert ours is theirs and ours.wave is wave


def test_a_module_that_is_not_there_is_named():
    with pytest.raises(ModuleNotFoundError, match="`wave_lang.kernel.wave.nowhere` is no module of Soliton's"):
        import wave_lang.kernel.wave.nowhere  # noqa: F401


def test_the_decorator_is_no_module_after_imports():
    import wave_lang.kernel.wave as tkw
    from wave_lang.kernel.wave.wave import LaunchableWave  # noqa: F401

    assert callable(tkw.wave) and tkw.wave_schedule.wave_schedule


def test_enumerations_are_pythons():
    from wave_lang.kernel.wave.constraints import MMAType
    from wave_lang.kernel.wave.scheduling.schedule import SchedulingType

    assert str(MMAType.F32_16x16x16_F16) == "MMAType.F32_16x16x16_F16" and MMAType.F32_16x16x16_F16.value == 0x1020
    assert SchedulingType.PREFETCH.value == 0x20


def test_element_types_are_values():
    import wave_lang.kernel.lang as tkl
    from wave_lang.kernel._support.dtype import i1

    assert tkl.bool == i1 and hash(tkl.bool) == hash(i1) and not hasattr(tkl, "i1")
    assert [each.bitwidth() for each in (tkl.bool, tkl.index, tkl.f4e2m1fn, tkl.f6e2m3fn, tkl.bf16, tkl.f8e5m2)] == [1, 64, 4, 6, 16, 8]
    assert tkl.f8e4m3fnuz.ir_type_asm() == "f8E4M3FNUZ" and tkl.f16.is_float_asm() and tkl.i8.is_int_asm()


def test_mappings_have_waves_attributes():
    import wave_lang.kernel.lang as tkl

    M, N = tkl.sym.M, tkl.sym.N
    i, j = tkl.IndexMapping.iterator(0), tkl.IndexMapping.iterator(1)
    mapping = tkl.IndexMapping(num_iterators=2, inputs={N: j, M: i + 1}, outputs={M: i, N: j})
    assert mapping.iters == [i, j] and mapping.iteration_shape == (M, N) and mapping.num_dynamic_vals == 0
    assert mapping == tkl.IndexMapping(2, {N: j, M: i + 1}, {M: i, N: j}) and str(i) == "$index0"


def test_counters_of_the_cache():
    import numpy as np
    import wave_lang.kernel.lang as tkl
    import wave_lang.kernel.wave as tkw
    from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE
    from wave_lang.kernel.wave.cache import get_cache_manager, reset_cache_manager
    from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile

    M, N = tkl.sym.M, tkl.sym.N

    def kernel(factor):
        def scaled(value):
            return value * factor

        @tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), tkw.HardwareConstraint(threads_per_wave=64)])
        def scale(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
            tkw.write(scaled(tkw.read(a)), b)

        return scale

    reset_cache_manager()
    for factor, size in [(2.0, 8), (2.0, 8), (3.0, 8), (3.0, 9), (2.0, 8)]:
        a, b = np.ones((size, 32), np.float32), np.zeros((size, 32), np.float32)
        wave_compile(WaveCompileOptions(subs={M: size, N: 32}, target="gfx942"), kernel(factor))(a, b)
        assert (b == factor).all()
    manager = get_cache_manager()
    assert (manager.cache_hits, manager.cache_misses, len(manager.session_cache)) == (2, 3, 3)
