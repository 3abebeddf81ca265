"""KIP-939: several processes at one database. Whom Kafka fences the database may still let in."""

from __future__ import annotations

from kipviz.cluster.spec import Placement
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_COMPLETE_EVERYWHERE, SAW_LSO, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import CALL, of
from kipviz.scenarios.stories.kip_939 import DUAL_WRITER, SPEC
from kipviz.scenarios.stories.setting import home

PREPARED = Checkpoint("saw a producer hold a prepared transaction", "prepared")
KEPT = Checkpoint("saw a transaction that is kept", "transaction kept")

ONE = DUAL_WRITER.but(shares="orders")
TWO = ONE.but(name="app-2", group_id="other", member_id="C2")
SHARED = SPEC.but(budget=SPEC.budget.but(pause=2), applications=(ONE, TWO))


def call(name: str) -> tuple[str, ...]:
    """Play a blocking call of an application to its end."""
    return of(name, CALL)


def to_the_decision(name: str, claims: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Play a dual write up to database.insert(): the next step is the decision."""
    goes_on = f"{name} goes on"
    begun = (*call(name), *claims, goes_on, goes_on, *call(name))
    return (*begun, goes_on, goes_on, "quiet", goes_on, goes_on, goes_on)


def _story(name: str, title: str, sentence: str, *, claims: bool) -> Scenario:
    """Give the story with a database that knows its writer, or with one that does not."""
    program = programs.DUAL_WRITE_CLAIMED if claims else programs.DUAL_WRITE
    claim = ("app-1 goes on",) if claims else ()
    theirs = ("app-2 goes on",) if claims else ()
    return Scenario(
        name,
        title,
        sentence,
        "KIP-939, dual write (draft); what the database asks of its writers is our inference",
        SHARED.but(applications=(ONE.but(program=program), TWO.but(program=program))),
        (
            Beat(
                "app-1 is about to decide",
                "Its Kafka transaction 9:0 is prepared, and the row is written with it, not committed. "
                "Then the process stands still.",
                (*to_the_decision("app-1", claim), "app-1 stands still"),
            ),
            Beat(
                "app-2 takes over",
                "It keeps the transaction of app-1, and only epoch 1 may end it now. "
                + (
                    "It claims the database with 9:1."
                    if claims
                    else "The database is told nothing of that."
                ),
                (*call("app-2"), *theirs),
            ),
            Beat(
                "The database has decided nothing, so Kafka's part is aborted",
                "app-2 reads the stored state: it is not 9:0. completeTransaction() aborts.",
                ("app-2 goes on", "quiet", "app-2 goes on"),
            ),
            Beat(
                "app-1 wakes up: database.commit()",
                "The database has 9:1 for its writer, and refuses 9:0: nothing is committed anywhere."
                if claims
                else "The row is committed, with the state 9:0 of a transaction that Kafka has aborted. "
                "Kafka would fence app-1; the database does not ask Kafka.",
                ("app-1 wakes up", "app-1 goes on"),
            ),
        ),
        ("app-1", "app-2", "B1", "B3"),
        ("kip-939",),
        Question(
            3,
            "Kafka has fenced app-1. Can app-1 still commit in the database?",
            (
                Choice(
                    "yes, unless the database compares writers",
                    True,
                    "Right: Kafka's epochs fence in Kafka only.",
                ),
                Choice(
                    "no: it has lost its epoch", False, "The database knows of no epoch by itself."
                ),
            ),
        ),
        watch=(
            Watch(1, "Who is fenced by the new epoch? Look for what the database has heard of it."),
            Watch(3, "Compare the two stores: what has the row, and what has the output?"),
        ),
        checkpoints=(PREPARED, KEPT, SAW_LSO),
    )


FENCES = _story(
    "kip-939-database-fences",
    "A writer of an older epoch is refused by the database",
    "A dual writer stands still before its decision, another one takes over. The database knows its "
    "writer's identity, and lets the first one decide nothing any more.",
    claims=True,
)
LETS_IN = _story(
    "kip-939-database-lets-in",
    "Fenced by Kafka, and let in by the database",
    "The same, with a database that does not know who its writer is: the first one commits what Kafka "
    "has aborted.",
    claims=False,
)

SECOND_ID = "my-txn-2"
AT_ONCE = Scenario(
    "kip-939-two-at-once",
    "Two transactions of one database at once",
    "Two writers with names of their own have a transaction open in Kafka and in the same database. One "
    "dies after its decision, and its state is not mistaken for the other one's.",
    "KIP-939, dual write (draft); a place for a state for each transactional id is our inference",
    SHARED.but(
        placements=(
            *SPEC.placements,
            Placement(home(TRANSACTION_STATE, SECOND_ID), 3, (1,)),
            Placement("src-1", 3, (1,)),
        ),
        applications=(
            ONE.but(program=programs.DUAL_WRITE_CLAIMED),
            TWO.but(
                transactional_id=SECOND_ID, program=programs.DUAL_WRITE_CLAIMED, source="src-1"
            ),
        ),
        records=(("src-0", 0, ("a",)), ("src-1", 0, ("b",))),
    ),
    (
        Beat(
            "app-1 is about to decide",
            "Transaction 9:0 of Kafka is prepared. The row of a is written, with the state 9:0 in the "
            "place of my-txn.",
            to_the_decision("app-1", ("app-1 goes on",)),
        ),
        Beat(
            "app-2 as well",
            "Transaction 10:0. The row of b is open beside the row of a, each in a database transaction "
            "of its own.",
            to_the_decision("app-2", ("app-2 goes on",)),
        ),
        Beat(
            "app-1 decides and dies",
            "The row of a is committed with 9:0. Kafka has not heard of it.",
            ("app-1 goes on", "app-1 crashes", "quiet"),
        ),
        Beat(
            "app-2 decides, and tells Kafka",
            "Its state stands in the place of my-txn-2. Transaction 10:0 is committed.",
            ("app-2 goes on", *call("app-2")),
        ),
        Beat(
            "The next app-1 finds its own state",
            "It keeps 9:0 and compares it with what stands in the place of my-txn: commit.",
            ("app-1 starts", *call("app-1"), "app-1 goes on", *call("app-1")),
        ),
    ),
    ("app-1", "app-2", "B1", "B3"),
    ("kip-939",),
    Question(
        4,
        "With one place for all writers, what would the next app-1 have found in it?",
        (
            Choice("9:0, its own", False, "app-2 has written since."),
            Choice(
                "10:0, and so it would have aborted what the database has committed",
                True,
                "Right: whoever writes last would overwrite the decision of the other one.",
            ),
        ),
    ),
    watch=(
        Watch(1, "Two open database transactions: whose rows does the card of each process show?"),
        Watch(4, "Which text does the database hold for my-txn, and which for my-txn-2?"),
    ),
    checkpoints=(PREPARED, KEPT, SAW_COMPLETE_EVERYWHERE),
)

STORIES: tuple[Scenario, ...] = (FENCES, LETS_IN, AT_ONCE)
