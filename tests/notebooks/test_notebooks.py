"""The notebooks of the project keep the rules. (pytest itself compares their outputs: make test.)

While there is no notebook, pytest says that the parameter set is empty and goes on.
"""

from pathlib import Path

import pytest

from tests.notebooks.rules import offences

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_keeps_the_rules(path):
    assert offences(path) == []
