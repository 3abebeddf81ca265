"""What users ran into with a release that has been mended since, and what the mended one does."""

from __future__ import annotations

from kipviz.scenarios import programs
from kipviz.scenarios.material import TOOK_ANY_TIME_OUT, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import CALL
from kipviz.scenarios.stories.rolling import BROKERS_DIFFER, restarted
from kipviz.scenarios.stories.setting import PLAYGROUND, group_app, group_spec

BEFORE, MENDED = "4.1.0", "4.4"
BROKERS = (1, 3, 4, 5)
SPEC = group_spec(group_app(max_records=1, program=programs.COPY_TWICE)).but(
    releases=tuple((broker, BEFORE) for broker in BROKERS),
    binaries=(BEFORE, MENDED),
    budget=PLAYGROUND.but(restart=2),
)
HELD = "AddPartitionsToTxnResponse*"
# poll(), beginTransaction(), send(): the coordinator has said yes, and Broker 3 does not know it yet.
YES_ON_ITS_WAY = (*CALL, "app-1 goes on", "app-1 goes on", f"quiet but {HELD}")

ORDER_OF_CHECKS = Scenario(
    "pain-order-of-checks",
    "A pause, and then InvalidTxnStateException",
    "A transaction times out while its first batch waits at the leader. The batch has an epoch that is "
    "over, and 4.1.0 says something else about it.",
    "KIP-890 part 1 and 2; KAFKA-19690",
    SPEC,
    (
        Beat(
            "The first batch waits for the coordinator's yes",
            "Broker 3 has asked Broker 1 to enlist output-A-0. The answer is on its way, and everything "
            "stands still: a long garbage collection, a slow disk.",
            (*CALL, *YES_ON_ITS_WAY),
        ),
        Beat(
            "transaction.timeout.ms is over",
            "10 s in Kafka Streams. Broker 1 aborts the transaction; the ABORT marker brings epoch 1 to "
            "output-A-0.",
            ("my-txn times out", f"quiet but {HELD}"),
        ),
        Beat(
            "The pause is over: InvalidTxnStateException",
            "The yes belongs to a transaction that is over, and the batch has epoch 0. Both are true. "
            "4.1.0 looks at the yes first: INVALID_TXN_STATE. Kafka Streams takes a task back for an old "
            "epoch; this error it does not know, and the application ends.",
            ("quiet", "app-1 goes on"),
        ),
        Beat(
            "Broker 3 gets a release with the mended order",
            "4.1.1, 4.2.0 or later. The process of the application is started again.",
            (*restarted((3,), MENDED), "output-A-0 moves to B3", "app-1 crashes", "app-1 starts"),
        ),
        Beat(
            "The same again: InvalidProducerEpochException",
            "Broker 3 looks at the epoch first now. It is the error of a producer whose transaction is "
            "over: the application aborts, and goes on with the next epoch or from the last commit.",
            (
                *CALL,
                *YES_ON_ITS_WAY,
                "my-txn times out",
                f"quiet but {HELD}",
                "quiet",
                "app-1 goes on",
            ),
        ),
    ),
    ("app-1", "B1", "B3"),
    ("kafka",),
    Question(
        2,
        "A batch whose epoch is over, and whose verification no longer counts. Which of the two should "
        "its producer hear of?",
        (
            Choice(
                "that it is not verified",
                False,
                "That looks like a broken client: whoever hears it cannot know that aborting helps.",
            ),
            Choice(
                "that its epoch is over",
                True,
                "Right: it is why the other is so, and producers know what to do about it.",
            ),
        ),
    ),
    watch=(
        Watch(
            1, "Watch the epoch that the log knows of producer 9: 1 before the batch is looked at."
        ),
        Watch(
            2,
            "Compare this beat with the last one: the answer to AddPartitionsToTxn finds the same, and "
            "two binaries say two things.",
        ),
    ),
    checkpoints=(
        BROKERS_DIFFER,
        TOOK_ANY_TIME_OUT,
    ),
)

STORIES: tuple[Scenario, ...] = (ORDER_OF_CHECKS,)
