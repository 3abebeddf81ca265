"""Rolling upgrades: what brokers of different binaries make of a transaction."""

from __future__ import annotations

from kipviz.messages.events import CallReturned, MessageSent, RecordsMoved
from kipviz.messages.transactions.transactions import EndTxn
from kipviz.properties.verdict import BROKEN
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.studies.counting import rolling
from kipviz.studies.test_plan import rollout
from tests.scenarios.story import after, committed_outputs, nodes, play_once, states_of

HANGS, KEPT_OUT = "appended, and hangs", "refused"


def test_a_level_is_finalized_when_the_last_broker_has_the_binary_and_not_before() -> None:
    trace, _ = play_once("kip-1289-rolling", "repaired")
    assert committed_outputs(trace.world) == {"src-0@100": 1}
    assert {name for _, name in trace.world.image.releases} == {"kip-1289"}


def test_an_old_binary_goes_over_a_transactional_acknowledgement_and_the_record_is_delivered_twice() -> (
    None
):
    """KIP-1289's rule for a downgrade is kept, and what it promises is broken."""
    trace, _ = play_once("kip-1289-binary-downgrade", "repaired")
    assert committed_outputs(trace.world) == {"src-0@100": 1}
    moved = [e for n in nodes(trace) for e in n.events if isinstance(e, RecordsMoved)]
    acquired = [e for e in moved if e.after.name == "ACQUIRED"]
    assert len(acquired) == 2
    assert states_of(trace, 100)[-1].name == "ACQUIRED"
    log = trace.world.logs["__share_group_state-16"]
    assert any(type(r).__name__ == "ShareStagedRecord" for b in log.batches for r in b.records)


def test_a_level_that_is_finalized_already_lets_a_transactional_acknowledgement_be_led_by_a_broker_that_cannot_read_it() -> (
    None
):
    trace, _ = play_once("kip-1289-small-level-taken", "finding-X9")
    assert committed_outputs(trace.world) == {"src-0@100": 1}
    assert states_of(trace, 100)[-1].name == "ACQUIRED"
    assert PROPERTIES[0].finding(nodes(trace)[-1].observations[0]).status == BROKEN


def test_below_a_level_of_its_own_the_call_throws_though_three_of_four_brokers_have_the_code() -> (
    None
):
    trace, _ = play_once("kip-1289-small-level-taken", "repaired")
    thrown = [str(e.raised) for n in nodes(trace) for e in n.events if isinstance(e, CallReturned)]
    assert any(word.startswith("UnsupportedVersionException") for word in thrown)
    assert committed_outputs(trace.world) == {}


def test_a_late_batch_hangs_until_leader_and_coordinator_both_verify() -> None:
    cells = {row[0]: row[1:] for row in rolling.verification()[1]}
    assert [cell.partition(";")[0] for cell in cells["3.5"]] == [HANGS, HANGS, HANGS]
    assert [cell.partition(";")[0] for cell in cells["3.6"]] == [HANGS, KEPT_OUT, KEPT_OUT]
    assert cells["4.4"] == cells["3.6"]
    assert cells["transaction.version 2, all 4.4"][-1].startswith(KEPT_OUT)
    assert cells["3.5"][1].endswith("; asked")


def test_verification_takes_nothing_away_that_hangs_already() -> None:
    hangs = after("kip-890-rolling", "kafka", "Brokers 1, 4 and 5 get 3.6")
    assert hangs.logs["output-A-0"].open
    trace, _ = play_once("kip-890-rolling", "kafka")
    last = nodes(trace)[-1]
    assert PROPERTIES[0].finding(last.observations[0]).status == BROKEN


def test_a_transaction_ends_in_the_version_it_began_in_though_every_broker_is_new() -> None:
    trace, _ = play_once("kip-890-rolling-to-2", "kafka")
    ends = [
        event.message.spoken
        for node in nodes(trace)
        for event in node.events
        if isinstance(event, MessageSent) and isinstance(event.message, EndTxn)
    ]
    assert ends == [4, 5]


def test_each_stage_of_a_rollout_serves_the_old_client_and_the_new_one_at_the_end_only() -> None:
    heads, rows = rolling.stages()
    told = {row[0]: dict(zip(heads[1:], row[1:], strict=True)) for row in rows}
    assert {row["old client"] for row in told.values()} == {"works"}
    works = [stage for stage, row in told.items() if row["new client"] == "works"]
    assert works == ["phase 4: the client connects again"]
    levels = [row["share.version 3"] for row in told.values()]
    assert levels == ["refused"] * 4 + ["possible", "is 3", "is 3", "possible", "refused"]


def test_one_broker_without_the_code_is_as_good_as_none_with_it() -> None:
    cells = {row[0]: row[1:] for row in rollout.matrix()[1]}
    assert cells["one broker of four without the code"] == cells["no code"]
