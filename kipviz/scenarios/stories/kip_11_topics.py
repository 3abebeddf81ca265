"""KIP-11: requests that name several topics, of which their sender may use some."""

from __future__ import annotations

from kipviz.brokers.authorizer import Acl, Operation, Resource
from kipviz.clients.application import Call, Line
from kipviz.cluster.spec import Placement
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_REFUSED, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import OLD_ID, member, two_topics
from kipviz.scenarios.stories.kip_11 import OPERATOR
from kipviz.scenarios.stories.kip_664 import operator
from kipviz.scenarios.stories.kip_932 import KAFKA, commits, worker
from kipviz.scenarios.stories.kip_932_operator import (
    JOINS,
    OF_MEMBERS,
    OPERATES,
    RESET,
    catching,
    describe,
    operated,
)
from kipviz.scenarios.stories.setting import GROUP, PLAYGROUND, SHARE_GROUP, TOPIC_IDS


def _may(principal: str, operation: Operation, resource: Resource, name: str) -> Acl:
    return Acl(principal, operation, resource, name)


Op, R = Operation, Resource

# -- one request, two topics -----------------------------------------------------------------------

BOTH = f"{SHARE_GROUP} src-0=100 old-0=300"
RESETS = Line(
    f"kafka-share-groups.sh --group {SHARE_GROUP} --reset-offsets --topic src --topic old --to-earliest",
    Call.ALTER_SHARE_GROUP_OFFSETS,
    target=BOTH,
)
ONE_OF_TWO = Scenario(
    "kip-11-one-of-two-topics",
    "One request for two topics, and a right for one of them",
    "An operator resets a group in two topics and may read only one of them. It may be half a reset, or none.",
    "KIP-11, KIP-932 AlterShareGroupOffsets; AuthHelper.partitionSeqByAuthorized",
    operated(
        worker("app-1", protocol="share", max_records=2),
        operator(catching(RESETS, describe())),
    ).but(
        placements=(*OF_MEMBERS, Placement("old-0", 3, (5,))),
        records=(("src-0", 100, ("a", "b")), ("old-0", 300, ("x",))),
        topic_ids=(*TOPIC_IDS, ("old", OLD_ID)),
        acls=(
            _may("app-1", Op.READ, R.GROUP, SHARE_GROUP),
            _may("app-1", Op.READ, R.TOPIC, "src"),
            _may(OPERATOR, Op.READ, R.GROUP, SHARE_GROUP),
            _may(OPERATOR, Op.READ, R.TOPIC, "src"),
        ),
        further_acls=(_may(OPERATOR, Op.READ, R.TOPIC, "old"),),
        budget=PLAYGROUND.but(acls=1),
    ),
    (
        Beat("app-1 works through src-0", "a and b are acknowledged.", (*JOINS, *commits("app-1"))),
        Beat(
            "app-1 is gone",
            "Its session runs out, and the group is empty: it may be reset.",
            ("app-1 crashes", "quiet", "the session of M1 in g1 runs out at B1", "quiet"),
        ),
        Beat(
            "--reset-offsets for src and old",
            "The broker takes old out of the request before the coordinator sees it, has src reset, and puts old into "
            "the answer with TOPIC_AUTHORIZATION_FAILED. The tool reports an error.",
            OPERATES,
        ),
        Beat(
            "--describe",
            "src-0 begins at 100 again. Of old-0 nothing is said: it may not be seen.",
            OPERATES,
        ),
    ),
    ("operator", "app-1", "B1", "B7"),
    KAFKA,
    Question(
        2,
        "The request names two topics, and the operator may read one of them. What is reset?",
        (
            Choice(
                "nothing: the request is refused", False, "So it is where the group is refused."
            ),
            Choice(
                "src alone, and the answer says so",
                True,
                "Right: topics are asked for one by one in this request, and each has a result of its own.",
            ),
            Choice("both: the right of the group counts", False, "That one is needed as well."),
        ),
    ),
    watch=(
        Watch(2, "Open the answer: two partitions, two results."),
        Watch(2, "The call throws, and something was done all the same. What is safe to do next?"),
    ),
    checkpoints=(SAW_REFUSED, RESET),
)

# -- a heartbeat that names topics -------------------------------------------------------------------

OF_THE_OLD = _may("app-1", Op.DESCRIBE, R.TOPIC, "old")
BEAT = Scenario(
    "kip-11-heartbeat",
    "A member that may not see one of its topics joins no group",
    "A consumer subscribes to two topics and has a right for one. Its first heartbeat names both.",
    "KIP-11, KIP-848 ConsumerGroupHeartbeat; KafkaApis.handleConsumerGroupHeartbeat",
    two_topics(
        member("app-1", program=programs.reading("old, src")),
        member("app-2", program=programs.reading("src")),
    ).but(
        acls=(
            _may("*", Op.READ, R.GROUP, GROUP),
            _may("*", Op.READ, R.TOPIC, "src"),
        ),
        further_acls=(OF_THE_OLD, _may("app-1", Op.READ, R.TOPIC, "old")),
        budget=PLAYGROUND.but(acls=2),
    ),
    (
        Beat(
            "app-1: subscribe(old, src), poll()",
            "ConsumerGroupHeartbeat with both names. Broker 4 refuses it as a whole, TOPIC_AUTHORIZATION_FAILED: the "
            "group does not learn that there is such a member, nor app-1 whether there is such a topic.",
            ("app-1 goes on", "app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-2: subscribe(src), poll()",
            "It names what it may see, joins, and reads.",
            ("app-2 goes on", "app-2 goes on", "quiet", "app-2 goes on"),
        ),
        Beat(
            "An operator lets app-1 read old",
            "READ implies DESCRIBE. Nobody is told; app-1 is started again.",
            (
                "the ACL 'app-1 may READ TOPIC old' is created",
                "app-1 crashes",
                "app-1 starts",
            ),
        ),
        Beat(
            "app-1 joins",
            "The same heartbeat is let in now.",
            ("app-1 goes on", "app-1 goes on", "quiet"),
        ),
    ),
    ("app-1", "app-2", "B4", "B5"),
    KAFKA,
    Question(
        2,
        "app-1 may read src, and its heartbeat names src and old. What does it get?",
        (
            Choice("the partitions of src", False, "A heartbeat is refused or let in as a whole."),
            Choice(
                "nothing: it is no member",
                True,
                "Right: the subscription is one thing, and part of it may not be seen.",
            ),
            Choice(
                "the partitions of both, and Fetch is refused", False, "It does not get that far."
            ),
        ),
    ),
    watch=(
        Watch(0, "What has Broker 4 in its log of this group? Nothing."),
        Watch(3, "Compare with a Fetch of two topics: there the one that is allowed is served."),
    ),
    checkpoints=(
        SAW_REFUSED,
        Checkpoint("saw a partition go to a member while another one lost it", "partition moved"),
    ),
)
STORIES: tuple[Scenario, ...] = (ONE_OF_TWO, BEAT)
