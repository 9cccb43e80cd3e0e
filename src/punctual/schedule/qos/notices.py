"""When queries begin to give way, and when they use everything again: for people and for the ledger, once each.

A load that comes and goes within seconds is one stretch of giving way, not many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from punctual.clock import SECOND, Micros

CALM_US: Micros = 10 * SECOND
"""So long nothing gives way before it is said that all is well."""


ALL_BUT_ONE = 0.995
"""A level that would be said to be 1: then only what is late whatever is done gives way, as where the level is 0."""

DUE = "what is due does not fit before its deadlines"
MISSED = "answers were late"
FITS_AGAIN = "everything fits again"


@dataclass(frozen=True, slots=True)
class Notice:
    """Giving way begins or ends: a line for people, and the level and the reason as the ledger has them."""

    text: str
    level: float | None
    why: str


@dataclass(frozen=True, slots=True)
class GivingWay:
    """Since when something gives way, and when it last did, by the steady clock; None where nothing does."""

    since: Micros | None = None
    last: Micros = 0
    lowest: float = 1.0

    def after(
        self, steady: Micros, level: float | None, load: str, why: str, *, gave_way: bool
    ) -> tuple[GivingWay, Notice | None]:
        """The same with one more pass, and what is to be said of it, if anything.

        ``load`` says how much there is to do, ``why`` what makes queries give way at all.

        >>> state, said = GivingWay().after(0, 0.8, "there is too much", DUE, gave_way=True)
        >>> said.text, said.level, said.why == DUE
        ('answers give way, to a quality of 0.80: there is too much', 0.8, True)
        >>> state, said = state.after(5_000_000, 0.6, "there is too much", DUE, gave_way=True)
        >>> said is None, state.after(9_000_000, 1.0, "", DUE, gave_way=False)[1] is None
        (True, True)
        >>> state, said = state.after(20_000_000, 1.0, "", DUE, gave_way=False)
        >>> state, said.text
        (GivingWay(since=None, last=0, lowest=1.0), 'all answers use everything again, after 5 s of down to 0.60')
        """
        if gave_way:
            what = "answers give way"
            if level is not None and (level >= ALL_BUT_ONE or level == 0.0):
                what, level = "late answers give way, to the least that they accept", 0.0
            elif level is not None:
                what = f"answers give way, to a quality of {level:.2f}"
            lowest = self.lowest if level is None else min(self.lowest, level)
            if self.since is not None:
                return replace(self, last=steady, lowest=lowest), None
            return GivingWay(steady, steady, lowest), Notice(f"{what}: {load}", level, why)
        if self.since is None or steady - self.last < CALM_US:
            return self, None
        lasted = (self.last - self.since) // SECOND
        far = f" of down to {self.lowest:.2f}" if self.lowest < 1.0 else ""
        return GivingWay(), Notice(f"all answers use everything again, after {lasted} s{far}", level, FITS_AGAIN)
