"""Mistakes are reported in the author's own text: file, line, column, id, hint."""

import inspect
import pickle

import numpy as np
import pytest

import soliton
import soliton.lang as tkl
import soliton.wave as tkw
from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE
from soliton.wave.compile import WaveCompileOptions, wave_compile

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
CONSTRAINTS = [tkw.WorkgroupConstraint(M, 4, 0), tkw.HardwareConstraint(threads_per_wave=64)]
Tile = tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]


def failure(kernel, **options) -> soliton.CompileError:
    options.setdefault("subs", {M: 8, N: 64})
    with pytest.raises(soliton.CompileError) as caught:
        wave_compile(WaveCompileOptions(target="gfx942", **options), kernel)
    return caught.value


def line_of(text: str) -> int:
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line and "line_of" not in line)


def test_an_operation_is_found_by_line_and_column():
    @tkw.wave(CONSTRAINTS)
    def kernel(a: Tile, b: Tile):
        tkw.write(tkw.sum(tkw.read(a), dim=K), b)  # along nothing

    found = failure(kernel).diagnostics[0]
    assert (found.id, found.file) == ("reduce-dim", __file__)
    assert found.line == line_of("# along nothing")
    assert found.column == 19


def test_the_message_shows_the_line_and_marks_the_place():
    @tkw.wave(CONSTRAINTS)
    def kernel(a: Tile, b: Tile):
        tkw.write(tkw.read(a) + tkw.cast(tkw.read(a), tkl.f16), b)  # two types

    text = str(failure(kernel))
    line, mark = text.splitlines()[2:4]
    assert line.endswith("# two types")
    assert line[mark.index("^") : mark.rindex("~") + 1] == "tkw.read(a) + tkw.cast(tkw.read(a), tkl.f16)"
    assert "[elementwise-type-mismatch]" in text and "  hint: " in text


def test_all_mistakes_of_a_kernel_are_reported_at_once():
    @tkw.wave(CONSTRAINTS)
    def kernel(a: Tile, b: Tile):
        tkw.write(tkw.sum(tkw.read(a), dim=K), b)
        tkw.write(tkw.permute(tkw.read(a), [N, K]), b)

    assert {each.id for each in failure(kernel).diagnostics} == {"reduce-dim", "permute-dims"}


def test_a_constraint_is_found_where_it_was_written():
    constraints = [tkw.WorkgroupConstraint(M, 4, 0)]
    constraints += [tkw.WaveConstraint(M, 3)]  # does not divide

    @tkw.wave(constraints)
    def kernel(a: Tile, b: Tile):
        tkw.write(tkw.read(a), b)

    found = failure(kernel).diagnostics[0]
    assert (found.id, found.line) == ("wave-tile-indivisible", line_of("# does not divide"))


def test_an_unbound_symbol_is_named():
    @tkw.wave(CONSTRAINTS)
    def kernel(a: Tile, b: Tile):
        tkw.write(tkw.read(a), b)

    error = failure(kernel, subs={M: 8})
    assert error.id == "symbol-unbound" and "`N`" in str(error)
    assert error.diagnostics[0].hint == "add `N: …` to `subs`, or N to `dynamic_symbols`"


def test_python_cannot_ask_a_tile_for_its_truth():
    @tkw.wave(CONSTRAINTS)
    def kernel(a: Tile, b: Tile):
        if tkw.read(a) > 0.0:
            tkw.write(tkw.read(a), b)

    error = failure(kernel)
    assert error.id == "not-supported-here" and "tkw.select" in str(error)


def test_python_cannot_ask_an_expression_for_its_truth():
    with pytest.raises(TypeError, match="soliton.min"):
        min(M, N)


def test_a_memory_is_no_tile():
    @tkw.wave(CONSTRAINTS)
    def kernel(a: Tile, b: Tile):
        tkw.write(a, b)

    error = failure(kernel)
    assert error.id == "undefined-value" and "`tkw.read` first" in str(error)


def test_an_operation_outside_of_a_kernel():
    with pytest.raises(soliton.CompileError, match="outside of a kernel"):
        tkw.self_index(M, tkl.i32)


def test_a_parameter_without_annotation():
    @tkw.wave(CONSTRAINTS)
    def kernel(a: Tile, b):
        tkw.write(tkw.read(a), b)

    assert "the parameter `b` of `kernel` has no annotation" in str(failure(kernel))


def test_what_is_no_constraint():
    @tkw.wave([*CONSTRAINTS, 3])
    def kernel(a: Tile, b: Tile):
        tkw.write(tkw.read(a), b)

    assert failure(kernel).id == "constraint-dim"


def test_an_exception_of_the_author_is_the_authors():
    @tkw.wave(CONSTRAINTS)
    def kernel(a: Tile, b: Tile):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        wave_compile(WaveCompileOptions(subs={M: 8, N: 64}, target="gfx942"), kernel)


def test_an_exception_in_a_loop_ends_the_trace_and_leaves_the_next_one_alone():
    @tkw.wave([*CONSTRAINTS, tkw.TilingConstraint(N, 16)])
    def kernel(a: Tile, b: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f32], broken=True):
        @tkw.iterate(N, init_args=[tkl.Register[M, tkl.f32](0.0)])
        def repeat(acc):
            if shared["broken"]:
                raise ValueError("in the loop")
            return tkw.sum(tkw.read(a), acc, dim=N)

        tkw.write(repeat, b)

    shared = {"broken": True}
    options = WaveCompileOptions(subs={M: 8, N: 64}, target="gfx942")
    with pytest.raises(ValueError, match="in the loop"):
        wave_compile(options, kernel)
    shared["broken"] = False
    out = np.zeros(8, np.float32)
    wave_compile(options, kernel)(np.ones((8, 64), np.float32), out)
    assert (out == 64).all()


def test_gfx1250_is_refused_by_name():
    @tkw.wave(CONSTRAINTS)
    def kernel(a: Tile, b: Tile):
        tkw.tensor_counter_wait(0)

    error = failure(kernel)
    assert error.id == "not-supported-here" and "gfx1250" in str(error)


def test_options_without_meaning_say_so_once():
    @tkw.wave(CONSTRAINTS)
    def kernel(a: Tile, b: Tile):
        tkw.write(tkw.read(a), b)

    options = WaveCompileOptions(subs={M: 8, N: 64}, target="gfx942", capture_trace=True)
    with pytest.warns(soliton.OptionWarning, match="capture_trace"):
        wave_compile(options, kernel)


@pytest.mark.parametrize("options", [{"override_mlir": "module {}"}, {"num_devices": 2}])
def test_options_that_would_change_the_kernel_are_refused(options):
    @tkw.wave(CONSTRAINTS)
    def kernel(a: Tile, b: Tile):
        tkw.write(tkw.read(a), b)

    assert failure(kernel, **options).id == "not-supported-here"


def served(waves):
    @tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), tkw.HardwareConstraint(n_service_waves=waves)])  # who serves
    def kernel(a: Tile, b: Tile):
        tkw.write(tkw.read(a), b)

    return kernel


def test_service_waves_are_refused_where_no_boxes_are_copied():
    error = failure(served(4))
    assert error.id == "not-supported-here" and "`n_service_waves` is 4" in str(error) and "gfx942" in str(error)
    assert error.diagnostics[0].line == line_of("# who serves")
    wave_compile(WaveCompileOptions(target="gfx942", subs={M: 8, N: 64}), served(0))


def test_fewer_service_waves_than_none():
    error = failure(served(-1))
    assert error.id == "hardware-value" and "`n_service_waves` is -1" in str(error)


def in_clusters(*along):
    @tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), tkw.HardwareConstraint(workgroups_per_cluster=along)])  # who shares
    def kernel(a: Tile, b: Tile):
        tkw.write(tkw.read(a), b)

    return kernel


def test_clusters_are_refused_where_there_are_none():
    error = failure(in_clusters(2, 1, 1))
    assert error.id == "not-supported-here" and "`workgroups_per_cluster` asks for 2, but `gfx942` has no clusters" in str(error)
    assert error.diagnostics[0].line == line_of("# who shares")
    wave_compile(WaveCompileOptions(target="gfx942", subs={M: 8, N: 64}), in_clusters(1, 1, 1))


def test_clusters_along_two_dimensions():
    error = failure(in_clusters(2, 2, 1))
    assert error.id == "not-supported-here" and "along several dimensions of the grid" in str(error)


def test_errors_survive_a_process():
    @tkw.wave(CONSTRAINTS)
    def kernel(a: Tile, b: Tile):
        tkw.write(tkw.read(a), b)

    error = failure(kernel, subs={})
    assert pickle.loads(pickle.dumps(error)).diagnostics == error.diagnostics


def test_every_id_of_python_is_one_of_the_compilers():
    import pathlib
    import re

    from soliton import _native

    known = set(_native.diagnostic_ids())
    for file in pathlib.Path(soliton.__file__).parent.rglob("*.py"):
        for used in re.findall(r'\berror\(\s*"([a-z0-9-]+)"', file.read_text()):
            assert used in known, f"{file.name}: {used}"
