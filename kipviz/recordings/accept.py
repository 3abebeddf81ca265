"""Could the model have given the answers that a broker gave? One question per recorded exchange.

The broker's logs are rebuilt (`cluster.rebuilt`), and the request is put to the coordinator as it was at each
moment between the request's arrival and its answer: which of the things that were logged in that time came
first is not recorded. The answer is accepted if one of these moments gives it, error and identity alike. A
coordinator may also still be loading.

Asked are the requests of the transaction coordinator, whose state is wholly in its log. `NOT_ASKED` says of
every other API why it is not, and where it is compared instead. NOT MODELLED: a producer without a
transactional id that asks for its producer id.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kipviz.brokers import transaction_coordinator
from kipviz.brokers.context import ReplyTo
from kipviz.brokers.partition_log import replicate
from kipviz.brokers.transaction_coordinator import TransactionCoordinator
from kipviz.cluster import dispatch
from kipviz.cluster.rebuilt import BROKER, RebuiltModel, spec_of
from kipviz.cluster.world import World, role_key
from kipviz.core.values import Value
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.transactions import AddPartitionsToTxn, EndTxn, InitProducerId
from kipviz.recordings.rebuild import entries_of, internal_partitions_of, partitions_in
from kipviz.recordings.recorded import Exchange, load_recording
from kipviz.records.placement import TRANSACTION_STATE

# A request is written down when it is answered, so its times may be a little late.
SLACK_MS = 50

# An error, a producer id and an epoch; -1 where the answer has none.
Said = tuple[str, int, int]

_BY_CALLS = "compared call by call, with what was logged, in tests/recordings/test_model_against_recording.py"
NOT_ASKED: dict[str, str] = {
    "PRODUCE": f"the answer depends on batches that are not whole in the recording; {_BY_CALLS}",
    "FETCH": f"the answer carries the log itself; {_BY_CALLS}",
    "TXN_OFFSET_COMMIT": f"members and generations of a group are passed over; {_BY_CALLS}",
    "OFFSET_FETCH": f"members and generations of a group are passed over; {_BY_CALLS}",
    "WRITE_TXN_MARKERS": f"whose log has what at that moment is not recorded; {_BY_CALLS}",
    "SHARE_FETCH": f"locks are in the leader's memory alone, which no log holds; {_BY_CALLS}",
    "SHARE_ACKNOWLEDGE": f"locks are in the leader's memory alone, which no log holds; {_BY_CALLS}",
    "READ_SHARE_GROUP_STATE": f"the answer is the state that the log has; {_BY_CALLS}",
    "WRITE_SHARE_GROUP_STATE": f"the answer is the state that the log gets; {_BY_CALLS}",
    "READ_SHARE_GROUP_STATE_SUMMARY": "NOT MODELLED: the group coordinator's look at the start offset",
    "INITIALIZE_SHARE_GROUP_STATE": "NOT MODELLED: groups are there from the start",
    "SHARE_GROUP_HEARTBEAT": "NOT MODELLED in share groups: membership is given",
    "CONSUMER_GROUP_HEARTBEAT": "not asked: the recorded group has one member and one heartbeat kind",
    "FIND_COORDINATOR": "NOT MODELLED: coordinators are looked up at once",
}


class Asked(Value, frozen=True):
    """One exchange: what the broker said, and what the model might have said in its place."""

    number: int
    api: str
    recorded: Said
    possible: tuple[Said, ...]

    @property
    def accepted(self) -> bool:
        """Whether the model could have given the recorded answer."""
        return self.recorded in self.possible


def accept(folder: Path) -> tuple[Asked, ...]:
    """Put every request of a recording that can be asked to the model.

    Raises:
        RecordingError: if the recording is damaged.
    """
    recording = load_recording(folder)
    entries = entries_of(partitions_in(folder))
    chosen = design("kafka")
    spec = spec_of(entries, internal_partitions_of(entries))
    model = RebuiltModel(spec, chosen.broker_rules(), chosen.client_rules(), entries)
    worlds = [model.initial()]
    while possible := model.enabled(worlds[-1]):
        worlds.append(model.step(worlds[-1], possible[0]).world)
    asked = []
    for number, exchange in enumerate(recording.wire):
        message = _message(exchange)
        if message is not None:
            times = (exchange.received_ms, exchange.answered_ms)
            now = [worlds[at] for at in _moments(model, *times)]
            answers = dict.fromkeys(said for world in now for said in _said(model, world, message))
            asked.append(Asked(number, exchange.api, _recorded(exchange), tuple(answers)))
    return tuple(asked)


def _moments(model: RebuiltModel, received: int, answered: int) -> Iterator[int]:
    """Give after how many entries the logs may have stood at some time of an exchange."""
    entries = model.entries
    for read in range(len(entries) + 1):
        began = entries[read - 1].at_ms if read else 0
        ended = entries[read].at_ms if read < len(entries) else answered + 1
        if began <= answered and ended >= received - SLACK_MS:
            yield read


def _said(model: RebuiltModel, world: World, message: Any) -> Iterator[Said]:
    home = world.image.home_of(TRANSACTION_STATE, message.transactional_id)
    role = world.roles.get(role_key(BROKER, home))
    if not isinstance(role, TransactionCoordinator):
        return
    on = model.context(world, BROKER)
    for state in (role, role.but(loading=True)):
        done = dispatch.request(state, message, ReplyTo("recorded/client", BROKER, 0), on)
        replies = done.replies
        if not replies:
            # It answers once its record is replicated.
            later = on.after(done)
            logs = later.logs.set(home, replicate(later.logs[home]))
            replies = transaction_coordinator.on_replicated(
                done.state, later.but(logs=logs)
            ).replies
        for reply in replies:
            yield _words(reply.message)


def _words(answer: Any) -> Said:
    if answer.error is not Errors.NONE or not hasattr(answer, "producer_id"):
        return (answer.error.name, -1, -1)
    return (answer.error.name, answer.producer_id, answer.producer_epoch)


def _message(exchange: Exchange) -> Message | None:
    """Give a recorded request as the model has it, or None for what is not asked."""
    said = exchange.request
    match exchange.api:
        case "INIT_PRODUCER_ID" if said["transactionalId"] is not None:
            return InitProducerId(
                said["transactionalId"],
                said["transactionTimeoutMs"],
                said["producerId"],
                said["producerEpoch"],
            )
        case "END_TXN":
            return EndTxn(
                said["transactionalId"],
                said["producerId"],
                said["producerEpoch"],
                said["committed"],
                exchange.version,
            )
        case "ADD_PARTITIONS_TO_TXN":
            (one,) = said["transactions"]
            partitions = tuple(f"{t['name']}-{p}" for t in one["topics"] for p in t["partitions"])
            return AddPartitionsToTxn(
                one["transactionalId"],
                one["producerId"],
                one["producerEpoch"],
                partitions,
                one["verifyOnly"],
                exchange.version,
            )
        case _:
            return None


def _recorded(exchange: Exchange) -> Said:
    said = exchange.response
    if exchange.api == "ADD_PARTITIONS_TO_TXN":
        (one,) = exchange.request["transactions"]
        (result,) = said["resultsByTransaction"]
        codes = {
            p["partitionErrorCode"] for t in result["topicResults"] for p in t["resultsByPartition"]
        }
        error = Errors(said["errorCode"] or max(codes)).name
        identity = (one["producerId"], one["producerEpoch"])
    else:
        error = Errors(said["errorCode"]).name
        identity = (said["producerId"], said["producerEpoch"])
    return (error, *identity) if error == "NONE" else (error, -1, -1)
