"""Anytime queries that come as they come: :func:`step` shares the cores among them, one event at a time."""

from punctual.schedule.online.events import (
    Arrived,
    Command,
    Drop,
    Ended,
    Event,
    Foreseen,
    Joblet,
    Reestimated,
    Start,
    TimePassed,
    Withdrawn,
)
from punctual.schedule.online.machine import step
from punctual.schedule.online.state import Alive, Rules, State

__all__ = [
    "Alive",
    "Arrived",
    "Command",
    "Drop",
    "Ended",
    "Event",
    "Foreseen",
    "Joblet",
    "Reestimated",
    "Rules",
    "Start",
    "State",
    "TimePassed",
    "Withdrawn",
    "step",
]
