"""Programs of the pages about Python run and print what they say."""

import pathlib
import re
import subprocess
import sys

import pytest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGES = ("python.md", "migrating.md")
PROGRAMS = [(page, *found) for page in PAGES for found in re.findall(r"^```python (\S+)\n(.*?)^```", (DOCS / page).read_text(), re.M | re.S)]


@pytest.mark.parametrize(("page", "name", "text"), PROGRAMS, ids=[f"{page}:{name}" for page, name, _ in PROGRAMS])
def test_a_program(page, name, text, tmp_path):
    (tmp_path / name).write_text(text)
    made = subprocess.run([sys.executable, name], cwd=tmp_path, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert made.stdout.strip() == re.search(r"print\(.*\) +# (.*)", text).group(1)


def test_every_page_has_one():
    assert {page for page, *_ in PROGRAMS} == set(PAGES)
