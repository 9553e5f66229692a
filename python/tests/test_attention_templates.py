"""Kernels of attention that Wave brings: each computes what it should, against NumPy in f64."""

import numpy as np
import pytest

pytest.importorskip("sympy")

import soliton.compat  # noqa: E402

soliton.compat.install()

from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile  # noqa: E402
from wave_lang.kernel.wave.constraints import MMAType  # noqa: E402
from wave_lang.kernel.wave.templates.attention_common import AttentionShape  # noqa: E402

SMALL, LARGE = MMAType.F32_16x16x16_F16, MMAType.F32_32x32x8_F16
LOG2E = np.log2(np.e)


def run(kernel, subs, *arrays, dynamic=(), schedule=None, target="gfx942", **options):
    options = WaveCompileOptions(subs=subs, dynamic_symbols=list(dynamic), target=target, run_on="emulator", **options)
    wave_compile(options, kernel, schedule)(*arrays)


def randn(*shape, seed=0, scale=1.0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float16)


def softmax(scores):
    """Along the last axis; rows of nothing but -inf are 0."""
    with np.errstate(invalid="ignore"):
        powers = np.nan_to_num(np.exp(scores - scores.max(-1, keepdims=True)))
    return powers / np.maximum(powers.sum(-1, keepdims=True), 1e-300)


def attention(q, k, v, scale=None, mask=None, bias=None, change=lambda scores: scores):
    """softmax(q · kᵀ · scale) · v along the last two axes."""
    q, k, v = (each.astype(np.float64) for each in (q, k, v))
    scores = change(q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale))
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ v


def causal(queries, keys, window=None):
    q, k = np.arange(queries)[:, None], np.arange(keys)[None]
    return (k <= q) if window is None else (k <= q) & (q - k <= window)


def close(found, wanted, tolerance=4e-3):
    assert not np.isnan(found).any()
    np.testing.assert_allclose(found.astype(np.float64), wanted, atol=tolerance, rtol=tolerance)


# ---- One pass -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mfma", [(SMALL, SMALL), (MMAType.F32_32x32x16_K8_F16, LARGE)], ids=["small", "large"])
@pytest.mark.parametrize("is_causal, window, turned", [(False, -1, False), (True, -1, False), (True, 20, True)])
def test_vanilla(is_causal, window, turned, mfma):
    from wave_lang.kernel.wave.templates.vanilla_attention import get_vanilla_attention_kernel

    shape = AttentionShape(num_query_heads=2, num_kv_heads=2, query_seq_len=70, kv_seq_len=90, head_size=32, head_size_kv=48)
    kernel, subs, _ = get_vanilla_attention_kernel(shape, mfma, False, is_causal, turned, window)
    q, k, v, c = randn(2, 70, 32), randn(2, 90, 32, seed=1), randn(2, 90, 48, seed=2), np.full((2, 70, 48), np.nan, np.float32)
    run(kernel, subs, q, k, np.ascontiguousarray(v.transpose(0, 2, 1)) if turned else v, c)
    close(c, attention(q, k, v, mask=causal(70, 90, window if window >= 0 else None) if is_causal else None))


@pytest.mark.parametrize("dynamic_dims", [False, True])
@pytest.mark.parametrize("order", ["bshd", "bhsd"])
def test_heads(order, dynamic_dims):
    from wave_lang.kernel.wave.templates import vanilla_attention

    keys = 300 if dynamic_dims else 64
    shape = AttentionShape(batch_size=2, num_query_heads=3, num_kv_heads=3, query_seq_len=40, kv_seq_len=keys, head_size=32, head_size_kv=64)
    template = getattr(vanilla_attention, f"get_{order}_attention_kernel")
    kernel, subs, dynamic = template(shape, (SMALL, SMALL), dynamic_dims, is_causal=True)
    q, k, v = randn(2, 3, 40, 32), randn(2, 3, keys, 32, seed=1), randn(2, 3, keys, 64, seed=2)
    turn = (lambda x: np.ascontiguousarray(x.swapaxes(1, 2))) if order == "bshd" else (lambda x: x)
    c = turn(np.full((2, 3, 40, 64), np.nan, np.float32))
    run(kernel, subs, turn(q), turn(k), turn(v), c, dynamic=dynamic)
    close(turn(c), attention(q, k, v, mask=causal(40, keys)))


@pytest.mark.parametrize("order", ["bshd", "bhsd"])
def test_queries_that_a_mask_leaves_out(order):
    from wave_lang.kernel.wave.templates import vanilla_attention

    shape = AttentionShape(batch_size=2, num_query_heads=2, num_kv_heads=2, query_seq_len=30, kv_seq_len=50, head_size=32, head_size_kv=32)
    kernel, subs, _ = getattr(vanilla_attention, f"get_{order}_attention_kernel")(shape, (SMALL, SMALL), False, is_custom_mask=True)
    q, k, v = randn(2, 30, 2, 32), randn(2, 50, 2, 32, seed=1), randn(2, 50, 2, 32, seed=2)
    left_out, c = np.random.default_rng(3).integers(0, 2, (2, 30)).astype(np.int8), np.full((2, 30, 2, 32), np.nan, np.float32)
    run(kernel, subs, q, k, v, left_out, c)
    turn = lambda x: x.swapaxes(1, 2)  # noqa: E731
    close(turn(c), attention(turn(q), turn(k), turn(v), mask=(left_out == 0)[:, None, :, None]))
    assert (c[left_out == 1] == 0).all()


@pytest.mark.parametrize("is_causal, window, sizes", [(False, -1, (64, 64)), (True, -1, (150, 70)), (True, 9, (40, 40))])
def test_shared_heads(is_causal, window, sizes):
    from wave_lang.kernel.wave.templates.gqa_vanilla_attention import get_gqa_bshd_attention_kernel

    queries, keys = sizes
    shape = AttentionShape(num_seqs=2, num_query_heads=4, num_kv_heads=2, query_seq_len=queries, kv_seq_len=keys, head_size=32, head_size_kv=48)
    kernel, subs, _ = get_gqa_bshd_attention_kernel(shape, (SMALL, SMALL), is_causal=is_causal, sliding_window_size=window)
    q, k, v = randn(2, queries, 4, 32), randn(2, keys, 2, 32, seed=1), randn(2, keys, 2, 48, seed=2)
    c = np.full((2, queries, 4, 48), np.nan, np.float32)
    run(kernel, subs, q, k, v, c)
    turn = lambda x: x.swapaxes(1, 2)  # noqa: E731
    mask = causal(queries, keys, window if window >= 0 else None) if is_causal else None
    close(turn(c), attention(turn(q), np.repeat(turn(k), 2, 1), np.repeat(turn(v), 2, 1), mask=mask))


def test_shared_heads_of_eight_bits():
    from wave_lang.kernel.wave.templates.gqa_vanilla_attention import get_gqa_bshd_attention_kernel

    shape = AttentionShape(num_seqs=1, num_query_heads=2, num_kv_heads=1, query_seq_len=40, kv_seq_len=60, head_size=64, head_size_kv=64)
    mfma = (MMAType.F32_16x16x32_F8, MMAType.F32_16x16x32_K4_F8)
    kernel, subs, _ = get_gqa_bshd_attention_kernel(shape, mfma, use_fp8=True, q_scale=0.5, k_scale=2.0, v_scale=0.25)
    q, k, v = (np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float16) for seed, shape in enumerate([(1, 40, 2, 64), (1, 60, 1, 64), (1, 60, 1, 64)]))
    c = np.full((1, 40, 2, 64), np.nan, np.float32)
    run(kernel, subs, q, k, v, c)
    turn = lambda x: x.swapaxes(1, 2)  # noqa: E731
    wanted = attention(turn(q), np.repeat(turn(k), 2, 1), np.repeat(turn(v), 2, 1), scale=1.0 / 8) * 0.25
    assert np.sqrt(np.mean((turn(c) - wanted) ** 2)) < 0.03  # weights have four bits


@pytest.mark.parametrize("is_causal, dynamic_dims", [(False, False), (True, True)])
def test_quantised(is_causal, dynamic_dims):
    from wave_lang.kernel.wave.templates.quantized_attention import get_brevitas_pertensor_fp8_attention_kernel

    keys = 270 if dynamic_dims else 64
    shape = AttentionShape(num_query_heads=2, num_kv_heads=2, query_seq_len=50, kv_seq_len=keys, head_size=64, head_size_kv=64)
    mfma = (MMAType.F32_16x16x32_F8, MMAType.F32_16x16x32_K4_F8)
    options = {"q_scale": 0.5, "k_scale": 0.5, "v_scale": 0.125, "is_causal": is_causal, "dynamic_dims": dynamic_dims}
    kernel, subs, dynamic = get_brevitas_pertensor_fp8_attention_kernel(shape, mfma, **options)
    draw = lambda seed, *shape: np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float16)  # noqa: E731
    q, k, v, c = draw(0, 2, 50, 64), draw(1, 2, keys, 64), draw(2, 2, keys, 64), np.full((2, 50, 64), np.nan, np.float32)
    run(kernel, subs, q, k, v, c, dynamic=dynamic)
    wanted = attention(q, k, v, scale=0.25 / 8, mask=causal(50, keys) if is_causal else None) * 0.125
    assert np.sqrt(np.mean((c - wanted) ** 2)) < 0.02


@pytest.mark.parametrize("queries, keys", [(64, 128), (45, 77)])
def test_linear_biases(queries, keys):
    from wave_lang.kernel.wave.templates.alibi_attention import get_alibi_attention_kernel

    shape = AttentionShape(num_query_heads=2, num_kv_heads=2, query_seq_len=queries, kv_seq_len=keys, head_size=32, head_size_kv=64)
    kernel, subs, _ = get_alibi_attention_kernel(shape, (SMALL, SMALL), False)
    q, k, v, slopes = randn(2, queries, 32, scale=0.5), randn(2, keys, 32, seed=1), randn(2, keys, 64, seed=2), np.array([0.5, 0.125], np.float32)
    c = np.full((2, queries, 64), np.nan, np.float32)
    run(kernel, subs, q, k, np.ascontiguousarray(v.transpose(0, 2, 1)), slopes, c)
    behind = np.minimum(np.arange(keys)[None] - np.arange(queries)[:, None], 0)
    close(c, attention(q, k, v, scale=1 / LOG2E, bias=slopes[:, None, None] * behind / LOG2E))


def rpe_bias(table, queries, keys, longest):
    distance = np.arange(queries)[:, None] - np.arange(keys)[None]
    return table[np.where((distance >= 0) & (distance < longest), distance, longest)].astype(np.float64)


@pytest.mark.parametrize("queries, keys", [(64, 64), (45, 77)])
def test_relative_positions(queries, keys):
    from wave_lang.kernel.wave.templates.t5_rpe_attention import get_t5_rpe_attention_kernel

    shape = AttentionShape(num_query_heads=2, num_kv_heads=2, query_seq_len=queries, kv_seq_len=keys, head_size=32, head_size_kv=64)
    kernel, subs, _ = get_t5_rpe_attention_kernel(shape, (SMALL, SMALL), False, 30)
    q, k, v, rpe = randn(2, queries, 32, scale=0.5), randn(2, keys, 32, seed=1), randn(2, keys, 64, seed=2), randn(31, seed=3).astype(np.float32)
    c = np.full((2, queries, 64), np.nan, np.float32)
    run(kernel, subs, q, k, np.ascontiguousarray(v.transpose(0, 2, 1)), rpe, c)
    close(c, attention(q, k, v, scale=1 / LOG2E, bias=rpe_bias(rpe, queries, keys, 30) / LOG2E))


def bf16(array):
    """The bits of the nearest bf16, as NumPy has none."""
    bits = array.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(array):
    return (array.astype(np.uint32) << 16).view(np.float32)


@pytest.mark.parametrize("kind, keys", [("f16", 64), ("f16", 50), ("bf16", 64)])
def test_evoformer(kind, keys):
    import wave_lang.kernel.lang as tkl
    from wave_lang.kernel.wave.templates.evoformer import get_evoformer_kernel

    sizes = [(1, 1), (2, 1), (keys, 32), (2, 1), (32, 32), (40, 32), (32, 32)]
    kernel, subs = get_evoformer_kernel(*sizes, SMALL, getattr(tkl, kind))
    shapes = [(1, 2, 40, 2, 32), (1, 2, keys, 2, 32), (1, 2, 32, 2, keys), (1, 2, keys), (1, 2, 40, keys)]
    arrays = [randn(*shape, seed=seed, scale=0.5) for seed, shape in enumerate(shapes)]
    given, c = arrays, np.zeros((1, 2, 40, 2, 32), np.float16)
    if kind == "bf16":
        given, c = [bf16(each) for each in arrays], np.zeros(c.shape, np.uint16)
        arrays = [from_bf16(each) for each in given]
    run(kernel, subs, *given, c)
    q, k, v, mask, bias = (each.astype(np.float64) for each in arrays)
    both = mask[:, :, None, None, :] + bias[:, None]
    turn = lambda x: x.swapaxes(2, 3)  # noqa: E731
    found = from_bf16(c) if kind == "bf16" else c
    close(turn(found), attention(turn(q), turn(k), v.transpose(0, 1, 3, 4, 2), scale=1 / LOG2E, bias=both / LOG2E), 2e-2 if kind == "bf16" else 5e-3)


# ---- In two phases --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("keys", [128, 150])
def test_decode(keys, dynamic):
    from wave_lang.kernel.wave.templates.decode_attention import get_decode_attention_kernels

    heads, queries, depth = 2, 20, 64
    first, second, subs_0, subs_1, dynamic_0, dynamic_1, parts = get_decode_attention_kernels((heads, queries, depth, 32, keys), SMALL, dynamic)
    q, k, v = randn(heads, queries, 32, scale=0.5), randn(heads, keys, 32, seed=1), randn(heads, keys, depth, seed=2)
    output, output_max = np.full((parts, heads, depth, queries), np.nan, np.float32), np.full((parts, heads, queries), np.nan, np.float32)
    c = np.full((heads, queries, depth), np.nan, np.float32)
    run(first, subs_0, q, k, np.ascontiguousarray(v.transpose(0, 2, 1)), output, output_max, dynamic=dynamic_0)
    run(second, subs_1, output, output_max, c, dynamic=dynamic_1)
    close(c, attention(q, k, v, scale=1 / LOG2E))


@pytest.mark.parametrize("heads, shared, keys, splits", [(8, 2, 128, 4), (6, 2, 100, 7)])
def test_decode_of_shared_heads(heads, shared, keys, splits):
    from wave_lang.kernel.wave.templates.gqa_decode_attention import get_gqa_decode_attention_kernels

    shape = AttentionShape(num_seqs=2, num_query_heads=heads, num_kv_heads=shared, head_size=32, head_size_kv=48, kv_seq_len=keys)
    q, k, v = randn(2, heads, 32), randn(2, keys, shared, 32, seed=1), randn(2, keys, shared, 48, seed=2)
    first, second, subs_0, subs_1 = get_gqa_decode_attention_kernels(shape, (SMALL, SMALL), splits, k.shape, v.shape)
    output, output_max = np.full((splits, 2, 48, heads), np.nan, np.float32), np.full((splits, 2, heads), np.nan, np.float32)
    c = np.full((2, heads, 48), np.nan, np.float16)
    run(first, subs_0, q, k, v, output, output_max)
    run(second, subs_1, output, output_max, c)
    repeat = lambda x: np.repeat(x.swapaxes(1, 2), heads // shared, 1)  # noqa: E731
    close(c, attention(q[:, :, None], repeat(k), repeat(v))[:, :, 0])


@pytest.mark.parametrize("heads, shared, cap", [(8, 2, 0.0), (6, 2, 3.0), (3, 3, 0.0)])
def test_decode_of_scattered_keys(heads, shared, cap):
    import wave_lang.kernel.wave as tkw
    from wave_lang.kernel.wave.templates.paged_decode_attention import (
        get_paged_decode_attention_kernels,
        get_paged_decode_intermediate_arrays_shapes,
        paged_decode_attention_shape,
    )

    lengths, splits = [70, 0, 3], 4
    shape = paged_decode_attention_shape(heads, shared, 32, 48, 1, len(lengths))
    mfma = (tkw.GenericDot(), tkw.GenericDot()) if heads == shared else (SMALL, SMALL)
    first, second, subs_0, subs_1, dynamic_0, dynamic_1 = get_paged_decode_attention_kernels(shape, mfma, splits, logit_cap=cap)
    rng = np.random.default_rng(5)
    q, k, v = randn(3, heads, 32), randn(100, shared, 32, seed=1), randn(100, shared, 48, seed=2)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    rows = rng.permutation(100)[: starts[-1]].astype(np.int32)
    unused = np.setdiff1d(np.arange(100), rows)
    k[unused], v[unused] = np.nan, np.nan  # nobody looks there
    shapes = get_paged_decode_intermediate_arrays_shapes(shape, splits)
    output, output_max = (np.full(each, np.nan, np.float32) for each in shapes)
    c = np.full((3, heads, 48), np.nan, np.float16)
    run(first, subs_0, q, k, v, starts, rows, output, output_max, dynamic=dynamic_0)
    run(second, subs_1, output, output_max, starts, c, dynamic=dynamic_1)
    change = (lambda scores: cap * np.tanh(scores / cap)) if cap else (lambda scores: scores)
    for each in range(3):
        mine = rows[starts[each] : starts[each + 1]]
        if not len(mine):
            assert (c[each] == 0).all()
            continue
        repeat = lambda x: np.repeat(x[mine].swapaxes(0, 1), heads // shared, 0)  # noqa: E731, B023
        close(c[each], attention(q[each][:, None], repeat(k), repeat(v), change=change)[:, 0])


# ---- Sequences one behind the other ------------------------------------------------------------------------------------------------


def ragged(heads, shared, new, kept, seed=0):
    """Queries and keys of sequences with `new` and `kept` tokens."""
    rng = np.random.default_rng(seed)
    total, cached = sum(new), sum(kept)
    q, k, v = randn(total, heads, 32), randn(total, shared, 32, seed=1), randn(total, shared, 48, seed=2)
    k_cache, v_cache = randn(cached + 9, shared, 32, seed=3), randn(cached + 9, shared, 48, seed=4)
    qo, kv = (np.concatenate([[0], np.cumsum(each)]).astype(np.int32) for each in (new, kept))
    return q, k, v, k_cache, v_cache, qo, kv, rng.permutation(cached + 9)[:cached].astype(np.int32)


def extended(tensors, ratio, score):
    """What each sequence attends to; `score` says bias and mask for new queries and kept and new keys."""
    q, k, v, k_cache, v_cache, qo, kv, rows = tensors
    results = []
    for s in range(len(qo) - 1):
        mine, kept = slice(qo[s], qo[s + 1]), rows[kv[s] : kv[s + 1]]
        keys, values = np.concatenate([k_cache[kept], k[mine]]), np.concatenate([v_cache[kept], v[mine]])
        options = score(s, qo[s + 1] - qo[s], len(kept))
        repeat = lambda x: np.repeat(x.swapaxes(0, 1), ratio, 0)  # noqa: E731
        results.append(attention(q[mine].swapaxes(0, 1), repeat(keys), repeat(values), **options).swapaxes(0, 1))
    return np.concatenate(results)


def extend_shape(block, new):
    return AttentionShape(num_query_heads=4, num_kv_heads=2, head_size=32, head_size_kv=48, block_size=block, max_seq_len=max(new))


@pytest.mark.parametrize("is_causal, cap, block", [(True, 0.0, None), (False, 5.0, 64)])
def test_extend(is_causal, cap, block):
    from wave_lang.kernel.wave.templates.extend_attention import get_extend_attention_kernel

    new, kept = [40, 1, 70], [33, 0, 64]
    tensors = ragged(4, 2, new, kept)
    q, k, v, k_cache, v_cache, *starts = tensors
    c = np.full((sum(new), 4, 48), np.nan, np.float32)
    shapes = (each.shape for each in (q, k, v, k_cache, v_cache, c))
    kernel, subs, dynamic = get_extend_attention_kernel(extend_shape(block, new), (SMALL, SMALL), *shapes, is_causal=is_causal, logit_cap=cap)
    run(kernel, subs, q, k, v, k_cache, v_cache, *starts, max(new), c, dynamic=dynamic)

    def score(_, new, kept):
        mask = np.concatenate([np.ones((new, kept), bool), causal(new, new)], 1) if is_causal else None
        return {"mask": mask, "change": (lambda x: cap * np.tanh(x / cap)) if cap else (lambda x: x)}

    close(c, extended(tensors, 2, score))


def test_extend_with_a_mask():
    from wave_lang.kernel.wave.templates.extend_attention import get_extend_attention_kernel

    new, kept = [20, 33], [17, 40]
    tensors = ragged(4, 2, new, kept)
    q, k, v, k_cache, v_cache, *starts = tensors
    c = np.full((sum(new), 4, 48), np.nan, np.float16)
    shapes = (each.shape for each in (q, k, v, k_cache, v_cache, c))
    masks = [np.random.default_rng(s).integers(0, 2, (m, m + p)).astype(np.int8) for s, (m, p) in enumerate(zip(new, kept))]
    offsets = np.concatenate([[0], np.cumsum([each.size for each in masks])]).astype(np.int32)
    import wave_lang.kernel.lang as tkl

    template = get_extend_attention_kernel(extend_shape(None, new), (SMALL, SMALL), *shapes, output_dtype=tkl.f16, use_custom_mask=True)
    kernel, subs, dynamic = template
    flat = np.concatenate([each.ravel() for each in masks])
    run(kernel, subs, q, k, v, k_cache, v_cache, *starts, flat, offsets, max(new), c, dynamic=dynamic)
    close(c, extended(tensors, 2, lambda s, new, kept: {"mask": masks[s] == 1}))


def test_extend_with_relative_positions():
    from wave_lang.kernel.wave.templates.extend_attention_rpe import get_extend_attention_rpe_kernel

    new, kept = [30, 45], [33, 8]
    tensors = ragged(4, 2, new, kept)
    q, k, v, k_cache, v_cache, *starts = tensors
    rpe, c = randn(11, seed=9).astype(np.float32), np.full((sum(new), 4, 48), np.nan, np.float32)
    shapes = (each.shape for each in (q, k, v, k_cache, v_cache, c))
    kernel, subs, dynamic = get_extend_attention_rpe_kernel(extend_shape(64, new), (SMALL, SMALL), *shapes, is_causal=True, max_rpe_context_length=10)
    run(kernel, subs, q, k, v, k_cache, v_cache, *starts, rpe, max(new), c, dynamic=dynamic)

    def score(_, new, kept):
        bias = np.concatenate([np.zeros((new, kept)), rpe_bias(rpe, new, new, 10)], 1)
        return {"mask": np.concatenate([np.ones((new, kept), bool), causal(new, new)], 1), "bias": bias}

    close(c, extended(tensors, 2, score))


def test_prefill():
    from wave_lang.kernel.wave.templates.prefill_attention import get_prefill_attention_kernel

    lengths = [40, 1, 70]
    q, k, v, *_ = ragged(4, 2, lengths, [1, 1, 1])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int32)
    c = np.full((sum(lengths), 4, 48), np.nan, np.float32)
    shape = AttentionShape(num_query_heads=4, num_kv_heads=2, head_size=32, head_size_kv=48, num_seqs=3, max_seq_len=70, total_seq_len=111)
    kernel, subs = get_prefill_attention_kernel(shape, (SMALL, SMALL), q.shape, k.shape, v.shape, c.shape)
    run(kernel, subs, q, k, v, starts, np.array(lengths, np.int32), c)
    for start, length in zip(starts, lengths):
        mine = slice(start, start + length)
        repeat = lambda x: np.repeat(x[mine].swapaxes(0, 1), 2, 0)  # noqa: E731, B023
        close(c[mine].swapaxes(0, 1), attention(q[mine].swapaxes(0, 1), repeat(k), repeat(v), scale=1 / LOG2E))


# ---- With the schedule for attention --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target, direct", [("gfx942", False), ("gfx950", False), ("gfx950", True)])
@pytest.mark.parametrize("keys", [320, 70])
def test_prefetch_attention(target, direct, keys):
    from wave_lang.kernel.wave.scheduling.schedule import SchedulingType
    from wave_lang.kernel.wave.templates.vanilla_attention import get_bshd_attention_kernel

    shape = AttentionShape(num_query_heads=2, num_kv_heads=2, query_seq_len=40, kv_seq_len=keys, head_size=32, head_size_kv=64)
    kernel, subs, _ = get_bshd_attention_kernel(shape, (SMALL, SMALL), False)
    q, k, v = randn(1, 40, 2, 32), randn(1, keys, 2, 32, seed=1), randn(1, keys, 2, 64, seed=2)
    results = []
    for schedule in (SchedulingType.NONE, SchedulingType.PREFETCH_ATTENTION):
        c = np.full((1, 40, 2, 64), np.nan, np.float32)
        options = WaveCompileOptions(subs=subs, target=target, run_on="emulator", schedule=schedule, use_global_to_shared=direct)
        compiled = wave_compile(options, kernel)
        compiled(q, k, v, c)
        results.append(c)
    assert "stage 3" in compiled.schedule_text and "stage 4" not in compiled.schedule_text
    assert np.array_equal(*results)  # a schedule changes no bit
    turn = lambda x: x.swapaxes(1, 2)  # noqa: E731
    close(turn(results[0]), attention(turn(q), turn(k), turn(v)))
