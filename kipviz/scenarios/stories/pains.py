"""What users of transactions run into, as stories; `kipviz.scenarios.pains` is the index of it."""

from __future__ import annotations

from kipviz.brokers.authorizer import Acl, Operation, Resource
from kipviz.cluster.spec import ClusterSpec
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_COMPLETE_EVERYWHERE,
    SAW_FATAL,
    SAW_LSO,
    TOOK_ANY_TIME_OUT,
    TOOK_CRASH,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import FIRST_ROUND, of
from kipviz.scenarios.stories.setting import (
    GROUP_PLACEMENTS,
    PLAYGROUND,
    READER_PLACEMENT,
    READER_TOPIC_ID,
    TOPIC_IDS,
    group_app,
    reader_of,
)

SAW_MARKER = Checkpoint("saw a marker set the readers free", "marker in the output")

WRITER = group_app(program=programs.COPY)
SECOND = WRITER.but(name="app-2", group_id="other", member_id="C2")
SPEC = ClusterSpec(
    (1, 3, 4, 5), GROUP_PLACEMENTS, (WRITER,), (("src-0", 100, ("a", "b")),), TOPIC_IDS, PLAYGROUND
)
READER = reader_of(WRITER)
READING = SPEC.but(
    placements=(*GROUP_PLACEMENTS, READER_PLACEMENT),
    topic_ids=(*TOPIC_IDS, READER_TOPIC_ID),
)


def starts(name: str) -> tuple[str, ...]:
    """Play initTransactions(), poll(), beginTransaction() and send() of an application."""
    return of(name, FIRST_ROUND)


TWO_INSTANCES = Scenario(
    "pain-two-instances",
    "Fenced right after a deployment",
    "The new version is up before the old one is gone, and both have the same transactional.id.",
    "KIP-98, zombie fencing; KIP-890, epoch per transaction",
    SPEC.but(applications=(WRITER.but(program=programs.COPY_TWICE), SECOND)),
    (
        Beat(
            "The old instance is in a transaction",
            "app-1 has producer id 9, epoch 0. It has sent one batch, and is not done.",
            starts("app-1"),
        ),
        Beat(
            "The new instance starts",
            "app-2 calls initTransactions() with the same transactional.id. Broker 1 aborts what is "
            "open and gives app-2 the next epoch but one: the markers have used one.",
            ("app-2 goes on", "quiet", "app-2 goes on"),
        ),
        Beat(
            "The old instance sends: InvalidProducerEpochException",
            "The ABORT marker has brought epoch 1 to the log, and this batch has epoch 0. For a "
            "batch that is an abortable error.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "It aborts: ProducerFencedException",
            "The coordinator is asked with epoch 0, too. There the error is fatal: this producer "
            "can only be closed.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "The new instance goes on",
            "Nothing is lost: the records of the old transaction are aborted, and app-2 reads the "
            "same source records.",
            (*starts("app-2")[3:], "app-2 goes on", "quiet", "app-2 goes on"),
        ),
    ),
    ("app-1", "app-2", "B1", "B3"),
    ("kafka",),
    Question(
        1,
        "app-2 has got its identity. What becomes of the transaction that app-1 has open?",
        (
            Choice("it goes on beside the new one", False, "One name has one transaction."),
            Choice("it is aborted", True, "Right: before app-2 gets any epoch at all."),
        ),
    ),
    watch=(
        Watch(
            1,
            "Watch app-2 be told CONCURRENT_TRANSACTIONS until the ABORT marker is in output-A-0.",
        ),
        Watch(
            2,
            "Watch the epochs: 0 in app-1, 1 in the log, 2 in app-2. The log refuses what is below "
            "its own.",
        ),
    ),
    checkpoints=(SAW_COMPLETE_EVERYWHERE, TOOK_ANY_TIME_OUT),
)

TIMED_OUT = Scenario(
    "pain-timed-out",
    "Fenced, although only one instance runs",
    "Processing takes longer than transaction.timeout.ms. The coordinator aborts the transaction, "
    "and the application finds out when it commits.",
    "KIP-98, transaction.timeout.ms; KIP-890 part 2",
    SPEC,
    (
        Beat(
            "A transaction is open, and the work takes long",
            "A slow computation, a long garbage collection, a state store that is restored.",
            starts("app-1"),
        ),
        Beat(
            "transaction.timeout.ms is over",
            "Broker 1 aborts the transaction and bumps the epoch. The application is not told.",
            ("my-txn times out", "quiet"),
        ),
        Beat(
            "commitTransaction() throws InvalidTxnStateException",
            "The coordinator has epoch 1 and an abort, and is asked to commit epoch 0. Kafka 4.4.0 "
            "says INVALID_TXN_STATE, which ends the producer; later releases say PRODUCER_FENCED.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "The process is started again",
            "A new producer with the same name gets the next epoch, and nothing of the lost "
            "transaction is ever seen by a read_committed consumer.",
            ("app-1 crashes", "app-1 starts", *starts("app-1"), "app-1 goes on", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("kafka",),
    Question(
        1,
        "The transaction was aborted by the coordinator. Which call of the application would survive?",
        (
            Choice("commitTransaction()", False, "It is told INVALID_TXN_STATE, which is fatal."),
            Choice(
                "abortTransaction()",
                True,
                "Right: under transaction version 2 an abort of what is aborted succeeds, and "
                "brings the new epoch.",
            ),
        ),
    ),
    watch=(
        Watch(1, "Watch the epoch at Broker 1 go to 1 while app-1 still believes in epoch 0."),
        Watch(2, "Watch the producer's state: FATAL_ERROR. Only a new producer helps."),
    ),
    checkpoints=(SAW_COMPLETE_EVERYWHERE, TOOK_CRASH),
)

DID_IT_COMMIT = Scenario(
    "pain-did-it-commit",
    "commitTransaction() timed out: did it commit?",
    "The answer to EndTxn is lost on its way. The application does not know what became of its "
    "transaction, and must not guess.",
    "KIP-98, EndTxnRequest; KIP-890 part 2, retries of EndTxn",
    SPEC,
    (
        Beat("A transaction is ready", "Its records are in output-A-0.", starts("app-1")),
        Beat(
            "EndTxn arrives, the answer does not",
            "Broker 1 has logged PREPARE_COMMIT: the transaction is decided. Then the connection "
            "breaks, with the answer on it.",
            ("app-1 goes on", "until EndTxn arrives at B1", "app-1/producer loses B1"),
        ),
        Beat(
            "The same question again",
            "The client asks with the epoch from before. The stored epoch is one above it and the "
            "outcome is the same: this is a repetition, and the answer is success.",
            ("quiet", "app-1 goes on"),
        ),
        Beat(
            "The next transaction",
            "It has the epoch that the lost answer had brought.",
            ("app-1 goes on", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("kafka",),
    Question(
        1,
        "The answer to a commit is lost. What may the application do?",
        (
            Choice(
                "abort, to be on the safe side",
                False,
                "It may be committed already: the coordinator says INVALID_TXN_STATE.",
            ),
            Choice(
                "commit again",
                True,
                "Right: commitTransaction() can be called again, and only that says what it was.",
            ),
        ),
    ),
    watch=(
        Watch(1, "Watch my-txn: PREPARE_COMMIT is durable, whatever the application knows."),
        Watch(2, "Watch the second EndTxn: epoch 0 against the stored epoch 1."),
    ),
    checkpoints=(SAW_COMPLETE_EVERYWHERE, TOOK_CRASH),
)

STUCK_IN_PREPARE = Scenario(
    "pain-concurrent-for-ever",
    "CONCURRENT_TRANSACTIONS for ever",
    "The transaction is decided, but one partition has no leader to take its marker. Nobody with "
    "this name can begin anything until it has.",
    "KIP-98, WriteTxnMarkerRequest and completion",
    SPEC.but(
        placements=tuple(
            p.but(others=()) if p.partition == "output-A-0" else p for p in GROUP_PLACEMENTS
        )
    ),
    (
        Beat("A transaction is ready", "Its records are in output-A-0.", starts("app-1")),
        Beat(
            "The commit is decided, and Broker 3 is lost",
            "It has the only replica of output-A-0. Nobody leads the partition, and its marker "
            "waits at Broker 1. There is no time limit for that.",
            ("app-1 goes on", "until EndTxn arrives at B1", "B3 crashes", "quiet", "app-1 goes on"),
        ),
        Beat(
            "A new instance asks, and asks again",
            "The application was started again. InitProducerId is answered with "
            "CONCURRENT_TRANSACTIONS as long as the transaction before is in PREPARE_COMMIT.",
            (
                "app-1 crashes",
                "app-1 starts",
                "app-1 goes on",
                "app-1/producer sends InitProducerId",
                "InitProducerId arrives at B1",
                "InitProducerIdResponse arrives at app-1/producer",
                "app-1/producer sends InitProducerId",
                "InitProducerId arrives at B1",
                "InitProducerIdResponse arrives at app-1/producer",
            ),
        ),
        Beat(
            "Broker 3 comes back",
            "The marker is written, the transaction is complete, and the next question is answered.",
            ("B3 starts", "quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("kafka",),
    Question(
        1,
        "The transaction is in PREPARE_COMMIT. What does transaction.timeout.ms do for it?",
        (
            Choice("it aborts the transaction", False, "It is decided: it can only commit."),
            Choice("nothing", True, "Right: only ONGOING can time out."),
        ),
    ),
    watch=(
        Watch(1, "Watch the commit succeed for the application although a marker is missing."),
        Watch(2, "Watch the same question and the same answer go back and forth."),
    ),
    checkpoints=(SAW_COMPLETE_EVERYWHERE, TOOK_ANY_TIME_OUT),
)

INIT_RACE = Scenario(
    "pain-init-race",
    "The new producer is fenced by the old one",
    "Two instances start at the same time. The request of the older one is held up, arrives last, "
    "and so the older one wins.",
    "KIP-98, InitPidRequest",
    SPEC.but(applications=(WRITER, SECOND)),
    (
        Beat(
            "The old instance asks, and its request is held up",
            "app-1 calls initTransactions(). The network between it and Broker 1 fails.",
            ("app-1 goes on", "app-1/producer sends InitProducerId", "B1 and app-1 are cut apart"),
        ),
        Beat(
            "The new instance asks and is served",
            "app-2 gets producer id 9, epoch 0, and begins a transaction.",
            starts("app-2"),
        ),
        Beat(
            "The old request arrives",
            "For Broker 1 it is the latest: it aborts the transaction of app-2, and gives epoch 2 "
            "to app-1.",
            ("B1 and app-1 are joined", "quiet", "app-1 goes on"),
        ),
        Beat(
            "The new instance commits, and fails",
            "It was first in time and is second at the coordinator.",
            ("app-2 goes on", "quiet", "app-2 goes on"),
        ),
    ),
    ("app-1", "app-2", "B1", "B3"),
    ("kafka",),
    Question(
        2,
        "Both instances have asked for the identity. Who is fenced?",
        (
            Choice("who was started first", False, "The coordinator does not know when that was."),
            Choice(
                "whose request arrived first",
                True,
                "Right: the last request that arrives wins, whoever sent it.",
            ),
        ),
    ),
    watch=(
        Watch(1, "Watch the request of app-1 stay on the wire while app-2 works."),
        Watch(2, "Watch the epoch: 0 for app-2, 1 for the abort, 2 for app-1."),
    ),
    checkpoints=(SAW_COMPLETE_EVERYWHERE, TOOK_CRASH),
)

GHOSTS = Scenario(
    "pain-ghosts",
    "Records that were never there: the reader is read_uncommitted",
    "A transaction is aborted and its work done again. One reader has isolation.level as it is by "
    "default, the other one has read_committed.",
    "KIP-98, Read Committed; isolation.level",
    READING.but(
        applications=(
            WRITER.but(program=programs.FAIL_THEN_COPY, max_records=1),
            READER,
            READER.but(
                name="default",
                transactional_id="my-txn-4",
                group_id="defaults",
                member_id="R2",
                read_uncommitted=True,
            ),
        )
    ),
    (
        Beat(
            "A transaction writes, and is not decided",
            "f(a) is in output-A-0 at offset 0.",
            starts("app-1"),
        ),
        Beat(
            "The default reader gets it at once",
            "read_uncommitted reads up to the high watermark, whatever becomes of a transaction.",
            ("default goes on", "quiet", "default goes on"),
        ),
        Beat(
            "The transaction is aborted, and the work done again",
            "Offset 0 is aborted, offset 1 is a marker, and f(a) is there again at offset 2.",
            (
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
                "app-1 goes on",
                "app-1 goes on",
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
            ),
        ),
        Beat(
            "Who has seen what",
            "The default reader has f(a) twice, once from a transaction that never happened. The "
            "read_committed reader has it once.",
            ("default goes on", "quiet", "default goes on", "reader goes on", "quiet"),
        ),
    ),
    ("app-1", "default", "reader", "B3"),
    ("kafka",),
    Question(
        2,
        "The first transaction was aborted. What did a consumer with default settings see of it?",
        (
            Choice("nothing", False, "isolation.level is read_uncommitted unless it is set."),
            Choice("all of it", True, "Right: the default reads what is not decided, too."),
        ),
    ),
    watch=(
        Watch(1, "Watch the two fetches: one is answered at once, the other one would wait."),
        Watch(3, "Watch the position of the read_committed reader go over the aborted record."),
    ),
    checkpoints=(SAW_LSO, TOOK_ANY_TIME_OUT),
)

ALLOWED = (
    Acl("*", Operation.WRITE, Resource.TRANSACTIONAL_ID, "my-*"),
    Acl("*", Operation.WRITE, Resource.TOPIC, "output-*"),
    Acl("*", Operation.READ, Resource.TOPIC, "src"),
    Acl("*", Operation.READ, Resource.GROUP, "*"),
    Acl("app-2", Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, "transaction-2"),
)
REFUSED_AT_START = Scenario(
    "pain-refused-at-start",
    "Refused before the first record: an ACL and a timeout",
    "Three applications start. One has a name that no ACL covers, one a name that it may only "
    "describe, and one asks for an hour.",
    "KIP-98, ACLs of transactional ids and transaction.max.timeout.ms; KIP-290, prefixes",
    SPEC.but(
        applications=(
            WRITER.but(name="app-1", transactional_id="transaction-1", program=programs.COPY),
            SECOND.but(transactional_id="transaction-2"),
            WRITER.but(
                name="app-3", group_id="third", member_id="C3", transaction_timeout_ms=3_600_000
            ),
        ),
        acls=ALLOWED,
    ),
    (
        Beat(
            "A name that the ACL does not cover",
            'The ACL allows WRITE of names that begin with "my-", and this one is transaction-1. '
            "The producer asks for its coordinator first, and may not even know who that is: "
            "TransactionalIdAuthorizationException, and the producer is at its end.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "A name that may be described, and not written",
            "FindCoordinator needs DESCRIBE, InitProducerId needs WRITE. app-2 comes one request "
            "further, and gets the same exception. But it is back where it began, and may ask again.",
            ("app-2 goes on", "quiet", "app-2 goes on"),
        ),
        Beat(
            "A timeout of an hour",
            "my-txn is allowed. Flink asks for one hour by default, and transaction.max.timeout.ms "
            "is 15 minutes: InvalidTxnTimeoutException, which is fatal.",
            ("app-3 goes on", "quiet", "app-3 goes on"),
        ),
    ),
    ("app-1", "app-2", "app-3", "B1"),
    ("kafka",),
    Question(
        1,
        "initTransactions() of app-1 was refused. What may app-1 do with this producer?",
        (
            Choice(
                "close it",
                True,
                "Right: who may not know its coordinator is in FATAL_ERROR.",
            ),
            Choice(
                "call initTransactions() again",
                False,
                "That is so when InitProducerId is refused. Here FindCoordinator was.",
            ),
        ),
    ),
    watch=(
        Watch(0, "Watch who answers: any broker, before a coordinator sees anything."),
        Watch(1, "Watch the two producers: FATAL_ERROR the one, UNINITIALIZED the other."),
    ),
    checkpoints=(SAW_FATAL, TOOK_CRASH),
)

STORIES: tuple[Scenario, ...] = (
    TWO_INSTANCES,
    TIMED_OUT,
    GHOSTS,
    DID_IT_COMMIT,
    STUCK_IN_PREPARE,
    INIT_RACE,
    REFUSED_AT_START,
)
