"""KIP-447's drafts on a cluster that is being upgraded: brokers first, and a gate that says so."""

from __future__ import annotations

from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_DEATH, SAW_GONE, SAW_LSO, SAW_PENDING, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import (
    APP_1_READS,
    OLD_STANDS_STILL,
    commits,
    member,
    spec_of,
    up_to_send,
)
from kipviz.scenarios.stories.kip_62 import FIRST_GENERATION, classic
from kipviz.scenarios.stories.rolling import BROKERS_DIFFER, ONE_BINARY, restarted
from kipviz.scenarios.stories.setting import GROUP, PLAYGROUND, home
from kipviz.scenarios.streams import WITH_TASKS, WITH_THREADS, StreamsConfig, instance

GATE = Scenario(
    "kip-447-gate",
    "The gate of the drafts: brokers first, then the applications",
    "Both drafts of KIP-447 want inter.broker.protocol.version raised before anybody names a member of a "
    "group in a transaction. An application that is too early is refused, for good.",
    "KIP-447, both drafts: Compatibility, Deprecation, and Migration Plan (draft)",
    spec_of(member("app-1"), member("app-2")).but(
        inter_broker_protocol=0, budget=PLAYGROUND.but(upgrade=1)
    ),
    (
        APP_1_READS,
        Beat(
            "app-1 names its member: UNSUPPORTED_VERSION",
            "inter.broker.protocol.version is below the release that knows members in TxnOffsetCommit. "
            "Broker 4 refuses the newer request, although it could read it: another broker might not.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "The producer is lost, and its transaction hangs",
            "No back-off helps against a version that is not there: the error is fatal. What it has sent "
            "holds the last stable offset back until somebody takes its name over, or it times out.",
            ("app-1 crashes",),
        ),
        Beat(
            "An operator raises inter.broker.protocol.version",
            "All brokers have the new binary. From here on the newer request is served.",
            ("inter.broker.protocol 1 is finalized",),
        ),
        Beat(
            "app-1 is started again",
            "initTransactions() under the same name aborts what was left. The next member takes over once the "
            "session of the one before has run out.",
            ("app-1 starts", "the session of C1 in * runs out at B4", *up_to_send("app-1")),
        ),
        Beat(
            "The same request is taken now",
            "a and b are committed, once.",
            commits("app-1"),
        ),
    ),
    ("app-1", "B4", "B3", "B1"),
    ("kip-447-init-consumer", "kafka"),
    Question(
        1,
        "Broker 4 has the binary that knows the request. Why does it refuse it, in the drafts?",
        (
            Choice(
                "not all brokers may know it yet",
                True,
                "Right: after a move of the partition another one would have to read what it wrote.",
            ),
            Choice("the client is too old", False, "It is the newest thing in the cluster."),
            Choice("the group is rebalancing", False, "app-1 is alone and stable."),
        ),
    ),
    watch=(
        Watch(
            1,
            "Look at what the answer makes of the producer: FATAL_ERROR. A draft recommends to unset a "
            "config of the application instead, and to go on with a producer for every task.",
        ),
        Watch(
            2,
            "Played under 'kafka' beat 2 is no error: what was shipped has no such gate. Each broker says by "
            "ApiVersions what it knows, and a client whose coordinator is too old stops by itself.",
        ),
    ),
    checkpoints=(
        SAW_LSO,
        SAW_DEATH,
        SAW_PENDING,
    ),
)

OLD, NEW = "2.4", "3.5"
BROKERS = (1, 3, 4, 5)


def _begins(name: str) -> tuple[str, ...]:
    """Give the instructions up to the outputs, whether initTransactions() or poll() joins the group."""
    goes, delay = f"{name} goes on", f"maybe {FIRST_GENERATION}"
    first = (goes, "quiet", delay, "quiet", goes)
    return (*first, goes, "quiet", delay, "quiet", goes, goes, goes, "quiet")


ROLLING = Scenario(
    "kip-447-gate-rolling",
    "Brokers first: what a client does that is newer than its brokers",
    "The application has the new client, the brokers have binaries from before KIP-447. One after the other "
    "gets another one, and only with the last of them the gate can be opened.",
    "KIP-447 Compatibility, Deprecation, and Migration Plan: broker must be upgraded first",
    spec_of(classic("app-1")).but(
        transaction_version=0,
        releases=tuple((broker, OLD) for broker in BROKERS),
        binaries=(NEW,),
        inter_broker_protocol=0,
        budget=PLAYGROUND.but(restart=4, upgrade=1, move_leader=1, crash_client=2, run_out=1),
    ),
    (
        Beat(
            "app-1 reads and writes",
            "In the draft initTransactions(consumer) lets C1 join, and returns when there is a generation; "
            "else the first poll() does. InitProducerId, AddPartitionsToTxn and Produce go out in the "
            "versions that brokers of 2.4 know.",
            _begins("app-1"),
        ),
        Beat(
            "The client itself refuses",
            "Broker 4 knows TxnOffsetCommit up to version 2, which has no place for a member. The client does "
            "not leave the member out: nothing is sent, UnsupportedVersionException, and that is fatal.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "Broker 4 gets a newer binary",
            "It coordinates the group again. The other three are as they were.",
            (
                "app-1 crashes",
                *restarted((4,), NEW),
                f"{home(CONSUMER_OFFSETS, GROUP)} moves to B4",
                "quiet",
            ),
        ),
        Beat(
            "app-1 is started again, and names its member",
            "This time the request goes out. In the drafts Broker 4 refuses it, although it knows it: after "
            "the next move of the group's partition it would meet a broker that does not. Played under "
            "'kafka' it is taken.",
            (
                "the session of C1.1 in * runs out at B4",
                "app-1 starts",
                *_begins("app-1"),
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
            ),
        ),
        Beat(
            "The last broker, and then the gate",
            "inter.broker.protocol.version can go up when no broker is in the way any more, and from then on "
            "the drafts serve the request: the story 'kip-447-gate' goes on from here.",
            ("app-1 crashes", *restarted((1, 3, 5), NEW), "inter.broker.protocol 1 is finalized"),
        ),
    ),
    ("app-1", "B4", "B3", "B1"),
    ("kip-447-init-consumer", "kafka"),
    Question(
        1,
        "The coordinator's newest version of TxnOffsetCommit has no field for a member. What does the new "
        "client do?",
        (
            Choice(
                "it sends the older version without the member",
                False,
                "Then nobody would check it, and a zombie would get through.",
            ),
            Choice(
                "it gives up",
                True,
                "Right: it was told to be fenced by its member, and this broker cannot do that.",
            ),
            Choice("it waits until the broker is upgraded", False, "Nobody tells it of that."),
        ),
    ),
    watch=(
        Watch(
            3,
            "Among what is not possible: inter.broker.protocol, and whose binary is in the way.",
        ),
        Watch(
            3,
            "Without the gate this works until the partition moves to a broker of 2.4, and then the producer "
            "dies of it. That is the price of not waiting, and Kafka pays it.",
        ),
    ),
    checkpoints=(
        BROKERS_DIFFER,
        ONE_BINARY,
        SAW_DEATH,
    ),
)

# A producer that has its member from initTransactions() has to initialise after its consumer has joined.
POLL, BEGIN, SEND, STAGE, COMMIT, CATCH = programs.GROUP_LOOP[1:]
INIT_AFTER_POLL = (
    POLL.but(text=f"{POLL.text} // joins"),
    programs.INIT,
    BEGIN.but(on_error=6),
    SEND.but(on_error=6),
    STAGE.but(on_error=6),
    COMMIT.but(then=0, on_error=6),
    CATCH.but(then=0),
)


def _works(name: str) -> tuple[str, ...]:
    """Give the instructions by which a member that has joined goes on until its outputs are sent."""
    goes = f"{name} goes on"
    return (goes, goes, "quiet", goes, goes, goes, "quiet")


OLD_CONSUMER = Scenario(
    "kip-447-old-consumer",
    "An old consumer takes over: it is told that the coordinator is loading",
    "A member drops out with its offset pending, and an application with an older client takes over. It "
    "knows neither RequireStable nor PendingTransactionException.",
    "KIP-447, a middle version: COORDINATOR_LOAD_IN_PROGRESS for old consumers (draft)",
    spec_of(
        classic("app-1", program=INIT_AFTER_POLL),
        classic("app-2", program=INIT_AFTER_POLL, offset_fetch_version=6),
    ),
    (
        Beat(
            "app-1 joins, and then initialises its producer",
            "In this draft the producer has its member and its generation from InitProducerId, so it is asked "
            "after the first poll(). app-1 has read a and b, and has sent their outputs.",
            ("app-1 goes on", "quiet", FIRST_GENERATION, "quiet", *_works("app-1")),
        ),
        Beat(
            "Offset 102 is pending",
            "sendOffsetsToTransaction(), in the name of C1.1 of generation 1. No offset is committed yet.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 is heard of no more",
            "No heartbeat comes for session.timeout.ms, and Broker 4 takes it out of the group.",
            ("the session of C1.1 in * runs out at B4",),
        ),
        Beat(
            "app-2, with an old client, asks where the group left off",
            "OffsetFetch version 6. Broker 4 sees that it cannot know the new error, and answers with one "
            "that every client knows and tries again: COORDINATOR_LOAD_IN_PROGRESS. Nothing is loading.",
            ("app-2 goes on", "quiet", FIRST_GENERATION, "quiet"),
        ),
        Beat(
            "app-1 wakes up and commits",
            "The zombie's offsets were staged while it was a member; its commit is right.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-2 asks again, and goes on behind b",
            "102. It reads c and d, and commits what it makes of them. Played under 'kafka' it was told at "
            "once that nothing is committed: it has read a and b, and they are out twice.",
            (
                "maybe the retry back-off of app-2/consumer is over",
                "quiet",
                *_works("app-2"),
                *commits("app-2"),
            ),
        ),
    ),
    ("app-1", "app-2", "B4", "B3"),
    ("kip-447-group-id", "kafka"),
    Question(
        3,
        "What was shipped waits only for who asks for stable offsets, and version 6 cannot. What does an old "
        "consumer get there?",
        (
            Choice(
                "an error that it does not know", False, "Version 6 has no such error to be given."
            ),
            Choice(
                "the committed offset",
                True,
                "Right: nobody is protected whose client is too old. That is why an application is upgraded "
                "in two bounces.",
            ),
            Choice("nothing until the transaction ends", False, "That is what this draft does."),
        ),
    ),
    watch=(
        Watch(
            3,
            "One answer for two reasons: from its log nobody can tell that the coordinator is not loading "
            "but that a transaction is open.",
        ),
        Watch(
            3,
            "The draft goes by the version of the request; what was shipped goes by what the request asks.",
        ),
    ),
    checkpoints=(
        SAW_GONE,
        SAW_PENDING,
        SAW_LSO,
    ),
)

ONE_BOUNCE = Scenario(
    "kip-447-one-bounce",
    "One bounce instead of two: a record is put out twice",
    "An application of Kafka Streams goes from a producer per task to one per thread without the version in "
    "between, because nobody has set UPGRADE_FROM. What stands still in the old version cannot be fenced by the new one.",
    "KIP-447, second draft: UPGRADE_FROM_CONFIG, 'the reason for doing two rolling bounces' (draft)",
    spec_of(
        instance("v1", 1, StreamsConfig(WITH_TASKS)),
        instance("v3", 3, StreamsConfig(WITH_THREADS)),
    ),
    (
        *OLD_STANDS_STILL,
        Beat(
            "The only bounce: v3 takes over, under a name of its own",
            "UPGRADE_FROM was not set, so it has a producer for its thread. initTransactions() fences nobody. No "
            "offset is pending, so it need not wait either: it reads a and b, and commits.",
            (*up_to_send("v3"), *commits("v3")),
        ),
        Beat(
            "v1 wakes up and stages its offsets",
            "Its TxnOffsetCommit names no member: Broker 4 has nothing to refuse it by.",
            ("v1 goes on", "quiet", "v1 goes on"),
        ),
        Beat(
            "v1 commits",
            "The outputs of a and b are committed a second time.",
            ("v1 goes on", "quiet", "v1 goes on"),
        ),
    ),
    ("v1", "v3", "B1", "B4"),
    ("kafka",),
    Question(
        3,
        "Which of the two, its name or its member, would have fenced v1 here?",
        (
            Choice("its name", False, "v3 has another one: nobody has asked for v1's."),
            Choice("its member", False, "v1 does not tell it."),
            Choice(
                "neither: that is what the version in between is for",
                True,
                "Right: UPGRADE_FROM keeps the name for one more bounce, and names the member already.",
            ),
        ),
    ),
    watch=(
        Watch(2, "Two names in __transaction_state, and no bump of the first one's epoch."),
        Watch(4, "Count the outputs of a and b, and compare with 'kip-447-two-bounces'."),
    ),
    checkpoints=(
        SAW_GONE,
        SAW_PENDING,
    ),
)

STORIES: tuple[Scenario, ...] = (ONE_BOUNCE, GATE, ROLLING, OLD_CONSUMER)
