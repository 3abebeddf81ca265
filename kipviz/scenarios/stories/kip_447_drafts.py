"""KIP-447's first draft: the transaction coordinator knows groups and generations (given up in 2019)."""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings
from kipviz.clients.application import Call, Line
from kipviz.cluster.spec import ApplicationSpec, Placement
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_DEATH,
    SAW_GENERATION_REFUSED,
    SAW_PENDING,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import PLACEMENTS, commits, spec_of
from kipviz.scenarios.stories.kip_62 import FIRST_GENERATION, classic
from kipviz.scenarios.stories.setting import GROUP, PLAYGROUND, home

CATCH = (
    "} catch (KafkaException e) { consumer.unsubscribe(); consumer.subscribe(topics, listener); }"
)
# The loop of the draft: what fails is given up by joining the group again, and the listener does the rest.
LOOP: tuple[Line, ...] = (
    Line("producer.initTransactions(); // draft: in the listener", Call.INIT_TRANSACTIONS),
    Line(
        "records = consumer.poll(Duration.ofSeconds(5)); // runs the listener",
        Call.POLL,
        on_error=6,
    ),
    Line("producer.beginTransaction();", Call.BEGIN_TRANSACTION, on_error=6),
    Line("producer.send(output(records));", Call.SEND, on_error=6),
    Line(programs.GROUP_STAGE, Call.SEND_OFFSETS, on_error=6),
    Line("producer.commitTransaction();", Call.COMMIT_TRANSACTION, then=1, on_error=6),
    Line(CATCH, Call.UNSUBSCRIBE, then=1),
)
# The group's own partition of __transaction_state: one coordinator for all of its producers.
WITH_COORDINATOR = (Placement(home(TRANSACTION_STATE, GROUP), 1, (5,)), *PLACEMENTS[2:])
SAW_SEEN = Checkpoint("saw a coordinator hear of a generation", "generation seen")
CLAUSE = "KIP-447, first draft (page of June 2019; the middle version takes it out)"


def worker(name: str) -> ApplicationSpec:
    """Give a member of the group whose listener initialises the producer."""
    return classic(name, program=LOOP)


SPEC = spec_of(worker("app-1"), worker("app-2")).but(
    placements=(*PLACEMENTS[:2], *WITH_COORDINATOR)
)


def joins(name: str, *, delay: bool = True) -> tuple[str, ...]:
    """Give the instructions by which a member joins, until it has asked for an identity."""
    goes = f"{name} goes on"
    waits = (FIRST_GENERATION,) if delay else ()
    return (goes, "quiet", *waits, "quiet but InitProducerIdOfGroup arrives at B1")


FIRST_JOINS = ("app-1 goes on", "quiet", "app-1 goes on", *joins("app-1"))
FIRST_DRAFT = Scenario(
    "kip-447-first-draft",
    "The transaction coordinator knows the group: the new owner need not wait",
    "A member stands still with an offset pending. In the first draft of the KIP its successor tells the "
    "transaction coordinator the new generation, and the old transaction is aborted at once. In what was "
    "shipped the successor waits, and the old member may still commit.",
    f"{CLAUSE}: InitProducerId API, Fencing zombie",
    SPEC,
    (
        Beat(
            "app-1 joins: generation 1",
            "C1 has src-0 and src-1. Before poll() looks up where to begin, its listener calls "
            "initTransactions(assignment).",
            FIRST_JOINS,
        ),
        Beat(
            "InitProducerId says whose producer it is",
            "The group, generation 1, and both partitions. The request goes to Broker 1: not the name of "
            "the producer, but the group's id finds the coordinator. It logs what app-1 was assigned.",
            ("maybe InitProducerIdOfGroup arrives at B1", "quiet"),
        ),
        Beat(
            "app-1 reads a and b, and stages offset 102",
            "TxnOffsetCommit names no member: the group coordinator does not ask who sends it.",
            (
                "app-1 goes on",
                "app-1 goes on",
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
            ),
        ),
        Beat(
            "app-1 is heard of no more, and app-2 joins",
            "Its session runs out: generation 2, with nobody in it. C2 joins, alone: generation 3. Broker 4 "
            "coordinates the group and knows that; Broker 1 does not.",
            (
                "the session of C1.1 in * runs out at B4",
                "app-2 goes on",
                "quiet",
                "app-2 goes on",
                *joins("app-2"),
            ),
        ),
        Beat(
            "Generation 3 reaches the transaction coordinator",
            "Broker 1 looks whose partitions these were: app-1 has a transaction open that is about "
            "src-0. It aborts it, and app-2 has to come again: CONCURRENT_TRANSACTIONS.",
            ("maybe InitProducerIdOfGroup arrives at B1",),
        ),
        Beat(
            "The markers, an identity, and only then an offset",
            "When the ABORT markers are written app-2 gets a producer id of its own, and poll() goes on: "
            "no offset is committed, nothing is pending. It reads a and b. Played under 'kafka' it is told "
            "UNSTABLE_OFFSET_COMMIT, and waits.",
            ("quiet",),
        ),
        Beat(
            "app-1 wakes up and commits",
            "PRODUCER_FENCED: its generation is over. It is not lost for that: it may join again. Under "
            "'kafka' the same commit is good, because nobody has aborted it.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-2 goes on",
            "It commits a and b; under 'kafka', where they are out, c and d.",
            (
                "maybe the retry back-off of app-2/consumer is over",
                "quiet",
                "app-2 goes on",
                "app-2 goes on",
                "app-2 goes on",
                "quiet",
                *commits("app-2"),
            ),
        ),
    ),
    ("app-1", "app-2", "B1", "B4"),
    ("kip-447-first-draft", "kafka"),
    Question(
        4,
        "app-1 has a transaction open, with an offset of src-0 in it. app-2 was given src-0 and asks the "
        "transaction coordinator for an identity in generation 3. What becomes of the transaction?",
        (
            Choice(
                "it stays open, and app-2 waits",
                False,
                "That is what was shipped: nobody but its time-out ends it.",
            ),
            Choice(
                "it is aborted now",
                True,
                "Right: the coordinator will refuse whatever app-1 says from here on, so nobody else could "
                "end it. That it does not wait for the time-out is our inference.",
            ),
            Choice("it is committed", False, "Nobody has asked for that."),
        ),
    ),
    watch=(
        Watch(
            3,
            "The generation is known in one place and not in the other: until some producer of "
            "generation 3 comes by, Broker 1 would take a commit of app-1. A reviewer said so, and it was "
            "one reason to give the draft up.",
        ),
        Watch(
            6,
            "What is better than shipped: app-2 has not waited. What is worse: app-1 had done its work, and "
            "only its EndTxn was missing.",
        ),
    ),
    checkpoints=(
        SAW_SEEN,
        Checkpoint("saw a producer of an older generation refused", "older generation fenced"),
        SAW_PENDING,
    ),
)

COMES_BACK = (
    "app-1 starts",
    "app-1 goes on",
    "quiet",
    "app-1 goes on",
    *joins("app-1"),
)
DIES = ("app-1 crashes", "the session of C1.* in * runs out at B4")
TWO_COPIES = Scenario(
    "kip-447-two-copies",
    "Two copies of one number: the group begins anew, and its producers are refused",
    "Nobody uses a group for a week, and the group coordinator forgets it. The next generation is "
    "number 1 again. The transaction coordinator, in the first draft of the KIP, remembers a later one.",
    f"{CLAUSE}; Rejected Alternatives: two copies of the state could go out of sync",
    spec_of(worker("app-1")).but(
        placements=SPEC.placements,
        settings=BrokerSettings(offsets_expire=True),
        budget=PLAYGROUND.but(run_out=3, crash_client=2),
    ),
    (
        Beat(
            "Generation 1, and the process dies",
            "app-1 joins, and has told Broker 1 its generation. It commits nothing.",
            (*FIRST_JOINS, "maybe InitProducerIdOfGroup arrives at B1", "quiet", *DIES),
        ),
        Beat(
            "The next one, and that dies, too",
            "A new member in a later generation: Broker 1 hears of it in the same way.",
            (*COMES_BACK, "maybe InitProducerIdOfGroup arrives at B1", "quiet", *DIES),
        ),
        Beat(
            "A week without anybody",
            "The group is empty and has no offsets. Broker 4 writes a tombstone for it: there is no such "
            "group. Nobody tells Broker 1.",
            ("the retention of the offsets of * runs out at B4",),
        ),
        Beat(
            "app-1 comes back: generation 1",
            "For Broker 4 this is a new group, and it counts from the beginning.",
            COMES_BACK,
        ),
        Beat(
            "ILLEGAL_GENERATION",
            "Broker 1 takes the only member there is for a zombie. poll() throws what the listener got. "
            "Played under 'kafka' nothing is refused: no coordinator but the group's has this number.",
            ("maybe InitProducerIdOfGroup arrives at B1", "quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "B1", "B4"),
    ("kip-447-first-draft", "kafka"),
    Question(
        4,
        "The group is new, and C1 is its only member, in generation 1. What does the transaction coordinator "
        "say to its producer?",
        (
            Choice("here is your identity", False, "It would have to know that the group is new."),
            Choice(
                "your generation is over",
                True,
                "Right: it has heard of a later one, and nobody has told it that this one is gone.",
            ),
            Choice(
                "wait",
                False,
                "There is nothing to wait for: only so many rebalances help, one after the other.",
            ),
        ),
    ),
    watch=(
        Watch(
            1,
            "Two logs hold the number: __consumer_offsets as the group's, __transaction_state as that of "
            "whoever has initialised a producer.",
        ),
        Watch(
            4,
            "The rejected alternative in the KIP's own words: the state would be in two places. With the "
            "check in the group coordinator there is one copy, and the one who counts is the one who asks.",
        ),
    ),
    checkpoints=(
        SAW_SEEN,
        SAW_GENERATION_REFUSED,
        SAW_DEATH,
    ),
)

SMALL = Scenario(
    "kip-447-small-first-draft",
    "The first draft, small enough for every interleaving",
    "One member that joins, is given one partition with one record, and tells both coordinators its "
    "generation. A crash, or a timer that runs out, may come at every point.",
    CLAUSE,
    spec_of(worker("app-1").but(max_records=1)).but(
        placements=tuple(p for p in SPEC.placements if p.partition != "src-1"),
        records=(("src-0", 100, ("a",)),),
    ),
    (),
    ("app-1", "B1", "B4"),
    ("kip-447-first-draft", "kafka"),
    watch=(
        Watch(0, "Two answers before the first record: JoinGroup's, and InitProducerIdOfGroup's."),
        Watch(0, "Crash app-1 with an offset staged: who ends its transaction, in either design?"),
    ),
    checkpoints=(SAW_SEEN, SAW_DEATH),
)

STORIES: tuple[Scenario, ...] = (FIRST_DRAFT, TWO_COPIES, SMALL)
