"""Products and other kernels that Wave brings: each computes what it should, on small sizes. Those of attention are in
test_attention_templates.py, those with schedules in test_schedule_templates.py."""

import numpy as np
import pytest

pytest.importorskip("sympy")

import soliton.compat  # noqa: E402

soliton.compat.install()

import wave_lang.kernel.lang as tkl  # noqa: E402
from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile  # noqa: E402
from wave_lang.kernel.wave.constraints import MMAType, ScaledMMAType  # noqa: E402
from wave_lang.kernel.wave.templates import conv, gemm, moe, reordered_gemm, test_kernels  # noqa: E402

MMA, SCALED = MMAType.F32_16x16x16_F16, ScaledMMAType.F32_16x16x128_F8F6F4


def small(*shape, seed=0, dtype=np.float16):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def run(kernel, subs, *arrays, dynamic=(), schedule=None, target="gfx942", **options):
    options = WaveCompileOptions(subs=subs, dynamic_symbols=list(dynamic), target=target, run_on="emulator", **options)
    wave_compile(options, kernel, schedule)(*arrays)


def product(a, b):
    return a.astype(np.float32) @ b.astype(np.float32).T


@pytest.mark.parametrize("dynamic_dims", [False, True, (True, False, False)])
def test_product(dynamic_dims):
    kernel, subs, dynamic = gemm.get_gemm_kernel((70, 100, 160), dynamic_dims, MMA)
    a, b, c = small(70, 160), small(100, 160, seed=1), np.full((70, 100), np.nan, np.float32)
    run(kernel, subs, a, b, c, dynamic=dynamic)
    assert np.array_equal(c, product(a, b))


def test_product_with_tiles_of_ones_own():
    kernel, subs, _ = gemm.get_gemm_kernel((64, 64, 64), False, MMA, tkl.bf16, block_shape=(32, 64, 64), waves_per_block=(1, 2))
    a, b, c = small(64, 64, dtype=np.float32), small(64, 64, seed=1, dtype=np.float32), np.full((64, 64), np.nan, np.float32)
    run(kernel, subs, (a.view(np.uint32) >> 16).astype(np.uint16), (b.view(np.uint32) >> 16).astype(np.uint16), c)
    assert np.array_equal(c, product(a, b))


@pytest.mark.parametrize("splits", [2, 3])
def test_product_of_parts_of_k(splits):
    kernel, subs = gemm.get_splitk_gemm_kernel((64, 64, 200), splits, MMA)
    a, b, c = small(64, 200), small(64, 200, seed=1), np.zeros((64, 64), np.float32)
    run(kernel, subs, a, b, c)
    assert np.array_equal(c, product(a, b))


def test_product_of_transposed_operands():
    kernel, subs, dynamic = gemm.get_gemm_kernel_transpose_a_b((70, 100, 96), False, MMA)
    a, b, c = small(96, 70), small(96, 100, seed=1), np.full((70, 100), np.nan, np.float32)
    run(kernel, subs, a, b, c, dynamic=dynamic)
    assert np.array_equal(c, product(a.T, b.T))


def test_product_in_another_order_of_workgroups():
    kernel, subs = reordered_gemm.get_reordered_matmul(320, 192, 64, 64, 64, 32, 2, MMA)
    a, b, c = small(320, 64), small(192, 64, seed=1), np.full((320, 192), np.nan, np.float32)
    run(kernel, subs, a, b, c)
    assert np.array_equal(c, product(a, b))


@pytest.mark.parametrize("template", ["get_persistent_gemm_kernel", "get_persistent_reordering_kernel"])
@pytest.mark.parametrize("shape, workgroups", [((128, 192, 64), 4), ((300, 150, 70), 17)], ids=str)
def test_product_by_a_fixed_number_of_workgroups(template, shape, workgroups):
    kernel, subs = getattr(gemm, template)(shape, MMA, block_shape=(32, 64, 32), num_ctas=workgroups)
    m, n, k = shape
    a, b, c = small(m, k), small(n, k, seed=1), np.full((m, n), np.nan, np.float32)
    run(kernel, subs, a, b, c)
    assert np.array_equal(c, product(a, b))


@pytest.mark.parametrize("target", ["gfx942", "gfx950", "sm_90a"])
@pytest.mark.parametrize("shape, workgroups", [((64, 64, 96), 5), ((70, 50, 160), 7), ((70, 50, 160), 3), ((32, 32, 320), 4), ((32, 32, 64), 16)], ids=str)
def test_product_whose_workgroups_wait_for_each_other(shape, workgroups, target):
    """Tiles of one, of two and of many workgroups, and workgroups without a step."""
    kernel, subs = gemm.get_streamk_gemm_kernel(shape, MMA, block_shape=(32, 32, 32), num_ctas=workgroups)
    check_stream_k(kernel, subs, shape, target)


@pytest.mark.parametrize("tiles", [None, 0, 2, 4, 100])
def test_product_whose_last_tiles_are_shared(tiles):
    kernel, subs = gemm.get_hybrid_streamk_gemm_kernel((96, 80, 96), MMA, block_shape=(32, 32, 32), num_ctas=4, streamk_tiles=tiles)
    check_stream_k(kernel, subs, (96, 80, 96), "gfx942")


def check_stream_k(kernel, subs, shape, target):
    (m, n, k), slots = shape, subs[gemm.NUM_CTAS_SK_TILES]
    a, b, c = small(m, k), small(n, k, seed=1), np.full((m, n), np.nan, np.float32)
    partial, locks = np.full((slots, 32, 32), np.nan, np.float32), np.zeros((slots, 1), np.float32)
    run(kernel, subs, a, b, partial, locks, c, target=target)
    assert np.array_equal(c, product(a, b))


FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def scaled(rows, k, seed):
    """Elements of 4 bits and their scales, and what they stand for."""
    rng = np.random.default_rng(seed)
    packed, scales = rng.integers(0, 256, (rows, k // 2)).astype(np.uint8), rng.integers(124, 128, (rows, k // 32)).astype(np.uint8)
    pairs = np.stack([packed & 15, packed >> 4], -1).reshape(rows, k)
    return packed, scales, FP4[pairs] * np.repeat(np.exp2(scales.astype(np.float32) - 127), 32, axis=1)


@pytest.mark.parametrize("m, n", [(64, 64), (50, 40)])
def test_product_of_scaled_elements(m, n):
    kernel, subs = gemm.get_scaled_gemm_kernel((m, n, 512), SCALED)
    a, a_scale, left = scaled(m, 512, 0)
    b, b_scale, right = scaled(n, 512, 1)
    c = np.full((m, n), np.nan, np.float32)
    run(kernel, subs, a, a_scale, b, b_scale, c, target="gfx950")
    assert np.array_equal(c, left @ right.T)


def test_product_of_a_row_with_one_scale():
    kernel, subs = test_kernels.get_broadcasted_scale_gemm_mxfp4((64, 64, 512), SCALED)
    a, a_scale, _ = scaled(64, 512, 0)
    b, b_scale, right = scaled(64, 512, 1)
    pairs = np.stack([a & 15, a >> 4], -1).reshape(64, 512)
    left = FP4[pairs] * np.exp2(a_scale[:, :1].astype(np.float32) - 127)
    c = np.full((64, 64), np.nan, np.float32)
    run(kernel, subs, a, np.ascontiguousarray(a_scale[:, 0]), b, b_scale, c, target="gfx950")
    assert np.array_equal(c, left @ right.T)


def test_a_sum_along_groups():
    kernel, subs = test_kernels.get_broadcast_scaled_add((33, 200))
    a, b, c = small(33, 100), small(33, seed=1), np.full((33, 100), np.nan, np.float16)
    run(kernel, subs, a, b, c)
    assert np.array_equal(c, a + b[:, None])


def test_pieces_of_mixtures_of_experts():
    kernel, subs = moe.get_gemm_kernel(40, 64, 70, MMA, tkl.f16)
    a, b, c = small(40, 64), small(70, 64, seed=1), np.full((40, 70), np.nan, np.float32)
    run(kernel, subs, a, b, c)
    assert np.array_equal(c, product(a, b))
    kernel, subs = moe.get_silu_and_mul_kernel(3, 300, tkl.f32)
    rng = np.random.default_rng(0)
    x, y, out = rng.standard_normal((3, 300), np.float32), rng.standard_normal((3, 300), np.float32), np.full((3, 300), np.nan, np.float32)
    run(kernel, subs, x, y, out)
    np.testing.assert_allclose(out, x / (1 + np.exp(-x)) * y, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("layout", ["nchw_fchw", "nhwc_hwcf"])
@pytest.mark.parametrize("stride, size", [(1, (2, 8, 8, 4, 3, 3, 16)), (2, (1, 9, 11, 5, 3, 2, 7))], ids=["whole", "odd"])
def test_convolution(layout, stride, size):
    n, h, w, c, hf, wf, nf = size
    kernel, subs = conv.get_igemm_conv2d(layout, n, h, w, c, hf, wf, nf, stride, tkl.f16, tkl.f32, block_m=32, block_n=32)
    x, filters = small(n, c, h, w), small(nf, c, hf, wf, seed=1)
    rows, columns = (h - hf) // stride + 1, (w - wf) // stride + 1
    wanted = np.zeros((n, nf, rows, columns), np.float32)
    for r in range(hf):
        for s in range(wf):
            part = x[:, :, r : r + rows * stride : stride, s : s + columns * stride : stride][:, :, :rows, :columns]
            wanted += np.einsum("nchw,fc->nfhw", part.astype(np.float32), filters[:, :, r, s].astype(np.float32))
    if layout == "nhwc_hwcf":
        x, filters, wanted = x.transpose(0, 2, 3, 1), filters.transpose(2, 3, 1, 0), wanted.transpose(0, 2, 3, 1)
    out = np.full(wanted.shape, np.nan, np.float32)
    run(kernel, subs, np.ascontiguousarray(x), np.ascontiguousarray(filters), out)
    assert np.array_equal(out, wanted)


SCHEDULES = [
    (test_kernels.get_gemm_prefetch_kernel_and_schedule, (128, 64, 128)),
    (test_kernels.get_gemm_unroll_kernel_and_schedule, (64, 64, 256)),
    (test_kernels.get_gemm_unroll_with_iteration_access_kernel_and_schedule, (64, 64, 256)),
    (test_kernels.get_gemm_pipeline_then_unroll_kernel_and_schedule, (64, 64, 288)),
]


@pytest.mark.parametrize("template, shape", SCHEDULES, ids=lambda each: getattr(each, "__name__", ""))
def test_products_with_schedules_of_their_own(template, shape):
    kernel, schedule, options = template(shape, compile_to_mlir=False)
    options.target, options.run_on = "gfx942", "emulator"
    m, n, k = shape
    a, b, c = small(m, k), small(n, k, seed=1), np.full((m, n), np.nan, np.float32)
    wave_compile(options, kernel, schedule)(a, b, c)
    assert np.array_equal(c, product(a, b))


def speculate(tree, spec_tokens, acc, single):
    """What a careful reader of the paper would write, one number after the other."""
    coins, final, target, draft, candidates, index, child, sibling, predicts, number, accepted = tree
    for b in range(len(coins)):
        parent, last, kept, coin = 0, index[b, 0], 0, coins[b, 0]
        accepted[b, 0] = last
        for _ in range(1, spec_tokens):
            node, probability, found = child[b, parent], np.float32(0), False
            while node >= 0 and not found:
                token = candidates[b, node]
                own = target[b, parent, token]
                probability += own
                found = coin <= probability / np.float32(acc) or own >= single
                if found:
                    kept += 1
                    predicts[last], accepted[b, kept] = token, index[b, node]
                    parent, last, coin = node, index[b, node], coins[b, node]
                else:
                    draft[b, parent, token] = own
                    node = sibling[b, node]
            if not found:
                break
        number[b] = kept
        other = 0 if kept == spec_tokens - 1 else draft[b, parent]
        weights = np.maximum(target[b, parent] - other, 0).astype(np.float64)
        beyond = np.flatnonzero(weights.cumsum() > final[b] * weights.sum())
        predicts[last] = beyond[0] if len(beyond) else len(weights) - 1


@pytest.mark.parametrize("vocabulary, acc, single", [(20, 1.0, 1.0), (700, 0.9, 0.02), (64, 1.0, 0.0)])
def test_speculative_sampling(vocabulary, acc, single):
    from wave_lang.kernel.wave.templates.speculative_decoding import get_speculative_sampling_kernel

    batch, drafted, spec_tokens = 3, 6, 4
    rng = np.random.default_rng(vocabulary)
    coins, final = rng.random((batch, drafted), np.float32) * 0.3, rng.random(batch, np.float32)
    target = rng.random((batch, drafted, vocabulary), np.float32) ** 8
    target /= target.sum(-1, keepdims=True)
    candidates = rng.integers(0, vocabulary, (batch, drafted)).astype(np.int32)
    index = np.arange(batch * drafted, dtype=np.int32).reshape(batch, drafted)
    # 0 has the children 1, 2 and 3; 1 has 4; 4 has 5.
    child = np.tile(np.array([1, 4, -1, -1, 5, -1], np.int32), (batch, 1))
    sibling = np.tile(np.array([-1, 2, 3, -1, -1, -1], np.int32), (batch, 1))

    def tree():
        outputs = np.full(batch * drafted, -1, np.int32), np.full(batch, -1, np.int32), np.full((batch, spec_tokens), -1, np.int32)
        return [coins, final, target, np.zeros_like(target), candidates, index, child, sibling, *outputs]

    kernel, subs, dynamic = get_speculative_sampling_kernel(batch, spec_tokens, acc, single, drafted, vocabulary, batch * drafted)
    found, wanted = tree(), tree()
    run(kernel, subs, *found[:8], spec_tokens, *found[8:], dynamic=dynamic)
    speculate(wanted, spec_tokens, acc, single)
    for name, one, other in zip("predicts number accepted".split(), found[8:], wanted[8:]):
        assert np.array_equal(one, other), name
    assert np.array_equal(found[3], wanted[3])


@pytest.fixture
def on_gfx942(monkeypatch):
    monkeypatch.setenv("SOLITON_TARGET", "gfx942")


@pytest.mark.parametrize("use_bias", [False, True])
def test_linear_layers(use_bias, on_gfx942):
    from wave_lang.kernel.wave.templates.linear import get_linear_kernel, get_quant_linear_kernel

    x, w, bias = small(2, 30, 48), small(70, 48, seed=1), small(70, seed=2)
    parameters = (w, bias) if use_bias else (w,)
    wanted = x.astype(np.float32) @ w.astype(np.float32).T + (bias if use_bias else 0)
    y = np.full((2, 30, 70), np.nan, np.float16)
    get_linear_kernel((48, 70), use_bias=use_bias)(x, *parameters, y)
    assert np.array_equal(y, wanted.astype(np.float16))
    # Small integers are exact in eight bits, also over scales that are powers of 2.
    y[:] = np.nan
    get_quant_linear_kernel((48, 70), tkl.f16, (0.5, 0.25, tkl.f8e4m3fnuz), use_bias=use_bias)(x, *parameters, y)
    assert np.array_equal(y, wanted.astype(np.float16))


def test_a_product_over_one_device_and_no_more():
    from wave_lang.kernel.wave.templates.dist_gemm import get_dist_gemm_kernel

    kernel, subs, dynamic = get_dist_gemm_kernel((64, 64, 32), False, MMA)
    a, b, c = small(64, 32), small(64, 32, seed=1), np.full((64, 64), np.nan, np.float32)
    run(kernel, subs, a, b, c, dynamic=dynamic)
    assert np.array_equal(c, product(a, b))
    with pytest.raises(soliton.CompileError, match="2 by 1 devices"):
        get_dist_gemm_kernel((64, 64, 32), False, MMA, device_m=2)
