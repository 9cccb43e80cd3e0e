"""Rounds that are drawn while stages run, by scripts of events: who draws, until when, and when answers are begun."""

from __future__ import annotations

from dataclasses import replace

import pytest

from punctual.clock import SECOND, Micros
from punctual.estimate.execution_cost import ExecutionCost
from punctual.kinds.worlds.rounds.settle import FewerRounds
from punctual.schedule.contract import Contract
from punctual.schedule.due import Timetable
from punctual.schedule.events import (
    Answer,
    BatchRead,
    CancelAsked,
    Command,
    JobletEnded,
    MakeRows,
    NothingRead,
    Prepare,
    Prepared,
    Read,
    ReadAsked,
    RowsMade,
    StopAsked,
    TimerFired,
)
from punctual.schedule.stages.answer_times import FIRST_US
from punctual.schedule.stages.drawn import Drawn
from punctual.schedule.stages.open_stages import LEAST_LEAD_US
from punctual.schedule.stages.sharing import Draw, EndDraws
from punctual.schedule.stages.stage import Stage
from punctual.schedule.state import Rules
from tests.schedule.script import Script

ROUND_US = 1_000.0
OWN = 200


def contract(name: str, *stages_s: float, period_s: int = 10, ahead: bool = True) -> Contract:
    stages = tuple(int(second * SECOND) for second in stages_s)
    table = Timetable.multiples(period_s * SECOND)
    return Contract(name, ("s",), 10 * SECOND, table, period_s * SECOND, stages=stages, ahead=ahead, sharing_class=name)


class Cores(Script):
    """A script whose joblets take as long as they should, on cores that are all ours."""

    def __init__(self, *contracts: Contract, cores: int = 2) -> None:
        rules = Rules("live", timed=True, qos="dynamic-sampling", cores=float(cores), tick_us=1_000 * SECOND)
        super().__init__(rules, *contracts)
        self.running: list[tuple[Micros, Draw]] = []
        self.rounds: dict[tuple[str, Micros], int] = {}
        self.unable: set[str] = set()
        self.by_spark: set[str] = set()
        self.said: list[Command] = []
        self.answers: list[tuple[float, Stage, int]] = []

    def begin(self, through_s: float) -> None:
        """A batch that releases all instants through a second."""
        self.take(self(ReadAsked(self.now())))
        self.take(self(BatchRead(self.now(), 0, 0)))
        self.take(self.committed(0, through_s))
        self.take(self.applied(0))

    def take(self, commands: list[Command]) -> None:
        self.said += commands
        for command in commands:
            match command:
                case Prepare(groups):
                    new = {(q, at): 8 for g in groups for q in g.cohort.queries for at in g.due.instants.tolist()}
                    new = {which: rounds for which, rounds in new.items() if which[0] not in self.unable}
                    left = frozenset(which for which in new if which[0] in self.by_spark)
                    self.rounds |= {which: rounds for which, rounds in new.items() if which not in left}
                    found = {which: self.drawn(which) for which in new if which not in left}
                    self.take(self(Prepared(self.now(), found, frozenset(self.unable), left)))
                case Draw():
                    self.running.append(self.begun(command))
                case Answer(current_pass):
                    for group in current_pass.groups:
                        for query in group.cohort.queries:
                            for at in group.due.instants.tolist():
                                have = self.rounds.get((query, at), 0)
                                self.answers.append((self.at / SECOND, Stage(query, at, group.number), have))
                    self.take(self.answered())
                case Read():
                    self.take(self(NothingRead(self.now())))

    def begun(self, draw: Draw) -> tuple[Micros, Draw]:
        """When a joblet will be through, and what it draws."""
        return self.at + int(draw.rounds * ROUND_US), draw

    def drawn(self, which: tuple[str, Micros]) -> Drawn:
        return Drawn(self.rounds[which], ROUND_US, own=OWN)

    def until(self, second: float) -> None:
        """Let time pass: joblets end when they do, timers fire when they should."""
        end = int(second * SECOND)
        while True:
            following = min((when for when, _draw in self.running), default=end + 1)
            timer = self.wake if self.wake is not None and self.wake > self.at else end + 1
            self.at = min(following, timer, end)
            if following <= self.at:
                place = next(n for n, (when, _draw) in enumerate(self.running) if when == following)
                _when, draw = self.running.pop(place)
                which = draw.stage.query, draw.stage.at
                if which in self.rounds:
                    self.rounds[which] += draw.rounds
                found = self.drawn(which) if which in self.rounds else None
                used = draw.rounds * ROUND_US
                self.take(self(JobletEnded(self.now(), draw.joblet, draw.stage, used, found)))
            elif timer <= self.at:
                self.take(self(TimerFired(self.now())))
            else:
                return


def test_a_stage_is_drawn_for_until_shortly_before_its_deadline() -> None:
    script = Cores(contract("q", 1, 3))
    script.begin(10)
    assert [type(one) for one in script.said[-2:]] == [Draw, Draw], "one for each core"
    script.until(5)
    (first, one, few), (second, other, more) = script.answers
    assert (one, other) == (Stage("q", 10 * SECOND, 0), Stage("q", 10 * SECOND, 1))
    # Before there was an answer nobody knows how long one takes; in a script it takes no time, which is learned.
    leads = (1 - (LEAST_LEAD_US + 2 * FIRST_US) / SECOND, 3 - LEAST_LEAD_US / SECOND)
    assert (first, second) == (pytest.approx(leads[0], abs=1e-5), pytest.approx(leads[1], abs=0.01))
    # Two cores that draw a round in a millisecond each, all of the time but for what a joblet leaves at the end.
    assert 2 * 900 < few <= 2 * 970 + 8
    assert few + 2 * 1_800 < more <= few + 2 * 2_000
    assert not script.running, "nobody draws after the last answer"


def test_who_waits_for_rows_that_spark_makes_holds_up_nobody() -> None:
    """It is made ready once; the answer that was due meanwhile comes as soon as there are rows, and rounds of them."""
    script = Cores(contract("made", 1, 6), contract("read", 1, 2))
    script.by_spark = {"made"}
    script.begin(10)
    made = ("made", 10 * SECOND)
    assert [one for one in script.said if isinstance(one, MakeRows)] == [MakeRows(frozenset([made]))]
    script.until(3)
    assert [stage for _when, stage, _rounds in script.answers] == [Stage("read", made[1], n) for n in (0, 1)]
    assert len([one for one in script.said if isinstance(one, Prepare)]) == 1
    script.rounds[made] = 8
    script.take(script(RowsMade(script.now(), frozenset([made]), {made: script.drawn(made)})))
    script.until(7)
    (late, first, few), (soon, second, more) = script.answers[2:]
    assert (late, first, few) == (3.0, Stage("made", made[1], 0), 8)
    assert (soon, second) == (pytest.approx(6 - LEAST_LEAD_US / SECOND, abs=0.01), Stage("made", made[1], 1))
    assert more > 2 * OWN


def test_rows_that_nobody_wants_any_more_are_not_drawn_for() -> None:
    script = Cores(contract("made", 1, 6))
    script.by_spark = {"made"}
    script.begin(10)
    made = ("made", 10 * SECOND)
    script.take(script(CancelAsked(script.now(), "made", None)))
    script.rounds[made] = 8
    script.take(script(RowsMade(script.now(), frozenset([made]), {made: script.drawn(made)})))
    script.until(7)
    assert not script.answers
    assert not script.state.sharing.drawn
    assert not [one for one in script.said if isinstance(one, Draw)]


def test_what_is_essential_comes_first_and_the_rest_is_shared() -> None:
    script = Cores(contract("soon", 1), contract("later", 4), cores=1)
    script.begin(10)
    script.until(0.45)
    at = 10 * SECOND
    assert script.rounds["soon", at] >= OWN
    assert script.rounds["later", at] >= OWN
    order = [one.stage.query for one in script.said if isinstance(one, Draw)]
    assert order[:4] == ["soon"] * 4, "the earlier deadline first"
    script.until(5)
    assert [stage.query for _when, stage, _rounds in script.answers] == ["soon", "later"]


def test_nobody_draws_for_its_pleasure_while_others_need_the_cores() -> None:
    script = Cores(contract("q", 2), cores=1)
    script.begin(10)
    script.until(0.3)
    before = script.rounds["q", 10 * SECOND]
    script.state = replace(script.state, intake=replace(script.state.intake, under_way=True))  # a batch is being read
    script.take(script(TimerFired(script.now())))
    script.until(0.9)
    assert script.rounds["q", 10 * SECOND] <= before + 50, "what had begun"
    script.state = replace(script.state, intake=replace(script.state.intake, under_way=False))
    script.take(script(TimerFired(script.now())))
    script.until(1.5)
    assert script.rounds["q", 10 * SECOND] > before + 500


def test_a_level_below_one_has_fewer_essential_rounds_and_no_others() -> None:
    script = Cores(contract("q", 2), cores=1)
    script.state = replace(script.state, level=0.7)
    script.begin(10)
    script.until(1.9)
    quarter = (OWN - 8) / 4  # what CONVEX keeps at 0.7
    assert quarter <= script.rounds["q", 10 * SECOND] - 8 <= quarter + 1


@pytest.mark.parametrize("stop", [True, False])
def test_nothing_begins_after_a_stop_or_a_cancel(stop: bool) -> None:
    script = Cores(contract("q", 2, 4))
    script.begin(10)
    script.until(0.5)
    count = sum(isinstance(one, Draw) for one in script.said)
    script.take(script(StopAsked(script.now()) if stop else CancelAsked(script.now(), "q")))
    script.until(4)
    assert sum(isinstance(one, Draw) for one in script.said) == count
    assert not script.running
    assert not script.state.sharing.running


def test_what_cannot_be_drawn_ahead_is_answered_at_once() -> None:
    script = Cores(contract("q", 2, 4))
    script.unable.add("q")
    script.begin(10)
    script.until(5)
    assert [(when, stage.number) for when, stage, _rounds in script.answers] == [(0.0, 0), (2.0, 1)]


def test_stages_that_are_not_drawn_for_are_as_before() -> None:
    script = Cores(contract("q", 2, 4, ahead=False))
    script.begin(10)
    script.until(5)
    assert [(when, stage.number) for when, stage, _rounds in script.answers] == [(0.0, 0), (2.0, 1)]
    assert not any(isinstance(one, Draw | Prepare) for one in script.said)


def test_many_instants_are_made_ready_a_few_at_a_time() -> None:
    script = Cores(contract("q", 5, period_s=1))
    script.begin(40)
    prepared = [one for one in script.said if isinstance(one, Prepare)]
    sizes = [sum(group.size for group in one.groups) for one in prepared]
    assert sum(sizes) == 40
    assert max(sizes) <= 16
    script.until(6)
    assert sorted(stage.at // SECOND for _when, stage, _rounds in script.answers) == list(range(1, 41))
    rounds = [rounds for _when, _stage, rounds in script.answers]
    assert min(rounds) >= OWN, "there is time for everybody"


def test_bonus_gives_its_cores_back_when_something_is_read() -> None:
    """Else a tick shares the cores with them, for as long as a joblet is."""
    script = Cores(contract("q", 10))
    script.begin(10)
    script.until(0.03)
    assert len(script.running) == 2, "essential ones, which go on"
    assert ended(script(ReadAsked(script.now()))) == []
    script(NothingRead(script.now()))
    script.until(1.02)
    bonus = sorted(draw.joblet for _when, draw in script.running)
    assert len(bonus) == 2
    assert ended(script(ReadAsked(script.now()))) == bonus
    for _time in range(2):  # they are told once, and nobody begins while it is read
        _when, draw = script.running.pop()
        which = draw.stage.query, draw.stage.at
        script.rounds[which] += 5
        after = script(JobletEnded(script.now(), draw.joblet, draw.stage, 5 * ROUND_US, script.drawn(which)))
        assert not [one for one in after if isinstance(one, Draw | EndDraws)]
    before = script.rounds["q", 10 * SECOND]
    script.take(script(NothingRead(script.now())))
    assert len(script.running) == 2, "then they go on"
    script.until(2)
    assert script.rounds["q", 10 * SECOND] > before + 1_800


def test_many_deadlines_of_stages_are_no_reason_to_draw_less() -> None:
    """Each has a pass; but cores draw meanwhile, and do not stand idle."""
    stages = [[0.5 + 0.02 * number + 2 * stage for stage in range(3)] for number in range(12)]
    names = [f"q{number}" for number in range(12)]
    each = [replace(contract(name, *some), knob=FewerRounds()) for name, some in zip(names, stages)]
    each.append(replace(contract("waits for nobody", 6, ahead=False), knob=FewerRounds()))
    script = Cores(*each, cores=2)
    costs = {name: ExecutionCost(alone_fixed_us=5_000.0, alone_work_us=250_000.0) for name in names}
    costs["waits for nobody"] = ExecutionCost(1_000.0)
    script.state = replace(script.state, rules=replace(script.state.rules, tick_us=50_000), executions=costs)
    script.begin(10)
    assert [stage.query for _at, stage, _rounds in script.answers] == ["waits for nobody"]
    # Twelve stages need three seconds of two cores in less than three, and there are twelve more after that.
    assert script.state.level == 1.0


def test_rounds_that_were_thought_too_dear_are_drawn_once_it_is_known() -> None:
    """Windows that have only been made ready are thought to need 130 times as much as they do."""

    class Cheaper(Cores):
        def drawn(self, which: tuple[str, Micros]) -> Drawn:
            return Drawn(self.rounds[which], ROUND_US if self.rounds[which] > 8 else 130 * ROUND_US, own=OWN)

    script = Cheaper(*(contract(f"q{number}", 1.2) for number in range(8)))
    script.begin(10)
    script(ReadAsked(script.now()))  # a long read: no bonus meanwhile
    script.until(2)
    rounds = [rounds for _at, _stage, rounds in script.answers]
    assert len(rounds) == 8
    assert min(rounds) >= OWN, "there is time for all that is essential"


def ended(commands: list[Command]) -> list[int]:
    return [joblet for one in commands if isinstance(one, EndDraws) for joblet in one.joblets]


def test_where_something_is_always_ready_windows_still_have_their_turn() -> None:
    """Else nothing is drawn ahead any more, and the holder alone draws all rounds while it answers."""
    script = Cores(contract("a", 1), contract("b", 1.5))
    script.begin(10)
    script.at = SECOND - int(LEAST_LEAD_US)
    (first,) = [one for one in script(TimerFired(script.now())) if isinstance(one, Answer)]
    assert [group.cohort.queries for group in first.current_pass.groups] == [("a",)]
    script(ReadAsked(script.now()))
    script(BatchRead(script.now(), 0, 0))
    script.committed(1, 20)
    script.at = int(1.5 * SECOND) - int(LEAST_LEAD_US)  # b is ready by now
    script.answered()
    (one,) = [one for one in script.applied(1) if isinstance(one, Prepare | Answer)]
    assert isinstance(one, Prepare)
    assert [group.size for group in one.groups] == [1], "no more than one before what is ready"
    which = (one.groups[0].cohort.queries[0], 20 * SECOND)
    script.rounds[which] = 8
    after = script(Prepared(script.now(), {which: script.drawn(which)}, frozenset()))
    (then,) = [one for one in after if isinstance(one, Prepare | Answer)]
    assert isinstance(then, Answer)
    assert [group.cohort.queries for group in then.current_pass.groups] == [("b",)]


# -- joblets that are jobs ----------------------------------------------------------------------------


class Jobs(Cores):
    """Each joblet is a job: to begin it takes a while, and one that is told to end comes back with nothing."""

    begin_us, at_once = 100_000.0, 400
    most = 1 << 30

    def __init__(self, *contracts: Contract, cores: int = 2) -> None:
        super().__init__(*contracts, cores=cores)
        self.ended: list[int] = []

    def take(self, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, EndDraws):
                self.ended += command.joblets
                told = [(self.at, replace(draw, rounds=0)) for _when, draw in self.running if draw.joblet in self.ended]
                self.running = [*told, *(one for one in self.running if one[1].joblet not in self.ended)]
        super().take(commands)

    def begun(self, draw: Draw) -> tuple[Micros, Draw]:
        rounds = min(draw.rounds, self.most - self.taken((draw.stage.query, draw.stage.at)))
        return self.at + int(self.begin_us + rounds * ROUND_US if rounds else 0), replace(draw, rounds=rounds)

    def taken(self, which: tuple[str, Micros]) -> int:
        """How many rounds somebody has drawn, or is at."""
        mine = (draw.rounds for _when, draw in self.running if (draw.stage.query, draw.stage.at) == which)
        return self.rounds[which] + sum(mine)

    def drawn(self, which: tuple[str, Micros]) -> Drawn:
        rounds = self.rounds[which]
        return Drawn(
            rounds, ROUND_US, own=OWN, at_once=self.at_once, begin_us=self.begin_us, full=rounds >= self.most,
            begun=self.taken(which) >= self.most,
        )  # fmt: skip


def test_a_job_has_as_many_rounds_as_are_worth_it() -> None:
    script = Jobs(contract("q", 10))
    script.begin(10)
    script.until(9)
    sizes = [one.rounds for one in script.said if isinstance(one, Draw)]
    assert sizes[0] == OWN - 8, "what is essential first"
    assert set(sizes[2:]) == {400}, "then as many as are worth a job"
    script.until(11)
    assert script.answers
    assert not script.running
    last = [one.rounds for one in script.said if isinstance(one, Draw)][-1]
    assert last <= 400, "no more than there is time for"


def test_jobs_become_larger_once_it_is_known_what_they_cost() -> None:
    """Also where all that is essential is drawn."""
    script = Jobs(contract("q", 30), cores=1)
    script.at_once = 8
    script.begin(10)
    script.until(8)
    assert script.rounds["q", 10 * SECOND] > OWN
    script.at_once = 400
    script.until(9)
    before = len(script.said)
    script.until(15)
    assert {one.rounds for one in script.said[before:] if isinstance(one, Draw)} == {400}


def test_jobs_are_told_to_end_once_nobody_wants_them() -> None:
    script = Jobs(contract("q", 10), contract("other", 10))
    script.begin(10)
    script.until(1)
    mine = {draw.joblet for _when, draw in script.running if draw.stage.query == "q"}
    others = {draw.joblet for _when, draw in script.running if draw.stage.query == "other"}
    script.take(script(CancelAsked(script.now(), "q")))
    assert set(script.ended) == mine
    script.until(2)
    assert not any(draw.stage.query == "q" for _when, draw in script.running)
    script.take(script(StopAsked(script.now())))
    assert others <= {draw.joblet for draw in script.said if isinstance(draw, Draw)}
    assert not script.running or {draw.joblet for _when, draw in script.running} <= set(script.ended)
    assert len(script.ended) == len(set(script.ended)), "each of them is told once"


def test_jobs_go_on_while_something_is_read() -> None:
    """One that was ended would have drawn nothing."""
    script = Jobs(contract("q", 10))
    script.begin(10)
    script.until(3)
    assert script.rounds["q", 10 * SECOND] > OWN
    assert script.running
    assert ended(script(ReadAsked(script.now()))) == []


def test_who_is_at_the_last_rounds_is_let_alone() -> None:
    """All rounds that there may be are begun: nobody begins more, and what is under way is waited for."""
    script = Jobs(contract("q", 10), cores=2)
    script.most = 1_000
    script.begin(10)
    script.until(9)
    assert not script.ended
    assert sum(isinstance(one, Draw) for one in script.said) < 8
    assert [(when < 9, rounds) for when, _stage, rounds in script.answers] == [(True, 1_000)], "who is full is answered"


def test_what_the_data_ask_for_is_essential_once_it_is_known() -> None:
    class Learnt(Jobs):
        def drawn(self, which: tuple[str, Micros]) -> Drawn:
            known = self.rounds[which] >= 100
            return replace(super().drawn(which), own=0, needed=3_000 if known else 100)

    script = Learnt(contract("q", 10), cores=1)
    script.begin(10)
    script.until(0.5)
    (alive,) = script.state.sharing.online.alive if script.state.sharing.online is not None else ()
    assert alive.queued > 0, "the rest of the 3,000"
    script.until(11)
    assert script.answers[0][2] >= 3_000
