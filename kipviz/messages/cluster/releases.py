"""Releases: the features and the newest request versions that their brokers support.

ApiVersions returns them on each connection: a client sends no newer version than the broker at the other end supports,
and no request that this broker lacks. Source: the release branches 2.4 and 3.5 to 4.4 (TransactionVersion,
ShareVersion, the schemas' validVersions).
"""

from __future__ import annotations

from kipviz.core.values import Value
from kipviz.messages.apis.catalogue import APIS, api_of
from kipviz.messages.cluster.features import STAGING_LEVEL
from kipviz.messages.groups.groups import (
    ASKS_STABLE,
    NAMES_MEMBER,
    OF_SEVERAL_GROUPS,
    OffsetFetch,
    TxnOffsetCommit,
)
from kipviz.messages.message import Message
from kipviz.messages.transactions.transactions import AddPartitionsToTxn


class Release(Value, frozen=True):
    """One release: the highest levels of features that it supports, and its requests.

    `verifies` means that a leader asks the coordinator before the first batch of a transaction (KIP-890 part 1).
    `newest` are the newest versions of requests, if they differ between releases, and `lacks` the requests that it does
    not support. `stages` means that the release has the code of KIP-1289 (draft), so that it can read transactional
    acknowledgements in `__share_group_state`. `epoch_first` means that a log compares a producer's epoch before it
    checks whether its transaction is verified (KAFKA-19690: in 4.1.1 and 4.2.0, not in 4.0.0 and 4.1.0).
    """

    name: str
    transaction_version: int = 2
    share_version: int = 2
    verifies: bool = True
    newest: tuple[tuple[str, int], ...] = ()
    lacks: tuple[str, ...] = ()
    status: str = "shipped"
    inter_broker_protocol: int = 1
    epoch_first: bool = True

    @property
    def stages(self) -> bool:
        """Whether the release has what KIP-1289 adds."""
        return self.share_version >= STAGING_LEVEL

    def supports(self, feature: str) -> int:
        """Return the highest level of a feature that it supports."""
        level: int = getattr(self, feature)
        return level


# Oldest first. 2.4 is the last one before KIP-447: its brokers' config inter.broker.protocol.version holds newer ones
# back in the KIP's drafts. 3.5 has the verifying version of AddPartitionsToTxn, but it is not enabled there.
_BINARIES = (
    Release("2.4", 0, 0, False, inter_broker_protocol=0, epoch_first=False),
    Release("3.5", 0, 0, False, epoch_first=False),
    Release("3.6", 0, 0, epoch_first=False),
    Release("3.9", 0, 0, epoch_first=False),
    Release("4.1.0", 2, 1, epoch_first=False),
    Release("4.3", 2, 1),
    Release("4.4"),
    Release("kip-1289", 2, STAGING_LEVEL, status="draft"),
)
NAMES: tuple[str, ...] = tuple(known.name for known in _BINARIES)


def _with_its_requests(binary: Release) -> Release:
    """Add the facts from the rows of all APIs: the requests that a release lacks, and their newest versions."""
    reached = NAMES[: NAMES.index(binary.name) + 1]
    newest = tuple(
        (api.name, version) for api in APIS for name, version in api.newest if name == binary.name
    )
    newest += tuple(
        (api.name, api.version)
        for api in APIS
        if api.unstable and api.unstable.since not in reached
    )
    lacks = tuple(api.name for api in APIS if api.since and api.since not in reached)
    return binary.but(newest=newest, lacks=lacks)


RELEASES: tuple[Release, ...] = tuple(map(_with_its_requests, _BINARIES))
# A cluster that names no releases runs one that supports everything, including drafts.
EVERYTHING = Release("", 2, STAGING_LEVEL, status="draft")


class UnknownRelease(ValueError):
    """An unknown name of a release."""


def release(name: str) -> Release:
    """Return a release by name; "" is the one that supports everything.

    Raises:
        UnknownRelease: for an unknown name; the message lists the releases.
    """
    for known in (EVERYTHING, *RELEASES):
        if known.name == name:
            return known
    raise UnknownRelease(f"there is no release {name!r}; the releases are {', '.join(NAMES)}")


def knows(binary: Release, request: Message) -> bool:
    """Return whether a broker supports a request in the version in which it arrived.

    Clients have always sent AddPartitionsToTxn up to version 3; later versions are the brokers'. A client does not
    leave out its member for an older broker: TxnOffsetCommitRequest.Builder.build. Nor does it leave out a value of a
    field that the version lacks (UnsupportedVersionException).
    """
    name = api_of(request).name
    newest = dict(binary.newest).get(name, request.spoken)
    if newest < request.oldest:
        return False
    if isinstance(request, TxnOffsetCommit) and request.member_id and newest < NAMES_MEMBER:
        return False
    if isinstance(request, AddPartitionsToTxn) and request.spoken <= 3:
        return True
    return name not in binary.lacks


def lower_version(binary: Release, request: Message) -> Message:
    """Return a request in the newest version that both ends of its connection support."""
    newest = dict(binary.newest).get(api_of(request).name)
    if newest is None or request.spoken <= newest or request.oldest > newest:
        return request
    if isinstance(request, OffsetFetch) and newest < ASKS_STABLE:
        return request.but(version=newest, require_stable=False)
    return request.but(version=newest)


def takes_several(binary: Release, request: Message) -> bool:
    """Return whether a broker accepts several groups in one request: OffsetFetch since version 8.

    Source: OffsetFetchRequest.Builder, NoBatchedOffsetFetchRequestException.
    """
    if not isinstance(request, OffsetFetch):
        return True
    return lower_version(binary, request).spoken >= OF_SEVERAL_GROUPS
