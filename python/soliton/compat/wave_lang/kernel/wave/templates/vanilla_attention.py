"""Attention of queries M to keys K2: c = softmax(q · kᵀ · scale) · v, for each head.

    kernel, hyperparams, dynamic_symbols = get_vanilla_attention_kernel(shape, mfma_variants, dynamic_dims=False)
"""

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from wave_lang.kernel.wave.utils.general_utils import get_default_scheduling_params

from . import attention_common as common
from .attention_common import ADDRESS_SPACE, BLOCK_B, BLOCK_H, BLOCK_K2, BLOCK_M, BLOCK_N, K1, K2, B, H, M, N


def constraints_of(mfma_variants, batch, waves, dynamic_dims):
    """BLOCK_M queries of one head a workgroup, shared by the waves."""
    constraints = [tkw.WorkgroupConstraint(M, BLOCK_M, 0), tkw.WorkgroupConstraint(N, BLOCK_N, 1)]
    for position, (dim, block) in enumerate(batch):
        constraints += [tkw.WorkgroupConstraint(dim, block, 2 + position)]
    constraints += [tkw.TilingConstraint(K2, BLOCK_K2), tkw.WaveConstraint(M, BLOCK_M / waves)]
    if dynamic_dims:
        constraints += [tkw.Assumption(K2 > 4 * BLOCK_K2)]
    shapes = {dim: 0 for dim, _ in batch}
    return constraints + [tkw.HardwareConstraint(threads_per_wave=64, mma_type=mfma_variants[1], vector_shapes=shapes)]


def bindings_of(sizes, dynamic, block_m=128):
    """(subs, symbols that the launch binds)."""
    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_B: 1, BLOCK_H: 1, BLOCK_M: block_m, BLOCK_N: 64, BLOCK_K2: 64}
    subs |= sizes
    subs.update(get_default_scheduling_params())
    for symbol in dynamic:
        del subs[symbol]
    return subs, list(dynamic)


def _attend(q, k, v, c, batch, mfma_variants, factor, mask=lambda: None):
    reads = (
        lambda: common.read_as(q, (*batch, M, K1)),
        lambda: common.read_as(k, (*batch, K2, K1)),
        lambda: common.read_as(v, (*batch, N, K2)),
    )
    scores = lambda products: common.masked(products * factor, mask())  # noqa: E731
    _, total, sums = common.attend(K2, M, N, batch, reads, scores, mfma_variants)
    common.write_as(common.means(total, sums), c, (*batch, N, M))


def get_vanilla_attention_kernel(
    shape, mfma_variants, dynamic_dims, is_causal=False, is_v_transposed=False, sliding_window_size=-1, scale=None
):
    """Attention of each of B heads: q [B, M, K1], k [B, K2, K1], v [B, K2, N] (or [B, N, K2]), c [B, M, N]."""
    sizes = {B: shape.num_query_heads, M: shape.query_seq_len, N: shape.head_size_kv, K1: shape.head_size, K2: shape.kv_seq_len}
    subs, dynamic = bindings_of(sizes, [M, N, B, K2] if dynamic_dims else [])
    constraints = constraints_of(mfma_variants, [(B, BLOCK_B)], 4, dynamic_dims)
    mask = lambda: common.seen(M, K2, is_causal, sliding_window_size)  # noqa: E731
    options = ([B], mfma_variants, common.factor_of(shape, scale), mask)

    @tkw.wave(constraints)
    def base_attention_transposed_v(
        q: tkl.Memory[B, M, K1, GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, K2, K1, ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, N, K2, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        _attend(q, k, v, c, *options)

    @tkw.wave(constraints)
    def base_attention(
        q: tkl.Memory[B, M, K1, GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, K2, K1, ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, K2, N, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        _attend(q, k, v, c, *options)

    return (base_attention_transposed_v if is_v_transposed else base_attention), subs, dynamic


def _get_kernels_of_heads(shape, mfma_variant, dynamic_dims, dynamic, is_causal, num_waves, order):
    """(the kernel, the one with a mask) for tensors with these dimensions in front of the last."""
    sizes = {B: shape.batch_size or 1, H: shape.num_query_heads, M: shape.query_seq_len, N: shape.head_size_kv}
    sizes |= {K1: shape.head_size, K2: shape.kv_seq_len}
    subs, dynamic = bindings_of(sizes, dynamic if dynamic_dims else [], 32 * num_waves)
    constraints = constraints_of(mfma_variant, [(B, BLOCK_B), (H, BLOCK_H)], num_waves, dynamic_dims)
    options = ([B, H], mfma_variant, common.factor_of(shape))
    queries, keys = order(M), order(K2)

    @tkw.wave(constraints)
    def base_attention(
        q: tkl.Memory[(*queries, K1), GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[(*keys, K1), ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[(*keys, N), ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[(*queries, N), GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        _attend(q, k, v, c, *options, lambda: common.seen(M, K2, is_causal))

    # The mask is of queries, and its tensors are [B, S, H, D] in both cases.
    @tkw.wave(constraints)
    def base_attention_custom_mask(
        q: tkl.Memory[B, M, H, K1, GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, K2, H, K1, ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, K2, H, N, ADDRESS_SPACE, tkl.f16],
        custom_mask: tkl.Memory[B, M, GLOBAL_ADDRESS_SPACE, tkl.i8],
        c: tkl.Memory[B, M, H, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        attends = tkw.broadcast(tkw.read(custom_mask) == 0, target_shape=[B, M, K2])
        _attend(q, k, v, c, *options, lambda: attends)

    return base_attention, base_attention_custom_mask, subs, dynamic


def get_bshd_attention_kernel(shape, mfma_variant, dynamic_dims, is_causal=False, is_custom_mask=False, num_waves=4):
    """Tensors [B, S, H, D]; a query of which `custom_mask` [B, M] says 1 attends to nothing."""
    order = lambda sequence: (B, sequence, H)  # noqa: E731
    plain, with_mask, subs, dynamic = _get_kernels_of_heads(shape, mfma_variant, dynamic_dims, [M, N, B, K2], is_causal, num_waves, order)
    return (with_mask if is_custom_mask else plain), subs, dynamic


def get_bhsd_attention_kernel(shape, mfma_variant, dynamic_dims, is_causal=False, is_custom_mask=False):
    """Tensors [B, H, S, D]; with a mask, as `get_bshd_attention_kernel`."""
    order = lambda sequence: (B, H, sequence)  # noqa: E731
    plain, with_mask, subs, dynamic = _get_kernels_of_heads(shape, mfma_variant, dynamic_dims, [B, H, M, K2], is_causal, 4, order)
    return (with_mask if is_custom_mask else plain), subs, dynamic
