"""Every ranking of the same rows from one pass: what queries that are due at one instant cost together.

Model
-----
A ``Wanted`` is one ranking. Those that read ranks (PK, GLOBAL, PT, U_KRANKS, PRF, STREAMS) are requests to one walk
for the largest k: the polynomial that it keeps begins with that of every smaller k. STREAMS_EXCLUSIVE and
STREAMS_ALIKE have keys for rules, hence a walk of their own, which all of a kind share. Expected ranks are worked out
once, geometric weights once for each alpha, the likeliest vector once for each k.

With a *margin* m an answer goes on behind its first k rows: all rows follow whose value is at least the k-th best over
1 + m (expected ranks: at most its 1 + m fold), for those who let an answer change only where it clearly does. In PT the
threshold is divided. U_KRANKS and U_TOPK name rows by place, and know no margin.

Invariant: an answer has the same bits whatever else is wanted (see ``walk_input``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from punctual.errors import InternalError
from punctual.kernel.world.closed_forms import expected_ranks_of, prfe_of
from punctual.kernel.world.input.labels import small_numbers
from punctual.kernel.world.input.quantities import probabilities
from punctual.kernel.world.input.rows import F64, I64, Column, UncertainRows, WorldError, in_rank_order
from punctual.kernel.world.input.wanted import ALIKE, EXCLUSIVE, OF_KEYS, READ_RANKS, Wanted, checked
from punctual.kernel.world.likeliest import u_topk_of
from punctual.kernel.world.rank_walk import EPS, checked_eps
from punctual.kernel.world.ranked import Ranked, largest_first, reaches, without_residue
from punctual.kernel.world.requests import Request, WalkResult, walk_for
from punctual.kernel.world.steady import near


def rank_together(
    prob: Column, rule: Column | None, keys: Column | None, wanted: Sequence[Wanted], *, eps: float = EPS
) -> list[Ranked]:
    """Answers over rows that are in rank order already; indexes are into these columns.

    Parameters
    ----------
    prob : numbers in [0, 1]
    rule : whole numbers, optional
        Number of each row's rule; a row of a number below 0 has none.
    keys : whole numbers, optional
        Number of each row's key, for the rankings of keys; all below 0 are one.
    eps : float
        The pass ends where fewer than k better rows exist with a probability of at most this one; no Pr_k moves by
        more.

    Raises
    ------
    WorldError

    Examples
    --------
    >>> both = rank_together([0.3, 0.4, 0.8], None, None, [Wanted("PK", 2), Wanted("PK", 1)])
    >>> [answer.index.tolist() for answer in both]
    [[2, 1], [2]]
    """
    eps, probs, asked = checked_eps(eps), probabilities(prob), [checked(one) for one in wanted]
    rules = None if rule is None else small_numbers(rule, probs.size, "rules")
    of_keys = None if keys is None else small_numbers(keys, probs.size, "keys")
    if of_keys is not None:  # no key is a key like any other
        of_keys = np.where(of_keys < 0, of_keys.max(initial=-1) + 1, of_keys)
    answers: dict[Wanted, Ranked] = {}
    for walk in (None, EXCLUSIVE, ALIKE):
        own = [one for one in asked if one.semantics in READ_RANKS and walk == _walk_of(one)]
        if own:
            answers |= from_ranks(_rows(probs, rules, _needed_keys(of_keys, own), walk), own, of_keys, eps=eps)
    others = [one for one in asked if one.semantics not in READ_RANKS]
    if others:
        answers |= _by_themselves(in_rank_order(probs, rules), others)
    return [answers[one] for one in asked]


def _needed_keys(keys: I64 | None, wanted: Sequence[Wanted]) -> I64 | None:
    if keys is None and (missing := [one.semantics for one in wanted if one.semantics in OF_KEYS]):
        raise WorldError(
            "world.no-keys", f"{missing[0]} ranks keys, and there are none", hint="give the number of each row's key"
        )
    return keys


def _by_themselves(rows: UncertainRows, wanted: Sequence[Wanted]) -> dict[Wanted, Ranked]:
    """Rankings that read no ranks."""
    answers: dict[Wanted, Ranked] = {}
    everything: dict[tuple[str, tuple[float, ...]], Ranked] = {}
    for one in wanted:
        which = (one.semantics, one.numbers)
        match one.semantics:
            case "U_TOPK":
                answers[one] = u_topk_of(rows.possible(), one.k)
            case "EXPECTED_RANK":
                if which not in everything:
                    everything[which] = expected_ranks_of(rows, None)
                answers[one] = _first(everything[which], one, ascending=True)
            case "PRFE":
                if which not in everything:
                    everything[which] = prfe_of(rows.possible(), None, one.numbers[0])
                answers[one] = _first(everything[which], one)
            case other:
                raise InternalError(f"no semantics {other}")
    return answers


def _first(every: Ranked, wanted: Wanted, *, ascending: bool = False) -> Ranked:
    """The first k, and with a margin what is near behind them."""
    if wanted.margin:
        return near(every, wanted.k, wanted.margin, ascending=ascending)
    return Ranked(every.index[: wanted.k], every.value[: wanted.k])


def from_ranks(
    rows: UncertainRows, wanted: Sequence[Wanted], keys: I64 | None = None, *, eps: float = EPS
) -> dict[Wanted, Ranked]:
    """Answers from one walk over rows without impossible ones; ``keys`` are those of the input. All is checked."""
    requests = _requests([one for one in wanted if one.semantics != "U_KRANKS"])
    deepest = max((one.k for one in wanted if one.semantics == "U_KRANKS"), default=0)
    number, best_rows = (None, None) if keys is None else _numbered_by_best_row(keys[rows.position])
    result = walk_for(rows, list(requests.values()), keys=number, ranks=deepest, eps=eps)
    answers = {one: _likely_at_ranks(rows, result, one.k) for one in wanted if one.semantics == "U_KRANKS"}
    for one, request in requests.items():
        if request.by_key:
            assert best_rows is not None
            places, values = best_rows, result.sums(request)
        else:
            places, values = result.choice(request)
        if request.weights:
            values = without_residue(values, rows.prob[places], np.array(request.weights))
        if one.semantics in (EXCLUSIVE, ALIKE):  # a rule may be more than 1 by as much as is forgiven
            values = np.minimum(values, 1.0)
        if request.least:
            kept = reaches(values, request.least / (1 + one.margin))
            places, values = places[kept], values[kept]
        elif request.by_key or request.weights:
            places, values = places[values != 0], values[values != 0]
        order = largest_first(np.abs(values) if request.weights else values)
        if not one.margin and not request.least:
            order = order[: one.k]
        every = Ranked(rows.position[places[order]], values[order])
        answers[one] = every if request.least else _first(every, one)
    return answers


def _requests(wanted: Sequence[Wanted]) -> dict[Wanted, Request]:
    """Of each ranking its request; those of equal weights share the one that asks for most."""
    requests = {one: _request(one) for one in wanted}
    most: dict[tuple[float, ...], Request] = {}
    for request in requests.values():
        if request.weights:
            other = most.get(request.weights, request)
            best, margin = max(request.best, other.best), max(request.margin, other.margin)
            most[request.weights] = replace(request, best=best, margin=margin)
    return {one: most.get(request.weights, request) for one, request in requests.items()}


def _request(wanted: Wanted) -> Request:
    k, margin = wanted.k, wanted.margin
    match wanted.semantics:
        case "PK" | "GLOBAL":
            return Request(k, best=k, margin=margin)
        case "PT":
            return Request(k, least=wanted.numbers[0], margin=margin)
        case "PRF":
            return Request(len(wanted.numbers), best=k, margin=margin, weights=wanted.numbers)
        case "STREAMS" | "STREAMS_EXCLUSIVE" | "STREAMS_ALIKE":
            return Request(k, by_key=True)
    raise InternalError(f"{wanted.semantics} does not read ranks")


def _walk_of(wanted: Wanted) -> str | None:
    return wanted.semantics if wanted.semantics in (EXCLUSIVE, ALIKE) else None


def _rows(prob: F64, rule: I64 | None, keys: I64 | None, walk: str | None) -> UncertainRows:
    if walk is None:
        return in_rank_order(prob, rule).possible()
    assert keys is not None
    if walk == ALIKE:  # each row of a key is as likely
        prob = 1.0 / np.bincount(keys)[keys]
    return in_rank_order(prob, keys).possible()


def _numbered_by_best_row(keys: I64) -> tuple[I64, I64]:
    """Keys as numbers from 0 in the order of their best rows, and these rows."""
    _labels, first, which = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(first.size, np.int64)
    number[order] = np.arange(first.size)
    return number[which], first[order]


def _likely_at_ranks(rows: UncertainRows, result: WalkResult, k: int) -> Ranked:
    value = result.readings.best_value[:k]
    likely = value > 0
    return Ranked(rows.position[result.readings.best_row[:k][likely]], value[likely])
