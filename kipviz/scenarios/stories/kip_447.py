"""KIP-447: who keeps a zombie of a regular group from committing, and who waits for whom."""

from __future__ import annotations

from kipviz.scenarios import programs
from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import (
    APP_1_READS,
    HEARD_NO_MORE,
    commits,
    member,
    spec_of,
    up_to_send,
)

LANES = ("app-1", "app-2", "B4", "B3")
SAW_GONE = Checkpoint("saw a member taken out because it was silent", "member gone")

STAGED = Beat(
    "sendOffsetsToTransaction(): offset 102 is pending",
    "The group's new offset is in the log of Broker 4, as part of the open transaction. The committed "
    "offset is still none.",
    ("app-1 goes on", "quiet", "app-1 goes on"),
)
TAKES_OVER = Beat(
    "app-2 takes over",
    "C2 joins and gets both partitions: C1 is no member any more, so nobody has to give up anything. "
    "It asks where the group left off in src-0.",
    (
        "app-2 goes on",
        "quiet",
        "app-2 goes on",
        "app-2 goes on",
        "quiet",
    ),
)

RACE = Scenario(
    "kip-447-race",
    "The old owner is still committing: the new one has to wait",
    "A member drops out of its group while its offset is pending in an open transaction. Whoever "
    "takes over must not start from the old offset, because the old owner may still commit.",
    "KIP-447, OffsetFetch version 7: RequireStable, UNSTABLE_OFFSET_COMMIT",
    spec_of(member("app-1"), member("app-2")),
    (
        APP_1_READS,
        STAGED,
        HEARD_NO_MORE,
        TAKES_OVER,
        Beat(
            "app-2 backs off and asks again",
            "UNSTABLE_OFFSET_COMMIT once more. It can go on like this until the transaction of app-1 "
            "ends, at the latest by its time-out.",
            ("maybe the retry back-off of app-2/consumer is over", "quiet"),
        ),
        Beat(
            "app-1 wakes up and commits",
            "EndTxn asks for the transactional id and its epoch, not for the group: the zombie "
            "commits what it had staged while it was a member, and that is right.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-2 asks again: 102",
            "The pending offset became the committed one with the marker. app-2 goes on behind b, "
            "and reads c and d of src-1: nothing is processed twice.",
            ("maybe the retry back-off of app-2/consumer is over", "quiet", "app-2 goes on"),
        ),
        Beat(
            "app-2 writes and commits what it has read",
            "c and d, because it waited. Played under 'before-447' it has read a and b by now, and "
            "commits their outputs for the second time.",
            (
                "app-2 goes on",
                "app-2 goes on",
                "quiet",
                *commits("app-2"),
            ),
        ),
    ),
    LANES,
    ("kafka", "before-447", "kip-447-group-id"),
    Question(
        3,
        "C2 asks for the group's offset in src-0. What does Broker 4 answer?",
        (
            Choice(
                "none: nothing is committed yet",
                False,
                "So it was before KIP-447. app-2 would process a and b, app-1 might still commit "
                "them, and they would be out twice.",
            ),
            Choice("102", False, "Nobody knows yet whether 102 will count."),
            Choice(
                "UNSTABLE_OFFSET_COMMIT",
                True,
                "Right: 102 is pending, and either answer could turn out to be wrong.",
            ),
        ),
    ),
    watch=(
        Watch(
            3,
            "Broker 4 would know an answer: nothing is committed. It gives none, because RequireStable "
            "asks for what cannot change any more. A Java consumer always asks so.",
        ),
        Watch(
            5,
            "C1 is no member any more, and its commit goes through. The group is asked in "
            "sendOffsetsToTransaction() only; that is why the wait of app-2 is needed.",
        ),
    ),
    checkpoints=(
        SAW_GONE,
        Checkpoint("saw a consumer wait for a pending offset", "told unstable"),
        Checkpoint("took a branch in which the transaction of app-1 times out", "timed out"),
    ),
)

OVERTAKEN = Beat(
    "app-2 takes over, and commits a and b",
    "Nothing is pending, so C2 reads src-0 from the beginning, processes a and b, and commits.",
    (
        *up_to_send("app-2"),
        *commits("app-2"),
    ),
)
ZOMBIE = Scenario(
    "kip-447-zombie",
    "A zombie wakes up: the group coordinator keeps it out",
    "A member drops out of its group with a transaction open. Another one takes over, and processes "
    "the same records. Then the first one goes on where it stood.",
    "KIP-447, Fence zombie: TxnOffsetCommit version 3; KIP-848 member epochs",
    spec_of(member("app-1"), member("app-2")),
    (
        APP_1_READS,
        HEARD_NO_MORE,
        OVERTAKEN,
        Beat(
            "app-1 wakes up: sendOffsetsToTransaction()",
            "It still believes that it is C1 at epoch 2. Broker 4 finds no such member and answers "
            "UNKNOWN_MEMBER_ID: CommitFailedException.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 has to abort",
            "Its outputs of a and b are in output-A-0, and will never be shown to anybody who reads "
            "committed records.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    LANES,
    ("kafka", "before-447"),
    Question(
        3,
        "app-1 is a zombie, and does not know. What stops it from committing a and b once more?",
        (
            Choice(
                "the transaction coordinator: its producer is fenced",
                False,
                "The two producers have different transactional ids: neither fences the other.",
            ),
            Choice(
                "the group coordinator, when it sends its offsets",
                True,
                "Right: TxnOffsetCommit says for which member, and at which epoch.",
            ),
            Choice("nothing", False, "That is so if the producer is given the group's id only."),
        ),
    ),
    watch=(
        Watch(
            2,
            "The outputs of app-1 are in output-A-0 already, and hold the last stable offset back: "
            "what app-2 committed is not visible either, until app-1 ends.",
        ),
        Watch(
            3,
            "Look at the guards of TxnOffsetCommit: the member epoch of the request against that of "
            "the group. No other message of app-1 is checked against the group.",
        ),
    ),
    checkpoints=(
        SAW_GONE,
        Checkpoint("saw a zombie's offsets refused", "commit failed"),
        Checkpoint("saw the last stable offset held back", "lso held back"),
    ),
)

BARE = member("app-1", program=programs.GROUP_LOOP_BARE)
NO_METADATA = Scenario(
    "kip-447-group-id-only",
    "A zombie that nobody can see: the producer knows the group's id and no more",
    "The same as before, but the application passes the group's id instead of "
    "consumer.groupMetadata(). The zombie's commit goes through.",
    "KIP-447, ConsumerGroupMetadata; TxnOffsetCommit without a member",
    spec_of(BARE, BARE.but(name="app-2", transactional_id="my-txn-2", member_id="C2")),
    (
        APP_1_READS,
        HEARD_NO_MORE,
        OVERTAKEN,
        Beat(
            "app-1 wakes up: sendOffsetsToTransaction()",
            "The request has no member id and epoch -1. Broker 4 knows of nothing to check it "
            "against, and takes it.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 commits, too",
            "The outputs of a and b are committed for the second time.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        4,
        "app-1's offsets were taken. How often will a reader of output-A-0 see the output of a?",
        (
            Choice("once", False, "Both transactions commit, and each has an output of a."),
            Choice("twice", True, "Right: exactly once is lost without an error anywhere."),
            Choice("never", False, "Nothing was aborted."),
        ),
    ),
    watch=(
        Watch(
            3,
            "The answer is no error. The constructors of ConsumerGroupMetadata that make this easy "
            "are deprecated since Kafka 4.2.",
        ),
        Watch(4, "The verdict 'atomic' breaks at the decision, not when somebody reads."),
    ),
    checkpoints=(
        SAW_GONE,
        Checkpoint("saw an offset of a zombie pending", "offset pending"),
        Checkpoint("saw the last stable offset held back", "lso held back"),
    ),
)

STORIES: tuple[Scenario, ...] = (RACE, ZOMBIE, NO_METADATA)
