"""The recipes for clusters in docs/tuning.md, as they are written, with stand-ins for ssh, Slurm and Ray on the path.

The stand-ins refuse what the real ones would: a node that joins nobody, more processors than Slurm gives a step, more nodes than the job
has. `make test-ray` tries the tuner on Ray itself; no real Slurm has run the recipe.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOLITON = pathlib.Path(os.environ.get("SOLITON_STAND_INS", "none")).parent / "bin" / "soliton"
PAGE = (ROOT / "docs" / "tuning.md").read_text()
HOSTS = ["n1", "n2", "n3", "n4"]

# Every one gets its words, and $STATE, a folder with a file for each node of Ray.
STAND_INS = {
    "ssh": """
host, *command = words
os.environ["HOST"] = host
sys.exit(subprocess.call(" ".join(command), shell=True))
""",
    "scontrol": """
assert words == ["show", "hostnames", "n[1-4]"], words
print("n1\\nn2\\nn3\\nn4")
""",
    # A step has one processor for each task unless it says more: it does not inherit that of the job.
    "srun": """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--nodes", type=int, required=True)
parser.add_argument("--ntasks", type=int, required=True)
parser.add_argument("--cpus-per-task", type=int, default=1)
parser.add_argument("-w")
parser.add_argument("--exclude")
parser.add_argument("command", nargs=argparse.REMAINDER)
step = parser.parse_args(words)
hosts = [each for each in ["n1", "n2", "n3", "n4"] if each != step.exclude and step.w in (None, each)]
assert step.ntasks == step.nodes == len(hosts), f"{hosts} for {step}"
for host in hosts:
    environment = {**os.environ, "HOST": host, "CPUS": str(step.cpus_per_task)}
    subprocess.run(step.command, check=True, env=environment)
""",
    "ray": """
import argparse, json
parser = argparse.ArgumentParser()
parser.add_argument("action", choices=["start"])
parser.add_argument("--head", action="store_true")
parser.add_argument("--block", action="store_true")
parser.add_argument("--port")
parser.add_argument("--address")
parser.add_argument("--num-cpus", type=int, default=1)
parser.add_argument("--num-gpus", type=int, default=0)
node = parser.parse_args(words)
host, head = os.environ.get("HOST", "here"), state / "head"
assert node.num_cpus <= int(os.environ.get("CPUS", "64")), f"{node.num_cpus} processors on a node that has {os.environ['CPUS']}"
if node.head:
    head.write_text(f"{host}:{node.port}")
assert node.head or node.address == head.read_text(), f"{host} joins {node.address}, which is nobody"
(state / f"{host}.node").write_text(json.dumps({"CPU": 1, "GPU": node.num_gpus, "emulator": int(node.num_gpus > 0)}))
""",
    "sleep": "",
    # The program itself, on a chip that is here, with little to do.
    "soliton": """
here = {"sm_90a": "gfx942", "cuda": "emulator", "2000": "2"}
small = ["--size", "M=64,N=64,K=64", "--space", "schedule=none,prefetch", "--moves", "0", "--database", str(state / "t.db"), "--json"]
made = subprocess.run([os.environ["SOLITON"], *(here.get(each, each) for each in words), *small], stdout=subprocess.PIPE)
(state / "said.json").write_bytes(made.stdout)
(state / "words").write_text(" ".join(words))
sys.exit(made.returncode)
""",
}

# As much of Ray's package as the coordinator uses, in its own process.
RAY = """
import asyncio, json, os, pathlib
from concurrent.futures import ThreadPoolExecutor

STATE = pathlib.Path(os.environ["STATE"])


class exceptions:
    class RayError(Exception):
        pass

    class RayTaskError(RayError):
        pass


class Call:
    def __init__(self, actor, name):
        self.actor, self.name, self.returns = actor, name, 1

    def options(self, num_returns):
        self.returns = num_returns
        return self

    def remote(self, *arguments):
        whole = asyncio.ensure_future(self.actor.run(self.name, arguments))

        async def part(i):
            return (await whole)[i]

        return whole if self.returns == 1 else [asyncio.ensure_future(part(i)) for i in range(self.returns)]


class Actor:
    def __init__(self, held):
        self.held, self.thread = held, ThreadPoolExecutor(1)

    async def run(self, name, arguments):
        known = [await each if isinstance(each, asyncio.Future) else each for each in arguments]
        return await asyncio.get_running_loop().run_in_executor(self.thread, getattr(self.held, name), *known)

    def __getattr__(self, name):
        return Call(self, name)


class Made:
    def __init__(self, kind):
        self.kind = kind

    def options(self, **lease):
        return self

    def remote(self, *arguments):
        return Actor(self.kind(*arguments))


remote = Made


def init(address, **_):
    head, named = (STATE / "head").read_text(), os.environ.get("RAY_ADDRESS")
    # Who says no address is on the head itself.
    assert address == "auto" and (named == head if named else head.startswith("here:")), (address, named, head)


def nodes():
    return [{"Alive": True, "Resources": json.loads(each.read_text())} for each in sorted(STATE.glob("*.node"))]


def kill(actor):
    pass


def shutdown():
    pass
"""


def recipe(behind: str) -> str:
    """The block behind these words."""
    return re.search(r"```\n(.*?)```", PAGE[PAGE.index(behind) :], re.S).group(1)


@pytest.fixture
def cluster(tmp_path):
    """Runs a recipe; what the tuner said, and the hosts that joined."""
    programs, state = tmp_path / "bin", tmp_path / "state"
    programs.mkdir()
    state.mkdir()
    for name, text in STAND_INS.items():
        begin = f"#!{sys.executable}\nimport os, pathlib, subprocess, sys\nwords, state = sys.argv[1:], pathlib.Path(os.environ['STATE'])\n"
        (programs / name).write_text(begin + text)
        (programs / name).chmod(0o755)
    (tmp_path / "ray.py").write_text(RAY)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "STATE": str(state), "SOLITON": str(SOLITON)}
    environment |= {"SOLITON_PYTHON": sys.executable, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    environment |= {"SOLITON_CACHE": "off", "SOLITON_CACHE_DIR": str(tmp_path / "cache"), "SLURM_JOB_NODELIST": "n[1-4]"}

    def run(text: str):
        made = subprocess.run(["bash", "-e", "-c", text], env=environment, capture_output=True, text=True, timeout=120)
        assert made.returncode == 0, made.stdout + made.stderr
        return json.loads((state / "said.json").read_text()), (state / "words").read_text(), sorted(each.stem for each in state.glob("*.node"))

    return run


def check(said: dict, words: str) -> None:
    assert said["ok"] and said["times"] == "measured" and said["tried"] == 2 and not said["rejected"], said
    assert "--target sm_90a --device cuda --workers ray://auto --generation 64 --budget 2000" in words


pytestmark = pytest.mark.skipif(not SOLITON.exists(), reason="no `soliton` was built: `ninja -C build soliton`")


def test_by_hand_over_ssh(cluster):
    said, words, nodes = cluster(recipe("By hand over ssh").replace("HERE", "here"))
    check(said, words)
    assert nodes == ["gpu-node", "here"]


def test_slurm(cluster):
    """`wait` is for the steps in the background, whose nodes would live as long as the job."""
    text = recipe("With Slurm")
    assert text.startswith("#!/bin/bash\n#SBATCH --nodes=4 --ntasks-per-node=1 --cpus-per-task=32 --gpus-per-task=8\n")
    said, words, nodes = cluster(text.replace("sleep 20", "wait"))
    check(said, words)
    assert nodes == HOSTS
