"""Names that slots and options had before: in a command, a link or a saved run each means what it is called now."""

from __future__ import annotations

FORMER_SLOTS = {
    "unanswered_vote": "unanswered_acknowledgement",
    "vote_form": "acknowledgement_form",
}
"""The names that slots have now, by the names that they had."""

FORMER_OPTIONS = {
    "before_the_first_vote": "before_the_first_acknowledgement",
    "fences_the_vote": "fences_the_acknowledgement",
    "for_every_vote": "for_every_acknowledgement",
    "joined_with_the_vote": "joined_with_the_acknowledgement",
    "keeps_the_vote": "keeps_the_acknowledgement",
}
"""The same for options. Each is of one slot."""


def current_slot(name: str) -> str:
    """Return the present name of a slot; any other name stays as it is."""
    return FORMER_SLOTS.get(name, name)


def current_option(name: str) -> str:
    """Return the present name of an option; any other name stays as it is."""
    return FORMER_OPTIONS.get(name, name)
