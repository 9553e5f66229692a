"""What Wave's programs say of lanes and of workgroups that know of each other; each result is that of NumPy."""

import numpy as np
import pytest

import soliton
from test_programs import ADDRESS_SPACE, Floats, M, N, i, j, rows, run, small, tkl, tkw

sympy = pytest.importorskip("sympy")

from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, THREAD_0, WORKGROUP_0  # noqa: E402


def test_histogram_whose_ones_are_as_many_as_its_bins():
    """Each of Wave's lanes adds its one at its own value, so the ones may have the dimension of the bins."""
    BINS, value = tkl.sym.BINS, tkl.IndexMapping.dynamic_val(0)
    mapping = tkw.IndexMapping(num_iterators=1, inputs={BINS: value}, outputs={BINS: i}, dynamic_val_mappings={N: i})
    constraints = [tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={N: 64, BINS: 64}), tkw.WorkgroupConstraint(N, 64, 0)]
    constraints += [tkw.WaveConstraint(N, 64), tkw.WorkgroupConstraint(BINS, 64, 1), tkw.WaveConstraint(BINS, 64)]

    @tkw.wave(constraints)
    def test(x: tkl.Memory[N, ADDRESS_SPACE, tkl.i32], bins: tkl.Memory[BINS, ADDRESS_SPACE, tkl.i32]):
        number = tkw.read(x, elements_per_thread=1)
        tkw.atomic_add(tkl.Register[BINS, tkl.i32](1), bins, mapping=mapping, mapping_dynamic_vals=(number,), elements_per_thread=1)

    x, bins = small(300, np.int32, 0, 10), np.zeros(10, np.int32)
    run(test, x, bins, subs={BINS: 10})
    assert np.array_equal(bins, np.bincount(x, minlength=10))


def test_waves_of_32_threads_are_a_hint():
    constraints = [tkw.HardwareConstraint(threads_per_wave=32, vector_shapes={M: 1, N: 64}), tkw.WorkgroupConstraint(M, 1, 1)]
    constraints += [tkw.WorkgroupConstraint(N, 64, 0), tkw.WaveConstraint(M, 1), tkw.WaveConstraint(N, 64)]

    @tkw.wave(constraints)
    def test(a: Floats, c: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f16]):
        tkw.write(tkw.sum(tkw.read(a), dim=N), c, elements_per_thread=1)

    a, c = small((6, 64)), np.zeros(6, np.float16)
    run(test, a, c)
    assert np.array_equal(c, a.astype(np.float32).sum(1).astype(np.float16))

    @tkw.wave(constraints)
    def threads(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32]):
        tkw.write(tkl.Register[M, N, tkl.i32](THREAD_0), a)

    with pytest.raises(soliton.CompileError, match="where a wave has 32 threads"):
        run(threads, np.zeros((6, 64), np.int32))


def test_workgroups_that_wait_for_each_other():
    """Each adds its row to what the one behind it left: tiles of four waves, and a flag."""
    W, ONE, STEP, count = tkl.sym.W, tkl.sym.ONE, tkl.sym.STEP, 6
    constraints = [tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={N: 64, W: 0, ONE: 0}), tkw.WorkgroupConstraint(W, 1, 0)]
    constraints += [tkw.WorkgroupConstraint(N, 256, 1), tkw.WaveConstraint(N, 64), tkw.WorkgroupConstraint(ONE, 1, 2), tkw.TilingConstraint(STEP)]
    behind, flag_behind = (tkw.IndexMapping(num_iterators=2, inputs={W: i + 1, dim: j}, outputs={W: i, dim: j}) for dim in (N, ONE))
    volatile = tkw.MemoryAccessFlags.VOLATILE

    @tkw.wave(constraints)
    def test(
        x: tkl.Memory[W, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        part: tkl.Memory[W, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        flag: tkl.Memory[W, ONE, GLOBAL_ADDRESS_SPACE, tkl.i32],
        out: tkl.Memory[W, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        @tkw.conditional(WORKGROUP_0 < count - 1, else_return=[tkl.Register[W, N, tkl.f32](0.0)])
        def left_behind(_):
            @tkw.iterate(STEP, start=tkw.scalar(0, tkl.i32), condition=STEP < 1, init_args=[])
            def wait():
                tkw.set_symbol(STEP, tkw.read(flag, mapping=flag_behind, flags=volatile))

            return tkw.read(part, mapping=behind, flags=volatile)

        total = tkw.read(x) + left_behind
        tkw.write(total, part, flags=volatile)
        tkw.write(tkl.Register[W, ONE, tkl.i32](1), flag)
        tkw.write(total, out)

    x, out = small((count, 256), np.float32), np.zeros((count, 256), np.float32)
    part, flag = np.full((count, 256), np.nan, np.float32), np.zeros((count, 1), np.int32)
    run(test, x, part, flag, out, subs={W: count, N: 256, ONE: 1})
    assert np.array_equal(out, x[::-1].cumsum(axis=0)[::-1])


def test_what_is_only_read_is_read_as_ever():
    """`VOLATILE` on a memory that the kernel does not write asks for nothing."""

    @tkw.wave(rows())
    def test(a: Floats, b: Floats):
        tkw.write(tkw.read(a, flags=tkw.MemoryAccessFlags.VOLATILE), b)

    a, b = small((6, 64)), np.zeros((6, 64), np.float16)
    run(test, a, b)
    assert np.array_equal(a, b)


def test_elements_that_have_no_atomics_are_not_waited_for():
    @tkw.wave(rows())
    def test(a: Floats):
        tkw.write(tkw.read(a, flags=tkw.MemoryAccessFlags.VOLATILE), a)

    with pytest.raises(soliton.CompileError, match="`VOLATILE` on `a`, whose elements are `f16`"):
        run(test, small((6, 64)))


def test_symbols_of_which_each_element_has_its_own():
    """Each of Wave's lanes binds the symbol to what it holds: mappings, expressions and registers speak of that."""
    S = tkl.sym.S
    row = tkw.IndexMapping(num_iterators=2, inputs={M: S, N: j}, outputs={M: i, N: j})
    turned = tkw.IndexMapping(num_iterators=2, inputs={M: i, N: j}, outputs={M: i, N: (j + S) % 64})
    Integers = tkl.Memory[M, N, ADDRESS_SPACE, tkl.i32]

    @tkw.wave(rows())
    def test(a: Floats, numbers: Integers, gathered: Floats, clipped: Integers, plain: Integers):
        tkw.set_symbol(S, tkw.read(numbers))
        tkw.write(tkw.read(a, mapping=row), gathered)
        tkw.write(tkw.apply_expr(tkw.self_index(N, tkl.i32), lambda x: 2 * x + sympy.Min(S, 3)), clipped)
        tkw.write(tkl.Register[M, N, tkl.i32](S + 100), plain)

    a, numbers = small((6, 64)), small((6, 64), np.int32, 0, 6)
    gathered, clipped, plain = np.zeros((6, 64), np.float16), np.zeros((6, 64), np.int32), np.zeros((6, 64), np.int32)
    run(test, a, numbers, gathered, clipped, plain)
    assert np.array_equal(gathered, np.take_along_axis(a, numbers, 0)) and np.array_equal(plain, numbers + 100)
    assert np.array_equal(clipped, 2 * np.arange(64) + np.minimum(numbers, 3))

    @tkw.wave(rows())
    def scattered(a: Floats, shifts: Integers, b: Floats):
        @tkw.conditional(WORKGROUP_0 >= 0)
        def inside():
            tkw.set_symbol(S, tkw.read(shifts))
            tkw.write(tkw.read(a), b, mapping=turned)

    shifts, b = np.repeat(5 * np.arange(6, dtype=np.int32)[:, None], 64, axis=1), np.zeros((6, 64), np.float16)
    run(scattered, a, shifts, b)
    assert all(np.array_equal(b[k], np.roll(a[k], 5 * k)) for k in range(6))


def test_such_a_symbol_ends_with_its_region_and_counts_no_loop():
    S = tkl.sym.S
    row = tkw.IndexMapping(num_iterators=2, inputs={M: S, N: j}, outputs={M: i, N: j})
    Integers = tkl.Memory[M, N, ADDRESS_SPACE, tkl.i32]

    @tkw.wave(rows())
    def left(a: Floats, numbers: Integers, b: Floats):
        @tkw.conditional(WORKGROUP_0 >= 0)
        def inside():
            tkw.set_symbol(S, tkw.read(numbers))

        tkw.write(tkw.read(a, mapping=row), b)

    @tkw.wave(rows())
    def extent(a: Floats, numbers: Integers, b: Floats):
        tkw.set_symbol(N, tkw.read(numbers))
        tkw.write(tkw.read(a), b)

    given = small((6, 64)), small((6, 64), np.int32, 0, 6), np.zeros((6, 64), np.float16)
    with pytest.raises(soliton.CompileError, match="`S` in the mapping"):
        run(left, *given)
    with pytest.raises(soliton.CompileError, match="set-symbol"):
        run(extent, *given)
