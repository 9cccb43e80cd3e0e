"""The sources of a program: what waits in them, and what comes next of each."""

from __future__ import annotations

from collections.abc import Callable

from punctual.clock import Micros
from punctual.config import Options
from punctual.errors import FeedError
from punctual.plan.relation import Stream
from punctual.plan.source import FeedSource, FileSource, RateSource
from punctual.ports.feeds.feed import Backlog, Feed
from punctual.ports.feeds.file_reader import FileReader
from punctual.ports.feeds.files import FilesFeed
from punctual.ports.feeds.landed import LandedFeed
from punctual.ports.feeds.rate import RateFeed
from punctual.ports.feeds.slices import Slice


def feed_for(stream: Stream, options: Options, folder: str, *, live: bool) -> Feed:
    """The feed of a stream; ``folder`` is where rows from Python land."""
    columns = [(c.name, c.type) for c in stream.columns if c.derived is None]
    match stream.source:
        case FileSource(path, file_format, reader_options):
            reader = FileReader(columns, file_format, reader_options)
            return FilesFeed(path, reader, max_files=options.max_files_per_tick, after_read=options.after_read)
        case RateSource(rows, per_us, limit):
            if limit is None and not live:
                raise FeedError(
                    "feed.endless-rate",
                    f'stream "{stream.name}" never ends, so a run with --once would not either',
                    hint="say how many rows: FROM RATE 1000 PER SECOND LIMIT 60000 ROWS",
                )
            return RateFeed(rows, per_us, limit, live=live, timed=stream.event_time.lower() == "ts")
        case FeedSource():
            return LandedFeed(columns, folder, max_files=options.max_files_per_tick)
        case _:
            raise FeedError("feed.unknown-source", f'stream "{stream.name}" has a source that cannot be read')


class Sources:
    """The feeds of a program by the lower-case name of their stream.

    Every source was there when its stream was declared. ``patient`` says whether one that is not there now holds nobody
    up: in a live run. ``report`` is told so once, until the source is there again.
    """

    def __init__(self, report: Callable[[str], None], *, patient: bool) -> None:
        self.feeds: dict[str, Feed] = {}
        self._report = report
        self._patient = patient
        self._away: set[str] = set()

    def look(self, now: Micros) -> dict[str, Backlog]:
        """List every source: what waits, by stream."""
        return {name: self._look(name, feed, now) for name, feed in list(self.feeds.items())}

    def _look(self, name: str, feed: Feed, now: Micros) -> Backlog:
        try:
            backlog = feed.look(now)
        except FeedError as error:
            if not self._patient:
                raise
            if name not in self._away:
                self._report(f'stream "{name}" cannot be read for now: {error.fact}')
            self._away.add(name)
            return Backlog()
        self._away.discard(name)
        return backlog

    def plan(self, limit: int | None) -> dict[str, Slice]:
        """The next slice of every stream in which something waits, of what was listed last."""
        planned = {name: feed.plan(limit) for name, feed in self.feeds.items()}
        return {name: one for name, one in planned.items() if one is not None}
