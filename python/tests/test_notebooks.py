"""The notebooks of examples/jupyter run from the first cell to the last, as in a kernel: cells share one scope, and what the last
line of a cell comes to is shown. Done without Jupyter, whose packages weigh more than ours."""

import ast
import linecache
import json
import pathlib

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "jupyter"
pytest.importorskip("numpy")


def execute(name: str, number: int, text: str, scope: dict):
    """Runs a cell; the value of its last line, as a notebook would show it."""
    file = f"<{name} cell {number}>"
    # Jupyter does the same, so that kernels find their text.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    tree = ast.parse(text, file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, file, "exec"), scope)
    return eval(compile(ast.Expression(last.value), file, "eval"), scope) if last else None


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook(path, capsys):
    notebook = json.loads(path.read_text())
    assert notebook["nbformat"] == 4 and all(not cell.get("outputs") for cell in notebook["cells"])
    scope: dict = {"__name__": "__main__"}
    shown = []
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            shown.append(execute(path.stem, number, "".join(cell["source"]), scope))
    pictures = [each for each in shown if hasattr(each, "_repr_svg_")]
    assert len(pictures) == 1 and "<svg" in pictures[0]._repr_svg_()
    assert "stage" in capsys.readouterr().out


def test_there_are_three():
    assert len(list(FOLDER.glob("*.ipynb"))) == 3
