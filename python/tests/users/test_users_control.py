"""Branches, loops and mistakes, as Wave's users write them, with torch."""

from of_users import *  # noqa: F403 - as these programs import


def test_conditional_return_and_scalar_cond():
    @tkw.wave(elementwise())
    def k(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16], flag: tkl.i32):
        x = tkw.read(a)
        cond = flag > tkw.scalar(3, tkl.i32)
        y = x + x

        @tkw.conditional(cond, else_return=[x])
        def then(r):
            return y

        tkw.write(then, b)

    a = device_randn(4, 256, dtype=torch.float16)
    o = set_default_run_config(WaveCompileOptions(subs={M: 4, N: 256}))
    r = wave_compile(o, k)
    for f, w in ((5, a + a), (1, a)):
        b = device_zeros(4, 256, dtype=torch.float16)
        r(a, b, f)
        assert_close(b, w)


def test_conditional_workgroup():
    @tkw.wave(elementwise(1, 64))
    def k(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16]):
        x = tkw.read(a)

        @tkw.conditional(WORKGROUP_1 < 3)
        def then():
            tkw.write(x, b)

    a = device_randn(7, 64, dtype=torch.float16)
    b = device_zeros(7, 64, dtype=torch.float16)
    go(k, {M: 7, N: 64}, a, b)
    w = torch.zeros_like(b)
    w[:3] = a[:3]
    assert_close(b, w)


def test_while_powers():
    @tkw.wave(
        [
            tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 64}),
            tkw.WorkgroupConstraint(M, 64, 0),
            tkw.WaveConstraint(M, 64),
            tkw.TilingConstraint(K),
        ]
    )
    def k(a: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f32], b: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f32], n: tkl.i32):
        x = tkw.read(a)
        start = tkw.scalar(0, tkl.i32)
        tkw.set_symbol(N, n)

        @tkw.iterate(K, start=start, condition=K < N, init_args=[x])
        def loop(acc):
            nxt = tkw.self_index(K, tkl.i32)
            tkw.set_symbol(K, tkw.apply_expr(nxt, lambda v: v + 1))
            return acc + acc

        tkw.write(loop, b)

    a = device_randn(64)
    b = device_zeros(64)
    o = set_default_run_config(WaveCompileOptions(subs={M: 64}))
    r = wave_compile(o, k)
    for n in (0, 1, 5):
        r(a, b, n)
        assert_close(b, a * 2**n)


def test_persistent_loop_copy():
    """One workgroup row walks all rows with a while loop."""
    cons = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 0, N: 64}),
        tkw.WorkgroupConstraint(N, 64, 0),
        tkw.WaveConstraint(N, 64),
        tkw.TilingConstraint(M),
    ]

    @tkw.wave(cons)
    def k(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        start = tkw.scalar(0, tkl.i32)

        @tkw.iterate(M, start=start, condition=M < 6, init_args=[])
        def loop():
            x = tkw.read(a)
            tkw.write(x, b)
            nxt = tkw.apply_expr(tkw.self_index(M, tkl.i32), lambda v: v + 1)
            tkw.set_symbol(M, nxt)

    a = device_randn(6, 64)
    b = device_zeros(6, 64)
    go(k, {M: 6, N: 64}, a, b)
    assert_close(b, a)


def test_nested_conditional_in_loop():
    cons = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: 64}),
        tkw.WorkgroupConstraint(M, 1, 0),
        tkw.WaveConstraint(M, 1),
        tkw.WorkgroupConstraint(N, N, 1),
        tkw.WaveConstraint(N, 64),
        tkw.TilingConstraint(N, 64),
    ]

    @tkw.wave(cons)
    def k(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], n: tkl.i32):
        @tkw.iterate(N, init_args=[])
        def loop():
            x = tkw.read(a)

            @tkw.conditional(n > tkw.scalar(2, tkl.i32))
            def then():
                tkw.write(x + x, b)

    a = device_randn(3, 256)
    r = wave_compile(set_default_run_config(WaveCompileOptions(subs={M: 3, N: 256})), k)
    for n in (1, 3):
        b = device_zeros(3, 256)
        r(a, b, n)
        assert_close(b, a * 2 if n > 2 else torch.zeros_like(a))


def test_compile_to_mlir_and_asm():
    @tkw.wave(elementwise(1, 64))
    def k(x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], o: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        tkw.write(tkw.read(x), o)

    r = wave_compile(WaveCompileOptions(subs={M: 2, N: 64}, compile_to_mlir=True), k)
    assert isinstance(r.asm, str) and r.asm


def test_wrong_programs_are_told():
    @tkw.wave(elementwise(1, 64))
    def a1(x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], o: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        if tkw.read(x) > 0:
            tkw.write(tkw.read(x), o)

    @tkw.wave(elementwise(1, 64))
    def a2(x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], o: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        tkw.write(tkw.nonexistent(x), o)

    @tkw.wave(elementwise(1, 64))
    def a3(x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], o):
        tkw.write(tkw.read(x), o)

    @tkw.wave([tkw.WorkgroupConstraint(M, BLOCK_M, 0)])
    def a4(x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], o: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        tkw.write(tkw.read(x), o)

    for k in (a1, a2, a3, a4):
        with pytest.raises((soliton.CompileError, AttributeError)) as e:
            go(k, {M: 2, N: 64}, torch.zeros(2, 64), torch.zeros(2, 64))
        assert "test_users_control.py" in str(e.value) or isinstance(e.value, AttributeError), str(e.value)
