"""Branches that some elements take, and programs that speak of threads, in Wave's names; each result is that of NumPy."""

import numpy as np
import pytest

import soliton
import soliton.compat

pytest.importorskip("sympy")
soliton.compat.install()

import sympy  # noqa: E402
import wave_lang.kernel.lang as tkl  # noqa: E402
import wave_lang.kernel.wave as tkw  # noqa: E402
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE, THREAD_0, THREAD_1  # noqa: E402
from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile  # noqa: E402

M, N, K, B = tkl.sym.M, tkl.sym.N, tkl.sym.K, tkl.sym.B
i, j = tkl.IndexMapping.iterator(0), tkl.IndexMapping.iterator(1)
value = tkl.IndexMapping.dynamic_val(0)
TARGETS = ["gfx942", "gfx950", "sm_90a"]


def memory(*dims, dtype=tkl.f32):
    return tkl.Memory[(*dims, GLOBAL_ADDRESS_SPACE, dtype)]


def tiles(block_m=16, block_n=64):
    return [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: block_m, N: block_n}),
        tkw.WorkgroupConstraint(M, block_m, 1),
        tkw.WorkgroupConstraint(N, block_n, 0),
        tkw.WaveConstraint(M, block_m),
        tkw.WaveConstraint(N, block_n),
    ]


def numbers(shape, dtype=np.float32, low=-4, high=5, seed=0):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def run(kernel, subs, *arrays, targets=TARGETS):
    for target in targets:
        copies = [each.copy() for each in arrays]
        wave_compile(WaveCompileOptions(subs=subs, target=target), kernel)(*copies)
    return copies


@pytest.mark.parametrize("shape", [(16, 64), (20, 70), (1, 3)])
def test_each_element_decides(shape):
    @tkw.wave(tiles())
    def kernel(a: memory(M, N), b: memory(M, N), c: memory(M, N)):
        x = tkw.read(a)
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.conditional(x > zero, else_return=[zero])
        def positive(otherwise):
            tkw.write(x, b)

            @tkw.conditional(x < tkl.Register[M, N, tkl.f32](3.0))
            def small():
                tkw.write(x + x, b)

            return x + x

        tkw.write(positive, c)

    a = numbers(shape)
    _, b, c = run(kernel, {M: shape[0], N: shape[1]}, a, -np.ones_like(a), np.zeros_like(a))
    assert np.array_equal(b, np.where(a > 0, np.where(a < 3, 2 * a, a), -1))
    assert np.array_equal(c, np.where(a > 0, 2 * a, 0))


def test_integers_are_conditions():
    @tkw.wave(tiles())
    def kernel(a: memory(M, N), flags: memory(M, dtype=tkl.i32), b: memory(M, N)):
        x, flag = tkw.read(a), tkw.read(flags, elements_per_thread=1)

        @tkw.conditional(flag)
        def then():
            tkw.write(x, b)

        @tkw.conditional(~(flag > tkl.Register[M, tkl.i32](0)))
        def otherwise():
            tkw.write(-x, b)

    a, flags = numbers((20, 70)), numbers(20, np.int32, 0, 2)
    *_, b = run(kernel, {M: 20, N: 70}, a, flags, np.zeros_like(a))
    assert np.array_equal(b, np.where(flags[:, None] > 0, a, -a))


def test_scatters_and_sums_in_branches():
    groups = tkl.IndexMapping(num_iterators=2, inputs={B: value, N: N - 1 - j}, outputs={M: i, N: j}, dynamic_val_mappings={M: i})
    turned = tkl.IndexMapping(num_iterators=2, inputs={M: i, N: j}, outputs={N: j, M: M - 1 - i})

    @tkw.wave(tiles())
    def kernel(a: memory(M, N), group: memory(M, dtype=tkl.i32), sums: memory(B, N), out: memory(N, M)):
        x, number = tkw.read(a), tkw.read(group)

        @tkw.conditional(number > tkl.Register[M, tkl.i32](0))
        def then():
            tkw.atomic_add(x, sums, mapping=groups, mapping_dynamic_vals=(number,))
            tkw.write(x, out, mapping=turned)

    a, group = numbers((20, 70)), numbers(20, np.int32, 0, 4)
    *_, sums, out = run(kernel, {M: 20, N: 70, B: 4}, a, group, np.zeros((4, 70), np.float32), np.zeros((70, 20), np.float32))
    wanted = np.zeros((4, 70), np.float32)
    np.add.at(wanted, group[group > 0], a[group > 0][:, ::-1])
    assert np.array_equal(sums, wanted)
    assert np.array_equal(out, np.where(group > 0, a.T, 0)[:, ::-1])


def test_shared_memory_in_branches():
    @tkw.wave(tiles())
    def kernel(a: memory(M, N), b: memory(M, N)):
        scratch = tkw.allocate((M, N), (16, 64), tkl.f32)
        x = tkw.read(a)
        tkw.write(tkl.Register[M, N, tkl.f32](7.0), scratch)

        @tkw.conditional(x > tkl.Register[M, N, tkl.f32](0.0))
        def then():
            tkw.write(x, scratch)

        tkw.write(tkw.read(scratch), b)

    a = numbers((20, 70))
    _, b = run(kernel, {M: 20, N: 70}, a, np.zeros_like(a))
    assert np.array_equal(b, np.where(a > 0, a, 7))


def test_logs_in_branches():
    @tkw.wave(tiles())
    def kernel(a: memory(M, N)):
        x = tkw.read(a)

        @tkw.conditional(x > tkl.Register[M, N, tkl.f32](0.0))
        def then():
            tkw.debug_log(x, label="positive", printer=None)

    a, logs = numbers((20, 70)), {}
    wave_compile(WaveCompileOptions(subs={M: 20, N: 70}, target="gfx942"), kernel)(a, debug_logs=logs)
    assert np.array_equal(logs["positive"]["value"], np.maximum(a, 0))


def test_loops_in_branches():
    @tkw.wave([*tiles(), tkw.TilingConstraint(K, 8)])
    def kernel(a: memory(M, N), k: memory(K), b: memory(M, N)):
        x = tkw.read(a)

        @tkw.conditional(x > tkl.Register[M, N, tkl.f32](0.0))
        def then():
            @tkw.iterate(K, init_args=[x])
            def loop(acc):
                return acc + tkw.sum(tkw.read(k), dim=K)

            tkw.write(loop, b)

    a, k = numbers((20, 70)), numbers(20, seed=1)
    *_, b = run(kernel, {M: 20, N: 70, K: 20}, a, k, np.zeros_like(a))
    assert np.array_equal(b, np.where(a > 0, a + k.sum(), 0))


def test_a_tile_without_the_conditions_dimensions():
    @tkw.wave(tiles())
    def kernel(a: memory(M, N), b: memory(N)):
        @tkw.conditional(tkw.read(a) > tkl.Register[M, N, tkl.f32](0.0))
        def then():
            tkw.write(tkl.Register[N, tkl.f32](1.0), b)

    with pytest.raises(soliton.CompileError, match=r"condition has `\[M, N\]`") as caught:
        run(kernel, {M: 16, N: 64}, numbers((16, 64)), np.zeros(64, np.float32))
    assert caught.value.id == "simt-value"


def test_a_barrier_that_not_all_come_to():
    @tkw.wave(tiles())
    def kernel(a: memory(M, N)):
        @tkw.conditional(tkw.read(a) > tkl.Register[M, N, tkl.f32](0.0))
        def then():
            tkw.shared_memory_barrier()

    with pytest.raises(soliton.CompileError, match="not all lanes take") as caught:
        run(kernel, {M: 16, N: 64}, numbers((16, 64)))
    assert caught.value.id == "simt-lane"


# ---- Threads -----------------------------------------------------------------------------------------------------------------------


def along_n(vector, tile, wave=None, **hardware):
    constraints = [tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: vector}, **hardware)]
    return [*constraints, tkw.WorkgroupConstraint(M, 1, 1), tkw.WorkgroupConstraint(N, tile, 0), tkw.WaveConstraint(N, wave or tile)]


@pytest.mark.parametrize("vector", [64, 128])
def test_the_number_of_a_thread(vector):
    @tkw.wave(along_n(vector, 256))
    def kernel(a: memory(M, N, dtype=tkl.i32), b: memory(M, N, dtype=tkl.i32), c: memory(M, N, dtype=tkl.i32)):
        x = tkw.read(a)
        tkw.write(x + tkl.Register[M, N, tkl.i32](THREAD_0), b)
        tkw.write(tkw.apply_expr(x, lambda v: v + 2 * THREAD_0), c)

    a = numbers((3, 500), np.int32)
    _, b, c = run(kernel, {M: 3, N: 500}, a, np.zeros_like(a), np.zeros_like(a), targets=["gfx942", "gfx950"])
    thread = (np.arange(500) % 256 % vector) // (vector // 64)
    assert np.array_equal(b, a + thread) and np.array_equal(c, a + 2 * thread)


def test_threads_of_several_waves():
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, waves_per_block=(2, 2, 1), vector_shapes={M: 1, N: 128}),
        tkw.WorkgroupConstraint(M, 4, 1),
        tkw.WorkgroupConstraint(N, 512, 0),
        tkw.WaveConstraint(M, 2),
        tkw.WaveConstraint(N, 256),
    ]

    @tkw.wave(constraints)
    def kernel(b: memory(M, N, dtype=tkl.i32)):
        tkw.write(tkl.Register[M, N, tkl.i32](THREAD_0 + 1000 * THREAD_1), b)

    (b,) = run(kernel, {M: 8, N: 1024}, np.zeros((8, 1024), np.int32), targets=["gfx942"])
    n, m = np.arange(1024) % 512, np.arange(8) % 4
    assert np.array_equal(b, (64 * (n // 256) + (n % 128) // 2)[None] + 1000 * (m // 2)[:, None])


@pytest.mark.parametrize("condition", [THREAD_0 < 10, sympy.And(THREAD_0 >= 3, THREAD_0 < 60)], ids=str)
def test_branches_that_threads_take(condition):
    @tkw.wave(along_n(64, 64))
    def kernel(a: memory(M, N, dtype=tkl.i32), b: memory(M, N, dtype=tkl.i32)):
        x = tkw.read(a)

        @tkw.conditional(condition)
        def then():
            tkw.write(x, b)

    a = numbers((3, 100), np.int32)
    _, b = run(kernel, {M: 3, N: 100}, a, np.zeros_like(a), targets=["gfx942", "gfx950"])
    taken = [bool(condition.subs(THREAD_0, n % 64)) for n in range(100)]
    assert np.array_equal(b, np.where(taken, a, 0))


def test_one_thread_writes_for_all():
    zero = tkl.IndexMapping(num_iterators=1, inputs={B: sympy.Integer(0)}, outputs={M: i})

    @tkw.wave(along_n(128, N))
    def kernel(a: memory(M, N, dtype=tkl.i32), b: memory(M, dtype=tkl.i32), c: memory(B, dtype=tkl.i32)):
        total = tkw.sum(tkw.read(a), dim=N)

        @tkw.conditional(sympy.Eq(THREAD_0, 0))
        def then():
            tkw.write(total, b, elements_per_thread=1)
            tkw.atomic_add(total, c, mapping=zero)

    a = numbers((5, 128), np.int32)
    _, b, c = run(kernel, {M: 5, N: 128, B: 1}, a, np.zeros(5, np.int32), np.zeros(1, np.int32))
    assert np.array_equal(b, a.sum(1)) and c[0] == a.sum()


def test_threads_of_matrix_products_are_refused():
    constraints = [
        tkw.WorkgroupConstraint(M, 64, 0),
        tkw.WorkgroupConstraint(N, 64, 1),
        tkw.TilingConstraint(K, 16),
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 64}, mma_type=tkw.MMAType.F32_16x16x16_F16),
    ]
    Operand = tkl.Memory[M, K, SHARED_ADDRESS_SPACE, tkl.f16]

    @tkw.wave(constraints)
    def gemm(a: Operand, b: tkl.Memory[N, K, SHARED_ADDRESS_SPACE, tkl.f16], c: memory(M, N)):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def loop(acc):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(loop + tkl.Register[M, N, tkl.f32](THREAD_0), c)

    with pytest.raises(soliton.CompileError, match="matrix products") as caught:
        wave_compile(WaveCompileOptions(subs={M: 64, N: 64, K: 16}, target="gfx942"), gemm)
    assert caught.value.id == "not-supported-here"


@pytest.mark.parametrize("vector", [0, 16])
def test_lanes_that_hold_no_elements_are_refused(vector):
    @tkw.wave([tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={N: vector}), tkw.WorkgroupConstraint(N, 1 if vector == 0 else 64, 0)])
    def kernel(a: memory(N, dtype=tkl.i32)):
        tkw.write(tkl.Register[N, tkl.i32](THREAD_0), a)

    with pytest.raises(soliton.CompileError, match="THREAD_0") as caught:
        run(kernel, {N: 64}, np.zeros(64, np.int32))
    assert caught.value.id == "not-supported-here"
