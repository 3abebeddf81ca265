"""KIP-932: a broker that has as many share sessions as it may have."""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_RELEASED_BY_CLOSE, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_932 import CRASHED, KAFKA, MOVED_ON, commits, polls, worker
from kipviz.scenarios.stories.setting import share_spec

NO_ROOM = Scenario(
    "kip-932-no-room",
    "No room for another share session",
    "Each broker may have one share session (group.share.max.share.sessions). A consumer of another group "
    "comes: it waits, is refused, and asks again, until somebody leaves.",
    "KIP-932, Share sessions; group.share.max.share.sessions",
    share_spec(
        worker("app-1", program=programs.POLL_AND_CLOSE),
        worker("app-2", group_id="g2"),
    ).but(settings=BrokerSettings(share_group_max_size=1, share_sessions_max=1)),
    (
        Beat("app-1 polls", "M1 of group g1 has the session, and 100 and 101.", polls("app-1")),
        Beat(
            "app-2 polls",
            "M2 is of another group. Broker 5 has no room for its session and says nothing yet: a refusal at "
            "once would be asked again at once.",
            ("app-2 goes on", "quiet"),
        ),
        Beat(
            "Refused, and asked again",
            "The fetch has waited for its MaxWaitMs: SHARE_SESSION_LIMIT_REACHED. The application is not told; "
            "its consumer opens a session once more, and waits once more.",
            ("the wait of the fetch of M2 is over at B5", "quiet"),
        ),
        Beat(
            "app-1 closes",
            "There is room now. But the fetch that waits is refused all the same: nobody looks again.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "The next attempt",
            "M2 opens its session, and has the records of its own group.",
            ("the wait of the fetch of M2 is over at B5", "quiet", "app-2 goes on"),
        ),
        Beat("app-2 is done", "g2 is through with 100 and 101; g1 is not.", commits("app-2")),
    ),
    ("app-1", "app-2", "B5"),
    KAFKA,
    Question(
        1,
        "Broker 5 has no room for the session of M2. What does app-2 see?",
        (
            Choice("an exception from poll()", False, "The consumer tries again by itself."),
            Choice(
                "a poll() that does not come back with records",
                True,
                "Right: the fetch waits, is refused, and is sent again. Only the broker's log and a metric say "
                "why.",
            ),
            Choice(
                "the records of M1, taken away from it", False, "Nobody's session is taken away."
            ),
        ),
    ),
    watch=(
        Watch(1, "Broker 5 holds no fetch of M2 in its share-partition: look where it waits."),
        Watch(3, "There is room, and a fetch waits: why is it not served?"),
    ),
    checkpoints=(
        MOVED_ON,
        CRASHED,
        SAW_RELEASED_BY_CLOSE,
    ),
)

STORIES: tuple[Scenario, ...] = (NO_ROOM,)
