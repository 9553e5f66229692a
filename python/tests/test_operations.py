"""Each operation and form of Wave's documents in a small program; each result is that of NumPy."""

import numpy as np
import pytest

import soliton
import soliton.compat

pytest.importorskip("sympy")
soliton.compat.install()

import sympy  # noqa: E402
import wave_lang.kernel.lang as tkl  # noqa: E402
import wave_lang.kernel.wave as tkw  # noqa: E402
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE, WORKGROUP_0  # noqa: E402
from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile  # noqa: E402
from wave_lang.kernel.wave.scheduling.schedule import SchedulingType  # noqa: E402

M, N, K, B = tkl.sym.M, tkl.sym.N, tkl.sym.K, tkl.sym.B
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE
i, j, k = (tkl.IndexMapping.iterator(n) for n in range(3))
first, second = tkl.IndexMapping.dynamic_val(0), tkl.IndexMapping.dynamic_val(1)
TARGETS = ["gfx942", "gfx950"]


def memory(*dims, dtype=tkl.f32, space=ADDRESS_SPACE):
    return tkl.Memory[(*dims, space, dtype)]


def fill(number, dtype=tkl.f32):
    return tkl.Register[M, N, dtype](number)


def tiles(block_m=16, block_n=64, **hardware):
    return [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: block_m, N: block_n}, **hardware),
        tkw.WorkgroupConstraint(M, block_m, 1),
        tkw.WorkgroupConstraint(N, block_n, 0),
        tkw.WaveConstraint(M, block_m),
        tkw.WaveConstraint(N, block_n),
    ]


def numbers(shape, dtype=np.float32, low=-4, high=5, seed=0):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def run(kernel, subs, *arrays, targets=TARGETS, **options):
    for target in targets:
        copies = [each.copy() if isinstance(each, np.ndarray) else each for each in arrays]
        bound = {ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE, **subs}
        wave_compile(WaveCompileOptions(subs=bound, target=target, **options), kernel)(*copies)
    return copies


# ---- Registers and accesses ----------------------------------------------------------------------------------------------------


def test_integers_from_floats():
    @tkw.wave(tiles())
    def kernel(b: memory(M, N, dtype=tkl.i32)):
        tkw.write(fill(1e6, tkl.i32), b)

    (b,) = run(kernel, {M: 16, N: 64}, np.zeros((16, 64), np.int32))
    assert (b == 10**6).all()


def test_elements_of_a_thread_by_position():
    ELEMENTS = tkl.sym.ELEMENTS_PER_THREAD

    @tkw.wave(tiles())
    def kernel(a: memory(M, N), b: memory(M, N)):
        tkw.write(tkw.read(a, ELEMENTS), b, 4)

    a = numbers((16, 64))
    _, b = run(kernel, {M: 16, N: 64, ELEMENTS: 4}, a, np.zeros_like(a))
    assert np.array_equal(a, b)


def test_no_bounds():
    @tkw.wave(tiles())
    def kernel(a: memory(M, N), b: memory(M, N)):
        tkw.write(tkw.read(a, bounds={}, mapping=None), b, bounds={})

    a = numbers((16, 64))
    _, b = run(kernel, {M: 16, N: 64}, a, np.zeros_like(a))
    assert np.array_equal(a, b)


DTYPES = [(tkl.f16, np.float16), (tkl.f64, np.float64), (tkl.i8, np.int8), (tkl.i16, np.int16), (tkl.i64, np.int64), (tkl.bf16, np.uint16), (tkl.bool, np.bool_)]


@pytest.mark.parametrize("dtype, element", DTYPES, ids=[str(each) for each, _ in DTYPES])
def test_element_types(dtype, element):
    @tkw.wave(tiles())
    def kernel(a: memory(M, N, dtype=dtype), b: memory(M, N, dtype=dtype)):
        tkw.write(tkw.read(a), b)

    a = numbers((20, 70), element, 0, 2)
    _, b = run(kernel, {M: 20, N: 70}, a, np.zeros_like(a))
    assert np.array_equal(a, b)


# ---- Mappings ------------------------------------------------------------------------------------------------------------------


def test_a_mapping_orders_the_registers_dimensions():
    mapping = tkl.IndexMapping(num_iterators=2, inputs={M: j, N: i}, outputs={N: i, M: j})

    @tkw.wave(tiles())
    def kernel(a: memory(M, N), b: memory(N, M)):
        tkw.write(tkw.read(a, mapping=mapping), b)

    a = numbers((20, 70))
    _, b = run(kernel, {M: 20, N: 70}, a, np.zeros((70, 20), np.float32))
    assert np.array_equal(b, a.T)


def test_constants_and_keys_that_the_memory_has_not():
    third = tkl.IndexMapping(num_iterators=2, inputs={B: sympy.Integer(2), M: i, N: j}, outputs={M: i, N: j})
    row = tkl.IndexMapping(num_iterators=2, inputs={B: i, M: i, N: j}, outputs={M: i, N: j})

    @tkw.wave(tiles())
    def kernel(a: memory(B, M, N), v: memory(N), b: memory(M, N)):
        tkw.write(tkw.read(a, mapping=third) + tkw.read(v, mapping=row), b)

    a, v = numbers((3, 20, 70)), numbers(70, seed=1)
    *_, b = run(kernel, {B: 3, M: 20, N: 70}, a, v, np.zeros((20, 70), np.float32))
    assert np.array_equal(b, a[2] + v)


def test_places_from_scalars_and_indices():
    mapping = tkl.IndexMapping(num_iterators=2, inputs={M: first, N: (j + second) % N}, outputs={M: i, N: j}, dynamic_val_mappings=({M: i}, {N: j}))

    @tkw.wave(tiles())
    def kernel(a: memory(M, N), row: tkl.i32, b: memory(M, N)):
        tkw.write(tkw.read(a, mapping=mapping, mapping_dynamic_vals=(row, tkw.self_index(N, tkl.i32))), b)

    a = numbers((16, 64))
    *_, b = run(kernel, {M: 16, N: 64}, a, 5, np.zeros_like(a))
    assert np.array_equal(b, np.broadcast_to(a[5][(2 * np.arange(64)) % 64], a.shape))


def test_rows_are_gathered_and_scattered():
    gather = tkl.IndexMapping(num_iterators=2, inputs={M: first, N: j}, outputs={M: i, N: j}, dynamic_val_mappings={M: i})
    scatter = tkl.IndexMapping(num_iterators=2, inputs={M: i, N: j}, outputs={M: first, N: j}, dynamic_val_mappings={M: i})

    @tkw.wave(tiles())
    def kernel(a: memory(M, N), rows: memory(M, dtype=tkl.i32), b: memory(M, N), c: memory(M, N)):
        row = tkw.read(rows, elements_per_thread=1)
        tkw.write(tkw.read(a, mapping=gather, mapping_dynamic_vals=(row,), elements_per_thread=1), b)
        tkw.write(tkw.read(a), c, mapping=scatter, mapping_dynamic_vals=[row])

    a, rows = numbers((20, 70)), np.random.default_rng(0).permutation(20).astype(np.int32)
    *_, b, c = run(kernel, {M: 20, N: 70}, a, rows, np.zeros_like(a), np.zeros_like(a))
    assert np.array_equal(b, a[rows]) and np.array_equal(c[rows], a)


def test_indices_that_are_indexed_by_expressions():
    ONE = tkl.sym.ONE
    mapping = tkl.IndexMapping(num_iterators=2, inputs={M: first, N: j}, outputs={M: i, N: j}, dynamic_val_mappings={M: i, ONE: j // 64})

    @tkw.wave(tiles(1, 64))
    def kernel(a: memory(M, N), offset: memory(M, ONE, dtype=tkl.i32), b: memory(M, N)):
        row = tkw.read(offset, elements_per_thread=1)
        tkw.write(tkw.read(a, mapping=mapping, mapping_dynamic_vals=(row,), elements_per_thread=1), b)

    a, offset = numbers((20, 150)), numbers((20, 3), np.int32, 0, 20)
    *_, b = run(kernel, {M: 20, N: 150, ONE: 3}, a, offset, np.zeros_like(a))
    assert np.array_equal(b, a[offset[:, np.arange(150) // 64], np.arange(150)[None]])


def test_tables_of_blocks():
    read = tkl.IndexMapping(num_iterators=2, inputs={M: first * 4 + i % 4, N: j}, outputs={M: i, N: j}, dynamic_val_mappings={B: i // 4})
    group = tkl.IndexMapping(num_iterators=2, inputs={B: first, N: j}, outputs={M: i, N: j}, dynamic_val_mappings={B: i // 4})

    @tkw.wave(tiles())
    def kernel(a: memory(M, N), table: memory(B, dtype=tkl.i32), b: memory(M, N), sums: memory(B, N)):
        block = tkw.read(table)
        x = tkw.read(a, mapping=read, mapping_dynamic_vals=(block,))
        tkw.write(x, b)
        tkw.atomic_add(x, sums, mapping=group, mapping_dynamic_vals=(block,))

    a, table = numbers((32, 70)), np.random.default_rng(0).permutation(8).astype(np.int32)
    *_, b, sums = run(kernel, {M: 32, N: 70, B: 8}, a, table, np.zeros_like(a), np.zeros((8, 70), np.float32))
    assert np.array_equal(b, a.reshape(8, 4, 70)[table].reshape(32, 70))
    assert np.array_equal(sums, a.reshape(8, 4, 70).sum(1))


def test_tables_that_the_kernel_changes_are_refused():
    mapping = tkl.IndexMapping(num_iterators=2, inputs={M: first, N: j}, outputs={M: i, N: j}, dynamic_val_mappings={B: i // 4})

    @tkw.wave(tiles())
    def kernel(a: memory(M, N), table: memory(B, dtype=tkl.i32), b: memory(M, N)):
        block = tkw.read(table)
        tkw.write(tkl.Register[B, tkl.i32](0), table)
        tkw.write(tkw.read(a, mapping=mapping, mapping_dynamic_vals=(block,)), b)

    with pytest.raises(soliton.CompileError, match="after the memory was written"):
        run(kernel, {M: 32, N: 64, B: 8}, numbers((32, 64)), np.zeros(8, np.int32), np.zeros((32, 64), np.float32))


def test_dimensions_that_are_expressions():
    P = tkl.sym.P
    WIDE = N * P
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 16, WIDE: 64}),
        tkw.WorkgroupConstraint(M, 16, 1),
        tkw.WorkgroupConstraint(WIDE, 64, 0),
        tkw.WaveConstraint(WIDE, 64),
    ]

    @tkw.wave(constraints)
    def kernel(a: memory(M, WIDE), b: memory(M, N * P)):
        tkw.write(tkw.read(a) + tkl.Register[M, P * N, tkl.f32](1.0), b)

    a = numbers((20, 90))
    _, b = run(kernel, {M: 20, N: 30, P: 3}, a, np.zeros_like(a))
    assert np.array_equal(b, a + 1)


# ---- Arithmetic ----------------------------------------------------------------------------------------------------------------


def test_choices_between_tiles_and_between_scalars():
    @tkw.wave(tiles())
    def kernel(a: memory(M, N), flag: tkl.i32, b: memory(M, N), c: memory(M, N)):
        x = tkw.read(a)
        mask = tkw.self_index(N, tkl.i32) < tkl.Register[N, tkl.i32](10)
        tkw.write(tkw.select(mask, x, fill(0.0)), b)
        factor = tkw.select(flag > tkw.scalar(0, tkl.i32), tkw.scalar(1.0, tkl.f32), tkw.scalar(2.0, tkl.f32))
        tkw.write(x * factor, c)

    a = numbers((20, 70))
    *_, b, c = run(kernel, {M: 20, N: 70}, a, 0, np.zeros_like(a), np.zeros_like(a))
    assert np.array_equal(b, np.where(np.arange(70) < 10, a, 0)) and np.array_equal(c, 2 * a)


def test_expressions_of_several_tiles():
    @tkw.wave(tiles())
    def kernel(a: memory(M, N, dtype=tkl.i32), b: memory(M, N, dtype=tkl.i32), c: memory(M, N)):
        x = tkw.read(a)
        tkw.write(tkw.apply_expr([x, x], lambda p, q: sympy.Min(p, q) + sympy.ceiling(p / 4) + WORKGROUP_0), b)
        inside = tkw.cast(tkw.apply_expr(x, lambda v: sympy.And(v > 0, sympy.Or(v < 3, sympy.Eq(v, 4)))), tkw.i1)
        tkw.write(tkw.select(inside, fill(1.0), fill(0.0)), c)

    a = numbers((16, 128), np.int32, -20, 20)
    _, b, c = run(kernel, {M: 16, N: 128}, a, np.zeros_like(a), np.zeros((16, 128), np.float32))
    assert np.array_equal(b, a + np.ceil(a / 4).astype(np.int32) + (np.arange(128) // 64)[None])
    assert np.array_equal(c, ((a > 0) & ((a < 3) | (a == 4))).astype(np.float32))


def test_integers_floor_and_have_bits():
    @tkw.wave(tiles())
    def kernel(a: memory(M, N, dtype=tkl.i32), b: memory(M, N, dtype=tkl.i32)):
        x, seven = tkw.read(a), fill(7, tkl.i32)
        tkw.write(x % seven + x // seven * fill(100, tkl.i32) + -x + ~x + ((x & seven) | (x ^ seven)), b)

    a = numbers((20, 70), np.int32, -50, 50)
    _, b = run(kernel, {M: 20, N: 70}, a, np.zeros_like(a))
    assert np.array_equal(b, a % 7 + a // 7 * 100 - a + ~a + ((a & 7) | (a ^ 7)))


UNARY = {
    "abs": np.abs,
    "exp": np.exp,
    "exp2": np.exp2,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "log2": np.log2,
    "log10": np.log10,
    "reciprocal": lambda x: 1 / x,
    "round": lambda x: np.floor(x + 0.5),
    "roundeven": np.round,
    "sin": np.sin,
    "sinh": np.sinh,
    "cos": np.cos,
    "tanh": np.tanh,
    "tanh_approx": np.tanh,
    "cbrt": np.cbrt,
    "softsign": lambda x: x / (1 + np.abs(x / 30)),
}
BINARY = {"maximum": np.maximum, "minimum": np.minimum, "atan2": np.arctan2, "powf": np.power, "remf": np.fmod}


def test_functions_of_one_operand():
    @tkw.wave(tiles())
    def kernel(a: memory(M, N), b: memory(B, M, N)):
        for position, name in enumerate(UNARY):
            at = tkl.IndexMapping(num_iterators=2, inputs={M: i, N: j}, outputs={B: sympy.Integer(position), M: i, N: j})
            tkw.write(getattr(tkw, name)(tkw.read(a)), b, mapping=at)

    a = np.random.default_rng(0).uniform(0.1, 3, (16, 64)).astype(np.float32)
    _, b = run(kernel, {M: 16, N: 64, B: len(UNARY)}, a, np.zeros((len(UNARY), 16, 64), np.float32))
    for made, (name, function) in zip(b, UNARY.items()):
        assert np.allclose(made, function(a), rtol=1e-4, atol=1e-5), name


def test_functions_of_two_operands():
    @tkw.wave(tiles())
    def kernel(a: memory(M, N), c: memory(M, N), b: memory(B, M, N)):
        for position, name in enumerate(BINARY):
            at = tkl.IndexMapping(num_iterators=2, inputs={M: i, N: j}, outputs={B: sympy.Integer(position), M: i, N: j})
            tkw.write(getattr(tkw, name)(tkw.read(a), tkw.read(c)), b, mapping=at)

    draw = np.random.default_rng(0)
    a, c = draw.uniform(0.1, 3, (2, 16, 64)).astype(np.float32)
    *_, b = run(kernel, {M: 16, N: 64, B: len(BINARY)}, a, c, np.zeros((len(BINARY), 16, 64), np.float32))
    for made, (name, function) in zip(b, BINARY.items()):
        assert np.allclose(made, function(a, c), rtol=1e-3, atol=1e-4), name


def test_the_remainder_has_the_sign_of_the_dividend():
    @tkw.wave(tiles())
    def kernel(a: memory(M, N), b: memory(M, N), c: memory(M, N)):
        tkw.write(tkw.remf(tkw.read(a), fill(3.0)), b)
        tkw.write(tkw.read(a) % fill(3.0), c)

    a = numbers((16, 64), low=-9, high=9)
    _, b, c = run(kernel, {M: 16, N: 64}, a, np.zeros_like(a), np.zeros_like(a))
    assert np.array_equal(b, np.fmod(a, 3)) and np.array_equal(c, np.mod(a, 3))


def test_scalars_stand_anywhere():
    @tkw.wave(tiles())
    def kernel(scale: tkl.f32, a: memory(M, N), count: tkl.i32, b: memory(M, N), half: tkl.f16):
        x = tkw.read(a) * scale
        x = x + tkw.cast(count, tkl.f32)
        tkw.write(x - tkw.broadcast(tkw.cast(half, tkl.f32), [M, N]), b)

    a = numbers((20, 70))
    _, _, _, b, _ = run(kernel, {M: 20, N: 70}, 2.0, a, 3, np.zeros_like(a), 1.5)
    assert np.array_equal(b, a * 2 + 3 - 1.5)


def test_tiles_are_repeated():
    @tkw.wave(tiles())
    def kernel(a: memory(M), b: memory(N), c: memory(M, N)):
        outer = tkw.broadcast(tkw.read(a), (M, N)) * tkw.broadcast(tkw.read(b), target_shape=[M, N])
        tkw.write(outer + tkw.broadcast(tkw.scalar(2.0, tkl.f32), [M, N]), c)

    a, b = numbers(20), numbers(70, seed=1)
    *_, c = run(kernel, {M: 20, N: 70}, a, b, np.zeros((20, 70), np.float32))
    assert np.array_equal(c, a[:, None] * b[None] + 2)


# ---- Control -------------------------------------------------------------------------------------------------------------------


def test_loops_in_loops():
    @tkw.wave([*tiles(), tkw.TilingConstraint(K, 8), tkw.TilingConstraint(B, 2)])
    def kernel(a: memory(B, M, K), b: memory(M)):
        @tkw.iterate(B, init_args=[tkl.Register[M, tkl.f32](0.0)])
        def outer(total):
            @tkw.iterate(axis=K, init_args=[total])
            def inner(acc: tkl.Register[M, N, tkl.f16]):  # annotations of regions mean nothing
                rows = tkw.permute(tkw.sum(tkw.read(a), dim=K), [M, B])
                return tkw.sum(rows, acc, dim=B)

            return inner

        tkw.write(outer, b)

    a = numbers((5, 20, 30))
    _, b = run(kernel, {B: 5, M: 20, K: 30, N: 64}, a, np.zeros(20, np.float32))
    assert np.array_equal(b, a.sum((0, 2)))


@pytest.mark.parametrize("count, factor", [(1, 1), (3, 8)])
def test_branches_in_loops(count, factor):
    S = tkl.sym.S

    @tkw.wave([*tiles(), tkw.TilingConstraint(K, 1)])
    def kernel(a: memory(M, N), n: tkl.i32, b: memory(M, N)):
        tkw.set_symbol(S, n)

        @tkw.iterate(K, init_args=[tkw.read(a)])
        def loop(acc):
            @tkw.conditional(S > 2, else_return=[acc])
            def large(x):
                return x + x

            return large

        tkw.write(loop, b)

    a = numbers((16, 64))
    *_, b = run(kernel, {M: 16, N: 64, K: 3}, a, count, np.zeros_like(a))
    assert np.array_equal(b, a * factor)


def test_a_symbol_of_the_launch_counts_workgroups():
    LENGTH = tkl.sym.LENGTH
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 16, N: 64}),
        tkw.WorkgroupConstraint(M, 16, 0, iters=sympy.ceiling(LENGTH / 16)),
        tkw.WorkgroupConstraint(N, 64, 1),
    ]

    @tkw.wave(constraints)
    def kernel(a: memory(M, N), LENGTH: tkl.SymbolBind[tkl.i32], b: memory(M, N)):
        keep = tkw.apply_expr(tkw.self_index(M, tkl.i32), lambda m: m < tkl.sym.LENGTH)
        tkw.write(tkw.select(keep, tkw.read(a), fill(9.0)), b)

    a = numbers((64, 64))
    *_, b = run(kernel, {M: 64, N: 64}, a, 20, np.zeros_like(a))
    wanted = a.copy()
    wanted[20:32], wanted[32:] = 9, 0
    assert np.array_equal(b, wanted)


# ---- Shared memory and atomics --------------------------------------------------------------------------------------------------


def test_allocations_by_both_shapes():
    @tkw.wave(tiles(32, 64))
    def kernel(a: memory(M, N), b: memory(M, N)):
        scratch = tkw.allocate((M, N), (BLOCK_M, BLOCK_N + 4), tkl.f32, SHARED_ADDRESS_SPACE)
        tkw.write(tkw.read(a), scratch)
        tkw.shared_memory_barrier()
        tkw.write(tkw.read(scratch), b)

    a = numbers((40, 100))
    _, b = run(kernel, {M: 40, N: 100, BLOCK_M: 32, BLOCK_N: 64}, a, np.zeros_like(a))
    assert np.array_equal(a, b)


def test_sums_in_shared_memory():
    identity = tkl.IndexMapping(num_iterators=2, inputs={M: i, N: j}, outputs={M: i, N: j})
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 8, N: 64}),
        tkw.WorkgroupConstraint(M, M, 1),
        tkw.WorkgroupConstraint(N, 64, 0),
        tkw.WaveConstraint(M, M),
        tkw.WaveConstraint(N, 64),
    ]

    @tkw.wave(constraints)
    def kernel(a: memory(M, N), rows: memory(M, N, dtype=tkl.i32), b: memory(M, N)):
        sums = tkw.allocate((M, N), (M, 64), tkl.f32)
        tkw.write(fill(0.0), sums)
        tkw.scatter_add(tkw.read(a), tkw.read(rows), dim=0, memory=sums, mapping=identity, elements_per_thread=1)
        tkw.write(tkw.read(sums), b)

    a, rows = numbers((8, 128)), numbers((8, 128), np.int32, 0, 8, seed=1)
    *_, b = run(kernel, {M: 8, N: 128}, a, rows, np.zeros_like(a))
    wanted = np.zeros_like(a)
    np.add.at(wanted, (rows, np.arange(128)[None]), a)
    assert np.array_equal(b, wanted)


def test_a_space_that_nobody_says_is_global():
    @tkw.wave(tiles())
    def kernel(a: memory(M, N, space=tkl.sym.WHEREVER), b: memory(M, N, space=tkl.sym.WHEREVER)):
        tkw.write(tkw.read(a), b)

    a = numbers((20, 70))
    _, b = run(kernel, {M: 20, N: 70}, a, np.zeros_like(a))
    assert np.array_equal(a, b)


def test_atomics_change_arguments_in_either_space():
    @tkw.wave(tiles(1, 64))
    def kernel(a: memory(M, N, dtype=tkl.i32), b: memory(M, N, dtype=tkl.i32, space=SHARED_ADDRESS_SPACE)):
        tkw.atomic_add(tkw.read(a), b)

    a = numbers((3, 64), np.int32)
    _, b = run(kernel, {M: 3, N: 64}, a, np.ones_like(a))
    assert np.array_equal(b, a + 1)


def test_waves_meet_in_one_row():
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, waves_per_block=(1, 2, 1), vector_shapes={M: 1, N: 64}),
        tkw.WorkgroupConstraint(M, 2, 1),
        tkw.WorkgroupConstraint(N, 64, 0),
        tkw.WaveConstraint(M, 1),
        tkw.WaveConstraint(N, 64),
    ]
    first_row = tkl.IndexMapping(num_iterators=2, inputs={M: sympy.Integer(0), N: j}, outputs={M: i, N: j})
    only_n = tkl.IndexMapping(num_iterators=2, inputs={M: i, N: j}, outputs={N: j})

    @tkw.wave(constraints)
    def kernel(a: memory(M, N, dtype=tkl.i32), b: memory(N, dtype=tkl.i32)):
        least = tkw.allocate(shape=(M, N), distributed_shape=(1, 64), dtype=tkl.i32, address_space=SHARED_ADDRESS_SPACE)
        tkw.write(fill(1e6, tkl.i32), least)
        tkw.atomic_min(tkw.read(a), least, mapping=first_row)
        tkw.write(tkw.read(least, mapping=first_row), b, mapping=only_n)

    a = numbers((2, 64), np.int32)
    _, b = run(kernel, {M: 2, N: 64}, a, np.zeros(64, np.int32))
    assert np.array_equal(b, a.min(0))


# ---- Constraints and options ----------------------------------------------------------------------------------------------------


def test_tiles_that_are_expressions():
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, waves_per_block=(2, 1, 1), vector_shapes={M: 16, N: 64}),
        tkw.WorkgroupConstraint(M, BLOCK_M, 1),
        tkw.WorkgroupConstraint(N, sympy.ceiling(N / 128) * 128, 0),
        tkw.WaveConstraint(M, sympy.floor(BLOCK_M / 1)),
        tkw.WaveConstraint(N, sympy.Max(64, BLOCK_N)),
        tkw.Assumption(sympy.Eq(sympy.Mod(M, 4), 0)),
    ]

    @tkw.wave(constraints)
    def kernel(a: memory(M, N), b: memory(M, N)):
        tkw.write(tkw.read(a), b)

    a = numbers((20, 100))
    _, b = run(kernel, {M: 20, N: 100, BLOCK_M: 16, BLOCK_N: 64}, a, np.zeros_like(a))
    assert np.array_equal(a, b)


def test_options_that_programs_set():
    @tkw.wave(tiles())
    def kernel(a: memory(M, N), b: memory(M, N)):
        tkw.write(tkw.tag(tkw.read(a), "read_a") + fill(0.0), b)

    subs = {ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE, M: 16, N: 64, SHARED_ADDRESS_SPACE: SHARED_ADDRESS_SPACE, tkl.sym.UNUSED: 3, tkl.sym.NOT_THERE: None}
    options = WaveCompileOptions(subs=subs, canonicalize=True, use_buffer_ops=True, waves_per_eu=2, schedule=None, use_scheduling_barriers=None)
    options.denorm_fp_math_f32 = "preserve-sign"
    options.use_wave_asm_backend = True
    a, b = numbers((16, 64)), np.zeros((16, 64), np.float32)
    assert wave_compile(options, kernel)(a, b) is None
    assert np.array_equal(a, b)


def product(kind, dtype, result, tile=32):
    constraints = [
        tkw.WorkgroupConstraint(M, 2 * tile, 0),
        tkw.WorkgroupConstraint(N, 2 * tile, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, tile),
        tkw.WaveConstraint(N, tile),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=kind),
    ]

    @tkw.wave(constraints)
    def gemm(a: memory(M, K, dtype=dtype), b: memory(N, K, dtype=dtype), c: memory(M, N, dtype=result, space=GLOBAL_ADDRESS_SPACE)):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, result](0.0)])
        def repeat(acc: tkl.Register[M, N, result]) -> tkl.Register[M, N, result]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc, kind)

        tkw.write(repeat, c)

    return gemm


FLOATS = [tkw.MMAType.F32_16x16x16_F16, tkw.MMAType.F32_32x32x8_F16, tkw.MMAType.F32_16x16x32_K8_F16, tkw.MMAType.F32_32x32x16_K8_F16]
NEWER = [tkw.MMAType.F32_16x16x32_F16, tkw.MMAType.F32_32x32x16_F16]


@pytest.mark.parametrize("kind", [*FLOATS, *NEWER], ids=lambda each: each.name)
def test_matrix_instructions_of_floats(kind):
    a, b = numbers((70, 80), np.float16), numbers((33, 80), np.float16, seed=1)
    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, M: 70, N: 33, K: 80, BLOCK_K: 32}
    targets = ["gfx950"] if kind in NEWER else TARGETS
    *_, c = run(product(kind, tkl.f16, tkl.f32), subs, a, b, np.zeros((70, 33), np.float32), targets=targets)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


@pytest.mark.parametrize("kind", [tkw.MMAType.I32_16x16x32_I8, tkw.MMAType.I32_32x32x16_I8], ids=lambda each: each.name)
def test_matrix_instructions_of_integers(kind):
    a, b = numbers((70, 80), np.int8), numbers((33, 80), np.int8, seed=1)
    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, M: 70, N: 33, K: 80, BLOCK_K: 32}
    *_, c = run(product(kind, tkl.i8, tkl.i32), subs, a, b, np.zeros((70, 33), np.int32), targets=["gfx942"])
    assert np.array_equal(c, a.astype(np.int32) @ b.astype(np.int32).T)


F8 = [tkw.MMAType.F32_16x16x32_F8, tkw.MMAType.F32_32x32x16_F8, tkw.MMAType.F32_16x16x32_K4_F8, tkw.MMAType.F32_32x32x16_K4_F8]


@pytest.mark.parametrize("kind", F8, ids=lambda each: each.name)
def test_matrix_instructions_of_small_floats(kind):
    codes = np.array([0x00, 0x38, 0x40, 0x48, 0xC0], np.uint8)  # 0, 0.5, 1, 2, -1
    meaning = np.array([0, 0.5, 1, 2, -1], np.float32)
    a, b = numbers((70, 80), int, 0, 5), numbers((33, 80), int, 0, 5, seed=1)
    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, M: 70, N: 33, K: 80, BLOCK_K: 32}
    *_, c = run(product(kind, tkl.f8e4m3fnuz, tkl.f32), subs, codes[a], codes[b], np.zeros((70, 33), np.float32), targets=["gfx942"])
    assert np.array_equal(c, meaning[a] @ meaning[b].T)


SCHEDULES = [SchedulingType.NONE, SchedulingType.PREFETCH, SchedulingType.MODULO, SchedulingType.FOUR_STAGE]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda each: each.name)
def test_schedules_by_name(schedule):
    a, b = numbers((70, 96), np.float16), numbers((65, 96), np.float16, seed=1)
    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, M: 70, N: 65, K: 96, BLOCK_K: 32}
    gemm = product(tkw.MMAType.F32_16x16x16_F16, tkl.f16, tkl.f32)
    *_, c = run(gemm, subs, a, b, np.zeros((70, 65), np.float32), schedule=schedule)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


@pytest.mark.parametrize("kind", [tkw.MMAType.RDNA4_WAVE32_F32_16x16x16_F16, tkw.MMAType.GFX1250_F32_16x16x32_F16], ids=lambda each: each.name)
def test_instructions_of_other_chips_are_named(kind):
    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, M: 64, N: 64, K: 64, BLOCK_K: 32}
    with pytest.raises(soliton.CompileError, match=kind.name) as caught:
        wave_compile(WaveCompileOptions(subs=subs, target="gfx942"), product(kind, tkl.f16, tkl.f32))
    assert caught.value.id == "mma-not-on-target"


@pytest.mark.parametrize("name", ["gather_to_lds", "tensor_load_to_lds", "tensor_counter_wait", "extract_slice", "bounds_check"])
def test_what_is_missing_says_so_when_it_is_used(name):
    @tkw.wave(tiles())
    def kernel(a: memory(M, N)):
        getattr(tkw, name)(tkw.read(a), None)

    with pytest.raises(soliton.CompileError, match=name) as caught:
        run(kernel, {M: 16, N: 64}, numbers((16, 64)))
    assert caught.value.id == "not-supported-here"


@pytest.mark.parametrize("tile, works", [(M, True), (32, True), (16, False)], ids=str)
def test_one_device_is_all_there_is(tile, works):
    @tkw.wave([*tiles(), tkw.DeviceConstraint(M, tile, 0)])
    def kernel(a: memory(M, N), b: memory(M, N)):
        tkw.write(tkw.read(a), b)

    a = numbers((32, 64))
    if works:
        _, b = run(kernel, {M: 32, N: 64}, a, np.zeros_like(a))
        assert np.array_equal(a, b)
        return
    with pytest.raises(soliton.CompileError, match="DeviceConstraint"):
        run(kernel, {M: 32, N: 64}, a, np.zeros_like(a))


def test_mistakes_found_inside_of_the_package_are_the_authors():
    @tkw.wave(tiles())
    def kernel(a: memory(M, N)):
        tkw.broadcast(tkw.read(a), target_shape=["M", N])

    with pytest.raises(soliton.CompileError, match="expected a number or an expression") as caught:
        run(kernel, {M: 16, N: 64}, numbers((16, 64)))
    found = caught.value.diagnostics[0]
    assert (found.file, found.line) == (__file__, kernel._f.__code__.co_firstlineno + 2)


def test_parameters_by_their_use_and_grids():
    from wave_lang.kernel.lang.global_symbols import DEVICE_DIM_0

    here = tkl.IndexMapping(num_iterators=2, inputs={M: i + DEVICE_DIM_0 * M, N: j}, outputs={M: i, N: j})

    @tkw.wave(tiles())
    def kernel(a: tkl.InputBuffer[M, N, tkl.f32], b: tkl.OutputBuffer[M, N, tkl.f32]):
        tkw.write(tkw.read(a, mapping=here), b)

    a = numbers((20, 70))
    _, b = run(kernel, {M: 20, N: 70}, a, np.zeros_like(a))
    assert np.array_equal(a, b)
    grid = tkl.Grid[sympy.ceiling(M / 16), N]
    assert grid.rank == 2 and list(grid({M: 20, N: 3})) == [2, 3] and grid({M: 20, N: 3}).shape == (2, 3)


def test_results_by_their_position():
    @tkw.wave([*tiles(), tkw.TilingConstraint(K, 8)])
    def kernel(k: memory(K), b: memory(M, N)):
        @tkw.iterate(K, init_args=[fill(0.0), fill(1.0)])
        def loop(total, count):
            return total + tkw.sum(tkw.read(k), dim=K), count + fill(1.0)

        tkw.write(tkw.get_result(loop, 0) * loop[1], b)

    k_ = numbers(20)
    _, b = run(kernel, {M: 16, N: 64, K: 20}, k_, np.zeros((16, 64), np.float32))
    assert (b == k_.sum() * 4).all()


def test_tensors_larger_than_their_annotation():
    """Rows from one offset to the next: the tensor of offsets has one more than there are sequences."""
    S, FIRST, LENGTH = tkl.sym.S, tkl.sym.FIRST, tkl.sym.LENGTH
    following = tkl.IndexMapping(num_iterators=1, inputs={S: i + 1}, outputs={S: i})
    rows = tkl.IndexMapping(num_iterators=1, inputs={M: i + FIRST}, outputs={M: i})
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={S: 0, M: 64}),
        tkw.WorkgroupConstraint(S, 1, 0),
        tkw.TilingConstraint(M, 64),
    ]

    @tkw.wave(constraints)
    def kernel(a: memory(M), offsets: memory(S, dtype=tkl.i32), sums: memory(S)):
        begin, end = tkw.read(offsets, elements_per_thread=1), tkw.read(offsets, mapping=following, elements_per_thread=1)
        tkw.set_symbol(FIRST, begin)
        tkw.set_symbol(M, end - begin)

        @tkw.iterate(M, init_args=[tkl.Register[S, tkl.f32](0.0)])
        def loop(acc):
            return tkw.sum(tkw.broadcast(tkw.read(a, mapping=rows), [S, M]), acc, dim=M)

        tkw.write(loop, sums)

    a, offsets = numbers(300), np.array([0, 70, 70, 300], np.int32)
    *_, sums = run(kernel, {M: 300, S: 3}, a, offsets, np.zeros(3, np.float32))
    assert sums.tolist() == [a[offsets[n] : offsets[n + 1]].sum() for n in range(3)]


def test_tensors_smaller_than_their_annotation_are_refused():
    @tkw.wave(tiles())
    def kernel(a: memory(M, N), b: memory(M, N)):
        tkw.write(tkw.read(a), b)

    with pytest.raises(soliton.CompileError) as caught:
        run(kernel, {M: 20, N: 70}, numbers((20, 69)), np.zeros((20, 70), np.float32))
    assert caught.value.id == "argument-shape"


# ---- Whole programs ---------------------------------------------------------------------------------------------------------------


def matrices(m, n, k):
    return numbers((m, k), np.float16), numbers((n, k), np.float16, seed=1)


def test_persistent_workgroups():
    TILE = sympy.Symbol("TILE")
    constraints = [
        tkw.GridConstraint(4),
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.TilingConstraint(K, 16),
        tkw.TilingConstraint(TILE),
        tkw.WaveConstraint(M, 16),
        tkw.WaveConstraint(N, 16),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=tkw.MMAType.F32_16x16x16_F16),
    ]
    row, column = 32 * (TILE // 3), 32 * (TILE % 3)
    read_a = tkl.IndexMapping(num_iterators=2, inputs={M: i + row, K: j}, outputs={M: i, K: j})
    read_b = tkl.IndexMapping(num_iterators=2, inputs={N: i + column, K: j}, outputs={N: i, K: j})
    write_c = tkl.IndexMapping(num_iterators=2, inputs={M: i, N: j}, outputs={M: i + row, N: j + column})

    @tkw.wave(constraints)
    def gemm(a: memory(M, K, dtype=tkl.f16), b: memory(N, K, dtype=tkl.f16), c: memory(M, N, space=GLOBAL_ADDRESS_SPACE)):
        @tkw.iterate(TILE, start=tkw.scalar(WORKGROUP_0, tkl.i32), condition=TILE < 6, init_args=[])
        def each_tile():
            @tkw.iterate(K, init_args=[fill(0.0)])
            def loop(acc):
                return tkw.mma(tkw.read(a, mapping=read_a), tkw.read(b, mapping=read_b), acc)

            tkw.write(loop, c, mapping=write_c)
            tkw.set_symbol(TILE, tkw.scalar(TILE, tkl.i32) + tkw.scalar(4, tkl.i32))

    a, b = matrices(64, 96, 48)
    *_, c = run(gemm, {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, M: 64, N: 96, K: 48}, a, b, np.zeros((64, 96), np.float32))
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


def test_chained_products():
    K1, K2 = tkl.sym.K1, tkl.sym.K2
    constraints = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.WorkgroupConstraint(B, 1, 2),
        tkw.TilingConstraint(K2, 32),
        tkw.WaveConstraint(M, 16),
        tkw.WaveConstraint(N, 16),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=tkw.MMAType.F32_16x16x16_F16, vector_shapes={B: 0, M: 16, N: 16}),
    ]

    @tkw.wave(constraints)
    def chain(q: memory(B, M, K1, dtype=tkl.f16), keys: memory(B, K2, K1, dtype=tkl.f16), v: memory(B, N, K2, dtype=tkl.f16), c: memory(B, M, N)):
        @tkw.iterate(K2, init_args=[tkl.Register[B, M, N, tkl.f32](0.0)])
        def loop(acc):
            scores = tkw.mma(tkw.read(keys), tkw.read(q), tkl.Register[B, K2, M, tkl.f32](0.0))
            scores = tkw.cast(tkw.permute(scores, target_shape=[B, M, K2]), tkl.f16)
            return tkw.mma(scores, tkw.read(v), acc)

        tkw.write(loop, c)

    q, keys, v = (numbers(shape, np.float16, -1, 2, seed) for seed, shape in enumerate([(2, 40, 32), (2, 50, 32), (2, 33, 50)]))
    *_, c = run(chain, {B: 2, M: 40, N: 33, K1: 32, K2: 50}, q, keys, v, np.zeros((2, 40, 33), np.float32))
    q, keys, v = (each.astype(np.float32) for each in (q, keys, v))
    assert np.array_equal(c, q @ keys.transpose(0, 2, 1) @ v.transpose(0, 2, 1))


def test_rows_that_waves_share():
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, waves_per_block=(4, 1, 1), vector_shapes={M: 1, N: 256}),
        tkw.WorkgroupConstraint(M, 1, 1),
        tkw.WorkgroupConstraint(N, N, 0),
        tkw.WaveConstraint(M, 1),
        tkw.WaveConstraint(N, sympy.ceiling(N / 4 / 256) * 256),
    ]

    @tkw.wave(constraints)
    def normalised(a: memory(M, N, dtype=tkl.f16), weight: memory(N, dtype=tkl.f16), c: memory(M, N, dtype=tkl.f16)):
        x = tkw.cast(tkw.read(a), tkl.f32)
        mean = tkw.sum(x * x, dim=N, block=True) / tkl.Register[M, tkl.f32](1024.0)
        factor = tkw.rsqrt(mean + tkl.Register[M, tkl.f32](1e-5))
        y = x * tkw.broadcast(factor, [M, N]) * tkw.broadcast(tkw.cast(tkw.read(weight), tkl.f32), [M, N])
        tkw.write(tkw.cast(y, tkl.f16), c)

    draw = np.random.default_rng(0)
    a, weight = draw.normal(size=(3, 1024)).astype(np.float16), draw.normal(size=1024).astype(np.float16)
    *_, c = run(normalised, {M: 3, N: 1024}, a, weight, np.zeros_like(a))
    x = a.astype(np.float32)
    assert np.allclose(c, x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * weight, atol=2e-3, rtol=2e-3)


def test_pairs_of_elements_in_one():
    constraints = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.TilingConstraint(K, 32),
        tkw.WaveConstraint(M, 16),
        tkw.WaveConstraint(N, 16),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=tkw.MMAType.F32_16x16x16_F16),
    ]

    @tkw.wave(constraints)
    def gemm(a: memory(M, K / 2, dtype=tkl.i32), b: memory(N, K / 2, dtype=tkl.i32), c: memory(M, N, space=GLOBAL_ADDRESS_SPACE)):
        @tkw.iterate(K, init_args=[fill(0.0)])
        def loop(acc):
            return tkw.mma(tkw.bitcast(tkw.read(a), tkl.f16), tkw.bitcast(tkw.read(b), tkl.f16), acc)

        tkw.write(loop, c)

    a, b = matrices(40, 33, 64)
    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, M: 40, N: 33, K: 64}
    *_, c = run(gemm, subs, a.view(np.int32), b.view(np.int32), np.zeros((40, 33), np.float32))
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


@pytest.mark.parametrize("dtype", [tkl.f8e4m3fnuz, tkl.f8e5m2fnuz, tkl.f8e4m3fn, tkl.f8e5m2], ids=str)
def test_casts_to_small_floats_and_back(dtype):
    @tkw.wave(tiles())
    def kernel(a: memory(M, N), b: memory(M, N)):
        tkw.write(tkw.cast(tkw.cast(tkw.read(a), dtype), tkl.f32), b)

    a = numbers((20, 70))
    _, b = run(kernel, {M: 20, N: 70}, a, np.zeros_like(a))
    assert np.array_equal(a, b)
