"""The answers of partition leaders to readers: offsets, aborted transactions, and in a session only changes.

A fetch session remembers its partitions, so a request names those that changed, and an answer leaves out those
without changes: no records, and neither a new high watermark nor a new log start offset.
Source: FetchSession.CachedPartition.maybeUpdateResponseData; LocalLog.addAbortedTransactions. A reader may be fenced
if no reader with the same or an older leader epoch gets an answer later: a leader's epoch is in no log until it
writes.
NOT MODELLED: sizes. The end of a read decides which aborted transactions it returns; a log that is shorter than
index.interval.bytes has no index, and then it is all of them from the offset on. For a longer log, any number of the
transactions that begin first is accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.recordings.decoded.elections import KnownDecisions
from kipviz.recordings.recorded import Exchange, Plain
from kipviz.recordings.replayed_roles.answer_text import Said, error_name, topic_name

NOTHING_NEW: Said = (("error", "NONE"), ("told", "nothing new"))
UNKNOWN = -1
# The value of a consumer in the field in which a follower replica has its broker's number.
NO_REPLICA = -1
# The version of Fetch from which on a reader may ask a follower.
FROM_FOLLOWERS = 11
# A reader knows a newer leader than the broker does; the model's readers never do.
UNKNOWN_LEADER_EPOCH = 75
# The number of fields about a log besides the records.
MARKS = 4
UNKNOWN_SESSION = "its session began before the first request that is known"
# A broker keeps a limited number of sessions, and none over a restart (FETCH_SESSION_ID_NOT_FOUND).
FORGOTTEN: Said = (("error", error_name(70)),)
OF_REPLICA = "NOT MODELLED: a fetch of a follower replica; replication is no request in the model"
CLOSES = "it closes its session and asks for nothing"
# An answer to a read_uncommitted reader has no list.
NO_LIST = None


class Reading(Value, frozen=True):
    """A reader's position in a partition; the offsets are those that its session received last.

    `leader_epoch` is the epoch of the leader that it knows; `may_be_fenced` says that no reader with this or an older
    epoch got a later answer.
    """

    offset: int
    committed: bool
    high_watermark: int = UNKNOWN
    log_start: int = UNKNOWN
    leader_epoch: int = UNKNOWN
    may_be_fenced: bool = False


class FetchedPartition(Value, frozen=True):
    """One partition of a fetch: its reader's position, None if unknown, and the answer."""

    partition: str
    reading: Reading | None
    recorded: Said


class Fetching:
    """The fetch sessions of a broker's readers, before each of its answers."""

    def __init__(self, exchanges: tuple[Exchange, ...], names: Mapping[str, str]) -> None:
        self._names = names
        self._before: dict[int, tuple[bool, dict[str, Reading]]] = {}
        sessions: dict[int, dict[str, Reading]] = {}
        for number, exchange in enumerate(exchanges):
            if exchange.api == "FETCH" and not of_replica(exchange):
                self._before[number] = _read_request(exchange, names, sessions)
                told = _note_answer(self._before[number][1], exchange.response, names)
                sessions[exchange.response.get("sessionId", 0)] = told
        self._find_fenced(exchanges)

    def _find_fenced(self, exchanges: tuple[Exchange, ...]) -> None:
        """Go backwards from the last answer: a reader that gets one knows an active leader."""
        served: dict[str, int] = {}
        for number, (within, partitions) in reversed(self._before.items()):
            for place, reading in partitions.items():
                fenced = served.get(place, reading.leader_epoch + 1) > reading.leader_epoch
                partitions[place] = reading.but(may_be_fenced=fenced)
            self._before[number] = (within, partitions)
            for place, part in _list_partitions(exchanges[number].response, self._names).items():
                known = partitions.get(place)
                if part["errorCode"] == 0 and known is not None:
                    epoch = known.leader_epoch
                    served[place] = min(served.get(place, epoch), epoch)

    def why_not(self, number: int) -> str:
        """Return why a fetch is not compared, or ""."""
        if number not in self._before:
            return OF_REPLICA
        within, partitions = self._before[number]
        if within and not partitions:
            return UNKNOWN_SESSION
        return CLOSES if not partitions else ""

    def reads(self, number: int, exchange: Exchange) -> Iterator[FetchedPartition]:
        """Yield every partition of a fetch, whether the answer has it or leaves it out.

        Raises:
            KeyError, TypeError, ValueError: if it lacks a field of its version.
        """
        if number not in self._before:
            return
        within, partitions = self._before[number]
        error = exchange.response.get("errorCode", 0)
        told = _list_partitions(exchange.response, self._names)
        parts = sum(len(topic["partitions"]) for topic in exchange.response["responses"])
        for partition, part in told.items():
            if error or parts > len(told):
                # No answer has both an error of its own and partitions, or a partition twice.
                odd = error_name(error) if error else "a partition twice"
                yield FetchedPartition(
                    partition, partitions.get(partition), (("error", f"{odd} and records"),)
                )
            elif within and not partitions:
                marks = _marks(part, committed=_reads_committed(exchange))
                yield FetchedPartition(partition, None, marks[:MARKS])
            elif partition not in partitions:
                yield FetchedPartition(
                    partition, None, (("error", f"an answer about {partition}"),)
                )
            else:
                marks = _marks(part, committed=partitions[partition].committed)
                yield FetchedPartition(partition, partitions[partition], marks)
        silent: Said = NOTHING_NEW if within else (("error", "no answer"),)
        if error:
            silent = (("error", error_name(error)),)
        yield from (FetchedPartition(p, r, silent) for p, r in partitions.items() if p not in told)


def of_replica(exchange: Exchange) -> bool:
    """Return whether a follower replica sent a fetch: it names its broker, a consumer names -1.

    Source: FetchRequest.replicaId; since version 15 the number is in ReplicaState (KIP-903).
    """
    state = exchange.request.get("replicaState")
    told = state.get("replicaId", NO_REPLICA) if isinstance(state, Table) else NO_REPLICA
    number = exchange.request.get("replicaId", told)
    return isinstance(number, int) and number >= 0


def check_decodable(exchange: Exchange, names: Mapping[str, str]) -> None:
    """Check that one fetch and its answer can be decoded, whatever its session is.

    Raises:
        KeyError, TypeError, ValueError: if it lacks a field of its version.
    """
    # As if its session were known: then the topics are decoded, too.
    _read_request(exchange, names, {exchange.request.get("sessionId", 0): {}})
    for part in _list_partitions(exchange.response, names).values():
        _marks(part, committed=_reads_committed(exchange))


def refusal_of(
    read: FetchedPartition, known: KnownDecisions, broker: int, version: int
) -> Said | None:
    """Return a broker's error for a reader that knows another leader; None if the broker serves it.

    The epoch is checked first. From version 11 on followers serve readers, too (KIP-392), which the readers of the
    model never ask. Source: Partition.localLogWithEpochOrThrow, FetchParams.fetchOnlyLeader.
    """
    now = known.epoch_of(read.partition)
    epoch = UNKNOWN if read.reading is None else read.reading.leader_epoch
    if epoch not in {UNKNOWN, now}:
        error = Errors.FENCED_LEADER_EPOCH.name if epoch < now else error_name(UNKNOWN_LEADER_EPOCH)
    elif broker not in known.readable_at(read.partition, followers=version >= FROM_FOLLOWERS):
        error = Errors.NOT_LEADER_OR_FOLLOWER.name
    else:
        return None
    whole = _make_saying(error, -1, -1, -1)
    return whole[:MARKS] if read.reading is None else whole


def answers(log: PartitionLog, read: FetchedPartition, *, indexed: bool) -> Iterator[Said]:
    """Yield a leader's possible answers to a reader of its log in its present state."""
    reading = read.reading
    if reading is None:
        whole = _make_saying("NONE", log.high_watermark, log.last_stable_offset, log.start_offset)
        yield whole[:MARKS]
        return
    yield FORGOTTEN
    if reading.may_be_fenced:
        yield _make_saying("FENCED_LEADER_EPOCH", -1, -1, -1)
    if not log.start_offset <= reading.offset <= log.end_offset:
        yield _make_saying("OFFSET_OUT_OF_RANGE", -1, -1, -1)
        return
    bound = log.readable_up_to(committed=reading.committed)
    found = reading.offset < bound
    marks = (log.high_watermark, log.last_stable_offset, log.start_offset)
    if not found and (reading.high_watermark, reading.log_start) == (marks[0], marks[2]):
        yield NOTHING_NEW
    for aborted in _aborted_lists(log, reading, indexed=indexed) if found else ((),):
        listed = aborted if reading.committed else NO_LIST
        yield _make_saying("NONE", *marks, records=found, aborted=listed)


def _aborted_lists(
    log: PartitionLog, reading: Reading, *, indexed: bool
) -> Iterator[tuple[tuple[int, int], ...]]:
    ends = [log.end_offset]
    if indexed:
        ends += [a.first_offset for a in log.aborted if a.first_offset > reading.offset]
    for end in dict.fromkeys(ends):
        yield tuple(
            (a.producer_id, a.first_offset)
            for a in log.aborted
            if a.last_offset >= reading.offset and a.first_offset < end
        )


def _read_request(
    exchange: Exchange,
    names: Mapping[str, str],
    sessions: Mapping[int, dict[str, Reading]],
) -> tuple[bool, dict[str, Reading]]:
    """Return whether a fetch continues a session, and its partitions, none for an unknown session."""
    said = exchange.request
    within = said.get("sessionEpoch", -1) > 0
    session = said.get("sessionId", 0)
    known = session in sessions
    partitions = dict(sessions.get(session, {})) if within else {}
    for topic in said.get("forgottenTopicsData", ()):
        for index in topic["partitions"]:
            partitions.pop(f"{topic_name(topic, names)}-{index}", None)
    if within and not known:
        return True, {}
    for topic in said["topics"]:
        for part in topic["partitions"]:
            place = _place(topic, part, names)
            before = partitions.get(place, Reading(0, committed=False))
            partitions[place] = before.but(
                offset=part["fetchOffset"],
                committed=_reads_committed(exchange),
                leader_epoch=part.get("currentLeaderEpoch", UNKNOWN),
            )
    return within, partitions


def _reads_committed(exchange: Exchange) -> bool:
    return bool(exchange.request.get("isolationLevel", 0) == 1)


def _note_answer(
    partitions: dict[str, Reading], answer: Plain, names: Mapping[str, str]
) -> dict[str, Reading]:
    """Return a session after an answer: it remembers the offsets that it has sent."""
    found = dict(partitions)
    for place, part in _list_partitions(answer, names).items():
        if place in found:
            marks = (part["highWatermark"], part.get("logStartOffset", UNKNOWN))
            found[place] = found[place].but(high_watermark=marks[0], log_start=marks[1])
    return found


def _list_partitions(answer: Plain, names: Mapping[str, str]) -> dict[str, Plain]:
    return {
        _place(topic, part, names): part
        for topic in answer["responses"]
        for part in topic["partitions"]
    }


def _marks(part: Plain, *, committed: bool) -> Said:
    code = part["errorCode"]
    listed = part["abortedTransactions"] if committed else NO_LIST
    aborted = None if listed is None else tuple((a["producerId"], a["firstOffset"]) for a in listed)
    return _make_saying(
        error_name(code),
        part["highWatermark"],
        part["lastStableOffset"],
        part["logStartOffset"],
        records=part["recordsSizeInBytes"] > 0,
        aborted=aborted if code == 0 else NO_LIST,
    )


def _make_saying(
    error: str,
    high_watermark: int,
    last_stable_offset: int,
    log_start: int,
    *,
    records: bool = False,
    aborted: object = NO_LIST,
) -> Said:
    return (
        ("error", error),
        ("high watermark", high_watermark),
        ("last stable offset", last_stable_offset),
        ("log start", log_start),
        ("records", records),
        ("aborted", aborted),
    )


# The answer to a reader about a topic that it may not read.
NOT_ALLOWED = _make_saying(Errors.TOPIC_AUTHORIZATION_FAILED.name, -1, -1, -1)


def _place(topic: Plain, part: Plain, names: Mapping[str, str]) -> str:
    index = next(part[at] for at in ("partitionIndex", "partition") if at in part)
    return f"{topic_name(topic, names)}-{index}"
