"""A fetch of all partitions of a share session: order, room, and what one partition does not do to another."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from kipviz.brokers.authorizer import Acl
from kipviz.brokers.context import Effects
from kipviz.brokers.logs.partition_log import PartitionLog, append, replicate
from kipviz.brokers.settings import SimplifiedConsumers
from kipviz.brokers.share_leaders import share_fetching, share_partition
from kipviz.brokers.share_leaders import share_partition_leader as spl
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.driving.desk import TOPIC_IDS, Desk
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    FetchedPartition,
    PartitionAcknowledgements,
    ShareAcknowledge,
    ShareAcknowledgeResponse,
    ShareFetch,
    ShareFetchResponse,
)
from kipviz.messages.shares.share_state import (
    ReadShareGroupStateResponse,
    ReadStateResult,
    WriteShareGroupStateResponse,
    WriteStateResult,
)
from kipviz.records.batches import Batch, DataRecord
from kipviz.records.placement import SHARE_GROUP_STATE, partition_for
from tests.brokers.share_leaders.share_place import ACCEPT, ACQ, AVL, RELEASE, RENEW, batch_of
from tests.messages.shares import acknowledge_response, fetches

BOTH = ("src-0", "src-1")
KEYS = {p: f"g1:{TOPIC_IDS['src']}:{p[-1]}" for p in BOTH}


def source(partition: str, first: int, count: int) -> PartitionLog:
    log = PartitionLog(partition, first, end_offset=first, high_watermark=first)
    for offset in range(first, first + count):
        log = append(log, Batch(offset, (DataRecord(f"r{offset}"),)))
    return replicate(log)


@dataclass
class Place:
    """Broker 1 leads two partitions, and each share coordinator answers when it is told to."""

    first: int = 2
    second: int = 2
    settings: dict[str, int] = field(default_factory=dict)
    epoch: int = 0

    def __post_init__(self) -> None:
        states = {f"{SHARE_GROUP_STATE}-{partition_for(key, 50)}": 7 for key in KEYS.values()}
        self.desk = Desk(
            spl, ShareLeader(), leaders=dict.fromkeys(BOTH, 1) | states, **self.settings
        )
        self.desk.logs["src-0"] = source("src-0", 0, self.first)
        self.desk.logs["src-1"] = source("src-1", 100, self.second)

    def do(self, effects: Effects) -> None:
        self.desk.do(share_fetching.answer_fetches(effects, self.desk.on))

    def fetch(
        self,
        *acknowledged: tuple[str, AcknowledgementBatch],
        added: tuple[str, ...] = (),
        forgotten: tuple[str, ...] = (),
        most: int = 10,
        max_wait_ms: int = 500,
        epoch: int | None = None,
        member: str = "M1",
    ) -> ShareFetchResponse | None:
        """Send a fetch of the session, and give its answer if it is there."""
        epoch = self.epoch if epoch is None else epoch
        self.epoch = epoch + 1
        told = {p: (batch,) for p, batch in acknowledged}
        named = dict.fromkeys((*added, *told))
        parts = tuple(PartitionAcknowledgements(p, told.get(p, ())) for p in named)
        request = ShareFetch(
            "g1", member, epoch, parts, most, max_wait_ms=max_wait_ms, forgotten=forgotten
        )

        def hand_in(role: ShareLeader, *rest: object) -> Effects:
            done = share_fetching.on_share_fetch(role, *rest)  # type: ignore[arg-type]
            return share_fetching.answer_fetches(done, self.desk.on)

        return answer_of(self.desk.ask(hand_in, request, f"{member}/consumer"))

    def coordinator(
        self, partition: str, answer: Message | None = None
    ) -> ShareFetchResponse | None:
        """Let the share coordinator of a partition answer; give what the member is told by that."""
        key, seen = KEYS[partition], len(self.desk.replies)
        answer = answer or WriteShareGroupStateResponse((WriteStateResult(Errors.NONE, key),))
        self.do(spl.on_state_answered(self.desk.role, key, "0", answer, self.desk.on))
        return answer_of(self.desk.last) if len(self.desk.replies) > seen else None

    def read(self, partition: str, start: int) -> ShareFetchResponse | None:
        found = ReadShareGroupStateResponse(
            (ReadStateResult(Errors.NONE, KEYS[partition], 3, start),)
        )
        return self.coordinator(partition, found)

    def load(self) -> Place:
        """Open the session with a fetch that finds nothing, so that no partition holds anything."""
        self.fetch(added=BOTH, max_wait_ms=0, most=0)
        self.fetch()
        held = {p: log for p, log in self.desk.logs.items() if p in BOTH}
        self.desk.logs |= {p: PartitionLog(p, log.start_offset) for p, log in held.items()}
        self.desk.logs |= {
            p: log.but(end_offset=held[p].start_offset, high_watermark=held[p].start_offset)
            for p, log in self.desk.logs.items()
            if p in BOTH
        }
        for partition, log in held.items():
            self.read(partition, log.start_offset)
        role = self.desk.role
        self.desk.role = role.but(waiting=())
        self.desk.logs |= held
        return self

    def acknowledge(
        self, *said: tuple[str, *tuple[AcknowledgementBatch, ...]], epoch: int | None = None
    ) -> ShareAcknowledgeResponse | None:
        """Send one ShareAcknowledge for several partitions, and give its answer if it is there."""
        epoch = self.epoch if epoch is None else epoch
        self.epoch = epoch + 1
        parts = tuple(PartitionAcknowledgements(p, tuple(every)) for p, *every in said)
        request = ShareAcknowledge("g1", "M1", epoch, parts)

        def hand_in(role: ShareLeader, *rest: object) -> Effects:
            done = share_fetching.on_share_acknowledge(role, *rest)  # type: ignore[arg-type]
            return share_fetching.answer_fetches(done, self.desk.on)

        answer = self.desk.ask(hand_in, request, "M1/consumer")
        assert answer is None or isinstance(answer, ShareAcknowledgeResponse)
        return answer

    @property
    def order(self) -> tuple[str, ...]:
        return self.desk.role.sessions["g1", "M1"].partitions


def answer_of(message: Message | None) -> ShareFetchResponse | None:
    assert message is None or isinstance(message, ShareFetchResponse)
    return message


def offsets_by_partition(answer: ShareFetchResponse | None) -> dict[str, tuple[int, ...]]:
    """Give the offsets that an answer has of each partition."""
    assert answer is not None
    return {part.partition: tuple(r.offset for r in part.records) for part in answer.responses}


def test_each_epoch_begins_with_another_partition_and_the_first_one_as_they_come() -> None:
    three = ("a-0", "b-0", "c-0")
    assert [share_fetching.rotate_partitions(three, epoch)[0] for epoch in range(5)] == [
        *("a-0", "b-0", "c-0", "a-0", "b-0")
    ]
    assert share_fetching.rotate_partitions(three, -1) == three
    assert share_fetching.rotate_partitions((), 3) == ()


def test_one_answer_has_records_of_every_partition_and_no_more_than_were_asked_for() -> None:
    place = Place(first=4, second=2).load()
    answer = place.fetch(most=3)  # epoch 2: src-0 comes first
    assert offsets_by_partition(answer) == {"src-0": (0, 1, 2)}
    assert offsets_by_partition(place.fetch(most=3)) == {"src-0": (3,), "src-1": (100, 101)}
    shares = place.desk.role.shares
    assert [r.state for r in shares[KEYS["src-1"]].records.values()] == [ACQ, ACQ]
    turns = Place(first=4, second=4).load()
    # Who brought records stands last, and each epoch begins with the next one: of two each has two turns.
    order = [*offsets_by_partition(turns.fetch(most=1)), *offsets_by_partition(turns.fetch(most=1))]
    order += [
        *offsets_by_partition(turns.fetch(most=1)),
        *offsets_by_partition(turns.fetch(most=1)),
    ]
    assert order == ["src-0", "src-0", "src-1", "src-1"]


def test_partitions_that_brought_records_have_their_turn_after_the_others() -> None:
    place = Place(first=2, second=0).load()
    assert place.order == BOTH
    place.fetch()
    assert place.order == ("src-1", "src-0")


def test_a_partition_that_is_still_being_loaded_is_not_waited_for() -> None:
    place = Place()
    assert place.fetch(added=BOTH) is None
    assert offsets_by_partition(place.read("src-1", 100)) == {"src-1": (100, 101)}
    assert place.desk.role.waiting == ()


def test_the_answer_waits_for_records_of_any_partition() -> None:
    place = Place(first=0, second=0).load()
    assert place.fetch() is None
    place.desk.logs["src-1"] = source("src-1", 100, 1)
    place.do(spl.on_replicated(place.desk.role, "src-1", place.desk.on))
    assert offsets_by_partition(answer_of(place.desk.last)) == {"src-1": (100,)}


def test_who_does_not_wait_is_answered_without_records_but_not_before_all_is_loaded() -> None:
    place = Place(first=0, second=0)
    assert place.fetch(added=BOTH, max_wait_ms=0) is None
    assert place.read("src-0", 0) is None
    assert offsets_by_partition(place.read("src-1", 100)) == {"src-0": (), "src-1": ()}
    assert offsets_by_partition(place.fetch(max_wait_ms=0)) == {}


def test_acknowledgements_of_several_partitions_have_an_answer_each() -> None:
    place = Place().load()
    place.fetch()
    assert (
        place.fetch(("src-0", batch_of(0, 1)), ("src-1", batch_of(100, 100, RELEASE)), most=0)
        is None
    )
    assert place.coordinator("src-0") is None
    fenced = WriteShareGroupStateResponse(
        (WriteStateResult(Errors.FENCED_STATE_EPOCH, KEYS["src-1"]),)
    )
    answer = place.coordinator("src-1", fenced)
    assert answer is not None
    assert answer.responses == (
        FetchedPartition("src-0"),
        FetchedPartition("src-1", acknowledge_error=Errors.NOT_LEADER_OR_FOLLOWER),
    )


def test_a_share_acknowledge_has_a_result_for_each_of_its_partitions() -> None:
    place = Place().load()
    place.fetch()
    assert place.acknowledge(("src-0", batch_of(7, 7)), ("src-1", batch_of(100, 101))) is None
    key = KEYS["src-1"]
    done = WriteShareGroupStateResponse((WriteStateResult(Errors.NONE, key),))
    place.do(spl.on_state_answered(place.desk.role, key, "0", done, place.desk.on))
    told = (("src-0", Errors.INVALID_REQUEST), ("src-1", Errors.NONE))
    assert place.desk.last == acknowledge_response(*told[0][::-1], told[1])


@pytest.mark.parametrize("epoch", [0, 9])
def test_a_share_acknowledge_outside_its_session_is_refused_as_a_whole(epoch: int) -> None:
    place = Place().load()
    both = (("src-0", batch_of(0, 0)), ("src-1", batch_of(100, 100)))
    answer = place.acknowledge(*both, epoch=epoch)
    assert answer == acknowledge_response(Errors.INVALID_SHARE_SESSION_EPOCH, "src-0")


def test_the_last_acknowledgements_of_a_session_close_it() -> None:
    place = Place().load()
    place.fetch()
    answer = place.acknowledge(("src-0", batch_of(7, 7)), ("src-1", batch_of(7, 7)), epoch=-1)
    assert answer is not None
    assert not place.desk.role.sessions


def test_a_share_acknowledge_of_one_partition_goes_the_old_way() -> None:
    place = Place().load()
    answer = place.acknowledge(("src-0", batch_of(7, 7)))
    assert answer == acknowledge_response(Errors.INVALID_RECORD_STATE, "src-0")


def test_records_are_acquired_while_acknowledgements_are_made_durable() -> None:
    place = Place().load()
    assert offsets_by_partition(place.fetch(most=2)) == {"src-0": (0, 1)}
    assert place.fetch(("src-0", batch_of(0, 0)), most=2) is None
    held = place.desk.role.shares[KEYS["src-1"]].records
    assert [record.state for record in held.values()] == [ACQ, ACQ]
    assert offsets_by_partition(place.coordinator("src-0")) == {"src-1": (100, 101), "src-0": ()}


def test_a_wrong_acknowledgement_of_one_partition_does_not_touch_the_other() -> None:
    place = Place().load()
    place.fetch()
    assert place.fetch(("src-0", batch_of(7, 7)), ("src-1", batch_of(100, 101)), most=0) is None
    answer = place.coordinator("src-1")
    assert answer is not None
    errors = {part.partition: part.acknowledge_error for part in answer.responses}
    assert errors == {"src-0": Errors.INVALID_REQUEST, "src-1": Errors.NONE}


def test_a_malformed_acknowledgement_comes_before_rights_and_behind_an_unknown_topic() -> None:
    """KafkaApis.getAcknowledgeBatchesFromShareFetchRequest, handleAcknowledgements."""
    place = Place().load()
    place.desk.image = {"acls": (Acl("M1", Operation.READ, Resource.GROUP, "g1"),)}
    malformed = (
        ("src-0", batch_of(7, 6)),
        ("src-1", batch_of(100, 101)),
        ("gone-0", batch_of(7, 6)),
    )
    answer = place.fetch(*malformed, most=0)
    assert answer is not None
    assert {part.partition: part.acknowledge_error for part in answer.responses} == {
        "src-0": Errors.INVALID_REQUEST,
        "src-1": Errors.TOPIC_AUTHORIZATION_FAILED,
        "gone-0": Errors.UNKNOWN_TOPIC_ID,
    }


def test_a_partition_of_which_nothing_is_said_has_no_error() -> None:
    """KafkaApis.handleAcknowledgements: a partition without batches is answered with NONE."""
    place = Place()
    place.fetch(added=BOTH, most=0)
    assert KEYS["src-1"] not in place.desk.role.shares
    answer = place.acknowledge(("src-0", batch_of(7, 7)), ("src-1",))
    unknown = Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert answer == acknowledge_response(unknown, "src-0", ("src-1", Errors.NONE))


def test_a_share_acknowledge_that_only_closes_a_session_names_no_partition() -> None:
    place = Place().load()
    place.fetch()
    assert place.acknowledge(epoch=-1) == ShareAcknowledgeResponse(Errors.NONE)
    assert not place.desk.role.sessions


def test_what_another_broker_leads_is_an_error_of_that_partition_and_is_told_at_once() -> None:
    place = Place(first=0, second=0).load()
    place.desk.leaders["src-1"] = 2
    place.do(spl.on_leadership_lost(place.desk.role, "src-1", place.desk.on))
    answer = place.fetch(("src-1", batch_of(100, 100)))
    assert answer is not None
    assert answer.error is Errors.NONE
    assert answer.responses == (
        FetchedPartition("src-1", Errors.NOT_LEADER_OR_FOLLOWER, Errors.UNKNOWN_TOPIC_OR_PARTITION),
    )


def test_a_fetch_that_waits_hears_of_a_partition_that_left_by_an_answer_without_it() -> None:
    place = Place(first=0, second=0).load()
    assert place.fetch() is None
    place.desk.leaders["src-1"] = 2
    seen = len(place.desk.replies)
    place.do(spl.on_leadership_lost(place.desk.role, "src-1", place.desk.on))
    assert len(place.desk.replies) == seen + 1
    assert offsets_by_partition(answer_of(place.desk.last)) == {}
    assert "share-partition kept" in {check.name for check in place.desk.checks}


def test_a_partition_that_cannot_be_loaded_is_an_error_of_its_own() -> None:
    place = Place(first=0, second=1)
    place.fetch(added=BOTH)
    fenced = ReadShareGroupStateResponse(
        (ReadStateResult(Errors.FENCED_LEADER_EPOCH, KEYS["src-0"], -1, -1),)
    )
    assert place.coordinator("src-0", fenced) is None
    answer = place.read("src-1", 100)
    assert offsets_by_partition(answer) == {"src-1": (100,), "src-0": ()}
    assert answer is not None
    assert answer.responses[1] == FetchedPartition("src-0", Errors.NOT_LEADER_OR_FOLLOWER)


def test_only_the_group_whose_partition_it_is_hears_that_it_cannot_be_loaded() -> None:
    place = Place()
    place.fetch(added=BOTH)
    role, share = place.desk.role, place.desk.role.shares[KEYS["src-0"]]
    error = Errors.UNKNOWN_SERVER_ERROR
    assert share_partition.not_loaded(role, share.but(group_id="g2"), error) == role
    assert share_partition.not_loaded(role, share.but(partition="src-7"), error) == role
    (call,) = share_partition.not_loaded(role, share, error).waiting
    assert call.refused == (("src-0", error),)


def test_a_topic_that_may_not_be_read_and_one_that_is_gone_are_errors_of_their_partitions() -> None:
    place = Place().load()
    place.desk.image = {"acls": (Acl("M1", Operation.READ, Resource.GROUP, "g1"),)}
    answer = place.fetch(("src-0", batch_of(0, 0)), added=("gone-0",))
    assert answer is not None
    refused = Errors.TOPIC_AUTHORIZATION_FAILED
    assert {part.partition: part.error for part in answer.responses} == {
        "src-0": refused,
        "src-1": refused,
        "gone-0": Errors.UNKNOWN_TOPIC_ID,
    }
    assert {p.acknowledge_error for p in answer.responses if p.partition == "src-0"} == {refused}
    allowed = (Acl("M1", Operation.READ, Resource.TOPIC, "src"),)
    place.desk.image = {"acls": allowed}
    assert offsets_by_partition(place.fetch(forgotten=("gone-0",))) == {
        "src-0": (0, 1),
        "src-1": (100, 101),
    }


def test_a_session_forgets_what_it_is_told_to_and_knows_the_rest() -> None:
    place = Place().load()
    assert offsets_by_partition(place.fetch(forgotten=("src-0",))) == {"src-1": (100, 101)}
    assert place.order == ("src-1",)


@pytest.mark.parametrize(
    ("batch", "epoch", "most", "error"),
    [
        (batch_of(0, 0, RENEW), 1, 5, Errors.INVALID_REQUEST),
        (batch_of(0, 0, ACCEPT), 0, 5, Errors.INVALID_REQUEST),
        (batch_of(0, 0, ACCEPT), 7, 5, Errors.INVALID_SHARE_SESSION_EPOCH),
    ],
)
def test_what_is_wrong_with_the_request_is_an_error_of_all_of_it(
    batch: AcknowledgementBatch, epoch: int, most: int, error: Errors
) -> None:
    place = Place().load()
    answer = place.fetch(("src-0", batch), epoch=epoch, most=most)
    assert answer == ShareFetchResponse(error)


def test_a_broker_without_room_for_the_session_lets_the_fetch_wait() -> None:
    place = Place(settings={"share_sessions_max": 1}).load()
    assert place.fetch(added=BOTH, epoch=0, member="M2") is None
    (waits,) = place.desk.role.refused
    assert waits.member_id == "M2"


def test_the_last_fetch_of_a_session_gives_back_what_is_held_once_all_is_durable() -> None:
    place = Place().load()
    place.fetch()
    assert place.fetch(("src-0", batch_of(0, 0)), epoch=-1, most=0) is None
    assert place.desk.role.sessions
    answer = place.coordinator("src-0")
    assert answer is not None
    assert answer.responses == (FetchedPartition("src-0"),)
    role = place.desk.role
    assert not role.sessions
    states = [r.state for r in role.shares[KEYS["src-1"]].records.values()]
    assert states == [AVL, AVL]


def test_a_front_that_was_deleted_is_found_by_who_reads_there() -> None:
    place = Place(first=2, second=0).load()
    log = place.desk.logs["src-0"]
    place.desk.logs["src-0"] = log.but(start_offset=1)
    assert offsets_by_partition(place.fetch()) == {}
    assert place.desk.role.shares[KEYS["src-0"]].start_offset == 1
    assert offsets_by_partition(place.fetch()) == {"src-0": (1,)}


def test_a_connection_that_breaks_takes_its_fetches_along() -> None:
    place = Place(first=0, second=0).load()
    place.fetch()
    role = place.desk.role
    assert share_fetching.on_disconnected(role, "M2/consumer") is role
    assert share_fetching.on_disconnected(role, "M1/consumer").waiting == ()


def test_a_fetch_of_one_partition_goes_the_old_way() -> None:
    place = Place()
    request = fetches("M1", 0, "src-0", 5)
    place.desk.simplified = SimplifiedConsumers(without_session=("M1",))
    assert place.desk.ask(share_fetching.on_share_fetch, request, "M1/consumer") is None
    assert place.desk.role.shares[KEYS["src-0"]].parked
    assert not place.desk.role.waiting


def test_without_room_for_the_session_a_fetch_that_does_not_wait_is_refused_at_once() -> None:
    place = Place(settings={"share_sessions_max": 1}).load()
    answer = place.fetch(added=BOTH, epoch=0, member="M2", max_wait_ms=0)
    assert answer == ShareFetchResponse(Errors.SHARE_SESSION_LIMIT_REACHED)
    assert not place.desk.role.refused


def test_an_acknowledgement_of_one_partition_waits_for_no_other() -> None:
    place = Place().load()
    place.fetch()
    assert place.acknowledge(("src-0", batch_of(0, 1))) is None
    assert not place.desk.role.waiting


def test_acknowledgements_in_the_middle_of_a_session_leave_it_open() -> None:
    place = Place().load()
    place.fetch()
    assert place.acknowledge(("src-0", batch_of(7, 7)), ("src-1", batch_of(7, 7))) is not None
    assert place.desk.role.sessions
    states = [r.state for r in place.desk.role.shares[KEYS["src-0"]].records.values()]
    assert states == [ACQ, ACQ]


def test_of_several_fetches_that_wait_each_has_its_own_answer() -> None:
    place = Place(first=0, second=0)
    place.fetch(added=("src-0",), epoch=0)
    place.fetch(added=("src-1",), epoch=0, member="M2")
    assert place.read("src-0", 0) is None
    assert place.read("src-1", 100) is None
    place.desk.logs["src-1"] = source("src-1", 100, 1)
    place.do(spl.on_replicated(place.desk.role, "src-1", place.desk.on))
    assert offsets_by_partition(answer_of(place.desk.last)) == {"src-1": (100,)}
    assert [call.request.member_id for call in place.desk.role.waiting] == ["M1"]
    held = place.desk.role.shares[KEYS["src-1"]].records
    assert [record.member_id for record in held.values()] == ["M2"]


def test_of_several_acknowledgements_that_wait_each_hears_of_its_own_write() -> None:
    place = Place().load()
    place.fetch(added=("src-1",), epoch=0, member="M2", most=1)
    place.fetch(epoch=2, most=2)
    place.fetch(("src-0", batch_of(0, 0)), epoch=3, most=0)
    place.fetch(("src-1", batch_of(100, 100)), epoch=1, member="M2", most=0)
    answer = place.coordinator("src-1")
    assert answer is not None
    assert answer.responses == (FetchedPartition("src-1"),)
    assert [call.request.member_id for call in place.desk.role.waiting] == ["M1"]
    assert place.coordinator("src-0") is not None
    assert not place.desk.role.waiting


def test_the_last_fetch_of_a_session_gets_no_records() -> None:
    """KIP-932 "ShareFetch": with epoch -1 nothing is acquired."""
    place = Place().load()
    assert offsets_by_partition(place.fetch(epoch=-1, most=5)) == {}
    assert not len(place.desk.role.shares[KEYS["src-0"]].records)


def test_a_fetch_of_a_session_without_partitions_is_answered_at_once() -> None:
    place = Place()
    assert offsets_by_partition(place.fetch(most=5)) == {}
    assert not place.desk.role.waiting


def test_what_a_fetch_has_acquired_it_does_not_acquire_again_while_it_waits() -> None:
    place = Place().load()
    place.fetch(most=2)
    assert place.fetch(("src-0", batch_of(0, 0)), most=1) is None
    place.do(spl.on_replicated(place.desk.role, "src-1", place.desk.on))
    assert len(place.desk.role.shares[KEYS["src-1"]].records) == 1
    assert offsets_by_partition(place.coordinator("src-0")) == {"src-1": (100,), "src-0": ()}


def test_a_result_without_an_error_is_no_check_of_an_answer() -> None:
    place = Place().load()
    place.fetch()
    place.fetch(("src-0", batch_of(0, 1)), ("src-1", batch_of(100, 101)), most=0)
    place.coordinator("src-0")
    place.coordinator("src-1")
    assert "acknowledged" not in {check.name for check in place.desk.checks}


def test_a_partition_that_returned_records_is_last_in_its_session_from_the_second_answer_on() -> (
    None
):
    """ShareSessionContext.PartitionIterator."""
    place = Place()
    place.fetch(added=BOTH, most=1)
    assert offsets_by_partition(place.read("src-0", 0)) == {"src-0": (0,)}
    assert place.order == BOTH
    place.read("src-1", 100)
    assert offsets_by_partition(place.fetch(most=1)) == {"src-1": (100,)}
    assert place.order == BOTH
    assert offsets_by_partition(place.fetch(most=1)) == {"src-0": (1,)}
    assert place.order == BOTH[::-1]


def test_a_fetch_that_waits_is_answered_after_its_session_was_closed() -> None:
    place = Place(first=0, second=0).load()
    assert place.fetch() is None
    place.acknowledge(("src-0",), ("src-1",), epoch=-1)
    assert not place.desk.role.sessions
    place.desk.logs["src-0"] = source("src-0", 0, 1)
    place.do(spl.on_replicated(place.desk.role, "src-0", place.desk.on))
    assert offsets_by_partition(answer_of(place.desk.last)) == {"src-0": (0,)}


def test_a_partition_that_is_no_longer_in_the_session_is_not_put_at_its_end() -> None:
    place = Place().load()
    place.fetch(forgotten=("src-0",))
    request = fetches("M1", 3, "src-0", 1)
    after = share_fetching._after_turn(place.desk.role, request, ("src-0",))
    assert after == place.desk.role


def test_a_log_that_begins_in_front_of_what_is_read_moves_no_start() -> None:
    place = Place(first=2, second=0).load()
    assert offsets_by_partition(place.fetch(most=1)) == {"src-0": (0,)}
    place.desk.logs["src-0"] = place.desk.logs["src-0"].but(start_offset=1)
    assert offsets_by_partition(place.fetch(most=1)) == {"src-0": (1,)}
    assert place.desk.role.shares[KEYS["src-0"]].start_offset == 0
