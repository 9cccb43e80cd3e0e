"""Rows whose rule breaks within a window: left out of its answer, counted in it, and here written to the dead letters.

Whether the rows of a rule add up to more than 1 is known only when a window is answered, and it may be so in many
windows and to many queries; a row is written once (equal rows, as often as they are there). What was written is known
from the dead letters themselves, also after a crash: they are durable before the answer that counts them.

A rule that was broken at the instant before has only its new rows to report; others are looked up among those written.
Rows that were no candidates are not kept, so where their rule breaks in a window, but not in a pane, nobody can show
them: one letter without a row says of the rule how many they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.clock import SECOND, Micros, iso
from punctual.kernel.panes.panes import Answered
from punctual.kernel.world.input.labels import numbered
from punctual.kernel.world.input.rows import SLACK
from punctual.kinds.job import Job
from punctual.kinds.memory import KindMemory, LettersWritten, RowLetter
from punctual.kinds.ranking.row_texts import row_text
from punctual.plan.ranking import Ranking
from punctual.plan.relation import Stream
from punctual.schedule.due import BEGINNING

REASON = "adds up to more than 1 within a window"
I64 = NDArray[np.int64]


class BrokenRules(KindMemory):
    """What was reported, and what is new."""

    def __init__(self, written: LettersWritten) -> None:
        self._read_written = written
        self._known: dict[tuple[str, str], tuple[int, str]] | None = None
        self._new: list[RowLetter] = []
        self._seen: dict[str, Micros] = {}
        """By query, the last instant whose broken rules were reported."""

    @property
    def _written(self) -> dict[tuple[str, str], tuple[int, str]]:
        """How often a row was written, and its event time, by stream and row; looked up when the first rule breaks."""
        if self._known is None:
            self._known = {}
            for one in self._read_written():
                if REASON in one.reason:
                    which = one.stream, one.row or _unseen_rule(one.reason)
                    self._known[which] = self._known.get(which, (0, ""))[0] + 1, one.event_time or ""
        return self._known

    def see(self, job: Job, answered: Answered, streams: Mapping[str, Stream]) -> None:
        query, instants = job.query, job.due.instants
        if not instants.size:
            return
        assert isinstance(query.body, Ranking)
        before = self._seen.get(query.name, BEGINNING)
        if before <= job.after:  # of a query that had its name and other windows
            before = BEGINNING
        self._seen[query.name] = int(instants[-1])
        if not len(answered.instant):
            return
        reports = _Reports(query.body, [streams[name.lower()] for name in query.streams], answered.values[0])
        former = np.concatenate([[before], instants[:-1]])[answered.instant]
        for window in reports.rows(former):
            for letter, times in Counter(window).items():
                self._add(letter, times)
        for letter in reports.unseen(instants[answered.instant]):
            self._add(letter, 1)

    def _add(self, letter: RowLetter, times: int) -> None:
        which = letter.stream, letter.row or _unseen_rule(letter.reason)
        written, _time = self._written.get(which, (0, ""))
        if times > written:
            self._written[which] = times, iso(letter.event_time)
            self._new += [letter] * (times - written)

    def letters(self) -> list[RowLetter]:
        letters, self._new = self._new, []
        return letters

    def forget(self, before: Micros) -> None:
        if before == BEGINNING or not self._known:
            return
        oldest = iso(before - SECOND)  # texts with and without a fraction compare by whole seconds
        self._known = {row: (times, time) for row, (times, time) in self._known.items() if time > oldest}


class _Reports:
    """What the answers of a query say of broken rules, window by window."""

    def __init__(self, body: Ranking, streams: Sequence[Stream], answers: pa.StructArray) -> None:
        self._streams = {stream.name: stream for stream in streams}
        self._kind = "key" if body.semantics == "STREAMS_EXCLUSIVE" else "rule"
        self._answers = answers

    def rows(self, former: I64) -> Iterator[list[RowLetter]]:
        """Rows that a window at the instant ``former`` cannot have reported."""
        lists = self._answers.field("broken")
        rows, window = lists.flatten(), np.repeat(np.arange(len(lists)), np.diff(lists.offsets.to_numpy()))
        if not len(rows):
            return
        fresh = np.flatnonzero(_fresh(rows, window, former[window]))
        found: dict[int, list[RowLetter]] = {}
        for row, number in zip(rows.take(pa.array(fresh)).to_pylist(), window[fresh].tolist()):
            stream = self._stream(row["r"], row.get("u"))
            reason = f"{self._name(row['r'], row.get('u'))} {REASON}"
            letter = RowLetter(stream.name.lower(), reason, row_text(stream, row), row["t"])
            found.setdefault(number, []).append(letter)
        yield from found.values()

    def unseen(self, instants: I64) -> Iterator[RowLetter]:
        """Rules whose rows nobody kept."""
        lists = self._answers.field("unseen")
        window = np.repeat(np.arange(len(lists)), np.diff(lists.offsets.to_numpy()))
        for rule, number in zip(lists.flatten().to_pylist(), window.tolist()):
            stream = self._stream(rule["r"], None)
            own = stream.name if len(self._streams) > 1 and self._kind == "rule" else None
            more = f"{rule['n']} of its rows were no candidates and are not kept"
            reason = f"{self._name(rule['r'], own)} {REASON}; {more}"
            yield RowLetter(stream.name.lower(), reason, None, int(instants[number]))

    def _stream(self, label: str, named: str | None) -> Stream:
        """The stream of a row; of a rule nobody kept, as its label begins where streams are united."""
        if named is None and len(self._streams) > 1 and self._kind == "rule":
            named = next((name for name in self._streams if label.startswith(f"{name}:")), None)
        return self._streams[named] if named is not None else next(iter(self._streams.values()))

    def _name(self, label: str, named: str | None) -> str:
        return f'{self._kind} "{label.removeprefix(f"{named}:") if self._kind == "rule" else label}"'


def _unseen_rule(reason: str) -> str:
    """The part of the reason that names the rule, whatever number of rows follows."""
    return reason.partition(REASON)[0]


def _fresh(rows: pa.StructArray, window: I64, former: I64) -> NDArray[np.bool_]:
    """Rows that a window at the instant ``former`` cannot have reported: they are new, or their rule broke since."""
    old = rows.field("t").to_numpy() <= former
    rule = window * (len(rows) + 1) + numbered(rows.field("r"))
    _rules, which = np.unique(rule, return_inverse=True)
    mass = np.bincount(which, np.where(old, rows.field("p").to_numpy(), 0.0))
    fresh: NDArray[np.bool_] = ~old | (mass <= 1 + SLACK)[which]
    return fresh
