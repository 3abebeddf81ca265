"""What a leader may remember of batches whose transaction was checked in vain, from the batches that came before."""

import pytest

from kipviz.brokers.logs.partition_log import PartitionLog, append, replicate
from kipviz.brokers.logs.verification import Verification
from kipviz.cluster.real.rebuilt_cluster import RebuiltBatch
from kipviz.core.table import Table
from kipviz.recordings.possible_worlds.verification_memory import VerificationMemory
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.request_context.handmade_requests import RequestBatch
from kipviz.records.batches import COMMIT, Batch, DataRecord

PLACE, PID = "orders-0", 7
OLD, NEW = 11, 12


def batch(sequence, epoch=0, offset=0):
    return Batch(offset, (DataRecord("x"),), PID, epoch, sequence, transactional=True)


def marker(epoch, offset):
    return Batch(offset, (), PID, epoch, transactional=True, control=COMMIT)


class Case:
    """Batches that were sent, each with the times of its request, and what the log took at which time."""

    def __init__(self):
        self.sent, self.exchanges, self.entries = {}, [], []

    def sends(self, begin, end, sequence, epoch=0, version=NEW):
        number = len(self.exchanges)
        request = ("p0-a", number)
        self.sent[request, PLACE] = RequestBatch(request, PLACE, PID, epoch, sequence, ("x",))
        asked = Table.of({"transactionalId": "x"})
        self.exchanges.append(
            Exchange(
                "PRODUCE", version, "p0-a", begin, end, asked, Table.of(), correlation=number
            ).but(earliest_ms=begin)
        )
        return self

    def takes(self, at_ms, taken):
        self.entries.append(RebuiltBatch(PLACE, taken, at_ms, ""))
        return self

    def log_after(self, _, count):
        log = PartitionLog(PLACE)
        for entry in self.entries[:count]:
            log = append(log, entry.batch)
        return replicate(log)

    def list_remembered(self):
        """Return what may be remembered when the batch that was sent last is handled behind all that the log took."""
        told = (self.exchanges, self.sent, self.entries, self.log_after)
        last = ("p0-a", len(self.exchanges) - 1)
        message = self.sent[last, PLACE].message("x", NEW)
        log = self.log_after(PLACE, len(self.entries))
        (batch,) = message.partition_data
        return set(VerificationMemory(*told)._list_before(last, batch, log))


def entry(lowest, epoch=0, bumps=True):
    return (Verification(PID, epoch, lowest, bumps),)


@pytest.fixture
def case():
    return Case()


def test_a_batch_before_leaves_its_sequence_and_its_protocol(case):
    case.sends(10, 20, 3, version=OLD).sends(30, 40, 4)
    assert case.list_remembered() == {entry(3, bumps=False)}


def test_a_batch_that_came_meanwhile_may_have_been_first_or_not(case):
    case.sends(10, 20, 3).sends(25, 50, 1).sends(30, 40, 4)
    assert case.list_remembered() == {entry(3), entry(1)}


def test_what_the_log_takes_ends_it(case):
    case.sends(10, 20, 3).takes(25, batch(0)).sends(30, 40, 1)
    assert case.list_remembered() == {()}


def test_a_marker_ends_it_but_for_one_of_its_own_epoch_under_transaction_version_2(case):
    case.takes(5, batch(0)).sends(10, 20, 0, epoch=1).takes(25, marker(1, 1)).sends(30, 40, 1, 1)
    assert case.list_remembered() == {entry(0, epoch=1)}
    older = Case().takes(5, batch(0)).sends(10, 20, 0, epoch=1, version=OLD)
    older.takes(25, marker(1, 1)).sends(30, 40, 1, epoch=1)
    assert older.list_remembered() == {()}


def test_no_entry_is_made_where_the_transaction_is_open_or_the_epoch_is_an_older_one(case):
    case.takes(5, batch(0, epoch=1)).sends(10, 20, 5, epoch=1).sends(12, 22, 0, epoch=0)
    assert case.sends(30, 40, 1, epoch=1).list_remembered() == {()}
