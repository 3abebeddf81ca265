"""Requests of a log that cannot be decoded: each is a row of the report, and the others are judged.

A field may be missing, have another type, or have a value that its API does not know. Such a request is not compared,
and those who are followed from one request to the next miss it: a later answer may then be one that the model could not
have given.
"""

from __future__ import annotations

from collections.abc import Mapping

from kipviz.core.field_types import why_no_value
from kipviz.core.table import Table
from kipviz.recordings.decoded.log_starts import API as DELETE_RECORDS
from kipviz.recordings.decoded.log_starts import deletions_in
from kipviz.recordings.followed_members.join_answer_text import parts_of_request
from kipviz.recordings.followed_members.join_answer_text import recorded_answer as joined_of
from kipviz.recordings.followed_members.joining import JOINING
from kipviz.recordings.followed_members.share_answer_text import (
    STATES,
    about_partition,
    coordinator_requests,
    count_of,
    member_request,
    parts_of,
    recorded_answer,
)
from kipviz.recordings.followed_members.share_requests import MEMBERS
from kipviz.recordings.judging.handling import LACKS, reason
from kipviz.recordings.judging.questions import questions
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles import leaders
from kipviz.recordings.replayed_roles.fetching import check_decodable
from kipviz.recordings.request_context.appends import PRODUCE, Appends

# APIs whose answers may assign a producer id: ids are counted, so each must be a number.
GIVES_IDS = ("INIT_PRODUCER_ID", "END_TXN")
# Fields that are compared as whole numbers from one request to the next.
NUMBERS = {
    PRODUCE: ("index", "errorCode", "baseOffset"),
    "FETCH": (
        *("sessionId", "sessionEpoch", "fetchOffset", "currentLeaderEpoch", "errorCode"),
        *("highWatermark", "lastStableOffset", "logStartOffset", "recordsSizeInBytes"),
    ),
    **dict.fromkeys(
        MEMBERS,
        (
            *("shareSessionEpoch", "maxRecords", "batchSize", "firstOffset", "lastOffset"),
            *("deliveryCount", "partitionIndex", "errorCode", "acknowledgeErrorCode"),
        ),
    ),
}


def unreadable(exchanges: tuple[Exchange, ...], names: Mapping[str, str]) -> dict[int, str]:
    """Return the exchanges that cannot be decoded, by their number, each with the reason."""
    found = ((number, _why(number, x, names)) for number, x in enumerate(exchanges))
    return {number: why for number, why in found if why}


def _why(number: int, exchange: Exchange, names: Mapping[str, str]) -> str:
    if exchange.problem:
        return exchange.problem
    try:
        _take_apart(exchange, names)
    except LACKS as problem:
        return reason(number, exchange, problem)
    return ""


def _take_apart(exchange: Exchange, names: Mapping[str, str]) -> None:
    api = exchange.api
    for question in questions(exchange, names):
        message = question.message
        if wrong := why_no_value(message, type(message), type(message).__name__):
            raise TypeError(wrong)
    if api in GIVES_IDS and (wrong := why_no_value(_given_id(exchange), int, "producerId")):
        raise TypeError(wrong)
    if api in STATES:
        coordinator_requests((exchange,))
    if api in NUMBERS:
        _check_numbers(exchange.request, NUMBERS[api])
        _check_numbers(exchange.response, NUMBERS[api])
    if api == PRODUCE:
        tuple(leaders.produced_batches(0, exchange, names, Appends((exchange,), names, {}), {}, {}))
    elif api == "FETCH":
        check_decodable(exchange, names)
    elif api == DELETE_RECORDS:
        tuple(deletions_in(exchange))
    elif api in JOINING:
        for asking in parts_of_request(exchange):
            joined_of(exchange, asking)
    elif api in MEMBERS:
        _take_member_apart(exchange, names)


def _check_numbers(found: object, names: tuple[str, ...]) -> None:
    """Check fields with some names, at any depth.

    Raises:
        TypeError: if one of them is not a whole number.
    """
    if isinstance(found, Table):
        for name, value in found.items():
            if name in names and (wrong := why_no_value(value, int, name)):
                raise TypeError(wrong)
            _check_numbers(value, names)
    elif isinstance(found, tuple):
        for each in found:
            _check_numbers(each, names)


def _given_id(exchange: Exchange) -> object:
    """Return the producer id of an answer; an answer without one is valid."""
    return exchange.response.get("producerId", -1)


def _take_member_apart(exchange: Exchange, names: Mapping[str, str]) -> None:
    """Decode what a member of a share group asks for each partition, and the answers."""
    said = exchange.request
    for who in ("groupId", "memberId"):
        if wrong := why_no_value(said[who], str, who):
            raise TypeError(wrong)
    asked = member_request(exchange, names)
    named = {part.partition: part.acknowledgements for part in asked.partitions}
    told = parts_of(exchange.response["responses"], names)
    most = said.get("maxRecords", said.get("batchSize", 0)) - sum(map(count_of, told.values()))
    for partition in (*named, *told):
        about_partition(asked, partition, named.get(partition, ()), most)
        recorded_answer(exchange, partition, names, [])
