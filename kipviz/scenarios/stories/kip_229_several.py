"""Several groups in one request: KIP-229 (DeleteGroups), KIP-848 (ConsumerGroupDescribe), each with an error of its own."""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.cluster.spec import Placement
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.scenarios import programs
from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import (
    PLACEMENTS,
    commits,
    member,
    spec_of,
    up_to_send,
)
from kipviz.scenarios.stories.kip_62 import FIRST_GENERATION, classic
from kipviz.scenarios.stories.kip_229 import TOOL
from kipviz.scenarios.stories.kip_664 import operator
from kipviz.scenarios.stories.kip_932_operator import OPERATES, catching
from kipviz.scenarios.stories.setting import GROUP, home

BILLING, MISSPELT = "billing", "my-gruop-4"
ALL = (GROUP, BILLING, MISSPELT)
OPTIONS = " ".join(f"--group {each}" for each in ALL)

SEVERAL = Scenario(
    "kip-229-several",
    "Three groups in one command: it fails, and one of them is gone",
    "An operator cleans up: one group is empty, one is at work, one is misspelt. The client asks each coordinator once "
    "for all of its groups; a coordinator answers for each of them.",
    "KIP-229 DeleteGroups; KIP-848 ConsumerGroupDescribe; AdminApiDriver, GroupCoordinatorService.deleteGroups",
    spec_of(
        member("app-1"),
        classic("app-2", group_id=BILLING, program=programs.READ),
        operator(
            catching(
                Line(
                    f"{TOOL} --describe {OPTIONS}",
                    Call.DESCRIBE_CONSUMER_GROUPS,
                    target=" ".join(ALL),
                ),
                Line(
                    f"{TOOL} --delete {OPTIONS}",
                    Call.DELETE_CONSUMER_GROUPS,
                    target=" ".join(ALL),
                ),
            )
        ),
    ).but(
        placements=(
            *PLACEMENTS,
            Placement(home(CONSUMER_OFFSETS, BILLING), 4, (3,)),
            Placement(home(CONSUMER_OFFSETS, MISSPELT), 3, (4,)),
        )
    ),
    (
        Beat(
            "app-1 has done its work, and dies",
            "It commits offset 102 of src-0 for my-group-4. Its session runs out: the group is empty.",
            (
                *up_to_send("app-1"),
                *commits("app-1"),
                "app-1 goes on",
                "app-1 crashes",
                "the session of C1 in * runs out at B4",
            ),
        ),
        Beat(
            "app-2 works in another group",
            "billing speaks the classic protocol. Its partition of __consumer_offsets is another one, and Broker 4 "
            "leads both.",
            ("app-2 goes on", "quiet", FIRST_GENERATION, "quiet", "app-2 goes on"),
        ),
        Beat(
            "--describe of three groups",
            "The name my-gruop-4 hashes to a partition that Broker 3 leads. So the client asks two brokers. Who is no "
            "group of KIP-848 is asked for again as a classic one, and only of the misspelt name nobody knows anything.",
            OPERATES,
        ),
        Beat(
            "--delete of the same three",
            "One DeleteGroups to Broker 4, one to Broker 3. In the first answer billing has NON_EMPTY_GROUP, and "
            "my-group-4 no error. The call throws.",
            OPERATES,
        ),
        Beat(
            "app-1 is started again",
            "Its group is new, and has no offset: it begins at a, which it has processed already.",
            ("app-1 starts", "app-1 goes on", "quiet", "app-1 goes on", "app-1 goes on", "quiet"),
        ),
    ),
    ("operator", "app-1", "B4", "B3"),
    ("kafka",),
    Question(
        3,
        "One of the three groups is at work, one does not exist. The command fails. What has it deleted?",
        (
            Choice("nothing: it failed", False, "There is no all-or-nothing over groups."),
            Choice(
                "my-group-4",
                True,
                "Right: each group is deleted or refused by itself, and the command says what failed.",
            ),
            Choice(
                "my-group-4 and billing",
                False,
                "Somebody is in billing, and no option deletes a group under its members.",
            ),
        ),
    ),
    watch=(
        Watch(
            2,
            "Look at the bytes of ConsumerGroupDescribe: an array of names. Count the requests: four for three groups, "
            "and none of them is asked twice by the same request.",
        ),
        Watch(
            3,
            "Broker 4 owes one answer for two groups, and gives it when both of their logs have said what they have to "
            "say: the tombstones of my-group-4 are replicated by then.",
        ),
    ),
    checkpoints=(
        Checkpoint(
            "saw an answer in which one group fails and another one does not", "one group fails"
        ),
        Checkpoint("saw a member taken out because it was silent", "member gone"),
    ),
)

STORIES: tuple[Scenario, ...] = (SEVERAL,)
