"""A leader that moves after it has appended a batch, and before its followers have copied it."""

import pytest

from kipviz.core.table import Table
from kipviz.recordings.decoded.elections import KnownDecisions, LeaderDecision
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.leaders import Produced, moved_meanwhile

PLACE, OLD, NEW = "orders-0", 1, 2
APPENDED = (("error", "NONE"), ("at", 5))
LATER = (("error", "NONE"), ("at", 6))
REJECTED = (("error", "OUT_OF_ORDER_SEQUENCE_NUMBER"), ("at", -1))
MOVED = (("error", "NOT_LEADER_OR_FOLLOWER"), ("at", 5))


def list_known(*leaders):
    decisions = (LeaderDecision(PLACE, each, 0, (1, 2), (1, 2), 0) for each in leaders)
    return tuple(KnownDecisions(Table.of({PLACE: each})) for each in decisions)


@pytest.mark.parametrize(
    ("leaders", "acks", "at", "found"),
    [
        ((OLD, NEW), -1, (5,), [MOVED]),
        ((NEW, OLD, NEW), -1, (5,), [MOVED]),
        # The new leader's log lacks the batch, and no log has where it was.
        ((OLD, NEW), -1, (-1,), []),
        # A request that waits for nobody is answered at once.
        ((OLD, NEW), 1, (5,), []),
        ((OLD, OLD), -1, (5,), []),
        ((NEW, OLD), -1, (5,), []),
        ((NEW,), -1, (5,), []),
        # A single broker moves nothing.
        ((), -1, (5,), []),
    ],
)
def test_a_leader_that_moves_tells_where_it_appended_a_batch(leaders, acks, at, found):
    one = Produced(PLACE, (), MOVED, at, 5)
    asked = Table.of({"acks": acks})
    exchange = Exchange("PRODUCE", 11, "a", 1, 2, asked, Table.of({}), OLD)
    possible = (APPENDED, LATER, REJECTED)
    assert list(moved_meanwhile(one, possible, exchange, list_known(*leaders))) == found
