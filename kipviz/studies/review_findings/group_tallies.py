"""Findings about KIP-447 and KIP-1319 that are about numbers: waiting times, fields and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kipviz.brokers.groups import group_kinds
from kipviz.brokers.groups.group_coordinator import error_for_version
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.membership.share_group import ShareGroup
from kipviz.cluster.timing.clock import ms
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import TxnOffsetCommit
from kipviz.messages.transactions.group_transactions import InitProducerIdOfGroup
from kipviz.messages.wire.frame import KINDS
from kipviz.messages.wire.schema import Field, Schema
from kipviz.studies.timed.takeover import SESSIONS_MS, run_takeover

SHIPPED = "shipped"
# Kafka's names in schemas for a member's generation or epoch.
GENERATIONS = frozenset({"GenerationId", "GenerationIdOrMemberEpoch", "MemberEpoch"})
# The requests that a transactional producer sends, and the one that goes to partition leaders.
OF_A_TRANSACTION = (
    "InitProducerIdRequest",
    "AddPartitionsToTxnRequest",
    "AddOffsetsToTxnRequest",
    "ProduceRequest",
    "TxnOffsetCommitRequest",
    "EndTxnRequest",
)


def takeovers() -> str:
    """Return how long a new owner waits for a paused one with the default timeout."""
    session_ms = SESSIONS_MS[0]
    waits = {
        name: ms(run_takeover(design, session_ms).stands_still_ms)
        for name, design in (
            ("second draft (10 s)", "kip-447-init-consumer"),
            ("Kafka 4.4.0 (60 s)", "kafka"),
        )
    }
    told = "; ".join(f"{name}: {wait}" for name, wait in waits.items())
    return f"the partition is not read for, session.timeout.ms {ms(session_ms)}: {told}"


def _list_released() -> Iterator[Schema]:
    """Yield the released requests of a transactional producer, with the fields that Kafka's schemas have."""
    for kind in KINDS.values():
        schema = kind.schema
        if schema.name in OF_A_TRANSACTION and schema.status == SHIPPED:
            yield schema.but(fields=tuple(f for f in schema.fields if f.status == SHIPPED))


def _render_answers(asked: Callable[[Schema], bool]) -> str:
    schemas = tuple(_list_released())
    yes = [schema.name for schema in schemas if asked(schema)]
    no = [schema.name for schema in schemas if schema.name not in yes]
    return f"yes: {', '.join(yes) or 'none'}; no: {', '.join(no) or 'none'}"


def requests_with_a_generation() -> str:
    """Return which requests of a transaction name a member's generation or epoch."""
    return f"names a generation? {_render_answers(lambda schema: bool(GENERATIONS & set(_names(schema.fields))))}"


def requests_with_a_transactional_id() -> str:
    """Return which requests of a transaction need a transactional id that is not null."""

    def needs(schema: Schema) -> bool:
        named = [field for field in schema.fields if field.name.endswith("TransactionalId")]
        return any(not field.nullable for field in named)

    return f"needs a transactional id? {_render_answers(needs)}"


def fields_of_the_first_draft() -> str:
    """Return which fields the first draft's InitProducerId has in its text, and which are added here."""
    fields = KINDS[InitProducerIdOfGroup].schema.fields
    by_text = [field.name for field in fields if field.status == "draft"]
    ours = [field.name for field in fields if field.status == "our inference"]
    return f"by the text: {', '.join(by_text)}; added by the model: {', '.join(ours)}"


def a_share_group_by_version() -> str:
    """Return the errors of TxnOffsetCommit for a missing group and for a share group, by its version."""
    shared = GroupCoordinator("__consumer_offsets-0", share_groups=Table.of({"g": ShareGroup()}))
    first, _, last = KINDS[TxnOffsetCommit].schema.versions.partition("-")
    versions = range(int(first), int(last) + 1)
    missing = {
        version: error_for_version(version, Errors.GROUP_ID_NOT_FOUND) for version in versions
    }
    share = dict.fromkeys(versions, group_kinds.why_not_regular(shared, "g"))
    return f"a missing group: {_spans(missing)}; a share group: {_spans(share)}"


def _spans(heard: dict[int, Errors]) -> str:
    """Return each error with the versions that receive it."""
    by_error: dict[str, list[int]] = {}
    for version, error in heard.items():
        by_error.setdefault(error.name, []).append(version)
    return ", ".join(
        f"{error} in {f'versions {vs[0]} to {vs[-1]}' if vs[1:] else f'version {vs[0]}'}"
        for error, vs in by_error.items()
    )


def _names(fields: tuple[Field, ...]) -> Iterator[str]:
    for field in fields:
        yield field.name
        yield from _names(field.fields)
