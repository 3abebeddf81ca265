"""KIP-1191: the dead-letter queue of a share group."""

from __future__ import annotations

from kipviz.brokers.settings import GroupConfig
from kipviz.cluster.spec import Placement
from kipviz.messages.share_groups import AcknowledgeType
from kipviz.scenarios import programs
from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_932 import KAFKA, commits, polls, worker
from kipviz.scenarios.stories.setting import SHARE_GROUP, share_spec

ACCEPT, RELEASE = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE
DEAD_LETTERS = "dlq.orders"

_spec = share_spec(
    worker(
        "app-1",
        program=programs.worker(
            ((100, RELEASE), (-1, ACCEPT)),
            "acknowledge(record, fails(record) ? RELEASE : ACCEPT); // 100 always fails",
        ),
    )
)
POISON = Scenario(
    "kip-1191-poison-record",
    "A poison record, and where it ends",
    "Offset 100 makes every reader fail. At the delivery limit the broker gives it up, and copies "
    "it to the group's dead-letter queue first.",
    "KIP-1191, Dead-letter queues for share groups",
    _spec.but(
        placements=(*_spec.placements, Placement(f"{DEAD_LETTERS}-0", 3, (1,))),
        topic_ids=(*_spec.topic_ids, (DEAD_LETTERS, "AAAAAAAAAAAAAAAAAAAABQ")),
        group_configs=(
            GroupConfig(
                SHARE_GROUP,
                delivery_count_limit=2,
                dead_letter_topic=DEAD_LETTERS,
                dead_letter_copy_record=True,
            ),
        ),
        dead_letter_topics=(DEAD_LETTERS,),
    ),
    (
        Beat(
            "The first attempt",
            "app-1 gets 100 and 101, and fails on 100: RELEASE. The group's delivery limit is 2.",
            (*polls("app-1"), *commits("app-1")),
        ),
        Beat(
            "The second attempt",
            "100 comes back alone, delivery count 2.",
            polls("app-1"),
        ),
        Beat(
            "RELEASE at the limit: ARCHIVING",
            "Delivered as often as allowed, and released again: it is not made free. Because the "
            "group has a dead-letter queue it is ARCHIVING first, and that is durable before "
            "anything is copied.",
            ("app-1 goes on", "app-1 goes on", "until WriteShareGroupState arrives at B7"),
        ),
        Beat(
            "The copy",
            "Broker 5 itself produces to dlq.orders, as a plain producer. Topic, partition, offset, "
            "group, delivery count and reason are in headers.",
            ("until Produce arrives at B3",),
        ),
        Beat(
            "ARCHIVED",
            "Whether the copy was written or not, the record is done for, and the start offset "
            "moves past it.",
            ("quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "B5", "B7", "B3"),
    KAFKA,
    Question(
        3,
        "Broker 3 cannot be reached, and every attempt to write the copy fails. What becomes of 100?",
        (
            Choice(
                "it stays ARCHIVING until the copy is written",
                False,
                "It would hold the start offset for ever.",
            ),
            Choice(
                "it is ARCHIVED without a copy",
                True,
                "Right: after five attempts the broker only logs it. The queue is best effort.",
            ),
            Choice("it is delivered again", False, "Its limit is reached."),
        ),
    ),
    watch=(
        Watch(
            2, "ARCHIVING (id 3) goes to the share coordinator, later ARCHIVED (id 4): same count."
        ),
        Watch(
            3, "Crash Broker 5 here on a branch: the next leader finds ARCHIVING and copies again."
        ),
        Watch(4, "Open the batch in dlq.orders-0 and read its headers."),
    ),
    checkpoints=(
        Checkpoint("saw a record ARCHIVING", "record archiving"),
        Checkpoint("saw its copy in the dead-letter queue", "dead letter written"),
        Checkpoint("took a branch in which a broker crashes", "broker crashed"),
    ),
)

STORIES: tuple[Scenario, ...] = (POISON,)
