"""Casts of texts in a task agree with Spark's, for the table of cases and for texts that nobody chose."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.scan.test_text_casts import CASES, KINDS, cast, plain

pytestmark = pytest.mark.spark

SEEDS = (
    "2020-01-02 03:04:05.678901+01:00", "2020-01-02T03:04:05Z", "-12.5e3", "1234567", "true", "2021-12-31", "no",
    "2020-06-01 10:00:00 Europe/Berlin", "0x1.8p3", "Infinity", "0.30000000000000004", "16777217.0000000001",
    "99999999.995", "123456789012345678.9", "2024-02-29T23:59:59.999999999-18:00", "-0001-1-1 1:2:3 UTC+1:2",
)  # fmt: skip
SIGNS = "0123456789-+:. TZeEdfxp/UG\t\x00\x7f\xa0"


def by_spark(spark: SparkSession, texts: list[str], folder: Path) -> pa.Table:
    pq.write_table(pa.table({"text": texts}), folder / "texts.parquet")
    frame = spark.read.parquet(str(folder / "texts.parquet")).coalesce(1)
    return frame.selectExpr("text", *(f"try_cast(text AS {kind}) AS `{kind}`" for kind in KINDS)).toArrow()


def mutated(rng: random.Random) -> str:
    text = list(rng.choice(SEEDS))
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(text) + 1)
        text[place : place + rng.randint(0, 1)] = rng.choices(SIGNS, k=rng.randint(0, 2))
    before, colon, after = "".join(text).partition(":")
    # A time without a date is of today, which may end before Spark has answered.
    return before + colon + after if "-" in before or not colon else mutated(rng)


@pytest.mark.parametrize("chosen", [True, False], ids=["table", "random"])
def test_casts_agree_with_spark(spark: SparkSession, tmp_path: Path, chosen: bool) -> None:
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    texts = CASES["text"].to_pylist() if chosen else [mutated(rng) for _ in range(4_000)]
    answered = by_spark(spark, texts, tmp_path)
    texts = answered["text"].to_pylist()
    for kind in KINDS:
        expected = plain(pa.concat_arrays(answered[kind].chunks), kind)
        found = plain(cast(texts, kind)[0], kind)
        wrong = [case for case in zip(texts, found, expected) if case[1] != case[2]]
        assert wrong == [], (kind, seed)
