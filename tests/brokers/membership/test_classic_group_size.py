"""group.max.size of a classic group (KIP-389): who finds no place in it."""

from __future__ import annotations

import pytest

from kipviz.brokers.membership import classic_membership as classic
from kipviz.brokers.timers import MemberSession
from kipviz.messages.errors import Errors
from kipviz.messages.events import AssignmentMoved
from kipviz.messages.groups.classic_groups import (
    JoinGroup,
)
from tests.brokers.groups.classic_desk import (
    FRESH,
    S,
    ask_to_join,
    carry,
    group,
    make_desk,
    over,
    run_out,
    sync,
)


@pytest.fixture
def desk():
    return make_desk()


def first_generation(desk, *names):
    """A stable group of these clients, each with a partition."""
    for name in names:
        ask_to_join(desk, "", name)
    for name in names:
        ask_to_join(desk, next(n for n in group(desk).pending if n.startswith(name)))
    while group(desk).state is S.PREPARING_REBALANCE:
        over(desk)
    for name in group(desk).members:
        sync(desk, name, 1, *((n, (f"src-{i}",)) for i, n in enumerate(group(desk).members)))
    carry(desk)
    assert group(desk).state is S.STABLE
    return tuple(group(desk).members)


def test_a_full_classic_group_takes_nobody_in_also_nobody_who_was_in_it_in_another_life(desk):
    desk.settings = desk.settings.but(group_max_size=2)
    names = first_generation(desk, "A", "B")
    refused = ask_to_join(desk, "", "A", source="again")
    assert (refused.error, refused.member_id) == (Errors.GROUP_MAX_SIZE_REACHED, "")
    assert tuple(group(desk).members) == names
    assert ask_to_join(desk, names[1], source="B/same").error is Errors.NONE


def test_a_static_member_that_is_started_again_has_no_place_in_a_full_group(desk):
    desk.settings = desk.settings.but(group_max_size=1)
    static = JoinGroup("g", "", FRESH, "node-1")
    desk.ask(classic.on_join_group, static, "A/join")
    over(desk)
    again = desk.ask(classic.on_join_group, static, "A/again")
    assert again.error is Errors.GROUP_MAX_SIZE_REACHED


def test_between_two_generations_who_comes_last_is_out_although_it_was_a_member(desk):
    desk.settings = desk.settings.but(group_max_size=2)
    a, b = first_generation(desk, "A", "B")
    full = ask_to_join(desk, "", "C", source="C/too-many")
    assert (full.error, tuple(group(desk).members)) == (Errors.GROUP_MAX_SIZE_REACHED, (a, b))
    run_out(desk, MemberSession(a, "g"))
    assert group(desk).state is S.PREPARING_REBALANCE
    for client in ("C", "D"):
        name = ask_to_join(desk, "", client, source=f"{client}/first").member_id
        assert ask_to_join(desk, name, source=f"{client}/join") is None
    late = ask_to_join(desk, b, source="B/late")
    assert (late.error, b in group(desk).members) == (Errors.GROUP_MAX_SIZE_REACHED, False)
    assert any(isinstance(e, AssignmentMoved) and e.member_id == b for e in desk.events)
