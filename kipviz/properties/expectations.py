"""What an application may expect while it behaves correctly: no loss, and no wasted work.

Properties are about lost or duplicated records. Expectations are about wasted work, and about records that wait without
need. They check the world after a step and remember little. They are checked by name only: the searches for all
properties do not check them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import ShareLeader, SharePartition
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.throwing.client_errors import NotAllAcknowledged
from kipviz.cluster.world import World
from kipviz.core.model import Event, Outcome
from kipviz.core.table import Table
from kipviz.core.values import Part
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    WRITE_FAILED,
    CallReturned,
    MessageDelivered,
    MessageSent,
    RecordsMoved,
)
from kipviz.messages.shares.share_groups import (
    AcknowledgeType,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
)
from kipviz.properties.facts.share_facts import share_partitions
from kipviz.properties.verdict import BROKEN, HOLDS, Finding
from kipviz.records.share_group_state import RecordState

S = RecordState


class ExpectationState(Part, frozen=True):
    """The state of an expectation: why it is broken, and the records that it watches."""

    broken: str = ""
    watched: Table[str, bool] = Table.of()


class Expectation(ABC):
    """One expectation: a property with its name, its sentence and its source.

    `breaks` returns the reason why an event breaks it, or ""; `learn` folds the event.
    """

    name = ""
    sentence = ""
    source = ""

    def initial(self, world: World) -> ExpectationState:
        """Start with nothing seen."""
        return ExpectationState()

    def observe(self, seen: ExpectationState, action: object, outcome: Outcome) -> ExpectationState:
        """Fold one step."""
        if seen.broken:
            return seen
        for event in outcome.events:
            reason = self.breaks(seen, event, outcome.world)
            if reason:
                return seen.but(broken=reason)
            seen = self.learn(seen, event)
        return seen

    def finding(self, seen: ExpectationState) -> Finding:
        """Return whether it still holds."""
        return Finding(BROKEN, seen.broken) if seen.broken else Finding(HOLDS)

    @abstractmethod
    def breaks(self, seen: ExpectationState, event: Event, world: World) -> str:
        """Return the reason why an event breaks it, or ""."""

    def learn(self, seen: ExpectationState, event: Event) -> ExpectationState:
        """Fold an event; most expectations store nothing."""
        return seen


class OwnAcknowledgement(Expectation):
    """Finding K: the response to a staging was lost, and the repeated staging is rejected."""

    name = "own acknowledgement is no conflict"
    sentence = "A producer is not rejected because of records it staged in its own transaction."
    source = "KIP-1289 State machine additions; finding K"

    def breaks(self, seen: ExpectationState, event: Event, world: World) -> str:
        """Break on a rejected staging whose records are all staged the same way for its producer."""
        match event:
            case MessageSent(source=source, message=TxnShareAcknowledgeResponse() as answer):
                first = answer.responses[0]
                refused = first.error is Errors.INVALID_RECORD_STATE
            case _:
                return ""
        for app in world.applications.values() if refused else ():
            asked = app.producer.on_wire
            if app.producer.source == source and isinstance(asked, TxnShareAcknowledge):
                part = next(p for p in asked.partitions if p.partition == first.partition)
                return _refused_its_own(asked.but(partitions=(part,)), world)
        return ""


class CommitIsTrue(Expectation):
    """Finding X11: a transaction of acknowledgements alone sends no EndTxn."""

    name = "commit means decided"
    sentence = (
        "When commitTransaction() returns, every record staged in the transaction is decided."
    )
    source = "KIP-1289 Pseudo code, 'true synchronisation point'; findings X7 and X11"

    def breaks(self, seen: ExpectationState, event: Event, world: World) -> str:
        """Break on a commit that returned while a record is staged at the producer's current epoch.

        Under transaction version 2 every decision gives the producer its next epoch.
        """
        if not isinstance(event, CallReturned) or event.call != "commitTransaction":
            return ""
        if event.raised:
            return ""
        mine = world.applications[event.application].producer.manager.identity
        for share, offset, record in _records(world):
            acknowledgement = (record.staged_producer_id, record.staged_producer_epoch)
            if record.state is S.TX_PENDING and acknowledgement == mine:
                return (
                    f"commitTransaction() of {event.application} has returned, and "
                    f"{share.partition}@{offset} is staged in an undecided transaction"
                )
        return ""


class NoWaitForOneself(Expectation):
    """Finding X26: a member waits for records that it holds according to the broker.

    A staging that was not sent when the application aborts, or that was rejected, leaves the record with its member.
    This differs from finding F, where every abort does it, and from KIP-932's own behaviour: a member that released a
    record and got an error knows that it still holds it.
    """

    name = "no self-deadlock"
    sentence = "A member blocked in poll() does not hold the records it is waiting for."
    source = "KIP-1289 'Records will be re-delivered on next poll()'"

    def observe(self, seen: ExpectationState, action: object, outcome: Outcome) -> ExpectationState:
        """Fold the whole step first: a single rejected write leads to several events."""
        if seen.broken:
            return seen
        for event in outcome.events:
            seen = self.learn(seen, event)
        reasons = (self.breaks(seen, event, outcome.world) for event in outcome.events)
        return seen.but(broken=next(filter(None, reasons), ""))

    def breaks(self, seen: ExpectationState, event: Event, world: World) -> str:
        """Break on a fetch that waits, by a member that holds records of the same share-partition."""
        if not isinstance(event, RecordsMoved | MessageSent):
            return ""
        waiting = _waiting_for_itself(world)
        return next((_waiting(n, member) for n, member in waiting if n not in seen.watched), "")

    def learn(self, seen: ExpectationState, event: Event) -> ExpectationState:
        """Note the records that returned to their member because their release failed."""
        if not isinstance(event, RecordsMoved):
            return seen
        watched = seen.watched
        failed = event.because == WRITE_FAILED and event.before is not S.TX_PENDING
        for name in _names(event):
            watched = watched.set(name, True) if failed else watched.without(name)
        return seen.but(watched=watched)


class _GivenBack(Expectation):
    """An expectation about records that an abort returned to their member."""

    def learn(self, seen: ExpectationState, event: Event) -> ExpectationState:
        """Watch a record that moves from TX_PENDING to ACQUIRED until it moves on."""
        if not isinstance(event, RecordsMoved):
            return seen
        watched = seen.watched
        given_back = event.before is S.TX_PENDING and event.after is S.ACQUIRED
        given_back = given_back and event.because != WRITE_FAILED  # the staging failed
        for name in _names(event):
            watched = watched.set(name, True) if given_back else watched.without(name)
        return seen.but(watched=watched)


class AbortBringsAgain(_GivenBack):
    """Finding F: the next poll() waits for the record that the abort returned to its own member."""

    name = "abort releases records"
    sentence = (
        "After an abort, the next poll() returns the record without waiting for its lock to expire."
    )
    source = "KIP-1289 'Records will be re-delivered on next poll()'; finding F"

    def breaks(self, seen: ExpectationState, event: Event, world: World) -> str:
        """Break on a member that waits while an abort has returned the record to it, without its knowledge."""
        if not isinstance(event, RecordsMoved | MessageSent):
            return ""
        given = seen.watched
        return next((_waiting(n, m) for n, m in _waiting_for_itself(world) if n in given), "")


class AbortIsNoFailure(_GivenBack):
    """Finding M: an aborted transaction uses up the last delivery of a record."""

    name = "abort is no failed delivery"
    sentence = "A record of an aborted transaction is delivered again, not archived."
    source = "KIP-1289 Test Plan; KIP-932 group.share.delivery.count.limit; finding M"

    def breaks(self, seen: ExpectationState, event: Event, world: World) -> str:
        """Break on a record that is archived after an abort returned it to its member."""
        if not isinstance(event, RecordsMoved) or event.after is not S.ARCHIVED:
            return ""
        for name in _names(event):
            if name in seen.watched:
                return (
                    f"{name} was given back by an aborted transaction and is ARCHIVED, because "
                    f"{event.because} after delivery {event.delivery_count}: no consumer ever failed to process it"
                )
        return ""


class RejectionStays(Expectation):
    """Finding G: a record that was rejected in a transaction is acknowledged when it commits."""

    name = "rejected records are archived"
    sentence = "A record that was rejected in a transaction is archived, never acknowledged."
    source = "KIP-1289 javadoc, 'REJECT records transition to ARCHIVING/ARCHIVED'; finding G"

    def breaks(self, seen: ExpectationState, event: Event, world: World) -> str:
        """Break on a record that was staged with REJECT and is acknowledged."""
        if not isinstance(event, RecordsMoved) or event.after is not S.ACKNOWLEDGED:
            return ""
        for name in _names(event):
            if name in seen.watched:
                return (
                    f"{name} was rejected in its transaction and is ACKNOWLEDGED, because "
                    f"{event.because}: it counts as processed, and no dead letter is written"
                )
        return ""

    def learn(self, seen: ExpectationState, event: Event) -> ExpectationState:
        """Note the types of a staging, and keep them while it is staged; a free record starts over.

        Another member may stage a record that it has lost: that does not count as a rejection.
        """
        watched = seen.watched
        match event:
            case MessageDelivered(message=TxnShareAcknowledge() as request):
                producer = (request.producer_id, request.producer_epoch)
                said = ((p.partition, b) for p in request.partitions for b in p.acknowledgements)
                for partition, batch in said:
                    for offset in range(batch.first, batch.last + 1):
                        asked = f"{partition}@{offset} {producer}"
                        rejected = batch.type is AcknowledgeType.REJECT
                        watched = watched.set(asked, True) if rejected else watched.without(asked)
            case RecordsMoved(after=S.TX_PENDING):
                producer = (event.producer_id, event.producer_epoch)
                for name in _names(event):
                    rejected = f"{name} {producer}" in watched
                    watched = watched.without(f"{name} {producer}")
                    watched = watched.set(name, True) if rejected else watched.without(name)
            case RecordsMoved(after=S.AVAILABLE):
                for name in _names(event):
                    watched = watched.without(name)
            case _:
                return seen
        return seen.but(watched=watched)


class LockThatEnds(Expectation):
    """Finding X18: the timer of a lock expires once, and there is no other one."""

    name = "every lock expires"
    sentence = "A record held by a slow member becomes available when its lock expires."
    source = "KIP-932 acquisition lock; SharePartition.AcquisitionLockTimerTask; finding X18"

    def breaks(self, seen: ExpectationState, event: Event, world: World) -> str:
        """Break on a record that is held without a timer."""
        if not isinstance(event, RecordsMoved) or event.after is not S.ACQUIRED:
            return ""
        for share, offset, record in _records(world):
            if record.state is S.ACQUIRED and not record.ongoing and record.lock < 0:
                return (
                    f"{share.partition}@{offset} is ACQUIRED by {record.member_id} because "
                    f"{event.because}, but its timer has already fired, so nothing will release it"
                )
        return ""


class PollGoesOn(Expectation):
    """Finding X27: in explicit mode the consumer does not count a staged record as acknowledged."""

    name = "poll() goes on"
    sentence = "An application that has staged every record of a batch can call poll() again."
    source = "KIP-1289 Pseudo code, 'Do NOT call shareConsumer.acknowledge(...)'; finding X27"

    def breaks(self, seen: ExpectationState, event: Event, world: World) -> str:
        """Break on a poll() that requires acknowledgements although every record of its batch is staged.

        A record that was never staged is another matter: in explicit mode the application has to release it after an
        abort, in every design.
        """
        if not isinstance(event, CallReturned) or event.call != "poll":
            return ""
        if not isinstance(event.raised, NotAllAcknowledged):
            return ""
        consumer = world.applications[event.application].consumer
        assert isinstance(consumer, ShareConsumer), consumer
        fetch = consumer.current_fetch
        if any(offset not in fetch.staged for offset in fetch.batch):
            return ""
        return (
            f"poll() of {event.application} throws {event.raised.words}, and all of them are staged"
        )


EXPECTATIONS: tuple[Expectation, ...] = (
    OwnAcknowledgement(),
    CommitIsTrue(),
    NoWaitForOneself(),
    AbortBringsAgain(),
    AbortIsNoFailure(),
    RejectionStays(),
    LockThatEnds(),
    PollGoesOn(),
)


def _records(world: World) -> Iterator[tuple[SharePartition, int, InFlight]]:
    for share in share_partitions(world):
        for offset, record in share.records.items():
            yield share, offset, record


def _refused_its_own(asked: TxnShareAcknowledge, world: World) -> str:
    """Return the reason if all records of a rejected staging are already staged the same way."""
    producer = (asked.producer_id, asked.producer_epoch)
    acknowledgements = {
        f"{share.partition}@{offset}": (
            record.staged_producer_id,
            record.staged_producer_epoch,
            record.staged_type,
        )
        for share, offset, record in _records(world)
        if record.state is S.TX_PENDING and share.group_id == asked.group_id
    }
    only = asked.only
    for batch in only.acknowledgements:
        for offset in range(batch.first, batch.last + 1):
            if acknowledgements.get(f"{only.partition}@{offset}") != (*producer, batch.type):
                return ""
    return (
        f"{only.partition}@{only.acknowledgements[0].first} is staged by producer {producer[0]}, epoch "
        f"{producer[1]}, and the same producer receives INVALID_RECORD_STATE: it has to abort a correct transaction"
    )


def _waiting_for_itself(world: World) -> Iterator[tuple[str, str]]:
    """Return (record, member) for every fetch that waits although its member holds the record."""
    for share in share_partitions(world):
        waiting = {p.request.member_id for p in share.parked if not p.acknowledging}
        waiting |= _of_session(world, share)
        for offset, record in share.records.items() if waiting else ():
            held = record.state is S.ACQUIRED and not record.ongoing
            # Below the start offset no fetch waits for it: retention deleted it from the log.
            if held and record.member_id in waiting and offset >= share.start_offset:
                yield f"{share.partition}@{offset}", record.member_id


def _of_session(world: World, share: SharePartition) -> set[str]:
    """Return the members whose session fetch waits for records of this share-partition, among others."""
    leaders = (role for role in world.roles.values() if isinstance(role, ShareLeader))
    calls = (call for leader in leaders for call in leader.waiting if call.fetched is None)
    return {
        call.request.member_id
        for call in calls
        if call.request.group_id == share.group_id and share.partition in call.partitions
    }


def _waiting(name: str, member: str) -> str:
    return f"{member} waits in poll(), and {name} is ACQUIRED by {member}, which does not know it: only the expiry of the record's lock releases it"


def _names(event: RecordsMoved) -> list[str]:
    return [f"{event.partition}@{offset}" for offset in range(event.first, event.last + 1)]
