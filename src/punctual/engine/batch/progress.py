"""How far a stream has come: counters, extremes, and what is complete. Kept in every batch's manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from punctual.clock import Micros
from punctual.kinds.shed_span import ShedSpan
from punctual.ports.feeds.slices import Slice
from punctual.schedule.due import BEGINNING
from punctual.schedule.stages.open_instants import OpenInstants
from punctual.store.products import Facts
from punctual.store.store import Store


@dataclass(frozen=True, slots=True)
class Progress:
    """One stream after a batch.

    ``through``: the stream is complete through this instant; rows at or before it are late.
    ``least`` and ``greatest``: smallest and largest event time accepted so far.
    """

    through: Micros = BEGINNING
    least: Micros | None = None
    greatest: Micros | None = None
    accepted: int = 0
    late: int = 0
    dead: int = 0
    shed: int = 0
    """Rows that were not read at all, so that nothing else is known of them: they are none of the others."""

    def after(self, facts: Facts, watermark_us: Micros) -> Progress:
        """The progress after a batch with these facts."""
        least = [t for t in (self.least, facts.least) if t is not None]
        greatest = [t for t in (self.greatest, facts.greatest) if t is not None]
        new = replace(
            self,
            least=min(least, default=None),
            greatest=max(greatest, default=None),
            accepted=self.accepted + facts.accepted,
            late=self.late + facts.late,
            dead=self.dead + facts.dead,
            shed=self.shed + facts.shed,
        )
        if new.greatest is None:
            return new
        return new.complete(new.greatest - watermark_us - 1)

    def complete(self, through: Micros) -> Progress:
        """Complete through this instant too; completeness never goes back."""
        return replace(self, through=max(self.through, through))


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What a batch reads, by stream, and how far ahead of the wall clock a row may be.

    ``shares`` has the streams of which only a share of the rows is read, in ten-thousandths. A batch that is read again
    after a crash sheds the same rows, unless the program has become one that accepts less of that.
    """

    slices: Mapping[str, Slice]
    horizon: Micros
    shares: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """What a manifest says of its batch, and a base of all batches that it stands for.

    ``slices`` are what was read of each stream; ``tables`` are checksums of the static tables; ``wall`` is when it was
    committed. ``added`` counts, for a base, the dead letters that were found when its batches were answered. ``lag_us``
    says how long the oldest rows of each stream waited to be read, where time counts. ``shares`` has the streams
    that were shed, and ``shed_rows`` is how many rows of each were not read. Where it has rows of a stream that was
    shed before, those that were shed are at or before ``shed_through``; ``sheds`` says, for a base, where those of its
    batches may be. ``opened`` are, for a base, the instants of its batches that wait for further answers.
    """

    progress: Mapping[str, Progress]
    tables: Mapping[str, str]
    wall: Micros
    slices: Mapping[str, Slice] = field(default_factory=dict)
    added: Mapping[str, int] = field(default_factory=dict)
    lag_us: Mapping[str, Micros] = field(default_factory=dict)
    shares: Mapping[str, int] = field(default_factory=dict)
    shed_rows: Mapping[str, int] = field(default_factory=dict)
    shed_through: Mapping[str, Micros] = field(default_factory=dict)
    sheds: Mapping[str, tuple[ShedSpan, ...]] = field(default_factory=dict)
    opened: tuple[OpenInstants, ...] = ()


def committed(store: Store) -> dict[str, Progress]:
    """Every stream as of the last commit; dead letters that were found later are those of :func:`added_letters`."""
    manifests = store.manifests()
    newest = manifests[-1] if manifests else store.base()
    if newest is None:
        return {}
    return dict(newest.read(BatchRecord).progress)


def added_letters(store: Store) -> dict[str, int]:
    """By stream, how many dead letters were found when batches were answered: after their manifests were written."""
    base = store.base()
    before = Counter(base.read(BatchRecord).added if base is not None else {})
    named = [manifest.dead for manifest in store.manifests()]
    added = store.letters.added(-1 if base is None else base.batch, named)
    return dict(before + Counter(letter.stream for letter in added))


def joint(progress: Mapping[str, Progress], streams: Sequence[str]) -> Progress:
    """How far streams have come together: complete through what all of them are complete through."""
    if len(streams) == 1:
        return progress.get(streams[0].lower(), Progress())
    parts = [progress.get(name.lower(), Progress()) for name in streams]
    return Progress(
        min(part.through for part in parts),
        min((part.least for part in parts if part.least is not None), default=None),
        max((part.greatest for part in parts if part.greatest is not None), default=None),
        sum(part.accepted for part in parts),
        sum(part.late for part in parts),
        sum(part.dead for part in parts),
        sum(part.shed for part in parts),
    )


def end_of_input(progress: Mapping[str, Progress], together: Iterable[Sequence[str]]) -> dict[str, Micros]:
    """Where every stream is complete once there are no more rows: its largest event time, and that of the streams
    that some query reads with it (``together``)."""
    ends = {name: p.greatest for name, p in progress.items() if p.greatest is not None}
    own = dict(ends)
    for streams in together:
        names = [name.lower() for name in streams]
        last = max((own[name] for name in names if name in own), default=None)
        if last is not None:
            ends |= {name: max(last, ends.get(name, last)) for name in names}
    return ends
