"""Charts when Python runs in a browser: drawn by the installed plotly, without a request to any host.

plotly's own notebook renderers need nbformat, which has no wheel for a browser, and load MathJax from a foreign host.
So a chart contains plotly.min.js itself.
"""

from __future__ import annotations

import sys
from typing import Any

import plotly.io as pio
from IPython.display import display
from plotly.io.base_renderers import ExternalRenderer

NAME = "kipviz-page"


class PageRenderer(ExternalRenderer):
    """Shows a chart as self-contained HTML."""

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
    """Use this renderer in a browser; elsewhere plotly's choice stays."""
    if platform == "emscripten":
        pio.renderers[NAME] = PageRenderer()
        pio.renderers.default = NAME
