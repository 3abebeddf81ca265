"""KIP-11: rights that are taken away while somebody is in the middle of a transaction."""

from __future__ import annotations

from kipviz.brokers.authorizer import Acl, Operation, Resource
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_FATAL, SAW_LSO, SAW_REFUSED, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import FIRST_ROUND
from kipviz.scenarios.stories.pains import READER, READING
from kipviz.scenarios.stories.setting import GROUP, PLAYGROUND, TRANSACTIONAL_ID, group_app

WORKER, OPERATOR = "app-1", "operator"
OF_THE_NAME = Acl(WORKER, Operation.WRITE, Resource.TRANSACTIONAL_ID, TRANSACTIONAL_ID)
OF_THE_OUTPUT = Acl(WORKER, Operation.WRITE, Resource.TOPIC, "output-A")
OF_THE_SOURCE = Acl(WORKER, Operation.READ, Resource.TOPIC, "src")
OF_THE_GROUP = Acl(WORKER, Operation.READ, Resource.GROUP, GROUP)
RIGHTS = (OF_THE_NAME, OF_THE_OUTPUT, OF_THE_SOURCE, OF_THE_GROUP)
OTHERS = (
    Acl("reader", Operation.READ, Resource.TOPIC, "output-A"),
    Acl("reader", Operation.READ, Resource.GROUP, "readers"),
    Acl(OPERATOR, Operation.WRITE, Resource.TRANSACTIONAL_ID, "*"),
    Acl(OPERATOR, Operation.READ, Resource.TOPIC, "*"),
)
APP = group_app(max_records=1)
SPEC = READING.but(
    applications=(
        APP,
        READER,
        group_app(name=OPERATOR, admin=True, program=programs.fence(TRANSACTIONAL_ID)),
    ),
    acls=(*RIGHTS, *OTHERS),
    budget=PLAYGROUND.but(acls=4),
)
IN_A_TRANSACTION = Beat(
    "A transaction is open",
    "app-1 has every right that it needs, and a record in output-A-0. The offset is not staged yet.",
    (
        *FIRST_ROUND,
        "app-1 goes on",
    ),
)


def taken(acl: Acl) -> str:
    """Give the instruction with which an operator deletes an ACL."""
    return f"the ACL '{acl.words}' is deleted"


NAME_LOST = Scenario(
    "kip-11-name-lost",
    "A principal loses its transactional id in the middle of a transaction",
    "The ACL for the name is deleted while a transaction is open. Its owner can neither commit nor "
    "abort, and neither can the next process.",
    "KIP-11; KIP-98, ACLs: TransactionalId resource",
    SPEC,
    (
        IN_A_TRANSACTION,
        Beat(
            "The right is taken away",
            "Nothing happens: no connection is closed and nobody is told. A right is asked for when a "
            "request arrives.",
            (taken(OF_THE_NAME),),
        ),
        Beat(
            "sendOffsetsToTransaction() throws",
            "TransactionalIdAuthorizationException. For any request but InitProducerId that is fatal: a "
            "producer in FATAL_ERROR can only be closed, and abortTransaction() throws. EndTxn would "
            "have taken the same right.",
            ("quiet", "app-1 goes on"),
        ),
        Beat(
            "The next process is refused, too",
            "What would abort the transaction is InitProducerId under the same name, and it does not "
            "get that far: it may not even ask who coordinates the name. The reader of output-A-0 "
            "waits below the last stable offset.",
            (
                "app-1 crashes",
                "app-1 starts",
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
                "reader goes on",
                "quiet",
            ),
        ),
        Beat(
            "Somebody with the right of the name aborts",
            "admin.fenceProducers() is an InitProducerId of the operator, who may write every name. The "
            "coordinator aborts: markers take no client's right. Else transaction.timeout.ms would.",
            (
                "operator goes on",
                "quiet",
                "operator goes on",
                "operator goes on",
                "quiet",
                "operator goes on",
                "operator goes on",
                "quiet",
            ),
        ),
    ),
    ("app-1", "operator", "B1", "B3"),
    ("kafka",),
    Question(
        3,
        "The right is gone and the transaction open. Who can end it?",
        (
            Choice("app-1, by abortTransaction()", False, "Its producer is at its end."),
            Choice("app-1, started again", False, "InitProducerId takes the right that was lost."),
            Choice(
                "another principal with WRITE of this name, or the coordinator's clock",
                True,
                "Right: the coordinator needs nobody's right to abort what has timed out.",
            ),
        ),
    ),
    watch=(
        Watch(
            1, "Watch what moves when the ACL goes: nothing. The image has changed, and no more."
        ),
        Watch(2, "Is there an EndTxn on any wire?"),
        Watch(
            4, "Watch the ABORT marker pass: it comes from a broker, and brokers are super users."
        ),
    ),
    checkpoints=(SAW_REFUSED, SAW_FATAL, SAW_LSO),
)

SOURCE_LOST = Scenario(
    "kip-11-source-lost",
    "A principal loses its source in the middle of a transaction",
    "The right to read the source topic goes, the name stays. The offset is refused, which the client "
    "does not expect; the next process can clean up, and read nothing.",
    "KIP-11; KIP-98, TxnOffsetCommit",
    SPEC,
    (
        IN_A_TRANSACTION,
        Beat(
            "The right to read src is taken away",
            "The record was fetched before, and its output is written. Only the offset is missing.",
            (taken(OF_THE_SOURCE),),
        ),
        Beat(
            "sendOffsetsToTransaction() throws",
            "The offset of src-0 is refused with TOPIC_AUTHORIZATION_FAILED; an offset of another topic "
            "in the same request would have been staged. The client does not list this error and takes "
            "it for fatal. That of the group would be abortable.",
            ("quiet", "app-1 goes on"),
        ),
        Beat(
            "The next process has the name",
            "Its initTransactions() fences the old producer and aborts what it left open: the reader "
            "goes on.",
            ("app-1 crashes", "app-1 starts", "app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "It may not read",
            "poll() throws. Nothing hangs any more, and nothing gets done.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "B1", "B3", "B4"),
    ("kafka",),
    Question(
        3,
        "The producer is at its end, its transaction open. Does the next process get a producer?",
        (
            Choice("no, it has lost a right", False, "InitProducerId takes the name alone."),
            Choice("yes, and it aborts what is open", True, "Right: the name is what fences."),
        ),
    ),
    watch=(
        Watch(2, "Compare the producer's state with what a lost right of the group leads to."),
        Watch(3, "Watch the epochs: the abort takes one, the new producer the next."),
    ),
    checkpoints=(SAW_REFUSED, SAW_FATAL, SAW_LSO),
)

STORIES: tuple[Scenario, ...] = (NAME_LOST, SOURCE_LOST)
