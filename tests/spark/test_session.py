"""The session: the same on every machine, silent, and able to say that its JVM is gone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from punctual.errors import EnvironmentFault
from punctual.runtime import session
from punctual.runtime.jvm.java import find_java

pytestmark = pytest.mark.spark

PROGRAM = """
import os, signal, sys, time
from punctual.runtime import session

def same(batches):
    yield from batches

def failing(batches):
    raise ValueError("a worker that fails")

spark = session.start("local[2]", "test", {"spark.driver.memory": "600m"})
jvm = spark._jvm
print(jvm.java.lang.System.getProperty("java.version").split(".")[0])
print(jvm.java.lang.Runtime.getRuntime().maxMemory() // 2**20 < 620)
print(spark.range(5).mapInArrow(same, "id BIGINT").count())
for wrong in (lambda: spark.sql("SELECT nothing"), lambda: spark.range(2).mapInArrow(failing, "id BIGINT").collect()):
    try:
        wrong()
        print("no error")
    except Exception as error:
        print(type(error).__name__)
log, scratch = session.log_path(), session.log_path().parent
print("a worker that fails" in log.read_text())
sys.stderr.write("the JVM is killed\\n")
os.kill(session.jvm_pid(spark), signal.SIGKILL)
while session.jvm_alive(spark):
    time.sleep(0.05)
print("gone")
session.stop(spark)
print(scratch.exists())
again = session.start("local[1]", "test", {"spark.driver.memory": "600m"})
print(again.range(3).count(), session.jvm_alive(again))
session.stop(again)
try:
    session.start("nonsense", "test", {})
except Exception as error:
    print(error.code, os.path.exists(error.hint.split(": ")[1]))
"""


def machine_without_java(folder: Path) -> str:
    """A PATH with every program of this machine but Java."""
    for origin in ("/usr/bin", "/bin"):
        for name in os.listdir(origin):
            if not name.startswith("java") and not (folder / name).is_symlink():
                (folder / name).symlink_to(os.path.join(origin, name))
    return str(folder)


def test_a_hostile_machine_without_java(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    hostile = {
        "PATH": machine_without_java(programs), "HOME": str(tmp_path), "TMPDIR": str(tmp_path),
        "JAVA_HOME": "/nonsense", "SPARK_HOME": "/nonsense", "SPARK_CONF_DIR": "/nonsense", "PYTHONPATH": "/nonsense",
        "PYSPARK_SUBMIT_ARGS": "--nonsense", "PYSPARK_PYTHON": "/nonsense", "PYSPARK_DRIVER_PYTHON": "/nonsense",
        "JAVA_TOOL_OPTIONS": "-Xnonsense", "SPARK_REMOTE": "sc://nonsense", "SPARK_LOCAL_DIRS": "/proc/nonsense",
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=hostile, capture_output=True, text=True, timeout=300)
    # Once the JVM is gone, py4j's own thread may say that it cannot release an object there; before that nobody speaks.
    assert done.stderr.split("the JVM is killed")[0] == "", f"{done.stdout}\n{done.stderr}"
    assert done.stdout.splitlines() == [
        "21", "True", "5", "AnalysisException", "PythonException", "True", "gone", "False", "3 True",
        "session.failed True",
    ]  # fmt: skip


def test_answers_do_not_depend_on_the_machine(spark: SparkSession) -> None:
    row = spark.sql(
        "SELECT current_timezone() AS zone, 1 / 0 AS nothing, CAST('x' AS INT) AS no_number, "
        "CAST(TIMESTAMP '1970-01-01 00:00:00' AS BIGINT) AS epoch"
    ).collect()[0]
    assert (row.zone, row.nothing, row.no_number, row.epoch) == ("UTC", None, None, 0)


def test_splits_do_not_depend_on_cores(spark: SparkSession, tmp_path: Path) -> None:
    size = session.SPLIT_BYTES
    (tmp_path / "large").write_bytes(b"0123456\n" * (size * 5 // 2 // 8))
    for number in range(3):
        (tmp_path / f"small{number}").write_text("1\n")
    starts = spark.read.text(str(tmp_path)).selectExpr(
        "_metadata.file_name AS f", "_metadata.file_block_start AS s"
    ).distinct().collect()  # fmt: skip
    assert sorted((r.f, r.s) for r in starts) == [
        ("large", 0), ("large", size), ("large", 2 * size), ("small0", 0), ("small1", 0), ("small2", 0),
    ]  # fmt: skip


def test_workers_run_this_python(spark: SparkSession) -> None:
    assert spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable).collect() == [sys.executable]


def test_the_pid_is_the_jvm_s(spark: SparkSession) -> None:
    assert session.jvm_pid(spark) == spark._jvm.java.lang.ProcessHandle.current().pid()
    assert session.jvm_alive(spark)


def test_a_second_start_shares_the_context_and_does_not_stop_it(spark: SparkSession) -> None:
    shared = session.start(None, "other", {"spark.sql.shuffle.partitions": "7"})
    assert shared.sparkContext is spark.sparkContext
    assert shared.conf.get("spark.sql.shuffle.partitions") == "7"
    assert shared.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.shuffle.partitions") != "7"
    session.stop(shared)
    assert spark.range(3).count() == 3
    with pytest.raises(EnvironmentFault) as failed:
        session.start("local[7]", "other", {})
    assert failed.value.code == "session.other-master"


def test_the_jvm_ends_with_a_killed_driver(tmp_path: Path) -> None:
    program = (
        "from punctual.runtime import session\nimport os, time\n"
        "spark = session.start('local[1]', 'test', {'spark.driver.memory': '600m'})\n"
        "print(session.jvm_pid(spark), flush=True)\ntime.sleep(300)\n"
    )
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", program], env=environ, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        pid = int(driver.stdout.readline())
        assert Path(f"/proc/{pid}").exists()
        driver.kill()
    for _ in range(600):
        if not Path(f"/proc/{pid}").exists():
            return
        time.sleep(0.1)
    raise AssertionError("the JVM outlived its driver by a minute")


def test_java_knows_the_options_that_it_gets() -> None:
    """Spark tells Java to ignore unknown ones, so a misspelt option would do nothing and say nothing."""
    java = find_java(os.environ)
    command = [java.home / "bin" / "java", *session.LATE_C2.split(), "-XX:+PrintFlagsFinal", "-version"]
    flags = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    given = [line.split() for line in flags if "Tier4" in line and "{command line}" in line]
    assert {f"-XX:{name}={value}" for _type, name, _is, value, *_rest in given} == set(session.LATE_C2.split())
    assert session.LATE_C2 in session.jvm_options(java)


def test_generated_classes_are_kept_by_the_options_of_the_session(spark: SparkSession) -> None:
    """Spark makes that cache once, by the options of the thread that comes first, which may have none."""
    jvm = spark._jvm
    code = jvm.java.lang.Class.forName("org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator$")
    outer = _field(code, "cache").get(code.getField("MODULE$").get(None))
    guava = _field(jvm.java.lang.Class.forName("org.apache.spark.util.NonFateSharingCache"), "cache").get(outer)
    local = _field(guava.getClass().getSuperclass(), "localCache").get(guava)
    wanted = int(session.CONTEXT_OPTIONS["spark.sql.codegen.cache.maxEntries"])
    assert _field(local.getClass(), "maxWeight").get(local) == wanted > 100


def _field(of: Any, name: str) -> Any:
    found = of.getDeclaredField(name)
    found.setAccessible(True)
    return found
