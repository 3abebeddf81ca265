"""Two programs of `kipviz conform --brokers 3` at Kafka 4.4.0: leaders move, and brokers have been killed and started again.

Each broker's logs and what its request log has of these two, and of producer ids; index files are left out. The first program
begins at a broker that has no producer ids yet, and in the second one a new leader tells a reader an older high watermark.
"""

import pytest

import kipviz
from kipviz.conforming.programs import read
from kipviz.conforming.real_cluster import files_in
from kipviz.recordings.decoded.producer_id_blocks import GivenIds
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.judging.report import of_evidence
from kipviz.recordings.request_context.appends import SeenEnds
from kipviz.recordings.request_context.known_leaders import KnownLeaders
from tests.recordings.unpacked import FOLDERS, evidence_of_three, unpack

RECORDED = FOLDERS / "three-4.4.0.zip"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return unpack(RECORDED, tmp_path_factory.mktemp("three"))


@pytest.fixture(scope="module")
def evidence(folder):
    return evidence_of_three(folder)


def list_refused(evidence, api):
    """Return (API, first thing said) of the refused answers of one API."""
    acceptor = Acceptor(evidence)
    asked = (a for n, x in enumerate(acceptor.exchanges) if x.api == api for a in acceptor.of(n, x))
    return {(each.api, each.recorded[0][1]) for each in asked if each.refused}


def test_every_answer_of_three_brokers_is_one_that_the_model_could_have_given(evidence):
    report = of_evidence(evidence)
    assert report.refused == ()
    assert len(report.accepted) > 250
    assert {x.broker for x in evidence.exchanges} == {1, 2, 3}


def test_a_broker_without_a_block_of_producer_ids_says_that_it_is_loading(evidence, monkeypatch):
    # A coordinator that reads its log after an election says the same.
    monkeypatch.setattr(KnownLeaders, "may_load", lambda *_: False)
    assert list_refused(evidence, "INIT_PRODUCER_ID") == set()
    used_up = lambda me, x: (me._following(x) or 0) % 1_000 == 0  # noqa: E731
    monkeypatch.setattr(GivenIds, "block_is_due", used_up)
    assert list_refused(evidence, "INIT_PRODUCER_ID") == {
        ("INIT_PRODUCER_ID", "COORDINATOR_LOAD_IN_PROGRESS")
    }


def test_a_new_leader_may_tell_an_older_high_watermark_for_any_time(evidence, monkeypatch):
    monkeypatch.setattr(SeenEnds, "not_shown_ms", lambda *_, **__: 0)
    assert list_refused(evidence, "FETCH") == {("FETCH", "NONE")}


def test_the_folders_open_in_the_stepper_as_one_cluster(folder):
    logs = [each.logs for each in files_in(folder, 3)]
    leaders = kipviz.rebuild(logs, ["p32-orders"], last=50)
    assert leaders.last_step == 50


def test_the_programs_are_there_and_the_file_is_small(folder):
    made = [read((folder / f"program-p{number}.json").read_bytes()) for number in (15, 32)]
    assert [each.seed for each in made] == [3016, 3033]
    assert RECORDED.stat().st_size < 300_000
