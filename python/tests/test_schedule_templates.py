"""Schedules that Wave brings, with their kernels: proven by the compiler, and right on the emulator."""

import numpy as np
import pytest

pytest.importorskip("sympy")

import soliton.compat  # noqa: E402

soliton.compat.install()

from wave_lang.kernel.wave.compile import wave_compile  # noqa: E402
from wave_lang.kernel.wave.schedules import gemm_triple_buffer, gemm_two_pp_cluster  # noqa: E402


def small(*shape, seed=0):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float16)


def product(kernel, options, schedule, shape, target):
    options.target, options.run_on = target, "emulator"
    m, n, k = shape
    a, b, c = small(m, k), small(n, k, seed=1), np.full((m, n), np.nan, np.float32)
    run = wave_compile(options, kernel, schedule)
    run(a, b, c)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)
    return run


SHAPES = [(128, 256, 256), (100, 200, 192)]


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_ping_pong(shape, target):
    kernel, options = gemm_two_pp_cluster.get_tagged_gemm(shape)
    product(kernel, options, gemm_two_pp_cluster.get_two_pp_cluster_schedule(), shape, target)


def test_ping_pong_of_the_product_turned_round():
    kernel, options = gemm_two_pp_cluster.get_tagged_BxA_T_gemm((128, 256, 192), (128, 256, 64))
    product(kernel, options, gemm_two_pp_cluster.get_two_pp_cluster_schedule(), (128, 256, 192), "gfx942")


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_ping_pong_with_copies_in_flight(target):
    shape = (128, 256, 256)
    kernel, options = gemm_two_pp_cluster.get_tagged_gemm(shape, (128, 256, 32) if target == "gfx942" else (128, 256, 64), use_global_to_shared=True)
    product(kernel, options, gemm_two_pp_cluster.get_async_two_pp_clusters(), shape, target)


@pytest.mark.parametrize("k", [256, 64])
def test_three_buffers(k):
    shape = (128, 128, k)
    kernel, options = gemm_two_pp_cluster.get_tagged_gemm(shape, (128, 128, 64), use_global_to_shared=True)
    product(kernel, options, gemm_triple_buffer.get_async_two_cluster_triple_buffer(), shape, "gfx950")


def test_a_chip_that_is_no_target_is_named():
    with pytest.raises(soliton.CompileError, match="gfx1250"):
        gemm_triple_buffer.get_gfx1250_tbuf_gemm_schedule()


@pytest.mark.parametrize("is_causal, waves, keys, shared", [(False, 4, 320, 2), (True, 8, 256, 1)])
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_attention_in_four_stages(target, is_causal, waves, keys, shared):
    from wave_lang.kernel.wave.compile import WaveCompileOptions
    from wave_lang.kernel.wave.constraints import MMAType
    from wave_lang.kernel.wave.schedules.attention_prefetch import get_attention_prefetch_schedule
    from wave_lang.kernel.wave.scheduling.schedule import SchedulingType
    from wave_lang.kernel.wave.templates.attention_common import AttentionShape
    from wave_lang.kernel.wave.templates.tagged_attention import get_tagged_bshd_attention_kernel

    queries, mfma = 70, (MMAType.F32_16x16x16_F16,) * 2
    shape = AttentionShape(num_query_heads=2, num_kv_heads=shared, head_size=32, head_size_kv=48, batch_size=1, query_seq_len=queries, kv_seq_len=keys)
    kernel, subs, _ = get_tagged_bshd_attention_kernel(shape, mfma, False, is_causal, waves)
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, *sizes)).astype(np.float16) for sizes in ((queries, 2, 32), (keys, shared, 32), (keys, shared, 48)))
    results = []
    for schedule in (None, get_attention_prefetch_schedule()):
        c = np.full((1, queries, 2, 48), np.nan, np.float32)
        kind = SchedulingType.NONE if schedule is None else SchedulingType.MANUAL
        options = WaveCompileOptions(subs=subs, schedule=kind, target=target, run_on="emulator")
        wave_compile(options, kernel, schedule)(q, k, v, c)
        results.append(c)
    assert np.array_equal(*results)  # a schedule changes no bit
    turn = lambda x: np.repeat(x[0].swapaxes(0, 1).astype(np.float64), 2 // x.shape[2], 0)  # noqa: E731
    scores = turn(q) @ turn(k).swapaxes(1, 2) / np.sqrt(32)
    if is_causal:
        scores = np.where(np.arange(keys)[None] <= np.arange(queries)[:, None], scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    wanted = weights / weights.sum(-1, keepdims=True) @ turn(v)
    np.testing.assert_allclose(results[0][0].swapaxes(0, 1), wanted, atol=4e-3, rtol=4e-3)


# ---- Elements of four bits -----------------------------------------------------------------------------------------------------

FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def shuffled_scales(scales):
    rows, columns = scales.shape
    padded = np.zeros((-(-rows // 256) * 256, columns), scales.dtype)
    padded[:rows] = scales
    blocks = padded.reshape(len(padded) // 32, 2, 16, columns // 8, 2, 4).transpose(0, 3, 5, 2, 4, 1)
    return np.ascontiguousarray(blocks.reshape(len(padded), columns)[:rows])


def shuffled_elements(b):
    rows, columns = b.shape
    return np.ascontiguousarray(b.reshape(rows // 16, 16, columns // 32, 2, 16).transpose(0, 2, 3, 1, 4).reshape(rows, columns))


def scaled_product(template, schedule, scales_a, scales_b, elements_b, shape=(64, 128, 1024), block=(64, 64, 256), waves=(2, 2), **options):
    from wave_lang.kernel.wave.scheduling.schedule import SchedulingType
    from wave_lang.kernel.wave.templates import tagged_mxfp4_gemm

    m, n, k = shape
    kernel, chosen = getattr(tagged_mxfp4_gemm, template)(shape=shape, block_shape=block, wave_shape=waves, **options)
    chosen.target, chosen.run_on = "gfx950", "emulator"
    if schedule is None:
        chosen.schedule = SchedulingType.NONE
    rng = np.random.default_rng(0)
    (a, a_scale), (b, b_scale) = (
        (rng.integers(0, 256, (rows, k // 2)).astype(np.uint8), rng.integers(124, 128, (rows, k // 32)).astype(np.uint8)) for rows in (m, n)
    )
    left, right = (
        FP4[np.stack([x & 15, x >> 4], -1).reshape(len(x), k)] * np.repeat(np.exp2(s.astype(np.float32) - 127), 32, 1)
        for x, s in ((a, a_scale), (b, b_scale))
    )
    narrow = options.get("output_dtype", options.get("output_type"))
    c = np.zeros((m, n), np.float32 if narrow is None else np.uint16)
    given = (a, shuffled_scales(a_scale) if scales_a else a_scale, shuffled_elements(b) if elements_b else b)
    wave_compile(chosen, kernel, schedule)(*given, shuffled_scales(b_scale) if scales_b else b_scale, c)
    wanted = left @ right.T
    if narrow is None:
        assert np.array_equal(c, wanted)
    else:
        found = (c.astype(np.uint32) << 16).view(np.float32)
        np.testing.assert_allclose(found, wanted, rtol=2**-7, atol=0.5)


def dbuf(name="get_mxfp4_dbuf_schedule", **options):
    from wave_lang.kernel.wave.schedules import gemm_mxfp4_double_buffer

    return getattr(gemm_mxfp4_double_buffer, name)(**options)


@pytest.mark.parametrize("stagger", [True, False])
@pytest.mark.parametrize("shape", [(64, 128, 1024), (50, 100, 768)], ids=str)
def test_four_bits_in_two_buffers(shape, stagger):
    scaled_product("get_tagged_mxfp4_gemm", dbuf(use_stagger=stagger), False, False, False, shape)


def test_four_bits_by_eight_waves():
    scaled_product("get_tagged_mxfp4_gemm", dbuf(), False, False, False, (128, 128, 768), (128, 128, 256), (4, 2), group_size_n=1)


CHOICES = [
    ("get_tagged_mxfp4_gemm_preshuffle_scales", "get_mxfp4_dbuf_pingpong_schedule", (True, True, False)),
    ("get_tagged_mxfp4_gemm_preshuffle_scales_and_B", "get_mxfp4_dbuf_pingpong_schedule_Bshuffled", (True, True, True)),
    ("get_tagged_mxfp4_gemm_preshuffle_b", "get_mxfp4_dbuf_mixed_pingpong_shuffle_schedule", (True, True, True)),
    ("get_tagged_mxfp4_gemm", "get_mxfp4_dbuf_mixed_pingpong_schedule", (False, False, False)),
    ("get_tagged_splitk_mxfp4_gemm", "get_mxfp4_dbuf_schedule", (False, False, False)),
    ("get_tagged_splitk_mxfp4_gemm_preshuffle_scales", "get_mxfp4_dbuf_schedule", (True, True, False)),
    ("get_tagged_splitk_mxfp4_gemm_preshuffle_b", "get_mxfp4_dbuf_schedule", (True, True, True)),
]


@pytest.mark.parametrize("template, schedule, shuffles", CHOICES, ids=[f"{each[0]}-{each[1]}" for each in CHOICES])
def test_four_bits_in_other_orders(template, schedule, shuffles):
    scaled_product(template, dbuf(schedule), *shuffles)


def test_four_bits_of_shuffled_elements_through_shared_memory():
    from wave_lang.kernel.lang.global_symbols import SHARED_ADDRESS_SPACE

    schedule = dbuf("get_mxfp4_dbuf_pingpong_schedule_Bshuffled_lds")
    scaled_product("get_tagged_mxfp4_gemm_preshuffle_scales_and_B", schedule, True, True, True, b_address_space=SHARED_ADDRESS_SPACE)


def test_four_bits_into_narrow_elements():
    import wave_lang.kernel.lang as tkl

    schedule = dbuf("get_mxfp4_asymmetric_schedule")
    scaled_product("get_tagged_mxfp4_gemm_preshuffle_b_wide_store", schedule, True, True, True, output_dtype=tkl.bf16)


@pytest.mark.parametrize("eliminate", [False, True])
@pytest.mark.parametrize("shuffled", [False, True])
def test_four_bits_with_one_operand_in_registers(shuffled, eliminate):
    from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE

    schedule = dbuf("get_mxfp4_asymmetric_schedule", eliminate_epilogue=eliminate)
    if shuffled:
        scaled_product("get_tagged_mxfp4_gemm_preshuffle_b", schedule, True, True, True)
    else:
        scaled_product("get_tagged_mxfp4_gemm", schedule, False, False, False, b_address_space=GLOBAL_ADDRESS_SPACE)


# ---- Words of schedules ------------------------------------------------------------------------------------------------------------


def test_words_that_schedules_of_wave_use():
    import wave_lang.kernel.lang as tkl
    import wave_lang.kernel.wave as tkw
    from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE
    from wave_lang.kernel.ops.wave_ops import get_custom
    from wave_lang.kernel.wave import wave_schedule

    K, M = tkl.sym.K, tkl.sym.M
    seen = []

    @wave_schedule.wave_schedule()
    def schedule():
        mma = tkw.get_node_by_tag("mma")
        loads = tkw.get_node_by_tag_and_type("read_a", tkw.Read) + tkw.get_node_by_tag_and_type("read_b", tkw.Read)
        fetches, shared = tkw.partition_by_address_space(loads, GLOBAL_ADDRESS_SPACE)
        writes = tkw.get_node_by_tag_and_type("read_a", tkw.Write) + tkw.get_node_by_tag_and_type("read_b", tkw.Write)
        pipeline_loop = tkw.pipeline(tkw.get_node_by_tag("k_loop"))
        pipeline_loop.unroll_factor = 1
        with pipeline_loop as loop:
            loop.set_stage([(fetches,), (writes,)])
            loop.set_stage([(shared,), (mma,)])
        # Without a part all of them are meant, and nothing stays nothing.
        assert len(tkw.filter_nodes(loads, node_type=tkw.Write)) == 0 and len(tkw.filter_nodes(loads)) == len(loads)
        assert len(tkw.filter_nodes(mma, subgraph=pipeline_loop.KERNEL, node_type=tkw.MMA)) == len(mma)
        first, second = tkw.partition_by_dim(mma, dim=K, num_partitions=2)
        assert {get_custom(node).expanded_dims[K] for node in first} == {0, 1} and tkw.pieces(mma, K) == 4
        node = get_custom(mma[0])
        assert "mma" in node.tag and M in node.expanded_dims and node.expanded_dims.get("none") is None and "mma" in node.name
        needed, rest = tkw.partition_by_use(shared, first)
        assert len(needed) + len(rest) == len(shared) and len(rest)
        # Lists of lists are groups, and what is left over follows.
        order = tkw.interleave_operations(mma, [fetches, writes], intervals=[2, 2], start_offsets=[0, 1], start_after_groups=[[], [0]])
        assert len(order) == len(mma) + len(fetches) + len(writes)
        assert get_custom(order[1]).name == get_custom(fetches[0]).name
        assert tkw.interleave_operations([1, 2, 3], [7, 8], intervals=2) == [1, 7, 2, 3, 8]
        tkw.insert_before(pipeline_loop.KERNEL, tkw.SharedMemoryBarrier())
        tkw.insert_after(pipeline_loop.KERNEL, tkw.SharedMemoryBarrier())
        tkw.insert_at_end(pipeline_loop.KERNEL, tkw.SharedMemoryBarrier())
        tkw.insert_before(pipeline_loop.PROLOGUE, tkw.WorkgroupBarrier())
        tkw.insert_after(pipeline_loop.EPILOGUE, tkw.WorkgroupBarrier())
        seen.append(len(mma))

    kernel, options = gemm_two_pp_cluster.get_tagged_gemm((128, 256, 256))
    product(kernel, options, schedule, (128, 256, 256), "gfx942")
    assert seen


def test_casts_need_no_stage_and_tags_of_what_costs_nothing_are_empty():
    import wave_lang.kernel.lang as tkl
    import wave_lang.kernel.wave as tkw
    from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
    from wave_lang.kernel.wave import wave_schedule
    from wave_lang.kernel.wave.compile import WaveCompileOptions
    from wave_lang.kernel.wave.scheduling.schedule import SchedulingType

    M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
    constraints = [tkw.WorkgroupConstraint(M, 32, 0), tkw.WorkgroupConstraint(N, 32, 1), tkw.TilingConstraint(K, 32)]
    constraints += [tkw.HardwareConstraint(threads_per_wave=64, mma_type=tkw.MMAType.F32_16x16x16_F16)]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K, SHARED_ADDRESS_SPACE, tkl.f32],
        b: tkl.Memory[N, K, SHARED_ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)], tag="k_loop")
        def repeat(acc):
            left = tkw.cast(tkw.read(a, tag="read_a"), tkl.f16)
            right = tkw.permute(tkw.read(b, tag="read_b"), target_shape=[N, K], tag="nothing")
            return tkw.mma(left, right, acc, tag="mma")

        tkw.write(repeat, c)

    @wave_schedule.wave_schedule()
    def schedule():
        loads = [tkw.get_node_by_tag_and_type(tag, tkw.Read) for tag in ("read_a", "read_b")]
        writes = [tkw.get_node_by_tag_and_type(tag, tkw.Write) for tag in ("read_a", "read_b")]
        fetches, shared = tkw.partition_by_address_space(loads[0] + loads[1], GLOBAL_ADDRESS_SPACE)
        assert len(tkw.get_node_by_tag("nothing")) == 0
        with tkw.pipeline(tkw.get_node_by_tag("k_loop")) as loop:
            loop.set_stage([(fetches,), (writes,)])
            loop.set_stage([(shared, tkw.get_node_by_tag("nothing")), (tkw.get_node_by_tag("mma"),)])

    a, b, c = small(40, 96).astype(np.float32), small(50, 96, seed=1), np.full((40, 50), np.nan, np.float32)
    options = WaveCompileOptions(subs={M: 40, N: 50, K: 96}, schedule=SchedulingType.MANUAL, target="gfx942", run_on="emulator")
    wave_compile(options, gemm, schedule)(a, b, c)
    assert np.array_equal(c, a @ b.astype(np.float32).T)


# ---- The whole workgroup -------------------------------------------------------------------------------------------------------------


def copied_gemm(schedule, shape=(128, 64, 320), **options):
    """A product on Hopper whose factors are copied in boxes; the result, and what was asked for."""
    import wave_lang.kernel.lang as tkl
    import wave_lang.kernel.wave as tkw
    from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
    from wave_lang.kernel.wave.compile import WaveCompileOptions
    from wave_lang.kernel.wave.scheduling.schedule import SchedulingType

    M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
    constraints = [tkw.WorkgroupConstraint(M, 64, 0), tkw.WorkgroupConstraint(N, 64, 1), tkw.TilingConstraint(K, 64)]
    constraints += [tkw.WaveConstraint(M, 16), tkw.WaveConstraint(N, 64)]
    constraints += [tkw.HardwareConstraint(threads_per_wave=32, mma_type="F32_64x64x16_F16")]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K, SHARED_ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, SHARED_ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)], tag="k_loop")
        def repeat(acc):
            return tkw.mma(tkw.read(a, tag="read_a"), tkw.read(b, tag="read_b"), acc, tag="mma")

        tkw.write(repeat, c)

    m, n, k = shape
    a, b, c = small(m, k), small(n, k, seed=1), np.full((m, n), np.nan, np.float32)
    options = WaveCompileOptions(
        subs={M: m, N: n, K: k},
        schedule=SchedulingType.MANUAL,
        target="sm_90a",
        run_on="emulator",
        use_global_to_shared=True,
        **options,
    )
    wave_compile(options, gemm, schedule)(a, b, c)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


@pytest.mark.parametrize("shape", [(128, 64, 320), (130, 72, 200), (1, 8, 8)])
def test_schedules_say_who_copies_and_which_workgroups_walk(shape):
    import wave_lang.kernel.wave as tkw
    from wave_lang.kernel.wave import wave_schedule

    @wave_schedule.wave_schedule()
    def by_tags():
        tkw.order_by(tkw.get_node_by_tag("k_loop"), "ring")
        tkw.specialize(["read_a", "read_b"], waves=4, registers=40)
        tkw.persistent(2)

    @wave_schedule.wave_schedule()
    def by_instructions():
        copies = tkw.get_node_by_tag_and_type("read_a", tkw.GatherToLDS) + tkw.get_node_by_tag_and_type("read_b", tkw.GatherToLDS)
        with tkw.pipeline(tkw.get_node_by_tag("k_loop"), multi_buffer_count=3, copies_run_on=True, releases=True) as loop:
            loop.set_stage([(), (copies,)])
            loop.set_stage([(), ()])
            loop.set_stage([(tkw.get_node_by_tag("mma"),), ()])
        tkw.specialize(copies)

    @wave_schedule.wave_schedule()
    def overlapping():
        tkw.order_by(tkw.get_node_by_tag("k_loop"), "ring")
        tkw.specialize(["read_a", "read_b"], waves=4)
        tkw.persistent(2, overlap_tiles=True)

    for schedule in (by_tags, by_instructions, overlapping):
        copied_gemm(schedule, shape)
    copied_gemm(by_tags, shape, service_waves=4, persistent=2)  # the same, said twice


def test_what_schedules_cannot_say_of_roles():
    import wave_lang.kernel.wave as tkw
    from wave_lang.kernel.wave import wave_schedule

    @wave_schedule.wave_schedule()
    def issues_products():
        tkw.specialize(tkw.get_node_by_tag("mma"), waves=4)

    @wave_schedule.wave_schedule()
    def four_waves():
        tkw.specialize(["read_a", "read_b"], waves=4)

    with pytest.raises(soliton.CompileError, match="waves beside those that compute can issue copies of boxes only") as refused:
        copied_gemm(issues_products)
    assert "[schedule-roles]" in str(refused.value) and "test_schedule_templates.py" in str(refused.value)
    with pytest.raises(soliton.CompileError, match="the schedule says 4 waves that copy, .* 2 service waves"):
        copied_gemm(four_waves, service_waves=2)
