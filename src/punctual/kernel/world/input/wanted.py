"""One ranking that somebody wants, and what may be wanted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from punctual.kernel.world.input.columns import shown
from punctual.kernel.world.input.quantities import checked_alpha, checked_k, checked_threshold, checked_weights, number
from punctual.kernel.world.input.rows import WorldError

EXCLUSIVE, ALIKE = "STREAMS_EXCLUSIVE", "STREAMS_ALIKE"
OF_KEYS = ("STREAMS", EXCLUSIVE, ALIKE)
READ_RANKS = ("PK", "GLOBAL", "PT", "U_KRANKS", "PRF", *OF_KEYS)
SEMANTICS = (*READ_RANKS, "U_TOPK", "EXPECTED_RANK", "PRFE")


@dataclass(frozen=True, slots=True)
class Wanted:
    """One ranking.

    Attributes
    ----------
    semantics : str
        PK, GLOBAL, PT, U_KRANKS, U_TOPK, EXPECTED_RANK, PRF, PRFE, STREAMS, STREAMS_EXCLUSIVE or STREAMS_ALIKE.
    k : int
    numbers : tuple of float
        The threshold of PT, the weights of PRF, alpha of PRFE; others need none.
    margin : float
        How far behind the k-th value further rows may be, relatively.
    """

    semantics: str
    k: int
    numbers: tuple[float, ...] = ()
    margin: float = 0.0


def checked(wanted: object) -> Wanted:
    """A ranking that means something.

    >>> checked(Wanted("PT", 3, [0.5]))
    Wanted(semantics='PT', k=3, numbers=(0.5,), margin=0.0)
    """
    if not isinstance(wanted, Wanted):
        raise WorldError(
            "world.bad-semantics", f"{shown(wanted)} is no ranking", hint='say what is wanted as Wanted("PK", 10)'
        )
    if wanted.semantics not in SEMANTICS:
        raise WorldError(
            "world.bad-semantics", f"there are no semantics {shown(wanted.semantics)}",
            hint=f"ask for one of {', '.join(SEMANTICS)}",
        )  # fmt: skip
    margin = number(wanted.margin, "world.bad-margin", "the margin")
    if not 0 <= margin < inf:
        raise WorldError("world.bad-margin", f"the margin is {margin}; it is at least 0, and finite")
    numbers: tuple[float, ...] = ()
    match wanted.semantics:
        case "PT":
            numbers = (checked_threshold(_first(wanted, "world.bad-threshold", "threshold")),)
        case "PRFE":
            numbers = (checked_alpha(_first(wanted, "world.bad-alpha", "alpha")),)
        case "PRF":
            numbers = tuple(checked_weights(wanted.numbers).tolist())
    return Wanted(wanted.semantics, checked_k(wanted.k), numbers, margin)


def _first(wanted: Wanted, code: str, name: str) -> object:
    given: object = wanted.numbers
    for one in given if isinstance(given, Iterable) and not isinstance(given, str) else ():
        return one
    raise WorldError(code, f"{wanted.semantics} has no {name}", hint=f"give its {name} as numbers=(0.5,)")
