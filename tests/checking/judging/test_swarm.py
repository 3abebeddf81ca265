"""Swarm testing: what is drawn, that it is the same everywhere, and how far the runs reach."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kipviz.checking.judging import swarm as s
from kipviz.checking.judging.coverage import Coverage
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.messages.errors import Errors
from kipviz.scenarios.library import searched_scenario

SAMPLE = range(40)
# What `kipviz swarm --runs 20000 --json` said on the commit that it names; made again where a kind of action is new.
RECORD = Path(__file__).with_name("swarm_record.json")
# Only a run that follows a broker's own log reads one, and only a served cluster takes a real client's requests.
NOT_IN_RUNS = {"ReadLog", "Receive"}
# Properties that a released Kafka breaks, by story: finding 447-T of FINDINGS.md; and a transaction that Produce 13
# began and another process ends with EndTxn 4, as Flink's reflection does: the marker has the batch's own
# epoch, so UnifiedLog.updateProducers leaves the guard of what is under way (isV2NextTransactionStarted).
LISTED = {
    ("pain-more-than-the-checkpoint", "complete means closed"),
    ("kip-1319-stale", "no zombie offset commits"),
    ("kip-1319-stale-v5", "no zombie offset commits"),
}


# Errors that the model knows and that no peer was told in those runs, and why.
NEVER_TOLD = {
    # A client or a broker says so to itself, and tells others something else or nothing.
    "REQUEST_TIMED_OUT": "a producer's own word for a batch that expired",
    "NETWORK_EXCEPTION": "what a lost connection is called at the end that asked",
    "OFFSET_NOT_AVAILABLE": "a leader's own word for a share-partition whose state cannot be used yet",
    "DUPLICATE_SEQUENCE_NUMBER": "a duplicate is answered with the offset of the batch that is there",
    "PENDING_TRANSACTION": "the words of a draft; both designs of a swarm answer UNSTABLE_OFFSET_COMMIT",
    # What would lead to it is not in the model, or in no run of a swarm.
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "an append of the model is refused before, not after",
    "KAFKA_STORAGE_ERROR": "no disk of the model fails",
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": "there is one format of records",
    "UNKNOWN_PRODUCER_ID": "brokers with KIP-360 do not say so; clients still know it",
    "INVALID_GROUP_ID": "every program names its group",
    "SECURITY_DISABLED": "whoever manages ACLs in a story has an authorizer",
    "GROUP_SUBSCRIBED_TO_TOPIC": "the operator of a story deletes offsets of a group that has left",
    "INVALID_TOPIC_EXCEPTION": "a story's operator and brokers create topics with names that a topic can have",
    "INVALID_PARTITIONS": "no story's operator asks for a number of partitions",
    "INVALID_REPLICATION_FACTOR": "no story's operator asks for a number of replicas",
    "INVALID_REPLICA_ASSIGNMENT": "no story's operator places replicas",
    "INVALID_CONFIG": "no story's operator creates a topic with configs",
    "POLICY_VIOLATION": "no story's operator asks for what a broker's policy forbids",
    "OFFSET_METADATA_TOO_LARGE": "only a real client commits metadata with an offset",
    "SHARE_SESSION_NOT_FOUND": "a connection ends at both ends, and what comes late over it is dropped",
    "INVALID_SHARE_SESSION_EPOCH": "a connection ends at both ends, and what comes late over it is dropped",
}


@pytest.fixture(scope="module")
def sample() -> tuple[s.Drawn, ...]:
    return tuple(s.draw_run(seed) for seed in SAMPLE)


def test_the_same_seed_draws_the_same_run_and_another_seed_another_one(sample) -> None:
    assert s.draw_run(7) == sample[7]
    assert len({repr(each.but(seed=0)) for each in sample}) == len(sample)
    assert {each.design for each in sample} == set(s.DESIGNS)


def test_each_fault_is_switched_off_in_some_runs_and_on_in_others(sample) -> None:
    for name in FaultBudget.__struct_fields__:
        found = [name in each.switched_on for each in sample]
        assert {True, False} == set(found), name
    assert all(len(each.switched_on) < len(FaultBudget.__struct_fields__) for each in sample)


def test_a_cluster_is_a_story_s_with_changes_that_it_can_have(sample) -> None:
    specs = [(searched_scenario(each.story).spec, each.spec) for each in sample]
    assert any(known.replication != drawn.replication for known, drawn in specs)
    assert any(known.records != drawn.records for known, drawn in specs)
    assert any(known.placements != drawn.placements for known, drawn in specs)
    assert any(len(known.applications) > len(drawn.applications) for known, drawn in specs)
    for known, drawn in specs:
        assert {p.partition for p in known.placements} == {p.partition for p in drawn.placements}


def test_no_run_of_a_small_swarm_breaks_a_property_or_ends_in_an_error() -> None:
    coverage = Coverage()
    verdicts = tuple(s.swarm(0, 60, coverage=coverage))
    assert [v for v in verdicts if v.status != "holds"] == []
    assert s.run(s.draw_run(3)) == verdicts[3]
    reached = [row for row in coverage.rows() if row.role == "action" and row.times]
    assert len(reached) >= 27  # all of them are in the record of the long run
    assert {row.guard for row in coverage.rows()} > {"NONE", "INVALID_TXN_STATE"}


def test_a_design_that_breaks_a_property_is_found_and_the_run_is_named() -> None:
    broken = [v for v in s.swarm(0, 80, ("repaired+staged_acks=memory_only",)) if v.broken]
    assert broken
    first = broken[0]
    assert s.run(s.draw_run(first.drawn.seed, ("repaired+staged_acks=memory_only",))) == first
    assert first.step > 0
    assert first.reason


def test_a_run_that_ends_in_an_error_is_a_verdict(sample, monkeypatch) -> None:
    def wrong(*_: object) -> None:
        raise KeyError("src-0")

    monkeypatch.setattr(ClusterModel, "step", wrong)
    verdict = s.run(sample[0])
    assert (verdict.status, verdict.step, verdict.reason) == ("error", 1, "KeyError: 'src-0'")


def test_a_design_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no-such"):
        s.draw_run(0, ("no-such",))


def test_the_long_run_reached_every_kind_of_action_and_broke_only_what_is_listed() -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert record["runs"] == 20_000
    kinds = {row.rule for row in Coverage().rows() if row.role == "action"}
    reached = {name for name, times in record["actions"].items() if times}
    assert kinds - reached == NOT_IN_RUNS, "a kind of action is new: make the record again"
    assert {(row["story"], row["broken"]) for row in record["failed"]} <= LISTED
    known = {error.name for error in Errors}
    assert known - set(record["answers"]) == set(NEVER_TOLD), (
        "an error is new: make the record again"
    )
