"""Validation of topics that may be created and deleted."""

from __future__ import annotations


def why_no_coming_topics(
    usable: tuple[str, ...],
    deletable: tuple[str, ...],
    later: tuple[str, ...],
    remade: tuple[str, ...],
    filled: tuple[str, ...],
) -> str:
    """Return why topics cannot be created and deleted like this, or "".

    `usable` are users' topics that are placed and have an id, `filled` those with records at the start.
    """
    for topic in (*deletable, *later):
        if topic not in usable:
            return f"{topic} cannot be created or deleted: only users' topics with a placement and an id can"
        if topic in later and topic in (*deletable, *remade):
            return f"{topic} can be created once or deleted once: it cannot be in two of the lists"
    full = [topic for topic in later if topic in filled]
    return f"{full[0]} is not there at first: it can have no records" if full else ""
