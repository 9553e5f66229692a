"""Matrix products: c[M, N] = a[M, K] · b[N, K]ᵀ.

    gemm, hyperparams, dynamic_symbols = get_gemm_kernel((1024, 1024, 512), False, MMAType.F32_16x16x16_F16)
"""

import sympy

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from soliton._errors import error
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE, WORKGROUP_0, WORKGROUP_2
from wave_lang.kernel.wave.utils.general_utils import ceildiv, get_default_scheduling_params, torch_dtype_to_wave
from wave_lang.kernel.wave.utils.torch_names import float16

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE
SPLITS, TILE, NUM_TILES, NUM_CTAS = tkl.sym.SPLITS, tkl.sym.TILE, tkl.sym.NUM_TILES, tkl.sym.NUM_CTAS


def _constraints(mfma_variant, threads_per_wave, waves=(2, 2), n_service_waves=0):
    return [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.WaveConstraint(M, sympy.floor(BLOCK_M / waves[0])),
        tkw.WaveConstraint(N, sympy.floor(BLOCK_N / waves[1])),
        tkw.HardwareConstraint(threads_per_wave=threads_per_wave, mma_type=mfma_variant, n_service_waves=n_service_waves),
    ]


def _bindings(shape, block_shape, dynamic_dims):
    """(subs, symbols that the launch binds)."""
    dynamic = (dynamic_dims,) * 3 if isinstance(dynamic_dims, bool) else tuple(dynamic_dims)
    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, M: shape[0], N: shape[1], K: shape[2]}
    subs |= {BLOCK_M: block_shape[0], BLOCK_N: block_shape[1], BLOCK_K: block_shape[2]}
    subs.update(get_default_scheduling_params())
    symbols = [symbol for symbol, is_dynamic in zip((M, N, K), dynamic) if is_dynamic]
    for symbol in symbols:
        del subs[symbol]
    return subs, symbols


def get_gemm_kernel(
    shape,
    dynamic_dims,
    mfma_variant,
    dtype=float16,
    threads_per_wave=64,
    block_shape=None,
    waves_per_block=None,
    n_service_waves=0,
):
    """The plain product; the operands go through shared memory."""
    kind = torch_dtype_to_wave(dtype)
    subs, dynamic = _bindings(shape, block_shape or (64, 64, 32), dynamic_dims)
    waves = tuple(waves_per_block or (2, 2))
    constraints = _constraints(mfma_variant, threads_per_wave, waves, n_service_waves)
    constraints += [tkw.TilingConstraint(K, BLOCK_K)]
    if K in dynamic:
        constraints += [tkw.Assumption(K > 4 * BLOCK_K)]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, kind],
        b: tkl.Memory[N, K, ADDRESS_SPACE, kind],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            a_reg = tkw.read(a)
            b_reg = tkw.read(b)
            return tkw.mma(a_reg, b_reg, acc)

        tkw.write(repeat, c)

    return gemm, subs, dynamic


def get_scaled_gemm_kernel(shape, mfma_variant, block_shape=None, waves_per_block=None):
    """The product of 4-bit floats, two a byte, of which 32 neighbours along K share a scale."""
    subs, _ = _bindings(shape, block_shape or (32, 32, 256), False)
    constraints = _constraints(mfma_variant, 64, tuple(waves_per_block or (2, 2)))

    @tkw.wave([*constraints, tkw.TilingConstraint(K, BLOCK_K)])
    def scaled_gemm(
        a: tkl.Memory[M, K / 2, ADDRESS_SPACE, tkl.i8],
        a_scale: tkl.Memory[M, K / 32, ADDRESS_SPACE, tkl.i8],
        b: tkl.Memory[N, K / 2, ADDRESS_SPACE, tkl.i8],
        b_scale: tkl.Memory[N, K / 32, ADDRESS_SPACE, tkl.i8],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def repeat(acc):
            left, right = (tkw.bitcast(tkw.read(each), tkl.f4e2m1fn) for each in (a, b))
            left_scale, right_scale = (tkw.bitcast(tkw.read(each), tkl.f8e8m0fnu) for each in (a_scale, b_scale))
            return tkw.scaled_mma(left, left_scale, right, right_scale, acc)

        tkw.write(repeat, c)

    return scaled_gemm, subs


def split_of(k, block_k, num_splits):
    """A loop over one of `num_splits` parts of K, the one of the workgroup along dimension 2."""
    part = ceildiv(ceildiv(k, block_k), num_splits) * block_k
    begin = WORKGROUP_2 * part
    rest = sympy.Max(sympy.Min(K, begin + part) - begin, 0)
    return [tkw.WorkgroupConstraint(SPLITS, 1, 2), tkw.TilingConstraint(K, BLOCK_K, iters=sympy.ceiling(rest / BLOCK_K), start=begin)]


def get_splitk_gemm_kernel(shape, num_splits, mfma_variant, dtype=float16, threads_per_wave=64, block_shape=None, waves_per_block=None):
    """Parts of K by different workgroups, which add up in `c`; it has to be zero before."""
    wave_dtype = torch_dtype_to_wave(dtype)
    subs, _ = _bindings(shape, block_shape or (64, 64, 32), False)
    constraints = _constraints(mfma_variant, threads_per_wave, tuple(waves_per_block or (2, 2)))

    @tkw.wave([*constraints, *split_of(shape[2], subs[BLOCK_K], num_splits)])
    def splitk_gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, wave_dtype],
        b: tkl.Memory[N, K, ADDRESS_SPACE, wave_dtype],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def repeat(acc):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.atomic_add(repeat, c)

    return splitk_gemm, subs | {SPLITS: num_splits}


# ---- A fixed number of workgroups ----------------------------------------------------------------------------------------


def _get_persistent_kernel(name, shape, mfma_variant, threads_per_wave, block_shape, waves_per_block, num_ctas, first, place):
    """Workgroups take tile after tile: `first` says which one they begin with, `place` where a tile lies."""
    subs, _ = _bindings(shape, block_shape or (128, 256, 64), False)
    tiles = ceildiv(shape[0], subs[BLOCK_M]), ceildiv(shape[1], subs[BLOCK_N])
    subs |= {NUM_CTAS: num_ctas or 304, NUM_TILES: tiles[0] * tiles[1]}
    constraints = _constraints(mfma_variant, threads_per_wave, tuple(waves_per_block or (2, 2)))
    constraints += [tkw.TilingConstraint(K, BLOCK_K), tkw.TilingConstraint(TILE), tkw.GridConstraint(NUM_CTAS)]
    row, column = (at * block for at, block in zip(place(TILE, *tiles), (BLOCK_M, BLOCK_N)))
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    rows_of_a = tkw.IndexMapping(2, inputs={M: i + row, K: j}, outputs={M: i, K: j})
    rows_of_b = tkw.IndexMapping(2, inputs={N: i + column, K: j}, outputs={N: i, K: j})
    tile_of_c = tkw.IndexMapping(2, inputs={M: i, N: j}, outputs={M: i + row, N: j + column})

    def persistent_gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        @tkw.iterate(TILE, start=tkw.scalar(first(subs[NUM_CTAS]), tkl.i32), condition=TILE < NUM_TILES, init_args=[])
        def tiles_of_this_workgroup():
            @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
            def repeat(acc):
                return tkw.mma(tkw.read(a, mapping=rows_of_a), tkw.read(b, mapping=rows_of_b), acc)

            tkw.write(repeat, c, mapping=tile_of_c)
            tkw.set_symbol(TILE, tkw.scalar(TILE + NUM_CTAS, tkl.i32))

    persistent_gemm.__name__ = name
    return tkw.wave(constraints)(persistent_gemm), subs


def get_persistent_gemm_kernel(shape, mfma_variant, threads_per_wave=64, block_shape=None, waves_per_block=None, num_ctas=None):
    """`num_ctas` workgroups, which take tiles in turn, row by row."""
    place = lambda tile, rows, columns: (tile // columns, tile % columns)  # noqa: E731
    options = (shape, mfma_variant, threads_per_wave, block_shape, waves_per_block, num_ctas)
    return _get_persistent_kernel("persistent_gemm", *options, lambda _: WORKGROUP_0, place)


def get_persistent_reordering_kernel(
    shape, mfma_variant, threads_per_wave=64, block_shape=None, waves_per_block=None, num_ctas=None, group_size_m=4, num_xcds=8, chunk_size=2
):
    """The same in an order that suits caches: neighbours on one die, and groups of rows of tiles."""

    def first(num_ctas):
        # Workgroups go round the dies, so every `num_xcds`-th is on the same one: `chunk_size` of those are neighbours.
        turn = num_xcds * chunk_size
        mine = WORKGROUP_0 // num_xcds
        neighbour = mine // chunk_size * turn + WORKGROUP_0 % num_xcds * chunk_size + mine % chunk_size
        return sympy.Piecewise((neighbour, WORKGROUP_0 < num_ctas // turn * turn), (WORKGROUP_0, True))

    def place(tile, rows, columns):
        group = tile // (group_size_m * columns)
        height = sympy.Max(sympy.Min(rows - group * group_size_m, group_size_m), 1)
        inside = tile % (group_size_m * columns)
        return group * group_size_m + inside % height, inside // height

    options = (shape, mfma_variant, threads_per_wave, block_shape, waves_per_block, num_ctas)
    return _get_persistent_kernel("persistent_gemm_reordering", *options, first, place)


def get_gemm_kernel_transpose_a_b(shape, dynamic_dims, mfma_variant, dtype=float16, threads_per_wave=64):
    """c[M, N] = a[K, M]ᵀ · b[K, N]: both operands lie the other way round."""
    kind = torch_dtype_to_wave(dtype)
    subs, dynamic = _bindings(shape, (64, 64, 32), dynamic_dims)
    m, n, k = (tkl.sym.m, tkl.sym.n, tkl.sym.k)
    constraints = _constraints(mfma_variant, threads_per_wave)
    constraints += [tkw.TilingConstraint(K, BLOCK_K), tkw.IteratorBindings({m: M, n: N, k: K})]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[K, M, ADDRESS_SPACE, kind],
        b: tkl.Memory[K, N, ADDRESS_SPACE, kind],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc):
            a_reg = tkw.read(a, source=(k, m), target=(m, k))
            b_reg = tkw.read(b, source=(k, n), target=(n, k))
            return tkw.mma(a_reg, b_reg, acc)

        tkw.write(repeat, c)

    return gemm, subs, dynamic


# ---- Workgroups that wait for each other -------------------------------------------------------------------------------------

NUM_CTAS_SK_TILES, LOCK_DIM = tkl.sym.NUM_CTAS_SK_TILES, tkl.sym.LOCK_DIM
PEER, SEEN, FIRST_STEP, NUM_STEPS = tkl.sym.PEER, tkl.sym.SEEN, tkl.sym.FIRST_STEP, tkl.sym.NUM_STEPS
VOLATILE = tkw.MemoryAccessFlags.VOLATILE


def _get_stream_k(name, shape, mfma_variant, threads_per_wave, block_shape, num_ctas, whole_tiles):
    """Workgroups share the steps along K of all tiles evenly, behind the first `whole_tiles(count, workgroups)`, which they take in turn
    and compute alone. Who has the first step of a tile waits for those that have the others, and adds what they left in
    `partial_buffer`; `lock_buffer` says that it is there, and has to be 0 before. Nobody waits for a lower number."""
    subs, _ = _bindings(shape, block_shape or (128, 256, 64), False)
    tiles = ceildiv(shape[0], subs[BLOCK_M]), ceildiv(shape[1], subs[BLOCK_N])
    workgroups, depth = num_ctas or 304, ceildiv(shape[2], subs[BLOCK_K])
    alone = whole_tiles(tiles[0] * tiles[1], workgroups)
    steps = (tiles[0] * tiles[1] - alone) * depth
    share = max(ceildiv(steps, workgroups), 1)
    subs |= {NUM_CTAS: workgroups, NUM_TILES: tiles[0] * tiles[1], NUM_CTAS_SK_TILES: workgroups, LOCK_DIM: 1}
    constraints = _constraints(mfma_variant, threads_per_wave)
    constraints += [tkw.TilingConstraint(K, BLOCK_K, iters=NUM_STEPS, start=FIRST_STEP * BLOCK_K), tkw.GridConstraint(NUM_CTAS)]
    constraints += [tkw.TilingConstraint(axis) for axis in (TILE, PEER, SEEN)]
    # The workgroup's part of all steps, and where its tile lies.
    first = sympy.Min(WORKGROUP_0 * share, steps)
    last = sympy.Min(first + share, steps)
    row, column = TILE // tiles[1] * BLOCK_M, TILE % tiles[1] * BLOCK_N
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    rows_of_a = tkw.IndexMapping(2, inputs={M: i + row, K: j}, outputs={M: i, K: j})
    rows_of_b = tkw.IndexMapping(2, inputs={N: i + column, K: j}, outputs={N: i, K: j})
    tile_of_c = tkw.IndexMapping(2, inputs={M: i, N: j}, outputs={M: i + row, N: j + column})
    to_others = tkw.IndexMapping(2, inputs={M: i, N: j}, outputs={NUM_CTAS_SK_TILES: WORKGROUP_0, M: i, N: j})
    of_peer = tkw.IndexMapping(2, inputs={NUM_CTAS_SK_TILES: PEER, M: i, N: j}, outputs={M: i, N: j})
    own_lock = tkw.IndexMapping(1, inputs={LOCK_DIM: i}, outputs={NUM_CTAS_SK_TILES: WORKGROUP_0, LOCK_DIM: i})
    lock_of_peer = tkw.IndexMapping(1, inputs={NUM_CTAS_SK_TILES: PEER, LOCK_DIM: i}, outputs={LOCK_DIM: i})

    def number(value):
        return tkw.scalar(value, tkl.i32)

    def streamk_gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
        partial_buffer: tkl.Memory[
            NUM_CTAS_SK_TILES, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32, tkl.MemoryLayout(shape=(NUM_CTAS_SK_TILES, BLOCK_M, BLOCK_N))
        ],
        lock_buffer: tkl.Memory[NUM_CTAS_SK_TILES, LOCK_DIM, GLOBAL_ADDRESS_SPACE, tkl.f32],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        def product(begin, end):
            tkw.set_symbol(FIRST_STEP, number(begin))
            tkw.set_symbol(NUM_STEPS, number(end - begin))

            @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
            def repeat(acc):
                return tkw.mma(tkw.read(a, mapping=rows_of_a), tkw.read(b, mapping=rows_of_b), acc)

            return repeat

        if alone:

            @tkw.iterate(TILE, start=number(WORKGROUP_0), condition=TILE < alone, init_args=[])
            def whole():
                tkw.write(product(0, depth), c, mapping=tile_of_c)
                tkw.set_symbol(TILE, number(TILE + NUM_CTAS))

        @tkw.iterate(TILE, start=number(alone + first // depth), condition=(TILE - alone) * depth < last, init_args=[])
        def shared():
            begin = sympy.Max(first - (TILE - alone) * depth, 0)
            part = product(begin, sympy.Min(last - (TILE - alone) * depth, depth))

            @tkw.conditional(begin > 0)
            def helps():
                tkw.write(part, partial_buffer, mapping=to_others, flags=VOLATILE)
                tkw.write(tkl.Register[LOCK_DIM, tkl.f32](1.0), lock_buffer, mapping=own_lock, flags=VOLATILE)

            @tkw.conditional(sympy.Eq(begin, 0))
            def owns():
                behind = sympy.Min((TILE - alone + 1) * depth, steps)  # the first step that is not the tile's

                @tkw.iterate(PEER, start=number(WORKGROUP_0 + 1), condition=PEER * share < behind, init_args=[part])
                def gathered(acc):
                    @tkw.iterate(SEEN, start=number(0), condition=SEEN < 1, init_args=[])
                    def wait():
                        tkw.set_symbol(SEEN, tkw.cast(tkw.read(lock_buffer, mapping=lock_of_peer, flags=VOLATILE), tkl.i32))

                    acc += tkw.read(partial_buffer, mapping=of_peer, flags=VOLATILE)
                    tkw.set_symbol(PEER, number(PEER + 1))
                    return acc

                tkw.write(gathered, c, mapping=tile_of_c)

            tkw.set_symbol(TILE, number(TILE + 1))

    streamk_gemm.__name__ = name
    return tkw.wave(constraints)(streamk_gemm), subs


def get_streamk_gemm_kernel(shape, mfma_variant, threads_per_wave=64, block_shape=None, num_ctas=None):
    """All tiles by steps: streamk_gemm(a, b, partial_buffer, lock_buffer, c). On the emulator."""
    return _get_stream_k("streamk_gemm", shape, mfma_variant, threads_per_wave, block_shape, num_ctas, lambda count, _: 0)


def get_hybrid_streamk_gemm_kernel(shape, mfma_variant, threads_per_wave=64, block_shape=None, num_ctas=None, streamk_tiles=None):
    """The last `streamk_tiles` tiles by steps, by default those that would not fill all workgroups; the others whole. On the emulator."""

    def whole_tiles(count, workgroups):
        return max(count - streamk_tiles, 0) if streamk_tiles is not None else count // workgroups * workgroups

    return _get_stream_k("hybrid_streamk_gemm", shape, mfma_variant, threads_per_wave, block_shape, num_ctas, whole_tiles)
