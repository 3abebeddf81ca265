"""Three programs of `kipviz conform --brokers 3` at Kafka 4.3.1: seeds 8011, 8012 and 8022, cut out of a round of 40.

The first one asks a group coordinator that is still loading a second after it was elected, in the second one a share fetch
has waited its MaxWaitMs before followers had copied what was written, and in the third one a leader that was fenced lets a lock
run out. Each test undoes one mend.
"""

import pytest

from kipviz.conforming.programs import read
from kipviz.recordings.followed_members import joining
from kipviz.recordings.followed_members.sharing import Sharing
from kipviz.recordings.judging import inconclusive
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.judging.inconclusive import FENCED
from kipviz.recordings.judging.report import of_evidence
from kipviz.recordings.request_context import known_leaders
from tests.recordings.unpacked import FOLDERS, evidence_of_three, unpack

RECORDED = FOLDERS / "three-4.3.1.zip"
PROGRAMS = {10: 8011, 11: 8012, 21: 8022}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return unpack(RECORDED, tmp_path_factory.mktemp("three"))


@pytest.fixture(scope="module")
def evidence(folder):
    return evidence_of_three(folder)


def of_joining(evidence):
    """Return (API, first thing said) of what members of classic groups were told and the model refuses."""
    return {
        (a.api, a.recorded[0][1])
        for a in Acceptor(evidence).groups.judge_classic_groups()
        if a.refused
    }


def of_sharing(evidence):
    """Return (API, what it is about) of what members of share groups were told and the model refuses."""
    return {(a.api, a.about) for a in Acceptor(evidence).groups.judge_share_groups() if a.refused}


def test_every_answer_is_one_that_the_model_could_have_given_but_for_what_it_does_not_model(
    evidence,
):
    report = of_evidence(evidence)
    assert report.refused == ()
    assert [(each.api, each.doubt) for each in report.doubted] == [
        ("WRITE_SHARE_GROUP_STATE", FENCED)
    ]
    assert len(report.accepted) > 300


def test_a_coordinator_that_is_loading_says_to_every_heartbeat_that_all_is_well(
    evidence, monkeypatch
):
    """However long it takes: it was elected 1.2 s before, and a JoinGroup was told so a moment before."""
    assert of_joining(evidence) == set()
    within_a_second = lambda *_: {}  # noqa: E731
    with monkeypatch.context() as undone:
        undone.setattr(known_leaders, "loading_spans", within_a_second)
        assert ("HEARTBEAT", "NONE") in of_joining(evidence)
    monkeypatch.setattr(joining, "BEATS", "")
    assert of_joining(evidence) == {("HEARTBEAT", "NONE")}


def test_a_fetch_that_has_waited_long_enough_need_not_bring_what_followers_are_copying(
    evidence, monkeypatch
):
    monkeypatch.setattr(Sharing, "_copied_or_not", lambda _, way: iter((way,)))
    assert ("SHARE_FETCH", "p11-workers p11-t p11-orders-1") in of_sharing(evidence)


def test_only_a_leader_that_was_fenced_writes_by_its_timers_what_nobody_asked_for(
    evidence, monkeypatch
):
    names = {topic_id: topic for topic, topic_id in evidence.topics}
    elected = Acceptor(evidence)._elected
    (late,) = (
        x
        for x in evidence.exchanges
        if x.api == "WRITE_SHARE_GROUP_STATE" and inconclusive._why_of_lock(x, names, elected)
    )
    assert inconclusive._why_of_lock(late, names, {}) == ""
    (topic,) = late.request["topics"]
    (part,) = topic["partitions"]
    (batch,) = part["stateBatches"]
    acknowledged = part.set("stateBatches", (batch.set("deliveryState", 2),))
    changed = topic.set("partitions", (acknowledged,))
    other = late.but(request=late.request.set("topics", (changed,)))
    assert inconclusive._why_of_lock(other, names, elected) == ""
    monkeypatch.setattr(inconclusive, "_why_of_lock", lambda *_: "")
    (refused,) = of_evidence(evidence).refused
    assert refused.api == "WRITE_SHARE_GROUP_STATE"


def test_the_programs_are_there_and_the_file_is_small(folder):
    made = [read((folder / f"program-p{number}.json").read_bytes()) for number in PROGRAMS]
    assert [each.seed for each in made] == list(PROGRAMS.values())
    assert RECORDED.stat().st_size < 300_000
