"""A share fetch at a broker that does not lead: the share session goes on there all the same."""

import pytest

from kipviz.brokers.share_leaders import share_partition_leader as spl
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.driving.desk import TOPIC_IDS, Desk
from kipviz.messages.errors import Errors
from kipviz.messages.message_errors import error_of_response
from kipviz.recordings.followed_members.led_elsewhere import on_share_fetch
from kipviz.records.placement import SHARE_GROUP_STATE, partition_for
from tests.messages.shares import fetches

HERE, ELSEWHERE = 1, 2
KEY = f"g1:{TOPIC_IDS['src']}:0"
STATE = f"{SHARE_GROUP_STATE}-{partition_for(KEY, 50)}"


@pytest.fixture
def desk():
    return Desk(spl, ShareLeader(), leaders={"src-0": ELSEWHERE, STATE: 7})


def fetch_error(desk, epoch):
    """Send a fetch of an epoch; return the error, None where it waits for the share-partition's state."""
    answer = desk.ask(on_share_fetch, fetches("M1", epoch, "src-0", 10), "M1/consumer")
    return None if answer is None else error_of_response(answer)


def epoch_of(desk):
    known = desk.role.sessions.get(("g1", "M1"))
    return None if known is None else known.epoch


def test_the_session_is_counted_on_and_goes_on_once_the_broker_leads(desk):
    assert fetch_error(desk, 0) is Errors.NOT_LEADER_OR_FOLLOWER
    assert fetch_error(desk, 1) is Errors.NOT_LEADER_OR_FOLLOWER
    assert epoch_of(desk) == 2
    desk.leaders["src-0"] = HERE
    assert fetch_error(desk, 2) is None
    assert epoch_of(desk) == 3


def test_a_wrong_session_is_told_before_who_leads(desk):
    assert fetch_error(desk, 1) is Errors.SHARE_SESSION_NOT_FOUND
    fetch_error(desk, 0)
    assert fetch_error(desk, 5) is Errors.INVALID_SHARE_SESSION_EPOCH
    assert epoch_of(desk) == 1


def test_the_last_fetch_of_a_session_closes_it(desk):
    fetch_error(desk, 0)
    assert fetch_error(desk, -1) is Errors.NOT_LEADER_OR_FOLLOWER
    assert epoch_of(desk) is None
