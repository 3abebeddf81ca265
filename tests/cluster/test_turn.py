"""How a step is carried out: answers find their connection, lost ones find who asked."""

from __future__ import annotations

from kipviz.brokers.context import Effects, Reply, ReplyTo
from kipviz.brokers.local import MarkerWritten
from kipviz.cluster.actions import CrashBroker, LoseConnection, MoveLeader, StartBroker
from kipviz.cluster.spec import FaultBudget
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import Connection, Envelope
from kipviz.messages.errors import Errors
from kipviz.messages.events import ConnectionLost, LeaderMoved
from kipviz.messages.transactions import InitProducerId, InitProducerIdResponse
from tests.cluster.small_clusters import model_of, small_spec

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
