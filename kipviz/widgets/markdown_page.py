"""What a search found as a page of words and tables: in a notebook, and in a shell."""

from __future__ import annotations

from abc import ABC, abstractmethod

from kipviz.views.markdown import breakable


class MarkdownPage(ABC):
    """Something that a notebook shows as a page of Markdown, and a shell as the same text."""

    @abstractmethod
    def page(self) -> str:
        """Give the page in Markdown."""

    def _repr_markdown_(self) -> str:
        return breakable(self.page())

    def __repr__(self) -> str:
        """The page as text."""
        return self.page()
