"""A KIP's tables name requests by texts: each is the name of an API's row, or is listed here with the reason."""

from __future__ import annotations

import pytest

from kipviz.brokers.authorizer import DRAFTS
from kipviz.clients.sessions.transaction_session import NOBODY, SENDERS
from kipviz.messages.apis.catalogue import APIS
from kipviz.messages.wire.frame import KINDS
from kipviz.studies.review_findings.group_tallies import OF_A_TRANSACTION, SHIPPED
from kipviz.studies.review_findings.session_tallies import LISTED

SUFFIX = "Request"
NAMES = {KINDS[api.request].schema.name.removesuffix(SUFFIX) for api in APIS}
# InitProducerId also has a row of a draft, for a newer version.
RELEASED = {
    kind.schema.name.removesuffix(SUFFIX)
    for kind in (KINDS[api.request] for api in APIS)
    if kind.schema.status == SHIPPED
}
# The names that only a text has, each with the reason.
ONLY_IN_A_TEXT = {
    "AddShareAcksToTxn": "KIP-1310's name for the request that KIP-1289 defines as TxnShareAcknowledge",
}
TABLES = {
    "authorizer.DRAFTS": [row.request for row in DRAFTS],
    "transaction_session.SENDERS": [row.request for row in SENDERS],
    "session_tallies.LISTED": list(LISTED),
    "group_tallies.OF_A_TRANSACTION": [name.removesuffix(SUFFIX) for name in OF_A_TRANSACTION],
}


@pytest.mark.parametrize("table", TABLES)
def test_each_request_of_a_table_is_a_row_of_apis_or_only_in_a_text(table: str) -> None:
    unknown = [name for name in TABLES[table] if name not in NAMES and name not in ONLY_IN_A_TEXT]
    assert not unknown, (
        f"{table} has {', '.join(unknown)}: name a row of APIs, or say why there is none"
    )


def test_a_name_that_only_a_text_has_is_in_a_table_and_is_no_row() -> None:
    named = {name for names in TABLES.values() for name in names}
    assert set(ONLY_IN_A_TEXT) <= named - NAMES


def test_nobody_sends_a_request_today_if_and_only_if_no_release_has_it() -> None:
    new = [row.request for row in SENDERS if row.today == NOBODY]
    assert new == [row.request for row in SENDERS if row.request not in RELEASED]


def test_every_request_that_a_producer_of_a_release_sends_is_released() -> None:
    assert set(TABLES["group_tallies.OF_A_TRANSACTION"]) <= RELEASED
