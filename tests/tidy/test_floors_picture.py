"""The picture in ARCHITECTURE.md is of the tree as it stands."""

from __future__ import annotations

from tests.tidy.floors_picture import PICTURE, ROOT, floors, picture


def test_the_picture_of_the_floors_is_of_this_tree() -> None:
    stored = PICTURE.read_text(encoding="utf-8")
    assert stored == picture(), "run `python -m tests.tidy.floors_picture`"


def test_the_picture_and_the_architecture_name_every_floor() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for floor in (name for row in floors() for name in row):
        assert f"`{floor}`" in text, floor
        assert f">{floor}</text>" in picture()
