"""The picture of the README is of this commit."""

from __future__ import annotations

import json

from tests.browser.readme_picture import MADE_FROM, PICTURE, made_from


def test_the_picture_of_the_readme_shows_what_the_stepper_shows_now() -> None:
    assert json.loads(MADE_FROM.read_text(encoding="utf-8")) == made_from()


def test_the_picture_of_the_readme_is_a_picture_and_small() -> None:
    assert PICTURE.read_bytes().startswith(b"\x89PNG")
    assert PICTURE.stat().st_size < 500_000
