#!/usr/bin/env python3
"""Seed 001 on the GPU of this machine: its listing as written, with measured latencies, and a search of tiles beside it.

    python3 bench/tuner/seed.py --package dist --out bench/results/tuner-seed.json     a wheel, or a folder with one
    python3 bench/tuner/seed.py --package build/python/extension/site                  the package of a build
    python3 bench/tuner/seed.py --package build/python/extension/site --emulator       without a GPU: modelled, and says so

Prints one line of JSON for each part: `listing` (first and best latency in seconds, iterations, seconds that it took, what the traces
say), `dynamic` (the same with sizes that only the launch knows), and `gemm` (a product of 4096 cubed in Python from a poor start: `tune`
on the device, 24 candidates). Exits 1 if a latency is infinite or is not what it should be: measured. Needs NumPy and SymPy.
"""

import argparse
import contextlib
import io
import json
import math
import os
import pathlib
import sys
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTING = ROOT / "python" / "tests" / "seeds" / "tune_attention.py"


def find_package(place: pathlib.Path, scratch: pathlib.Path) -> pathlib.Path:
    """The folder that is to be imported from; a wheel is unpacked first."""
    if (place / "soliton").is_dir():
        return place
    wheels = [place] if place.is_file() else sorted(place.glob("soliton-*.whl"))
    if len(wheels) != 1:
        sys.exit(f"error: {place} has {len(wheels)} wheels, expected one; hint: make wheel")
    with zipfile.ZipFile(wheels[0]) as archive:
        archive.extractall(scratch)
    return scratch


def summary(folder: pathlib.Path, latency: float, seconds: float) -> dict:
    """What a tuning left behind, in short."""
    from soliton.tuner import calculate_average_latency

    final = json.loads((folder / "final_results.json").read_text())
    traces = sorted((folder / "traces").glob("*.rpd"))
    kept = {name: final[name] for name in ("times", "target", "device", "iterations", "ended", "initial_latency_seconds", "bound_seconds")}
    history = json.loads((folder / "tuning_history.json").read_text())
    kept |= {"latency_seconds": latency if math.isfinite(latency) else None, "refused": sum(each["latency_seconds"] is None for each in history)}
    kept |= {"improvements": len(final["improvement_history_seconds"]) - 1, "took_seconds": round(seconds, 1)}
    return kept | {"last_trace_seconds": calculate_average_latency(traces[-1]) if traces else None, "first_log_line": (folder / "tuning.log").read_text().splitlines()[0]}


def listing(scratch: pathlib.Path) -> dict:
    """The listing to the letter, in a folder of its own."""
    before, begun = os.getcwd(), time.monotonic()
    os.chdir(scratch)
    try:
        scope: dict = {}
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile(LISTING.read_text(), str(LISTING), "exec"), scope)
    finally:
        os.chdir(before)
    (folder,) = (scratch / "attention_tuning").iterdir()
    return {"part": "listing", "printed": said.getvalue().strip(), **summary(folder, scope["best_latency"], time.monotonic() - begun)}


def dynamic(scratch: pathlib.Path) -> dict:
    from soliton.tuner import AttentionConfig, tune_attention

    begun = time.monotonic()
    _, latency = tune_attention(AttentionConfig(dynamic_dims=True), scratch / "dynamic", max_iterations=30)
    (folder,) = (scratch / "dynamic").iterdir()
    return {"part": "dynamic", **summary(folder, latency, time.monotonic() - begun)}


def gemm(device: str, size: int) -> dict:
    import soliton.lang as tkl
    import soliton.wave as tkw
    from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
    from soliton.tuner import Space, tune

    M, N, K, BM, BN, BK = (getattr(tkl.sym, name) for name in "M N K BLOCK_M BLOCK_N BLOCK_K".split())
    constraints = [tkw.WorkgroupConstraint(M, BM, 0), tkw.WorkgroupConstraint(N, BN, 1), tkw.TilingConstraint(K, BK)]
    constraints += [tkw.WaveConstraint(M, BM / 2), tkw.WaveConstraint(N, BN / 2), tkw.HardwareConstraint(mma_type=tkw.MMAType.F32_16x16x16_F16)]

    @tkw.wave(constraints)
    def product(a: tkl.Memory[M, K, SHARED_ADDRESS_SPACE, tkl.f16], b: tkl.Memory[N, K, SHARED_ADDRESS_SPACE, tkl.f16], c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32]):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def repeat(acc):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    space = Space().choice(BM, [64, 128, 256]).choice(BN, [64, 128, 256]).choice(BK, [32, 64])
    space.choice("schedule", ["none", "prefetch", "modulo"]).choice("direct_copies", ["off", "on"])
    options = tkw.WaveCompileOptions(subs={M: size, N: size, K: size, BM: 64, BN: 64, BK: 32})
    begun = time.monotonic()
    tuned = tune(product, space, options, strategy="model", budget=24, device=device, database="")
    best = tuned.best.choices if tuned.best else {}
    return {"part": "gemm", "times": tuned.times, "latency_seconds": tuned.latency if math.isfinite(tuned.latency) else None, "start": tuned._said(tuned.trials[0]), "best": best, "rejected": tuned.rejected(), "took_seconds": round(time.monotonic() - begun, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=pathlib.Path, required=True)
    parser.add_argument("--emulator", action="store_true", help="no GPU: modelled")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--only", default="listing,dynamic,gemm", help="parts, by name")
    options = parser.parse_args()
    scratch = pathlib.Path(tempfile.mkdtemp())
    sys.path.insert(0, str(find_package(options.package.resolve(), scratch / "package")))
    import soliton._native as native
    import soliton.compat

    soliton.compat.install()
    gpus = [each for each in native.device_list()["devices"] if each["kind"] != "emulator"]
    if not gpus and not options.emulator:
        print("no GPU was found; --emulator models instead")
        return 77
    device, expected = ("", "modelled") if options.emulator else (gpus[0]["kind"], "measured")
    parts = []
    known = {"listing": lambda: listing(scratch), "dynamic": lambda: dynamic(scratch), "gemm": lambda: gemm(device, 512 if options.emulator else 4096)}
    for name in options.only.split(","):
        parts.append(known[name]())
        print(json.dumps(parts[-1]), flush=True)
    if options.out:
        options.out.write_text(json.dumps({"device": gpus[0]["name"] if gpus else "none", "parts": parts}, indent=1) + "\n")
    return 0 if all(each["times"] == expected and each["latency_seconds"] for each in parts) else 1


if __name__ == "__main__":
    sys.exit(main())
