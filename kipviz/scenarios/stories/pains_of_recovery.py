"""What users run into after a crash, a restore or a long pause: the checkpoint knows an older world."""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings
from kipviz.scenarios import programs, session_programs
from kipviz.scenarios.material import (
    SAW_COMPLETE_EVERYWHERE,
    SAW_ENDED,
    SAW_LSO,
    TOOK_CLIENT_CRASH,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import CALL, FIRST_ROUND, NEXT_ROUND, of
from kipviz.scenarios.stories.kip_890_identities import USED_UP
from kipviz.scenarios.stories.pains import READER, READING, SPEC, WRITER
from kipviz.scenarios.stories.setting import group_app

FLINK = WRITER.but(max_records=1)
COMMITTER = FLINK.but(name="app-2", group_id="none", member_id="C2")
TAKES_UP = ("app-2 goes on", *of("app-2", CALL))

NOTHING = Scenario(
    "pain-restore-of-nothing",
    "INVALID_TXN_STATE on restore, without any traffic",
    "A checkpoint is taken of a transaction in which nothing was written. The recovery commits what no "
    "broker has heard of.",
    "KIP-98 EndTxnRequest; FLINK-31363",
    SPEC.but(
        applications=(
            FLINK.but(program=programs.WRITE_NOTHING),
            COMMITTER.but(program=programs.RECOVER_BY_REFLECTION),
            FLINK.but(name="app-3", group_id="restored", member_id="C3"),
        )
    ),
    (
        Beat(
            "The writer begins, and nothing comes",
            "beginTransaction() is local. The checkpoint keeps the name, the producer id and the epoch "
            "of a transaction that exists in this process only. Then the process dies.",
            ("app-1 goes on", "quiet", "app-1 goes on", "app-1 goes on", "app-1 crashes"),
        ),
        Beat(
            "The recovery takes it up",
            "The three values are put into a producer, which now believes that it is IN_TRANSACTION.",
            ("app-2 goes on",),
        ),
        Beat(
            "commitTransaction(): InvalidTxnStateException",
            "For the coordinator my-txn is EMPTY: there is nothing to commit. A transaction that is "
            "committed already would be answered with another error.",
            of("app-2", CALL),
        ),
        Beat(
            "The way out: no commit of nothing",
            "A job that notes down whether anything was written skips this commit. Its new writer asks for "
            "an identity of its own, and goes on.",
            (*of("app-3", FIRST_ROUND), *of("app-3", CALL)),
        ),
    ),
    ("app-1", "app-2", "app-3", "B1"),
    ("kafka",),
    Question(
        2,
        "The recovery commits a transaction in which nothing was written. What is answered?",
        (
            Choice("success: nothing is committed", False, "EMPTY has no commit."),
            Choice("INVALID_TXN_STATE", True, "Right, and that ends the producer."),
        ),
    ),
    watch=(
        Watch(0, "Has any broker been told of the transaction that the checkpoint keeps?"),
        Watch(
            2,
            "What would a writer that aborts, instead of a recovery that commits, have been told?",
        ),
    ),
    checkpoints=(SAW_ENDED, TOOK_CLIENT_CRASH),
)

MORE = Scenario(
    "pain-more-than-the-checkpoint",
    "More records are committed than the checkpoint holds",
    "The checkpointed transaction was committed, the next one has the same producer id and epoch, and "
    "the recovery commits that one.",
    "KIP-890 Motivation, one epoch for each transaction; FLINK-8132",
    SPEC.but(
        applications=(
            FLINK.but(program=programs.WRITE_ON),
            COMMITTER.but(program=programs.RECOVER_BY_REFLECTION),
        )
    ),
    (
        Beat(
            "The checkpoint, and its transaction",
            "The first record is in the transaction that checkpoint 1 keeps as (my-txn, 9, 0). It is "
            "committed, but the job does not get to note that down.",
            (*FIRST_ROUND, *CALL),
        ),
        Beat(
            "Behind the checkpoint",
            "The next record goes into the next transaction. Then the process dies: the source will be "
            "read again from checkpoint 1 on.",
            (*NEXT_ROUND, "app-1 crashes"),
        ),
        Beat(
            "The recovery commits (my-txn, 9, 0)",
            "Below version 2 that is the second transaction as well. Its record is committed now, and "
            "the job will produce it once more.",
            TAKES_UP,
        ),
    ),
    ("app-1", "app-2", "B1", "B3"),
    ("kafka-tv1", "kafka"),
    Question(
        2,
        "The checkpoint says producer id 9, epoch 0. Which transaction does the recovery commit?",
        (
            Choice(
                "the one of the checkpoint", False, "It is over. Nothing in the request names it."
            ),
            Choice(
                "whichever is open, if it has this epoch",
                True,
                "Right. Under version 2 the second one has epoch 1, and the recovery is fenced.",
            ),
        ),
    ),
    watch=(
        Watch(1, "Compare the identities of the two transactions, under either version."),
        Watch(
            2, "Under version 2 the error is PRODUCER_FENCED. Does it say that record a is safe?"
        ),
    ),
    checkpoints=(SAW_COMPLETE_EVERYWHERE, TOOK_CLIENT_CRASH),
)

BLOCKED = Scenario(
    "pain-recycled-name",
    "A topic is blocked after a successful recovery",
    "A job takes its names from a pool. The recovery ends the transaction that it knows of; a newer one "
    "under the same name is nobody's.",
    "KIP-98 Read Committed: LSO; FLINK-40626",
    READING.but(
        applications=(
            FLINK.but(program=programs.WRITE_ON),
            COMMITTER.but(program=programs.RECOVER_BY_REFLECTION),
            FLINK.but(
                name="app-3",
                transactional_id="my-txn-next",
                group_id="restored",
                member_id="C3",
                program=programs.WRITE_ON_FROM_THE_SECOND,
            ),
            READER,
        )
    ),
    (
        Beat(
            "Checkpoint 1, committed; and the name is used again",
            "The second record is in a transaction of the same name. The process dies before checkpoint "
            "2, which would have known of it.",
            (*FIRST_ROUND, *CALL, *NEXT_ROUND, "app-1 crashes"),
        ),
        Beat(
            "The recovery of checkpoint 1",
            "PRODUCER_FENCED: the transaction of epoch 0 is over, and the job takes that for committed, "
            "which it is. Everything is green.",
            TAKES_UP,
        ),
        Beat(
            "The job goes on under another name",
            "The pool gives its new writer, app-3, the name my-txn-next. It reads the second record again, "
            "and commits.",
            (
                *("app-3 goes on", "quiet", "app-3 goes on"),
                *("app-3 goes on", "quiet", "app-3 goes on") * 2,
                *("app-3 goes on", "app-3 goes on", "quiet"),
                *("app-3 goes on", "quiet", "app-3 goes on"),
            ),
        ),
        Beat(
            "The reader gets the first record, and no more",
            "The last stable offset is held by the transaction of my-txn that nobody knows of. With "
            "Flink's time-out that is an hour.",
            ("reader goes on", "quiet", "reader goes on"),
        ),
        Beat(
            "The coordinator's clock ends it",
            "An operator who fences my-txn would have done it at once (kip-664-fence).",
            ("my-txn times out", "quiet", "reader goes on", "quiet"),
        ),
    ),
    ("app-2", "app-3", "reader", "B3"),
    ("kafka",),
    Question(
        3,
        "The job runs and commits. What does a read_committed reader of its output see?",
        (
            Choice("everything that is committed", False, "Not beyond the last stable offset."),
            Choice(
                "nothing behind the forgotten transaction", True, "Right: it holds all of it up."
            ),
        ),
    ),
    watch=(
        Watch(2, "Whose is the transaction that is open in output-A-0?"),
        Watch(3, "Compare the high watermark of output-A-0 with its last stable offset."),
    ),
    checkpoints=(SAW_LSO, TOOK_CLIENT_CRASH, SAW_COMPLETE_EVERYWHERE),
)

ROTATED = Scenario(
    "pain-rotated-away",
    "INVALID_PRODUCER_ID_MAPPING once in a blue moon, on restore",
    "The commit of the checkpoint's transaction used up the last epoch, and with its completion the name "
    "has another producer id. The checkpoint does not.",
    "KIP-890 Epoch overflow; FLINK-40689",
    SPEC.but(
        transactions=(USED_UP,),
        applications=(
            FLINK.but(program=programs.WRITE_ON),
            COMMITTER.but(program=programs.recover_by_reflection("my-txn 5 32766")),
        ),
    ),
    (
        Beat(
            "A transaction at the last epoch",
            "Producer id 5, epoch 32766: so it stands in the checkpoint.",
            FIRST_ROUND,
        ),
        Beat(
            "It is committed, and the process dies before it can say so",
            "The answer brought producer id 9, epoch 0. With COMPLETE_COMMIT the name is that one's.",
            (*CALL, "app-1 crashes"),
        ),
        Beat(
            "The recovery commits (my-txn, 5, 32766)",
            "A producer that was taken up by reflection ends transactions as version 1 does. There the "
            "producer id is compared first, and it is another one.",
            TAKES_UP,
        ),
    ),
    ("app-1", "app-2", "B1", "B3"),
    ("kafka",),
    Question(
        2,
        "The transaction is committed. What is the recovery told that commits it again?",
        (
            Choice(
                "success", False, "In version 5 it would be: a repetition over a rotation is known."
            ),
            Choice("INVALID_PRODUCER_ID_MAPPING", True, "Right: version 4 knows of no rotation."),
        ),
    ),
    watch=(
        Watch(1, "Watch the card of my-txn: the producer id before the rotation is on it."),
        Watch(
            2, "Does the error tell committed from aborted? The data is safe here; who can know?"
        ),
    ),
    checkpoints=(SAW_ENDED, TOOK_CLIENT_CRASH),
)

EXPIRED = Scenario(
    "pain-idle-week",
    "InvalidPidMappingException after an idle week",
    "Nobody uses a name for transactional.id.expiration.ms. The coordinator forgets it; its producer "
    "does not know.",
    "KIP-98 transactional.id.expiration.ms; KAFKA-10284",
    SPEC.but(
        settings=BrokerSettings(transactional_ids_expire=True),
        applications=(group_app(max_records=1),),
    ),
    (
        Beat(
            "A transaction, and then nothing for a week",
            "app-1 is alive and has nothing to do.",
            (*FIRST_ROUND, *CALL, *CALL),
        ),
        Beat(
            "The name is forgotten",
            "A tombstone in __transaction_state. No client is told.",
            ("transactional.id my-txn runs out at B1", "quiet"),
        ),
        Beat(
            "The next record: InvalidPidMappingException",
            "Broker 3 asks the coordinator to enlist output-A-0 for a name that is not there.",
            (*NEXT_ROUND, "app-1 goes on"),
        ),
        Beat(
            "A new process goes on",
            "It gets a fresh producer id. What the old one had sent was refused and is in no log, so the "
            "record is read again and put out once.",
            ("app-1 crashes", "app-1 starts", *FIRST_ROUND, *CALL, *CALL),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("kafka",),
    Question(
        2,
        "The producer was idle, not dead. What does its next batch meet?",
        (
            Choice("a coordinator that remembers it", False, "The tombstone is written."),
            Choice("INVALID_PRODUCER_ID_MAPPING", True, "Right, and that ends the producer."),
        ),
    ),
    watch=(
        Watch(
            1, "Watch the log of __transaction_state: the name's last record says that it is gone."
        ),
        Watch(2, "Who notices? The leader's own log still knows producer id 9."),
    ),
    checkpoints=(SAW_ENDED, SAW_COMPLETE_EVERYWHERE),
)

TOO_LATE = Scenario(
    "pain-recovered-too-late",
    "Everything is green, and data is missing",
    "The job was down for longer than transaction.timeout.ms. Its recovery commits a transaction that "
    "the coordinator has aborted, logs the error, and goes on.",
    "KIP-98 transaction.timeout.ms; FLINK-8086",
    READING.but(
        applications=(
            FLINK.but(program=session_programs.WRITER),
            COMMITTER.but(program=programs.RECOVER_BY_REFLECTION),
            READER,
        )
    ),
    (
        Beat(
            "The checkpoint is complete, and the process dies",
            "The record is in the transaction that the checkpoint keeps. The source will not be read "
            "again from before it.",
            (*FIRST_ROUND, "app-1 crashes"),
        ),
        Beat(
            "The job is down for too long",
            "transaction.timeout.ms is over: Broker 1 aborts what the checkpoint relies on.",
            ("my-txn times out", "quiet"),
        ),
        Beat(
            "The recovery commits: ProducerFencedException",
            "It is what a recovery is told, too, whose transaction was committed. So it is logged, and "
            "the job is green.",
            TAKES_UP,
        ),
        Beat(
            "The reader never gets the record",
            "The output is aborted, the source is behind the checkpoint: nobody will do it again.",
            ("reader goes on", "quiet"),
        ),
    ),
    ("app-1", "app-2", "reader", "B1"),
    ("kafka",),
    Question(
        2,
        "The recovery is told PRODUCER_FENCED. What became of its transaction?",
        (
            Choice("it was committed before", False, "It may have been: the error is the same."),
            Choice("it was aborted", False, "It was, but the error does not say so."),
            Choice("the answer does not tell", True, "Right: that is why it goes by unnoticed."),
        ),
    ),
    watch=(
        Watch(1, "Is anybody told? Look for a message to app-2 or the reader."),
        Watch(3, "Would KIP-939 help? A prepared transaction has no time limit."),
    ),
    checkpoints=(SAW_ENDED, TOOK_CLIENT_CRASH),
)

STORIES: tuple[Scenario, ...] = (NOTHING, MORE, BLOCKED, ROTATED, EXPIRED, TOO_LATE)
