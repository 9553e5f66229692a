"""How the test runner reads what tests print."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import run_tests  # noqa: E402

GTEST = """[==========] Running 3 tests from 1 test suite.
[----------] 3 tests from Device
[ RUN      ] Device.Emulator
[       OK ] Device.Emulator (0 ms)
[ RUN      ] Device.Gpu
DeviceTest.cpp:12: Skipped
no GPU here

[  SKIPPED ] Device.Gpu (0 ms)
[ RUN      ] Device.Names
DeviceTest.cpp:20: Failure
Expected equality
[  FAILED  ] Device.Names (1 ms)
[----------] 3 tests from Device (1 ms total)
[==========] 3 tests from 1 test suite ran. (1 ms total)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Device.Gpu
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Device.Names
"""


class GoogleTest(unittest.TestCase):
    def test_counts_and_reasons(self):
        result = run_tests.parse_gtest(1, GTEST)
        self.assertEqual(result.passed, 1)
        self.assertEqual(result.failures, ["Device.Names"])
        self.assertEqual(result.skips, [("Device.Gpu", "no GPU here")])

    def test_parameterised_names(self):
        text = "[ RUN      ] All/Mma.Bijective/3\n[  FAILED  ] All/Mma.Bijective/3, where GetParam() = x (2 ms)\n"
        self.assertEqual(run_tests.parse_gtest(1, text).failures, ["All/Mma.Bijective/3"])

    def test_a_crash_is_a_failure(self):
        result = run_tests.parse_gtest(-11, "[ RUN      ] A.One\n[       OK ] A.One (0 ms)\n[ RUN      ] A.Two\n")
        self.assertEqual(result.passed, 1)
        self.assertEqual(result.failures, ["A.Two (ended the process with code -11)"])

    def test_a_leak_after_the_last_test_is_a_failure(self):
        result = run_tests.parse_gtest(23, "[ RUN      ] A.One\n[       OK ] A.One (0 ms)\n")
        self.assertEqual(result.failures, ["exit code 23 after the last test"])

    def test_nothing_is_a_failure(self):
        self.assertEqual(run_tests.parse_gtest(0, "[  PASSED  ] 0 tests.\n").failures, ["no test ran"])


class Selection(unittest.TestCase):
    SUITES = [
        run_tests.check(name, "true")
        for name in ("SolitonE2eTests 1/2", "SolitonE2eTests 2/2", "SolitonSplitTests", "lit", "links", "tutorials")
    ]

    def names(self, wanted):
        return [suite.name for suite in run_tests.select(self.SUITES, wanted)]

    def test_a_whole_name_is_that_suite_alone(self):
        self.assertEqual(self.names("lit"), ["lit"])
        self.assertEqual(self.names("SolitonE2eTests"), ["SolitonE2eTests 1/2", "SolitonE2eTests 2/2"])

    def test_a_part_of_a_name_is_every_suite_that_has_it(self):
        self.assertEqual(self.names("li"), ["SolitonSplitTests", "lit", "links"])
        self.assertEqual(self.names("e2e"), ["SolitonE2eTests 1/2", "SolitonE2eTests 2/2"])

    def test_several_names_and_none(self):
        self.assertEqual(self.names("links, lit"), ["lit", "links"])
        self.assertEqual(len(self.names("")), 6)
        self.assertEqual(self.names("nothing"), [])

    def test_the_longest_begin_first(self):
        order = [suite.name for suite in run_tests.longest_first(self.SUITES)]
        # By what one part takes, not by all of them.
        self.assertEqual(order[:3], ["tutorials", "SolitonE2eTests 1/2", "SolitonE2eTests 2/2"])
        self.assertLess(order.index("lit"), order.index("links"))


class Checks(unittest.TestCase):
    def test_exit_codes(self):
        suite = run_tests.check("headers", "true")
        self.assertEqual(suite.parse(0, "").passed, 1)
        self.assertEqual(suite.parse(77, "a\nno compiler\n").skips, [("headers", "no compiler")])
        self.assertEqual(len(suite.parse(1, "bad").failures), 1)

    def test_python_tests(self):
        text = "test_a (x.A) ... ok\nERROR: test_b (x.A)\nRan 3 tests in 0.1s\nFAILED (errors=1)\n"
        result = run_tests.parse_unittest(1, text)
        self.assertEqual((result.passed, result.failures), (2, ["test_b (x.A)"]))

    def test_scripts_that_count_their_steps(self):
        result = run_tests.parse_steps(1, "ok: line 3: make\nFAILED: a.svg\n    ok: not a step\n1 passed, 1 failed\n")
        self.assertEqual((result.passed, result.failures), (1, ["a.svg"]))
        result = run_tests.parse_steps(0, "ok: line 3: make\nskipped: 01-copy.md: line 9: python a.py: not installed: no network\n")
        self.assertEqual((result.passed, result.skips), (1, [("01-copy.md: line 9: python a.py", "not installed: no network")]))
        self.assertEqual(run_tests.parse_steps(0, "0 passed").failures, ["nothing was checked"])
        self.assertEqual(run_tests.parse_steps(2, "ok: a\nTraceback").failures, ["exit code 2"])

    def test_a_command_that_does_not_exist(self):
        result, _ = run_tests.run(run_tests.check("gone", "/nonexistent/tool"))
        self.assertEqual(len(result.failures), 1)

    def test_a_command_that_takes_too_long(self):
        result, _ = run_tests.run(run_tests.check("slow", "sleep", "5", timeout=1))
        self.assertIn("longer than 1 s", result.failures[0])

    def test_the_processor_seconds_of_a_command_and_its_children(self):
        work = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'sum(range(4000000))'])"
        result, seconds = run_tests.run(run_tests.check("busy", sys.executable, "-c", work))
        self.assertEqual(result.passed, 1)
        self.assertGreater(seconds.processor, 0.03)
        _, idle = run_tests.run(run_tests.check("idle", "sleep", "0.3"))
        self.assertLess(idle.processor, idle.clock / 2)


PYTEST = """\
python/tests/test_a.py::test_one PASSED [ 25%]
python/tests/test_a.py::test_two[x-y z] FAILED [ 50%]
python/tests/test_a.py::test_three SKIPPED (no GPU) [ 75%]
python/tests/test_c.py::test_four SKIPPED [100%]
=========================== short test summary info ============================
SKIPPED [1] python/tests/test_b.py:9: torch is not installed
SKIPPED [1] python/tests/test_a.py:30: no GPU
SKIPPED [1] python/tests/test_c.py:13: a reason that is longer than the line
"""


class Pytest(unittest.TestCase):
    def test_counts_tests_and_files_that_are_skipped_as_a_whole(self):
        result = run_tests.parse_pytest(1, PYTEST)
        self.assertEqual((result.passed, result.failures), (1, ["python/tests/test_a.py::test_two[x-y z]"]))
        self.assertEqual(
            result.skips,
            [
                ("python/tests/test_a.py::test_three", "no GPU"),
                ("python/tests/test_c.py::test_four", "a reason that is longer than the line"),
                ("python/tests/test_b.py", "torch is not installed"),
            ],
        )

    def test_a_crash_is_a_failure(self):
        self.assertEqual(run_tests.parse_pytest(-11, "").failures, ["exit code -11"])

    def test_what_cannot_be_installed_is_skipped_with_its_reason(self):
        self.assertEqual(run_tests.parse_pytest(77, "no network\n").skips, [("python", "no network")])


if __name__ == "__main__":
    unittest.main()
