"""KIP-1191: the dead-letter queue of a share group."""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings, GroupConfig
from kipviz.cluster.spec import Placement
from kipviz.messages.share_groups import AcknowledgeType
from kipviz.scenarios import programs
from kipviz.scenarios.material import TOOK_CRASH, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_932 import KAFKA, commits, polls, worker
from kipviz.scenarios.stories.setting import SHARE_GROUP, share_spec

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
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
        TOOK_CRASH,
    ),
)

_coming = POISON.spec.but(
    settings=BrokerSettings(dead_letter_auto_create=True),
    later_topics=(DEAD_LETTERS,),
    applications=(
        worker(
            "app-1",
            program=programs.worker(
                ((100, REJECT), (-1, ACCEPT)),
                "acknowledge(record, isUseless(record) ? REJECT : ACCEPT); // 100 is useless",
            ),
        ),
    ),
)
FIRST_LETTER = Scenario(
    "kip-1191-first-letter",
    "The first dead letter makes its topic",
    "A group is set to a dead-letter topic that nobody has made. The brokers may make such topics "
    "(errors.deadletterqueue.auto.create.topics.enable).",
    "KIP-1191, errors.deadletterqueue.auto.create.topics.enable",
    _coming,
    (
        Beat(
            "app-1 rejects 100",
            "That is durable as ARCHIVING before anybody looks whether there is a topic for its letter.",
            (
                *polls("app-1"),
                "app-1 goes on",
                "app-1 goes on",
                "until WriteShareGroupState arrives at B7",
            ),
        ),
        Beat(
            "CreateTopics",
            "dlq.orders is not there. Broker 5 asks another broker for it, with as many partitions and replicas "
            "as is the default, and with errors.deadletterqueue.group.enable=true.",
            ("until CreateTopics arrives at B1",),
        ),
        Beat(
            "The letter",
            "Broker 5 hears that the topic is made, and produces to its leader.",
            ("until Produce arrives at B3",),
        ),
        Beat("ARCHIVED", "The record is done for.", ("quiet", "app-1 goes on")),
    ),
    ("app-1", "B5", "B1", "B3"),
    KAFKA,
    Question(
        1,
        "Auto-creation is off, as by default, and the topic is not there. Who hears of that?",
        (
            Choice(
                "the consumer that rejected", False, "Its acknowledgement is durable: no error."
            ),
            Choice(
                "whoever set the group's topic",
                False,
                "A group may be set to a topic that is not there: nobody looks at that moment.",
            ),
            Choice(
                "who reads the broker's log",
                True,
                "Right: each record is archived without a copy, and the broker logs it. The meter of failed "
                "copies stays at 0, because nothing was produced.",
            ),
        ),
    ),
    watch=(
        Watch(1, "Open CreateTopics: which configs does the topic get?"),
        Watch(2, "Crash Broker 5 on a branch: is the topic asked for again?"),
    ),
    checkpoints=(
        Checkpoint("saw a record ARCHIVING", "record archiving"),
        Checkpoint("saw its copy in the dead-letter queue", "dead letter written"),
        TOOK_CRASH,
    ),
)

REJECTS = (*polls("app-1"), "app-1 goes on", "app-1 goes on")
NO_COPY = Scenario(
    "kip-1191-no-copy",
    "A copy that is there twice, and one that is not there",
    "dlq.orders has one replica, on Broker 3. The first copy's answer is lost, then Broker 3 is gone for good. "
    "Copies are tried five times, by a producer that cannot tell its own copies apart.",
    "KIP-1191, Failures",
    POISON.spec.but(
        placements=(*_spec.placements, Placement(f"{DEAD_LETTERS}-0", 3, ())),
        applications=(
            worker(
                "app-1",
                max_records=1,
                program=programs.worker(((-1, REJECT),), "acknowledge(record, REJECT);"),
            ),
        ),
    ),
    (
        Beat(
            "app-1 rejects 100",
            "It is ARCHIVING, and Broker 5 sends the copy to Broker 3, which appends it.",
            (*REJECTS, "until Produce arrives at B3"),
        ),
        Beat(
            "The answer is lost",
            "The connection breaks. Broker 5 cannot know whether the copy is there.",
            ("B5/dlq loses B3",),
        ),
        Beat(
            "The second attempt",
            "The copy goes out again, without a producer id and a sequence: Broker 3 appends it once more. 100 "
            "is ARCHIVED, and stands in the queue twice.",
            ("quiet", "app-1 goes on"),
        ),
        Beat("Broker 3 crashes", "Nobody leads dlq.orders-0.", ("B3 crashes", "quiet")),
        Beat(
            "app-1 rejects 101",
            "There is nobody to send a copy to. So Broker 5 asks for the topic, as if it were not there, and hears "
            "that it is there already: five times.",
            (*REJECTS, "quiet"),
        ),
        Beat(
            "101 is ARCHIVED without a copy",
            "The start offset is 102 all the same. app-1 hears nothing of it: its REJECT was durable.",
            ("app-1 goes on",),
        ),
    ),
    ("app-1", "B3", "B5", "B7"),
    KAFKA,
    Question(
        2,
        "The answer to the first attempt was lost. What stands in the queue after the second one?",
        (
            Choice("one copy", False, "Only a producer with an id could be recognized."),
            Choice(
                "two copies",
                True,
                "Right: at least once, if at all. Who reads the queue has topic, partition and offset in the "
                "headers to tell that they are one record.",
            ),
            Choice(
                "none", False, "Broker 3 had appended the first one before its answer was lost."
            ),
        ),
    ),
    watch=(
        Watch(2, "Compare the headers of the two copies: what tells them apart?"),
        Watch(4, "Which error does the answer to CreateTopics have?"),
    ),
    checkpoints=(
        Checkpoint("saw a record ARCHIVING", "record archiving"),
        Checkpoint("saw its copy in the dead-letter queue", "dead letter written"),
    ),
)

STORIES: tuple[Scenario, ...] = (POISON, FIRST_LETTER, NO_COPY)
