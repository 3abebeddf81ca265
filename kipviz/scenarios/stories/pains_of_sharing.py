"""What users of share groups run into, as stories; `kipviz.scenarios.pains` is the index of it."""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings
from kipviz.scenarios import programs
from kipviz.scenarios.material import TOOK_CRASH, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import share_app, share_spec

TWICE = Checkpoint("saw a record delivered twice", "delivered twice")

ONE = share_app(program=programs.SHARE_READ, max_records=1)
TWO = share_app("app-2", program=programs.SHARE_READ, max_records=1)

VANISHED = Scenario(
    "pain-vanished",
    "A record of a share group is gone",
    "Every delivery of a record fails. When it was delivered as often as the limit says, it is "
    "archived, and nobody ever gets it again.",
    "KIP-932, group.share.delivery.count.limit; KIP-1191, dead-letter queues",
    share_spec(ONE, TWO, values=("a", "b")).but(settings=BrokerSettings(delivery_count_limit=2)),
    (
        Beat(
            "First delivery",
            "app-1 gets record 100 and never comes back to say what became of it.",
            ("app-1 goes on", "quiet", "app-1 goes on", "the lock of src-0@100 runs out", "quiet"),
        ),
        Beat(
            "Second delivery, the last one",
            "app-2 gets it, and its lock runs out, too. The limit is 2 here; by default it is 5.",
            ("app-2 goes on", "quiet", "app-2 goes on", "the lock of src-0@100 runs out", "quiet"),
        ),
        Beat(
            "The group goes on without it",
            "Record 100 is ARCHIVED. The next poll() brings 101. Without a dead-letter queue only "
            "the topic itself still has it.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "app-2", "B5", "B7"),
    ("kafka",),
    Question(
        1,
        "Record 100 was delivered twice and never acknowledged. What does the third poll() bring?",
        (
            Choice("record 100, a third time", False, "The limit of this cluster is 2."),
            Choice("record 101", True, "Right: 100 is archived, and the group goes on."),
        ),
    ),
    watch=(
        Watch(0, "Watch the delivery count of record 100 go to 1, and the record be free again."),
        Watch(1, "Watch it become ARCHIVED instead, and the start offset move past it."),
    ),
    checkpoints=(TWICE, TOOK_CRASH),
)

MODES = Scenario(
    "pain-modes",
    "poll() throws, or has accepted what was not done",
    "Explicit mode wants a word for every record before the next poll(). Implicit mode takes the "
    "next poll() for the word, and a crash before it for none.",
    "KIP-932, share.acknowledgement.mode",
    share_spec(ONE.but(explicit=True), TWO, values=("a", "b")),
    (
        Beat(
            "Explicit: a batch without acknowledge()",
            "app-1 gets record 100, and does not acknowledge it.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "The next poll() throws",
            "IllegalStateException: all records must be acknowledged. Record 100 stays locked "
            "until its lock runs out.",
            ("app-1 goes on",),
        ),
        Beat(
            "Implicit: the next poll() is the acknowledgement",
            "app-2 gets 101, and with the next poll() accepts it, whether or not it is done.",
            ("app-2 goes on", "quiet", "app-2 goes on", "app-2 goes on", "quiet"),
        ),
        Beat(
            "The last batch was never accepted",
            "The lock of 100 runs out, app-2 gets it, and dies before it polls again. Record 100 "
            "comes a third time, although all the work on it was done.",
            (
                "the lock of src-0@100 runs out",
                "quiet",
                "app-2 goes on",
                "app-2 crashes",
                "app-2 starts",
                "app-2 goes on",
                "quiet",
            ),
        ),
    ),
    ("app-1", "app-2", "B5", "B7"),
    ("kafka",),
    Question(
        2,
        "In implicit mode, when does a record count as processed?",
        (
            Choice("when poll() returns it", False, "Then it is acquired, and locked."),
            Choice(
                "when the next poll() is called",
                True,
                "Right: and never, if the process dies or closes without it.",
            ),
        ),
    ),
    watch=(
        Watch(1, "Watch app-1: nothing goes to a broker, the client itself refuses."),
        Watch(2, "Watch the second ShareFetch of app-2 carry an ACCEPT."),
    ),
    checkpoints=(TWICE, TOOK_CRASH),
)

STORIES: tuple[Scenario, ...] = (VANISHED, MODES)
