"""KIP-1289: a snapshot of shareGroupMetadata() that is older than the member (corner case 8)."""

from __future__ import annotations

from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_STAGED, TOOK_CRASH, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import BEGIN
from kipviz.scenarios.stories.kip_1289_operator import BEATS, JOINS, READS, SMALL_STALE
from kipviz.scenarios.stories.setting import share_app

TAKES = share_app(max_records=1, protocol="share", program=programs.SNAPSHOT_LOOP)
SNAPSHOT = Beat(
    "metadata = shareConsumer.shareGroupMetadata()",
    "beginTransaction(), and then the snapshot: group g1, member M1, epoch 3. No broker is asked. It is "
    "a value: what the heartbeats bring later is not in it.",
    ("app-1 goes on", "app-1 goes on"),
)
SENDS = Beat(
    'producer.send("output-A", record)',
    "The work on record 100. It may take as long as the record's lock does.",
    ("app-1 goes on", "quiet"),
)
STAGES = Beat(
    "sendShareAcknowledgementsToTransaction(acks, metadata)",
    "TxnShareAcknowledge says epoch 3, because the snapshot does. Broker 5 has 100 as ACQUIRED by M1.",
    ("app-1 goes on", "quiet"),
)
ENDS = Beat(
    "The transaction ends",
    "It commits; or commitTransaction() throws, the loop aborts, and takes a fresh snapshot next time.",
    ("app-1 goes on", "quiet", "app-1 goes on", "quiet", "maybe B5 refreshes src-0", "quiet"),
)

OLD = Scenario(
    "kip-1289-corner-8-snapshot",
    "Corner case 8: a snapshot that is older than its member",
    "A member takes a snapshot of its metadata and works. Meanwhile another one joins, and a heartbeat "
    "brings the member its next epoch. The staging says what the snapshot says.",
    "KIP-1289, Corner cases, 8; ShareConsumer.shareGroupMetadata(), javadoc",
    SMALL_STALE.spec.but(
        applications=(
            TAKES,
            share_app("app-2", max_records=1, protocol="share", program=READS),
        )
    ),
    (
        BEGIN[0],
        JOINS,
        SNAPSHOT,
        SENDS,
        Beat(
            "app-2 joins, app-1 beats",
            "M2 bumps the group's epoch, and the answer to M1's heartbeat tells its consumer: M1 is at "
            "epoch 4 from now on. The snapshot in the application's hand still says 3.",
            (
                "app-2 goes on",
                "app-2/member sends ShareGroupHeartbeat",
                "ShareGroupHeartbeat arrives at B1",
                BEATS,
                "app-1/member sends ShareGroupHeartbeat",
                "ShareGroupHeartbeat arrives at B1",
                "ShareGroupHeartbeatResponse arrives at app-1/member",
            ),
        ),
        STAGES,
        ENDS,
    ),
    ("app-1", "app-2", "B1", "B5"),
    ("repaired", "finding-L"),
    Question(
        5,
        "The consumer of app-1 knows that it is at epoch 4. What does its TxnShareAcknowledge say?",
        (
            Choice(
                "4: the consumer knows better",
                False,
                "The producer was given a value, and knows no consumer.",
            ),
            Choice(
                "3: that is in the snapshot",
                True,
                "Right. Whether that matters is for the broker to say.",
            ),
        ),
    ),
    watch=(
        Watch(4, "Find epoch 4 and epoch 3 in one process: who has which?"),
        Watch(
            5,
            "A broker that takes the epoch before as well, as heartbeats do, would have taken this one. How "
            "many members have to join during one transaction until that does not help?",
        ),
    ),
    checkpoints=(SAW_STAGED, TOOK_CRASH),
)

GONE = OLD.but(
    name="kip-1289-corner-8-gone",
    title="Corner case 8: a snapshot of a member that is none any more",
    sentence="The group's coordinator does not hear of a member for 45 s and takes it out, while its "
    "connection to the share-partition leader is fine and its locks run on.",
    spec=OLD.spec.but(applications=(TAKES,)),
    beats=(
        *OLD.beats[:4],
        Beat(
            "M1's session runs out on Broker 1",
            "Broker 1 has no member M1 any more. Broker 5 is not told: M1's share session there is alive, "
            "and 100 is M1's.",
            ("the session of M1 in g1 runs out at B1", "quiet"),
        ),
        STAGES,
        ENDS,
    ),
    lanes=("app-1", "B1", "B5", "B7"),
    question=Question(
        5,
        "M1 is no member for Broker 1, and holds record 100 for Broker 5. May it stage it?",
        (
            Choice(
                "yes: nobody else can have the record",
                True,
                "Right, in the repaired design: a plain ShareAcknowledge would be taken as well.",
            ),
            Choice(
                "no: UNKNOWN_MEMBER_ID",
                False,
                "So the text has it. The work is thrown away, and the record waits for its lock or its session.",
            ),
        ),
    ),
    watch=(
        Watch(4, "Compare what Broker 1 and Broker 5 know of M1."),
        Watch(
            6,
            "M1's next heartbeat is refused, and it joins again under the same id. At which epoch?",
        ),
    ),
)

STORIES: tuple[Scenario, ...] = (OLD, GONE)
