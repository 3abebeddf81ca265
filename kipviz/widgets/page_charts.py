"""Charts where Python runs in a browser: drawn by the plotly that is there, with no request to any host.

plotly's own renderers for a notebook need nbformat, which has no wheel for a browser, and ask a foreign host for
MathJax. So a chart brings plotly.min.js with itself.
"""

from __future__ import annotations

import sys
from typing import Any

import plotly.io as pio
from IPython.display import display
from plotly.io.base_renderers import ExternalRenderer

NAME = "kipviz-page"


class PageRenderer(ExternalRenderer):
    """Shows a chart as HTML that needs nothing else."""

    def render(self, fig_dict: dict[str, Any]) -> None:
        """Show a chart in the output of the cell."""
        html = pio.to_html(
            fig_dict,
            full_html=False,
            include_plotlyjs=True,
            include_mathjax=False,
            default_height="525px",
            validate=False,
        )
        display({"text/html": html}, raw=True)


def draw_in_page(platform: str = sys.platform) -> None:
    """Let charts be drawn so in a browser; anywhere else plotly's choice stays."""
    if platform == "emscripten":
        pio.renderers[NAME] = PageRenderer()
        pio.renderers.default = NAME
