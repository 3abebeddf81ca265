"""The catalogues in a notebook: searchable tables, and stories that open in the stepper."""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.views.reports import listing
from kipviz.views.reports.blocks import Blocks
from kipviz.views.reports.listing import Entry, Listing
from kipviz.widgets.lab import open_run
from kipviz.widgets.results.result_page import ResultPage
from kipviz.widgets.stepping.stepper import Stepper


class ListingPage(ResultPage):
    """A catalogue as a table; iterating over it yields the names.

    Attributes:
        listing: the catalogue.
    """

    def __init__(self, shown: Listing) -> None:
        """Keep the catalogue."""
        self.listing = shown

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entry of each name."""
        return self.listing.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.listing)

    def __len__(self) -> int:
        return len(self.listing)

    def __repr__(self) -> str:
        """Return the catalogue as text."""
        return repr(self.listing)

    def blocks(self) -> Blocks:
        """Return the table; the key of a run is the name of its story."""
        return (self.listing.table,)

    def open_run(self, run: str) -> Stepper:
        """Open a story under its own design."""
        return open_run(run)


def scenarios() -> ListingPage:
    """List the stories that can be played; in a notebook a click on a name opens the story.

    Example:
        >>> import kipviz
        >>> "kip-1289-small" in kipviz.list_scenarios()
        True
    """
    return ListingPage(listing.scenarios())


def designs() -> ListingPage:
    """List the named designs; `name+slot=option` derives another one.

    Example:
        >>> import kipviz
        >>> list(kipviz.list_designs())[:3]
        ['kafka', 'before-447', 'kip-447-first-draft']
    """
    return ListingPage(listing.designs())


def slots(*names: str) -> ListingPage:
    """List the questions on which designs disagree, and the options of each; by default all of them.

    As text, a line below each question describes the arguments and the result of a rule of your own.

    Args:
        names: slots, such as "marker_epoch".

    Example:
        >>> import kipviz
        >>> print(repr(kipviz.list_slots("marker_epoch")).splitlines()[1].strip())
        a rule of your own takes (staged_epoch: int, marker_epoch: int) and returns bool

    Raises:
        UnknownDesign: if a slot is unknown.
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
    """List the abstraction profiles, with a table of what the model leaves out of Kafka.

    Example:
        >>> import kipviz
        >>> list(kipviz.list_profiles())
        ['kafka-defaults', 'small']
    """
    return ListingPage(listing.profiles())
