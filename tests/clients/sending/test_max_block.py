"""max.block.ms: a blocking call that returns without its result, and what may follow it."""

from __future__ import annotations

import pytest

from kipviz.clients.application import Call, Line
from kipviz.cluster.actions import Step, Tick, TimeOutCall
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.timing.clock import Clock
from kipviz.core.model import NotEnabled
from kipviz.driving.cluster import Cluster
from kipviz.messages.events import CallReturned, MessageSent, TransactionDecided
from kipviz.messages.transactions.transactions import EndTxn
from kipviz.scenarios.applications.programs import (
    ABORT_INSTEAD,
    COMMIT_AGAIN,
    GROUP_LOOP,
    MANY_IN_A_TRANSACTION,
)
from kipviz.scenarios.script import next_by_itself
from tests.cluster.small_clusters import small_spec

BUDGET = FaultBudget(max_block=1)


class Run(Cluster):
    """A process whose blocking calls time out when the test says so."""

    def __init__(self, program, budget: FaultBudget = BUDGET, **changes: object) -> None:
        clock = changes.pop("clock", Clock())
        spec = small_spec("group", program=program, budget=budget, max_records=1).but(clock=clock)
        (app,) = spec.applications
        super().__init__(spec.but(applications=(app.but(**changes),)), "kafka")

    def until_in(self, call: str) -> None:
        """Go on until the application waits in a call, with nothing of it sent yet."""
        for _ in range(200):
            app = self.world.applications["app-1"]
            if app.waiting and app.program[app.line].call.value == call:
                return
            if self.why_not(Step("app-1")) is None:
                self.take(Step("app-1"))
            else:
                self.take(next_by_itself(self.model, self.world))
        raise AssertionError(call)

    def list_raised(self) -> list[str]:
        return [str(e.raised) for e in self.events if isinstance(e, CallReturned) and e.raised]

    def count_sent(self, kind: type) -> int:
        return sum(isinstance(e, MessageSent) and isinstance(e.message, kind) for e in self.events)


def run_until_stuck(program) -> Run:
    run = Run(program)
    run.until_in("commitTransaction")
    run.take(TimeOutCall("app-1"))
    return run


def test_the_same_call_again_waits_for_the_same_result():
    run = run_until_stuck(COMMIT_AGAIN)
    assert run.list_raised() == [
        "TimeoutException: commitTransaction() took longer than max.block.ms"
    ]
    run.take(Step("app-1"))
    assert run.world.applications["app-1"].waiting
    run.quiet()
    run.take(Step("app-1"))
    assert run.count_sent(EndTxn) == 1
    assert len(run.list_raised()) == 1
    assert run.world.applications["app-1"].producer.manager.timed_out == ""


def test_a_result_that_came_in_between_is_there_at_once():
    run = run_until_stuck(COMMIT_AGAIN)
    run.quiet()
    run.take(Step("app-1"))
    assert run.why_not(Step("app-1")) is None
    run.take(Step("app-1"))
    assert len(run.list_raised()) == 1


def test_any_other_call_is_illegal_until_that_one_was_made_again():
    run = run_until_stuck(ABORT_INSTEAD)
    run.quiet()
    run.take(Step("app-1"))
    assert run.list_raised()[-1].startswith("IllegalStateException: abortTransaction()")
    assert run.world.applications["app-1"].ended
    assert [e.committed for e in run.events if isinstance(e, TransactionDecided)] == [True]


def test_init_transactions_can_time_out_too_and_is_made_again():
    init, *rest = COMMIT_AGAIN
    run = Run((init.but(on_error=0), *rest))
    run.until_in("initTransactions")
    run.take(TimeOutCall("app-1"))
    run.quiet()
    for _ in range(2):
        run.take(Step("app-1"))
    assert run.world.applications["app-1"].producer.state_name == "READY"


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        (0, "app-1 is in no call that it waits for"),
        (1, "call timeouts: this run allows 0, and they are used up (setting max_block)"),
    ],
)
def test_what_is_not_waited_for_does_not_time_out(steps, why):
    run = Run(COMMIT_AGAIN, BUDGET if not steps else FaultBudget())
    for _ in range(steps):
        run.take(Step("app-1"))
    assert run.model.why_not(run.world, TimeOutCall("app-1")) == why
    with pytest.raises(NotEnabled):
        run.take(TimeOutCall("app-1"))


def test_a_poll_is_none_of_the_calls_that_time_out():
    run = Run(COMMIT_AGAIN)
    run.until_in("poll")
    assert "does not time out here" in run.model.why_not(run.world, TimeOutCall("app-1"))


@pytest.mark.parametrize("ends", ["commitTransaction", "abortTransaction"])
def test_offsets_of_a_call_that_timed_out_are_in_the_transaction_all_the_same(ends):
    *before, stage = GROUP_LOOP[:5]
    end = Line(f"producer.{ends}();", Call(ends))
    run = Run((*before, stage.but(on_error=5), end))
    run.until_in("sendOffsetsToTransaction")
    run.take(TimeOutCall("app-1"))
    assert run.list_raised()[0].startswith("TimeoutException: sendOffsetsToTransaction()")
    producer = run.world.applications["app-1"].producer
    assert (producer.state_name, producer.manager.timed_out) == ("IN_TRANSACTION", "")
    run.take(Step("app-1"))
    run.quiet()
    run.take(Step("app-1"))
    assert len(run.list_raised()) == 1
    sent = [type(e.message).__name__ for e in run.events if isinstance(e, MessageSent)]
    assert sent.index("TxnOffsetCommit") < sent.index("EndTxn")
    assert run.world.applications["app-1"].producer.state_name == "READY"


def test_a_send_that_finds_no_room_comes_back_and_the_next_call_throws():
    run = Run(MANY_IN_A_TRANSACTION, max_in_flight=5, buffer=1)
    run.until_in("send")
    late = TimeOutCall("app-1")
    assert run.model.why_not(run.world, late) is None
    run.take(late)
    assert run.list_raised() == []
    run.until_in("abortTransaction")
    assert run.list_raised() == ["Produce: REQUEST_TIMED_OUT"]
    run.quiet()
    run.take(Step("app-1"))
    assert run.world.applications["app-1"].producer.state_name == "READY"


def test_on_a_timed_clock_a_call_comes_back_after_max_block_ms_and_not_before():
    run = Run(COMMIT_AGAIN, clock=Clock("timed", tick="next"))
    run.until_in("commitTransaction")
    late = TimeOutCall("app-1")
    assert run.model.why_not(run.world, late) == "it is due in 60 s: time has to pass first"
    while run.model.why_not(run.world, late) is not None:
        run.take(Tick())
    run.take(late)
    assert run.list_raised() == [
        "TimeoutException: commitTransaction() took longer than max.block.ms"
    ]


def test_a_call_that_is_made_again_has_all_of_its_time_again():
    run = Run(COMMIT_AGAIN, FaultBudget(max_block=2), clock=Clock("timed", tick="next"))
    run.until_in("commitTransaction")
    late = TimeOutCall("app-1")
    for _ in range(2):
        while run.model.why_not(run.world, late) is not None:
            run.take(Tick())
        run.take(late)
        run.take(Step("app-1"))
    assert len(run.list_raised()) == 2
    run.quiet()
    run.take(Step("app-1"))
    assert len(run.list_raised()) == 2
