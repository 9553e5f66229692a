"""The command `soliton` of the package: what the C++ command does with kernels of C++, for kernels of Python.

    soliton run gemm.py:gemm --size M=128,N=128,K=64 --set BLOCK_M=64,BLOCK_N=64,BLOCK_K=32 --schedule prefetch
    soliton schedule gemm.py:gemm … --html gemm.html
    soliton bench gemm.py:run                     a kernel that the program has compiled itself
    soliton compile gemm.py:gemm … --emit ptx -o gemm.ptx
    soliton layout gemm.py:gemm … --value mma --svg mma.svg
    soliton targets | explain ID | cache list|verify|clear | doctor

The program is imported, not run: what stands under `if __name__ == "__main__"` is left out. Exits with 0 where all is
right, with 1 for a wrong result, with 2 for bad use or a kernel that does not compile.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import json
import os
import pathlib
import random
import statistics
import sys
import time

from . import _native
from ._define import LaunchableWave
from ._errors import CompileError
from ._kernel import WaveKernel, wave_compile
from ._options import ALGORITHMS, SchedulingType, WaveCompileOptions
from ._symbols import sym


class UsageError(Exception):
    """A mistake in the use of the command: one message, exit code 2."""


# ---- Which kernel ------------------------------------------------------------------------------------------------------------


def _load(path: pathlib.Path):
    """The program as a module."""
    if not path.is_file() or path.suffix != ".py":
        raise UsageError(f"found `{path}`, expected a file with a kernel: `program.py:kernel`")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None, "a file that ends in .py has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.parent))
    sys.argv = [str(path)]  # the command's own arguments are none of the program's
    spec.loader.exec_module(module)
    return module


def _kernel_of(said: str):
    """What `program.py:kernel` names; the only kernel of the program where no name is given."""
    file, _, name = said.partition(":")
    module = _load(pathlib.Path(file))
    known = {key: value for key, value in vars(module).items() if isinstance(value, (LaunchableWave, WaveKernel))}
    if not known:
        raise UsageError(f"`{file}` has no kernel: no function under `@tkw.wave(…)`, and nothing that `wave_compile` made")
    if not name and len(known) == 1:
        return next(iter(known.values()))
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        guess = f"; did you mean `{near[0]}`?" if near else ""
        raise UsageError(f"`{file}` has no kernel `{name}`{guess} It has {', '.join(known)}")
    return known[name]


def _numbers(said: list[str]) -> dict:
    """`M=256,N=64` as bindings of symbols."""
    bound = {}
    for each in ",".join(said).split(",") if said else []:
        name, _, value = each.partition("=")
        if not name.isidentifier() or not value.lstrip("-").isdigit():
            raise UsageError(f"found `{each}`, expected `NAME=NUMBER`")
        bound[getattr(sym, name)] = int(value)
    return bound


def _schedule_of(said: str) -> dict:
    names = {name: kind for kind, name in ALGORITHMS.items()}
    if said in names:
        return {"schedule": names[said]}
    if pathlib.Path(said).is_file():
        return {"override_schedule": said, "schedule": SchedulingType.NONE}
    raise UsageError(f"unknown schedule `{said}`; it is one of {', '.join(names)}, or a file")


def compiled(options) -> WaveKernel:
    """The kernel that a command line names, compiled."""
    kernel = _kernel_of(options.kernel)
    if isinstance(kernel, WaveKernel):
        return kernel
    settings = {**_numbers(options.size), **_numbers(options.set)}
    dynamic = [getattr(sym, name) for name in ",".join(options.dynamic).split(",") if name]
    asked = WaveCompileOptions(subs={k: v for k, v in settings.items() if k not in dynamic}, dynamic_symbols=dynamic)
    if options.target:
        asked.target = options.target
    asked.run_on = getattr(options, "device", "")
    for key, value in _schedule_of(options.schedule).items():
        setattr(asked, key, value)
    made = wave_compile(asked, kernel)
    made._launch_sizes = {str(k): v for k, v in settings.items()}
    return made


# ---- Running -----------------------------------------------------------------------------------------------------------------


class Trial:
    """Arguments for a kernel, drawn at random, and what came of them. Small integers, so that sums are exact."""

    def __init__(self, kernel: WaveKernel, seed: int):
        self.kernel = kernel
        draw = random.Random(seed)
        self.specs = kernel._specs
        self.shapes = kernel._argument_shapes(kernel._launch_sizes)
        self.bytes: list[bytes] = []
        for (_, is_array, dtype, is_output, is_read, _), shape in zip(self.specs, self.shapes):
            count = 1
            for extent in shape:
                count *= extent
            lowest, highest = (0, 1) if dtype == "i1" else (-3, 3)
            numbers = [float(draw.randint(lowest, highest)) for _ in range(count)]
            if is_output and not is_read:
                numbers = [float("nan") if dtype.startswith(("f", "b")) and "fnuz" not in dtype else -1.0] * count
            self.bytes.append(_native.encode(dtype, numbers))

    def arguments(self):
        """As the kernel is called, and the arrays among them."""
        given, held = [], []
        for (_, is_array, dtype, *_), shape, data in zip(self.specs, self.shapes, self.bytes):
            if not is_array:
                number = _native.decode(dtype, data)[0]
                given.append(number if dtype.startswith(("f", "b")) else int(number))
                held.append(None)
                continue
            letter = {1: "B", 2: "H", 4: "I", 8: "Q"}[len(_native.encode(dtype, [0.0]))]
            held.append(memoryview(bytearray(data)))
            given.append(held[-1].cast(letter, shape) if 0 not in shape else held[-1].cast(letter))
        return given, held

    def judge(self, held) -> list[dict]:
        """One verdict for each output, by what the interpreter makes of the same program."""
        kernel = self.kernel
        expected = _native.reference(kernel._trace.kernel, {**kernel._request, "cache": False}, kernel._place, self.bytes, list(kernel._launch_sizes.items()), True)
        verdicts = []
        for (name, is_array, dtype, is_output, *_), array, (wanted, tolerance) in zip(self.specs, held, expected):
            if is_array and is_output:
                pairs = list(zip(_native.decode(dtype, bytes(array)), _native.decode(dtype, wanted)))
                bounds = tolerance or [0.0] * len(pairs)
                wrong = [i for i, ((x, y), bound) in enumerate(zip(pairs, bounds)) if not (x == y or (x != x and y != y) or abs(x - y) <= bound)]
                worst = max((abs(x - y) for x, y in pairs if x == x and y == y), default=0.0)
                verdicts.append({"argument": name, "ok": not wrong, "wrong": len(wrong), "elements": len(pairs), "max_abs_error": worst})
        return verdicts


def _run(options) -> int:
    kernel = compiled(options)
    trial = Trial(kernel, options.seed)
    given, held = trial.arguments()
    kernel(*given)
    verdicts = trial.judge(held)
    ok = all(each["ok"] for each in verdicts)
    if options.json:
        print(json.dumps({"kernel": kernel._trace.kernel.name, "target": kernel.options.target, "device": kernel._compiled.device, "ok": ok, "outputs": verdicts}))
    else:
        for each in verdicts:
            said = "right" if each["ok"] else f"WRONG in {each['wrong']} of {each['elements']} elements"
            print(f"{kernel._trace.kernel.name} on {kernel.options.target} ({kernel._compiled.device}): `{each['argument']}` is {said}, largest error {each['max_abs_error']:g}")
    return 0 if ok else 1


def _bench(options) -> int:
    """Times launches, from Python and until they are done; arrays lie where the kernel runs."""
    kernel = compiled(options)
    given, _ = Trial(kernel, 1).arguments()
    is_gpu = kernel._compiled.device != "emulator"
    if is_gpu:
        given, wait = _on_gpu(given, kernel)
    samples = []
    for _ in range(options.repetitions + 1):
        start = time.perf_counter()
        kernel(*given)
        if is_gpu:
            wait()
        samples.append(1e6 * (time.perf_counter() - start))
    median, least = statistics.median(samples[1:]), min(samples[1:])
    if options.json:
        print(json.dumps({"kernel": kernel._trace.kernel.name, "target": kernel.options.target, "device": kernel._compiled.device, "median_us": median, "minimum_us": least, "repetitions": options.repetitions, "emulated": not is_gpu}))
    else:
        note = "" if is_gpu else " (time of the emulation, not of a GPU)"
        print(f"{kernel._trace.kernel.name} on {kernel.options.target}: median {median:.1f} us, minimum {least:.1f} us{note}")
    return 0


def _on_gpu(given, kernel):
    """The arguments in the GPU's memory, which torch lends, and how to wait for it."""
    try:
        import torch
    except ImportError:
        raise UsageError("to time a GPU its memory is needed, which torch lends; hint: pip install torch, or `--device emulator`") from None
    moved = []
    for each, spec in zip(given, kernel._specs):
        moved.append(torch.frombuffer(bytearray(each.cast("B")), dtype=getattr(torch, "uint8")).view(_torch_type(torch, spec[2])).reshape(tuple(each.shape)).cuda() if spec[1] else each)
    return moved, torch.cuda.synchronize


def _torch_type(torch, dtype: str):
    from ._tensors import _NAMES

    return next(getattr(torch, name) for name, ours in _NAMES.items() if ours == dtype and not name.startswith("uint") and hasattr(torch, name))


# ---- Looking -----------------------------------------------------------------------------------------------------------------


def _schedule(options) -> int:
    schedule = compiled(options).schedule()
    written = []
    for kind in ("html", "svg", "trace"):
        path = getattr(options, kind)
        for index, loop in enumerate(schedule if path else []):
            file = pathlib.Path(path)
            file = file if index == 0 else file.with_name(f"{file.stem}-{index + 1}{file.suffix}")
            file.write_text(getattr(loop, kind))
            written.append(str(file))
    if options.json:
        print(json.dumps({"kernel": schedule.kernel, "loops": [loop.data() for loop in schedule], "written": written}))
    elif written:
        print("\n".join(f"wrote {each}" for each in written))
    else:
        print(schedule, end="")
    return 0


def _compile(options) -> int:
    kernel = compiled(options)
    text = {"wave": "mlir", "machine": "asm", "assembly": "assembly", "ptx": "ptx"}
    if options.explain:
        print(kernel.explain(), end="")
    elif options.emit:
        made = getattr(kernel, text[options.emit])
        if options.output:
            pathlib.Path(options.output).write_text(made)
        else:
            print(made, end="")
    else:
        print(json.dumps(kernel._compiled.summary()) if options.json else f"{kernel!r}"[1:-1])
    return 0


def _layout(options) -> int:
    from . import layouts

    if options.kernel == "mma":
        if not options.instruction:
            raise UsageError(f"say which matrix instruction; the choices are {', '.join(layouts.instructions(options.target))}")
        picture = layouts.draw(options.instruction, target=options.target)
    else:
        picture = layouts.draw(compiled(options), options.value)
    if options.svg:
        pathlib.Path(options.svg).write_text(picture.svg)
        print(f"wrote {options.svg}")
    else:
        print(json.dumps(picture.data()) if options.json else picture, end="")
    return 0


def _targets(options) -> int:
    targets, devices = _native.target_list(), _native.device_list()
    if options.json:
        print(json.dumps({"targets": targets, "devices": devices["devices"]}))
        return 0
    for each in targets:
        print(f"{each['name']:<8}{each['product']:<28}waves of {each['wave_size']}, {each['shared_bytes'] // 1024} KiB shared, {len(each['matrix_instructions'])} matrix instructions")
    return 0


def _explain(options) -> int:
    text = _native.explain(options.id)
    if text is None:
        near = difflib.get_close_matches(options.id, _native.diagnostic_ids(), 1)
        raise UsageError(f"no error has the id `{options.id}`" + (f"; did you mean `{near[0]}`?" if near else ""))
    print(text)
    return 0


def _cache(options) -> int:
    from . import cache

    if options.action == "list":
        entries = cache.entries()
        if options.json:
            print(json.dumps({"folder": cache.folder(), "entries": entries}))
            return 0
        for each in entries:
            what = f"{each['kernel']} for {each['target']}" if each["ok"] else "damaged"
            print(f"{each['key'][:16]}{each['bytes']:>10} bytes  {what}, used {each['seconds_since_use']} s ago")
        print(f"{len(entries)} kernels in {cache.folder()}")
        return 0
    removed = cache.verify() if options.action == "verify" else cache.clear()
    if options.json:
        print(json.dumps({"folder": cache.folder(), "removed": removed}))
    else:
        print(f"{removed} kernels were damaged and are gone" if options.action == "verify" else f"removed {removed} kernels")
    return 1 if options.action == "verify" and removed else 0


def _doctor(options) -> int:
    from .doctor import main

    return main(["--json"] if options.json else [])


# ---- The command -------------------------------------------------------------------------------------------------------------


def _takes_kernel(command) -> None:
    command.add_argument("kernel", help="program.py:kernel; the name may be left out where there is one kernel")
    command.add_argument("--size", action="append", default=[], help="sizes of the tensors: M=256,N=256")
    command.add_argument("--set", action="append", default=[], help="values of other symbols: BLOCK_M=64")
    command.add_argument("--dynamic", action="append", default=[], help="sizes that are known only at launch: M,N")
    command.add_argument("--target", default="", help="the chip to compile for; see `soliton targets`")
    command.add_argument("--schedule", default="none", help=f"{', '.join(ALGORITHMS.values())}, or a file")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="soliton", description="kernels of the Wave language: compile, run, look at")
    commands = made.add_subparsers(dest="command", required=True)

    def add(name: str, does, help: str):
        command = commands.add_parser(name, help=help)
        command.set_defaults(does=does)
        command.add_argument("--json", action="store_true", help="one JSON object on standard output")
        return command

    run = add("run", _run, "compile, run and compare with what the program means")
    _takes_kernel(run)
    run.add_argument("--device", default="", help="emulator, cuda, hip, cuda:1")
    run.add_argument("--seed", type=int, default=1, help="of the inputs")
    bench = add("bench", _bench, "time a kernel on a device")
    _takes_kernel(bench)
    bench.add_argument("--device", default="", help="cuda, hip, emulator; the first GPU if none is named")
    bench.add_argument("--repetitions", type=int, default=20)
    schedule = add("schedule", _schedule, "when the instructions of a kernel's loops run")
    _takes_kernel(schedule)
    for kind, what in (("html", "a page for a browser"), ("svg", "a still picture"), ("trace", "a trace for ui.perfetto.dev")):
        schedule.add_argument(f"--{kind}", default="", help=f"write {what}")
    compile_ = add("compile", _compile, "from a kernel to any of its forms")
    _takes_kernel(compile_)
    compile_.add_argument("--emit", choices=["wave", "machine", "assembly", "ptx"])
    compile_.add_argument("-o", "--output", default="")
    compile_.add_argument("--explain", action="store_true", help="what was chosen, what it costs, what came second")
    layout = add("layout", _layout, "who holds which element: lane, register and wave")
    _takes_kernel(layout)
    layout.add_argument("instruction", nargs="?", default="", help="of `layout mma`: a matrix instruction")
    layout.add_argument("--value", default="", help="the tag of an operation of the kernel")
    layout.add_argument("--svg", default="", help="write a picture")
    add("targets", _targets, "what can be compiled for")
    add("explain", _explain, "what an error means").add_argument("id")
    cache = add("cache", _cache, "the kernels that were compiled before")
    cache.add_argument("action", choices=["list", "verify", "clear"])
    add("doctor", _doctor, "what was found on this machine, and what to do")
    return made


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        code = options.does(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Whoever reads has seen enough (`| head`); the interpreter must not find out again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except UsageError as mistake:
        print(f"soliton: {mistake}", file=sys.stderr)
    except CompileError as failure:
        print(str(failure).lstrip(), file=sys.stderr)
    except RuntimeError as failure:
        print(f"soliton: {failure}", file=sys.stderr)
    return 2
