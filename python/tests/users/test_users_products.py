"""Matrix products, as Wave's users write them, with torch."""

from of_users import *  # noqa: F403 - as these programs import


@pytest.mark.parametrize("sched", [SchedulingType.NONE, SchedulingType.PREFETCH, SchedulingType.MODULO, SchedulingType.FOUR_STAGE])
@pytest.mark.parametrize("mma", [MMAType.F32_16x16x16_F16, MMAType.F32_32x32x8_F16, MMAType.F32_16x16x32_K8_F16])
def test_gemm_relu_bias(sched, mma):
    @tkw.wave(gemm_constraints(mma))
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
        bias: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16],
    ):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        y = repeat + tkw.broadcast(tkw.read(bias), [M, N])
        y = tkw.maximum(y, tkl.Register[M, N, tkl.f32](0.0))
        tkw.write(tkw.cast(y, tkl.f16), c)

    a, b, bias, c = (
        device_randn(128, 160, dtype=torch.float16),
        device_randn(128, 160, dtype=torch.float16),
        device_randn(128),
        device_zeros(128, 128, dtype=torch.float16),
    )
    go(gemm, {**GS, M: 128, N: 128, K: 160, **get_default_scheduling_params()}, a, b, bias, c, schedule=sched)
    assert_close(c.float(), torch.relu(a.float() @ b.float().T + bias), atol=3e-2, rtol=1e-2)


def test_gemm_nontransposed_b_mapping():
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    bm = tkw.IndexMapping(num_iterators=2, inputs={N: i, K: j}, outputs={N: i, K: j})

    @tkw.wave(gemm_constraints())
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16], b: tkl.Memory[K, N, ADDRESS_SPACE, tkl.f16], c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]
    ):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc):
            return tkw.mma(tkw.read(a), tkw.read(b, mapping=bm), acc)

        tkw.write(repeat, c)

    a, b, c = device_randn(64, 96, dtype=torch.float16), device_randn(96, 128, dtype=torch.float16), device_zeros(64, 128)
    go(gemm, {**GS, M: 64, N: 128, K: 96}, a, b, c)
    assert_close(c, a.float() @ b.float(), atol=1e-2, rtol=1e-2)


def test_batched_gemm_permuted_out():
    cons = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.WorkgroupConstraint(B, BLOCK_B, 2),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / 2),
        tkw.WaveConstraint(N, BLOCK_N / 2),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=MMAType.F32_16x16x16_F16, vector_shapes={B: 0}),
    ]

    @tkw.wave(cons)
    def bgemm(
        a: tkl.Memory[B, M, K, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[B, N, K, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, B, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        c_reg = tkl.Register[B, M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(tkw.permute(repeat, target_shape=[M, B, N]), c)

    a, b, c = device_randn(3, 64, 64, dtype=torch.float16), device_randn(3, 128, 64, dtype=torch.float16), device_zeros(64, 3, 128)
    go(bgemm, {**GS, BLOCK_B: 1, B: 3, M: 64, N: 128, K: 64}, a, b, c)
    assert_close(c, torch.einsum("bmk,bnk->mbn", a.float(), b.float()), atol=1e-2, rtol=1e-2)


def test_int8_gemm():
    @tkw.wave(gemm_constraints(MMAType.I32_16x16x32_I8))
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.i8], b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.i8], c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32]
    ):
        c_reg = tkl.Register[M, N, tkl.i32](0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    a, b, c = (
        device_randint(-8, 8, (64, 64), dtype=torch.int8),
        device_randint(-8, 8, (64, 64), dtype=torch.int8),
        device_zeros(64, 64, dtype=torch.int32),
    )
    go(gemm, {**GS, BLOCK_K: 64, M: 64, N: 64, K: 64}, a, b, c)
    assert_close(c, (a.int() @ b.int().T))


def test_f8_gemm_cast_inside():
    @tkw.wave(gemm_constraints(MMAType.F32_16x16x32_F8))
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16], b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16], c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]
    ):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc):
            x, y = tkw.cast(tkw.read(a), tkl.f8e4m3fnuz), tkw.cast(tkw.read(b), tkl.f8e4m3fnuz)
            return tkw.mma(x, y, acc)

        tkw.write(repeat, c)

    a, b, c = device_randn(64, 64, dtype=torch.float16), device_randn(64, 64, dtype=torch.float16), device_zeros(64, 64)
    go(gemm, {**GS, BLOCK_K: 64, M: 64, N: 64, K: 64}, a, b, c)
    f = lambda t: t.to(torch.float8_e4m3fnuz).float()
    assert_close(c, f(a) @ f(b).T, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize(
    "dot", [GenericDot(along_dim=MMAOperand.M, k_vec_size=4, k_mult=1), GenericDot(along_dim=MMAOperand.N, k_vec_size=4, k_mult=64)]
)
def test_generic_dot(dot):
    @tkw.wave(gemm_constraints(dot, (1, 1)))
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16], b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16], c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]
    ):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    a, b, c = device_randn(64, 256, dtype=torch.float16), device_randn(64, 256, dtype=torch.float16), device_zeros(64, 64)
    go(gemm, {**GS, BLOCK_K: 256, BLOCK_M: 64, BLOCK_N: 64, M: 64, N: 64, K: 256}, a, b, c)
    assert_close(c, a.float() @ b.float().T, atol=1e-2, rtol=1e-2)


def test_explicit_shared_gemm():
    @tkw.wave(gemm_constraints())
    def gemm(
        a: tkl.Memory[M, K, GLOBAL_ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL_ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        a_s = tkw.allocate(shape=(M, K), distributed_shape=(BLOCK_M, BLOCK_K), dtype=tkl.f16)
        b_s = tkw.allocate(shape=(N, K), distributed_shape=(BLOCK_N, BLOCK_K), dtype=tkl.f16)
        acc0 = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[acc0])
        def loop(acc):
            ar = tkw.read(a)
            br = tkw.read(b)
            tkw.write(ar, a_s)
            tkw.write(br, b_s)
            tkw.shared_memory_barrier()
            x = tkw.read(a_s)
            y = tkw.read(b_s)
            acc = tkw.mma(x, y, acc)
            tkw.shared_memory_barrier()
            return acc

        tkw.write(loop, c)

    a, b, c = device_randn(64, 96, dtype=torch.float16), device_randn(64, 96, dtype=torch.float16), device_zeros(64, 64)
    go(gemm, {BLOCK_M: 32, BLOCK_N: 32, BLOCK_K: 32, M: 64, N: 64, K: 96}, a, b, c)
    assert_close(c, a.float() @ b.float().T, atol=1e-2, rtol=1e-2)


def test_reordered_workgroups():
    wg0, wg1 = WORKGROUP_0, WORKGROUP_1
    nm = sympy.ceiling(M / BLOCK_M)
    nn = sympy.ceiling(N / BLOCK_N)
    flat = wg1 * nm + wg0
    cons = gemm_constraints() + [tkw.ReorderingConstraint(flat // nn, 0), tkw.ReorderingConstraint(flat % nn, 1)]

    @tkw.wave(cons)
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16], b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16], c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]
    ):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    a, b, c = device_randn(192, 64, dtype=torch.float16), device_randn(128, 64, dtype=torch.float16), device_zeros(192, 128)
    go(gemm, {**GS, M: 192, N: 128, K: 64}, a, b, c, schedule=SchedulingType.PREFETCH)
    assert_close(c, a.float() @ b.float().T, atol=1e-2, rtol=1e-2)


def test_split_k():
    S, KO, KL = tkl.sym.SPLITS, tkl.sym.K_OFF, tkl.sym.K_LEN
    cons = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K, iters=sympy.ceiling(KL / BLOCK_K), start=KO),
        tkw.WorkgroupConstraint(S, 1, 2),
        tkw.WaveConstraint(M, BLOCK_M / 2),
        tkw.WaveConstraint(N, BLOCK_N / 2),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=MMAType.F32_16x16x16_F16, vector_shapes={S: 0}),
    ]

    @tkw.wave(cons)
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16], b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16], c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]
    ):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.atomic_add(repeat, c)

    a, b, c = device_randn(64, 128, dtype=torch.float16), device_randn(64, 128, dtype=torch.float16), device_zeros(64, 64)
    go(gemm, {**GS, M: 64, N: 64, K: 128, S: 2, KO: WORKGROUP_2 * 64, KL: sympy.Min(K, (WORKGROUP_2 + 1) * 64) - KO}, a, b, c)
    assert_close(c, a.float() @ b.float().T, atol=1e-2, rtol=1e-2)


def test_manual_schedule_prefetch_gemm():
    from wave_lang.kernel.wave import wave_schedule

    @tkw.wave(gemm_constraints())
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16], b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16], c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]
    ):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg], tag="k_loop")
        def repeat(acc):
            x = tkw.read(a, tag="ra")
            y = tkw.read(b, tag="rb")
            return tkw.mma(x, y, acc, tag="mma")

        tkw.write(repeat, c)

    @wave_schedule.wave_schedule()
    def sched():
        loop = tkw.get_node_by_tag("k_loop")
        la = tkw.get_node_by_tag_and_type("ra", tkw.Read)
        ga, sa = tkw.partition_by_address_space(la, GLOBAL_ADDRESS_SPACE)
        lb = tkw.get_node_by_tag_and_type("rb", tkw.Read)
        gb, sb = tkw.partition_by_address_space(lb, GLOBAL_ADDRESS_SPACE)
        wa = tkw.get_node_by_tag_and_type("ra", tkw.Write)
        wb = tkw.get_node_by_tag_and_type("rb", tkw.Write)
        mma = tkw.get_node_by_tag("mma")
        with tkw.pipeline(loop) as pl:
            pl.set_stage([(ga, gb), (wa, wb)])
            pl.set_stage([(sa, sb), (mma,)])
        tkw.unroll(pl.KERNEL, 2)

    a, b, c = device_randn(64, 256, dtype=torch.float16), device_randn(64, 256, dtype=torch.float16), device_zeros(64, 64)
    o = set_default_run_config(WaveCompileOptions(subs={**GS, M: 64, N: 64, K: 256}, schedule=SchedulingType.MANUAL))
    wave_compile(o, gemm, sched)(a, b, c)
    assert_close(c, a.float() @ b.float().T, atol=1e-2, rtol=1e-2)


def test_sequential_batched_gemm():
    cons = [
        tkw.WorkgroupConstraint(M, 64, 0),
        tkw.WorkgroupConstraint(N, 64, 1),
        tkw.TilingConstraint(B, 1),
        tkw.TilingConstraint(K, 32),
        tkw.WaveConstraint(M, 32),
        tkw.WaveConstraint(N, 32),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=MMAType.F32_16x16x16_F16, vector_shapes={B: 0}),
    ]

    @tkw.wave(cons)
    def bg(
        a: tkl.Memory[B, M, K, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[B, N, K, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        @tkw.iterate(B, init_args=[])
        def outer():
            z = tkl.Register[B, M, N, tkl.f32](0.0)

            @tkw.iterate(K, init_args=[z])
            def inner(acc):
                return tkw.mma(tkw.read(a), tkw.read(b), acc)

            tkw.write(inner, c)

    a, b, c = device_randn(3, 64, 64, dtype=torch.float16), device_randn(3, 64, 64, dtype=torch.float16), device_zeros(3, 64, 64)
    go(bg, {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, B: 3, M: 64, N: 64, K: 64}, a, b, c)
    assert_close(c, a.float() @ b.float().transpose(1, 2), atol=1e-2, rtol=1e-2)


def test_dynamic_gemm_modulo():
    cons = gemm_constraints() + [tkw.Assumption(K > BLOCK_K * 4)]

    @tkw.wave(cons)
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.bf16], b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.bf16], c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]
    ):
        z = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[z])
        def rep(acc):
            return tkw.mma(tkw.cast(tkw.read(a), tkl.f16), tkw.cast(tkw.read(b), tkl.f16), acc)

        tkw.write(rep, c)

    r = wave_compile(
        set_default_run_config(
            WaveCompileOptions(subs={**GS, **get_default_scheduling_params()}, dynamic_symbols=[M, N, K], schedule=SchedulingType.MODULO)
        ),
        gemm,
    )
    for m, n, k in ((70, 33, 160), (128, 64, 333)):
        a, b, c = device_randn(m, k, dtype=torch.bfloat16), device_randn(n, k, dtype=torch.bfloat16), device_zeros(m, n)
        r(a, b, c)
        assert_close(c, a.half().float() @ b.half().float().T, atol=2e-2, rtol=2e-2)
