"""torch for ROCm, whose "cuda" is HIP: on a stand-in for the driver, which remembers launches and computes nothing, and on one for
torch, since the real one needs that driver. What is checked is where a tensor is said to lie, and on whose stream a launch goes."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

DRIVER = pathlib.Path(os.environ.get("SOLITON_STAND_INS", "none")) / "libSolitonFakeHIP.so"
pytestmark = pytest.mark.skipif(not DRIVER.exists(), reason="no stand-in for HIP's driver was built: `ninja -C build SolitonFakeHIP`")

PROGRAM = """
    import ctypes, sys, types

    driver = ctypes.CDLL({driver!r})
    driver.hipMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]

    class Tensor:
        '''As much of a tensor as a launch asks for.'''

        is_cpu, is_cuda = False, True

        def __init__(self, *shape):
            self.shape, self.dtype = tuple(shape), torch.float32
            self.device = types.SimpleNamespace(type="cuda", index=1)
            memory = ctypes.c_void_p()
            assert driver.hipMalloc(ctypes.byref(memory), 4 * shape[0] * shape[1]) == 0
            self.memory = memory.value

        def data_ptr(self): return self.memory
        def get_device(self): return 1
        def is_contiguous(self): return True
        def stride(self): return (self.shape[1], 1)
        def detach(self): return self

    asked = []

    class Type:
        def __str__(self): return "torch.float32"

    torch = types.ModuleType("torch")
    torch.Tensor, torch.float32 = Tensor, Type()
    torch.nn = types.SimpleNamespace(Parameter=Tensor)
    torch.version = types.SimpleNamespace(hip={hip!r})
    torch._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: asked.append(device) or 0x1230)
    sys.modules["torch"] = torch

    import soliton, soliton.lang as tkl, soliton.wave as tkw
    from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE
    from soliton.wave.compile import WaveCompileOptions, wave_compile

    M, N = tkl.sym.M, tkl.sym.N

    @tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), tkw.HardwareConstraint()])
    def copy(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        tkw.write(tkw.read(a), b)

    run = wave_compile(WaveCompileOptions(subs={{M: 8, N: 64}}, target="gfx942", run_on="hip:1"), copy)
    a, b = Tensor(8, 64), Tensor(8, 64)
    try:
        run(a, b)        # by Python, which introduces torch
        run._split = None
        run(a, b)        # by C++
    except soliton.CompileError as refused:
        print("refused", refused.id)
    else:
        print(run._compiled.device, run._compiled.memory, "streams of", asked)
"""


WAITING = """
    import soliton, soliton.lang as tkl, soliton.wave as tkw
    from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE

    N = tkl.sym.N

    @tkw.wave([tkw.WorkgroupConstraint(N, 64, 0), tkw.HardwareConstraint()])
    def waits(a: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, tkl.i32]):
        tkw.write(tkw.read(a, flags=tkw.MemoryAccessFlags.VOLATILE), a)

    try:
        tkw.wave_compile(tkw.WaveCompileOptions(subs={{N: 64}}, target="gfx942", run_on="hip:1"), waits)
    except soliton.CompileError as refused:
        print(refused.id, refused.diagnostics[0].message)
"""


def run(hip, program=PROGRAM):
    environment = {**os.environ, "SOLITON_HIP_LIBRARY": str(DRIVER), "SOLITON_CUDA_LIBRARY": "", "SOLITON_CACHE": "off"}
    program = textwrap.dedent(program).format(driver=str(DRIVER), hip=hip)
    path = pathlib.Path(os.environ["PYTEST_TEMPORARY"]) / "rocm.py"
    path.write_text(program)
    made = subprocess.run([sys.executable, str(path)], env=environment, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_TEMPORARY", str(tmp_path))


def test_tensors_of_rocm_lie_in_memory_of_hip():
    assert run("6.2.0") == "hip hip streams of [1, 1]"


def test_tensors_of_cuda_are_refused_by_a_kernel_of_hip():
    assert run(None) == "refused argument-device"


def test_workgroups_that_wait_for_each_other_are_refused_on_a_gpu():
    assert run(None, WAITING).startswith("not-supported-here workgroups that wait for `a` on a GPU")
