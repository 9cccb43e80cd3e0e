"""Uncertain rows of a pane, so that panes can be merged and a window ranked.

Model
-----
A cell keeps its rows as a list in rank order: by score, then event time, then the tie columns in declared order, then
the rest of the row, so that equal sets of rows are equal lists. Rows without a score have no rank and are not kept.
With a ``k`` only candidates stay (:mod:`punctual.kernel.world.candidates`): no probability of the first k ranks moves
by more than 1e-18, and a ranking cuts everything below that anyway. Without one (expected ranks, U-topk) all stay.

State: ``rows``, a list of structs with ``t`` (event time), ``s``, ``p``, ``r`` (score, probability, rule), ``tie0``,
... and ``x0``, ``x1``, ... (what queries select).

A rule is judged within a window: where its mass exceeds 1 its rows are left out of that answer and counted. Whether
they will be is not known when a pane is cut, so only rows without a rule may push others out: by the same lemma, since
rows with rules only add to those above.

Cost: a sort of the rows a merge; a Python call for every list that is long enough to cut, and for every window ranked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.errors import InternalError
from punctual.kernel.window.order import ranks
from punctual.kernel.window.ragged import lists_of, offsets_of, take_lists
from punctual.kernel.window.rangefold import fold
from punctual.kernel.window.state import I64, State, as_type
from punctual.kernel.world.answers import pk_topk, prf, pt_k, u_kranks
from punctual.kernel.world.candidates import candidates
from punctual.kernel.world.closed_forms import expected_ranks, prfe
from punctual.kernel.world.likeliest import u_topk
from punctual.kernel.world.near import ranking_of_keys_with_near, ranking_with_near
from punctual.kernel.world.ranked import Ranked
from punctual.kernel.world.rows import SLACK, numbered
from punctual.kernel.world.streams import topk_streams, topk_streams_exclusive

WORTH_CUTTING = 4
"""A list is cut to candidates once it is so many times as long as k."""
FIRST = ("t", "s", "p", "r")
UNKNOWN = pa.struct([("s", pa.float64()), ("p", pa.float64()), ("r", pa.string())])


class WorldRows:
    """The rows of a cell, or its candidates for the k best.

    Parameters
    ----------
    k : int
        The largest k of all queries; 0 keeps every row.
    ascending : int
        1 where lower scores are better.
    """

    kind = "world"

    def __init__(self, k: int, ascending: int) -> None:
        self.k = k
        self.ascending = bool(ascending)

    def lift(self, cell: I64, cells: int, argument: pa.Array | None, times: I64, ties: Sequence[pa.Array]) -> State:
        if argument is None:
            raise InternalError("a ranking needs its rows")
        if not pa.types.is_struct(argument.type):  # no rows yet, of a type that nobody knows
            argument = pa.array([], UNKNOWN)
        fields = {field.name: column for field, column in zip(argument.type, argument.flatten())}
        columns = {"t": pa.array(times), **{name: fields[name] for name in ("s", "p", "r")}}
        columns |= {f"tie{i}": column for i, column in enumerate(ties)}
        columns |= {name: column for name, column in fields.items() if name not in FIRST}
        items = pa.StructArray.from_arrays(list(columns.values()), names=list(columns))
        kept = np.flatnonzero(_has_rank(columns["s"]))
        order = kept[np.argsort(cell[kept], kind="stable")]
        offsets = offsets_of(np.bincount(cell[kept], minlength=cells))
        return self._tidy(offsets, items.take(pa.array(order)))

    def combine(self, state: State, starts: I64, ends: I64) -> State:
        def merge(some: State, members: I64, offsets: I64) -> State:
            return self._tidy(*take_lists(some["rows"], members, offsets))

        return fold(state, starts, ends, merge)

    def finish(
        self, function: str, parameters: tuple[Any, ...], state: State, result_type: pa.DataType | None
    ) -> tuple[pa.Array, pa.Array | None]:
        """For each list a struct: ``rows`` (the selected columns, ``value`` and ``rank``) and ``rejected``.

        ``parameters``: semantics, k, whether lower scores are better, the margin of STABLE (0 without it: with one the
        rows have near misses behind them), then the numbers of the semantics.
        """
        if function != "top":
            raise InternalError(f"function {function} does not read the synopsis world")
        semantics, k, _ascending, margin, *numbers = parameters
        lists = state["rows"]
        bounds = lists.offsets.to_numpy()
        items = lists.flatten()
        bounds = bounds - bounds[0]
        fields = {field.name: column for field, column in zip(items.type, items.flatten())}
        prob = fields["p"].to_numpy(zero_copy_only=False)
        rule = numbered(fields["r"]) if fields["r"].null_count < len(items) else None
        keys = numbered(fields["k"]) if "k" in fields else None
        chosen: list[I64] = []
        values: list[NDArray[np.float64]] = []
        rejected: list[int] = []
        for begin, end in zip(bounds.tolist(), bounds[1:].tolist()):
            places = np.arange(begin, end)
            if rule is not None:
                places = places[~_overfull(prob[begin:end], rule[begin:end])]
            rejected.append(end - begin - places.size)
            own = None if rule is None else rule[places]
            if semantics.startswith("STREAMS"):
                assert keys is not None
                answer = _ranking_of_keys(semantics, k, margin, prob[places], own, keys[places])
            else:
                answer = _ranking(semantics, k, numbers, margin, prob[places], own)
            chosen.append(places[answer.index])
            values.append(answer.value)
        sizes = np.array([one.size for one in chosen], np.int64)
        rows = np.concatenate([np.zeros(0, np.int64), *chosen])
        selected = {name: column.take(pa.array(rows)) for name, column in fields.items() if name[0] == "x"}
        if result_type is not None:  # where there are no rows yet it is the query that knows their columns
            wanted = [field for field in result_type.value_type if field.name[0] == "x"]
            selected = {f.name: as_type(selected.get(f.name, pa.nulls(0, f.type)), f.type) for f in wanted}
        selected["value"] = pa.array(np.concatenate([np.zeros(0), *values]))
        place = np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
        selected["rank"] = pa.array(place.astype(np.int32))
        struct = pa.StructArray.from_arrays(list(selected.values()), names=list(selected))
        listed = lists_of(offsets_of(sizes), struct)
        return pa.StructArray.from_arrays([listed, pa.array(rejected, pa.int64())], names=["rows", "rejected"]), None

    def _tidy(self, offsets: I64, items: pa.Array) -> State:
        """Each group in rank order, cut to candidates where that is worth it."""
        group = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        order = np.lexsort([*self._keys(items), group])
        items = items.take(pa.array(order))
        if self.k:
            kept = self._candidates(offsets, items)
            if kept is not None:
                offsets = offsets_of(np.bincount(group[kept], minlength=offsets.size - 1))
                items = items.filter(pa.array(kept))
        return {"rows": lists_of(offsets, items)}

    def _keys(self, items: pa.StructArray) -> list[I64]:
        """Sort keys, the last one first, as ``lexsort`` wants them."""
        fields = dict(zip((field.name for field in items.type), items.flatten()))
        score = ranks(fields["s"])
        others = [name for name in fields if name not in FIRST]
        keys = [score if self.ascending else -score, ranks(fields["t"]), *(ranks(fields[name]) for name in others)]
        return [*keys, ranks(fields["p"]), ranks(fields["r"])][::-1]

    def _candidates(self, offsets: I64, items: pa.StructArray) -> NDArray[np.bool_] | None:
        """Which rows stay; None where all do."""
        long = np.flatnonzero(np.diff(offsets) > WORTH_CUTTING * self.k)
        if not long.size:
            return None
        kept = np.ones(len(items), np.bool_)
        prob = items.field("p").to_numpy(zero_copy_only=False)
        free = items.field("r").is_null().to_numpy(zero_copy_only=False)
        for one in long.tolist():
            begin, end = int(offsets[one]), int(offsets[one + 1])
            places = begin + np.flatnonzero(free[begin:end] & (prob[begin:end] > 0))
            stays = candidates(np.arange(places.size, 0, -1), prob[places], k=self.k)
            if not stays.all():
                kept[places[np.argmin(stays)] : end] = False
        return kept


def _has_rank(score: pa.Array) -> NDArray[np.bool_]:
    valid = pc.is_valid(score)
    if pa.types.is_floating(score.type):
        valid = pc.and_(valid, pc.invert(pc.fill_null(pc.is_nan(score), True)))
    mask: NDArray[np.bool_] = valid.to_numpy(zero_copy_only=False)
    return mask


def _overfull(prob: NDArray[np.float64], rule: I64) -> NDArray[np.bool_]:
    """The rows of rules whose probabilities add up to more than 1."""
    member = rule >= 0
    if not member.any():
        return np.zeros(rule.size, np.bool_)
    masses = np.bincount(rule[member], prob[member], int(rule.max()) + 1)
    return member & (masses[np.maximum(rule, 0)] > 1 + SLACK)


def _labels(rule: I64 | None) -> pa.Array | None:
    return None if rule is None else pa.array(rule, mask=rule < 0)


def _ranking(
    semantics: str, k: int, numbers: Sequence[float], margin: float, prob: NDArray[np.float64], rule: I64 | None
) -> Ranked:
    """The answer over rows that are in rank order already."""
    score = np.arange(prob.size, 0, -1)
    labels = _labels(rule)
    if margin:
        return ranking_with_near(semantics, k, numbers, margin, prob, labels)
    match semantics:
        case "PK" | "GLOBAL":
            return pk_topk(score, prob, labels, k=k)
        case "PT":
            return pt_k(score, prob, labels, k=k, threshold=numbers[0])
        case "U_KRANKS":
            return u_kranks(score, prob, labels, k=k)
        case "U_TOPK":
            return u_topk(score, prob, labels, k=k)
        case "EXPECTED_RANK":
            return expected_ranks(score, prob, labels, k=k)
        case "PRF":
            return prf(score, prob, labels, k=k, weights=numbers)
        case "PRFE":
            return prfe(score, prob, labels, k=k, alpha=numbers[0])
    raise InternalError(f"no semantics {semantics}")


def _ranking_of_keys(
    semantics: str, k: int, margin: float, prob: NDArray[np.float64], rule: I64 | None, keys: I64
) -> Ranked:
    """Keys in place of rows, each named by its best row."""
    if margin:
        return ranking_of_keys_with_near(semantics, k, margin, prob, _labels(rule), keys)
    score = np.arange(prob.size, 0, -1)
    match semantics:
        case "STREAMS":
            return topk_streams(score, prob, keys, _labels(rule), k=k)
        case "STREAMS_EXCLUSIVE":
            return topk_streams_exclusive(score, keys, prob, k=k)
        case "STREAMS_ALIKE":  # without probabilities each row of a key is as likely
            return topk_streams_exclusive(score, keys, k=k)
    raise InternalError(f"no semantics {semantics}")
