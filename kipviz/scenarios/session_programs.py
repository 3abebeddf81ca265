"""The programs of KIP-1310's use cases, with its TransactionSession: in the page's words, one call a line."""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.cluster.spec import SESSION
from kipviz.scenarios.programs import GROUP_POLL, SHARE_POLL

C = Call

INITIALIZE = Line("session.initialize();", C.INITIALIZE, client=SESSION)
BEGIN = Line("session.beginTransaction();", C.BEGIN_TRANSACTION, client=SESSION)
SEND = Line("producer.send(output(records)); // new KafkaProducer(configs, session)", C.SEND)
COMMIT = Line("session.commitTransaction();", C.COMMIT_TRANSACTION, client=SESSION)
ABORT = Line(
    "} catch (Exception e) { session.abortTransaction(); }", C.ABORT_TRANSACTION, client=SESSION
)
ACKNOWLEDGE = Line(
    "shareConsumer.acknowledgeTransactionally(session, acknowledgments);",
    C.ACKNOWLEDGE_TRANSACTIONALLY,
)
ADD_ACKS = Line(
    "session.addShareAcksToTransaction(groupId, acknowledgments);", C.ADD_SHARE_ACKS, client=SESSION
)
SEND_OFFSETS = Line(
    "session.sendOffsetsToTransaction(offsets, consumer.groupMetadata());",
    C.SEND_OFFSETS,
    client=SESSION,
)


def loop(poll: str, *body: Line) -> tuple[Line, ...]:
    """Give a loop: initialize() once, then poll, begin, the body, commit; the last line catches.

    The page begins before it polls in 4.2 and polls first in 4.6; here all poll first.
    """
    head = (Line(poll, C.POLL), BEGIN)
    lines = (*head, *body, COMMIT.but(then=1))
    catch = 1 + len(lines)
    return (
        INITIALIZE,
        *(line if line.call is C.POLL else line.but(on_error=catch) for line in lines),
        ABORT.but(then=1),
    )


# KIP-1310 4.2 and 4.6: the acknowledgements go out by the consumer, or by the session.
SHARE_CONSUMER = loop(SHARE_POLL, SEND, ACKNOWLEDGE)
SHARE_SINK = loop(SHARE_POLL, SEND, ADD_ACKS)
# A regular consumer group: sendOffsetsToTransaction() of the session.
GROUP = loop(GROUP_POLL, SEND, SEND_OFFSETS)
