"""The findings of our review of KIP-1310: what its text says against itself, other texts and Kafka.

What the text says is told in our words, with its section. KIP-1310 is a draft: what is the matter
with it is our reading, and the run is what decides. A name is never given to another finding.
"""

from __future__ import annotations

from kipviz.messages.errors import Errors
from kipviz.studies.findings import Finding
from kipviz.studies.moments import answered, returns, sends, throws

ITSELF = "KIP-1310 itself"
KAFKA = "Kafka 4.4.0"
KIP_939 = "KIP-939"
KIP_1289 = "KIP-1289"

ABOUT = (
    "The text is a draft (state: under discussion). Each design is the repaired one, on the repaired "
    "KIP-1289, with what is named as the text has it; kip-1310 has all of it."
)

FINDINGS: tuple[Finding, ...] = (
    Finding(
        "1310-A",
        "The session commits, and in-flight batches belong to the producer's TransactionManager.",
        "2.1 commitTransaction(); 3.2",
        "No method lets the session find its producers, so EndTxn overtakes a batch. Kafka's Sender "
        "holds EndTxn back while RecordAccumulator.hasIncomplete().",
        "kip-1310-unaware",
        "kip-1310-unsent-batch",
        promise="atomic",
        played=True,
        against=f"{ITSELF} (4.2 'atomic commit'); {KAFKA}",
    ),
    Finding(
        "1310-B",
        "A share consumer acknowledges within the session, and the session commits both atomically.",
        "2.4; 4.2, 3. and 4.",
        "The session does not know of an acknowledgement in flight. It commits, and the "
        "acknowledgement arrives with the epoch of a transaction that is over.",
        "kip-1310-unaware",
        "kip-1310-late-vote",
        promise="atomic",
        played=True,
        against=ITSELF,
    ),
    Finding(
        "1310-C",
        "The epoch is in the session and the sequence numbers are in the producer.",
        "3.2, responsibilities",
        "Every commit of transaction version 2 bumps the epoch, and a new epoch starts at sequence 0. "
        "TransactionManager.EndTxnHandler changes both at once.",
        "kip-1310-counting-on",
        "kip-1310-next-epoch",
        look=answered("ProduceResponse", Errors.OUT_OF_ORDER_SEQUENCE_NUMBER),
        against=KAFKA,
    ),
    Finding(
        "1310-D",
        "One producer id and one epoch, regardless of how many clients use the session.",
        "6.2; 2.3 refuses no second producer",
        "Each producer counts its own sequences, and the leader takes the batch of the second one for "
        "a repetition of the first one's: it responds NONE and appends nothing.",
        "kip-1310-many-senders",
        "kip-1310-silent-loss",
        promise="atomic",
        played=True,
        against=f"{ITSELF} (3.2); {KAFKA}, ProducerStateEntry",
    ),
    Finding(
        "1310-E",
        "A new session with the same transactional.id fences the older one.",
        "7.1 Epoch Fencing",
        "resume() makes a new session with the same transactional.id and sends nothing. The writer of "
        "the older one appends a record after the checkpoint, and the session commits it.",
        "kip-1310",
        "kip-1310-live-writer",
        look=returns("commitTransaction", "app-2"),
        against=f"{ITSELF} (2.1 and 7.1, resume())",
    ),
    Finding(
        "1310-F",
        "resume() starts in IN_TRANSACTION.",
        "7.1 Session Resume",
        "completeTransaction(PreparedTxnState) is for a prepared transaction. The process that has the "
        "state from its database cannot call it.",
        "repaired+resumed_complete=only_when_prepared",
        "kip-1310-complete",
        look=throws("completeTransaction", "InvalidTxnStateException"),
        against=f"{ITSELF} (2.1 completeTransaction()); {KAFKA}, KafkaProducer.completeTransaction",
    ),
    Finding(
        "1310-G",
        "The rights of a session are those of the table.",
        "6.1",
        "The table lacks AddOffsetsToTxn and TxnOffsetCommit, which a session sends. With the rights "
        "of the table sendOffsetsToTransaction() throws.",
        "kip-1310",
        "kip-1310-rights",
        look=throws("sendOffsetsToTransaction", "TxnOffsetCommit: GROUP_AUTHORIZATION_FAILED"),
        against=f"{ITSELF} (2.2 and 3.3); {KAFKA}, KafkaApis.handleTxnOffsetCommitRequest",
    ),
    Finding(
        "1310-H",
        "The session is focused strictly on the transaction coordinator and has one dedicated connection.",
        "2.1; 3.4",
        "sendOffsetsToTransaction() sends TxnOffsetCommit to the group coordinator, on another broker.",
        "kip-1310",
        "kip-1310-streams-session",
        look=sends("session", "TxnOffsetCommit"),
        against=f"{ITSELF} (2.1 and 3.3)",
    ),
    Finding(
        "1310-I",
        "The database votes first, and Kafka commits first: 'Recovery-friendly'.",
        "4.5",
        "Nothing records the decision. After a crash between the two votes the next process resumes "
        "and commits a transaction that holds no record, and the database follows.",
        "kip-1310",
        "kip-1310-empty-commit",
        promise="atomic",
        played=True,
        against=f"{ITSELF} ('Recovery-friendly'); {KIP_939}, whose recipe commits the database first",
    ),
)
