"""Recorded answers with one number changed, which no judge may accept."""

from __future__ import annotations

from kipviz.core.table import Table
from kipviz.recordings.answer_mutations import changes, mutate_answer


def test_each_number_of_an_answer_is_changed_by_one_both_ways_and_nothing_else_is() -> None:
    """A flag is no number, and what is not compared (throttleTimeMs, JoinGroupResponse.json) is not changed."""
    member = Table.of({"memberId": "m-1", "errorCode": 25})
    answer = Table.of({"throttleTimeMs": 7, "skipAssignment": True, "members": (member,)})
    found = dict(changes(answer))
    assert found == {
        "members.errorCode +1": answer.set("members", (member.set("errorCode", 26),)),
        "members.errorCode -1": answer.set("members", (member.set("errorCode", 24),)),
    }
    assert tuple(mutate_answer(answer)) == tuple(found.values())
