"""A rule that loses each message of a kind: brokers repeat theirs, and nothing else waits for them."""

import pytest

from kipviz.serving.delivery_rules import rule
from tests.serving.cleaning.test_log_cleaning import Producer


@pytest.mark.parametrize("message", ["WriteTxnMarkersResponse", "WriteTxnMarkers"])
def test_markers_that_are_lost_each_time_keep_no_client_waiting(message):
    run = Producer()
    run.start()
    run.transact("first")
    run.cluster.rules.append(rule(f"lose {message}"))
    run.transact("second")
    steps = run.cluster.steps
    assert run.coordinator() in run.cluster.world.up
    assert run.cluster.steps - steps < 60
    run.commit(7)  # another client's request is answered meanwhile
    log = run.cluster.world.logs["orders-0"]
    run.cluster.rules.clear()
    run.cluster.forget_judgements()
    run.cluster.run()
    assert not run.cluster.world.logs["orders-0"].open
    markers = [batch for batch in log.batches if batch.control]
    assert 1 <= len(markers) < 30
    run.transact("third")
    assert not run.cluster.world.logs["orders-0"].open


def test_a_rule_that_counts_still_loses_what_it_names():
    run = Producer()
    run.start()
    run.cluster.rules.append(rule("lose every 2nd WriteTxnMarkersResponse"))
    for number in range(4):
        run.transact(f"v{number}")
    assert not run.cluster.world.logs["orders-0"].open
