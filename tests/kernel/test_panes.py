"""Windows of many readers from shared cells, against recomputation of each window from the raw rows."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.errors import InternalError
from punctual.kernel.panes import panes as panes_module
from punctual.kernel.panes import selections, series
from punctual.kernel.panes.layout import covers, progressions_for
from punctual.kernel.panes.lift import lift, merge
from punctual.kernel.panes.panes import Answered, Panes
from punctual.kernel.panes.spec import Band, Call, Comparison, Reader, Selection, SynopsisSpec, UnitSpec

TYPES = {
    "place": pa.string(), "lane": pa.int32(), "speed": pa.float64(), "load": pa.int64(), "label": pa.string(),
    "kept": pa.bool_(),
}  # fmt: skip
Row = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """A reader in plain words: conditions (column, operator, constants) of its WHERE and of its calls' FILTER."""

    range_us: int
    step_us: int
    where: tuple[tuple[str, str, tuple[Any, ...]], ...] = ()
    extra: tuple[tuple[str, str, tuple[Any, ...]], ...] = ()


def row(t: int, **values: Any) -> Row:
    return {"t": t, "place": "p", "lane": 1, "speed": 1.0, "load": 1, "label": "x", "kept": True, **values}


def holds(row: Row, condition: tuple[str, str, tuple[Any, ...]]) -> bool:
    """Spark's comparison: NULL satisfies nothing, NaN is above every number."""
    column, operator, constants = condition
    value = row[column]
    if value is None:
        return False
    if isinstance(value, float) and math.isnan(value):
        return operator in (">", ">=", "<>")
    tests: dict[str, Callable[[Any, Any], bool]] = {
        "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, "=": lambda a, b: a == b,
        ">=": lambda a, b: a >= b, ">": lambda a, b: a > b, "<>": lambda a, b: a != b,
    }  # fmt: skip
    if operator == "in":
        return any(value == constant for constant in constants)
    return tests[operator](value, constants[0])


def spark_order(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((0, 0) if v is None else (1, v.encode() if isinstance(v, str) else v) for v in key)


def expected(rows: Sequence[Row], question: Question, instants: Sequence[int], keys: Sequence[str]) -> list[Any]:
    """(instant, key, rows, sum of load under extra, largest speed under extra) of every group, from scratch."""
    out = []
    for i, at in enumerate(instants):
        groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
        for row in rows:
            if at - question.range_us < row["t"] <= at and row["kept"] and all(holds(row, c) for c in question.where):
                groups[tuple(row[key] for key in keys)].append(row)
        if not keys:
            groups[()]
        for key in sorted(groups, key=spark_order):
            chosen = [row for row in groups[key] if all(holds(row, c) for c in question.extra)]
            loads = [row["load"] for row in chosen if row["load"] is not None]
            speeds = [row["speed"] for row in chosen if row["speed"] is not None]
            top = max(speeds, key=lambda s: math.inf if math.isnan(s) else s, default=None)
            if any(math.isnan(s) for s in speeds):
                top = math.nan
            out.append((i, key, len(groups[key]), sum(loads) if loads else None, top))
    return out


def selection(bands: Sequence[Band], *conditions: tuple[str, str, tuple[Any, ...]]) -> Selection:
    return tuple(
        tuple(Comparison(op, values) for column, op, values in conditions if column == band.column)  # type: ignore[arg-type]
        for band in bands
    )


def bands_for(questions: Sequence[Question]) -> tuple[Band, ...]:
    cuts: dict[str, set[Any]] = defaultdict(set)
    for question in questions:
        for column, _, constants in (*question.where, *question.extra):
            cuts[column].update(constants)
    return tuple(
        Band(column, "label" if column == "label" else "number", tuple(sorted(cuts[column]))) for column in sorted(cuts)
    )


def spec_for(questions: Sequence[Question], keys: tuple[str, ...]) -> UnitSpec:
    return UnitSpec(
        keys,
        "kept",
        bands_for(questions),
        progressions_for((q.range_us, q.step_us) for q in questions),
        (SynopsisSpec("rows"), SynopsisSpec("sum", "load"), SynopsisSpec("maximum", "speed")),
    )


def reader(spec: UnitSpec, question: Question, instants: Sequence[int]) -> Reader:
    where = selection(spec.bands, *question.where)
    both = selection(spec.bands, *question.where, *question.extra)
    calls = (
        Call("count", 0, (), where, pa.int64()),
        Call("sum", 1, (), both, pa.int64()),
        Call("max", 2, (), both, pa.float64()),
    )
    return Reader(where, question.range_us, np.array(instants, dtype=np.int64), calls)


def cells_of(rows: Sequence[Row], spec: UnitSpec, shards: int = 4) -> pa.Table:
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()}
    return lift(spec, np.array([row["t"] for row in rows], dtype=np.int64), columns, shards)


def flat(answered: Answered) -> list[Any]:
    keys = list(zip(*(key.to_pylist() for key in answered.keys))) or [()] * answered.instant.size
    return list(zip(answered.instant.tolist(), keys, *(value.to_pylist() for value in answered.values)))


def content(table: pa.Table) -> str:
    """Everything of a table as text, in which NaN equals NaN."""
    return repr((table.to_pydict(), table.schema.to_string(show_schema_metadata=False), table.schema.metadata))


def same(found: list[Any], wanted: list[Any]) -> bool:
    return repr(found) == repr(wanted)  # NaN equals NaN, 1 differs from 1.0


SPEEDS = st.one_of(st.none(), st.sampled_from([math.nan, -1.5, 0.0, 2.0, 3.25, math.inf]))
ROWS = st.fixed_dictionaries(
    {
        "t": st.integers(-60, 200),
        "place": st.sampled_from([None, "", "b", "ä", "z"]),
        "lane": st.sampled_from([None, 1, 2]),
        "speed": SPEEDS,
        "load": st.one_of(st.none(), st.integers(-5, 5), st.just(2**53 + 1)),
        "label": st.sampled_from([None, "x", "y", "other"]),
        "kept": st.sampled_from([True, True, True, False, None]),
    }
)
CONDITIONS = st.one_of(
    st.tuples(
        st.just("speed"), st.sampled_from(["<", "<=", "=", ">=", ">", "<>"]),
        st.tuples(st.sampled_from([-1.5, 0.0, 1.0, 2.0, math.inf])),
    ),
    st.tuples(
        st.just("load"), st.sampled_from(["<", ">", "=", "<>"]), st.tuples(st.sampled_from([0, 3, 2**53, 2**53 + 1])),
    ),
    st.tuples(st.just("load"), st.just("in"), st.just((0, 2, 2**53 + 1))),
    st.tuples(st.just("label"), st.sampled_from(["=", "<>"]), st.tuples(st.sampled_from(["x", "y", "nowhere"]))),
    st.tuples(st.just("label"), st.just("in"), st.just(("x", "nowhere"))),
)  # fmt: skip
QUESTIONS = st.builds(
    Question,
    st.integers(1, 90),
    st.integers(1, 40),
    st.lists(CONDITIONS, max_size=2).map(tuple),
    st.lists(CONDITIONS, max_size=1).map(tuple),
)
KEYS = st.sampled_from([(), ("place",), ("place", "lane")])


def instants_of(question: Question, through: int, after: int = -120) -> list[int]:
    first = -(-(after + 1) // question.step_us) * question.step_us
    return list(range(first, through + 1, question.step_us))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(ROWS, max_size=40), st.lists(QUESTIONS, min_size=1, max_size=4), KEYS, st.data())
def test_every_window_of_every_reader_is_right(
    rows: list[Row], questions: list[Question], keys: tuple[str, ...], data: st.DataObject
) -> None:
    """Rows arrive out of order, in batches and partitions; panes are sealed, answered and dropped as time goes on."""
    few = data.draw(st.integers(1, 3))
    stops = [*sorted(data.draw(st.lists(st.integers(-60, 210), max_size=3))), 220]
    early = data.draw(st.integers(0, 40))
    live_through(rows, questions, keys, stops, early, few)


@pytest.mark.parametrize("seed", range(4))
def test_a_long_life_with_many_rows(seed: int) -> None:
    """The same with rows so dense that every cell has several partials and every array is merged many times."""
    random = np.random.default_rng(seed)

    def pick(values: list[Any]) -> Any:
        return values[random.integers(len(values))]

    rows = [
        row(
            int(random.integers(0, 200)), place=pick(["b", None]), speed=pick([None, 2.0, 3.0, math.nan]),
            load=int(random.integers(-3, 4)), label=pick(["x", "y", None]), kept=pick([True, True, None]),
        )
        for _ in range(300)
    ]  # fmt: skip
    conditions = (("load", ">", (0,)), ("speed", "<=", (2.0,)), ("label", "=", ("x",)), ("load", "<>", (1,)))
    questions = [Question(int(random.integers(20, 90)), int(random.integers(3, 20)), (c,)) for c in conditions]
    stops = list(range(10, 220, 7))
    live_through(rows, questions, () if seed == 3 else ("place",), stops, early=11, few=1 + seed % 3)


def live_through(
    rows: list[Row], questions: list[Question], keys: tuple[str, ...], stops: list[int], early: int, few: int
) -> None:
    """Rows arrive until ``early`` after each stop; arrays are merged as soon as there are more than ``few``."""
    spec = spec_for(questions, keys)
    panes = Panes(spec, 4)
    panes.add(cells_of([], spec))
    longest = max(q.range_us for q in questions)
    answered_to = -120
    left = list(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(series, "MOST_LEVELS", few)
        patch.setattr(panes_module, "MOST_BLOCKS", few)
        patch.setattr(panes_module, "MOST_OPEN", few)
        for stop in stops:
            due, left = [r for r in left if r["t"] <= stop + early], [r for r in left if r["t"] > stop + early]
            for part in range(3):
                panes.add(cells_of(due[part::3], spec))
            panes.seal(stop)
            readers = [reader(spec, q, instants_of(q, stop, answered_to)) for q in questions]
            for question, one, answered in zip(questions, readers, panes.answer(readers)):
                assert same(flat(answered), expected(rows, question, one.instants.tolist(), keys))
            assert all(len(one.levels) <= few for one in panes._selections.series)
            answered_to = stop
            panes.drop(stop - longest - 1)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(ROWS, min_size=1, max_size=30), st.lists(QUESTIONS, min_size=1, max_size=3), KEYS, st.data())
def test_nothing_depends_on_batches_partitions_or_shards(
    rows: list[Row], questions: list[Question], keys: tuple[str, ...], data: st.DataObject
) -> None:
    spec = spec_for(questions, keys)
    whole = merge([cells_of(rows, spec)], spec)
    cut = data.draw(st.integers(0, len(rows)))
    shuffled = data.draw(st.permutations(rows))
    parts = [cells_of(shuffled[:cut], spec), cells_of(shuffled[cut:], spec)]
    assert content(merge(parts[::-1] if cut % 2 else parts, spec)) == content(whole)
    readers = [reader(spec, q, instants_of(q, 220)) for q in questions]
    one = Panes(spec, 4)
    for part in parts:
        one.add(part)
    assert content(one.export()) == content(whole)
    one.seal(220)
    assert one.cells == whole.num_rows
    answers = [flat(a) for a in one.answer(readers)]
    assert content(one.export()) == content(whole)
    reloaded = Panes(spec, 4)
    reloaded.add(one.export())
    reloaded.seal(300)
    assert repr([flat(a) for a in reloaded.answer(readers)]) == repr(answers)
    if keys:
        united: list[list[Any]] = [[] for _ in questions]
        for shard in range(4):
            part_of_all = Panes(spec, 4)
            part_of_all.add(whole.filter(pc.equal(whole["shard"], shard)))
            part_of_all.seal(220)
            for mine, answered in zip(united, part_of_all.answer(readers)):
                mine += flat(answered)
        for mine, answer in zip(united, answers):
            assert repr(sorted(mine, key=lambda row: (row[0], spark_order(row[1])))) == repr(answer)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(ROWS, max_size=30), st.lists(ROWS, max_size=30),
    st.lists(QUESTIONS, min_size=1, max_size=2), st.lists(QUESTIONS, min_size=1, max_size=2), KEYS,
)  # fmt: skip
def test_cells_of_an_older_specification_stay_readable(
    early: list[Row], late: list[Row], old: list[Question], new: list[Question], keys: tuple[str, ...]
) -> None:
    """A query is added: readers of before stay exact, the new one is exact where old cells decide its question."""
    before, after = spec_for(old, keys), spec_for([*old, *new], keys)
    panes = Panes(after, 4)
    panes.add(cells_of(early, before))
    panes.add(cells_of(late, after))
    panes.seal(220)
    readers = [reader(after, q, instants_of(q, 220)) for q in (*old, *new)]
    answers = panes.answer(readers)
    for question, one, answered in zip(old, readers, answers):
        assert same(flat(answered), expected(early + late, question, one.instants.tolist(), keys))
    for question, one, answered in zip(new, readers[len(old) :], answers[len(old) :]):
        least = {row[:2]: row[2] for row in expected(late, question, one.instants.tolist(), keys)}
        most = {row[:2]: row[2] for row in expected(early + late, question, one.instants.tolist(), keys)}
        found = {row[:2]: row[2] for row in flat(answered)}
        assert all(least.get(key, 0) <= count <= most[key] for key, count in found.items())
        assert least.keys() <= found.keys()
        if covers(before.progressions, progressions_for([(question.range_us, question.step_us)])) and {
            (c[0], value) for c in question.where for value in c[2]
        } <= {(band.column, cut) for band in before.bands for cut in band.cuts}:
            assert found == most
    reloaded = Panes(after, 4)
    reloaded.add(panes.export())
    reloaded.seal(220)
    assert repr([flat(a) for a in reloaded.answer(readers)]) == repr([flat(a) for a in answers])


def test_a_synopsis_that_older_cells_lack_is_neutral_in_them() -> None:
    question = Question(10, 10)
    wide = spec_for([question], ("place",))
    narrow = replace(wide, synopses=wide.synopses[:1])
    for order in ((narrow, wide), (wide, narrow)):
        panes = Panes(wide, 4)
        for spec in order:
            panes.add(cells_of([row(5, load=7)], spec))
        panes.seal(20)
        (answered,) = panes.answer([reader(wide, question, [10])])
        assert flat(answered) == [(0, ("p",), 2, 7, 1.0)]
    only_old = Panes(wide, 4)
    only_old.add(cells_of([row(5)], narrow))
    only_old.seal(20)
    assert flat(only_old.answer([reader(wide, question, [10])])[0]) == [(0, ("p",), 1, None, None)]


def test_a_unit_that_never_had_a_row_answers() -> None:
    question = Question(10, 10)
    for keys, wanted in (((), [(0, (), 0, None, None), (1, (), 0, None, None)]), (("place",), [])):
        spec = spec_for([question], keys)
        for panes in (Panes(spec, 4), Panes(spec, 4)):
            panes.seal(100)
            (answered,) = panes.answer([reader(spec, question, [10, 20])])
            assert flat(answered) == wanted
            assert [value.type for value in answered.values] == [pa.int64(), pa.int64(), pa.float64()]
            assert panes.export().num_rows == 0
            assert panes.answer([]) == []


def test_a_dropped_pane_is_in_no_window_at_once() -> None:
    """Also where it is still in memory, as most of its array is alive."""
    question = Question(40, 10)
    spec = spec_for([question], ())
    panes = Panes(spec, 4)
    panes.add(cells_of([row(5), row(15), row(25), row(35)], spec))
    panes.add(cells_of([row(6)], spec))
    panes.seal(40)
    assert panes.cells == 4  # partials were united
    assert flat(panes.answer([reader(spec, question, [40])])[0]) == [(0, (), 5, 5, 1.0)]
    panes.drop(10)
    assert panes.cells == 4
    assert flat(panes.answer([reader(spec, question, [40])])[0]) == [(0, (), 3, 3, 1.0)]
    assert panes.export().num_rows == 3
    panes.drop(30)
    assert panes.cells == 1
    assert flat(panes.answer([reader(spec, question, [40])])[0]) == [(0, (), 1, 1, 1.0)]


def test_a_group_of_dropped_panes_only_is_gone_at_once() -> None:
    question = Question(40, 10)
    spec = spec_for([question], ("place",))
    panes = Panes(spec, 4)
    panes.add(cells_of([row(5, place="gone"), row(15), row(25), row(35)], spec))
    panes.seal(40)
    assert [key for _, (key,), *_ in flat(panes.answer([reader(spec, question, [40])])[0])] == ["gone", "p"]
    panes.drop(10)
    assert panes.cells == 4
    assert flat(panes.answer([reader(spec, question, [40])])[0]) == [(0, ("p",), 3, 3, 1.0)]


def test_promises_are_held_to() -> None:
    question = Question(10, 10)
    spec = spec_for([question], ("place",))
    panes = Panes(spec, 4)
    panes.seal(20)
    with pytest.raises(InternalError, match="arrive after"):
        panes.add(cells_of([row(5)], spec))
    with pytest.raises(InternalError, match="only 20 is sealed"):
        panes.answer([reader(spec, question, [30])])


def test_memory_and_arrays_stay_flat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many rounds with ever new groups and ever new thresholds, each answer checked against the last rows."""
    monkeypatch.setattr(selections, "STALE_PASSES", 20)
    monkeypatch.setattr(selections, "FEWEST_SELECTIONS", 10)
    monkeypatch.setattr(panes_module, "FEWEST_GROUPS", 30)
    spec = replace(spec_for([Question(20, 10)], ("place",)), bands=(Band("load", "number", (0, 5)),))
    panes = Panes(spec, 4)
    where: list[Selection] = [selection(spec.bands, ("load", ">", (0,))), selection(spec.bands, ("load", "<", (0,)))]
    sizes = []
    for i in range(250):
        at = 10 * (i + 1)
        panes.add(cells_of([row(at - 5, place=f"p{i}"), row(at - 3, place="q", load=i)], spec))
        panes.seal(at)
        passing = selection(spec.bands, ("load", ">", (-i,)))  # no cut: never asked for again
        readers = [Reader(w, 20, np.array([at]), (Call("sum", 1, (), w, pa.int64()),)) for w in (*where, passing)]
        answered = panes.answer(readers)[0]
        rows_now = [(f"p{j}", 1) for j in range(max(0, i - 1), i + 1)]
        rows_now.append(("q", i + max(0, i - 1)))
        assert list(zip(answered.keys[0].to_pylist(), answered.values[0].to_pylist())) == [
            (key, value) for key, value in sorted(rows_now) if value > 0
        ]
        panes.drop(at - 20)
        if i % 50 == 49:
            levels = sum(len(series.levels) for series in panes._selections.series)
            sizes.append((panes.cells, levels, len(panes._groups), len(panes._selections._numbers)))
            assert panes.cells < 100
            assert levels <= 18
            assert len(panes._groups) <= 60
            assert len(panes._selections._numbers) <= 80
            assert panes.nbytes < 1_000_000
    assert sizes[1][0] == pytest.approx(sizes[3][0], abs=50)


def test_windows_from_a_microsecond_to_as_long_as_durations_get() -> None:
    """Cells are as many as rows at most, whatever lies between edges; nothing leaves int64."""
    longest, year_9999 = 2**62, 253_402_300_799_000_000
    questions = [Question(longest, longest), Question(longest, 7), Question(1, 1), Question(7_000_000, 2**31 * 10**6)]
    spec = spec_for(questions, ())
    times = [-2_208_988_800_000_000, -1, 0, 1, 6, 7, 1_700_000_000_000_000, year_9999]
    rows = [row(t, load=i) for i, t in enumerate(times)]
    cells = cells_of(rows, spec)
    assert cells.num_rows <= len(rows)
    panes = Panes(spec, 4)
    panes.add(cells)
    panes.seal(longest)
    instants = [[0, longest], [0, 7, 14], [-1, 0, 1, 2], [0, 2**31 * 10**6]]
    answers = panes.answer([reader(spec, *asked) for asked in zip(questions, instants)])
    for question, at, answered in zip(questions, instants, answers):
        assert same(flat(answered), expected(rows, question, at, ()))
