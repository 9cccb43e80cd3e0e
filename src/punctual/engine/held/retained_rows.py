"""Where the retained rows of streams lie: files of the state, of which nothing is on the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from punctual.clock import SECOND, Micros
from punctual.engine.program.running_program import RunningProgram
from punctual.estimate.known_costs import StreamRate
from punctual.own_names import TIME
from punctual.plan.row_query import RowWindow
from punctual.runtime.operators.merge_rows import LastRows, MergeRows, MergeWork
from punctual.runtime.operators.window_rows import RetainedFile, WindowOrder
from punctual.schedule.due import BEGINNING
from punctual.store.manifest import Section
from punctual.store.products import Produced, RetainedRows

SMALL_BYTES = 4 << 20
"""Files below this are merged with others when batches are compacted; those above are named where they lie."""

Merge = Callable[[MergeRows], list[Produced]]


@dataclass(frozen=True, slots=True)
class RetainedStream:
    """What is retained of a stream: what its columns mean, and the last rows that windows by rows need."""

    meaning: str
    event_time: str
    last: tuple[LastRows, ...] = ()

    def need(self, window: RowWindow) -> LastRows:
        """What a window by rows needs, by the names of columns in files."""
        assert window.rows is not None, "a window by time"
        return LastRows(self._stored(window.columns), self._stored(window.keys), window.rows)

    def _stored(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(TIME if name == self.event_time else name for name in names)


def retained_streams(running: RunningProgram) -> dict[str, RetainedStream]:
    """What a program retains, by the names of streams in lower case."""
    found: dict[str, RetainedStream] = {}
    for name, meaning in running.retained_meanings().items():
        stream = RetainedStream(meaning, running.catalog.streams[name].event_time)
        most: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
        for _reader, window in running.plan.row_windows(name):
            if window.rows is not None:
                need = stream.need(window)
                most[need.columns, need.keys] = max(need.rows, most.get((need.columns, need.keys), 0))
        found[name] = replace(stream, last=tuple(LastRows(*which, rows) for which, rows in most.items()))
    return found


@dataclass(frozen=True, slots=True)
class _Held:
    """A section of rows."""

    section: Section
    product: RetainedRows
    file: RetainedFile

    def has(self, columns: Iterable[str]) -> bool:
        """Whether it is known to have all of these columns."""
        return set(columns) <= set(self.product.columns)

    def lacks(self, columns: Iterable[str]) -> bool:
        """Whether it is known that one of these is not there."""
        return bool(self.product.columns) and not self.has(columns)


class RetainedFiles:
    """Sections of retained rows by stream, for streams that row queries read.

    ``streams`` are these, by their names in lower case.
    """

    def __init__(self, streams: Mapping[str, RetainedStream], directory: str) -> None:
        self._streams = streams
        self._directory = directory
        self._held: dict[str, list[_Held]] = {name: [] for name in streams}
        self._horizons: dict[str, Micros] = dict.fromkeys(streams, BEGINNING)
        self._least: dict[str, Micros | None] = {}

    def __bool__(self) -> bool:
        """Whether there are any."""
        return any(self._held.values())

    def add(self, section: Section) -> None:
        """A committed section."""
        product = section.product
        assert isinstance(product, RetainedRows)
        stream = self._streams.get(product.stream)
        if stream is not None and stream.meaning == product.meaning:
            path = f"{self._directory}/{section.file}"
            least, greatest = product.least, product.greatest
            file = RetainedFile(path, section.offset, section.length, least, greatest, section.crc, section.rows)
            self._held[product.stream].append(_Held(section, product, file))

    def window(self, window: RowWindow, at: Micros) -> WindowOrder:
        """The rows of a window of a query at an instant."""
        name, through = window.stream.lower(), at - window.back_us
        held = self._held[name]
        if window.range_us is not None:
            after = at - window.reach_us
        else:
            need = self._streams[name].need(window)
            after = BEGINNING if need.keys else max(_reached(held, need, through) - 1, BEGINNING)
        files = tuple(one.file for one in held if one.file.greatest > after and one.file.least <= through)
        return WindowOrder(files, after, through, window.rows, window.keys)

    def rows_between(self, window: RowWindow, after: Micros, through: Micros) -> tuple[WindowOrder, int, int]:
        """The rows of ``(after, through]`` that a window may have, at least how many there are, and at most."""
        columns = self._streams[window.stream.lower()].need(window).columns
        held = [one for one in self._held[window.stream.lower()] if one.has(columns)]
        some = [one for one in held if one.file.greatest > after and one.file.least <= through]
        whole = [one for one in some if one.file.least > after and one.file.greatest <= through]
        least, most = (sum(one.section.rows for one in several) for several in (whole, some))
        return WindowOrder(tuple(one.file for one in some), after, through), least, most

    def begin(self, least: Mapping[str, Micros | None]) -> None:
        """The smallest event time of each stream so far, by name in lower case."""
        self._least = dict(least)

    def least(self, streams: Iterable[str]) -> Micros:
        """The smallest event time of these streams: before it nobody was answered."""
        known = [at for name in streams if (at := self._least.get(name.lower())) is not None]
        return min(known, default=BEGINNING)

    @staticmethod
    def rows_of(order: WindowOrder) -> float:
        """About how many rows a window has, as if those of a file were spread evenly over its time."""
        found = sum(
            file.rows
            * (min(file.greatest, order.through) - max(file.least - 1, order.after))
            / (file.greatest - file.least + 1)
            for file in order.files
        )
        return found if order.rows is None or order.keys else min(found, float(order.rows))

    def rates(self) -> dict[str, StreamRate]:
        """How fast rows of each stream came, as far as they are held."""
        found = {}
        for name, held in self._held.items():
            rows = sum(one.section.rows for one in held)
            if rows:
                seconds = (max(one.file.greatest for one in held) - min(one.file.least for one in held)) / SECOND
                size = sum(one.section.length for one in held)
                found[name] = StreamRate(rows / max(seconds, 1.0), size / rows)
        return found

    def drop(self, horizons: Mapping[str, Micros]) -> None:
        """Forget files whose rows are all at or before the horizon of their stream, and no window by rows needs."""
        for name, before in horizons.items():
            held = self._held[name]
            needs = [(need, self._first_needed(held, need, before)) for need in self._streams[name].last]
            self._held[name] = [
                one
                for one in held
                if one.file.greatest > before
                or any(one.file.greatest >= first and not one.lacks(need.columns) for need, first in needs)
            ]
            self._horizons[name] = before

    @staticmethod
    def _first_needed(held: Sequence[_Held], need: LastRows, before: Micros) -> Micros:
        """Rows at or after this may be among those that are needed of the past; of keys nothing is known by file."""
        return BEGINNING if need.keys else _reached(held, need, before)

    def export(self, folder: Callable[[], str], merge: Merge) -> list[Produced]:
        """All files for a base: small ones merged into new files of the folder, others where they lie.

        Where windows by rows need some of the past, large files of it are sifted as well, once there is more of the
        past than was sifted before: then about as many rows are written again as have come since.
        """
        found: list[Produced] = []
        works: list[MergeWork] = []
        for name, held in self._held.items():
            before, last = self._horizons[name], self._streams[name].last
            small = [one for one in held if one.section.length < SMALL_BYTES]
            chosen = small if len(small) > 1 else []
            if last:
                chosen = _unsifted(held, before, chosen)
            if chosen:
                works.append(MergeWork(name, tuple(one.file for one in chosen), before, folder(), last))
            merged_away = {one.file for one in chosen}
            kept = [one for one in held if one.file not in merged_away]
            found += [Produced(one.product, one.section.rows, one.file.path) for one in kept]
        for merged in merge(MergeRows(tuple(works))) if works else ():
            rows = merged.product
            assert isinstance(rows, RetainedRows)
            product = msgspec.structs.replace(rows, meaning=self._streams[rows.stream].meaning)
            found.append(replace(merged, product=product))
        return found


def _reached(held: Iterable[_Held], need: LastRows, through: Micros) -> Micros:
    """From this time on, files hold as many rows at or before ``through`` as are needed; BEGINNING where none do.

    Only files that lie wholly before it are counted, from the youngest on: what else there is can only add to them.
    """
    left = need.rows
    counted = [one for one in held if one.file.greatest <= through and one.has(need.columns)]
    for one in sorted(counted, key=lambda one: -one.file.least):
        left -= one.section.rows
        if left <= 0:
            return one.file.least
    return BEGINNING


def _unsifted(held: Sequence[_Held], before: Micros, small: list[_Held]) -> list[_Held]:
    """The files to merge where windows by rows need some of the past."""
    past = [one for one in held if one.file.greatest <= before]
    fresh = [one for one in past if not one.product.sifted]
    rows, sifted = (sum(one.section.rows for one in some) for some in (fresh, [o for o in past if o.product.sifted]))
    return list({one.file: one for one in (*small, *past)}.values()) if fresh and 2 * rows >= sifted else small
