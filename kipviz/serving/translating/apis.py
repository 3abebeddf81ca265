"""The requests that the listeners accept: a fold over the rows, and how the answer to each is made.

A row has the request's schema, its versions and its decoding (`messages.apis`). `SERVED` adds what only a server needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kipviz.clauses import SHIPPED
from kipviz.messages.apis.api import AnyApi, Role
from kipviz.messages.apis.catalogue import API_OF
from kipviz.messages.apis.catalogue import APIS as ROWS
from kipviz.messages.cluster.coordinators import FindCoordinator
from kipviz.messages.cluster.metadata import Metadata
from kipviz.messages.groups.classic_groups import Heartbeat, JoinGroup, LeaveGroup, SyncGroup
from kipviz.messages.groups.group_admin import (
    ConsumerGroupDescribe,
    DescribeGroups,
)
from kipviz.messages.groups.groups import OffsetCommit, OffsetFetch, TxnOffsetCommit
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.messages.logs.list_offsets import ListOffsets
from kipviz.messages.logs.producing import Fetch, Produce
from kipviz.messages.message import Message
from kipviz.messages.shares.share_admin import (
    DeleteGroups,
    DescribeShareGroupOffsets,
    ShareGroupDescribe,
)
from kipviz.messages.shares.share_groups import ShareAcknowledge, ShareFetch, TxnShareAcknowledge
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat
from kipviz.messages.transactions.admin import (
    DescribeProducers,
    DescribeTransactions,
    ListTransactions,
)
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    InitProducerId,
    WriteTxnMarkers,
)
from kipviz.messages.wire.codec import Encoded, Struct, encode
from kipviz.messages.wire.fitting import fit_fields
from kipviz.messages.wire.frame import RESPONSE_HEADER, encode_frame, header_version
from kipviz.messages.wire.kind import RequestKind
from kipviz.messages.wire.schema import Schema
from kipviz.serving.translating import (
    translate_cluster,
    translate_groups,
    translate_operators,
    translate_records,
    translate_shares,
    translate_transactions,
)
from kipviz.serving.translating.leader_hints import hint_leaders
from kipviz.serving.translating.reply_context import (
    ClientRequest,
    ServedDesk,
    Translate,
    TranslatedRequest,
    as_written,
)


@dataclass(frozen=True)
class ServedApi:
    """The row of an API that the listeners serve, the versions that they announce, and how its answer is made.

    `highest` is the newest stable version, or the unstable one if that is served, too.
    """

    row: AnyApi
    lowest: int
    highest: int
    kind: RequestKind[Message]
    translate: Translate

    @property
    def request(self) -> Schema:
        """The schema of the request."""
        return self.kind.schema

    @property
    def response(self) -> Schema:
        """The schema of the response."""
        assert self.row.response_bytes is not None
        return self.row.response_bytes.schema

    def ask(self, said: Struct, version: int, desk: ServedDesk, broker: int) -> TranslatedRequest:
        """Return what a client's request asks of a broker of the model.

        Raises:
            Refused, NotModelledError: if Kafka or the model has no answer to it.
        """
        request = ClientRequest(said, version, desk, broker)
        return self.translate(request, self.kind.decode(said, request.incoming))


# The requests whose answer differs from the model's response: in fields that only a server can fill, or in several groups.
TRANSLATED: dict[type[Message], Translate] = {
    Produce: hint_leaders(translate_records.produce, 10),
    Fetch: hint_leaders(translate_records.fetch, 16),
    ListOffsets: translate_records.list_offsets,
    Metadata: translate_cluster.metadata,
    FindCoordinator: translate_cluster.find_coordinator,
    AddPartitionsToTxn: translate_transactions.add_partitions,
    TxnOffsetCommit: translate_transactions.commit_offsets,
    OffsetCommit: translate_transactions.commit_offsets,
    OffsetFetch: translate_groups.offset_fetch,
    JoinGroup: translate_groups.join_group,
    SyncGroup: translate_groups.with_group_name,
    Heartbeat: translate_groups.with_group_name,
    LeaveGroup: translate_groups.leave_group,
    ConsumerGroupHeartbeat: translate_groups.consumer_group_heartbeat,
    ShareGroupHeartbeat: translate_groups.share_group_heartbeat,
    ShareFetch: hint_leaders(translate_shares.share_fetch, 0),
    ShareAcknowledge: hint_leaders(translate_shares.share_acknowledge, 0),
    ShareGroupDescribe: translate_groups.describe,
    DescribeShareGroupOffsets: translate_groups.describe,
    ListTransactions: translate_operators.list_transactions,
    DescribeTransactions: translate_operators.describe_transactions,
    DescribeProducers: translate_operators.describe_producers,
    WriteTxnMarkers: translate_operators.write_txn_markers,
    DescribeGroups: translate_groups.describe,
    ConsumerGroupDescribe: translate_groups.describe,
    DeleteGroups: translate_groups.delete,
}
# Every released request that a client may send. Only brokers send one to a share coordinator, and those are the model's.
SERVED: dict[type[Message], Translate] = {
    row.request: TRANSLATED.get(row.request, as_written)
    for row in ROWS
    if row.status == SHIPPED and row.role is not Role.SHARE_COORDINATOR
}
# What a draft adds, by the number of its KIP: a request, or the unstable version of one of Kafka's. Brokers announce it
# only on request. The other drafts have no request that could be announced: KIP-1310's session is the client's alone, and
# KIP-1309 gives its request no key.
SERVED_DRAFTS: dict[int, tuple[type[Message], Translate]] = {
    939: (InitProducerId, as_written),
    1289: (TxnShareAcknowledge, translate_shares.txn_share_acknowledge),
}


def _range(schema: Schema) -> tuple[int, int]:
    first, _, last = schema.versions.partition("-")
    return int(first), int(last or first)


def _make_served(kind: type[Message], translate: Translate) -> ServedApi:
    row = API_OF[kind]
    assert row.request_bytes is not None, f"{row.name} has no bytes"
    lowest, _ = _range(row.request_bytes.schema)
    return ServedApi(row, lowest, row.version, row.request_bytes, translate)


def _with_unstable(api: ServedApi) -> ServedApi:
    unstable = api.row.unstable
    return api if unstable is None else replace(api, highest=unstable.version)


APIS: dict[int, ServedApi] = {kind.API_KEY: _make_served(kind, SERVED[kind]) for kind in SERVED}
DRAFTS: dict[int, ServedApi] = {
    kip: _with_unstable(_make_served(*pair)) for kip, pair in SERVED_DRAFTS.items()
}
API_VERSIONS_RANGE = _range(translate_cluster.API_VERSIONS_REQUEST)


def apis_with(drafts: Iterable[int]) -> dict[int, ServedApi]:
    """Return the requests that are served, by key: those of Kafka 4.4.0 and those of some drafts.

    Raises:
        ValueError: if a draft is unknown, or has no request.
    """
    found = dict(APIS)
    for kip in drafts:
        api = DRAFTS.get(kip)
        if api is None:
            known = " and ".join(f"KIP-{number}" for number in DRAFTS)
            raise ValueError(
                f"the drafts whose requests can be served are {known}, by their numbers; {kip!r} is none of them"
            )
        found[api.row.key] = api
    return found


def announced_versions(apis: Mapping[int, ServedApi]) -> tuple[tuple[int, int, int], ...]:
    """Return (key, lowest, highest version) of every request, in the order of the keys."""
    found = [(key, api.lowest, api.highest) for key, api in apis.items()]
    found.append((translate_cluster.API_VERSIONS, *API_VERSIONS_RANGE))
    return tuple(sorted(found))


def answer_frame(schema: Schema, version: int, correlation_id: int, values: Struct) -> bytes:
    """Return an answer with its size and header; missing fields have the schema's defaults."""
    # ApiVersions is answered with the oldest header, whatever the version: its reader may know no other.
    old = schema is translate_cluster.API_VERSIONS_RESPONSE
    head = encode(
        RESPONSE_HEADER,
        0 if old else header_version(schema, version),
        {"CorrelationId": correlation_id},
    )
    body: Encoded = encode(schema, version, fit_fields(schema.fields, version, values))
    return encode_frame(head, body).data
