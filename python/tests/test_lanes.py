"""Kernels as one lane sees them: the programs of docs/tutorial/06-simt.md and others, in Python."""

import numpy as np
import pytest

import soliton
import soliton.lang as tkl
import soliton.wave as tkw
from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE
from soliton.wave.compile import WaveCompileOptions, wave_compile

M, N, G = tkl.sym.M, tkl.sym.N, tkl.sym.G
Ints = tkl.Memory[N, GLOBAL_ADDRESS_SPACE, tkl.i32]
Floats = tkl.Memory[N, GLOBAL_ADDRESS_SPACE, tkl.f32]
Sums = tkl.Memory[G, GLOBAL_ADDRESS_SPACE, tkl.i32]


def compiled(kernel, target, dynamic=(), **subs):
    bound = {tkl.sym.__getattr__(name): value for name, value in subs.items()}
    return wave_compile(WaveCompileOptions(subs=bound, dynamic_symbols=list(dynamic), target=target), kernel)


def test_a_thread_and_its_element(target):
    @tkw.wave([tkw.Simt(256, [tkl.ceildiv(N, 256)])])
    def saxpy(a: tkl.f32, x: Floats, y: Floats):
        i = 256 * tkw.workgroup_id(0) + tkw.thread_id()
        tkw.store(a * tkw.load(x[i]) + tkw.load(y[i]), y[i])

    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    compiled(saxpy, target, dynamic=[N])(4.0, x, y)
    assert np.array_equal(y, 4 * x + 1)


def test_lanes_talk_to_each_other(target):
    @tkw.wave([tkw.Simt(256, [G])])
    def workgroup_sum(x: Ints, sums: Sums):
        part = tkw.shared_array([tkw.waves()], tkl.i32)
        value = tkw.load(x[256 * tkw.workgroup_id(0) + tkw.thread_id()])
        for distance in (1, 2, 4, 8, 16):
            value = value + tkw.shuffle_xor(value, distance)
        value = value + tkw.select(tkw.per_lane(tkw.lanes()) == 64, tkw.shuffle_xor(value, 32), 0)
        with tkw.when(tkw.per_lane(tkw.lane_id()) == 0):
            part[tkw.wave_id()] = value
        tkw.workgroup_barrier()
        total = tkw.per_lane(0)
        for wave in range(8):
            total = total + tkw.load(part[wave])
        with tkw.when(tkw.per_lane(tkw.thread_id()) == 0):
            tkw.store(total, sums[tkw.workgroup_id(0)])

    x, sums = np.arange(1000, dtype=np.int32), np.zeros(4, np.int32)
    compiled(workgroup_sum, target, N=1000, G=4)(x, sums)
    assert sums.tolist() == [x[k : k + 256].sum() for k in range(0, 1000, 256)]


def test_sums_over_lanes_and_waves(target):
    @tkw.wave([tkw.Simt(256, [G])])
    def workgroup_sum(x: Ints, sums: Sums):
        value = tkw.load(x[256 * tkw.workgroup_id(0) + tkw.thread_id()])
        total = tkw.sum(tkw.sum(value, dim=tkw.lanes()), dim=tkw.waves())
        with tkw.when(tkw.per_lane(tkw.thread_id()) == 0):
            tkw.store(total, sums[tkw.workgroup_id(0)])

    x, sums = np.arange(1000, dtype=np.int32), np.zeros(4, np.int32)
    compiled(workgroup_sum, target, N=1000, G=4)(x, sums)
    assert sums.tolist() == [x[k : k + 256].sum() for k in range(0, 1000, 256)]


def collatz_steps(n):
    steps = 0
    while n > 1:
        n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
    return steps


def test_lanes_go_different_ways(target):
    @tkw.wave([tkw.Simt(64, [tkl.ceildiv(N, 64)])])
    def collatz(steps: Ints):
        i = 64 * tkw.workgroup_id(0) + tkw.thread_id()

        def step(n, count):
            return tkw.when(n % 2 == 0, lambda: n // 2, lambda: 3 * n + 1), count + 1

        last, count = tkw.lane_while([tkw.per_lane(i + 1), tkw.per_lane(0)], lambda n, count: n > 1, step)
        tkw.store(count, steps[i])

    steps = np.zeros(100, np.int32)
    compiled(collatz, target, N=100)(steps)
    assert steps.tolist() == [collatz_steps(n + 1) for n in range(100)]


def test_votes_and_compaction(target):
    @tkw.wave([tkw.Simt(64, [1])])
    def positive(x: Ints, out: Ints, count: Sums):
        value = tkw.load(x[tkw.thread_id()])
        keep = value > 0
        rank = tkw.vote_rank(keep) + tkw.select(tkw.per_lane(tkw.wave_id()) > 0, 1000, 0)
        with tkw.when(keep & (tkw.per_lane(tkw.wave_id()) == 0)):
            tkw.store(value, out[rank])
        tkw.atomic_add(tkw.select(tkw.per_lane(tkw.lane_id()) == 0, tkw.vote_count(keep), 0), count[0])
        some = tkw.vote_any(keep) & ~tkw.vote_all(keep)
        with tkw.when(some & (tkw.per_lane(tkw.thread_id()) == 0)):
            tkw.store(1, count[1])

    x = np.random.default_rng(0).integers(-4, 5, 64).astype(np.int32)
    out, count = np.zeros(64, np.int32), np.zeros(2, np.int32)
    compiled(positive, target, N=64, G=2)(x, out, count)
    first = x[: 32 if target.startswith("sm_") else 64]
    kept = first[first > 0]
    assert out[: len(kept)].tolist() == kept.tolist() and count.tolist() == [(x > 0).sum(), 1]


def test_vectors_of_a_lane(target):
    @tkw.wave([tkw.Simt(64, [tkl.ceildiv(N, 256)])])
    def fourth(x: Floats, y: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        i = 64 * tkw.workgroup_id(0) + tkw.thread_id()
        four = tkw.load(x[4 * i], vector=4)
        tkw.store(tkw.sum(four, dim=tkw.vector(4)) + tkw.component(four, 3), y[i])

    x = np.arange(512, dtype=np.float32)
    y = np.zeros(128, np.float32)
    compiled(fourth, target, N=512, M=128)(x, y)
    assert np.array_equal(y, x.reshape(-1, 4).sum(1) + x[3::4])


def test_elements_of_a_tile(target):
    constraints = [tkw.WorkgroupConstraint(M, 16, 0), tkw.WorkgroupConstraint(N, 64, 1), tkw.HardwareConstraint()]

    @tkw.wave(constraints)
    def scaled_transpose(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        scale: Floats,
        b: tkl.Memory[N, M, GLOBAL_ADDRESS_SPACE, tkl.f32],
        negative: Sums,
    ):
        with tkw.elements(tkw.read(a)) as x:
            row, column = tkw.coordinate(M), tkw.coordinate(N)
            scaled = x * tkw.load(scale[column])
            b[column, row] = scaled
            with tkw.when(scaled < 0.0):
                tkw.atomic_add(1, negative[0])

    a = np.random.default_rng(0).integers(-4, 5, (20, 100)).astype(np.float32)
    scale, b, negative = np.arange(100, dtype=np.float32), np.zeros((100, 20), np.float32), np.zeros(1, np.int32)
    compiled(scaled_transpose, target, M=20, N=100, G=1)(a, scale, b, negative)
    assert np.array_equal(b, (a * scale).T) and negative[0] == (a * scale < 0).sum()


def test_gathers_by_a_lanes_own_integer(target):
    @tkw.wave([tkw.Simt(64, [tkl.ceildiv(N, 64)])])
    def gather(x: Floats, index: Ints, y: Floats):
        i = 64 * tkw.workgroup_id(0) + tkw.thread_id()
        y[i] = tkw.load(x[tkw.load(index[i])])

    x = np.arange(100, dtype=np.float32)
    index = np.random.default_rng(0).integers(-5, 105, 100).astype(np.int32)
    y = np.ones(100, np.float32)
    compiled(gather, target, dynamic=[N])(x, index, y)
    inside = (index >= 0) & (index < 100)
    assert np.array_equal(y, np.where(inside, x[np.clip(index, 0, 99)], 0))


def test_a_barrier_that_not_all_lanes_reach():
    @tkw.wave([tkw.Simt(64, [1])])
    def wrong(x: Ints):
        with tkw.when(tkw.per_lane(tkw.lane_id()) == 0):
            tkw.workgroup_barrier()

    with pytest.raises(soliton.CompileError, match="inside `when`") as caught:
        compiled(wrong, "gfx942", N=64)
    assert caught.value.id == "simt-lane"


def test_lanes_in_a_kernel_of_tiles_are_named():
    @tkw.wave([tkw.WorkgroupConstraint(N, 64, 0), tkw.HardwareConstraint()])
    def wrong(x: Ints):
        tkw.store(1, x[tkw.thread_id()])

    with pytest.raises(soliton.CompileError) as caught:
        compiled(wrong, "gfx942", N=64)
    assert caught.value.id == "simt-lane" and "tkw.store" in str(caught.value)
