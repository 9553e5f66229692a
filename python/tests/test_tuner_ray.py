"""What the coordinator of Ray's workers makes of losses, beside a stand-in for Ray that loses what it is told to, when it is told to.

`make test-ray` tries the same with Ray itself, whose errors the stand-in raises as it does: a task of which an argument is the
result of an actor that was lost raises an error that is both a task's and an actor's, and leaves its own actor alive.
"""

import asyncio
import importlib.util
import json
import pathlib

import pytest

SOURCE = pathlib.Path(__file__).parent.parent / "soliton" / "tuner_ray.py"
BUILD = "a build"


def coordinator():
    spec = importlib.util.spec_from_file_location("tuner_ray", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Ray:
    """One node of `cpus` and one device; `lost` are the numbers of the builders that go while they build, `unreachable` of those whose files do later."""

    class exceptions:
        class RayError(Exception):
            pass

        class RayTaskError(RayError):
            pass

        class RayActorError(RayError):
            pass

        class ObjectLostError(RayError):
            pass

    class _Dependency(exceptions.RayTaskError, exceptions.RayActorError):
        pass

    class _Gone(exceptions.RayTaskError, exceptions.ObjectLostError):
        pass

    def __init__(self, lost=(), unreachable=(), devices_lost=()):
        self.lost, self.unreachable, self.devices_lost = set(lost), set(unreachable), set(devices_lost)
        self.builds, self.measured, self.made, self.killed = 0, [], [], []

    def nodes(self):
        return [{"Alive": True, "Resources": {"CPU": 1, "emulator": 1}}]

    def remote(self, _):
        return Made(self)

    def kill(self, actor):
        self.killed.append(actor)

    def wait(self, references, fetch_local):
        return references, []


class Made:
    def __init__(self, ray, kind=""):
        self.ray, self.kind = ray, kind

    def options(self, **lease):
        return Made(self.ray, "device" if "resources" in lease else "cpu")

    def remote(self, *_):
        actor = Actor(self.ray, self.kind, sum(each.kind == self.kind for each in self.ray.made) + 1)
        self.ray.made.append(actor)
        return actor


class Reference:
    """Of a result that is there, or is an error."""

    def __init__(self, ray, value):
        self.ray, self.value = ray, value

    def __await__(self):
        yield from asyncio.sleep(0).__await__()
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


class Method:
    def __init__(self, call, returns=1):
        self.call, self.returns = call, returns

    def options(self, num_returns):
        return Method(self.call, num_returns)

    def remote(self, *arguments):
        return self.call(self.returns, *arguments)


class Actor:
    def __init__(self, ray, kind, number):
        self.ray, self.kind, self.number, self.is_lost = ray, kind, number, False
        self.ask, self.build = Method(self._ask), Method(self._build)

    def _ask(self, _, line, *kernels):
        ray, asked = self.ray, json.loads(line)
        if asked["stage"] == "hello":
            return Reference(ray, (json.dumps({"build": "x", "name": "emulator", "driver": ""}), ""))
        if self.kind == "device" and self.number in ray.devices_lost:
            self.is_lost = True
        if self.is_lost:
            return Reference(ray, ray.exceptions.RayActorError("lost"))
        for each in kernels:
            if isinstance(each.value, Exception):
                gone = isinstance(each.value, ray.exceptions.ObjectLostError)
                return Reference(ray, ray._Gone() if gone else ray._Dependency())
        ray.measured.append((self.number, [each.value for each in kernels]))
        return Reference(ray, (json.dumps({"hash": asked["candidate"]}), ""))

    def _build(self, returns, _):
        ray = self.ray
        ray.builds += 1
        self.is_lost = self.is_lost or ray.builds in ray.lost
        if self.is_lost:
            error = ray.exceptions.RayActorError("lost")
            return [Reference(ray, error), Reference(ray, error)] if returns == 2 else Reference(ray, error)
        files = Reference(ray, ray.exceptions.ObjectLostError() if ray.builds in ray.unreachable else {BUILD: b"code"})
        return [Reference(ray, 1), files] if returns == 2 else files


def asked(ray, count=1):
    """What becomes of so many measurements."""
    module = coordinator()
    module.LOOK_SECONDS = 0.001

    async def act():
        cluster = module.Cluster(ray, {"command": [], "device": "emulator", "seconds": 1, "bytes": 0, "build": "x"})
        cluster.keep(cluster.look())
        requests = [{"candidate": f"c{i}", "stage": "device", "other": ""} for i in range(count)]
        try:
            return [await asyncio.wait_for(cluster.answer(request), 10) for request in requests]
        finally:
            for task in list(cluster.tasks):
                task.cancel()

    return asyncio.run(act())


def answers(count=1):
    return [{"text": json.dumps({"hash": f"c{i}"})} for i in range(count)]


def devices_of(ray):
    return [actor.number for actor in ray.made if actor.kind == "device"]


@pytest.mark.parametrize("lost", [[], [1], [1, 2, 3]])
def test_a_lost_builder_is_no_loss_of_the_device(lost):
    """Another one builds; the device keeps its lease and gets the kernel."""
    ray = Ray(lost=lost)
    assert asked(ray, 3) == answers(3)
    assert devices_of(ray) == [1]
    assert [kernels for _, kernels in ray.measured] == [[{BUILD: b"code"}]] * 3
    assert ray.builds == len(lost) + 3


def test_a_device_compiles_for_itself_what_was_lost_behind_its_builder():
    ray = Ray(unreachable=[1])
    assert asked(ray, 2) == answers(2)
    assert devices_of(ray) == [1]
    assert ray.measured == [(1, []), (1, [{BUILD: b"code"}])]


def test_builders_that_are_always_lost_leave_the_device_to_compile():
    ray = Ray(lost=range(1, 100))
    assert asked(ray) == answers()
    assert devices_of(ray) == [1] and ray.measured == [(1, [])]
    assert ray.builds == coordinator().TRIES


def test_a_device_that_is_lost_is_followed_by_another_with_the_same_kernel():
    ray = Ray(devices_lost=[1, 2])
    assert asked(ray) == answers()
    assert devices_of(ray) == [1, 2, 3] and ray.measured == [(3, [{BUILD: b"code"}])]


def test_devices_that_are_always_lost_are_a_fault_that_says_so():
    ray = Ray(devices_lost=range(1, 100))
    assert asked(ray) == [{"fault": f"{coordinator().TRIES} workers were lost with it, the last by RayActorError"}]


def test_a_process_that_was_killed_is_asked_once_more(tmp_path):
    """As Workers.cpp has it: the first time somebody did, the second time it is its candidate's doing."""
    module = coordinator()
    script = 'read line; case $line in *once) if mkdir "$0"; then kill -KILL $$; fi;; *always) kill -KILL $$;; esac; echo "{}"; read end'
    worker = module.Worker(["/bin/sh", "-c", script, str(tmp_path / "was")], 10, 0)
    try:
        assert worker.ask("once") == ("{}", "")
        worker.stop()
        assert worker.ask("always") == ("", "ended by signal 9 (Killed)")
    finally:
        worker.stop()
