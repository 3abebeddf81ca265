"""The words that a reader meets, each in one sentence: shown where the word stands, and as a page.

A term is looked for as it is written here; the longest one that fits is the one that is meant. The
sentences are for somebody who knows what a topic is and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

GLOSSARY: dict[str, str] = {
    "transaction coordinator": "The broker that keeps the list of a transaction's partitions and decides whether it commits.",
    "group coordinator": "The broker that keeps the members and the committed offsets of a group.",
    "share coordinator": "The broker that keeps the durable state of share-partitions, in __share_group_state.",
    "share-partition leader": "The broker that leads a source partition and knows which member of a share group holds which record.",
    "share-partition": "A partition as one share group reads it: every record has a state of its own.",
    "acquisition lock": "How long a member of a share group may hold a record before others may have it (30 s by default).",
    "delivery count": "How often a record was delivered to members of a share group; at the limit (5) it is given up.",
    "share session": "What one member of a share group has open with one broker; an epoch counts its requests.",
    "fetch session": "What a consumer has open with one broker, so that it need not name all partitions every time.",
    "high watermark": "Up to here every in-sync replica has the log; consumers read no further.",
    "last stable offset": "A read_committed consumer reads up to here: the first record of the oldest open transaction.",
    "HW": "High watermark: up to here every in-sync replica has the log.",
    "LSO": "Last stable offset: a read_committed consumer reads up to here, the first record of the oldest open transaction.",
    "LEO": "Log end offset: where the next record will be written.",
    "SPSO": "Share-partition start offset: every record below it is done.",
    "SPEO": "Share-partition end offset: no record at or above it has been handed out yet.",
    "TX_PENDING": "A record that was acknowledged inside a transaction which is not decided yet (KIP-1289, draft).",
    "PREPARE_COMMIT": "The decision, written down: from here the transaction can only commit.",
    "PREPARE_ABORT": "The decision, written down: from here the transaction can only abort.",
    "COMPLETE_COMMIT": "Every participant has its commit marker; the transaction is over.",
    "COMPLETE_ABORT": "Every participant has its abort marker; the transaction is over.",
    "transactional.id": "The name of a producer across restarts: a new process with the same name fences the old one.",
    "producer id": "A number that a coordinator gives to a producer; every batch carries it.",
    "producer epoch": "How often a producer's identity was renewed; brokers refuse batches with an older epoch.",
    "member epoch": "A number that goes up whenever the assignment of a group's member changes (KIP-848).",
    "leader epoch": "A number that goes up whenever a partition gets another leader.",
    "read_committed": "A consumer that sees records of committed transactions only.",
    "hanging transaction": "An open transaction in a log that no coordinator knows: nobody will end it.",
    "pending offset": "An offset that is staged in a transaction which is not decided: nobody reads from it yet.",
    "participant": "A partition that was written to in a transaction and has to learn how it ended.",
    "participants": "The partitions that were written to in a transaction and have to learn how it ended.",
    "marker": "A control batch that ends a transaction in one partition: commit or abort.",
    "markers": "Control batches that end a transaction in each of its partitions: commit or abort.",
    "fenced": "Refused because a newer epoch is known: somebody else has taken over.",
    "fences": "Gives out a newer epoch, so that whoever has the older one is refused.",
    "zombie": "A process that goes on as if it still had what somebody else has by now.",
    "idempotent": "A partition's leader remembers the last five batches of each producer and appends none of them twice.",
    "rebalance": "A group hands out its partitions anew.",
    "generation": "One number for a whole classic group; it goes up when all members have joined again.",
    "vote": "The durable promise to acknowledge a record if the transaction commits (our repair of KIP-1289).",
    "staged": "Told to a broker inside a transaction, and without effect until the transaction is decided.",
    "in-sync": "A replica that has everything up to the high watermark; one of them becomes the next leader.",
}

_WORD = re.compile(
    r"(?<![\w.])(?:"
    + "|".join(map(re.escape, sorted(GLOSSARY, key=len, reverse=True)))
    + r")(?![\w])"
)


def terms_in(texts: Iterable[str]) -> dict[str, str]:
    """Return the terms that stand in some texts, each with its sentence, in the order of the glossary."""
    found = {match for text in texts for match in _WORD.findall(text)}
    return {term: sentence for term, sentence in GLOSSARY.items() if term in found}
