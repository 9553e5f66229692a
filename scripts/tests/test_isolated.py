"""Jobs on a GPU in processes of their own, with stand-ins for torch and for the driver: what faults, hangs or ends is one wrong job."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DEVICE = Path(__file__).resolve().parent.parent.parent / "bench" / "device"

TORCH = """
class cuda:
    faulted = False
    @classmethod
    def synchronize(cls):
        if cls.faulted:
            raise RuntimeError("an illegal instruction was encountered")
def manual_seed(seed): pass
def zeros(count, device): pass
"""
LAUNCH = """
class Driver: pass
class Compiler:
    def __init__(self, soliton, images): pass
"""
SCRIPT = """
import argparse, functools, os, time
import isolated
import torch
isolated.LIMIT = 3

def check(driver, compiler, kind):
    if kind == "wrong":
        return "1 of 4 elements is wrong"
    if kind == "faults":
        torch.cuda.faulted = True
    torch.cuda.synchronize()
    if kind == "hangs":
        time.sleep(60)
    if kind == "ends":
        os._exit(3)

def jobs(arguments):
    kinds = ["right", "faults", "right", "hangs", "right", "wrong", "ends", "right", "right"]
    return [isolated.Job(kind, (kind,), functools.partial(check, kind=kind)) for kind in kinds]

if __name__ == "__main__":
    arguments = argparse.Namespace(soliton="", images="")
    print(isolated.report(jobs(arguments), isolated.judge(jobs, arguments, WORKERS), ("kind",)))
"""


class Isolated(unittest.TestCase):
    def judged(self, workers):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("torch", TORCH), ("launch", LAUNCH), ("script", SCRIPT.replace("WORKERS", str(workers)))):
                (Path(folder) / f"{name}.py").write_text(text)
            (Path(folder) / "isolated.py").write_text((DEVICE / "isolated.py").read_text())
            done = subprocess.run([sys.executable, f"{folder}/script.py"], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_what_goes_wrong_is_one_job(self):
        for workers in (1, 2):
            said = self.judged(workers)
            self.assertIn("| right | 5 | 0 |", said)
            self.assertIn("faults: an illegal instruction was encountered", said)
            self.assertIn("hangs: no answer within 3 s", said)
            self.assertIn("wrong: 1 of 4 elements is wrong", said)
            self.assertIn("ends: its process ended", said)
            self.assertIn("5 passed, 4 failed\nFalse", said)


if __name__ == "__main__":
    unittest.main()
