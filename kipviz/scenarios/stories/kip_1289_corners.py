"""KIP-1289: the corner cases of its text, each as a story.

The KIP has no case 4; case 6 is `kip-1289-lock-expiry`, case 9 needs brokers of several versions.
"""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.cluster.spec import ApplicationSpec
from kipviz.messages.share_groups import AcknowledgeType
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    BROUGHT_TO_END,
    LET_BOTH_HOLD,
    SAW_DELIVERED_TWICE,
    SAW_STAGED,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import ABORT, BEGIN, COMMIT, SHARE_MARKERS, STAGE
from kipviz.scenarios.stories.setting import (
    STATE_BY_GROUP,
    STATE_BY_KEY,
    TRANSACTIONAL_ID,
    home,
    share_app,
    share_spec,
)

COORDINATOR = home(TRANSACTION_STATE, TRANSACTIONAL_ID)
FINISHED = Checkpoint("saw the transaction time out", "timed out")
READINGS = ("as-written", "repaired")
LANES = ("app-1", "B1", "B5", "B7")
ONE = share_spec(share_app(max_records=1), values=("a",))

SEND_STAGE = Beat(
    "sendShareAcknowledgementsToTransaction(acks, meta)",
    "The call returns at once; what becomes of it is told by commitTransaction().",
    ("app-1 goes on", "until TxnShareAcknowledge arrives at B5"),
)
COMMIT_ALL = Beat(
    "producer.commitTransaction() and its markers",
    "The decision, the answer, and the markers for all participants there are.",
    ("app-1 goes on", "quiet", "maybe B[35] refreshes src-0", "quiet", "maybe app-1 goes on"),
)
POLL_AGAIN = Beat(
    "consumer.poll() again",
    "What is free is delivered again; what is done is not.",
    ("maybe app-1 goes on", "quiet", "maybe app-1 goes on"),
)
CATCH = Beat(
    "commitTransaction() throws, and the loop aborts",
    "The error surfaces where the KIP says that it does; the whole loop is tried again.",
    ("app-1 goes on", "app-1 goes on", "quiet", "app-1 goes on"),
)
RETRY = Beat(
    "The loop again",
    "The record is delivered, put out, staged and committed once more.",
    (
        "app-1 goes on",
        "quiet",
        "maybe app-1 goes on",
        "maybe app-1 goes on",
        "maybe app-1 goes on",
        "quiet",
        "maybe app-1 goes on",
        "quiet",
        "maybe app-1 goes on",
        "quiet",
        "maybe B[35] refreshes src-0",
        "quiet",
    ),
)


def _case(number: int, title: str, sentence: str, **changes: object) -> Scenario:
    """Give the story of a corner case; everything else of it is among the changes."""
    story = Scenario(
        f"kip-1289-corner-{number}",
        f"Corner case {number}: {title}",
        sentence,
        f"KIP-1289, Corner cases, {number}",
        ONE,
        (),
        LANES,
        READINGS,
    )
    return story.but(**changes)


def _saying(verdict: AcknowledgeType) -> tuple[Line, ...]:
    """Return the loop of the KIP with another acknowledge type for every record."""
    return tuple(
        line.but(verdicts=((-1, verdict),))
        if line.call is Call.SEND_SHARE_ACKNOWLEDGEMENTS
        else line.but(text=line.text.replace(AcknowledgeType.ACCEPT.name, verdict.name))
        for line in programs.SHARE_LOOP
    )


CRASH = _case(
    1,
    "the broker crashes while a record is TX_PENDING",
    "The share-partition leader dies between the staging and the commit.",
    beats=(
        *BEGIN,
        *STAGE,
        Beat(
            "Broker 5 crashes",
            "Its memory is gone. Broker 3 has a copy of src-0 and leads it from now on.",
            ("B5 crashes", "quiet"),
        ),
        COMMIT_ALL,
        POLL_AGAIN,
    ),
    watch=(
        Watch(6, "What was promised to the producer, and who still knows of the promise?"),
        Watch(
            8,
            "The KIP says 'no data loss, at least once'. Count the committed outputs that a second "
            "transaction would make two of.",
        ),
    ),
    checkpoints=(SAW_STAGED, SAW_DELIVERED_TWICE),
)

NOT_REGISTERED = _case(
    2,
    "the transaction coordinator does not take the registration",
    "The coordinator moves away while the share side asks it to enlist the participant.",
    beats=(
        *BEGIN,
        SEND_STAGE,
        Beat(
            "The coordinator moves",
            "Broker 7 coordinates my-txn from now on; whoever asked Broker 1 is told so.",
            (f"{COORDINATOR} moves to B7", "quiet"),
        ),
        Beat(
            "producer.commitTransaction()",
            "Was it staged after all? The producer learns it here.",
            ("app-1 goes on", "quiet", "maybe app-1 goes on", "maybe app-1 goes on", "quiet"),
        ),
        Beat(
            "The loop goes on",
            "Either the transaction is over, or the loop has aborted it and begins again.",
            ("maybe app-1 goes on", "maybe app-1 goes on", "quiet"),
        ),
    ),
    watch=(
        Watch(5, "Who asks the coordinator, and what is staged while it is being asked?"),
        Watch(6, "Is a failed registration the producer's business, or can the broker ask again?"),
    ),
    checkpoints=(SAW_STAGED, BROUGHT_TO_END),
)

ZOMBIE: ApplicationSpec = share_app("app-2", max_records=1, transactional_id=TRANSACTIONAL_ID)
FENCED = _case(
    3,
    "a producer is fenced before it stages",
    "A second instance takes over the transactional id; the first one stages all the same.",
    spec=share_spec(share_app(max_records=1), ZOMBIE, values=("a",)),
    lanes=("app-1", "app-2", "B1", "B5"),
    beats=(
        *BEGIN,
        Beat(
            "app-2 has the same transactional.id",
            "initTransactions() of the new instance fences the old one and ends its transaction.",
            ("app-2 goes on", "quiet", "maybe app-2 goes on", "quiet"),
        ),
        Beat(
            "The zombie stages",
            "It does not know yet. Whether anybody asks the coordinator depends on the design.",
            ("app-1 goes on", "until TxnShareAcknowledge arrives at B5", "quiet"),
        ),
        Beat(
            "The zombie commits",
            "commitTransaction() of a fenced producer throws, and the process ends.",
            ("app-1 goes on", "quiet", "maybe app-1 goes on"),
        ),
    ),
    watch=(
        Watch(5, "Who has been told that the epoch of app-1 is over: a log, a coordinator, both?"),
        Watch(6, "What does the share-partition leader know of producers and their epochs?"),
    ),
    checkpoints=(
        LET_BOTH_HOLD,
        BROUGHT_TO_END,
    ),
)

TWICE = _case(
    5,
    "a marker is delivered twice",
    "The marker is applied, its answer is lost, and the coordinator sends it again.",
    beats=(
        *BEGIN,
        *STAGE,
        *COMMIT,
        SHARE_MARKERS[0],
        SHARE_MARKERS[1],
        Beat(
            "The answer is lost",
            "The connection from the coordinator breaks before the answer is there.",
            ("maybe B1/markers loses B7", "maybe B1/markers loses B5"),
        ),
        Beat(
            "The marker comes again",
            "The coordinator knows no answer, so it asks again until there is one.",
            ("quiet", "maybe B5 refreshes src-0", "quiet"),
        ),
        POLL_AGAIN,
    ),
    watch=(
        Watch(
            10, "The log has the marker already. Does it take a second one, and is that harmful?"
        ),
        Watch(11, "Count the markers in the log of the participant, and the moves of the record."),
    ),
    checkpoints=(SAW_STAGED, BROUGHT_TO_END),
)

TIMED_OUT = _case(
    7,
    "the transaction times out while a record is TX_PENDING",
    "The application dies after staging; the coordinator aborts what it left behind.",
    beats=(
        *BEGIN,
        *STAGE,
        Beat(
            "The application crashes",
            "Nobody will end the transaction but its time-out.",
            ("app-1 crashes", "quiet"),
        ),
        Beat(
            "transaction.timeout.ms is over",
            "The coordinator aborts and sends ABORT markers to whatever was enlisted.",
            ("my-txn times out", "quiet", "maybe B5 refreshes src-0", "quiet"),
        ),
        Beat(
            "The application starts again",
            "A new process, the same transactional id, another member id.",
            ("app-1 starts", "app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "consumer.poll()",
            "The record is there again, unless a lock of the member that is gone still holds it.",
            ("app-1 goes on", "quiet"),
        ),
    ),
    watch=(
        Watch(6, "Whose is the record now: the dead member's, the transaction's, nobody's?"),
        Watch(7, "An abort marker frees it. Look for what it becomes, and for whom."),
    ),
    checkpoints=(FINISHED, SAW_DELIVERED_TWICE),
)

STALE = _case(
    8,
    "the member is no member any more when it stages",
    "The session of the consumer ends between poll() and the staging; its member epoch would too.",
    beats=(
        *BEGIN,
        Beat(
            "The consumer's session ends",
            "Its connection breaks. Broker 5 gives back what the member held.",
            ("app-1/consumer loses B5", "quiet"),
        ),
        Beat(
            "sendShareAcknowledgementsToTransaction(acks, meta)",
            "The metadata is a snapshot of before; the question is who compares it with what.",
            ("app-1 goes on", "until TxnShareAcknowledge arrives at B5", "quiet"),
        ),
        CATCH,
        RETRY,
    ),
    watch=(
        Watch(4, "The lock is gone with the session. Does the member's epoch tell the broker so?"),
        Watch(
            5,
            "The KIP expects STALE_MEMBER_EPOCH. Read the error that comes, and who can know what "
            "it would take to answer the other one.",
        ),
    ),
    checkpoints=(SAW_DELIVERED_TWICE, BROUGHT_TO_END),
)

BAD_TYPE = _case(
    10,
    "an acknowledge type that has no place in a transaction",
    "The application releases a record inside its transaction.",
    spec=share_spec(
        share_app(max_records=1, program=_saying(AcknowledgeType.RELEASE)), values=("a",)
    ),
    beats=(
        *BEGIN,
        SEND_STAGE,
        Beat("The answer", "Only ACCEPT and REJECT are staged.", ("quiet",)),
        CATCH,
        POLL_AGAIN,
    ),
    watch=(
        Watch(5, "INVALID_RECORD_STATE: what is wrong here, the record or the request?"),
        Watch(6, "Everything is done again, and will be refused again. Who breaks the circle?"),
    ),
    checkpoints=(SAW_DELIVERED_TWICE, BROUGHT_TO_END),
)

# The application gives one record back and stages the batch all the same.
RELEASED: tuple[Line, ...] = (
    *programs.SHARE_LOOP[:2],
    Line(
        "shareConsumer.acknowledge(records.get(1), AcknowledgeType.RELEASE);",
        Call.ACKNOWLEDGE,
        verdicts=((101, AcknowledgeType.RELEASE),),
    ),
    Line(programs.COMMIT_SYNC, Call.COMMIT_SYNC),
    *(line.but(on_error=8) for line in programs.SHARE_LOOP[2:6]),
    programs.SHARE_LOOP[6].but(then=-1),
    Line(
        "for (record : held) shareConsumer.acknowledge(record, AcknowledgeType.RELEASE);",
        Call.ACKNOWLEDGE,
        then=1,
        verdicts=((100, AcknowledgeType.RELEASE), (102, AcknowledgeType.RELEASE)),
    ),
)
PARTIAL = _case(
    11,
    "the record in the middle of a call is not the member's any more",
    "Three records in one call, and the second one was given back before: all or nothing.",
    spec=share_spec(
        share_app(max_records=3, program=RELEASED, explicit=True), values=("a", "b", "c")
    ),
    beats=(
        *BEGIN[:2],
        Beat(
            "acknowledge(101, RELEASE), commitSync()",
            "The application cannot process the second record now and gives it back. 100 and 102 are M1's.",
            ("app-1 goes on", "app-1 goes on", "quiet", "app-1 goes on"),
        ),
        *BEGIN[2:],
        SEND_STAGE,
        Beat(
            "The answer",
            "The call names the whole batch: 100 could be staged, 101 is nobody's, 102 could be staged. It "
            "is refused for all three.",
            ("quiet",),
        ),
        CATCH,
        Beat(
            "acknowledge(RELEASE) for what is still held, poll() again",
            "In explicit mode nothing is given back by itself: the loop says so of 100 and 102, and all "
            "three come again.",
            ("app-1 goes on", "app-1 goes on", "quiet", "maybe app-1 goes on"),
        ),
    ),
    watch=(
        Watch(
            6,
            "Was offset 100 ever TX_PENDING? In one partition every record is looked at before the "
            "first one is changed: nothing has to be rolled back.",
        ),
        Watch(
            7,
            "With two partitions on two brokers this would be two answers. Who could take the good "
            "one back?",
        ),
    ),
    checkpoints=(SAW_DELIVERED_TWICE, BROUGHT_TO_END),
)

MOVED = _case(
    12,
    "the state partition has a new leader before the commit",
    "The share coordinator's partition moves between the staging and the markers.",
    beats=(
        *BEGIN,
        *STAGE,
        Beat(
            "The state partitions move",
            "Both the one that the key hashes to and the one that the group id hashes to.",
            (f"{STATE_BY_KEY} moves to B3", f"{STATE_BY_GROUP} moves to B7", "quiet"),
        ),
        COMMIT_ALL,
        Beat(
            "The lock runs out",
            "'Lock-timeout reverts records', says the text. It does where the record is still TX_PENDING and "
            "the design lets the lock run.",
            ("maybe the lock of src-0@100 runs out", "quiet"),
        ),
        POLL_AGAIN,
    ),
    watch=(
        Watch(6, "What does the new leader of the state partition know: its log, or a memory?"),
        Watch(7, "The marker goes to the new leader. Is there a vote where it arrives?"),
    ),
    checkpoints=(SAW_STAGED, BROUGHT_TO_END),
)

CUT_OFF = _case(
    13,
    "an abort whose markers do not get through",
    "The coordinator is cut off from the share side; the lock runs out, and the marker is late.",
    spec=share_spec(share_app(max_records=1, program=programs.SHARE_ABORT), values=("a",)),
    beats=(
        *BEGIN,
        *STAGE,
        Beat(
            "The coordinator is cut off",
            "No message passes between Broker 1 and the brokers of the share side.",
            ("B1 and B5 are cut apart", "B1 and B7 are cut apart"),
        ),
        *ABORT,
        Beat(
            "The lock runs out",
            "It does something in designs that let it run for staged records.",
            ("quiet", "maybe the lock of src-0@100 runs out", "quiet"),
        ),
        Beat(
            "The cut is healed",
            "The marker arrives at last, at a record that may be somebody else's by now.",
            (
                "B1 and B5 are joined",
                "B1 and B7 are joined",
                "quiet",
                "maybe B5 refreshes src-0",
                "quiet",
            ),
        ),
        POLL_AGAIN,
    ),
    watch=(
        Watch(9, "The transaction is aborted. Does anybody at Broker 5 know?"),
        Watch(10, "'Converges', says the KIP: from what to what, and by which rule?"),
    ),
    checkpoints=(SAW_STAGED, SAW_DELIVERED_TWICE),
)

IN_FLIGHT = _case(
    14,
    "a staging of an older epoch is still in flight",
    "A newer instance has the transactional id when the staging of the older one arrives.",
    spec=share_spec(share_app(max_records=1), ZOMBIE, values=("a",)),
    lanes=("app-1", "app-2", "B1", "B5"),
    beats=(
        *BEGIN,
        Beat(
            "The staging is on the wire",
            "The request has left the producer and is slow.",
            ("app-1 goes on", "quiet but TxnShareAcknowledge arrives at B5"),
        ),
        Beat(
            "app-2 has the same transactional.id",
            "The old transaction is aborted, and all its markers are written.",
            (
                "app-2 goes on",
                "quiet but TxnShareAcknowledge arrives at B5",
                "maybe app-2 goes on",
                "quiet but TxnShareAcknowledge arrives at B5",
            ),
        ),
        Beat(
            "The staging arrives",
            "Its epoch is over. Only who knows that can refuse it.",
            ("TxnShareAcknowledge arrives at B5", "quiet"),
        ),
    ),
    watch=(
        Watch(6, "The abort marker has been everywhere. Who will ever end what is staged now?"),
        Watch(6, "Compare the designs: who is asked before the record becomes TX_PENDING?"),
    ),
    checkpoints=(
        BROUGHT_TO_END,
        SAW_STAGED,
    ),
)

STORIES: tuple[Scenario, ...] = (
    CRASH,
    NOT_REGISTERED,
    FENCED,
    TWICE,
    TIMED_OUT,
    STALE,
    BAD_TYPE,
    PARTIAL,
    MOVED,
    CUT_OFF,
    IN_FLIGHT,
)
