"""Which files come next, and whether they are still what was planned: no JVM."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.errors import FeedError
from punctual.ports.feeds import listing
from punctual.ports.feeds.csv_rows import inspect_csv
from punctual.ports.feeds.files import FilesFeed, table_hash
from punctual.ports.feeds.listing import list_files
from punctual.ports.feeds.parquet_rows import castable, inspect_parquet, spark_type
from punctual.ports.feeds.slices import FileRef, FileSlice, Slice

COLUMNS = [("ts", "TIMESTAMP"), ("x", "DOUBLE")]


def put(path: Path, text: str = "{}\n", mtime: int | None = None) -> Path:
    path.write_text(text)
    if mtime is not None:
        os.utime(path, ns=(mtime, mtime))
    return path


def names(planned: FileSlice | None) -> list[str]:
    return [] if planned is None else [os.path.basename(ref.path) for ref in planned.files]


def feed(path: Path | str, kind: str = "JSON") -> FilesFeed:
    return FilesFeed("s", COLUMNS, str(path), kind)


def test_order_is_time_then_name_and_hidden_names_are_ignored(tmp_path: Path) -> None:
    for name, mtime in [("c", 5), ("b", 7), ("a", 7), ("_x", 1), (".y", 1)]:
        put(tmp_path / name, mtime=mtime)
    (tmp_path / "folder").mkdir()
    assert names(feed(tmp_path).plan(set(), max_files=10)) == ["c", "a", "b"]
    assert names(feed(tmp_path).plan({str(tmp_path / "a")}, max_files=10)) == ["c", "b"]
    assert feed(tmp_path).plan({str(tmp_path / n) for n in "abc"}, max_files=10) is None


@settings(deadline=None, derandomize=True, max_examples=30)
@given(
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=12), most=st.integers(1, 5), limit=st.integers(1, 60)
)
def test_slices_cut_one_order_into_pieces_that_fit(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], most: int, limit: int
) -> None:
    folder = tmp_path_factory.mktemp("sizes")
    for number, size in enumerate(sizes):
        put(folder / f"{number:03d}", "x" * size, mtime=1_000 + number)
    seen: set[str] = set()
    cut: list[str] = []
    while (planned := feed(folder).plan(seen, max_files=most, max_bytes=limit)) is not None:
        total = sum(ref.size for ref in planned.files)
        assert len(planned.files) == 1 or (len(planned.files) <= most and total <= limit)
        after = [s for n, s in enumerate(sizes) if f"{n:03d}" not in {*cut, *names(planned)}]
        if after and len(planned.files) < most:
            assert total + after[0] > limit
        cut += names(planned)
        seen |= {ref.path for ref in planned.files}
        assert msgspec.json.decode(msgspec.json.encode(planned), type=Slice) == planned
    assert cut == [f"{n:03d}" for n in range(len(sizes))]


def test_globs_and_single_files(tmp_path: Path) -> None:
    put(tmp_path / "a.json", mtime=2)
    put(tmp_path / "b.json", mtime=1)
    put(tmp_path / "b.csv")
    put(tmp_path / "_c.json")
    assert names(feed(tmp_path / "*.json").plan(set(), max_files=9)) == ["b.json", "a.json"]
    assert names(feed(tmp_path / "*.xml").plan(set(), max_files=9)) == []
    assert names(feed(tmp_path / "b.csv").plan(set(), max_files=9)) == ["b.csv"]
    put(tmp_path / "odd[1].json")
    assert names(feed(tmp_path / "odd[1].json").plan(set(), max_files=9)) == ["odd[1].json"]


@pytest.mark.parametrize("path", ["none", "none/*.json", "none/a.json"])
def test_a_missing_path_is_said_at_the_check(tmp_path: Path, path: str) -> None:
    with pytest.raises(FeedError) as failed:
        feed(tmp_path / path).check()
    assert failed.value.code == "feed.missing-path"
    feed(tmp_path).check()


def test_only_new_files_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {str(put(tmp_path / f"{number}")) for number in range(500)}
    put(tmp_path / "new")
    looked: list[str] = []
    stat = os.stat

    def counted(path: str, *args: object, **kwargs: object) -> os.stat_result:
        looked.append(str(path))
        return stat(path)

    monkeypatch.setattr(listing.os, "stat", counted)
    found = list_files(str(tmp_path), seen)
    assert [os.path.basename(ref.path) for ref in found] == ["new"]
    assert not seen & set(looked)


def test_changes_after_planning_are_seen(tmp_path: Path) -> None:
    for name in "abcd":
        put(tmp_path / name, "12345\n", mtime=1_000_000_000)
    files = feed(tmp_path)
    planned = files.plan(set(), max_files=9)
    assert planned is not None
    assert files.changed(planned) == []
    put(tmp_path / "a", "123456789\n", mtime=1_000_000_000)
    put(tmp_path / "b", "54321\n")
    (tmp_path / "c").unlink()
    assert [(os.path.basename(p), why.split()[0]) for p, why in files.changed(planned)] == [
        ("a", "changed"), ("b", "changed"), ("c", "vanished"),
    ]  # fmt: skip


def test_a_table_has_a_hash_of_its_content(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, order in ((one, "ab"), (two, "ba")):
        folder.mkdir()
        for number, name in enumerate(order):
            put(folder / name, name * 3, mtime=1_000 + number)
    first = table_hash(str(one))
    assert first == table_hash(str(two))
    put(two / "a", "aab")
    assert first != table_hash(str(two))
    put(two / "a", "aaa")
    os.rename(two / "a", two / "c")
    assert first != table_hash(str(two))


def refs(folder: Path) -> list[FileRef]:
    return list_files(str(folder))


def test_csv_files_with_one_layout_share_a_plan(tmp_path: Path) -> None:
    put(tmp_path / "a", "ts,x,extra\n", mtime=1)
    put(tmp_path / "b", "TS , X,other\n", mtime=2)
    put(tmp_path / "c", "x,ts\n", mtime=3)
    put(tmp_path / "d", "\n\n", mtime=4)
    put(tmp_path / "e", "ts,x,ts\n", mtime=5)
    (tmp_path / "f.gz").write_bytes(b"no gzip at all")
    looked = inspect_csv(refs(tmp_path), COLUMNS, ())
    assert [[os.path.basename(p) for p in plan.paths] for plan in looked.plans] == [["a", "b"], ["c"]]
    assert [os.path.basename(path) for path, _ in looked.unreadable] == ["e", "f.gz"]
    assert [why.split(":")[0] for _, why in looked.unreadable] == [
        'its header names column "ts" twice', "its header cannot be read",
    ]  # fmt: skip


def test_csv_headers_obey_the_options(tmp_path: Path) -> None:
    put(tmp_path / "a", "# a note\n'the;ts';ts;x\n")
    looked = inspect_csv(refs(tmp_path), COLUMNS, (("sep", ";"), ("quote", "'"), ("comment", "#")))
    assert looked.unreadable == ()
    assert [value.count("_c1") for value in looked.plans[0].values] == [1, 0]


def test_parquet_files_with_one_shape_share_a_plan(tmp_path: Path) -> None:
    for name, table in {
        "a": pa.table({"X": [1.0], "z": [1]}),
        "b": pa.table({"z": ["q"], "X": [2.0]}),
        "c": pa.table({"x": [1]}),
        "d": pa.table({"x": [1.0], "X": [1.0]}),
    }.items():
        pq.write_table(table, tmp_path / name)
        os.utime(tmp_path / name, ns=(ord(name), ord(name)))
    looked = inspect_parquet(refs(tmp_path), COLUMNS, ())
    assert [[os.path.basename(p) for p in plan.paths] for plan in looked.plans] == [["a", "b"], ["c"]]
    assert "more than once" in looked.unreadable[0][1]


def test_types_of_parquet() -> None:
    nested = pa.struct([("a", pa.int8()), ("b", pa.list_(pa.string()))])
    assert spark_type(nested) == "STRUCT<`a`:TINYINT,`b`:ARRAY<STRING>>"
    assert spark_type(pa.map_(pa.string(), pa.float32())) == "MAP<STRING,FLOAT>"
    assert spark_type(pa.duration("s")) is None
    assert spark_type(pa.list_(pa.timestamp("ns"))) is None
    assert castable("NANOSECONDS", "TIMESTAMP")
    assert not castable("BIGINT", "TIMESTAMP")
    assert not castable("ARRAY<DATE>", "ARRAY<INT>")
