"""A matrix product with nothing but the package: no NumPy, no torch. scripts/check_wheel.py runs it where nothing else is.

    python wheel_gemm.py                 prints which Python, which library, and that the product is right
    python wheel_gemm.py torch soliton   the same after importing these in this order
"""

import importlib
import struct
import sys

for name in sys.argv[1:]:
    importlib.import_module(name)

import soliton
import soliton.lang as tkl
import soliton.wave as tkw
from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from soliton.wave.compile import WaveCompileOptions, wave_compile

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
ROWS, COLUMNS, DEPTH = 64, 32, 48

constraints = [tkw.WorkgroupConstraint(M, BLOCK_M, 0), tkw.WorkgroupConstraint(N, BLOCK_N, 1)]
constraints += [tkw.TilingConstraint(K, BLOCK_K), tkw.WaveConstraint(M, BLOCK_M), tkw.WaveConstraint(N, BLOCK_N)]
constraints += [tkw.HardwareConstraint(mma_type=tkw.MMAType.F32_16x16x16_F16)]


@tkw.wave(constraints)
def gemm(
    a: tkl.Memory[M, K, SHARED_ADDRESS_SPACE, tkl.f16],
    b: tkl.Memory[N, K, SHARED_ADDRESS_SPACE, tkl.f16],
    c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
):
    @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
    def repeat(acc):
        return tkw.mma(tkw.read(a), tkw.read(b), acc)

    tkw.write(repeat, c)


def halves(rows: int, columns: int, element) -> memoryview:
    """A matrix of f16, which Python's own views carry as unsigned integers."""
    numbers = [element(row, column) for row in range(rows) for column in range(columns)]
    return memoryview(bytearray(struct.pack(f"{len(numbers)}e", *numbers))).cast("H", (rows, columns))


def left(m: int, k: int) -> int:
    return (m * 3 + k * 5) % 7 - 3


def right(n: int, k: int) -> int:
    return (n * 2 + k * 3) % 5 - 2


subs = {M: ROWS, N: COLUMNS, K: DEPTH, BLOCK_M: 32, BLOCK_N: 16, BLOCK_K: 16}
for target in ("gfx942", "gfx950"):
    run = wave_compile(WaveCompileOptions(subs=subs, schedule=tkw.SchedulingType.PREFETCH, target=target, run_on="emulator"), gemm)
    c = memoryview(bytearray(4 * ROWS * COLUMNS)).cast("f", (ROWS, COLUMNS))
    run(halves(ROWS, DEPTH, left), halves(COLUMNS, DEPTH, right), c)
    for m in range(ROWS):
        for n in range(COLUMNS):
            expected = sum(left(m, k) * right(n, k) for k in range(DEPTH))
            assert c[m, n] == expected, f"c[{m}, {n}] is {c[m, n]}, expected {expected}"
    # Code of the GPU is made by the LLVM that is inside.
    assert "v_mfma" in run.assembly

try:
    wave_compile(WaveCompileOptions(subs={}, target="gfx942"), gemm)
except soliton.CompileError as error:
    # Thrown by the library, caught by the extension.
    assert error.diagnostics, "an error without a diagnostic"
else:
    sys.exit("error: a kernel without sizes was compiled")

print(f"Python {sys.version.split()[0]}, soliton {soliton.__version__}: the product is right on gfx942 and gfx950")
