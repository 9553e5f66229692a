#!/usr/bin/env python3
"""Tries the tuner on a cluster of Ray: several nodes on this machine, emulators as devices, nodes killed at random.

    scripts/attack_ray.py --build build [--json]        make test-ray

Ray is installed from PyPI into build/ray-venv, once. What must hold: a cluster decides what one process decides, with nodes
that come and go too; a device measures kernels that a node without one has compiled, though builders are lost; who misbehaves
costs its candidate;
Ray costs at most 5 ms a candidate, and the coordinator takes at least 1,000 answers a second of 64 simulated workers. Says
`ok: NAME` or `FAILED: NAME` about each. Exits 77 with the reason where Ray cannot be installed.
"""

import argparse
import asyncio
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RAY = "ray==2.60.0"
SKIP_CODE = 77
SPACE = ["--space", "BLOCK_M=32,64,128,256", "--space", "BLOCK_N=32,64,128", "--space", "BLOCK_K=16,32,64", "--space", "schedule=none,prefetch,modulo"]
KERNEL = ["gemm", "--target", "gfx942", "--size", "M=512,N=512,K=512", *SPACE, "--moves", "0", "--generation", "8"]

ECHO = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"build": "x"} if asked["stage"] == "hello" else {"hash": asked["candidate"]}), flush=True)
"""
# The same, but the first who are to build kill the actor that holds them.
KILLER = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["stage"] == "build" and len(os.listdir(sys.argv[1])) < 3:
        os.mkdir(f"{sys.argv[1]}/{os.getpid()}")
        os.kill(os.getppid(), 9)
    print(json.dumps({"build": "x"} if asked["stage"] == "hello" else {"hash": asked["candidate"]}), flush=True)
"""


# ---- An environment ----------------------------------------------------------------------------------------------------


def install(build: Path) -> Path:
    """The interpreter of a virtual environment with Ray, made once."""
    folder = build / "ray-venv"
    interpreter, stamp = folder / "bin" / "python", folder / "soliton-state"
    if stamp.exists() and stamp.read_text() == RAY:
        return interpreter
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    command = [str(interpreter), "-m", "pip", "--quiet", "--disable-pip-version-check", "install", RAY]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        print("Ray could not be installed: " + (made.stderr.strip().splitlines() or ["no reason given"])[-1])
        sys.exit(SKIP_CODE)
    stamp.write_text(RAY)
    return interpreter


def coordinator():
    spec = importlib.util.spec_from_file_location("tuner_ray", ROOT / "python" / "soliton" / "tuner_ray.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- The tuner on it ---------------------------------------------------------------------------------------------------


class Attack:
    def __init__(self, soliton: str, folder: Path) -> None:
        from ray.cluster_utils import Cluster

        self.soliton, self.folder, self.random = soliton, folder, random.Random(1)
        self.figures: dict[str, float] = {}
        self.wrong = 0
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        self.nodes = [self.join()]

    def join(self):
        return self.cluster.add_node(num_cpus=1, resources={"emulator": 1})

    def environment(self) -> dict:
        return {**os.environ, "SOLITON_CACHE": "off", "SOLITON_CACHE_DIR": str(self.folder / "cache"),
                "SOLITON_PYTHON": sys.executable, "RAY_ADDRESS": self.cluster.address}  # fmt: skip

    def tune(self, name: str, *more: str, budget: int = 48) -> subprocess.Popen:
        command = [self.soliton, "tune", *KERNEL, "--budget", str(budget), "--database", str(self.folder / name), "--json"]
        return subprocess.Popen([*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment())

    def finish(self, process: subprocess.Popen) -> dict:
        out, err = process.communicate(timeout=150)
        if process.returncode != 0:
            raise AssertionError(f"exit code {process.returncode}: {err[-600:]}")
        return json.loads(out)

    def decisions(self, name: str) -> list[tuple]:
        command = [self.soliton, "tune", "show", "--database", str(self.folder / name), "--json"]
        shown = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        return [(t["number"], t["hash"], t["cost_us"], t["refused_by"]) for t in shown["trials"]]

    def check(self, name: str, act) -> None:
        began = time.monotonic()
        try:
            act()
            print(f"ok: {name}", flush=True)
        except Exception as error:  # whatever went wrong is the finding
            self.wrong += 1
            print(f"{type(error).__name__}: {error}\nFAILED: {name}", flush=True)
        print(f"  {time.monotonic() - began:.1f} s", flush=True)

    # ---- What must hold --------------------------------------------------------------------------------------------------

    def same_answer(self) -> None:
        alone = self.finish(self.tune("alone.db", "--workers", "0"))
        many = self.finish(self.tune("ray.db", "--workers", "ray://auto"))
        assert self.decisions("ray.db") == self.decisions("alone.db"), "a cluster decides otherwise than one process"
        assert many["best"]["hash"] == alone["best"]["hash"]

    def losses(self) -> None:
        """Nodes go without a word, and others come, while it tunes."""
        process = self.tune("losses.db", "--workers", "ray://auto")
        lost, done = 0, threading.Event()
        threading.Thread(target=lambda: (process.wait(), done.set()), daemon=True).start()
        self.nodes.append(self.join())
        while not done.wait(self.random.uniform(0.2, 0.6)) and lost < 4:
            victim = self.nodes.pop(self.random.randrange(len(self.nodes)))
            self.cluster.remove_node(victim, allow_graceful=False)
            lost += 1
            self.nodes.append(self.join())
        self.finish(process)
        self.figures["nodes_lost"] = lost
        assert lost > 0, "no node was lost while it tuned"
        assert self.decisions("losses.db") == self.decisions("alone.db"), f"{lost} lost nodes changed a decision"

    def devices(self) -> None:
        """One device a node; what it measures was compiled elsewhere."""
        small = ["--device", "emulator", "--size", "M=64,N=64,K=64"]
        report = self.finish(self.tune("device.db", "--workers", "ray://auto", *small, budget=2))
        assert report["times"] == "measured" and report["best"]["measured_us"] > 0, report

    def kernels(self) -> None:
        import ray

        module = coordinator()
        command = [self.soliton, "tune", "gemm", "--target", "gfx942", "--size", "M=128,N=128,K=256", "--device", "emulator", "--worker"]
        ray.init(address=self.cluster.address, logging_level="error", log_to_driver=False)
        try:
            Worker = ray.remote(module.Worker)
            builder, device = Worker.remote(command, 60, 0), Worker.remote(command, 60, 0)
            candidate = "soliton-candidate 1\nschedule = prefetch\n"
            ask = {"candidate": candidate, "stage": "build", "other": ""}
            count, reference = builder.build.options(num_returns=2).remote(json.dumps(ask))
            names = set(ray.get(reference))
            assert ray.get(count) == len(names)
            assert len(names) >= 3, f"expected the kernel at three sizes at least, found {names}"
            text, fault = ray.get(device.ask.remote(json.dumps({**ask, "stage": "device"}), reference))
            assert not fault and json.loads(text)["result"]["measured_us"] > 0, (text, fault)
            assert set(ray.get(device.kept.remote())) == names, "the device compiled something itself"
            # Who misbehaves costs its candidate: the next one is answered.
            assert ray.get(device.ask.remote("no request"))[1], "a worker that died left no fault"
            hung = Worker.remote(["sleep", "100"], 0.5, 0)
            assert ray.get(hung.ask.remote("{}")) == ("", "hung for 0.5 s")
            assert not ray.get(device.ask.remote(json.dumps({**ask, "stage": "model"})))[1]
        finally:
            ray.shutdown()

    def through_ray(self, program: str, *arguments: str, device: str = "") -> subprocess.Popen:
        """A coordinator that is ready, whose workers are a program of Python."""
        first = {"command": [sys.executable, "-u", "-c", program, *arguments], "device": device, "seconds": 60, "bytes": 0, "build": "x"}
        command = [sys.executable, str(ROOT / "python" / "soliton" / "tuner_ray.py"), "auto"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment())
        process.stdin.write(json.dumps(first) + "\n")
        process.stdin.flush()
        said = process.stdout.readline()
        assert "ready" in said, said
        return process

    def builders(self) -> None:
        """What a device waits for is the result of an actor that is lost: not the device is."""
        lost = self.folder / "lost"
        lost.mkdir()
        process = self.through_ray(KILLER, str(lost), device="emulator")
        process.stdin.write(json.dumps({"id": 7, "request": {"candidate": "c", "stage": "device", "other": ""}}) + "\n")
        process.stdin.flush()
        said = json.loads(process.stdout.readline())
        process.stdin.close()
        process.wait(30)
        self.figures["builders_lost"] = len(list(lost.iterdir()))
        assert said == {"id": 7, "text": json.dumps({"hash": "c"})}, said
        assert self.figures["builders_lost"] == 3

    def overhead(self) -> None:
        """A worker that answers at once, asked through Ray one request after the other, and directly.

        The least of some rounds is Ray's own: what a busy machine adds to the others is not. The mean is printed beside it.
        """
        through = self.through_ray(ECHO)
        directly = subprocess.Popen([sys.executable, "-u", "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        request = {"candidate": "c", "stage": "model", "other": ""}

        def seconds(process: subprocess.Popen, asked: dict, count: int) -> float:
            began = time.monotonic()
            for _ in range(count):
                process.stdin.write(json.dumps(asked) + "\n")
                process.stdin.flush()
                process.stdout.readline()
            return (time.monotonic() - began) / count

        asked = {"id": 1, "request": request}
        seconds(through, asked, 20), seconds(directly, request, 20)
        rounds = [(seconds(through, asked, 20), seconds(directly, request, 20)) for _ in range(15)]
        cost = min(ray for ray, _ in rounds) - min(alone for _, alone in rounds)
        for process in (through, directly):
            process.stdin.close()
            process.wait(30)
        self.figures["ray_ms_a_candidate"] = round(1000 * cost, 2)
        self.figures["mean"] = round(1000 * sum(ray - alone for ray, alone in rounds) / len(rounds), 2)
        assert cost <= 5e-3, f"{1000 * cost:.2f} ms a candidate"

    def throughput(self) -> None:
        command = [sys.executable, __file__, "--simulate", "64"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        process.stdin.write(json.dumps({"command": [], "device": "", "seconds": 1, "bytes": 0, "build": "x"}) + "\n")
        process.stdin.flush()
        assert "ready" in process.stdout.readline()
        count, text = 5000, "BLOCK_M = 128\n" * 20
        began = time.monotonic()
        lines = [json.dumps({"id": i, "request": {"candidate": text, "stage": "model", "other": ""}}) for i in range(count)]
        threading.Thread(target=lambda: (process.stdin.write("\n".join(lines) + "\n"), process.stdin.flush()), daemon=True).start()
        answered = {json.loads(process.stdout.readline())["id"] for _ in range(count)}
        rate = count / (time.monotonic() - began)
        process.kill()
        process.wait()
        self.figures["results_a_second_of_64_workers"] = round(rate)
        assert answered == set(range(count))
        assert rate >= 1000, f"{rate:.0f} results a second"


class Simulated:
    """As much of Ray as the coordinator uses, with workers that take 2 ms and do nothing."""

    class exceptions:
        class RayError(Exception):
            pass

        class RayTaskError(RayError):
            pass

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.ask = self

    def nodes(self) -> list[dict]:
        return [{"Alive": True, "Resources": {"CPU": self.workers}}]

    def options(self, **_) -> "Simulated":
        return self

    async def answer(self, line: str) -> tuple[str, str]:
        await asyncio.sleep(0.002)
        asked = json.loads(line)
        return json.dumps({"build": "x"} if asked["stage"] == "hello" else {"hash": asked["candidate"]}), ""

    def remote(self, *arguments):
        """Of a class, of its constructor, of a method: the last has a line."""
        is_line = len(arguments) == 1 and isinstance(arguments[0], str)
        return asyncio.ensure_future(self.answer(arguments[0])) if is_line else self

    def kill(self, actor) -> None:
        pass


def attack(build: Path, as_json: bool) -> int:
    with tempfile.TemporaryDirectory() as folder:
        tried = Attack(str(build / "bin" / "soliton"), Path(folder))
        tried.check("the coordinator takes 1,000 answers a second of 64 workers", tried.throughput)
        tried.check("kernels come through the object store, faults cost one candidate", tried.kernels)
        tried.check("a builder that is lost is no loss of the device", tried.builders)
        tried.check("Ray costs at most 5 ms a candidate", tried.overhead)
        tried.check("a cluster decides what one process decides", tried.same_answer)
        tried.check("nodes that are lost and join change nothing", tried.losses)
        tried.check("devices are leased and measure, on what is left", tried.devices)
        tried.cluster.shutdown()
    print(json.dumps(tried.figures) if as_json else ", ".join(f"{key} {value}" for key, value in tried.figures.items()))
    return 1 if tried.wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--simulate", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.simulate:
        asyncio.run(coordinator().serve(Simulated(options.simulate)))
        return 0
    interpreter = install(options.build.resolve())
    if Path(sys.executable).resolve() != interpreter.resolve() or sys.prefix != str(interpreter.parent.parent):
        # A node that is killed has much to say that nobody needs.
        environment = {**os.environ, "RAY_DEDUP_LOGS": "0", "RAY_BACKEND_LOG_LEVEL": "fatal", "RAY_USAGE_STATS_ENABLED": "0"}
        return subprocess.call([str(interpreter), __file__, *sys.argv[1:]], env=environment)
    return attack(options.build.resolve(), options.json)


if __name__ == "__main__":
    sys.exit(main())
