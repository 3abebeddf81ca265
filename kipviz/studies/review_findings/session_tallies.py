"""Findings about KIP-1310 that are about numbers: what its runs send, need and cost."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from kipviz.brokers.authorizer import DRAFTS, needs_of
from kipviz.clients.sessions.transaction_session import NOBODY, SENDERS
from kipviz.cluster.world import host_of
from kipviz.designs.catalogue import design as design_named
from kipviz.messages.apis.rights import Operation
from kipviz.messages.events import MessageSent
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import TxnShareAcknowledge
from kipviz.messages.transactions.transactions import InitProducerId, named_transactions
from kipviz.messages.wire.frame import KINDS
from kipviz.messages.wire.schema import Field
from kipviz.scenarios.library import LIBRARY, searched_scenario
from kipviz.scenarios.scenario import Scenario
from kipviz.studies.counting import sessions
from kipviz.studies.study import Table

SHIPPED = "shipped"
# The requests that KIP-1310 2.2 lists, without AddShareAcksToTxn, which only 3.3 has.
LISTED = (
    "FindCoordinator",
    "InitProducerId",
    "AddPartitionsToTxn",
    "EndTxn",
    "AddOffsetsToTxn",
    "TxnOffsetCommit",
    "TxnHeartbeat",
)
TODAY = "kip-1310-streams-producer"


def _list_sent(story: Scenario, *clients: str) -> Iterator[Message]:
    """Yield the requests that some clients of the applications send in a story under its own design."""
    trace, _ = story.play(design_named(story.designs[0]))
    apps = {app.name for app in story.spec.applications}
    for number in trace.line:
        for event in trace.node(number).events:
            if not isinstance(event, MessageSent) or event.way != "request":
                continue
            if host_of(event.source) in apps and event.source.rpartition("/")[2] in clients:
                yield event.message


@cache
def _of_sessions() -> tuple[Message, ...]:
    """Return one request of each kind that the sessions of KIP-1310's stories send."""
    found: dict[tuple[str, int], Message] = {}
    for story in (each.searched for each in LIBRARY):
        if story.name.startswith("kip-1310-") and story.beats:
            for message in _list_sent(story, "session"):
                found.setdefault((_name(message), len(needs_of(message))), message)
    return tuple(found[key] for key in sorted(found))


def _name(message: Message) -> str:
    return KINDS[type(message)].schema.name.removesuffix("Request")


def unlisted_requests() -> str:
    """Return which requests sessions send that the list lacks, and which of the listed ones are new or not sent."""
    sent = {_name(message) for message in _of_sessions()}
    today = {_name(m) for m in _list_sent(searched_scenario(TODAY), "producer")}
    new = [row.request for row in SENDERS if row.today == NOBODY]
    return (
        f"sessions send {', '.join(sorted(sent - set(LISTED)))}, which the list of 2.2 lacks; "
        f"{' and '.join(new)} are in no release; under transaction version 2 the producer of {TODAY} "
        f"sends {', '.join(sorted(today & set(LISTED)))} of the list and nothing else of it"
    )


def missing_rights() -> str:
    """Return which rights the requests of sessions need that the table lacks."""
    table = {
        (
            row.request.replace("AddShareAcksToTxn", "TxnShareAcknowledge"),
            row.resource,
        ): row.operation
        for row in DRAFTS
        if row.source.startswith("KIP-1310 6.1")
    }
    lacks = [
        f"{_name(message)} needs {need.operation.value} on {need.resource.value}"
        for message in _of_sessions()
        for need in needs_of(message)
        # Any other operation on a resource implies DESCRIBE.
        if need.operation is not Operation.DESCRIBE
        and table.get((_name(message), need.resource), "nothing") not in ("", need.operation.value)
    ]
    unsaid = [
        f"{row.request} on {row.resource.value}"
        for row in DRAFTS
        if row.source.startswith("KIP-1310 6.1") and not row.operation
    ]
    return f"not in the table: {'; '.join(dict.fromkeys(lacks))}; no operation is given for {', '.join(unsaid)}"


def rights_of_both() -> str:
    """Return which rights the producer and the share consumer of one session need."""
    story = searched_scenario("kip-1310-share-session")
    told = []
    for client in ("producer", "consumer"):
        asked = [m for m in _list_sent(story, client) if named_transactions(m)]
        needs = {
            f"{need.operation.value} {need.resource.value}" for m in asked for need in needs_of(m)
        }
        told.append(f"the {client} needs {', '.join(sorted(needs))}")
    return "; ".join(told)


def _names(fields: tuple[Field, ...]) -> list[str]:
    """Return the names of fields and of their nested fields, in order."""
    return [name for field in fields for name in (field.name, *_names(field.fields))]


def _share_fields() -> list[str]:
    return _names(KINDS[TxnShareAcknowledge].schema.fields)


def fields_of_the_member() -> str:
    """Return which fields of KIP-1289's request addShareAcksToTransaction(groupId, …) cannot fill."""
    member = [name for name in _share_fields() if name.startswith("Member")]
    return f"the request has {' and '.join(member)}, and the call names a group id alone"


def fields_of_an_acknowledgement() -> str:
    """Return which fields of KIP-1289's request Map<TopicPartition, Set<Long>> cannot fill."""
    missing = [name for name in _share_fields() if name in ("TopicId", "AcknowledgeTypes")]
    return f"the request has {' and '.join(missing)}, and the map has a name, a number and offsets"


def no_field_for_the_session_timeout() -> str:
    """Return which fields of InitProducerId are released, and what a session timeout would also need."""
    fields = KINDS[InitProducerId].schema.fields
    released = dict.fromkeys(field.name for field in fields if field.status == SHIPPED)
    ours = dict.fromkeys(f"{f.name} ({f.status})" for f in fields if f.status != SHIPPED)
    return f"released fields: {', '.join(released)}; the heartbeats here need {', '.join(ours)}"


def _cells(table: Table) -> tuple[dict[str, str], ...]:
    heads, rows = table
    return tuple(dict(zip(heads, row, strict=True)) for row in rows)


def answers_to_a_resumed_commit() -> str:
    """Return the responses to the first EndTxn of a resumed session, by the true outcome of the transaction."""
    told = sessions.one_end_txn()
    answers: dict[str, list[str]] = {}
    for truth, said, *_ in told[1]:
        answers.setdefault(said, []).append(truth)
    return "; ".join(f"{said}: {' or '.join(truths)}" for said, truths in answers.items())


def commits_of_the_next_transaction() -> str:
    """Return in which cases a second commit of a resumed transaction commits the next one."""
    heads, rows = sessions.one_identity()
    at = heads.index("with the open transaction")
    wrong = [row[0] for row in rows if row[at] == "yes"]
    return f"commits the next transaction: {'; '.join(wrong) or 'never'} ({len(rows)} cases tried)"


def what_sessions_cost() -> str:
    """Return in how many use cases a session has more clients, threads and connections than today."""
    rows = _cells(sessions.costs())
    pairs = list(zip(rows[::2], rows[1::2], strict=True))
    counted = []
    for head in (
        "clients",
        "threads",
        "connections",
        "connections, coordinator where the output is",
        "accumulators",
        "requests of clients",
    ):
        more = sum(int(draft[head]) > int(today[head]) for today, draft in pairs)
        less = sum(int(draft[head]) < int(today[head]) for today, draft in pairs)
        counted.append(f"{head}: more in {more}, fewer in {less}")
    return f"{len(pairs)} use cases: {'; '.join(counted)}"
