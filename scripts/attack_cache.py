#!/usr/bin/env python3
"""Attacks the cache of compiled kernels: many processes, kills, flipped bits, a full disk.

    scripts/attack_cache.py --soliton build/bin/soliton [--processes 8] [--runs 20] [--seed 1] [--json]
    scripts/attack_cache.py --python [--build build]            the same through `import soliton`

Processes compile and run a few kernels over one cache folder; those of Python (python/tests/cache_worker.py) several each. Meanwhile some are killed at any moment, bits of entries
flip, entries are cut, and half-written files are left. In the end the same happens on a disk of 64 KiB, which is full at
once (as root only: it has to be mounted). Each run compares its results with a reference, so a wrong kernel is seen.
Exits 1 where a result was wrong, a process crashed, or kernels were compiled more often than once for each fault.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import python_package

ROOT = Path(__file__).resolve().parent.parent
KERNELS = [["copy", "--size", "M=64,N=64"], ["copy", "--size", "M=70,N=33"], ["transpose", "--size", "M=64,N=64"],
           ["row_softmax", "--size", "M=16,N=64"], ["gemm", "--size", "M=64,N=64,K=64"],
           ["copy", "--size", "M=64,N=64", "--target", "gfx950"]]  # fmt: skip


class Command:
    """The command of C++: a process compiles one kernel, and says `ok` and `from_cache` about it."""

    kinds = len(KERNELS)
    pause_s = 0.01  # at least, between one fault and the next

    def __init__(self, soliton: str) -> None:
        self.soliton = soliton
        self.environment: dict[str, str] = {}

    def draw(self, order: random.Random) -> tuple[list[str], int]:
        """(a command line, how many kernels it compiles)."""
        return [self.soliton, "run", *order.choice(KERNELS), "--json"], 1

    def verify(self) -> list[str]:
        return [self.soliton, "cache", "verify", "--json"]


class Package:
    """The package of Python: a process compiles some kernels, one after another."""

    KERNELS = ["copy", "ragged", "copy950", "transpose", "softmax", "gemm"]
    EACH = 4
    kinds = len(KERNELS)
    pause_s = 0.1  # a process begins with half a second of imports, in which a kill attacks nothing

    def __init__(self, build: Path) -> None:
        self.python, site = python_package.set_up(build, torch=False)
        self.environment = {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}

    def draw(self, order: random.Random) -> tuple[list[str], int]:
        # None twice: what a process has compiled itself it does not look for again.
        names = order.sample(self.KERNELS, self.EACH)
        return [str(self.python), str(ROOT / "python" / "tests" / "cache_worker.py"), *names], len(names)

    def verify(self) -> list[str]:
        return [str(self.python), "-m", "soliton", "cache", "verify"]


class Attack:
    def __init__(self, user, folder: Path, seed: int) -> None:
        self.user, self.folder, self.random = user, folder, random.Random(seed)
        self.lock = threading.Lock()
        self.running: list[subprocess.Popen] = []
        self.killed: set[int] = set()
        self.counts = dict.fromkeys(["runs", "compiled", "found", "killed", "flipped", "cut"], 0)
        self.wrong: list[str] = []

    def count(self, what: str) -> None:
        with self.lock:
            self.counts[what] += 1

    def run_one(self, command: list[str], kernels: int) -> None:
        environment = {**os.environ, **self.user.environment, "SOLITON_CACHE_DIR": str(self.folder), "SOLITON_CACHE": "on"}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        with self.lock:
            self.running.append(process)
        out, err = process.communicate()
        with self.lock:
            self.running.remove(process)
            was_killed = process.pid in self.killed and process.returncode != 0
        self.count("runs")
        try:
            # A line that a kill has cut says nothing.
            reports = [json.loads(line) for line in out.splitlines() if not was_killed or line.endswith("}")]
            for report in reports:
                if not report["ok"]:
                    raise ValueError("wrong result")
                self.count("found" if report["from_cache"] else "compiled")
            if not was_killed and (process.returncode != 0 or len(reports) != kernels):
                raise ValueError(f"{len(reports)} of {kernels} kernels")
        except (ValueError, KeyError) as error:
            self.wrong.append(f"{' '.join(command[1:])}: exit code {process.returncode}, {error}: {out[-300:]}{err[-300:]}")

    def damage(self, file: Path) -> None:
        """In place, as a disk does it; the entry may be gone or replaced meanwhile."""
        try:
            with open(file, "r+b") as data:
                size = data.seek(0, os.SEEK_END)
                if self.random.random() < 0.3:
                    data.truncate(self.random.randrange(size))
                    return self.count("cut")
                at = data.seek(self.random.randrange(size))
                byte = data.read(1)[0]
                data.seek(at)
                data.write(bytes([byte ^ (1 << self.random.randrange(8))]))
                self.count("flipped")
        except (FileNotFoundError, IndexError, ValueError):
            pass

    def make_trouble(self, done: threading.Event) -> None:
        while not done.wait(self.user.pause_s * (1 + 5 * self.random.random())):
            if self.random.random() < 0.5:
                with self.lock:
                    victims = [p for p in self.running if p.pid not in self.killed]
                    if victims:
                        victim = self.random.choice(victims)
                        self.killed.add(victim.pid)
                        victim.kill()
                        self.counts["killed"] += 1
            elif entries := list(self.folder.glob("*.kernel")):
                self.damage(self.random.choice(entries))

    def storm(self, processes: int, runs: int, with_trouble: bool = True) -> None:
        done = threading.Event()
        trouble = threading.Thread(target=self.make_trouble, args=[done])
        if with_trouble:
            trouble.start()

        def work(number: int) -> None:
            order = random.Random(number)
            left = runs
            while left > 0:
                command, kernels = self.user.draw(order)
                self.run_one(command, kernels)
                left -= kernels

        workers = [threading.Thread(target=work, args=[n]) for n in range(processes)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        done.set()
        if with_trouble:
            trouble.join()


def verify(user, folder: Path) -> str:
    """Whether the cache is whole after it was looked through once."""
    environment = {**os.environ, **user.environment, "SOLITON_CACHE_DIR": str(folder), "SOLITON_CACHE": "on"}
    subprocess.run(user.verify(), env=environment, capture_output=True)
    again = subprocess.run(user.verify(), env=environment, capture_output=True, text=True)
    return "" if again.returncode == 0 else f"cache verify: {again.stdout}{again.stderr}"


def storm_on_full_disk(user, processes: int, seed: int) -> tuple[dict, list[str]]:
    with tempfile.TemporaryDirectory() as place:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "soliton-cache", place], capture_output=True)
        if mounted.returncode != 0:
            return {}, []
        try:
            folder = Path(place) / "cache"
            attack = Attack(user, folder, seed)
            attack.storm(processes, 6, with_trouble=False)
            return attack.counts, attack.wrong
        finally:
            subprocess.run(["umount", place], check=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soliton", default="build/bin/soliton")
    parser.add_argument("--python", action="store_true", help="attack it through the package of Python")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="where that is set up")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--runs", type=int, default=20, help="compilations that each process asks for")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    user = Package(options.build.resolve()) if options.python else Command(options.soliton)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        attack = Attack(user, Path(place) / "cache", options.seed)
        attack.storm(options.processes, options.runs)
        wrong = attack.wrong + [said for said in [verify(user, attack.folder)] if said]
    counts = attack.counts
    faults = user.kinds + counts["killed"] + counts["flipped"] + counts["cut"]
    if counts["compiled"] > faults:
        wrong.append(f"{counts['compiled']} compilations for {faults} first times and faults")
    if 2 * (counts["compiled"] + counts["found"]) < options.processes * options.runs:
        wrong.append(f"only {counts['compiled'] + counts['found']} kernels of {options.processes * options.runs} were looked at, so little was attacked")
    full, wrong_on_full = storm_on_full_disk(user, options.processes, options.seed)
    wrong += wrong_on_full
    seconds = time.monotonic() - begin
    if options.json:
        print(json.dumps({"ok": not wrong, "counts": counts, "full_disk": full, "wrong": wrong, "seconds": seconds}))
    else:
        print("\n".join(wrong), end="\n" if wrong else "")
        print(", ".join(f"{number} {what}" for what, number in counts.items()))
        print(f"full disk: {full['runs']} runs" if full else "full disk: skipped, only root can mount one")
        print(f"{'wrong' if wrong else 'right'}, {seconds:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
