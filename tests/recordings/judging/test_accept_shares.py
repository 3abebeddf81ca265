"""Requests shared out among processes: the three groups of answers are those of one process."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pytest

from kipviz.messages.groups.classic_groups import LeaveGroup
from kipviz.recordings.followed_members import joining, sharing
from kipviz.recordings.judging.accept_shares import (
    AcceptShare,
    ask_share,
    merge_shares,
    shares_of,
    subject_of,
)
from kipviz.recordings.judging.report import Report, of_evidence
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.request_context.evidence import Evidence, of_recording
from tests.recordings.judging.test_unusual_requests import NAMES, with_odd_fields

HERE = Path(__file__).parents[1]
RECORDED = sorted(place.parent for place in HERE.glob("kafka-*/*/recording.json"))
# Answers that differ in each group of APIs: what was recorded has other errors, offsets and epochs then.
CHANGED = (
    "commit-and-abort",
    "classic-static",
    "members",
    "share-acknowledge",
    "transaction-answers",
)


def judged_in(shares: Iterable[AcceptShare], evidence: Evidence):
    """Ask the shares one after the other, each as a process of its own would, and put them together."""
    found = [pickle.loads(pickle.dumps(ask_share(evidence, share))) for share in shares]
    return merge_shares(evidence, found)


def in_shares(evidence: Evidence, count: int) -> Report:
    return of_evidence(evidence, partial(judged_in, shares_of(evidence, count)))


@pytest.mark.parametrize("folder", RECORDED, ids=lambda f: f"{f.parent.name}-{f.name}")
def test_three_shares_of_a_recording_give_the_report_of_one_process(folder: Path) -> None:
    evidence = of_recording(folder)
    assert in_shares(evidence, 3) == of_evidence(evidence)


@pytest.mark.parametrize("name", CHANGED)
def test_answers_that_differ_are_refused_and_doubted_as_in_one_process(name: str) -> None:
    evidence = of_recording(HERE / "kafka-4.4.0" / name)
    wire = tuple(
        x.but(response=x.response.set("errorCode", 0 if number % 2 else 25))
        if number % 3 == 0 and not x.problem and x.response.get("errorCode") is not None
        else x
        for number, x in enumerate(evidence.exchanges)
    )
    other = evidence.but(exchanges=wire)
    one = of_evidence(other)
    assert one.refused
    assert in_shares(other, 4) == one
    assert one.causes


@pytest.mark.parametrize("seed", range(6))
def test_odd_fields_give_the_same_report_in_shares(seed: int) -> None:
    dice = random.Random(seed)
    evidence = with_odd_fields(of_recording(HERE / "kafka-4.4.0" / dice.choice(NAMES)), dice)
    assert in_shares(evidence, 3) == of_evidence(evidence)


def test_what_a_member_cannot_be_followed_past_is_set_aside_as_in_one_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object) -> None:
        raise AssertionError("no such member")

    evidence = of_recording(HERE / "kafka-4.4.0" / "classic-static")
    monkeypatch.setitem(joining.HANDLERS, LeaveGroup, fails)
    one = of_evidence(evidence)
    assert any("no such member" in reason for _, reason, _ in one.cannot_judge)
    assert in_shares(evidence, 3) == one


def test_a_share_fetch_that_the_model_cannot_handle_is_known_to_all_shares(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only the share that follows members finds it, and the reason is in the report."""
    evidence = of_recording(HERE / "kafka-4.4.0" / "share-acknowledge")
    at = [n for n, x in enumerate(evidence.exchanges) if x.api == "SHARE_ACKNOWLEDGE"][-1]
    done = sharing.Sharing._follow_step

    def fails(self, number, kind, on):
        if number == at and self._exchanges[number].api:
            raise AssertionError("no such session")
        return done(self, number, kind, on)

    monkeypatch.setattr(sharing.Sharing, "_follow_step", fails)
    one = of_evidence(evidence)
    assert any("no such session" in reason for _, reason, _ in one.cannot_judge)
    assert in_shares(evidence, 3) == one


def test_a_request_that_is_lost_and_cannot_be_followed_past_is_refused_with_its_reason() -> None:
    evidence = of_recording(HERE / "kafka-4.4.0" / "share-acknowledge")
    share = shares_of(evidence, 1)[0]
    found = ask_share(evidence, share)
    both = found.but(unreadable=((3, "lost"),), aside=((3, "the model has no answer"),))
    with pytest.raises(RecordingError, match="the model has no answer"):
        merge_shares(evidence, [both])


def test_requests_of_one_id_or_group_go_together_and_none_is_lost() -> None:
    evidence = of_recording(HERE / "kafka-4.4.0" / "acls")
    shares = shares_of(evidence, 2)
    numbers = sorted(number for share in shares for number in share.numbers)
    assert numbers == list(range(len(evidence.exchanges)))
    assert [share.follows for share in shares] == [True, False]
    touched = [{subject_of(evidence.exchanges[n]) for n in share.numbers} for share in shares]
    named = sorted(subject for each in touched for subject in each if subject[0] == "group")
    assert named == [("group", f"my-group-{k}") for k in (4, 5, 6)]


def test_what_one_group_asks_is_divided_so_that_no_share_waits_for_another() -> None:
    evidence = of_recording(HERE / "kafka-4.4.0" / "members")
    counts = [len(share.numbers) for share in shares_of(evidence, 4)]
    assert sum(counts) == len(evidence.exchanges)
    assert max(counts) < len(evidence.exchanges) / 2


def test_there_is_at_least_one_share() -> None:
    evidence = of_recording(HERE / "kafka-4.4.0" / "idempotent")
    with pytest.raises(ValueError, match="the number of shares must be at least 1, not 0"):
        shares_of(evidence, 0)
