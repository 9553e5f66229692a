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
        self.assertEqual(run_tests.parse_steps(0, "0 passed").failures, ["nothing was checked"])
        self.assertEqual(run_tests.parse_steps(2, "ok: a\nTraceback").failures, ["exit code 2"])

    def test_a_command_that_does_not_exist(self):
        result, _ = run_tests.run(run_tests.check("gone", "/nonexistent/tool"))
        self.assertEqual(len(result.failures), 1)

    def test_a_command_that_takes_too_long(self):
        result, _ = run_tests.run(run_tests.check("slow", "sleep", "5", timeout=1))
        self.assertIn("longer than 1 s", result.failures[0])


if __name__ == "__main__":
    unittest.main()
