"""How a consumer of a regular group reads, in either protocol and with assign(): offsets, records, commits.

WHERE IN KAFKA: CommitRequestManager and FetchRequestManager (KIP-848), ConsumerCoordinator and Fetcher
(classic).
Unless a spec states auto.offset.reset, a consumer without a position starts at the earliest record at once.
NOT MODELLED: that the wait for another reset counts from when the request was sent; here it is from its answer; the
  FetchBuffer: what poll() leaves over is fetched again, the first partition before the others; that
  fetch.max.wait.ms ends a broker's wait for records. One request at a time is in flight, so a Fetch that waits at its
  broker would hold up the heartbeats of a member: it is answered at once, and the consumer waits. With assign() there
  are no heartbeats, and the broker waits until it has records.
"""

from __future__ import annotations

from typing import TypeVar

from kipviz.clients.groups.consumer import RegularConsumer
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
    """Enter poll(): without records yet, and every partition may be fetched again."""
    return me.but(polling=True, done=False, records=(), fetcher=me.fetcher.anew, error="")


def next_read(me: RegularConsumer, who: tuple[str, int] = NOBODY) -> Message | None:
    """Return the next request of poll(): for committed offsets, for positions in logs, or for records.

    The committed offsets of all partitions are fetched together. The logs are asked only when every one is known, all
    those of one leader in one request. Source: ConsumerCoordinator.initWithCommittedOffsetsIfNeeded,
    OffsetsRequestManager.updateFetchPositions, buildListOffsetsRequestsToResetPositions.
    """
    mine, committed = me.subscription, not me.fetcher.read_uncommitted
    new = tuple(p for p in mine.owned if p not in mine.positions)
    if new:
        return _ask_for_offsets(me, new, who)
    lost = tuple(p for p in mine.owned if mine.positions[p] == ASKED and p not in mine.unfound)
    if lost:
        return where_to(lost, mine.auto_offset_reset, committed=committed)
    ended = (*me.fetcher.resting, *mine.unfound)
    wanted = tuple(FetchPartition(p, mine.positions[p]) for p in mine.owned if p not in ended)
    if not wanted:
        return None
    wait_ms = FETCH_MAX_WAIT_MS.default if mine.user_assigned else 0
    return Fetch(wanted, me.fetcher.max_records, committed, wait_ms)


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
    """Handle committed offsets, positions in logs, or records.

    None means that the response is an error about the member itself.
    """
    error = _first_refusal(answer)
    if error in NOT_ALLOWED and not isinstance(answer, FetchResponse):
        return throw_out_of_poll(me, api_of(answer).request, error)
    match answer:
        case OffsetFetchResponse():
            return on_offsets(me, answer)
        case ListOffsetsResponse():
            return on_told(me, answer)
        case FetchResponse():
            return on_records(me, answer)
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
    return _reset(read, tuple(lost), NoOffset(", ".join(lost))) if lost else read


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


def on_records(me: C, answer: FetchResponse) -> C:
    """Return the records of all partitions to poll(), up to max.poll.records.

    What is left over is fetched again by the next poll(). An error is thrown only if there are no records; otherwise
    the next poll() finds it again. Source: FetchCollector.collectFetch, which keeps both in its FetchBuffer.
    """
    for part in answer.responses:
        if me.polling:
            me = _on_part(me, part)
    return me.but(polling=False, done=True) if me.records and me.polling else me


def _on_part(me: C, part: PartitionData) -> C:
    """Add the records of a partition to those of poll(), or stop asking an empty partition for a while."""
    mine, partition = me.subscription, part.partition
    if part.error is not Errors.NONE and me.records:
        return me
    if part.error in NOT_ALLOWED:
        return throw_out_of_poll(me, Fetch, part.error)
    if partition not in mine.positions:
        return me
    if part.error is Errors.OFFSET_OUT_OF_RANGE:
        at = mine.positions[partition]
        return _reset(me, (partition,), OffsetOutOfRange(partition, at))
    if part.error is not Errors.NONE:
        return me
    if not part.records:
        resting = (*me.fetcher.resting, partition)
        read = me.but(subscription=mine.at(partition, part.next_offset))
        return read.but(fetcher=me.fetcher.but(resting=resting))
    taken = part.records[: me.fetcher.max_records - len(me.records)]
    if not taken:
        return me
    whole = len(taken) == len(part.records)
    position = part.next_offset if whole else taken[-1].offset + 1
    read = me.but(subscription=mine.at(partition, position))
    return read.but(partition=partition, records=(*me.records, *taken))


def timers(me: RegularConsumer) -> tuple[TimerOfClient, ...]:
    """Return the timers that are set, besides the heartbeat."""
    mine, resting = me.subscription, me.fetcher.resting
    idle = set(mine.owned) <= {*resting, *mine.unfound}
    rests = bool(me.polling and mine.owned and resting and idle)
    looks = any(mine.positions.get(partition) == ASKED for partition in mine.unfound)
    found = ((RetryBackOff(), me.backing_off), (FetchWait(), rests), (ResetWait(), looks))
    return tuple(timer for timer, is_set in found if is_set)


def on_timer(me: C, timer: TimerOfClient) -> C:
    """Fire one of these timers: retry, or fetch new records."""
    if isinstance(timer, RetryBackOff):
        return me.but(backing_off=False)
    if isinstance(timer, FetchWait):
        return me.but(fetcher=me.fetcher.anew)
    assert isinstance(timer, ResetWait), timer
    return me.but(subscription=me.subscription.but(unfound=()))
