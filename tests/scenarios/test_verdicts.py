"""What every design makes of every story: the table of verdicts, as data."""

from __future__ import annotations

import pytest

from kipviz.checking.search.liveness import settle
from kipviz.designs.catalogue import CATALOGUE, design
from kipviz.scenarios.library import LIBRARY, scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.scenarios.script import ScriptError
from tests.scenarios.kip_1289.test_kip_1289_drafts import OF_THE_DRAFTS
from tests.scenarios.story import nodes, play_once

# atomic at the end of the story, nothing pending there, and whether what is pending is resolved
# in some continuation without a new fault.
Row = tuple[str, str, str]
FINE: Row = ("holds", "holds", "resolved")
LATE: Row = ("holds", "pending", "resolved")
STUCK: Row = ("holds", "pending", "for ever")
OPEN: Row = ("holds", "pending", "undecided")
TWICE: Row = ("broken", "pending", "resolved")
LOST: Row = ("broken", "holds", "resolved")
IMPOSSIBLE: Row = ("", "", "")

DESIGNS = (
    "repaired",
    "finding-I",
    "finding-D",
    "as-written",
    "as-written-broadcast",
    "as-written-available",
    "as-written-local",
)
TABLE: dict[str, tuple[Row, ...]] = {
    "kip-1289-group-commit": (FINE, FINE, FINE, FINE, FINE, FINE, FINE),
    "kip-1289-group-abort": (FINE, FINE, FINE, FINE, FINE, FINE, FINE),
    "kip-1289-share-commit": (FINE, STUCK, FINE, LATE, LATE, LATE, IMPOSSIBLE),
    "kip-1289-share-abort": (FINE, STUCK, FINE, LATE, LATE, LATE, LOST),
    "kip-1289-lock-expiry": (FINE, STUCK, TWICE, TWICE, TWICE, TWICE, IMPOSSIBLE),
    "kip-98-stuck-lso": (LATE, LATE, LATE, LATE, LATE, LATE, LATE),
    "kip-1289-small": (FINE, STUCK, FINE, LATE, LATE, LATE, IMPOSSIBLE),
    "kip-1289-small-apart": (FINE, STUCK, FINE, LATE, LATE, LATE, IMPOSSIBLE),
    "kip-1289-small-together": (FINE, STUCK, FINE, LATE, LATE, LATE, IMPOSSIBLE),
    "kip-1289-small-abort": (FINE, STUCK, FINE, LATE, LATE, LATE, LOST),
    "kip-1289-small-last-delivery": (FINE, STUCK, FINE, LATE, LATE, LATE, LOST),
    "kip-1289-small-reject": (FINE, STUCK, FINE, LATE, IMPOSSIBLE, LATE, IMPOSSIBLE),
    "kip-1289-small-stepwise": (
        FINE,
        STUCK,
        FINE,
        IMPOSSIBLE,
        IMPOSSIBLE,
        IMPOSSIBLE,
        IMPOSSIBLE,
    ),
    "kip-1289-small-lost-outcome": (FINE, STUCK, FINE, LOST, LOST, LOST, IMPOSSIBLE),
    "kip-1289-small-head-of-line": (FINE, STUCK, FINE, LATE, LATE, LATE, IMPOSSIBLE),
    "kip-1289-small-half-a-batch": (FINE, STUCK, FINE, LATE, IMPOSSIBLE, LATE, IMPOSSIBLE),
    "kip-1289-small-moved": (FINE, FINE, FINE, FINE, FINE, FINE, FINE),
    "kip-1289-small-twice-in-one": (FINE, FINE, FINE, LOST, LOST, LOST, LOST),
    "kip-1289-small-two-polls": (FINE, FINE, FINE, TWICE, TWICE, TWICE, TWICE),
    # Its second transaction needs a first one whose marker counted.
    "kip-1289-small-late-marker": (FINE, IMPOSSIBLE, FINE, *[IMPOSSIBLE] * 4),
    "kip-1289-small-by-hand": (FINE, STUCK, FINE, LOST, LOST, LOST, LATE),
    "kip-1289-small-client-adds": (FINE, STUCK, FINE, LATE, LATE, LATE, FINE),
    "kip-1289-small-told": (FINE, STUCK, FINE, IMPOSSIBLE, IMPOSSIBLE, IMPOSSIBLE, IMPOSSIBLE),
    "kip-1289-small-letter": (FINE, STUCK, FINE, LATE, IMPOSSIBLE, LATE, IMPOSSIBLE),
    "kip-1289-small-pruned": (FINE, STUCK, FINE, LATE, LATE, LATE, LATE),
    "kip-1289-small-deleted": (FINE, OPEN, FINE, LATE, LATE, LATE, LOST),
    "kip-1289-small-reset": (FINE, STUCK, FINE, LATE, LATE, LATE, IMPOSSIBLE),
    "kip-1289-small-reset-together": (LATE, OPEN, LATE, LATE, LATE, LATE, IMPOSSIBLE),
    "kip-1289-small-members": (LATE, OPEN, LATE, FINE, FINE, FINE, FINE),
    "kip-1289-corner-1": (FINE, STUCK, FINE, LOST, LOST, LOST, FINE),
    "kip-1289-corner-2": (LATE, STUCK, LATE, LOST, LATE, LOST, LOST),
    "kip-1289-corner-3": (FINE, FINE, FINE, FINE, LATE, FINE, FINE),
    "kip-1289-corner-5": (FINE, STUCK, FINE, LATE, LATE, LATE, IMPOSSIBLE),
    "kip-1289-corner-7": (FINE, STUCK, FINE, FINE, FINE, FINE, FINE),
    "kip-1289-corner-8": (FINE, STUCK, FINE, LATE, LATE, LATE, LATE),
    "kip-1289-corner-8-snapshot": (FINE, OPEN, FINE, FINE, FINE, FINE, FINE),
    "kip-1289-corner-8-gone": (FINE, OPEN, FINE, FINE, FINE, FINE, FINE),
    "kip-1289-corner-10": (FINE, FINE, FINE, LOST, LOST, LOST, LOST),
    "kip-1289-corner-11": (FINE,) * 7,
    "kip-1289-several-partitions": (FINE, OPEN, FINE, LATE, LATE, LATE, IMPOSSIBLE),
    "kip-1289-corner-11-one-leader": (FINE, OPEN, FINE, LOST, LOST, LOST, LOST),
    "kip-1289-corner-11-two-leaders": (FINE, OPEN, FINE, LATE, LATE, LATE, IMPOSSIBLE),
    # The text keeps no prepared transaction.
    "kip-1289-database": (FINE, STUCK, FINE, *[IMPOSSIBLE] * 4),
    "kip-1289-database-too-early": (FINE, FINE, FINE, *[IMPOSSIBLE] * 4),
    "kip-1289-small-database": (FINE,) * 7,
    "kip-1289-small-database-together": (FINE,) * 7,
    "kip-1289-corner-12": (FINE, STUCK, FINE, LOST, LOST, LOST, FINE),
    "kip-1289-corner-13": (FINE, STUCK, FINE, FINE, FINE, FINE, FINE),
    "kip-1289-corner-14": (FINE, FINE, FINE, FINE, LATE, FINE, FINE),
    "kip-1289-mirroring": (FINE, STUCK, FINE, LATE, LATE, LATE, FINE),
    "kip-1289-streams-topology": (FINE, OPEN, FINE, LATE, LATE, LATE, FINE),
    "kip-1289-atomic-dead-letter": (FINE, STUCK, FINE, LATE, LATE, LATE, IMPOSSIBLE),
    "kip-1289-rolling": (FINE, STUCK, FINE, LATE, LATE, LATE, FINE),
    # An old binary does not read a transactional acknowledgement, whatever the new one makes of it.
    "kip-1289-binary-downgrade": (LOST, LOST, LOST, LOST, LOST, LOST, IMPOSSIBLE),
    # At the level that is finalized, 2, none of them stages.
    "kip-1289-small-level-taken": (FINE, FINE, FINE, FINE, FINE, FINE, FINE),
    "kip-1289-rollout": (FINE, STUCK, FINE, *[IMPOSSIBLE] * 4),
    "kip-1289-corner-9": (FINE, FINE, FINE, FINE, FINE, FINE, FINE),
    "kip-1289-corner-9-abort": (FINE, FINE, FINE, FINE, FINE, FINE, FINE),
    "kip-1289-small-explicit": (FINE, STUCK, FINE, LATE, LATE, LATE, IMPOSSIBLE),
    "kip-1289-small-downgrade": (FINE, STUCK, FINE, LATE, LATE, LATE, IMPOSSIBLE),
    "kip-1289-threads-poll-on": (FINE, STUCK, FINE, LOST, LOST, LOST, LOST),
    "kip-1289-two-members": (FINE, FINE, FINE, FINE, FINE, FINE, FINE),
    "kip-1289-small-two": (FINE, FINE, FINE, FINE, FINE, FINE, FINE),
}
# What no question of KIP-1289 touches: played under the first design that each is written for.
SHIPPED: dict[str, Row] = {
    "kip-98-deleted-transaction": FINE,
    "kip-98-idempotent-retry": FINE,
    "kip-98-in-flight": FINE,
    "kip-98-in-flight-without": FINE,
    "kip-98-in-flight-unknown": FINE,
    "kip-98-commit-timed-out": FINE,
    "kip-98-commit-timed-out-then-abort": FINE,
    "kip-98-threads-stray-record": LOST,  # an output without its offset, and so twice
    "kip-98-threads-stuck-commit": FINE,
    "kip-98-threads-timed-out": FINE,
    "kip-98-too-few-replicas": FINE,
    "kip-98-split-network": LATE,
    "kip-98-given-up-decision": FINE,
    "kip-848-rebalance": FINE,
    "kip-848-no-listener": LOST,  # partitions come and go in the background
    "kip-848-static": FINE,
    "kip-62-rebalance": FINE,
    "kip-62-in-the-middle": FINE,
    "kip-62-too-slow": FINE,
    "kip-62-coordinator-gone": FINE,
    "kip-389-full": FINE,
    "kip-429-cooperative": FINE,
    "kip-429-one-bounce": FINE,
    "kip-429-two-bounces": FINE,
    "kip-62-polls-too-late": LOST,  # the offsets are beside the transaction, and come too late
    "kip-848-polls-too-late": FINE,
    "kip-345-restart": FINE,
    "kip-345-two-of-one": FINE,
    "kip-447-generation": FINE,
    "kip-447-gate": FINE,
    "kip-447-gate-rolling": ("holds", "pending", "resolved"),  # a dead process, an open transaction
    "kip-447-old-consumer": FINE,
    "kip-447-first-draft": FINE,
    "kip-447-two-copies": FINE,
    "kip-211-unsubscribed": LOST,  # x is processed again after its offset is forgotten
    "kip-848-regex": FINE,
    "kip-211-idle-classic": FINE,
    "kip-211-idle-modern": LOST,  # the same, after a moment without a member
    "kip-211-forgotten": LOST,  # nobody remembers that a and b were processed
    "kip-229-deleted-in-flight": LOST,  # what was pending is deleted, and the outputs are committed
    "kip-345-removed": FINE,
    "kip-140-filter": FINE,
    "kip-98-topic-deleted": FINE,  # what was committed is gone with its topic, as somebody wanted
    "kip-98-topic-deleted-tv1": FINE,
    "kip-98-topic-awaited": FINE,
    "kip-1319-by-id": FINE,
    "kip-1319-remade-v5": LOST,  # a name matches another topic
    "kip-1319-remade": FINE,
    "kip-1319-remade-first": LOST,  # an id is looked up too late
    "kip-1319-remade-tv1": LOST,  # an id is looked up and may not be sent
    "kip-1319-both": LOST,  # a name is looked for where nobody knows the id
    "kip-1319-two-versions": LOST,  # the release in between names topics by name
    "kip-447-race": FINE,
    "kip-447-zombie": FINE,
    "kip-447-task-ids": FINE,
    "kip-447-two-bounces": FINE,
    "kip-447-offsets-beside": LOST,  # the offsets are not in the transaction
    "kip-447-group-id-only": LOST,  # the application does not say who its member is
    "kip-11-name-lost": FINE,
    "kip-11-source-lost": FINE,
    "kip-890-rolling": LOST,  # a late batch was appended unverified
    "kip-890-rolling-to-2": FINE,
    "kip-664-fence": FINE,
    "kip-664-hanging": FINE,
    "kip-664-abort-not-hanging": LOST,  # an operator's marker ended half of a transaction
    "kip-890-late-marker": FINE,  # nothing is acknowledged in it; what is read too early is tested
    "kip-890-empty-abort": FINE,
    "kip-360-fenced-by-nobody": FINE,
    "kip-360-stale-question": FINE,
    "kip-890-zombie-aborts": FINE,
    "kip-98-zombie-coordinator": FINE,
    "pain-restore-of-nothing": FINE,
    "pain-more-than-the-checkpoint": FINE,
    "pain-recycled-name": FINE,
    "pain-rotated-away": FINE,
    "pain-idle-week": FINE,
    "pain-recovered-too-late": FINE,
    "pain-two-instances": FINE,
    "pain-timed-out": FINE,
    "pain-ghosts": FINE,
    "pain-did-it-commit": FINE,
    "pain-concurrent-for-ever": FINE,
    "pain-init-race": FINE,
    "pain-refused-at-start": FINE,
    "pain-vanished": FINE,
    "pain-modes": FINE,
}
CELLS = [
    (story, name, row)
    for story, rows in TABLE.items()
    for name, row in zip(DESIGNS, rows, strict=True)
] + [(story, scenario(story).designs[0], row) for story, row in SHIPPED.items()]


def test_the_table_has_every_story_of_kip_1289_and_designs_that_there_are() -> None:
    """Stories and designs of other KIPs, and of the draft implementation, have tables of their own."""
    texts = {s.name for s in LIBRARY if s.name.startswith("kip-1289")}
    assert {name for name in texts if not name.startswith(OF_THE_DRAFTS)} <= set(TABLE)
    assert set(TABLE) <= {story.name for story in LIBRARY}
    assert set(DESIGNS) <= {known.name for known in CATALOGUE if known.stages_shares}


@pytest.mark.parametrize(("story", "name", "row"), CELLS, ids=[f"{s}-{d}" for s, d, _ in CELLS])
def test_the_verdict_of_a_story_under_a_design(story: str, name: str, row: Row) -> None:
    if row == IMPOSSIBLE:
        with pytest.raises(ScriptError, match="is not possible now"):
            play_once(story, name)
        return
    trace, _ = play_once(story, name)
    said = [
        prop.finding(state).status
        for prop, state in zip(PROPERTIES, trace.observations, strict=True)
    ]
    model = scenario(story).model(design(name))
    settled = settle(model, trace.world, trace.observations[1])
    assert (*said, settled.answer) == row


@pytest.mark.parametrize("story", [s for s in TABLE if "group" in s])
def test_kafka_as_it_is_keeps_its_promises_to_regular_groups(story: str) -> None:
    trace, _ = play_once(story, "kafka")
    assert [
        prop.finding(state).status
        for prop, state in zip(PROPERTIES, trace.observations, strict=True)
    ] == ["holds", "holds"]


STAGING = [
    s.name
    for s in LIBRARY
    if not any(name.startswith("kafka") for name in s.designs)
    and not s.name.startswith(("kip-939", "kip-1309"))
    and not any(a.database for a in s.spec.applications)
    and s.name not in ("kip-1289-ingress-closed", "kip-1289-ingress-polled")  # they never stage
]


@pytest.mark.parametrize("story", STAGING)
def test_kafka_as_it_is_has_no_transactional_acknowledgements_to_play(story: str) -> None:
    with pytest.raises(ValueError, match="which design kafka does not have; play it under"):
        scenario(story).model(design("kafka"))


@pytest.mark.parametrize("name", [name for name in DESIGNS if name != "repaired"])
def test_every_design_but_the_repaired_one_fails_some_story(name: str) -> None:
    at = DESIGNS.index(name)
    # What comes out the same under every design is not for a design to mend.
    theirs = [rows for rows in TABLE.values() if len(set(rows) - {IMPOSSIBLE}) > 1]
    assert not {STUCK, TWICE, LOST, IMPOSSIBLE}.isdisjoint(rows[at] for rows in theirs)
    assert {STUCK, TWICE, LOST, IMPOSSIBLE}.isdisjoint(rows[0] for rows in theirs)


def test_a_property_that_is_broken_stays_so_to_the_end_of_the_story() -> None:
    trace, _ = play_once("kip-1289-lock-expiry", "finding-D")
    said = [PROPERTIES[0].finding(node.observations[0]).status for node in nodes(trace)]
    first = said.index("broken")
    assert set(said[:first]) == {"holds"}
    assert set(said[first:]) == {"broken"}
