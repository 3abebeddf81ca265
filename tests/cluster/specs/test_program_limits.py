"""Programs that no process could run are refused with the spec, and not in the middle of a run."""

import random

import pytest

from kipviz.clients.application import Call, Line
from kipviz.cluster.spec_checks.program_limits import why_no_program
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec, SessionSpec
from kipviz.designs.catalogue import design
from kipviz.messages.shares.share_groups import AcknowledgeType
from kipviz.scenarios.library import LIBRARY, searched_scenario

SHARE = searched_scenario("kip-1289-share-commit").spec.applications[0]
REGULAR = searched_scenario("kip-1289-group-commit").spec.applications[0].but(database=False)


def line(call, **more):
    return Line("", call, **more)


@pytest.mark.parametrize(
    ("app", "wrong", "said"),
    [
        (REGULAR, line(Call.SEND, client="B1"), "send() is a call of one of '', "),
        (REGULAR, line(Call.POLL, client="session"), "poll() is a call of one of '', not of 's"),
        (REGULAR, line(Call.DATABASE_INSERT, client="x"), "is a call of one of '', not of 'x'"),
        (REGULAR, line(Call.SEND, then=-2), "line 0 or a later one, or in the next one (-1), not"),
        (REGULAR, line(Call.SEND, on_error=-9), "a later one, or in the next one (-1), not in -9"),
        (REGULAR, line(Call.ACKNOWLEDGE), "acknowledge() is for a member of a share group (share)"),
        (REGULAR, line(Call.SUBSCRIBE), "subscribe() is for a consumer that joins a regular group"),
        (REGULAR, line(Call.COMMIT_SYNC), "commitSync() is for a member that joins its group, or"),
        (REGULAR, line(Call.DATABASE_INSERT), "takes a database, which app-1 has not (database)"),
        (REGULAR, line(Call.SEEK), "seek() takes a database"),
        (SHARE, line(Call.SEEK), "seek() is for a consumer that is in its regular group before"),
        (SHARE, line(Call.UNSUBSCRIBE), "unsubscribe() is for a consumer that joins a regular"),
        (
            SHARE,
            line(Call.ACKNOWLEDGE, verdicts=((-1, AcknowledgeType.UNKNOWN),)),
            "must give a record one of GAP, ACCEPT, RELEASE, REJECT, RENEW, not UNKNOWN",
        ),
        (
            SHARE,
            line(Call.ACKNOWLEDGE, target="B1"),
            "must be about the record at an offset, or about",
        ),
    ],
)
def test_a_line_that_calls_what_is_not_there_is_refused_in_one_sentence(app, wrong, said):
    why = why_no_program(app.but(program=(line(Call.POLL), wrong)))
    assert why.startswith("app-1: ")
    assert said in why


def test_clients_that_a_process_has_can_be_named():
    with_session = REGULAR.but(session=SessionSpec(("p2",)), tasks=("0_1",))
    program = tuple(line(Call.SEND, client=name) for name in ("", "session", "p2", "0_1"))
    assert not why_no_program(with_session.but(program=program))
    assert why_no_program(REGULAR.but(program=program))


def test_every_story_s_programs_can_be_run():
    assert [s.name for s in LIBRARY for a in s.spec.applications if why_no_program(a)] == []


def test_each_partition_of_a_share_group_s_member_is_of_a_topic_with_an_id():
    spec = searched_scenario("kip-1289-several-partitions").spec
    left = tuple(each for each in spec.topic_ids if each[0] != "pay")
    with pytest.raises(BadSpec, match="but topic pay has no id"):
        check(spec.but(topic_ids=left))


def test_a_transaction_may_be_left_by_an_id_that_nobody_has_now():
    story = searched_scenario("kip-939-last-epoch")
    (left, *_) = story.spec.transactions
    spec = story.spec.but(transactions=(left.but(transactional_id="g"),))
    check(spec)
    world = story.but(spec=spec).model(design(story.designs[0]), spec.budget).initial()
    assert len(world.logs["__transaction_state-3"].batches) == 1


def test_an_error_whose_catch_block_is_the_end_ends_the_program_with_it():
    """Found by random runs of specs that were changed a little: 66 of 150 of this story crashed."""
    story = searched_scenario("kip-1310-bound-calls")
    model = story.model(design(story.designs[0]), story.spec.budget)
    dice = random.Random(0)
    world = model.initial()
    while able := model.enabled(world):
        world = model.step(world, able[dice.randrange(len(able))]).world
    ended = [app.ended for _, app in world.applications.items()]
    assert ended == ["sendOffsetsToTransaction() threw TxnOffsetCommit: PRODUCER_FENCED"]
