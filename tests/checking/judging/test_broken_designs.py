"""Every design of the catalogue that is broken is shown to be, and soon; the others are named."""

from __future__ import annotations

import pytest

from kipviz.designs.catalogue import CATALOGUE
from tests.checking.broken_designs import BROKEN, SOUND, Breaks, first_broken


def test_every_design_of_the_catalogue_is_either_broken_or_named_as_sound() -> None:
    names = [cell.design for cell in BROKEN] + list(SOUND)
    assert sorted(names) == sorted(known.name for known in CATALOGUE)


@pytest.mark.parametrize("cell", BROKEN, ids=[cell.design for cell in BROKEN])
def test_what_is_said_of_a_broken_design_is_among_what_breaks_first(cell: Breaks) -> None:
    assert cell.property_name in first_broken(cell).properties
