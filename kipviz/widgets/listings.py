"""What there is to choose from, in a notebook: tables to search, and stories that open in the stepper."""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.views.reports import listing
from kipviz.views.reports.blocks import Blocks
from kipviz.views.reports.listing import Entry, Listing
from kipviz.widgets.lab import open_run
from kipviz.widgets.result_page import ResultPage
from kipviz.widgets.stepper import Stepper


class ListingPage(ResultPage):
    """A catalogue as a table; going over it gives the names.

    Attributes:
        listing: the catalogue.
    """

    def __init__(self, shown: Listing) -> None:
        """Keep the catalogue."""
        self.listing = shown

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What is known of each name."""
        return self.listing.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.listing)

    def __len__(self) -> int:
        return len(self.listing)

    def __repr__(self) -> str:
        """The catalogue as text."""
        return repr(self.listing)

    def blocks(self) -> Blocks:
        """Return the table; the key of a run is the name of its story."""
        return (self.listing.table,)

    def open_run(self, run: str) -> Stepper:
        """Open a story under its own design."""
        return open_run(run)


def scenarios() -> ListingPage:
    """List the stories that can be played; in a notebook a click on a name opens it.

    Example:
        >>> import kipviz
        >>> "kip-1289-small" in kipviz.list_scenarios()
        True
    """
    return ListingPage(listing.scenarios())


def designs() -> ListingPage:
    """List the named designs; `name+slot=option` makes another one of each.

    Example:
        >>> import kipviz
        >>> list(kipviz.list_designs())[:3]
        ['kafka', 'before-447', 'kip-447-first-draft']
    """
    return ListingPage(listing.designs())


def slots(*names: str) -> ListingPage:
    """List the questions on which designs disagree, and the options of each; all of them, if none is named.

    As text, a line below each question says what a rule of your own takes there and what it returns.

    Args:
        names: slots, such as "marker_epoch".

    Example:
        >>> import kipviz
        >>> print(repr(kipviz.list_slots("marker_epoch")).splitlines()[1].strip())
        a rule of your own takes (staged_epoch: int, marker_epoch: int) and returns bool

    Raises:
        UnknownDesign: if there is no such slot.
    """
    return ListingPage(listing.slots(*names))


def faults() -> ListingPage:
    """List the fault profiles of seeded runs.

    Example:
        >>> import kipviz
        >>> list(kipviz.list_faults())
        ['calm', 'rough', 'hostile']
    """
    return ListingPage(listing.faults())


def profiles() -> ListingPage:
    """List the abstraction profiles, and as a table what the model leaves out of Kafka, row by row.

    Example:
        >>> import kipviz
        >>> list(kipviz.list_profiles())
        ['kafka-defaults', 'small']
    """
    return ListingPage(listing.profiles())
