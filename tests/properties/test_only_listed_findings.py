"""Random runs with every fault, under every named design: it breaks only what a listed finding says.

What may break under a design is the sum of what the findings may break whose slots it has as the
text has them: a new finding is shown by adding it here, with the properties that it breaks. Nothing
may break under the repaired design. Kafka's own designs are asked for the single properties only:
in some of their stories two members are given the same partition, and both copy it.
"""

from __future__ import annotations

import pytest

from kipviz.checking.judging.verdicts import EVERY_PROPERTY
from kipviz.checking.single_run.seeded_run import STUCK, Task
from kipviz.designs.catalogue import CATALOGUE, FINDINGS, KAFKA, REPAIRED, design
from kipviz.designs.design import Design, slot_named
from kipviz.properties.invariants import INVARIANTS
from kipviz.scenarios.applications.program_faults import blame_for_harm
from kipviz.scenarios.library import LIBRARY, searched_scenario
from kipviz.studies.review_findings.kip_1289_findings import FINDINGS as REVIEW
from tests.properties.hostile import MISUSED, broken_in, each_once, playable, staging_stories

# A marker that reaches every transactional acknowledgement on its broker does not reach one whose state is kept on another
# broker: an ABORT passes it by, and the COMMIT of the next transaction acknowledges it. Where a transactional acknowledgement
# is lost the record comes again, and a database that already runs it gets it twice.
IN_MEMORY = {
    "atomic",
    "committed stays",
    "abort undoes the acknowledgement",
    "transactional acknowledgements survive",
    "stores agree",
    STUCK,
}
UNMARKED = {"complete means closed", STUCK}
# What each finding of the review may break besides the property that its own run breaks; one that
# breaks an expectation, or only wastes work, breaks nothing here.
OF_THE_REVIEW: dict[str, set[str]] = {
    # Nobody asks the coordinator about a write of share state, so the transactional acknowledgement of a fenced producer is written, too.
    "A": UNMARKED | {"fenced producer cannot write"},
    "B": IN_MEMORY,
    "C": UNMARKED,
    "D": {"atomic", "committed stays", "staged waits", "stores agree"},
    "E": IN_MEMORY,
    "I": {STUCK},
    "R": {"atomic"},
    "S": IN_MEMORY,
    "X1": {"atomic"},
    # A snapshot that the coordinator writes later has none of the marker of which it does not know.
    "X3": {STUCK, "atomic", "committed stays"},
    "X4": IN_MEMORY,
    "X5": IN_MEMORY,
    "X15": {STUCK},
    "X24": {"atomic"},
    "X25": {"atomic"},
    # As D, but for the member that the record goes back to. Where its transactional acknowledgement is committed, a new leader begins behind it.
    "X32": {
        "atomic",
        "committed stays",
        "staged waits",
        "stores agree",
        "start offset only advances",
    },
}
# The open points of KIP-1310, KIP-1309 and KIP-939 by the studies and texts that their slots name.
OF_OTHER_DRAFTS: dict[str, set[str]] = {
    "B15": {"atomic"},
    "B17": {"atomic"},
    "B18": {"atomic"},
    "B19": {"atomic", "batch stays in its transaction"},
    "KIP-1310": {"atomic"},
    "KIP-1309": {"one outcome", "stores agree", "prepared transactions have one outcome"},
    # A transactional acknowledgement that is written after the marker of its transaction (draft implementation, late stage).
    "as implemented": {"no stuck transactions or records"},
}
# What KIP-890 was made for: part 2 where an epoch lasts for many transactions, part 1 where nobody
# verifies a batch, so that one of a fenced producer is taken and stays open behind its marker. And
# what KIP-447 was made for.
UNVERIFIED = {"fenced producer cannot write", "complete means closed"}
OF_OLDER_DESIGNS = {
    # A late record may be verified for the next transaction, which has the same epoch.
    "kafka-tv1": {"batch stays in its transaction"},
    "kafka-tv0": {"nothing hangs", "batch stays in its transaction"} | UNVERIFIED,
    "before-447": {"no zombie offset commits"},
    "kip-447-first-draft": {"no zombie offset commits"},
    # The draft: a producer knows its member as it was when it was initialised, which may be none.
    "kip-447-group-id": {"no zombie offset commits"},
}

# A connector that polls on before it stages can hold the same record twice. The repaired design has the
# text's staging, which names the member and no delivery; this slot is what such a program needs besides.
PIPELINES = {"kip-1289-draft-same-holder": "repaired+staged_deliveries=with_delivery_counts"}

EVERYTHING = {p.name for p in EVERY_PROPERTY}
STAGING = tuple(d for d in (*CATALOGUE, *FINDINGS) if d.stages_shares)
OTHERS = tuple(d for d in CATALOGUE if not d.stages_shares)
FEW = (
    "kip-1289-share-commit",
    "kip-1289-two-members",
    "kip-1289-small-two-polls",
    "kip-1310-share-session",
)


def list_allowed(under: Design) -> set[str]:
    """What may break under a design, by the findings that it has."""
    base = REPAIRED if under.stages_shares else KAFKA
    differs = set(under.differs_from(base))
    may: set[str] = set()
    for each in REVIEW if under.stages_shares else ():
        changes = set(design(each.design).differs_from(REPAIRED)) if each.design else set()
        if changes and changes <= differs:
            may |= ({each.property_name} & EVERYTHING) | OF_THE_REVIEW.get(each.name, set())
    for slot, _, _ in differs:
        may |= OF_OTHER_DRAFTS.get(slot_named(slot).finding, set())
    return may | OF_OLDER_DESIGNS.get(under.name, set())


def list_pending(story: str) -> set[str]:
    """What may happen in a story under every design.

    A prepared transaction has no time limit: a writer that was fenced by a late copy of its own
    InitProducerId leaves it to whoever starts the process again (KIP-939).
    """
    members = searched_scenario(story).spec.members
    return {STUCK} if any(each.two_phase_commit for each in members) else set()


def find_unlisted(
    under: Design, stories: tuple[str, ...], seeds: range, asked: set[str]
) -> list[str]:
    """The breaks under a design that no listed finding says and no program causes by itself."""
    found = []
    for story in stories:
        spec = searched_scenario(story).spec
        for seed in seeds:
            broken = broken_in(Task(story, under.name, "hostile", seed))
            found += [
                f"{story} under {under.name}, seed {seed}: {name}: {why.reason}"
                for name, why in broken.items()
                if name in asked - list_pending(story) - list_allowed(under)
                and not blame_for_harm(spec, why.harm)
            ]
    return found


def names_of(under: Design) -> tuple[str, ...]:
    return tuple(story.name for story in playable(staging_stories(), under))


def of_kafka(under: Design) -> tuple[str, ...]:
    return tuple(s.name for s in playable(each_once(LIBRARY), under) if s.name not in MISUSED)


@pytest.mark.parametrize("under", STAGING, ids=lambda d: d.name)
def test_a_design_of_the_drafts_breaks_only_what_a_listed_finding_says(under: Design) -> None:
    # Two of the four stories, and the other two under the next design; all of them are thorough.
    two = FEW[STAGING.index(under) % 2 :: 2]
    stories = tuple(name for name in names_of(under) if name in two)
    assert stories
    assert find_unlisted(under, stories, range(3, 4), EVERYTHING) == []


@pytest.mark.thorough
@pytest.mark.parametrize("under", STAGING, ids=lambda d: d.name)
def test_a_design_breaks_only_what_a_listed_finding_says_in_every_story(under: Design) -> None:
    stories = tuple(name for name in names_of(under) if name not in PIPELINES)
    assert find_unlisted(under, stories, range(6), EVERYTHING) == []


@pytest.mark.parametrize("under", OTHERS, ids=lambda d: d.name)
def test_a_design_of_kafkas_breaks_nothing_else_in_a_sixth_of_the_stories(under: Design) -> None:
    """Each design has another sixth, so that every story comes under one or two of them."""
    sixth = OTHERS.index(under) % 6
    stories = of_kafka(under)[sixth::6]
    assert len(stories) > 20
    assert find_unlisted(under, stories, range(6, 7), {p.name for p in INVARIANTS}) == []


@pytest.mark.thorough
@pytest.mark.parametrize("under", OTHERS, ids=lambda d: d.name)
def test_a_design_of_kafkas_breaks_only_the_properties_that_its_text_is_known_for(
    under: Design,
) -> None:
    assert find_unlisted(under, of_kafka(under), range(6), {p.name for p in INVARIANTS}) == []


@pytest.mark.parametrize(
    "seeds", [range(1), pytest.param(range(1, 6), marks=pytest.mark.thorough)], ids=repr
)
def test_the_repaired_design_may_break_nothing_and_does_not_in_any_story(seeds: range) -> None:
    assert list_allowed(REPAIRED) == set()
    stories = tuple(name for name in names_of(REPAIRED) if name not in PIPELINES)
    assert find_unlisted(REPAIRED, stories, seeds, EVERYTHING) == []


@pytest.mark.parametrize("story", PIPELINES)
def test_a_pipeline_that_stages_late_needs_a_slot_more_than_the_repaired_design_has(story) -> None:
    assert find_unlisted(REPAIRED, (story,), range(6), {"atomic"}) != []
    assert find_unlisted(design(PIPELINES[story]), (story,), range(6), EVERYTHING) == []


def test_what_a_listed_finding_breaks_is_said_of_a_finding_that_there_is() -> None:
    assert set(OF_THE_REVIEW) <= {each.name for each in REVIEW}
    assert all(properties <= EVERYTHING for properties in OF_THE_REVIEW.values())


@pytest.mark.parametrize(
    ("story", "name", "seed", "property_name"),
    [
        ("kip-1289-share-commit", "finding-I", 0, STUCK),
        ("kip-1289-share-commit", "finding-D", 0, "committed stays"),
        ("kip-1289-share-commit", "as-written", 3, "atomic"),
        ("kip-1289-share-commit", "finding-A", 0, "complete means closed"),
        ("kip-1289-share-commit", "finding-E", 45, "transactional acknowledgements survive"),
        ("kip-1310-share-session", "kip-1310-unaware", 0, "atomic"),
        ("pain-recycled-name", "kafka-tv0", 8, "fenced producer cannot write"),
        ("kip-1289-group-commit", "kafka-tv0", 2087, "complete means closed"),
        ("kip-345-two-of-one", "before-447", 4, "no zombie offset commits"),
        ("kip-1319-by-id", "kafka-tv1", 45, "atomic"),
    ],
)
def test_these_runs_do_break_what_is_listed(
    story: str, name: str, seed: int, property_name: str
) -> None:
    assert property_name in broken_in(Task(story, name, "hostile", seed))
