"""What a client commits beside an offset: its own metadata, and the leader epoch of what it read."""

from __future__ import annotations

import pytest

from kipviz.serving.translating.apis import APIS
from tests.serving.frames import answer, frame, make_cluster

OFFSET_COMMIT, OFFSET_FETCH, INIT_PRODUCER_ID, END_TXN = 8, 9, 22, 26
TXN_OFFSET_COMMIT = 28
OFFSET_METADATA_TOO_LARGE, UNKNOWN_TOPIC_OR_PARTITION = 12, 3
# The first versions with topic ids, and with leader epochs.
COMMITS_IDS, FETCHES_IDS, COMMITS_EPOCH, FETCHES_EPOCH = 10, 10, 6, 5
TXN_IDS, TXN_EPOCH = 6, 2


class Caller:
    """A client with a connection to the coordinator of group g."""

    def __init__(self, cluster):
        self.cluster = cluster
        home = cluster.world.image.home_of("__consumer_offsets", "g")
        self.caller = cluster.connect(cluster.world.image.leader_of(home))

    def ask(self, key, version, **said):
        self.cluster.feed(self.caller, frame(key, version, **said))
        assert not self.cluster.lines
        return answer(self.caller, APIS[key].response, version)

    def topics(self, by_id, *partitions):
        image = self.cluster.world.image
        named = {"TopicId": image.topic_ids["orders"]} if by_id else {"Name": "orders"}
        return (named | {"Partitions": partitions},)

    def commit(self, version, *partitions):
        who = {} if version < 1 else {"MemberId": "", "GenerationIdOrMemberEpoch": -1}
        topics = self.topics(version >= COMMITS_IDS, *partitions)
        told = self.ask(OFFSET_COMMIT, version, GroupId="g", Topics=topics, **who)
        return errors_of(told)

    def fetch(self, version):
        """Fetch orders-0 by name or id, and all offsets of the group if the version can."""
        named = dict(self.topics(version >= FETCHES_IDS)[0])
        del named["Partitions"]
        topics = (named | {"PartitionIndexes": (0,)},)
        first = self._fetch(version, topics)
        if version >= 2 and first[0] >= 0:
            assert self._fetch(version, None) == first
        return first

    def _fetch(self, version, topics):
        if version < 8:
            told = self.ask(OFFSET_FETCH, version, GroupId="g", Topics=topics)
        else:
            groups = ({"GroupId": "g", "Topics": topics},)
            (told,) = self.ask(OFFSET_FETCH, version, Groups=groups)["Groups"]
        ((part,),) = (topic["Partitions"] for topic in told["Topics"])
        return part["CommittedOffset"], part.get("CommittedLeaderEpoch"), part["Metadata"]


def errors_of(told):
    return [part["ErrorCode"] for topic in told["Topics"] for part in topic["Partitions"]]


def offset(at, metadata, epoch=None, index=0):
    found = {"PartitionIndex": index, "CommittedOffset": at, "CommittedMetadata": metadata}
    return found if epoch is None else found | {"CommittedLeaderEpoch": epoch}


@pytest.mark.parametrize("version", range(2, 11))
def test_metadata_and_leader_epoch_are_fetched_as_they_were_committed(version):
    caller = Caller(make_cluster())
    epoch = 3 if version >= COMMITS_EPOCH else None
    assert caller.commit(version, offset(7, "my own ✓", epoch)) == [0]
    for fetched in range(1, 11):
        known = -1 if epoch is None else epoch
        in_answer = known if fetched >= FETCHES_EPOCH else None
        assert caller.fetch(fetched) == (7, in_answer, "my own ✓")
    assert caller.commit(version, offset(8, None)) == [0]
    assert caller.fetch(10) == (8, -1, "")


@pytest.mark.parametrize("version", range(7))
def test_what_a_transaction_commits_beside_an_offset_is_there_when_it_ends(version):
    cluster = make_cluster()
    caller = Caller(cluster)
    home = cluster.world.image.home_of("__transaction_state", "t")
    coordinator = Caller(cluster)
    coordinator.caller = cluster.connect(cluster.world.image.leader_of(home))
    who = {"TransactionalId": "t"}
    told = coordinator.ask(INIT_PRODUCER_ID, 4, **who, TransactionTimeoutMs=1_000)
    who |= {"ProducerId": told["ProducerId"], "ProducerEpoch": told["ProducerEpoch"]}
    if version < 5:
        assert not coordinator.ask(25, 3, **who, GroupId="g")["ErrorCode"]
    epoch = 5 if version >= TXN_EPOCH else None
    for metadata, error in (("x" * 4_097, OFFSET_METADATA_TOO_LARGE), ("in t", 0)):
        topics = caller.topics(version >= TXN_IDS, offset(4, metadata, epoch))
        told = caller.ask(TXN_OFFSET_COMMIT, version, **who, GroupId="g", Topics=topics)
        assert errors_of(told) == [error]
    assert not coordinator.ask(END_TXN, 3, **who, Committed=True)["ErrorCode"]
    assert caller.fetch(10) == (4, -1 if epoch is None else epoch, "in t")


@pytest.mark.parametrize(
    ("metadata", "fits"), [("x" * 4_096, True), ("x" * 4_097, False), ("🙂" * 2_049, False)]
)
def test_metadata_that_is_too_long_is_an_error_of_its_partition(metadata, fits):
    """OffsetMetadataManager.isMetadataInvalid; the length is that of a Java String."""
    caller = Caller(make_cluster())
    error = 0 if fits else OFFSET_METADATA_TOO_LARGE
    assert caller.commit(8, offset(1, metadata)) == [error]
    assert caller.fetch(8) == ((1, -1, metadata) if fits else (-1, -1, ""))
    told = caller.commit(8, offset(2, metadata), offset(2, "", index=9))
    assert told == [error, UNKNOWN_TOPIC_OR_PARTITION]
