"""What blocks this: what is said of a value that stands still, and of the way out."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest

from kipviz.cluster.actions import (
    ClusterAction,
    CrashBroker,
    CrashClient,
    Cut,
    StartClient,
    TimeOutTransaction,
)
from kipviz.cluster.behaviour.catalogue import script_name
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.world import World
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import scenario
from kipviz.scenarios.script import next_by_itself
from kipviz.views.reasons.blockers import Hold, findings
from tests.scenarios.story import nodes, play_once

LSO = "log:output-A-0"
KEY = "share:g1:AAAAAAAAAAAAAAAAAAAAAg:0"
TXN = "transaction:my-txn"


def model_of(name: str, under: str) -> ClusterModel:
    return scenario(name).model(design(under), FaultBudget(9, 9, 9, 9, 9, 9, 9))


@cache
def world_of(name: str, under: str, title: str, *, before: bool = False) -> World:
    """The world after (or before) the first step of this label."""
    path = nodes(play_once(name, under)[0])
    for here, node in pairwise(path):
        if script_name(here.world, node.action) == title:
            world: World = (here if before else node).world
            return world.but(budget=FaultBudget(9, 9, 9, 9, 9, 9, 9))
    raise AssertionError(f"no step {title}")


def last_of(name: str, under: str) -> World:
    world: World = nodes(play_once(name, under)[0])[-1].world
    return world


def find_hold(model: ClusterModel, world: World, card: str) -> Hold:
    (hold,) = [h for h in findings(model, world) if h.card == card]
    return hold


def take_all(model: ClusterModel, world: World, *actions: ClusterAction) -> World:
    for action in actions:
        world = model.step(world, action).world
    return world


def at_rest(model: ClusterModel, world: World) -> World:
    """Let messages run until nothing is left, or for a while: some ask again and again."""
    for _ in range(60):
        action = next_by_itself(model, world)
        if action is None:
            break
        world = model.step(world, action).world
    return world


# -- the last stable offset --------------------------------------------------------------------


def test_the_stuck_lso_is_told_plainly_with_the_way_out() -> None:
    model = model_of("kip-98-stuck-lso", "kafka")
    hold = find_hold(model, last_of("kip-98-stuck-lso", "kafka"), LSO)
    assert hold.rows == ("LSO",)
    assert hold.text == (
        "The last stable offset of output-A-0 stays at 0, before the end of the log: read_committed consumers read nothing from there on. Offset 0 is the first record of an "
        "open transaction, of producer id 9 in epoch 0. Its coordinator, Broker 1, has my-txn "
        "ONGOING. It waits for app-1 to commit or abort, but app-1 is down and will do neither."
    )
    assert hold.free == (
        "transaction.timeout.ms (60 s) expires for my-txn and Broker 1 aborts it; or app-1 restarts, and its initTransactions() ends the old transaction."
    )
    assert hold.how == "someone"
    assert hold.see == ((LSO, "offset 0"), (TXN, "state"), ("clients:app-1", "process"))


def test_the_way_out_of_the_stuck_lso_is_one() -> None:
    model = model_of("kip-98-stuck-lso", "kafka")
    stuck = last_of("kip-98-stuck-lso", "kafka")
    home = stuck.image.home_of("__transaction_state", "my-txn")
    free = at_rest(model, take_all(model, stuck, TimeOutTransaction(1, home, "my-txn")))
    log = free.logs["output-A-0"]
    assert log.last_stable_offset == log.high_watermark
    assert not [h for h in findings(model, free) if h.card == LSO]
    assert free.applications["reader"].consumer.done


def test_a_reader_that_gets_nothing_is_told_of_the_transaction_before_it() -> None:
    model = model_of("kip-98-stuck-lso", "kafka")
    hold = find_hold(model, last_of("kip-98-stuck-lso", "kafka"), "program:reader")
    assert hold.text.startswith(
        "reader waits in poll(). Fetch is at Broker 3, which has not responded. It fetches committed records from offset 0 on, and the last stable offset of output-A-0 stays at 0."
    )
    assert (LSO, "LSO") in hold.see


def test_an_lso_behind_a_living_producer_waits_for_its_next_call() -> None:
    model = model_of("kip-1289-group-commit", "kafka")
    world = world_of("kip-1289-group-commit", "kafka", "ProduceResponse arrives at app-1/producer")
    hold = find_hold(model, world, LSO)
    assert (
        "It waits for app-1 to commit or abort; app-1 is at sendOffsetsToTransaction()."
        in hold.text
    )
    assert hold.how == "someone"


def test_an_lso_behind_a_decided_transaction_waits_for_a_marker_on_the_wire() -> None:
    model = model_of("kip-1289-group-commit", "kafka")
    world = world_of("kip-1289-group-commit", "kafka", "EndTxn arrives at B1")
    hold = find_hold(model, world, LSO)
    assert hold.text.endswith(
        "Its coordinator, Broker 1, has decided my-txn: PREPARE_COMMIT. The marker for output-A-0 is in flight to Broker 3."
    )
    assert (hold.free, hold.how) == ("it arrives.", "soon")


def test_a_marker_between_two_hosts_that_are_cut_apart_waits_for_the_cut_to_be_healed() -> None:
    model = model_of("kip-1289-group-commit", "kafka")
    world = world_of("kip-1289-group-commit", "kafka", "EndTxn arrives at B1")
    hold = find_hold(model, take_all(model, world, Cut("B1", "B3")), LSO)
    assert "The marker for output-A-0 does not arrive: B1 and B3 are partitioned." in hold.text
    assert (hold.free, hold.how) == ("the network partition heals.", "someone")


def test_a_marker_for_a_partition_that_nobody_leads_waits_for_a_broker_to_start() -> None:
    model = model_of("kip-1289-group-commit", "kafka")
    world = world_of("kip-1289-group-commit", "kafka", "EndTxn arrives at B1")
    # Broker 5 leads the coordinator once Broker 1 is gone, and nobody has output-A-0.
    world = at_rest(model, take_all(model, world, CrashBroker(3), CrashBroker(1)))
    hold = find_hold(model, world, LSO)
    assert "Its marker cannot be sent: output-A-0 has no leader." in hold.text
    assert (hold.free, hold.how) == ("Broker 3 or Broker 1 restarts.", "someone")
    waits = find_hold(model, world, TXN)
    assert waits.text.endswith("until every participant has its marker; missing: output-A-0.")
    assert (waits.free, waits.see[0]) == ("what frees the LSO of output-A-0.", (LSO, "LSO"))


def test_a_producer_that_was_started_again_frees_its_old_transaction_itself() -> None:
    model = model_of("kip-98-stuck-lso", "kafka")
    world = take_all(model, last_of("kip-98-stuck-lso", "kafka"), StartClient("app-1"))
    hold = find_hold(model, world, LSO)
    assert "It waits for a producer that no longer exists: app-1 was restarted." in hold.text
    assert hold.free.startswith("app-1 calls initTransactions(); or transaction.timeout.ms")


# -- records -----------------------------------------------------------------------------------


def test_transactional_acknowledgements_whose_marker_has_another_epoch_are_held_for_ever_and_the_words_say_why() -> (
    None
):
    name, under = "kip-1289-share-commit", "finding-I"
    hold = find_hold(model_of(name, under), last_of(name, under), KEY)
    assert hold.rows == ("offset 100", "offset 101")
    assert hold.text == (
        "src-0@100, 101 are TX_PENDING. Producer id 9 staged this in epoch 0. my-txn is "
        "COMPLETE_COMMIT. Its marker is in share state-16 with epoch 1, but this design resolves an acknowledgement only by a marker of epoch 0: it never matches, and no other marker will come."
    )
    assert hold.how == "never"


def test_transactional_acknowledgements_in_memory_that_no_marker_reaches_are_held_for_ever() -> (
    None
):
    name, under = "kip-1289-share-commit", "as-written"
    hold = find_hold(model_of(name, under), last_of(name, under), KEY)
    assert "The acknowledgement is only in Broker 5's memory" in hold.text
    assert hold.how == "never"


def test_a_decided_transactional_acknowledgement_waits_for_the_leader_to_ask() -> None:
    name, under = "kip-1289-share-commit", "repaired"
    world = world_of(name, under, "B5 refreshes src-0", before=True)
    hold = find_hold(model_of(name, under), world, KEY)
    assert hold.text.endswith("Broker 5 has not asked for it yet.")
    assert (hold.free, hold.how) == ("Broker 5 refreshes src-0.", "someone")


def test_a_transactional_acknowledgement_that_is_being_written_waits_for_the_share_coordinator() -> (
    None
):
    name, under = "kip-1289-share-commit", "repaired"
    world = world_of(name, under, "TxnShareAcknowledge arrives at B5")
    hold = find_hold(model_of(name, under), world, KEY)
    assert "The write at the share coordinator is in flight to Broker 7." in hold.text
    later = world_of(name, under, "TxnWriteShareGroupState arrives at B7")
    hold = find_hold(model_of(name, under), later, KEY)
    assert (
        "It first adds its partition to the transaction. The request to the transaction coordinator is in flight"
        in hold.text
    )


def test_a_share_consumer_without_a_free_record_is_told_what_has_them() -> None:
    name, under = "kip-1289-share-commit", "finding-I"
    hold = find_hold(model_of(name, under), last_of(name, under), "program:app-1")
    assert "No record of src-0 is available from offset 100 on: 2 TX_PENDING." in hold.text
    assert (KEY, "offset 100") in hold.see


# -- everywhere --------------------------------------------------------------------------------


@pytest.mark.parametrize("under", ["repaired", "as-written", "finding-I"])
def test_after_any_crash_of_a_story_everything_that_waits_is_explained(under: str) -> None:
    name = "kip-1289-share-commit"
    model = model_of(name, under)
    for node in nodes(play_once(name, under)[0])[::3]:
        world = node.world.but(budget=FaultBudget(9, 9, 9, 9, 9, 9, 9))
        for crash in (*map(CrashBroker, (1, 3, 5, 7)), CrashClient("app-1")):
            after = at_rest(model, take_all(model, world, crash))
            holds = findings(model, after)
            for hold in holds:
                assert hold.text.endswith(".")
                assert hold.free.endswith(".")
                assert "None" not in hold.text
            waits = [a for a in after.applications.values() if a.alive and a.waiting]
            for app in waits:
                if model.why_not(after, model.action_type.__args__[0](app.name)) is not None:
                    assert any(h.card == f"program:{app.name}" for h in holds)


def test_a_run_without_waiting_has_nothing_to_explain() -> None:
    model = model_of("kip-1289-share-commit", "repaired")
    assert findings(model, model.initial()) == ()
