"""Products of 4-bit floats that share scales, with tags for schedules: `k_loop`, `read_a`, `read_b`, `read_a_scale`,
`read_b_scale`, `scaled_mma`.

    gemm, options = get_tagged_mxfp4_gemm((1024, 1024, 8192))
    run = wave_compile(options, gemm, get_mxfp4_dbuf_schedule())

What is *preshuffled* lies in memory in the order in which instructions take it: scales as `e8m0_shuffle` leaves them,
elements as `b_preshuffle` does. Such tensors are read straight from global memory.
"""

from dataclasses import dataclass

import sympy

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE, WORKGROUP_0, WORKGROUP_1
from wave_lang.kernel.wave.compile import WaveCompileOptions
from wave_lang.kernel.wave.constraints import ScaledMMAType
from wave_lang.kernel.wave.scheduling.schedule import SchedulingType
from wave_lang.kernel.wave.utils.general_utils import get_default_scheduling_params

from . import gemm as products
from .gemm import BLOCK_K, BLOCK_M, BLOCK_N, SPLITS, K, M, N

A_ADDRESS_SPACE, B_ADDRESS_SPACE, C_ADDRESS_SPACE = (getattr(tkl.sym, f"{name}_ADDRESS_SPACE") for name in "ABC")
MFMA = ScaledMMAType.F32_16x16x128_F8F6F4


def _shuffled_scales(row, column, columns):
    """Where the scale (row, column) lies: blocks of 32 rows by 8, in them 4 by 16, and of those 2 by 2."""
    block = (row // 32 * (columns // 8) + column // 8) * 256
    return block + column % 4 * 64 + row % 16 * 4 + column // 4 % 2 * 2 + row // 16 % 2


def _shuffled_elements(row, column, columns):
    """Where the byte (row, column) lies: blocks of 16 rows by 32 bytes, in them two of 16 bytes of each row."""
    block = (row // 16 * (columns // 32) + column // 32) * 512
    return block + column // 16 % 2 * 256 + row % 16 * 16 + column % 16


def _read(memory, dim, divisor, shuffled, tag):
    if shuffled is None:
        return tkw.read(memory, tag=tag)
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    columns = sympy.floor(K / divisor)
    place = shuffled(i, j, columns)
    mapping = tkw.IndexMapping(2, inputs={dim: place // columns, K: place % columns}, outputs={dim: i, K: j})
    return tkw.read(memory, mapping=mapping, tag=tag)


def _reordered(group_size_n):
    """Tiles in groups of columns, so that neighbours share what they load."""
    rows, columns = sympy.ceiling(M / BLOCK_M), sympy.ceiling(N / BLOCK_N)
    number = WORKGROUP_1 * rows + WORKGROUP_0
    group = number // (group_size_n * rows)
    width = sympy.Max(sympy.Min(columns - group * group_size_n, group_size_n), 1)
    inside = number % (group_size_n * rows)
    return [tkw.ReorderingConstraint(inside // width, 0), tkw.ReorderingConstraint(group * group_size_n + inside % width, 1)]


@dataclass
class _Choice:
    """Where tensors lie and in which order."""

    a_space: object = SHARED_ADDRESS_SPACE
    b_space: object = SHARED_ADDRESS_SPACE
    a_scale_shuffled: bool = False
    b_scale_shuffled: bool = False
    b_shuffled: bool = False
    group_size_n: int | None = None
    splits: int | None = None
    output: object = tkl.f32


def _get(shape, block_shape, wave_shape, mfma_variant, choice):
    constraints = products._constraints(mfma_variant, 64, wave_shape)
    subs, _ = products._bindings(shape, block_shape, False)
    if choice.splits:
        constraints += products.split_of(shape[2], block_shape[2], choice.splits)
        subs[SPLITS] = choice.splits
    else:
        constraints += [tkw.TilingConstraint(K, BLOCK_K)]
    if choice.group_size_n:
        constraints += _reordered(choice.group_size_n)
    a_scale_space = GLOBAL_ADDRESS_SPACE if choice.a_scale_shuffled else A_ADDRESS_SPACE
    b_scale_space = GLOBAL_ADDRESS_SPACE if choice.b_scale_shuffled else B_ADDRESS_SPACE
    scales_of_a = _shuffled_scales if choice.a_scale_shuffled else None
    scales_of_b = _shuffled_scales if choice.b_scale_shuffled else None
    elements_of_b = _shuffled_elements if choice.b_shuffled else None

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K / 2, A_ADDRESS_SPACE, tkl.i8],
        a_scale: tkl.Memory[M, K / 32, a_scale_space, tkl.i8],
        b: tkl.Memory[N, K / 2, B_ADDRESS_SPACE, tkl.i8],
        b_scale: tkl.Memory[N, K / 32, b_scale_space, tkl.i8],
        c: tkl.Memory[M, N, C_ADDRESS_SPACE, choice.output],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)], tag="k_loop")
        def repeat(acc):
            left = tkw.bitcast(_read(a, M, 2, None, "read_a"), tkl.f4e2m1fn, tag="bitcast_a")
            left_scale = tkw.bitcast(_read(a_scale, M, 32, scales_of_a, "read_a_scale"), tkl.f8e8m0fnu, tag="bitcast_a_scale")
            right = tkw.bitcast(_read(b, N, 2, elements_of_b, "read_b"), tkl.f4e2m1fn, tag="bitcast_b")
            right_scale = tkw.bitcast(_read(b_scale, N, 32, scales_of_b, "read_b_scale"), tkl.f8e8m0fnu, tag="bitcast_b_scale")
            return tkw.scaled_mma(left, left_scale, right, right_scale, acc, tag="scaled_mma")

        result = repeat if choice.output == tkl.f32 else tkw.cast(repeat, choice.output)
        if choice.splits:
            tkw.atomic_add(result, c)
        else:
            tkw.write(result, c)

    subs |= {A_ADDRESS_SPACE: choice.a_space, B_ADDRESS_SPACE: choice.b_space, C_ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE}
    subs.update(get_default_scheduling_params())
    return gemm, WaveCompileOptions(subs=subs, canonicalize=True, schedule=SchedulingType.MANUAL, use_global_to_shared=True)


def get_tagged_mxfp4_gemm(
    shape=(1024, 1024, 8192),
    block_shape=(256, 256, 256),
    wave_shape=(2, 2),
    mfma_variant=MFMA,
    a_address_space=SHARED_ADDRESS_SPACE,
    b_address_space=SHARED_ADDRESS_SPACE,
    reorder_workgroups=True,
    group_size_n=32,
    output_dtype=tkl.f32,
):
    """Tensors as they are: rows of elements, rows of scales."""
    choice = _Choice(a_address_space, b_address_space, group_size_n=group_size_n if reorder_workgroups else None, output=output_dtype)
    return _get(shape, block_shape, wave_shape, mfma_variant, choice)


def get_tagged_mxfp4_gemm_preshuffle_scales(
    shape=(1024, 1024, 8192), block_shape=(256, 256, 256), wave_shape=(2, 2), mfma_variant=MFMA, a_address_space=SHARED_ADDRESS_SPACE
):
    """Both scales preshuffled."""
    return _get(shape, block_shape, wave_shape, mfma_variant, _Choice(a_address_space, a_address_space, True, True))


def get_tagged_mxfp4_gemm_preshuffle_scales_and_B(
    shape=(1024, 1024, 8192),
    block_shape=(256, 256, 256),
    wave_shape=(2, 2),
    mfma_variant=MFMA,
    a_address_space=SHARED_ADDRESS_SPACE,
    b_address_space=None,
    output_dtype=tkl.f32,
):
    """Both scales and `b` preshuffled; `b` lies in global memory unless said otherwise."""
    choice = _Choice(a_address_space, b_address_space or GLOBAL_ADDRESS_SPACE, True, True, True, output=output_dtype)
    return _get(shape, block_shape, wave_shape, mfma_variant, choice)


def get_tagged_mxfp4_gemm_preshuffle_b(
    shape=(1024, 1024, 8192),
    block_shape=(256, 256, 256),
    wave_shape=(2, 2),
    mfma_variant=MFMA,
    a_address_space=SHARED_ADDRESS_SPACE,
    a_scale_preshuffle=True,
    reorder_workgroups=True,
    group_size_n=32,
    output_dtype=tkl.f32,
):
    """`b` and its scales preshuffled, and the scales of `a` if asked for."""
    group = group_size_n if reorder_workgroups else None
    choice = _Choice(a_address_space, GLOBAL_ADDRESS_SPACE, a_scale_preshuffle, True, True, group, output=output_dtype)
    return _get(shape, block_shape, wave_shape, mfma_variant, choice)


def get_tagged_mxfp4_gemm_preshuffle_b_wide_store(
    shape=(1024, 1024, 8192),
    block_shape=(256, 256, 256),
    wave_shape=(2, 2),
    mfma_variant=MFMA,
    a_address_space=SHARED_ADDRESS_SPACE,
    a_scale_preshuffle=True,
    reorder_workgroups=True,
    group_size_n=32,
    output_dtype=tkl.bf16,
):
    """The same into narrow elements; how wide stores are is the compiler's choice."""
    return get_tagged_mxfp4_gemm_preshuffle_b(
        shape, block_shape, wave_shape, mfma_variant, a_address_space, a_scale_preshuffle, reorder_workgroups, group_size_n, output_dtype
    )


def _split(shape, num_splits, block_shape, wave_shape, mfma_variant, a_address_space, output_type, scales, elements):
    choice = _Choice(a_address_space, GLOBAL_ADDRESS_SPACE if elements else a_address_space, scales, scales, elements, splits=num_splits, output=output_type)
    return _get(shape, block_shape, wave_shape, mfma_variant, choice)


def get_tagged_splitk_mxfp4_gemm(
    shape=(1024, 1024, 8192),
    num_splits=2,
    block_shape=(128, 128, 256),
    wave_shape=(2, 2),
    mfma_variant=MFMA,
    a_address_space=SHARED_ADDRESS_SPACE,
    output_type=tkl.f32,
):
    """Parts of K by different workgroups, which add up in `c`; it has to be zero before."""
    return _split(shape, num_splits, block_shape, wave_shape, mfma_variant, a_address_space, output_type, False, False)


def get_tagged_splitk_mxfp4_gemm_preshuffle_scales(
    shape=(1024, 1024, 8192),
    num_splits=2,
    block_shape=(128, 128, 256),
    wave_shape=(2, 2),
    mfma_variant=MFMA,
    a_address_space=SHARED_ADDRESS_SPACE,
    output_type=tkl.f32,
):
    """The same with both scales preshuffled."""
    return _split(shape, num_splits, block_shape, wave_shape, mfma_variant, a_address_space, output_type, True, False)


def get_tagged_splitk_mxfp4_gemm_preshuffle_b(
    shape=(1024, 1024, 8192),
    num_splits=2,
    block_shape=(128, 128, 256),
    wave_shape=(2, 2),
    mfma_variant=MFMA,
    a_address_space=SHARED_ADDRESS_SPACE,
    output_type=tkl.f32,
):
    """The same with both scales and `b` preshuffled."""
    return _split(shape, num_splits, block_shape, wave_shape, mfma_variant, a_address_space, output_type, True, True)
