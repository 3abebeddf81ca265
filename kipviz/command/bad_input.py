"""Bad input: one sentence on stderr, exit status 2."""

from __future__ import annotations


class Refused(Exception):
    """What was asked for cannot be done; the message says why and what can."""
