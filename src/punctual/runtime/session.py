"""The Spark session: one JVM, started the same way on every machine, silent on the terminal.

Whatever the user's environment says about Spark, Java options or Python paths does not reach the JVM: the session is
a function of the arguments alone. Options are of three kinds: what answers depend on (UTC, ANSI off, splits of files
that do not depend on cores), what small jobs need (no adaptive planning, no waiting for locality, no listing jobs), and
what keeps a process that runs for months flat (small histories, a scratch folder that is removed).

All output of the JVM, its logging and its Python workers goes to one log file (:func:`log_path`), which a failure
names.

A process has one JVM. ``start`` in a process that already has a live context shares it (with a session of its own, so
that the options of SQL hold); ``stop`` ends only what ``start`` began. The JVM ends with the process, however that
ends, because it reads a pipe from it.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from punctual.errors import EnvironmentFault
from punctual.runtime.jvm.archive import archive_options
from punctual.runtime.jvm.java import Java, find_java

MIB = 2**20
SPLIT_BYTES = 16 * MIB
"""Files are cut at multiples of this, whatever the number of cores: a row's identity holds its split."""

SQL_OPTIONS: dict[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "200000",
    # A slice may name thousands of files: they are looked up by the driver, never by a Spark job of its own.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
    # With both equal a split never depends on the number of cores, and no two files share one.
    "spark.sql.files.maxPartitionBytes": str(SPLIT_BYTES),
    "spark.sql.files.openCostInBytes": str(SPLIT_BYTES),
    # What pandas writes; feeds read such a column as a number and convert it.
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    # What holds of a column is passed on through every alias of it: exponential work for a join of forty columns.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "5",
}
"""Options of a SQL session; they hold in a shared context too."""

CONTEXT_OPTIONS: dict[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.ui.dagGraph.retainedRootRDDs": "20",
    "spark.sql.ui.retainedExecutions": "5",
    "spark.sql.streaming.ui.retainedQueries": "5",
    "spark.sql.streaming.ui.retainedProgressUpdates": "5",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.locality.wait": "0s",
    # Tasks say with every heartbeat how many rows they have made, by which runaway joins are found.
    "spark.executor.heartbeatInterval": "2s",
    # Twenty-four joins of windows are over a hundred generated classes; with the usual 100 entries all of them would be
    # compiled again with every run.
    "spark.sql.codegen.cache.maxEntries": "4000",
    # Without checksum files beside the data, which also could not stand beside a file whose name has a colon.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.python.worker.reuse": "true",
    # Over TCP every job waits 40 ms for an acknowledgement that is being held back.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "punctual.runtime.operators.daemon",
    "spark.submit.deployMode": "client",
}
"""Options that are fixed when the context starts."""

LONGEST_SOCKET_FOLDER = 60
"""The path of a socket has 107 bytes, and its name some forty."""

SILENCED = ("py4j", "SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark")
"""Python loggers that would print what an exception already says."""

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
LATE_C2 = " ".join(
    f"-XX:Tier4{threshold}={10 * usual}"
    for threshold, usual in (
        ("InvocationThreshold", 5_000),
        ("MinInvocationThreshold", 600),
        ("CompileThreshold", 15_000),
        ("BackEdgeThreshold", 40_000),
    )
)
"""C2 takes a method on after ten times as many calls as by default: at start it was a third of the JVM's CPU time, for
code that runs no more once Spark is up. What every batch runs gets there within the first ones."""
SPARK_PREFIXES = ("SPARK_", "PYSPARK_")
JAVA_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH")


@dataclass(frozen=True, slots=True)
class _Own:
    """What this process started and therefore ends."""

    spark: SparkSession
    gateway: JavaGateway
    folder: Path
    log: Path


_own: _Own | None = None
_starting = threading.Lock()


def start(master: str | None, app: str, options: Mapping[str, str]) -> SparkSession:
    """Start Spark, or share the context that this process already has.

    Parameters
    ----------
    master : str, optional
        A Spark master; by default ``local[n]`` with twice as many slots as cores.
    app : str
        The name of the application.
    options : mapping
        Further Spark options; they win over those of this module (options of the JVM are added to ours).

    Raises
    ------
    EnvironmentFault
        ``java.missing``; ``session.failed`` with the log file's path; ``session.other-master`` when the process
        has a context with another master than the one asked for.
    """
    _silence_loggers()
    with _starting:  # two that start together share the one that was first
        context = SparkContext._active_spark_context
        if context is not None and _process_alive(SparkContext._gateway):
            return _share(context, master, options)
        if SparkContext._gateway is not None:
            _forget_jvm()
        return _start_jvm(master or default_master(), app, options)


def is_running() -> bool:
    """Whether this process has a live context, which ``start`` would share."""
    return running_master() is not None


def running_master() -> str | None:
    """The master of that context; None where there is none."""
    context = SparkContext._active_spark_context
    return str(context.master) if context is not None and _process_alive(SparkContext._gateway) else None


def is_own(spark: SparkSession) -> bool:
    """Whether ``start`` began what the session runs on, so that ``stop`` ends it."""
    return _own is not None and spark is _own.spark


def stop(spark: SparkSession, patience_s: float = 10.0) -> None:
    """Stop the context and its JVM and remove its scratch folder; a shared context is left running."""
    global _own
    own = _own
    if own is None or spark is not own.spark:
        return
    _own = None
    if _process_alive(own.gateway):
        with contextlib.suppress(Exception):
            spark.stop()
    _end_jvm(own.gateway, patience_s)
    _forget_jvm()
    shutil.rmtree(own.folder, ignore_errors=True)


def jvm_pid(spark: SparkSession) -> int:
    """The process id of the session's JVM (no call to it)."""
    return int(_process(spark.sparkContext._gateway).pid)


def jvm_alive(spark: SparkSession) -> bool:
    """Whether the session's JVM still runs (no call to it)."""
    return _process_alive(spark.sparkContext._gateway)


def log_path() -> Path | None:
    """The log of the JVM that this process started: its output, Spark's warnings, its workers' errors."""
    return None if _own is None else _own.log


def default_master() -> str:
    """Twice as many slots as cores, so that a tick never waits behind another small job."""
    return f"local[{2 * cores()}]"


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def local_cores(master: str) -> int | None:
    """How many cores a master of this machine keeps busy, however many slots it has; None of a cluster.

    >>> local_cores("local[1]"), local_cores("local[*]") == cores(), local_cores("spark://there:7077")
    (1, True, None)
    """
    found = re.fullmatch(r"local(?:\[\s*(\d+|\*)\s*(?:,.*)?\])?", master.strip())
    if found is None:
        return None
    slots = found[1] or "1"
    return cores() if slots == "*" else max(1, min(int(slots), cores()))


def driver_memory_mib() -> int:
    """Heap of the driver: half of the machine's memory (or of the container's), at most 4 GiB, at least 512 MiB."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            total = min(total, int(Path(limit).read_text()))
    return max(512, min(4096, total // 2 // MIB))


def jvm_options(java: Java) -> str:
    """Command line options of the driver's JVM.

    On two cores the serial collector does the same work in half the memory; the C1 compiler alone would start in two
    thirds of the CPU time, and then need twice as much for every batch. So C2 compiles too, but later.
    """
    log4j = Path(__file__).with_name("log4j2.properties").as_uri()
    collector = "-XX:+UseSerialGC" if cores() <= 2 else "-XX:+UseParallelGC"
    archive = archive_options(java, os.environ)
    return f"-Dlog4j2.configurationFile={log4j} -Duser.timezone=UTC {collector} {LATE_C2} {archive}".rstrip()


def scrubbed(environ: Mapping[str, str], java: Java) -> dict[str, str]:
    """The environment of the JVM and its workers: the user's, without anything that steers Spark, Java or Python.

    ``PYTHONPATH`` keeps only the folder that Punctual itself was loaded from.
    """
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith(SPARK_PREFIXES) and name not in JAVA_VARIABLES and name != "PYTHONPATH"
    }
    loaded_from = str(Path(__file__).resolve().parents[2])
    if loaded_from in [os.path.realpath(part) for part in environ.get("PYTHONPATH", "").split(os.pathsep) if part]:
        kept["PYTHONPATH"] = loaded_from
    kept["JAVA_HOME"] = str(java.home)
    kept["PYSPARK_PYTHON"] = kept["PYSPARK_DRIVER_PYTHON"] = sys.executable
    return kept


def _names_sockets(master: str, folder: Path) -> bool:
    return master.startswith("local[") and len(str(folder)) < LONGEST_SOCKET_FOLDER


def _start_jvm(master: str, app: str, options: Mapping[str, str]) -> SparkSession:
    global _own
    java = find_java(os.environ)
    folder = Path(tempfile.mkdtemp(prefix="punctual-spark-"))
    log = folder / "spark.log"
    conf = SparkConf(loadDefaults=False)
    own_options = {
        **SQL_OPTIONS,
        **CONTEXT_OPTIONS,
        "spark.master": master,
        "spark.app.name": app,
        "spark.driver.memory": f"{driver_memory_mib()}m",
        JAVA_OPTIONS: jvm_options(java),
        "spark.sql.shuffle.partitions": str(cores()),
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        # On one machine: beside the rest of what is removed, where the path is not too long for a socket's.
        **({"spark.python.unix.domain.socket.dir": str(folder)} if _names_sockets(master, folder) else {}),
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
    }
    merged = {**own_options, **options}
    if JAVA_OPTIONS in options:
        merged[JAVA_OPTIONS] = f"{own_options[JAVA_OPTIONS]} {options[JAVA_OPTIONS]}"
    conf.setAll(list(merged.items()))
    # PySpark asks for these during its whole life, so they leave this process and not only the JVM's environment.
    for name in [name for name in os.environ if name.startswith(SPARK_PREFIXES)]:
        del os.environ[name]
    try:
        with open(log, "ab") as out, _environment(scrubbed(os.environ, java)):
            gateway = launch_gateway(conf, {"stdout": out, "stderr": subprocess.STDOUT})
            spark = SparkSession(SparkContext(conf=conf, gateway=gateway))
            # It would print a traceback when the JVM dies; whoever calls the JVM next learns of it anyway.
            spark.sparkContext._accumulatorServer.handle_error = lambda *_: None
            _make_code_cache(spark)
    except Exception as problem:
        # The folder stays: its log is what the message points at.
        if SparkContext._gateway is not None:
            _end_jvm(SparkContext._gateway, 10.0)
        _forget_jvm()
        raise EnvironmentFault(
            "session.failed",
            f'Spark did not start on master "{master}"',
            detail=_last_words(problem, log),
            hint=f"the whole log: {log}",
        ) from problem
    _own = _Own(spark, gateway, folder, log)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return spark


def _make_code_cache(spark: SparkSession) -> None:
    """Have Spark make its cache of generated classes now, by the options of this session.

    It is made with the first class, by the options of whatever thread comes first. On a thread without a session these
    are the defaults, and then every run of two dozen joins generated, compiled and warmed up all of its code again.
    """
    spark._jvm.org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator.compileTime()


def _share(context: SparkContext, master: str | None, options: Mapping[str, str]) -> SparkSession:
    if master is not None and master != context.master:
        raise EnvironmentFault(
            "session.other-master",
            f'this process already runs Spark on master "{context.master}"',
            detail="a process has one Spark context",
            hint=f'leave the master out, or stop the other one before asking for "{master}"',
        )
    spark = SparkSession(context).newSession()
    chosen = {**SQL_OPTIONS, "spark.sql.shuffle.partitions": str(cores()), **options}
    for name, value in chosen.items():
        if spark.conf.isModifiable(name):
            spark.conf.set(name, value)
    return spark


@contextlib.contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Change what differs and nothing else: other threads read this environment too."""
    before = dict(os.environ)
    _change_environment(wanted)
    try:
        yield
    finally:
        _change_environment(before)


def _change_environment(wanted: Mapping[str, str]) -> None:
    for name in [name for name in os.environ if name not in wanted]:
        del os.environ[name]
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def _silence_loggers() -> None:
    for name in SILENCED:
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.propagate = False


def _process(gateway: Any) -> subprocess.Popen[bytes]:
    process = getattr(gateway, "proc", None)
    if not isinstance(process, subprocess.Popen):
        raise EnvironmentFault(
            "session.foreign-jvm",
            "the JVM of this Spark session was not started by this process",
            hint="run the program with python instead of spark-submit",
        )
    return process


def _process_alive(gateway: Any) -> bool:
    return gateway is not None and _process(gateway).poll() is None


def _end_jvm(gateway: JavaGateway, patience_s: float) -> None:
    """Close the pipe that the JVM lives on, and wait for it."""
    process = _process(gateway)
    with contextlib.suppress(Exception):
        gateway.shutdown()
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _forget_jvm() -> None:
    """PySpark keeps its JVM in class attributes; without them it starts another one."""
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None


def _last_words(problem: Exception, log: Path) -> str:
    said = str(problem).strip().splitlines()[:1] if not isinstance(problem, PySparkException) else []
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return "; ".join(said + lines[-3:]) or type(problem).__name__
