"""What the tests of the Spark floor share: the stand-in task module and small campaigns of it.

The session itself is the fixture ``spark`` of tests/conftest.py: one for the whole run.
"""

import pytest

from kipviz.campaigns.plan import make_plan

STAND_IN = "tests.spark.stand_in_task"


@pytest.fixture
def plan():
    """Five designs, one of which crashes at some seeds, in calm and rough weather."""
    designs = ("right", "twice", "forgets", "sticks", "crashes")
    return make_plan("copy", designs, ("calm", "rough"), runs=8, task_module=STAND_IN)
