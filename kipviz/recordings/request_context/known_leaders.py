"""Whether a leader may not be active at the time of a request: an internal topic is new, or its leader is."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from kipviz.brokers.context import Image
from kipviz.cluster import dispatch
from kipviz.cluster.real.rebuilt_cluster import BROKER, RebuiltBatch
from kipviz.cluster.world import RoleKey
from kipviz.core.table import Table
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.catalogue import APIS
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import TxnOffsetCommit
from kipviz.messages.message import Message
from kipviz.messages.transactions.admin import ListTransactions
from kipviz.recordings.decoded.elections import (
    LEARNS_MS,
    LeaderDecision,
    first_of,
    loading_spans,
    logs_complete,
    terms_of,
)
from kipviz.recordings.recorded import Exchange, Plain
from kipviz.recordings.request_context.arrival import span_of
from kipviz.records.placement import CONSUMER_OFFSETS, TRANSACTION_STATE, topic_of

# The coordinator that answers each API; a loading one returns that error, except to a Heartbeat, which is not among them.
ASKED: dict[str, Role] = {
    api.kafka_name: api.role
    for api in APIS
    if api.role.coordinates
    and any(Errors.COORDINATOR_LOAD_IN_PROGRESS in place.errors for place in api.errors)
}
# With one of these an answer does not show that the coordinator has read its log: it has not, or KafkaApis rejected the
# request (or a topic of it) before the coordinator saw it. Source: KafkaApis, authHelper.authorize in each handler;
# GroupCoordinatorService returns INVALID_GROUP_ID before it schedules an operation on its log.
NO_EVIDENCE = frozenset(
    error.value
    for error in (
        Errors.COORDINATOR_LOAD_IN_PROGRESS,
        Errors.COORDINATOR_NOT_AVAILABLE,
        Errors.NOT_COORDINATOR,
        Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        Errors.GROUP_AUTHORIZATION_FAILED,
        Errors.TOPIC_AUTHORIZATION_FAILED,
        Errors.CLUSTER_AUTHORIZATION_FAILED,
        Errors.INVALID_GROUP_ID,
        Errors.UNSUPPORTED_VERSION,
    )
)


class KnownLeaders:
    """The leaders, as far as the logs and the controller's decisions show them.

    `loading` has for each partition the times between which each elected leader may still read its log, and `complete`
    the time since which that log is complete.
    """

    def __init__(
        self,
        image: Image,
        decisions: tuple[LeaderDecision, ...],
        entries: Sequence[RebuiltBatch],
        exchanges: Iterable[Exchange] = (),
    ) -> None:
        """Store the evidence."""
        self._image, self._decisions, self._terms = image, decisions, terms_of(entries)
        self.loading = (
            loading_spans(decisions, entries, self._list_shown(exchanges)) if decisions else {}
        )
        self.complete = logs_complete(decisions, entries)

    def _list_shown(self, exchanges: Iterable[Exchange]) -> Iterator[tuple[str, int, int]]:
        """Yield when an answer shows that a coordinator has read its log: partition, broker, time."""
        for exchange in exchanges:
            home = self._home_asked(exchange)
            if home and not NO_EVIDENCE.intersection(_errors_in(exchange.response)):
                yield home, exchange.broker, exchange.answered_ms

    def _home_asked(self, exchange: Exchange) -> str:
        """Return the partition of the coordinator that a request asks about one transactional id or one group, else ""."""
        said = exchange.request
        match ASKED.get(exchange.api):
            case Role.TRANSACTION_COORDINATOR:
                name = said.get("transactionalId") or said.get("v3AndBelowTransactionalId")
                return self._image.home_of_transactions(name) if name else ""
            case Role.GROUP_COORDINATOR:
                group = said.get("groupId")
                return self._image.home_of(CONSUMER_OFFSETS, group) if group else ""
            case _:
                return ""

    def home_of(self, message: Message) -> str:
        """Return the partition whose leader answers a request, "" if any broker does."""
        home: str = dispatch.role_for(message, BROKER, self._image)[2]
        return home

    def is_here(self, message: Message) -> bool:
        """Return whether the logs that answer a request are here: a broker leads some partitions only."""
        home = (
            self._image.home_of_transactions(message.transactional_id)
            if isinstance(message, TxnOffsetCommit)
            else ""
        )
        asked = self.home_of(message)
        return all(not p or p in self._image.leaders for p in (asked, home))

    def is_between_leaders(self, entries: int, message: Message) -> bool:
        """Return whether the answering leader may not be active after so many entries of all logs."""
        home = self.home_of(message)
        return bool(home) and self.has_nobody_yet(entries, home)

    def is_new(self, message: Message, exchange: Exchange) -> bool:
        """Return whether the object of a request is so new that its first leader may not know of it."""
        made = first_of(self._decisions).get(self.home_of(message))
        return made is not None and span_of(exchange)[0] - LEARNS_MS < made.at_ms

    def has_nobody_yet(self, entries: int, home: str) -> bool:
        """Return whether a partition may have no leader after so many entries: an empty log, or a new leader next."""
        places, epochs = self._terms.get(home, ([], []))
        here = bisect_left(places, entries)
        return here == 0 or (here < len(epochs) and epochs[here] > epochs[here - 1])

    def may_load(self, home: str, exchange: Exchange) -> bool:
        """Return whether a coordinator may still be loading: at any time, if its election is unknown."""
        if not self._decisions:
            return True
        since = span_of(exchange)[0]
        return any(
            at <= exchange.answered_ms and since <= until
            for at, until in self.loading.get(home, ())
        )

    def answering_roles(
        self, message: Message, key: RoleKey, roles: Iterable[RoleKey]
    ) -> tuple[RoleKey, ...]:
        """Return the roles that answer a request, if they are there: a broker lists the transactions of all its coordinators."""
        if isinstance(message, ListTransactions):
            return tuple(
                each
                for each in roles
                if each[0] == key[0] and topic_of(each[2]) == TRANSACTION_STATE
            )
        return (key,) if key in roles else ()


def _errors_in(answer: Plain) -> Iterator[int]:
    """Yield every error code of an answer."""
    if isinstance(answer, Table):
        for name, value in answer.items():
            if name.lower().endswith("errorcode"):
                yield value
            else:
                yield from _errors_in(value)
    elif isinstance(answer, tuple):
        for each in answer:
            yield from _errors_in(each)
