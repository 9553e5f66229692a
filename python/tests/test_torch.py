"""Tensors of torch, where it is installed (`make test-torch`)."""

import importlib
import pathlib
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-torch`")

import soliton  # noqa: E402
import soliton.lang as tkl  # noqa: E402
import soliton.wave as tkw  # noqa: E402
from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE  # noqa: E402
from soliton.wave.compile import WaveCompileOptions, wave_compile  # noqa: E402

M, N = tkl.sym.M, tkl.sym.N


def copy_kernel(dtype):
    @tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), tkw.HardwareConstraint()])
    def copy(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype]):
        tkw.write(tkw.read(a), b)

    return wave_compile(WaveCompileOptions(subs={M: 8, N: 32}, target="gfx942", run_on="emulator"), copy)


TYPES = [
    (tkl.f16, torch.float16),
    (tkl.bf16, torch.bfloat16),
    (tkl.f32, torch.float32),
    (tkl.f64, torch.float64),
    (tkl.f8e4m3fnuz, torch.float8_e4m3fnuz),
    (tkl.f8e5m2, torch.float8_e5m2),
    (tkl.i8, torch.int8),
    (tkl.i8, torch.uint8),
    (tkl.i32, torch.int32),
    (tkl.i64, torch.int64),
    (tkl.bool, torch.bool),
]


@pytest.mark.parametrize("ours, theirs", TYPES, ids=str)
def test_types_of_torch(ours, theirs):
    a = torch.arange(256).reshape(8, 32).remainder(7).to(theirs)
    b = torch.zeros(8, 32).to(theirs)
    copy_kernel(ours)(a, b)
    assert torch.equal(a.float(), b.float())


def test_an_input_that_is_not_dense_is_copied_and_parameters_are_tensors():
    a = torch.nn.Parameter(torch.randn(32, 8))
    b = torch.zeros(8, 32)
    copy_kernel(tkl.f32)(a.t(), b)
    assert torch.equal(a.t(), b)


def test_an_output_that_is_not_dense_is_refused():
    with pytest.raises(soliton.CompileError, match="argument-stride"):
        copy_kernel(tkl.f32)(torch.zeros(8, 32), torch.zeros(32, 8).t())


def test_another_device_is_refused():
    with pytest.raises(soliton.CompileError, match="lies on `meta`"):
        copy_kernel(tkl.f32)(torch.zeros(8, 32, device="meta"), torch.zeros(8, 32))


@pytest.mark.parametrize("first", ["torch", "soliton._native"])
def test_torch_and_soliton_are_imported_in_any_order(first):
    second = "torch" if first != "torch" else "soliton._native"
    program = f"import {first}, {second}; print(torch.ones(2).sum().item() if 'torch' in dir() else 2.0)"
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert made.returncode == 0 and made.stdout.strip() == "2.0", made.stderr


PROGRAM = """
    import torch
    import wave_lang.kernel.lang as tkl
    import wave_lang.kernel.wave as tkw
    from wave_lang.kernel.lang.global_symbols import *
    from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile
    from wave_lang.kernel.wave.utils.general_utils import get_default_scheduling_params, torch_dtype_to_wave
    from wave_lang.kernel.wave.utils.run_utils import set_default_run_config
    from wave_lang.kernel.wave.utils.torch_utils import device_randn, device_zeros

    M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
    BLOCK_M, BLOCK_N, BLOCK_K, ADDRESS_SPACE = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K, tkl.sym.ADDRESS_SPACE
    constraints = [tkw.WorkgroupConstraint(M, BLOCK_M, 0), tkw.WorkgroupConstraint(N, BLOCK_N, 1)]
    constraints += [tkw.TilingConstraint(K, BLOCK_K), tkw.WaveConstraint(M, sympy.floor(BLOCK_M / 2)), tkw.WaveConstraint(N, BLOCK_N / 2)]
    constraints += [tkw.HardwareConstraint(threads_per_wave=64, mma_type=tkw.MMAType.F32_16x16x16_F16)]
    dtype = torch_dtype_to_wave(torch.float16)

    @tkw.wave(constraints)
    def gemm(a: tkl.Memory[M, K, ADDRESS_SPACE, dtype], b: tkl.Memory[N, K, ADDRESS_SPACE, dtype], c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    hyperparams = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 32, M: 128, N: 64, K: 96}
    hyperparams.update(get_default_scheduling_params())
    options = set_default_run_config(WaveCompileOptions(subs=hyperparams, canonicalize=True))
    compiled = wave_compile(options, gemm)
    a = torch.randn(128, 96, dtype=torch.float16, device="cuda")
    b, c = device_randn(64, 96, dtype=torch.float16).to("cuda:0"), device_zeros(128, 64, dtype=torch.float32).cuda()
    compiled(a, b, c)
    torch.cuda.synchronize()
    torch.testing.assert_close(c, a.float() @ b.float().T, atol=1e-2, rtol=1e-3, check_device=False)
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason='there is a GPU, so "cuda" is it')
def test_cuda_means_the_cpu_where_there_is_none(tmp_path):
    pytest.importorskip("sympy")
    program = tmp_path / "gemm.py"
    program.write_text(textwrap.dedent(PROGRAM))
    made = subprocess.run([sys.executable, "-m", "soliton.compat", str(program)], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


# ---- Operators of torch ------------------------------------------------------------------------------------------------------


def product(rows, columns, depth, dynamic=False):
    """c[M, N] = a[M, K] · b[N, K]ᵀ, all f32."""
    K = tkl.sym.K
    constraints = [tkw.WorkgroupConstraint(M, 16, 0), tkw.WorkgroupConstraint(N, 16, 1), tkw.TilingConstraint(K, 16)]
    constraints += [tkw.WaveConstraint(M, 16), tkw.WaveConstraint(N, 16), tkw.HardwareConstraint(mma_type=tkw.MMAType.F32_16x16x16_F16)]

    @tkw.wave(constraints)
    def matmul(
        a: tkl.Memory[M, K, GLOBAL_ADDRESS_SPACE, tkl.f32],
        b: tkl.Memory[N, K, GLOBAL_ADDRESS_SPACE, tkl.f32],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def repeat(acc):
            return tkw.mma(tkw.cast(tkw.read(a), tkl.f16), tkw.cast(tkw.read(b), tkl.f16), acc)

        tkw.write(repeat, c)

    subs = {M: rows, N: columns, K: depth}
    if dynamic:
        del subs[M]
    options = WaveCompileOptions(subs=subs, dynamic_symbols=[M] if dynamic else [], target="gfx942", run_on="emulator")
    return wave_compile(options, matmul)


def small(*shape, seed=0, **options):
    made = torch.randint(-3, 4, shape, generator=torch.Generator().manual_seed(seed)).float()
    return made.requires_grad_(options.get("grad", False))


def test_an_operator_returns_what_the_kernel_writes():
    import soliton.torch

    matmul = soliton.torch.custom_op("soliton_tests::matmul", product(32, 48, 64))
    a, b = small(32, 64), small(48, 64, seed=1)
    assert torch.equal(matmul(a, b), a @ b.T)
    torch.library.opcheck(matmul, (a, b))


def test_torch_compile_accepts_an_operator():
    import soliton.torch

    matmul = soliton.torch.custom_op("soliton_tests::dynamic", product(0, 48, 64, dynamic=True))
    b = small(48, 64, seed=1)

    def program(a):
        return torch.relu(matmul(a * 2, b)) + 1

    # `eager` runs the captured graph without a C++ compiler of the machine.
    captured = torch.compile(program, backend="aot_eager", fullgraph=True, dynamic=True)
    for rows in (32, 16, 5):
        a = small(rows, 64, seed=rows)
        assert torch.equal(captured(a), torch.relu(2 * a @ b.T) + 1)


def test_autograd_through_kernels():
    """The backward of a product is two products, each a kernel of ours."""
    import soliton.torch

    forward = soliton.torch.custom_op("soliton_tests::forward", product(32, 48, 64))
    to_a, to_b = product(32, 64, 48), product(48, 64, 32)

    def keep(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(context, gradient):
        a, b = context.saved_tensors
        of_a, of_b = torch.empty_like(a), torch.empty_like(b)
        to_a(gradient.contiguous(), b.t().contiguous(), of_a)
        to_b(gradient.t().contiguous(), a.t().contiguous(), of_b)
        return of_a, of_b

    forward.register_autograd(backward, setup_context=keep)
    a, b, g = small(32, 64, grad=True), small(48, 64, seed=1, grad=True), small(32, 48, seed=2)
    forward(a, b).backward(g)
    assert torch.equal(a.grad, g @ b.detach()) and torch.equal(b.grad, g.T @ a.detach())


EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("target, queries, keys", [("gfx942", 80, 80), ("gfx950", 33, 100), ("sm_90a", 70, 45)])
def test_autograd_through_attention(monkeypatch, target, queries, keys, is_causal):
    """The slopes that our backward kernels find are those of torch's own attention, which keeps the weights in f32."""
    monkeypatch.syspath_prepend(EXAMPLES)
    attention = importlib.import_module("attention")
    attend = attention.Attention(f"soliton_tests_{target}_{is_causal}", depth=32, causal=is_causal, target=target, run_on="emulator")
    draw = torch.Generator().manual_seed(3)
    ours = [torch.randn(2, 2, rows, 32, generator=draw).half().requires_grad_() for rows in (queries, keys, keys)]
    theirs = [each.detach().float().requires_grad_() for each in ours]
    slope = torch.randn(2, 2, queries, 32, generator=draw).half()
    found = attend(*ours)
    wanted = torch.nn.functional.scaled_dot_product_attention(*theirs, is_causal=is_causal)
    found.backward(slope)
    wanted.backward(slope.float())
    torch.testing.assert_close(found.float(), wanted, atol=3e-3, rtol=3e-3)
    for mine, other in zip(ours, theirs):
        torch.testing.assert_close(mine.grad.float(), other.grad, atol=4e-3, rtol=4e-3)


def test_attention_is_an_operator_whose_slopes_torch_compile_finds(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    attention = importlib.import_module("attention")
    attend = attention.Attention("soliton_tests_compiled", depth=32, target="gfx942", run_on="emulator")
    given = [torch.randn(1, 2, 40, 32, generator=torch.Generator().manual_seed(seed)).half() for seed in range(3)]
    torch.library.opcheck(attend.forward, (*given, attend.scale), test_utils=("test_schema", "test_autograd_registration", "test_faketensor"))

    def program(q, k, v):
        return attend(q * 2, k, v).float().square().sum()

    slopes = []
    for run in (program, torch.compile(program, backend="aot_eager", fullgraph=True)):
        leaves = [each.clone().requires_grad_() for each in given]
        run(*leaves).backward()
        slopes.append([each.grad for each in leaves])
    assert all(torch.equal(*pair) for pair in zip(*slopes))


def test_an_operator_that_changes_its_argument():
    import soliton.torch

    @tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), tkw.HardwareConstraint()])
    def double(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], factor: tkl.f32):
        tkw.write(tkw.read(a) * tkw.broadcast(factor, target_shape=[M, N]), a)

    run = wave_compile(WaveCompileOptions(subs={M: 8, N: 32}, target="gfx942", run_on="emulator"), double)
    scale_ = soliton.torch.custom_op("soliton_tests::scale_", run)
    a = small(8, 32)
    expected = 3 * a
    assert scale_(a, 3.0) is None and torch.equal(a, expected)


def test_only_compiled_kernels_are_operators():
    import soliton.torch

    with pytest.raises(soliton.CompileError, match="expected a compiled kernel"):
        soliton.torch.custom_op("soliton_tests::nothing", lambda: None)


def test_tensors_take_the_way_of_cpp():
    """After the first call the arguments are C++'s to read, parameters and views too."""
    run = copy_kernel(tkl.f32)
    a, b = torch.randn(16, 32)[8:], torch.zeros(8, 32)
    run(a, b)
    run._split = None  # the way of Python would need it
    for given in (a, torch.nn.Parameter(a.clone())):
        b.zero_()
        run(given, b)
        assert torch.equal(given, b)
    with pytest.raises(TypeError):
        run(a.t().contiguous().t(), b)  # not dense, so it is Python's to copy


def test_a_subclass_says_itself_where_it_lies():
    """torch's table of functions knows nothing of what a subclass means."""

    class Logged(torch.Tensor):
        asked = 0

        def data_ptr(self):
            Logged.asked += 1
            return super().data_ptr()

    run, b = copy_kernel(tkl.f32), torch.zeros(8, 32)
    a = torch.randn(8, 32).as_subclass(Logged)
    for _ in range(2):
        run(a, b)
    assert Logged.asked == 2 and torch.equal(a, b)
