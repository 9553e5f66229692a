"""Attention of sequences that grow: new queries, one sequence behind the other, to keys kept before and to new ones.

    kernel, hyperparams, dynamic_symbols = get_extend_attention_kernel(shape, mfma_variant, q.shape, k.shape, …)

The new queries of sequence s stand from `qo_indptr[s]` to `qo_indptr[s + 1]`, its new keys likewise; `kv_indices` lists the
rows of its kept keys from `kv_indptr[s]` to `kv_indptr[s + 1]`.
"""

import sympy

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE, WORKGROUP_0
from wave_lang.kernel.wave.utils.general_utils import torch_dtype_to_wave
from wave_lang.kernel.wave.utils.torch_names import float16, float32, int32

from . import attention_common as common
from .attention_common import ADDRESS_SPACE, BLOCK_D_KV, BLOCK_H, BLOCK_N_KV, BLOCK_N_Q, D_KV, D_Q, H_KV, N_KV, N_Q, H
from .gqa_decode_attention import rounded_up

S, BLOCK_S, CACHE, N_PREFIX, MASK_LEN = tkl.sym.S, tkl.sym.BLOCK_S, tkl.sym.N_CACHE, tkl.sym.N_PREFIX, tkl.sym.MASK_LEN
MASK_SEQS, MAX_EXTEND_SEQ_LEN = tkl.sym.MASK_SEQS, tkl.sym.MAX_EXTEND_SEQ_LEN
FIRST_QUERY, FIRST_KEPT, FIRST_OF_MASK, ROW = tkl.sym.FIRST_QUERY, tkl.sym.FIRST_KEPT, tkl.sym.FIRST_OF_MASK, tkl.sym.MASK_ROW
KEPT = tkl.sym.KEPT


class Tensors:
    """Element types of the tensors, and what the sizes come to."""

    def __init__(self, shape, input_dtype, output_dtype, size_dtype, num_waves):
        self.input, self.output = torch_dtype_to_wave(input_dtype), torch_dtype_to_wave(output_dtype)
        if self.input not in (tkl.f16, tkl.bf16) or not self.output.is_float_asm() or not torch_dtype_to_wave(size_dtype).is_int_asm():
            raise ValueError(f"expected tensors of f16 or bf16, a float and an integer, found {input_dtype}, {output_dtype}, {size_dtype}")
        self.ratio = shape.num_query_heads // shape.num_kv_heads
        block = shape.block_size or (64 if (shape.max_seq_len or 0) <= 128 else 128)
        self.hyperparams = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_H: 1, BLOCK_S: 1, BLOCK_N_Q: max(block, 16 * num_waves)}
        self.hyperparams |= {BLOCK_N_KV: 32, BLOCK_D_KV: rounded_up(shape.head_size_kv, 32)}
        self.hyperparams |= {H: shape.num_query_heads, H_KV: shape.num_kv_heads, D_KV: shape.head_size_kv, D_Q: shape.head_size}


def constraints_of(mfma_variant, num_waves):
    """BLOCK_N_Q new queries of one head of one sequence a workgroup; most sequences leave some without work."""
    return [
        tkw.WorkgroupConstraint(N_Q, BLOCK_N_Q, 0, iters=sympy.ceiling(MAX_EXTEND_SEQ_LEN / BLOCK_N_Q)),
        tkw.WorkgroupConstraint(D_KV, BLOCK_D_KV, 1),
        tkw.WorkgroupConstraint(H, BLOCK_H, 2),
        tkw.WorkgroupConstraint(S, BLOCK_S, 3, iters=S - 1),
        tkw.TilingConstraint(N_PREFIX, BLOCK_N_KV),
        tkw.TilingConstraint(N_KV, BLOCK_N_KV),
        tkw.WaveConstraint(N_Q, BLOCK_N_Q / num_waves),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=mfma_variant[1], vector_shapes={H: 0, S: 0}),
    ]


def range_of(starts):
    """Where a sequence's rows begin, and how many there are."""
    place = common.place_in((S,), S)
    begin = common.read_as(starts, (S,), {starts.symbolic_shape[0]: place})
    return begin, common.read_as(starts, (S,), {starts.symbolic_shape[0]: place + 1}) - begin


def extend(tensors, memories, starts, mfma_variant, is_causal, kept_scores, new_scores):
    """The kernel's text: kept keys, then new ones. `…_scores` make scores of products."""
    q, k, v, k_cache, v_cache, c = memories
    qo_indptr, kv_indptr, kv_indices = starts
    first, extended = range_of(qo_indptr)
    tkw.set_symbol(FIRST_QUERY, first)
    tkw.set_symbol(N_Q, extended)
    first_kept, prefix = range_of(kv_indptr)
    tkw.set_symbol(FIRST_KEPT, first_kept)
    tkw.set_symbol(KEPT, prefix)
    tkw.set_symbol(N_PREFIX, prefix)
    tkw.set_symbol(ROW, prefix + extended)
    seen = extended
    if is_causal:
        seen = tkw.apply_expr(extended, lambda keys: sympy.Min(keys, (WORKGROUP_0 + 1) * BLOCK_N_Q))
    tkw.set_symbol(N_KV, seen)

    def shared_head(tile, places):
        return {H_KV: common.place_in(tile, H) // tensors.ratio, **places}

    def query():
        tile = (H, N_Q, D_Q)
        return common.read_as(q, tile, {N_Q: common.place_in(tile, N_Q) + FIRST_QUERY})

    def kept(memory, tile):
        row = common.read_as(kv_indices, (N_PREFIX,), {kv_indices.symbolic_shape[0]: common.place_in((N_PREFIX,), N_PREFIX) + FIRST_KEPT})
        return common.read_as(memory, tile, shared_head(tile, {CACHE: tkw.IndexMapping.dynamic_val(0)}), (row, (N_PREFIX,)))

    def new(memory, tile):
        return common.read_as(memory, tile, shared_head(tile, {N_KV: common.place_in(tile, N_KV) + FIRST_QUERY}))

    reads = (query, lambda: kept(k_cache, (H, N_PREFIX, D_Q)), lambda: kept(v_cache, (H, D_KV, N_PREFIX)))
    before = common.attend(N_PREFIX, N_Q, D_KV, (H,), reads, kept_scores, mfma_variant, tensors.input)
    reads = (query, lambda: new(k, (H, N_KV, D_Q)), lambda: new(v, (H, D_KV, N_KV)))
    _, total, sums = common.attend(N_KV, N_Q, D_KV, (H,), reads, new_scores, mfma_variant, tensors.input, before)
    tile = (H, D_KV, N_Q)
    result = tkw.cast(common.means(total, sums), tensors.output)
    common.write_as(result, c, tile, {N_Q: common.place_in(tile, N_Q) + FIRST_QUERY})


def get_extend_attention_kernel(
    shape,
    mfma_variant,
    q_shape,
    k_shape,
    v_shape,
    k_cache_shape,
    v_cache_shape,
    o_shape,
    input_dtype=float16,
    output_dtype=float32,
    size_dtype=int32,
    is_causal=False,
    logit_cap=0.0,
    layer_scaling=None,
    num_waves=4,
    use_custom_mask=False,
):
    """q [N_Q, H, D_Q], k [N_KV, H_KV, D_Q], v [N_KV, H_KV, D_KV], both caches, qo_indptr, kv_indptr, kv_indices, c [N_Q, H, D_KV].

    With `use_custom_mask`, `custom_mask` says 1 for pairs that count, row by row for all keys of a sequence, kept ones
    first, and `mask_offsets[s]` where those of sequence s begin.
    """
    if is_causal and use_custom_mask:
        raise ValueError("a causal mask and one of the caller's cannot both hold")
    tensors = Tensors(shape, input_dtype, output_dtype, size_dtype, num_waves)
    factor, cap = common.factor_of(shape, layer_scaling), logit_cap * common.LOG2E
    constraints, kind = constraints_of(mfma_variant, num_waves), tensors.input

    def scaled(products):
        return common.capped(products * factor, cap)

    @tkw.wave(constraints)
    def extend_attention(
        q: tkl.Memory[N_Q, H, D_Q, GLOBAL_ADDRESS_SPACE, kind],
        k: tkl.Memory[N_KV, H_KV, D_Q, ADDRESS_SPACE, kind],
        v: tkl.Memory[N_KV, H_KV, D_KV, ADDRESS_SPACE, kind],
        k_cache: tkl.Memory[CACHE, H_KV, D_Q, ADDRESS_SPACE, kind],
        v_cache: tkl.Memory[CACHE, H_KV, D_KV, ADDRESS_SPACE, kind],
        qo_indptr: tkl.Memory[S, GLOBAL_ADDRESS_SPACE, tkl.i32],
        kv_indptr: tkl.Memory[S, GLOBAL_ADDRESS_SPACE, tkl.i32],
        kv_indices: tkl.Memory[N_PREFIX, GLOBAL_ADDRESS_SPACE, tkl.i32],
        MAX_EXTEND_SEQ_LEN: tkl.SymbolBind[tkl.i32],
        c: tkl.Memory[N_Q, H, D_KV, GLOBAL_ADDRESS_SPACE, tensors.output],
    ):
        new_scores = lambda products: common.masked(scaled(products), common.seen(N_Q, N_KV, is_causal))  # noqa: E731
        memories, starts = (q, k, v, k_cache, v_cache, c), (qo_indptr, kv_indptr, kv_indices)
        extend(tensors, memories, starts, mfma_variant, is_causal, scaled, new_scores)

    @tkw.wave(constraints)
    def extend_attention_custom_mask(
        q: tkl.Memory[N_Q, H, D_Q, GLOBAL_ADDRESS_SPACE, kind],
        k: tkl.Memory[N_KV, H_KV, D_Q, ADDRESS_SPACE, kind],
        v: tkl.Memory[N_KV, H_KV, D_KV, ADDRESS_SPACE, kind],
        k_cache: tkl.Memory[CACHE, H_KV, D_Q, ADDRESS_SPACE, kind],
        v_cache: tkl.Memory[CACHE, H_KV, D_KV, ADDRESS_SPACE, kind],
        qo_indptr: tkl.Memory[S, GLOBAL_ADDRESS_SPACE, tkl.i32],
        kv_indptr: tkl.Memory[S, GLOBAL_ADDRESS_SPACE, tkl.i32],
        kv_indices: tkl.Memory[N_PREFIX, GLOBAL_ADDRESS_SPACE, tkl.i32],
        custom_mask: tkl.Memory[MASK_LEN, GLOBAL_ADDRESS_SPACE, tkl.i8],
        mask_offsets: tkl.Memory[MASK_SEQS, GLOBAL_ADDRESS_SPACE, tkl.i32],
        MAX_EXTEND_SEQ_LEN: tkl.SymbolBind[tkl.i32],
        c: tkl.Memory[N_Q, H, D_KV, GLOBAL_ADDRESS_SPACE, tensors.output],
    ):
        tkw.set_symbol(FIRST_OF_MASK, common.read_as(mask_offsets, (S,), {MASK_SEQS: common.place_in((S,), S)}))

        def counts(keys, first):
            tile = (N_Q, keys)
            place = common.place_in(tile, N_Q) * ROW + FIRST_OF_MASK + common.place_in(tile, keys) + first
            return common.read_as(custom_mask, tile, {MASK_LEN: place}) != 0

        kept_scores = lambda products: common.masked(scaled(products), counts(N_PREFIX, 0))  # noqa: E731
        new_scores = lambda products: common.masked(scaled(products), counts(N_KV, KEPT))  # noqa: E731
        memories, starts = (q, k, v, k_cache, v_cache, c), (qo_indptr, kv_indptr, kv_indices)
        extend(tensors, memories, starts, mfma_variant, False, kept_scores, new_scores)

    dynamic = [N_Q, N_KV, S, CACHE, N_PREFIX]
    if use_custom_mask:
        return extend_attention_custom_mask, tensors.hyperparams, [*dynamic, MASK_LEN, MASK_SEQS]
    return extend_attention, tensors.hyperparams, dynamic
