"""Programs of docs/python.md run and print what they say."""

import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"


def test_the_first_program_of_the_page(tmp_path):
    name, text = re.search(r"^```python (\S+)\n(.*?)^```", PAGE.read_text(), re.M | re.S).groups()
    (tmp_path / name).write_text(text)
    made = subprocess.run([sys.executable, name], cwd=tmp_path, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert made.stdout.strip() == re.search(r"print\(.*\) +# (.*)", text).group(1)
