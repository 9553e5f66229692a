"""Kernels that Wave brings: each computes what it should, on small sizes."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-torch`")
pytest.importorskip("sympy")

import soliton.compat  # noqa: E402

soliton.compat.install()

from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile  # noqa: E402
from wave_lang.kernel.wave.constraints import MMAType  # noqa: E402
from wave_lang.kernel.wave.templates import gemm, moe, reordered_gemm, test_kernels, vanilla_attention  # noqa: E402
from wave_lang.kernel.wave.templates.attention_common import AttentionShape  # noqa: E402
from wave_lang.kernel.wave.utils.reference_kernel_utils import scaled_dot_product_attention_bhsd  # noqa: E402

MMA = MMAType.F32_16x16x16_F16


def small(*shape, seed=0):
    return torch.randint(-3, 4, shape, generator=torch.Generator().manual_seed(seed)).to(torch.float16)


def run(kernel, subs, *tensors, dynamic=(), schedule=None, **options):
    options = WaveCompileOptions(subs=subs, dynamic_symbols=list(dynamic), target="gfx942", run_on="emulator", **options)
    wave_compile(options, kernel, schedule)(*tensors)


@pytest.mark.parametrize("dynamic_dims", [False, True, (True, False, False)])
def test_product(dynamic_dims):
    kernel, subs, dynamic = gemm.get_gemm_kernel((70, 100, 160), dynamic_dims, MMA)
    a, b, c = small(70, 160), small(100, 160, seed=1), torch.full((70, 100), torch.nan)
    run(kernel, subs, a, b, c, dynamic=dynamic)
    assert torch.equal(c, a.float() @ b.float().T)


def test_product_of_parts_of_k():
    kernel, subs = gemm.get_splitk_gemm_kernel((64, 64, 200), 2, MMA)
    a, b, c = small(64, 200), small(64, 200, seed=1), torch.zeros(64, 64)
    run(kernel, subs, a, b, c)
    assert torch.equal(c, a.float() @ b.float().T)


def test_product_of_transposed_operands():
    kernel, subs, dynamic = gemm.get_gemm_kernel_transpose_a_b((70, 100, 96), False, MMA)
    a, b, c = small(96, 70), small(96, 100, seed=1), torch.full((70, 100), torch.nan)
    run(kernel, subs, a, b, c, dynamic=dynamic)
    assert torch.equal(c, a.float().T @ b.float())


def test_product_in_another_order_of_workgroups():
    kernel, subs = reordered_gemm.get_reordered_matmul(320, 192, 64, 64, 64, 32, 2, MMA)
    a, b, c = small(320, 64), small(192, 64, seed=1), torch.full((320, 192), torch.nan)
    run(kernel, subs, a, b, c)
    assert torch.equal(c, a.float() @ b.float().T)


def test_gate():
    import wave_lang.kernel.lang as tkl

    kernel, subs = moe.get_silu_and_mul_kernel(3, 300, tkl.f32)
    x, y, out = torch.randn(3, 300), torch.randn(3, 300), torch.full((3, 300), torch.nan)
    run(kernel, subs, x, y, out)
    torch.testing.assert_close(out, torch.nn.functional.silu(x) * y, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("is_causal, window, turned", [(False, -1, False), (True, -1, False), (True, 20, True)])
def test_attention(is_causal, window, turned):
    shape = AttentionShape(num_query_heads=2, query_seq_len=70, kv_seq_len=90, head_size=32, head_size_kv=48)
    kernel, subs, _ = vanilla_attention.get_vanilla_attention_kernel(shape, (MMA, MMA), False, is_causal, turned, window)
    q, k, v = (torch.randn(shape_).half() for shape_ in ((2, 70, 32), (2, 90, 32), (2, 90, 48)))
    c = torch.full((2, 70, 48), torch.nan)
    run(kernel, subs, q, k, v.transpose(1, 2).contiguous() if turned else v, c)
    wanted = scaled_dot_product_attention_bhsd(q[None], k[None], v[None], is_causal, window)[0]
    torch.testing.assert_close(c, wanted, atol=2e-3, rtol=1e-2)


SCHEDULES = [
    (test_kernels.get_gemm_prefetch_kernel_and_schedule, (128, 64, 128)),
    (test_kernels.get_gemm_unroll_kernel_and_schedule, (64, 64, 256)),
    (test_kernels.get_gemm_pipeline_then_unroll_kernel_and_schedule, (64, 64, 288)),
]


@pytest.mark.parametrize("template, shape", SCHEDULES, ids=lambda each: getattr(each, "__name__", ""))
def test_products_with_schedules_of_their_own(template, shape):
    kernel, schedule, options = template(shape, compile_to_mlir=False)
    options.target, options.run_on = "gfx942", "emulator"
    m, n, k = shape
    a, b, c = small(m, k), small(n, k, seed=1), torch.full((m, n), torch.nan)
    wave_compile(options, kernel, schedule)(a, b, c)
    assert torch.equal(c, a.float() @ b.float().T)
