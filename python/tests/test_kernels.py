"""Kernels in Python, computed on the emulator of every target: integers come out exactly."""

import numpy as np
import pytest

import soliton
import soliton.lang as tkl
import soliton.wave as tkw
from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE, WORKGROUP_0
from soliton.wave.compile import WaveCompileOptions, wave_compile

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE

TILES = {BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 32, ADDRESS_SPACE: SHARED_ADDRESS_SPACE}
GEMM_CONSTRAINTS = [
    tkw.WorkgroupConstraint(M, BLOCK_M, 0),
    tkw.WorkgroupConstraint(N, BLOCK_N, 1),
    tkw.TilingConstraint(K, BLOCK_K),
    tkw.WaveConstraint(M, BLOCK_M / 2),
    tkw.WaveConstraint(N, BLOCK_N / 2),
    tkw.HardwareConstraint(threads_per_wave=64, mma_type=tkw.MMAType.F32_16x16x16_F16),
]


@tkw.wave(GEMM_CONSTRAINTS)
def gemm(
    a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
    b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
    c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
):
    c_reg = tkl.Register[M, N, tkl.f32](0.0)

    @tkw.iterate(K, init_args=[c_reg])
    def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
        return tkw.mma(tkw.read(a), tkw.read(b), acc)

    tkw.write(repeat, c)


def rows(*constraints):
    """A kernel of whole rows: a workgroup has four of them."""
    return [tkw.WorkgroupConstraint(M, 4, 0), tkw.HardwareConstraint(threads_per_wave=64), *constraints]


def run(kernel, *arrays, target="gfx942", subs=None, **options):
    wave_compile(WaveCompileOptions(subs=subs or {}, target=target, **options), kernel)(*arrays)


def small(shape, dtype, low=-4, high=5, seed=0):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


@pytest.mark.parametrize("schedule", [tkw.SchedulingType.NONE, tkw.SchedulingType.PREFETCH, tkw.SchedulingType.MODULO, tkw.SchedulingType.AUTO])
def test_a_product_is_exact_under_every_schedule(target, schedule):
    a, b, c = small((100, 96), np.float16), small((72, 96), np.float16, seed=1), np.full((100, 72), np.nan, np.float32)
    run(gemm, a, b, c, target=target, subs={M: 100, N: 72, K: 96, **TILES}, schedule=schedule)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


def test_sizes_may_be_left_to_the_launch():
    compiled = wave_compile(WaveCompileOptions(subs=TILES, dynamic_symbols=[M, N, K], target="gfx942"), gemm)
    for m, n, k in [(64, 64, 64), (1, 70, 40)]:
        a, b, c = small((m, k), np.float16), small((n, k), np.float16), np.full((m, n), np.nan, np.float32)
        compiled(a, b, c)
        assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


def test_softmax_of_rows(target):
    @tkw.wave(rows())
    def softmax(x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], y: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        row = tkw.read(x)
        largest = tkw.max(row, dim=N)
        powers = tkw.exp2((row - largest) * 1.4426950408889634)
        tkw.write(powers / tkw.sum(powers, dim=N), y)

    x = np.random.default_rng(3).normal(size=(10, 100)).astype(np.float32)
    y = np.full_like(x, np.nan)
    run(softmax, x, y, target=target, subs={M: 10, N: 100})
    wanted = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    assert np.allclose(y, wanted / wanted.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)


def test_operators_of_python_are_those_of_tiles():
    @tkw.wave(rows())
    def mixed(
        x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32],
        y: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32],
        z: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32],
    ):
        a, b = tkw.read(x), tkw.read(y)
        total = a + 3 * b - 1
        total -= a // 3
        total += -b % 5
        total = tkw.select((a > b) & ~(a == 2), total, 7 - total)
        tkw.write(total ^ (a | 1), z)

    a, b = small((5, 40), np.int32, -50, 50), small((5, 40), np.int32, -50, 50, seed=1)
    z = np.zeros_like(a)
    run(mixed, a, b, z, subs={M: 5, N: 40})
    total = a + 3 * b - 1 - a // 3 + (-b) % 5
    assert np.array_equal(z, np.where((a > b) & (a != 2), total, 7 - total) ^ (a | 1))


def test_helpers_closures_defaults_and_loops_of_python_run_while_tracing():
    factors = [2, 3, 5]

    def scaled(value, factor):
        return value * factor

    @tkw.wave(rows())
    def polynomial(x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32], y: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32], extra=10):
        value = tkw.read(x)
        total = tkl.Register[M, N, tkl.i32](extra)
        for factor in factors:
            total += scaled(value, factor)
        tkw.write(total, y)

    x, y = small((4, 64), np.int32), np.zeros((4, 64), np.int32)
    run(polynomial, x, y, subs={M: 4, N: 64})
    assert np.array_equal(y, 10 * x + 10)


def test_mappings_reach_elements_elsewhere(target):
    i, j = tkl.IndexMapping.iterator(0), tkl.IndexMapping.iterator(1)
    transposed = tkl.IndexMapping(num_iterators=2, inputs={N: j, M: i}, outputs={M: i, N: j})

    @tkw.wave(rows())
    def transpose(x: tkl.Memory[N, M, GLOBAL_ADDRESS_SPACE, tkl.f32], y: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        tkw.write(tkw.read(x, mapping=transposed), y)

    x = small((33, 9), np.float32)
    y = np.zeros((9, 33), np.float32)
    run(transpose, x, y, target=target, subs={M: 9, N: 33})
    assert np.array_equal(y, x.T)


def test_a_loop_that_carries_several_values_gives_a_tuple():
    @tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), tkw.TilingConstraint(N, 16), tkw.HardwareConstraint()])
    def statistics(
        x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        total: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f32],
        largest: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        zero, low = tkl.Register[M, tkl.f32](0.0), tkl.Register[M, tkl.f32](-1e6)

        @tkw.iterate(N, init_args=[zero, low])
        def repeat(partial, high):
            row = tkw.read(x)
            return tkw.sum(row, partial, dim=N), tkw.max(row, high, dim=N)

        sums, maxima = repeat
        tkw.write(sums, total)
        tkw.write(maxima, largest)

    x, total, largest = small((6, 50), np.float32), np.zeros(6, np.float32), np.zeros(6, np.float32)
    run(statistics, x, total, largest, subs={M: 6, N: 50})
    assert np.array_equal(total, x.sum(1)) and np.array_equal(largest, x.max(1))


def test_conditions_on_the_workgroup_choose_a_branch():
    @tkw.wave(rows())
    def odd(x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], y: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        value = tkw.read(x)

        @tkw.conditional(WORKGROUP_0 < 1, else_return=[value])
        def doubled(_):
            return value * 2.0

        tkw.write(doubled, y)

    x, y = small((8, 64), np.float32), np.zeros((8, 64), np.float32)
    run(odd, x, y, subs={M: 8, N: 64})
    assert np.array_equal(y, np.concatenate([2 * x[:4], x[4:]]))


def test_numbers_of_the_launch_are_parameters():
    @tkw.wave(rows())
    def scale(x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], factor: tkl.f32, y: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        tkw.write(tkw.read(x) * tkw.broadcast(factor, [M, N]), y)

    x, y = small((4, 64), np.float32), np.zeros((4, 64), np.float32)
    run(scale, x, 2.5, y, subs={M: 4, N: 64})
    assert np.array_equal(y, 2.5 * x)


def test_indices_and_expressions_of_them():
    @tkw.wave(rows())
    def triangle(y: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32]):
        row = tkw.broadcast(tkw.self_index(M, tkl.i32), [M, N])
        column = tkw.broadcast(tkw.self_index(N, tkl.i32), [M, N])
        tkw.write(tkw.apply_expr([row, column], lambda r, c: soliton.max(r - c, 0) + 2 * N), y)

    y = np.zeros((7, 64), np.int32)
    run(triangle, y, subs={M: 7, N: 64})
    assert np.array_equal(y, np.maximum(np.arange(7)[:, None] - np.arange(64), 0) + 128)


def test_a_dimension_may_be_an_expression():
    @tkw.wave([tkw.WorkgroupConstraint(M * N, 64, 0), tkw.HardwareConstraint()])
    def double(x: tkl.Memory[M * N, GLOBAL_ADDRESS_SPACE, tkl.i32], y: tkl.Memory[M * N, GLOBAL_ADDRESS_SPACE, tkl.i32]):
        tkw.write(tkw.read(x) * 2, y)

    x, y = small(150, np.int32), np.zeros(150, np.int32)
    run(double, x, y, subs={M: 10, N: 15})
    assert np.array_equal(y, 2 * x)


def test_logs_are_filled_by_their_labels():
    @tkw.wave(rows())
    def logged(x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], y: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        value = tkw.read(x)
        tkw.debug_log(value + 1.0, label="plus")
        tkw.write(value, y)

    x, y, logs = small((4, 64), np.float32), np.zeros((4, 64), np.float32), {}
    compiled = wave_compile(WaveCompileOptions(subs={M: 4, N: 64}, target="gfx942"), logged)
    compiled(x, y, debug_logs=logs)
    assert np.array_equal(logs["plus"]["value"], x + 1) and np.array_equal(y, x)


def test_texts_of_a_kernel():
    compiled = wave_compile(WaveCompileOptions(subs={M: 64, N: 64, K: 64, **TILES}, target="gfx942", compile_to_mlir=True), gemm)
    assert "wave.kernel" in compiled.mlir
    assert "machine.mma" in compiled.asm
    assert "v_mfma" in compiled.assembly
    with pytest.raises(soliton.CompileError):
        compiled()
