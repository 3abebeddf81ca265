"""KIP-1310 5 to 7: old and new side by side, what a bound producer refuses, who may do what, who is alive."""

from __future__ import annotations

from kipviz.brokers.authorizer import Acl, Operation, Resource
from kipviz.clients.application import Call, Line
from kipviz.cluster.session_config import SESSION, SessionSpec
from kipviz.scenarios import programs
from kipviz.scenarios import session_programs as sessions
from kipviz.scenarios.material import (
    BROUGHT_TO_END,
    SAW_FATAL,
    SAW_LSO,
    SAW_REFUSED,
    TOOK_TIME_OUT,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import FIRST_ROUND, NEXT_ROUND, of
from kipviz.scenarios.stories.kip_11 import taken
from kipviz.scenarios.stories.kip_1310_beats import with_session
from kipviz.scenarios.stories.kip_1310_open import TURN, group_cluster
from kipviz.scenarios.stories.setting import GROUP, PLAYGROUND, TRANSACTIONAL_ID, group_app

GO = "app-1 goes on"
LANES = ("app-1", "B1", "B3", "B4")
DESIGNS = ("repaired", "kip-1310")

# -- an old release and a new one ----------------------------------------------------------------

OLD = group_app(program=programs.COPY)
NEW = with_session(OLD, sessions.COPY).but(name="app-2", group_id="other", member_id="C2")
ITS_TURN = of("app-2", TURN)
MIXED = Scenario(
    "kip-1310-mixed",
    "A release with a session takes over from one with a producer",
    "app-1 runs the old release, a KafkaProducer with transactional.id = my-txn. app-2 runs the new one, where "
    "a TransactionSession has that name. Nothing but the name is on the wire.",
    "KIP-1310 1.1, 5.1, 7 Mixed Mode, 7 Epoch Fencing",
    group_cluster(("a", "b"), OLD, NEW),
    (
        Beat(
            "The old release is in a transaction",
            "app-1 has producer id 9, epoch 0, and its records are in output-A-0.",
            FIRST_ROUND,
        ),
        Beat(
            "app-2: session.initialize()",
            "InitProducerId with the name my-txn. Broker 1 cannot tell that it comes from a session: it aborts "
            "what is open, and app-2 gets the next epoch but one.",
            ITS_TURN,
        ),
        Beat(
            "The old release wants to commit",
            "EndTxn with epoch 0: ProducerFencedException. A session fences a producer, as a producer does.",
            TURN,
        ),
        Beat(
            "The new release does the work",
            "The session begins, the bound producer sends the same records, the session commits.",
            (*of("app-2", NEXT_ROUND), *ITS_TURN, "quiet"),
        ),
    ),
    ("app-1", "app-2", "B1", "B3"),
    DESIGNS,
    Question(
        1,
        "app-1 has its transaction in a producer, app-2 in a session. What does Broker 1 make of that?",
        (
            Choice("two transactions, one of each kind", False, "One name has one transaction."),
            Choice(
                "one owner after the other",
                True,
                "Right: no request has a type of client, so an application can be rewritten and rolled.",
            ),
            Choice("UNSUPPORTED_VERSION", False, "The requests are those of today."),
        ),
    ),
    watch=(
        Watch(1, "Compare the two InitProducerId, field by field."),
        Watch(2, "What the way back looks like: start the old release again, and it fences app-2."),
    ),
    checkpoints=(
        SAW_FATAL,
        BROUGHT_TO_END,
    ),
)

# -- what a bound producer refuses ---------------------------------------------------------------


HALF_REWRITTEN: tuple[Line, ...] = (
    *sessions.TWICE[:5],
    Line("producer.commitTransaction(); // as before", Call.COMMIT_TRANSACTION),
)
BOUND = Scenario(
    "kip-1310-bound-calls",
    "A bound producer refuses to commit",
    "A program was rewritten for a session, and one old call was left: producer.commitTransaction(). It throws, "
    "and nobody has ended the transaction.",
    "KIP-1310 2.3, 7 Producer Fencing, 7 Session Lifecycle",
    group_cluster(("a", "b"), with_session(group_app(max_records=1), HALF_REWRITTEN)),
    (
        Beat("session.initialize(), poll()", "READY, and one record.", (*TURN, *TURN)),
        Beat(
            "session.beginTransaction(), producer.send(), session.sendOffsetsToTransaction()",
            "IN_TRANSACTION. The record goes out by the producer, the offset by the session.",
            (GO, GO, "quiet", *TURN),
        ),
        Beat(
            "producer.commitTransaction()",
            "IllegalStateException: the life cycle is the session's. No EndTxn is sent, and the program is over. "
            "The transaction is as open as before.",
            (GO,),
        ),
        Beat(
            "The process is started again",
            "session.initialize() aborts what is open, and readers of output-A-0 go on.",
            ("app-1 crashes", "quiet", "app-1 starts", *TURN),
        ),
        Beat(
            "The same record, and the same exception",
            "Nothing is lost and nothing is doubled. Nothing gets done, either.",
            (*TURN, GO, GO, "quiet", *TURN, GO),
        ),
    ),
    LANES,
    DESIGNS,
    Question(
        2,
        "producer.commitTransaction() will throw. What becomes of the transaction?",
        (
            Choice("it is aborted", False, "An exception of the producer is no request."),
            Choice(
                "it stays open until a session ends it, or its time is over",
                True,
                "Right: the call has not touched the session.",
            ),
            Choice("it is committed", False, "Only a session sends EndTxn."),
        ),
    ),
    watch=(
        Watch(2, "No arrow. Compare the last stable offset of output-A-0 with its high watermark."),
        Watch(3, "Who aborts? The session's identity is new, its name is the old one."),
    ),
    checkpoints=(
        SAW_LSO,
        Checkpoint("saw the last stable offset set free", "lso set free"),
        Checkpoint("saw a call throw", "call threw"),
    ),
)

# -- the table of rights, taken at its word --------------------------------------------------------

WORKER = "app-1"
OF_THE_GROUP = Acl(WORKER, Operation.READ, Resource.GROUP, GROUP)
BY_THE_TABLE = (
    Acl(WORKER, Operation.WRITE, Resource.TRANSACTIONAL_ID, TRANSACTIONAL_ID),
    Acl(WORKER, Operation.WRITE, Resource.TOPIC, "output-A"),
    Acl(WORKER, Operation.READ, Resource.TOPIC, "src"),
    Acl(WORKER, Operation.DESCRIBE, Resource.GROUP, GROUP),
)
RIGHTS = Scenario(
    "kip-1310-rights",
    "The rights of the page's table are given, and sendOffsetsToTransaction() throws",
    "Section 3.3 lets a session send TxnOffsetCommit, and section 6.1, the table of rights, does not have that "
    "request. An operator goes by the table.",
    "KIP-1310 6.1 against 3.3; KIP-98, ACLs",
    group_cluster(("a", "b"), with_session(group_app(), sessions.UNNAMED)).but(
        acls=(*BY_THE_TABLE, OF_THE_GROUP), budget=PLAYGROUND.but(acls=4)
    ),
    (
        Beat(
            "The operator takes away what the table does not name",
            "WRITE of my-txn and of output-A stay, and what the consumer needs: READ of src, DESCRIBE of its "
            "group. READ of the group goes.",
            (taken(OF_THE_GROUP),),
        ),
        Beat(
            "session.initialize(), poll(), begin, send()",
            "Each of these requests is in the table, and allowed.",
            (*TURN, *TURN, GO, GO, "quiet"),
        ),
        Beat(
            "session.sendOffsetsToTransaction() throws",
            "TxnOffsetCommit needs READ of the group: GROUP_AUTHORIZATION_FAILED. The transaction can only be "
            "aborted.",
            (GO, "quiet", GO),
        ),
        Beat("session.abortTransaction()", "The records are aborted.", (*TURN, "quiet")),
    ),
    LANES,
    DESIGNS,
    Question(
        2,
        "A session has WRITE of its name and of the topic. Which of its requests will be refused?",
        (
            Choice("InitProducerId", False, "WRITE of the name is enough for it."),
            Choice("Produce", False, "The producer has WRITE of the topic and of the name."),
            Choice(
                "TxnOffsetCommit",
                True,
                "Right: it names a group, and the table of 6.1 does not name it.",
            ),
        ),
    ),
    watch=(
        Watch(0, "Five ACLs, one deleted. Nobody is told."),
        Watch(2, "Whose state changes: the session's, or the producer's?"),
    ),
    checkpoints=(SAW_REFUSED, SAW_LSO, BROUGHT_TO_END),
)

# -- heartbeats by hand ----------------------------------------------------------------------------

BY_HAND: tuple[Line, ...] = (
    *sessions.COPY[:4],
    Line("session.heartbeat(); // between two pieces of long work", Call.HEARTBEAT, client=SESSION),
    Line("session.heartbeat(); // and once more", Call.HEARTBEAT, client=SESSION),
    sessions.COMMIT,
)
HEARTBEATS = Scenario(
    "kip-1310-heartbeat-by-hand",
    "session.heartbeat() does not prolong a transaction",
    "The application knows that its work takes long, so it says itself, between two pieces of it, that it is "
    "there. Its transaction.timeout.ms is as Kafka has it: one minute.",
    "KIP-1310 2.1 heartbeat(), 2.2; KIP-1309",
    group_cluster(
        ("a", "b"),
        with_session(group_app(), BY_HAND).but(session=SessionSpec(session_timeout_ms=9_000)),
    ),
    (
        Beat(
            "session.initialize(), poll(), begin, send()",
            "A transaction is open at Broker 1. Two clocks run for it: three intervals without a heartbeat, and "
            "transaction.timeout.ms.",
            FIRST_ROUND,
        ),
        Beat(
            "session.heartbeat()",
            "TxnHeartbeat goes to Broker 1, which waits for three intervals from here on. Nothing is logged, and the "
            "other clock is not set back.",
            (GO, "quiet"),
        ),
        Beat("session.heartbeat() once more", "The same. The work goes on.", (GO, "quiet")),
        Beat(
            "transaction.timeout.ms is over",
            "The owner was heard of a moment ago, and its transaction is aborted and its epoch fenced.",
            ("my-txn times out", "quiet"),
        ),
        Beat(
            "session.commitTransaction() throws",
            "INVALID_TXN_STATE: what it wants to commit is aborted. The work was for nothing.",
            TURN,
        ),
    ),
    LANES,
    DESIGNS,
    Question(
        3,
        "The session has beaten twice while its application worked. When will Broker 1 abort the transaction?",
        (
            Choice(
                "when transaction.timeout.ms is over, counted from the beginning",
                True,
                "Right: a heartbeat can only shorten the waiting for a dead owner, never lengthen it.",
            ),
            Choice(
                "three intervals after the last heartbeat",
                False,
                "Only if the minute is not over before.",
            ),
            Choice("never, while somebody beats", False, "transaction.timeout.ms stays."),
        ),
    ),
    watch=(
        Watch(1, "Look at the coordinator before and after: not a field has changed."),
        Watch(
            3,
            "What would have helped: a longer transaction.timeout.ms, and heartbeats for the dead.",
        ),
    ),
    checkpoints=(SAW_LSO, TOOK_TIME_OUT),
)

STORIES: tuple[Scenario, ...] = (MIXED, BOUND, RIGHTS, HEARTBEATS)
