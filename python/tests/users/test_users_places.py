"""Elements that lie elsewhere, as Wave's users write them, with torch."""

from of_users import *  # noqa: F403 - as these programs import


@pytest.mark.parametrize("side", ["read", "write"])
def test_transpose(side):
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    mp = tkw.IndexMapping(num_iterators=2, inputs={N: i, M: j}, outputs={N: i, M: j})
    if side == "read":
        cons = [
            tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={N: 16, M: 4}),
            tkw.WorkgroupConstraint(N, 16, 0),
            tkw.WorkgroupConstraint(M, 16, 1),
            tkw.WaveConstraint(N, 16),
            tkw.WaveConstraint(M, 16),
        ]

        @tkw.wave(cons)
        def t(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16], b: tkl.Memory[N, M, GLOBAL_ADDRESS_SPACE, tkl.f16]):
            tkw.write(tkw.read(a, mapping=mp, elements_per_thread=1), b, elements_per_thread=1)
    else:
        cons = [
            tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={N: 16, M: 4}),
            tkw.WorkgroupConstraint(N, 16, 0),
            tkw.WorkgroupConstraint(M, 16, 1),
            tkw.WaveConstraint(N, 16),
            tkw.WaveConstraint(M, 16),
        ]
        wm = tkw.IndexMapping(num_iterators=2, inputs={M: i, N: j}, outputs={M: i, N: j})

        @tkw.wave(cons)
        def t(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16], b: tkl.Memory[N, M, GLOBAL_ADDRESS_SPACE, tkl.f16]):
            tkw.write(tkw.read(a, elements_per_thread=1), b, mapping=wm, elements_per_thread=1)

    a = device_randn(50, 37, dtype=torch.float16)
    b = device_zeros(37, 50, dtype=torch.float16)
    go(t, {M: 50, N: 37}, a, b)
    assert_close(b, a.T)


def test_gather_rows_embedding():
    V, D, T = tkl.sym.V, tkl.sym.D, tkl.sym.T
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    d0 = tkw.IndexMapping.dynamic_val(0)
    mp = tkw.IndexMapping(num_iterators=2, inputs={V: d0, D: j}, outputs={T: i, D: j}, dynamic_val_mappings={T: i})
    cons = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={T: 1, D: 64}),
        tkw.WorkgroupConstraint(T, 1, 0),
        tkw.WorkgroupConstraint(D, 64, 1),
        tkw.WaveConstraint(T, 1),
        tkw.WaveConstraint(D, 64),
    ]

    @tkw.wave(cons)
    def emb(
        table: tkl.Memory[V, D, GLOBAL_ADDRESS_SPACE, tkl.f32],
        ids: tkl.Memory[T, GLOBAL_ADDRESS_SPACE, tkl.i32],
        out: tkl.Memory[T, D, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        idx = tkw.read(ids, elements_per_thread=1)
        tkw.write(tkw.read(table, mapping=mp, mapping_dynamic_vals=(idx,), elements_per_thread=1), out, elements_per_thread=1)

    table = device_randn(40, 100)
    ids = device_randint(0, 40, (23,), dtype=torch.int32)
    out = device_zeros(23, 100)
    go(emb, {V: 40, D: 100, T: 23}, table, ids, out)
    assert_close(out, table[ids.long()])


def test_histogram():
    NE = tkl.sym.NE
    i = tkw.IndexMapping.iterator(0)
    d0 = tkw.IndexMapping.dynamic_val(0)
    mp = tkw.IndexMapping(num_iterators=1, inputs={NE: d0}, outputs={NE: i}, dynamic_val_mappings={M: i})
    cons = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 64, NE: 64}),
        tkw.WorkgroupConstraint(M, 64, 0),
        tkw.WaveConstraint(M, 64),
        tkw.WorkgroupConstraint(NE, 64, 1),
        tkw.WaveConstraint(NE, 64),
    ]

    @tkw.wave(cons)
    def hist(a: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.i32], out: tkl.Memory[NE, GLOBAL_ADDRESS_SPACE, tkl.i32]):
        one = tkl.Register[NE, tkl.i32](1)
        v = tkw.read(a, elements_per_thread=1)
        tkw.atomic_add(one, out, mapping=mp, mapping_dynamic_vals=(v,), elements_per_thread=1)

    a = device_randint(0, 8, (64,), dtype=torch.int32)
    out = device_zeros(8, dtype=torch.int32)
    go(hist, {M: 64, NE: 8}, a, out)
    assert_close(out, torch.bincount(a.long(), minlength=8).to(torch.int32))


def test_set_symbol_offset():
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    mp = tkw.IndexMapping(num_iterators=2, inputs={M: S, N: j}, outputs={M: i, N: j})

    @tkw.wave(elementwise(1, 64))
    def k(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        off: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.i32],
        b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        o = tkw.read(off, elements_per_thread=1)
        tkw.set_symbol(S, o)
        tkw.write(tkw.read(a, mapping=mp, elements_per_thread=1), b, elements_per_thread=1)

    a = device_randn(8, 64)
    perm = torch.randperm(8).to(torch.int32)
    b = device_zeros(8, 64)
    go(k, {M: 8, N: 64}, a, perm, b)
    assert_close(b, a[perm.long()])


def test_symbol_bind():
    @tkw.wave(elementwise(1, 64))
    def k(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32], SHIFT: tkl.SymbolBind[tkl.i32]):
        idx = tkw.self_index(N, tkl.i32)
        v = tkw.apply_expr(idx, lambda x: (x + tkl.sym.SHIFT) % 17)
        tkw.write(tkw.broadcast(v, [M, N]), a)

    a = device_zeros(3, 64, dtype=torch.int32)
    go(k, {M: 3, N: 64}, a, 9)
    assert_close(a[1], ((torch.arange(64) + 9) % 17).to(torch.int32))


def test_iterator_bindings_source_target():
    i, j = sympy.Symbol("i", integer=True), sympy.Symbol("j", integer=True)
    cons = elementwise(16, 16) + [tkw.IteratorBindings({i: M, j: N})]

    @tkw.wave(cons)
    def k(a: tkl.Memory[N, M, GLOBAL_ADDRESS_SPACE, tkl.f32], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        x = tkw.read(a, source=(j, i), target=(i, j))
        tkw.write(x, b, source=(i, j), target=(i, j))

    a = device_randn(40, 24)
    b = device_zeros(24, 40)
    go(k, {M: 24, N: 40}, a, b)
    assert_close(b, a.T)


def test_atomic_min_shared():
    cons = [
        tkw.HardwareConstraint(threads_per_wave=64, waves_per_block=(1, 2, 1), vector_shapes={M: 1, N: 64}),
        tkw.WorkgroupConstraint(M, 2, 1),
        tkw.WorkgroupConstraint(N, 64, 0),
        tkw.WaveConstraint(M, 1),
        tkw.WaveConstraint(N, 64),
    ]
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    rm = tkw.IndexMapping(num_iterators=2, inputs={M: 0, N: j}, outputs={M: i, N: j})

    @tkw.wave(cons)
    def k(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32], c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32]):
        x = tkw.read(a)
        sh = tkw.allocate((M, N), (1, 64), tkl.i32)
        inf = tkl.Register[M, N, tkl.i32](1e6)
        tkw.write(inf, sh)
        tkw.atomic_min(x, sh, mapping=rm)
        tkw.write(tkw.read(sh, mapping=rm), c)

    a = device_randint(0, 1000, (2, 64), dtype=torch.int32)
    c = device_zeros(2, 64, dtype=torch.int32)
    go(k, {M: 2, N: 64}, a, c)
    w = a.min(0).values
    assert_close(c[0], w)


def test_scatter_add():
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    mp = tkw.IndexMapping(num_iterators=2, inputs={M: i, N: j}, outputs={M: i, N: j})

    @tkw.wave(elementwise(1, 64))
    def k(
        x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32],
        idx: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32],
        out: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32],
    ):
        s = tkw.read(x, elements_per_thread=1)
        t = tkw.read(idx, elements_per_thread=1)
        tkw.scatter_add(s, t, dim=0, memory=out, mapping=mp, elements_per_thread=1)

    x = device_randint(0, 9, (8, 64), dtype=torch.int32)
    idx = device_randint(0, 8, (8, 64), dtype=torch.int32)
    out = device_zeros(8, 64, dtype=torch.int32)
    go(k, {M: 8, N: 64}, x, idx, out)
    w = torch.zeros_like(out).scatter_add(0, idx.long(), x)
    assert_close(out, w)


def test_avg_pool():
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    maps = [tkw.IndexMapping(num_iterators=2, inputs={H: 2 * i + a, D: 2 * j + b}, outputs={M: i, N: j}) for a in (0, 1) for b in (0, 1)]

    @tkw.wave(elementwise(1, 64))
    def k(x: tkl.Memory[H, D, GLOBAL_ADDRESS_SPACE, tkl.f32], o: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        s = tkl.Register[M, N, tkl.f32](0.0)
        for m in maps:
            s = s + tkw.read(x, mapping=m, elements_per_thread=1)
        tkw.write(s * tkl.Register[M, N, tkl.f32](0.25), o, elements_per_thread=1)

    x, o = device_randn(20, 40), device_zeros(10, 20)
    go(k, {H: 20, D: 40, M: 10, N: 20}, x, o)
    assert_close(o, torch.nn.functional.avg_pool2d(x[None, None], 2)[0, 0])


def test_kv_cache_append():
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    d0 = tkw.IndexMapping.dynamic_val(0)
    wm = tkw.IndexMapping(num_iterators=2, inputs={B: i, D: j}, outputs={B: i, S: d0, D: j}, dynamic_val_mappings={B: i})

    @tkw.wave(tiles({D: 64, B: 1}))
    def k(
        new: tkl.Memory[B, D, GLOBAL_ADDRESS_SPACE, tkl.f16],
        pos: tkl.Memory[B, GLOBAL_ADDRESS_SPACE, tkl.i32],
        cache: tkl.Memory[B, S, D, GLOBAL_ADDRESS_SPACE, tkl.f16],
    ):
        p = tkw.read(pos, elements_per_thread=1)
        tkw.write(tkw.read(new, elements_per_thread=1), cache, mapping=wm, mapping_dynamic_vals=(p,), elements_per_thread=1)

    new, pos, cache = (
        device_randn(4, 64, dtype=torch.float16),
        torch.tensor([3, 0, 7, 5], dtype=torch.int32),
        device_zeros(4, 8, 64, dtype=torch.float16),
    )
    go(k, {B: 4, D: 64, S: 8}, new, pos, cache)
    w = torch.zeros_like(cache)
    w[torch.arange(4), pos.long()] = new
    assert_close(cache, w)


def test_paged_gather():
    PAGE, NP = tkl.sym.PAGE, tkl.sym.NP
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    d0 = tkw.IndexMapping.dynamic_val(0)
    m = tkw.IndexMapping(num_iterators=2, inputs={NP: d0, PAGE: i % 16, D: j}, outputs={S: i, D: j}, dynamic_val_mappings={T: i // 16})

    @tkw.wave(tiles({D: 64, S: 1}))
    def k(
        pages: tkl.Memory[NP, PAGE, D, GLOBAL_ADDRESS_SPACE, tkl.f32],
        table: tkl.Memory[T, GLOBAL_ADDRESS_SPACE, tkl.i32],
        o: tkl.Memory[S, D, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        t = tkw.read(table, elements_per_thread=1)
        tkw.write(tkw.read(pages, mapping=m, mapping_dynamic_vals=(t,), elements_per_thread=1), o, elements_per_thread=1)

    pages, table, o = device_randn(10, 16, 64), torch.tensor([7, 2, 9], dtype=torch.int32), device_zeros(48, 64)
    go(k, {NP: 10, PAGE: 16, D: 64, T: 3, S: 48}, pages, table, o)
    assert_close(o, pages[table.long()].reshape(48, 64))
