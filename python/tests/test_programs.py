"""What programs of Wave do, one by one, with Wave's names: each result is that of NumPy."""

import numpy as np
import pytest

import soliton
import soliton.compat

pytest.importorskip("sympy")
soliton.compat.install()

import sympy  # noqa: E402
import wave_lang.kernel.lang as tkl  # noqa: E402
import wave_lang.kernel.wave as tkw  # noqa: E402
from wave_lang.kernel.lang.global_symbols import *  # noqa: E402, F403
from wave_lang.kernel.lang.global_symbols import GET_ITER_ARG, GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE, WORKGROUP_0  # noqa: E402
from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile  # noqa: E402
from wave_lang.kernel.wave.utils.general_utils import get_default_scheduling_params  # noqa: E402

M, N, K, B = tkl.sym.M, tkl.sym.N, tkl.sym.K, tkl.sym.B
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE
i, j = tkl.IndexMapping.iterator(0), tkl.IndexMapping.iterator(1)
Floats = tkl.Memory[M, N, ADDRESS_SPACE, tkl.f16]


def rows(block_m=1, block_n=None, **hardware):
    block_n = N if block_n is None else block_n
    return [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: block_m, N: block_n}, **hardware),
        tkw.WorkgroupConstraint(M, block_m, 1),
        tkw.WorkgroupConstraint(N, block_n, 0),
        tkw.WaveConstraint(M, block_m),
        tkw.WaveConstraint(N, block_n),
    ]


def run(kernel, *arrays, subs=None, dynamic=(), **options):
    shape = arrays[0].shape
    bound = {ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE, M: shape[0], N: shape[-1], **get_default_scheduling_params(), **(subs or {})}
    bound = {symbol: value for symbol, value in bound.items() if symbol not in dynamic}
    chosen = WaveCompileOptions(subs=bound, dynamic_symbols=list(dynamic), target="gfx942", canonicalize=True, **options)
    wave_compile(chosen, kernel)(*arrays)


def small(shape, dtype=np.float16, low=-4, high=5, seed=0):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


SHAPES = [(1, 27), (11, 81), (256, 64)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dynamic", [(), (M, N)], ids=["static", "dynamic"])
def test_copy(shape, dynamic):
    @tkw.wave(rows(16, 64))
    def test(a: Floats, b: Floats):
        res = tkw.read(a)
        tkw.write(res, b)

    a, b = small(shape), np.zeros(shape, np.float16)
    run(test, a, b, dynamic=dynamic, use_buffer_ops=True)
    assert np.array_equal(a, b)


@pytest.mark.parametrize("space", [tkl.AddressSpace.GLOBAL_MEMORY, tkl.AddressSpace.GLOBAL_MEMORY.value, tkl.AddressSpace.SHARED_MEMORY.value])
def test_address_spaces_are_bound_to_symbols_members_or_their_numbers(space):
    @tkw.wave(rows(16, 64))
    def test(a: Floats, b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16]):
        tkw.write(tkw.read(a), b)

    a, b = small((11, 81)), np.zeros((11, 81), np.float16)
    run(test, a, b, subs={ADDRESS_SPACE: space})
    np.testing.assert_array_equal(a, b)


def test_a_number_that_is_no_address_space():
    @tkw.wave(rows(16, 64))
    def test(a: Floats, b: Floats):
        tkw.write(tkw.read(a), b)

    with pytest.raises(soliton.CompileError, match=r"`ADDRESS_SPACE` is 7, expected a value of `AddressSpace` \[address-space-unknown\]"):
        run(test, small((4, 4)), small((4, 4)), subs={ADDRESS_SPACE: 7})


def test_transposed_write():
    mapping = tkw.IndexMapping(num_iterators=2, inputs={M: i, N: j}, outputs={N: j, M: i})

    @tkw.wave(rows(16, 64))
    def test(a: Floats, b: tkl.Memory[N, M, ADDRESS_SPACE, tkl.f16]):
        tkw.write(tkw.read(a), b, mapping=mapping)

    a, b = small((20, 100)), np.zeros((100, 20), np.float16)
    run(test, a, b)
    assert np.array_equal(b, a.T)


def test_offsets_come_from_a_tensor():
    value = tkl.IndexMapping.dynamic_val(0)
    mapping = tkw.IndexMapping(num_iterators=2, inputs={M: value, N: j}, outputs={M: i, N: j}, dynamic_val_mappings={M: i, N: j})

    @tkw.wave(rows(16, 64))
    def test(a: Floats, offset: tkl.Memory[M, N, ADDRESS_SPACE, tkl.i32], b: Floats):
        places = tkw.read(offset)
        tkw.write(tkw.read(a, mapping=mapping, mapping_dynamic_vals=(places,)), b)

    a, offset, b = small((12, 64)), small((12, 64), np.int32, 0, 12, seed=1), np.zeros((12, 64), np.float16)
    run(test, a, offset, b)
    assert np.array_equal(b, np.take_along_axis(a, offset, axis=0))


def test_sums_of_rows():
    @tkw.wave(rows())
    def test(a: Floats, b: Floats, c: tkl.Memory[M, ADDRESS_SPACE, tkl.f16]):
        res = tkw.read(a) * tkw.read(b)
        res = tkw.sum(res, dim=N)
        tkw.write(res, c, elements_per_thread=1)

    a, b, c = small((7, 100), high=3), small((7, 100), seed=1, high=3), np.zeros(7, np.float16)
    run(test, a, b, c)
    assert np.array_equal(c, (a * b).sum(1))


def test_block_reduction_over_waves():
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, waves_per_block=(4, 1, 1), vector_shapes={M: 1, N: 256}),
        tkw.WorkgroupConstraint(M, 1, 1),
        tkw.WorkgroupConstraint(N, N, 0),
        tkw.WaveConstraint(M, 1),
        tkw.WaveConstraint(N, sympy.ceiling(N / 4)),
    ]

    @tkw.wave(constraints)
    def test(a: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f32], c: tkl.Memory[M, ADDRESS_SPACE, tkl.f32]):
        tkw.write(tkw.sum(tkw.read(a), dim=N, block=True), c, elements_per_thread=1)

    a, c = small((3, 1024), np.float32), np.zeros(3, np.float32)
    run(test, a, c)
    assert np.array_equal(c, a.sum(1))


@pytest.mark.parametrize("dtype, element", [(tkl.f32, np.float32), (tkl.i32, np.int32)], ids=str)
def test_cumulative_sums(dtype, element):
    @tkw.wave(rows())
    def test(a: tkl.Memory[M, N, ADDRESS_SPACE, dtype], c: tkl.Memory[M, N, ADDRESS_SPACE, dtype]):
        tkw.write(tkw.cumsum(tkw.read(a), dim=N), c)

    a, c = small((3, 150), element), np.zeros((3, 150), element)
    run(test, a, c)
    assert np.array_equal(c, a.cumsum(1))


def test_largest_of_rows():
    TOP = tkl.sym.TOP

    @tkw.wave([*rows(), tkw.WorkgroupConstraint(TOP, 4, 0, primary=False)])
    def test(
        a: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f32],
        values: tkl.Memory[M, TOP, ADDRESS_SPACE, tkl.f32],
        indices: tkl.Memory[M, TOP, ADDRESS_SPACE, tkl.i32],
    ):
        value, index = tkw.topk(tkw.read(a), TOP, N)
        tkw.write(value, values)
        tkw.write(index, indices)

    a = np.random.default_rng(0).permutation(5 * 64).reshape(5, 64).astype(np.float32)
    values, indices = np.zeros((5, 4), np.float32), np.zeros((5, 4), np.int32)
    run(test, a, values, indices, subs={TOP: 4})
    order = np.argsort(-a, axis=1)[:, :4]
    assert np.array_equal(indices, order) and np.array_equal(values, np.take_along_axis(a, order, 1))


def test_histogram():
    value = tkl.IndexMapping.dynamic_val(0)
    BINS = tkl.sym.BINS
    mapping = tkw.IndexMapping(num_iterators=1, inputs={BINS: value}, outputs={N: i}, dynamic_val_mappings={N: i})
    constraints = [tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={N: 64}), tkw.WorkgroupConstraint(N, 64, 0), tkw.WaveConstraint(N, 64)]

    @tkw.wave(constraints)
    def test(x: tkl.Memory[N, ADDRESS_SPACE, tkl.i32], bins: tkl.Memory[BINS, ADDRESS_SPACE, tkl.i32]):
        number = tkw.read(x)
        one = tkl.Register[N, tkl.i32](1)
        tkw.atomic_add(one, bins, mapping=mapping, mapping_dynamic_vals=(number,))

    x, bins = small(300, np.int32, 0, 10), np.zeros(10, np.int32)
    run(test, x, bins, subs={BINS: 10})
    assert np.array_equal(bins, np.bincount(x, minlength=10))


def test_symbols_set_from_data():
    S = tkl.sym.S
    mapping = tkw.IndexMapping(num_iterators=2, inputs={M: S, N: j}, outputs={M: i, N: j})

    @tkw.wave(rows())
    def test(a: Floats, row: tkl.i32, b: Floats):
        tkw.set_symbol(S, row)
        tkw.write(tkw.read(a, mapping=mapping), b)

    a, b = small((6, 64)), np.zeros((6, 64), np.float16)
    chosen = WaveCompileOptions(subs={ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE, M: 6, N: 64}, target="gfx942")
    wave_compile(chosen, test)(a, 4, b)
    assert np.array_equal(b, np.broadcast_to(a[4], a.shape))


def test_expressions_of_sympy_on_elements():
    @tkw.wave(rows(16, 64))
    def test(a: tkl.Memory[M, N, ADDRESS_SPACE, tkl.i32], b: tkl.Memory[M, N, ADDRESS_SPACE, tkl.i32]):
        value = tkw.read(a)
        value = tkw.apply_expr(value, lambda x: sympy.Max(x, 0) + sympy.Min(x, 3) * (x // 4) + sympy.Piecewise((x, x < 2), (N, True)))
        tkw.write(value, b)

    a, b = small((16, 64), np.int32, -20, 20), np.zeros((16, 64), np.int32)
    run(test, a, b)
    assert np.array_equal(b, np.maximum(a, 0) + np.minimum(a, 3) * (a // 4) + np.where(a < 2, a, 64))


def test_masks_from_relations():
    @tkw.wave(rows(16, 64))
    def test(b: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f32]):
        index = tkw.self_index(N, tkl.i64)
        mask = tkw.cast(tkw.broadcast(tkw.apply_expr(index, lambda x: x < 10), target_shape=[M, N]), tkw.i1)
        tkw.write(tkw.select(mask, tkl.Register[M, N, tkl.f32](1.0), tkl.Register[M, N, tkl.f32](-1.0)), b)

    b = np.zeros((16, 64), np.float32)
    run(test, b)
    assert np.array_equal(b, np.broadcast_to(np.where(np.arange(64) < 10, 1, -1), b.shape))


def test_branches_on_numbers_of_the_launch():
    @tkw.wave(rows(16, 64))
    def test(a: Floats, flag: tkl.i32, b: Floats):
        value = tkw.read(a)

        @tkw.conditional(flag > tkw.scalar(3, tkl.i32))
        def then():
            tkw.write(value, b)

    chosen = WaveCompileOptions(subs={ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE, M: 16, N: 64}, target="gfx942")
    compiled = wave_compile(chosen, test)
    a = small((16, 64))
    for flag, expected in [(2, np.zeros_like(a)), (4, a)]:
        b = np.zeros_like(a)
        compiled(a, flag, b)
        assert np.array_equal(b, expected)


def test_a_loop_that_runs_while_a_condition_holds():
    ROW = sympy.Symbol("ROW")
    mapping = tkw.IndexMapping(num_iterators=2, inputs={M: ROW, N: j}, outputs={M: i, N: j})

    @tkw.wave([*rows(), tkw.TilingConstraint(ROW)])
    def test(a: Floats, count: tkl.i32, b: Floats):
        total = tkl.Register[M, N, tkl.f16](0.0)
        one = tkw.scalar(1, tkl.i32)

        @tkw.iterate(ROW, start=tkw.scalar(0, tkl.i32), condition=ROW < tkl.sym.COUNT, init_args=[total])
        def loop(acc):
            acc = acc + tkw.read(a, mapping=mapping)
            tkw.set_symbol(ROW, tkw.scalar(ROW, tkl.i32) + one)
            return acc

        tkw.write(loop, b)

    a, b = small((6, 64)), np.zeros((6, 64), np.float16)
    chosen = WaveCompileOptions(subs={ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE, M: 6, N: 64, tkl.sym.COUNT: 4}, target="gfx942")
    wave_compile(chosen, test)(a, 0, b)
    assert np.array_equal(b, np.broadcast_to(a[:4].sum(0), a.shape))


def test_a_condition_on_what_the_loop_carries():
    STEP = sympy.Symbol("STEP")

    @tkw.wave([*rows(), tkw.TilingConstraint(STEP)])
    def test(b: tkl.Memory[M, N, ADDRESS_SPACE, tkl.i32]):
        two = tkw.scalar(2, tkl.i32)

        @tkw.iterate(STEP, start=tkw.scalar(0, tkl.i32), condition=(STEP < 100) & (GET_ITER_ARG(0) < 50), init_args=[tkw.scalar(1, tkl.i32)])
        def loop(power):
            tkw.set_symbol(STEP, tkw.scalar(STEP, tkl.i32) + tkw.scalar(1, tkl.i32))
            return power * two

        tkw.write(tkw.broadcast(loop, [M, N]), b)

    b = np.zeros((2, 64), np.int32)
    run(test, b)
    assert (b == 64).all()


def test_shared_memory_of_ones_own():
    @tkw.wave(rows(16, 64))
    def test(a: Floats, b: Floats):
        scratch = tkw.allocate((M, N), (16, 64), tkl.f16)
        tkw.write(tkw.read(a), scratch)
        tkw.shared_memory_barrier()
        tkw.write(tkw.read(scratch) + tkl.Register[M, N, tkl.f16](1.0), b)

    a, b = small((16, 64)), np.zeros((16, 64), np.float16)
    run(test, a, b)
    assert np.array_equal(b, a + 1)


def test_source_and_target_of_accesses():
    m, n = tkl.sym.m, tkl.sym.n

    @tkw.wave([*rows(16, 64), tkw.IteratorBindings({m: M, n: N})])
    def test(a: tkl.Memory[N, M, ADDRESS_SPACE, tkl.f16], b: Floats):
        tkw.write(tkw.read(a, source=(n, m), target=(m, n)), b, source=(m, n), target=(m, n))

    a, b = small((70, 20)), np.zeros((20, 70), np.float16)
    chosen = WaveCompileOptions(subs={ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE, M: 20, N: 70}, target="gfx942")
    wave_compile(chosen, test)(a, b)
    assert np.array_equal(b, a.T)


def test_workgroups_in_another_order():
    @tkw.wave([*rows(16, 64), tkw.ReorderingConstraint(1 - WORKGROUP_0, 0)])
    def test(a: Floats, b: Floats):
        tkw.write(tkw.read(a), b)

    a, b = small((16, 128)), np.zeros((16, 128), np.float16)
    run(test, a, b)
    assert np.array_equal(a, b)


def test_writes_convert_to_the_memorys_type():
    @tkw.wave(rows(16, 64))
    def test(a: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f32], b: Floats, c: tkl.Memory[M, N, ADDRESS_SPACE, tkl.i32]):
        value = tkw.read(a)
        tkw.write(value, b)
        tkw.write(value, c)

    a, b, c = small((16, 64), np.float32) / 2, np.zeros((16, 64), np.float16), np.zeros((16, 64), np.int32)
    run(test, a, b, c)
    assert np.array_equal(b, a.astype(np.float16)) and np.array_equal(c, a.astype(np.int32))


def test_logs_count_iterations():
    STEPS, BLOCK_K = tkl.sym.STEPS, tkl.sym.BLOCK_K

    @tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), tkw.TilingConstraint(K, 32), tkw.HardwareConstraint(threads_per_wave=64)])
    def test(a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f32], b: tkl.Memory[M, ADDRESS_SPACE, tkl.f32]):
        @tkw.iterate(K, init_args=[tkl.Register[M, tkl.f32](0.0)])
        def loop(acc):
            acc = tkw.sum(tkw.read(a), acc, dim=K)
            tkw.debug_log(acc, label="partial", extra_iteration_dimensions=[(STEPS, K, 3)], printer=None)
            return acc

        tkw.write(loop, b)

    a, b, logs = small((4, 96), np.float32), np.zeros(4, np.float32), {}
    chosen = WaveCompileOptions(subs={ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE, M: 4, K: 96}, target="gfx942")
    wave_compile(chosen, test)(a, b, debug_logs=logs)
    assert np.array_equal(b, a.sum(1))
    assert np.array_equal(logs["partial"]["value"], np.stack([a[:, : 32 * (step + 1)].sum(1) for step in range(3)]))


def test_batches_with_a_vector_shape_of_zero():
    constraints = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.WorkgroupConstraint(B, 1, 2),
        tkw.TilingConstraint(K, 16),
        tkw.WaveConstraint(M, 16),
        tkw.WaveConstraint(N, 16),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=tkw.MMAType.F32_16x16x16_F16, vector_shapes={B: 0}),
    ]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[B, M, K, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[B, N, K, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        c_reg = tkl.Register[B, M, N, tkl.f32](0.0)

        @tkw.reduction(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[B, M, N, tkl.f32]) -> tkl.Register[B, M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    a, b, c = small((3, 40, 48)), small((3, 33, 48), seed=1), np.zeros((3, 40, 33), np.float32)
    chosen = WaveCompileOptions(subs={ADDRESS_SPACE: SHARED_ADDRESS_SPACE, B: 3, M: 40, N: 33, K: 48}, target="gfx942")
    wave_compile(chosen, gemm)(a, b, c)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).transpose(0, 2, 1))


FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def dequantised(packed, scales):
    pairs = np.stack([packed & 15, packed >> 4], -1).reshape(packed.shape[0], -1)
    return FP4[pairs] * np.repeat(np.exp2(scales.astype(np.float32) - 127), 32, axis=1)


@pytest.mark.parametrize("target", ["gfx950", "gfx942"])
def test_elements_of_four_bits_with_scales(target):
    constraints = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.TilingConstraint(K, 256),
        tkw.WaveConstraint(M, 16),
        tkw.WaveConstraint(N, 16),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=tkw.ScaledMMAType.F32_16x16x128_F8F6F4 if target == "gfx950" else None),
    ]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K / 2, ADDRESS_SPACE, tkl.i8],
        a_scale: tkl.Memory[M, K / 32, ADDRESS_SPACE, tkl.i8],
        b: tkl.Memory[N, K / 2, ADDRESS_SPACE, tkl.i8],
        b_scale: tkl.Memory[N, K / 32, ADDRESS_SPACE, tkl.i8],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc):
            a_reg = tkw.bitcast(tkw.read(a), tkl.f4e2m1fn)
            a_scale_reg = tkw.bitcast(tkw.read(a_scale), tkl.f8e8m0fnu)
            b_reg = tkw.bitcast(tkw.read(b), tkl.f4e2m1fn)
            b_scale_reg = tkw.bitcast(tkw.read(b_scale), tkl.f8e8m0fnu)
            return tkw.scaled_mma(a_reg, a_scale_reg, b_reg, b_scale_reg, acc)

        tkw.write(repeat, c)

    a, b = small((40, 256), np.uint8, 0, 256), small((33, 256), np.uint8, 0, 256, seed=1)
    a_scale, b_scale = small((40, 16), np.uint8, 124, 128), small((33, 16), np.uint8, 124, 128, seed=1)
    c = np.zeros((40, 33), np.float32)
    subs = {M: 40, N: 33, K: 512, ADDRESS_SPACE: SHARED_ADDRESS_SPACE}
    wave_compile(WaveCompileOptions(subs=subs, target=target), gemm)(a, a_scale, b, b_scale, c)
    assert np.array_equal(c, dequantised(a, a_scale) @ dequantised(b, b_scale).T)


def test_sums_at_places_from_a_tensor():
    mapping = tkw.IndexMapping(num_iterators=2, inputs={M: i, N: j}, outputs={M: i, N: j})

    @tkw.wave(rows(1, 64))
    def test(values: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f32], rows_: tkl.Memory[M, N, ADDRESS_SPACE, tkl.i32], out: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f32]):
        tkw.scatter_add(tkw.read(values), tkw.read(rows_), 0, out, mapping=mapping, elements_per_thread=1)

    values, places, out = small((5, 64), np.float32), small((5, 64), np.int32, 0, 5, seed=1), np.zeros((5, 64), np.float32)
    run(test, values, places, out)
    wanted = np.zeros_like(out)
    np.add.at(wanted, (places, np.arange(64)[None, :]), values)
    assert np.array_equal(out, wanted)
