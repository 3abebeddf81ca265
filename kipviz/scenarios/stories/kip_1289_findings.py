"""KIP-1289: the smallest clusters in which a single finding of our review shows."""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings
from kipviz.clients.application import Call, Line
from kipviz.cluster.spec import Placement
from kipviz.messages.share_groups import AcknowledgeType
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    BROUGHT_TO_END,
    SAW_DELIVERED_TWICE,
    SAW_LATE_REQUEST,
    SAW_LSO,
    SAW_STAGED,
    TOOK_CRASH,
    Watch,
)
from kipviz.scenarios.scenario import Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import BEGIN, COMMIT, SHARE_MARKERS, STAGE
from kipviz.scenarios.stories.kip_1289 import SHARE_ABORT, SMALL, SMALL_WATCH
from kipviz.scenarios.stories.setting import (
    PLAYGROUND,
    SHARE_PLACEMENTS,
    STATE_BY_KEY,
    TRANSACTIONAL_ID,
    home,
    share_app,
    share_spec,
)

DECISION = home(TRANSACTION_STATE, TRANSACTIONAL_ID)

# The one placement in which a vote in memory can work at all: a marker comes to the very broker
# that leads the source. Findings about such votes show here what else is wrong with them.
TOGETHER = (
    *(p for p in SHARE_PLACEMENTS if p.partition != STATE_BY_KEY),
    Placement(STATE_BY_KEY, 5, (7,)),
)

SMALL_TOGETHER = Scenario(
    "kip-1289-small-together",
    "One record, its source and its state on one broker",
    "The broker that leads the source leads the state as well, as in the KIP's drawing: even a "
    "vote in memory is found by the marker.",
    "KIP-1289, Flow - Share Group (THIS KIP), 'Broker 5'",
    SMALL.spec.but(placements=TOGETHER),
    (*BEGIN, *STAGE, *COMMIT, *SHARE_MARKERS),
    ("app-1", "B1", "B3", "B5"),
    ("repaired", "finding-E", "finding-X4", "finding-X5"),
    watch=(
        *SMALL_WATCH,
        Watch(
            9,
            "Broker 5 gets the marker because it leads the state partition, and finds the vote "
            "because it leads the source. How likely is that in a cluster of a hundred brokers?",
        ),
    ),
    checkpoints=(SAW_STAGED, TOOK_CRASH),
)

SMALL_ABORT = SHARE_ABORT.but(
    name="kip-1289-small-abort",
    title="One record, an abort, and the next poll()",
    sentence="Processing fails after the record was staged; the next poll() should bring it again.",
    clause="KIP-1289, Pseudo code, 'Records will be re-delivered on next poll()'",
    spec=share_spec(share_app(max_records=1, program=programs.SHARE_ABORT), values=("a",)),
    designs=("repaired", "finding-F", "finding-X1"),
    question=None,
)

LAST_DELIVERY = SMALL_ABORT.but(
    name="kip-1289-small-last-delivery",
    title="An abort on the last delivery that a record has",
    sentence="The delivery count limit is reached when the transaction aborts: the record may be "
    "given up although nobody failed to process it.",
    clause="KIP-932, group.share.delivery.count.limit; KIP-1289, Test Plan",
    spec=SMALL_ABORT.spec.but(settings=BrokerSettings(delivery_count_limit=1)),
    designs=("repaired", "finding-M"),
    checkpoints=(SAW_STAGED, SAW_DELIVERED_TWICE),
)

REJECTED = Line(
    "producer.sendShareAcknowledgementsToTransaction(rejected, shareConsumer.shareGroupMetadata());",
    Call.SEND_SHARE_ACKNOWLEDGEMENTS,
    on_error=5,
    verdicts=((-1, AcknowledgeType.REJECT),),
)
# The loop without an output: the application finds the record useless and rejects it.
REJECT_LOOP: tuple[Line, ...] = (
    programs.INIT,
    Line(programs.SHARE_POLL, Call.POLL),
    Line("producer.beginTransaction();", Call.BEGIN_TRANSACTION, on_error=5),
    REJECTED,
    Line("producer.commitTransaction();", Call.COMMIT_TRANSACTION, then=1, on_error=5),
    programs.SHARE_CATCH.but(then=1),
)

REJECT_TWICE: tuple[Line, ...] = (
    *(line.but(on_error=-1) for line in REJECT_LOOP[:4]),
    programs.FAIL,
    *(line.but(on_error=-1, then=-1) for line in REJECT_LOOP[1:5]),
)

SMALL_REJECT = Scenario(
    "kip-1289-small-reject",
    "A transaction that only rejects a record",
    "The application puts nothing out: its transaction consists of one rejection.",
    "KIP-1289, State machine additions and javadoc",
    share_spec(share_app(max_records=1, program=REJECT_LOOP), values=("a",)),
    (*BEGIN[:3], *STAGE, *COMMIT, SHARE_MARKERS[1], *SHARE_MARKERS[2:]),
    ("app-1", "B1", "B5", "B7"),
    ("repaired", "finding-G"),
    watch=(
        Watch(3, "No record was sent: is there a transaction at all, and who knows of it?"),
        Watch(
            5,
            "The one participant is the state partition. Watch what REJECT makes of the record "
            "when the marker comes.",
        ),
    ),
    checkpoints=(SAW_STAGED, TOOK_CRASH),
)

SMALL_STEPWISE = SMALL.but(
    name="kip-1289-small-stepwise",
    title="One record, and replicas that are a step behind",
    sentence="A batch is on its leader first and on the replicas later, and the leader may be "
    "lost in between.",
    clause="KIP-1289, Flow - Share Group, 'Each broker handles the transaction markers'",
    spec=SMALL.spec.but(replication="stepwise"),
    beats=(
        *BEGIN,
        *STAGE,
        COMMIT[0],
        Beat(
            "commitTransaction() returns",
            "The replicas have the decision; now the coordinator answers.",
            (f"{DECISION} is replicated", *COMMIT[1].steps),
        ),
        Beat(
            "COMMIT marker in output-A-0",
            "It is on its leader and its replicas: the output is visible for good.",
            ("WriteTxnMarkers arrives at B3", "quiet but WriteTxnMarkers*"),
        ),
        Beat(
            "COMMIT marker on the share side, on one broker alone",
            "Broker 7 has the marker in its log, and no replica has it yet; the design says whether it answers.",
            ("WriteTxnMarkers arrives at B7", f"quiet but {STATE_BY_KEY} is replicated"),
        ),
        Beat(
            "Broker 7 dies with it",
            "Its successor has the log up to the vote. Only who was not answered sends the marker again.",
            ("B7 crashes", "quiet", "maybe B5 refreshes src-0", "quiet"),
        ),
    ),
    designs=("repaired", "finding-H"),
    watch=(
        Watch(6, "Nothing is safe before it is replicated: watch who is answered before that."),
        Watch(
            10,
            "Is my-txn complete at its coordinator, and is it open in the log of the state "
            "partition? Both at once is what must not be.",
        ),
    ),
    checkpoints=(SAW_STAGED, BROUGHT_TO_END),
)

HELD_MARKERS = "quiet but WriteTxnMarkers*"
NEXT_POLL = Beat(
    "consumer.poll() before the markers",
    "The application goes on at once. What it may have now depends on a marker that is on its way.",
    ("app-1 goes on", HELD_MARKERS),
)
MARKERS_AT_LAST = Beat(
    "The markers arrive",
    "The vote is resolved, and the share-partition goes on.",
    ("quiet", "maybe B5 refreshes src-0", "quiet"),
)
HELD_BACK = (
    Watch(7, "commitTransaction() has returned: what does the application believe it has done?"),
    Watch(8, "Look at the state of each offset: what can this poll() bring, and what not?"),
)

SMALL_HEAD = Scenario(
    "kip-1289-small-head-of-line",
    "One pending record holds up the ones behind it",
    "The span from the start offset to the last acquired record is limited: a vote at its front "
    "stops all that is behind it, whoever would process it.",
    "KIP-1289, state TX_PENDING; KIP-932, group.share.partition.max.record.locks",
    share_spec(share_app(max_records=1), values=("a", "b")).but(
        settings=BrokerSettings(record_locks_max=1)
    ),
    (*BEGIN, *STAGE, *COMMIT, NEXT_POLL, MARKERS_AT_LAST),
    ("app-1", "B1", "B5", "B7"),
    ("repaired", "as-written"),
    watch=HELD_BACK,
    checkpoints=(SAW_STAGED, TOOK_CRASH),
)

HALF_A_LOOP: tuple[Line, ...] = tuple(
    line.but(verdicts=((100, AcknowledgeType.REJECT),)) if line == REJECTED else line
    for line in REJECT_LOOP
)
SMALL_HALF = Scenario(
    "kip-1289-small-half-a-batch",
    "Half a batch is staged, and the next poll() speaks for all of it",
    "Two records are delivered and one of them is rejected in a transaction; the other one is the "
    "next poll()'s to speak for.",
    "KIP-1289, Pseudo code, 'if called mistakenly then non-transactional acknowledge is rejected'",
    share_spec(share_app(max_records=2, program=HALF_A_LOOP)),
    (*BEGIN[:3], *STAGE, *COMMIT, NEXT_POLL, MARKERS_AT_LAST),
    ("app-1", "B1", "B5", "B7"),
    ("repaired", "finding-R"),
    watch=tuple(note.but(beat=note.beat - 1) for note in HELD_BACK),
    checkpoints=(SAW_STAGED, SAW_DELIVERED_TWICE),
)

SMALL_MOVED = Scenario(
    "kip-1289-small-moved",
    "The share-partition has a new leader before the staging arrives",
    "The record was delivered by one broker and is staged at another one, which holds no lock.",
    "KIP-1289, NOT_LEADER_OR_FOLLOWER 'with CurrentLeader populated'",
    SMALL.spec,
    (
        *BEGIN,
        Beat(
            "src-0 gets another leader",
            "A planned move. The lock was in the memory of the old leader, and is gone with it.",
            ("src-0 moves to B3",),
        ),
        Beat(
            "sendShareAcknowledgementsToTransaction(acks, meta)",
            "The request goes to the new leader, as CurrentLeader would tell the client to.",
            ("app-1 goes on", "until TxnShareAcknowledge arrives at B3", "quiet"),
        ),
        Beat(
            "producer.commitTransaction() throws",
            "The new leader cannot stage what it never delivered: all that is left is to abort.",
            ("app-1 goes on",),
        ),
        Beat(
            "producer.abortTransaction(), and the loop again",
            "The work is done a second time, and nothing was wrong with the first.",
            ("app-1 goes on", "quiet", "app-1 goes on", "app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("repaired", "as-written"),
    watch=(
        Watch(4, "Where was the acquisition lock, and who knows of it now?"),
        Watch(5, "Being sent to the right leader does not help. What would the answer have to be?"),
    ),
    checkpoints=(
        SAW_DELIVERED_TWICE,
        BROUGHT_TO_END,
    ),
)

_POLL, _BEGIN, _SEND, _STAGED, _COMMIT = programs.SHARE_LOOP[1:6]
TWICE_LOOP: tuple[Line, ...] = (
    programs.INIT,
    _POLL,
    *(line.but(on_error=8) for line in (_BEGIN, _SEND)),
    _POLL,
    *(line.but(on_error=8) for line in (_SEND, _STAGED, _COMMIT)),
    programs.SHARE_LOOP[6],
)
ON = ("maybe app-1 goes on", "quiet")
SMALL_TWICE = Scenario(
    "kip-1289-small-twice-in-one",
    "poll() twice in one transaction",
    "The application polls again before it has staged what it put out: the record comes again, and "
    "its output is in the same transaction twice.",
    "KIP-1289, Pseudo code (finding X24)",
    share_spec(share_app(max_records=1, program=TWICE_LOOP), values=("a",)),
    (
        *BEGIN,
        Beat(
            "consumer.poll() again",
            "The output of record 100 is in the open transaction, and nobody was told what became "
            "of the record. Whether poll() may give it back is the question.",
            ("app-1 goes on", "quiet", "maybe app-1 goes on"),
        ),
        Beat(
            "producer.send() again",
            "If the record came again, it is processed again, in the same transaction.",
            ON,
        ),
        Beat("sendShareAcknowledgementsToTransaction(acks, meta)", "One vote, for one record.", ON),
        Beat("producer.commitTransaction()", "Whatever is in the transaction counts.", ON * 2),
        Beat(
            "transaction.timeout.ms",
            "A program that ended with its transaction open leaves it to the coordinator.",
            ("maybe my-txn times out", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("repaired", "finding-X24"),
    watch=(
        Watch(0, "Nothing fails here, and no accident is needed: count the outputs of record 100."),
        Watch(0, "Who could have refused the second output: a broker, the producer, nobody?"),
    ),
    checkpoints=(SAW_LSO, SAW_DELIVERED_TWICE),
)

TWO_POLLS_LOOP: tuple[Line, ...] = (
    programs.INIT,
    _POLL,
    *(line.but(on_error=9) for line in (_BEGIN, _SEND, _STAGED)),
    _POLL,
    *(line.but(on_error=9) for line in (_SEND, _STAGED, _COMMIT)),
    programs.SHARE_LOOP[6],
)
SMALL_TWO_POLLS = Scenario(
    "kip-1289-small-two-polls",
    "Several batches in one transaction, and a staging that is late",
    "The application stages each batch and polls on in the same transaction. The staging is still "
    "with the sender when the lock of its record runs out.",
    "KIP-1289, Public Interfaces, 'returns after enqueueing' (finding X25)",
    share_spec(share_app(max_records=1, program=TWO_POLLS_LOOP), values=("a",)),
    (
        *BEGIN,
        Beat(
            "sendShareAcknowledgementsToTransaction(acks, meta)",
            "The call returns at once: TxnShareAcknowledge waits for the sender.",
            ("app-1 goes on",),
        ),
        Beat(
            "consumer.poll() again",
            "Every record of the batch is handed to the producer, none is staged yet. Watch whether "
            "poll() waits for that.",
            (
                "maybe app-1 goes on",
                "maybe app-1/consumer sends ShareFetch",
                "maybe ShareFetch arrives at B5",
            ),
        ),
        Beat(
            "The lock of record 100 runs out",
            "The broker has heard of no staging: the record is free, for whoever fetches.",
            ("the lock of src-0@100 runs out", "quiet but app-1/producer sends*"),
        ),
        Beat(
            "TxnShareAcknowledge arrives",
            "It names the member and the record, and not which delivery of it.",
            ("quiet",),
        ),
        Beat(
            "The loop goes on",
            "With what poll() brings, if the transaction is still good.",
            ON * 3,
        ),
        Beat("producer.commitTransaction(), or abortTransaction()", "The end of it.", ON * 2),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("repaired", "finding-X25"),
    watch=(
        Watch(5, "poll() and the staging go to one broker over two connections: who is first?"),
        Watch(
            8,
            "M1 holds record 100, and M1 staged it. Is that the same delivery? Count the outputs.",
        ),
    ),
    checkpoints=(SAW_DELIVERED_TWICE, TOOK_CRASH),
)

# Two transactions of nothing but a rejection, one after the other: the smallest cluster in which a
# marker of the first can find a vote of the second.
SMALL_LATE = Scenario(
    "kip-1289-small-late-marker",
    "A late marker with the epoch of the next vote",
    "The coordinator gives a marker up and sends it again. The first copy arrives when the next "
    "transaction has staged the record, at the very epoch that the marker has.",
    "KIP-1289, Corner cases, 5 and 14; KIP-1228 (strict epochs of markers)",
    SMALL_REJECT.spec.but(
        applications=(share_app(max_records=1, program=REJECT_TWICE),),
        budget=PLAYGROUND.but(request_timeout=3),
    ),
    (
        *BEGIN[:3],
        *STAGE,
        Beat(
            "producer.abortTransaction(): the marker is on its way",
            "Epoch 0 is over: the decision and its marker have epoch 1. WriteTxnMarkers is on the wire "
            "to Broker 7.",
            ("app-1 goes on", "quiet but WriteTxnMarkers arrives at B7", "app-1 goes on"),
        ),
        Beat(
            "Broker 1 gives the request up and repeats it",
            "The second copy is applied, the transaction is complete, the record is free.",
            ("B1/markers gives up on B7", "quiet", "maybe B5 refreshes src-0", "quiet"),
        ),
        Beat(
            "The record again, staged in the next transaction",
            "Its vote has epoch 1: that of the marker which is still on its way.",
            (
                "app-1 goes on",
                "quiet",
                "maybe B5 refreshes src-0",
                "quiet",
                "app-1 goes on",
                "app-1 goes on",
                "app-1 goes on",
                "quiet",
            ),
        ),
        Beat(
            "The first copy of the marker arrives",
            "ABORT with epoch 1, and the log is open at epoch 1: INVALID_PRODUCER_EPOCH. It does not come "
            "to the question whose vote it fits.",
            ("late WriteTxnMarkers arrives at B7", "quiet"),
        ),
        Beat(
            "commitTransaction()",
            "The honest marker has epoch 2, and the rejection counts.",
            ("app-1 goes on", "quiet", "app-1 goes on", "maybe B5 refreshes src-0", "quiet"),
        ),
    ),
    ("app-1", "B1", "B5", "B7"),
    ("repaired",),
    watch=(
        Watch(
            8,
            "Compare three epochs: of the vote, of the late marker, and of the transaction that is open "
            "in __share_group_state.",
        ),
        Watch(
            8, "Who refuses the marker: the slot marker_epoch, or a rule that Kafka has already?"
        ),
    ),
    checkpoints=(
        SAW_STAGED,
        SAW_LATE_REQUEST,
    ),
)

STORIES: tuple[Scenario, ...] = (
    SMALL_TOGETHER,
    SMALL_ABORT,
    LAST_DELIVERY,
    SMALL_REJECT,
    SMALL_STEPWISE,
    SMALL_HEAD,
    SMALL_HALF,
    SMALL_MOVED,
    SMALL_TWICE,
    SMALL_TWO_POLLS,
    SMALL_LATE,
)
