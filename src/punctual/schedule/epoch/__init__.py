"""Anytime queries that are known before they run: :func:`allocate` shares the cores among them, fairly and exactly."""

from punctual.schedule.epoch.anytime_query import AnytimeQuery, stages
from punctual.schedule.epoch.critical_intervals import allocate
from punctual.schedule.epoch.epochs import (
    Epochs,
    allocate_in_epoch,
    delayed,
    first_to_run,
    piece_in,
    split_by_epoch,
    wait_for_epoch,
)
from punctual.schedule.epoch.graph import allocate_by_graph

__all__ = [
    "AnytimeQuery",
    "Epochs",
    "allocate",
    "allocate_by_graph",
    "allocate_in_epoch",
    "delayed",
    "first_to_run",
    "piece_in",
    "split_by_epoch",
    "stages",
    "wait_for_epoch",
]
