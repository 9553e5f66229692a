"""The tuner as Wave's document on it says, listing by listing, on the emulator: latencies are modelled."""

import csv
import json
import math
import pathlib

import numpy as np
import pytest

pytest.importorskip("sympy")

import listings  # noqa: E402

from soliton.tuner import calculate_average_latency, rpdTracerControl  # noqa: E402

SCHEDULES = "schedules/schedule_{:04d}"


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """(scope of the listing, what it printed, the folder it left)."""
    import contextlib
    import io
    import os

    folder, before, said = tmp_path_factory.mktemp("tuning"), os.getcwd(), io.StringIO()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(said), pytest.MonkeyPatch.context() as patch:
            patch.setenv("WAVE_DEFAULT_ARCH", "gfx942")
            scope = listings.tuned_attention()
    finally:
        os.chdir(before)
    (made,) = (folder / "attention_tuning").iterdir()
    return scope, said.getvalue(), made


def test_the_example_runs_as_written(tuned):
    scope, said, folder = tuned
    assert said == f"Best latency: {scope['best_latency']:.6f} seconds\n"
    assert 1e-6 < scope["best_latency"] < 1e-4  # seconds, as it says
    assert folder.name.startswith("tune_") and len(scope["best_schedule"]) > 100
    final = json.loads((folder / "final_results.json").read_text())
    assert final["times"] == "modelled" and final["best_latency_seconds"] == scope["best_latency"]
    assert final["bound_seconds"] <= final["best_latency_seconds"] < final["initial_latency_seconds"]
    assert final["config"]["enable_scheduling"] == "MODULO"


def test_the_folder_has_what_the_document_shows(tuned):
    folder = tuned[2]
    final, history = (json.loads((folder / name).read_text()) for name in ("final_results.json", "tuning_history.json"))
    improvements = final["improvement_history_seconds"]
    texts, datas, traces = (sorted(folder.glob(each)) for each in ("schedules/*.txt", "schedules/*.json", "traces/*.rpd"))
    assert len(texts) == len(datas) == len(traces) == len(improvements) >= 2
    with open(folder / "tuning_progress.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(history) == final["iterations"] + 1
    best = [float(row["latency_us"]) for row in rows if row["is_best"] == "True"]
    assert best == pytest.approx([each * 1e6 for each in improvements])
    refused = [row for row in rows if row["latency_us"] == "inf"]
    assert refused and all(row["why"] for row in refused)
    log = (folder / "tuning.log").read_text()
    assert log.count("us modelled") >= len(improvements) and "measured" not in log


def test_schedules_of_the_folder_are_data_and_compile(tuned):
    from soliton.wave.compile import wave_compile
    from soliton.tuner import AttentionConfig

    folder = tuned[2]
    data = json.loads((folder / (SCHEDULES.format(1) + ".json")).read_text())
    rrt = np.array(data["rrt"])
    assert rrt.shape == (data["initiation_interval"], len(data["resource_names"])) and (rrt <= data["resource_limits"]).all()
    assert all(node["cycle"] == node["stage"] * data["initiation_interval"] + node["relative_cycle"] for node in data["nodes"])
    text = folder / (SCHEDULES.format(1) + ".txt")
    assert text.read_text().startswith(f"Initiation Interval: {data['initiation_interval']}\nNumber of Stages: {data['num_stages']}\n")
    rows = text.read_text().split("------\n")[1].split("\n\n")[0].splitlines()
    assert [[int(units) for units in row.split(" | ")[1:]] for row in rows] == data["rrt"]
    kernel, options, _ = AttentionConfig().kernel("gfx942")
    for file in (text, folder / "best.schedule"):
        options.override_schedule = str(file)
        assert wave_compile(options, kernel).schedule()[0].loop == "K2"


def test_traces_of_the_folder_are_rpd_and_say_modelled(tuned):
    import sqlite3

    scope, _, folder = tuned
    last = sorted(folder.glob("traces/*.rpd"))[-1]
    assert calculate_average_latency(last) == pytest.approx(scope["best_latency"], rel=1e-3)
    file = sqlite3.connect(last)
    assert dict(file.execute("SELECT tag, value FROM rocpd_metadata"))["times"] == "modelled"
    assert file.execute("SELECT Name, TotalCalls FROM top").fetchall() == [("base_attention", 100)]
    assert file.execute("SELECT count(*) FROM kernel").fetchone() == (100,)


@pytest.fixture(scope="module")
def example():
    """The names that the listings leave out, for a chip that need not be here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WAVE_DEFAULT_ARCH", "gfx942")
        import soliton.tuner.example as names
    return names


def test_a_move_is_validated_and_committed_as_written(example):
    loop, scope = example.loop, listings.as_written("tune_validation")
    assert scope["success"] and scope["error_msg"] == ""
    schedule, rrt = scope["validator"].get_current_schedule_state()
    assert schedule == scope["new_schedule"] != loop.schedule and np.array_equal(rrt, loop.rrt(schedule))
    assert rrt.dtype.kind == "i" and (rrt <= loop.resource_limits).all()
    table = listings.as_written("tune_rrt")["rrt"]
    assert table.shape == (loop.initiation_interval, len(loop.resource_names)) and not table.any()


def test_the_optimizer_and_its_file_as_written(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    loop, result = example.loop, listings.as_written("tune_advanced")["result"]
    said = capsys.readouterr().out
    assert f"Improvement history: {result.improvement_history}\nTotal iterations: {result.iterations}\n" in said
    assert result.iterations <= 50 and result.latency == result.improvement_history[-1] == loop.modelled(result.schedule)
    text = pathlib.Path("custom_schedule.txt").read_text()
    assert f"Number of Stages: {loop.num_stages(result.schedule)}\n" in text and text.count(" | ") > 10 * len(result.schedule) // 2


def test_measuring_with_rpd(tmp_path, monkeypatch):
    import soliton.lang as tkl
    import soliton.wave as tkw
    from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE

    M = tkl.sym.M

    @tkw.wave([tkw.WorkgroupConstraint(M, 64, 0), tkw.HardwareConstraint(vector_shapes={M: 64})])
    def copy(a: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f16], b: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f16]):
        tkw.write(tkw.read(a), b)

    run = tkw.wave_compile(tkw.WaveCompileOptions(subs={M: 256}, target="gfx942", run_on="emulator"), copy)
    scope = listings.execute("tune_measure", {"rpdTracerControl": rpdTracerControl, "calculate_average_latency": calculate_average_latency})
    file, a, b = tmp_path / "trace_0000.rpd", np.ones(256, np.float16), np.zeros(256, np.float16)
    rpdTracerControl.setFilename(file)
    average = scope["measure_with_rpd"](run, a, b, num_warmup=1, num_iterations=3, output_filename=file, config=None)
    assert 0 < average < 10 and b.all() and not math.isinf(average)
