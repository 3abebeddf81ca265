"""KIP-932: the front of the log is deleted while members hold records of it."""

from __future__ import annotations

from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_PRUNED, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_932 import (
    ACCEPT,
    KAFKA,
    MOVED_ON,
    RELEASE,
    commits,
    polls,
    worker,
)
from kipviz.scenarios.stories.setting import PLAYGROUND, share_spec

HELD_BEHIND = Scenario(
    "kip-932-deleted-held",
    "The log is deleted under a record that a member holds",
    "Retention deletes the first two records of src-0. M1 holds one of them, the other one is free. The "
    "start offset has to follow the log, and then it stays there longer than one would think.",
    "KIP-932, Share-partition start offset and Log retention",
    share_spec(
        worker("app-1", max_records=1),
        worker(
            "app-2",
            program=programs.worker(
                ((101, RELEASE), (-1, ACCEPT)),
                "acknowledge(record, fails(record) ? RELEASE : ACCEPT); // 101 fails",
            ),
            max_records=1,
        ),
        values=("a", "b", "c", "d"),
    ).but(budget=PLAYGROUND.but(delete_records=2)),
    (
        Beat(
            "Each member has a record",
            "M1 holds 100, and M2 holds 101.",
            (*polls("app-1"), *polls("app-2")),
        ),
        Beat(
            "app-2 gives 101 back",
            "It is AVAILABLE again; the next fetch begins at 101.",
            commits("app-2"),
        ),
        Beat(
            "100 and 101 are deleted",
            "src-0 begins at 102. No one tells the share-partition: its start offset is still 100.",
            ("the oldest batch of src-0 is deleted",) * 2,
        ),
        Beat(
            "app-2 polls: the start offset follows",
            "Broker 5 reads at 101, in front of the log: OFFSET_OUT_OF_RANGE. It puts the start offset to "
            "102 and archives 101. app-2 is answered with nothing and no error, asks again, and has 102.",
            polls("app-2"),
        ),
        Beat(
            "app-2 is done, and the start offset stays",
            "102 is ACKNOWLEDGED and durable. But Broker 5 looks for what is done from the first record that "
            "it has in memory, and that is 100, in the hands of M1.",
            commits("app-2"),
        ),
        Beat(
            "app-1 is done, too late",
            "What is said of a record in front of the start offset is skipped: no error, and nothing is "
            "written. 100 is ACQUIRED as before.",
            commits("app-1"),
        ),
        Beat(
            "Its lock runs out",
            "Only now is 100 ARCHIVED, and the start offset goes to 103.",
            ("the lock of src-0@100 runs out", "quiet"),
        ),
    ),
    ("app-1", "app-2", "B5", "B7"),
    KAFKA,
    Question(
        4,
        "102 is ACKNOWLEDGED, and everything before it is deleted. Where does the start offset go?",
        (
            Choice("to 103", False, "M1 still holds 100, which is in front of the start offset."),
            Choice(
                "it stays at 102",
                True,
                "Right: a held record keeps it there, though the log does not have that record any more. At "
                "most for the time of its lock.",
            ),
            Choice("back to 100", False, "It never goes back in front of where the log begins."),
        ),
    ),
    watch=(
        Watch(2, "Compare the start of the log with the start offset: who would know?"),
        Watch(3, "Two ShareFetch, one poll(): what was in the first answer?"),
        Watch(5, "commitSync() comes back without an error. What did it change?"),
    ),
    checkpoints=(
        SAW_PRUNED,
        MOVED_ON,
    ),
)

STORIES: tuple[Scenario, ...] = (HELD_BEHIND,)
