"""KIP-1310 2.3: what a producer's constructor is given, and what its accessor gives away."""

from __future__ import annotations

from kipviz.scenarios import session_programs as programs
from kipviz.scenarios.material import BROUGHT_TO_END, SAW_OFFSET_STAGED, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_1310_beats import with_session
from kipviz.scenarios.stories.kip_1310_open import TURN, group_cluster
from kipviz.scenarios.stories.kip_1310_threads import THREAD_THREW
from kipviz.scenarios.stories.setting import group_app

CLAUSE = "KIP-1310 2.3"
GOES = "app-1 goes on"
MAY = ("maybe app-1 goes on", "quiet", "maybe app-1 goes on")
CONSTRUCTED = Beat(
    "new KafkaProducer(configs, session)",
    "The configurations still have transactional.id = old-txn. The page lets a session be bound, and a "
    "transactional.id work as today; not which of the two counts.",
    (GOES,),
)
TWO_IDENTITIES = Scenario(
    "kip-1310-two-identities",
    "A session, and a transactional.id in the producer's configurations",
    "An application was half rewritten: the session is there, the old calls of the producer are, too. If both "
    "sentences of the page hold, there are two transactions, and a crash between two commits tears them.",
    CLAUSE,
    group_cluster(("a", "b"), with_session(group_app(max_records=1), programs.HALF_REWRITTEN)),
    (
        Beat("session.initialize()", "Producer id 9 for my-txn.", TURN),
        CONSTRUCTED,
        Beat(
            "producer.initTransactions(), as before",
            "A producer of its own gets producer id 10, for old-txn. One that is bound throws. In the repaired design "
            "there is none: the constructor threw.",
            MAY,
        ),
        Beat(
            "poll(), and both begin",
            "session.beginTransaction(), producer.beginTransaction(): nothing is sent for either.",
            (*MAY, "maybe app-1 goes on", "maybe app-1 goes on"),
        ),
        Beat(
            "producer.send(f(a)), session.sendOffsetsToTransaction()",
            "The output is in the transaction of old-txn, the offset in that of my-txn.",
            ("maybe app-1 goes on", "quiet", *MAY),
        ),
        Beat(
            "producer.commitTransaction(), as before",
            "f(a) is committed.",
            (*MAY, "quiet"),
        ),
        Beat(
            "The process dies, and starts again",
            "session.initialize() aborts what is open of my-txn: the offset.",
            ("app-1 crashes", "quiet", "app-1 starts", *TURN),
        ),
        Beat(
            "a once more",
            "The group has no offset past a: it is read, put out and committed a second time.",
            (
                *("maybe app-1 goes on", *MAY, *MAY, "maybe app-1 goes on", "maybe app-1 goes on"),
                *("maybe app-1 goes on", "quiet", *MAY, *MAY, "quiet"),
            ),
        ),
    ),
    ("app-1", "B1", "B3", "B4"),
    ("kip-1310",),
    Question(
        5,
        "f(a) is committed, and the process dies before session.commitTransaction(). What will be in output-A-0?",
        (
            Choice(
                "f(a) twice",
                True,
                "Right: two transactions are two decisions, and one was never made.",
            ),
            Choice("f(a) once", False, "The offset past a is aborted, so a is read again."),
            Choice("nothing", False, "The producer's own transaction is committed."),
        ),
    ),
    watch=(
        Watch(
            1, "One line, two sentences of the page. Which exception would you like to see here?"
        ),
        Watch(4, "Two entries in __transaction_state, with one partition each."),
        Watch(7, "Count the outputs of a."),
    ),
    checkpoints=(SAW_OFFSET_STAGED, BROUGHT_TO_END),
)


ACCESSOR = Scenario(
    "kip-1310-accessor",
    "transactionSession(): whoever has the producer has the session",
    "A bound producer throws at commitTransaction(), so that only the session's owner ends a transaction. And then "
    "it has a method that gives the session away.",
    f"{CLAUSE} transactionSession()",
    group_cluster(("a", "b"), with_session(group_app(max_records=1), programs.BY_THE_PRODUCER)),
    (
        Beat("session.initialize()", "One identity.", TURN),
        Beat("poll(), session.beginTransaction()", "One record, a.", (*TURN, GOES)),
        Beat(
            "A library: session = producer.transactionSession()",
            "It was handed a producer and nothing else. The accessor gives it the external session.",
            (GOES,),
        ),
        Beat(
            "producer.send(f(a)), and the offset through the accessor",
            "One transaction: the session that was given is the one there is.",
            (GOES, "quiet", *TURN),
        ),
        Beat(
            "The library commits",
            "producer.commitTransaction() would throw IllegalStateException; "
            "producer.transactionSession().commitTransaction() does not.",
            (*TURN, "quiet"),
        ),
        Beat(
            "The owner commits",
            "IllegalStateException: its transaction is over, ended by somebody else.",
            (GOES,),
        ),
    ),
    ("app-1", "B1", "B3", "B4"),
    ("repaired", "kip-1310"),
    Question(
        4,
        "Why does a bound producer throw at commitTransaction()?",
        (
            Choice(
                "so that one object has the life cycle",
                True,
                "Right: and the accessor hands that object to whoever has a producer.",
            ),
            Choice("it has no connection to the coordinator", False, "It could ask its session."),
        ),
    ),
    watch=(
        Watch(2, "No arrow: the accessor asks nobody."),
        Watch(5, "Who ended the transaction? No broker could tell, and no card can."),
    ),
    checkpoints=(THREAD_THREW, SAW_OFFSET_STAGED, BROUGHT_TO_END),
)

STORIES: tuple[Scenario, ...] = (TWO_IDENTITIES, ACCESSOR)
