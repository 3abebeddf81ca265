"""Transaction versions 0 and 1 on the brokers: added by the client, verified, no epoch of one's own."""

from __future__ import annotations

import itertools

import pytest

from kipviz.brokers.checks import error_of
from kipviz.brokers.context import NOBODY, Context, ReplyTo
from kipviz.brokers.local_calls import WriteMarker
from kipviz.brokers.logs import partition_leader as pl
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.logs.verification import Verification
from kipviz.brokers.transactions import transaction_coordinator as tc
from kipviz.brokers.transactions.transaction_checks import end_txn_checks_below_5
from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.events import TransactionDecided
from kipviz.messages.features import Features
from kipviz.messages.producing import Produce, ProduceResponse
from kipviz.messages.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    PartitionResult,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
    with_error,
)
from kipviz.records.batches import DataRecord
from kipviz.records.placement import partition_for
from kipviz.records.transaction_state import TransactionState

S = TransactionState
HOME = "__transaction_state-0"
RECORD = (DataRecord("r", "src-0@100"),)


class OlderDesk(Desk):
    """A desk in a cluster whose transaction.version is not 2."""

    level = 1

    @property
    def on(self) -> Context:
        on = super().on
        return on.but(image=on.image.but(features=Features(self.level)))


@pytest.fixture
def desk():
    leaders = {HOME: 1, "out-0": 3, "out-1": 5}
    return OlderDesk(tc, TransactionCoordinator(HOME, 2), leaders=leaders)


def init(desk):
    return desk.ask(tc.on_init_producer_id, InitProducerId("t"))


def add(desk, epoch, *partitions):
    request = AddPartitionsToTxn("t", 9, epoch, partitions, version=3)
    return desk.ask(tc.on_add_partitions, request)


def verify(desk, pid, epoch, *partitions):
    request = AddPartitionsToTxn("t", pid, epoch, partitions, verify_only=True)
    return desk.ask(tc.on_add_partitions, request).error


def end(desk, epoch, *, commit=True):
    return desk.ask(tc.on_end_txn, EndTxn("t", 9, epoch, commit, 4))


def marked(desk, *partitions):
    found = tuple(PartitionResult(p, Errors.NONE) for p in partitions)
    desk.do(tc.on_markers_answered(desk.role, WriteTxnMarkersResponse(9, found), "2 t", desk.on))


def states(desk):
    return [(r.state, r.producer_epoch) for r in desk.written(HOME)]


def test_a_client_adds_its_partitions_and_the_epoch_stays_from_one_transaction_to_the_next(desk):
    init(desk)
    for _ in range(2):
        assert add(desk, 0, "out-0").error is Errors.NONE
        assert end(desk, 0) == EndTxnResponse(Errors.NONE, -1, -1)
        marked(desk, "out-0")
    one = [(S.ONGOING, 0), (S.PREPARE_COMMIT, 0), (S.COMPLETE_COMMIT, 0)]
    assert states(desk) == [(S.EMPTY, 0), *one, *one]
    decided = [e for e in desk.events if isinstance(e, TransactionDecided)]
    assert [(e.producer_epoch, e.committed) for e in decided] == [(0, True)] * 2


def bumped_by_the_client(desk):
    """A transaction of epoch 1, behind a bump that its client has asked for at epoch 0."""
    init(desk)
    assert desk.ask(tc.on_init_producer_id, InitProducerId("t", 60_000, 9, 0)).producer_epoch == 1
    assert desk.role.transactions["t"].last_producer_epoch == 0
    add(desk, 1, "out-0")


def test_an_end_keeps_the_epoch_before_a_bump_and_the_bump_can_be_asked_for_again(desk):
    """TransactionMetadata.prepareAbortOrCommit: lastProducerEpoch stays below transaction version 2."""
    bumped_by_the_client(desk)
    end(desk, 1)
    assert desk.role.transactions["t"].last_producer_epoch == 0
    marked(desk, "out-0")
    again = desk.ask(tc.on_init_producer_id, InitProducerId("t", 60_000, 9, 0))
    assert (again.error, again.producer_epoch) == (Errors.NONE, 1)


def test_a_fence_forgets_the_epoch_before_a_bump_and_the_bump_is_refused(desk):
    """TransactionMetadata.prepareFenceProducerEpoch: lastProducerEpoch is NO_PRODUCER_EPOCH."""
    bumped_by_the_client(desk)
    desk.do(tc.on_timeout(desk.role, "t", desk.on))
    known = desk.role.transactions["t"]
    assert (known.producer_epoch, known.last_producer_epoch) == (2, -1)
    marked(desk, "out-0")
    again = desk.ask(tc.on_init_producer_id, InitProducerId("t", 60_000, 9, 0))
    assert again.error is Errors.PRODUCER_FENCED


@pytest.mark.parametrize(
    ("version", "error"), [(1, Errors.INVALID_PRODUCER_EPOCH), (2, Errors.PRODUCER_FENCED)]
)
def test_before_version_2_of_a_request_nobody_knows_that_a_producer_can_be_fenced(
    desk, version, error
):
    """Recorded of librdkafka, which sends version 0 and 1 (KIP-588)."""
    init(desk)
    add(desk, 0, "out-0")
    asked = (
        (tc.on_end_txn, EndTxn("t", 9, 7, True, version)),
        (tc.on_add_partitions, AddPartitionsToTxn("t", 9, 7, ("out-1",), version=version)),
        (tc.on_add_offsets, AddOffsetsToTxn("t", 9, 7, "g", version)),
    )
    assert [desk.ask(handler, request).error for handler, request in asked] == [error] * 3


def test_a_marker_has_the_epoch_of_the_data_and_says_that_it_is_an_old_one(desk):
    init(desk)
    add(desk, 0, "out-0")
    end(desk, 0)
    (marker,) = desk.sent(WriteTxnMarkers)
    assert (marker.producer_epoch, marker.transaction_version) == (0, 0)


@pytest.mark.parametrize("end_it", ["time-out", "a newer producer"])
def test_the_coordinators_own_abort_fences_with_the_next_epoch(desk, end_it):
    init(desk)
    add(desk, 0, "out-0")
    if end_it == "time-out":
        desk.do(tc.on_timeout(desk.role, "t", desk.on))
    else:
        assert init(desk).error is Errors.CONCURRENT_TRANSACTIONS
    (marker,) = desk.sent(WriteTxnMarkers)
    assert (marker.producer_epoch, marker.committed) == (1, False)
    (decided,) = [e for e in desk.events if isinstance(e, TransactionDecided)]
    assert decided.producer_epoch == 0
    assert desk.role.transactions["t"].last_producer_epoch == -1
    marked(desk, "out-0")
    assert end(desk, 0).error is Errors.PRODUCER_FENCED


@pytest.mark.parametrize("end_it", ["time-out", "a newer producer"])
@pytest.mark.parametrize(("epoch", "fenced"), [(32_766, 32_767), (32_767, 32_767)])
def test_a_fence_at_the_last_epoch_keeps_it(desk, end_it, epoch, fenced):
    """TMT.testFenceProducerAfterEpochsExhausted; TransactionMetadata.prepareFenceProducerEpoch."""
    init(desk)
    add(desk, 0, "out-0")
    known = desk.role.transactions["t"].but(producer_epoch=epoch)
    desk.role = desk.role.but(transactions=desk.role.transactions.set("t", known))
    if end_it == "time-out":
        desk.do(tc.on_timeout(desk.role, "t", desk.on))
    else:
        assert init(desk).error is Errors.CONCURRENT_TRANSACTIONS
    assert states(desk)[-1] == (S.PREPARE_ABORT, fenced)
    marked(desk, "out-0")
    assert states(desk)[-1] == (S.COMPLETE_ABORT, fenced)
    # The next producer gets another producer id, because no epoch is left.
    answer = init(desk)
    assert (answer.producer_id, answer.producer_epoch) == (10, 0)


def test_a_fence_shuts_its_producer_out_while_it_is_being_logged(desk):
    """endTransactionWithTV1: the epoch is in memory before the write, and compared before a transition."""
    init(desk)
    add(desk, 0, "out-0")
    desk.instant = False
    assert init(desk) is None
    assert end(desk, 0).error is Errors.PRODUCER_FENCED
    assert verify(desk, 9, 0, "out-0") is Errors.PRODUCER_FENCED
    assert add(desk, 0, "out-1").error is Errors.CONCURRENT_TRANSACTIONS, "a transition comes first"
    desk.replicate()
    assert desk.last.error is Errors.CONCURRENT_TRANSACTIONS
    assert desk.role.transactions["t"].producer_epoch == 1


def test_under_version_2_a_fence_has_its_epoch_when_it_is_logged(desk):
    desk.level = 2
    init(desk)
    add(desk, 0, "out-0")
    desk.instant = False
    assert init(desk) is None
    assert verify(desk, 9, 0, "out-0") is Errors.NONE
    assert end(desk, 0).error is Errors.CONCURRENT_TRANSACTIONS
    desk.replicate()
    assert verify(desk, 9, 0, "out-0") is Errors.PRODUCER_FENCED


def test_a_groups_offsets_are_added_by_the_group_id(desk):
    init(desk)
    desk.ask(tc.on_add_offsets, AddOffsetsToTxn("t", 9, 0, "g1"))
    assert desk.role.transactions["t"].partitions == (
        f"__consumer_offsets-{partition_for('g1', 50)}",
    )
    seen = desk.logs[HOME].end_offset
    again = desk.ask(tc.on_add_offsets, AddOffsetsToTxn("t", 9, 0, "g1"))
    assert (again.error, desk.logs[HOME].end_offset) == (Errors.NONE, seen)
    stale = desk.ask(tc.on_add_offsets, AddOffsetsToTxn("t", 9, 3, "g1"))
    assert stale.error is Errors.PRODUCER_FENCED


def test_who_asks_whether_a_partition_was_added_changes_nothing(desk):
    """TCT.testVerifyPartitionHandling."""
    assert verify(desk, 9, 0, "out-0") is Errors.INVALID_PRODUCER_ID_MAPPING
    init(desk)
    assert verify(desk, 9, 0, "out-0") is Errors.TRANSACTION_ABORTABLE
    add(desk, 0, "out-0")
    seen = desk.logs[HOME].end_offset
    assert verify(desk, 9, 0, "out-0") is Errors.NONE
    assert verify(desk, 9, 0, "out-0", "out-1") is Errors.TRANSACTION_ABORTABLE
    told = {p: desk.last.error_of(p) for p in ("out-0", "out-1")}
    assert told == {"out-0": Errors.NONE, "out-1": Errors.TRANSACTION_ABORTABLE}
    assert verify(desk, 9, 1, "out-0") is Errors.PRODUCER_FENCED
    assert verify(desk, 8, 0, "out-0") is Errors.INVALID_PRODUCER_ID_MAPPING
    assert desk.logs[HOME].end_offset == seen
    desk.instant = False
    assert add(desk, 0, "out-1") is None
    assert verify(desk, 9, 0, "out-0") is Errors.NONE, "a transition in progress is no reason"
    desk.replicate()
    desk.instant = True
    end(desk, 0)
    assert verify(desk, 9, 0, "out-0") is Errors.CONCURRENT_TRANSACTIONS


def test_transaction_version_0_writes_records_without_the_flexible_fields(desk):
    desk.level = 0
    init(desk)
    add(desk, 0, "out-0")
    assert {(r.version, r.previous_producer_id) for r in desk.written(HOME)} == {(0, -1)}
    desk.level = 1
    add(desk, 0, "out-1")
    assert desk.written(HOME)[-1].version == 1


# state, what is asked, what is answered: TransactionCoordinator.endTransactionWithTV1
END_TXN_4 = """
                  COMMIT                    ABORT
EMPTY             INVALID_TXN_STATE         INVALID_TXN_STATE
ONGOING           NONE                      NONE
PREPARE_COMMIT    CONCURRENT_TRANSACTIONS   INVALID_TXN_STATE
PREPARE_ABORT     INVALID_TXN_STATE         CONCURRENT_TRANSACTIONS
COMPLETE_COMMIT   NONE                      INVALID_TXN_STATE
COMPLETE_ABORT    INVALID_TXN_STATE         NONE
"""
ROWS = [line.split() for line in END_TXN_4.strip().splitlines()[1:]]


@pytest.mark.parametrize(("state", "commit", "abort"), ROWS)
def test_the_answers_of_end_txn_up_to_version_4(state, commit, abort):
    known = TransactionMetadata("t", 9, 5, S[state])
    for committed, answer in ((True, commit), (False, abort)):
        asked = EndTxn("t", 9, 5, committed, 4)
        assert error_of(end_txn_checks_below_5(known, asked)) is Errors[answer]
        other = EndTxn("t", 8, 5, committed, 4)
        assert error_of(end_txn_checks_below_5(known, other)) is Errors.INVALID_PRODUCER_ID_MAPPING
        stale = EndTxn("t", 9, 4, committed, 4)
        assert error_of(end_txn_checks_below_5(known, stale)) is Errors.PRODUCER_FENCED
        busy = known.but(pending_state=S.PREPARE_ABORT)
        assert error_of(end_txn_checks_below_5(busy, asked)) is Errors.CONCURRENT_TRANSACTIONS
        assert error_of(end_txn_checks_below_5(busy, stale)) is Errors.PRODUCER_FENCED, (
            "the epoch is first"
        )


@pytest.fixture
def leader():
    leaders = {"out-0": 1, **{f"__transaction_state-{i}": 5 for i in range(50)}}
    return OlderDesk(pl, PartitionLeader("out-0", 0), leaders=leaders)


PRODUCE = Produce("t", "out-0", 9, 0, 0, RECORD, 11)


def produce(leader, sequence=0, version=11):
    request = Produce("t", "out-0", 9, 0, sequence, RECORD, version)
    return leader.ask(pl.on_produce, request)


def verified(leader, error):
    (asked,) = leader.sent(AddPartitionsToTxn)
    answer = AddPartitionsToTxnResponse(error, "t", 9, 0, ("out-0",))
    leader.do(pl.on_enlisted(leader.role, answer, leader.on))
    return asked


def answered(leader, number):
    """Let the coordinator's yes to one of the leader's questions arrive."""
    answer = AddPartitionsToTxnResponse(Errors.NONE, "t", 9, 0, ("out-0",))
    leader.do(pl.on_enlisted(leader.role, answer, leader.on, leader.requests[number].tag))


def ended(leader, *, committed=False, epoch=0):
    marker = WriteMarker(ReplyTo("B5/markers", 1, 0), "out-0", 9, epoch, committed, 3, 0)
    leader.do(pl.on_write_marker(leader.role, marker, leader.on))


def told(leader):
    return [m.error for _, m in leader.replies if isinstance(m, ProduceResponse)]


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (Errors.NONE, Errors.NONE),
        (Errors.TRANSACTION_ABORTABLE, Errors.TRANSACTION_ABORTABLE),
        (Errors.PRODUCER_FENCED, Errors.INVALID_PRODUCER_EPOCH),
        (Errors.CONCURRENT_TRANSACTIONS, Errors.NOT_ENOUGH_REPLICAS),
        (Errors.NOT_COORDINATOR, Errors.NOT_ENOUGH_REPLICAS),
    ],
)
def test_a_leader_asks_whether_the_client_has_added_its_partition(leader, said, answer):
    assert produce(leader) is None
    assert verified(leader, said).verify_only
    assert leader.last.error is answer
    assert leader.logs["out-0"].end_offset == (1 if answer is Errors.NONE else 0)


def test_a_yes_that_comes_after_the_abort_marker_is_too_late_though_the_epoch_is_the_same(leader):
    """Found by search: below version 2 the marker of this very transaction has its epoch."""
    assert produce(leader) is None
    ended(leader)
    verified(leader, Errors.NONE)
    assert told(leader) == [Errors.INVALID_TXN_STATE]


@pytest.mark.parametrize(
    ("second", "refused"), [("app/1", []), ("app/1 #0", [Errors.INVALID_TXN_STATE])]
)
def test_a_yes_from_before_the_marker_does_not_verify_who_asks_after_it(leader, second, refused):
    """VerificationGuard is unique: the stale yes is for the request that asked for it, and no other."""
    assert leader.ask(pl.on_produce, PRODUCE, "app/1") is None
    ended(leader)
    assert leader.ask(pl.on_produce, PRODUCE, second) is None
    answered(leader, 0)
    assert told(leader) == refused
    assert leader.logs["out-0"].end_offset == 1, "nothing but the marker"
    answered(leader, 1)
    assert told(leader) == [*refused, Errors.NONE]
    assert leader.role.verifying == ()


def test_two_markers_tell_three_askings_apart(leader):
    for _ in range(2):
        assert produce(leader) is None
        ended(leader)
    assert produce(leader) is None
    assert [r.tag for r in leader.requests] == ["", "1", "2"]
    answered(leader, 1)
    answered(leader, 0)
    assert told(leader) == [Errors.INVALID_TXN_STATE] * 2
    answered(leader, 2)
    assert leader.last.error is Errors.NONE
    assert leader.role.verifying == ()


def test_a_yes_that_nobody_needs_any_more_does_not_verify_a_later_transaction(leader):
    """Two batches went on with the first yes; the second one arrives behind the marker."""
    assert produce(leader, 0) is None
    assert produce(leader, 1) is None
    answered(leader, 0)
    assert told(leader) == [Errors.NONE] * 2
    ended(leader, committed=True)
    assert produce(leader, 2) is None
    answered(leader, 1)
    assert told(leader) == [Errors.NONE] * 2, "it was for the transaction before"
    answered(leader, 2)
    assert told(leader) == [Errors.NONE] * 3


def test_whoever_loses_the_partition_refuses_those_that_still_wait(leader):
    assert leader.ask(pl.on_produce, PRODUCE, "app/1") is None
    assert leader.ask(pl.on_produce, PRODUCE, "app/1") is None
    leader.do(pl.on_resigned(leader.role, leader.on).but(state=leader.role))
    assert told(leader) == [Errors.NOT_LEADER_OR_FOLLOWER]


def test_an_answer_that_nobody_here_has_asked_for_changes_nothing(leader):
    """The partition was led elsewhere in between: who asked is gone."""
    before = leader.role
    answer = AddPartitionsToTxnResponse(Errors.NONE, "t", 9, 0, ("out-0",))
    leader.do(pl.on_enlisted(leader.role, answer, leader.on, "1"))
    assert (leader.role, leader.replies) == (before, [])


def test_a_leader_that_is_told_not_to_verify_appends_at_once(leader):
    leader.settings = leader.settings.but(partition_verification=False)
    assert produce(leader).error is Errors.NONE
    assert not leader.sent(AddPartitionsToTxn)


def test_enlisting_cannot_be_switched_off(leader):
    leader.settings = leader.settings.but(partition_verification=False)
    assert produce(leader, version=13) is None
    assert not verified(leader, Errors.NONE).verify_only


def test_an_unknown_producer_may_go_on_with_its_sequence_where_the_epoch_lasts(leader):
    """From version 12 on the first sequence has to be 0 (KAFKA-18202)."""
    leader.settings = leader.settings.but(partition_verification=False)
    assert produce(leader, sequence=7).error is Errors.NONE
    assert produce(leader, sequence=9).error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER


# -- the lowest sequence that was seen ----------------------------------------------------------


def in_vain(leader, sequence, epoch=0):
    """A batch comes, and the connection to the coordinator breaks before it is verified."""
    request = Produce("t", "out-0", 9, epoch, sequence, RECORD, 11)
    assert leader.ask(pl.on_produce, request) is None
    leader.do(
        pl.on_enlisted(
            leader.role,
            with_error(leader.requests[-1].message, Errors.NETWORK_EXCEPTION),
            leader.on,
        )
    )
    assert leader.last.error is Errors.NOT_ENOUGH_REPLICAS


def tried(leader, sequence, error=Errors.NONE):
    assert produce(leader, sequence) is None
    answer = AddPartitionsToTxnResponse(error, "t", 9, 0, ("out-0",))
    leader.do(pl.on_enlisted(leader.role, answer, leader.on, leader.requests[-1].tag))
    return leader.last.error


def test_what_comes_behind_a_batch_that_was_verified_in_vain_does_not_go_first(leader):
    """ProducerAppendInfo.checkSequence: KAFKA-14920."""
    in_vain(leader, 0)
    assert tried(leader, 1) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert tried(leader, 0) is Errors.NONE
    assert produce(leader, 1).error is Errors.NONE
    assert leader.role.verifications == ()


def test_a_batch_that_the_coordinator_refused_is_remembered_until_a_marker_comes(leader):
    assert tried(leader, 5, Errors.TRANSACTION_ABORTABLE) is Errors.TRANSACTION_ABORTABLE
    assert tried(leader, 6) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    ended(leader)
    assert leader.role.verifications == ()


@pytest.mark.parametrize(
    ("came", "lowest"),
    [
        (((4, 0), (2, 0), (3, 0)), Verification(9, 0, 2, False)),
        (((4, 0), (7, 1)), Verification(9, 1, 7, False)),
        (((7, 1), (4, 0)), Verification(9, 1, 7, False)),
    ],
)
def test_the_lowest_of_the_newest_epoch_is_remembered(leader, came, lowest):
    for sequence, epoch in came:
        in_vain(leader, sequence, epoch)
    assert leader.role.verifications == (lowest,)


def refused(leader, sequence, epoch=0, version=11, error=Errors.NETWORK_EXCEPTION):
    """A batch of an older or a newer client comes, and it is verified in vain."""
    request = Produce("t", "out-0", 9, epoch, sequence, RECORD, version)
    assert leader.ask(pl.on_produce, request) is None
    asked = leader.requests[-1].message
    leader.do(pl.on_enlisted(leader.role, with_error(asked, error), leader.on))


def taken(leader, sequence, epoch=0, version=11):
    """A batch comes, and the coordinator says yes."""
    request = Produce("t", "out-0", 9, epoch, sequence, RECORD, version)
    if (answer := leader.ask(pl.on_produce, request)) is not None:
        return answer.error
    asked = leader.requests[-1]
    answer = AddPartitionsToTxnResponse(Errors.NONE, "t", 9, epoch, ("out-0",))
    leader.do(pl.on_enlisted(leader.role, answer, leader.on, asked.tag))
    return leader.last.error


@pytest.fixture
def real(leader):
    """A leader that keeps what came to nothing, as Kafka's does, also where only strangers could tell."""
    leader.settings = leader.settings.but(remembers_verifications=True)
    return leader


def test_the_protocol_of_the_first_request_counts_for_an_older_client_of_the_same_id(real):
    """VerificationStateEntry.supportsEpochBump: a log without the producer wants 0, whoever asks now."""
    refused(real, 0, version=13)
    assert real.role.verifications == (Verification(9, 0, 0, True),)
    assert taken(real, 5, epoch=1) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert real.role.verifications == (Verification(9, 1, 5, True),)
    assert taken(real, 0, epoch=1) is Errors.NONE


def test_the_protocol_of_the_first_request_counts_for_a_newer_client_of_the_same_id(real):
    """The other way round the log takes any first sequence up to the lowest one that came."""
    refused(real, 3)
    assert taken(real, 4, version=13) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert taken(real, 3, version=13) is Errors.NONE


def test_the_lowest_sequence_counts_for_an_older_epoch_too(real):
    """An open transaction's next batch is behind what a newer epoch's first batch has left."""
    assert taken(real, 0) is Errors.NONE
    assert taken(real, 1) is Errors.NONE
    refused(real, 0, epoch=1)
    assert taken(real, 2) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_batch_that_nobody_can_verify_is_remembered_too(real):
    """The entry is made before the coordinator is looked for."""
    with_home = real.leaders
    real.leaders = dict.fromkeys(with_home, NOBODY) | {"out-0": with_home["out-0"]}
    assert real.ask(pl.on_produce, Produce("t", "out-0", 9, 0, 0, RECORD, 11)) is not None
    real.leaders = with_home
    assert taken(real, 1) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_marker_of_the_epoch_that_is_verified_leaves_a_newer_clients_entry_alone(real):
    refused(real, 0, epoch=1, version=13)
    kept = real.role.verifications
    ended(real, epoch=1)
    assert real.role.verifications == kept
    ended(real, epoch=2)
    assert real.role.verifications == ()


def test_a_log_that_knows_the_producer_remembers_a_verification_as_well(real):
    assert taken(real, 0) is Errors.NONE
    ended(real)
    refused(real, 1)
    assert real.role.verifications == (Verification(9, 0, 1, False),)
    assert taken(real, 1) is Errors.NONE
    assert real.role.verifications == ()


def test_among_clients_of_one_version_only_what_can_refuse_something_is_kept(leader):
    """A leader that need not remember it refuses and takes the same batches."""
    refused(leader, 0, version=13)
    assert leader.role.verifications == ()
    refused(leader, 0, version=11)
    assert leader.role.verifications == (Verification(9, 0, 0, False),)
    assert taken(leader, 0) is Errors.NONE


@pytest.mark.parametrize("version", [11, 13])
@pytest.mark.parametrize(
    "tries", list(itertools.product(((0, 0), (1, 0), (0, 1)), (True, False), repeat=2))
)
def test_what_is_forgotten_changes_no_answer_to_clients_of_one_version(real, tries, version):
    """Each course of two batches, taken or refused, and then a third, with the memory and without it."""
    short = OlderDesk(pl, PartitionLeader("out-0", 0), leaders=real.leaders)
    answers = []
    for desk in (real, short):
        said = []
        for (sequence, epoch), yes in (tries[0:2], tries[2:4], ((0, 1), True)):
            if yes:
                said.append(taken(desk, sequence, epoch, version))
            else:
                try_it = Produce("t", "out-0", 9, epoch, sequence, RECORD, version)
                if desk.ask(pl.on_produce, try_it) is None:
                    answer = with_error(desk.requests[-1].message, Errors.NETWORK_EXCEPTION)
                    desk.do(pl.on_enlisted(desk.role, answer, desk.on, desk.requests[-1].tag))
                said.append(desk.last.error)
        answers.append(said)
    assert answers[0] == answers[1]
