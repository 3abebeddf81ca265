"""All APIs, and the row of a message."""

from __future__ import annotations

from kipviz.messages.apis.api import AnyApi, UnstableVersion
from kipviz.messages.apis.cluster import (
    acls,
    configs,
    coordinators,
    metadata,
    topic_creation,
    topic_deletion,
)
from kipviz.messages.apis.groups import (
    classic_groups,
    group_admin,
    membership,
    offset_commit,
    offset_fetch,
)
from kipviz.messages.apis.logs import deleted_records, fetch, list_offsets, produce
from kipviz.messages.apis.shares import acknowledgements, share_admin, share_fetch, share_state
from kipviz.messages.apis.transactions import added_partitions, admin, ends, liveness, producer_ids
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message

APIS: tuple[AnyApi, ...] = (
    *producer_ids.APIS,
    *added_partitions.APIS,
    *ends.APIS,
    *liveness.APIS,
    *produce.APIS,
    *fetch.APIS,
    *list_offsets.APIS,
    *deleted_records.APIS,
    *metadata.APIS,
    *topic_creation.APIS,
    *topic_deletion.APIS,
    *coordinators.APIS,
    *offset_fetch.APIS,
    *offset_commit.APIS,
    *membership.APIS,
    *classic_groups.APIS,
    *share_fetch.APIS,
    *acknowledgements.APIS,
    *share_state.APIS,
    *admin.APIS,
    *share_admin.APIS,
    *group_admin.APIS,
    *acls.APIS,
    *configs.APIS,
)


def _by_message() -> dict[type[Message], AnyApi]:
    """Return the rows by message; a response of several requests has the first row that names it."""
    found = {api.request: api for api in APIS}
    for api in APIS:
        found.setdefault(api.response, api)
    return found


API_OF: dict[type[Message], AnyApi] = _by_message()


ROW_OF: dict[str, AnyApi] = {api.kafka_name: api for api in reversed(APIS)}
"""The row with each of Kafka's names, such as END_TXN; what an abandoned draft made of an API stands after it."""


def api_of(message: Message) -> AnyApi:
    """Return the row of a request or a response.

    Raises:
        KeyError: a message that has no row.
    """
    return API_OF[type(message)]


def facts_of(message: Message, version: int) -> AnyApi | UnstableVersion:
    """Return what has the status, the clause and the words of a message in a version.

    Raises:
        KeyError: a message that has no row.
    """
    return API_OF[type(message)].facts(version)


def reject_request(request: Message, error: Errors) -> Message:
    """Return the response that rejects a request with an error and has no other fields."""
    return api_of(request).refusal(request, error)
