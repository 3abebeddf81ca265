"""KIP-939: where a two-phase commit is allowed at all, and which epochs a kept transaction takes."""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings
from kipviz.cluster.spec import Placement
from kipviz.messages.two_phase import NO_TIME_LIMIT
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.records.transaction_state import TransactionRecord, TransactionState
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_COMPLETE_EVERYWHERE,
    SAW_FATAL,
    SAW_LATE_REQUEST,
    SAW_LSO,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import CALL, of
from kipviz.scenarios.stories.kip_939 import (
    DEATH,
    DECIDE,
    DUAL_WRITER,
    INSERT,
    LANES,
    PREPARE,
    RECOVER,
    SPEC,
    START,
    WRITE,
)
from kipviz.scenarios.stories.kip_939_database import KEPT, PREPARED
from kipviz.scenarios.stories.setting import TRANSACTIONAL_ID, home

GO = "app-1 goes on"
UP_TO_DEATH = Beat(
    "A dual write, and app-1 dies behind the decision",
    "The row and the text 9:0 are in the database, Kafka's transaction 9:0 is open and prepared.",
    tuple(step for beat in (*START, WRITE, PREPARE, INSERT, DECIDE, DEATH) for step in beat.steps),
)

# -- a late copy of the end of a kept transaction ------------------------------------------------

LATE_END = Scenario(
    "kip-939-late-end",
    "A late copy of the commit of a kept transaction",
    "The next process commits what was kept, gives the request up and sends it again. The first copy arrives in "
    "the middle of the next transaction, before the database has decided that one.",
    "KIP-939, completion of a kept transaction (draft, pull request 21735)",
    SPEC.but(records=(("src-0", 0, ("a", "b")),), budget=SPEC.budget.but(request_timeout=2)),
    (
        UP_TO_DEATH,
        RECOVER,
        Beat(
            "completeTransaction(): the request is given up",
            "EndTxn with 9:1 is on the wire, and the connection is bad. The producer closes it. What was written "
            "to the socket is not gone.",
            (GO, "app-1/producer sends EndTxn", "app-1/producer gives up on B1"),
        ),
        Beat(
            "It is sent again, and commits",
            "Both stores have the first record. The transaction is closed at the epoch above 1: whoever speaks of "
            "9:1 from now on speaks of the past.",
            ("quiet", GO, "quiet"),
        ),
        Beat(
            "The next dual write, up to prepareTransaction()",
            "The second record is in output-A-0. Nothing of it is in the database.",
            (GO, *CALL, GO, GO, "quiet", GO, GO),
        ),
        Beat(
            "The first copy arrives",
            "EndTxn 9:1, commit. It has to find nothing: the database has not decided.",
            ("late EndTxn arrives at B1", "quiet"),
        ),
        Beat(
            "app-1 dies before database.commit()",
            "The next process asks the database, which does not know the transaction, so it is to be aborted, if that "
            "can still be done.",
            ("app-1 crashes", "quiet", "app-1 starts", *CALL, GO, "quiet", "maybe app-1 goes on"),
        ),
    ),
    LANES,
    ("kip-939", "kip-939+kept_completion=as_kept"),
    Question(
        5,
        "A commit of 9:1 arrives late, while another transaction of this producer is prepared. What keeps it from "
        "committing that one?",
        (
            Choice("the coordinator remembers requests", False, "It remembers identities alone."),
            Choice(
                "the next transaction has a higher epoch than the one that ended the last",
                True,
                "Right: keeping took one epoch, and completing takes another one.",
            ),
            Choice("prepared transactions are told apart", False, "For Broker 1 both are ONGOING."),
        ),
    ),
    watch=(
        Watch(3, "Which epoch has COMPLETE_COMMIT? Compare it with that of the EndTxn."),
        Watch(
            5,
            "Play it with kept_completion=as_kept, too: there the next transaction is 9:1 itself.",
        ),
    ),
    checkpoints=(
        KEPT,
        SAW_LATE_REQUEST,
        SAW_COMPLETE_EVERYWHERE,
    ),
)

# -- the last epoch ------------------------------------------------------------------------------

ALMOST_USED_UP = TransactionRecord(
    TRANSACTIONAL_ID,
    5,
    32765,
    TransactionState.COMPLETE_COMMIT,
    timeout_ms=NO_TIME_LIMIT,
    client_transaction_version=2,
)
LAST_EPOCH = Scenario(
    "kip-939-last-epoch",
    "A kept transaction at the last epoch of its producer id",
    "Whoever keeps a transaction gets the next epoch, and there is none any more. The transaction goes on with "
    "one producer id and is ended by another one.",
    "KIP-939 with the epoch overflow of KIP-890 (draft, pull request 21735)",
    SPEC.but(transactions=(ALMOST_USED_UP,)),
    (
        UP_TO_DEATH.but(
            say="initTransactions() gave out epoch 32766 of producer id 5, the last one that a client may have. The "
            "row and the text 5:32766 are in the database; Kafka's transaction is open and prepared.",
        ),
        RECOVER.but(
            say="Broker 1 keeps 5:32766, and takes a fresh producer id for whoever ends it, because 32767 is its own. "
            "That is logged in the record of the open transaction, and the answer has both.",
        ),
        Beat(
            "completeTransaction(database.state())",
            "EndTxn with the fresh producer id and epoch 0. The marker has producer id 5 and epoch 32767: a log "
            "knows the data by that id.",
            (GO, "until WriteTxnMarkers arrives at B3"),
        ),
        Beat(
            "Both stores have it",
            "COMPLETE_COMMIT is logged under the fresh id, at epoch 1. Producer id 5 is done for good.",
            ("quiet", GO, GO, GO, "quiet"),
        ),
    ),
    LANES,
    ("kip-939",),
    Question(
        2,
        "The database has 5:32766. The producer that is to complete it has another producer id. Does it commit?",
        (
            Choice("no: 5:32766 is not its identity", False, "It compares with what was kept."),
            Choice(
                "yes: the answer told it the identity of what was kept",
                True,
                "Right: two identities stand in the answer, and they need not have one producer id.",
            ),
        ),
    ),
    watch=(
        Watch(
            1, "Look at the record of my-txn: a producer id, and a next one, while it is ONGOING."
        ),
        Watch(2, "Compare the identities of EndTxn, of the marker, and of the data."),
    ),
    checkpoints=(KEPT, SAW_LSO, SAW_COMPLETE_EVERYWHERE),
)

# -- where it is allowed ---------------------------------------------------------------------------

ASKS = DUAL_WRITER.but(program=programs.COPY, database=False)
PLAIN = ASKS.but(
    name="app-2",
    transactional_id="my-txn-2",
    group_id="other",
    member_id="C2",
    two_phase_commit=False,
)
OF_THE_SECOND = Placement(home(TRANSACTION_STATE, "my-txn-2"), 3, (1,))
RELEASED = DUAL_WRITER.but(program=programs.DUAL_WRITE_RELEASED)
NOT_ALLOWED = Scenario(
    "kip-939-not-allowed",
    "TransactionalIdAuthorizationException, and no ACL is missing",
    "transaction.two.phase.commit.enable is false on the brokers, as Kafka sets it. A producer that asks for no "
    "time limit is refused as if it had no right to its name.",
    "KIP-939, transaction.two.phase.commit.enable of brokers; shipped",
    SPEC.but(
        settings=BrokerSettings(two_phase_commit_enable=False),
        placements=(*SPEC.placements, OF_THE_SECOND),
        applications=(ASKS, PLAIN),
    ),
    (
        Beat(
            "producer.initTransactions() with Enable2Pc",
            "There are no ACLs in this cluster at all. The answer is TRANSACTIONAL_ID_AUTHORIZATION_FAILED, which is "
            "fatal, and nothing is logged for my-txn.",
            CALL,
        ),
        Beat(
            "app-2 asks for an ordinary transaction",
            "It has a time limit, so it is served.",
            of("app-2", CALL),
        ),
        Beat(
            "app-2 does its work",
            "One record, one commit.",
            of("app-2", (*CALL, GO, GO, "quiet", *CALL, "quiet")),
        ),
        Beat(
            "app-1 is started again",
            "The same answer: a restart changes no setting of a broker.",
            ("app-1 crashes", "app-1 starts", *CALL),
        ),
    ),
    ("app-1", "app-2", "B1", "B3"),
    ("kafka",),
    Question(
        3,
        "app-1 may not have its transactional id, says the error. What has to be changed?",
        (
            Choice("an ACL: WRITE on my-txn", False, "No ACL is missing, and none would help."),
            Choice(
                "a setting of the brokers, or Enable2Pc of the producer",
                True,
                "Right: this error has three causes, and the message does not tell which.",
            ),
            Choice("the transactional id", False, "Any other one is refused, too."),
        ),
    ),
    watch=(
        Watch(0, "The error names a right. What would you look at first, and would it help?"),
        Watch(
            2,
            "The switch is there because a transaction without a time limit can hold readers for ever.",
        ),
    ),
    checkpoints=(
        SAW_FATAL,
        SAW_COMPLETE_EVERYWHERE,
    ),
)

# -- below transaction version 2 -------------------------------------------------------------------

KEEPS = DUAL_WRITER.but(name="app-2", transactional_id="my-txn-2", group_id="other", member_id="C2")
VERSION_1 = Scenario(
    "kip-939-version-1",
    "A two-phase commit under transaction version 1",
    "Kafka 4.4.0 does not ask for a transaction version when a producer wants no time limit. To keep what is "
    "prepared it serves under none.",
    "KIP-939, transaction versions; shipped, but for keepPreparedTxn",
    SPEC.but(placements=(*SPEC.placements, OF_THE_SECOND), applications=(RELEASED, KEEPS)),
    (
        Beat(
            "app-2: initTransactions(true)",
            "KeepPreparedTxn is answered with UNSUPPORTED_VERSION, as under version 2, whether there is anything to "
            "keep or not.",
            of("app-2", CALL),
        ),
        Beat(
            "app-1: initTransactions()",
            "Enable2Pc alone is served: producer id and epoch, and no time limit.",
            CALL,
        ),
        Beat(
            "poll(), beginTransaction(), send()",
            "Under version 1 the client adds the partition itself, before the batch.",
            (GO, *CALL, GO, GO, "quiet"),
        ),
        Beat(
            "prepareTransaction(), database.commit()",
            "The state of the prepared transaction is in the database with the row.",
            (GO, GO, GO, GO),
        ),
        Beat(
            "completeTransaction(state)",
            "EndTxn in version 4: the epoch is not bumped, so the next transaction has the same identity, and the "
            "same text in the database.",
            (GO, "quiet", GO, "quiet"),
        ),
    ),
    ("app-1", "app-2", "B1", "B3"),
    ("kafka-tv1",),
    Question(
        4,
        "Under version 1 every transaction of a producer has one epoch. What does the text of the next prepared "
        "transaction look like?",
        (
            Choice(
                "the same as that of this one", True, "Right: a database could not tell them apart."
            ),
            Choice("it has the next epoch", False, "That is what version 2 brings."),
        ),
    ),
    watch=(
        Watch(0, "The client asks and is refused before anything of my-txn-2 is looked up."),
        Watch(4, "Compare the epoch of the marker with that of the data: they are the same here."),
    ),
    checkpoints=(PREPARED, SAW_COMPLETE_EVERYWHERE),
)

STORIES: tuple[Scenario, ...] = (LATE_END, LAST_EPOCH, NOT_ALLOWED, VERSION_1)
