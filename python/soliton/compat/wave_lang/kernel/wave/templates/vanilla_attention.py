"""Attention of queries M to keys K2 in one pass, softmax on the way: c = softmax(q · kᵀ · scale) · v.

    kernel, hyperparams, dynamic_symbols = get_vanilla_attention_kernel(shape, mfma_variants, dynamic_dims=False)
"""

import math

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from wave_lang.kernel.wave.utils.general_utils import get_default_scheduling_params

from .attention_common import ADDRESS_SPACE, BLOCK_B, BLOCK_H, BLOCK_K2, BLOCK_M, BLOCK_N, K1, K2, B, H, M, N

LOG2E = math.log2(math.e)
LOWEST = -1e6


def _constraints(mfma_variants, batch_dims, waves):
    constraints = [tkw.WorkgroupConstraint(M, BLOCK_M, 0), tkw.WorkgroupConstraint(N, BLOCK_N, 1)]
    for position, (dim, block) in enumerate(batch_dims):
        constraints += [tkw.WorkgroupConstraint(dim, block, 2 + position)]
    constraints += [tkw.TilingConstraint(K2, BLOCK_K2), tkw.WaveConstraint(M, BLOCK_M / waves)]
    shapes = {dim: 0 for dim, _ in batch_dims}
    return constraints + [tkw.HardwareConstraint(threads_per_wave=64, mma_type=mfma_variants[1], vector_shapes=shapes)]


def _bindings(sizes, dynamic_dims):
    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_B: 1, BLOCK_H: 1, BLOCK_M: 128, BLOCK_N: 64, BLOCK_K2: 64}
    subs |= sizes
    subs.update(get_default_scheduling_params())
    dynamic = [M, N, B, K2] if dynamic_dims else []
    for symbol in dynamic:
        del subs[symbol]
    return subs, dynamic


def _masked(scores, dims, is_causal, window):
    """Scores of keys that a query does not attend to are out of reach."""
    key = tkw.self_index(K2, tkl.i64)
    inside = tkw.apply_expr(key, lambda x: x < K2)
    mask = tkw.cast(tkw.broadcast(inside, target_shape=[M, K2]), tkw.i1)
    if is_causal:
        query, keys = (tkw.broadcast(tkw.self_index(dim, tkl.i64), target_shape=[M, K2]) for dim in (M, K2))
        mask = (query >= keys) & mask
        if window >= 0:
            mask = ((query - keys) <= tkl.Register[M, K2, tkl.i64](window)) & mask
    zero, lowest = tkl.Register[M, K2, tkl.f32](0.0), tkl.Register[M, K2, tkl.f32](LOWEST)
    return scores + tkw.select(mask, zero, lowest)


def _attend(q, k, v, c, batch, mfma_variants, factor, is_causal, window, read_v):
    """The loop over keys, on tiles with the dimensions `batch` in front."""
    acc0 = tkl.Register[(*batch, N, M), tkl.f32](0.0)
    sum0 = tkl.Register[(*batch, M), tkl.f32](0.0)
    max0 = tkl.Register[(*batch, M), tkl.f32](LOWEST)

    @tkw.iterate(K2, init_args=[max0, sum0, acc0])
    def repeat(partial_max, partial_sum, acc):
        zero = tkl.Register[(*batch, K2, M), tkl.f32](0.0)
        products = tkw.mma(tkw.read(k), tkw.read(q), zero, mfma_variants[0])
        scores = tkw.permute(products, target_shape=[*batch, M, K2]) * tkl.Register[(*batch, M, K2), tkl.f32](factor)
        scores = _masked(scores, batch, is_causal, window)
        largest = tkw.max(scores, partial_max, dim=K2)
        decay = tkw.exp2(partial_max - largest)
        powers = tkw.exp2(scores - largest)
        total = tkw.sum(powers, partial_sum * decay, dim=K2)
        weights = tkw.cast(powers, tkl.f16)
        return largest, total, tkw.mma(read_v(v), weights, acc * decay, mfma_variants[1])

    _, total, sums = repeat
    result = tkw.permute(sums * tkw.reciprocal(total), target_shape=[*batch, M, N])
    tkw.write(result, c)


def get_vanilla_attention_kernel(
    shape, mfma_variants, dynamic_dims, is_causal=False, is_v_transposed=False, sliding_window_size=-1, scale=None
):
    """Attention of each of B heads: q [B, M, K1], k [B, K2, K1], v [B, K2, N] (or [B, N, K2]), c [B, M, N]."""
    factor = (shape.head_size**-0.5 if scale is None else scale) * LOG2E
    sizes = {B: shape.num_query_heads, M: shape.query_seq_len, N: shape.head_size_kv, K1: shape.head_size, K2: shape.kv_seq_len}
    subs, dynamic = _bindings(sizes, dynamic_dims)
    constraints = _constraints(mfma_variants, [(B, BLOCK_B)], 4)
    i, j, k_ = (tkw.IndexMapping.iterator(each) for each in range(3))
    turned = tkw.IndexMapping(num_iterators=3, inputs={B: i, K2: k_, N: j}, outputs={B: i, N: j, K2: k_})
    options = ([B], mfma_variants, factor, is_causal, sliding_window_size)

    @tkw.wave(constraints)
    def base_attention_transposed_v(
        q: tkl.Memory[B, M, K1, GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, K2, K1, ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, N, K2, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        _attend(q, k, v, c, *options, tkw.read)

    @tkw.wave(constraints)
    def base_attention(
        q: tkl.Memory[B, M, K1, GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, K2, K1, ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, K2, N, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        _attend(q, k, v, c, *options, lambda memory: tkw.read(memory, mapping=turned))

    return (base_attention_transposed_v if is_v_transposed else base_attention), subs, dynamic
