"""The row of an API: its bytes, its role, the rights it needs, its rejection, and its place in Kafka."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from kipviz.core.values import TextEnum
from kipviz.messages.apis.client_errors import ClientErrors
from kipviz.messages.apis.error_places import OWN_ERROR, ErrorPlace
from kipviz.messages.apis.legal_errors import LegalErrors
from kipviz.messages.apis.rights import Need
from kipviz.messages.apis.shards import ShardBy
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.wire.kind import Kind, RequestKind
from kipviz.records.placement import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    topic_of,
)

# A proposal whose requests no release supports, not even one that ships other drafts.
NO_RELEASE = "no release"

# The request and the response of a row. A row is asked only about its own messages, so a row of any API is an
# `Api[Message, Message]`.
Q_co = TypeVar("Q_co", bound=Message, covariant=True)
A_co = TypeVar("A_co", bound=Message, covariant=True)
# The request of a case, or a class above it.
C_contra = TypeVar("C_contra", contravariant=True)


class Role(TextEnum):
    """The part of a broker that serves a request. `KAFKA_APIS` serves it whatever the broker leads."""

    KAFKA_APIS = "kafka_apis"
    TRANSACTION_COORDINATOR = "transaction_coordinator"
    GROUP_COORDINATOR = "group_coordinator"
    SHARE_COORDINATOR = "share_coordinator"
    PARTITION_LEADER = "partition_leader"
    SHARE_PARTITION_LEADER = "share_partition_leader"

    @property
    def coordinates(self) -> bool:
        """Whether the role is a coordinator's, which a client looks up with FindCoordinator."""
        return self.value.endswith("_coordinator")


COORDINATOR_OF: dict[str, Role] = {
    TRANSACTION_STATE: Role.TRANSACTION_COORDINATOR,
    CONSUMER_OFFSETS: Role.GROUP_COORDINATOR,
    SHARE_GROUP_STATE: Role.SHARE_COORDINATOR,
}
"""The role that leads the partitions of an internal topic, by the topic."""


def leading_role(partition: str) -> Role:
    """Return the role of a partition's leader."""
    return COORDINATOR_OF.get(topic_of(partition), Role.PARTITION_LEADER)


@dataclass(frozen=True)
class Case(Generic[C_contra]):
    """A version or a flag of a request that needs other rights; `applies` recognizes such a request."""

    name: str
    applies: Callable[[C_contra], bool]
    needs: tuple[Need, ...]


@dataclass(frozen=True, kw_only=True)
class UnstableVersion:
    """The version of an API after its newest stable one (Kafka's `latestVersionUnstable`), and what is said of it alone.

    Its schema may still change; a broker serves it only with unstable.api.versions.enable, and no client sends it by
    itself. `since` is the first release that has it; the other fields are as in `Api`. Its fields, rights and errors
    are those of the row, which says by their values when they count.
    """

    version: int
    clause: str
    kafka: str
    words: tuple[str, str]
    since: str
    status: str = "draft"


@dataclass(frozen=True, kw_only=True)
class Api(Generic[Q_co, A_co]):
    """One API: a request, its response, and the facts about them that are not behaviour.

    `request_bytes` and `response_bytes` are the two schemas, each with the function that fills it, and the request's with
    the function that decodes it; None: not written yet, so the message has no bytes. `role` serves the request at the leader of `shard`. `needs` are the rights in the
    order in which Kafka checks them, unless one of `cases` applies; `topics` returns the topics that a request names, where
    one of them is a right to topics. `refusal` makes the response that has an error and nothing else; `error_place` reads
    and writes the errors of any response. `client_errors` says what a producer does with them; None: it never sends the
    request. `clause` and `kafka` name the text of the rule and the class that implements it; `answer_in` is
    Kafka's class that handles the response. `words` are the labels of an arrow if the names of the two messages are too
    long. `newest` are the newest versions that releases support, from the oldest release on, if not every release
    supports `VERSION` of the request; `since` is the first release that supports the request at all: "" for every one,
    `NO_RELEASE` for none. `admin_retries` are errors after which an admin client repeats the request; None: it never
    sends one. `only_with_shares`: rejected while share groups are disabled. `topic_ids_from`: the first version that
    names topics by id alone. `by_name`: otherwise a missing topic is an error of its own. `may_be_late`: it takes
    effect even if its sender has abandoned it. `heartbeat`: it keeps a member or a transaction alive. `appends`: where
    it succeeds, a leader may append a batch or a record to its log for it. `adds_partitions_from` is the first version
    that relies on the broker to add the partition to the transaction. `decisive`: its response is worth a question even
    if it is no error. `unstable` is a version that no release serves unless it is told to.
    """

    request: type[Q_co]
    response: type[A_co]
    request_bytes: RequestKind[Q_co] | None = None
    response_bytes: Kind[A_co] | None = None
    role: Role
    shard: ShardBy[Q_co]
    needs: tuple[Need, ...]
    cases: tuple[Case[Q_co], ...] = ()
    refusal: Callable[[Q_co, Errors], A_co]
    topics: Callable[[Q_co], tuple[str, ...]] | None = None
    errors: tuple[LegalErrors, ...] = ()
    error_place: ErrorPlace[A_co] = OWN_ERROR
    client_errors: ClientErrors | None = None
    clause: str
    kafka: str
    answer_in: str
    words: tuple[str, str] = ("", "")
    admin_retries: tuple[Errors, ...] | None = None
    only_with_shares: bool = False
    topic_ids_from: int | None = None
    by_name: bool = False
    may_be_late: bool = False
    heartbeat: bool = False
    appends: bool = False
    adds_partitions_from: int = 0
    decisive: bool = False
    since: str = ""
    newest: tuple[tuple[str, int], ...] = ()
    unstable: UnstableVersion | None = None

    @property
    def name(self) -> str:
        """The request's name."""
        return self.request.__name__

    @property
    def kafka_name(self) -> str:
        """Kafka's name of the API (ApiKeys), such as END_TXN; several rows may have one."""
        assert self.response_bytes is not None, "a row without bytes has no name in Kafka"
        words = re.findall(r"[A-Z][a-z]*", self.response_bytes.schema.name.removesuffix("Response"))
        return "_".join(words).upper()

    @property
    def key(self) -> int:
        """Kafka's number of the API."""
        return self.request.API_KEY

    @property
    def version(self) -> int:
        """The newest stable version that the model supports."""
        return self.request.VERSION

    @property
    def status(self) -> str:
        """Whether a release ships it ("shipped"), a KIP proposes it ("draft"), or neither ("our inference")."""
        return self.request.STATUS

    def facts(self, version: int) -> AnyApi | UnstableVersion:
        """Return what has the status, the clause and the words of a version: the row, or its unstable version."""
        if self.unstable is not None and version >= self.unstable.version:
            return self.unstable
        return self

    def rights(self: AnyApi, message: Message) -> tuple[Need, ...]:
        """Return the rights that one request needs."""
        return next((case.needs for case in self.cases if case.applies(message)), self.needs)

    def legal_at(self, place: str) -> LegalErrors:
        """Return the errors that one place of the response may have.

        Raises:
            KeyError: no such place.
        """
        return {each.place: each for each in self.errors}[place]

    def kinds(self) -> Iterator[tuple[type[Message], Kind[Message]]]:
        """Yield the request and the response with their bytes; a message without bytes is left out."""
        for message, kind in (
            (self.request, self.request_bytes),
            (self.response, self.response_bytes),
        ):
            if kind is not None:
                yield message, kind


AnyApi = Api[Message, Message]
