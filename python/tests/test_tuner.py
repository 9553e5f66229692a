"""The tuner's own words: spaces and searches of kernels in Python, loops, validators, traces, and what is refused."""

import dataclasses
import json
import math
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("sympy")

import soliton  # noqa: E402
import soliton.lang as tkl  # noqa: E402
import soliton.wave as tkw  # noqa: E402
from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE  # noqa: E402
from soliton.tuner import (  # noqa: E402
    AttentionConfig,
    Edge,
    EdgeWeight,
    Loop,
    ScheduleOptimizer,
    ScheduleValidator,
    Space,
    Tuned,
    TuningLogger,
    calculate_average_latency,
    dump_schedule,
    tune,
    tune_attention,
    write_trace,
)
from soliton.wave.compile import WaveCompileOptions, wave_compile  # noqa: E402

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


def options(size=512, dynamic=(), **more):
    subs = {M: size, N: size, K: size, BLOCK_M: 32, BLOCK_N: 32, BLOCK_K: 32}
    return WaveCompileOptions(subs={s: v for s, v in subs.items() if s not in dynamic}, dynamic_symbols=list(dynamic), target="gfx942", **more)


def space():
    tiles = Space().choice(BLOCK_M, [32, 64]).choice("BLOCK_N", [32, 64]).choice("schedule", ["none", tkw.SchedulingType.MODULO])
    return tiles.where(BLOCK_M * BLOCK_N <= 2048)


# ---- Spaces and their search -------------------------------------------------------------------------------------------------


def test_a_space_has_choices_and_conditions():
    made = space().where(lambda found: found["schedule"] != "none" or found["BLOCK_M"] == 32)
    assert made.choices == {"BLOCK_M": [32, 64], "BLOCK_N": [32, 64], "schedule": ["none", "modulo"]} and len(made) == 8
    assert made.allows(BLOCK_M=64, BLOCK_N=32, schedule="modulo")
    assert not made.allows(BLOCK_M=64, BLOCK_N=64, schedule="modulo")
    assert not made.allows(BLOCK_M=64, BLOCK_N=32, schedule="none")


def refused(call) -> soliton.CompileError:
    with pytest.raises(soliton.CompileError) as caught:
        call()
    assert f"[{caught.value.id}]" in str(caught.value)
    return caught.value


@pytest.mark.parametrize("make", [lambda: Space().choice("M", []), lambda: Space().choice("M", [1]).choice(M, [2]), lambda: Space().choice(BLOCK_M, 64), lambda: Space().choice("schedule", "modulo")])
def test_a_space_that_is_none_is_refused(make):
    assert refused(make).id == "tune-space"


def test_a_choice_is_a_symbol():
    assert refused(lambda: Space().choice(M + 1, [2])).id == "substitution-invalid"


WRONG_VALUES = {BLOCK_M: ["many", 0, 1.5, None], "raster": ["abc", 70000], "cluster": [-1], "persistent": ["all"], "service_waves": [9]}
WRONG_VALUES |= {"staged_writes": ["maybe", 1], "direct_copies": ["yes"], "overlap_tiles": [2], "padded_rows": ["x"], "workgroups_per_cluster": ["two", "1x99", 0]}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG_VALUES.items() for value in values])
def test_a_value_that_an_option_does_not_take_is_refused(name, value):
    assert refused(lambda: Space().choice(name, [value])).id == "tune-space"


def test_values_are_said_as_python_says_them():
    made = Space().choice("direct_copies", [False, True]).choice("workgroups_per_cluster", [1, (1, 2)]).choice("mma", [tkw.MMAType.F32_16x16x16_F16])
    assert made.choices == {"direct_copies": ["off", "on"], "workgroups_per_cluster": [1, "1x2"], "mma": ["F32_16x16x16_F16"]}


def test_a_kernel_of_python_is_tuned_and_its_result_compiles(tmp_path):
    tuned = tune(gemm, space(), options(), budget=6, moves=200, database=tmp_path / "t.db", progress=False)
    assert tuned.times == "modelled" and len(tuned.trials) >= 6 and tuned.latency < tuned.trials[0].latency < math.inf
    assert tuned.best.choices["schedule"] == "modulo" and tuned.moves["tried"] > 20
    assert tuned.moves["cycles_best"] == tuned.moves["cycles_bound"] or tuned.moves["tried"] >= 200
    assert "us modelled" in str(tuned) and "<svg" in tuned._repr_svg_() and "modelled" in tuned._repr_svg_()
    chosen = tuned.options()
    assert chosen.subs[BLOCK_M] == tuned.best.choices["BLOCK_M"]
    a = np.random.default_rng(0).integers(-3, 4, (512, 512)).astype(np.float16)
    c = np.zeros((512, 512), np.float32)
    wave_compile(chosen, gemm)(a, a, c)
    assert np.array_equal(c, a.astype(np.float32) @ a.astype(np.float32).T)


def test_the_same_search_finds_everything_in_the_database(tmp_path):
    first = tune(gemm, space(), options(), budget=4, database=tmp_path / "t.db", workers=1, progress=False)
    again = tune(gemm, space(), options(), budget=4, database=tmp_path / "t.db", workers=4, progress=False)
    assert not any(each.was_known for each in first.trials) and all(each.was_known for each in again.trials)
    assert [each.hash for each in first.trials] == [each.hash for each in again.trials] and again.run == first.run
    # Another kernel is another subject.
    other = tune(gemm, space(), options(256), budget=4, database=tmp_path / "t.db", progress=False)
    assert not any(each.was_known for each in other.trials)


def test_more_workers_find_the_same():
    found = [tune(gemm, space(), options(), budget=6, strategy="annealing", seed=3, workers=each, database="", progress=False) for each in (1, 4)]
    assert [each.hash for each in found[0].trials] == [each.hash for each in found[1].trials]
    assert [each.latency for each in found[0].trials] == [each.latency for each in found[1].trials]


def test_what_a_filter_refuses_says_why():
    tuned = tune(gemm, Space().choice(BLOCK_M, [32, 40, 4096]), options(), budget=3, strategy="random", database="", progress=False)
    by = {each.choices["BLOCK_M"]: each for each in tuned.trials}
    assert by[40].latency == math.inf and by[40].refused_by == "verifier" and by[40].why
    assert by[4096].latency == math.inf and by[4096].refused_by in ("verifier", "resources") and by[4096].why
    assert tuned.best.choices == {"BLOCK_M": 32} and sum(tuned.rejected().values()) == 2


def test_a_wrong_answer_never_wins(monkeypatch):
    from soliton.tuner._compiling import Subject

    right = Subject._wrong
    monkeypatch.setattr(Subject, "_wrong", lambda self, made, key: "wrong" if made.options.schedule is tkw.SchedulingType.MODULO else right(self, made, key))
    tuned = tune(gemm, Space().choice("schedule", ["none", "modulo"]), options(), budget=2, database="", progress=False)
    assert tuned.best.choices["schedule"] == "none" and tuned.rejected() == {"answer": 1}


def test_sizes_that_only_the_launch_knows():
    sizes = {M: 512, N: 512, K: 512}
    fixed = tune(gemm, space(), options(schedule=tkw.SchedulingType.MODULO), budget=1, database="", progress=False)
    dynamic = tune(gemm, space(), options(dynamic=[M, N, K], schedule=tkw.SchedulingType.MODULO), sizes=sizes, budget=1, database="", progress=False)
    assert dynamic.latency == pytest.approx(fixed.latency, rel=0.5)


GROUPS = [tkw.WorkgroupConstraint(M, BLOCK_M, 0), tkw.WorkgroupConstraint(N, BLOCK_N, 1), tkw.TilingConstraint(K, BLOCK_K)]
GROUPS += [tkw.WaveConstraint(M, 16), tkw.WaveConstraint(N, BLOCK_N), tkw.HardwareConstraint(threads_per_wave=32)]


@tkw.wave(GROUPS)
def gemm_of_groups(
    a: tkl.Memory[M, K, SHARED_ADDRESS_SPACE, tkl.f16],
    b: tkl.Memory[N, K, SHARED_ADDRESS_SPACE, tkl.f16],
    c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
):
    @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
    def repeat(acc):
        return tkw.mma(tkw.read(a), tkw.read(b), acc)

    tkw.write(repeat, c)


def test_roles_and_workgroups_that_walk_are_choices():
    subs = {M: 512, N: 256, K: 256, BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 64}
    how = dict(target="sm_90a", mma="F32_64x128x16_F16", use_global_to_shared=True, staged_writes=True, schedule=tkw.SchedulingType.RING)
    space = Space().choice("service_waves", [0, 4]).choice("persistent", [0, 2]).choice("raster", [0, -2]).where(lambda found: found["raster"] == 0 or found["persistent"] > 0)
    tuned = tune(gemm_of_groups, space, WaveCompileOptions(subs=subs, **how), budget=6, strategy="random", database="", progress=False)
    assert len(tuned.trials) == 6 and not tuned.rejected(), str(tuned)
    # A launch of eight tiles by two workgroups takes four times as long by the model, which knows nothing that it saves.
    by = {(each.choices["service_waves"], each.choices["persistent"], each.choices["raster"]): each for each in tuned.trials}
    assert by[4, 2, 0].latency == pytest.approx(4 * by[4, 0, 0].latency) and by[4, 2, -2].hash != by[4, 2, 0].hash
    chosen = Tuned.options(dataclasses.replace(tuned, best=by[4, 2, -2]))
    assert (chosen.service_waves, chosen.persistent, chosen.raster) == (4, 2, -2)
    run = wave_compile(chosen, gemm_of_groups)
    assert run.summary["threads"][0] == 12 * 32
    # Those of them whose tiles overlap are other programs.
    overlapping = Space().choice("overlap_tiles", ["off", "on"])
    both = tune(gemm_of_groups, overlapping, dataclasses.replace(chosen, raster=0), budget=2, strategy="random", database="", progress=False)
    assert len(both.trials) == 2 and not both.rejected(), str(both)
    on = next(each for each in both.trials if each.choices["overlap_tiles"] == "on")
    assert Tuned.options(dataclasses.replace(both, best=on)).overlap_tiles and len({each.hash for each in both.trials}) == 2
    a, b = (np.random.default_rng(seed).integers(-2, 3, (512 if seed else 256, 256)).astype(np.float16) for seed in (1, 0))
    c = np.zeros((512, 256), np.float32)
    run(a, b, c)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


def test_clusters_that_share_tiles_are_choices():
    subs = {M: 384, N: 256, K: 1024, BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 64}
    how = dict(target="sm_90a", mma="F32_64x128x16_F16", use_global_to_shared=True, schedule=tkw.SchedulingType.RING, service_waves=4)
    space = Space().choice("workgroups_per_cluster", ["1", "2", "1x2"])
    tuned = tune(gemm_of_groups, space, WaveCompileOptions(subs=subs, **how), budget=3, strategy="random", database="", progress=False)
    assert len(tuned.trials) == 3 and not tuned.rejected(), str(tuned)
    by = {each.choices["workgroups_per_cluster"]: each for each in tuned.trials}
    assert len({each.hash for each in by.values()}) == 3
    chosen = Tuned.options(dataclasses.replace(tuned, best=by["1x2"]))
    assert chosen.workgroups_per_cluster == (1, 2)
    a, b = (np.random.default_rng(seed).integers(-2, 3, (384 if seed else 256, 1024)).astype(np.float16) for seed in (1, 0))
    for along in ((2, 1, 1), (1, 2), (1,)):
        c = np.zeros((384, 256), np.float32)
        wave_compile(WaveCompileOptions(subs=subs, workgroups_per_cluster=along, **how), gemm_of_groups)(a, b, c)
        assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T), along


def test_caches_are_warm_or_cold_and_results_say_so(tmp_path):
    for cache in ("warm", "cold"):
        tuned = tune(gemm, Space().choice("schedule", ["none"]), options(64), budget=1, device="emulator", cache=cache, database=tmp_path / "t.db", progress=False)
        assert tuned.best.result["cache"] == cache and (tuned.best.result["cold_us"] > 0) == (cache == "cold") and not tuned.best.was_known
    with pytest.raises(soliton.CompileError):
        tune(gemm, Space(), options(64), device="emulator", cache="hot")


def test_times_of_the_emulator_are_said_to_be_its_own():
    tuned = tune(gemm, Space().choice("schedule", ["none", "modulo"]), options(64), budget=2, device="emulator", database="", progress=False)
    assert tuned.times == "emulated" and "us emulated" in str(tuned) and tuned.best.result["measured_us"] > 0


def test_the_progress_line_has_rate_best_bound_and_time_left(capsys):
    tune(gemm, space(), options(), budget=2, database="", progress=True)
    line = capsys.readouterr().err.split("\r")[-1]
    for word in ("2 of 2 candidates", "a second", "us modelled", "bound", "s left"):
        assert word in line


@pytest.mark.parametrize(
    "call, id",
    [
        (lambda: tune("gemm", space(), options()), "undefined-value"),
        (lambda: tune(gemm, space(), options(), strategy="luck", database=""), "schedule-argument"),
        (lambda: tune(gemm, space(), options(), device="cuda:7", database=""), "no-device"),
        (lambda: tune(gemm, {"BLOCK_M": [32]}, options(), database=""), "schedule-argument"),
        (lambda: tune(gemm, space(), {BLOCK_M: 32}, database=""), "schedule-argument"),
        (lambda: tune(gemm, Space().choice("BLOK_M", [32, 64]), options(), database=""), "tune-space"),
        (lambda: tune(gemm, Space().choice("swizzle", [1]), options(), database=""), "tune-space"),
        (lambda: tune(gemm, space().where(lambda found: False), options(), database=""), "tune-space"),
        (lambda: tune(gemm, space(), options(), sizes={M: 512}, database=""), "schedule-argument"),
        (lambda: tune(gemm, space(), options(dynamic=[M]), sizes={"M": "many"}, database=""), "schedule-argument"),
        (lambda: tune(gemm, space(), options(), database="/"), "tune-database"),
        (lambda: tune(gemm, space(), options(), database=__file__), "tune-database"),
        (lambda: tune(gemm, Space().choice("schedule", ["prefetch"]).where(M <= 3), options(), database=""), "substitution-invalid"),
    ],
)
def test_what_cannot_be_tuned_is_refused(call, id):
    with pytest.raises(soliton.CompileError) as caught:
        call()
    assert caught.value.id == id


WRONG_NUMBERS = {"budget": [0, -1, 2.5, "3"], "moves": [-1], "seed": [-1, 2**64], "generation": [0], "patience": [-1], "workers": [-1, 1.5, 999], "timeout": [0, -1, "x", math.inf]}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG_NUMBERS.items() for value in values])
def test_numbers_that_say_nothing_are_refused(name, value):
    found = refused(lambda: tune(gemm, space(), options(), database="", **{name: value}))
    assert found.id == "schedule-argument" and f"`{name}={value!r}`" in str(found)


def test_symbols_that_only_the_kernel_knows_may_be_chosen():
    size = tkl.sym.SIZE_OF_A_COPY

    @tkw.wave([tkw.WorkgroupConstraint(M, BLOCK_M, 0), tkw.HardwareConstraint(vector_shapes={M: 64})])
    def copy(a: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f16], b: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f16]):
        tkw.write(tkw.read(a, elements_per_thread=size), b, elements_per_thread=size)

    chosen = Space().choice(size, [1, 2]).choice("BLOCK_M", [64])
    tuned = tune(copy, chosen, WaveCompileOptions(subs={M: 128, BLOCK_M: 64}, target="gfx942"), budget=2, database="", progress=False)
    assert len(tuned.trials) == 2


def test_what_a_database_does_not_keep_is_said(monkeypatch, tmp_path):
    from soliton import _native

    class Full(_native.Tuning):
        unkept = 3

    monkeypatch.setattr(_native, "Tuning", Full)
    with pytest.warns(RuntimeWarning, match=r"3 results .* \[tune-database\]"):
        tune(gemm, Space(), options(64), budget=1, database=tmp_path / "t.db", workers=0, progress=False)


def test_a_schedule_that_is_none_is_refused_like_a_candidate():
    tuned = tune(gemm, Space().choice("schedule", ["modulo", "wishful"]), options(), budget=2, database="", progress=False)
    assert tuned.rejected() == {"verifier": 1} and "wishful" in next(each.why for each in tuned.trials if each.refused_by)


DRIVER = pathlib.Path(os.environ.get("SOLITON_STAND_INS", "none")) / "libSolitonFakeCUDA.so"
ON_A_GPU = """
import numpy, soliton.lang as tkl, soliton.wave as tkw
from soliton.tuner._compiling import Subject
from soliton.tuner.attention import _device_for
from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE

M = tkl.sym.M

@tkw.wave([tkw.WorkgroupConstraint(M, 64, 0), tkw.HardwareConstraint(vector_shapes={M: 64})])
def copy(a: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f16], b: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f16]):
    tkw.write(tkw.read(a), b)

subject = Subject(copy, tkw.WaveCompileOptions(subs={M: 1024}, target="sm_90a"))
samples, launches = subject.measured({}, "", "cuda", 2, 5)
assert len(samples) == 5 and launches > 1 and all(0 < each < 1e-3 for each in samples), (samples, launches)
assert "is wrong in 64 of 64" in subject.answer({}, "", "cuda")[0]      # the stand-in computes nothing, which is noticed
assert _device_for("sm_90a", None) == "cuda:0" and _device_for("gfx942", None) == "" and _device_for("sm_90a", "") == ""
"""


@pytest.mark.skipif(not DRIVER.exists(), reason="no stand-in for CUDA's driver was built: `ninja -C build SolitonFakeCUDA`")
def test_a_gpu_is_measured_by_its_events_and_its_answers_are_checked(tmp_path):
    """On a stand-in for the driver, which remembers launches and computes nothing."""
    (tmp_path / "measure.py").write_text(ON_A_GPU)
    environment = {**os.environ, "SOLITON_CUDA_LIBRARY": str(DRIVER), "SOLITON_HIP_LIBRARY": ""}
    made = subprocess.run([sys.executable, str(tmp_path / "measure.py")], env=environment, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


# ---- Loops and validators -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def loop():
    return Loop(gemm, options(schedule=tkw.SchedulingType.MODULO))


def test_a_loop_has_nodes_edges_and_a_modelled_time(loop):
    assert len(loop.nodes) > 4 and loop.name == "K" and loop.algorithm == "modulo"
    assert 0 < loop.bound <= loop.modelled(loop.schedule) < 1e-3
    assert all(loop.schedule[e._to] + e.weight.iteration_difference * loop.initiation_interval - loop.schedule[e._from] >= e.weight.delay for e in loop.edges)
    assert sum(node.rrt.sum(0) for node in loop.nodes).tolist() == loop.rrt(loop.schedule).sum(0).tolist()


def test_a_validator_takes_any_objects():
    """load -> mul (4 cycles), mul -> add (1), one unit of memory and one of arithmetic, an iteration every 2 cycles."""
    tables = {"load": [[1, 0]], "mul": [[0, 1]], "add": [[0, 1]]}
    edges = [Edge("load", "mul", EdgeWeight(0, 4)), ("mul", "add", 0, 1)]
    make = lambda schedule: ScheduleValidator(schedule, 2, list(tables), [1, 1], tables.get, edges, 2)  # noqa: E731
    validator = make({"load": 0, "mul": 4, "add": 5})
    success, schedule, why = validator.attempt_move("load", 2)
    assert success and why == "" and schedule["mul"] - schedule["load"] == 4 and schedule["add"] - schedule["mul"] == 1
    assert validator.get_current_schedule_state()[0] == {"load": 0, "mul": 4, "add": 5}
    validator.commit_move(schedule, validator.rrt_of(schedule))
    assert validator.get_current_schedule_state()[0] == schedule
    success, same, why = validator.attempt_move("add", schedule["mul"] + 4)
    assert not success and "resource 1" in why and same == schedule
    with pytest.raises(soliton.CompileError) as caught:
        validator.commit_move(schedule, np.zeros((2, 2), dtype=int))
    assert caught.value.id == "schedule-argument"
    for bad, id in [({"load": 0, "mul": 3, "add": 5}, "schedule-dependence"), ({"load": 0, "mul": 4}, "schedule-missing-op"), ({"load": 0, "mul": 4, "sub": 5}, "schedule-unknown-op")]:
        with pytest.raises(soliton.CompileError) as caught:
            make(bad)
        assert caught.value.id == id


def test_tighter_limits_and_more_edges_of_a_loop_count(loop):
    first, last = (pick(loop.nodes, key=lambda node: loop.schedule[node]) for pick in (min, max))
    more = [*loop.edges, (last, first, 0, 1)]
    with pytest.raises(soliton.CompileError):
        ScheduleValidator(loop.schedule, loop.initiation_interval, loop.nodes, loop.resource_limits, lambda node: node.rrt, more, len(loop.resource_names))
    with pytest.raises(soliton.CompileError) as caught:
        ScheduleValidator(loop.schedule, loop.initiation_interval, loop.nodes, [1], lambda node: node.rrt, loop.edges, len(loop.resource_names))
    assert caught.value.id == "schedule-argument"


def test_patience_counts_iterations_without_an_improvement_only(loop):
    calls = []
    slower = lambda schedule: calls.append(1) or float(len(calls))  # noqa: E731
    result = ScheduleOptimizer(loop.validator(), slower, random_seed=1).optimize(100, 5, verbose=False)
    assert result.iterations == 5 and result.ended == "no_improvement" and result.improvement_history == [1.0]
    faster = lambda schedule: calls.append(1) or -float(len(calls))  # noqa: E731
    result = ScheduleOptimizer(loop.validator(), faster, random_seed=1, bound=-math.inf).optimize(60, 30, verbose=False)
    assert len(result.improvement_history) > 2 and result.ended == "iterations"


def test_a_measurement_that_is_no_number_is_no_improvement(loop):
    numbers = iter([2e-6, math.nan, 1e-6, math.nan, *[3e-6] * 40])
    result = ScheduleOptimizer(loop.validator(), lambda schedule: next(numbers), random_seed=1).optimize(20, 10, verbose=False)
    assert result.latency == 1e-6 and result.improvement_history == [2e-6, 1e-6]


WRONG_CALLS = {
    "interval": lambda loop, made: made(T=0),
    "interval of words": lambda loop, made: made(T="x"),
    "table": lambda loop, made: made(node_rrt_getter=lambda node: None),
    "edge": lambda loop, made: made(raw_edges_list=[(1, 2)]),
    "cycle before the first": lambda loop, made: made(initial_schedule={**loop.schedule, loop.nodes[0]: -5}),
    "cycle too late": lambda loop, made: made(initial_schedule={**loop.schedule, loop.nodes[0]: 10**12}),
    "move too late": lambda loop, made: made().attempt_move(loop.nodes[0], 10**12),
    "move to a word": lambda loop, made: made().attempt_move(loop.nodes[0], "x"),
    "no validator": lambda loop, made: ScheduleOptimizer(None, lambda schedule: 1.0),
    "algorithm": lambda loop, made: ScheduleOptimizer(made(), lambda schedule: 1.0, algorithm="luck"),
    "seed": lambda loop, made: ScheduleOptimizer(made(), lambda schedule: 1.0, random_seed=-1),
    "iterations": lambda loop, made: ScheduleOptimizer(made(), lambda schedule: 1.0).optimize(-1),
    "no seconds": lambda loop, made: ScheduleOptimizer(made(), lambda schedule: None).optimize(2),
    "file's interval": lambda loop, made: dump_schedule(loop.schedule, 0, None, "s.txt"),
}


@pytest.mark.parametrize("what", WRONG_CALLS)
def test_what_a_validator_cannot_take_is_refused(loop, what):
    def made(**other):
        said = {"initial_schedule": loop.schedule, "T": loop.initiation_interval, "nodes": loop.nodes, "resource_limits": loop.resource_limits}
        said |= {"node_rrt_getter": lambda node: node.rrt, "raw_edges_list": loop.edges, "num_resource_types": len(loop.resource_names)}
        return ScheduleValidator(**{**said, **other})

    assert refused(lambda: WRONG_CALLS[what](loop, made)).id == "schedule-argument"


def test_schedules_of_other_nodes_are_refused(loop):
    for call in (loop.rrt, loop.modelled, loop.num_stages, loop.file):
        assert refused(lambda: call({})).id == "schedule-missing-op"
        assert refused(lambda: call({"load": 3})).id == "schedule-unknown-op"


def test_a_log_begins_with_its_loop(loop, tmp_path):
    step = {"iteration": 1, "node": loop.nodes[0], "cycle": 3, "latency": 1e-6, "is_improvement": True, "why": ""}
    made = TuningLogger(tmp_path / "t", "modelled")
    for call in (lambda: TuningLogger(tmp_path, times="guessed"), lambda: made.log_iteration(step, loop.schedule), lambda: made.log_iteration({"iteration": 1}, loop.schedule)):
        assert refused(call).id == "schedule-argument"
    made.log_initial(loop, 2e-6)
    made.log_iteration(step, loop.schedule)
    assert len(list(made.schedules.glob("*.txt"))) == 2


def test_what_a_measurement_raises_reaches_its_caller(loop):
    with pytest.raises(ZeroDivisionError):
        ScheduleOptimizer(loop.validator(), lambda schedule: 1 / 0).optimize()


@pytest.mark.parametrize("wrong", [{"num_stages": 99}, {"resource_reservations": [[9]]}, {"resource_names": ["luck"]}, {"schedule": {"load": 0}}])
def test_a_schedule_file_says_only_what_is_so(loop, tmp_path, wrong):
    right = {"schedule": loop.schedule, "initiation_interval": loop.initiation_interval, "num_stages": loop.num_stages(loop.schedule), "dump_file": tmp_path / "s.txt"}
    dump_schedule(**right, resource_reservations=loop.rrt(loop.schedule), resource_names=loop.resource_names)
    assert (tmp_path / "s.txt").exists()
    with pytest.raises(soliton.CompileError) as caught:
        dump_schedule(**{**right, **wrong})
    assert caught.value.id == "schedule-argument"


def test_a_kernel_without_a_loop_is_refused():
    @tkw.wave([tkw.WorkgroupConstraint(M, 64, 0), tkw.HardwareConstraint(vector_shapes={M: 64})])
    def copy(a: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f16], b: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f16]):
        tkw.write(tkw.read(a), b)

    with pytest.raises(soliton.CompileError) as caught:
        Loop(copy, WaveCompileOptions(subs={M: 64}, target="gfx942"))
    assert caught.value.id == "schedule-unsuitable"


# ---- Attention ----------------------------------------------------------------------------------------------------------------

SMALL = {"num_heads": 2, "seq_len_q": 128, "seq_len_k": 256, "num_iterations": 3, "num_warmup": 1}


@pytest.mark.parametrize(
    ("field", "value"), [("head_dim", 0), ("seq_len_q", -1), ("batch_size", 1.5), ("num_iterations", 0), ("num_warmup", -1), ("random_seed", -1)]
)
def test_a_configuration_that_is_none_is_refused(tmp_path, field, value):
    found = refused(lambda: tune_attention(AttentionConfig(**{**SMALL, field: value}), tmp_path, target="gfx942"))
    assert found.id == "schedule-argument" and field in str(found) and not list(tmp_path.iterdir())


def test_attention_is_not_tuned_where_it_cannot_be(tmp_path):
    config = AttentionConfig(**SMALL)
    assert refused(lambda: tune_attention({"head_dim": 64}, tmp_path)).id == "schedule-argument"
    assert refused(lambda: tune_attention(config, tmp_path, target="gfx942", timeout=0)).id == "schedule-argument"
    assert refused(lambda: tune_attention(config, tmp_path, target="gfx942", max_iterations=-1)).id == "schedule-argument"
    assert refused(lambda: tune_attention(config, tmp_path, target="gfx942", device="cuda:9")).id == "no-device"
    assert not list(tmp_path.iterdir())


def outcome(folder):
    (made,) = folder.iterdir()
    return made, json.loads((made / "final_results.json").read_text())


def test_every_field_of_the_configuration_counts(tmp_path):
    """Schedules to start from, sizes, dynamic ones and batches each change what is tuned."""
    kinds = [tkw.SchedulingType.NONE, tkw.SchedulingType.PREFETCH, tkw.SchedulingType.MODULO]
    loops = [Loop(*AttentionConfig(**SMALL, enable_scheduling=kind).kernel("gfx942")) for kind in kinds]
    assert [each.algorithm for each in loops] == ["none", "prefetch", "modulo"]
    assert len({each.modelled(each.schedule) for each in loops}) == 3
    longer = Loop(*AttentionConfig(**{**SMALL, "seq_len_k": 512}).kernel("gfx942"))
    assert longer.modelled(longer.schedule) > loops[2].modelled(loops[2].schedule)
    kernel, options, sizes = AttentionConfig(**SMALL, dynamic_dims=True, batch_size=3).kernel("gfx942")
    assert {str(each) for each in options.dynamic_symbols} == {"B", "M", "N", "K2"} and {str(k): v for k, v in sizes.items()}["B"] == 6
    dynamic = Loop(kernel, options, sizes)
    assert 0 < dynamic.modelled(dynamic.schedule) < 1e-3


def test_sizes_of_the_launch_are_tuned_too(tmp_path):
    config = AttentionConfig(**{**SMALL, "seq_len_k": 512}, dynamic_dims=True)
    schedule, latency = tune_attention(config, tmp_path, max_iterations=3, target="gfx942")
    made, final = outcome(tmp_path)
    assert 0 < latency < 1e-3 and final["config"]["dynamic_dims"] is True and len(schedule) > 50


def test_a_start_that_does_not_run_says_why(tmp_path):
    """The template assumes more than four tiles of keys where their number is dynamic."""
    _, latency = tune_attention(AttentionConfig(**SMALL, dynamic_dims=True), tmp_path, max_iterations=1, target="gfx942")
    made, final = outcome(tmp_path)
    assert latency == math.inf and final["best_latency_seconds"] is None
    assert "refused: " in (made / "tuning.log").read_text().splitlines()[0]
    assert json.loads((made / "tuning_history.json").read_text())[0]["why"]


def test_latencies_of_the_emulator_are_measured_there_and_say_so(tmp_path):
    config = AttentionConfig(**{**SMALL, "num_heads": 1, "seq_len_q": 64, "seq_len_k": 128})
    _, latency = tune_attention(config, tmp_path, max_iterations=1, target="gfx942", device="emulator")
    made, final = outcome(tmp_path)
    assert final["times"] == "emulated" and latency > 1e-4  # an emulator is no GPU
    assert "us emulated" in (made / "tuning.log").read_text()
    assert calculate_average_latency(made / "traces" / "trace_0000.rpd") > 1e-4


def test_a_modelled_schedule_spills_no_more_than_the_first(tmp_path, monkeypatch):
    from soliton.tuner._compiling import Subject

    model, calls = Subject.model, []

    def spilling(self, choices, schedule):
        calls.append(1)
        spilled = 8 if len(calls) < 3 else 16
        return json.dumps({**json.loads(model(self, choices, schedule)), "refused_by": "compiled", "why": f"{spilled} bytes of registers are spilled", "spill_bytes": spilled})

    monkeypatch.setattr(Subject, "model", spilling)
    _, latency = tune_attention(AttentionConfig(**SMALL), tmp_path, max_iterations=60, max_no_improvement=60, target="gfx942")
    made, final = outcome(tmp_path)
    assert "spills 8 bytes of registers, which the model does not count" in (made / "tuning.log").read_text()
    assert latency < final["initial_latency_seconds"] and len(final["improvement_history_seconds"]) == 2  # the second one still spills 8
    assert any(each["why"].startswith("16 bytes") for each in json.loads((made / "tuning_history.json").read_text()))


def test_who_measures_best_has_to_win_again(tmp_path, monkeypatch):
    """Every second measurement is of the best so far, which here is as fast as the others: nobody wins twice."""
    from soliton.tuner._compiling import Subject

    config, seconds = AttentionConfig(**SMALL), iter([9e-6] + [8e-6, 7e-6, 8e-6] * 40)
    monkeypatch.setattr(Subject, "measured", lambda *_: ([next(seconds)] * 3, 1))
    monkeypatch.setattr(Subject, "answer", lambda *_: ("", ""))
    _, latency = tune_attention(config, tmp_path, max_iterations=20, target="gfx942", device="emulator")
    made, final = outcome(tmp_path)
    assert latency == final["initial_latency_seconds"] == 9e-6 and len(list((made / "traces").iterdir())) == 1


def test_a_compilation_that_fails_is_infinity_and_says_why(tmp_path, monkeypatch):
    from soliton.tuner._compiling import Subject

    model, calls = Subject.model, []

    def failing(self, choices, schedule):
        calls.append(1)
        if len(calls) > 1:
            raise soliton._errors.error("register-spill", "it does not fit")
        return model(self, choices, schedule)

    monkeypatch.setattr(Subject, "model", failing)
    _, latency = tune_attention(AttentionConfig(**SMALL), tmp_path, max_iterations=60, max_no_improvement=60, target="gfx942")
    made, final = outcome(tmp_path)
    failed = [each for each in json.loads((made / "tuning_history.json").read_text()) if each["why"] == "it does not fit"]
    assert failed and all(each["latency_seconds"] is None for each in failed) and latency == final["initial_latency_seconds"]


# ---- Traces -------------------------------------------------------------------------------------------------------------------


def test_a_trace_has_every_launch_and_every_view(tmp_path):
    import sqlite3

    write_trace(tmp_path / "t.rpd", "gemm", [2e-6, 2e-6, 5e-6], times="measured", device="cuda:0", launches=20)
    assert calculate_average_latency(tmp_path / "t.rpd", "gemm") == pytest.approx(3e-6)
    file = sqlite3.connect(tmp_path / "t.rpd")
    about = dict(file.execute("SELECT tag, value FROM rocpd_metadata"))
    assert about["schema_version"] == "3" and about["gpu_stride"] == "1000" and about["pid_stride"] == "10000000" and about["times"] == "measured"
    assert file.execute("SELECT string FROM rocpd_string WHERE id = 1").fetchone() == ("",)
    assert file.execute("SELECT Name, TotalCalls, TotalDuration_us, Ave_us FROM top").fetchall() == [("gemm", 3, 9, 3.0)]
    assert file.execute("SELECT count(DISTINCT start) FROM rocpd_op").fetchone() == (3,)
    assert {row[0] for row in file.execute("SELECT args FROM api")} == {"mean of 20 launches"}
    for view in "api op busy top kernel copy copyop stackframe napi nop".split():
        file.execute(f"SELECT * FROM {view}").fetchall()


def test_what_no_trace_has_is_refused(tmp_path):
    write_trace(tmp_path / "t.rpd", "gemm", [2e-6], times="measured", device="cuda:0")
    for call in (lambda: calculate_average_latency(tmp_path / "none.rpd"), lambda: calculate_average_latency(__file__), lambda: calculate_average_latency(tmp_path / "t.rpd", "other"), lambda: write_trace(tmp_path / "u.rpd", "x", [1.0], times="guessed", device="")):
        with pytest.raises(soliton.CompileError) as caught:
            call()
        assert caught.value.id == "schedule-argument"
