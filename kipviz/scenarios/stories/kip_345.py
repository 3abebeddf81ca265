"""KIP-345: static members of a classic group, who come back under the name that they had."""

from __future__ import annotations

from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_DEATH,
    SAW_GENERATION_REFUSED,
    SAW_INSTANCE_FENCED,
    SAW_LSO,
    SAW_ZOMBIE_REFUSED,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import aborts_and_beats, commits, spec_of
from kipviz.scenarios.stories.kip_62 import (
    FIRST_GENERATION,
    IN_THE_MIDDLE,
    SAW_WAITING,
    begins,
    classic,
)
from kipviz.scenarios.stories.kip_848 import ONE_FULL

NODE_1 = classic("app-1", instance_id="node-1")

RESTART = Scenario(
    "kip-345-restart",
    "A static member is restarted, and nobody else notices",
    "Two members with a group.instance.id each. One process is stopped and started again, as in a rolling "
    "upgrade. The group stays at its generation, and the other one reads on.",
    "KIP-345 Static Membership: Rolling bounce",
    spec_of(
        NODE_1.but(program=programs.READ),
        classic("app-2", instance_id="node-2", program=programs.READ),
    ),
    (
        Beat(
            "node-1 and node-2 join",
            "A static member has a name of its own, so nobody asks it to come again. Broker 4 waits for "
            "more members twice, because node-2 came while it waited; then both are generation 1.",
            (
                "app-1 goes on",
                "quiet",
                "app-2 goes on",
                "quiet",
                FIRST_GENERATION,
                FIRST_GENERATION,
                "quiet",
                "app-1 goes on",
                "app-2 goes on",
            ),
        ),
        Beat(
            "app-1 is stopped",
            "It says nothing: a static member does not send LeaveGroup. For Broker 4 it is there, and "
            "src-0 is its own, for session.timeout.ms.",
            ("app-1 crashes",),
        ),
        Beat(
            "app-2 reads on",
            "Its heartbeat is answered without an error: the group is stable.",
            ("the heartbeat interval of app-2/consumer is over", "quiet"),
        ),
        Beat(
            "app-1 is started: the same member under another id",
            "JoinGroup without a member id, but with node-1. Broker 4 puts node-1.3 in the place of "
            "node-1.1, writes that down, and answers at once: still generation 1.",
            ("app-1 starts", "app-1 goes on", "until JoinGroup arrives at B4"),
        ),
        Beat(
            "It has src-0 again",
            "It leads, and is told not to assign anything (SkipAssignment). SyncGroup brings what "
            "node-1 had before.",
            ("quiet",),
        ),
    ),
    ("app-1", "app-2", "B4", "B5"),
    ("kafka",),
    Question(
        2,
        "app-1 is down. Who reads src-0 now?",
        (
            Choice("app-2", False, "Only after a rebalance, and nothing has begun one."),
            Choice(
                "nobody",
                True,
                "Right: that is the price. src-0 waits until node-1 is back or its session has run out.",
            ),
            Choice(
                "Broker 4 gives it away", False, "Brokers assign nothing in the classic protocol."
            ),
        ),
    ),
    watch=(
        Watch(
            1,
            "With a dynamic member Broker 4 would hold everybody up twice: when it goes, and when it "
            "comes back.",
        ),
        Watch(
            3,
            "The record in __consumer_offsets has the same generation as the one before it, and another "
            "member id.",
        ),
    ),
    checkpoints=(
        SAW_DEATH,
        Checkpoint("took a branch in which its session runs out", "member gone"),
    ),
)

TWO_OF_ONE = Scenario(
    "kip-345-two-of-one",
    "Two processes with one instance id: the older one is fenced",
    "A process that stands still is replaced by hand, with the same group.instance.id. It has a "
    "transaction open, and wakes up.",
    "KIP-345 FENCED_INSTANCE_ID; KIP-447: group.instance.id in TxnOffsetCommit version 3",
    spec_of(NODE_1, classic("app-2", instance_id="node-1")),
    (
        Beat(
            "app-1, as node-1, works on a and b",
            "Alone, generation 1, with both partitions. Its outputs are sent, its offsets not yet.",
            begins("app-1"),
        ),
        Beat(
            "app-2 is started as node-1",
            "Broker 4 takes it for the same member, restarted: it has what node-1 has, without a "
            "rebalance and without waiting for a session to run out.",
            ("app-2 goes on", "quiet", "app-2 goes on", "app-2 goes on", "quiet"),
        ),
        Beat(
            "app-2 processes a and b, and commits",
            "Nothing was pending, so it began at a.",
            ("app-2 goes on", "app-2 goes on", "app-2 goes on", "quiet", *commits("app-2")),
        ),
        Beat(
            "app-1 wakes up: FENCED_INSTANCE_ID",
            "Its offsets come in the name of node-1, but from the member id node-1.1. Of a static member "
            "only the newest id is one.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 aborts, and is fenced in the group, too",
            "Its next heartbeat hears the same, and poll() throws FencedInstanceIdException.",
            aborts_and_beats("app-1"),
        ),
    ),
    ("app-1", "app-2", "B4", "B3"),
    ("kafka", "before-447"),
    Question(
        3,
        "Generation 1 is still the group's, and node-1 is a member of it. app-1 sends its offsets as "
        "node-1, generation 1. What does Broker 4 say?",
        (
            Choice("no error: name and generation are right", False, "The member id is not."),
            Choice(
                "FENCED_INSTANCE_ID",
                True,
                "Right: app-2 has taken the name, and with it the only id that counts.",
            ),
            Choice("ILLEGAL_GENERATION", False, "The generation has not changed."),
        ),
    ),
    watch=(
        Watch(
            1,
            "A take-over by name, as initTransactions() does it for a transactional id: who comes later "
            "wins.",
        ),
        Watch(
            3,
            "No generation and no session had a part in it. Played under 'before-447' nobody looks at the "
            "member, and a and b are committed twice.",
        ),
    ),
    checkpoints=(
        SAW_INSTANCE_FENCED,
        SAW_ZOMBIE_REFUSED,
        SAW_LSO,
    ),
)

GENERATION = Scenario(
    "kip-447-generation",
    "A zombie of generation 1 while generation 2 works: ILLEGAL_GENERATION",
    "A static member is too slow for a rebalance. It stays a member, but its partition goes to another "
    "one. Its offsets come in the name of a generation that is over.",
    "KIP-447 Fence zombie, generation of the classic protocol; KIP-345",
    spec_of(NODE_1, classic("app-2")).but(records=ONE_FULL),
    (
        Beat(
            "app-1, as node-1, works on c and d of src-1",
            "Alone, generation 1, with both partitions; src-0 is empty.",
            begins("app-1"),
        ),
        IN_THE_MIDDLE.beats[1],
        Beat(
            "The rebalance time-out: generation 2 begins without node-1",
            "A dynamic member would be out. A static one stays a member, though it has not joined: it may "
            "only be restarting. C2 leads, and assigns: src-0 to node-1, src-1 to itself.",
            ("the rebalance time-out of * runs out at B4", "quiet"),
        ),
        Beat(
            "app-2 processes c and d, and commits them",
            "src-1 is its own now, and nothing was committed.",
            ("app-2 goes on", "app-2 goes on", "app-2 goes on", "quiet", *commits("app-2")),
        ),
        Beat(
            "app-1: sendOffsetsToTransaction()",
            "In the name of node-1.1, generation 1. The member is there, the generation is over: "
            "ILLEGAL_GENERATION.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 aborts, and hears of generation 2",
            "Its heartbeat is answered ILLEGAL_GENERATION, too. It keeps its id and joins with its next "
            "poll().",
            aborts_and_beats("app-1"),
        ),
    ),
    ("app-1", "app-2", "B4", "B3"),
    ("kafka", "before-447"),
    Question(
        4,
        "node-1 is a member of the group, and src-0 is its own. It sends an offset of src-1 that it read in "
        "generation 1. What does Broker 4 say?",
        (
            Choice("UNKNOWN_MEMBER_ID", False, "It is a member: a static one is kept."),
            Choice("no error", False, "That would be so with 'kip-848-no-listener'."),
            Choice(
                "ILLEGAL_GENERATION",
                True,
                "Right: Broker 4 does not know who has src-1, but it knows that generation 1 is over.",
            ),
        ),
    ),
    watch=(
        Watch(
            2,
            "The broker does not read assignments. What it can check is one number for the whole group, "
            "and that is enough: in a new generation everything may belong to somebody else.",
        ),
        Watch(
            4,
            "The check is blunt: an offset of src-0, which is node-1's before and after, would be refused "
            "as well. KIP-848 with KIP-1251 knows since when a member has each partition.",
        ),
    ),
    checkpoints=(
        SAW_WAITING,
        SAW_GENERATION_REFUSED,
        SAW_ZOMBIE_REFUSED,
        SAW_LSO,
    ),
)

STORIES: tuple[Scenario, ...] = (RESTART, TWO_OF_ONE, GENERATION)
