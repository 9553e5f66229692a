#!/usr/bin/env python3
"""The Python package on a GPU: tensors of torch and CuPy, streams, graphs, operators, and what a launch costs beside Triton's.

    python3 bench/python/device.py --wheel dist --out bench/results/python-device.json
    python3 bench/python/device.py --wheel build/python/torch/site --emulator       what of it runs without a GPU

`--wheel` is a wheel, a folder with one, or a folder that holds the package. Each check is one line of the table: ok, FAILED with the
reason, or skipped with the reason. The launch is one of a kernel of three tensors of 1,024 numbers, x + y, whose size is the launch's,
beside the same kernel in Triton: bursts of 1,000 launches in which the arms take turns, the median of the bursts; the host's time until
the last launch returned, and until the GPU was done. Exits 1 if something failed.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time
import traceback
import zipfile

from device_checks import Checks, Skip, wave_work

ROOT = pathlib.Path(__file__).resolve().parents[2]
BURST, ROUNDS = 1000, 15


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


class Report:
    """What was checked and measured."""

    def __init__(self):
        self.checks: list[dict] = []
        self.launch: dict = {}

    def run(self, name: str, function, *arguments) -> None:
        start = time.perf_counter()
        try:
            verdict, detail = "ok", str(function(*arguments) or "")
        except Skip as reason:
            verdict, detail = "skipped", str(reason)
        except Exception as failure:  # every check is tried
            lines = [line for line in str(failure).strip().splitlines() if line.strip()]
            verdict, detail = "FAILED", f"{type(failure).__name__}: {' / '.join(lines[:3])}"
            traceback.print_exc()
        self.checks.append({"name": name, "verdict": verdict, "detail": detail, "seconds": round(time.perf_counter() - start, 3)})
        print(f"{verdict:8} {name}: {detail}", flush=True)

    def count(self, verdict: str) -> int:
        return sum(each["verdict"] == verdict for each in self.checks)


# ---- What a launch costs -----------------------------------------------------------------------------------------------------


def soliton_add(gpu: bool):
    """x + y of any size, 1,024 numbers a workgroup."""
    import soliton.lang as tkl
    import soliton.wave as tkw
    from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE

    N = tkl.sym.N

    @tkw.wave([tkw.WorkgroupConstraint(N, 1024, 0), tkw.WaveConstraint(N, 256), tkw.HardwareConstraint()])
    def add(
        x: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        y: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        out: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        tkw.write(tkw.read(x) + tkw.read(y), out)

    options = tkw.WaveCompileOptions(dynamic_symbols=[N], target="sm_90a", run_on="" if gpu else "emulator")
    return tkw.wave_compile(options, add)


def triton_add():
    """The same in Triton; in a file of its own, since Triton reads the source."""
    try:
        import triton_add as module
    except ImportError as missing:
        raise Skip(str(missing)) from None
    return module.add


def burst(call, synchronize) -> tuple[float, float]:
    """Microseconds of the host a launch, and with the wait for the last."""
    synchronize()
    start = time.perf_counter_ns()
    for _ in range(BURST):
        call()
    issued = time.perf_counter_ns()
    synchronize()
    return (issued - start) / BURST / 1e3, (time.perf_counter_ns() - start) / BURST / 1e3


def measure_launches(report: Report, gpu: bool) -> str:
    import torch

    size, device = (1024, "cuda") if gpu else (0, "cpu")
    x, y = torch.randn(size, device=device), torch.randn(size, device=device)
    out = torch.empty_like(x)
    ours = soliton_add(gpu)
    arms = {"soliton": lambda: ours(x, y, out), "torch.add": lambda: torch.add(x, y, out=out)}
    missing = "no GPU"
    if gpu:
        try:
            theirs = triton_add()
            arms["triton"] = lambda: theirs[(1,)](x, y, out, size, BLOCK=1024)
        except Skip as reason:
            missing = str(reason)
    for call in arms.values():
        out.zero_()
        call()
        assert torch.equal(out, x + y)
        burst(call, torch.cuda.synchronize if gpu else lambda: None)
    times: dict[str, list] = {name: [] for name in arms}
    for first in range(ROUNDS):
        names = list(arms)[first % len(arms) :] + list(arms)[: first % len(arms)]
        for name in names:
            times[name].append(burst(arms[name], torch.cuda.synchronize if gpu else lambda: None))
    for name, found in times.items():
        host, whole = (statistics.median(column) for column in zip(*found))
        report.launch[name] = {"host_us": round(host, 3), "until_done_us": round(whole, 3), "best_host_us": round(min(found)[0], 3)}
    said = ", ".join(f"{name} {each['host_us']:.2f} µs" for name, each in report.launch.items())
    if not gpu:
        raise Skip(f"no GPU, so a launch of no workgroup: {said}")
    if "triton" not in report.launch:
        raise Skip(f"Triton does not run here ({missing}): {said}")
    assert report.launch["soliton"]["host_us"] <= min(6.0, report.launch["triton"]["host_us"]), f"over the bar: {said}"
    return f"{said} (bar: Triton's, and 6 µs)"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=pathlib.Path, default=ROOT / "dist")
    parser.add_argument("--out", type=pathlib.Path, help="a JSON file")
    parser.add_argument("--emulator", action="store_true", help="without a GPU: what of it can run")
    parser.add_argument("--only", default="", help="checks with this in their names")
    options = parser.parse_args()
    scratch = tempfile.TemporaryDirectory()
    sys.path.insert(0, str(find_package(options.wheel.resolve(), pathlib.Path(scratch.name))))
    os.environ.setdefault("SOLITON_CACHE", "off")
    import torch

    gpu = torch.cuda.is_available() and not options.emulator
    if not gpu and not options.emulator:
        sys.exit("error: torch sees no GPU; hint: --emulator")
    import soliton

    start, report = time.perf_counter(), Report()
    machine = f"{torch.cuda.get_device_name() if gpu else 'emulator'}, Python {sys.version.split()[0]}, torch {torch.__version__}, soliton {soliton.__version__}"
    print(machine, flush=True)
    native = Checks(gpu)
    names = "gemm softmax attention strides empty messages host_arrays dlpack cupy streams no_synchronisation graphs threads operator inductor"
    work = [(each.replace("_", " "), getattr(native, each)) for each in names.split()]
    work.insert(0, ("launch of a cached kernel", measure_launches, report, gpu))
    work += wave_work(native)
    for name, function, *arguments in work:
        if options.only in name:
            report.run(name, function, *arguments)
    print(f"{report.count('ok')} ok, {report.count('FAILED')} failed, {report.count('skipped')} skipped in {time.perf_counter() - start:.1f} s")
    if options.out:
        found = {"date": str(datetime.date.today()), "machine": machine, "launch": report.launch, "checks": report.checks}
        options.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    return 1 if report.count("FAILED") else 0


if __name__ == "__main__":
    sys.exit(main())
