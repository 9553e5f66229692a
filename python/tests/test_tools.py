"""What one looks at a kernel with: texts, schedules, layouts, the command, the doctor, the cache."""

import array
import json
import subprocess
import sys
import textwrap

import pytest
import soliton
import soliton.cache
import soliton.lang as tkl
import soliton.layouts
import soliton.wave as tkw
from soliton import _command, doctor
from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from soliton.wave.compile import WaveCompileOptions, wave_compile

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K

PROGRAM = textwrap.dedent(
    """
    import sys
    import soliton.lang as tkl, soliton.wave as tkw
    from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE

    assert len(sys.argv) == 1, sys.argv
    M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
    BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
    constraints = [tkw.WorkgroupConstraint(M, BLOCK_M, 0), tkw.WorkgroupConstraint(N, BLOCK_N, 1)]
    constraints += [tkw.TilingConstraint(K, BLOCK_K), tkw.WaveConstraint(M, BLOCK_M), tkw.WaveConstraint(N, BLOCK_N)]
    constraints += [tkw.HardwareConstraint(mma_type=tkw.MMAType.F32_16x16x16_F16)]

    @tkw.wave(constraints)
    def gemm(a: tkl.Memory[M, K, SHARED_ADDRESS_SPACE, tkl.f16], b: tkl.Memory[N, K, SHARED_ADDRESS_SPACE, tkl.f16],
             c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def repeat(acc):
            return tkw.mma(tkw.read(a, tag="a"), tkw.read(b), acc, tag="product")
        tkw.write(repeat, c)

    if __name__ == "__main__":
        raise SystemExit("imported, not run")
    """
)
SIZES = ["--size", "M=64,N=32,K=48", "--set", "BLOCK_M=32,BLOCK_N=16", "--set", "BLOCK_K=16", "--target", "gfx942"]


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    path = tmp_path / "gemm_program.py"
    path.write_text(PROGRAM)
    return str(path)


def compiled(target="gfx942", **options):
    scope: dict = {"__name__": "tools"}
    saved, sys.argv = sys.argv, ["tools"]
    try:
        exec(compile(PROGRAM, "tools.py", "exec"), scope)
    finally:
        sys.argv = saved
    subs = {M: 64, N: 32, K: 48, BLOCK_M: 32, BLOCK_N: 16, BLOCK_K: 16}
    return wave_compile(WaveCompileOptions(subs=subs, target=target, run_on="emulator", **options), scope["gemm"])


# ---- Of a compiled kernel ----------------------------------------------------------------------------------------------------


def test_texts():
    run = compiled()
    assert "wave.mma" in run.mlir and "machine.mma" in run.asm and "v_mfma_f32_16x16x16" in run.assembly
    with pytest.raises(soliton.CompileError, match="has no PTX"):
        run.ptx  # noqa: B018
    assert "mma.sync" in compiled("sm_90a").ptx


def test_schedule_is_a_table_and_a_page(capsys):
    schedule = compiled(schedule=tkw.SchedulingType.PREFETCH).schedule()
    assert len(schedule) == 1 and schedule[0].stages == 2 and schedule[0].algorithm == "prefetch"
    assert "stage 1 (n)" in str(schedule) and schedule.show() is None
    assert capsys.readouterr().out == str(schedule)
    page = schedule._repr_html_()
    # The page is text of an attribute: nothing of it may end that.
    assert page.startswith("<iframe srcdoc=") and page.count('"') == 6
    assert len(schedule[0].data()) > 3


def test_schedule_without_an_algorithm_is_shown_too(tmp_path):
    schedule = compiled().schedule()
    assert schedule[0].algorithm == "none"
    for name, inside in (("s.html", "<html"), ("s.svg", "<svg"), ("s.json", "traceEvents"), ("s.txt", "stage 0")):
        schedule[0].save(tmp_path / name)
        assert inside in (tmp_path / name).read_text()


def test_schedule_can_be_edited_and_given_back(tmp_path):
    run = compiled(schedule=tkw.SchedulingType.PREFETCH)
    run.schedule()[0].save(tmp_path / "gemm.schedule")
    again = compiled(override_schedule=str(tmp_path / "gemm.schedule"))
    assert again.schedule()[0].stages == 2


def test_explain_says_what_was_chosen():
    text = compiled().explain()
    assert "layout-choice" in text and "matrix instructions" in text and "second" in text


def test_layouts():
    picture = soliton.layouts.draw("F32_16x16x16_F16", target="gfx942")
    assert "<svg" in picture._repr_svg_() and "lane" in str(picture) and picture.data()
    assert soliton.layouts.draw(tkw.MMAType.F32_16x16x16_F16, target="gfx942").title == picture.title
    run = compiled()
    assert {tag for tag, *_ in soliton.layouts.values(run)} == {"a", "product"}
    assert "product" in soliton.layouts.draw(run, "product").title
    with pytest.raises(soliton.CompileError, match="the tags are a, product"):
        soliton.layouts.draw(run, "nothing")
    with pytest.raises(soliton.CompileError, match="did you mean `F32_16X16X16_F16`"):
        soliton.layouts.draw("F32_16x16x16_F61", target="gfx942")


# ---- The command -------------------------------------------------------------------------------------------------------------


def test_run_compares_with_what_the_program_means(program, capsys):
    for more in ([], ["--schedule", "prefetch"], ["--dynamic", "M,N,K"]):
        assert _command.main(["run", f"{program}:gemm", *SIZES, *more, "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert said["ok"] and said["outputs"][0]["elements"] == 64 * 32


def test_run_finds_a_wrong_result(program, capsys, monkeypatch):
    # A launch that does nothing leaves what was there.
    monkeypatch.setattr(soliton._kernel.WaveKernel, "__call__", lambda self, *_: None)
    assert _command.main(["run", program, *SIZES]) == 1
    assert "WRONG in 2048 of 2048" in capsys.readouterr().out


def test_other_commands(program, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert _command.main(["schedule", program, *SIZES, "--schedule", "prefetch", "--html", str(page)]) == 0
    assert "<html" in page.read_text()
    assert _command.main(["bench", program, *SIZES, "--repetitions", "3", "--json"]) == 0
    said = capsys.readouterr().out.splitlines()[-1]
    assert json.loads(said)["emulated"] and json.loads(said)["median_us"] > 0
    assert _command.main(["compile", program, *SIZES, "--emit", "assembly"]) == 0
    assert "v_mfma" in capsys.readouterr().out
    assert _command.main(["layout", program, *SIZES, "--value", "product"]) == 0
    assert _command.main(["layout", "mma", "F32_16x16x16_F16", "--target", "gfx942"]) == 0
    assert _command.main(["targets"]) == 0 and "gfx950" in capsys.readouterr().out
    assert _command.main(["explain", "mma-unknown"]) == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "none.py:gemm"], "expected a file with a kernel"),
        (["run", "PROGRAM:gem"], "did you mean `gemm`?"),
        (["run", "PROGRAM", "--size", "M"], "expected `NAME=NUMBER`"),
        (["run", "PROGRAM", "--schedule", "best"], "unknown schedule `best`"),
        (["run", "PROGRAM"], "error:"),
        (["explain", "mma-unknwon"], "did you mean `mma-unknown`?"),
    ],
)
def test_bad_use_is_one_message(program, arguments, expected, capsys):
    assert _command.main([each.replace("PROGRAM", program) for each in arguments]) == 2
    said = capsys.readouterr().err
    assert expected in said and "Traceback" not in said


def test_a_reader_that_has_seen_enough_is_no_mistake(program):
    command = f"{sys.executable} -m soliton compile {program} {' '.join(SIZES)} --emit assembly | head -n 1"
    made = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert made.stdout.count("\n") == 1 and made.stderr == ""


# ---- Doctor and cache --------------------------------------------------------------------------------------------------------


def test_doctor(capsys, monkeypatch):
    assert doctor.main([]) == 0
    said = capsys.readouterr().out
    for name in ("soliton", "Python", "targets", "GPU", "ptxas", "torch", "cache", "a kernel"):
        assert f" {name} " in said
    assert doctor.main(["--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"]
    monkeypatch.setenv("SOLITON_TARGET", "gfx000")
    assert doctor.main([]) == 1
    assert "gfx000, which SOLITON_TARGET says, is none of" in capsys.readouterr().out


def test_cache_from_python(tmp_path):
    """In a process of its own: the folder is looked up once."""
    text = "import soliton.cache as c; print(c.folder(), c.flaw(), len(c.entries()), c.verify(), c.clear(), sep='|')"
    environment = {"SOLITON_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": ":".join(sys.path), "PATH": ""}
    made = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True)
    assert made.stdout.strip() == f"{tmp_path / 'cache'}||0|0|0"
    environment["SOLITON_CACHE"] = "off"
    made = subprocess.run([sys.executable, "-c", "import soliton.cache as c; print(c.flaw()); c.entries()"], env=environment, capture_output=True, text=True)
    assert "SOLITON_CACHE" in made.stdout and "the cache cannot be used" in made.stderr


# ---- Buffers -----------------------------------------------------------------------------------------------------------------


def test_buffers_of_python():
    run = compiled()
    ones = memoryview(array.array("H", [0x3C00] * (64 * 48))).cast("B")
    c = memoryview(bytearray(64 * 32 * 4)).cast("f", (64, 32))
    run(ones.cast("H", (64, 48)), ones[: 32 * 48 * 2].cast("H", (32, 48)), c)
    assert set(sum(c.tolist(), [])) == {48.0}
    with pytest.raises(soliton.CompileError, match="read-only") as refused:
        run(ones.cast("H", (64, 48)), ones[: 32 * 48 * 2].cast("H", (32, 48)), memoryview(bytes(64 * 32 * 4)).cast("f", (64, 32)))
    assert refused.value.id == "argument-read-only"
    with pytest.raises(soliton.CompileError, match="expected elements of `f16`"):
        run(memoryview(bytearray(64 * 48 * 4)).cast("f", (64, 48)), ones[: 32 * 48 * 2].cast("H", (32, 48)), c)
    with pytest.raises(soliton.CompileError, match="is a str, expected an array"):
        run("a", "b", "c")
