"""What somebody may have meant."""

from __future__ import annotations

from kipviz.core.outside.suggestions import nearest, unknown, unknown_of

NAMES = ("kip-98-zombie", "kip-890-late", "pain-ghosts", "pain-modes")


def test_the_nearest_names_come_first_and_there_are_at_most_three():
    assert nearest("kip-98-zombies", NAMES)[0] == "kip-98-zombie"
    assert len(nearest("kip", NAMES)) == 3
    assert nearest("x", ()) == ()


def test_one_sentence_says_what_is_like_it_and_where_all_are():
    said = unknown("story", "pain-gosts", NAMES[2:], "`kipviz list`")
    assert said == (
        "there is no story 'pain-gosts'; nearest are pain-ghosts and pain-modes, and `kipviz list` "
        "lists all"
    )
    assert (
        unknown("story", "a", ("b",), "it")
        == "there is no story 'a'; nearest are b, and it lists all"
    )


def test_names_that_no_command_lists_are_listed_behind_the_nearest_one() -> None:
    assert unknown_of("fault", "faults", "expir_lock", ("cut", "expire_lock")) == (
        "there is no fault 'expir_lock'; the nearest is expire_lock, and the faults are cut, expire_lock"
    )
    far = "there is no fault 'speed'; the faults are cut, expire_lock"
    assert unknown_of("fault", "faults", "speed", ("cut", "expire_lock")) == far
    assert unknown_of("fault", "faults", 7, ()) == "there is no fault '7'; the faults are none"
