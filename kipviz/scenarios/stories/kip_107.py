"""KIP-107 and KIP-98: a log that is deleted by its age, while a transaction is open in it."""

from __future__ import annotations

from kipviz.cluster.clock import TICKS, TIMED, Clock
from kipviz.cluster.spec import Placement, PlainSpec
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_LSO, SAW_PRUNED, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import PLAYGROUND, group_app, group_spec, home

READERS = "readers"
RETENTION_MS, TRANSACTION_MS = 300_000, 900_000
GO = "app-1 goes on"
APP = group_app(max_records=1, transaction_timeout_ms=TRANSACTION_MS)
SPEC = group_spec(APP)
SPEC = SPEC.but(
    placements=(*SPEC.placements, Placement(home(CONSUMER_OFFSETS, READERS), 4, (3,))),
    applications=(
        APP,
        group_app(
            name="app-2",
            transactional_id="",
            plain=PlainSpec(),
            program=programs.READ,
            group_id=READERS,
            source="output-A-0",
        ),
    ),
    budget=PLAYGROUND.but(run_out=2),
    settings=SPEC.settings.but(
        log_retention_ms=RETENTION_MS, transaction_max_timeout_ms=TRANSACTION_MS
    ),
    clock=Clock(TIMED, tick=TICKS[1], stamps=True),
)

DELETED_BEFORE = Scenario(
    "kip-98-older-than-retention",
    "Committed, and deleted before anybody could read it",
    "A topic keeps its records for five minutes, and a transaction may take fifteen. Retention looks at the age of a "
    "record, and not at whether its transaction is over.",
    "KIP-107; KIP-98, last stable offset; UnifiedLog.deleteRetentionMsBreachedSegments",
    SPEC,
    (
        Beat(
            "app-1 sends f(a) in a transaction",
            "It stands in output-A-0 at offset 0, written at 0 s. app-1 has something else to do before it commits: "
            "transaction.timeout.ms lets it.",
            (GO, "quiet", GO, GO, "quiet", GO, GO, GO, "quiet"),
        ),
        Beat(
            "app-2 waits in front of it",
            "It reads committed records, and the last stable offset is 0.",
            ("app-2 goes on", "quiet"),
        ),
        Beat(
            "Five minutes are over: f(a) is deleted",
            "log.retention.ms. Broker 3 deletes what is older and below the high watermark. Whether a transaction is open, "
            "or whether anybody has read it, is not asked. The log remembers the producer and its transaction.",
            ("time passes", "the log retention of output-A-0 runs out at B3", "quiet"),
        ),
        Beat(
            "app-1 commits: all is well",
            "Its offset is committed with it. The marker is the first thing in the log of output-A-0; app-2 has nothing.",
            (GO, "quiet", GO, GO, "quiet", GO),
        ),
    ),
    ("app-1", "B3", "app-2", "B1"),
    ("kafka",),
    Question(
        3,
        "Retention has deleted f(a) while its transaction was open. What does commitTransaction() say?",
        (
            Choice(
                "it throws: a record is gone", False, "Nobody counts the records of a transaction."
            ),
            Choice(
                "nothing, it comes back",
                True,
                "Right: the decision, the marker and the offset are all there. Only the record is not, and a is not "
                "read again.",
            ),
            Choice("INVALID_TXN_STATE", False, "The log knows that the transaction is open."),
        ),
    ),
    watch=(
        Watch(
            2,
            "Look at output-A-0: it begins at offset 1, and its last stable offset with it. src-0 is as old, and would be "
            "deleted by the same job.",
        ),
        Watch(
            3,
            "What helps: retention.ms of a topic well above the longest transaction that writes to it, and above how far "
            "its readers may be behind. No broker compares the two.",
        ),
    ),
    checkpoints=(
        SAW_LSO,
        SAW_PRUNED,
    ),
)

STORIES: tuple[Scenario, ...] = (DELETED_BEFORE,)
