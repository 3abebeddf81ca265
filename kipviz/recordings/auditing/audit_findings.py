"""The kinds of findings of an audit: the meaning of each, and the command lines that fix it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from shlex import quote

from kipviz.core.values import Value

DUMP = "kafka-dump-log.sh --files"
DUMP_HINT = f"{DUMP} SEGMENT --print-data-log, with the segments"
SHARE_GROUPS = "kafka-share-groups.sh --bootstrap-server HOST:PORT"

# The certainty of a finding: the logs show it; they show it unless they were copied at different times; they hint at
# it.
SURE, LIKELY, POSSIBLE = "sure", "likely", "possible"
# Whether something is wrong, or is only worth knowing.
WRONG, NOTE = "wrong", "note"

KINDS: dict[str, tuple[str, str]] = {
    "hanging": (
        WRONG,
        "No coordinator will end this transaction. Readers with read_committed stop in front of it, and compaction too.",
    ),
    "overdue": (
        WRONG,
        "The transaction is open for longer than its timeout. Its coordinator should have aborted it.",
    ),
    "open": (NOTE, "The transaction is open and within its timeout."),
    "unfinished": (
        WRONG,
        (
            "The transaction is decided, but its markers are not written everywhere. Its producer gets "
            "CONCURRENT_TRANSACTIONS until they are."
        ),
    ),
    "missing-marker": (
        WRONG,
        "The coordinator has logged the transaction as complete, but a participant has no marker of it.",
    ),
    "wrong-marker": (
        WRONG,
        "Partitions of one transaction end in different ways, so it is not atomic.",
    ),
    "long-hold": (
        NOTE,
        (
            "The transaction held the last stable offset for longer than its timeout allows. Readers with read_committed "
            "waited for so long."
        ),
    ),
    "duplicate": (
        WRONG,
        "The producer's sequence was in this log before, so the broker appended a retry a second time.",
    ),
    "gap": (
        WRONG,
        "Sequences of the producer are missing, so records that it sent before are not in this log.",
    ),
    "epoch-back": (
        WRONG,
        "A batch has an older producer epoch than one before it: a fenced producer wrote.",
    ),
    "offsets-without-output": (
        NOTE,
        (
            "The transaction committed offsets of a group, and no user partition here has a record of it. The "
            "application may have filtered its input, or its output is lost."
        ),
    ),
    "output-without-offsets": (
        NOTE,
        (
            "Other transactions of this transactional id commit offsets with their output, and these have none. What they "
            "read may be read again."
        ),
    ),
    "share-pending": (
        WRONG,
        (
            "Records are acknowledged in a transaction that is not decided (TX_PENDING, KIP-1289, a draft). No consumer "
            "gets them until it is."
        ),
    ),
    "share-stuck": (
        NOTE,
        "A record that was delivered and given back holds the start offset, and records behind it are done.",
    ),
    "share-archived": (
        NOTE,
        "Records were rejected, or reached the delivery limit. The group never gets them again.",
    ),
    "damaged": (
        WRONG,
        (
            "These bytes are no whole batch. A reader that reaches them gets CORRUPT_MESSAGE, and what they held is not "
            "in this audit."
        ),
    ),
}


class LogFinding(Value, frozen=True):
    """One finding in the logs.

    `partition` and `offset` are its place. `since_ms` and `until_ms` are the times between which it lasted, -1 if
    unknown. `affected` says who is affected, `certainty` is SURE, LIKELY or POSSIBLE, `mends` are complete command
    lines that fix it.
    """

    kind: str
    partition: str
    offset: int
    what: str
    affected: str
    certainty: str
    mends: tuple[str, ...] = ()
    producer_id: int = -1
    producer_epoch: int = -1
    transactional_id: str = ""
    since_ms: int = -1
    until_ms: int = -1

    @property
    def weight(self) -> str:
        """Whether something is wrong, or is only worth knowing."""
        return KINDS[self.kind][0]

    @property
    def meaning(self) -> str:
        """The meaning of a finding of this kind."""
        return KINDS[self.kind][1]

    def window(self, folder: str) -> str:
        """Return the command line that opens a broker's logs in the stepper at this place."""
        return f"kipviz log {quote(folder)} --open --at {self.partition}:{self.offset}"


def order_of(finding: LogFinding) -> tuple[int, str, str, int, int, str]:
    """Return the sort key of a finding: wrong ones first, then by kind and place."""
    wrong = finding.weight == WRONG
    place = (finding.partition, finding.offset, finding.producer_id, finding.what)
    return (int(not wrong), finding.kind, *place)


def span_of(ms: int) -> str:
    """Return a length of time in words: 250 ms, 12 s, 3 min, 5 h."""
    for size, unit in ((3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if ms >= 2 * size:
            return f"{ms // size} {unit}"
    return f"{ms} ms"


def moment_of(ms: int) -> str:
    """Return a time in UTC."""
    try:
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    except OverflowError:
        return f"{ms} ms after 1970"
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
