"""The demonstration against a stand-in for the compiler's tool: right, wrong, silent."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "run_demo.py"

FAKE = f"#!{sys.executable}" + """
import json, os, sys
arguments = sys.argv[1:]
value = lambda flag: arguments[arguments.index(flag) + 1]
if arguments[0] == "targets":
    print(json.dumps({"devices": json.loads(os.environ["DEVICES"])}))
elif arguments[0] == "compile":
    open(value("-o"), "wb").write(b"code")
    print(json.dumps({"ok": True, "compile_ms": {"trace": 0.5, "llvm": 20.0, "total": 20.5}}))
elif value("--target") == os.environ.get("SILENT"):
    sys.exit("nothing to say")
else:
    ok = value("--target") != os.environ.get("WRONG")
    print(json.dumps({"kernel": "gemm", "target": value("--target"), "device": value("--device"), "ok": ok,
                      "max_abs_error": 1e-3, "error_bound": 2e-3, "run_ms": 7.5, "code_object_bytes": 4,
                      "compile_ms": {"trace": 0.5, "emulator": 1.0, "total": 1.5}}))
    sys.exit(0 if ok else 1)
"""


class Demo(unittest.TestCase):
    def run_demo(self, devices: str = "[]", **environment: str) -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory() as folder:
            fake = Path(folder) / "soliton"
            fake.write_text(FAKE)
            fake.chmod(0o755)
            command = [sys.executable, str(SCRIPT), "--soliton", str(fake), "--artefacts", folder + "/artefacts"]
            variables = {**os.environ, "DEVICES": devices, **environment}
            return subprocess.run(command, capture_output=True, text=True, env=variables)

    def test_all_right(self):
        done = self.run_demo()
        self.assertEqual(done.returncode, 0, done.stderr)
        for target in ("gfx942", "gfx950", "sm_90a"):
            self.assertRegex(done.stdout, rf"(?m)^{target} +emulator .* yes ")
        self.assertRegex(done.stdout, r"(?m)^compile ms  trace  llvm$")
        self.assertRegex(done.stdout, r"(?m)^sm_90a +0.5 +20.0$")
        self.assertIn("gemm-f16-sm_90a.ptx", done.stdout)

    def test_a_gpu_gets_a_row(self):
        emulator, gpu = {"kind": "emulator"}, {"kind": "cuda", "index": 0, "architecture": "sm_90"}
        done = self.run_demo(json.dumps([emulator, gpu]))
        self.assertRegex(done.stdout, r"(?m)^sm_90a +cuda:0 ")
        self.assertNotIn("no GPU was found", done.stdout)

    def test_a_wrong_result_is_an_error(self):
        done = self.run_demo(WRONG="gfx950")
        self.assertEqual(done.returncode, 1)
        self.assertIn("gfx950 on emulator: the result is wrong", done.stderr)

    def test_no_answer_is_an_error(self):
        done = self.run_demo(SILENT="sm_90a")
        self.assertEqual(done.returncode, 1)
        self.assertIn("sm_90a on emulator: nothing to say", done.stderr)

    def test_no_tool(self):
        command = [sys.executable, str(SCRIPT), "--soliton", "/nonexistent"]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
