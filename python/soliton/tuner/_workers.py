"""Processes that may die: what hangs, crashes, takes all memory or writes nonsense costs one candidate and a new process.

    with Workers(lambda request: request * 2, count=2, seconds=60) as workers:
        workers.run([1, 2])                   [Reply(value=2), Reply(value=4)], in the order of the requests

As soliton/tuner/Workers.h has them, but each is a copy of this process (fork): a kernel of Python is a function, and is found in no
program that begins anew. Requests and values are what JSON has. A copy can use no GPU that this process has spoken with, which
is CUDA's rule; so in the place of `answer` a command may stand, a program that begins anew and calls `serve`. `Here` answers in this process.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import selectors
import signal
import sys
import time
import warnings
from collections import deque
from dataclasses import dataclass
from typing import Any, Callable, NoReturn

# Beside what this process has mapped already.
MEMORY = 8 << 30
LONGEST_ANSWER = 1 << 20
# Between the end of a process's output and its own.
GRACE_SECONDS = 1.0
# What no program does to itself: the system did, or somebody.
KILLED = "ended by signal 9 "
# Names the program to a worker that begins anew.
PARENT = "SOLITON_TUNE_PARENT"

Answer = Callable[[Any], Any]


@dataclass
class Reply:
    """What a worker answered, or what happened instead: `hung for 60.0 s`, `ended by signal 11 (Segmentation fault)`, `raised …`."""

    value: Any = None
    fault: str = ""


class Here:
    """The same in this process, which faults end."""

    def __init__(self, answer: Answer):
        self.answer = answer

    def run(self, requests: list, found: Callable[[int, Reply], None] | None = None) -> list[Reply]:
        replies = []
        for number, request in enumerate(requests):
            replies.append(Reply(self.answer(request)))
            if found:
                found(number, replies[-1])
        return replies

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_) -> None:
        pass


class Workers:
    """So many copies of this process, or processes of a command, started when they are needed; all of them end with the `with`."""

    def __init__(self, answer: Answer | list[str], count: int = 1, seconds: float = 60, memory: int = MEMORY):
        self.answer, self.seconds, self.memory = answer, seconds, memory
        self.processes: list[_Process | None] = [None] * max(count, 1)
        self.started = 0

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_) -> None:
        for place, process in enumerate(self.processes):
            if process:
                process.end()
            self.processes[place] = None

    def run(self, requests: list, found: Callable[[int, Reply], None] | None = None) -> list[Reply]:
        """Which worker gets which request is nobody's matter. `found` is told of each reply as it comes."""
        replies: list[Reply | None] = [None] * len(requests)
        to_ask, was_killed = deque(range(len(requests))), set()
        working: dict[int, tuple[int, float]] = {}  # by the place of a process: a request, and until when
        while to_ask or working:
            for place in range(len(self.processes)):
                if to_ask and place not in working:
                    working[place] = to_ask.popleft(), time.monotonic() + self.seconds
                    self._process(place).ask(requests[working[place][0]])
            for place, (number, until) in self._ready(working):
                reply = self._take(place, until)
                if reply is None:
                    continue
                del working[place]
                if reply.fault.startswith(KILLED) and number not in was_killed:
                    was_killed.add(number)
                    to_ask.appendleft(number)
                    continue
                replies[number] = reply
                if found:
                    found(number, reply)
        return [reply for reply in replies if reply]

    def _process(self, place: int) -> _Process:
        process = self.processes[place]
        if process is None:
            others = [end for each in self.processes if each for end in (each.asked, each.answers)]
            process = self.processes[place] = _Process(self.answer, self.memory, others)
            self.started += 1
        return process

    def _ready(self, working: dict) -> list:
        """Who has written something, or has no time left."""
        with selectors.DefaultSelector() as selector:
            for place in working:
                selector.register(self._process(place).answers, selectors.EVENT_READ, place)
            left = min(until for _, until in working.values()) - time.monotonic()
            written = {key.data for key, _ in selector.select(max(left, 0))}
        return [(place, each) for place, each in working.items() if place in written or time.monotonic() >= each[1]]

    def _take(self, place: int, until: float) -> Reply | None:
        process = self._process(place)
        reply = process.take()
        if reply is None and time.monotonic() >= until:
            process.end()
            reply = Reply(fault=f"hung for {self.seconds:.1f} s")
        if not process.is_there:
            self.processes[place] = None
        return reply


class _Process:
    """A copy of this process, or one that begins anew, which answers requests, a line of JSON each."""

    def __init__(self, answer: Answer | list[str], memory: int, others: list[int]):
        """`others` are this process's ends of other copies' pipes, which are none of its business."""
        asks, self.asked = os.pipe()
        self.answers, answered = os.pipe()
        if callable(answer):
            self.id = _copy(answer, asks, answered, memory, [self.asked, self.answers, *others])
        else:
            self.id = _begin(answer, asks, answered)
        os.close(asks)
        os.close(answered)
        os.set_blocking(self.answers, False)
        self.text, self.is_there = b"", True

    def ask(self, request: Any) -> None:
        line, self.text = json.dumps(request).encode() + b"\n", b""
        try:
            while line:
                line = line[os.write(self.asked, line) :]
        except BrokenPipeError:
            pass  # it is told by the end of its output

    def take(self) -> Reply | None:
        """What it has answered, None if nothing yet. Who wrote anything else is ended."""
        try:
            while part := os.read(self.answers, 1 << 16):
                self.text += part
                if len(self.text) > LONGEST_ANSWER:
                    self.end()
                    return Reply(fault=f"wrote more than {LONGEST_ANSWER} bytes and no answer")
            return Reply(fault=self.end(GRACE_SECONDS))
        except BlockingIOError:
            pass
        line, end, more = self.text.partition(b"\n")
        if not end:
            return None
        try:
            found = json.loads(line)
            if more or set(found) not in ({"value"}, {"fault"}):
                raise ValueError
        except (ValueError, TypeError):
            self.end()
            return Reply(fault=f"wrote `{line[:60].decode(errors='replace')}`, which is no answer")
        return Reply(**found)

    def end(self, grace: float = 0) -> str:
        """Ends it and whom it started, once it was given so long to end by itself; how it ended."""
        self.is_there = False
        os.close(self.asked)
        os.close(self.answers)
        until = time.monotonic() + grace
        try:
            while (ended := os.waitpid(self.id, os.WNOHANG))[0] == 0 and time.monotonic() < until:
                time.sleep(0.005)
            if ended[0] == 0:
                _kill(self.id)
                ended = os.waitpid(self.id, 0)
        except ChildProcessError:
            return "ended, and the program asked the system not to say how"
        if os.WIFSIGNALED(ended[1]):
            return f"ended by signal {os.WTERMSIG(ended[1])} ({signal.strsignal(os.WTERMSIG(ended[1]))})"
        return f"exit code {os.WEXITSTATUS(ended[1])}"


def _copy(answer: Answer, asks: int, answered: int, memory: int, others: list[int]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # Other threads may hold a lock for good in a copy. Then it hangs, which costs its candidate and no more.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process == 0:
        _serve(answer, asks, answered, memory, others)
    return process


def _begin(command: list[str], asks: int, answered: int) -> int:
    """Its modules are found where ours are; of this process's files it has none but the two."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each), PARENT: str(os.getpid())}
    files = [(os.POSIX_SPAWN_DUP2, asks, 0), (os.POSIX_SPAWN_DUP2, answered, 1)]
    return os.posix_spawnp(command[0], command, environment, file_actions=files, setpgroup=0)


def serve(answer: Answer) -> NoReturn:
    """What a program does that was begun as a worker: requests are read from standard input. What others print is no answer."""
    _alone(0)
    if os.getppid() != int(os.environ.get(PARENT, os.getppid())):
        os._exit(1)  # it ended before it could take this one along
    answered = os.dup(1)
    os.dup2(2, 1)
    _serve(answer, 0, answered, 0, [])


def _kill(process: int) -> None:
    for kill in (os.killpg, os.kill):
        try:
            kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


def _serve(answer: Answer, asks: int, answered: int, memory: int, others: list[int]) -> NoReturn:
    """What a copy does instead of what this process was about to do; nothing of that may be ended twice, so it leaves at once."""
    code = 1
    try:
        for each in others:
            os.close(each)
        _alone(memory)
        with os.fdopen(asks, "rb") as requests:
            for line in requests:
                reply = json.dumps(_replied(answer, json.loads(line))).encode() + b"\n"
                while reply:
                    reply = reply[os.write(answered, reply) :]
        code = 0
    finally:
        os._exit(code)


def _replied(answer: Answer, request: Any) -> dict:
    try:
        return {"value": answer(request)}
    except Exception as error:  # the candidate's, whatever it is
        return {"fault": f"raised {type(error).__name__}: {str(error).strip()}"}


def _alone(memory: int) -> None:
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # The program that this is a copy of takes it along, however it ends.
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory:
        with open("/proc/self/statm") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        wanted = mapped + memory
        resource.setrlimit(resource.RLIMIT_AS, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))
