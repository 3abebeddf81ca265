"""How a step is carried out: answers find their connection, lost ones find who asked."""

from __future__ import annotations

from kipviz.brokers.context import Effects, Reply, ReplyTo
from kipviz.brokers.local_calls import MarkerWritten
from kipviz.cluster.actions import (
    CrashBroker,
    DeleteRecords,
    LoseConnection,
    MoveLeader,
    RemakeTopic,
    StartBroker,
)
from kipviz.cluster.specs.spec import FaultBudget, Remade
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import Connection, Envelope
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.events import ConnectionLost, LeaderMoved, LogPruned, MessageSent
from kipviz.messages.transactions.transactions import InitProducerId, InitProducerIdResponse
from kipviz.records.batches import Batch, DataRecord
from kipviz.scenarios.library import searched_scenario
from tests.cluster.small_clusters import FIRST_OFFSET, model_of, small_spec, steps_of

KAFKA = design("kafka")

PLACE = ("app-1/producer", 1)
ANSWER = InitProducerIdResponse(Errors.NONE, 9, 0)


def turn_with(connection: Connection) -> Turn:
    spec = small_spec()
    model = model_of(spec)
    world = model.initial()
    world = world.but(connections=world.connections.set(PLACE, connection))
    return Turn(world, spec, None, None)


def answer(turn: Turn, incarnation: int) -> Connection:
    reply = Reply(ReplyTo(*PLACE, incarnation), ANSWER)
    turn.carry_out((1, "nobody", ""), Effects(None, replies=(reply,)))
    return turn.connections[PLACE]


def test_an_answer_goes_to_the_connection_that_asked():
    asked = Envelope(InitProducerId("t"), "role", "shard", "tag")
    after = answer(turn_with(Connection(serving=asked, incarnation=3)), 3)
    assert after.serving is None
    assert after.responses == (Envelope(ANSWER, "role", "shard", "tag"),)


def test_an_answer_for_a_connection_that_broke_is_not_taken_for_its_successor_s():
    asked = Envelope(InitProducerId("t"))
    before = Connection(serving=asked, incarnation=4)
    assert answer(turn_with(before), 3) == before


def test_a_request_has_one_answer_and_a_second_one_goes_nowhere():
    answered = Connection(responses=(Envelope(ANSWER),), incarnation=3)
    assert answer(turn_with(answered), 3) == answered


def test_a_broken_connection_forgets_what_was_on_it_and_says_what_that_was():
    model = model_of(small_spec(budget=FaultBudget(lose_connection=1)))
    world = model.initial()
    asked = Envelope(InitProducerId("t"))
    full = Connection(requests=(asked,), serving=asked, responses=(Envelope(ANSWER),))
    world = world.but(connections=world.connections.set(PLACE, full))
    outcome = model.step(world, LoseConnection(*PLACE))
    gone = outcome.world.connections[PLACE]
    assert gone == Connection(incarnation=1, open=False)
    (lost,) = [e for e in outcome.events if isinstance(e, ConnectionLost)]
    assert lost.lost == (("request", asked.message), ("response", ANSWER))


def test_a_crashed_broker_s_partitions_get_another_leader_or_wait_for_it():
    model = model_of(small_spec(budget=FaultBudget(crash_broker=2)))
    world = model.step(model.initial(), CrashBroker(5)).world
    assert world.image.leaders["src-0"].leader == 3
    outcome = model.step(world, CrashBroker(3))
    assert outcome.world.image.leaders["src-0"].leader == -1
    back = model.step(outcome.world, StartBroker(5))
    moved = [e for e in back.events if isinstance(e, LeaderMoved) and e.partition == "src-0"]
    # "No leader" counts as an epoch, as recorded of Kafka 4.4.0.
    assert moved == [LeaderMoved("src-0", -1, 5, 3)]


def without_replicas(model):
    """src-0 has no leader: both brokers that have it are down."""
    world = model.step(model.initial(), CrashBroker(5)).world
    world = model.step(world, CrashBroker(3)).world
    assert world.image.leaders["src-0"].leader == -1
    return world


def test_records_of_a_partition_that_nobody_leads_are_deleted_and_no_role_is_told():
    model = model_of(small_spec(budget=FaultBudget(crash_broker=2, delete_records=1)))
    world = without_replicas(model)
    outcome = model.step(world, DeleteRecords("src-0"))
    assert outcome.events == (LogPruned("src-0", FIRST_OFFSET, FIRST_OFFSET + 1),)
    assert outcome.world.roles == world.roles
    back = model.step(outcome.world, StartBroker(5)).world
    assert back.logs["src-0"].start_offset == FIRST_OFFSET + 1


def test_a_topic_that_nobody_leads_is_made_again_and_its_next_leader_has_the_new_records():
    fresh = Remade("src", "AAAAAAAAAAAAAAAAAAAABw", ("x", "y", "z"))
    spec = small_spec(budget=FaultBudget(crash_broker=2), records=1).but(remade=(fresh,))
    model = model_of(spec)
    outcome = model.step(without_replicas(model), RemakeTopic("src"))
    assert not [e for e in outcome.events if isinstance(e, LeaderMoved)]
    assert outcome.world.image.leaders["src-0"].leader == -1
    assert outcome.world.image.topic_ids["src"] == fresh.topic_id
    back = model.step(outcome.world, StartBroker(5)).world
    assert back.image.leaders["src-0"].leader == 5
    assert (back.logs["src-0"].start_offset, back.logs["src-0"].high_watermark) == (0, 3)


def test_what_is_appended_while_too_few_replicas_are_in_sync_is_below_no_high_watermark():
    spec = small_spec(budget=FaultBudget(crash_broker=1)).but(min_insync_replicas=(("src", 2),))
    model = model_of(spec)
    world = model.step(model.initial(), CrashBroker(3)).world
    turn = Turn(world, spec, None, None)
    key = (5, "partition_leader", "src-0")
    end = world.logs["src-0"].end_offset
    appended = Effects(turn.roles[key], appends=(("src-0", Batch(end, (DataRecord("late"),))),))
    turn.carry_out(key, appended)
    log = turn.logs["src-0"]
    assert (log.high_watermark, log.end_offset) == (end, end + 1)


def test_a_copy_to_the_dead_letter_queue_that_is_lost_on_its_way_is_sent_again():
    story = searched_scenario("kip-1191-poison-record")
    trace, _ = story.play(KAFKA)
    place = ("B5/dlq", 3)
    worlds = [trace.node(node).world for node in trace.line]
    world = next(w for w in worlds if place in w.connections and w.connections[place].requests)
    budget = FaultBudget(lose_connection=1)
    model = story.model(KAFKA, budget)
    asked = world.connections[place].requests[0].message
    outcome = model.step(world.but(budget=budget), LoseConnection(*place))
    sent = [e for e in outcome.events if isinstance(e, MessageSent)]
    assert sent == [MessageSent(*place, "request", asked)]
    assert outcome.world.connections[place].requests[0].message == asked


def test_a_new_leader_of_a_coordinator_s_partition_has_to_load_first():
    model = model_of(small_spec(budget=FaultBudget(move_leader=1)))
    world = model.initial()
    home = next(n for n in world.image.leaders if n.startswith("__transaction_state"))
    held = world.image.leaders[home]
    to = next(b for b in held.replicas if b != held.leader)
    after = model.step(world, MoveLeader(home, to)).world
    assert (held.leader, "transaction_coordinator", home) not in after.roles
    assert after.roles[to, "transaction_coordinator", home].loading
    assert after.roles[to, "transaction_coordinator", home].coordinator_epoch == held.epoch + 1


def test_a_call_to_a_role_that_is_not_there_is_dropped():
    turn = turn_with(Connection())
    before = turn.world()
    done = MarkerWritten(ReplyTo(*PLACE, 0), "out-0", Errors.NONE)
    turn._local(1, _call("group_coordinator", "nowhere-0", done))
    assert turn.world() == before


def _call(role, shard, message):
    from kipviz.brokers.context import LocalCall

    return LocalCall(role, shard, message)


def test_what_a_handler_compared_is_told_of_those_that_compared_something():
    told = [c for _, _, o in steps_of(model_of(small_spec()), 1, 60) for c in o.checks]
    assert told
    assert all(each.checks for each in told)
