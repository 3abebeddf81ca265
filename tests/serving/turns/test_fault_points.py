"""A fault point is reached by the transaction that enters its state, and by no other."""

import pytest

from kipviz.cluster.actions import StartBroker
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.records.transaction_state import TransactionState
from kipviz.serving.delivery_rules import rule
from tests.serving.cleaning.test_log_cleaning import Producer
from tests.soaking import raw_client as raw


@pytest.fixture
def run():
    made = Producer()
    made.start()
    made.transact("first")
    return made


def start_neighbour(run):
    """Let another transactional id of the same coordinator do something."""
    image = run.cluster.world.image
    home = image.home_of(TRANSACTION_STATE, "t")
    names = (f"u{number}" for number in range(1_000))
    name = next(n for n in names if image.home_of(TRANSACTION_STATE, n) == home)
    told = run.ask(
        run.coordinator(),
        raw.INIT_PRODUCER_ID,
        TransactionalId=name,
        TransactionTimeoutMs=60_000,
        ProducerId=-1,
        ProducerEpoch=-1,
    )
    assert told["ErrorCode"] == 0


def test_another_transactions_step_does_not_reach_it(run):
    up = run.cluster.world.up
    run.cluster.rules.append(rule("crash the coordinator at COMPLETE_COMMIT"))
    start_neighbour(run)
    assert run.cluster.world.up == up
    coordinator = run.coordinator()
    run.transact("second")
    assert coordinator not in run.cluster.world.up


def test_it_crashes_one_coordinator_once_and_a_new_rule_does_it_again(run):
    for _ in range(2):
        run.cluster.rules.append(rule("crash the coordinator at COMPLETE_COMMIT"))
        coordinator = run.coordinator()
        run.transact("a")
        run.transact("b")
        assert [b for b in (1, 2, 3) if b not in run.cluster.world.up] == [coordinator]
        run.cluster.take(StartBroker(coordinator))
        run.cluster.run()


@pytest.mark.parametrize("state", ["DEAD", "PREPARE_EPOCH_FENCE"])
def test_a_state_that_is_never_entered_is_refused(state):
    with pytest.raises(ValueError, match=f"no transaction state '{state}'"):
        rule(f"crash the coordinator at {state}")


@pytest.mark.parametrize(
    "state", [s.name for s in TransactionState if s.name not in ("DEAD", "PREPARE_EPOCH_FENCE")]
)
def test_every_other_state_is_accepted(state):
    assert rule(f"crash the coordinator at {state}").state is TransactionState(state)
