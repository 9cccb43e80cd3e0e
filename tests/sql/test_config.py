"""Options: defaults, reading, and what is said about wrong ones."""

from __future__ import annotations

from dataclasses import fields

import pytest

from punctual.clock import SECOND
from punctual.config import OPTION_NAMES, Options, duration_us, parse_options
from punctual.errors import ConfigError, PlanError

NAMED_BY_THE_LANGUAGE = {
    "tick", "max_files_per_tick", "idle", "max_ahead", "earliest", "cadence", "window_merge", "sharing", "qos",
    "anytime", "epoch", "lead", "rounds_kept", "seed", "placement", "advance", "risk", "after_read", "keep_answers",
    "keep", "adapt", "max_answer_rows", "max_join_rows", "closed_forms", "max_function_time",
}


def test_every_option_of_the_language_is_there() -> None:
    assert set(OPTION_NAMES) == NAMED_BY_THE_LANGUAGE
    assert all(f.metadata["meaning"] and f.metadata["accepts"] for f in fields(Options))


def test_defaults() -> None:
    assert parse_options({}) == Options()
    options = Options()
    assert (options.tick_us, options.max_files_per_tick, options.idle_us) == (SECOND, 1000, 10 * SECOND)
    assert (options.max_ahead_us, options.keep_answers_us) == (86_400 * SECOND, 86_400 * SECOND)
    assert (options.sharing, options.qos, options.cadence) == (True, "dynamic-sampling", "auto")


def test_every_choice_that_is_offered_is_accepted() -> None:
    for option in fields(Options):
        accepts = option.metadata["accepts"]
        if accepts.startswith("one of "):
            for word in accepts.removeprefix("one of ").split(", "):
                assert getattr(parse_options({option.metadata["name"]: word.upper()}), option.name) == word


@pytest.mark.parametrize(("text", "us"), [
    ("1 second", SECOND), ("500 ms", 500_000), ("2 minutes", 120 * SECOND), ("3", 3 * SECOND), ("0.25", 250_000),
    ("1us", 1), (" 2  Weeks ", 14 * 86_400 * SECOND), ("1.5h", 5_400 * SECOND),
])
def test_durations(text: str, us: int) -> None:
    assert duration_us(text) == us
    assert parse_options({"tick": text}).tick_us == us


@pytest.mark.parametrize(("name", "value"), [
    ("tick", "0"), ("tick", "-1 second"), ("tick", "1 month"), ("tick", ""), ("tick", "0.1 us"), ("tick", "9" * 40),
    ("earliest", "yesterday"), ("earliest", "1900"), ("earliest", "300000-01-01"),
    ("max_files_per_tick", "0"), ("max_files_per_tick", "1.5"), ("max_files_per_tick", str(2**63)),
    *(("keep", share) for share in ("0%", "101%", "some", "-0.5", "1/0", "")),
    ("sharing", "maybe"), ("cadence", "sometimes"), ("qos", "best"), ("window_merge", "row"),
])
def test_wrong_values_name_what_is_accepted(name: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_options({name: value})
    assert caught.value.code == "config.bad-value"
    assert caught.value.hint is not None
    assert "accepts" in caught.value.hint


def test_an_unknown_option_is_suggested() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_options({"windowmerge": "scan"})
    assert (caught.value.code, caught.value.hint) == ("config.unknown-option", "did you mean window_merge?")


@pytest.mark.parametrize(("text", "at"), [
    ("1900-01-01", -2_208_988_800 * SECOND), ("0001-01-01", -62_135_596_800 * SECOND),
    ("1970-01-01T00:00:01.5Z", 1_500_000), (" 1970-01-01 01:00:00+01:00 ", 0),
])
def test_instants(text: str, at: int) -> None:
    assert parse_options({"earliest": text}).earliest == at


@pytest.mark.parametrize(("name", "value"), [
    *((name, value) for name in (
        "advance", "risk", "adapt",
    ) for value in ("auto", "5")),
])
def test_what_has_no_effect_yet_is_refused(name: str, value: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_options({name: value})
    assert caught.value.code == "plan.not-yet"
    assert name.strip().lower() in caught.value.fact


def test_an_option_that_is_not_there_yet_is_suggested() -> None:
    """The name is right, so it is what a misspelt one is told to mean."""
    with pytest.raises(ConfigError) as caught:
        parse_options({"adaptt": "3"})
    assert caught.value.hint == "did you mean adapt?"


def test_how_many_rounds_are_kept() -> None:
    assert [parse_options({"rounds_kept": text}).rounds_kept for text in ("0", "7")] == [0, 7]
    assert parse_options({}).rounds_kept == 64
    with pytest.raises(ConfigError) as caught:
        parse_options({"rounds_kept": "-1"})
    assert caught.value.hint == "it accepts a whole number of at least 0"


def test_a_plan_is_made_before_its_epoch_and_after_the_one_before_has_begun() -> None:
    assert (parse_options({}).anytime, parse_options({}).plan_ahead_us) == ("online", 30 * SECOND)
    assert parse_options({"epoch": "10 s"}).plan_ahead_us == SECOND, "a tenth, unless it is said"
    assert parse_options({"anytime": "epoch", "epoch": "10 s", "lead": "9 s"}).plan_ahead_us == 9 * SECOND
    with pytest.raises(ConfigError) as caught:
        parse_options({"epoch": "10 s", "lead": "10 s"})
    assert (caught.value.code, caught.value.fact) == (
        "config.bad-value", 'option "lead" cannot be 10s where an epoch is 10s',
    )  # fmt: skip
