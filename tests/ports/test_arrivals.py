"""When files and rows arrive, what waits, and sources that are not there for a while."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from punctual.errors import FeedError
from punctual.ports.feeds.feed import Backlog
from punctual.ports.feeds.file_reader import FileReader
from punctual.ports.feeds.files import FilesFeed
from punctual.ports.feeds.landed import LandedFeed
from punctual.ports.feeds.listed_files import ListedFiles
from punctual.ports.feeds.slices import FileRef, FileSlice
from punctual.ports.feeds.sources import Sources

COLUMNS = [("ts", "TIMESTAMP"), ("x", "DOUBLE")]


def put(path: Path, mtime: int) -> Path:
    path.write_text("{}\n")
    os.utime(path, ns=(mtime, mtime))
    return path


def files_of(folder: Path, **arguments: int) -> FilesFeed:
    return FilesFeed(str(folder), FileReader(COLUMNS, "JSON"), **arguments)


def arrived(feed: FilesFeed, some: FileSlice | None) -> dict[str, int]:
    assert some is not None
    found = feed.arrivals(some)
    return {os.path.basename(path): at for path, at in zip(found.parts, found.at)}


def test_a_file_arrives_when_it_is_first_listed(tmp_path: Path) -> None:
    feed = files_of(tmp_path, max_files=2)
    put(tmp_path / "a", 5)
    assert feed.look(100) == Backlog(1, 0, 3, 100)
    put(tmp_path / "b", 1)
    put(tmp_path / "c", 9)
    assert feed.look(200) == Backlog(3, 0, 9, 100)
    assert feed.look(300) == Backlog(3, 0, 9, 100)
    some = feed.plan()
    assert arrived(feed, some) == {"b": 200, "a": 100}
    assert some is not None
    assert feed.arrivals(some).differ
    (tmp_path / "a").unlink()
    feed.look(400)
    assert arrived(feed, some) == {"b": 200, "a": 100}, "also of a planned file that has vanished"
    feed.taken(some)
    assert feed.look(500) == Backlog(1, 0, 3, 200)
    last = feed.plan()
    assert arrived(feed, last) == {"c": 200}
    assert last is not None
    assert not feed.arrivals(last).differ
    feed.taken(last)
    assert feed.look(600) == Backlog()


def test_what_was_planned_before_a_restart_arrives_at_the_start(tmp_path: Path) -> None:
    path = put(tmp_path / "a", 5)
    planned = FileSlice((FileRef(str(path), 3, 5), FileRef(str(tmp_path / "gone"), 3, 6)))
    feed = files_of(tmp_path)
    feed.look(70)
    feed.look(80)
    assert arrived(feed, planned) == {"a": 70, "gone": 70}


def test_rows_arrive_when_they_are_fed(tmp_path: Path) -> None:
    feed = LandedFeed(COLUMNS, str(tmp_path))
    feed.look(10)
    feed.put([(None, 1.0)], 20)
    feed.put([(None, 2.0)], 30)
    assert feed.look(40).oldest == 20
    assert arrived(feed, feed.plan()) == {"000000000000.json": 20, "000000000001.json": 30}


def test_rows_that_are_fed_during_a_look_keep_their_arrival(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feed = LandedFeed(COLUMNS, str(tmp_path))
    listing, landed = threading.Event(), threading.Event()
    listed = LandedFeed._new_files

    def slow(self: LandedFeed) -> list[FileRef]:
        found = listed(self)
        listing.set()
        assert landed.wait(60)
        return found

    monkeypatch.setattr(LandedFeed, "_new_files", slow)
    looking = threading.Thread(target=feed.look, args=(10,))
    looking.start()
    assert listing.wait(60)
    feed.put([(None, 1.0)], 20)
    assert feed.plan() is None
    landed.set()
    looking.join(60)
    feed.look(40)
    assert arrived(feed, feed.plan()) == {"000000000000.json": 20}


def test_what_is_told_of_an_arrival_counts_more_than_what_was_seen() -> None:
    listed = ListedFiles()
    ref = FileRef("/a", 1, 1)
    assert listed.look(lambda: [ref], 15).oldest == 15
    listed.note("/a", 12)
    assert listed.look(lambda: [ref], 20).oldest == 12


def test_a_source_that_is_away_is_said_once_and_holds_nobody_up(tmp_path: Path) -> None:
    said: list[str] = []
    sources = Sources(said.append, patient=True)
    here, away = tmp_path / "here", tmp_path / "away"
    for folder in (here, away):
        folder.mkdir()
    sources.feeds = {"here": files_of(here), "away": files_of(away)}
    put(away / "a", 1)
    assert sources.look(1)["away"].files == 1
    hidden = away.rename(tmp_path / "hidden")
    put(here / "b", 1)
    for now in (2, 3):
        assert sources.look(now) == {"here": Backlog(1, 0, 3, 2), "away": Backlog()}
        assert set(sources.plan(None)) == {"here"}, "what was listed before cannot be read now"
    assert said == [f'stream "away" cannot be read for now: path "{away}" does not exist']
    hidden.rename(away)
    assert sources.look(4)["away"] == Backlog(1, 0, 3, 1), "it arrived when it was listed first"
    assert set(sources.plan(None)) == {"here", "away"}
    away.rename(hidden)
    sources.look(5)
    assert len(said) == 2
    impatient = Sources(said.append, patient=False)
    impatient.feeds = sources.feeds
    with pytest.raises(FeedError):
        impatient.look(6)
