"""What bench/python/device.py asks of the package, each a method that raises where something is wrong."""

import contextlib
import os
import pathlib
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Skip(Exception):
    """A check that cannot run here, and why."""


class Checks:
    """What is asked of the package with native names. `gpu` is false on the emulator, where tensors are the CPU's and small."""

    def __init__(self, gpu: bool):
        import torch

        self.torch, self.gpu = torch, gpu
        self.device = "cuda" if gpu else "cpu"
        self.options = {"target": "sm_90a", "run_on": "" if gpu else "emulator"}
        self.side = 512 if gpu else 64
        self.product = self._product()

    def need_gpu(self) -> None:
        if not self.gpu:
            raise Skip("no GPU")

    def integers(self, *shape, seed=0, dtype=None):
        torch = self.torch
        made = torch.randint(-3, 4, shape, generator=torch.Generator().manual_seed(seed))
        return made.to(dtype or torch.float16).to(self.device)

    def wait(self) -> None:
        if self.gpu:
            self.torch.cuda.synchronize()

    # ---- Kernels ----

    def _product(self, **options):
        """c[M, N] = a[M, K] · b[N, K]ᵀ with any M, on matrix instructions."""
        import soliton.lang as tkl
        import soliton.wave as tkw
        from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE

        M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
        constraints = [tkw.WorkgroupConstraint(M, 64, 0), tkw.WorkgroupConstraint(N, 64, 1), tkw.TilingConstraint(K, 32)]
        constraints += [tkw.WaveConstraint(M, 32), tkw.WaveConstraint(N, 32), tkw.HardwareConstraint()]

        @tkw.wave(constraints)
        def gemm(
            a: tkl.Memory[M, K, SHARED_ADDRESS_SPACE, tkl.f16],
            b: tkl.Memory[N, K, SHARED_ADDRESS_SPACE, tkl.f16],
            c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        ):
            @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
            def loop(acc):
                return tkw.mma(tkw.read(a), tkw.read(b), acc)

            tkw.write(loop, c)

        subs = {N: self.side, K: self.side}
        return tkw.wave_compile(tkw.WaveCompileOptions(subs=subs, dynamic_symbols=[M], **self.options, **options), gemm)

    def _copy(self, **options):
        import soliton.lang as tkl
        import soliton.wave as tkw
        from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE

        M, N = tkl.sym.M, tkl.sym.N

        @tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), tkw.WorkgroupConstraint(N, 64, 1), tkw.HardwareConstraint()])
        def copy(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
            tkw.write(tkw.read(a), b)

        return tkw.wave_compile(tkw.WaveCompileOptions(dynamic_symbols=[M, N], **self.options, **options), copy)

    def operands(self, rows=None, seed=0):
        rows = self.side if rows is None else rows
        a, b = self.integers(rows, self.side, seed=seed), self.integers(self.side, self.side, seed=seed + 1)
        return a, b, self.torch.full((rows, self.side), float("nan"), device=self.device)

    def is_product(self, a, b, c) -> None:
        """Sums of small integers, so that every order gives the same."""
        wrong = int((c != a.float() @ b.float().T).sum())
        assert wrong == 0, f"{wrong} of {c.numel()} elements are wrong"

    # ---- Results ----

    def gemm(self):
        a, b, c = self.operands(rows=self.side + 3)
        self.product(a, b, c)
        self.is_product(a, b, c)
        if self.gpu:
            assert self.product._compiled.device == "cuda", f"it ran on `{self.product._compiled.device}`"
        return f"{len(a)}x{self.side}x{self.side}, f16, on {self.product._compiled.device}"

    def softmax(self):
        import soliton.lang as tkl
        import soliton.wave as tkw
        from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE

        M, N = tkl.sym.M, tkl.sym.N

        @tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), tkw.WaveConstraint(M, 1), tkw.HardwareConstraint()])
        def softmax(x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], y: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
            row = tkw.read(x)
            weights = tkw.exp2((row - tkw.broadcast(tkw.max(row, dim=N), [M, N])) * 1.4426950408889634)
            tkw.write(weights / tkw.broadcast(tkw.sum(weights, dim=N), [M, N]), y)

        run = tkw.wave_compile(tkw.WaveCompileOptions(subs={N: 500}, dynamic_symbols=[M], **self.options), softmax)
        x = self.torch.randn(77, 500, device=self.device)
        y = self.torch.empty_like(x)
        run(x, y)
        self.torch.testing.assert_close(y, x.softmax(-1), atol=1e-6, rtol=1e-4)

    def attention(self):
        """The example's operator, and its slopes, beside torch's own."""
        torch = self.torch
        sys.path.insert(0, str(ROOT / "examples" / "python"))
        import attention

        said = []
        for causal in (False, True):
            attend = attention.Attention(f"device_{causal}", depth=64, causal=causal, **self.options)
            rows = (300, 333, 333) if self.gpu else (40, 50, 50)
            ours = [torch.randn(2, 3, each, 64, device=self.device).half().requires_grad_() for each in rows]
            theirs = [each.detach().float().requires_grad_() for each in ours]
            slope = torch.randn(2, 3, rows[0], 64, device=self.device).half()
            found, wanted = attend(*ours), torch.nn.functional.scaled_dot_product_attention(*theirs, is_causal=causal)
            found.backward(slope)
            wanted.backward(slope.float())
            pairs = [(found, wanted), *((mine.grad, other.grad) for mine, other in zip(ours, theirs))]
            for mine, other in pairs:
                torch.testing.assert_close(mine.float(), other, atol=5e-3, rtol=5e-3)
            said.append("/".join(f"{(mine.float() - other).abs().max().item():.4f}" for mine, other in pairs))
        return f"o/dq/dk/dv off by at most {said[0]}, causal {said[1]}"

    # ---- Tensors ----

    def strides(self):
        torch, run = self.torch, self._copy()
        wide = torch.randn(40, 200, device=self.device)
        out = torch.zeros(40, 100, device=self.device)
        run(wide[:, ::2], out)
        assert torch.equal(out, wide[:, ::2]), "an input with strides"
        run(wide.t()[:100, :40].t(), out)
        assert torch.equal(out, wide[:, :100]), "a transposed view"
        self.refused("argument-stride", run, out, wide[:, ::2])
        strided = self._copy(allow_noncontiguous_runtime_buffers=True)
        target = torch.zeros(40, 200, device=self.device)
        strided(wide[:, ::2], target[:, 1::2])
        assert torch.equal(target[:, 1::2], wide[:, ::2]) and not target[:, ::2].any(), "an output with strides"

    def empty(self):
        a, b, c = self.operands(rows=0)
        self.product(a, b, c)
        self.wait()
        run, some = self._copy(), self.torch.zeros(5, 0, device=self.device)
        run(some, some.clone())
        self.wait()

    def refused(self, id: str, run, *arguments) -> str:
        import soliton

        try:
            run(*arguments)
        except soliton.CompileError as error:
            assert error.id == id, f"expected `{id}`, got: {error}"
            return str(error).strip().splitlines()[0]
        raise AssertionError(f"nobody said `{id}`")

    def messages(self):
        torch, (a, b, c) = self.torch, self.operands()
        said = [self.refused("argument-dtype", self.product, a.float(), b, c)]
        said.append(self.refused("argument-shape", self.product, a, b[:, 1:].contiguous(), c))
        said.append(self.refused("argument-count", self.product, a, b))
        said.append(self.refused("argument-device", self.product, a.to("meta"), b, c))
        said.append(self.refused("argument-kind", self.product, a, b, 3))
        return said[0]

    def host_arrays(self):
        """Arrays of the host are copied to a GPU and back."""
        import numpy

        a, b, _ = self.operands()
        c = numpy.full((self.side, self.side), numpy.nan, numpy.float32)
        self.product(a.cpu().numpy(), b.cpu().numpy(), c)
        self.is_product(a.cpu(), b.cpu(), self.torch.from_numpy(c))

    def dlpack(self):
        class Foreign:
            def __init__(self, tensor):
                self.tensor = tensor

            def __dlpack__(self, **options):
                return self.tensor.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.tensor.__dlpack_device__()

        a, b, c = self.operands(seed=5)
        self.product(Foreign(a), Foreign(b), Foreign(c))
        self.is_product(a, b, c)

    def cupy(self):
        self.need_gpu()
        try:
            import cupy
        except ImportError as missing:
            raise Skip(str(missing)) from None
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            a = cupy.random.randint(-3, 4, (self.side, self.side)).astype(cupy.float16)
            b = cupy.random.randint(-3, 4, (self.side, self.side)).astype(cupy.float16)
            c = cupy.full((self.side, self.side), cupy.nan, cupy.float32)
            self.product(a, b, c)
            wrong = int((c != a.astype(cupy.float32) @ b.astype(cupy.float32).T).sum())
        assert wrong == 0, f"{wrong} elements are wrong"
        return f"CuPy {cupy.__version__}, on its own stream"

    # ---- Streams ----

    def busy(self, seconds: float) -> None:
        """Keeps the current stream busy."""
        self.torch.cuda._sleep(int(seconds * 1.9e9))

    def streams(self):
        """On a stream of its own behind a long wait: the launch returns at once, and the order of the stream holds."""
        self.need_gpu()
        torch, (a, b, c) = self.torch, self.operands()
        self.product(a, b, c)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            self.busy(0.05)
            a.add_(1)
            start = time.perf_counter()
            self.product(a, b, c)
            took = time.perf_counter() - start
            done = torch.cuda.Event()
            done.record()
            assert not done.query(), "the launch waited for the stream, or went to another one"
            a.zero_()  # behind the launch
        assert took < 0.01, f"the launch took {1e3 * took:.1f} ms"
        stream.synchronize()
        a, b, _ = self.operands()
        self.is_product(a + 1, b, c)
        return f"a launch behind 50 ms of work returned after {1e6 * took:.0f} µs"

    def no_synchronisation(self):
        """torch says whether it waited, the clock whether we did: also for views that are copied, and operators."""
        self.need_gpu()
        torch = self.torch
        import soliton.torch

        run, wide, out = self._copy(), torch.randn(64, 128, device="cuda"), torch.zeros(64, 64, device="cuda")
        operator = soliton.torch.custom_op("device::copy", run)
        run(wide[:, ::2], out), operator(out)
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            self.busy(0.05)
            start = time.perf_counter()
            for _ in range(20):
                run(wide[:, ::2], out)
                operator(out)
            took = time.perf_counter() - start
        finally:
            torch.cuda.set_sync_debug_mode("default")
        torch.cuda.synchronize()
        assert took < 0.04, f"40 launches behind 50 ms of work took {1e3 * took:.1f} ms"
        return f"40 launches behind 50 ms of work returned after {1e3 * took:.2f} ms"

    def graphs(self):
        self.need_gpu()
        torch = self.torch
        import soliton.torch

        a, b, c = self.operands()
        operator = soliton.torch.custom_op("device::product", self.product)
        self.product(a, b, c), operator(a, b)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.product(a, b, c)
            returned = operator(a, b) + 1
        for seed in (10, 20):
            fresh, other, _ = self.operands(seed=seed)
            a.copy_(fresh), b.copy_(other), c.zero_()
            graph.replay()
            self.is_product(a, b, c)
            assert torch.equal(returned, c + 1)
        return "captured a launch and an operator, replayed with two other inputs"

    def threads(self):
        """Each with its own stream and kernel, all at once."""
        wrong, torch = [], self.torch

        def work(seed: int) -> None:
            try:
                with torch.cuda.stream(torch.cuda.Stream()) if self.gpu else contextlib.nullcontext():
                    run, (a, b, c) = self._product(), self.operands(seed=seed)
                    for _ in range(50 if self.gpu else 2):
                        c.zero_()
                        run(a, b, c)
                    self.is_product(a, b, c)
            except BaseException as failure:
                wrong.append(f"{type(failure).__name__}: {failure}")

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert not wrong, wrong[0]
        return "8 threads"

    # ---- Operators ----

    def operator(self):
        torch = self.torch
        import soliton.torch

        matmul = soliton.torch.custom_op("device::matmul", self.product)
        a, b, _ = self.operands()
        self.is_product(a, b, matmul(a, b))
        torch.library.opcheck(matmul, (a, b), test_utils=("test_schema", "test_faketensor"))
        program = torch.compile(lambda a, b: torch.relu(matmul(a * 2, b)) + 1, backend="aot_eager", fullgraph=True)
        assert torch.equal(program(a, b), torch.relu(2 * a.float() @ b.float().T) + 1)

    def inductor(self):
        torch = self.torch
        import soliton.torch

        matmul = soliton.torch.custom_op("device::inductor", self.product)
        a, b, _ = self.operands()
        program = torch.compile(lambda a, b: torch.relu(matmul(a * 2, b)) + 1, fullgraph=True)
        try:
            found = program(a, b)
        except Exception as reason:
            if "soliton" in str(reason).lower() and "device::inductor" not in str(reason):
                raise
            raise Skip(f"inductor does not run here: {str(reason).strip().splitlines()[0][:150]}") from None
        assert torch.equal(found, torch.relu(2 * a.float() @ b.float().T) + 1)
        return f"torch {torch.__version__}"


class WaveChecks:
    """Programs with Wave's names, and the listings of its documents."""

    def __init__(self, native: Checks):
        self.native = native
        os.environ["WAVE_DEFAULT_ARCH"] = "sm_90a"
        sys.path.insert(0, str(ROOT / "python" / "tests"))
        import listings

        self.listings = listings
        torch = native.torch
        self.arrays = listings.Arrays(lambda array: torch.from_numpy(array).to(native.device), lambda array: array.cpu().numpy())

    def template_gemm(self):
        torch = self.native.torch
        from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile
        from wave_lang.kernel.wave.constraints import MMAType
        from wave_lang.kernel.wave.templates.gemm import get_gemm_kernel
        from wave_lang.kernel.wave.utils.general_utils import get_default_scheduling_params

        size = self.native.side
        gemm, hyperparams, dynamic = get_gemm_kernel((size, size, size), False, MMAType.F32_16x16x16_F16, torch.float16)
        hyperparams.update(get_default_scheduling_params())
        run = wave_compile(WaveCompileOptions(subs=hyperparams, canonicalize=True, dynamic_symbols=dynamic), gemm)
        a, b, c = self.native.operands()
        run(a, b, c)
        self.native.is_product(a, b, c)

    def template_attention(self):
        torch, device = self.native.torch, self.native.device
        from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile
        from wave_lang.kernel.wave.constraints import MMAType
        from wave_lang.kernel.wave.scheduling.schedule import SchedulingType
        from wave_lang.kernel.wave.templates.attention_common import AttentionShape
        from wave_lang.kernel.wave.templates.vanilla_attention import get_vanilla_attention_kernel

        heads, queries, keys, depth = (8, 512, 512, 64) if self.native.gpu else (2, 128, 64, 64)
        shape = AttentionShape(num_query_heads=heads, num_kv_heads=heads, head_size=depth, head_size_kv=depth, query_seq_len=queries, kv_seq_len=keys)
        kernel, subs, dynamic = get_vanilla_attention_kernel(shape, [MMAType.F32_16x16x16_F16] * 2, False)
        run = wave_compile(WaveCompileOptions(subs=subs, schedule=SchedulingType.NONE, dynamic_symbols=list(dynamic or [])), kernel)
        q, k, v = (torch.randn(heads, rows, depth, device=device).half() for rows in (queries, keys, keys))
        o = torch.full((heads, queries, depth), float("nan"), device=device)
        run(q, k, v, o)
        wanted = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float())
        torch.testing.assert_close(o, wanted, atol=5e-3, rtol=5e-3)

    def softmax(self):
        torch, device = self.native.torch, self.native.device
        import wave_lang.kernel.lang as tkl
        import wave_lang.kernel.wave as tkw
        from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE
        from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile

        M, N = tkl.sym.M, tkl.sym.N
        constraints = [tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: 256})]
        constraints += [tkw.WorkgroupConstraint(M, 1, 1), tkw.WorkgroupConstraint(N, 256, 0), tkw.WaveConstraint(M, 1), tkw.WaveConstraint(N, 256)]

        @tkw.wave(constraints)
        def softmax(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
            value = tkw.read(a)
            weights = tkw.exp2((value - tkw.max(value, dim=N)) * tkl.Register[M, N, tkl.f32](1.4426950408889634))
            tkw.write(weights / tkw.sum(weights, dim=N), c)

        run = wave_compile(WaveCompileOptions(subs={M: 64, N: 256}, canonicalize=True), softmax)
        x = torch.randn(64, 256, device=device)
        y = torch.empty_like(x)
        run(x, y)
        torch.testing.assert_close(y, x.softmax(-1), atol=1e-6, rtol=1e-4)

    def seeds(self, name: str, *arguments):
        getattr(self.listings, name)("sm_90a", self.arrays, *arguments)


def wave_work(native: Checks) -> list[tuple]:
    """The checks of Wave's programs. Their names are installed when the first of them runs, behind all others."""
    made: list[WaveChecks] = []

    def checks() -> WaveChecks:
        if not made:
            made.append(WaveChecks(native))
        return made[0]

    work = [(f"wave_lang: {each.replace('_', ' ')}", lambda each=each: getattr(checks(), each)()) for each in ("template_gemm", "template_attention", "softmax")]
    seeds = [("prefetched_product",), ("product", False), ("product", True), ("copy", (111, 81)), ("convolution",), ("attention", 70)]
    work += [(f"seed: {name.replace('_', ' ')} {' '.join(map(str, rest))}".strip(), lambda name=name, rest=rest: checks().seeds(name, *rest)) for name, *rest in seeds]
    return work
