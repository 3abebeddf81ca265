"""What is drawn on a notebook page: the stepper and the comparison of two runs."""

from kipviz.widgets.compare import Compare
from kipviz.widgets.stepper import Stepper

__all__ = ["Compare", "Stepper"]
