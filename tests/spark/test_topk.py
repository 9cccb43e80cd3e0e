"""Rankings over possible worlds through the command line on Spark, against every world of every window."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from punctual.cli.main import main
from tests.engine.test_topk import START, drawn, in_window, ranked
from tests.oracles import worlds
from tests.oracles.display import following

pytestmark = pytest.mark.spark
TABLE_1 = (
    ("R1", 70, 0.4, "Y"), ("R2", 60, 0.7, "X"), ("R3", 80, 0.3, "X"),
    ("R4", 55, 1.0, None), ("R5", 110, 0.8, None), ("R6", 50, 0.5, None),
)  # fmt: skip
"""Readings of radars; what they must answer is counted over their worlds."""


def run(folder: Path, program: str, *options: str) -> dict[str, list[dict[str, Any]]]:
    (folder / "program.sql").write_text(program)
    out = folder / "out"
    assert main(["run", str(folder / "program.sql"), "--once", "--out", str(out), *options]) == 0
    return {path.stem: [json.loads(line) for line in path.read_text().splitlines()] for path in out.glob("*.jsonl")}


def test_every_ranking_of_one_window(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    lines = [
        json.dumps({"t": f"2024-05-01T00:00:{i:02}Z", "id": i_d, "speed": speed, "conf": conf, "car": car})
        for i, (i_d, speed, conf, car) in enumerate(TABLE_1, 1)
    ]
    bad = json.dumps({"t": "2024-05-01T00:00:09Z", "id": "R7", "speed": 999, "conf": 1.7, "car": None})
    later = json.dumps({"t": "2024-05-01T00:01:00Z", "id": "R8", "speed": 1, "conf": 0.5, "car": None})
    (tmp_path / "rows" / "a.json").write_text("\n".join([*lines, bad, later]))
    stream = (
        "CREATE STREAM radar (t TIMESTAMP EVENT TIME, id STRING, speed DOUBLE, conf DOUBLE PROBABILITY, "
        "car STRING RULE) FROM FILES 'rows' FORMAT JSON;\n"
    )
    window = "FROM radar [RANGE 1 MINUTE] WHERE speed > 10 ORDER BY speed DESC PERIOD 1 MINUTE;\n"
    semantics = {"pk": "PK", "kranks": "U_KRANKS", "likeliest": "U_TOPK", "means": "EXPECTED_RANK"}
    program = stream + "".join(
        f"CREATE QUERY {name} AS SELECT TOP 3 BY {by} id, upper(id) AS big, speed {window}"
        for name, by in semantics.items()
    )
    found = run(tmp_path, program)
    rows = sorted(TABLE_1, key=lambda row: -row[1])
    oracle = [worlds.Row(row[1], Fraction(row[2]).limit_denominator(10), row[3]) for row in rows]
    answers = {name: some[-1]["rows"] for name, some in found.items()}
    probabilities = worlds.topk_probabilities(oracle, 3)
    best = worlds.best_by(oracle, probabilities, 3)
    assert [row["id"] for row in answers["pk"]] == [rows[i][0] for i in best]
    assert [row["probability"] for row in answers["pk"]] == pytest.approx([float(probabilities[i]) for i in best])
    assert [row["big"] for row in answers["pk"]] == [row["id"] for row in answers["pk"]]
    pairs = worlds.u_kranks(oracle, 3)
    assert [(row["id"], row["rank"]) for row in answers["kranks"]] == [
        (rows[i][0], rank) for rank, (i, _p) in enumerate(pairs, 1)
    ]
    likeliest, chance = worlds.u_topk(oracle, 3)
    assert [row["id"] for row in answers["likeliest"]] == [rows[i][0] for i in likeliest]
    assert answers["likeliest"][0]["probability"] == pytest.approx(float(chance))
    means = worlds.expected_ranks(oracle)
    assert [row["expected"] for row in answers["means"]] == pytest.approx(sorted(map(float, means.values()))[:3])
    assert {answer["semantics"] for answer in found["pk"]} == {"PK"}


@pytest.mark.parametrize("placement", ["driver", "cluster"])
def test_many_windows_in_many_files(tmp_path: Path, placement: str) -> None:
    rows = drawn(5, 60)
    (tmp_path / "rows").mkdir()
    for number in range(3):
        lines = [
            json.dumps({"us": t, "id": i_d, "lane": lane, "speed": speed, "conf": conf, "car": car})
            for t, i_d, lane, speed, conf, car in rows[20 * number : 20 * number + 20]
        ]
        (tmp_path / "rows" / f"{number}.json").write_text("\n".join(lines))
    program = """
    CREATE STREAM radar (
        us BIGINT, t TIMESTAMP EVENT TIME AS (timestamp_micros(us)),
        id INT, lane STRING, speed INT, conf DOUBLE PROBABILITY, car STRING RULE
    ) FROM FILES 'rows' FORMAT JSON;
    SET max_files_per_tick = 1;
    CREATE QUERY two AS SELECT TOP 2 id FROM radar [RANGE 4 SECONDS] ORDER BY speed DESC PERIOD 2 SECONDS;
    CREATE QUERY lanes AS
    SELECT TOP 1 lane, id FROM radar [RANGE 4 SECONDS] GROUP BY lane ORDER BY speed PERIOD 2 SECONDS;
    CREATE QUERY calm AS
    SELECT TOP 2 array(id, speed) AS who, id FROM radar [RANGE 4 SECONDS] GROUP BY lane ORDER BY speed DESC
    PERIOD 1 SECOND STABLE 50%;
    """
    found = run(tmp_path, program, "--set", f"placement={placement}")
    checked = 0
    for second, answer in zip(range(0, 40, 2), found["two"]):
        inside, ids = ranked(in_window(rows, START + second * 1_000_000))
        best = worlds.best_by(inside, worlds.topk_probabilities(inside, 2), 2)
        assert [row["id"] for row in answer["rows"]] == [ids[i] for i in best]
        checked += 1
    assert checked >= 9
    for second, answer in zip(range(0, 40, 2), found["lanes"]):
        expected = []
        for lane in "LR":
            inside, ids = ranked(
                [row for row in in_window(rows, START + second * 1_000_000) if row[2] == lane], ascending=True
            )
            best = worlds.best_by(inside, worlds.topk_probabilities(inside, 1), 1)
            expected += [(lane, ids[i]) for i in best]
        assert [(row["lane"], row["id"]) for row in answer["rows"]] == expected
    shown: dict[str, list[Any]] = {"L": [], "R": []}
    held = 0
    for second, answer in enumerate(found["calm"]):
        for lane in "LR":
            inside, ids = ranked([row for row in in_window(rows, START + second * 1_000_000) if row[2] == lane])
            values = worlds.topk_probabilities(inside, 2)
            ranking = [(ids[i], values[i]) for i in worlds.best_by(inside, values, len(inside)) if values[i]]
            shown[lane] = following(shown[lane], ranking, Fraction(1, 2), k=2)
            held += len(set(shown[lane]) - {who for who, _value in ranking[:2]})
        assert [row["id"] for row in answer["rows"]] == shown["L"] + shown["R"]
        assert list(answer)[-2:] == ["stable", "held"]
    assert sum(answer["held"] for answer in found["calm"]) == held > 0


@pytest.mark.parametrize("placement", ["driver", "cluster"])
def test_two_streams_as_one_and_a_rule_that_breaks(tmp_path: Path, placement: str, capsys: Any) -> None:
    radar, camera = drawn(5, 40)[::2], [(t + 1000, n + 100, *rest) for t, n, *rest in drawn(6, 40)[::3]]
    broken = [(START + 9_500_000 + i, 200 + i, "L", 99, 0.7, "same") for i in range(2)]
    for name, rows in (("radar", [*radar, *broken]), ("camera", camera)):
        (tmp_path / name).mkdir()
        lines = [
            json.dumps({"us": t, "id": i_d, "lane": lane, "speed": speed, "conf": conf, "car": car, "p": conf})
            for t, i_d, lane, speed, conf, car in rows
        ]
        (tmp_path / name / "a.json").write_text("\n".join(lines))
    time = "us BIGINT, t TIMESTAMP EVENT TIME AS (timestamp_micros(us)), id INT"
    program = f"""
    CREATE STREAM radar ({time}, lane STRING KEY, speed INT, conf DOUBLE PROBABILITY, car STRING RULE)
    FROM FILES 'radar' FORMAT JSON;
    CREATE STREAM camera ({time}, car STRING RULE, lane STRING KEY, speed INT, p DOUBLE PROBABILITY)
    FROM FILES 'camera' FORMAT JSON;
    CREATE QUERY both AS SELECT TOP 2 id, t, lower(lane) AS lane
    FROM radar [RANGE 3 SECONDS] UNION ALL camera [RANGE 3 SECONDS] ORDER BY speed DESC PERIOD 2 SECONDS;
    CREATE QUERY counted AS SELECT lane, count(*) AS n
    FROM radar [RANGE 3 SECONDS] UNION ALL camera [RANGE 3 SECONDS] GROUP BY lane PERIOD 2 SECONDS;
    """
    state = tmp_path / "state"
    found = run(tmp_path, program, "--set", f"placement={placement}", "--state", str(state))
    rows = [(row, "radar") for row in (*radar, *broken)] + [(row, "camera") for row in camera]
    rejected = []
    for second, answer, counted in zip(range(0, 40, 2), found["both"], found["counted"]):
        at = START + second * 1_000_000
        inside = [(row, name) for row, name in rows if at - 3_000_000 < row[0] <= at]
        assert counted["rows"] == [
            {"lane": lane, "n": count} for lane in "LR" if (count := sum(row[2] == lane for row, _name in inside))
        ]
        fine = [(row, name) for row, name in inside if row[5] != "same"]
        order = sorted(fine, key=lambda one: (-one[0][3], one[0][0], one[0][1]))
        oracle = [
            worlds.Row(len(order) - i, Fraction(row[4]), None if row[5] is None else f"{name}:{row[5]}")
            for i, (row, name) in enumerate(order)
        ]
        values = worlds.topk_probabilities(oracle, 2)
        best = worlds.best_by(oracle, values, 2)
        assert [row["id"] for row in answer["rows"]] == [order[i][0][1] for i in best]
        assert [row["lane"] for row in answer["rows"]] == [order[i][0][2].lower() for i in best]
        assert all(row["t"].startswith("2023-11-14T22:13:") for row in answer["rows"])
        rejected.append(answer["rejected"])
    assert len(rejected) > 5
    assert {0, 2} == set(rejected)
    capsys.readouterr()
    assert main(["dead", "--state", str(state)]) == 0
    told = capsys.readouterr().out
    assert told.count("adds up to more than 1 within a window") == 2
