"""Names in the state are made of what values mean, the same in every process."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field, replace
from fractions import Fraction

import pytest

from punctual.errors import InternalError, Span
from punctual.plan.fingerprint import LAYOUT, fingerprint


@dataclass(frozen=True)
class Every:
    us: int


@dataclass(frozen=True)
class Within:
    us: int


@dataclass(frozen=True)
class Part:
    text: str
    values: tuple[int | float | str, ...] = ()
    span: Span | None = None


@dataclass(frozen=True)
class Whole:
    name: str
    cadence: Every | Within
    parts: tuple[Part, ...]
    limit: int | None = None
    place: Span | None = None
    text: str = field(default="", metadata=LAYOUT)


WHOLE = Whole("q", Every(5), (Part("a", (1, 2.5, "z"), Span(1, 2)), Part("b")), text="CREATE ...", place=Span(0, 9))


def test_it_is_the_same_in_every_process() -> None:
    code = "from tests.sql.test_fingerprint import *; print(fingerprint(WHOLE))"
    for seed in ("1", "2"):
        environ = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(path or "." for path in sys.path)}
        found = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
        assert found.stdout.strip() == fingerprint(WHOLE) == "0d35c928a011bdb3"


def test_places_and_layout_mean_nothing() -> None:
    parts = tuple(replace(part, span=Span(7, 8)) for part in WHOLE.parts)
    assert fingerprint(replace(WHOLE, text="create  ...", place=Span(3, 4), parts=parts)) == fingerprint(WHOLE)


@pytest.mark.parametrize(
    "other",
    [
        replace(WHOLE, name="p"),
        replace(WHOLE, cadence=Within(5)),
        replace(WHOLE, parts=WHOLE.parts[::-1]),
        replace(WHOLE, parts=()),
        replace(WHOLE, limit=0),
        replace(WHOLE, parts=(Part("a", (1, 2.5, "zz")), Part("b"))),
    ],
)
def test_whatever_has_a_meaning_counts(other: Whole) -> None:
    assert fingerprint(other) != fingerprint(WHOLE)


def test_equal_values_are_the_same_and_others_are_not() -> None:
    for one, same in ((1, 1.0), (True, 1), (Fraction(3), 3), (0.0, -0.0), ((1,), (1.0,))):
        assert one == same
        assert fingerprint.__wrapped__(one) == fingerprint.__wrapped__(same)
    different = [1, "1", 1.5, Fraction(1, 3), None, (), (None,), "", ("a", "b"), (("a",), "b"), 2**70, -(2**70)]
    different += [float("inf"), float("-inf"), 1e300, Part("a"), Every(1), Within(1)]
    assert len({fingerprint(one) for one in different}) == len(different)
    with pytest.raises(InternalError):
        fingerprint(object())


def test_a_new_field_with_a_default_leaves_old_values_alone() -> None:
    @dataclass(frozen=True)
    class Every:
        us: int
        more: tuple[int, ...] = ()

    assert fingerprint(Every(1)) == fingerprint(globals()["Every"](1)) != fingerprint(Every(1, (2,)))
