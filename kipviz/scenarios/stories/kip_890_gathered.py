"""KIP-890: a broker asks a coordinator about the transactions of several producers at once."""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings
from kipviz.cluster.spec import Placement
from kipviz.records.placement import CONSUMER_OFFSETS, TRANSACTION_STATE
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_COMPLETE, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import GROUP, group_app, group_spec, home

ONE = group_app(program=programs.COPY)
APPS = (
    ONE,
    ONE.but(name="app-2", transactional_id="my-txn-2", member_id="C2", source="src-1"),
    ONE.but(name="app-3", transactional_id="my-txn-3", member_id="C3", source="src-2"),
)
# Three names in three partitions of __transaction_state, and one broker leads them all.
SPEC = group_spec(ONE).but(
    applications=APPS,
    placements=(
        *(Placement(home(TRANSACTION_STATE, app.transactional_id), 1, (5,)) for app in APPS),
        Placement("output-A-0", 3, (5,)),
        Placement(home(CONSUMER_OFFSETS, GROUP), 4, (5,)),
        *(Placement(app.source, 5, (4,)) for app in APPS),
    ),
    records=(("src-0", 100, ("a",)), ("src-1", 0, ("b",)), ("src-2", 0, ("c",))),
    settings=BrokerSettings(asks_together=True),
)
HELD = "quiet but */producer sends Produce"
ASKED, TOLD = "AddPartitionsToTxn arrives at B1", "AddPartitionsToTxnResponse from B1 arrives at *"


def _begins(name: str) -> tuple[str, ...]:
    go = f"{name} goes on"
    return (go, HELD, go, go, HELD, go, go, go)


def _sends(name: str) -> tuple[str, ...]:
    return (f"{name}/producer sends Produce", "Produce arrives at B3")


GATHERED = Scenario(
    "kip-890-asked-together",
    "Three producers write to one broker: how often does it ask the coordinator?",
    "A broker has one AddPartitionsToTxn on its way to another broker. What is to be asked meanwhile waits, and "
    "goes into the next one: a transaction each.",
    "KIP-890; AddPartitionsToTxnManager, AddPartitionsToTxnRequest version 4",
    SPEC,
    (
        Beat(
            "Three producers, one leader",
            "app-1, app-2 and app-3 have begun a transaction each, and are about to write to output-A-0, which "
            "Broker 3 leads. Their names hash to three partitions of __transaction_state; Broker 1 leads them all.",
            tuple(step for app in APPS for step in _begins(app.name)),
        ),
        Beat(
            "The first batch, the first question",
            "The transaction of app-1 is new in output-A-0. Broker 3 keeps the batch and asks Broker 1.",
            _sends("app-1"),
        ),
        Beat(
            "Two more batches",
            "They are just as new, and no request goes out for them: one is on its way to Broker 1 already. "
            "Broker 3 writes down what it has to ask.",
            (*_sends("app-2"), *_sends("app-3")),
        ),
        Beat(
            "app-2 asks again",
            "Its connection breaks, so it sends the batch once more. One question about my-txn-2 waits already, of "
            "the same epoch. The older one is told NETWORK_EXCEPTION and makes room: a client that asks "
            "twice has given the first request up.",
            ("app-2/producer loses B3", *_sends("app-2")),
        ),
        Beat(
            "The first answer",
            "The batch of app-1 is appended. Broker 1 may be asked again, so all that has waited goes out: one "
            "request, two transactions.",
            (ASKED, TOLD),
        ),
        Beat(
            "Each transaction has its own coordinator",
            "Broker 1 takes the request apart. Two of its coordinators log ONGOING, each in its own partition, and "
            "the answer goes out when both have theirs.",
            (ASKED,),
        ),
        Beat(
            "The connection breaks, and two producers feel it",
            "The answer is lost on its way. Both batches are refused with NOT_ENOUGH_REPLICAS, which may pass, and "
            "both producers send theirs again. The coordinators did not do anything in vain: the "
            "partition is in both transactions.",
            (
                "B3/add-partitions loses B1",
                "ProduceResponse arrives at app-2/producer",
                "ProduceResponse arrives at app-3/producer",
                *_sends("app-2"),
                *_sends("app-3"),
            ),
        ),
        Beat(
            "One after the other",
            "app-2 was first this time, so its question goes alone, and that of app-3 waits for the answer. Both "
            "are told yes without a word in the log.",
            (ASKED, TOLD, ASKED, TOLD),
        ),
        Beat(
            "Three commits",
            "Nothing of this can be seen from outside: three batches, three markers.",
            ("quiet", *(f"{app.name} goes on" for app in APPS), "quiet"),
        ),
    ),
    ("app-1", "app-2", "B3", "B1"),
    ("kafka",),
    Question(
        4,
        "The batches of app-2 and app-3 wait at Broker 3, and the one of app-2 came twice. The first answer "
        "arrives. How many requests does Broker 3 send to Broker 1?",
        (
            Choice(
                "one, about two transactions",
                True,
                "Right: what waits for a broker goes together, each transactional id once.",
            ),
            Choice(
                "two, one for each producer",
                False,
                "Each has a transaction of its own in the request, and the request is one.",
            ),
            Choice(
                "three, one for each batch that came",
                False,
                "Two of them are one batch: the older question has made room.",
            ),
        ),
    ),
    watch=(
        Watch(2, "Two Produce requests arrive at Broker 3, and no arrow leaves it."),
        Watch(4, "The arrow to Broker 1 says of how many transactions it is."),
        Watch(6, "One lost answer, and two producers send again: the price of asking together."),
    ),
    checkpoints=(
        Checkpoint("saw one question about several transactions", "asked together"),
        Checkpoint("saw a lost question refuse batches of several producers", "lost together"),
        SAW_COMPLETE,
    ),
)
STORIES: tuple[Scenario, ...] = (GATHERED,)
