"""Candidates of Python are judged by processes that may die: what they do wrong costs them, and changes no decision of others."""

import ctypes
import fcntl
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("sympy")

import soliton.lang as tkl  # noqa: E402
import soliton.wave as tkw  # noqa: E402
from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE  # noqa: E402
from soliton.tuner import AttentionConfig, Space, _device, attention, search, tune, tune_attention  # noqa: E402
from soliton.tuner._compiling import Subject  # noqa: E402
from soliton.tuner._workers import Workers  # noqa: E402
from soliton.wave.compile import WaveCompileOptions  # noqa: E402

FAULTS = {
    "hang": (lambda: time.sleep(100), "hung for 0.5 s"),
    "hang in the compiler": (lambda: ctypes.PyDLL(None).pause(), "hung for 0.5 s"),  # which keeps the interpreter to itself
    "crash": (lambda: os.kill(os.getpid(), signal.SIGSEGV), "ended by signal 11 (Segmentation fault)"),
    "abort": (lambda: ctypes.CDLL(None).abort(), "ended by signal 6 (Aborted)"),
    "memory": (lambda: bytearray(1 << 44), "raised MemoryError: "),
    "nonsense": (lambda: "answer", "wrote `gibberish`, which is no answer"),
    "end": (lambda: os._exit(3), "exit code 3"),
    "raise": (lambda: 1 / 0, "raised ZeroDivisionError: division by zero"),
    "always killed": (lambda: os.kill(os.getpid(), signal.SIGKILL), "ended by signal 9 (Killed)"),
}


def misbehave(kind: str):
    if kind == "nonsense":  # into whatever it can write to, before its line
        for name in os.listdir("/proc/self/fd"):
            if is_written(int(name)):
                os.write(int(name), b"gibberish\n")
    return FAULTS[kind][0]()


def is_written(file: int) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{file}").startswith("pipe:") and fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY
    except OSError:
        return False


# ---- Processes ----------------------------------------------------------------------------------------------------------------


def test_answers_come_in_the_order_of_the_requests():
    told = []
    with Workers(lambda request: [request, os.getpid()], count=3, seconds=10) as workers:
        replies = workers.run(list(range(60)), lambda number, reply: told.append(number))
        assert [reply.value[0] for reply in replies] == list(range(60)) == sorted(told)
        assert len({reply.value[1] for reply in replies} - {os.getpid()}) == workers.started == 3


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_costs_its_request_and_no_other(kind):
    began = time.monotonic()
    with Workers(lambda request: misbehave(request) if request in FAULTS else request, count=2, seconds=0.5) as workers:
        replies = workers.run(["a", kind, "b", "c"])
        assert FAULTS[kind][1] in replies[1].fault, replies[1]
        assert [reply.value for reply in replies] == ["a", None, "b", "c"]
        assert workers.run(["d"])[0].value == "d"
    assert time.monotonic() - began < 2.5


def test_who_is_killed_once_is_asked_again(tmp_path):
    def answer(request):
        if request == "once" and not (tmp_path / "was").exists():
            (tmp_path / "was").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return request

    with Workers(answer, count=2, seconds=10) as workers:
        assert [reply.value for reply in workers.run(["a", "once", "b"])] == ["a", "once", "b"] and workers.started <= 3


def test_no_worker_outlives_its_program(tmp_path):
    script = "import os, signal, sys, time\nfrom soliton.tuner._workers import Workers\n"
    script += "def hang(request):\n    print(os.getpid(), flush=True)\n    os.kill(os.getppid(), signal.SIGKILL)\n    time.sleep(100)\n"
    script += "Workers(hang).run([1])\n"
    program = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    worker = int(program.stdout.readline())
    assert program.wait(30) == -signal.SIGKILL
    until = time.monotonic() + 10
    while is_running(worker) and time.monotonic() < until:
        time.sleep(0.02)
    assert not is_running(worker)


def is_running(process: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


BEGUN_ANEW = [sys.executable, "-c", "from test_tuner_workers import FAULTS, misbehave; from soliton.tuner._workers import serve; serve(lambda asked: misbehave(asked) if asked in FAULTS else [asked, __import__('os').getpid()])"]


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_of_a_process_that_begins_anew_costs_its_request_too(kind, monkeypatch):
    monkeypatch.syspath_prepend(str(pathlib.Path(__file__).parent))
    with Workers(BEGUN_ANEW, 1, 10) as workers:
        first = workers.run(["a"])[0].value
        assert first[0] == "a" and first[1] != os.getpid() and workers.run(["b"])[0].value == ["b", first[1]]
        workers.seconds = 0.5
        fault = workers.run([kind])[0].fault
        assert FAULTS[kind][1] in fault or (kind == "always killed" and "hung" in fault), fault
        workers.seconds = 10
        assert workers.run(["c"])[0].value[0] == "c"


def test_no_process_that_begins_anew_outlives_its_program():
    script = "import os, sys\nfrom soliton.tuner._workers import Workers\n"
    script += "worker = [sys.executable, '-c', 'import os, signal, time; from soliton.tuner._workers import serve; serve(lambda asked: (os.write(2, b\"%d\\\\n\" % os.getpid()), os.kill(os.getppid(), 9), time.sleep(100)))']\n"
    script += "Workers(worker, memory=0).run([1])\n"
    program = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    worker = int(program.stderr.readline())
    assert program.wait(30) == -signal.SIGKILL
    until = time.monotonic() + 10
    while is_running(worker) and time.monotonic() < until:
        time.sleep(0.02)
    assert not is_running(worker)


# ---- Searches -----------------------------------------------------------------------------------------------------------------

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
CONSTRAINTS = [tkw.WorkgroupConstraint(M, BLOCK_M, 0), tkw.WorkgroupConstraint(N, BLOCK_N, 1), tkw.TilingConstraint(K, BLOCK_K)]
CONSTRAINTS += [tkw.WaveConstraint(M, BLOCK_M / 2), tkw.WaveConstraint(N, BLOCK_N / 2), tkw.HardwareConstraint(mma_type=tkw.MMAType.F32_16x16x16_F16)]


@tkw.wave(CONSTRAINTS)
def gemm(
    a: tkl.Memory[M, K, SHARED_ADDRESS_SPACE, tkl.f16],
    b: tkl.Memory[N, K, SHARED_ADDRESS_SPACE, tkl.f16],
    c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
):
    @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
    def repeat(acc):
        return tkw.mma(tkw.read(a), tkw.read(b), acc)

    tkw.write(repeat, c)


def searched(database="", budget=8, **more):
    space = Space().choice(BLOCK_M, [32, 64]).choice("BLOCK_N", [32, 64]).choice("schedule", ["none", "modulo"])
    options = WaveCompileOptions(subs={M: 256, N: 256, K: 256, BLOCK_M: 32, BLOCK_N: 32, BLOCK_K: 32}, target="gfx942")
    return tune(gemm, space, options, budget=budget, database=database, progress=False, **{"strategy": "random", **more})


def decisions(tuned):
    return [(each.hash, each.latency, each.refused_by) for each in tuned.trials]


def which(choices: dict) -> str:
    return f"{choices['BLOCK_M']} {choices['BLOCK_N']} {choices['schedule']}"


BAD = dict(zip(["32 64 none", "64 32 none", "64 32 modulo", "64 64 none", "32 64 modulo"], ["hang in the compiler", "crash", "end", "memory", "raise"]))


def test_faults_of_candidates_are_recorded_and_no_one_elses_matter(monkeypatch, tmp_path):
    clean, model = {each.hash: each for each in searched().trials}, Subject.model
    assert len(clean) == 8 and not any(each.refused_by for each in clean.values())

    def faulty(self, choices, schedule):
        return misbehave(BAD[which(choices)]) if which(choices) in BAD else model(self, choices, schedule)

    monkeypatch.setattr(Subject, "model", faulty)
    began = time.monotonic()
    tuned = searched(tmp_path / "t.db", timeout=1.5)
    assert time.monotonic() - began < 1.5 + 2 + 8
    assert {each.hash for each in tuned.trials} == set(clean)
    for each in tuned.trials:
        kind = BAD.get(which(each.choices))
        assert each.refused_by == ("worker" if kind else "")
        assert (FAULTS[kind][1].replace("0.5", "1.5") in each.why and each.latency == math.inf) if kind else each.latency == clean[each.hash].latency
    assert tuned.best.latency == min(each.latency for each in tuned.trials)
    # What was recorded is found again, and asks no one.
    again = searched(tmp_path / "t.db", timeout=1.5)
    assert decisions(again) == decisions(tuned) and all(each.was_known for each in again.trials)


def test_an_answer_that_ends_its_process_never_wins(monkeypatch):
    right = Subject._wrong
    monkeypatch.setattr(Subject, "_wrong", lambda self, made, key: misbehave("crash") if made.options.schedule is tkw.SchedulingType.MODULO else right(self, made, key))
    tuned = searched()
    assert tuned.best.choices["schedule"] == "none" and tuned.rejected()["worker"] >= 1


def test_a_measurement_that_hangs_is_given_up(monkeypatch):
    measured = Subject.measured
    monkeypatch.setattr(Subject, "measured", lambda self, choices, *more: misbehave("hang") if choices["schedule"] == "modulo" else measured(self, choices, *more))
    tuned = searched(device="emulator", timeout=6, budget=3)
    assert tuned.best.choices["schedule"] == "none" and tuned.rejected().get("worker", 0) >= 1


# A device that this process and its copies must not ask, as GPUs are; the emulator stands for one.


@pytest.fixture
def untouchable(monkeypatch):
    """Nothing is measured here or in a copy."""
    for module in (search, attention):
        monkeypatch.setattr(module, "is_gpu", lambda device: device == "emulator")
    right = Subject.compiled

    def compiled(self, choices, schedule, device, sizes=None):
        # The emulator's own answers come before the device is asked.
        assert sys._getframe(1).f_code.co_name != "measured"
        return right(self, choices, schedule, device, sizes)

    monkeypatch.setattr(Subject, "compiled", compiled)


def test_what_a_gpu_is_asked_is_asked_by_a_process_that_begins_anew(untouchable):
    tuned = searched(device="emulator", budget=4)
    assert set(tuned.rejected()) <= {"model"} and tuned.times == "emulated"  # what the model finds slow is not measured
    assert all(each.result["measured_us"] > 0 for each in tuned.trials if not each.refused_by) and tuned.best.result["measured_us"] > 0


MISBEHAVING = """
from test_tuner_workers import misbehave
from soliton.tuner import _device
from soliton.tuner._workers import serve

of, right = _device.Launching.of, _device.Launching.{method}

def marked(job):
    made = of(job)
    made.is_bad = job["is_bad"]
    return made

_device.Launching.of = staticmethod(marked)
_device.Launching.{method} = lambda self, *arguments: misbehave("{kind}") if self.is_bad else right(self, *arguments)
serve(_device.Launcher())
"""


@pytest.mark.parametrize("method, kind", [("wrong", "crash"), ("measured", "abort"), ("measured", "hang in the compiler"), ("wrong", "nonsense"), ("measured", "raise")])
def test_what_hangs_or_crashes_on_a_gpu_costs_its_candidate(untouchable, monkeypatch, method, kind):
    monkeypatch.syspath_prepend(str(pathlib.Path(__file__).parent))
    monkeypatch.setattr(_device, "COMMAND", [sys.executable, "-c", MISBEHAVING.format(method=method, kind=kind)])
    job, answer_jobs = Subject.job, Subject.answer_jobs
    is_bad = lambda choices: {"is_bad": choices.get("schedule") == "modulo"}  # noqa: E731
    monkeypatch.setattr(Subject, "job", lambda self, choices, *more: job(self, choices, *more) | is_bad(choices))
    monkeypatch.setattr(Subject, "answer_jobs", lambda self, choices, schedule, device, keep: answer_jobs(self, choices, schedule, device, lambda made: keep(made | is_bad(choices))))
    tuned = searched(device="emulator", timeout=6, budget=4)
    for each in tuned.trials:
        assert each.refused_by in (("worker", "model") if each.choices["schedule"] == "modulo" else ("", "model"))
        assert each.refused_by != "worker" or FAULTS[kind][1].replace("0.5", "6.0") in each.why
    assert tuned.rejected()["worker"] >= 1
    assert tuned.best.choices["schedule"] == "none"


def test_attention_is_measured_by_a_process_that_begins_anew(untouchable, tmp_path):
    config = AttentionConfig(num_heads=1, seq_len_q=64, seq_len_k=64, num_warmup=1, num_iterations=2)
    _, latency = tune_attention(config, tmp_path, max_iterations=2, max_no_improvement=2, target="gfx942", device="emulator")
    assert 0 < latency < math.inf


def test_workers_change_no_decision():
    first = searched(strategy="evolution", workers=0)
    for workers in (1, 4):
        assert decisions(searched(strategy="evolution", workers=workers)) == decisions(first)


KILLED = """
import os, random, sys
sys.path.insert(0, sys.argv[1])
from test_tuner_workers import searched, Subject

model, left = Subject.model, int(sys.argv[3])

def deadly(self, choices, schedule):
    # The program, on the other side of a pipe, behind so many answers of this worker.
    global left
    left -= 1
    if left < 0:
        os.kill(os.getppid(), 9)
    return model(self, choices, schedule)

Subject.model = deadly
searched(sys.argv[2], strategy="evolution", generation=4, workers=1)
"""


def test_a_search_that_is_killed_goes_on_and_has_lost_one_candidate(tmp_path):
    """At each of its candidates: what was answered before is there, though its generation was not over."""
    whole = decisions(searched(strategy="evolution", generation=4))
    for answers in range(4):
        database = tmp_path / f"{answers}.db"
        command = [sys.executable, "-c", KILLED, str(pathlib.Path(__file__).parent), str(database), str(answers)]
        assert subprocess.run(command, capture_output=True, timeout=120).returncode == -signal.SIGKILL
        tuned = searched(database, strategy="evolution", generation=4)
        assert decisions(tuned) == whole and sum(each.was_known for each in tuned.trials) == answers


def test_attention_outlives_its_schedules(monkeypatch, tmp_path):
    model, calls = Subject.model, []

    def deadly(self, choices, schedule):
        calls.append(1)
        if len(calls) > 1:
            os._exit(3)
        return model(self, choices, schedule)

    monkeypatch.setattr(Subject, "model", deadly)
    config = AttentionConfig(num_heads=2, seq_len_q=128, seq_len_k=256)
    _, latency = tune_attention(config, tmp_path, max_iterations=60, max_no_improvement=60, target="gfx942")
    (made,) = tmp_path.iterdir()
    whys = [each["why"] for each in json.loads((made / "tuning_history.json").read_text())]
    assert "exit code 3" in whys and latency == json.loads((made / "final_results.json").read_text())["initial_latency_seconds"]
