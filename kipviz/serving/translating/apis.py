"""The requests that the listeners accept: their versions, and the translation of each.

Source: ApiKeys, ApiMessageType; the ranges are those of `messages.wire`, which are Kafka 4.4.0's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kipviz.messages.apis.cluster import acls, coordinators, metadata
from kipviz.messages.apis.groups import (
    classic_groups,
    group_admin,
    membership,
    offset_commit,
    offset_fetch,
)
from kipviz.messages.apis.logs import fetch, list_offsets, produce
from kipviz.messages.apis.shares import acknowledgements, share_admin, share_fetch
from kipviz.messages.apis.transactions import added_partitions, admin, ends, producer_ids
from kipviz.messages.wire.codec import Encoded, Struct, encode
from kipviz.messages.wire.fitting import fit_fields
from kipviz.messages.wire.frame import RESPONSE_HEADER, framed, header_version
from kipviz.messages.wire.schema import Schema
from kipviz.serving.translating import (
    translate_cluster,
    translate_groups,
    translate_operators,
    translate_records,
    translate_shares,
    translate_transactions,
)
from kipviz.serving.translating.leader_hints import Translate, hint_leaders


@dataclass(frozen=True)
class Api:
    """One request: its schemas, the versions that are announced, and its translation."""

    request: Schema
    response: Schema
    lowest: int
    highest: int
    translate: Translate


def _range(schema: Schema) -> tuple[int, int]:
    first, _, last = schema.versions.partition("-")
    return int(first), int(last or first)


def _api(request: Schema, response: Schema, translate: Translate, highest: int = 99) -> Api:
    low, high = _range(request)
    return Api(request, response, low, min(high, highest), translate)


_t, _r, _g, _c = translate_transactions, translate_records, translate_groups, translate_cluster
_s, _o = translate_shares, translate_operators
APIS: dict[int, Api] = {
    each.request.key: each
    for each in (
        _api(produce.PRODUCE_REQUEST, produce.PRODUCE_RESPONSE, hint_leaders(_r.produce, 10)),
        _api(fetch.FETCH_REQUEST, fetch.FETCH_RESPONSE, hint_leaders(_r.fetch, 16)),
        _api(
            list_offsets.LIST_OFFSETS_REQUEST, list_offsets.LIST_OFFSETS_RESPONSE, _r.list_offsets
        ),
        _api(metadata.METADATA_REQUEST, metadata.METADATA_RESPONSE, _c.metadata),
        _api(
            offset_commit.OFFSET_COMMIT_REQUEST,
            offset_commit.OFFSET_COMMIT_RESPONSE,
            _g.offset_commit,
        ),
        _api(
            offset_fetch.OFFSET_FETCH_REQUEST, offset_fetch.OFFSET_FETCH_RESPONSE, _g.offset_fetch
        ),
        _api(
            coordinators.FIND_COORDINATOR_REQUEST,
            coordinators.FIND_COORDINATOR_RESPONSE,
            _c.find_coordinator,
        ),
        _api(classic_groups.JOIN_GROUP_REQUEST, classic_groups.JOIN_GROUP_RESPONSE, _g.join_group),
        _api(classic_groups.SYNC_GROUP_REQUEST, classic_groups.SYNC_GROUP_RESPONSE, _g.sync_group),
        _api(classic_groups.HEARTBEAT_REQUEST, classic_groups.HEARTBEAT_RESPONSE, _g.heartbeat),
        _api(
            classic_groups.LEAVE_GROUP_REQUEST, classic_groups.LEAVE_GROUP_RESPONSE, _g.leave_group
        ),
        # Version 6 is KIP-939's, which brokers announce only if a setting enables it.
        _api(
            producer_ids.INIT_PRODUCER_ID_REQUEST,
            producer_ids.INIT_PRODUCER_ID_RESPONSE,
            _t.init_producer_id,
            5,
        ),
        _api(
            added_partitions.ADD_PARTITIONS_TO_TXN_REQUEST,
            added_partitions.ADD_PARTITIONS_TO_TXN_RESPONSE,
            _t.add_partitions,
        ),
        _api(
            added_partitions.ADD_OFFSETS_TO_TXN_REQUEST,
            added_partitions.ADD_OFFSETS_TO_TXN_RESPONSE,
            _t.add_offsets,
        ),
        _api(ends.END_TXN_REQUEST, ends.END_TXN_RESPONSE, _t.end_txn),
        _api(
            offset_commit.TXN_OFFSET_COMMIT_REQUEST,
            offset_commit.TXN_OFFSET_COMMIT_RESPONSE,
            _t.txn_offset_commit,
        ),
        _api(
            membership.CONSUMER_GROUP_HEARTBEAT_REQUEST,
            membership.CONSUMER_GROUP_HEARTBEAT_RESPONSE,
            _g.consumer_group_heartbeat,
        ),
        _api(
            membership.SHARE_GROUP_HEARTBEAT_REQUEST,
            membership.SHARE_GROUP_HEARTBEAT_RESPONSE,
            _s.share_group_heartbeat,
        ),
        _api(
            share_fetch.SHARE_FETCH_REQUEST,
            share_fetch.SHARE_FETCH_RESPONSE,
            hint_leaders(_s.share_fetch, 0),
        ),
        _api(
            acknowledgements.SHARE_ACKNOWLEDGE_REQUEST,
            acknowledgements.SHARE_ACKNOWLEDGE_RESPONSE,
            hint_leaders(_s.share_acknowledge, 0),
        ),
        _api(
            share_admin.SHARE_GROUP_DESCRIBE_REQUEST,
            share_admin.SHARE_GROUP_DESCRIBE_RESPONSE,
            _s.share_group_describe,
        ),
        _api(
            share_admin.DESCRIBE_SHARE_GROUP_OFFSETS_REQUEST,
            share_admin.DESCRIBE_SHARE_GROUP_OFFSETS_RESPONSE,
            _o.describe_share_group_offsets,
        ),
        _api(
            admin.LIST_TRANSACTIONS_REQUEST, admin.LIST_TRANSACTIONS_RESPONSE, _o.list_transactions
        ),
        _api(
            admin.DESCRIBE_TRANSACTIONS_REQUEST,
            admin.DESCRIBE_TRANSACTIONS_RESPONSE,
            _o.describe_transactions,
        ),
        _api(
            admin.DESCRIBE_PRODUCERS_REQUEST,
            admin.DESCRIBE_PRODUCERS_RESPONSE,
            _o.describe_producers,
        ),
        _api(
            ends.WRITE_TXN_MARKERS_REQUEST,
            ends.WRITE_TXN_MARKERS_RESPONSE,
            _o.write_txn_markers,
        ),
        _api(group_admin.LIST_GROUPS_REQUEST, group_admin.LIST_GROUPS_RESPONSE, _o.list_groups),
        _api(
            group_admin.DESCRIBE_GROUPS_REQUEST,
            group_admin.DESCRIBE_GROUPS_RESPONSE,
            _o.describe_groups,
        ),
        _api(
            group_admin.CONSUMER_GROUP_DESCRIBE_REQUEST,
            group_admin.CONSUMER_GROUP_DESCRIBE_RESPONSE,
            _o.consumer_group_describe,
        ),
        _api(acls.DESCRIBE_ACLS_REQUEST, acls.DESCRIBE_ACLS_RESPONSE, _o.describe_acls),
    )
}
# What a draft adds, by the number of its KIP; brokers announce it only on request. The other drafts have no request that
# could be announced: KIP-1310's session is the client's alone, and KIP-1309 gives its request no key.
DRAFTS: dict[int, Api] = {
    939: _api(
        producer_ids.INIT_PRODUCER_ID_REQUEST,
        producer_ids.INIT_PRODUCER_ID_RESPONSE,
        _t.init_producer_id,
    ),
    1289: _api(
        acknowledgements.TXN_SHARE_ACKNOWLEDGE_REQUEST,
        acknowledgements.TXN_SHARE_ACKNOWLEDGE_RESPONSE,
        _s.txn_share_acknowledge,
    ),
}
API_VERSIONS_RANGE = _range(translate_cluster.API_VERSIONS_REQUEST)


def apis_with(drafts: Iterable[int]) -> dict[int, Api]:
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
        found[api.request.key] = api
    return found


def announced(apis: Mapping[int, Api]) -> tuple[tuple[int, int, int], ...]:
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
    return framed(head, body).data
