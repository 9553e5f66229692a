"""The tuner's workers on a Ray cluster: what `soliton tune --workers ray://…` starts and speaks with, by lines of JSON.

    {"command": ["soliton", "tune", "gemm", …, "--worker"], "device": "cuda", "seconds": 60, "bytes": 8589934592, "build": …}
                                            the first line: how a worker is started, on whichever node
    {"ready": 1, "identity": {…}}           one worker answers; of a device its name, driver and the build of the compiler
    {"id": 7, "request": {"candidate": …, "stage": "model", "other": ""}}
    {"id": 7, "text": "{\"hash\": …}"}      what the worker said, in any order, or {"id": 7, "fault": "hung for 60.0 s"}

Ray places and moves things; nothing of that is done here. An actor of one CPU holds one worker process, an actor of one GPU
(of one unit of the resource `emulator` for emulators) another: that is the lease. What a candidate does to its process is
the candidate's fault; what happens to an actor or its node is nobody's, and the request goes to another one. Kernels are
built on CPU nodes and go to devices through the object store, by the hash that is their name in the compiler's cache. A
kernel that is lost with its builder is no loss of the device that waits for it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import sys
from typing import Any, Callable

# Requests whose actor was lost go elsewhere, this often.
TRIES = 8
# What no program does to itself: the system did, or somebody.
KILLED = "ended by signal 9 "
# Between two looks at which nodes there are.
LOOK_SECONDS = 0.5
# Without a worker for so long there is no cluster to speak of.
PATIENCE_SECONDS = 60


class Worker:
    """A process of the compiler that judges candidates, on the node where Ray put this actor."""

    def __init__(self, command: list[str], seconds: float, memory: int) -> None:
        import tempfile

        self.command, self.seconds, self.memory = command, seconds, memory
        self.folder = tempfile.TemporaryDirectory(prefix="soliton-kernels-")
        self.process: Any = None

    def start(self) -> None:
        import ctypes
        import resource
        import signal
        import subprocess

        memory = self.memory

        def alone() -> None:
            os.setpgid(0, 0)
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # a worker that hangs outlives nobody
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if memory:
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

        environment = {**os.environ, "SOLITON_CACHE": "on", "SOLITON_CACHE_DIR": self.folder.name, "SOLITON_TUNE_SHARED": "1"}
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, preexec_fn=alone, bufsize=0
        )

    def stop(self) -> str:
        import signal

        if self.process is None:
            return ""
        process, self.process = self.process, None
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        return f"ended by signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"exit code {code}"

    def ask(self, line: str, *kernels: dict) -> tuple[str, str]:
        """(answer, fault), of which one is empty. `kernels` are files of the cache by name, which is their hash."""
        for name, bytes in (item for files in kernels for item in files.items()):
            path = os.path.join(self.folder.name, name)
            if not os.path.exists(path):
                os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
                with open(path + ".new", "wb") as file:
                    file.write(bytes)
                os.rename(path + ".new", path)
        answer, fault = self.asked(line)
        return self.asked(line) if fault.startswith(KILLED) else (answer, fault)

    def asked(self, line: str) -> tuple[str, str]:
        try:
            if self.process is None:
                self.start()
            self.process.stdin.write(line.encode() + b"\n")
        except BrokenPipeError:
            pass  # it is told by the end of its output
        except OSError as error:
            return "", f"could not be started: {error}"
        return self.answer()

    def answer(self) -> tuple[str, str]:
        import select
        import time

        text, until = b"", time.monotonic() + self.seconds
        while b"\n" not in text:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                self.stop()
                return "", f"hung for {self.seconds:.1f} s"
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            if not part:
                time.sleep(0.002)  # the end of its output comes a moment before its own
                return "", self.stop()
            text += part
            if len(text) > 1 << 20:
                self.stop()
                return "", f"wrote more than {1 << 20} bytes and no answer"
        answer, _, more = text.partition(b"\n")
        try:
            if more or not isinstance(json.loads(answer), dict):
                raise ValueError
        except ValueError:
            self.stop()
            return "", f"wrote `{answer[:60].decode(errors='replace')}`, which is no answer"
        return answer.decode(), ""

    def kept(self) -> list[str]:
        """Names of the kernels in its cache."""
        found = [os.path.join(folder, name) for folder, _, names in os.walk(self.folder.name) for name in names]
        return [os.path.relpath(path, self.folder.name) for path in found if path.endswith(".kernel")]

    def build(self, line: str) -> tuple[int, dict]:
        """Compiles what a device will need: how many files of the cache, and these by name. None where that fails: the device will say why.

        The number is for who waits: it says that this actor has not been lost, and the files need not be fetched for that.
        """
        self.ask(line)
        files = {}
        for name in self.kept():
            path = os.path.join(self.folder.name, name)
            with open(path, "rb") as file:
                files[name] = file.read()
            os.remove(path)
        return len(files), files


class Job:
    """A request that goes from actor to actor until one of them answers it, or too many were lost with it."""

    def __init__(self, ask: Callable[[Any], Any]) -> None:
        self.ask, self.tries = ask, 0
        self.done: asyncio.Future = asyncio.get_running_loop().create_future()


class Cluster:
    """Lanes of work on whatever the cluster has now: one for each actor, which takes one request at a time."""

    def __init__(self, ray, first: dict) -> None:
        self.ray, self.first = ray, first
        self.jobs: dict[str, asyncio.Queue] = {"cpu": asyncio.Queue(), "device": asyncio.Queue()}
        self.lanes = {"cpu": 0, "device": 0}
        self.built: dict[str, asyncio.Future] = {}  # by the hash of a candidate: a reference into the object store
        self.identity = None
        self.tasks: set[asyncio.Task] = set()

    def lease(self, kind: str) -> dict:
        if kind == "cpu":
            return {"num_cpus": 1}
        if self.first["device"].startswith(("cuda", "hip")):
            return {"num_cpus": 0, "num_gpus": 1}
        return {"num_cpus": 0, "resources": {"emulator": 1}}

    def room(self, kind: str) -> int:
        """How many actors of this kind the nodes that live now can hold."""
        resource = next(iter(set(self.lease(kind)) - {"num_cpus"}), "num_cpus")
        name = {"num_cpus": "CPU", "num_gpus": "GPU", "resources": "emulator"}[resource]
        nodes = (node["Resources"] for node in self.ray.nodes() if node["Alive"])
        return int(sum(node.get(name, 0) for node in nodes))

    async def look(self) -> None:
        """Joins and losses: as many lanes as there is room for, from now on and later."""
        while True:
            for kind in ["cpu"] + (["device"] if self.first["device"] else []):
                for _ in range((await asyncio.to_thread(self.room, kind)) - self.lanes[kind]):
                    self.lanes[kind] += 1
                    self.keep(self.lane(kind))
            await asyncio.sleep(LOOK_SECONDS)

    def keep(self, coroutine) -> None:
        task = asyncio.ensure_future(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def actor(self, kind: str):
        memory = self.first["bytes"] if kind == "cpu" else 0
        made = self.ray.remote(Worker).options(max_restarts=0, **self.lease(kind))
        return made.remote(self.first["command"], self.first["seconds"], memory)

    async def lane(self, kind: str) -> None:
        actor = self.actor(kind)
        try:
            if not await self.fits(actor, kind):
                return
            while True:
                job = await self.jobs[kind].get()
                try:
                    job.done.set_result(await job.ask(actor))
                except self.ray.exceptions.RayTaskError as error:
                    # It came from within the actor, which so is there: something that it was given is lost, or its node has no
                    # room. That something may itself be the result of a lost actor, so this is asked before the other.
                    self.again(kind, job, error)
                except self.ray.exceptions.RayError as error:
                    self.again(kind, job, error)
                    return
        except self.ray.exceptions.RayError:
            return
        finally:
            self.lanes[kind] -= 1
            self.ray.kill(actor)

    async def fits(self, actor, kind: str) -> bool:
        """Whether it is the compiler, and of a device the device and driver, that the first one was."""
        hello = {"candidate": "", "stage": "hello", "other": kind if kind == "device" else ""}
        text, fault = await actor.ask.remote(json.dumps(hello))
        if fault:
            print(f"soliton: a worker of Ray {fault}", file=sys.stderr)
            await asyncio.sleep(LOOK_SECONDS)
            return False
        found, wanted = json.loads(text), {"build": self.first["build"]}
        if kind == "device" and self.identity:
            wanted = self.identity
        fits = all(found.get(key) == wanted[key] for key in wanted)
        if fits and (kind == "device" or not self.first["device"]):
            self.identity = self.identity or found
        if not fits:
            print(f"soliton: a node is left out: it has {found}, expected {wanted}", file=sys.stderr)
            await asyncio.sleep(PATIENCE_SECONDS)  # it keeps its lease, and is not asked
        return fits

    def again(self, kind: str, job: Job, error: Exception) -> None:
        job.tries += 1
        if job.tries < TRIES:
            self.jobs[kind].put_nowait(job)
        else:
            job.done.set_exception(error)

    # ---- Requests ----------------------------------------------------------------------------------------------------

    async def answer(self, request: dict) -> dict:
        """What becomes of a request, whoever is lost on the way."""
        line, is_measured = json.dumps(request), request["stage"] in ("device", "duel")
        kind, sides = ("device", [request["candidate"], request["other"]]) if is_measured else ("cpu", [])
        kernels = [files for side in sides if side and (files := await self.kernels_of(side))]

        async def ask(actor) -> tuple[str, str]:
            try:
                return await actor.ask.remote(line, *kernels)
            except self.ray.exceptions.RayTaskError:
                kernels.clear()  # they went with their node: the device compiles for itself
                raise

        try:
            text, fault = await self.run(kind, ask)
        except self.ray.exceptions.RayError as error:
            fault = f"{TRIES} workers were lost with it, the last by {type(error).__name__}"
        return {"text": text} if not fault else {"fault": fault}

    async def kernels_of(self, candidate: str):
        """Built once, by a node with a CPU to spare; the reference travels, the bytes go from node to node. None if nobody could."""
        key = hashlib.sha256(candidate.encode()).hexdigest()
        if key not in self.built:
            line = json.dumps({"candidate": candidate, "stage": "build", "other": ""})

            async def ask(actor):
                count, files = actor.build.options(num_returns=2).remote(line)
                return files if await count else None

            self.built[key] = asyncio.ensure_future(self.run("cpu", ask))
        try:
            return await asyncio.shield(self.built[key])
        except self.ray.exceptions.RayError:
            return None

    async def run(self, kind: str, ask: Callable[[Any], Any]):
        """What the first actor says that is not lost; the last loss where too many are."""
        job = Job(ask)
        self.jobs[kind].put_nowait(job)
        return await job.done


def own_output():
    """Standard output for our lines alone: whatever else this process or Ray prints goes to standard error."""
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return output


def say(**fields) -> None:
    output.write(json.dumps(fields) + "\n")
    output.flush()


def connect(address: str):
    try:
        import ray
    except ImportError:
        say(error="not-installed", message=f"Ray is not installed for `{sys.executable}`")
        sys.exit(1)
    where = {"local": None, "auto": "auto"}.get(address, "ray://" + address)
    try:
        ray.init(address=where, logging_level=logging.ERROR, log_to_driver=False, include_dashboard=False if where is None else None)
    except Exception as error:  # whatever Ray thinks of: there is no cluster
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        say(error="no-cluster", message=f"no cluster at `ray://{address}`: {said}")
        sys.exit(1)
    return ray


async def serve(ray) -> None:
    """Standard input is read by a thread: answers never wait for it."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str] = asyncio.Queue()

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        loop.call_soon_threadsafe(lines.put_nowait, "")

    import threading

    threading.Thread(target=read, daemon=True).start()
    cluster = Cluster(ray, json.loads(await lines.get()))
    cluster.keep(cluster.look())
    for _ in range(int(PATIENCE_SECONDS / 0.05)):
        if cluster.identity:
            break
        await asyncio.sleep(0.05)
    else:
        what = "device" if cluster.first["device"] else "worker"
        say(error="no-worker", message=f"no node gave a {what} within {PATIENCE_SECONDS} s")
        return
    say(ready=1, identity=cluster.identity)

    async def handle(asked: dict) -> None:
        say(id=asked["id"], **await cluster.answer(asked["request"]))

    while line := await lines.get():
        cluster.keep(handle(json.loads(line)))


output = sys.stdout


def main() -> None:
    global output
    output = own_output()
    ray = connect(sys.argv[1] if len(sys.argv) > 1 else "auto")
    try:
        asyncio.run(serve(ray))
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
