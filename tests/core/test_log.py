"""The immutable list that grows at its end."""

import operator
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kipviz.core import log as log_module
from kipviz.core.log import CHUNK, Log

EDGES = sorted(
    {
        size + near
        for size in (0, CHUNK, CHUNK**2, CHUNK**2 + CHUNK, 2 * CHUNK**2, CHUNK**3)
        for near in (-1, 0, 1, CHUNK)
        if size + near >= 0
    }
)


class LogIsAList(RuleBasedStateMachine):
    """Whatever is done to a log, it is what a list would be."""

    def __init__(self):
        super().__init__()
        self.log = Log.of()
        self.list = []
        self.kept = []

    @rule(record=st.integers(-3, 3))
    def append(self, record):
        self.log = self.log.append(record)
        self.list.append(record)

    @rule(size=st.integers(0, 1200))
    def extend(self, size):
        self.log = self.log.extend(range(size))
        self.list.extend(range(size))

    @rule(share=st.floats(0, 1.1))
    def truncate(self, share):
        size = int(len(self.list) * share)
        self.log = self.log.truncate(size)
        del self.list[size:]

    @rule()
    def ask_for_the_digest(self):
        assert self.log.digest == Log.of(self.list).digest

    @rule()
    def keep_a_version(self):
        self.kept = [*self.kept[-3:], (self.log, list(self.list))]

    @rule(data=st.data())
    def slice_it(self, data):
        cut = data.draw(st.slices(len(self.list)))
        assert self.log[cut] == tuple(self.list[cut])

    @invariant()
    def content_is_that_of_the_list(self):
        assert list(self.log) == self.list
        assert len(self.log) == len(self.list)
        assert self.log == Log.of(self.list)
        assert hash(self.log) == hash(Log.of(self.list))
        if self.list:
            assert self.log[-1] == self.list[-1]
            assert self.log[0] == self.log[-len(self.list)] == self.list[0]

    def teardown(self):
        for log, content in self.kept:
            assert list(log) == content, "an old version has changed"
            assert log.digest == Log.of(content).digest


TestLogIsAList = LogIsAList.TestCase
TestLogIsAList.settings = settings(max_examples=30, stateful_step_count=15, deadline=None)

records = st.lists(st.integers(0, 2), max_size=70)


@given(records, records)
def test_logs_are_equal_and_have_equal_digests_exactly_when_their_records_are(one, other):
    left, right = Log.of(one), Log.of().extend(other)
    assert (left == right) == (one == other)
    assert (left.digest == right.digest) == (one == other)


@given(records, records)
def test_two_branches_of_one_log_do_not_disturb_each_other(stem, twig):
    log = Log.of(stem)
    assert log.digest
    one, other = log.append("one").extend(twig), log.append("other").extend(twig)
    assert list(one) == [*stem, "one", *twig]
    assert list(other) == [*stem, "other", *twig]
    assert one.digest == Log.of([*stem, "one", *twig]).digest
    assert other.digest == Log.of([*stem, "other", *twig]).digest


@pytest.mark.parametrize("size", EDGES)
def test_logs_of_every_size_do_the_same(size):
    log = Log.of(range(size))
    assert list(log) == list(range(size))
    assert [log[at] for at in range(0, size, 97)] == list(range(0, size, 97))
    assert log.append("x")[size] == "x"
    again = pickle.loads(pickle.dumps(log))
    assert again == log
    assert repr(again) == repr(log)


def test_one_by_one_and_all_at_once_give_the_same_log():
    log = Log.of()
    for number in range(3 * CHUNK**2):
        log = log.append(number)
    assert log == Log.of(range(3 * CHUNK**2))
    assert log.digest == Log.of(range(3 * CHUNK**2)).digest


def test_truncating_at_every_edge_gives_the_log_of_the_first_records():
    whole = Log.of(range(EDGES[-1] + 5))
    assert whole.digest
    for size in EDGES:
        short = whole.truncate(size)
        assert short == Log.of(range(size))
        assert short.append("x") == Log.of(range(size)).append("x")
        assert short.digest == Log.of(range(size)).digest
    assert whole.truncate(len(whole)) is whole
    assert whole.truncate(10**9) is whole


def test_the_digest_of_a_grown_log_costs_only_the_new_records(monkeypatch):
    encoded = []

    def counting(record):
        encoded.append(record)
        return repr(record).encode()

    log = Log.of(range(5000))
    monkeypatch.setattr(log_module, "encoding", counting)
    assert log.digest
    assert len(encoded) == 5000
    grown = log.append("a").append("b")
    assert grown.digest
    assert encoded[5000:] == ["a", "b"]
    assert grown.digest
    assert len(encoded) == 5002


def test_an_append_to_a_long_log_shares_its_chunks():
    log = Log.of(range(CHUNK**3))
    grown = log.append("x")
    assert grown._chunk(7) is log._chunk(7)
    assert len(log) == CHUNK**3


def test_an_index_beyond_the_log_is_refused():
    with pytest.raises(IndexError, match="a log of 3 records has no record 3"):
        Log.of("abc")[3]
    with pytest.raises(IndexError, match="a log of 3 records has no record -4"):
        Log.of("abc")[-4]
    with pytest.raises(IndexError, match="a log of 0 records has no record -1"):
        Log.of()[-1]
    with pytest.raises(ValueError, match="cannot be truncated to -1 records: use 0 or more"):
        Log.of("abc").truncate(-1)


def test_a_log_is_equal_to_logs_only_and_prints_its_end():
    log = Log.of([1])
    assert operator.eq(log, log)
    assert log != (1,)
    assert Log.of([1]) != Log.of([2])
    assert Log.of(Log.of([1])) == Log.of([1])
    assert repr(Log.of([1, 2])) == "Log(1, 2)"
    assert repr(Log.of(range(5))) == "Log(2 more, ..., 2, 3, 4)"
    assert Log.of([1]).extend(()) == Log.of([1])


def test_equal_logs_are_not_unequal():
    one, other = Log.of(range(CHUNK + 1)), Log.of(range(CHUNK + 1))
    assert one == other
    assert not one != other  # noqa: SIM202  an operator of its own
    assert one != other.append(0)
    assert one != tuple(range(CHUNK + 1))
