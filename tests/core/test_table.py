"""The immutable ordered map."""

import operator
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kipviz.core.table import BLOCK, LEAF, Table
from kipviz.core.values import Part, Value

SIZES = (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 5 * BLOCK, BLOCK * BLOCK + 1, 3000)


class Row(Value, frozen=True):
    number: int


class Role(Part, frozen=True):
    number: int


def by_steps(pairs):
    table = Table.of()
    for key, value in pairs:
        table = table.set(key, value)
    return table


class TableIsASortedDict(RuleBasedStateMachine):
    """Whatever is done to a table, it is what a dict in the order of its keys would be."""

    def __init__(self):
        super().__init__()
        self.table = Table.of()
        self.dict = {}
        self.kept = []

    keys = st.integers(0, 400)

    @rule(key=keys, value=st.integers(-3, 3))
    def set_one(self, key, value):
        self.table = self.table.set(key, value)
        self.dict[key] = value

    @rule(first=keys, count=st.integers(1, 150), stride=st.integers(1, 7))
    def set_many(self, first, count, stride):
        for key in range(first, first + count * stride, stride):
            self.table = self.table.set(key, Row(key))
            self.dict[key] = Row(key)

    @rule(key=keys)
    def remove_one(self, key):
        self.table = self.table.without(key)
        self.dict.pop(key, None)

    @rule(first=keys, count=st.integers(1, 300), down=st.booleans())
    def remove_many(self, first, count, down):
        keys = range(first, first + count)
        for key in reversed(keys) if down else keys:
            self.table = self.table.without(key)
            self.dict.pop(key, None)

    @precondition(lambda self: len(self.kept) < 4)
    @rule()
    def keep_a_version(self):
        self.kept.append((self.table, dict(self.dict), self.table.digest))

    @rule()
    def ask_for_the_digest(self):
        assert self.table.digest == Table.of(self.dict).digest

    @invariant()
    def content_is_that_of_the_dict(self):
        expected = sorted(self.dict.items())
        assert self.table.items() == tuple(expected)
        assert tuple(self.table) == self.table.keys() == tuple(key for key, _ in expected)
        assert self.table.values() == tuple(value for _, value in expected)
        assert len(self.table) == len(expected)
        assert self.table == Table.of(self.dict)

    def teardown(self):
        assert self.table.digest == Table.of(self.dict).digest
        for table, content, digest in self.kept:
            assert table == Table.of(content), "an old version has changed"
            assert table.digest == digest == Table.of(content).digest


TestTableIsASortedDict = TableIsASortedDict.TestCase
TestTableIsASortedDict.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)

pair_lists = st.one_of(
    st.lists(st.tuples(kind, st.integers(0, 3)), max_size=80)
    for kind in (
        st.integers(-50, 50),
        st.text(max_size=2),
        st.tuples(st.text(max_size=1), st.integers(0, 5)),
    )
)


@given(pair_lists)
def test_of_and_set_make_the_same_table_and_get_finds_what_a_dict_finds(pairs):
    expected = dict(pairs)
    table = Table.of(pairs)
    assert table == by_steps(pairs) == Table.of(expected)
    assert table.digest == by_steps(pairs).digest
    assert hash(table) == hash(by_steps(pairs))
    for key, _ in pairs:
        assert key in table
        assert table[key] == table.get(key) == expected[key]
        assert key not in table.without(key)
        assert table.without(key).get(key, "nothing") == "nothing"


@given(pair_lists, pair_lists)
def test_tables_are_equal_and_have_equal_digests_exactly_when_their_entries_are(one, other):
    left, right = by_steps(one), by_steps(other)
    same = sorted(dict(one).items(), key=repr) == sorted(dict(other).items(), key=repr)
    assert (left == right) == same
    assert (left.digest == right.digest) == same


@pytest.mark.parametrize("size", SIZES)
def test_tables_of_every_size_do_the_same(size):
    pairs = [(f"k{number * 7919 % 10007:05}", number) for number in range(size)]
    table = by_steps(pairs)
    assert table.items() == tuple(sorted(pairs))
    assert table == Table.of(pairs) == Table.of(reversed(pairs))
    assert table.digest == Table.of(pairs).digest
    assert [table[key] for key, _ in pairs] == [value for _, value in pairs]
    for key, _ in pairs[::3]:
        table = table.without(key)
    rest = [pair for at, pair in enumerate(pairs) if at % 3]
    assert table == Table.of(rest)
    assert table.digest == Table.of(rest).digest
    assert len(table) == len(rest)
    for key, _ in rest:
        table = table.without(key)
    assert table == Table.of()
    assert table.digest == Table.of().digest


@pytest.mark.parametrize("size", SIZES)
def test_a_digest_that_was_asked_for_often_is_the_digest_of_the_content(size):
    table = Table.of()
    for number in range(size):
        table = table.set(number * 7919 % 10007, Role(number))
        if number % 5 == 0:
            assert table.digest
    for number in range(0, size, 2):
        table = table.without(number * 7919 % 10007)
        if number % 7 == 0:
            assert table.digest
    expected = Table.of({number * 7919 % 10007: Role(number) for number in range(1, size, 2)})
    assert table.digest == expected.digest


@pytest.mark.parametrize(("before", "after"), [(2_000, 40), (40, 2_000), (2_000, 400), (40, 0)])
def test_a_digest_after_many_changes_nobody_asked_about_is_the_digest_of_the_content(before, after):
    table = Table.of({number: number for number in range(before)})
    assert table.digest
    for number in range(before, after):
        table = table.set(number, number)
    for number in range(after, before):
        table = table.without(number)
    if after:
        table = table.set(7, -7)
    expected = {number: -7 if number == 7 else number for number in range(after)}
    assert table.digest == Table.of(expected).digest
    assert bool(table) == bool(after)


@pytest.mark.parametrize("size", SIZES[1:])
def test_a_changed_value_changes_the_digest_and_changed_back_it_is_the_old_one(size):
    table = Table.of({number: number for number in range(size)})
    before = table.digest
    for key in range(0, size, 31):
        changed = table.set(key, -1)
        assert changed.digest != before
        assert changed.digest == Table.of({**dict(table.items()), key: -1}).digest
        assert changed.set(key, key).digest == before == table.digest


@pytest.mark.parametrize("size", SIZES)
def test_setting_the_value_that_is_there_returns_the_same_table(size):
    values = {number: Row(number) for number in range(size)}
    table = Table.of(values)
    for number in range(0, size, 17):
        assert table.set(number, values[number]) is table
        assert table.set(number, Row(number)) == table
    assert table.without(-1) is table
    assert table.without(size) is table


@pytest.mark.parametrize("size", SIZES)
def test_a_table_goes_through_pickle(size):
    table = Table.of({(f"t{number}", number): Row(number) for number in range(size)})
    digest = table.digest
    again = pickle.loads(pickle.dumps(table))
    assert again == table
    assert again.digest == digest
    assert type(again) is type(table)


@pytest.mark.parametrize("size", SIZES[1:])
def test_a_missing_key_is_a_key_error_and_another_kind_of_key_a_clear_type_error(size):
    table = Table.of({f"k{number}": number for number in range(size)})
    with pytest.raises(KeyError, match="nobody"):
        table["nobody"]
    for ask in (table.get, table.__getitem__, table.without, table.__contains__):
        with pytest.raises(TypeError, match="keys of one table have to be of one kind, but 3"):
            ask(3)
    with pytest.raises(TypeError, match="keys of one table have to be of one kind, but 3"):
        table.set(3, 1)
    numbers = Table.of({number: number for number in range(size)})
    with pytest.raises(TypeError, match="one kind, but True cannot be ordered with 0"):
        numbers.without(1).set(True, 1)


@pytest.mark.parametrize("key", [None, 1.5, b"a", frozenset()])
def test_a_key_that_is_no_str_int_or_tuple_is_refused(key):
    with pytest.raises(
        TypeError, match="a key of a table must be a str, an int or a tuple of them"
    ):
        Table.of({key: 1})
    with pytest.raises(
        TypeError, match="a key of a table must be a str, an int or a tuple of them"
    ):
        Table.of().set(key, 1)


def test_mixed_keys_are_refused_from_the_start():
    for mixed in ({1: 1, "a": 2}, {("a", 1): 1, (1, "a"): 2}):
        with pytest.raises(TypeError, match="keys of one table have to be of one kind"):
            Table.of(mixed)


def test_a_table_of_a_table_is_that_table():
    table = Table.of({1: 2})
    assert Table.of(table) is table
    assert operator.eq(table, table)
    assert table.set(1, 3) == Table.of({1: 3})
    assert table != {1: 2}


def test_a_long_table_is_printed_in_short():
    assert repr(Table.of()) == "Table({})"
    assert repr(Table.of({2: "b", 1: "a"})) == "Table({1: 'a', 2: 'b'})"
    long = Table.of({number: number for number in range(1000)})
    assert repr(long) == "Table({0: 0, 1: 1, 2: 2, 3: 3, ... 996 more})"


def test_a_change_of_a_long_table_shares_almost_all_of_it():
    table = Table.of({number: number for number in range(100_000)})
    changed = table.set(50_000, -1)
    before = {id(values) for _, values in table.blocks()}
    own = [values for _, values in changed.blocks() if id(values) not in before]
    assert len(own) == 1
    assert (table[50_000], changed[50_000]) == (50_000, -1)


@pytest.mark.parametrize("size", [0, 1, BLOCK, BLOCK + 1])
def test_equal_tables_are_not_unequal(size):
    pairs = [(number, number) for number in range(size)]
    one, other = Table.of(pairs), Table.of(pairs)
    assert one == other
    assert not one != other  # noqa: SIM202  an operator of its own
    assert one != one.set(size, 0)
    assert one != pairs


def test_no_leaf_stays_sparse_after_many_removals():
    table = Table.of({number: number for number in range(20_000)})
    for number in range(20_000):
        if number % 100:
            table = table.without(number)
    assert len(table) == 200
    assert len(table.blocks()) <= 200 // (LEAF // 4) + 1


@pytest.mark.parametrize("size", [*SIZES, 20_000])
def test_the_blocks_of_a_table_are_its_entries_in_their_order(size):
    table = Table.of({number: Row(number) for number in range(size)})
    blocks = table.blocks()
    assert [key for keys, _ in blocks for key in keys] == list(table.keys())
    assert [value for _, values in blocks for value in values] == list(table.values())


def test_a_long_table_is_equal_to_one_of_the_same_entries_and_to_nothing_else():
    pairs = {number: number for number in range(2 * BLOCK)}
    table = Table.of(pairs)
    assert operator.eq(table, table)
    assert table == by_steps(reversed(pairs.items()))
    assert hash(table) == hash(by_steps(reversed(pairs.items())))
    assert table not in (pairs, table.without(0), table.set(0, 1), Table.of({0: 0}), Table.of())
    assert Table.of({0: 0}) != table
