"""The operations of schedules."""

from soliton._schedule import *  # noqa: F403
from soliton._schedule import __all__  # noqa: F401
