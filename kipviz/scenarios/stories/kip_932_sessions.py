"""KIP-932: one request, one answer, several partitions of a share session."""

from __future__ import annotations

from kipviz.cluster.spec import ClusterSpec, Placement
from kipviz.records.placement import SHARE_GROUP_STATE, share_partition_key
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_ACKNOWLEDGEMENT_REFUSED,
    SAW_DELIVERED_TWICE,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_932 import KAFKA, MOVED_ON, worker
from kipviz.scenarios.stories.setting import (
    PLAYGROUND,
    SHARE_GROUP,
    SHARE_PLACEMENTS,
    SOURCE_ID,
    TOPIC_IDS,
    home,
)

SECOND_STATE = home(SHARE_GROUP_STATE, share_partition_key(SHARE_GROUP, SOURCE_ID, 1))

ONE_ANSWER = Scenario(
    "kip-932-one-answer",
    "One answer for two partitions, and an error of one",
    "Broker 5 leads src-0 and src-1, and app-1 has one share session there. Each ShareFetch asks for both "
    "and acknowledges records of both. Then src-0 moves away while such a request is on the wire.",
    "KIP-932, ShareFetch and Share sessions",
    ClusterSpec(
        (1, 3, 5, 7),
        (*SHARE_PLACEMENTS, Placement("src-1", 5, (3,)), Placement(SECOND_STATE, 7, (3,))),
        (
            worker(
                "app-1",
                program=programs.SHARE_READ,
                explicit=False,
                max_records=3,
                further_sources=("src-1",),
                gathers=True,
                by_session=True,
                callback=True,
            ),
        ),
        (("src-0", 100, ("a", "b", "c", "d")), ("src-1", 200, ("e", "f"))),
        TOPIC_IDS,
        PLAYGROUND,
    ),
    (
        Beat(
            "app-1 polls",
            "ShareFetch with epoch 0 adds src-0 and src-1 to a new session. Broker 5 reads the durable state "
            "of each. That of src-0 is there first, so its records are the answer: three, because app-1 "
            "asked for three. src-1 is not waited for.",
            (
                "app-1 goes on",
                "app-1/consumer sends ShareFetch",
                "ShareFetch arrives at B5",
                "quiet",
            ),
        ),
        Beat(
            "One answer for both",
            "The next poll() names no partition: the session knows them. It accepts 100 to 102. With epoch 1 "
            "it is src-1 that comes first, and has two records; src-0 may add one. Broker 5 answers when the "
            "acknowledgements are durable.",
            ("app-1 goes on", "app-1 goes on", "quiet"),
        ),
        Beat(
            "The next poll() goes out",
            "One ShareFetch accepts 200 and 201 of src-1 and 103 of src-0.",
            ("app-1 goes on", "app-1 goes on", "app-1/consumer sends ShareFetch"),
        ),
        Beat(
            "src-0 moves to Broker 3",
            "Broker 5 forgets who holds 103. The session stays, and so does src-1.",
            ("src-0 moves to B3",),
        ),
        Beat(
            "The request arrives at Broker 5",
            "Of src-1 it takes the ACCEPT, and that is made durable. Of src-0 it says two things in one "
            "answer: NOT_LEADER_OR_FOLLOWER to the fetch, and UNKNOWN_TOPIC_OR_PARTITION to the "
            "acknowledgement.",
            ("ShareFetch arrives at B5", "quiet but ShareFetchResponse arrives at app-1/consumer"),
        ),
        Beat(
            "app-1 asks both brokers",
            "Broker 5 is told to forget src-0. Broker 3 gets a session of its own. It has read the durable "
            "state of src-0, in which nobody has accepted 103: d comes again.",
            ("ShareFetchResponse arrives at app-1/consumer", "quiet"),
        ),
        Beat(
            "The callback hears of each partition",
            "The next poll() calls it: 103 came to an error, 200 and 201 to none. poll() itself threw nothing.",
            ("app-1 goes on", "app-1 goes on"),
        ),
    ),
    ("app-1", "B3", "B5", "B7"),
    KAFKA,
    Question(
        4,
        "One request accepts records of src-0, which Broker 5 leads no more, and of src-1. What is taken?",
        (
            Choice("nothing of it", False, "All or none holds for each partition by itself."),
            Choice(
                "what is said of src-1",
                True,
                "Right: each partition has an error of its own in the answer, one for the fetch and one for "
                "the acknowledgements.",
            ),
            Choice(
                "both: M1 has a session there",
                False,
                "Who holds a record is known to the leader's share-partition, and it is gone.",
            ),
        ),
    ),
    watch=(
        Watch(1, "How many partitions does the second ShareFetch name in its bytes?"),
        Watch(1, "Compare max_records with the records of each partition in the answer."),
        Watch(4, "Look for the two error codes of src-0 in the bytes of the answer."),
    ),
    checkpoints=(
        MOVED_ON,
        SAW_ACKNOWLEDGEMENT_REFUSED,
        SAW_DELIVERED_TWICE,
    ),
)

STORIES: tuple[Scenario, ...] = (ONE_ANSWER,)
