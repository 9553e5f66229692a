"""The corpus of index expressions, written once.

Each formula takes an algebra `a` (operations) and `s` (symbols by name) and returns {label: expression}. The same
text therefore builds plain integers (the truth), a recorded program (what the C++ side replays with Soliton's
operators) and SymPy expressions.

    python3 corpus.py > corpus.txt      # writes the recorded corpus
"""

import random

# ---------------------------------------------------------------------------------------------------------------------
# Formulas. Tile sizes are symbols when an expression is built, as in a kernel's source; a configuration binds them.
# ---------------------------------------------------------------------------------------------------------------------


def lane_of(a, s):
    return a.mod(s.T0, s.LANES)


def wave_row(a, s):
    return a.floordiv(s.T0, s.LANES)


def gemm(a, s):
    """f16 GEMM, C[M, N] += A[M, K] * B[N, K]: start of each operand, addresses, staging copies (reference 4.18)."""
    lane, wave = lane_of(a, s), wave_row(a, s)
    inner = a.floordiv(lane, s.MMA_M)
    row = s.BLOCK_M * s.WG0 + s.WAVE_M * wave + a.mod(s.T0, s.MMA_M)
    col = s.BLOCK_N * s.WG1 + s.WAVE_N * s.T1 + a.mod(s.T0, s.MMA_M)
    k = s.BLOCK_K * s.ARGK + s.ELEMS * inner
    acc = s.BLOCK_M * s.WG0 + s.WAVE_M * wave + 4 * inner
    out = {"a.m": row, "b.n": col, "a.k": k, "acc.m": acc}
    out["a.address"] = row * s.K + k
    out["b.address"] = col * s.K + k
    out["c.address"] = acc * s.N + col
    out["a.shared"] = (row - s.BLOCK_M * s.WG0) * (s.BLOCK_K + s.PAD) + (k - s.BLOCK_K * s.ARGK)
    linear = s.VECTOR * (s.T0 + s.THREADS_X * s.T1)
    copy_row = a.mod(a.floordiv(linear, s.BLOCK_K), s.BLOCK_M)
    copy_col = a.mod(linear, s.BLOCK_K)
    out["copy.row"], out["copy.col"] = s.BLOCK_M * s.WG0 + copy_row, s.BLOCK_K * s.ARGK + copy_col
    out["copy.address"] = out["copy.row"] * s.K + out["copy.col"]
    out["copy.shared"] = copy_row * (s.BLOCK_K + s.PAD) + copy_col
    out["mask"] = a.lt(row, s.M)
    return out


def gemm_wide(a, s):
    """32x32 fragments: the accumulator's rows 8*(g // 4) + 4*(lane // 32) + g % 4."""
    lane, wave = lane_of(a, s), wave_row(a, s)
    row = s.BLOCK_M * s.WG0 + s.WAVE_M * wave
    g = s.GPR
    acc = row + 8 * a.floordiv(g, 4) + 4 * a.floordiv(lane, 32) + a.mod(g, 4)
    out = {"acc.m": acc, "acc.n": s.BLOCK_N * s.WG1 + s.WAVE_N * s.T1 + a.mod(s.T0, 32)}
    out["c.address"] = acc * s.N + out["acc.n"]
    out["steps"] = a.ceildiv(s.K, s.BLOCK_K)
    return out


def transposed(a, s):
    """A is stored [K, M]: the staging copy walks columns."""
    lane, wave = lane_of(a, s), wave_row(a, s)
    m = s.BLOCK_M * s.WG0 + s.WAVE_M * wave + a.mod(lane, s.MMA_M)
    k = s.BLOCK_K * s.ARGK + s.ELEMS * a.floordiv(lane, s.MMA_M)
    linear = s.VECTOR * (s.T0 + s.THREADS_X * s.T1)
    k_row = a.floordiv(linear, s.BLOCK_M)
    m_col = a.mod(linear, s.BLOCK_M)
    out = {"a.address": k * s.M + m, "copy.address": (s.BLOCK_K * s.ARGK + k_row) * s.M + s.BLOCK_M * s.WG0 + m_col}
    out["copy.shared"] = m_col * (s.BLOCK_K + s.PAD) + k_row
    out["copy.again"] = a.floordiv(out["copy.shared"], s.BLOCK_K + s.PAD) * (s.BLOCK_K + s.PAD) + a.mod(
        out["copy.shared"], s.BLOCK_K + s.PAD
    )
    return out


def swizzled(a, s):
    """xor swizzle of shared columns in units, and the grouped order of workgroups."""
    linear = s.VECTOR * s.T0
    row, col = a.floordiv(linear, s.BLOCK_K), a.mod(linear, s.BLOCK_K)
    unit = s.VECTOR
    new_col = a.xor(a.mod(row, s.PHASE), a.floordiv(col, unit)) * unit + a.mod(col, unit)
    out = {"swizzle.address": row * s.BLOCK_K + new_col}
    flat = s.WG0 + s.WG1 * s.GRID_M
    group = a.floordiv(flat, s.GROUP * s.GRID_N)
    first = group * s.GROUP
    size = a.minimum(s.GRID_M - first, s.GROUP)
    out["order.m"] = first + a.mod(a.mod(flat, s.GROUP * s.GRID_N), size)
    out["order.n"] = a.floordiv(a.mod(flat, s.GROUP * s.GRID_N), size)
    out["split.k"] = s.WG1 * s.SPLIT + s.BLOCK_K * s.ARGK
    out["split.length"] = a.minimum(s.K, (s.WG1 + 1) * s.SPLIT) - s.WG1 * s.SPLIT
    return out


def convolution(a, s):
    """Implicit GEMM: M = batch x height x width of the output, K = taps x channels (NHWC)."""
    lane, wave = lane_of(a, s), wave_row(a, s)
    m = s.BLOCK_M * s.WG0 + s.WAVE_M * wave + a.mod(lane, s.MMA_M)
    k = s.BLOCK_K * s.ARGK + s.ELEMS * a.floordiv(lane, s.MMA_M)
    batch = a.floordiv(m, s.OH * s.OW)
    oy = a.floordiv(a.mod(m, s.OH * s.OW), s.OW)
    ox = a.mod(m, s.OW)
    fy = a.floordiv(k, s.FW * s.C)
    fx = a.floordiv(a.mod(k, s.FW * s.C), s.C)
    channel = a.mod(k, s.C)
    y, x = oy * s.STRIDE + fy, ox * s.STRIDE + fx
    out = {"x.batch": batch, "x.row": y, "x.col": x, "x.channel": channel}
    out["x.address"] = ((batch * s.H + y) * s.W + x) * s.C + channel
    out["y.address"] = ((batch * s.OH + oy) * s.OW + ox) * s.N + s.BLOCK_N * s.WG1 + s.WAVE_N * s.T1
    out["inside"] = a.conj(a.lt(y, s.H), a.lt(x, s.W))
    out["tail"] = a.select(a.lt(m, s.M), m, s.M - 1)
    return out


def attention(a, s):
    """Flash attention with grouped query heads; one workgroup per (head, block of queries)."""
    lane, wave = lane_of(a, s), wave_row(a, s)
    head, kv_head = s.WG1, a.floordiv(s.WG1, s.HEADS_PER_KV)
    m = s.BLOCK_M * s.WG0 + s.WAVE_M * wave + a.mod(lane, s.MMA_M)
    d = s.ELEMS * a.floordiv(lane, s.MMA_M)
    kv = s.BLOCK_K * s.ARGK + a.mod(lane, s.MMA_M)
    out = {"q.address": (head * s.M + m) * s.D + d, "k.address": (kv_head * s.KV + kv) * s.D + d}
    linear = s.VECTOR * (s.T0 + s.THREADS_X * s.T1)
    row, col = a.floordiv(linear, s.D), a.mod(linear, s.D)
    out["v.address"] = (kv_head * s.KV + s.BLOCK_K * s.ARGK + row) * s.D + col
    out["v.shared"] = row * (s.D + s.PAD) + col
    out["p.kv"] = s.BLOCK_K * s.ARGK + 4 * a.floordiv(lane, s.MMA_M) + a.mod(s.GPR, 4)
    out["causal"] = a.select(a.le(out["p.kv"], m), 0, 1)
    out["blocks"] = a.minimum(a.ceildiv(s.KV, s.BLOCK_K), a.ceildiv(s.BLOCK_M * (s.WG0 + 1), s.BLOCK_K))
    return out


def paged(a, s):
    """Paged keys: a block table gives the page (PAGE), positions inside follow."""
    lane, wave = lane_of(a, s), wave_row(a, s)
    position = s.BLOCK_K * s.ARGK + s.WAVE_M * wave + a.mod(lane, s.MMA_M)
    d = s.VECTOR * a.floordiv(lane, s.MMA_M)
    out = {"table": s.WG1 * s.PAGES + a.floordiv(position, s.PAGE_SIZE)}
    out["k.address"] = (s.PAGE * s.PAGE_SIZE + a.mod(position, s.PAGE_SIZE)) * s.D + d
    out["again"] = a.floordiv(position, s.PAGE_SIZE) * s.PAGE_SIZE + a.mod(position, s.PAGE_SIZE)
    out["valid"] = a.lt(position, s.KV)
    return out


def scales(a, s):
    """Preshuffled block scales (reference 4.8)."""
    lane, wave = lane_of(a, s), wave_row(a, s)
    m = s.BLOCK_M * s.WG0 + s.WAVE_M * wave + a.mod(lane, s.MMA_M)
    k = a.floordiv(s.BLOCK_K * s.ARGK, 32) + a.floordiv(lane, s.MMA_M)
    flat = (
        a.floordiv(m, 32) * (a.floordiv(s.KSCALE, 8) * 256)
        + a.floordiv(k, 8) * 256
        + a.mod(k, 4) * 64
        + a.mod(m, 16) * 4
        + a.mod(a.floordiv(k, 4), 2) * 2
        + a.mod(a.floordiv(m, 16), 2)
    )
    return {"flat": flat, "row": a.floordiv(flat, s.KSCALE), "col": a.mod(flat, s.KSCALE)}


FORMULAS = [gemm, gemm_wide, transposed, swizzled, convolution, attention, paged, scales]

# ---------------------------------------------------------------------------------------------------------------------
# Configurations: what substitution binds, and the ranges of what stays symbolic.
# ---------------------------------------------------------------------------------------------------------------------

DYNAMIC = ["WG0", "WG1", "T0", "T1", "ARGK", "GPR", "PAGE", "M", "N", "K", "KV", "KSCALE"]
POSITIVE = ["M", "N", "K", "KV", "KSCALE"]
STATIC = [
    "BLOCK_M", "BLOCK_N", "BLOCK_K", "WAVE_M", "WAVE_N", "MMA_M", "ELEMS", "LANES", "PAD", "VECTOR", "THREADS_X", "PHASE",
    "GROUP", "GRID_M", "GRID_N", "SPLIT", "OH", "OW", "FW", "C", "H", "W", "STRIDE", "HEADS_PER_KV", "D", "PAGES", "PAGE_SIZE",
]  # fmt: skip

TILES = [  # block m, n, k, waves along m, mma, elements, vector
    (64, 64, 32, 2, 16, 4, 8),
    (128, 128, 32, 2, 16, 4, 8),
    (128, 256, 64, 2, 16, 8, 8),
    (256, 256, 64, 4, 16, 8, 8),
    (64, 128, 64, 1, 32, 4, 4),
    (128, 64, 128, 2, 32, 8, 16),
    (96, 96, 48, 3, 16, 4, 4),
    (256, 128, 32, 4, 32, 4, 8),
]


def configurations():
    for i, (bm, bn, bk, wm, mma, elems, vector) in enumerate(TILES):
        lanes = 64 if i % 2 == 0 else 32
        image = [(56, 56, 3, 64, 1), (28, 28, 3, 128, 1), (14, 14, 1, 256, 2), (7, 7, 3, 512, 1)][i % 4]
        oh, ow, fw, c, stride = image
        yield {
            "BLOCK_M": bm, "BLOCK_N": bn, "BLOCK_K": bk, "WAVE_M": bm // wm, "WAVE_N": bn // 2, "MMA_M": mma,
            "ELEMS": elems, "LANES": lanes, "PAD": 4 if i % 2 else 8, "VECTOR": vector, "THREADS_X": wm * lanes,
            "PHASE": 8, "GROUP": 8 if i % 2 else 4, "GRID_M": 32 + i, "GRID_N": 24 + i, "SPLIT": 256 * (1 + i % 3),
            "OH": oh, "OW": ow, "FW": fw, "C": c, "H": oh * stride + fw - 1, "W": ow * stride + fw - 1, "STRIDE": stride,
            "HEADS_PER_KV": [1, 4, 8, 6][i % 4], "D": [64, 128, 96, 256][i % 4], "PAGES": 64, "PAGE_SIZE": [16, 32, 64, 128][i % 4],
        }  # fmt: skip


def ranges(config):
    """Inclusive bounds of the symbols that stay; None is unbounded."""
    out = {name: (1 if name in POSITIVE else 0, None) for name in DYNAMIC}
    out["T0"], out["T1"], out["GPR"] = (0, config["THREADS_X"] - 1), (0, 1), (0, 15)
    return out


# ---------------------------------------------------------------------------------------------------------------------
# Algebras
# ---------------------------------------------------------------------------------------------------------------------


class Integers:
    """The truth."""

    floordiv = staticmethod(lambda x, y: x // y)
    ceildiv = staticmethod(lambda x, y: -((-x) // y))
    mod = staticmethod(lambda x, y: x % y)
    xor = staticmethod(lambda x, y: x ^ y)
    minimum = staticmethod(min)
    lt = staticmethod(lambda x, y: int(x < y))
    le = staticmethod(lambda x, y: int(x <= y))
    conj = staticmethod(lambda x, y: int(bool(x) and bool(y)))
    select = staticmethod(lambda c, x, y: x if c else y)


class Recorded:
    """A value of the recorded program: the number of the instruction that makes it."""

    def __init__(self, recorder, index):
        self.recorder, self.index = recorder, index

    def _with(self, name, other, swap=False):
        other = self.recorder.value(other)
        left, right = (other, self) if swap else (self, other)
        return self.recorder.emit(name, left.index, right.index)

    def __add__(self, other):
        return self._with("add", other)

    def __radd__(self, other):
        return self._with("add", other, True)

    def __sub__(self, other):
        return self._with("sub", other)

    def __rsub__(self, other):
        return self._with("sub", other, True)

    def __mul__(self, other):
        return self._with("mul", other)

    def __rmul__(self, other):
        return self._with("mul", other, True)


class Recorder:
    """Records operations as a program: a list of (name, operands)."""

    def __init__(self):
        self.program = []

    def emit(self, name, *operands):
        self.program.append((name, operands))
        return Recorded(self, len(self.program) - 1)

    def value(self, x):
        return x if isinstance(x, Recorded) else self.emit("const", x)

    def __getattr__(self, name):
        def operation(*operands):
            return self.emit(name, *[self.value(x).index for x in operands])

        return operation


class Symbols:
    def __init__(self, get):
        self._get = get

    def __getattr__(self, name):
        return self._get(name)


def live(program, root):
    """The instructions that `root` needs, renumbered."""
    needed, stack = set(), [root]
    while stack:
        i = stack.pop()
        if i not in needed:
            needed.add(i)
            name, operands = program[i]
            if name not in ("const", "symbol"):
                stack.extend(operands)
    order = sorted(needed)
    place = {old: new for new, old in enumerate(order)}
    out = []
    for old in order:
        name, operands = program[old]
        out.append((name, operands if name in ("const", "symbol") else tuple(place[o] for o in operands)))
    return out


def record(formula):
    """{label: program} of one formula; symbols are recorded once."""
    recorder = Recorder()
    known = {}

    def symbol(name):
        if name not in known:
            known[name] = recorder.emit("symbol", name)
        return known[name]

    return {label: live(recorder.program, e.index) for label, e in formula(recorder, Symbols(symbol)).items()}


def points(config, seed, count=6):
    """Random values of the dynamic symbols within their ranges."""
    source = random.Random(seed)
    out = []
    for _ in range(count):
        out.append({n: source.randint(lo, hi if hi is not None else 5000) for n, (lo, hi) in ranges(config).items()})
    return out


def entries():
    """(name, program, config, [(point, value)]) for every expression of the corpus."""
    for formula in FORMULAS:
        programs = record(formula)
        for number, config in enumerate(configurations()):
            samples = points(config, number)
            truths = [formula(Integers, Symbols({**config, **p}.__getitem__)) for p in samples]
            for label, program in programs.items():
                values = [(p, t[label]) for p, t in zip(samples, truths)]
                yield f"{formula.__name__}.{label}.{number}", program, config, values


def write():
    """One expression per block of lines; read by SymbolicBench.cpp."""
    for name, program, config, values in entries():
        used = [o[0] for n, o in program if n == "symbol"]
        print("expression", name)
        for operation, operands in program:
            print("op", operation, *operands)
        for symbol in used:
            if symbol in config:
                print("bind", symbol, config[symbol])
            else:
                lo, hi = ranges(config)[symbol]
                print("range", symbol, lo, "-" if hi is None else hi)
        for point, value in values:
            print("value", value, *[f"{n}={point[n]}" for n in used if n in point])
        print("end")


if __name__ == "__main__":
    write()
