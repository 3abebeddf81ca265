"""What is remembered of the entries of tables."""

from kipviz.core.kept_answers import KEPT_MAX, TABLES_MAX, KeptAnswers
from kipviz.core.table import Table
from kipviz.core.values import Value


class Row(Value, frozen=True):
    number: int


def memory_and_log() -> tuple[list[tuple[str, int]], KeptAnswers[int, list[int]]]:
    """A memory of a question, and the entries that were asked about."""
    log: list[tuple[str, int]] = []

    def ask(key: str, row: Row, given: int) -> int:
        log.append((key, row.number))
        return row.number * given

    return log, KeptAnswers(ask, list, TABLES_MAX)


def test_an_entry_that_is_the_same_object_is_asked_about_once() -> None:
    log, kept = memory_and_log()
    table = Table.of({"a": Row(1), "b": Row(2)})
    assert kept.of(table, 10) == [10, 20]
    assert kept.of(table.set("b", Row(3)), 10) == [10, 30]
    assert kept.of(table, 10) == [10, 20]
    assert log == [("a", 1), ("b", 2), ("b", 3)]


def test_keys_that_come_and_go_keep_what_is_known_of_the_others() -> None:
    log, kept = memory_and_log()
    table = Table.of({"a": Row(1), "c": Row(3)})
    assert kept.of(table, 1) == [1, 3]
    assert kept.of(table.set("b", Row(2)), 1) == [1, 2, 3]
    assert kept.of(table.without("a"), 1) == [3]
    assert [key for key, _ in log] == ["a", "c", "b"]


def test_one_object_under_two_keys_is_two_entries() -> None:
    log, kept = memory_and_log()
    row = Row(1)
    kept.of(Table.of({"a": row, "b": row}), 1)
    assert [key for key, _ in log] == ["a", "b"]


def test_answers_stay_right_when_more_was_met_than_is_remembered() -> None:
    _, kept = memory_and_log()
    tables = [Table.of({"a": Row(number)}) for number in range(max(KEPT_MAX, TABLES_MAX) + 10)]
    for _ in range(2):
        assert [kept.of(table, 1) for table in tables] == [[n] for n in range(len(tables))]


def test_a_tall_table_is_answered_in_the_order_of_its_keys() -> None:
    _, kept = memory_and_log()
    table = Table.of({f"{n:03}": Row(n) for n in range(100)})
    changed = table.set("050", Row(500))
    assert kept.of(table, 1) == list(range(100))
    assert kept.of(changed, 1) == [500 if n == 50 else n for n in range(100)]


def test_no_answer_is_left_out_of_what_is_joined() -> None:
    kept = KeptAnswers[int, tuple[int, ...]](lambda _, row, __: row.number or None, tuple)
    table = Table.of({"a": Row(1), "b": Row(0), "c": Row(3)})
    assert kept.of(table, None) == (1, 3)
    assert kept.of(table.set("b", Row(2)), None) == (1, 2, 3)
    assert kept.of(table.set("c", Row(0)), None) == (1,)


def test_a_table_that_is_met_again_is_joined_once() -> None:
    joined: list[list[int]] = []

    def join(answers: list[int]) -> int:
        joined.append(answers)
        return sum(answers)

    kept = KeptAnswers[int, int](lambda _, row, __: row.number, join, TABLES_MAX)
    one = Table.of({"a": Row(1), "b": Row(2)})
    other = one.set("b", Row(3))
    assert [kept.of(table, None) for table in (one, other, one, other)] == [3, 4, 3, 4]
    assert joined == [[], [1, 2], [1, 3]]
