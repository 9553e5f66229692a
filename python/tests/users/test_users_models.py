"""Products inside of models: attention, convolution, experts, quantised weights, as Wave's users write them, with torch."""

from of_users import *  # noqa: F403 - as these programs import


def test_chained_gemm():
    K1, K2 = tkl.sym.K1, tkl.sym.K2
    cons = [
        tkw.WorkgroupConstraint(M, 64, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.WorkgroupConstraint(B, 1, 2),
        tkw.TilingConstraint(K2, 32),
        tkw.WaveConstraint(M, 32),
        tkw.WaveConstraint(N, 32),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=MMAType.F32_16x16x16_F16, vector_shapes={B: 0, M: 16, N: 16}),
    ]

    @tkw.wave(cons)
    def chain(
        q: tkl.Memory[B, M, K1, ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, K2, K1, ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, N, K2, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        c_reg = tkl.Register[B, M, N, tkl.f32](0.0)

        @tkw.iterate(K2, init_args=[c_reg])
        def repeat(acc):
            inner = tkl.Register[B, K2, M, tkl.f32](0.0)
            kq = tkw.mma(tkw.read(k), tkw.read(q), inner)
            qk = tkw.permute(kq, target_shape=[B, M, K2])
            return tkw.mma(tkw.cast(qk, tkl.f16), tkw.read(v), acc)

        tkw.write(repeat, c)

    q, k, v, c = (
        device_randn(2, 64, 32, dtype=torch.float16),
        device_randn(2, 64, 32, dtype=torch.float16),
        device_randn(2, 32, 64, dtype=torch.float16),
        device_zeros(2, 64, 32),
    )
    go(chain, {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, B: 2, M: 64, N: 32, K1: 32, K2: 64}, q, k, v, c)
    w = (q.float() @ k.float().transpose(1, 2)).half().float() @ v.float().transpose(1, 2)
    assert_close(c, w, atol=0.1, rtol=1e-2)


def test_igemm_conv():
    NB, C, H, W, HF, WF, NF = (getattr(tkl.sym, n) for n in "NB C H W HF WF NF".split())
    n, c, h, w, nf, hf, wf, stride = 1, 4, 8, 8, 16, 3, 3, 1
    ho, wo = h - hf + 1, w - wf + 1
    SZ = ho * wo
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    xm = tkw.IndexMapping(
        num_iterators=2,
        inputs={NB: i // SZ, C: j // (HF * WF), H: (i % SZ) // wo * stride + (j % (HF * WF)) // WF, W: (i % SZ) % wo * stride + (j % (HF * WF)) % WF},
        outputs={M: i, K: j},
    )
    wm = tkw.IndexMapping(num_iterators=2, inputs={NF: i, C: j // (HF * WF), HF: (j % (HF * WF)) // WF, WF: j % WF}, outputs={NF: i, K: j})
    cons = [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.WorkgroupConstraint(NF, 16, 1),
        tkw.TilingConstraint(K, 16),
        tkw.WaveConstraint(M, 16),
        tkw.WaveConstraint(NF, 16),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=MMAType.F32_16x16x16_F16),
    ]
    om = tkw.IndexMapping(num_iterators=2, inputs={M: i, NF: j}, outputs={NB: i // SZ, NF: j, tkl.sym.HO: (i % SZ) // wo, tkl.sym.WO: (i % SZ) % wo})

    @tkw.wave(cons)
    def conv(
        x: tkl.Memory[NB, C, H, W, ADDRESS_SPACE, tkl.f16],
        we: tkl.Memory[NF, C, HF, WF, ADDRESS_SPACE, tkl.f16],
        out: tkl.Memory[NB, NF, tkl.sym.HO, tkl.sym.WO, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        acc0 = tkl.Register[M, NF, tkl.f32](0.0)

        @tkw.reduction(K, init_args=[acc0])
        def rep(acc):
            return tkw.mma(tkw.read(x, mapping=xm), tkw.read(we, mapping=wm), acc)

        tkw.write(rep, out, mapping=om)

    x, we, out = device_randn(n, c, h, w, dtype=torch.float16), device_randn(nf, c, hf, wf, dtype=torch.float16), device_zeros(n, nf, ho, wo)
    go(
        conv,
        {
            NB: n,
            C: c,
            H: h,
            W: w,
            HF: hf,
            WF: wf,
            NF: nf,
            tkl.sym.HO: ho,
            tkl.sym.WO: wo,
            M: n * SZ,
            K: c * hf * wf,
            ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE,
        },
        x,
        we,
        out,
    )
    assert_close(out, torch.nn.functional.conv2d(x.float(), we.float()), atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_by_hand(causal):
    K1, K2 = tkl.sym.K1, tkl.sym.K2
    cons = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.WorkgroupConstraint(B, BLOCK_B, 2),
        tkw.TilingConstraint(K2, 64),
        tkw.WaveConstraint(M, BLOCK_M / 4),
        tkw.WaveConstraint(N, BLOCK_N),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=MMAType.F32_16x16x16_F16, vector_shapes={B: 0, M: 16, N: 16}),
    ]
    i, j, k_ = (tkw.IndexMapping.iterator(n) for n in range(3))
    vm = tkw.IndexMapping(num_iterators=3, inputs={B: i, N: j, K2: k_}, outputs={B: i, N: j, K2: k_})

    @tkw.wave(cons)
    def att(
        q: tkl.Memory[B, M, K1, GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, K2, K1, ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, K2, N, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        scale = tkl.Register[B, M, K2, tkl.f32](1.44269504 / 8)
        c_reg = tkl.Register[B, N, M, tkl.f32](0.0)
        s0 = tkl.Register[B, M, tkl.f32](0.0)
        m0 = tkl.Register[B, M, tkl.f32](-1e6)
        ZERO = tkl.Register[M, K2, tkl.f32](0.0)
        NEG = tkl.Register[M, K2, tkl.f32](-1e6)

        @tkw.iterate(K2, init_args=[m0, s0, c_reg])
        def repeat(pm, ps, acc):
            imm = tkl.Register[B, K2, M, tkl.f32](0.0)
            s = tkw.mma(tkw.read(k), tkw.read(q), imm)
            x = tkw.permute(s, target_shape=[B, M, K2]) * scale
            if causal:
                mi = tkw.broadcast(tkw.self_index(M, tkl.i64), target_shape=[M, K2])
                ki = tkw.broadcast(tkw.self_index(K2, tkl.i64), target_shape=[M, K2])
                x = x + tkw.select(mi >= ki, ZERO, NEG)
            m = tkw.max(x, pm, dim=K2)
            d = tkw.exp2(pm - m)
            e = tkw.exp2(x - m)
            ss = tkw.sum(e, ps * d, dim=K2)
            return m, ss, tkw.mma(tkw.read(v, mapping=vm), tkw.cast(e, tkl.f16), acc * d)

        rm, rs, rmm = repeat
        tkw.write(tkw.permute(rmm / rs, target_shape=[B, M, N]), c)

    q, k, v, c = (
        device_randn(2, 128, 64, dtype=torch.float16),
        device_randn(2, 128, 64, dtype=torch.float16),
        device_randn(2, 128, 32, dtype=torch.float16),
        device_zeros(2, 128, 32),
    )
    go(
        att,
        {
            ADDRESS_SPACE: SHARED_ADDRESS_SPACE,
            BLOCK_B: 1,
            BLOCK_M: 64,
            BLOCK_N: 32,
            B: 2,
            M: 128,
            N: 32,
            K1: 64,
            K2: 128,
            **get_default_scheduling_params(),
        },
        q,
        k,
        v,
        c,
        schedule=SchedulingType.MODULO,
    )
    w = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=causal, scale=1 / 8)
    assert_close(c, w, atol=5e-3, rtol=5e-3)


def test_gqa_head_mapping():
    HK = tkl.sym.HK
    i, j, l = (tkw.IndexMapping.iterator(n) for n in range(3))
    km = tkw.IndexMapping(num_iterators=3, inputs={HK: i // 2, N: j, K: l}, outputs={H: i, N: j, K: l})
    cons = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.WorkgroupConstraint(H, 1, 2),
        tkw.TilingConstraint(K, 32),
        tkw.WaveConstraint(M, 16),
        tkw.WaveConstraint(N, 16),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=MMAType.F32_16x16x16_F16, vector_shapes={H: 0}),
    ]

    @tkw.wave(cons)
    def qk(
        q: tkl.Memory[H, M, K, ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[HK, N, K, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[H, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        z = tkl.Register[H, M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[z])
        def rep(acc):
            return tkw.mma(tkw.read(q), tkw.read(k, mapping=km), acc)

        tkw.write(rep, c)

    q, k, c = device_randn(4, 64, 32, dtype=torch.float16), device_randn(2, 32, 32, dtype=torch.float16), device_zeros(4, 64, 32)
    go(qk, {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, H: 4, HK: 2, M: 64, N: 32, K: 32}, q, k, c)
    assert_close(c, q.float() @ k.float().repeat_interleave(2, 0).transpose(1, 2), atol=1e-2, rtol=1e-2)


def test_moe_gather_gemm():
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    d0 = tkw.IndexMapping.dynamic_val(0)
    am = tkw.IndexMapping(num_iterators=2, inputs={T: d0, K: j}, outputs={M: i, K: j}, dynamic_val_mappings={M: i})

    @tkw.wave(gemm_constraints())
    def moe(
        a: tkl.Memory[T, K, ADDRESS_SPACE, tkl.f16],
        idx: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.i32],
        b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        ids = tkw.read(idx)
        z = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[z])
        def rep(acc):
            x = tkw.read(a, mapping=am, mapping_dynamic_vals=(ids,))
            return tkw.mma(x, tkw.read(b), acc)

        tkw.write(rep, c)

    a, ids, b, c = (
        device_randn(30, 64, dtype=torch.float16),
        device_randint(0, 30, (64,), dtype=torch.int32),
        device_randn(64, 64, dtype=torch.float16),
        device_zeros(64, 64),
    )
    go(moe, {**GS, ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE, T: 30, M: 64, N: 64, K: 64}, a, ids, b, c)
    assert_close(c, a[ids.long()].float() @ b.float().T, atol=1e-2, rtol=1e-2)


def test_packed_gemm():
    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 64, 0),
            tkw.WorkgroupConstraint(N, 64, 1),
            tkw.TilingConstraint(K, 32),
            tkw.WaveConstraint(M, 32),
            tkw.WaveConstraint(N, 32),
            tkw.HardwareConstraint(threads_per_wave=64, mma_type=MMAType.F32_16x16x16_F16),
        ]
    )
    def gemm(
        a: tkl.Memory[M, K / 2, ADDRESS_SPACE, tkl.i32],
        b: tkl.Memory[N, K / 2, ADDRESS_SPACE, tkl.i32],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        z = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[z])
        def rep(acc):
            return tkw.mma(tkw.bitcast(tkw.read(a), tkl.f16), tkw.bitcast(tkw.read(b), tkl.f16), acc)

        tkw.write(rep, c)

    a, b, c = device_randn(64, 64, dtype=torch.float16), device_randn(64, 64, dtype=torch.float16), device_zeros(64, 64)
    go(gemm, {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, M: 64, N: 64, K: 64}, a.view(torch.int32), b.view(torch.int32), c)
    assert_close(c, a.float() @ b.float().T, atol=1e-2, rtol=1e-2)


def test_gemm_epilogue_rowmax_and_two_outputs():
    cons = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 64, 1),
        tkw.TilingConstraint(K, 32),
        tkw.WaveConstraint(M, 16),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=MMAType.F32_16x16x16_F16),
    ]

    @tkw.wave(cons)
    def k(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        r: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        z = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[z])
        def rep(acc):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(rep, c)
        tkw.write(tkw.max(rep, dim=N), r)

    a, b, c, r = device_randn(64, 64, dtype=torch.float16), device_randn(64, 64, dtype=torch.float16), device_zeros(64, 64), device_zeros(64)
    go(k, {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, M: 64, N: 64, K: 64}, a, b, c, r)
    w = a.float() @ b.float().T
    assert_close(c, w, atol=1e-2, rtol=1e-2)
    assert_close(r, w.max(1).values, atol=1e-2, rtol=1e-2)


def test_gemm_dequant_int8_weights():
    cons = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.TilingConstraint(K, 32),
        tkw.WaveConstraint(M, 16),
        tkw.WaveConstraint(N, 16),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=MMAType.F32_16x16x16_F16),
    ]

    @tkw.wave(cons)
    def k(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.i8],
        s: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        z = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[z])
        def rep(acc):
            w = tkw.cast(tkw.read(b), tkl.f16)
            return tkw.mma(tkw.read(a), w, acc)

        tkw.write(rep * tkw.broadcast(tkw.read(s), [M, N]), c)

    a, b, s, c = device_randn(64, 64, dtype=torch.float16), device_randint(-9, 9, (64, 64), dtype=torch.int8), device_randn(64), device_zeros(64, 64)
    go(k, {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, M: 64, N: 64, K: 64}, a, b, s, c)
    assert_close(c, (a.float() @ b.float().T) * s, atol=2e-2, rtol=1e-2)


def test_mxfp4_gemm_prefetch():
    from wave_lang.kernel.wave.utils.mxfp_utils import generate_gemm_afp4wfp4_inputs, torchScaledGemmMXFP4

    cons = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / 2),
        tkw.WaveConstraint(N, BLOCK_N / 2),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=ScaledMMAType.F32_16x16x128_F8F6F4),
    ]

    @tkw.wave(cons)
    def k(
        a: tkl.Memory[M, K / 2, ADDRESS_SPACE, tkl.i8],
        asc: tkl.Memory[M, K / 32, ADDRESS_SPACE, tkl.i8],
        b: tkl.Memory[N, K / 2, ADDRESS_SPACE, tkl.i8],
        bsc: tkl.Memory[N, K / 32, ADDRESS_SPACE, tkl.i8],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        z = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[z])
        def rep(acc):
            x = tkw.bitcast(tkw.read(a), tkl.f4e2m1fn)
            xs = tkw.bitcast(tkw.read(asc), tkl.f8e8m0fnu)
            y = tkw.bitcast(tkw.read(b), tkl.f4e2m1fn)
            ys = tkw.bitcast(tkw.read(bsc), tkl.f8e8m0fnu)
            return tkw.scaled_mma(x, xs, y, ys, acc)

        tkw.write(rep, c)

    x, w, xs, ws = generate_gemm_afp4wfp4_inputs((64, 64, 512))
    c = device_zeros(64, 64)
    o = WaveCompileOptions(
        subs={ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 256, M: 64, N: 64, K: 512, **get_default_scheduling_params()},
        schedule=SchedulingType.PREFETCH,
        target="gfx950",
    )
    wave_compile(o, k)(x, xs, w.T.contiguous(), ws, c)
    assert_close(c, torchScaledGemmMXFP4(x, w, xs, ws), check_dtype=False, atol=1e-2, rtol=1e-2)
