"""How often a Spark job is asked for its progress, without Spark."""

import time

import pytest

from kipviz.campaigns.cancellation import CancelSwitch
from kipviz.spark.sessions import progress
from kipviz.spark.sessions.progress import _Poller
from tests.patience import PATIENCE


class SlowWatch:
    """A session whose every answer takes a while."""

    def __init__(self, takes):
        self.takes, self.asked, self.cancelled = takes, 0, 0

    def tasks(self):
        self.asked += 1
        time.sleep(self.takes)
        return self.asked, 1_000

    def cancel(self):
        self.cancelled += 1


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr(progress, "POLL_SECONDS", 0.001)


@pytest.mark.usefixtures("often")
def test_a_session_that_answers_slowly_is_asked_less_often():
    watch = SlowWatch(0.02)
    poller = _Poller(watch, lambda *_: None, CancelSwitch())
    begun = time.monotonic()
    poller.start()
    time.sleep(1)
    poller.end()
    # An answer of 20 ms and then 380 ms of rest, where asking at once would be up to fifty answers a second.
    assert 1 <= watch.asked <= 1 + (time.monotonic() - begun) / 0.4


@pytest.mark.usefixtures("often")
def test_a_cancel_does_not_wait_for_the_next_report():
    watch, switch = SlowWatch(0.5), CancelSwitch()
    poller = _Poller(watch, lambda *_: switch.cancel(), switch)
    poller.start()
    # The rest after an answer of half a second would be nearly ten seconds.
    for _ in range(100 * PATIENCE):
        if watch.cancelled:
            break
        time.sleep(0.05)
    poller.end()
    assert watch.cancelled
    assert watch.asked == 1
