"""Folds that are kept for windows to come: the first rounds of panes, in memory, by who needs them.

What is kept follows from its name alone, a digest of all that it is made of, so it is never wrong, and whatever is
missing is drawn again from rows: after a restart everything is.
"""

from __future__ import annotations

from dataclasses import dataclass

from punctual.kernel.draw.folds import Fold
from punctual.kernel.draw.kept.pane_folds import fold_bytes, in_turn, rounds_of

MOST_BYTES = 64 << 20
"""Of all that is kept."""
Name = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """Rounds 0 up to and without ``rounds`` of some cells, and the last instant whose window has them."""

    fold: Fold
    rounds: int
    until: int


class KeptFolds:
    """The first ``rounds`` rounds of panes."""

    def __init__(self, rounds: int, most_bytes: int = MOST_BYTES) -> None:
        self.rounds = rounds
        self._most_bytes = most_bytes
        self._kept: dict[str, dict[Name, _Kept]] = {}
        self.bytes = 0
        """How much is kept."""
        self.found = 0
        """How often something was there."""

    def begin(self, owner: str, at: int) -> None:
        """A window of this instant is next: what neither it nor a later one has is dropped."""
        own = self._kept.pop(owner, {})
        self._kept[owner] = own  # the last one who was here is the last one who has to make room
        for name in [name for name, one in own.items() if one.until < at]:
            self.bytes -= fold_bytes(own.pop(name).fold)

    def get(self, owner: str, name: Name, rounds: range) -> Fold | None:
        """What is kept of these rounds, if all of them are."""
        one = self._kept.get(owner, {}).get(name)
        if one is None or one.rounds < rounds.stop:
            return None
        self.found += 1
        return rounds_of(one.fold, rounds.start, rounds.stop)

    def put(self, owner: str, name: Name, rounds: range, fold: Fold, until: int) -> None:
        """Keep these rounds, if they go on where those end that are kept, and there is room."""
        own = self._kept.setdefault(owner, {})
        before = own.get(name)
        known = 0 if before is None else before.rounds
        if rounds.start > known or rounds.stop <= known:
            return
        fold = rounds_of(fold, known - rounds.start, len(rounds))
        if before is not None:
            fold = in_turn(before.fold, known, fold, rounds.stop - known)
        more = fold_bytes(fold) - (0 if before is None else fold_bytes(before.fold))
        while self.bytes + more > self._most_bytes and (oldest := next(iter(self._kept))) != owner:
            self._forget(oldest)
        if self.bytes + more <= self._most_bytes:
            self.bytes += more
            own[name] = _Kept(fold, rounds.stop, until)

    def only(self, owners: frozenset[str]) -> None:
        """Forget what belongs to others."""
        for owner in self._kept.keys() - owners:
            self._forget(owner)

    def _forget(self, owner: str) -> None:
        self.bytes -= sum(fold_bytes(one.fold) for one in self._kept.pop(owner).values())
