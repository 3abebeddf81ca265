"""A clause of a KIP and what has become of it here."""

from __future__ import annotations

from kipviz.core.values import Value

MODELLED, SIMPLIFIED, OPEN = "modelled", "simplified", "open"
HOW = (MODELLED, SIMPLIFIED, OPEN)


class Row(Value, frozen=True):
    """One clause: where it stands, what it says in our words, and how far the model has it.

    `handler` is a dotted name below `kipviz`, `scenario` a story's name, `test` a file and a name
    as pytest takes them (below `tests/`), `page` a notebook. `note` says what is left out or missing.
    """

    clause: str
    says: str
    how: str
    handler: str = ""
    scenario: str = ""
    test: str = ""
    page: str = ""
    note: str = ""


class Kip(Value, frozen=True):
    """A KIP: its number, title, and how far it is decided: "shipped" since which release, or "draft"."""

    number: int
    title: str
    status: str
    rows: tuple[Row, ...]

    @property
    def name(self) -> str:
        """Give its name, such as "KIP-98"."""
        return f"KIP-{self.number}"
