"""What `kipviz conform` found at a real broker: clients with old epochs, repeated session epochs and sequences left out.

The folder has four programs at one broker of Kafka 4.4.0, its logs and its request log. Each of these answers was refused
before it was followed rightly, and each test undoes one mend.
"""

from collections import Counter

import pytest

from kipviz.conforming import mutants as mutation
from kipviz.conforming.judging import evidence_of
from kipviz.conforming.mutants import SEVERAL, UNDECIDED, lines_of_mutants, mutants_of
from kipviz.conforming.programs import read
from kipviz.conforming.real_cluster import Files
from kipviz.messages.errors import Errors
from kipviz.recordings.answer_mutations import changes
from kipviz.recordings.followed_members import share_requests, sharing
from kipviz.recordings.followed_members.separate_share_groups import group_by_group
from kipviz.recordings.judging import inconclusive
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.judging.inconclusive import REMEMBERED
from kipviz.recordings.judging.report import of_evidence
from kipviz.recordings.possible_worlds import coordinator_memory
from kipviz.recordings.possible_worlds.verification_memory import VerificationMemory
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer
from kipviz.recordings.request_context.handmade_requests import RequestBatch
from tests.recordings.unpacked import FOLDERS, unpack

RECORDED = FOLDERS / "clumsy-4.4.0.zip"
# The last program's batches: one whose partition was not added, and one behind it with a sequence left out.
OLD_CLIENT = "p3-a"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return unpack(RECORDED, tmp_path_factory.mktemp("clumsy"))


@pytest.fixture(scope="module")
def evidence(folder):
    found = evidence_of((Files(folder / "kafka-logs", folder / "kafka-request.log"),), ())
    told = next(x for x in found.exchanges if (x.client, x.api) == (OLD_CLIENT, "INIT_PRODUCER_ID"))
    who = (told.response["producerId"], told.response["producerEpoch"])
    sent = (((OLD_CLIENT, number), sequence) for number, sequence in ((2, 0), (4, 1)))
    return found.but(
        sent=tuple(
            RequestBatch(which, "p3-orders-0", *who, sequence, ("x",)) for which, sequence in sent
        )
    )


def list_refused(evidence):
    """Return (API, error) of the refused answers."""
    report = of_evidence(evidence)
    return [(each.api, dict(each.recorded).get("error", "")) for each in report.refused]


def test_every_answer_is_one_that_the_model_could_have_given(evidence):
    report = of_evidence(evidence)
    assert report.refused == ()
    assert len(report.accepted) > 100


def test_whoever_asks_while_a_transaction_is_completed_is_told_so_whatever_epoch_he_has(
    evidence, monkeypatch
):
    monkeypatch.setattr(coordinator_memory, "in_transition", lambda *_: iter(()))
    assert set(list_refused(evidence)) == {("ADD_PARTITIONS_TO_TXN", "")}


def test_a_request_refused_for_its_session_counts_nothing_at_its_further_partitions(
    evidence, monkeypatch
):
    monkeypatch.setattr(sharing, "_refused_for_session", lambda *_: False)
    assert ("SHARE_ACKNOWLEDGE", "INVALID_SHARE_SESSION_EPOCH") in list_refused(evidence)


def test_a_request_refused_for_its_session_leaves_the_session_s_partitions_as_they_were(
    evidence, monkeypatch
):
    monkeypatch.setattr(share_requests, "_is_of_another_session", lambda _: False)
    assert "SHARE_FETCH" in {api for api, _ in list_refused(evidence)}


def test_what_a_leader_remembers_of_a_check_in_vain_follows_from_the_noted_batches(
    evidence, monkeypatch
):
    assert of_evidence(evidence).doubted == ()
    forgetful = lambda _, world, *__: iter((world,))  # noqa: E731
    monkeypatch.setattr(VerificationMemory, "worlds_of", forgetful)
    assert list_refused(evidence) == [("PRODUCE", "OUT_OF_ORDER_SEQUENCE_NUMBER")]


def test_a_batch_behind_one_that_was_checked_in_vain_and_not_noted_cannot_be_judged(
    evidence, monkeypatch
):
    _, later = evidence.sent
    (doubted,) = of_evidence(evidence.but(sent=(later,))).doubted
    assert (doubted.api, doubted.doubt) == ("PRODUCE", REMEMBERED)
    monkeypatch.setattr(inconclusive, "_checked_in_vain", lambda *_: {})
    assert list_refused(evidence.but(sent=(later,))) == [
        ("PRODUCE", "OUT_OF_ORDER_SEQUENCE_NUMBER")
    ]


def test_share_groups_are_followed_one_by_one(evidence):
    parts = tuple(group_by_group(evidence.exchanges))
    told = [
        {x.request["groupId"] for x in part if x.api in ("SHARE_FETCH", "WRITE_SHARE_GROUP_STATE")}
        for part in parts
    ]
    assert told == [{"p1-workers"}, {"p2-workers"}]
    # All else is there in each of them, at its place.
    assert {len(part) for part in parts} == {len(evidence.exchanges)}


def test_share_groups_are_followed_together_where_a_broker_had_no_room_for_a_session(evidence):
    at, fetch = next((n, x) for n, x in enumerate(evidence.exchanges) if x.api == "SHARE_FETCH")
    full = fetch.response.set("errorCode", int(Errors.SHARE_SESSION_LIMIT_REACHED))
    exchanges = list(evidence.exchanges)
    exchanges[at] = fetch.but(response=full)
    assert tuple(group_by_group(tuple(exchanges))) == (tuple(exchanges),)


def test_no_answer_with_one_number_changed_by_one_is_accepted(evidence):
    mutants = mutants_of(evidence, 150, lambda: True)
    assert mutants.asked >= 100
    assert mutants.accepted == ()


def test_what_members_of_a_share_group_are_told_is_changed_too_and_the_group_followed_again(
    evidence,
):
    acceptor = Acceptor(evidence)
    asked = Counter()
    for number, exchange in enumerate(acceptor.exchanges):
        if exchange.api not in ("SHARE_FETCH", "SHARE_ACKNOWLEDGE"):
            continue
        assert not any(a.refused for a in acceptor.groups.follow_again(number, exchange))
        for which, answer in changes(exchange.response):
            told = acceptor.groups.follow_again(number, exchange.but(response=answer))
            assert any(each.refused for each in told), which
            asked[exchange.api, which.rpartition(" ")[0]] += 1
    # An acknowledgement is answered about the partition that it names, and about no other one of its session.
    assert asked["SHARE_ACKNOWLEDGE", "responses.partitions.partitionIndex"]
    assert asked["SHARE_FETCH", "responses.partitions.acquiredRecords.deliveryCount"]


def test_a_mutant_that_is_accepted_has_a_reason(evidence, monkeypatch):
    told = ComparedAnswer(0, "PRODUCE", "p0-orders-0", (), ((),))
    monkeypatch.setattr(mutation, "_judge_changed", lambda *_: (told,))
    mutants = mutants_of(evidence, 20, lambda: True)
    assert sum(count for *_, count in mutants.accepted) == mutants.asked
    assert {why for *_, why, _ in mutants.accepted} <= {SEVERAL, UNDECIDED}
    told = tuple(lines_of_mutants(mutants))
    assert any("accepted: " in line and (SEVERAL in line or UNDECIDED in line) for line in told)


def test_mutants_stop_when_they_are_told_to(evidence):
    assert mutants_of(evidence, 150, lambda: False).asked == 0


def test_the_programs_that_were_played_are_there(folder):
    programs = [read((folder / f"program-{number}.json").read_bytes()) for number in range(4)]
    assert [made.old for made in programs] == [("a",), (), (), ("a",)]
