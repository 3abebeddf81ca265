"""Differences between a broker's answer and the model's that cannot be judged, with the reason.

The evidence may be missing (a rejected batch is in no log), or the model may not have it (records have no sizes). Such
a difference is no argument against the broker, and it is reported apart from the rejected answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import AcknowledgeType
from kipviz.recordings.followed_members.joining import JOINING
from kipviz.recordings.followed_members.share_answer_text import STATES
from kipviz.recordings.followed_members.share_requests import MEMBERS
from kipviz.recordings.judging.causes import Subject, subjects_of
from kipviz.recordings.recorded import Exchange, Plain
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer, Names, by_id
from kipviz.recordings.request_context.appends import PRODUCE, answers_of
from kipviz.records.placement import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    topic_of,
)
from kipviz.records.share_group_state import RecordState
from kipviz.settings.consumer_configs import SHARE_ACQUIRE_MODE
from kipviz.settings.topic_configs import SHARE_AUTO_OFFSET_RESET

# Properties of a batch that a leader checks and the model does not have, by the error.
OF_BATCHES = {
    "CORRUPT_MESSAGE": "checksums of batches",
    "MESSAGE_TOO_LARGE": "sizes of records",
    "RECORD_LIST_TOO_LARGE": "sizes of records",
    "INVALID_TIMESTAMP": "limits of time stamps",
    "UNSUPPORTED_COMPRESSION_TYPE": "compression",
    "INVALID_RECORD": "keys and headers of records",
    "POLICY_VIOLATION": "policies of an operator",
}
# Errors that follow from a batch's producer id, epoch and sequence.
OF_IDENTITY = frozenset(
    error.name
    for error in (
        Errors.OUT_OF_ORDER_SEQUENCE_NUMBER,
        Errors.DUPLICATE_SEQUENCE_NUMBER,
        Errors.INVALID_PRODUCER_EPOCH,
        Errors.INVALID_PRODUCER_ID_MAPPING,
        Errors.INVALID_TXN_STATE,
        Errors.TRANSACTION_ABORTABLE,
        Errors.UNKNOWN_PRODUCER_ID,
        Errors.PRODUCER_FENCED,
        Errors.CONCURRENT_TRANSACTIONS,
    )
)
OF_SEQUENCE = frozenset(
    error.name for error in (Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, Errors.DUPLICATE_SEQUENCE_NUMBER)
)
# Errors for a producer id that was never assigned; those that a transactional id was assigned are compared.
OF_STRANGERS = frozenset((Errors.INVALID_PRODUCER_ID_MAPPING.name,))
NO_BATCH = "no evidence: a refused batch is in no log, and its producer id, epoch and sequence stand nowhere"
# Errors with which a leader rejects a batch after it has asked the coordinator about its transaction.
OF_CHECKS = (
    Errors.TRANSACTION_ABORTABLE,
    Errors.INVALID_TXN_STATE,
    Errors.CONCURRENT_TRANSACTIONS,
    # A leader compares the epoch with its log's before it asks, and the coordinator with its own: both return the same
    # error.
    Errors.INVALID_PRODUCER_EPOCH,
    Errors.INVALID_PRODUCER_ID_MAPPING,
    Errors.NOT_ENOUGH_REPLICAS,
)
REMEMBERED = (
    "no evidence: a leader remembers the sequence of a batch whose transaction was checked in vain "
    "(VerificationStateEntry), and no log has it"
)
UPGRADE = (
    "NOT MODELLED: a group that changes between the classic and the consumer protocol (KIP-848, "
    "online upgrade)"
)
AGE_OF_RECORDS = f"NOT MODELLED: {SHARE_AUTO_OFFSET_RESET.name}=by_duration of a group; the rebuilt logs have no time for each record"
BATCH_OPTIMIZED = 0
IN_FLIGHT_BATCH = (
    f"NOT MODELLED: in-flight batches; what is delivered again in {SHARE_ACQUIRE_MODE.name} batch_optimized brings the "
    "rest of its batch along"
)
WHILE_RELEASING = "NOT MODELLED: a ShareFetch that releases records acquires others while the release is being written"
FOLLOWS = "it may follow from an earlier answer of its share session or share-partition that cannot be judged"
# With several brokers each asks others, and its followers take a moment to copy its batches.
UNREACHED = (
    "no evidence: with which broker, and whether at all, a leader or group coordinator spoke about a transaction while "
    "it may not have known of an election"
)
UNVERIFIED = (
    "NOT_ENOUGH_REPLICAS",
    "NOT_COORDINATOR",
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
)
COPYING = "NOT MODELLED: followers take a moment to copy a batch; in rebuilt logs what is written is replicated at once"
# A fetch that starts a share-partition waits for its state, and for the end offset of its source.
BEGINS_MS = 1_000
INITIALIZING = "NOT MODELLED: share fetches that wait together for one share-partition of which the state cannot be read"
LEARNING = (
    "NOT MODELLED: brokers learn of a decision of the controller one by one; the leaders of share-partitions are followed "
    "as if at once"
)
FENCED = (
    "NOT MODELLED: a leader that has lost its share-partition still lets its acquisition locks expire, and writes that as "
    "long as the share coordinator has heard of no newer leader"
)
# The states of a record after its acquisition lock has expired.
AFTER_LOCK = (RecordState.AVAILABLE, RecordState.ARCHIVING, RecordState.ARCHIVED)
NO_LEADER = Errors.NOT_LEADER_OR_FOLLOWER.name
# Errors of a heartbeat because of a field that is not read here.
OF_FORM = ("INVALID_REQUEST", "UNSUPPORTED_ASSIGNOR")
UNREAD = "NOT MODELLED: the fields RebalanceTimeoutMs and ServerAssignor, and texts that are empty"
CONSUMER = "CONSUMER_GROUP_HEARTBEAT"
# The internal topic that an answer follows from, by the kind of its subject.
LOGS = {
    "producer": TRANSACTION_STATE,
    "group": CONSUMER_OFFSETS,
    "share session": SHARE_GROUP_STATE,
    "share-partition": SHARE_GROUP_STATE,
}
STAGES = "TXN_OFFSET_COMMIT"


def doubts_about(
    asked: Iterable[ComparedAnswer],
    exchanges: tuple[Exchange, ...],
    noted: frozenset[int],
    by_duration: frozenset[str],
    names: Names,
    elected: Mapping[tuple[str, int], int],
    damaged: Iterable[str],
) -> tuple[ComparedAnswer, ...]:
    """Return the answers; one that differs gets the reason why that cannot be judged, if there is one.

    `noted` are the requests whose batches were noted when they were sent; `by_duration` are the share groups whose
    start offset depends on the age of records, and `elected` has the start of each leader epoch of a partition, if
    known. `damaged` are the partitions that lack batches, because these could not be read.
    """
    changing = groups_that_change(exchanges)
    read = _states_read(exchanges)
    in_vain = _checked_in_vain(exchanges, noted, names)
    found = []
    uncertain: dict[Subject, int] = {}
    for each in asked:
        exchange = exchanges[each.number]
        if each.accepted:
            found.append(each)
            continue
        why = _why_of_group(exchange, changing, by_duration)
        if exchange.api in (*MEMBERS, *STATES):
            about = subjects_of(each, exchange, names)
            why = why or _why_of_session(each, exchange) or _why_of_start(exchange, exchanges, read)
            why = why or _why_of_lock(exchange, names, elected) or _follows(about, uncertain)
            uncertain |= {subject: each.number for subject in about if why not in ("", UPGRADE)}
        if exchange.api == CONSUMER and dict(each.recorded).get("error") in OF_FORM:
            why = why or UNREAD
        if exchange.api == PRODUCE:
            why = _why_of_batch(each, exchange, noted=each.number in noted)
            name = exchange.request["transactionalId"]
            if in_vain.get(name, each.number) < each.number:
                why = why or _why_of_memory(each)
        if exchange.broker:
            why = why or _why_of_several(each, exchange, exchanges)
        why = why or _why_of_damage(each, exchange, names, damaged)
        found.append(each.but(doubt=why))
    return tuple(found)


def _why_of_damage(
    asked: ComparedAnswer, exchange: Exchange, names: Names, damaged: Iterable[str]
) -> str:
    """Return which damaged partition an answer may follow from, "" if none."""
    about = subjects_of(asked, exchange, names)
    logs = {LOGS[kind] for kind, _ in about if kind in LOGS}
    logs |= {name.rpartition(" ")[2] for kind, name in about if kind.endswith("partition")}
    if exchange.request.get("transactionalId"):
        logs.add(TRANSACTION_STATE)
    lacking = (each for each in damaged if logs & {each, topic_of(each)})
    return next((f"no evidence: batches of {each} could not be read" for each in lacking), "")


def _why_of_several(
    asked: ComparedAnswer, exchange: Exchange, exchanges: tuple[Exchange, ...]
) -> str:
    """Return why an answer of a cluster with several brokers cannot be judged, or ""."""
    said = " ".join(str(value) for _, value in asked.recorded)
    words = said.replace(",", " ").split()
    if exchange.api in (PRODUCE, STAGES) and exchange.request["transactionalId"]:
        return UNREACHED if any(error in words for error in UNVERIFIED) else ""
    if exchange.api in ("SHARE_FETCH", "SHARE_ACKNOWLEDGE"):
        sayings = (*asked.possible, asked.recorded)
        return LEARNING if any(dict(each).get("error") == NO_LEADER for each in sayings) else ""
    if exchange.api == "SYNC_GROUP" and "REBALANCE_IN_PROGRESS" in words:
        group = exchange.request["groupId"]
        meanwhile = (
            x.api == "JOIN_GROUP" and x.broker == exchange.broker and x.request["groupId"] == group
            for x in exchanges
            if not x.problem and x.received_ms <= exchange.answered_ms <= x.answered_ms + BEGINS_MS
        )
        return COPYING if any(meanwhile) else ""
    return ""


def _why_of_lock(exchange: Exchange, names: Names, elected: Mapping[tuple[str, int], int]) -> str:
    """Return why a leader may have written state without a request: it leads no more, and a lock expired there.

    A lock's timer is not stopped when the leader is fenced. Source: SharePartition.releaseAcquisitionLockOnTimeout.
    """
    if exchange.api != "WRITE_SHARE_GROUP_STATE":
        return ""
    for topic in exchange.request["topics"]:
        for part in topic["partitions"]:
            place = f"{by_id(topic['topicId'], names)}-{part['partition']}"
            newer = any(
                name == place and epoch > part["leaderEpoch"] and at <= exchange.answered_ms
                for (name, epoch), at in elected.items()
            )
            states = {batch["deliveryState"] for batch in part["stateBatches"]}
            if newer and states and states <= {state.value for state in AFTER_LOCK}:
                return FENCED
    return ""


def _states_read(exchanges: Iterable[Exchange]) -> dict[str, list[tuple[int, int, bool, bool]]]:
    """Return when brokers have read the state of share-partitions, by group.

    Each row is the time of the answer (ms), the broker's number from its client id, whether the read was rejected, and
    whether the state has no start offset yet.
    """
    found: dict[str, list[tuple[int, int, bool, bool]]] = {}
    for exchange in exchanges:
        if exchange.api != "READ_SHARE_GROUP_STATE" or exchange.problem:
            continue
        parts = [p for t in exchange.response["results"] for p in t["partitions"]]
        node = exchange.client.rpartition("-")[2]
        found.setdefault(exchange.request["groupId"], []).append(
            (
                exchange.answered_ms,
                int(node) if node.isdecimal() else 0,
                any(part["errorCode"] for part in parts),
                any(part["startOffset"] < 0 for part in parts if not part["errorCode"]),
            )
        )
    return found


def _why_of_start(
    exchange: Exchange,
    exchanges: tuple[Exchange, ...],
    read: Mapping[str, list[tuple[int, int, bool, bool]]],
) -> str:
    """Return why a fetch that starts a share-partition may have another answer, or ""."""
    if exchange.api != "SHARE_FETCH":
        return ""
    group = exchange.request["groupId"]
    during = [
        each
        for each in read.get(group, ())
        if exchange.received_ms - BEGINS_MS <= each[0] <= exchange.answered_ms
        and exchange.broker in (0, each[1])
    ]
    together = any(
        x is not exchange
        and x.api == "SHARE_FETCH"
        and x.broker == exchange.broker
        and x.request["groupId"] == group
        and x.received_ms <= exchange.answered_ms
        and exchange.received_ms <= x.answered_ms
        for x in exchanges
        if not x.problem
    )
    if together and any(refused for _, _, refused, _ in during):
        return INITIALIZING
    begins = any(starts for _, _, _, starts in during)
    return COPYING if exchange.broker and begins else ""


def _why_of_group(
    exchange: Exchange, changing: Mapping[str, int], by_duration: frozenset[str]
) -> str:
    groups = groups_of(exchange)
    if exchange.api in (*MEMBERS, *STATES) and by_duration.intersection(groups):
        return AGE_OF_RECORDS
    since = min((changing[g] for g in groups if g in changing), default=None)
    return UPGRADE if since is not None and exchange.answered_ms >= since else ""


def _why_of_session(asked: ComparedAnswer, exchange: Exchange) -> str:
    """Return why a fetch of a share session may have returned other records than the model's, or ""."""
    acquired = dict(asked.recorded).get("acquired")
    if not acquired:
        return ""
    said = exchange.request
    redelivered = any(count > 1 for _, count in acquired)
    optimized = said.get("shareAcquireMode", 0) == BATCH_OPTIMIZED
    if redelivered and optimized and len(acquired) > said.get("maxRecords", 0):
        return IN_FLIGHT_BATCH
    kinds = {
        kind
        for topic in said["topics"]
        for part in topic["partitions"]
        for batch in part.get("acknowledgementBatches", ())
        for kind in batch["acknowledgeTypes"]
    }
    return WHILE_RELEASING if AcknowledgeType.RELEASE in kinds else ""


def _follows(about: frozenset[Subject], uncertain: Mapping[Subject, int]) -> str:
    """Return the sentence about an earlier request that could not be judged and may explain a difference, or ""."""
    first = min((uncertain[subject] for subject in about if subject in uncertain), default=None)
    return "" if first is None else FOLLOWS


def _why_of_batch(asked: ComparedAnswer, exchange: Exchange, *, noted: bool) -> str:
    error = dict(asked.recorded).get("error")
    if error in OF_BATCHES:
        return f"NOT MODELLED: {OF_BATCHES[error]}, which decide {error}"
    unnamed = not exchange.request["transactionalId"]
    if not noted and error in (OF_IDENTITY if unnamed else OF_SEQUENCE | OF_STRANGERS):
        return NO_BATCH
    return ""


def _why_of_memory(asked: ComparedAnswer) -> str:
    error = dict(asked.recorded).get("error")
    return REMEMBERED if error == Errors.OUT_OF_ORDER_SEQUENCE_NUMBER.name else ""


def _checked_in_vain(
    exchanges: Iterable[Exchange], noted: frozenset[int], names: Names
) -> dict[str, int]:
    """Return the transactional ids that had a batch rejected because of its transaction, with the first such request.

    The effects of a noted batch are known (`verification_memory`).
    """
    found: dict[str, int] = {}
    for number, exchange in enumerate(exchanges):
        name = exchange.request["transactionalId"] if exchange.api == PRODUCE else None
        if name and number not in noted:
            errors = [told["errorCode"] for _, told in answers_of(exchange, names)]
            if any(error in OF_CHECKS for error in errors):
                found.setdefault(name, number)
    return found


def groups_of(exchange: Exchange) -> tuple[str, ...]:
    """Return the consumer groups that a request names."""
    said = exchange.request
    several = said.get("groups")
    parts = several if isinstance(several, tuple) else ()
    named = [each.get("groupId") for each in (said, *parts) if isinstance(each, Table)]
    return tuple(name for name in named if isinstance(name, str))


def groups_that_change(exchanges: Iterable[Exchange]) -> dict[str, int]:
    """Return the groups in which both protocols were served, with the time (ms) of the later one's first answer."""
    first: dict[str, dict[bool, int]] = {}
    for exchange in exchanges:
        if exchange.api in (*JOINING, CONSUMER) and _has_no_error(exchange.response):
            for group in groups_of(exchange):
                times = first.setdefault(group, {})
                times.setdefault(exchange.api == CONSUMER, exchange.answered_ms)
    return {group: max(times.values()) for group, times in first.items() if len(times) > 1}


def _has_no_error(answer: Plain) -> bool:
    return bool(answer.get("errorCode") == 0)
