"""A clause of a KIP, and how far the model covers it."""

from __future__ import annotations

from kipviz.core.values import Value

MODELLED, SIMPLIFIED, OPEN = "modelled", "simplified", "open"
HOW = (MODELLED, SIMPLIFIED, OPEN)


class Row(Value, frozen=True):
    """One clause: its place, its content in our words, and how far the model covers it.

    `handler` is a dotted name below `kipviz`, `scenario` a story's name, `test` a file and a name in pytest's form
    (below `tests/`), `page` a notebook. `note` says what is left out or missing.
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
    """A KIP: its number, title, and its status: "shipped" since a release, or "draft"."""

    number: int
    title: str
    status: str
    rows: tuple[Row, ...]

    @property
    def name(self) -> str:
        """The KIP's name, such as "KIP-98"."""
        return f"KIP-{self.number}"
