"""KIP-664: how an operator finds out who holds the readers back, and what ending it by hand costs."""

from __future__ import annotations

from kipviz.clients.application import Line
from kipviz.cluster.spec import ApplicationSpec
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_HALF, SAW_LSO, SAW_PENDING, TOOK_CRASH, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import GROUP_BEGIN
from kipviz.scenarios.stories.kip_98 import STUCK_LSO
from kipviz.scenarios.stories.kip_890 import HANGING
from kipviz.scenarios.stories.setting import (
    GROUP_PLACEMENTS,
    PLAYGROUND,
    READER_PLACEMENT,
    READER_TOPIC_ID,
    TOPIC_IDS,
    TRANSACTIONAL_ID,
    group_app,
    group_spec,
    reader_of,
)


def operator(program: tuple[Line, ...]) -> ApplicationSpec:
    """Give an operator who runs a program of admin calls."""
    return ApplicationSpec("operator", "", program, "", "", False, "", "", admin=True)


FENCE = Scenario(
    "kip-664-fence",
    "An operator sets the readers free: not hanging, only open",
    "A dead producer's transaction holds the last stable offset. The operator asks who it is, "
    "learns that it is not hanging, and takes its name away instead of waiting for the timeout.",
    "KIP-664, find-hanging and describe; KIP-360, fencing",
    STUCK_LSO.spec.but(
        applications=(*STUCK_LSO.spec.applications, operator(programs.fence(TRANSACTIONAL_ID)))
    ),
    (
        *STUCK_LSO.beats,
        Beat(
            "find-hanging: nothing is",
            "The tool asks Broker 3 for the producers of output-A-0, every broker for their names, "
            "and the coordinator for what it knows. Broker 1 has output-A-0 on its list: it will "
            "write a marker some day, so this transaction is not hanging.",
            ("operator goes on", "quiet", "operator goes on"),
        ),
        Beat(
            "list: who is it?",
            "Every broker names the transactional ids that it coordinates. One is Ongoing: my-txn.",
            ("operator goes on", "quiet", "operator goes on"),
        ),
        Beat(
            "fenceProducers(my-txn)",
            "An InitProducerId without a producer behind it. Broker 1 has to abort what is open "
            "before it can give anybody the next epoch, and tells the operator to come back.",
            (
                "operator goes on",
                "operator/admin sends InitProducerId",
                "InitProducerId arrives at B1",
                "InitProducerIdResponse arrives at operator/admin",
                "WriteTxnMarkers arrives at B3",
            ),
        ),
        Beat(
            "The reader gets what was committed",
            "The ABORT marker moves the last stable offset past both transactions. The reader's "
            "fetch is answered with the records of app-2 alone.",
            ("quiet", "operator goes on", "reader goes on"),
        ),
    ),
    ("operator", "reader", "B1", "B3"),
    ("kafka",),
    Question(
        4,
        "find-hanging has asked everybody. Is the transaction of the dead app-1 hanging?",
        (
            Choice(
                "yes, its producer is dead",
                False,
                "Nobody asks for producers. A transaction hangs if no coordinator will ever end it.",
            ),
            Choice(
                "no, it is open, and its coordinator knows it",
                True,
                "Right: after transaction.timeout.ms Broker 1 would abort it. Hanging is what no "
                "coordinator has on its list.",
            ),
        ),
    ),
    watch=(
        Watch(
            4,
            "Watch three kinds of questions: to the leader of the partition, to every broker, to "
            "the coordinator. Nothing changes in the cluster while they are asked.",
        ),
        Watch(
            6,
            "The same request as initTransactions(): watch my-txn go to PREPARE_ABORT, and the "
            "answer be CONCURRENT_TRANSACTIONS until the marker is written.",
        ),
    ),
    checkpoints=(
        SAW_LSO,
        Checkpoint("saw the marker that sets the readers free", "marker in the output"),
        Checkpoint("took a branch in which the transaction times out by itself", "timed out"),
    ),
)

BY_HAND = Scenario(
    "kip-664-abort-not-hanging",
    "An operator aborts a transaction that was not hanging",
    "A slow application is in the middle of its transaction when an operator ends it on one "
    "partition by hand. Then the application commits, and half of the transaction is lost.",
    "KIP-664, abortTransaction",
    group_spec(group_app(max_records=1)).but(
        applications=(group_app(max_records=1), operator(programs.ABORT_BY_HAND)),
        budget=PLAYGROUND,
    ),
    (
        *GROUP_BEGIN,
        Beat(
            "sendOffsetsToTransaction()",
            "The offset behind the record is pending at Broker 4, in the same transaction.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "describe-producers",
            "An operator sees a transaction that has been open for long, and does not ask whether "
            "a coordinator knows it.",
            ("operator goes on", "quiet", "operator goes on"),
        ),
        Beat(
            "abort --start-offset 0",
            "The operator's own ABORT marker goes to Broker 3, past the coordinator, with the epoch "
            "of the log. A marker of the coordinator would have to have the next one.",
            ("operator goes on", "quiet", "operator goes on"),
        ),
        Beat(
            "commitTransaction() succeeds",
            "Broker 1 knows nothing of it: for the coordinator the transaction is ONGOING on two "
            "partitions, and the application gets its commit.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "The record is lost",
            "The offset is committed, so nobody will read the record again. Its output was aborted: "
            "the COMMIT marker in output-A-0 found nothing open.",
            ("app-1 goes on", "quiet"),
        ),
    ),
    ("app-1", "operator", "B1", "B3"),
    ("kafka",),
    Question(
        7,
        "The operator has aborted the transaction in output-A-0. What does commitTransaction() say?",
        (
            Choice(
                "it throws: the transaction is aborted",
                False,
                "The coordinator was not asked. It still has the transaction as ONGOING.",
            ),
            Choice(
                "it succeeds",
                True,
                "Right, and that is the trouble: one partition is aborted, the other committed.",
            ),
        ),
    ),
    watch=(
        Watch(
            6,
            "Watch the marker's epoch: it is that of the data, and its transaction version is 0. "
            "Only so does the log take it.",
        ),
        Watch(
            8,
            "Watch output-A-0: two markers of one transaction, ABORT and then COMMIT, and the "
            "record before them is aborted.",
        ),
    ),
    checkpoints=(
        SAW_PENDING,
        SAW_HALF,
    ),
)

HANGS = Scenario(
    "kip-664-hanging",
    "A hanging transaction: an operator finds it and ends it",
    "A reader gets nothing, and no transactional id is Ongoing. The tool finds the open "
    "transaction that no coordinator knows, and an ABORT marker of the operator ends it.",
    "KIP-664, Motivation, find-hanging and abortTransaction",
    HANGING.spec.but(
        placements=(*GROUP_PLACEMENTS, READER_PLACEMENT),
        topic_ids=(*TOPIC_IDS, READER_TOPIC_ID),
        applications=(
            *HANGING.spec.applications,
            reader_of(HANGING.spec.applications[0]),
            operator(programs.END_WHAT_HANGS),
        ),
    ),
    (
        *HANGING.beats,
        Beat(
            "reader polls: nothing comes",
            "The late batch has begun a transaction in output-A-0, with the epoch of the one that "
            "is over. The last stable offset stands at it, and would stand there for ever.",
            ("reader goes on", "quiet"),
        ),
        Beat(
            "find-hanging: one is",
            "Broker 3 knows an open transaction of producer id 9. Its name is my-txn, and the "
            "coordinator of my-txn has no partition on its list: nobody will ever write a marker.",
            ("operator goes on", "quiet", "operator goes on"),
        ),
        Beat(
            "abort: the reader is free",
            "The operator's own ABORT marker, with the epoch that the log knows. The last stable "
            "offset moves to the end, and the late record is skipped.",
            ("operator goes on", "quiet", "operator goes on"),
        ),
    ),
    ("app-1", "reader", "operator", "B3"),
    ("kafka-tv0",),
    Question(
        5,
        "find-hanging has looked. How does it know that this transaction hangs?",
        (
            Choice("it is open for too long", False, "Long ones may be open and in order."),
            Choice(
                "its coordinator does not list the partition",
                True,
                "Right: so the coordinator will never write a marker there.",
            ),
        ),
    ),
    watch=(
        Watch(4, "Watch my-txn: it is COMPLETE_ABORT, and still the reader waits. Press e."),
        Watch(6, "Watch the marker: written by the operator, taken by the log."),
    ),
    checkpoints=(
        SAW_LSO,
        Checkpoint("saw the marker that sets the readers free", "marker in the output"),
        TOOK_CRASH,
    ),
)

STORIES: tuple[Scenario, ...] = (FENCE, HANGS, BY_HAND)
