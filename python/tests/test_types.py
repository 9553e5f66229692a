"""The package's types hold, and those who use it get types: mypy, over the package and over a program."""

import pathlib
import subprocess
import sys
import textwrap

import pytest
import soliton

pytest.importorskip("mypy", reason="mypy is not installed")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SITE = pathlib.Path(soliton.__file__).parent.parent


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    cache = str(tmp_path_factory.mktemp("mypy"))
    return lambda *arguments: found_by_mypy("--cache-dir", cache, "--config-file", str(ROOT / "pyproject.toml"), *arguments)


def found_by_mypy(*arguments):
    command = [sys.executable, "-m", "mypy", "--no-error-summary", *arguments]
    made = subprocess.run(command, cwd=SITE, capture_output=True, text=True)
    return [line for line in made.stdout.splitlines() if ": note:" not in line] + made.stderr.splitlines()


def test_the_package(check):
    assert (SITE / "soliton" / "py.typed").exists() and (SITE / "soliton" / "_native.pyi").exists()
    assert check("-p", "soliton") == []


def test_a_program(check, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import soliton
            import soliton.layouts
            import soliton.lang as tkl
            import soliton.wave as tkw

            options = tkw.WaveCompileOptions(subs={tkl.sym.M: 64}, target="gfx942")
            error: str = soliton.CompileError([]).id
            picture: str = soliton.layouts.draw("F32_16x16x16_F16").svg
            tkw.mma()
            tkw.reed()
            options.taget = "gfx950"
            length: int = soliton.default_target()
            """
        )
    )
    found = check(str(program))
    lines = [int(line.split(":")[1]) for line in found]
    assert lines == [10, 11, 12, 13], found
