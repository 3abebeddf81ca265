"""What the tests of records need before they are read."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python on Python 3.11
    import kafka.record  # noqa: F401 - what is imported once warns no more
