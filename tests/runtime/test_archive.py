"""The class archive's name follows what it was made from, and options name it only when it is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from punctual.runtime.jvm.archive import archive_options, archive_stem
from punctual.runtime.jvm.java import Java
from punctual.runtime.prepare import keep


@pytest.fixture
def java(tmp_path: Path) -> Java:
    program = tmp_path / "java" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("one java")
    return Java(tmp_path / "java", 17)


def test_options_name_an_archive_that_is_there(java: Java, tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert archive_options(java, environ) == ""
    archive = made(stem(java, environ))
    assert archive_options(java, environ) == f"-Xshare:auto -XX:SharedArchiveFile={archive}"


def test_an_archive_that_was_cut_short_is_none(java: Java, tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    archive = made(stem(java, environ))
    archive.write_text("cla")
    assert archive_options(java, environ) == ""
    archive.with_name(f"{stem(java, environ).name}-many.jsa").write_text("classes")
    assert archive_options(java, environ) == ""
    assert made(stem(java, environ)) == archive  # made again, it takes the place of the one that was cut
    assert archive_options(java, environ).endswith(f"={archive}")


def test_one_that_is_being_made_is_none(java: Java, tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    making(stem(java, environ))
    assert archive_options(java, environ) == ""


def test_another_java_has_another_archive(java: Java, tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    before = stem(java, environ)
    assert stem(java, environ) == before
    (java.home / "bin" / "java").write_text("another java")
    assert stem(java, environ) != before
    assert archive_stem(Java(java.home, 21), environ) is None


def test_without_a_cache_folder_there_is_none(java: Java, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert archive_options(java, {"XDG_CACHE_HOME": str(tmp_path / "file")}) == ""


def stem(java: Java, environ: dict[str, str]) -> Path:
    found = archive_stem(java, environ)
    assert found is not None
    return found


def making(stem: Path) -> Path:
    file = stem.with_name(f"{stem.name}.1.making")
    file.write_text("classes")
    return file


def made(stem: Path) -> Path:
    return keep(making(stem), stem)
