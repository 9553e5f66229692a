"""Programs as authors write them, in Wave's names and in ours; each result is that of NumPy."""

import threading
import types

import numpy as np
import pytest

import soliton
import soliton.compat
import soliton.lang
import soliton.wave
from soliton.lang import global_symbols as ours

pytest.importorskip("sympy")
soliton.compat.install()

import sympy  # noqa: E402
import wave_lang.kernel.lang as compat_lang  # noqa: E402
import wave_lang.kernel.wave as compat_wave  # noqa: E402
import wave_lang.kernel.wave.compile as compat_compile  # noqa: E402

TARGETS = ["gfx942", "gfx950"]


def _names(lang, wave, symbols, compile_, ceildiv, minimum):
    made = types.SimpleNamespace(tkl=lang, tkw=wave, ceildiv=ceildiv, minimum=minimum)
    made.glob, made.shared = symbols.GLOBAL_ADDRESS_SPACE, symbols.SHARED_ADDRESS_SPACE
    made.wg = (symbols.WORKGROUP_0, symbols.WORKGROUP_1, symbols.WORKGROUP_2)
    made.Options, made.compile = compile_.WaveCompileOptions, compile_.wave_compile
    for name in "M N K B H S BLOCK_M BLOCK_N BLOCK_K".split():
        setattr(made, name, getattr(lang.sym, name))
    made.it = [lang.IndexMapping.iterator(k) for k in range(4)]
    made.val = [lang.IndexMapping.dynamic_val(k) for k in range(2)]
    return made


def _ceiling(a, b):
    return sympy.ceiling(a / b)


@pytest.fixture(params=["wave_lang", "soliton"])
def w(request):
    """The words of a program: Wave's, whose symbols are SymPy's, and ours."""
    if request.param == "soliton":
        return _names(soliton.lang, soliton.wave, ours, soliton.wave, soliton.ceildiv, soliton.min)
    return _names(compat_lang, compat_wave, compat_lang.global_symbols, compat_compile, _ceiling, sympy.Min)


def numbers(shape, dtype=np.float32, low=-4, high=5, seed=0):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def tiles(w, block_m=16, block_n=64, **hardware):
    return [
        w.tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={w.M: block_m, w.N: block_n}, **hardware),
        w.tkw.WorkgroupConstraint(w.M, block_m, 1),
        w.tkw.WorkgroupConstraint(w.N, block_n, 0),
        w.tkw.WaveConstraint(w.M, block_m),
        w.tkw.WaveConstraint(w.N, block_n),
    ]


def run(w, kernel, subs, *arrays, targets=TARGETS, dynamic=(), **options):
    """Runs it on each target with fresh copies of what it writes; gives the arrays of the last one."""
    for target in targets:
        copies = [each.copy() if isinstance(each, np.ndarray) else each for each in arrays]
        bound = {symbol: value for symbol, value in subs.items() if symbol not in dynamic}
        w.compile(w.Options(subs=bound, dynamic_symbols=list(dynamic), target=target, **options), kernel)(*copies)
    return copies


# ---- Layouts and strides -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [16, 13])
def test_rows_of_a_larger_tensor(w, rows):
    layout = w.tkl.MemoryLayout(shape=(rows, 128))

    @w.tkw.wave(tiles(w))
    def copy(a: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32, layout], b: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32]):
        w.tkw.write(w.tkw.read(a), b)

    a = numbers((rows, 128))
    _, b = run(w, copy, {w.M: rows, w.N: 100}, a, np.zeros((rows, 100), np.float32))
    assert np.array_equal(b, a[:, :100])


def test_extents_that_the_caller_says(w):
    layout = w.tkl.MemoryLayout(shape=[None, None])
    out = w.tkl.MemoryLayout(shape=[None, 70])

    @w.tkw.wave(tiles(w))
    def copy(a: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32, layout], b: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32, out]):
        w.tkw.write(w.tkw.read(a), b)

    a = numbers((40, 90))
    _, b = run(w, copy, {w.M: 30, w.N: 70}, a, np.zeros((50, 70), np.float32))
    assert np.array_equal(b[:30], a[:30, :70]) and not b[30:].any()


def test_a_layout_smaller_than_its_dimensions(w):
    """Partial tiles of stream-K: each workgroup has a slot of its own, and the mapping brings its places into it."""
    i, j, k = w.it[:3]
    S = w.S
    layout = w.tkl.MemoryLayout(shape=(S, 16, 64))
    at = w.wg[0] + 2 * w.wg[1]
    mapping = w.tkl.IndexMapping(num_iterators=2, inputs={w.M: i, w.N: j}, outputs={S: at, w.M: i % 16, w.N: j % 64})

    @w.tkw.wave(tiles(w))
    def kernel(a: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32], slots: w.tkl.Memory[S, w.M, w.N, w.glob, w.tkl.f32, layout]):
        w.tkw.write(w.tkw.read(a), slots, mapping=mapping)

    a = numbers((32, 128))
    _, slots = run(w, kernel, {w.M: 32, w.N: 128, S: 4}, a, np.zeros((4, 16, 64), np.float32))
    wanted = a.reshape(2, 16, 2, 64).transpose(0, 2, 1, 3).reshape(4, 16, 64)
    assert np.array_equal(slots, wanted)


def test_sequences_by_offset_and_length(w):
    """A dimension that only layouts have, and that the kernel sets to what its sequence has."""
    i, j = w.it[:2]
    OFFSET, S = w.tkl.sym.OFFSET, w.S
    layout = w.tkl.MemoryLayout(shape=(50, 64))
    constraints = [
        w.tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={S: 0, w.M: 16, w.N: 64}),
        w.tkw.WorkgroupConstraint(w.M, 16, 0, iters=2),
        w.tkw.WorkgroupConstraint(S, 1, 1),
        w.tkw.WorkgroupConstraint(w.N, 64, 2),
    ]
    read = w.tkl.IndexMapping(num_iterators=2, inputs={w.M: i + OFFSET, w.N: j}, outputs={w.M: i, w.N: j})
    write = w.tkl.IndexMapping(num_iterators=2, inputs={w.M: i, w.N: j}, outputs={w.M: i + OFFSET, w.N: j})
    Rows = w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32, layout]

    @w.tkw.wave(constraints)
    def twice(a: Rows, offsets: w.tkl.Memory[S, w.glob, w.tkl.i32], lengths: w.tkl.Memory[S, w.glob, w.tkl.i32], b: Rows):
        w.tkw.set_symbol(OFFSET, w.tkw.read(offsets, elements_per_thread=1))
        w.tkw.set_symbol(w.M, w.tkw.read(lengths, elements_per_thread=1))
        x = w.tkw.read(a, mapping=read)
        w.tkw.write(x + x, b, mapping=write)

    a, offsets, lengths = numbers((50, 64)), np.array([0, 19], np.int32), np.array([17, 30], np.int32)
    *_, b = run(w, twice, {w.N: 64, S: 2}, a, offsets, lengths, np.zeros((50, 64), np.float32))
    wanted = np.zeros_like(a)
    for offset, length in zip(offsets, lengths):
        wanted[offset : offset + length] = 2 * a[offset : offset + length]
    assert np.array_equal(b, wanted)


def test_views_are_read_and_written_as_they_lie(w):
    @w.tkw.wave(tiles(w))
    def twice(a: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32], b: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32]):
        x = w.tkw.read(a)
        w.tkw.write(x + x, b)

    options = w.Options(subs={w.M: 30, w.N: 70}, target="gfx942", wave_runtime=True, allow_noncontiguous_runtime_buffers=True)
    large, out = numbers((70, 40)), np.zeros((40, 100), np.float32)
    w.compile(options, twice)(large.T[3:33], out[5:35, 7:77])
    assert np.array_equal(out[5:35, 7:77], 2 * large.T[3:33]) and np.count_nonzero(out) == np.count_nonzero(large.T[3:33])


# ---- Dimensions go by their names ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_mapped", [False, True], ids=["plain", "mapped"])
def test_the_order_of_a_tiles_dimensions_is_its_own(w, is_mapped):
    i, j = w.it[:2]
    mapping = w.tkl.IndexMapping(num_iterators=2, inputs={w.M: i, w.N: j}, outputs={w.M: i, w.N: j}) if is_mapped else None

    @w.tkw.wave(tiles(w))
    def copy(a: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32], b: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32]):
        x = w.tkw.permute(w.tkw.read(a), target_shape=[w.N, w.M])
        w.tkw.write(x, b, mapping=mapping)

    a = numbers((20, 100))
    _, b = run(w, copy, {w.M: 20, w.N: 100}, a, np.zeros_like(a))
    assert np.array_equal(b, a)


def test_single_places_may_be_missing(w):
    i, j, k = w.it[:3]
    mapping = w.tkl.IndexMapping(num_iterators=3, inputs={w.B: i, w.M: j, w.N: k}, outputs={w.M: j, w.B: i, w.N: k})
    constraints = [*tiles(w), w.tkw.WorkgroupConstraint(w.B, w.tkl.sym.BLOCK_B, 2)]

    @w.tkw.wave(constraints)
    def spread(a: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32], b: w.tkl.Memory[w.M, w.B, w.N, w.glob, w.tkl.f32], c: w.tkl.Memory[w.B, w.M, w.N, w.glob, w.tkl.f32]):
        x = w.tkw.read(a)
        w.tkw.write(x, b, mapping=mapping)
        w.tkw.write(x, c)

    a = numbers((20, 70))
    subs = {w.M: 20, w.N: 70, w.B: 3, w.tkl.sym.BLOCK_B: 1}
    _, b, c = run(w, spread, subs, a, np.zeros((20, 3, 70), np.float32), np.zeros((3, 20, 70), np.float32))
    assert np.array_equal(b, np.repeat(a[:, None], 3, 1)) and np.array_equal(c, np.repeat(a[None], 3, 0))


def test_heads_that_share_keys(w):
    """Operands of a product have a batch that the accumulator lacks and that follows the workgroups of another one."""
    i, j, k = w.it[:3]
    KV = w.tkl.sym.H_KV
    constraints = [
        w.tkw.WorkgroupConstraint(w.M, 32, 0),
        w.tkw.WorkgroupConstraint(w.N, 32, 1),
        w.tkw.WorkgroupConstraint(w.H, 1, 2),
        w.tkw.WorkgroupConstraint(KV, 1, 2, primary=False),
        w.tkw.TilingConstraint(w.K, 16),
        w.tkw.WaveConstraint(w.M, 16),
        w.tkw.WaveConstraint(w.N, 16),
        w.tkw.HardwareConstraint(threads_per_wave=64, mma_type=w.tkw.MMAType.F32_16x16x16_F16, vector_shapes={w.H: 0, KV: 0}),
    ]
    shared = w.tkl.IndexMapping(num_iterators=3, inputs={KV: i // 2, w.N: j, w.K: k}, outputs={KV: i, w.N: j, w.K: k})

    @w.tkw.wave(constraints)
    def scores(
        q: w.tkl.Memory[w.H, w.M, w.K, w.shared, w.tkl.f16],
        keys: w.tkl.Memory[KV, w.N, w.K, w.shared, w.tkl.f16],
        c: w.tkl.Memory[w.H, w.M, w.N, w.glob, w.tkl.f32],
    ):
        @w.tkw.iterate(w.K, init_args=[w.tkl.Register[w.H, w.M, w.N, w.tkl.f32](0.0)])
        def loop(acc):
            return w.tkw.mma(w.tkw.read(q), w.tkw.read(keys, mapping=shared), acc)

        w.tkw.write(loop, c)

    q, keys = numbers((4, 40, 48), np.float16), numbers((2, 33, 48), np.float16, seed=1)
    *_, c = run(w, scores, {w.H: 4, KV: 2, w.M: 40, w.N: 33, w.K: 48}, q, keys, np.zeros((4, 40, 33), np.float32))
    assert np.array_equal(c, q.astype(np.float32) @ np.repeat(keys, 2, 0).astype(np.float32).transpose(0, 2, 1))


def test_loops_over_single_places(w):
    """A tile of an iteration that has one place along the loop's axis meets tiles without the axis."""
    constraints = [*tiles(w), w.tkw.TilingConstraint(w.S, 1)]

    @w.tkw.wave(constraints)
    def largest(a: w.tkl.Memory[w.S, w.M, w.N, w.glob, w.tkl.f32], b: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32]):
        low, none = w.tkl.Register[w.M, w.N, w.tkl.f32](-1e6), w.tkl.Register[w.N, w.M, w.tkl.f32](0.0)

        @w.tkw.iterate(w.S, init_args=[low, none])
        def loop(high, total):
            x = w.tkw.read(a)
            return w.tkw.maximum(x, high), total + x

        high, total = loop
        w.tkw.write(high + total, b)

    a = numbers((5, 20, 70))
    _, b = run(w, largest, {w.S: 5, w.M: 20, w.N: 70}, a, np.zeros((20, 70), np.float32))
    assert np.array_equal(b, a.max(0) + a.sum(0))


def test_a_vector_shape_of_zero_is_one_place(w):
    i, j = w.it[:2]
    ROW = w.tkl.sym.ROW
    constraints = [
        w.tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={w.M: 0, w.N: 64}),
        w.tkw.WorkgroupConstraint(w.N, 64, 0),
    ]
    mapping = w.tkl.IndexMapping(num_iterators=2, inputs={w.M: ROW, w.N: j}, outputs={w.M: i, w.N: j})

    @w.tkw.wave(constraints)
    def row(a: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32], which: w.tkl.i32, b: w.tkl.Memory[w.N, w.glob, w.tkl.f32]):
        w.tkw.set_symbol(ROW, which)
        w.tkw.write(w.tkw.sum(w.tkw.read(a, mapping=mapping), dim=w.M), b)

    a = numbers((5, 100))
    *_, b = run(w, row, {w.M: 5, w.N: 100}, a, 3, np.zeros(100, np.float32))
    assert np.array_equal(b, a[3])


# ---- Numbers ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [128, 100])
def test_parts_of_k_by_workgroup(w, size):
    """Symbols that `subs` binds to expressions of workgroups: split-K."""
    OFFSET, LENGTH = w.tkl.sym.OFFSET, w.tkl.sym.LENGTH
    constraints = [
        w.tkw.WorkgroupConstraint(w.M, w.BLOCK_M, 0),
        w.tkw.WorkgroupConstraint(w.N, w.BLOCK_N, 1),
        w.tkw.WorkgroupConstraint(w.S, 1, 2),
        w.tkw.TilingConstraint(w.K, w.BLOCK_K, iters=w.ceildiv(LENGTH, w.BLOCK_K), start=OFFSET),
        w.tkw.WaveConstraint(w.M, w.BLOCK_M / 2),
        w.tkw.WaveConstraint(w.N, w.BLOCK_N / 2),
        w.tkw.HardwareConstraint(threads_per_wave=64, mma_type=w.tkw.MMAType.F32_16x16x16_F16),
    ]

    @w.tkw.wave(constraints)
    def gemm(
        a: w.tkl.Memory[w.M, w.K, w.shared, w.tkl.f16], b: w.tkl.Memory[w.N, w.K, w.shared, w.tkl.f16], c: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32]
    ):
        @w.tkw.iterate(w.K, init_args=[w.tkl.Register[w.M, w.N, w.tkl.f32](0.0)])
        def loop(acc):
            return w.tkw.mma(w.tkw.read(a), w.tkw.read(b), acc)

        w.tkw.atomic_add(loop, c)

    a, b = numbers((40, size), np.float16), numbers((33, size), np.float16, seed=1)
    subs = {w.M: 40, w.N: 33, w.K: size, w.S: 2, w.BLOCK_M: 32, w.BLOCK_N: 32, w.BLOCK_K: 16}
    subs |= {OFFSET: w.wg[2] * 64, LENGTH: w.minimum(w.K, (w.wg[2] + 1) * 64) - OFFSET}
    *_, c = run(w, gemm, subs, a, b, np.zeros((40, 33), np.float32))
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


def test_loops_start_from_registers(w):
    """What repeats one number is that number, where one is asked for."""
    X = w.tkl.sym.X
    constraints = [*tiles(w, 1, 64), w.tkw.TilingConstraint(X)]

    @w.tkw.wave(constraints)
    def powers(b: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.i32]):
        one = w.tkl.Register[w.N, w.tkl.i32](1)

        @w.tkw.iterate(X, start=one + one, condition=X < 7, init_args=[w.tkl.Register[w.M, w.N, w.tkl.i32](1)])
        def loop(power):
            x = w.tkw.self_index(X, w.tkl.i32)
            w.tkw.set_symbol(X, w.tkw.apply_expr(x, lambda n: n + 2))
            return power + power

        w.tkw.write(loop, b)

    (b,) = run(w, powers, {w.M: 2, w.N: 64}, np.zeros((2, 64), np.int32))
    assert (b == 8).all()


@pytest.mark.parametrize("step", [1, 2])
def test_loops_with_conditions_over_batches(w, step):
    """The axis is a dimension of the tensors: what is read and written is where the loop is."""
    i, j, k = w.it[:3]
    constraints = [
        w.tkw.WorkgroupConstraint(w.M, 32, 0),
        w.tkw.WorkgroupConstraint(w.N, 32, 1),
        w.tkw.TilingConstraint(w.K, 16),
        w.tkw.TilingConstraint(w.B),
        w.tkw.WaveConstraint(w.M, 16),
        w.tkw.WaveConstraint(w.N, 16),
        w.tkw.HardwareConstraint(threads_per_wave=64, mma_type=w.tkw.MMAType.F32_16x16x16_F16, vector_shapes={w.B: 0}),
    ]
    turned = w.tkl.IndexMapping(num_iterators=3, inputs={w.B: i, w.M: j, w.N: k}, outputs={w.N: k, w.B: i, w.M: j})

    @w.tkw.wave(constraints)
    def gemm(
        a: w.tkl.Memory[w.B, w.M, w.K, w.shared, w.tkl.f16],
        b: w.tkl.Memory[w.B, w.N, w.K, w.shared, w.tkl.f16],
        c: w.tkl.Memory[w.B, w.M, w.N, w.glob, w.tkl.f32],
        d: w.tkl.Memory[w.N, w.B, w.M, w.glob, w.tkl.f32],
        total: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32],
    ):
        @w.tkw.iterate(w.B, start=w.tkw.scalar(0, w.tkl.i32), condition=w.B < 5, init_args=[w.tkl.Register[w.M, w.N, w.tkl.f32](0.0)])
        def batches(so_far):
            @w.tkw.iterate(w.K, init_args=[w.tkl.Register[w.B, w.M, w.N, w.tkl.f32](0.0)])
            def loop(acc):
                return w.tkw.mma(w.tkw.read(a), w.tkw.read(b), acc)

            w.tkw.write(loop, c)
            w.tkw.write(loop, d, mapping=turned)
            here = w.tkw.self_index(w.B, w.tkl.i32)
            w.tkw.set_symbol(w.B, w.tkw.apply_expr(here, lambda n: n + step))
            return so_far + loop

        w.tkw.write(batches, total)

    a, b = numbers((5, 40, 24), np.float16), numbers((5, 33, 24), np.float16, seed=1)
    c, d, total = np.zeros((5, 40, 33), np.float32), np.zeros((33, 5, 40), np.float32), np.zeros((40, 33), np.float32)
    *_, c, d, total = run(w, gemm, {w.B: 5, w.M: 40, w.N: 33, w.K: 24}, a, b, c, d, total)
    wanted = a.astype(np.float32) @ b.astype(np.float32).transpose(0, 2, 1)
    wanted[np.arange(5) % step != 0] = 0
    assert np.array_equal(c, wanted) and np.array_equal(d, wanted.transpose(2, 0, 1)) and np.array_equal(total, wanted.sum(0))


def test_arguments_by_the_names_of_the_documents(w):
    @w.tkw.wave(tiles(w))
    def kernel(a: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32], b: w.tkl.Memory[w.M, w.glob, w.tkl.f32]):
        x = w.tkw.read(memory=a)
        x = w.tkw.cast(src=w.tkw.abs(src=x), dtype=w.tkl.f32)
        total = w.tkw.sum(src=x, acc=w.tkl.Register[w.M, w.tkl.f32](1.0), dim=w.N)
        y = w.tkw.permute(arg=w.tkw.broadcast(arg=total, target_shape=[w.M, w.N]), target_shape=[w.N, w.M])
        w.tkw.write(register_=w.tkw.max(y, dim=w.N), memory=b, elements_per_thread=1)

    a = numbers((16, 64))
    _, b = run(w, kernel, {w.M: 16, w.N: 64}, a, np.zeros(16, np.float32))
    assert np.array_equal(b, np.abs(a).sum(1) + 1)


# ---- Operations ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block_m", [1, 4, 32])
def test_products_of_small_tiles(w, block_m):
    kind = w.tkw.GenericDot(k_vec_size=4, along_dim=w.tkw.MMAOperand.N)
    constraints = [
        w.tkw.WorkgroupConstraint(w.M, block_m, 0),
        w.tkw.WorkgroupConstraint(w.N, 64, 1),
        w.tkw.TilingConstraint(w.K, 16),
        w.tkw.WaveConstraint(w.M, block_m),
        w.tkw.WaveConstraint(w.N, 64),
        w.tkw.HardwareConstraint(threads_per_wave=64, mma_type=kind),
    ]

    @w.tkw.wave(constraints)
    def gemm(a: w.tkl.Memory[w.M, w.K, w.shared, w.tkl.f16], b: w.tkl.Memory[w.N, w.K, w.shared, w.tkl.f16], c: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32]):
        @w.tkw.iterate(w.K, init_args=[w.tkl.Register[w.M, w.N, w.tkl.f32](0.0)])
        def loop(acc):
            return w.tkw.mma(w.tkw.read(a), w.tkw.read(b), acc)

        w.tkw.write(loop, c)

    a, b = numbers((9, 40), np.float16), numbers((70, 40), np.float16, seed=1)
    *_, c = run(w, gemm, {w.M: 9, w.N: 70, w.K: 40}, a, b, np.zeros((9, 70), np.float32))
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


def test_order_and_hints_in_the_text_of_a_kernel(w):
    tkw = w.tkw

    two_waves = [w.tkw.WorkgroupConstraint(w.M, 16, 1), w.tkw.WorkgroupConstraint(w.N, 64, 0), w.tkw.WaveConstraint(w.M, 8)]

    @tkw.wave([*two_waves, w.tkw.HardwareConstraint(threads_per_wave=64)])
    def copy(a: w.tkl.Memory[w.M, w.N, w.shared, w.tkl.f32], b: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32]):
        tkw.set_wave_prio(1)
        x = tkw.read(a)
        tkw.scheduling_barrier([])
        tkw.memory_counter_wait(load=0)
        tkw.memory_counter_wait_barrier(load=0, ds=0)
        tkw.shared_memory_barrier(wait_async_ops=True)
        tkw.shared_memory_barrier_signal(1)
        tkw.shared_memory_barrier_wait(1)
        tkw.workgroup_barrier()
        tkw.scheduling_group_barrier({tkw.InstructionClass.VALU: 2}, 0)
        tkw.set_wave_prio(0)
        tkw.write(x, b)

    a = numbers((20, 70))
    _, b = run(w, copy, {w.M: 20, w.N: 70}, a, np.zeros_like(a))
    assert np.array_equal(a, b)
    text = w.compile(w.Options(subs={w.M: 20, w.N: 70}, target="gfx942"), copy).assembly
    assert text.count("s_setprio") == 2 and "s_barrier" in text


def test_a_priority_that_there_is_not(w):
    @w.tkw.wave(tiles(w))
    def wrong(a: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32]):
        w.tkw.set_wave_prio(4)

    with pytest.raises(soliton.CompileError, match="expected 0 to 3") as caught:
        run(w, wrong, {w.M: 16, w.N: 64}, numbers((16, 64)))
    assert caught.value.id == "hint-value"


def test_sums_where_a_mapping_says(w):
    i, j = w.it[:2]
    mapping = w.tkl.IndexMapping(num_iterators=2, inputs={w.M: i, w.N: j}, outputs={w.M: i, w.N: w.N - 1 - j})

    @w.tkw.wave(tiles(w, 1, 64))
    def kernel(x: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32], at: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.i32], out: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32]):
        w.tkw.scatter_add(w.tkw.read(x), w.tkw.read(at), dim=0, memory=out, mapping=mapping, elements_per_thread=1)

    x, at = numbers((5, 64)), numbers((5, 64), np.int32, 0, 5, seed=1)
    *_, out = run(w, kernel, {w.M: 5, w.N: 64}, x, at, np.zeros_like(x))
    wanted = np.zeros_like(x)
    np.add.at(wanted, (at, np.arange(64)[None, ::-1]), x)
    assert np.array_equal(out, wanted)


def test_logs_where_a_mapping_says(w):
    i, j = w.it[:2]
    mapping = w.tkl.IndexMapping(num_iterators=2, inputs={w.M: i, w.N: j}, outputs={w.M: i, w.N: w.N - 1 - j})
    STEPS = w.tkl.sym.STEPS
    said = []

    @w.tkw.wave([*tiles(w), w.tkw.TilingConstraint(w.K, 8)])
    def kernel(a: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32], k: w.tkl.Memory[w.K, w.glob, w.tkl.f32], b: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32]):
        x = w.tkw.read(a)
        w.tkw.debug_log(x, label="turned", mapping=mapping, printer=lambda label, value: said.append(label))

        @w.tkw.iterate(w.K, init_args=[x])
        def loop(acc):
            acc = acc + w.tkw.sum(w.tkw.read(k), dim=w.K)
            w.tkw.debug_log(acc, extra_iteration_dimensions=[(STEPS, w.K, 3)], mapping=mapping, printer=None, handler=lambda logs: said.append(sorted(logs)))
            return acc

        w.tkw.write(loop, b)

    a, k, b = numbers((20, 70)), np.ones(24, np.float32), np.zeros((20, 70), np.float32)
    compiled = w.compile(w.Options(subs={w.M: 20, w.N: 70, w.K: 24}, target="gfx942"), kernel)
    logs = {}
    compiled(a, k, b, debug_logs=logs)
    assert np.array_equal(logs["turned"]["value"], a[:, ::-1]) and np.array_equal(b, a + 24)
    steps = logs["debug_log_output_1"]["value"]
    assert np.array_equal(steps, np.stack([a[:, ::-1] + 8 * (n + 1) for n in range(3)]))
    compiled(a, k, b)
    assert "turned" in said and ["debug_log_output_1", "turned"] in said


def test_rows_in_order_and_what_they_carry(w):
    TOP = w.tkl.sym.TOP
    constraints = [*tiles(w, 4, 64), w.tkw.WorkgroupConstraint(TOP, 3, 0, primary=False)]
    Rows = w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32]
    Top = w.tkl.Memory[w.M, TOP, w.glob, w.tkl.f32]

    @w.tkw.wave(constraints)
    def kernel(keys: Rows, values: Rows, sorted_keys: Rows, sorted_values: Rows, least: Top, carried: Top, first: w.tkl.Memory[w.M, w.glob, w.tkl.i32]):
        k, v = w.tkw.read(keys), w.tkw.read(values)
        a, b = w.tkw.sort_by(k, [v], w.N, descending=True)
        w.tkw.write(a, sorted_keys)
        w.tkw.write(b, sorted_values)
        a, b = w.tkw.topk_by(k, [v], TOP, w.N, largest=False)
        w.tkw.write(a, least)
        w.tkw.write(b, carried)
        value, index = w.tkw.argmin(k, dim=w.N)
        w.tkw.write(index, first)

    keys = np.random.default_rng(0).permutation(6 * 64).reshape(6, 64).astype(np.float32)
    values = numbers((6, 64), seed=1)
    zeros = np.zeros((6, 64), np.float32)
    arrays = (keys, values, zeros, zeros, zeros[:, :3].copy(), zeros[:, :3].copy(), np.zeros(6, np.int32))
    _, _, a, b, least, carried, first = run(w, kernel, {w.M: 6, w.N: 64, TOP: 3}, *arrays)
    order = np.argsort(-keys, axis=1)
    assert np.array_equal(a, np.take_along_axis(keys, order, 1)) and np.array_equal(b, np.take_along_axis(values, order, 1))
    order = np.argsort(keys, axis=1)[:, :3]
    assert np.array_equal(least, np.take_along_axis(keys, order, 1)) and np.array_equal(carried, np.take_along_axis(values, order, 1))
    assert np.array_equal(first, keys.argmin(1))


def test_one_element_and_a_hint(w):
    tkw = w.tkw

    @tkw.wave([w.tkw.WorkgroupConstraint(w.B, 1, 0), w.tkw.TilingConstraint(w.N, 64), w.tkw.HardwareConstraint(threads_per_wave=64)])
    def ragged(x: w.tkl.Memory[w.B, w.N, w.glob, w.tkl.f32], lengths: w.tkl.Memory[w.B, w.glob, w.tkl.i32], sums: w.tkl.Memory[w.B, w.glob, w.tkl.f32]):
        length = tkw.index_of(tkw.read_at(lengths, [tkw.workgroup_id(0)]))

        @tkw.iterate(w.N, init_args=[w.tkl.Register[w.B, w.tkl.f32](0.0)], count=soliton.ceildiv(length, 64))
        def loop(acc):
            tkw.prefetch(x)
            return tkw.sum(tkw.read(x, bounds={w.B: w.B, w.N: length}), acc, dim=w.N)

        tkw.write(loop, sums)

    x, lengths = numbers((3, 500)), np.array([0, 77, 500], np.int32)
    *_, sums = run(w, ragged, {w.B: 3, w.N: 500}, x, lengths, np.zeros(3, np.float32))
    assert sums.tolist() == [x[n, :length].sum() for n, length in enumerate(lengths)]


# ---- Where kernels stand ----------------------------------------------------------------------------------------------------------


def test_kernels_in_cells_without_a_file():
    """What notebooks and `exec` do: there is no source, and mistakes still say where they are."""
    cell = """
from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE
import soliton.lang as tkl, soliton.wave as tkw
M = tkl.sym.M
@tkw.wave([tkw.WorkgroupConstraint(M, 64, 0), tkw.HardwareConstraint()])
def twice(a: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f32], b: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f32]):
    x = tkw.read(a)
    tkw.write(x + WHAT, b)
"""
    names = {"WHAT": 1.0}
    exec(compile(cell, "<ipython-input-3>", "exec"), names)
    options = soliton.wave.WaveCompileOptions(subs={soliton.lang.sym.M: 100}, target="gfx942")
    a, b = numbers(100), np.zeros(100, np.float32)
    soliton.wave.wave_compile(options, names["twice"])(a, b)
    assert np.array_equal(b, a + 1)
    names["WHAT"] = "nonsense"
    with pytest.raises(soliton.CompileError) as caught:
        soliton.wave.wave_compile(options, names["twice"])
    found = caught.value.diagnostics[0]
    assert (found.file, found.line) == ("<ipython-input-3>", 8)


def test_kernels_in_classes_and_loops(w):
    class Library:
        """Methods that make kernels, with defaults, closures and helpers."""

        factor = 3.0

        def make(self, power, dtype=w.tkl.f32, scale=None):
            scale = self.factor if scale is None else scale

            def helper(x, times=power):
                for _ in range(times - 1):
                    x *= w.tkw.read(self.memory)
                return x

            @w.tkw.wave(tiles(w))
            def kernel(a: w.tkl.Memory[w.M, w.N, w.glob, dtype], b: w.tkl.Memory[w.M, w.N, w.glob, dtype]):
                self.memory = a
                x = helper(w.tkw.read(a))
                x += w.tkl.Register[w.M, w.N, dtype](scale)
                x -= 1.0
                w.tkw.write(x, b)

            kernel.__doc__ = f"{w.M} by {w.N} to the {power}"
            return kernel

    a = numbers((16, 64))
    for power in (1, 2, 3):
        kernel = Library().make(power)
        assert kernel.__doc__ == f"M by N to the {power}"
        _, b = run(w, kernel, {w.M: 16, w.N: 64}, a, np.zeros_like(a), targets=["gfx942"])
        assert np.array_equal(b, a**power + 2)


def test_threads_compile_and_run_at_once(w):
    @w.tkw.wave(tiles(w))
    def copy(a: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32], b: w.tkl.Memory[w.M, w.N, w.glob, w.tkl.f32]):
        w.tkw.write(w.tkw.read(a), b)

    wrong = []

    def work(rows):
        a = numbers((rows, 70), seed=rows)
        for target in TARGETS:
            _, b = run(w, copy, {w.M: rows, w.N: 70}, a, np.zeros_like(a), targets=[target])
            if not np.array_equal(a, b):
                wrong.append(rows)

    threads = [threading.Thread(target=work, args=(rows,)) for rows in range(20, 28)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


# ---- Mistakes are the author's lines --------------------------------------------------------------------------------------------------


def test_parameters_are_where_they_are_declared():
    tkl, tkw = soliton.lang, soliton.wave
    M, N = tkl.sym.M, tkl.sym.NOBODY

    @tkw.wave([tkw.WorkgroupConstraint(M, 64, 0), tkw.HardwareConstraint()])
    def kernel(
        a: tkl.Memory[M, ours.GLOBAL_ADDRESS_SPACE, tkl.f32],
        b: tkl.Memory[M, N, ours.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        tkw.write(tkw.read(a), a)

    with pytest.raises(soliton.CompileError) as caught:
        tkw.wave_compile(tkw.WaveCompileOptions(subs={M: 64}, target="gfx942"), kernel)
    found = caught.value.diagnostics[0]
    assert (found.id, found.line, found.column) == ("symbol-unbound", kernel._f.__code__.co_firstlineno + 3, 9)
    assert "b: tkl.Memory[M, N" in str(caught.value) and "^~~~" in str(caught.value)


@pytest.mark.parametrize("value", ["text", 1.5, object()], ids=["str", "float", "object"])
def test_what_subs_cannot_hold(value):
    tkl, tkw = soliton.lang, soliton.wave

    @tkw.wave([tkw.WorkgroupConstraint(tkl.sym.M, 64, 0), tkw.HardwareConstraint()])
    def kernel(a: tkl.Memory[tkl.sym.M, ours.GLOBAL_ADDRESS_SPACE, tkl.f32]):
        tkw.write(tkw.read(a), a)

    with pytest.raises(soliton.CompileError, match="`subs` binds `M`") as caught:
        tkw.wave_compile(tkw.WaveCompileOptions(subs={tkl.sym.M: value}, target="gfx942"), kernel)
    assert caught.value.diagnostics[0].file == __file__
