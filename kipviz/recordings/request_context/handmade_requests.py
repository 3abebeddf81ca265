"""Handmade requests, as the recorder noted them: a request log has only sizes of batches."""

from __future__ import annotations

from collections.abc import Mapping

from kipviz.core.values import Value
from kipviz.messages.logs.producing import PartitionProduceData, Produce
from kipviz.recordings.recorded import Exchange, Plain, Recording
from kipviz.recordings.replayed_roles.answer_text import by_id
from kipviz.records.batches import DataRecord

Request = tuple[str, int]


class RequestBatch(Value, frozen=True):
    """The batch of a request for a partition; the request is identified by its client and its number."""

    request: Request
    partition: str
    producer_id: int
    producer_epoch: int
    base_sequence: int
    values: tuple[str, ...]

    def message(self, transactional_id: str, version: int) -> Produce:
        """Return the request about this partition as the model has it."""
        data = PartitionProduceData(
            self.partition,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            tuple(DataRecord(value) for value in self.values),
        )
        return Produce(transactional_id, (data,), version)


def sent_batches(recording: Recording, names: Mapping[str, str]) -> tuple[RequestBatch, ...]:
    """Return the batches that the recorder noted, in the order of the calls."""
    return tuple(
        _make_sent((call.actor, call.arguments["correlation"]), batch, names)
        for call in recording.calls
        if call.name == "Produce" and "batches" in call.arguments
        for batch in call.arguments["batches"]
    )


def _make_sent(request: Request, batch: Plain, names: Mapping[str, str]) -> RequestBatch:
    return RequestBatch(
        request,
        f"{by_id(batch['topic'], names)}-{batch['partition']}",
        batch["producer_id"],
        batch["producer_epoch"],
        batch["base_sequence"],
        batch["values"],
    )


def by_request(sent: tuple[RequestBatch, ...]) -> dict[tuple[Request, str], RequestBatch]:
    """Return the batches by request and partition."""
    return {(each.request, each.partition): each for each in sent}


def request_of(exchange: Exchange) -> Request:
    """Return what identifies a request."""
    return exchange.client, exchange.correlation
