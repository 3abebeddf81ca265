"""A path, a text and several names, as a user gives them; anything else is refused in one sentence."""

from pathlib import Path

import pytest

from kipviz.core.outside import validation


@pytest.mark.parametrize("wrong", [None, 3, 3.5, b"x", [], object(), "", "a\0b"])
def test_a_path_is_a_text_or_a_path(wrong):
    with pytest.raises(
        ValueError, match=r"^a trace file must be a path, such as 'run\.trace', not "
    ):
        validation.path("a trace file", wrong)


@pytest.mark.parametrize("wrong", [None, 3, b"x", "repaired", ["repaired", 4], {3: 4}])
def test_several_names_are_a_list_of_texts(wrong):
    with pytest.raises(
        ValueError, match=r"^designs must be a list of names, such as \['repaired'\], not "
    ):
        validation.several("designs", wrong, "repaired")


@pytest.mark.parametrize("wrong", [None, 3, b"x", ["expire_lock=1"]])
def test_a_text_is_a_text(wrong):
    with pytest.raises(ValueError, match=r"^faults must be a text, such as 'expire_lock=1', not "):
        validation.text("faults", wrong, "expire_lock=1")


def test_what_is_right_is_given_back_as_it_is_used():
    assert validation.path("a trace file", "run.trace") == Path("run.trace")
    assert validation.text("faults", "", "expire_lock=1") == ""
    assert validation.several("designs", ["repaired", "kafka"], "repaired") == ("repaired", "kafka")
