"""KIP-98: in which order a producer's requests go out, and why that decides nothing."""

from __future__ import annotations

from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import CALL
from kipviz.scenarios.stories.setting import group_app, group_spec

GO = "app-1 goes on"
IN_TRANSACTION = (*CALL, GO, "quiet", GO, GO)

OFFSETS_FIRST = Scenario(
    "kip-98-offsets-go-first",
    "The offsets are staged before the record is sent",
    "send() only puts a record into the accumulator. If the sender has not come by yet, what "
    "sendOffsetsToTransaction() asks for goes out before it. Then the process dies in between.",
    "KIP-98, Data flow 4; Sender.runOnce, Sender.maybeSendAndPollTransactionalRequest",
    group_spec(group_app()),
    (
        Beat(
            "app-1 reads and begins",
            "It has polled a and b from src-0, and its position is 102. The group's committed offset is "
            "still 100. beginTransaction() told nobody.",
            IN_TRANSACTION,
        ),
        Beat(
            "send(), and at once sendOffsetsToTransaction()",
            "Two calls, one thread that sends. The batch for Broker 3 is in the accumulator, and the offsets "
            "for Broker 4 are in the queue of transactional requests.",
            (GO, GO),
        ),
        Beat(
            "TxnOffsetCommit goes first",
            "A transactional request goes before any batch. Until it is answered no batch goes out, and "
            "Broker 3, which has nothing to do, gets nothing.",
            ("app-1/producer sends TxnOffsetCommit", "TxnOffsetCommit arrives at B4"),
        ),
        Beat(
            "The offset is pending, the record is in no log",
            "Broker 4 has added __consumer_offsets-7 to the transaction and staged offset 102: the group has "
            "read a and b. Of what was made of them no broker knows.",
            ("quiet but TxnOffsetCommitResponse *",),
        ),
        Beat(
            "app-1 dies",
            "Are a and b lost? The accumulator was memory of the process, and nobody else has the record.",
            ("app-1 crashes",),
        ),
        Beat(
            "The next process: initTransactions()",
            "Broker 1 finds an open transaction of the name and aborts it. The ABORT marker goes to the one "
            "partition that is in it, __consumer_offsets-7, and offset 102 is forgotten.",
            ("app-1 starts", GO, "quiet", GO),
        ),
        Beat(
            "It reads from 100, and this time the record goes first",
            "The sender comes by before the second call. Either order will do: nothing of a "
            "transaction counts before EndTxn, and EndTxn waits for both.",
            (GO, "quiet", *CALL[2:], GO, GO, "quiet", *CALL, GO, "quiet"),
        ),
    ),
    ("app-1", "B1", "B3", "B4"),
    ("kafka",),
    Question(
        4,
        "The offset is staged, the record was never sent, and the process is gone. What is read next?",
        (
            Choice(
                "from 102: the group has committed it",
                False,
                "It is pending: staged in a transaction that nobody has decided.",
            ),
            Choice(
                "from 100: the transaction can only be aborted now",
                True,
                "Right: whoever takes the name, or the time-out, aborts it, and the offset with it.",
            ),
            Choice(
                "from 102, but the record is sent by the next process",
                False,
                "An accumulator does not outlive its process.",
            ),
        ),
    ),
    watch=(
        Watch(
            1, "Open the producer: a batch without a broker, and behind it a queue of one request."
        ),
        Watch(3, "Broker 1 has one partition in the transaction, and it is not output-A-0."),
        Watch(
            5, "Open Broker 4: what was pending is gone, and the committed offset has not moved."
        ),
    ),
    checkpoints=(
        Checkpoint("saw an offset staged of which no output is in any log", "offset pending"),
        Checkpoint("saw app-1 die in between", "client crashed"),
        Checkpoint("saw the transaction end", "complete"),
    ),
)

STORIES = (OFFSETS_FIRST,)
