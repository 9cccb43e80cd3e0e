"""A class archive for the JVM: what Spark loads at every start, parsed and verified once.

A good third of the CPU time between starting the process and the first answer of a Python worker goes into loading some
twenty thousand classes. Java can map them from a file instead. The file belongs to one Java and one set of Spark's
jars, so its name is a hash of both; it lies in the user's cache folder (180 MB) and is made by
``python -m punctual.runtime.prepare``. Without it, or when Java finds that it does not fit, everything works, slower.

Only Java 17 can use one: Spark's launcher names a jar twice on the class path, and Java 21 then takes the path of the
archive for another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pyspark

from punctual.runtime.java import Java, cache_folder


def archive_path(java: Java, environ: Mapping[str, str]) -> Path | None:
    """Where the archive for this Java and this Spark lies or would lie; None where it could not be used."""
    if java.major != 17:
        return None
    jars = Path(pyspark.__path__[0]) / "jars"
    try:
        files = [java.home / "bin" / "java", *sorted(jars.glob("*.jar"))]
        marks = [f"{file} {(status := file.stat()).st_size} {status.st_mtime_ns}" for file in files]
        folder = cache_folder(environ)
    except OSError:
        return None
    return folder / f"classes-{hashlib.sha256('/'.join(marks).encode()).hexdigest()[:16]}.jsa"


def archive_options(java: Java, environ: Mapping[str, str]) -> str:
    """Options that make the JVM use the archive; empty when there is none."""
    archive = archive_path(java, environ)
    return f"-Xshare:auto -XX:SharedArchiveFile={archive}" if archive is not None and archive.is_file() else ""
