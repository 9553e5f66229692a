"""The runner of measurements: what stands in the way, what a command becomes, what is kept."""

import importlib.util
import io
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

SCRIPT = Path(__file__).resolve().parent.parent / "run_bench.py"
SPEC = importlib.util.spec_from_file_location("run_bench", SCRIPT)
run_bench = importlib.util.module_from_spec(SPEC)
sys.modules["run_bench"] = run_bench
SPEC.loader.exec_module(run_bench)


class Bench(unittest.TestCase):
    def run_one(self, command: str, wave: str = "", file: str = "") -> tuple[bool, str, list[str]]:
        measurement = run_bench.Measurement("one", (command,), file=file)
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()) as shown:
            good = run_bench.run(measurement, Path(folder), wave)
            return good, shown.getvalue(), sorted(path.name for path in Path(folder).iterdir())

    def test_output_is_kept_with_its_command(self):
        good, shown, files = self.run_one("echo fast")
        self.assertTrue(good)
        self.assertIn("$ echo fast\nfast\n", shown)
        self.assertEqual(files, ["one.txt"])

    def test_a_failure_is_one(self):
        good, shown, _ = self.run_one("sh -c 'exit 3'")
        self.assertFalse(good)
        self.assertIn("exit code 3", shown)

    def test_a_measurement_may_write_its_own_file(self):
        good, _, files = self.run_one("touch {results}/own.md", file="own.md")
        self.assertTrue(good)
        self.assertEqual(files, ["own.md"])

    def test_wave_is_an_option_or_nothing(self):
        self.assertIn("$ echo --wave-python venv/bin/python x\n", self.run_one("echo {wave} x", "venv/bin/python")[1])
        self.assertIn("$ echo x\n", self.run_one("echo {wave} x")[1])

    def test_sections_are_an_option_or_nothing(self):
        measurement = run_bench.Measurement("one", ("echo {sections} x",))
        for sections, command in (("auto,rows", "$ echo --only auto,rows x\n"), ("", "$ echo x\n")):
            with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()) as shown:
                run_bench.run(measurement, Path(folder), "", sections)
            self.assertIn(command, shown.getvalue())

    def test_all_that_is_missing_is_named(self):
        both = run_bench.Measurement("one", ("echo",), module="no_such_module", programs=("no-such-program",))
        self.assertEqual(run_bench.obstacle(both), "build/bin/no-such-program was not built; the Python module no_such_module is missing")

    def test_what_is_left_out_is_counted(self):
        left_out = run_bench.Measurement("one", ("echo",), module="no_such_module")
        with mock.patch.object(run_bench, "MEASUREMENTS", (left_out,)), mock.patch.object(sys, "argv", ["run_bench.py"]):
            with redirect_stdout(io.StringIO()) as shown:
                self.assertEqual(run_bench.main(), 0)
        self.assertIn("left out: the Python module no_such_module is missing", shown.getvalue())
        self.assertTrue(shown.getvalue().endswith("0 measured, 0 failed, 1 left out\n"))

    def test_what_was_not_built_is_named(self):
        missing = run_bench.Measurement("one", ("python3 x.py",), programs=("no-such-program",))
        self.assertEqual(run_bench.obstacle(missing), "build/bin/no-such-program was not built")
        module = run_bench.Measurement("one", ("echo",), module="no_such_module")
        self.assertEqual(run_bench.obstacle(module), "the Python module no_such_module is missing")


if __name__ == "__main__":
    unittest.main()
