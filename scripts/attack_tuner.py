#!/usr/bin/env python3
"""Attacks the tuner: workers that misbehave, processes that are killed at any moment, a full disk, other numbers of workers.

    scripts/attack_tuner.py --soliton build/bin/soliton                                        a short run: `make test`
    scripts/attack_tuner.py --soliton build/bin/soliton --faults 1000 --kills 1000 --replays 50 --candidates 96       `make soak`

First a small space is compiled, run and timed on the emulator, all of it, and what came out is recorded. Then searches of it are
repeated with workers that answer from the recording (SOLITON_TUNE_RECORDED), which takes tenths of seconds:

  faults     so many candidates make their worker hang, crash, read out of bounds, take all memory, write nonsense, end, or find the
             disk full. The run must go on, record each, and find the best of the others at the cost that it has without faults. Every
             other run has a database that may not grow, as on a full disk: it must end with the same winner, and say what was not kept.
  kills      SIGKILL at random moments, of the tuner or of a worker of its, until so many have been sent; the tuner goes on with --resume. What it
             decides must be what a run decides that nobody disturbed, and a kill may lose no more than one candidate a worker: with
             one worker, one.
  replays    searches of so many seeds, by 1, 4 and 16 workers, must decide the same.

Before that one run with faults and one that is killed compile for themselves. Exits 1 where any of that does not hold.
"""

import argparse
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KINDS = ("hang", "crash", "memory", "nonsense", "out of bounds", "full disk", "end")  # by number, as TuneWorkers.cpp has them
FULL_DISK = KINDS.index("full disk")
STRATEGIES = ("evolution", "annealing", "hill_climbing", "model", "random")
PERCENT = 40
FILE_BYTES = 160 << 10  # what a database may have on a full disk: its tables, and some rows


def space(candidates: int) -> list[str]:
    """Some of 96 combinations, as many as asked for or a few more."""
    names = {"BLOCK_M": ["32", "64"], "schedule": ["none", "prefetch", "modulo"], "BLOCK_N": ["32", "64"], "BLOCK_K": ["16", "32"], "direct_copies": ["off", "on"], "raster": ["0", "4"]}
    words, count = [], 1
    for name, values in names.items():
        if count < candidates:
            words += ["--space", f"{name}={','.join(values)}"]
            count *= len(values)
    return words


def fault_of(hash: str, place: int) -> int | None:
    number = int(hash[place % 50 : place % 50 + 12], 16)
    return number // 100 % len(KINDS) if number % 100 < PERCENT else None


class Attack:
    def __init__(self, soliton: str, folder: Path, options: argparse.Namespace) -> None:
        self.soliton, self.folder, self.options, self.random = soliton, folder, options, random.Random(options.seed)
        self.space = space(options.candidates)
        self.wrong: list[str] = []
        self.counts = dict.fromkeys(["faults", "full_disks", "kills", "lost", "most_lost_by_a_kill", "replays"], 0)
        self.kinds = dict.fromkeys(KINDS, 0)

    # ---- Runs ---------------------------------------------------------------------------------------------------------

    def command(self, database: str, seed: int, *more: str, strategy: str = "evolution", budget: int = 1000, device: bool = True) -> list[str]:
        kernel = ["gemm", "--target", "gfx942", "--size", "M=128,N=128,K=128", *(["--device", "emulator"] if device else [])]
        return [self.soliton, "tune", *kernel, *self.space, "--moves", "0", "--budget", str(budget), "--seed", str(seed),
                "--strategy", strategy, "--database", str(self.folder / database), "--json", *more]  # fmt: skip

    def environment(self, **more: str) -> dict:
        """What runs leave for `auto` is for nobody."""
        return {**os.environ, "SOLITON_CACHE": "off", "SOLITON_CACHE_DIR": str(self.folder / "cache"), **more}

    def recorded(self, **more: str) -> dict:
        return self.environment(SOLITON_TUNE_RECORDED=str(self.folder / "recording.jsonl"), **more)

    def run(self, command: list[str], environment: dict, file_bytes: int = 0) -> tuple[dict, str]:
        """(what it printed, its warnings)."""

        def limit() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))

        done = subprocess.run(command, capture_output=True, text=True, env=environment, preexec_fn=limit if file_bytes else None)
        if done.returncode not in (0, 1):
            self.wrong.append(f"exit code {done.returncode}: {done.stderr[-300:]}")
            return {}, done.stderr
        return json.loads(done.stdout), done.stderr

    def decisions(self, database: str) -> list[tuple]:
        done = subprocess.run([self.soliton, "tune", "show", "--database", str(self.folder / database), "--json"], capture_output=True, text=True)
        return [(t["number"], t["hash"], t["cost_us"], t["refused_by"]) for t in json.loads(done.stdout)["trials"]]

    def record(self) -> None:
        """All of the space, timed on the emulator."""
        self.run(self.command("recording.db", 1, "--workers", "2", strategy="random"), self.environment())
        subprocess.run([self.soliton, "tune", "export", str(self.folder / "recording.jsonl"), "--database", str(self.folder / "recording.db")], check=True, capture_output=True)
        self.clean = {trial[1]: trial for trial in self.decisions("recording.db")}
        if len(self.clean) < 6 or all(trial[3] for trial in self.clean.values()):
            self.wrong.append(f"a recording of {len(self.clean)} candidates, expected more")

    # ---- Faults -------------------------------------------------------------------------------------------------------

    def faults(self, number: int, real: bool) -> None:
        """Random search proposes the same whatever comes of it, so that both runs try the same candidates."""
        name, disk_is_full = f"faults{number}.db", not real and number % 2 == 1
        # A busy machine takes seconds for what it does in a tenth of one otherwise.
        seconds = 6.0 if real else 10.0
        workers = 2 if real else 8
        command = self.command(name, number + 1, "--workers", str(workers), "--timeout", str(seconds), strategy="random", device=not real)
        self.place, which = number, f"{PERCENT}:{number}"
        environment = self.environment(SOLITON_TUNE_FAULTS=which) if real else self.recorded(SOLITON_TUNE_FAULTS=which)
        clean = self.clean
        if real:
            self.run(self.command("clean.db", number + 1, "--workers", "2", strategy="random", device=False), self.environment())
            clean = {trial[1]: trial for trial in self.decisions("clean.db")}
        begun = time.monotonic()
        said, warnings = self.run(command, environment, FILE_BYTES if disk_is_full else 0)
        took = time.monotonic() - begun
        if not said:
            return
        self.best_cost = said.get("best", {}).get("modelled_us")
        self.check_faults(said, clean)
        if took > sum(fault_of(hash, number) == 0 for hash in clean) * (seconds + 2) + 2 * len(clean) + 20:
            self.wrong.append(f"run {number} with faults took {took:.0f} s")
        if not disk_is_full:
            self.check_trials(name, clean, real)
        else:
            self.counts["full_disks"] += 1
            if "could not be kept" not in warnings and len(self.decisions(name)) < len(clean):
                self.wrong.append(f"run {number} on a full disk lost rows and said nothing")

    def check_faults(self, said: dict, clean: dict) -> None:
        injected = {hash: fault_of(hash, self.place) for hash in clean if fault_of(hash, self.place) is not None}
        self.counts["faults"] += len(injected)
        for kind in injected.values():
            self.kinds[KINDS[kind]] += 1
        if said["tried"] != len(clean):
            self.wrong.append(f"a run with faults tried {said['tried']} candidates, {len(clean)} without")
        fatal = [hash for hash, kind in injected.items() if kind != FULL_DISK]
        if said["rejected"].get("worker", 0) != len(fatal):
            self.wrong.append(f"{said['rejected'].get('worker', 0)} faults were recorded, {len(fatal)} expected")
        winner = said.get("best", {}).get("hash")
        if winner is None or winner in fatal or clean[winner][3]:
            self.wrong.append(f"{winner} won beside faults, which was refused without, or is a fault's")

    def check_trials(self, name: str, clean: dict, real: bool) -> None:
        """Each fault is its candidate's, and nobody else's; where times are the model's, the least of those that are left wins."""
        left = []
        for _, hash, cost, refused in self.decisions(name):
            kind = fault_of(hash, self.place)
            if (kind not in (None, FULL_DISK)) != (refused == "worker"):
                self.wrong.append(f"{hash[:12]} is refused by `{refused}`, and its fault is `{'none' if kind is None else KINDS[kind]}`")
            # A compiler that cannot write its files says so. What a device is not asked for hangs on who else is there.
            if real and (clean[hash][2] != cost if not refused else kind is None and not clean[hash][3]):
                self.wrong.append(f"{hash[:12]} costs {cost} beside faults, {clean[hash][2]} without")
            left += [(cost, hash)] if not refused else []
        if real and left and min(left)[0] != self.best_cost:
            self.wrong.append(f"the winner beside faults costs {self.best_cost}, the least is {min(left)[0]}")

    # ---- Kills --------------------------------------------------------------------------------------------------------

    def rows(self, database: str) -> tuple[int, int]:
        """(runs, results) that are in it; none where a process was killed before it was made."""
        try:
            file = sqlite3.connect(self.folder / database, timeout=20)
            return file.execute("SELECT count(*) FROM runs").fetchone()[0], file.execute("SELECT count(*) FROM results").fetchone()[0]
        except sqlite3.OperationalError:
            return 0, 0

    def lines(self, journal: Path) -> int:
        return journal.read_bytes().count(b"\n") if journal.exists() else 0

    def kill_one(self, process: subprocess.Popen) -> None:
        """The tuner, or one time of three a worker."""
        try:
            children = [int(word) for word in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
        except OSError:
            children = []
        victim = self.random.choice(children) if children and self.random.random() < 1 / 3 else process.pid
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.counts["kills"] += 1

    def kills(self, number: int, real: bool) -> None:
        name, workers = f"killed{number}.db", (1, 2, 4)[number % 3]
        journal = self.folder / f"killed{number}.journal"
        strategy, seed = STRATEGIES[number % len(STRATEGIES)], number + 1
        environment = self.environment(SOLITON_TUNE_JOURNAL=str(journal)) if real else self.recorded(SOLITON_TUNE_JOURNAL=str(journal))
        more = {"strategy": strategy, "device": not real}
        self.run(self.command(f"whole{number}.db", seed, "--workers", "4", **more), self.environment() if real else self.recorded())
        begun, lost, longest, most = False, 0, 1.2 if real else 0.4, 8 if real else 40
        for session in range(most + 1):
            command = self.command(name, seed, "--workers", str(workers), *(["--resume"] if begun else []), **more)
            process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
            while process.poll() is None and session < most:
                time.sleep(self.random.uniform(0.01, longest))
                if process.poll() is None:
                    self.kill_one(process)
                    break
            _, err = process.communicate()
            if process.returncode not in (0, 1, -signal.SIGKILL):
                self.wrong.append(f"exit code {process.returncode}: {err[-300:]}")
            runs, results = self.rows(name)
            begun = begun or runs > 0
            now = self.lines(journal) - results
            self.counts["most_lost_by_a_kill"] = max(self.counts["most_lost_by_a_kill"], now - lost)
            if now - lost > workers:
                self.wrong.append(f"a kill lost {now - lost} candidates of {workers} workers")
            lost = now
            if process.returncode in (0, 1):
                break
        self.counts["lost"] += lost
        if self.decisions(name) != self.decisions(f"whole{number}.db"):
            self.wrong.append(f"kills {number}: other decisions than those of a run that nobody disturbed")
        verify = subprocess.run([self.soliton, "tune", "verify", "--database", str(self.folder / name)], capture_output=True, text=True)
        if verify.returncode != 0:
            self.wrong.append(f"kills {number}: {verify.stdout[-300:]}")

    # ---- Workers ------------------------------------------------------------------------------------------------------

    def replays(self, number: int) -> None:
        seen = []
        for workers in (1, 4, 16):
            name = f"replay{number}-{workers}.db"
            more = ["--workers", str(workers), "--generation", "16"]
            said, _ = self.run(self.command(name, number + 1, *more, strategy=STRATEGIES[number % len(STRATEGIES)], budget=max(6, len(self.clean) * 2 // 3)), self.recorded())
            seen.append((said.get("best", {}).get("hash"), self.decisions(name)))
        self.counts["replays"] += 1
        if seen[0] != seen[1] or seen[0] != seen[2]:
            self.wrong.append(f"replay {number}: 1, 4 and 16 workers decide differently")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soliton", required=True)
    parser.add_argument("--candidates", type=int, default=12, help="of the space")
    parser.add_argument("--faults", type=int, default=8, help="at least so many, beside those of the run that compiles")
    parser.add_argument("--kills", type=int, default=8, help="at least so many, likewise")
    parser.add_argument("--replays", type=int, default=2, help="searches that 1, 4 and 16 workers repeat")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        attack = Attack(options.soliton, Path(folder), options)
        attack.clean = {}
        attack.faults(0, real=True)
        attack.kills(0, real=True)
        attack.record()
        for key, once in (("faults", lambda i: attack.faults(i, real=False)), ("kills", lambda i: attack.kills(i, real=False))):
            target, number = attack.counts[key] + getattr(options, key), 0
            while attack.counts[key] < target and len(attack.wrong) < 20:
                number += 1
                once(number)
        for number in range(options.replays):
            attack.replays(number)
    for text in attack.wrong:
        print(f"attack_tuner: error: {text}")
    summary = {**attack.counts, "kinds": attack.kinds, "wrong": len(attack.wrong)}
    print(json.dumps(summary) if options.json else ", ".join(f"{key} {value}" for key, value in summary.items()))
    return 1 if attack.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
