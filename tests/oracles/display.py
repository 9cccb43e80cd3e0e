"""A ranking on display, word by word as the documentation of STABLE has it: exact numbers, whole rankings, slow."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction

Entry = Hashable
Ranking = Sequence[tuple[Entry, Fraction]]


def following(
    former: Sequence[Entry],
    ranking: Ranking,
    margin: Fraction,
    *,
    k: int = 0,
    threshold: Fraction | None = None,
    ascending: bool = False,
) -> list[Entry]:
    """What is displayed after ``former``; the ranking is whole, best first."""
    worth = {entry: abs(value) for entry, value in ranking}

    def passes(one: Entry, other: Entry) -> bool:
        if ascending:
            return worth[one] * (1 + margin) < worth[other]
        return worth[one] > worth[other] * (1 + margin)

    def weakest(entries: list[Entry]) -> Entry:
        found = entries[-1]
        for entry in reversed(entries):
            if worth[entry] > worth[found] if ascending else worth[entry] < worth[found]:
                found = entry
        return found

    if threshold is not None:
        shown = [entry for entry in former if entry in worth and worth[entry] * (1 + margin) >= threshold]
        shown += [entry for entry, value in ranking if entry not in shown and value >= threshold]
    else:
        shown = [entry for entry in former if entry in worth]
        waiting = [entry for entry, _value in ranking if entry not in shown]
        while waiting and len(shown) < k:
            shown.append(waiting.pop(0))
        while waiting and shown and passes(waiting[0], weakest(shown)):
            shown.remove(weakest(shown))
            shown.append(waiting.pop(0))
    for start in range(len(shown)):
        place = start
        while place > 0 and passes(shown[place], shown[place - 1]):
            shown[place - 1], shown[place] = shown[place], shown[place - 1]
            place -= 1
    return shown
