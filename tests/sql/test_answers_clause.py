"""ANSWERS WITHIN in a query of a kind that has it: deadlines, cadence, and what is wrong with them."""

from __future__ import annotations

import pytest

from punctual.clock import SECOND
from punctual.errors import ProgramErrors
from punctual.kinds import registry
from punctual.kinds.program import compile_program
from punctual.plan.query import Bound, Cadence, Once, Period, Query
from tests.kinds.numbered import NumberedKind

STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME, x BIGINT) FROM FEED;\n"
THREE = "ANSWERS WITHIN 1 SECOND, 3 SECONDS, 5 SECONDS"


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "KINDS", (NumberedKind(), *registry.KINDS))


def query(clauses: str, window: str = "[RANGE 1 MINUTE]") -> Query:
    text = f"{STREAM}CREATE QUERY q AS SELECT SAMPLE_OF(3, x) FROM s {window} {clauses};"
    return compile_program(text, base=".").catalog.queries["q"]


@pytest.mark.parametrize(("clauses", "window", "cadence"), [
    (f"PERIOD 5 SECONDS {THREE}", "[RANGE 1 MINUTE]", Period(5 * SECOND)),
    (f"{THREE} FREQUENCY 5 SECONDS", "[RANGE 1 MINUTE]", Period(5 * SECOND)),  # its instants are not moved
    (THREE, "[RANGE 1 MINUTE SLIDE 5 SECONDS]", Period(5 * SECOND)),
    (f"PERIOD 5 SECONDS {THREE}", "[NOW]", Period(5 * SECOND)),
    (THREE, "[RANGE 1 MINUTE]", Once()),
])
def test_deadlines_and_cadence(clauses: str, window: str, cadence: Cadence) -> None:
    found = query(clauses, window)
    assert (found.stages, found.due_us) == ((SECOND, 3 * SECOND, 5 * SECOND),) * 2
    assert (found.cadence, found.deadline_us) == (cadence, None)


def test_without_it_there_is_one_answer() -> None:
    plain = query("FREQUENCY 5 SECONDS DEADLINE 2 SECONDS")
    assert (plain.stages, plain.due_us, plain.cadence) == ((), (2 * SECOND,), Bound(5 * SECOND))
    assert query("PERIOD 5 SECONDS").due_us == (None,)


@pytest.mark.parametrize(("clauses", "window", "code", "underlined", "hint"), [
    ("PERIOD 1 MINUTE ANSWERS WITHIN 3 SECONDS, 1 SECOND", "[RANGE 1 MINUTE]", "bind.bad-stages", "1 SECOND",
     "for example: ANSWERS WITHIN 1 SECOND, 3 SECONDS, 5 SECONDS"),
    ("PERIOD 1 MINUTE ANSWERS WITHIN 1 SECOND, 1 SECOND", "[RANGE 1 MINUTE]", "bind.bad-stages", "1 SECOND",
     "for example: ANSWERS WITHIN 1 SECOND, 3 SECONDS, 5 SECONDS"),
    (f"PERIOD 1 MINUTE DEADLINE 9 SECONDS {THREE}", "[RANGE 1 MINUTE]", "bind.two-deadlines", "DEADLINE 9 SECONDS",
     "leave DEADLINE out"),
    ("PERIOD 1 MINUTE ANSWERS WITHIN 0 SECONDS", "[RANGE 1 MINUTE]", "bind.bad-duration", "0 SECONDS",
     "for example: 500 MILLISECONDS, 90 SECONDS, 20 MINUTES, 1 DAY, 2 WEEKS"),
    (THREE, "[NOW]", "bind.no-cadence", "[NOW]",
     "add PERIOD 1 MINUTE (at every minute) or FREQUENCY 1 MINUTE (at least every minute)"),
    ("PERIOD 1 MINUTE ROUNDS 5", "[RANGE 1 MINUTE]", "bind.nothing-uncertain", "ROUNDS 5", "leave ROUNDS out"),
])
def test_what_is_wrong_has_its_place_and_a_hint(
    clauses: str, window: str, code: str, underlined: str, hint: str
) -> None:
    with pytest.raises(ProgramErrors) as refused:
        query(clauses, window)
    (error,) = refused.value.errors
    text = f"{STREAM}CREATE QUERY q AS SELECT SAMPLE_OF(3, x) FROM s {window} {clauses};"
    assert error.span is not None
    assert (error.code, text[error.span.start : error.span.end], error.hint) == (code, underlined, hint)
