#!/usr/bin/env python3
"""Attacks the tuner: workers that hang, crash, take all memory and write nonsense; runs that are killed at any moment.

    scripts/attack_tuner.py --soliton build/bin/soliton [--fault-runs 1] [--kills 1] [--replays 1] [--json]

Three attacks on `soliton tune`. Faults: a share of the candidates makes its worker misbehave; each of them must be
recorded, and the winner must be the one that a run without faults finds among the others. Kills: a run is ended by SIGKILL
at a random moment and goes on with --resume until it is done; its decisions must be those of a run that nobody disturbed,
and no candidate is judged twice but the ones in flight. Workers: 1, 4 and 16 of them must decide the same. Exits 1 where
any of that does not hold.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPACE = ["--space", "BLOCK_M=32,64,128,256", "--space", "BLOCK_N=32,64,128,256", "--space", "BLOCK_K=16,32,64",
         "--space", "schedule=none,prefetch,modulo"]  # fmt: skip


class Attack:
    def __init__(self, soliton: str, folder: Path, seed: int) -> None:
        self.soliton, self.folder, self.random = soliton, folder, random.Random(seed)
        self.wrong: list[str] = []
        self.counts = dict.fromkeys(["faults", "kills", "replays"], 0)

    def command(self, database: str, budget: int, seed: int, *more: str, strategy: str = "evolution", rows: int = 512) -> list[str]:
        kernel = ["gemm", "--target", "gfx942", "--size", f"M={rows},N=512,K=512"]
        return [self.soliton, "tune", *kernel, *SPACE, "--moves", "0", "--budget", str(budget), "--seed", str(seed),
                "--strategy", strategy, "--database", str(self.folder / database), "--json", *more]  # fmt: skip

    def environment(self) -> dict:
        """What runs leave for `auto` is for nobody."""
        return {**os.environ, "SOLITON_CACHE": "off", "SOLITON_CACHE_DIR": str(self.folder / "cache")}

    def run(self, command: list[str], faults: int = 0) -> dict:
        environment = self.environment()
        if faults:
            environment["SOLITON_TUNE_FAULTS"] = str(faults)
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode not in (0, 1):
            self.wrong.append(f"exit code {done.returncode}: {done.stderr[-300:]}")
            return {}
        return json.loads(done.stdout)

    def begun(self, database: str) -> list:
        """Runs that there are; a process that was killed at once has begun none."""
        command = [self.soliton, "tune", "list", "--database", str(self.folder / database), "--json"]
        return json.loads(subprocess.run(command, capture_output=True, text=True).stdout)["runs"]

    def decisions(self, database: str) -> list[tuple]:
        done = subprocess.run(
            [self.soliton, "tune", "show", "--database", str(self.folder / database), "--json"],
            capture_output=True, text=True)  # fmt: skip
        return [(t["number"], t["hash"], t["cost_us"], t["refused_by"]) for t in json.loads(done.stdout)["trials"]]

    def faults(self, round: int, budget: int) -> None:
        """Random search proposes the same whatever comes of it, so that both runs try the same candidates."""
        def command(name: str) -> list[str]:
            # A busy machine takes seconds for what it does in a tenth of one otherwise.
            more = ["--workers", "2", "--timeout", "6" if name.startswith("faults") else "120"]
            return self.command(name, budget, round + 1, *more, strategy="random", rows=512 + 64 * round)

        clean_name, faulty_name = f"clean{round}.db", f"faults{round}.db"
        self.run(command(clean_name))
        clean = {t[1]: t for t in self.decisions(clean_name)}
        start = time.monotonic()
        self.run(command(faulty_name), faults=40)
        seconds = time.monotonic() - start
        faulty = self.decisions(faulty_name)
        died = [t for t in faulty if t[3] == "worker"]
        self.counts["faults"] += len(died)
        if [t[1] for t in faulty] != list(clean):
            self.wrong.append("a run with faults tried other candidates than one without")
        if not died:
            self.wrong.append("no fault was recorded")
        alive = [t for t in faulty if t[3] != "worker"]
        for trial in alive:
            if clean[trial[1]][2] != trial[2]:
                self.wrong.append(f"{trial[1][:12]} costs {trial[2]} beside faults, {clean[trial[1]][2]} without")
        if seconds > len(died) * (6 + 2) + 8 * budget:
            self.wrong.append(f"{len(died)} faults took {seconds:.0f} s")

    def kills(self, number: int, budget: int) -> None:
        name = f"killed{number}.db"
        self.run(self.command("whole.db", budget, 7, "--workers", "2")) if number == 0 else None
        whole = self.decisions("whole.db")
        killed, begun = 0, False
        while True:
            process = subprocess.Popen(
                self.command(name, budget, 7, "--workers", "2", *(["--resume"] if begun else [])), text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment())  # fmt: skip
            try:
                # In the end it may go on undisturbed.
                _, err = process.communicate(timeout=self.random.uniform(0.05, 1.2) if killed < 6 else None)
                if process.returncode not in (0, 1):
                    self.wrong.append(f"exit code {process.returncode}: {err[-300:]}")
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                killed += 1
                self.counts["kills"] += 1
                begun = begun or bool(self.begun(name))
        if self.decisions(name) != whole:
            self.wrong.append(f"{killed} kills: other decisions than those of a run that nobody disturbed")
        verify = subprocess.run([self.soliton, "tune", "verify", "--database", str(self.folder / name)],
                                capture_output=True, text=True)  # fmt: skip
        if verify.returncode != 0:
            self.wrong.append(f"{killed} kills: {verify.stdout[-300:]}")

    def replays(self, seed: int, budget: int) -> None:
        seen = []
        for workers in (1, 4, 16):
            name = f"workers{seed}-{workers}.db"
            self.run(self.command(name, budget, seed, "--workers", str(workers)))
            seen.append(self.decisions(name))
        self.counts["replays"] += 1
        if seen[0] != seen[1] or seen[0] != seen[2]:
            self.wrong.append(f"seed {seed}: 1, 4 and 16 workers decide differently")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soliton", required=True)
    parser.add_argument("--faults", type=int, default=12, help="candidates of the run with faults")
    parser.add_argument("--fault-runs", type=int, default=1, help="such runs, each of another size")
    parser.add_argument("--kills", type=int, default=1, help="runs that are killed until they are done")
    parser.add_argument("--replays", type=int, default=1, help="seeds that 1, 4 and 16 workers search")
    parser.add_argument("--budget", type=int, default=12, help="candidates of each other run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        attack = Attack(options.soliton, Path(folder), options.seed)
        for number in range(options.fault_runs):
            attack.faults(number, options.faults)
        for number in range(options.kills):
            attack.kills(number, options.budget)
        for seed in range(options.replays):
            attack.replays(seed + 1, options.budget)
    for text in attack.wrong:
        print(f"attack_tuner: error: {text}")
    summary = {**attack.counts, "wrong": len(attack.wrong)}
    print(json.dumps(summary) if options.json else ", ".join(f"{key} {value}" for key, value in summary.items()))
    return 1 if attack.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
