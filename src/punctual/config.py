"""Options of a run: their names, what they accept, what they are when nothing is said.

Model
-----
One frozen dataclass. A field's metadata carries all there is to know about an option: the name that a user
types, what it accepts, how its text becomes a value, what it does. ``SET option = value`` and ``--set`` end here,
so a wrong name or value has one error text; the reference page of the options is written from the same fields.
An option, or a value of one, that has no effect yet is known by name and refused (``plan.not-yet``): nobody should
believe that it works.

Durations are integers of microseconds inside (``_us`` in the name), and text such as ``500 ms`` outside.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, Literal, get_args

from punctual.clock import SECOND, UNITS_US, Micros, instant_us, span_text
from punctual.errors import ConfigError, PlanError

CadenceMethod = Literal["auto", "none", "conservative", "aggressive", "hybrid", "intra", "combined", "exact", "greedy"]
WindowMerge = Literal["auto", "scan", "rows"]
Qos = Literal["dynamic-sampling", "fixed-sampling", "feedback", "best-effort"]
Placement = Literal["auto", "driver", "cluster"]
AfterRead = Literal["keep", "archive", "delete"]
Anytime = Literal["online", "epoch"]

LONGEST_US: Micros = 2**62
ABBREVIATIONS = {
    "US": "MICROSECOND",
    "MS": "MILLISECOND",
    "S": "SECOND",
    "SEC": "SECOND",
    "MIN": "MINUTE",
    "H": "HOUR",
    "HR": "HOUR",
    "D": "DAY",
    "W": "WEEK",
}


def unit_us(word: str) -> Micros | None:
    """The length of a unit of time, singular, plural or short; None where there is none of fixed length.

    >>> unit_us("minutes"), unit_us("ms"), unit_us("MONTH")
    (60000000, 1000, None)
    """
    upper = word.upper()
    for name in (upper, upper.removesuffix("S")):
        name = ABBREVIATIONS.get(name, name)
        if name in UNITS_US:
            return UNITS_US[name]
    return None


def duration_us(text: str) -> Micros:
    """A duration such as ``1 second``, ``500 ms`` or ``2.5`` (seconds), more than zero.

    >>> duration_us("500 ms"), duration_us("2.5")
    (500000, 2500000)
    """
    match = re.fullmatch(r"\s*(\d{1,18}(?:\.\d{1,18})?|\.\d{1,18})\s*([A-Za-z]*)\s*", text)
    size = (unit_us(match[2]) if match[2] else SECOND) if match else None
    if match is None or size is None:
        raise ValueError(text)
    exact = Fraction(match[1]) * size
    if exact.denominator != 1 or not 0 < exact <= LONGEST_US:
        raise ValueError(text)
    return int(exact)


def _switch(text: str) -> bool:
    return {"on": True, "true": True, "off": False, "false": False}[text.strip().lower()]


def _share(text: str) -> float | None:
    """A share of rows; None where it is left to us.

    >>> _share("30%"), _share("0.3"), _share("auto")
    (0.3, 0.3, None)
    """
    word = text.strip().lower()
    if word == "auto":
        return None
    if "/" in word:  # a fraction is not how shares are written
        raise ValueError(text)
    number = Fraction(word.removesuffix("%").strip()) / (100 if word.endswith("%") else 1)
    if not 0 < number <= 1:
        raise ValueError(text)
    return float(number)


def _integer(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = int(text)
        if not least <= value < 2**63:
            raise ValueError(text)
        return value

    return read


def _one_of(*accepted: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        lower = text.strip().lower()
        if lower not in accepted:
            raise ValueError(text)
        return lower

    return read


DURATION = "a duration above zero such as 1 second, 500 ms or 2 minutes (a bare number is seconds)"
INSTANT = "a date or a time of the years 1 to 9999 such as 1900-01-01 or 2020-06-01T12:00:00Z (UTC without a zone)"
WHOLE = "a whole number of at least {}"
ON_OFF = "on or off"
SHARE = "auto, or a share above 0 and at most 1 such as 30% or 0.3"


def _option(name: str, read: Callable[[str], object], accepts: str, meaning: str) -> Mapping[str, Any]:
    return {"name": name, "read": read, "accepts": accepts, "meaning": meaning}


def _choice(name: str, accepted: Any, meaning: str, *not_yet: str) -> Mapping[str, Any]:
    """``not_yet`` are the words that the language has and this release does not carry out."""
    words = get_args(accepted)
    return {**_option(name, _one_of(*words), "one of " + ", ".join(words), meaning), "not_yet": not_yet}


def _duration(name: str, meaning: str) -> Mapping[str, Any]:
    return _option(name, duration_us, DURATION, meaning)


@dataclass(frozen=True, slots=True)
class Options:
    """What a run does where the program leaves it open. ``Options()`` holds the defaults."""

    tick_us: Micros = field(default=SECOND, metadata=_duration("tick", "how often a live program looks for rows"))
    max_files_per_tick: int = field(
        default=1000,
        metadata=_option(
            "max_files_per_tick", _integer(1), WHOLE.format(1), "the most files of a stream that one batch reads"
        ),
    )
    idle_us: Micros = field(
        default=10 * SECOND, metadata=_duration("idle", "a live stream that is silent for so long holds nobody up")
    )
    max_ahead_us: Micros = field(
        default=UNITS_US["DAY"],
        metadata=_duration("max_ahead", "a row further than this after the wall clock is a dead letter"),
    )
    earliest: Micros = field(
        default=instant_us("1900-01-01"),
        metadata=_option("earliest", instant_us, INSTANT, "a row with an event time before this is a dead letter"),
    )
    after_read: AfterRead = field(
        default="keep", metadata=_choice("after_read", AfterRead, "what becomes of a file that was read and committed")
    )
    sharing: bool = field(
        default=True, metadata=_option("sharing", _switch, ON_OFF, "off runs every query alone, for comparison")
    )
    cadence: CadenceMethod = field(
        default="auto",
        metadata=_choice("cadence", CadenceMethod, "how instants of SLIDE and FREQUENCY queries are brought together"),
    )
    window_merge: WindowMerge = field(
        default="auto",
        metadata=_choice(
            "window_merge",
            WindowMerge,
            "how windows are made: scan merges all panes of each, rows reads the rows of each again, for comparison",
        ),
    )
    placement: Placement = field(
        default="auto", metadata=_choice("placement", Placement, "where windows are evaluated")
    )
    qos: Qos = field(
        default="dynamic-sampling",
        metadata=_choice("qos", Qos, "what gives way when there is more to do than time"),
    )
    keep: float | None = field(
        default=None,
        metadata=_option("keep", _share, SHARE, "the share of rows that queries with QUALITY use without any load"),
    )
    max_answer_rows: int = field(
        default=1_000_000,
        metadata=_option("max_answer_rows", _integer(1), WHOLE.format(1), "the most rows of one answer of a row query"),
    )
    max_join_rows: int = field(
        default=1_000_000_000,
        metadata=_option(
            "max_join_rows", _integer(1), WHOLE.format(1),
            "the most rows that a join of a row query may make, or pairs that it may compare, for one answer",
        ),
    )  # fmt: skip
    anytime: Anytime = field(
        default="online",
        metadata=_choice(
            "anytime",
            Anytime,
            "how queries with ANSWERS share the cores: as they come, or by plans that are made for epochs",
        ),
    )
    epoch_us: Micros = field(
        default=300 * SECOND,
        metadata=_duration("epoch", "how long an epoch is, which is planned as a whole (anytime = epoch)"),
    )
    lead_us: Micros | None = field(
        default=None,
        metadata=_duration(
            "lead", "how long before its epoch a plan is made, less than an epoch; unless it is said, a tenth of it"
        ),
    )
    seed: int = field(
        default=0,
        metadata=_option("seed", _integer(0), WHOLE.format(0), "the key of all draws: another one, other worlds"),
    )
    rounds_kept: int = field(
        default=64,
        metadata=_option(
            "rounds_kept", _integer(0), WHOLE.format(0),
            "how many rounds of a window are kept, by panes, for windows that overlap with it; 0 keeps none",
        ),
    )  # fmt: skip
    closed_forms: bool = field(
        default=True,
        metadata=_option(
            "closed_forms", _switch, ON_OFF, "off answers everything uncertain by worlds, for comparison"
        ),
    )
    max_function_time_us: Micros = field(
        default=UNITS_US["MINUTE"],
        metadata=_duration("max_function_time", "how long a job may take that calls functions of Python over worlds"),
    )
    keep_answers_us: Micros = field(
        default=UNITS_US["DAY"],
        metadata=_duration("keep_answers", "how long the log keeps answers, and the ledger what they used"),
    )

    @property
    def plan_ahead_us(self) -> Micros:
        """How long before its epoch a plan is made.

        >>> Options().plan_ahead_us == 30 * SECOND, Options(lead_us=5).plan_ahead_us
        (True, 5)
        """
        return self.epoch_us // 10 if self.lead_us is None else self.lead_us


NOT_YET: Mapping[str, str] = {
    "advance": "how early idle time starts due work",
    "risk": "aversion to risk, from 0 (cost alone) to 1 (risk alone)",
    "adapt": "how often sharing among model queries is reconsidered",
}
"""Options of the language that nothing reads yet, and what they will mean."""
OPTION_NAMES: tuple[str, ...] = (*(f.metadata["name"] for f in fields(Options)), *NOT_YET)


def parse_options(values: Mapping[str, str]) -> Options:
    """Options from text, the defaults for those not named.

    Examples
    --------
    >>> parse_options({"tick": "500 ms", "sharing": "off"}).tick_us
    500000
    """
    known = {f.metadata["name"]: f for f in fields(Options)}
    read: dict[str, Any] = {}
    for name, text in values.items():
        key, word = name.strip().lower(), text.strip().lower()
        option = known.get(key)
        if key in NOT_YET:
            raise PlanError("plan.not-yet", f'option "{key}" is not there yet', detail=f"it will be {NOT_YET[key]}")
        if option is not None and word in option.metadata.get("not_yet", ()):
            raise PlanError(
                "plan.not-yet", f'value "{word}" of option "{key}" is not there yet',
                hint=f"it accepts {option.metadata['accepts']}",
            )
        if option is None:
            near = difflib.get_close_matches(name.lower(), OPTION_NAMES, n=3)
            raise ConfigError(
                "config.unknown-option",
                f'there is no option "{name}"',
                hint=f"did you mean {' or '.join(near)}?" if near else "options: " + ", ".join(OPTION_NAMES),
            )
        try:
            read[option.name] = option.metadata["read"](text)
        except (ValueError, KeyError, OverflowError):
            raise ConfigError(
                "config.bad-value",
                f'option "{option.metadata["name"]}" cannot be "{text}"',
                detail=option.metadata["meaning"],
                hint=f"it accepts {option.metadata['accepts']}",
            ) from None
    options = Options(**read)
    if options.plan_ahead_us >= options.epoch_us:
        raise ConfigError(
            "config.bad-value",
            f'option "lead" cannot be {span_text(options.plan_ahead_us)} where an epoch is '
            f"{span_text(options.epoch_us)}",
            detail="a plan is made after the epoch before it has begun",
            hint="give a lead that is shorter than the epoch, or make the epoch longer first",
        )
    return options
