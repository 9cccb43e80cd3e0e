"""Samples of rows: which rows a share keeps, what a kept row stands for, and what an answer over them is worth.

Public: the rule, so that anybody can draw a sample again from the raw rows: :func:`kept`; of a window that was sampled
by row, :func:`places`, :func:`certain_rows` and :func:`row_marks`.
"""

from punctual.kernel.sample.certain import certain_rows
from punctual.kernel.sample.marks import row_marks
from punctual.kernel.sample.rule import By, kept, places, places_of

__all__ = ["By", "certain_rows", "kept", "places", "places_of", "row_marks"]
