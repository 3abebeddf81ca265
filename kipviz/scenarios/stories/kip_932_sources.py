"""KIP-932: what a share group reads: a transactional source, several partitions."""

from __future__ import annotations

from kipviz.brokers.settings import READ_COMMITTED, GroupConfig
from kipviz.cluster.spec import ClusterSpec, Placement
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_ACKNOWLEDGEMENT_REFUSED,
    SAW_LSO,
    TOOK_CRASH,
    TOOK_MEMBER_CRASH,
    TOOK_TIME_OUT,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import FIRST_ROUND, NEXT_ROUND
from kipviz.scenarios.stories.kip_932 import KAFKA, MOVED_ON, commits, polls, worker
from kipviz.scenarios.stories.setting import (
    GROUP,
    PLAYGROUND,
    SHARE_GROUP,
    SHARE_PLACEMENTS,
    TOPIC_IDS,
    group_app,
    home,
)

COMMITTED = Scenario(
    "kip-932-read-committed",
    "A share group on a transactional source",
    "src-0 is written in transactions. A group with share.isolation.level=read_committed waits for "
    "the last stable offset, and never sees what was aborted.",
    "KIP-932, share.isolation.level",
    ClusterSpec(
        (1, 3, 4, 5, 7),
        (
            *SHARE_PLACEMENTS,
            Placement("in-0", 4, (3,)),
            Placement(home("__consumer_offsets", GROUP), 4, (3,)),
        ),
        (
            group_app(name="app-1", program=programs.COPY_ABORT, source="in-0", output="src-0"),
            worker("app-2", max_records=10),
        ),
        (("in-0", 100, ("a", "b", "c", "d")),),
        (*TOPIC_IDS, ("in", "AAAAAAAAAAAAAAAAAAAABA")),
        PLAYGROUND,
        group_configs=(GroupConfig(SHARE_GROUP, isolation_level=READ_COMMITTED),),
    ),
    (
        Beat(
            "app-1 sends in a transaction",
            "Two records stand in src-0 at offsets 0 and 1, below the high watermark, and nothing "
            "is decided.",
            FIRST_ROUND,
        ),
        Beat(
            "app-2 polls: nothing comes",
            "Its group reads committed records, so Broker 5 delivers nothing from the last stable "
            "offset on, which is 0. Nobody has an error; it is the wait of a group for a "
            "transaction that is not its own.",
            ("app-2 goes on", "quiet"),
        ),
        Beat(
            "app-1 aborts",
            "The ABORT marker at offset 2 lets the last stable offset go to 3. Broker 5 archives "
            "0 and 1 on the spot, without a delivery. The marker's own offset goes to the client, "
            "which knows that it is no record and says GAP.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 sends again, and commits",
            "Offsets 3 and 4, and a COMMIT marker at 5. Only then anything is delivered.",
            (
                *NEXT_ROUND,
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
                "app-2 goes on",
            ),
        ),
        Beat(
            "app-2 is done",
            "It accepts 3 and 4, and its client the gap at 5. The start offset is 6.",
            commits("app-2"),
        ),
    ),
    ("app-1", "app-2", "B5", "B7"),
    KAFKA,
    Question(
        2,
        "The transaction aborts. What does Broker 5 do with offsets 0 and 1?",
        (
            Choice(
                "it delivers them, the client drops them",
                False,
                "A share consumer gets no list of aborted transactions.",
            ),
            Choice(
                "it archives them without a delivery",
                True,
                "Right: the share-partition leader filters, because only it knows what the group "
                "has been given.",
            ),
            Choice(
                "it leaves them AVAILABLE", False, "Then the start offset could never pass them."
            ),
        ),
    ),
    watch=(
        Watch(1, "Compare the high watermark and the last stable offset of src-0."),
        Watch(2, "0 and 1 are ARCHIVED with nobody's name on them."),
        Watch(3, "Let app-1 crash before its commit on a branch: how long does app-2 wait?"),
    ),
    checkpoints=(
        SAW_LSO,
        Checkpoint("saw records of an aborted transaction archived", "aborted data archived"),
        TOOK_TIME_OUT,
    ),
)

SEVERAL = Scenario(
    "kip-932-several-partitions",
    "One member, three partitions, two brokers",
    "A member reads all partitions that it is assigned. It has a share session with each broker that "
    "leads some of them, and what it says of a record goes to the broker it is from.",
    "KIP-932, Share sessions and ShareFetch",
    ClusterSpec(
        (1, 3, 5, 7),
        (*SHARE_PLACEMENTS, Placement("src-1", 5, (3,)), Placement("src-2", 3, (5,))),
        (worker("app-1", further_sources=("src-1", "src-2")),),
        (("src-0", 100, ("a", "b")), ("src-1", 200, ()), ("src-2", 300, ("c", "d"))),
        TOPIC_IDS,
        PLAYGROUND,
    ),
    (
        Beat(
            "app-1 polls",
            "One ShareFetch names src-0 and src-1, which Broker 5 leads. It opens a share session "
            "there, and brings what src-0 has.",
            polls("app-1"),
        ),
        Beat(
            "app-1 is done with them",
            "The acknowledgements go to Broker 5, in the session of the fetch.",
            commits("app-1"),
        ),
        Beat(
            "app-1 polls again",
            "Now it is the turn of src-1, which is empty; Broker 5 looks into src-0 as well and has "
            "nothing. So the client asks Broker 3, with another session that begins at epoch 0.",
            polls("app-1"),
        ),
        Beat(
            "src-2 moves to Broker 5",
            "Broker 3 forgets what M1 holds of src-2. The session there is not ended by that.",
            ("src-2 moves to B5",),
        ),
        Beat(
            "app-1 acknowledges 300 and 301",
            "The request goes to Broker 3, which delivered them, and is refused there. Broker 5 has a "
            "session of M1, too, but it never heard who holds 300.",
            commits("app-1"),
        ),
    ),
    ("app-1", "B3", "B5", "B7"),
    KAFKA,
    Question(
        4,
        "The leader of src-2 has moved while app-1 held 300 and 301. What becomes of its ACCEPT?",
        (
            Choice(
                "it is refused, and the records are delivered again",
                True,
                "Right: who holds a record is known in the memory of one broker, and it is gone.",
            ),
            Choice("Broker 3 passes it on", False, "Brokers do not pass acknowledgements on."),
            Choice(
                "it is taken: M1 has a session on Broker 5", False, "A session holds no records."
            ),
        ),
    ),
    watch=(
        Watch(0, "The request names two partitions, the answer brings records of one."),
        Watch(2, "Compare the epochs of the two share sessions of M1."),
    ),
    checkpoints=(
        MOVED_ON,
        SAW_ACKNOWLEDGEMENT_REFUSED,
        TOOK_CRASH,
    ),
)

MEMBERS = Scenario(
    "kip-932-members",
    "Taken out of the group, and still holding records",
    "Two members join a share group with one partition. The group coordinator loses sight of one of "
    "them; the leader of the partition never hears of it.",
    "KIP-932, Share group membership and Member failures",
    ClusterSpec(
        (1, 3, 5, 7),
        (*SHARE_PLACEMENTS, Placement(home(CONSUMER_OFFSETS, SHARE_GROUP), 1, (7,))),
        (worker("app-1", protocol="share"), worker("app-2", protocol="share")),
        (("src-0", 100, ("a", "b")),),
        TOPIC_IDS,
        PLAYGROUND,
    ),
    (
        Beat(
            "app-1 joins",
            "Its first poll() sends ShareGroupHeartbeat with an id of its own choice and epoch 0 to "
            "Broker 1. The group goes from epoch 1 to 2. Nothing is assigned: first the state of "
            "src-0 is made at its share coordinator.",
            ("app-1 goes on", "quiet"),
        ),
        Beat(
            "app-1 gets src-0",
            "With the next heartbeat src-0 is assigned, epoch 3, and the fetch goes out. M1 holds 100 "
            "and 101.",
            ("the heartbeat interval of app-1/member is over", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-2 joins",
            "One partition, two members: both are assigned src-0. There is nothing left to fetch.",
            ("app-2 goes on", "quiet"),
        ),
        Beat(
            "M1 is not heard of",
            "group.share.session.timeout.ms passes on Broker 1: M1 is taken out, and the group's "
            "epoch goes up. Broker 5 is told nothing: 100 and 101 stay with M1.",
            ("the session of M1 in g1 runs out at B1", "quiet"),
        ),
        Beat(
            "app-1 is done, all the same",
            "Its ACCEPT goes to Broker 5, which asks for lock and session, not for the member's "
            "epoch, and takes it.",
            commits("app-1"),
        ),
        Beat(
            "app-1 beats",
            "UNKNOWN_MEMBER_ID. It joins again, under the same id, so that what it might hold would "
            "still be its own.",
            ("the heartbeat interval of app-1/member is over", "quiet"),
        ),
    ),
    ("app-1", "app-2", "B1", "B5"),
    KAFKA,
    Question(
        4,
        "M1 is no member any more, and accepts 100 and 101. What does Broker 5 say?",
        (
            Choice(
                "yes",
                True,
                "Right: it never learns a member's epoch. Only the lock, a closed session or a broken "
                "connection takes a record away.",
            ),
            Choice("FENCED_MEMBER_EPOCH", False, "A ShareAcknowledge carries no member epoch."),
            Choice("UNKNOWN_MEMBER_ID", False, "Only the group coordinator knows who is a member."),
        ),
    ),
    watch=(
        Watch(
            0, "In __consumer_offsets src-0 is first asked for, then there, and only then assigned."
        ),
        Watch(3, "Compare what Broker 1 and Broker 5 know of M1."),
    ),
    checkpoints=(
        MOVED_ON,
        TOOK_MEMBER_CRASH,
        TOOK_CRASH,
    ),
)

STORIES: tuple[Scenario, ...] = (COMMITTED, SEVERAL, MEMBERS)
