"""Constraints and matrix instructions by name."""

from .._constraints import *  # noqa: F403
