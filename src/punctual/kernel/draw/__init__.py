"""Possible worlds in arrays: draws that follow from their names, aggregates in every world, and what that says.

A *world* is one choice for everything uncertain, a *round* its number, and a *bundle* a matrix of rows by rounds. Draws
are by seed, stream, column, row and round (``philox.py``), so worlds can be looked at in any pieces:

* distributions: :class:`Normal`, :class:`Uniform`, :class:`Weighted`, :class:`Among`, :class:`Between`;
* where missing values are found: :func:`empirical`, :func:`interpolated`, :func:`nearest`, :func:`anywhere`;
* bundles: :func:`draw_numbers`, :func:`draw_places`, :func:`existing`;
* aggregates by group and round: :func:`fold`, :func:`merged`, :func:`finished`;
* what worlds say: :func:`expected`, :func:`probability`, :func:`interval`, :func:`histograms`, :func:`likeliest`;
* what needs no worlds: :func:`expected_sums`, :func:`sum_variances`, :func:`normal_above`, :func:`count_laws`.
"""

from punctual.kernel.draw.closed_forms import (
    expected_counts,
    expected_sums,
    normal_above,
    normal_interval,
    sum_variances,
)
from punctual.kernel.draw.count_laws import CountLaw, count_laws
from punctual.kernel.draw.distributions import Among, Between, Choice, Normal, Number, Uniform, Weighted
from punctual.kernel.draw.draws import draw_numbers, draw_places, values_at
from punctual.kernel.draw.existence import Stretches, existing, of_broken_rules, stretches
from punctual.kernel.draw.folds import Fold, Function, finished, fold, merged
from punctual.kernel.draw.histograms import Histograms, histograms, likeliest
from punctual.kernel.draw.in_time import interpolated
from punctual.kernel.draw.moments import moments, three_moments
from punctual.kernel.draw.nearest import nearest
from punctual.kernel.draw.observed import anywhere, empirical
from punctual.kernel.draw.philox import Source, source, uniforms
from punctual.kernel.draw.results import (
    Expected,
    Interval,
    Probability,
    expected,
    how_often,
    interval,
    of_counts,
    probability,
    rounds_for,
)

__all__ = [
    "Among",
    "Between",
    "Choice",
    "CountLaw",
    "Expected",
    "Fold",
    "Function",
    "Histograms",
    "Interval",
    "Normal",
    "Number",
    "Probability",
    "Source",
    "Stretches",
    "Uniform",
    "Weighted",
    "anywhere",
    "count_laws",
    "draw_numbers",
    "draw_places",
    "empirical",
    "existing",
    "expected",
    "expected_counts",
    "expected_sums",
    "finished",
    "fold",
    "histograms",
    "how_often",
    "interpolated",
    "interval",
    "likeliest",
    "merged",
    "moments",
    "nearest",
    "normal_above",
    "normal_interval",
    "of_broken_rules",
    "of_counts",
    "probability",
    "rounds_for",
    "source",
    "stretches",
    "sum_variances",
    "three_moments",
    "uniforms",
    "values_at",
]
