"""How a consumer of a regular group reads, in either protocol and with assign(): offsets, records, commits.

WHERE IN KAFKA: CommitRequestManager and FetchRequestManager (KIP-848), ConsumerCoordinator and Fetcher
(classic).
Unless a spec states auto.offset.reset, a consumer without a position starts at the earliest record at once.
NOT MODELLED: that the wait for another reset counts from when the request was sent; here it is from its answer; that
  poll() returns without records where only its position advanced (Fetch.positionAdvanced); here the partition rests;
  that fetch.max.wait.ms ends a broker's wait for records; that positions are looked up while poll() returns what is
  fetched from other partitions; here a poll() that has nothing to return looks them up, but a classic consumer waits
  for committed offsets first, as in Kafka; that the TOPIC_AUTHORIZATION_FAILED of a Fetch is thrown after a seek(),
  too. One request at a time is in flight, so a Fetch that waits at its broker would hold up the heartbeats of a member:
  it is answered at once, and the consumer waits. With assign() there are no heartbeats, and the broker waits until it
  has records.
"""

from __future__ import annotations

from typing import TypeVar

from kipviz.clients.groups.consumer import CompletedFetch, RegularConsumer
from kipviz.clients.groups.offset_reset import NONE, where_to
from kipviz.clients.groups.subscription_state import ASKED
from kipviz.clients.throwing.client_errors import (
    ClientError,
    NoOffset,
    OffsetOutOfRange,
    request_error,
)
from kipviz.clients.timers import FetchWait, ResetWait, RetryBackOff, TimerOfClient
from kipviz.messages.apis.catalogue import api_of
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.groups.groups import (
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetchResponse,
    fetch_offsets,
)
from kipviz.messages.logs.list_offsets import ListOffsetsResponse
from kipviz.messages.logs.producing import Fetch, FetchPartition, FetchResponse, PartitionData
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_of_response
from kipviz.settings.consumer_configs import FETCH_MAX_WAIT_MS

# The OffsetFetch versions that first ask for stable offsets, and that first name the member.
FIRST_STABLE, FIRST_WITH_MEMBER = 7, 9
# Errors that are retried only after a back-off, because another process must resolve them.
PENDING = (
    Errors.UNSTABLE_OFFSET_COMMIT,
    Errors.PENDING_TRANSACTION,
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
)
# The errors of one partition that decide over a whole OffsetFetch, the stronger one first.
DECIDING = (Errors.TOPIC_AUTHORIZATION_FAILED, Errors.UNSTABLE_OFFSET_COMMIT)
# The member that an OffsetFetch names when it names no member.
NOBODY = ("", -1)
# poll() throws these, and may be called again.
NOT_ALLOWED = (Errors.TOPIC_AUTHORIZATION_FAILED, Errors.GROUP_AUTHORIZATION_FAILED)
C = TypeVar("C", bound=RegularConsumer)


def begin_poll(me: C) -> C:
    """Enter poll(): without records yet, and every partition that has none may be fetched again."""
    fetcher = me.fetcher.but(resting=())
    return me.but(polling=True, done=False, records=(), fetcher=fetcher, error="")


def next_read(me: RegularConsumer, who: tuple[str, int] = NOBODY) -> Message | None:
    """Return the next request of poll(): for committed offsets, for positions in logs, or for records.

    While poll() waits, everything that was fetched has been returned or dropped, so each partition may be fetched. The
    committed offsets of all partitions are fetched together. The logs are asked only when every one is known, all those
    of one leader in one request. Source: ConsumerCoordinator.initWithCommittedOffsetsIfNeeded,
    OffsetsRequestManager.updateFetchPositions, buildListOffsetsRequestsToResetPositions.
    """
    mine, committed = me.subscription, not me.fetcher.read_uncommitted
    new = without_offset(me)
    if new:
        return _ask_for_offsets(me, new, who)
    lost = tuple(p for p in mine.owned if mine.positions[p] == ASKED and p not in mine.unfound)
    if lost:
        return where_to(lost, mine.auto_offset_reset, committed=committed)
    return next_fetch(me)


def without_offset(me: RegularConsumer) -> tuple[str, ...]:
    """Return the partitions whose committed offsets are still to be fetched."""
    mine = me.subscription
    return tuple(p for p in mine.owned if p not in mine.positions)


def next_fetch(me: RegularConsumer) -> Fetch | None:
    """Return the Fetch of the partitions with a position that did not rest in this poll()."""
    mine, resting = me.subscription, me.fetcher.resting
    at = {p: mine.positions.get(p, ASKED) for p in mine.fetchable if p not in resting}
    wanted = tuple(FetchPartition(p, offset) for p, offset in at.items() if offset != ASKED)
    if not wanted:
        return None
    wait_ms = FETCH_MAX_WAIT_MS.default if mine.user_assigned else 0
    return Fetch(wanted, not me.fetcher.read_uncommitted, wait_ms)


def _ask_for_offsets(
    me: RegularConsumer, partitions: tuple[str, ...], who: tuple[str, int]
) -> Message:
    """Ask for the committed offsets, as a member if the version has a field for it (9, KIP-848)."""
    version = me.offsets.fetch_version
    stable = version >= FIRST_STABLE
    if version < FIRST_WITH_MEMBER:
        return fetch_offsets(me.group_id, partitions, stable, version=version)
    return fetch_offsets(me.group_id, partitions, stable, *who, version=version)


def on_response(me: C, answer: Message) -> C | None:
    """Handle committed offsets, or positions in logs.

    None means that the response is an error about the member itself.
    """
    error = _first_refusal(answer)
    if error in NOT_ALLOWED:
        return throw_out_of_poll(me, api_of(answer).request, error)
    match answer:
        case OffsetFetchResponse():
            return on_offsets(me, answer)
        case ListOffsetsResponse():
            return on_told(me, answer)
        case _:
            raise AssertionError(f"no consumer asked for {type(answer).__name__}")


def _first_refusal(answer: Message) -> Errors:
    """Return the error of a response; of ListOffsets the one partition that may not be described decides.

    Source: OffsetFetcherUtils.handleListOffsetResponse.
    """
    if isinstance(answer, OffsetFetchResponse):
        return _error_of_offsets(answer)
    if not isinstance(answer, ListOffsetsResponse):
        return error_of_response(answer)
    found = (result.error for result in answer.responses)
    return next((error for error in found if error in NOT_ALLOWED), Errors.NONE)


def _error_of_offsets(answer: OffsetFetchResponse) -> Errors:
    """Return the error that decides over an OffsetFetch: of its group, else of one of its partitions.

    Source: ConsumerCoordinator.OffsetFetchResponseHandler, CommitRequestManager.OffsetFetchRequestState.onSuccess.
    """
    (group,) = answer.groups
    found = tuple(each.error for each in group.offsets if each.error)
    first = found[0] if found else Errors.NONE
    return group.error or next((error for error in DECIDING if error in found), first)


def unknown_partition(me: RegularConsumer, answer: OffsetFetchResponse) -> str:
    """Return the first partition of an OffsetFetch that does not exist, if its offset is waited for, or "".

    A consumer of the classic protocol throws then, whatever the other partitions have; the other consumers ask again.
    Source: ConsumerCoordinator.OffsetFetchResponseHandler; CommitRequestManager.handleRetriablePartitionErrors.
    """
    (group,) = answer.groups
    waits = not group.error and not set(me.owned) <= set(me.subscription.positions)
    missing = (o.partition for o in group.offsets if o.error is Errors.UNKNOWN_TOPIC_OR_PARTITION)
    return next(missing, "") if waits else ""


def throw_out_of_poll(me: C, request: type[Message], error: Errors) -> C:
    """Throw the error of a request out of poll()."""
    return me.but(polling=False, done=True, error=request_error(request, error))


def on_offsets(me: C, answer: OffsetFetchResponse) -> C | None:
    """Read on from the committed offsets. Back off before a retry while one of them is not stable.

    Then poll() returns what it has fetched from other partitions, if it waited for the offsets before that.
    With an error no offset of the response is used, and all are fetched again; it is ignored if no partition waits for
    an offset any more. None means that the response is an error about the member itself.
    Source: ConsumerCoordinator.PendingCommittedOffsetRequest, ConsumerUtils.refreshCommittedOffsets,
    SubscriptionState.resetInitializingPositions.
    """
    error = _error_of_offsets(answer)
    if error is not Errors.NONE and set(me.owned) <= set(me.subscription.positions):
        return me
    if error in PENDING:
        return me.but(backing_off=me.offsets.backs_off)
    if error is not Errors.NONE:
        return me if error in RETRIABLE else None
    mine, lost = me.subscription, list[str]()
    for found in answer.groups[0].offsets:
        if found.partition not in mine.owned:
            continue
        if found.offset < 0 and mine.auto_offset_reset:
            lost.append(found.partition)
        else:
            mine = mine.at(found.partition, max(found.offset, 0))
    read = me.but(subscription=mine)
    return collect(_reset(read, tuple(lost), NoOffset(", ".join(lost))) if lost else read)


def on_told(me: C, answer: ListOffsetsResponse) -> C:
    """Read on where the log starts or ends; a member without an offset asks again.

    If every record is too old (by_duration), there is no position. The partition is asked again after
    request.timeout.ms, for a later time, and records that are too old by then are skipped.
    Source: OffsetsRequestManager.sendListOffsetsRequestsAndResetPositions,
    OffsetFetcherUtils.handleListOffsetResponse.
    """
    mine = me.subscription
    for found in answer.responses:
        if found.error is not Errors.NONE or mine.positions.get(found.partition) != ASKED:
            continue
        if found.offset < 0:
            mine = mine.but(unfound=(*mine.unfound, found.partition))
        else:
            mine = mine.at(found.partition, found.offset)
    return me if mine is me.subscription else me.but(subscription=mine)


def _reset(me: C, partitions: tuple[str, ...], error: ClientError) -> C:
    """Ask the logs for other positions, or throw. Source: SubscriptionState, FetchCollector."""
    mine = me.subscription
    if mine.auto_offset_reset == NONE:
        return me.but(polling=False, done=True, error=error)
    for partition in partitions:
        mine = mine.at(partition, ASKED)
    others = tuple(p for p in mine.unfound if p not in partitions)
    return me.but(subscription=mine.but(unfound=others))


def error_of_commit(answer: OffsetCommitResponse) -> Errors:
    """Return the error that commitSync() acts on: the first one, but a topic that may not be read comes last.

    Source: CommitRequestManager.OffsetCommitRequestState.onResponse, ConsumerCoordinator.OffsetCommitResponseHandler.
    """
    found = [each.error for each in answer.results if each.error]
    others = (error for error in found if error is not Errors.TOPIC_AUTHORIZATION_FAILED)
    return next(others, found[0] if found else Errors.NONE)


def on_committed(me: C, answer: OffsetCommitResponse) -> C:
    """End commitSync(), retry, or throw CommitFailedException, because other members own the partitions."""
    wrong = error_of_commit(answer)
    if wrong in RETRIABLE:
        return me
    failed = wrong is not Errors.NONE
    error = request_error(OffsetCommit, wrong) if failed else ""
    return me.but(offsets=me.offsets.but(committing=()), done=True, error=error)


def on_fetched(me: C, asked: Message | None, answer: FetchResponse) -> C:
    """Keep what a broker returned, and let poll() return from it if the application waits there.

    A partition without records is not fetched again in this poll() until fetch.max.wait.ms is over.
    Source: AbstractFetch.handleFetchSuccess.
    """
    assert isinstance(asked, Fetch), asked
    sent = {each.partition: each.fetch_offset for each in asked.partitions}
    completed = tuple(CompletedFetch(sent[part.partition], part) for part in answer.responses)
    kept = me.fetcher.but(completed=(*me.fetcher.completed, *completed))
    known = me.but(fetcher=kept.for_partitions(me.subscription))
    idle = (
        each.data.partition
        for each in known.fetcher.completed
        if not each.data.records and each.data.error is Errors.NONE
    )
    resting = (*me.fetcher.resting, *idle)
    return collect(known.but(fetcher=known.fetcher.but(resting=resting)))


def collect(me: C) -> C:
    """Return what was fetched from poll(), up to max.poll.records; the rest is for the next poll(), without a Fetch.

    An error is thrown only if there are no records before it; otherwise it is kept for the next poll(), too. Errors
    that are not thrown do not end the poll(). After max.poll.records the position is behind the last of them, also
    where markers follow it.
    Source: FetchCollector.collectFetch, CompletedFetch.fetchRecords.
    """
    while me.polling and me.fetcher.completed:
        first, *others = me.fetcher.completed
        room = me.fetcher.max_records - len(me.records)
        if not room or (me.records and _throws(me, first)):
            break
        me = me.but(fetcher=me.fetcher.but(completed=tuple(others)))
        me = _return_from(me, first, room)
    return me.but(polling=False, done=True) if me.records and me.polling else me


def _throws(me: RegularConsumer, fetched: CompletedFetch) -> bool:
    """Return whether poll() throws the error of a partition. Source: FetchCollector.handleInitializeErrors."""
    error, resets = fetched.data.error, me.subscription.auto_offset_reset != NONE
    throws = error in NOT_ALLOWED or (error is Errors.OFFSET_OUT_OF_RANGE and not resets)
    return throws and fetched.continues(me.subscription)


def _return_from(me: C, fetched: CompletedFetch, room: int) -> C:
    """Return records of one partition from poll(), or act on its error. What is left comes first in the next poll()."""
    mine, part = me.subscription, fetched.data
    if not fetched.continues(mine):
        return me
    if part.error is not Errors.NONE:
        return _on_fetch_error(me, part, fetched.next_fetch_offset)
    taken, left = part.records[:room], part.records[room:]
    position = taken[-1].offset + 1 if len(taken) == room else part.next_offset
    me = me.but(subscription=mine.at(part.partition, position))
    if position < part.next_offset:
        rest = CompletedFetch(position, part.but(records=left))
        me = me.but(fetcher=me.fetcher.but(completed=(rest, *me.fetcher.completed)))
    return me.but(partition=part.partition, records=(*me.records, *taken)) if taken else me


def _on_fetch_error(me: C, part: PartitionData, position: int) -> C:
    """Throw the error of a partition, reset its position, or fetch it again. Source: FetchCollector.initialize."""
    if part.error in NOT_ALLOWED:
        return throw_out_of_poll(me, Fetch, part.error)
    if part.error is Errors.OFFSET_OUT_OF_RANGE:
        return _reset(me, (part.partition,), OffsetOutOfRange(part.partition, position))
    return me


def timers(me: RegularConsumer) -> tuple[TimerOfClient, ...]:
    """Return the timers that are set, besides the heartbeat."""
    mine, resting = me.subscription, me.fetcher.resting
    rests = bool(me.polling and resting) and set(mine.fetchable) <= {*resting, *mine.unfound}
    looks = any(mine.positions.get(partition) == ASKED for partition in mine.unfound)
    found = ((RetryBackOff(), me.backing_off), (FetchWait(), rests), (ResetWait(), looks))
    return tuple(timer for timer, is_set in found if is_set)


def on_timer(me: C, timer: TimerOfClient) -> C:
    """Fire one of these timers: retry, or fetch new records."""
    if isinstance(timer, RetryBackOff):
        return me.but(backing_off=False)
    if isinstance(timer, FetchWait):
        return me.but(fetcher=me.fetcher.but(resting=()))
    assert isinstance(timer, ResetWait), timer
    return me.but(subscription=me.subscription.but(unfound=()))
