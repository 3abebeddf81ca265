"""KIP-848: how the members of a regular group come, share, and go."""

from __future__ import annotations

from kipviz.scenarios.material import (
    SAW_GONE,
    SAW_LSO,
    SAW_PARTITION_MOVED,
    SAW_PENDING,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import commits, member, reader, spec_of, up_to_send

REBALANCE = Scenario(
    "kip-848-rebalance",
    "A partition changes hands: first it is given up, then it is given",
    "A second member joins a group. The coordinator takes a partition from the first one, waits "
    "until that has let go, and only then gives it to the second.",
    "KIP-848, Rebalance Process, Member Failures",
    spec_of(reader("app-1"), reader("app-2")),
    (
        Beat(
            "C1 joins",
            "Its first poll() sends ConsumerGroupHeartbeat with epoch 0 to Broker 4. The group goes "
            "to epoch 2, the target is made on the broker, and C1 may have src-0 and src-1 at once: "
            "nobody else has them.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "C2 joins",
            "The group goes to epoch 3. C2 is to have src-1, and is at epoch 3 already, but what it "
            "may have is nothing: src-1 is C1's until C1 says that it has given it up.",
            ("app-2 goes on", "quiet"),
        ),
        Beat(
            "C1 hears of it",
            "Its next heartbeat brings an assignment without src-1. C1 stays at epoch 2. It has a "
            "ConsumerRebalanceListener, so nothing happens before the application polls.",
            ("the heartbeat interval of app-1/consumer is over", "quiet"),
        ),
        Beat(
            "C1 gives up src-1",
            "In poll() it forgets src-1 and says at once what it still owns. Only now it goes to "
            "epoch 3.",
            ("app-1 goes on", "quiet"),
        ),
        Beat(
            "C2 gets src-1",
            "With the next heartbeat of C2. It asks for the committed offset as a member of epoch 3 "
            "and reads c and d.",
            ("the heartbeat interval of app-2/consumer is over", "quiet", "app-2 goes on"),
        ),
        Beat(
            "C1 is heard of no more",
            "Its session runs out. Broker 4 deletes its records and bumps the group to epoch 4; who "
            "gets src-0 is decided with the next heartbeat of anybody.",
            ("the session of C1 in * runs out at B4",),
        ),
        Beat(
            "C2 gets src-0, too",
            "Nobody has to give it up any more.",
            ("the heartbeat interval of app-2/consumer is over", "quiet", "app-2 goes on", "quiet"),
        ),
        Beat(
            "C1 wakes up",
            "Its heartbeat is answered UNKNOWN_MEMBER_ID: it has lost what it owned, and joins again "
            "with epoch 0.",
            ("the heartbeat interval of app-1/consumer is over", "quiet"),
        ),
    ),
    ("app-1", "app-2", "B4", "B5"),
    ("kafka",),
    Question(
        4,
        "C1 has just given up src-1. What has to happen before C2 may read it?",
        (
            Choice(
                "a heartbeat of C2",
                True,
                "Right: the coordinator never sends anything by itself, it answers heartbeats.",
            ),
            Choice(
                "nothing: C2 has it since it joined",
                False,
                "At epoch 3 C2 was told to have nothing yet: src-1 was not free.",
            ),
            Choice(
                "every member has to stop and join again",
                False,
                "That is the classic protocol. Here C1 goes on reading src-0 all the time.",
            ),
        ),
    ),
    watch=(
        Watch(
            1,
            "Look at the card of the group on Broker 4: C2 is at epoch 3 with nothing, C1 at epoch 2 "
            "with both partitions. For a while members of one group are at different epochs.",
        ),
        Watch(
            3,
            "C1 sends a heartbeat that nobody asked for: it tells what it owns. That is the "
            "acknowledgement without which src-1 would stay where it is.",
        ),
        Watch(
            7,
            "C1 has not been told that it is out: it learns it by asking. Everything it does before "
            "that, it does as a zombie.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw a member that has to give up a partition", "partition given up"),
        SAW_PARTITION_MOVED,
        SAW_GONE,
    ),
)

# src-0 is empty, so that what app-1 works on is the partition that goes to the other member.
ONE_FULL = (("src-1", 200, ("c", "d")),)
NO_LISTENER = Scenario(
    "kip-848-no-listener",
    "A partition goes in the middle of a transaction, and the commit goes through",
    "A consumer without a ConsumerRebalanceListener gives a partition up in the background, while "
    "its application works on records of it. The offsets go out with the member's newest epoch, and "
    "nobody asks whether the partition is still its own.",
    "KIP-848 Reconciliation; ConsumerGroup.validateOffsetCommit: the member's own epoch is good for "
    "every partition (our reading of the code)",
    spec_of(member("app-1", listener=False), member("app-2", listener=False)).but(records=ONE_FULL),
    (
        Beat(
            "app-1 works on c and d of src-1",
            "C1 is alone and has both partitions; src-0 is empty. The transaction is open, the outputs "
            "are sent, the offsets not yet.",
            up_to_send("app-1"),
        ),
        Beat(
            "app-2 joins",
            "C2 is to have src-1, and waits until C1 has let go of it.",
            ("app-2 goes on", "quiet", "app-2 goes on", "app-2 goes on", "quiet"),
        ),
        Beat(
            "C1 lets go of src-1 behind the application's back",
            "A heartbeat brings the new assignment. Without a listener and without automatic commits "
            "there is nobody to ask: the background thread gives src-1 up, says so, and is at epoch 3. "
            "The application thread is in the middle of its transaction.",
            ("the heartbeat interval of app-1/consumer is over", "quiet"),
        ),
        Beat(
            "C2 gets src-1, and app-2 commits c and d",
            "No offset of src-1 is pending, so C2 is told that there is none, and begins at c.",
            (
                "the heartbeat interval of app-2/consumer is over",
                "quiet",
                *("app-2 goes on",) * 3,
                "quiet",
                *commits("app-2"),
            ),
        ),
        Beat(
            "app-1: sendOffsetsToTransaction()",
            "consumer.groupMetadata() says C1 at epoch 3, and that is right. Broker 4 compares the "
            "epoch, not the partition, and takes the offset.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 commits, too",
            "The outputs of c and d are committed for the second time, and no zombie was involved.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "app-2", "B4", "B3"),
    ("kafka",),
    Question(
        4,
        "C1 is a member in good standing at epoch 3, and src-1 is C2's. app-1 sends an offset of src-1. "
        "What does Broker 4 say?",
        (
            Choice(
                "STALE_MEMBER_EPOCH", False, "The epoch is not stale: C1 has heard of everything."
            ),
            Choice("UNKNOWN_MEMBER_ID", False, "C1 is a member."),
            Choice(
                "no error",
                True,
                "Right: an older epoch is checked against the partitions (KIP-1251), the present one "
                "is not.",
            ),
        ),
    ),
    watch=(
        Watch(
            2,
            "With a ConsumerRebalanceListener this beat would end before src-1 is given up: callbacks "
            "run in poll(), and the application is not there.",
        ),
        Watch(
            4,
            "Look at the guards of TxnOffsetCommit, and at what the card of the group says that C1 "
            "may have.",
        ),
    ),
    checkpoints=(
        SAW_PARTITION_MOVED,
        SAW_LSO,
        SAW_PENDING,
    ),
)

STORIES: tuple[Scenario, ...] = (REBALANCE, NO_LISTENER)
