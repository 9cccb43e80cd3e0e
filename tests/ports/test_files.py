"""Which files come next, and whether they are still what was planned: no JVM."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.errors import FeedError
from punctual.ports.feeds import csv_rows, listing
from punctual.ports.feeds import files as files_module
from punctual.ports.feeds.csv_rows import inspect_csv
from punctual.ports.feeds.file_reader import FileReader
from punctual.ports.feeds.files import FilesFeed
from punctual.ports.feeds.listing import list_files
from punctual.ports.feeds.parquet_rows import castable, inspect_parquet, spark_type
from punctual.ports.feeds.slices import FileRef, FileSlice, RateSlice, Slice
from punctual.ports.feeds.static_tables import table_hash

COLUMNS = [("ts", "TIMESTAMP"), ("x", "DOUBLE")]


def put(path: Path, text: str = "{}\n", mtime: int | None = None) -> Path:
    path.write_text(text)
    if mtime is not None:
        os.utime(path, ns=(mtime, mtime))
    return path


def names(planned: FileSlice | None) -> list[str]:
    return [] if planned is None else [os.path.basename(ref.path) for ref in planned.files]


def feed(path: Path | str, kind: str = "JSON", **arguments: Any) -> FilesFeed:
    return FilesFeed(str(path), FileReader(COLUMNS, kind), **arguments)


def planned(one: FilesFeed, limit: int | None = None) -> FileSlice | None:
    one.look(0)
    return one.plan(limit)


def take(one: FilesFeed, *paths: Path) -> None:
    one.taken(FileSlice(tuple(FileRef(str(path), 0, 0) for path in paths)))


def test_order_is_time_then_name_and_hidden_names_are_ignored(tmp_path: Path) -> None:
    for name, mtime in [("c", 5), ("b", 7), ("a", 7), ("_x", 1), (".y", 1)]:
        put(tmp_path / name, mtime=mtime)
    (tmp_path / "folder").mkdir()
    (tmp_path / "nowhere").symlink_to(tmp_path / "nowhere")
    files = feed(tmp_path)
    assert files.plan() is None, "nothing waits before a look"
    assert names(planned(files)) == ["c", "a", "b"]
    assert names(planned(files, 2)) == ["c", "a"]
    take(files, tmp_path / "a")
    assert names(files.plan()) == ["c", "b"], "what is taken does not wait, without another look"
    assert names(planned(files)) == ["c", "b"]
    take(files, tmp_path / "b", tmp_path / "c")
    assert planned(files) is None


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
    files = feed(folder, max_files=most, max_bytes=limit)
    cut: list[str] = []
    while (some := planned(files)) is not None:
        assert len(some.files) == 1 or (len(some.files) <= most and some.size <= limit)
        after = [s for n, s in enumerate(sizes) if f"{n:03d}" not in {*cut, *names(some)}]
        if after and len(some.files) < most:
            assert some.size + after[0] > limit
        cut += names(some)
        files.taken(some)
        assert msgspec.json.decode(msgspec.json.encode(some), type=Slice) == some
    assert cut == [f"{n:03d}" for n in range(len(sizes))]


def test_globs_and_single_files(tmp_path: Path) -> None:
    put(tmp_path / "a.json", mtime=2)
    put(tmp_path / "b.json", mtime=1)
    put(tmp_path / "b.csv")
    put(tmp_path / "_c.json")
    assert names(planned(feed(tmp_path / "*.json"))) == ["b.json", "a.json"]
    assert names(planned(feed(tmp_path / "*.xml"))) == []
    assert names(planned(feed(tmp_path / "b.csv"))) == ["b.csv"]
    put(tmp_path / "odd[1].json")
    assert names(planned(feed(tmp_path / "odd[1].json"))) == ["odd[1].json"]


@pytest.mark.parametrize("path", ["none", "none/*.json", "none/a.json"])
def test_a_missing_path_is_said_at_the_look(tmp_path: Path, path: str) -> None:
    with pytest.raises(FeedError) as failed:
        feed(tmp_path / path).look(0)
    assert failed.value.code == "feed.missing-path"
    feed(tmp_path).look(0)


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
    some = planned(files)
    assert some is not None
    assert files.changed(some) == []
    put(tmp_path / "a", "123456789\n", mtime=1_000_000_000)
    put(tmp_path / "b", "54321\n")
    (tmp_path / "c").unlink()
    assert [(os.path.basename(p), why.split()[0]) for p, why in files.changed(some)] == [
        ("a", "changed"), ("b", "changed"), ("c", "vanished"),
    ]  # fmt: skip
    left, lost = files.check(some)
    assert (names(left), len(lost)) == (["d"], 3)


def test_slices_of_parts(tmp_path: Path) -> None:
    some = FileSlice((FileRef("/a", 1, 0), FileRef("/b", 2, 0)))
    assert (some.parts, some.size) == (("/a", "/b"), 3)
    assert (some.only(["/b"]).parts, some.without(["/a", "/b"]), some.without([])) == (("/b",), None, some)
    rows = RateSlice(0, 10, 5)
    assert msgspec.json.decode(msgspec.json.encode(rows), type=Slice) == rows
    assert (rows.only(rows.parts), rows.without([]), rows.without(rows.parts)) == (rows, rows, None)


@pytest.mark.parametrize("after_read", ["delete", "archive"])
def test_files_that_are_removed_are_forgotten_and_may_come_again(tmp_path: Path, after_read: str) -> None:
    files = feed(tmp_path, after_read=after_read)
    for turn in (1, 2):
        put(tmp_path / "current", "x" * turn, mtime=turn)
        some = planned(files)
        assert names(some) == ["current"]
        assert some is not None
        files.taken(some)
        assert planned(files) is None
        assert files.finish(some) == []
        assert files.everything_taken() == FileSlice(())
    archived = sorted(os.listdir(tmp_path / "_archive")) if after_read == "archive" else []
    assert archived == (["current", "current.1"] if after_read == "archive" else [])


def test_what_a_crash_left_over_is_removed_later_and_a_new_file_in_its_place_is_read(tmp_path: Path) -> None:
    put(tmp_path / "a", "old", mtime=1)
    put(tmp_path / "b", "old", mtime=1)
    before = feed(tmp_path, after_read="delete")
    some = planned(before)
    assert some is not None
    put(tmp_path / "b", "newer", mtime=2)
    files = feed(tmp_path, after_read="delete")
    files.taken(some)
    assert names(planned(files)) == ["b"]
    assert os.listdir(tmp_path) == ["b"]
    before.finish(some)
    assert os.listdir(tmp_path) == ["b"], "it was not read"


def test_a_file_that_cannot_be_removed_is_said_and_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "a")
    files = feed(tmp_path, after_read="delete")
    some = planned(files)
    assert some is not None
    files.taken(some)

    def refuse(_path: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(listing.os, "remove", refuse)
    assert files.finish(some) == [(str(tmp_path / "a"), "Permission denied")]
    assert planned(files) is None


def test_kept_files_are_remembered_while_any_of_them_is_there(tmp_path: Path) -> None:
    paths = [put(tmp_path / name) for name in "abc"]
    files = feed(tmp_path)
    take(files, *paths)
    paths[0].unlink()
    assert names(files.everything_taken()) == ["b", "c"]
    folder = tmp_path.rename(tmp_path.with_name("unmounted"))
    tmp_path.mkdir()
    assert names(files.everything_taken()) == ["b", "c"], "an empty folder may be one that is not mounted"
    tmp_path.rmdir()
    assert names(files.everything_taken()) == ["b", "c"]
    folder.rename(tmp_path)
    assert planned(files) is None


def test_a_name_that_is_not_utf8_is_one_unreadable_file_with_escapes(tmp_path: Path) -> None:
    bad = os.path.join(os.fsencode(tmp_path), b"a\\\xff.json")
    for path in (bad, os.fsencode(tmp_path / "a\\\\xff.json"), os.fsencode(tmp_path / "a\\xff.json")):
        with open(path, "wb") as file:
            file.write(b"{}\n")
    files = feed(tmp_path, after_read="archive")
    some = planned(files)
    assert some is not None
    msgspec.json.encode(some)
    assert files.changed(some) == []
    left, lost = files.check(some)
    assert lost == [(f"{tmp_path}//a\\\\\\xff.json", "unreadable file: its path is not UTF-8")]
    assert sorted(names(left)) == ["a\\\\xff.json", "a\\xff.json"]
    files.taken(some)
    assert planned(files) is None
    files.finish(some)
    assert sorted(os.listdir(os.fsencode(tmp_path / "_archive")))[-1] == b"a\\\xff.json"


def test_a_look_beside_a_plan_never_brings_back_what_was_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "a")
    files = feed(tmp_path, after_read="delete")
    some = planned(files)
    assert some is not None
    real = listing.list_files

    def slow(path: str, *seen: Any) -> list[FileRef]:
        found = real(path, *seen)
        files.taken(some)  # the batch is committed while another thread lists
        files.finish(some)
        return found

    monkeypatch.setattr(files_module, "list_files", slow)
    assert files.look(5).files == 0
    assert files.plan() is None


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
    assert [[os.path.basename(p) for p in plan.paths] for plan in looked.plans()] == [["a", "b"], ["c"]]
    assert [os.path.basename(path) for path, _ in looked.unreadable] == ["e", "f.gz"]
    assert [why.split(":")[0] for _, why in looked.unreadable] == [
        'its header names column "ts" twice', "its header cannot be read",
    ]  # fmt: skip


def test_csv_headers_obey_the_options(tmp_path: Path) -> None:
    put(tmp_path / "a", "# a note\n'the;ts';ts;x\n")
    looked = inspect_csv(refs(tmp_path), COLUMNS, (("sep", ";"), ("quote", "'"), ("comment", "#")))
    assert looked.unreadable == ()
    assert [value.count("_c1") for value in looked.plans()[0].values] == [1, 0]


def test_csv_headers_are_read_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(tmp_path / "a", "wb") as file:
        file.truncate(1 << 30)  # one line of a gigabyte
    put(tmp_path / "b", "ts,x," + ",".join(f"c{number}" for number in range(20_478)) + "\n1,2\n")
    put(tmp_path / "c", "ts,x," + ",".join(f"c{number}" for number in range(20_479)) + "\n1,2\n")
    put(tmp_path / "d", '"ts","x\n' + "y" * 100_000 + '",x')
    put(tmp_path / "e", "#" * 900_000 + "\nts,x\n" + "1,2\n" * 100_000)
    put(tmp_path / "f", ("# a note\n" * 200_000) + "ts,x\n")
    read = 0
    opened = pa.input_stream

    class Counted:
        def __init__(self, path: str, **arguments: Any) -> None:
            self._stream = opened(path, **arguments)

        def __enter__(self) -> Counted:
            return self

        def __exit__(self, *_problem: object) -> None:
            self._stream.close()

        def read(self, size: int) -> bytes:
            nonlocal read
            found: bytes = self._stream.read(size)
            read += len(found)
            return found

    monkeypatch.setattr(csv_rows.pa, "input_stream", Counted)
    looked = inspect_csv(sorted(refs(tmp_path), key=lambda ref: ref.path), COLUMNS, (("comment", "#"),))
    assert read <= 6 << 20
    assert [[os.path.basename(p) for p in plan.paths] for plan in looked.plans()] == [["b"], ["d"], ["e"]]
    assert [(os.path.basename(path), why) for path, why in looked.unreadable] == [
        ("a", "its header is longer than 1,048,576 bytes"),
        ("c", "its header has 20,481 columns, and the reader takes 20,480 (maxColumns)"),
        ("f", "its header is longer than 1,048,576 bytes"),
    ]


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
    assert [[os.path.basename(p) for p in plan.paths] for plan in looked.plans()] == [["a", "b"], ["c"]]
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
