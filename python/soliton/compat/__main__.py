"""Runs a program of Wave: `python -m soliton.compat program.py …`, `python -m soliton.compat -m pytest …`."""

import os
import runpy
import sys

from soliton import compat
from soliton.compat import cuda


def main() -> int:
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    compat.install()
    if cuda.is_needed():
        cuda.enter()
    if arguments[0] == "-m":
        if len(arguments) < 2:
            print("error: `-m` needs the name of a module", file=sys.stderr)
            return 2
        sys.argv = arguments[1:]
        sys.path.insert(0, "")
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    sys.argv = arguments
    sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
