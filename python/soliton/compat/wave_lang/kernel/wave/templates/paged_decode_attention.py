"""Attention of one query a head to keys that lie scattered, in two phases.

    phase_0, phase_1, symbols_0, symbols_1, dynamic_0, dynamic_1 = get_paged_decode_attention_kernels(shape, mfma, splits)

`kv_indices` lists the rows of each sequence's keys and values, one sequence behind the other; those of sequence s stand
from `request_indices[s]` to `request_indices[s + 1]`.
"""

from collections import namedtuple

import sympy

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE, WORKGROUP_0, WORKGROUP_1
from wave_lang.kernel.wave.utils.general_utils import torch_dtype_to_wave
from wave_lang.kernel.wave.utils.torch_names import float16

from . import attention_common as common
from .attention_common import ADDRESS_SPACE, BLOCK_B, BLOCK_K2, BLOCK_N, K1, K2, N_KV, B, N
from .gqa_decode_attention import rounded_up

S, U, BH, GROUP, ENDS = tkl.sym.S, tkl.sym.U, tkl.sym.BH, tkl.sym.GROUP, tkl.sym.ENDS
BLOCK_S, BLOCK_U, FIRST = tkl.sym.BLOCK_S, tkl.sym.BLOCK_U, tkl.sym.FIRST_KEY

paged_decode_attention_shape = namedtuple(
    "paged_decode_attention_shape", ["num_query_heads", "num_kv_heads", "head_size", "head_size_kv", "block_size", "num_seqs"]
)


def get_paged_decode_intermediate_arrays_shapes(shape, num_kv_splits):
    """Shapes of what the first phase hands to the second."""
    rows = (num_kv_splits, shape.num_seqs, shape.num_query_heads)
    return (*rows, shape.head_size_kv), rows


def get_paged_decode_attention_kernels(
    shape, mfma_variant, num_kv_splits, input_dtype=float16, output_dtype=float16, layer_scaling=None, logit_cap=0.0
):
    """phase_0(q [S, B, K1], k [N_KV, BH, K1], v [N_KV, BH, N], request_indices, kv_indices, output [U, S, B, N], output_max [U, S, B])
    phase_1(logits [U, S, B, N], logits_max [U, S, B], request_indices, output [S, B, N])"""
    wave_input_dtype, wave_output_dtype = torch_dtype_to_wave(input_dtype), torch_dtype_to_wave(output_dtype)
    ratio, factor = shape.num_query_heads // shape.num_kv_heads, common.factor_of(shape, layer_scaling)
    # A `GenericDot` says that a head has one query; one row of a matrix instruction is the same product.
    mfma = tuple(None if isinstance(each, tkw.GenericDot) else each for each in mfma_variant)
    constraints = [
        tkw.WorkgroupConstraint(U, BLOCK_U, 0),
        tkw.WorkgroupConstraint(BH, 1, 1),
        tkw.WorkgroupConstraint(S, BLOCK_S, 2),
        tkw.WorkgroupConstraint(GROUP, rounded_up(ratio, 16), 3, iters=1),
        tkw.WorkgroupConstraint(N, rounded_up(shape.head_size_kv, 32), 4, iters=1),
        tkw.TilingConstraint(K2, BLOCK_K2),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=mfma[1], vector_shapes={S: 0, BH: 0}),
    ]

    @tkw.wave(constraints)
    def phase_0(
        q: tkl.Memory[S, B, K1, GLOBAL_ADDRESS_SPACE, wave_input_dtype],
        k: tkl.Memory[N_KV, BH, K1, ADDRESS_SPACE, wave_input_dtype],
        v: tkl.Memory[N_KV, BH, N, ADDRESS_SPACE, wave_input_dtype],
        request_indices: tkl.Memory[ENDS, GLOBAL_ADDRESS_SPACE, tkl.i32],
        kv_indices: tkl.Memory[K2, GLOBAL_ADDRESS_SPACE, tkl.i32],
        output: tkl.Memory[U, S, B, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        output_max: tkl.Memory[U, S, B, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        # A sequence's keys are shared evenly among the splits; from here on K2 is what this one has.
        place = common.place_in((S,), S)
        begin = common.read_as(request_indices, (S,), {ENDS: place})
        length = common.read_as(request_indices, (S,), {ENDS: place + 1}) - begin
        share = tkw.apply_expr(length, lambda keys: sympy.ceiling(keys / U))
        tkw.set_symbol(FIRST, tkw.apply_expr([begin, share], lambda at, keys: at + WORKGROUP_0 * keys))
        mine = tkw.apply_expr([length, share], lambda all_, keys: sympy.Max(sympy.Min(keys, all_ - WORKGROUP_0 * keys), 0))
        tkw.set_symbol(K2, mine)
        batch = (S, BH)

        def head(tile):
            return {B: common.place_in(tile, GROUP) + WORKGROUP_1 * ratio}

        def scattered(memory, tile):
            row = common.read_as(kv_indices, (K2,), {K2: common.place_in((K2,), K2) + FIRST})
            return common.read_as(memory, tile, {N_KV: tkw.IndexMapping.dynamic_val(0)}, (row, (K2,)))

        reads = (
            lambda: common.read_as(q, (*batch, GROUP, K1), head((*batch, GROUP, K1))),
            lambda: scattered(k, (*batch, K2, K1)),
            lambda: scattered(v, (*batch, N, K2)),
        )
        scores = lambda products: common.capped(products * factor, logit_cap * common.LOG2E)  # noqa: E731
        largest, total, sums = common.attend(K2, GROUP, N, batch, reads, scores, mfma, wave_input_dtype)
        rows, tile = (U, *batch, GROUP), (U, *batch, N, GROUP)
        logarithms = tkw.broadcast(common.logarithm(largest, total), target_shape=list(rows))
        common.write_as(logarithms, output_max, rows, head(rows))
        common.write_as(tkw.broadcast(common.means(total, sums), target_shape=list(tile)), output, tile, head(tile))

    second = [tkw.WorkgroupConstraint(B, BLOCK_B, 0), tkw.WorkgroupConstraint(N, BLOCK_N, 1), tkw.WorkgroupConstraint(S, BLOCK_S, 2)]
    second += [tkw.TilingConstraint(U, BLOCK_U), tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={S: 0})]

    @tkw.wave(second)
    def phase_1(
        logits: tkl.Memory[U, S, B, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        logits_max: tkl.Memory[U, S, B, GLOBAL_ADDRESS_SPACE, tkl.f32],
        request_indices: tkl.Memory[ENDS, GLOBAL_ADDRESS_SPACE, tkl.i32],
        output: tkl.Memory[S, B, N, GLOBAL_ADDRESS_SPACE, wave_output_dtype],
    ):
        tkw.write(tkw.cast(common.combine(U, (S, B), N, logits, logits_max), wave_output_dtype), output)

    symbols_0 = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_S: 1, BLOCK_U: 1, BLOCK_K2: 32, GROUP: ratio, U: num_kv_splits}
    symbols_0 |= {B: shape.num_query_heads, BH: shape.num_kv_heads, N: shape.head_size_kv, K1: shape.head_size}
    symbols_1 = symbols_0 | {BLOCK_B: 16, BLOCK_N: 16, BLOCK_U: 4}
    return phase_0, phase_1, symbols_0, symbols_1, [K2, N_KV, S, ENDS], [S, ENDS]
