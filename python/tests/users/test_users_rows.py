"""Rows and reductions, as Wave's users write them, with torch."""

from of_users import *  # noqa: F403 - as these programs import


def test_layernorm():
    cons = [tkw.HardwareConstraint(threads_per_wave=64, waves_per_block=(1, 1, 1), vector_shapes={M: 1, N: BLOCK_N})]
    cons += [
        tkw.WorkgroupConstraint(M, BLOCK_M, 1),
        tkw.WorkgroupConstraint(N, N, 0),
        tkw.TilingConstraint(N, BLOCK_N),
        tkw.WaveConstraint(M, BLOCK_M),
        tkw.WaveConstraint(N, BLOCK_N),
    ]

    @tkw.wave(cons)
    def layernorm(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        g: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        zero = tkl.Register[M, tkl.f32](0.0)
        length = tkl.Register[M, tkl.f32](640.0)

        @tkw.iterate(N, init_args=[zero, zero])
        def red(s, q):
            x = tkw.read(a)
            return tkw.sum(x, s, dim=N), tkw.sum(x * x, q, dim=N)

        s, q = red
        mean = s / length
        var = q / length - mean * mean
        eps = tkl.Register[M, tkl.f32](1e-5)
        inv = tkw.rsqrt(var + eps)

        @tkw.iterate(N, init_args=[])
        def out():
            x = tkw.read(a)
            tkw.write((x - tkw.broadcast(mean, [M, N])) * tkw.broadcast(inv, [M, N]) * tkw.broadcast(tkw.read(g), [M, N]), c)

    a = device_randn(5, 640)
    g = device_randn(640)
    c = device_zeros(5, 640)
    go(layernorm, {M: 5, N: 640, BLOCK_M: 1, BLOCK_N: 128}, a, g, c)
    assert_close(c, torch.nn.functional.layer_norm(a, (640,), g, None, 1e-5), atol=1e-3, rtol=1e-3)


def test_cumsum_int():
    @tkw.wave(elementwise(1, 128))
    def cs(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32], c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32]):
        tkw.write(tkw.cumsum(tkw.read(a), dim=N), c)

    a = device_randint(0, 10, (7, 128), dtype=torch.int32)
    c = device_zeros(7, 128, dtype=torch.int32)
    go(cs, {M: 7, N: 128}, a, c)
    assert_close(c, a.cumsum(1).to(torch.int32))


def test_block_reduce_max_min():
    cons = [
        tkw.HardwareConstraint(threads_per_wave=64, waves_per_block=(4, 1, 1), vector_shapes={M: 1, N: 64}),
        tkw.WorkgroupConstraint(M, 1, 1),
        tkw.WorkgroupConstraint(N, 256, 0),
        tkw.WaveConstraint(M, 1),
        tkw.WaveConstraint(N, 64),
    ]

    @tkw.wave(cons)
    def red(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        hi: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f32],
        lo: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        x = tkw.read(a)
        tkw.write(tkw.max(x, dim=N, block=True), hi, elements_per_thread=1)
        tkw.write(tkw.min(x, dim=N, block=True), lo, elements_per_thread=1)

    a = device_randn(9, 256)
    hi = device_zeros(9)
    lo = device_zeros(9)
    go(red, {M: 9, N: 256}, a, hi, lo)
    assert_close(hi, a.max(1).values)
    assert_close(lo, a.min(1).values)


def test_topk():
    KD = tkl.sym.KD
    cons = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: 64, KD: 4}),
        tkw.WorkgroupConstraint(M, 1, 0),
        tkw.WaveConstraint(M, 1),
        tkw.WorkgroupConstraint(N, N, 1),
        tkw.WaveConstraint(N, N),
    ]

    @tkw.wave(cons)
    def tk(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        v: tkl.Memory[M, KD, GLOBAL_ADDRESS_SPACE, tkl.f32],
        ix: tkl.Memory[M, KD, GLOBAL_ADDRESS_SPACE, tkl.i32],
    ):
        vals, idx = tkw.topk(tkw.read(a), KD, N)
        tkw.write(vals, v)
        tkw.write(idx, ix)

    a = device_randn(6, 64)
    v = device_zeros(6, 4)
    ix = device_zeros(6, 4, dtype=torch.int32)
    go(tk, {M: 6, N: 64, KD: 4}, a, v, ix)
    w = a.topk(4, dim=1)
    assert_close(v, w.values)
    assert_close(ix.long(), w.indices)


def test_online_softmax_tiled():
    cons = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: BLOCK_N}),
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, N, 1),
        tkw.TilingConstraint(N, BLOCK_N),
        tkw.WaveConstraint(M, BLOCK_M),
        tkw.WaveConstraint(N, BLOCK_N),
    ]

    @tkw.wave(cons)
    def sm(a: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f32], c: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f32]):
        m0 = tkl.Register[M, tkl.f32](-1e6)
        s0 = tkl.Register[M, tkl.f32](0.0)

        @tkw.iterate(N, init_args=[m0, s0])
        def repeat(pm: tkl.Register[M, tkl.f32], ps: tkl.Register[M, tkl.f32]) -> tuple[tkl.Register[M, tkl.f32], tkl.Register[M, tkl.f32]]:
            x = tkw.read(a)
            m = tkw.max(x, pm, dim=N)
            s = ps * tkw.exp2(pm - m)
            return m, tkw.sum(tkw.exp2(x - m), s, dim=N)

        rm, rs = repeat

        @tkw.iterate(N, init_args=[])
        def fin():
            x = tkw.read(a)
            tkw.write(tkw.exp2(x - tkw.broadcast(rm, [M, N])) / tkw.broadcast(rs, [M, N]), c)

    a = device_randn(6, 700)
    c = device_zeros(6, 700)
    go(sm, {M: 6, N: 700, BLOCK_M: 1, BLOCK_N: 128, ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE}, a, c)
    assert_close(c, torch.softmax(a * math.log(2), -1), atol=1e-5, rtol=1e-4)


def test_debug_log():
    @tkw.wave(elementwise(16, 16))
    def k(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16]):
        x = tkw.read(a)
        y = x + x
        tkw.debug_log(y, label="twice")
        tkw.write(y * x, b)

    a = device_randn(16, 16, dtype=torch.float16)
    b = device_zeros(16, 16, dtype=torch.float16)
    r = wave_compile(set_default_run_config(WaveCompileOptions(subs={M: 16, N: 16})), k)
    logs = {}
    r(a, b, debug_logs=logs)
    assert_close(logs["twice"]["value"], a + a)
    assert_close(b, (a + a) * a)


def test_two_outputs_one_pass_and_inplace():
    @tkw.wave(elementwise(1, 64))
    def k(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        s: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f32],
        b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        x = tkw.read(a)
        tot = tkw.sum(x, dim=N)
        tkw.write(tot, s, elements_per_thread=1)
        x -= tkw.broadcast(tot, [M, N])
        tkw.write(x, b)
        tkw.write(x * x, a)

    a = device_randn(5, 64)
    o = a.clone()
    s = device_zeros(5)
    b = device_zeros(5, 64)
    go(k, {M: 5, N: 64}, a, s, b)
    assert_close(s, o.sum(1), atol=1e-4, rtol=1e-4)
    assert_close(b, o - o.sum(1, keepdim=True), atol=1e-4, rtol=1e-4)
    assert_close(a, b * b)


def test_wave32_reduce():
    cons = [
        tkw.HardwareConstraint(threads_per_wave=32, waves_per_block=(1, 1, 1), vector_shapes={M: 1, N: 128}),
        tkw.WorkgroupConstraint(M, 1, 1),
        tkw.WorkgroupConstraint(N, 128, 0),
        tkw.WaveConstraint(M, 1),
        tkw.WaveConstraint(N, 128),
    ]

    @tkw.wave(cons)
    def k(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16], b: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f16]):
        tkw.write(tkw.sum(tkw.read(a) * tkw.read(a), dim=N), b, elements_per_thread=1)

    a = device_randn(4, 128, dtype=torch.float16)
    b = device_zeros(4, dtype=torch.float16)
    go(k, {M: 4, N: 128}, a, b)
    assert_close(b.float(), (a.float() ** 2).sum(1), atol=0.2, rtol=1e-2)


def test_debug_log_iterations():
    @tkw.wave(gemm_constraints(waves=(1, 1)))
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16], b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16], c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]
    ):
        z = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[z])
        def rep(acc):
            acc = tkw.mma(tkw.read(a), tkw.read(b), acc)
            tkw.debug_log(acc, label="acc", extra_iteration_dimensions=[(T, K, 4)])
            return acc

        tkw.write(rep, c)

    a, b, c = device_randn(16, 64, dtype=torch.float16), device_randn(16, 64, dtype=torch.float16), device_zeros(16, 16)
    r = wave_compile(
        set_default_run_config(
            WaveCompileOptions(subs={ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_M: 16, BLOCK_N: 16, BLOCK_K: 16, M: 16, N: 16, K: 64})
        ),
        gemm,
    )
    logs = {}
    r(a, b, c, debug_logs=logs)
    v = logs["acc"]["value"]
    assert tuple(v.shape) == (4, 16, 16)
    for t in range(4):
        assert_close(v[t], a[:, : 16 * (t + 1)].float() @ b[:, : 16 * (t + 1)].float().T, atol=1e-2, rtol=1e-2)


def test_softmax_3d_last_dim_with_mask_tensor():
    @tkw.wave(
        [
            tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={B: 0, M: 1, N: 64}),
            tkw.WorkgroupConstraint(N, 64, 0),
            tkw.WorkgroupConstraint(M, 1, 1),
            tkw.WorkgroupConstraint(B, 1, 2),
            tkw.WaveConstraint(N, 64),
        ]
    )
    def k(
        x: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        mask: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i8],
        o: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        v = tkw.read(x)
        m = tkw.cast(tkw.read(mask), tkw.i1)
        low = tkl.Register[B, M, N, tkl.f32](-1e9)
        v = tkw.select(tkw.broadcast(m, target_shape=[B, M, N]), v, low)
        mx = tkw.max(v, dim=N)
        e = tkw.exp2((v - mx) * tkl.Register[B, M, N, tkl.f32](math.log2(math.e)))
        tkw.write(e / tkw.sum(e, dim=N), o)

    x = device_randn(3, 5, 64)
    mask = (torch.rand(5, 64) > 0.3).to(torch.int8)
    o = device_zeros(3, 5, 64)
    go(k, {B: 3, M: 5, N: 64}, x, mask, o)
    assert_close(o, torch.softmax(x.masked_fill(mask == 0, -1e9), -1), atol=1e-5, rtol=1e-4)


def test_argmax_by_hand():
    @tkw.wave(elementwise(1, 64))
    def k(x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], o: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.i32]):
        v = tkw.read(x)
        m = tkw.broadcast(tkw.max(v, dim=N), target_shape=[M, N])
        idx = tkw.broadcast(tkw.self_index(N, tkl.i32), target_shape=[M, N])
        cand = tkw.select(v == m, idx, tkl.Register[M, N, tkl.i32](1000000))
        tkw.write(tkw.min(cand, dim=N), o, elements_per_thread=1)

    x, o = device_randn(7, 64), device_zeros(7, dtype=torch.int32)
    go(k, {M: 7, N: 64}, x, o)
    assert_close(o.long(), x.argmax(1))
