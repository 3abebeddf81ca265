"""The glossary, each term in one sentence: shown beside the term, and as a page.

A term is recognised as it is written here; the longest match wins. The sentences are for a reader who knows what a
topic is and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kipviz.settings.client_configs import TRANSACTIONAL_ID

GLOSSARY: dict[str, str] = {
    "transaction coordinator": "The broker that keeps the list of a transaction's partitions and decides whether it commits.",
    "group coordinator": "The broker that keeps the members and the committed offsets of a group.",
    "share coordinator": "The broker that keeps the durable state of share-partitions, in __share_group_state.",
    "share-partition leader": "The broker that leads a source partition and knows which member of a share group holds which record.",
    "share-partition": "A partition as one share group reads it: every record has its own state.",
    "acquisition lock": "How long a member of a share group may hold a record before others may have it (30 s by default).",
    "delivery count": "How often a record was delivered to members of a share group; at the limit (5) the record is archived.",
    "share session": "The session between one share group member and one broker. An epoch counts its requests.",
    "fetch session": "The session between a consumer and a broker. It saves naming all partitions in every request.",
    "high watermark": "Every in-sync replica has the log up to this offset. Consumers read no further.",
    "last stable offset": "A read_committed consumer reads up to this offset: the first record of the oldest open transaction.",
    "HW": "High watermark: every in-sync replica has the log up to this offset.",
    "LSO": "Last stable offset: a read_committed consumer reads up to this offset, the first record of the oldest open transaction.",
    "LEO": "Log end offset: where the next record will be written.",
    "SPSO": "Share-partition start offset: every record below it is done.",
    "SPEO": "Share-partition end offset: no record at or above it has been handed out yet.",
    "TX_PENDING": "The state of a record acknowledged in a transaction that is not decided yet (KIP-1289, draft).",
    "PREPARE_COMMIT": "The decision is logged. From here the transaction can only commit.",
    "PREPARE_ABORT": "The decision is logged. From here the transaction can only abort.",
    "COMPLETE_COMMIT": "Every participant has its commit marker. The transaction is complete.",
    "COMPLETE_ABORT": "Every participant has its abort marker. The transaction is complete.",
    TRANSACTIONAL_ID.name: "A producer's identity across restarts. A new process with the same id fences the old one.",
    "producer id": "A number that the coordinator assigns to a producer. Every batch carries it.",
    "producer epoch": "A counter of a producer's renewals. Brokers reject batches with an older epoch.",
    "member epoch": "A counter that is bumped whenever a member's assignment changes (KIP-848).",
    "leader epoch": "A counter that is bumped whenever a partition gets a new leader.",
    "read_committed": "A consumer that reads only records of committed transactions.",
    "hanging transaction": "An open transaction in a log that no coordinator knows, so it never ends.",
    "pending offset": "An offset staged in an undecided transaction. No consumer starts from it yet.",
    "participant": "A partition written in a transaction. It needs a marker when the transaction ends.",
    "participants": "The partitions written in a transaction. Each needs a marker when the transaction ends.",
    "marker": "A control batch that ends a transaction in one partition: commit or abort.",
    "markers": "Control batches that end a transaction in each of its partitions: commit or abort.",
    "fenced": "Rejected because a newer epoch exists: another process has taken over.",
    "fences": "Issues a newer epoch, so that requests with the older one are rejected.",
    "zombie": "A process that keeps working although another process has replaced it.",
    "idempotent": "The partition leader remembers the last five batches of each producer and appends none of them twice.",
    "rebalance": "A group redistributes its partitions.",
    "generation": "A counter of a classic group. It is bumped when all members have rejoined.",
    "transactional acknowledgement": "An acknowledgement that takes effect only if its transaction commits (KIP-1289, draft).",
    "staged": "Recorded by a broker in a transaction, without effect until the transaction is decided.",
    "in-sync": "A replica that has everything up to the high watermark. One of them becomes the next leader.",
}

_WORD = re.compile(
    r"(?<![\w.])(?:"
    + "|".join(map(re.escape, sorted(GLOSSARY, key=len, reverse=True)))
    + r")(?![\w])"
)


def terms_in(texts: Iterable[str]) -> dict[str, str]:
    """Return the terms that occur in some texts, each with its sentence, in the order of the glossary."""
    found = {match for text in texts for match in _WORD.findall(text)}
    return {term: sentence for term, sentence in GLOSSARY.items() if term in found}
