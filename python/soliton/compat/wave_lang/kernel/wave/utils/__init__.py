"""Helpers of programs."""
