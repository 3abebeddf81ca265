"""What the invariants remember of share-partitions: an invariant is about one partition, a topic that is gone about its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kipviz.brokers.context import Image
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import PendingWrite, ShareLeader, SharePartition
from kipviz.core.model import Event, Outcome
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    BatchAppended,
    LeaderMoved,
    MessageSent,
    TopicDeleted,
    TopicRemade,
)
from kipviz.messages.shares.share_state import (
    TxnWriteShareGroupState,
    WriteShareGroupState,
    WriteStateData,
)
from kipviz.properties.facts.run_facts import Facts
from kipviz.properties.facts.share_record import ShareRecord
from kipviz.properties.invariants import INVARIANTS
from kipviz.records.placement import SHARE_GROUP_STATE
from kipviz.records.share_group_state import RecordState, ShareUpdateRecord
from tests.messages.shares import staging_response
from tests.properties.history import KEY, WORLD, world

MINE, OTHER_OFFSET, OTHERS = (
    ShareRecord("g1", "src-0", 100),
    ShareRecord("g1", "src-0", 101),
    ShareRecord("g1", "src-1", 100),
)
TOLD = MessageSent("app-1/producer", 1, "response", staging_response(Errors.NONE, "src-0"))
STAGING = TxnWriteShareGroupState(KEY, 2, 0, "my-txn", 9, 0, (), 100, False)
STATES = WriteShareGroupState((WriteStateData(KEY, 2, 0, 100, 0, ()),))


def after(facts: Facts, event: Event, where: Any = WORLD) -> Facts:
    return INVARIANTS[0].observe(facts, None, Outcome(where, (event,)))


def world_of_leaders(*shares: SharePartition) -> SimpleNamespace:
    """A world in which a broker leads these share-partitions, behind a role that has none."""
    table = Table.of({f"{place}": share for place, share in enumerate(shares)})
    return world(roles=Table.of({"B1": SimpleNamespace(), "B2": ShareLeader(shares=table)}))


def leading(partition: str = "src-0", group: str = "g1", **parts: Any) -> SharePartition:
    return SharePartition(KEY, group, partition, 0, **parts)


def list_promised(where: Any) -> set[str]:
    """The transactional acknowledgements after a producer was told that what it staged in src-0 is staged."""
    staging = dict.fromkeys((MINE, OTHER_OFFSET, OTHERS), (9, 0))
    facts = after(Facts(staging=Table.of(staging)), TOLD, where)
    assert {*facts.staging, *facts.acknowledgements} == set(staging)
    assert len(facts.staging) + len(facts.acknowledgements) == len(staging)
    return set(facts.acknowledgements)


def test_a_producer_is_promised_what_it_staged_in_the_partition_of_the_response() -> None:
    assert list_promised(WORLD) == {MINE, OTHER_OFFSET}


def test_what_is_still_being_written_is_promised_by_another_response() -> None:
    """Several stagings of one partition are under way: each is answered when its own write is durable."""
    write = PendingWrite("stage", STAGING, (100,))
    assert list_promised(world_of_leaders(leading(writes=(write,)))) == {OTHER_OFFSET}
    others = leading("src-1", writes=(PendingWrite("stage", STAGING, (101,)),))
    assert list_promised(world_of_leaders(others, leading(writes=(write,)))) == {OTHER_OFFSET}
    assert list_promised(world_of_leaders(leading(group="g2", writes=(write,)))) == {
        MINE,
        OTHER_OFFSET,
    }


def test_a_record_whose_own_write_goes_on_is_not_promised_yet() -> None:
    records = {
        offset: InFlight(RecordState.TX_PENDING, 1, ongoing=offset == 100) for offset in (100, 101)
    }
    assert list_promised(world_of_leaders(leading(records=Table.of(records)))) == {OTHER_OFFSET}


def test_a_write_of_states_that_stages_nothing_holds_up_no_promise() -> None:
    write = PendingWrite("acknowledge", STATES, (100,))
    assert list_promised(world_of_leaders(leading(writes=(write,)))) == {MINE, OTHER_OFFSET}


@pytest.mark.parametrize("gone", [TopicDeleted("src", "SRC-ID"), TopicRemade("src", "SRC-ID", "b")])
def test_of_a_topic_that_is_gone_nothing_is_remembered_and_of_others_everything(
    gone: Event,
) -> None:
    """A topic of the same name has other records at the same offsets."""
    kept, places = (
        ShareRecord("g1", "src-a-0", 100),
        (MINE, ShareRecord("g2", "src-1", 7), ShareRecord("g1", "src-a-0", 100)),
    )
    facts = Facts(
        owners=Table.of(dict.fromkeys(places, "M1")),
        staging=Table.of(dict.fromkeys(places, (9, 0))),
        acknowledgements=Table.of(dict.fromkeys(places, (9, 0))),
        outcomes=Table.of(dict.fromkeys(places, "commit")),
        done=Table.of(dict.fromkeys(places, True)),
    )
    left = after(facts, gone)
    for table in (left.owners, left.staging, left.acknowledgements, left.outcomes, left.done):
        assert list(table) == [kept]


def test_a_new_share_coordinator_forgets_what_its_own_log_lacks_and_no_other_one_s() -> None:
    """What the old leader had not replicated is gone; a start offset there may be lower again."""
    image = Image(Table.of(), 50, Table.of({"src": "SRC-ID"}))
    keys = [f"g1:SRC-ID:{index}" for index in range(2)]
    homes = [image.home_of(SHARE_GROUP_STATE, key) for key in keys]
    assert homes[0] != homes[1]
    facts = Facts(starts=Table.of(dict.fromkeys(keys, 100)))
    logs = Table.of({homes[0]: SimpleNamespace(batches=())})
    left = after(facts, LeaderMoved(homes[0], 7, 3, 1), world(image=image, logs=logs))
    assert dict(left.starts.items()) == {keys[1]: 100}


def start_at(*offsets: int) -> tuple[Event, ...]:
    """The share coordinator logs a state for each, one batch after the other."""
    return tuple(
        BatchAppended(
            "__share_group_state-7", 1, (ShareUpdateRecord(KEY, 0, 0, offset, 0, ()),), -1, -1, ""
        )
        for offset in offsets
    )


def test_a_state_without_a_start_offset_leaves_known_what_it_was() -> None:
    """ShareUpdate has -1 where the start offset stays."""
    facts = Facts()
    for event in start_at(102, -1, 101):
        assert facts.broken == Table.of()
        facts = after(facts, event)
    assert "moved back from 102 to 101" in facts.broken["start offset only advances"]


def test_a_partition_that_is_read_from_0_has_a_start_offset() -> None:
    facts = Facts()
    for event in start_at(0, 101):
        assert facts.broken == Table.of()
        facts = after(facts, event)
    assert "went past g1 src-0@100" in facts.broken["start offset only advances"]
