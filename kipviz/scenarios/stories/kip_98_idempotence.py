"""KIP-98: the idempotent producer, without any transaction."""

from __future__ import annotations

from kipviz.cluster.spec import PlainSpec
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_APPEND_REFUSED,
    SAW_IN_FLIGHT,
    SAW_OUT_OF_ORDER,
    TOOK_APP_1_CRASH,
    TOOK_CRASH,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import (
    GROUP,
    GROUP_PLACEMENTS,
    PLAYGROUND,
    group_app,
    group_spec,
    home,
)

APP = group_app(transactional_id="", program=programs.SEND_FOUR, plain=PlainSpec(), max_records=1)
PLAIN_APP = APP.but(plain=PlainSpec(idempotence=False))
SPEC = group_spec(APP).but(
    placements=tuple(p for p in GROUP_PLACEMENTS if not p.partition.startswith("__transaction")),
    records=(("src-0", 100, ("a", "b", "c", "d")),),
    min_insync_replicas=(("output-A", 2),),
)
assert home(CONSUMER_OFFSETS, GROUP) in {p.partition for p in SPEC.placements}

GO = "app-1 goes on"
ASKS = (
    "app-1/producer sends InitProducerId",
    "InitProducerId arrives at *",
    "InitProducerIdResponse arrives at app-1/producer",
)
SENDS = (
    GO,
    "app-1/consumer sends Fetch",
    "Fetch arrives at B5",
    "FetchResponse arrives at app-1/consumer",
    GO,
    GO,
)
FIRST = (GO, "quiet but app-1/producer sends *", GO, GO)


def _beats(*, idempotent: bool) -> tuple[Beat, ...]:
    says = (
        "A batch that comes before its time does not fit: Broker 3 expects sequence 1, and says "
        "OUT_OF_ORDER_SEQUENCE_NUMBER. The producer knows that b is not through yet, and sends all three "
        "again, in order."
        if idempotent
        else "Broker 3 takes what comes: c, then d. The producer sends b again, and the log says a, c, d, b."
    )
    return (
        Beat(
            "app-1 sends a first record",
            (
                "It has no transactional id. Some broker gives it a producer id with epoch 0, "
                "which is written down nowhere."
                if idempotent
                else "It has neither a transactional id nor enable.idempotence: its batches have no "
                "producer id and no sequence."
            ),
            (*FIRST, *(ASKS if idempotent else ()), "quiet"),
        ),
        Beat(
            "Three more are on the way at once",
            "b, c and d, one batch each. max.in.flight.requests.per.connection is 5: it does not wait "
            "for an answer before it sends the next one.",
            (*SENDS * 3, *("app-1/producer sends Produce",) * 3),
        ),
        Beat(
            "The first of them is refused: a replica is missing",
            "Broker 1 has the only other replica of output-A-0, and crashes. Two are needed, so Broker "
            "3 says NOT_ENOUGH_REPLICAS for b. Then Broker 1 is back.",
            ("B1 crashes", "Produce arrives at B3", "B1 starts"),
        ),
        Beat("The other two arrive", says, ("Produce arrives at B3",)),
        Beat(
            "flush() comes back",
            (
                "The log says a, b, c, d, each once."
                if idempotent
                else "The log says a, c, d, b: every record is there, and the order is not the producer's."
            ),
            (GO, "quiet", GO),
        ),
    )


def _question(*, idempotent: bool) -> Question:
    return Question(
        3,
        "b was refused, and c arrives at Broker 3 now, before b is sent again. What does Broker 3 do?",
        (
            Choice(
                "it takes c",
                not idempotent,
                (
                    "c has sequence 2, and the log ends with 0 of this producer: 1 is missing."
                    if idempotent
                    else "Right: nothing in c says that there was something before it."
                ),
            ),
            Choice(
                "it refuses c, because something is missing before it",
                idempotent,
                (
                    "Right: OUT_OF_ORDER_SEQUENCE_NUMBER, and the producer tries again."
                    if idempotent
                    else "Without a sequence it cannot know that."
                ),
            ),
            Choice(
                "it keeps c until b is there",
                False,
                "A leader holds nothing back: a batch is in the log or is refused.",
            ),
        ),
    )


def _watch(*, idempotent: bool) -> tuple[Watch, ...]:
    return (
        Watch(
            1,
            "Open the producer: each batch on the way has a sequence, and the next one begins where it "
            "ends."
            if idempotent
            else "Open the producer: three batches are on the way, and none has a number.",
        ),
        Watch(
            3,
            "Compare the order in the producer with the order in output-A-0, batch by batch.",
        ),
        Watch(
            4,
            "A leader knows the last five batches of a producer. That is why there may be five on the "
            "way, and why a sixth is refused by the producer's own configuration."
            if idempotent
            else "max.in.flight.requests.per.connection=1 would keep the order, too: one at a time.",
        ),
    )


def in_flight(name: str, title: str, sentence: str, *, idempotent: bool) -> Scenario:
    """Give the story of three batches on the way, of which the first is refused."""
    return Scenario(
        name,
        title,
        sentence,
        "KIP-98, idempotent producer; max.in.flight.requests.per.connection, KAFKA-5494",
        SPEC.but(applications=(APP if idempotent else PLAIN_APP,)),
        _beats(idempotent=idempotent),
        ("app-1", "B3", "B1"),
        ("kafka",),
        _question(idempotent=idempotent),
        watch=_watch(idempotent=idempotent),
        checkpoints=(
            SAW_APPEND_REFUSED,
            SAW_IN_FLIGHT,
            SAW_OUT_OF_ORDER
            if idempotent
            else Checkpoint("saw records in another order than they were sent", "order lost"),
        ),
    )


LOST_ANSWER = Scenario(
    "kip-98-idempotent-retry",
    "The answer gets lost: is the record there twice?",
    "A batch is in the log, and its producer does not know it. It can only send it again.",
    "KIP-98, idempotent producer",
    SPEC.but(min_insync_replicas=()),
    (
        Beat(
            "app-1 sends a record",
            "It has no transactional id. A broker gives it producer id 9 with epoch 0, and its first batch "
            "has sequence 0.",
            (*FIRST, *ASKS, "app-1/producer sends Produce"),
        ),
        Beat(
            "The batch is in the log, and the answer is lost",
            "Broker 3 has appended it at offset 0. The connection breaks before app-1 hears of it.",
            ("Produce arrives at B3", "app-1/producer loses B3"),
        ),
        Beat(
            "app-1 sends it again",
            "The same producer id, epoch and sequence. Broker 3 knows the last five batches of this "
            "producer, finds this one, appends nothing, and answers with offset 0.",
            ("app-1/producer sends Produce", "Produce arrives at B3", "quiet"),
        ),
        Beat(
            "The next record",
            "Its batch has sequence 1, and goes to offset 1: nothing is there twice, nothing is missing.",
            (*SENDS, "quiet"),
        ),
    ),
    ("app-1", "B3"),
    ("kafka",),
    Question(
        2,
        "The same batch arrives at Broker 3 a second time. What does it do?",
        (
            Choice("it appends it again, at offset 1", False, "It would, without idempotence."),
            Choice(
                "it answers with offset 0 and appends nothing",
                True,
                "Right: sequence 0 of producer 9, epoch 0, is in its log.",
            ),
            Choice(
                "it says DUPLICATE_SEQUENCE_NUMBER",
                False,
                "Kafka's brokers do not: to the producer it is a success.",
            ),
        ),
    ),
    watch=(
        Watch(1, "Open the log of output-A-0: what does Broker 3 remember of producer 9?"),
        Watch(
            2,
            "Nothing of this outlives the process: the next one gets another producer id, and what it "
            "sends again is new to every leader. For that a transactional id is needed.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw the same batch arrive a second time", "batch repeated"),
        TOOK_CRASH,
        TOOK_APP_1_CRASH,
    ),
)

IN_ORDER = in_flight(
    "kip-98-in-flight",
    "Three batches on the way, one is refused: which order is in the log?",
    "A producer does not wait for answers. Sequences keep the order all the same.",
    idempotent=True,
)
OUT_OF_ORDER = in_flight(
    "kip-98-in-flight-without",
    "The same without enable.idempotence: which order is in the log?",
    "Three batches without numbers are on the way, and the first one has to be sent again.",
    idempotent=False,
)

UNKNOWN = Scenario(
    "kip-98-in-flight-unknown",
    "The first batches of a producer: which sequence does a leader take?",
    "Three batches are on the way, and the leader has never heard of their producer. The first one is "
    "refused for a moment.",
    "KIP-98, idempotent producer; ProducerAppendInfo.checkSequence, TransactionManager.canRetry",
    SPEC.but(
        applications=(APP.but(program=programs.SEND_THREE),),
        budget=PLAYGROUND.but(delivery_timeout=1),
    ),
    (
        Beat(
            "app-1 sends three records, one batch each",
            "It has producer id 9, epoch 0. No leader knows that yet.",
            (*FIRST, *ASKS, *SENDS * 2, *("app-1/producer sends Produce",) * 3),
        ),
        Beat(
            "The first one is refused: a replica is missing",
            "Broker 1 crashes, Broker 3 says NOT_ENOUGH_REPLICAS for a, Broker 1 is back.",
            ("B1 crashes", "Produce arrives at B3", "B1 starts"),
        ),
        Beat(
            "The second one arrives",
            "Broker 3 knows nothing of producer 9. It takes b with sequence 1, as it would after its "
            "records were deleted: the rule that the first sequence is 0 is for transactions only "
            "(transaction version 2).",
            ("Produce arrives at B3",),
        ),
        Beat(
            "a comes too late",
            "It has sequence 0, and the log goes on with 3. That is out of order now and for ever. The "
            "producer has an answer for a later batch, so it believes that a is merely early, and sends "
            "it again and again.",
            (
                GO,
                "Produce arrives at B3",
                *("ProduceResponse arrives at app-1/producer",) * 3,
                *("app-1/producer sends Produce", "Produce arrives at B3") * 1,
                "ProduceResponse arrives at app-1/producer",
            ),
        ),
        Beat(
            "delivery.timeout.ms is over",
            "After two minutes the producer gives a up: its Future fails. The order was kept, and nothing "
            "is there twice; a is not there at all, and app-1 has to look at its Futures to know it.",
            ("a batch of app-1/producer expires", GO),
        ),
    ),
    ("app-1", "B3", "B1"),
    ("kafka",),
    Question(
        2,
        "b arrives with sequence 1 at a leader that has never heard of its producer. What does it do?",
        (
            Choice(
                "it takes b",
                True,
                "Right: what it does not know it cannot compare with; it may have known it and forgotten.",
            ),
            Choice(
                "it refuses b: a producer begins at 0",
                False,
                "That is the rule under transaction version 2, for a producer with transactions.",
            ),
            Choice("it asks the producer", False, "A leader asks nobody: it takes or refuses."),
        ),
    ),
    watch=(
        Watch(2, "Open the log of output-A-0: what it knows of producer 9 begins with sequence 1."),
        Watch(
            3,
            "Each time the answer is OUT_OF_ORDER_SEQUENCE_NUMBER, and each time the producer goes on "
            "hoping: it bumps its epoch only if the refused batch is the next one.",
        ),
    ),
    checkpoints=(
        SAW_IN_FLIGHT,
        SAW_OUT_OF_ORDER,
    ),
)

STORIES: tuple[Scenario, ...] = (LOST_ANSWER, IN_ORDER, OUT_OF_ORDER, UNKNOWN)
