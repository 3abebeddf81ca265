"""KIP-709: offsets of several groups in one OffsetFetch, and what an operator does not learn from them."""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.cluster.spec import Placement
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_PENDING, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import PLACEMENTS, commits, spec_of
from kipviz.scenarios.stories.kip_62 import FIRST_GENERATION, begins, classic
from kipviz.scenarios.stories.kip_229_several import BILLING, MISSPELT
from kipviz.scenarios.stories.kip_664 import operator
from kipviz.scenarios.stories.kip_932_operator import OPERATES, catching
from kipviz.scenarios.stories.setting import GROUP, home

ALL = f"{GROUP} {BILLING} {MISSPELT}"
LIST = Call.LIST_CONSUMER_GROUP_OFFSETS
AS_IT_IS = Line("admin.listConsumerGroupOffsets(groups)", LIST, target=ALL)
STABLE = Line(
    "admin.listConsumerGroupOffsets(groups, requireStable)",
    LIST,
    target=f"{ALL} requireStable=true",
)
GOES = ("app-1 goes on", "quiet", "app-1 goes on")
SPEC = spec_of(
    classic("app-1", max_records=1),
    classic("app-2", group_id=BILLING, program=programs.READ),
    operator(catching(AS_IT_IS, STABLE, STABLE)),
).but(
    placements=(
        *PLACEMENTS,
        Placement(home(CONSUMER_OFFSETS, BILLING), 4, (3,)),
        Placement(home(CONSUMER_OFFSETS, MISSPELT), 3, (4,)),
    )
)
BILLING_READS = Beat(
    "app-2 reads in another group",
    "billing has a member, and has committed nothing yet. Broker 4 leads its partition of __consumer_offsets as well.",
    ("app-2 goes on", "quiet", FIRST_GENERATION, "quiet", "app-2 goes on"),
)
APP_1_HOLDS = Beat(
    "app-1 has committed 101, and 102 is pending",
    "It reads a, commits that, reads b, and sends its offset in a transaction that stays open.",
    (
        *begins("app-1"),
        *commits("app-1"),
        *GOES,
        "app-1 goes on",
        "app-1 goes on",
        "quiet",
        *GOES,
    ),
)
APP_1_COMMITS = Beat(
    "app-1 commits",
    "The marker comes to __consumer_offsets: from here on 102 is what is committed.",
    GOES,
)
SAW_NOTHING_TOLD = Checkpoint(
    "saw an answer without an offset and without an error", "no offset, no error"
)

SEVERAL = Scenario(
    "kip-709-offsets-of-three",
    "The offsets of three groups: what is missing from the list",
    "Before a cluster is switched off somebody writes down how far each group has read. One group has a transaction "
    "open, and one name is misspelt. No call fails.",
    "KIP-709 OffsetFetch version 8; KIP-447 RequireStable; ListConsumerGroupOffsetsHandler",
    SPEC,
    (
        BILLING_READS,
        APP_1_HOLDS,
        Beat(
            "listConsumerGroupOffsets of three groups",
            "Two requests: Broker 4 coordinates two of the groups, Broker 3 would coordinate my-gruop-4. my-group-4 is at 101. "
            "billing has no offset and no error. my-gruop-4 has the same: nobody asks whether there is such a group.",
            OPERATES,
        ),
        Beat(
            "The same with requireStable: src-0 is not in the list",
            "Of my-group-4 Broker 4 says UNSTABLE_OFFSET_COMMIT for src-0. The group itself has no error, so the call "
            "does not fail and is not tried again: the admin client logs a line and leaves the partition out.",
            OPERATES,
        ),
        APP_1_COMMITS,
        Beat("Once more: 102", "Now the offset is stable, and stands in the list.", OPERATES),
    ),
    ("operator", "app-1", "B4", "B3"),
    ("kafka",),
    Question(
        3,
        "The operator asks with requireStable. Offset 102 of src-0 is pending, 101 is committed. What does the call give "
        "for my-group-4?",
        (
            Choice("101", False, "That is what it gives without requireStable."),
            Choice("UNSTABLE_OFFSET_COMMIT", False, "A consumer would see that, and ask again."),
            Choice(
                "nothing for src-0",
                True,
                "Right: it looks as if the group had never committed there.",
            ),
        ),
    ),
    watch=(
        Watch(
            2,
            "The bytes of OffsetFetch: version 9, an array of groups, and null where topics would be: all of them. Version "
            "10 has ids in place of names, and the admin client has names, so it never speaks it.",
        ),
        Watch(
            3,
            "With requireStable the answer waits for the log: it is of what is written. Without it, of what is "
            "replicated, and it comes at once.",
        ),
    ),
    checkpoints=(SAW_PENDING, SAW_NOTHING_TOLD),
)

OLD = "2.4"
OLD_COORDINATOR = Scenario(
    "kip-709-old-coordinator",
    "An old coordinator: a request for each group, and requireStable is dropped",
    "The same question to brokers of 2.4, which know OffsetFetch up to version 6. It has room for one group, and no "
    "place for the wish for stable offsets. The client leaves both out, and says nothing.",
    "KIP-709, NoBatchedOffsetFetchRequestException; KIP-447; OffsetFetchRequest.Builder",
    spec_of(
        classic("app-1", max_records=1, program=programs.GROUP_LOOP_BARE),
        classic("app-2", group_id=BILLING, program=programs.READ),
        operator((STABLE,)),
    ).but(
        placements=SPEC.placements,
        transaction_version=0,
        inter_broker_protocol=0,
        releases=tuple((broker, OLD) for broker in SPEC.brokers),
    ),
    (
        BILLING_READS,
        APP_1_HOLDS,
        Beat(
            "listConsumerGroupOffsets with requireStable",
            "Three requests for three groups. Of my-group-4 Broker 4 says 101: it was not asked whether that is stable, and "
            "the caller is not told.",
            OPERATES,
        ),
        APP_1_COMMITS,
    ),
    ("operator", "app-1", "B4", "B3"),
    ("kafka",),
    Question(
        2,
        "The operator asks for three groups with requireStable. The coordinators are of 2.4. What does the client do?",
        (
            Choice(
                "it throws UnsupportedVersionException",
                False,
                "The Java consumer can be told to; the admin client never does.",
            ),
            Choice(
                "three requests, without requireStable",
                True,
                "Right: 101 may be moved by the open transaction, and nothing says so.",
            ),
            Choice(
                "one request, and the groups it has no room for have an error",
                False,
                "Below version 8 the request has one group.",
            ),
        ),
    ),
    watch=(
        Watch(
            2,
            "The bytes: version 6, one group id, null for its topics, and no RequireStable at the end.",
        ),
        Watch(
            2,
            "Compare with 'kip-709-offsets-of-three': the same line of the program, the same log, and another answer.",
        ),
    ),
    checkpoints=(SAW_PENDING, SAW_NOTHING_TOLD),
)

STORIES: tuple[Scenario, ...] = (SEVERAL, OLD_COORDINATOR)
