"""Elements, as Wave's users write them, with torch."""

from of_users import *  # noqa: F403 - as these programs import


def test_gelu_tanh():
    @tkw.wave(elementwise())
    def gelu(a: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f32], c: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f32]):
        x = tkw.read(a)
        half = tkl.Register[M, N, tkl.f32](0.5)
        one = tkl.Register[M, N, tkl.f32](1.0)
        k0 = tkl.Register[M, N, tkl.f32](math.sqrt(2 / math.pi))
        k1 = tkl.Register[M, N, tkl.f32](0.044715)
        res = half * x * (one + tkw.tanh(k0 * (x + k1 * x * x * x)))
        tkw.write(res, c)

    a = device_randn(33, 300, dtype=torch.float32)
    c = device_zeros(33, 300, dtype=torch.float32)
    go(gelu, {M: 33, N: 300, ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE}, a, c)
    assert_close(c, torch.nn.functional.gelu(a, approximate="tanh"), atol=1e-5, rtol=1e-4)


def test_broadcast_rows_and_columns():
    @tkw.wave(elementwise())
    def k(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16],
        r: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f16],
        s: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16],
    ):
        x = tkw.read(a)
        x += tkw.broadcast(tkw.read(r), target_shape=[M, N])
        x *= tkw.broadcast(tkw.read(s), target_shape=[M, N])
        tkw.write(x, c)

    a, r, s, c = (
        device_randn(20, 300, dtype=torch.float16),
        device_randn(20, dtype=torch.float16),
        device_randn(300, dtype=torch.float16),
        device_zeros(20, 300, dtype=torch.float16),
    )
    go(k, {M: 20, N: 300}, a, r, s, c)
    assert_close(c, (a + r[:, None]) * s[None, :])


def test_scalars():
    @tkw.wave(elementwise())
    def k(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], alpha: tkl.f32, c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], n: tkl.i32):
        s = tkw.broadcast(alpha, target_shape=[M, N])
        x = tkw.read(a) * s
        cnt = tkw.broadcast(tkw.cast(n, tkl.f32), target_shape=[M, N])
        tkw.write(x + cnt, c)

    a = device_randn(3, 256)
    c = device_zeros(3, 256)
    go(k, {M: 3, N: 256}, a, 2.5, c, 7)
    assert_close(c, a * 2.5 + 7)


def test_self_index_mask():
    @tkw.wave(elementwise())
    def k(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        idx = tkw.self_index(N, tkl.i64)
        even = tkw.apply_expr(idx, lambda x: sympy.Eq(x % 2, 0))
        even = tkw.broadcast(tkw.cast(even, tkw.i1), target_shape=[M, N])
        zero = tkl.Register[M, N, tkl.f32](0.0)
        tkw.write(tkw.select(even, tkw.read(a), zero), c)

    a = device_randn(4, 256)
    c = device_zeros(4, 256)
    go(k, {M: 4, N: 256}, a, c)
    w = a.clone()
    w[:, 1::2] = 0
    assert_close(c, w)


def test_dynamic_rowwise_scale():
    @tkw.wave(elementwise())
    def k(a: tkl.Memory[M, N, ADDRESS_SPACE, tkl.bf16], c: tkl.Memory[M, N, ADDRESS_SPACE, tkl.bf16]):
        x = tkw.read(a)
        tkw.write(tkw.exp2(tkw.abs(x)) - tkw.sqrt(tkw.abs(x)), c)

    o = set_default_run_config(WaveCompileOptions(subs={ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE}, dynamic_symbols=[M, N]))
    r = wave_compile(o, k)
    for sh in ((1, 1), (17, 259)):
        a = device_randn(*sh, dtype=torch.bfloat16)
        c = device_zeros(*sh, dtype=torch.bfloat16)
        r(a, c)
        assert_close(c.float(), (torch.exp2(a.abs()) - a.abs().sqrt()).float(), atol=3e-2, rtol=3e-2)


def test_rope():
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    half = 32
    rot = tkw.IndexMapping(num_iterators=2, inputs={M: i, N: (j + half) % 64}, outputs={M: i, N: j})

    @tkw.wave(elementwise(1, 64))
    def rope(
        x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        cos: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        sin: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        out: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        v = tkw.read(x, elements_per_thread=1)
        r = tkw.read(x, mapping=rot, elements_per_thread=1)
        idx = tkw.self_index(N, tkl.i32, elements_per_thread=1)
        lo = tkw.broadcast(tkw.apply_expr(idx, lambda a: a < 32), [M, N])
        zero = tkl.Register[M, N, tkl.f32](0.0)
        r = tkw.select(lo, zero - r, r)
        tkw.write(v * tkw.read(cos, elements_per_thread=1) + r * tkw.read(sin, elements_per_thread=1), out, elements_per_thread=1)

    x, cos, sin, out = device_randn(10, 64), device_randn(10, 64), device_randn(10, 64), device_zeros(10, 64)
    go(rope, {M: 10, N: 64}, x, cos, sin, out)
    x1, x2 = x[:, :32], x[:, 32:]
    assert_close(out, x * cos + torch.cat((-x2, x1), 1) * sin)


def test_dynamic_strides():
    @tkw.wave(elementwise(4, 64))
    def k(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16]):
        tkw.write(tkw.read(a), b)

    base = device_randn(16, 200, dtype=torch.float16)
    out = device_zeros(16, 300, dtype=torch.float16)
    go(k, {M: 16, N: 100}, base[:, 20:120], out[:, 50:150], wave_runtime=True, allow_noncontiguous_runtime_buffers=True)
    assert_close(out[:, 50:150], base[:, 20:120])
    assert not out[:, :50].any()


def test_f_string_names_and_helper_functions_and_classes():
    class Ops:
        def __init__(self, scale):
            self.scale = scale

        def apply(self, x, shape):
            return x * tkl.Register[(*shape, tkl.f32)](self.scale)

    def make(n):
        ks = []
        for s in range(1, n):
            ops = Ops(float(s))

            @tkw.wave(elementwise())
            def k(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], ops=ops):
                tkw.write(ops.apply(tkw.read(a), (M, N)), b)

            ks.append(k)
        return ks

    a = device_randn(2, 256)
    for n, k in enumerate(make(4), 1):
        b = device_zeros(2, 256)
        go(k, {M: 2, N: 256}, a, b)
        assert_close(b, a * n)


def test_positional_ept_and_bounds():
    @tkw.wave(elementwise(1, 256))
    def k(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        r = tkw.read(a, 4, None, (), {}, tkw.MemoryAccessFlags.NONE)
        tkw.write(tkw.tag(r + r, "sum"), b, 4)

    a = device_randn(2, 256)
    b = device_zeros(2, 256)
    go(k, {M: 2, N: 256}, a, b, use_buffer_ops=True)
    assert_close(b, a + a)


def test_unary_zoo():
    fs = {
        "sin": torch.sin,
        "cos": torch.cos,
        "exp": torch.exp,
        "log2": lambda x: torch.log2(x),
        "log10": torch.log10,
        "sqrt": torch.sqrt,
        "rsqrt": torch.rsqrt,
        "reciprocal": torch.reciprocal,
        "round": None,
        "roundeven": torch.round,
        "tanh": torch.tanh,
        "sinh": torch.sinh,
        "cbrt": lambda x: x ** (1 / 3),
        "tanh_approx": torch.tanh,
        "abs": torch.abs,
    }
    for name, f in fs.items():

        @tkw.wave(elementwise())
        def k(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
            tkw.write(getattr(tkw, name)(tkw.read(a)), b)

        a = torch.rand(2, 256) * 3 + 0.1
        b = device_zeros(2, 256)
        go(k, {M: 2, N: 256}, a, b)
        w = f(a) if f else torch.sign(a) * torch.floor(a.abs() + 0.5)
        assert_close(b, w, atol=2e-5, rtol=2e-5, msg=lambda m: name + m)


def test_binary_zoo():
    fs = {"atan2": torch.atan2, "powf": torch.pow, "remf": torch.fmod, "maximum": torch.maximum, "minimum": torch.minimum}
    for name, f in fs.items():

        @tkw.wave(elementwise())
        def k(
            a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
            c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
            b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        ):
            tkw.write(getattr(tkw, name)(tkw.read(a), tkw.read(c)), b)

        a, c = torch.rand(2, 256) * 3 + 0.1, torch.rand(2, 256) * 2 + 0.2
        b = device_zeros(2, 256)
        go(k, {M: 2, N: 256}, a, c, b)
        assert_close(b, f(a, c), atol=5e-5, rtol=5e-5)


def test_integer_ops():
    @tkw.wave(elementwise())
    def k(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32],
        b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32],
    ):
        x, y = tkw.read(a), tkw.read(c)
        z = (x // y) * y + x % y
        z = z + ((x & y) | (x - y)) - (~x)
        big = (x > y) & (x != y)
        small = tkw.lt(x, y) | tkw.eq(x, y)
        z = tkw.select(big, z, tkw.select(small, -z, z))
        tkw.write(z, b)

    a, c = torch.randint(0, 1000, (2, 256), dtype=torch.int32), torch.randint(1, 50, (2, 256), dtype=torch.int32)
    b = device_zeros(2, 256, dtype=torch.int32)
    go(k, {M: 2, N: 256}, a, c, b)
    z = (a // c) * c + a % c + ((a & c) | (a - c)) - (~a)
    assert_close(b, torch.where(a > c, z, -z))


def test_casts_chain():
    @tkw.wave(elementwise())
    def k(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i8],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.bf16],
    ):
        x = tkw.read(a)
        q = tkw.cast(tkw.roundeven(x * tkl.Register[M, N, tkl.f32](10.0)), tkl.i32)
        lo, hi = tkl.Register[M, N, tkl.i32](-128), tkl.Register[M, N, tkl.i32](127)
        q = tkw.minimum(tkw.maximum(q, lo), hi)
        tkw.write(tkw.cast(q, tkl.i8), b)
        tkw.write(tkw.cast(tkw.cast(q, tkl.f32), tkl.bf16), c)

    a = torch.randn(2, 256) * 8
    b = device_zeros(2, 256, dtype=torch.int8)
    c = device_zeros(2, 256, dtype=torch.bfloat16)
    go(k, {M: 2, N: 256}, a, b, c)
    q = (a * 10).round().clamp(-128, 127)
    assert_close(b, q.to(torch.int8))
    assert_close(c, q.bfloat16())


def test_memory_layout_padded_rows():
    lay = tkl.MemoryLayout(shape=(16, 128))

    @tkw.wave(elementwise(1, 64))
    def k(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32, lay], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        tkw.write(tkw.read(a), b)

    a = device_randn(16, 128)
    b = device_zeros(16, 64)
    go(k, {M: 16, N: 64}, a, b)
    assert_close(b, a[:, :64])


def test_swiglu():
    @tkw.wave(elementwise(1, 64))
    def k(
        g: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16],
        u: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16],
        o: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16],
    ):
        x = tkw.cast(tkw.read(g), tkl.f32)
        one = tkl.Register[M, N, tkl.f32](1.0)
        s = x / (one + tkw.exp2(x * tkl.Register[M, N, tkl.f32](-math.log2(math.e))))
        tkw.write(tkw.cast(s * tkw.cast(tkw.read(u), tkl.f32), tkl.f16), o)

    g, u, o = device_randn(9, 70, dtype=torch.float16), device_randn(9, 70, dtype=torch.float16), device_zeros(9, 70, dtype=torch.float16)
    go(k, {M: 9, N: 70}, g, u, o)
    assert_close(o, (torch.nn.functional.silu(g.float()) * u.float()).half(), atol=2e-3, rtol=2e-3)
