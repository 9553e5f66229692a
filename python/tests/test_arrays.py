"""What a compiled kernel takes: arrays in place, numbers, and clear words about what it cannot take."""

import threading

import numpy as np
import pytest

import soliton
import soliton.lang as tkl
import soliton.wave as tkw
from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE
from soliton.wave.compile import WaveCompileOptions, wave_compile

M, N = tkl.sym.M, tkl.sym.N
CONSTRAINTS = [tkw.WorkgroupConstraint(M, 4, 0), tkw.HardwareConstraint()]


def copy_kernel(dtype, subs=None, **options):
    @tkw.wave(CONSTRAINTS)
    def copy(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype]):
        tkw.write(tkw.read(a), b)

    return wave_compile(WaveCompileOptions(subs=subs or {M: 8, N: 32}, target="gfx942", **options), copy)


def refused(compiled, *arguments) -> soliton.CompileError:
    with pytest.raises(soliton.CompileError) as caught:
        compiled(*arguments)
    return caught.value


NUMPY_TYPES = [
    (tkl.f16, np.float16),
    (tkl.f32, np.float32),
    (tkl.f64, np.float64),
    (tkl.i8, np.int8),
    (tkl.i8, np.uint8),
    (tkl.i16, np.int16),
    (tkl.i32, np.int32),
    (tkl.i64, np.int64),
    (tkl.bool, np.bool_),
    (tkl.bf16, np.uint16),
    (tkl.f8e4m3fnuz, np.uint8),
]


@pytest.mark.parametrize("dtype, element", NUMPY_TYPES, ids=lambda each: getattr(each, "__name__", str(each)))
def test_types_of_numpy(dtype, element):
    a = np.random.default_rng(0).integers(0, 2 if element is np.bool_ else 100, (8, 32)).astype(element)
    b = np.zeros_like(a)
    copy_kernel(dtype)(a, b)
    assert np.array_equal(a, b)


def test_an_input_that_is_not_dense_is_copied():
    a = np.arange(8 * 64, dtype=np.float32).reshape(8, 64)[:, ::2]
    b = np.zeros((8, 32), np.float32)
    copy_kernel(tkl.f32)(a, b)
    assert np.array_equal(a, b)


def test_an_output_that_is_not_dense_is_refused():
    b = np.zeros((8, 64), np.float32)[:, ::2]
    error = refused(copy_kernel(tkl.f32), np.zeros((8, 32), np.float32), b)
    assert error.id == "argument-stride" and "`b`" in str(error)


def test_bytes_in_the_order_of_another_machine_are_refused():
    error = refused(copy_kernel(tkl.f32), np.ones((8, 32), ">f4"), np.zeros((8, 32), np.float32))
    assert error.id == "argument-dtype" and ">f4" in str(error)


def test_plain_and_careful_launches_agree():
    """C++ takes what is plain, Python the rest: both must do the same with the same arrays, errors included."""
    run = copy_kernel(tkl.f16)
    rng = np.random.default_rng(1)
    whole = rng.integers(0, 2**15, (16, 32)).astype(np.uint16)
    plain = [whole[:8], whole[:8].view(np.float16), np.asfortranarray(whole[:8]), whole[::2], whole[:8].view(np.int16), whole[:4], whole[:8].tolist(), whole[:8].view(">u2")]
    for given in plain:
        found = []
        for run._is_plain in (True, False):
            out = np.zeros((8, 32), np.uint16)
            try:
                run(given, out)
            except soliton.CompileError as error:
                found.append(error.id)
            else:
                found.append(out.tobytes())
        assert found[0] == found[1], given


def test_an_output_that_cannot_be_written_is_refused():
    b = np.zeros((8, 32), np.float32)
    b.flags.writeable = False
    assert refused(copy_kernel(tkl.f32), np.zeros((8, 32), np.float32), b).id == "argument-read-only"


def test_another_type_is_refused():
    error = refused(copy_kernel(tkl.f32), np.zeros((8, 32), np.int32), np.zeros((8, 32), np.float32))
    assert error.id == "argument-dtype" and "expected elements of `f32`" in str(error)


def test_programs_of_wave_go_by_width_alone():
    a, b = np.ones((8, 32), np.int32), np.zeros((8, 32), np.int32)
    copy_kernel(tkl.f32, match_width_only=True)(a, b)
    assert (b == 1).all()


def test_another_shape_is_refused():
    assert refused(copy_kernel(tkl.f32), np.zeros((8, 33), np.float32), np.zeros((8, 32), np.float32)).id == "argument-shape"


def test_another_number_of_arguments_is_refused():
    error = refused(copy_kernel(tkl.f32), np.zeros((8, 32), np.float32))
    assert error.id == "argument-count" and "takes 2 arguments (a, b), found 1" in str(error)


def test_what_is_no_array_is_refused():
    assert refused(copy_kernel(tkl.f32), [1, 2, 3], np.zeros((8, 32), np.float32)).id == "argument-kind"


def test_arrays_that_overlap_are_refused():
    both = np.zeros((9, 32), np.float32)
    assert refused(copy_kernel(tkl.f32), both[:8], both[1:]).id == "argument-overlap"


def test_an_empty_array_launches_nothing():
    compiled = copy_kernel(tkl.f32, {N: 32}, dynamic_symbols=[M])
    compiled(np.zeros((0, 32), np.float32), np.zeros((0, 32), np.float32))


class Foreign:
    """An array of a library that speaks DLPack and nothing else; `options` are those that it understands."""

    def __init__(self, array, *options):
        self.array, self.options = array, options

    def __dlpack__(self, **options):
        if unknown := set(options) - set(self.options):
            raise TypeError(f"unexpected {unknown}")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("options", [(), ("max_version",)], ids=["DLPack 0", "DLPack 1"])
def test_whoever_speaks_dlpack_is_understood(options):
    a, b = np.arange(256, dtype=np.float32).reshape(8, 32), np.zeros((8, 32), np.float32)
    copy_kernel(tkl.f32)(Foreign(a, *options), Foreign(b, *options))
    assert np.array_equal(a, b)


def test_an_array_by_dlpack_that_is_not_dense_is_copied_in_and_refused_out():
    a, b = np.arange(512, dtype=np.float32).reshape(8, 64)[:, ::2], np.zeros((8, 32), np.float32)
    copy_kernel(tkl.f32)(Foreign(a), b)
    assert np.array_equal(a, b)
    assert refused(copy_kernel(tkl.f32), b, Foreign(a)).id == "argument-stride"


def test_who_cannot_hand_an_array_over_is_named():
    class Broken:
        def __dlpack__(self, **_):
            raise BufferError("it is somewhere else")

        def __dlpack_device__(self):
            raise RuntimeError("nobody knows where it is")

    error = refused(copy_kernel(tkl.f32), Broken(), np.zeros((8, 32), np.float32))
    assert error.id == "argument-device" and "`a`" in str(error) and "nobody knows" in str(error)


def test_unsigned_integers_by_dlpack_carry_bits():
    a, b = np.arange(256, dtype=np.uint16).reshape(8, 32), np.zeros((8, 32), np.uint16)
    copy_kernel(tkl.bf16)(Foreign(a), Foreign(b))
    assert np.array_equal(a, b)


def test_elements_by_dlpack_that_no_kernel_takes_are_refused():
    error = refused(copy_kernel(tkl.f32), Foreign(np.zeros((8, 32), np.complex64)), np.zeros((8, 32), np.float32))
    assert error.id == "argument-dtype" and "`a`" in str(error)


def test_memory_that_may_not_be_written_is_refused_by_dlpack_too():
    b = np.zeros((8, 32), np.float32)
    b.flags.writeable = False
    assert refused(copy_kernel(tkl.f32), np.zeros((8, 32), np.float32), Foreign(b, "max_version")).id == "argument-read-only"


def test_a_number_that_is_also_a_symbol():
    @tkw.wave(CONSTRAINTS)
    def shifted(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32], S: tkl.SymbolBind[tkl.i32]):
        index = tkw.broadcast(tkw.self_index(N, tkl.i32), [M, N])
        tkw.write(tkw.apply_expr(index, lambda x: x + tkl.sym.S), a)

    a = np.zeros((4, 32), np.int32)
    compiled = wave_compile(WaveCompileOptions(subs={M: 4, N: 32}, target="gfx942"), shifted)
    for offset in (3, 40):
        compiled(a, offset)
        assert np.array_equal(a[0], np.arange(32) + offset)


def test_threads_compile_and_run_at_once():
    wrong = []

    def work(size):
        a, b = np.full((size, 32), size, np.float32), np.zeros((size, 32), np.float32)
        copy_kernel(tkl.f32, {M: size, N: 32})(a, b)
        if not np.array_equal(a, b):
            wrong.append(size)

    threads = [threading.Thread(target=work, args=(size,)) for size in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_interpreter_is_free_while_a_kernel_is_emulated():
    compiled = copy_kernel(tkl.f32, {N: 512}, dynamic_symbols=[M])
    a = np.ones((2048, 512), np.float32)
    b = np.zeros_like(a)
    counted, done = [0], threading.Event()

    def count():
        while not done.wait(0.001):
            counted[0] += 1

    other = threading.Thread(target=count)
    other.start()
    compiled(a, b)
    done.set()
    other.join()
    assert (b == 1).all() and counted[0] > 10


def test_the_environment_chooses_the_target(monkeypatch):
    monkeypatch.delenv("SOLITON_TARGET", raising=False)
    monkeypatch.setenv("WAVE_DEFAULT_ARCH", "gfx950")
    assert WaveCompileOptions().target == "gfx950"
    monkeypatch.setenv("SOLITON_TARGET", "sm_90a")
    assert WaveCompileOptions().target == "sm_90a"
