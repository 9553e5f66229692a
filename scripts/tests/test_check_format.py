"""What clang-tidy is told: the build's commands without its precompiled headers, and those where a file needs them."""

import importlib.util
import io
import json
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

SCRIPT = Path(__file__).resolve().parent.parent / "check_format.py"
SPEC = importlib.util.spec_from_file_location("check_format", SCRIPT)
check_format = importlib.util.module_from_spec(SPEC)
sys.modules["check_format"] = check_format
SPEC.loader.exec_module(check_format)

COMMAND = "clang++ -O2 -Xclang -include-pch -Xclang /b/cmake_pch.hxx.pch -Xclang -include -Xclang /b/cmake_pch.hxx -Xclang -fno-pch-timestamp -c a.cpp"


class Tidy(unittest.TestCase):
    def look(self, script: str) -> tuple[tuple[int, int, int], str]:
        """What comes of one file with a clang-tidy that is this script, whose $1 is the folder of the commands."""
        with tempfile.TemporaryDirectory() as name, redirect_stdout(io.StringIO()) as shown:
            build = Path(name)
            tool = build / "clang-tidy"
            tool.write_text("#!/bin/sh\nshift 2\n" + script)
            tool.chmod(0o755)
            entry = {"directory": str(check_format.ROOT), "file": "test/e2e/Support.cpp", "command": COMMAND}
            (build / "compile_commands.json").write_text(json.dumps([entry]))
            with mock.patch.object(check_format, "tool", lambda _: str(tool)):
                return check_format.tidy_files(["test/e2e/Support.cpp"], build, 60, 1), shown.getvalue()

    def test_precompiled_headers_are_left_out(self):
        self.assertEqual(check_format.without_precompiled(COMMAND), "clang++ -O2 -Xclang -fno-pch-timestamp -c a.cpp")

    def test_a_clean_file_has_no_findings(self):
        self.assertEqual(self.look("! grep -q cmake_pch $1/compile_commands.json")[0], (0, 1, 0))

    def test_a_finding_is_shown_once(self):
        counts, shown = self.look("echo 'a.cpp:1: error: x [bugprone-x]'; exit 1")
        self.assertEqual((counts, shown.count("bugprone-x")), ((1, 1, 0), 1))

    def test_what_lacks_an_include_is_looked_at_as_it_is_compiled(self):
        lacking = "grep -q cmake_pch $1/compile_commands.json && exit 0\necho 'a.cpp:1: error: unknown type [clang-diagnostic-error]'; exit 1"
        self.assertEqual(self.look(lacking), ((0, 1, 0), ""))


if __name__ == "__main__":
    unittest.main()
