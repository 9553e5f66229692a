"""The table of names is true: docs/python-names.md is what the package says of itself."""

import pathlib
import sys

import pytest

pytest.importorskip("sympy")
tomllib = pytest.importorskip("tomllib", reason="Python 3.11 has tomllib")
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))


def test_the_table_of_names_is_up_to_date():
    import gen_python_names

    assert gen_python_names.PAGE.read_text() == gen_python_names.page()


def test_operations_have_documentation_with_an_example():
    import soliton.wave as tkw

    operations = [name for name in tkw._ops.__all__ if not isinstance(getattr(tkw, name), type)]
    for name in operations:
        function = getattr(tkw, name)
        assert ">>>" in function.__doc__ or getattr(function, "is_missing", False), name
    assert all(getattr(tkw, name).__doc__ for name in tkw.__all__ if callable(getattr(tkw, name)))
