#!/usr/bin/env python3
"""Runs everything that can be checked on this machine and counts it.

    scripts/run_tests.py                     all of it
    scripts/run_tests.py --only lit          the suite of this name, or those that have this in their names
    scripts/run_tests.py --only E2e,links    several
    scripts/run_tests.py --list              the names
    scripts/run_tests.py --torch             the tests of Python once more, with torch, which is 3 GB (make test-torch)
    scripts/run_tests.py --ray               the tuner on a cluster of Ray (make test-ray)

Three kinds: GoogleTest binaries (build/bin/*Tests), tests on program text (lit, test/), and checks, each a command that
exits 0 if all is well, 77 with a reason if it cannot run here, and anything else if not. The last line is
`N passed, N failed, N skipped`; exits 1 if something failed or nothing ran, but for torch and Ray where they can't be installed.
"""

import argparse
import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SKIP_CODE = 77
OUTPUT_LINES = 60


@dataclass
class Result:
    """What one suite came to. `skips` are (name, reason), `failures` names; `output` is shown if something failed."""

    passed: int = 0
    failures: list[str] = field(default_factory=list)
    skips: list[tuple[str, str]] = field(default_factory=list)
    output: str = ""

    @property
    def count(self) -> int:
        return self.passed + len(self.failures) + len(self.skips)


@dataclass
class Suite:
    """A name and what to run; `parse` turns (exit code, output) into a Result."""

    name: str
    command: list[str]
    parse: object
    timeout: int = 900
    environment: dict[str, str] = field(default_factory=dict)
    alone: bool = False  # It measures time, so nothing else runs beside it.


def scratch_folder(prefix: str) -> str:
    """A folder that is gone when this process ends."""
    folder = tempfile.mkdtemp(prefix=prefix)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


# ---- GoogleTest ------------------------------------------------------------------------------------------------------


def parse_gtest(code: int, output: str) -> Result:
    """Counts from the test's own lines, so that a crash in the middle still shows what had passed."""
    result = Result(output=output)
    running, started = "", 0
    lines = output.splitlines()
    for index, line in enumerate(lines):
        match = re.match(r"\[\s*(RUN|OK|FAILED|SKIPPED)\s*\] ([^\s,]+)(?:.*\(\d+ ms\))?", line)
        if not match:
            continue
        kind, name = match.groups()
        if kind == "RUN":
            running, started = name, index
        elif name != running:
            continue  # The summary at the end repeats the names.
        else:
            running = ""
            if kind == "OK":
                result.passed += 1
            elif kind == "FAILED":
                result.failures.append(name)
            else:
                result.skips.append((name, gtest_skip_reason(lines[started + 1 : index])))
    if running:
        result.failures.append(f"{running} (ended the process with code {code})")
    elif code != 0 and not result.failures:
        result.failures.append(f"exit code {code} after the last test")
    elif result.count == 0:
        result.failures.append("no test ran")
    return result


def gtest_skip_reason(lines: list[str]) -> str:
    """The text that the test gave to GTEST_SKIP()."""
    said = [line.strip() for line in lines if line.strip() and not re.search(r":\d+: Skipped$", line)]
    return " ".join(said) or "no reason given"


# Processor seconds of those that take more than a few, so that the longest begin first and two processors end together,
# and into how many parts the longest are cut.
SECONDS = {
    "SolitonE2eTests": 435,
    "tidy": 80,
    "op-types": 75,
    "tutorials": 70,
    "python": 70,
    "generated": 65,
    "SolitonUserTests": 55,
    "SolitonWaveGroupTests": 55,
    "tutorial-schedules": 25,
    "language": 20,
    "coming-from": 20,
    "lit": 20,
    "installed-package": 15,
    "cache-attack-python": 12,
    "SolitonScheduleTests": 10,
    "tuning": 8,
    "SolitonBackendTests": 9,
    "SolitonAttackTests": 8,
    "SolitonCliFuzzer": 4,
}
# Small ones at the end, so that no processor waits long for the other.
PARTS = {"SolitonE2eTests": 12, "SolitonUserTests": 4}


def base_name(name: str) -> str:
    """`SolitonE2eTests 1/12` without its part."""
    return name.split(" ")[0]


def longest_first(suites: list["Suite"]) -> list["Suite"]:
    return sorted(suites, key=lambda suite: -SECONDS.get(base_name(suite.name), 0) / PARTS.get(base_name(suite.name), 1))


def select(suites: list["Suite"], wanted: str) -> list["Suite"]:
    """Those named in the list `wanted`: by their whole name if there is one, otherwise by a part of it.

    The beginning that all test binaries share is no part: `lit` means the suite of that name, not every `Soliton…`.
    """

    def matching(text: str) -> list["Suite"]:
        whole = [suite for suite in suites if text in (suite.name, base_name(suite.name))]
        parts = [suite for suite in suites if text.lower() in suite.name.removeprefix("Soliton").lower()]
        return whole or parts

    chosen = [suite for text in wanted.split(",") for suite in matching(text.strip())]
    return [suite for suite in suites if suite in chosen]


def gtest_suites(build: Path) -> list[Suite]:
    # The sanitizer build links libraries that poison memory on their own; see docs/debugging.md.
    # Tests look at compilations, not at what was kept of earlier ones.
    environment = {"ASAN_OPTIONS": "allow_user_poisoning=0", "GTEST_COLOR": "no", "SOLITON_CACHE": "off", "SOLITON_TUNED": "off"}
    # In which the parts of one binary tell each other what need not be done twice.
    environment["SOLITON_TEST_FOLDER"] = scratch_folder("soliton-tests-")
    suites = []
    for binary in sorted(p for p in (build / "bin").glob("*Tests") if os.access(p, os.X_OK)):
        parts = PARTS.get(binary.name, 1)
        for part in range(parts):
            name = binary.name if parts == 1 else f"{binary.name} {part + 1}/{parts}"
            shard = {"GTEST_TOTAL_SHARDS": str(parts), "GTEST_SHARD_INDEX": str(part)}
            suites.append(Suite(name, [str(binary)], parse_gtest, environment={**environment, **shard}))
    return suites


# ---- lit -------------------------------------------------------------------------------------------------------------

LIT_PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
LIT_SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def lit_suites(build: Path) -> list[Suite]:
    if not (build / "test" / "lit.site.cfg.py").exists():
        return []
    lit = shutil.which("lit-22") or shutil.which("lit") or "lit-22"
    report = Path(tempfile.mkdtemp(prefix="soliton-lit-")) / "report.json"

    def parse(code: int, output: str) -> Result:
        result = Result(output=output)
        tests = json.loads(report.read_text())["tests"] if report.exists() else []
        shutil.rmtree(report.parent, ignore_errors=True)
        for test in tests:
            name = test["name"]
            if test["code"] in LIT_PASSED:
                result.passed += 1
            elif test["code"] in LIT_SKIPPED:
                result.skips.append((name, test.get("output", "").strip() or test["code"].lower()))
            else:
                result.failures.append(f"{name} ({test['code']})")
        if not tests or (code != 0 and not result.failures):
            result.failures.append(f"lit ended with code {code}")
        return result

    return [Suite("lit", [lit, "-v", "--no-progress-bar", "-o", str(report), str(build / "test")], parse)]


# ---- Checks ----------------------------------------------------------------------------------------------------------


def parse_unittest(code: int, output: str) -> Result:
    """Python's own tests: `Ran 11 tests`, `FAILED (failures=1, errors=1, skipped=2)`."""
    result = Result(output=output)
    ran = re.search(r"^Ran (\d+) test", output, re.M)
    result.failures = [name for _, name in re.findall(r"^(FAIL|ERROR): (.+)$", output, re.M)]
    skipped = re.findall(r"^(\S+ \(\S+\)) \.\.\. skipped '(.*)'$", output, re.M)
    result.skips = [(name, reason) for name, reason in skipped]
    result.passed = max(0, int(ran.group(1)) - len(result.failures) - len(result.skips)) if ran else 0
    if code != 0 and not result.failures:
        result.failures.append(f"exit code {code}")
    elif result.count == 0:
        result.failures.append("no test ran")
    return result


def parse_steps(code: int, output: str) -> Result:
    """A script that says `ok: NAME`, `FAILED: NAME` or `skipped: NAME: REASON` about each thing that it checked."""
    result = Result(output=output)
    result.skips = [tuple(found) for found in re.findall(r"^skipped: (.+?\.md: line \d+: [^:]+): (.+)$", output, re.M)]
    result.passed = len(re.findall(r"^ok: .+$", output, re.M))
    result.failures = re.findall(r"^FAILED: (.+)$", output, re.M)
    if code != 0 and not result.failures:
        result.failures.append(f"exit code {code}")
    elif result.count == 0:
        result.failures.append("nothing was checked")
    return result


def parse_pytest(code: int, output: str) -> Result:
    """pytest -v: `python/tests/test_gemm.py::test_product PASSED`, and a reason behind SKIPPED."""
    if code == SKIP_CODE:
        return Result(skips=[("python", output.strip().splitlines()[-1])], output=output)
    result = Result(output=output)
    summary = dict(re.findall(r"^SKIPPED \[\d+\] (\S+?\.py)(?::\d+)?: (.*)$", output, re.M))
    for name, verdict, reason in re.findall(r"^(\S+::.+?) (PASSED|FAILED|ERROR|SKIPPED)(?: \((.*?)\))?\s*\[", output, re.M):
        if verdict == "PASSED":
            result.passed += 1
        elif verdict == "SKIPPED":
            # A reason that is too long for the line stands in the summary only.
            result.skips.append((name, reason or summary.get(name.split("::")[0], "no reason given")))
        else:
            result.failures.append(name)
    # A file that is skipped as a whole has no line of its own but in the summary, where tests come once more.
    for file, reason in summary.items():
        if not any(name.startswith(f"{file}::") for name, _ in result.skips):
            result.skips.append((file, reason))
    if (code != 0 and not result.failures) or result.count == 0:
        result.failures.append(f"exit code {code}")
    return result


def check(name: str, *command: str, timeout: int = 900, alone: bool = False) -> Suite:
    def parse(code: int, output: str) -> Result:
        last = output.strip().splitlines()[-1] if output.strip() else "no reason given"
        if code == 0:
            return Result(passed=1, output=output)
        if code == SKIP_CODE:
            return Result(skips=[(name, last)], output=output)
        return Result(failures=[f"exit code {code}"], output=output)

    return Suite(name, list(command), parse, timeout, alone=alone)


def check_suites(build: Path) -> list[Suite]:
    def script(name: str) -> str:
        return str(ROOT / "scripts" / name)

    python = sys.executable
    unit_tests = [python, "-m", "unittest", "discover", "-v", "-s", script("tests")]
    return [
        Suite("scripts", unit_tests, parse_unittest),
        check("layering", python, script("check_layering.py")),
        check("documentation", python, script("gen_docs.py"), "--check"),
        check("op-types", str(build / "bin" / "SolitonOpTypes"), "--check", str(ROOT / "docs" / "ops" / "types.md")),
        check("links", python, script("check_links.py")),
        check("error-coverage", python, script("check_errors.py")),
        check("format", python, script("check_format.py"), "--no-tidy"),
        check("tidy", python, script("check_format.py"), "--no-format", "--build", str(build)),
        check("headers", script("check_headers.sh"), alone=True),
        check("demonstration", python, script("run_demo.py"), "--soliton", str(build / "bin" / "soliton")),
        check("installed-package", script("check_install.sh"), str(build)),
        check("determinism", python, script("check_determinism.py"), "--soliton", str(build / "bin" / "soliton")),
        check("cache-attack", python, script("attack_cache.py"), "--soliton", str(build / "bin" / "soliton")),
        check("cache-attack-python", python, script("attack_cache.py"), "--python", "--build", str(build), "--processes", "6", "--runs", "16"),
        check("tuner-attack", python, script("attack_tuner.py"), "--soliton", str(build / "bin" / "soliton")),
        Suite("python", [python, script("python_package.py"), "--build", str(build)], parse_pytest),
        generated(build),
        pages_suite("tutorial-schedules", build, "tutorial-schedules.md"),
        pages_suite("tutorials", build, "tutorial"),
        pages_suite("tuning", build, "tuning.md"),
        pages_suite("language", build, "language.md"),
        pages_suite("coming-from", build, "coming-from.md"),
        *[fuzz(binary) for binary in sorted((build / "bin").glob("*Fuzzer"))],
    ]


def torch_suite(build: Path) -> Suite:
    command = [sys.executable, str(ROOT / "scripts" / "python_package.py"), "--build", str(build), "--torch"]
    return Suite("python-torch", command, parse_pytest, timeout=1800)


def ray_suite(build: Path) -> Suite:
    """Steps, and one skip where Ray can't be installed."""

    def parse(code: int, output: str) -> Result:
        if code == SKIP_CODE:
            return Result(skips=[("ray", output.strip().splitlines()[-1])], output=output)
        return parse_steps(code, output)

    return Suite("ray", [sys.executable, str(ROOT / "scripts" / "attack_ray.py"), "--build", str(build)], parse, timeout=600)


def pages_suite(name: str, build: Path, page: str) -> Suite:
    """Every program and command of a page of docs/, or of a folder of pages."""
    command = [sys.executable, str(ROOT / "scripts" / "run_tutorial.py"), "--build", str(build)]
    return Suite(name, [*command, "--page", str(ROOT / "docs" / page)], parse_steps)


# What random kernels may not use yet in a test run, because the compiler is not right there; `make soak` uses everything.
NOT_GENERATED_YET: tuple[str, ...] = ()


def generated(build: Path) -> Suite:
    """A few hundred random kernels, the same every time; 85,000 are `make soak`."""

    def parse(code: int, output: str) -> Result:
        result = Result(output=output)
        match = re.search(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", output, re.M)
        result.passed = int(match.group(1)) if match else 0
        result.failures = re.findall(r"^failed: (.+)$", output, re.M)
        result.skips = [("random kernel", reason) for reason in re.findall(r"^refused: (.+)$", output, re.M)]
        if NOT_GENERATED_YET:
            result.skips.append(("features", "not generated yet: " + ", ".join(NOT_GENERATED_YET)))
        if not match or (code != 0 and not result.failures and not re.search(r"^failed: ", output, re.M)):
            result.failures.append(f"exit code {code}")
        return result

    command = [str(build / "bin" / "SolitonGenerate"), "--seeds", "0..60,50000..50025,300000..300025,400000..400025,600000..600025,800000..800030,900000..900030", "--jobs", "2", "--limit", "180", "--list"]
    command += ["--seeds-file", str(ROOT / "test" / "generate" / "seeds.txt")]
    if NOT_GENERATED_YET:
        command += ["--without", ",".join(NOT_GENERATED_YET)]
    return Suite("generated", command, parse)


def fuzz(binary: Path) -> Suite:
    """A short run of a fuzzer, the same every time; long runs are by hand (docs/debugging.md)."""
    corpus = {"SolitonIrFuzzer": [str(ROOT / "test" / "ir")]}.get(binary.name, [])
    scratch = scratch_folder("soliton-fuzz-")
    # By default it ends with 77 when it has found something, which means "cannot run here" to everybody else.
    limits = ["-runs=20000", "-max_total_time=15", "-max_len=512", "-error_exitcode=1"]
    return check(binary.name, str(binary), "-seed=1", *limits, scratch, *corpus)


# ---- Running ---------------------------------------------------------------------------------------------------------


@dataclass
class Seconds:
    """By the clock, and of a processor: the second says what a suite costs on a machine that does other things too."""

    clock: float = 0
    processor: float = 0


def wait_for(process: subprocess.Popen, limit: float) -> float | None:
    """Processor seconds of the process and those that it waited for; nothing, and its end, where the limit is passed."""
    end = time.monotonic() + limit
    while True:
        done, status, usage = os.wait4(process.pid, os.WNOHANG)
        if done:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_utime + usage.ru_stime
        if time.monotonic() > end:
            process.kill()
            process.wait()
            return None
        time.sleep(0.02)


def run(suite: Suite) -> tuple[Result, Seconds]:
    begin = time.monotonic()
    spent: float | None = 0
    tools = str(ROOT / ".tools" / "bin")  # where scripts/get_ptxas.sh puts what the system lacks
    environment = {**os.environ, "PATH": os.environ["PATH"] + os.pathsep + tools, **suite.environment}
    with tempfile.TemporaryFile() as file:
        try:
            process = subprocess.Popen(suite.command, stdout=file, stderr=subprocess.STDOUT, cwd=ROOT, env=environment)
            spent = wait_for(process, suite.timeout)
            file.seek(0)
            output = file.read().decode(errors="replace")
            if spent is None:
                result = Result(failures=[f"took longer than {suite.timeout} s"], output=output)
            else:
                result = suite.parse(process.returncode, output)
        except OSError as error:
            result = Result(failures=[f"cannot run `{suite.command[0]}`: {error.strerror}"])
    return result, Seconds(time.monotonic() - begin, spent or 0)


def run_all(suites: list[Suite], jobs: int):
    """Yields (suite, what `run` returns) in order; those that must be alone come last, one by one."""
    together = [suite for suite in suites if not suite.alone]
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(run, suite) for suite in together]
        for suite, future in zip(together, futures):
            yield suite, future.result()
    for suite in suites:
        if suite.alone:
            yield suite, run(suite)


def show(position: str, suite: Suite, result: Result, seconds: Seconds) -> None:
    verdict = "FAILED" if result.failures else "ok" if result.passed else "skipped"
    counts = f"{result.passed} passed"
    counts += f", {len(result.failures)} failed" if result.failures else ""
    counts += f", {len(result.skips)} skipped" if result.skips else ""
    print(f"[{position}] {verdict:7} {suite.name:28} {counts}  ({seconds.clock:.1f} s, {seconds.processor:.1f} of a processor)", flush=True)
    if result.failures:
        lines = result.output.splitlines()
        if len(lines) > OUTPUT_LINES:
            print(f"    … {len(lines) - OUTPUT_LINES} lines before")
        print("\n".join("    " + line for line in lines[-OUTPUT_LINES:]), flush=True)
        for name in result.failures:
            print(f"  failed: {suite.name}: {name}", flush=True)
    for name, reason in result.skips:
        print(f"  skipped: {suite.name}: {name}: {reason}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--only", default="", metavar="NAMES", help="suites of these names, or that contain them")
    parser.add_argument("--torch", action="store_true", help="the tests of Python with torch, and nothing else")
    parser.add_argument("--ray", action="store_true", help="the tuner on a cluster of Ray, and nothing else")
    parser.add_argument("--list", action="store_true", help="print the names of the suites and stop")
    parser.add_argument("--jobs", type=int, default=max(1, min(2, os.cpu_count() or 1)), help="suites at a time")
    options = parser.parse_args()

    if options.torch:
        suites = [torch_suite(options.build)]
    elif options.ray:
        suites = [ray_suite(options.build)]
    else:
        suites = gtest_suites(options.build) + lit_suites(options.build) + check_suites(options.build)
    names = ", ".join(dict.fromkeys(base_name(suite.name) for suite in suites))
    suites = select(longest_first(suites), options.only)
    if not suites:
        print(f"error: no suite has `{options.only}` in its name; there are {names}")
        return 1
    if options.list:
        print("\n".join(suite.name for suite in suites))
        return 0

    total, all_seconds, begin = Result(), 0.0, time.monotonic()
    for index, (suite, (result, seconds)) in enumerate(run_all(suites, options.jobs), 1):
        show(f"{index}/{len(suites)}", suite, result, seconds)
        all_seconds += seconds.processor
        total.passed += result.passed
        total.failures += [f"{suite.name}: {name}" for name in result.failures]
        total.skips += result.skips

    if total.failures:
        print("\nfailed:\n" + "\n".join(f"  {name}" for name in total.failures))
    print(f"\n{time.monotonic() - begin:.0f} s, {all_seconds:.0f} of a processor")
    print(f"{total.passed} passed, {len(total.failures)} failed, {len(total.skips)} skipped")
    nothing_ran = total.passed == 0 and not ((options.torch or options.ray) and total.skips)
    return 1 if total.failures or nothing_ran else 0


if __name__ == "__main__":
    sys.exit(main())
