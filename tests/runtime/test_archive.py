"""The class archive's name follows what it was made from, and options name it only when it is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from punctual.runtime.archive import archive_options, archive_path
from punctual.runtime.java import Java


@pytest.fixture
def java(tmp_path: Path) -> Java:
    program = tmp_path / "java" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("one java")
    return Java(tmp_path / "java", 17)


def test_options_name_an_archive_that_is_there(java: Java, tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert archive_options(java, environ) == ""
    archive = archive_path(java, environ)
    assert archive is not None
    archive.write_text("")
    assert archive_options(java, environ).endswith(f"={archive}")


def test_another_java_has_another_archive(java: Java, tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    before = archive_path(java, environ)
    assert archive_path(java, environ) == before
    (java.home / "bin" / "java").write_text("another java")
    assert archive_path(java, environ) != before
    assert archive_path(Java(java.home, 21), environ) is None


def test_without_a_cache_folder_there_is_none(java: Java, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert archive_options(java, {"XDG_CACHE_HOME": str(tmp_path / "file")}) == ""
