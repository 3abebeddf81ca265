"""A chart where Python runs in a browser: it needs no other package and no other host."""

import subprocess
import sys

import plotly.io as pio
import pytest
from plotly import graph_objects as go

from kipviz.widgets.results.page_charts import NAME, draw_in_page

WHOEVER_DRAWS = """
import sys
import IPython, ipywidgets, plotly.graph_objects, plotly.io
sys.platform = "emscripten"
import kipviz.widgets.results.landscape
print(plotly.io.renderers.default)
"""


@pytest.fixture
def chosen():
    """plotly's own choice, which each test leaves as it was."""
    before = pio.renderers.default
    yield before
    pio.renderers.default = before


def test_a_chart_in_a_browser_brings_plotly_and_asks_no_host(chosen, monkeypatch):
    monkeypatch.setattr("plotly.io._renderers.nbformat", None)
    draw_in_page("emscripten")
    shown = []
    monkeypatch.setattr(
        "kipviz.widgets.results.page_charts.display", lambda data, raw: shown.append((data, raw))
    )
    go.Figure(go.Bar(x=["holds"], y=[3]))._ipython_display_()
    ((data, raw),) = shown
    assert raw
    assert list(data) == ["text/html"]
    html = data["text/html"]
    assert "Plotly.newPlot(" in html
    assert "cdnjs.cloudflare.com" not in html
    assert "<script src=" not in html
    assert len(html) > 1_000_000  # plotly.min.js itself


def test_anywhere_else_the_choice_of_plotly_stays(chosen):
    draw_in_page("linux")
    assert pio.renderers.default == chosen != NAME


def test_the_map_of_the_time_outs_is_drawn_so_in_a_browser():
    words = [sys.executable, "-c", WHOEVER_DRAWS]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == NAME, done.stderr
