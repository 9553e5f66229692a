"""Launches on a device that no copy of this process may use, as it is with GPUs (CUDA's rule): a copy compiles to an image and draws
what the image is to compute, and a process that begins anew, without the kernel, loads the one and launches it on the other.

    with Device(subject, "cuda", seconds=60) as device:
        job = device.prepare_measure(choices, schedule)           in a copy of this process
        seconds, launches = device.measured(job, 5, 21)           here, which asks the other process

What hangs or crashes there ends that process, costs its time and is a `Lost`; what the driver refuses is a `Refused`.
"""

from __future__ import annotations

import hashlib
import pathlib
import pickle
import sys
import tempfile

from .._errors import CompileError
from ._launching import Launching
from ._workers import Workers

COMMAND = [sys.executable, "-m", "soliton.tuner._device_worker"]


class Lost(Exception):
    """How a process ended that was asked."""


class Refused(Exception):
    """What the compiler or a driver said against it."""


class Device:
    def __init__(self, subject, name: str, seconds: float):
        self.subject, self.name = subject, name
        self.folder = tempfile.TemporaryDirectory(prefix="soliton-tune-")
        # What a driver reserves of addresses is its own matter.
        self.process = Workers(COMMAND, 1, seconds, memory=0)

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_) -> None:
        self.process.__exit__()
        self.folder.cleanup()

    # ---- In a copy ----

    def prepare_answer(self, choices: dict, schedule: str) -> dict:
        """What `answer` takes. Raises CompileError."""
        return self.subject.answer_jobs(choices, schedule, self.name, self._kept)

    def prepare_measure(self, choices: dict, schedule: str) -> str:
        """What `measured` takes. Raises CompileError."""
        return self._kept(self.subject.job(choices, schedule, self.name))

    def _kept(self, job: dict) -> str:
        data = pickle.dumps(job)
        path = pathlib.Path(self.folder.name) / hashlib.sha256(data).hexdigest()
        path.write_bytes(data)
        return str(path)

    # ---- Here ----

    def answer(self, prepared: dict) -> tuple[str, str]:
        """(why it is wrong, what could not be checked); both empty where it is right."""
        wrong = prepared["wrong"]
        jobs = list(dict.fromkeys(prepared["jobs"]))  # equal where no size is ragged
        for path in jobs:
            wrong = wrong or self._ask("wrong", path)
        for path in jobs:
            pathlib.Path(path).unlink()
        return wrong, prepared["unchecked"]

    def measured(self, path: str, warmup: int, samples: int, cold: bool = False) -> tuple[list[float], int]:
        seconds, launches = self._ask("measured", path, warmup, samples, cold)
        return seconds, launches

    def _ask(self, what: str, *arguments):
        (reply,) = self.process.run([[what, *arguments]])
        if reply.fault:
            raise Lost(reply.fault)
        if why := reply.value.get("refused"):
            raise Refused(why)
        return reply.value["said"]


class Launcher:
    """The other process's part: what it loaded last stays."""

    def __init__(self):
        self.path, self.launching = "", None

    def __call__(self, request: list) -> dict:
        what, path, *arguments = request
        try:
            job = pickle.loads(pathlib.Path(path).read_bytes())
            if path != self.path:
                self.path, self.launching = path, Launching.of(job)
            if what == "wrong":
                return {"said": self.launching.wrong(job["contents"], job["expected"])}
            return {"said": self.launching.measured(*arguments)}
        except CompileError as failure:
            return {"refused": str(failure).strip()}
