"""The requests of share group members to a broker, in the model's form, without those that no leader sees.

A session may have several partitions, and a request names only those that changed: here it is about all of them.
Requests that the authorizer rejects, and a renewal that asks for records, are rejected before a leader sees them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import ShareFetch
from kipviz.recordings.followed_members.share_answer_text import (
    about_partition,
    asks_beside_renewal,
    count_of,
    member_request,
    parts_of,
    recorded_answer,
)
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer, Said, error_name
from kipviz.recordings.request_context.admission import Admission

MEMBERS = ("SHARE_FETCH", "SHARE_ACKNOWLEDGE")
# The errors of a whole request because of its session.
OF_SESSIONS = (Errors.INVALID_SHARE_SESSION_EPOCH.name, Errors.SHARE_SESSION_NOT_FOUND.name)


class MemberRequests:
    """The requests of members by their numbers, each with its connection, and those that were rejected earlier.

    Each is one message of the model for each partition of its session.
    """

    def __init__(
        self, exchanges: tuple[Exchange, ...], names: Mapping[str, str], admission: Admission
    ) -> None:
        """Convert the requests."""
        self._exchanges, self._names, self._admission = exchanges, names, admission
        self.refused: list[ComparedAnswer] = []
        self.messages = dict(self._list_requests())

    def _list_requests(self) -> Iterator[tuple[int, tuple[str, tuple[Any, ...]]]]:
        """Yield the requests of members in the model's form, with their connections."""
        sessions: dict[tuple[str, str], tuple[str, ...]] = {}
        for number, exchange in enumerate(self._exchanges):
            if exchange.api not in MEMBERS:
                continue
            said = exchange.request
            member = (said["groupId"], said["memberId"])
            asked = member_request(exchange, self._names)
            named = {part.partition: part.acknowledgements for part in asked.partitions}
            gone = asked.forgotten if isinstance(asked, ShareFetch) else ()
            before = () if said["shareSessionEpoch"] == 0 else sessions.get(member, ())
            now = tuple(p for p in dict.fromkeys((*before, *named)) if p not in gone)
            if asks_beside_renewal(exchange):
                # It is rejected before its session is checked.
                self.refused += self._without_right(number, now, Errors.INVALID_REQUEST)
                continue
            if not _is_of_another_session(exchange):
                sessions[member] = now
            told = parts_of(exchange.response["responses"], self._names)
            # A partition that loads its state is left out, and results come in the order of the answer.
            order = sorted(now, key=lambda p: p not in told)
            if now and not self._not_allowed(number, now):
                messages = tuple(
                    about_partition(
                        asked,
                        partition,
                        named.get(partition, ()),
                        self._room(exchange, partition),
                    )
                    for partition in order
                    if not self._not_readable(number, partition, partition in named)
                )
                if messages:
                    yield number, (f"{exchange.client}/{member[1]}", messages)

    def _not_allowed(self, number: int, partitions: tuple[str, ...]) -> bool:
        """Return whether a request is rejected because of its group, and keep its verdict."""
        admitted = self._admission.of_group(self._exchanges[number])
        said = self._without_right(number, partitions, Errors.GROUP_AUTHORIZATION_FAILED)
        return self._refuses(admitted, said)

    def _not_readable(self, number: int, partition: str, named: bool) -> bool:
        """Return whether a partition is left out of a request because of its topic, and keep its verdict.

        The answer to an acknowledgement has only the partitions that it names.
        """
        exchange = self._exchanges[number]
        admitted = self._admission.of_topic(exchange, partition)
        said = self._without_right(number, (partition,), Errors.TOPIC_AUTHORIZATION_FAILED)
        if exchange.api == "SHARE_ACKNOWLEDGE" and not named:
            said = []
        return self._refuses(admitted, said)

    def _refuses(self, admitted: tuple[bool, ...], said: list[ComparedAnswer]) -> bool:
        """Return whether the authorizer rejects a request; if both are possible, the recording decides."""
        if False not in admitted or (True in admitted and not all(a.accepted for a in said)):
            return False
        self.refused += said
        return True

    def _without_right(
        self, number: int, partitions: tuple[str, ...], error: Errors
    ) -> list[ComparedAnswer]:
        """Return the verdicts on partitions that no leader handles."""
        exchange = self._exchanges[number]
        parts = parts_of(exchange.response["responses"], self._names)
        said = exchange.request
        found = []
        for partition in partitions:
            whole = error is not Errors.TOPIC_AUTHORIZATION_FAILED
            recorded = recorded_answer(
                exchange, partition, self._names, list(parts) if whole else []
            )
            told: Said = (("error", error.name),)
            if exchange.api == "SHARE_FETCH":
                told = (*told, ("acknowledged", "NONE"), ("acquired", ()))
            about = f"{said['groupId']} {said['memberId']} {partition}"
            found.append(ComparedAnswer(number, exchange.api, about, recorded, (told,)))
        return found

    def _room(self, exchange: Exchange, partition: str) -> int:
        """Return how many records of a fetch one partition may have: the limit without those of the others."""
        most: int = exchange.request.get("maxRecords", exchange.request.get("batchSize", 0))
        told = parts_of(exchange.response["responses"], self._names)
        others = sum(count_of(part) for name, part in told.items() if name != partition)
        return max(most - others, 0)


def _is_of_another_session(exchange: Exchange) -> bool:
    """Return whether a request was rejected for its session, which stays unchanged (SharePartitionManager.newContext)."""
    return error_name(exchange.response.get("errorCode", 0)) in OF_SESSIONS
