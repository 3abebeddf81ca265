"""Bad input: one sentence on stderr, exit status 2."""

from __future__ import annotations


class RefusedInput(Exception):
    """Input that cannot be carried out; the message names the reason and what is allowed."""
