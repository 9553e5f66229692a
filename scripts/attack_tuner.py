#!/usr/bin/env python3
"""Attacks the tuner: workers that misbehave, processes that are killed at any moment, a full disk, other numbers of workers.

    scripts/attack_tuner.py --soliton build/bin/soliton                                        a short run: `make test`
    scripts/attack_tuner.py --soliton build/bin/soliton --faults 1000 --kills 1000 --replays 50 --candidates 96       `make soak`
    scripts/attack_tuner.py --soliton build/bin/soliton --kills 1000 --candidates 96 kills     one part alone

First a small space is compiled, run and timed on the emulator, all of it, and what came out is recorded. Then searches of it are
repeated with workers that answer from the recording (SOLITON_TUNE_RECORDED), which takes tenths of seconds:

  faults     so many candidates make their worker hang, crash, read out of bounds, take all memory, write nonsense, end, or find the
             disk full. The run must go on, record each, and decide what it decides where those candidates are refused and nothing
             misbehaves. Every other run has a database that may not grow, as on a full disk: it must end with the same winner, and
             say what was not kept.
  kills      SIGKILL at random moments, of the tuner or of a worker of its, until so many have been sent; the tuner goes on with --resume. What it
             decides must be what a run decides that nobody disturbed, and a kill may lose no more than one candidate a worker: with
             one worker, one.
  replays    searches of so many seeds, by 1, 4 and 16 workers, must decide the same.
  compiled   before that: one run with faults and one that is killed, which compile for themselves.

Runs go on side by side (--jobs): a worker that hangs costs nothing but time. What each is, hangs on its number alone, so that
--resume FILE leaves out those that it has. A line every few seconds says how far it is, one for each part what came of it. Exits 1
where any of that does not hold.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

KINDS = ("hang", "crash", "memory", "nonsense", "out of bounds", "full disk", "end")  # by number, as TuneWorkers.cpp has them
FULL_DISK = KINDS.index("full disk")
STRATEGIES = ("evolution", "annealing", "hill_climbing", "model", "random")
# By part, what is counted; `most_…` is the most of a round, others are sums.
OF_FAULTS = ("faults", *KINDS, "runs_on_a_full_disk", "runs_ended", "wrong_winners")
OF_KILLS = ("kills", "of_the_tuner", "of_a_worker", "runs_ended", "other_decisions", "lost", "most_lost_of_1", "most_lost_of_2", "most_lost_of_4")
PARTS = {
    "compiled": ("runs", *OF_FAULTS[:-2], *OF_KILLS, "wrong_winners"),
    "faults": ("runs", *OF_FAULTS),
    "kills": ("runs", *OF_KILLS),
    "replays": ("replays", "same_winner", "runs_ended"),
}
PERCENT = 40
REAL_CANDIDATES = 12  # of a run that compiles for itself
FILE_BLOCKS = 320  # of 512 bytes, what a database may have on a full disk: its tables, and some rows
MOST_WRONG = 20
PROGRESS_SECONDS = 5


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


def on_full_disk(command: list[str]) -> list[str]:
    """No file of it grows beyond FILE_BLOCKS, and a write says so instead of ending it."""
    return ["sh", "-c", f'trap "" XFSZ; ulimit -f {FILE_BLOCKS}; exec "$@"', "sh", *command]


class Attack:
    """What all rounds share, none of which changes it behind `record`."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.soliton, self.folder, self.seed = options.soliton, folder, options.seed
        self.space = space(options.candidates)
        self.clean: dict[str, tuple] = {}

    def command(self, database: str, seed: int, *more: str, strategy: str = "evolution", budget: int = 1000, device: bool = True) -> list[str]:
        kernel = ["gemm", "--target", "gfx942", "--size", "M=128,N=128,K=128", *(["--device", "emulator"] if device else [])]
        return [self.soliton, "tune", *kernel, *self.space, "--moves", "0", "--budget", str(budget), "--seed", str(seed),
                "--strategy", strategy, "--database", str(self.folder / database), "--json", *more]  # fmt: skip

    def environment(self, **more: str) -> dict:
        """What runs leave for `auto` is for nobody."""
        return {**os.environ, "SOLITON_CACHE": "off", "SOLITON_CACHE_DIR": str(self.folder / "cache"), **more}

    def recorded(self, recording: str = "recording.jsonl", **more: str) -> dict:
        return self.environment(SOLITON_TUNE_RECORDED=str(self.folder / recording), **more)

    def decisions(self, database: str) -> list[tuple]:
        done = subprocess.run([self.soliton, "tune", "show", "--database", str(self.folder / database), "--json"], capture_output=True, text=True)
        return [(t["number"], t["hash"], t["cost_us"], t["refused_by"]) for t in json.loads(done.stdout)["trials"]]

    def record(self) -> str:
        """All of the space, timed on the emulator; what is wrong with that."""
        subprocess.run(self.command("recording.db", 1, "--workers", "2", strategy="random"), check=True, capture_output=True, env=self.environment())
        subprocess.run([self.soliton, "tune", "export", str(self.folder / "recording.jsonl"), "--database", str(self.folder / "recording.db")], check=True, capture_output=True)
        self.clean = {trial[1]: trial for trial in self.decisions("recording.db")}
        if len(self.clean) < 6 or all(trial[3] for trial in self.clean.values()):
            return f"a recording of {len(self.clean)} candidates, expected more"
        return ""

    def record_refused(self, name: str, hashes: set[str]) -> None:
        """The recording, in which a worker's fault has refused these; times stay, by which others are guessed."""
        rows = [json.loads(line) for line in (self.folder / "recording.jsonl").read_text().splitlines()]
        for row in rows:
            if row["stage"] == "model" and hashlib.sha256(row["candidate"].encode()).hexdigest() in hashes:
                row["result"]["refused_by"] = "worker"
        (self.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


class Round:
    """Some runs that belong together, what they came to, and what was wrong with it."""

    def __init__(self, attack: Attack, part: str, number: int) -> None:
        self.attack, self.part, self.number, self.real = attack, part, number, part == "compiled"
        self.random = random.Random(f"{attack.seed} {part} {number}")
        self.counts: Counter = Counter()
        self.wrong: list[str] = []

    def act(self) -> "Round":
        act = {"faults": self.faults, "kills": self.kills, "replays": self.replays, "compiled": (self.kills, self.faults)[self.number % 2]}
        try:
            act[self.part]()
        except Exception as error:  # whatever went wrong is the finding
            self.wrong.append(f"{type(error).__name__}: {error}")
        self.wrong = [f"{self.part} {self.number}: {text}" for text in self.wrong]
        for path in self.attack.folder.glob(f"{self.part}{self.number}-*"):
            path.unlink()
        return self

    def name(self, of: str) -> str:
        return f"{self.part}{self.number}-{of}"

    def run(self, command: list[str], environment: dict) -> tuple[dict, str]:
        """(what it printed, its warnings)."""
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode not in (0, 1):
            self.counts["runs_ended"] += 1
            self.wrong.append(f"exit code {done.returncode}: {done.stderr[-300:]}")
            return {}, done.stderr
        return json.loads(done.stdout), done.stderr

    # ---- Faults -------------------------------------------------------------------------------------------------------

    def faults(self) -> None:
        """Random search proposes the same whatever comes of it, so that all runs try the same candidates."""
        name, disk_is_full = self.name("faults.db"), not self.real and self.number % 2 == 1
        # A busy machine takes seconds for what it does in a tenth of one otherwise.
        seconds, workers, budget = (6.0, 2, REAL_CANDIDATES) if self.real else (10.0, 8, 1000)
        more = {"strategy": "random", "device": not self.real, "budget": budget}
        command = self.attack.command(name, self.number + 1, "--workers", str(workers), "--timeout", str(seconds), **more)
        which = f"{PERCENT}:{self.number}"
        environment = self.attack.environment(SOLITON_TUNE_FAULTS=which) if self.real else self.attack.recorded(SOLITON_TUNE_FAULTS=which)
        wanted, clean = self.run_without(more)
        begun = time.monotonic()
        said, warnings = self.run(on_full_disk(command) if disk_is_full else command, environment)
        took = time.monotonic() - begun
        self.counts["runs"] += 1
        if not said or not wanted:
            return
        self.check_faults(said, wanted, clean)
        if took > sum(fault_of(hash, self.number) == 0 for hash in clean) * (seconds + 2) + 2 * len(clean) + 20:
            self.wrong.append(f"a run with faults took {took:.0f} s")
        if not disk_is_full:
            return self.check_trials(name, clean, said)
        self.counts["runs_on_a_full_disk"] += 1
        if "could not be kept" not in warnings and len(self.attack.decisions(name)) < len(clean):
            self.wrong.append("a run on a full disk lost rows and said nothing")

    def run_without(self, more: dict) -> tuple[dict, dict]:
        """(what a run says in which nothing misbehaves, its trials): where workers answer from a recording, one that refuses who would."""
        name, recording = self.name("clean.db"), self.name("refused.jsonl")
        if not self.real:
            self.attack.record_refused(recording, {hash for hash in self.attack.clean if fault_of(hash, self.number) not in (None, FULL_DISK)})
        environment = self.attack.environment() if self.real else self.attack.recorded(recording)
        said, _ = self.run(self.attack.command(name, self.number + 1, "--workers", "2", **more), environment)
        return said, {trial[1]: trial for trial in self.attack.decisions(name)}

    def check_faults(self, said: dict, wanted: dict, clean: dict) -> None:
        injected = {hash: fault_of(hash, self.number) for hash in clean if fault_of(hash, self.number) is not None}
        self.counts["faults"] += len(injected)
        self.counts.update(KINDS[kind] for kind in injected.values())
        if said["tried"] != len(clean):
            self.wrong.append(f"a run with faults tried {said['tried']} candidates, {len(clean)} without")
        fatal = [hash for hash, kind in injected.items() if kind != FULL_DISK]
        if said["rejected"].get("worker", 0) != len(fatal):
            self.wrong.append(f"{said['rejected'].get('worker', 0)} faults were recorded, {len(fatal)} expected")
        winner, other = said.get("best", {}), wanted.get("best", {})
        is_wrong = winner.get("hash") is None or winner["hash"] in fatal or bool(clean[winner["hash"]][3])
        if not self.real:
            is_wrong = is_wrong or any(winner.get(key) != other.get(key) for key in ("hash", "measured_us", "modelled_us"))
        if is_wrong:
            self.counts["wrong_winners"] += 1
            self.wrong.append(f"{winner.get('hash')} won beside faults, {other.get('hash')} without")

    def check_trials(self, name: str, clean: dict, said: dict) -> None:
        """Each fault is its candidate's, and nobody else's; where times are the model's, the least of those that are left wins."""
        trials, left = self.attack.decisions(name), []
        for _, hash, cost, refused in trials:
            kind = fault_of(hash, self.number)
            if (kind not in (None, FULL_DISK)) != (refused == "worker"):
                self.wrong.append(f"{hash[:12]} is refused by `{refused}`, and its fault is `{'none' if kind is None else KINDS[kind]}`")
            # A compiler that cannot write its files says so. What a device is not asked for hangs on who else is there.
            if self.real and (clean[hash][2] != cost if not refused else kind is None and not clean[hash][3]):
                self.wrong.append(f"{hash[:12]} costs {cost} beside faults, {clean[hash][2]} without")
            left += [(cost, hash)] if not refused else []
        best = said.get("best", {}).get("modelled_us")
        if self.real and left and min(left)[0] != best:
            self.wrong.append(f"the winner beside faults costs {best}, the least is {min(left)[0]}")
        if not self.real and trials != list(clean.values()):
            self.wrong.append("a run with faults decides otherwise than one in which their candidates are refused")

    # ---- Kills --------------------------------------------------------------------------------------------------------

    def rows(self, database: str) -> tuple[int, int]:
        """(runs, results) that are in it, none where a process was killed before it was made. In a copy: who opens it, mends it."""
        copy = self.attack.folder / f"{database}.copy"
        for end in ("", "-wal"):
            Path(f"{copy}{end}").unlink(missing_ok=True)
            if (path := self.attack.folder / f"{database}{end}").exists():
                shutil.copyfile(path, f"{copy}{end}")
        file = sqlite3.connect(copy, timeout=20)
        try:
            return file.execute("SELECT count(*) FROM runs").fetchone()[0], file.execute("SELECT count(*) FROM results").fetchone()[0]
        except sqlite3.OperationalError:
            return 0, 0
        finally:
            file.close()

    def lines(self, journal: Path) -> int:
        return journal.read_bytes().count(b"\n") if journal.exists() else 0

    def kill_one(self, tuner: int) -> str:
        """The tuner, or one time of three a worker. Nothing where it had ended: another process may have its number."""
        try:
            lists = [path.read_text() for path in Path(f"/proc/{tuner}/task").glob("*/children")]
            children = [int(word) for text in lists for word in text.split()]
            victim = self.random.choice(children) if children and self.random.random() < 1 / 3 else tuner
            handle = os.pidfd_open(victim)
            try:
                state, parent = Path(f"/proc/{victim}/stat").read_text().rpartition(")")[2].split()[:2]
                if state in "ZX" or (victim != tuner and int(parent) != tuner):
                    return ""
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)
        except OSError:
            return ""
        return "of_the_tuner" if victim == tuner else "of_a_worker"

    def kills(self) -> None:
        name, whole, workers = self.name("killed.db"), self.name("whole.db"), (1, 2, 4)[self.number % 3]
        journal = self.attack.folder / self.name("journal")
        seed, more = self.number + 1, {"strategy": STRATEGIES[self.number % len(STRATEGIES)], "device": not self.real, "budget": REAL_CANDIDATES if self.real else 1000}
        environment = self.attack.environment if self.real else self.attack.recorded
        begun = time.monotonic()
        self.run(self.attack.command(whole, seed, "--workers", "4", **more), environment())
        longest = 0.8 * (time.monotonic() - begun)  # a busy machine takes longer, and kills are to come anywhere
        self.counts["runs"] += 1
        has_begun, lost, most = False, 0, 8 if self.real else 40
        for session in range(most + 1):
            command = self.attack.command(name, seed, "--workers", str(workers), *(["--resume"] if has_begun else []), **more)
            code = self.session(command, environment(SOLITON_TUNE_JOURNAL=str(journal)), longest if session < most else 0)
            runs, results = self.rows(name)
            has_begun = has_begun or runs > 0
            now = self.lines(journal) - results
            key = f"most_lost_of_{workers}"
            self.counts[key] = max(self.counts[key], now - lost)
            if now - lost > workers:
                self.wrong.append(f"a kill lost {now - lost} candidates of {workers} workers")
            lost = now
            if code in (0, 1) and (self.counts["kills"] or not self.real):
                break
            if code in (0, 1):  # nobody was killed in time: once more, from the beginning
                name, has_begun, lost = self.name(f"killed{session}.db"), False, 0
                journal.unlink()
        self.counts["lost"] += lost
        if self.attack.decisions(name) != self.attack.decisions(whole):
            self.counts["other_decisions"] += 1
            self.wrong.append("other decisions than those of a run that nobody disturbed")
        verify = subprocess.run([self.attack.soliton, "tune", "verify", "--database", str(self.attack.folder / name)], capture_output=True, text=True)
        if verify.returncode != 0:
            self.wrong.append(verify.stdout[-300:])

    def session(self, command: list[str], environment: dict, longest: float) -> int:
        """The exit code of a run of which somebody is killed within so many seconds, or nobody."""
        process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        killed = ""
        if longest > 0:
            time.sleep(self.random.uniform(0.01, longest))
            killed = self.kill_one(process.pid) if process.poll() is None else ""
        # Workers have its standard error: this is the end of all of them.
        _, err = process.communicate()
        if process.returncode not in (0, 1, -signal.SIGKILL):
            self.counts["runs_ended"] += 1
            self.wrong.append(f"exit code {process.returncode}: {err[-300:]}")
        if killed == "of_a_worker" or process.returncode == -signal.SIGKILL:
            self.counts.update(["kills", killed])
        return process.returncode

    # ---- Workers ------------------------------------------------------------------------------------------------------

    def replays(self) -> None:
        seen = []
        for workers in (1, 4, 16):
            name = self.name(f"{workers}.db")
            more = {"strategy": STRATEGIES[self.number % len(STRATEGIES)], "budget": max(6, len(self.attack.clean) * 2 // 3)}
            said, _ = self.run(self.attack.command(name, self.number + 1, "--workers", str(workers), "--generation", "16", **more), self.attack.recorded())
            seen.append((said.get("best", {}).get("hash"), self.attack.decisions(name)))
        self.counts["replays"] += 1
        self.counts["same_winner"] += seen[0][0] is not None and seen[0][0] == seen[1][0] == seen[2][0]
        if seen[0] != seen[1] or seen[0] != seen[2]:
            self.wrong.append("1, 4 and 16 workers decide differently")


# ---- Rounds side by side -------------------------------------------------------------------------------------------------


class Kept:
    """Rounds by part and number: those that a file has from before, and those that were made since."""

    def __init__(self, path: Path | None, what: dict) -> None:
        self.path, self.rounds = path, {}
        lines = path.read_text().splitlines() if path and path.exists() else []
        if lines and json.loads(lines[0]) == what:
            whole = [line for line in lines[1:] if line.endswith("}")]  # a line that was cut off is no round
            self.rounds = {(row["part"], row["number"]): row for row in map(json.loads, whole)}
            path.write_text("\n".join([lines[0], *whole]) + "\n")
        elif path:
            path.write_text(json.dumps(what) + "\n")

    def add(self, round: Round) -> None:
        row = {"part": round.part, "number": round.number, "counts": dict(round.counts), "wrong": round.wrong}
        self.rounds[round.part, round.number] = row
        if self.path:
            with self.path.open("a") as file:
                file.write(json.dumps(row) + "\n")

    def sum(self, part: str) -> dict:
        total = dict.fromkeys(PARTS[part], 0)
        for row in (row for (of, _), row in self.rounds.items() if of == part):
            for key, count in row["counts"].items():
                total[key] = max(total[key], count) if key.startswith("most") else total[key] + count
        return {**total, "wrong": sum(len(row["wrong"]) for (of, _), row in self.rounds.items() if of == part)}


def planned(attack: Attack, part: str, number: int) -> int:
    """How much of what a part counts a round brings; of kills it is not known before, and one in general."""
    return sum(fault_of(hash, number) is not None for hash in attack.clean) if part == "faults" else 1


def attack_part(attack: Attack, part: str, target: int, jobs: int, kept: Kept) -> dict:
    """Rounds until there are as many faults, kills or replays as asked for; what came of them."""
    key = "runs" if part == "compiled" else part
    begun = said = time.monotonic()
    at_first, number, running = kept.sum(part)[key], 0, dict[Future, int]()
    with ThreadPoolExecutor(jobs) as pool:
        while True:
            done = kept.sum(part)
            while done["wrong"] < MOST_WRONG and len(running) < jobs and done[key] + sum(running.values()) < target:
                number += 1
                if (part, number) not in kept.rounds:
                    running[pool.submit(Round(attack, part, number).act)] = planned(attack, part, number)
            if not running:
                return {**done, "seconds": round(time.monotonic() - begun, 1)}
            for future in wait(running, timeout=1, return_when=FIRST_COMPLETED).done:
                del running[future]
                kept.add(future.result())
                for text in future.result().wrong:
                    print(f"attack_tuner: error: {text}", flush=True)
            if time.monotonic() - said >= PROGRESS_SECONDS:
                said, now = time.monotonic(), kept.sum(part)
                rate = (now[key] - at_first) / (said - begun)
                left = f"about {max(0, target - now[key]) / rate:.0f} s left" if rate else "time left not known yet"
                print(f"{part}: {now[key]} of {target} {key}, {now['wrong']} wrong, {len(running)} rounds under way, {said - begun:.0f} s, {left}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all of them where none is named")
    parser.add_argument("--soliton", required=True)
    parser.add_argument("--candidates", type=int, default=12, help="of the space")
    parser.add_argument("--faults", type=int, default=16, help="at least so many, beside those of the run that compiles")
    parser.add_argument("--kills", type=int, default=8, help="at least so many, likewise")
    parser.add_argument("--replays", type=int, default=2, help="searches that 1, 4 and 16 workers repeat")
    parser.add_argument("--jobs", type=int, default=8, help="runs with faults at once; of others half as many")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="go on behind the rounds that are kept there, and keep these")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"found {', '.join(sorted(unknown))}, expected some of {', '.join(PARTS)}")
    what = {"soliton": hashlib.sha256(Path(options.soliton).read_bytes()).hexdigest(), "candidates": options.candidates, "seed": options.seed}
    kept, summary = Kept(options.resume, what), {}
    with tempfile.TemporaryDirectory() as folder:
        attack = Attack(options, Path(folder))
        if wrong := attack.record():
            print(f"attack_tuner: error: {wrong}")
            return 1
        for part in (part for part in PARTS if part in (options.parts or PARTS)):
            jobs = options.jobs if part == "faults" else max(1, options.jobs // 2)
            summary[part] = attack_part(attack, part, getattr(options, part, 2), jobs, kept)
            if not options.json:
                print(f"{part}: " + ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in summary[part].items()), flush=True)
    if options.json:
        print(json.dumps(summary))
    return 1 if any(part["wrong"] for part in summary.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
