"""A class archive for the JVM: what Spark loads at every start, parsed and verified once.

A good third of the CPU time between starting the process and the first answer of a Python worker goes into loading some
twenty thousand classes. Java can map them from a file instead. The file belongs to one Java and one set of Spark's
jars, so its name is a hash of both; it lies in the user's cache folder (180 MB) and is made by
``python -m punctual.runtime.prepare``. Without it, or when Java finds that it does not fit, everything works, slower.

Java does not look whether the file is whole, and dies of one that was cut short (a full disk, a power cut). So its
name ends with its size, and a file of another size is none.

Only Java 17 can use one: Spark's launcher names a jar twice on the class path, and Java 21 then takes the path of the
archive for another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pyspark

from punctual.runtime.jvm.java import Java, cache_folder


def archive_stem(java: Java, environ: Mapping[str, str]) -> Path | None:
    """The archive's path for this Java and this Spark up to its size; None where an archive could not be used."""
    if java.major != 17:
        return None
    jars = Path(pyspark.__path__[0]) / "jars"
    try:
        files = [java.home / "bin" / "java", *sorted(jars.glob("*.jar"))]
        marks = [f"{file} {(status := file.stat()).st_size} {status.st_mtime_ns}" for file in files]
        folder = cache_folder(environ)
    except OSError:
        return None
    return folder / f"classes-{hashlib.sha256('/'.join(marks).encode()).hexdigest()[:16]}"


def find_archive(stem: Path) -> Path | None:
    """The archive that is there, whole."""
    try:
        found = sorted(stem.parent.glob(f"{stem.name}-*.jsa"))
        return next((file for file in found if file == sized(stem, file.stat().st_size)), None)
    except OSError:  # one that is being removed is as good as gone
        return None


def sized(stem: Path, size: int) -> Path:
    """The name of an archive of so many bytes."""
    return stem.with_name(f"{stem.name}-{size}.jsa")


def archive_options(java: Java, environ: Mapping[str, str]) -> str:
    """Options that make the JVM use the archive; empty when there is none."""
    stem = archive_stem(java, environ)
    archive = None if stem is None else find_archive(stem)
    return "" if archive is None else f"-Xshare:auto -XX:SharedArchiveFile={archive}"
