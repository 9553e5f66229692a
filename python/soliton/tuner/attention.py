"""Wave's `tune_attention`: the schedule of attention's loop, by hill climbing.

    config = AttentionConfig(batch_size=1, num_heads=32, seq_len_q=512, seq_len_k=512, head_dim=64, head_dim_kv=64, …)
    best_schedule, best_latency = tune_attention(config)             seconds

Where a GPU is there latencies are measured, `num_iterations` samples behind `num_warmup` launches; elsewhere they are modelled, and the
log says so. A schedule that does not compile, or computes something else, has the latency infinity, and the log says why.
"""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass
from typing import Any

from .. import _native
from .._errors import CompileError, error
from .._options import SchedulingType, WaveCompileOptions, default_target
from . import traces
from ._checks import seconds, whole
from ._compiling import median
from ._device import Device, Lost, Refused
from ._workers import Workers
from .logger import TuningLogger
from .loops import Loop
from .schedules import ScheduleOptimizer
from .search import found_device, is_gpu


@dataclass
class AttentionConfig:
    """Sizes, instruction and schedule to start from; `dynamic_dims` compiles for sizes that only the launch knows."""

    batch_size: int = 1
    num_heads: int = 32
    seq_len_q: int = 512
    seq_len_k: int = 512
    head_dim: int = 64
    head_dim_kv: int = 64
    mfma_variant: Any = None
    enable_scheduling: SchedulingType = SchedulingType.MODULO
    dynamic_dims: bool = False
    num_warmup: int = 10
    num_iterations: int = 100
    random_seed: int | None = None

    def kernel(self, target: str = ""):
        """(the kernel, its options, what only the launch knows)."""
        import soliton.compat

        soliton.compat.install()  # the template is in Wave's words
        from wave_lang.kernel.wave.constraints import MMAType
        from wave_lang.kernel.wave.templates.attention_common import AttentionShape
        from wave_lang.kernel.wave.templates.vanilla_attention import get_vanilla_attention_kernel

        # Heads of all batches are alike: the kernel has one dimension for them.
        heads = self.batch_size * self.num_heads
        shape = AttentionShape(num_query_heads=heads, num_kv_heads=heads, query_seq_len=self.seq_len_q, kv_seq_len=self.seq_len_k, head_size=self.head_dim, head_size_kv=self.head_dim_kv)
        variant = self.mfma_variant or (MMAType.F32_32x32x8_F16, MMAType.F32_32x32x8_F16)
        kernel, subs, dynamic = get_vanilla_attention_kernel(shape, variant, self.dynamic_dims)
        options = WaveCompileOptions(subs=subs, dynamic_symbols=dynamic, schedule=self.enable_scheduling, match_width_only=True, target=target or default_target())
        sizes = {"B": heads, "M": self.seq_len_q, "N": self.head_dim_kv, "K2": self.seq_len_k}
        return kernel, options, {symbol: sizes[str(symbol)] for symbol in dynamic}


class _Refused(Exception):
    """By the compiler, a driver, or the end of a worker."""


class _Meter:
    """The latency of a schedule, in seconds: `measure_fn` of the optimizer. Schedules are judged in a process that may die."""

    def __init__(self, config: AttentionConfig, loop: Loop, device: str, logger: TuningLogger, seconds: float):
        self.config, self.loop, self.device, self.logger = config, loop, device, logger
        self.best, self.best_file, self.spilled = math.inf, "", -1
        self.worker = Workers(self._answer, 1, seconds)
        # No copy of this process may use a GPU.
        self.gpu = Device(loop.subject, device, seconds) if is_gpu(device) else None

    def __enter__(self) -> _Meter:
        return self

    def __exit__(self, *_) -> None:
        self.worker.__exit__()
        if self.gpu:
            self.gpu.__exit__()

    def _answer(self, request: list) -> dict:
        what, *arguments = request
        try:
            return {"said": getattr(self.gpu if what.startswith("prepare_") else self.loop.subject, what)(*arguments)}
        except CompileError as failure:
            return {"refused": failure.diagnostics[0].message}

    def _ask(self, what: str, *arguments):
        (reply,) = self.worker.run([[what, *arguments]])
        if why := reply.fault or reply.value.get("refused", ""):
            raise _Refused(why)
        return reply.value["said"]

    def __call__(self, schedule: dict) -> float:
        modelled = self.loop.modelled(schedule)
        # What the model finds no better cannot win where the model is the measure: it is not compiled for that.
        if not math.isfinite(modelled) or (not self.device and modelled >= self.best):
            return modelled
        try:
            latency, launches, samples = self._judged(schedule)
        except (_Refused, Lost, Refused) as refusal:
            return self._refused(schedule, str(refusal))
        if latency < self.best:
            self.best, self.best_file = latency, self.loop.file(schedule)
            self._trace(samples, launches)
        return latency

    def _refused(self, schedule: dict, why: str) -> float:
        self.logger.explain(schedule, why)
        return math.inf

    def _judged(self, schedule: dict):
        """(seconds, launches of a sample, samples); infinity where a filter refuses it."""
        file = self.loop.file(schedule)
        result = json.loads(self._ask("model", {}, file))
        why = self._refusal(result) or self._wrong(file)
        if why:
            return self._refused(schedule, why), 1, []
        if not self.device:
            seconds = result["modelled_us"] * 1e-6
            return seconds, 1, [seconds] * self.config.num_iterations
        samples, launches = self._measured(file)
        if self.best_file and median(samples) < self.best:
            # Who measures best has to win again, beside the best so far and as warm as that.
            before, (samples, launches) = self._measured(self.best_file)[0], self._measured(file)
            return max(median(samples), self.best if median(samples) >= median(before) else 0.0), launches, samples
        return median(samples), launches, samples

    def _wrong(self, file: str) -> str:
        if self.gpu:
            return self.gpu.answer(self._ask("prepare_answer", {}, file))[0]
        return self._ask("answer", {}, file, self.device or "emulator")[0]

    def _measured(self, file: str) -> tuple[list[float], int]:
        numbers = self.config.num_warmup, self.config.num_iterations
        if self.gpu:
            return self.gpu.measured(self._ask("prepare_measure", {}, file), *numbers)
        return self._ask("measured", {}, file, self.device, *numbers)

    def _refusal(self, result: dict) -> str:
        """What a filter says. Registers that are spilled cost time, which a device measures and the model does not know: there a
        schedule may spill no more than the one that the search starts from."""
        if self.spilled < 0:
            self.spilled = result["spill_bytes"]
            if self.spilled:
                self.logger.log(f"the first schedule spills {self.spilled} bytes of registers" + ("" if self.device else ", which the model does not count"))
        if result["spill_bytes"] > 0 and (self.device or result["spill_bytes"] <= self.spilled):
            return ""
        return result["why"] if result["refused_by"] else ""

    def _trace(self, samples: list[float], launches: int) -> None:
        # Of the schedule that the logger is about to write.
        path, times = self.logger.traces / f"trace_{self.logger.number + 1:04d}.rpd", self.logger.times
        where = self.device or f"modelled {self.loop.subject.options.target}"
        traces.write_trace(path, self.loop.subject.kernel._name, samples, times=times, device=where, launches=launches)


def _device_for(target: str, device: str | None) -> str:
    """The GPU that runs kernels for this target; empty where none does."""
    if device is not None:
        return device
    found = [each for each in _native.device_list()["devices"] if each["kind"] != "emulator" and each["target"] == target]
    return f"{found[0]['kind']}:{found[0]['index']}" if found else ""


def _check(config: AttentionConfig, max_iterations: int, max_no_improvement: int) -> None:
    if not isinstance(config, AttentionConfig):
        raise error("schedule-argument", f"found `{config!r}` as the configuration, expected an `AttentionConfig`")
    for name in ("batch_size", "num_heads", "seq_len_q", "seq_len_k", "head_dim", "head_dim_kv", "num_iterations"):
        whole(name, getattr(config, name), 1)
    whole("num_warmup", config.num_warmup, 0)
    whole("random_seed", config.random_seed or 0, 0, 2**64 - 1)
    whole("max_iterations", max_iterations, 0)
    whole("max_no_improvement", max_no_improvement, 0)


def tune_attention(
    config: AttentionConfig,
    output_dir="attention_tuning",
    max_iterations: int = 100,
    max_no_improvement: int = 50,
    verbose: bool = False,
    target: str = "",
    device: str | None = None,
    timeout: float = 60,
) -> tuple[dict, float]:
    """The best schedule that was found, and its latency in seconds.

    `device` is where it is measured: `cuda`, `hip`, `emulator`, or empty for the model; None: the GPU of this target, if there is one. A
    schedule that ends the process in which it is judged, or takes longer than `timeout` seconds, has the latency infinity.
    """
    _check(config, max_iterations, max_no_improvement)
    timeout = seconds("timeout", timeout)
    kernel, options, sizes = config.kernel(target)
    device = found_device(_device_for(options.target, device))
    loop = Loop(kernel, options, sizes)
    times = "modelled" if not device else "emulated" if device == "emulator" else "measured"
    logger = TuningLogger(output_dir, times, verbose)
    with _Meter(config, loop, device, logger, timeout) as meter:
        # The first measurement is the optimizer's own, of the schedule that the loop has now.
        first = _Once(meter, lambda latency: logger.log_initial(loop, latency))
        bound = 0.0 if device else loop.bound
        optimizer = ScheduleOptimizer(loop.validator(), first, tuning_logger=logger, random_seed=config.random_seed, bound=bound)
        result = optimizer.optimize(max_iterations, max_no_improvement, verbose=False)
    about = {**dataclasses.asdict(config), "enable_scheduling": config.enable_scheduling.name, "mfma_variant": str(config.mfma_variant)}
    logger.finish(result, target=options.target, device=device or "none", bound_seconds=loop.bound, config=about)
    (logger.folder / "best.schedule").write_text(loop.file(result.schedule))
    return result.schedule, result.latency


class _Once:
    """Tells of the first result of a function."""

    def __init__(self, function, tell):
        self.function, self.tell = function, tell

    def __call__(self, *arguments):
        found = self.function(*arguments)
        tell, self.tell = self.tell, lambda _: None
        tell(found)
        return found
