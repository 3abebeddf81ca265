"""KIP-932: acknowledgements that are sent in the background, and a topic that is gone."""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.messages.share_groups import AcknowledgeType
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_ACQUISITION_LOCK_END, TOOK_CRASH, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_932 import KAFKA, commits, polls, worker
from kipviz.scenarios.stories.setting import share_spec

_ACCEPT = Line(programs.ACCEPT_EACH, Call.ACKNOWLEDGE, verdicts=((-1, AcknowledgeType.ACCEPT),))
_LOOP = (Line(programs.SHARE_POLL, Call.POLL), _ACCEPT)
IN_BACKGROUND: tuple[Line, ...] = (
    *_LOOP,
    Line("shareConsumer.commitAsync();", Call.COMMIT_ASYNC),
    *_LOOP,
    Line("shareConsumer.close();", Call.CLOSE_CONSUMER),
)
REFUSED = Checkpoint("saw an acknowledgement refused", "acknowledgement refused")

ASYNC = Scenario(
    "kip-932-commit-async",
    "commitAsync(): the call that cannot fail",
    "app-1 accepts two records with commitAsync() and goes on. Whether that was taken it is told by its "
    "AcknowledgementCommitCallback, and only in a later call.",
    "KIP-932, commitAsync and AcknowledgementCommitCallback",
    share_spec(
        worker("app-1", program=IN_BACKGROUND, callback=True),
        worker("app-2"),
        values=("a", "b", "c", "d"),
    ),
    (
        Beat("app-1 polls", "M1 holds 100 and 101.", polls("app-1")),
        Beat(
            "Its lock runs out",
            "app-1 has worked for too long. 100 and 101 are free, and app-2 gets them.",
            ("the lock of src-0@100 runs out", "quiet", *polls("app-2")),
        ),
        Beat(
            "app-1 accepts, and calls commitAsync()",
            "The call comes back at once. What it has to say goes to Broker 5 by itself, and is refused: M2 "
            "holds both. app-1 has not heard of it.",
            ("app-1 goes on", "app-1 goes on", "quiet"),
        ),
        Beat(
            "The next poll() calls the callback",
            "INVALID_RECORD_STATE for 100 and 101, before poll() comes back with 102 and 103. By then app-1 may "
            "have acted as if the records were its own.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 accepts these, and closes",
            "close() sends the last word in the request that ends the share session, waits for the answer, and "
            "calls the callback itself.",
            ("app-1 goes on", "app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "app-2", "B5", "B7"),
    KAFKA,
    Question(
        2,
        "app-1 accepts records that it does not hold any more. What does commitAsync() do?",
        (
            Choice("it throws", False, "Then it would have to wait for the answer."),
            Choice(
                "nothing that app-1 would notice",
                True,
                "Right: it never waits. The error goes to the callback, and there to the next call of poll(), "
                "commitSync(), commitAsync() or close().",
            ),
            Choice(
                "it calls the callback from another thread",
                False,
                "The callback runs in the application's thread, within a call of its own.",
            ),
        ),
    ),
    watch=(
        Watch(2, "Which step comes first: commitAsync() comes back, or ShareAcknowledge is sent?"),
        Watch(3, "In which call does app-1 hear of 100 and 101?"),
        Watch(4, "Look at the session epoch of the last ShareAcknowledge."),
    ),
    checkpoints=(REFUSED, SAW_ACQUISITION_LOCK_END),
)

GONE = Scenario(
    "kip-932-topic-deleted",
    "The topic is deleted while a member holds its records",
    "An operator deletes src. The leader forgets who holds what, and the share coordinator deletes what was "
    "durable. The member is told when it speaks.",
    "KIP-932, Share-group state of deleted topics",
    share_spec(
        worker("app-1", max_records=1), worker("app-2", max_records=1), values=("a", "b", "c")
    ).but(deletable_topics=("src",)),
    (
        Beat(
            "app-1 is done with 100",
            "The start offset 101 is durable at Broker 7.",
            (*polls("app-1"), *commits("app-1")),
        ),
        Beat(
            "app-1 and app-2 hold a record each",
            "101 and 102 are ACQUIRED.",
            (*polls("app-1"), *polls("app-2")),
        ),
        Beat(
            "An operator deletes src",
            "Broker 5 drops the share-partition from memory. Broker 7 writes a tombstone for its state, of "
            "whichever group; nobody asks whether somebody holds records.",
            ("src is deleted for good", "quiet"),
        ),
        Beat(
            "app-1 accepts 101",
            "The request names the topic by its id, which nobody knows any more: UNKNOWN_TOPIC_ID. commitSync() "
            "gives it as the result of that partition.",
            commits("app-1"),
        ),
    ),
    ("app-1", "app-2", "B5", "B7"),
    KAFKA,
    Question(
        2,
        "src is deleted, and made anew later under the same name. Where does the group begin in it?",
        (
            Choice(
                "where share.auto.offset.reset says",
                True,
                "Right: the state is kept by topic id, and the new topic has another one. Even without the "
                "tombstone nobody would find the old state.",
            ),
            Choice("at 101", False, "That was the start offset of another topic."),
            Choice(
                "nowhere, the group is gone, too", False, "A group lives longer than its topics."
            ),
        ),
    ),
    watch=(
        Watch(2, "Open the tombstone in __share_group_state: what is its key?"),
        Watch(3, "Who told app-1, and when could it have known?"),
    ),
    checkpoints=(REFUSED, TOOK_CRASH),
)

STORIES: tuple[Scenario, ...] = (ASYNC, GONE)
