"""The schedule of attention, by hill climbing."""

from soliton.tuner import AttentionConfig, TuningLogger, tune_attention

__all__ = ["AttentionConfig", "TuningLogger", "tune_attention"]
