"""The tuner: tiles, instructions and schedules that a machine chooses, by the compiler's model or by measuring.

>>> from soliton.tuner import Space, tune
>>> tuned = tune(gemm, Space().choice(BLOCK_M, [64, 128]).choice("schedule", ["prefetch", "modulo"]), options)
>>> print(tuned)                       # every time says whether it is modelled or measured
>>> run = wave_compile(tuned.options(), gemm)

and what Wave's documents describe: `tune_attention`, `ScheduleValidator`, `ScheduleOptimizer`, `dump_schedule`, `TuningLogger`.
Search, verifier, model and database are C++'s (soliton/tuner); docs/tuning.md is about all of it.
"""

from .attention import AttentionConfig, tune_attention
from .logger import TuningLogger
from .loops import Edge, EdgeWeight, Loop, Node
from .schedules import MoveAttempt, OptimizationAlgorithm, OptimizationResult, ScheduleOptimizer, ScheduleValidator, dump_schedule
from .search import Trial, Tuned, tune
from .spaces import Space
from .traces import calculate_average_latency, rpdTracerControl, write_trace

__all__ = [
    *["AttentionConfig", "Edge", "EdgeWeight", "Loop", "MoveAttempt", "Node", "OptimizationAlgorithm", "OptimizationResult"],
    *["ScheduleOptimizer", "ScheduleValidator", "Space", "Trial", "Tuned", "TuningLogger", "calculate_average_latency"],
    *["dump_schedule", "rpdTracerControl", "tune", "tune_attention", "write_trace"],
]
