"""Tables of QUALITY as curves: those that go down to nothing, and those with a share for each input."""

from __future__ import annotations

import pytest

from punctual.estimate.quality_curve import LEAST_SHARE, curve_of, input_shares, table
from punctual.plan.quality import Quality
from tests.sql.programs import query

JOIN = "SELECT count(*) FROM speed [RANGE 1 MINUTE] a, rfid [RANGE 1 MINUTE] b WHERE tag = sensor"


def said(points: str, select: str = "SELECT count(*) FROM speed [RANGE 1 MINUTE]") -> Quality:
    quality = query(f"{select} PERIOD 1 MINUTE QUALITY ({points})").quality
    assert quality is not None
    return quality


@pytest.mark.parametrize(
    ("points", "least", "quality"),
    [
        ("100% => 1, 0% => 0", LEAST_SHARE, LEAST_SHARE),
        ("100% => 1, 50% => 0.9, 0% => 0", LEAST_SHARE, 0.9 * LEAST_SHARE / 0.5),
        ("100% => 1, 51% => 0.8, 0% => 0.29", LEAST_SHARE, 0.3),
        ("100% => 1, 1% => 0.2, 0% => 0", 0.01, 0.2),
        ("100% => 1, 1% => 0.2, 0% => 0.2", 0.01, 0.2),
        ("100% => 1, 0.5% => 0.3, 0% => 0", 0.005, 0.3),
        ("100% => 1, 0.5% => 0.3", 0.005, 0.3),
    ],
)
def test_a_table_that_goes_down_to_nothing_ends_where_something_is_left(
    points: str, least: float, quality: float
) -> None:
    """Of nothing at all nothing can be said: such a table ends at 1 %, or at its last point where that is below."""
    written = said(points)
    curve = curve_of(written)
    assert curve.least_share == least
    assert curve.quality(least) == pytest.approx(quality)
    assert curve.quality(1.0) == 1.0
    assert table((point.shares[0], point.quality) for point in written.points) == curve


def test_an_input_of_which_nothing_is_used() -> None:
    """The table ends where 1 % of it is left; the others have what the table says there."""
    quality = said("1 => (a 100%, b 100%), 0.5 => (a 100%, b 0%), 0.2 => (a 50%, b 0%)", JOIN)
    curve = curve_of(quality)
    assert input_shares(quality, curve.least_share) == {"a": 1.0, "b": pytest.approx(LEAST_SHARE)}
    assert curve.quality(curve.least_share) == pytest.approx(0.5 + 0.5 * LEAST_SHARE)
    quality = said("1 => (a 100%, b 100%), 0.8 => (a 60%, b 20%), 0.5 => (a 20%, b 0%)", JOIN)
    least = input_shares(quality, curve_of(quality).least_share)
    assert least == {"a": pytest.approx(0.22), "b": pytest.approx(LEAST_SHARE)}
    quality = said("1 => (a 100%, b 100%), 0.8 => (a 60%, b 0.5%), 0.5 => (a 20%, b 0%)", JOIN)
    assert input_shares(quality, curve_of(quality).least_share) == {"a": 0.6, "b": pytest.approx(0.005)}


def test_samples_by_one_key_have_the_least_of_the_shares() -> None:
    quality = said("1 => (a 100%, b 100%), 0.9 => (a 80%, b 50%), 0.7 => (a 60%, b 50%), 0.4 => (a 30%, b 40%)", JOIN)
    curve = curve_of(quality.by_key)
    assert [curve.quality(share) for share in (1.0, 0.5, 0.3)] == pytest.approx([1.0, 0.9, 0.4])
    assert curve.least_share == 0.3
    assert said("100% => 1, 50% => 0.9").by_key == said("100% => 1, 50% => 0.9")
    assert Quality("CONVEX").by_key == Quality("CONVEX")
