"""Every ranking of the same rows from one pass: what queries that are due at one instant cost together.

Model
-----
A :class:`Wanted` is one ranking. Those that read ranks (PK, GLOBAL, PT, U_KRANKS, PRF, STREAMS) are requests to one
walk for the largest k: the polynomial that it keeps begins with that of every smaller k. STREAMS_EXCLUSIVE and
STREAMS_ALIKE have keys for rules, hence a walk of their own, which all of a kind share. Expected ranks are worked out
once, geometric weights once for each alpha, the likeliest vector once for each k.

With a *margin* m an answer goes on behind its first k rows: all rows follow whose value is at least the k-th best over
1 + m (expected ranks: at most its 1 + m fold), for those who let an answer change only where it clearly does. In PT the
threshold is divided. U_KRANKS and U_TOPK name rows by place, and know no margin.

Invariant: an answer has the same bits whatever else is wanted (see ``reading``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from punctual.errors import InternalError
from punctual.kernel.world.closed_forms import expected_ranks, prfe
from punctual.kernel.world.likeliest import u_topk
from punctual.kernel.world.rank_scan import EPS, checked_eps
from punctual.kernel.world.ranked import Ranked, best, checked_threshold, checked_weights, settled, without_residue
from punctual.kernel.world.requests import Request, Told, tell
from punctual.kernel.world.rows import F64, I64, UncertainRows, checked_k, ranked

EXCLUSIVE, ALIKE = "STREAMS_EXCLUSIVE", "STREAMS_ALIKE"
READ_RANKS = ("PK", "GLOBAL", "PT", "U_KRANKS", "PRF", "STREAMS", EXCLUSIVE, ALIKE)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One ranking.

    Attributes
    ----------
    semantics : str
        PK, GLOBAL, PT, U_KRANKS, U_TOPK, EXPECTED_RANK, PRF, PRFE, STREAMS, STREAMS_EXCLUSIVE or STREAMS_ALIKE.
    k : int
    numbers : tuple of float
        The threshold of PT, the weights of PRF, alpha of PRFE.
    margin : float
        How far behind the k-th value further rows may be, relatively.
    """

    semantics: str
    k: int
    numbers: tuple[float, ...] = ()
    margin: float = 0.0


def rank_together(
    prob: F64, rule: I64 | None, keys: I64 | None, wanted: Sequence[Wanted], *, eps: float = EPS
) -> list[Ranked]:
    """Answers over rows that are in rank order already; indexes are into these arrays.

    Parameters
    ----------
    prob : float64[n]
    rule : int64[n], optional
        Number of each row's rule, or -1.
    keys : int64[n], optional
        Number of each row's key, for the rankings of keys.
    eps : float
        The pass ends where fewer than k better rows exist with a probability of at most this one; no Pr_k moves by
        more.

    Raises
    ------
    WorldError

    Examples
    --------
    >>> prob = np.array([0.3, 0.4, 0.8])
    >>> both = rank_together(prob, None, None, [Wanted("PK", 2), Wanted("PK", 1)])
    >>> [answer.index.tolist() for answer in both]
    [[2, 1], [2]]
    """
    checked_eps(eps)
    answers: dict[Wanted, Ranked] = {}
    for walk in (None, EXCLUSIVE, ALIKE):
        own = [one for one in wanted if one.semantics in READ_RANKS and walk == _walk_of(one)]
        if own:
            answers |= from_ranks(_rows(prob, rule, keys, walk), own, keys, eps=eps)
    score, labels = _best_first(prob.size), _labels(rule)
    everything: dict[tuple[str, tuple[float, ...]], Ranked] = {}
    for one in wanted:
        match one.semantics:
            case "U_TOPK":
                answers[one] = u_topk(score, prob, labels, k=one.k)
            case "EXPECTED_RANK":
                if (one.semantics, ()) not in everything:
                    everything[one.semantics, ()] = expected_ranks(score, prob, labels, k=max(1, prob.size))
                answers[one] = cut(everything[one.semantics, ()], one.k, one.margin, ascending=True)
            case "PRFE":
                if (one.semantics, one.numbers) not in everything:
                    all_of_them = prfe(score, prob, labels, k=max(1, prob.size), alpha=one.numbers[0])
                    everything[one.semantics, one.numbers] = all_of_them
                answers[one] = cut(everything[one.semantics, one.numbers], one.k, one.margin)
            case other if other not in READ_RANKS:
                raise InternalError(f"no semantics {other}")
    return [answers[one] for one in wanted]


def from_ranks(
    rows: UncertainRows, wanted: Sequence[Wanted], keys: I64 | None = None, *, eps: float = EPS
) -> dict[Wanted, Ranked]:
    """Answers from one walk over rows without impossible ones; ``keys`` are those of the input."""
    requests = {one: _request(one) for one in wanted if one.semantics != "U_KRANKS"}
    deepest = max((checked_k(one.k) for one in wanted if one.semantics == "U_KRANKS"), default=0)
    number, best_rows = (None, None) if keys is None else _numbered_by_best_row(keys[rows.position])
    told = tell(rows, list(requests.values()), keys=number, ranks=deepest, eps=eps)
    answers = {one: _likely_at_ranks(rows, told, one.k) for one in wanted if one.semantics == "U_KRANKS"}
    for one, request in requests.items():
        if request.by_key:
            assert best_rows is not None
            places, values = best_rows, told.sums(request)
        else:
            places, values = told.choice(request)
            if request.weights:
                values = without_residue(values, np.array(request.weights))
        at_least = request.least / (1 + one.margin) if request.least else None
        every = best(_at(rows, places), values, None, at_least=at_least)
        answers[one] = every if request.least else cut(every, one.k, one.margin)
    return answers


def cut(every: Ranked, k: int, margin: float, *, ascending: bool = False) -> Ranked:
    """The first k, and behind them what is within the margin of the last of these."""
    count = checked_k(k)
    if margin and count < every.value.size:
        last = settled(np.array([abs(every.value[count - 1])]) * ((1 + margin) if ascending else 1 / (1 + margin)))
        sizes = settled(np.abs(every.value))
        count = max(count, int((sizes <= last if ascending else sizes >= last).sum()))
    return Ranked(every.index[:count], every.value[:count])


def _request(wanted: Wanted) -> Request:
    k, margin = checked_k(wanted.k), wanted.margin
    match wanted.semantics:
        case "PK" | "GLOBAL":
            return Request(k, best=k, margin=margin)
        case "PT":
            return Request(k, least=checked_threshold(wanted.numbers[0]), margin=margin)
        case "PRF":
            weights = tuple(checked_weights(wanted.numbers).tolist())
            return Request(len(weights), best=k, margin=margin, weights=weights)
        case "STREAMS" | "STREAMS_EXCLUSIVE" | "STREAMS_ALIKE":
            return Request(k, by_key=True)
    raise InternalError(f"{wanted.semantics} does not read ranks")


def _walk_of(wanted: Wanted) -> str | None:
    return wanted.semantics if wanted.semantics in (EXCLUSIVE, ALIKE) else None


def _rows(prob: F64, rule: I64 | None, keys: I64 | None, walk: str | None) -> UncertainRows:
    if walk is None:
        return ranked(_best_first(prob.size), prob, _labels(rule)).possible()
    assert keys is not None
    if walk == ALIKE:  # each row of a key is as likely
        prob = 1.0 / np.bincount(keys)[keys]
    return ranked(_best_first(prob.size), prob, _labels(keys)).possible()


def _best_first(size: int) -> I64:
    return np.arange(size, 0, -1)


def _labels(rule: I64 | None) -> pa.Array | None:
    return None if rule is None else pa.array(rule, mask=rule < 0)


def _numbered_by_best_row(keys: I64) -> tuple[I64, I64]:
    """Keys as numbers from 0 in the order of their best rows, and these rows."""
    _labels, first, which = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(first.size, np.int64)
    number[order] = np.arange(first.size)
    return number[which], first[order]


def _likely_at_ranks(rows: UncertainRows, told: Told, k: int) -> Ranked:
    value = told.readings.best_value[:k]
    likely = value > 0
    return Ranked(rows.position[told.readings.best_row[:k][likely]], value[likely])


def _at(rows: UncertainRows, places: I64) -> UncertainRows:
    """Some of the rows, as far as their order matters."""
    return UncertainRows(rows.size, rows.position[places], np.zeros(0), np.zeros(0, np.int64), 0)
