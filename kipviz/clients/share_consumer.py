"""The share consumer: polls records, holds them under a lock, says what became of them.

WHO: a client process. WHERE IN KAFKA: KafkaShareConsumer, ShareConsumerImpl,
  ShareConsumeRequestManager.
KIPS: KIP-932; KIP-1289 (draft) adds shareGroupMetadata().
DURABILITY: none; its member id is new in every process.
NOT MODELLED: group membership and assignment (the member epoch is given), explicit mode with
  its exceptions, renewal, several partitions, acknowledgement callbacks.
"""

from __future__ import annotations

from kipviz.clients.rules import ClientRules
from kipviz.core.values import Part
from kipviz.messages.errors import Errors
from kipviz.messages.producing import FetchedRecord
from kipviz.messages.share_groups import ShareFetch, ShareFetchResponse


class ShareConsumer(Part, frozen=True, dict=True):
    """What the share consumer holds between two calls.

    `batch` are the offsets of the last poll, `staged` those that were staged through a producer.
    """

    source: str
    group_id: str
    member_id: str
    member_epoch: int
    partition: str
    max_records: int
    session_epoch: int = 0
    batch: tuple[int, ...] = ()
    staged: tuple[int, ...] = ()
    to_send: ShareFetch | None = None
    on_wire_broker: int = -1
    records: tuple[FetchedRecord, ...] = ()
    done: bool = False


def poll(me: ShareConsumer, rules: ClientRules) -> ShareConsumer:
    """Ask for records and say what became of the batch before, as the design has it. Blocks.

    Source: ShareConsumerImpl.acknowledgeBatchIfImplicitAcknowledgement, which accepts all of it.
    """
    acknowledgements = rules.next_poll(me.batch, me.staged) if me.session_epoch else ()
    request = ShareFetch(
        me.group_id,
        me.member_id,
        me.session_epoch,
        me.partition,
        me.max_records,
        acknowledgements,
    )
    return me.but(to_send=request, batch=(), staged=(), records=(), done=False)


def on_response(me: ShareConsumer, answer: ShareFetchResponse) -> ShareConsumer:
    """Take the records, or open a new session where this one is not known any more."""
    me = me.but(on_wire_broker=-1)
    if answer.error is not Errors.NONE:
        return _reopen(me)
    return me.but(
        session_epoch=me.session_epoch + 1,
        records=answer.records,
        batch=tuple(r.offset for r in answer.records),
        done=True,
    )


def on_disconnected(me: ShareConsumer, broker: int) -> ShareConsumer:
    """The share session is gone with its connection; acknowledgements on the wire are lost."""
    if me.on_wire_broker == broker:
        return _reopen(me.but(on_wire_broker=-1))
    return me.but(session_epoch=0)


def sent(me: ShareConsumer, broker: int) -> ShareConsumer:
    """Note that the fetch is on the wire."""
    return me.but(to_send=None, on_wire_broker=broker)


def _reopen(me: ShareConsumer) -> ShareConsumer:
    request = ShareFetch(me.group_id, me.member_id, 0, me.partition, me.max_records)
    return me.but(session_epoch=0, to_send=request)
