"""Hill climbing by moves of one node."""

from soliton.tuner.schedules import OptimizationAlgorithm, OptimizationResult, ScheduleOptimizer

__all__ = ["OptimizationAlgorithm", "OptimizationResult", "ScheduleOptimizer"]
