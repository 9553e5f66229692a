"""Jobs on a GPU in processes of their own: a kernel that faults or never ends is one wrong job, and the others go on.

    problems = judge(jobs, arguments, WORKERS)       # {number of a job: what is wrong with it}; all others are right

`jobs(arguments)` is a function of the script that lists them, each a `Job`; every process lists them anew, so that nothing but
numbers travels. Who has no answer within LIMIT seconds is ended. With no workers jobs run in this process, where a sanitizer sees them.
"""
import collections
import multiprocessing
import multiprocessing.connection
import sys
import time
from dataclasses import dataclass

from launch import Compiler, Driver

LIMIT = 20
WORKERS = 6


@dataclass
class Job:
    label: str
    row: tuple
    """The line of the table that it counts in."""
    check: object
    """check(driver, compiler): what is wrong, or None."""


def driver_of_torch():
    import torch

    torch.manual_seed(1)
    torch.zeros(1, device="cuda")
    return Driver()


def problem_of(job, driver, compiler):
    try:
        return job.check(driver, compiler)
    except RuntimeError as error:
        return str(error).splitlines()[0]


def is_usable():
    import torch

    try:
        torch.cuda.synchronize()
        return True
    except RuntimeError:
        return False


def work(jobs, arguments, connection):
    """Answers numbers with problems, and whether it can go on: once the device has faulted, nothing in this process is judged any more."""
    listed, driver, compiler = jobs(arguments), driver_of_torch(), Compiler(arguments.soliton, arguments.images)
    connection.send((None, True))
    while True:
        problem = problem_of(listed[connection.recv()], driver, compiler)
        connection.send((problem, is_usable()))


class Worker:
    """A process and the job that it has; none before it has begun."""

    def __init__(self, context, jobs, arguments):
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(jobs, arguments, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.number, self.deadline = None, time.monotonic() + 120

    def take(self, number):
        self.number, self.deadline = number, time.monotonic() + LIMIT
        self.connection.send(number)

    def answer(self):
        """(what is wrong with its job, whether it takes another one)"""
        try:
            return self.connection.recv() if self.connection.poll() else (f"no answer within {LIMIT} s", False)
        except EOFError:
            return "its process ended", False

    def end(self):
        self.process.kill()
        self.process.join()
        self.connection.close()


def judge(jobs, arguments, workers):
    if workers == 0:
        driver, compiler = driver_of_torch(), Compiler(arguments.soliton, arguments.images)
        found = {number: problem_of(job, driver, compiler) for number, job in enumerate(jobs(arguments))}
        return {number: problem for number, problem in found.items() if problem}
    listed, context, problems = jobs(arguments), multiprocessing.get_context("spawn"), {}
    waiting = collections.deque(range(len(listed)))
    running = [Worker(context, jobs, arguments) for _ in range(min(workers, len(waiting)))]
    while running:
        heard = multiprocessing.connection.wait([worker.connection for worker in running], timeout=1)
        for worker in [each for each in running if each.connection in heard or time.monotonic() > each.deadline]:
            problem, goes_on = worker.answer()
            if problem and worker.number is None:
                raise RuntimeError("a process for checks did not begin: " + problem)
            if problem:
                problems[worker.number] = problem
                print(f"{listed[worker.number].label}: {problem}", file=sys.stderr, flush=True)
            if goes_on and waiting:
                worker.take(waiting.popleft())
                continue
            worker.end()
            running.remove(worker)
            if waiting:
                running.append(Worker(context, jobs, arguments))
    return problems


def report(jobs, problems, head):
    """Prints a table of right and wrong ones and what is wrong; whether all are right."""
    rows = {}
    for number, job in enumerate(jobs):
        rows.setdefault(job.row, [0, 0])[number in problems] += 1
    print("| " + " | ".join((*head, "right", "wrong")) + " |\n|" + " --- |" * (len(head) + 2))
    for row, (good, bad) in rows.items():
        print("| " + " | ".join((*row, str(good), str(bad))) + " |")
    for number in sorted(problems)[:40]:
        print(f"{jobs[number].label}: {problems[number]}")
    print(f"{len(jobs) - len(problems)} passed, {len(problems)} failed", flush=True)
    return not problems
