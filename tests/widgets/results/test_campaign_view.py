"""The campaign panel, driven by its buttons and read by its state."""

import json
import threading
from dataclasses import dataclass

import pytest
from plotly import graph_objects as go

from kipviz.campaigns.cancellation import Cancelled
from kipviz.campaigns.loop import LoopCampaign
from kipviz.spark.campaign import Campaign
from kipviz.widgets.results.campaign_view import BROKEN, CampaignView, outcome_chart, table_html

STAND_IN = "tests.spark.stand_in_task"
SECONDS = 30


def campaign(*designs, **changes):
    words = {"runs": 20, "way": "loop", "task_module": STAND_IN} | changes
    return Campaign("copy", designs or ("right", "twice", "sticks", "crashes"), **words)


@pytest.fixture(scope="module")
def view():
    view = CampaignView(campaign())
    view.run()
    return view


class Gated:
    """A campaign that waits in its middle for the test."""

    def __init__(self):
        self.reached = threading.Event()
        self.go_on = threading.Event()
        self.cancelled = False

    def run(self, on_progress):
        on_progress(3, 8)
        self.reached.set()
        assert self.go_on.wait(SECONDS)
        if self.cancelled:
            raise RuntimeError("the campaign was cancelled")
        return campaign("right").run()

    def cancel(self):
        self.cancelled = True
        self.go_on.set()

    def __repr__(self):
        return "Campaign of 8 runs"


def test_before_it_has_run_the_text_says_so():
    view = CampaignView(campaign("right"))
    assert repr(view) == (
        "Campaign of 20 runs: scenario copy x design right x fault profile calm x seeds 0..19: "
        "Not run yet."
    )
    assert view.cancel_button.disabled
    assert view.table.value == ""


def test_afterwards_the_text_is_the_whole_verdict_table(view):
    text = view._repr_mimebundle_()["text/plain"]
    assert text == repr(view.result)
    assert "twice    20" in text
    assert len(text) > 110  # where ipywidgets would cut it


def test_two_runs_leave_the_same_text_and_the_same_chart(view):
    again = CampaignView(campaign())
    again.run()
    assert repr(again) == repr(view)
    assert again.chart().to_json() == view.chart().to_json()


def test_the_text_and_the_table_have_the_rows_that_were_asked_for():
    view = CampaignView(campaign("twice", faults=("calm", "rough")), by="faults")
    view.run()
    assert [line.split()[0] for line in repr(view).splitlines()[2:]] == ["calm", "rough"]
    assert view.table.value.count('<th scope="row"') == 2


def test_without_threads_the_campaign_runs_in_place(monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("kipviz.widgets.results.campaign_view.THREADS", False)
    monkeypatch.setattr("threading.Thread.start", refuse)
    view = CampaignView(campaign("right"))
    assert view.run() is view.wait() is view.result
    assert view.status.value == "No property breaks in 20 runs."


def test_the_run_button_runs_it_and_the_bar_ends_full():
    view = CampaignView(campaign("right", "twice"))
    view.run_button.click()
    view.wait()
    state = view.bar.get_state()
    assert (state["value"], state["max"], state["bar_style"]) == (40, 40, "success")
    assert view.status.value.endswith("of 40 runs break a property.")
    assert not view.run_button.disabled
    assert view.cancel_button.disabled


def test_while_it_runs_the_bar_shows_how_far_it_is_and_run_is_greyed():
    gated = Gated()
    view = CampaignView(gated)
    view.start()
    assert gated.reached.wait(SECONDS)
    assert (view.bar.value, view.bar.max, view.status.value) == (3, 8, "3 of 8 runs.")
    assert view.run_button.disabled
    assert not view.cancel_button.disabled
    assert repr(view) == "Campaign of 8 runs: 3 of 8 runs."
    view.start()  # pressed again: nothing happens
    gated.go_on.set()
    view.wait()
    assert view.status.value == "No property breaks in 20 runs."


def test_the_cancel_button_cancels_and_the_campaign_can_be_run_again():
    gated = Gated()
    view = CampaignView(gated)
    view.start()
    assert gated.reached.wait(SECONDS)
    view.cancel_button.click()
    with pytest.raises(RuntimeError, match=r"^the campaign was cancelled$"):
        view.wait()
    assert view.status.value == "The campaign was cancelled."
    assert view.bar.bar_style == "warning"
    gated.cancelled = False
    assert view.run().table.num_rows == 20


def test_an_error_is_shown_and_raised_again_and_never_swallowed():
    class Fails(Gated):
        def run(self, on_progress):
            raise OSError("no Spark here <b>today</b>")

    view = CampaignView(Fails())
    with pytest.raises(OSError, match="no Spark here"):
        view.run()
    assert view.status.value == "No Spark here <b>today</b>."
    assert type(view.status).__name__ == "Label"  # draws text, not markup
    assert view.bar.bar_style == "danger"


def test_waiting_or_drawing_too_early_is_refused_in_one_sentence():
    view = CampaignView(campaign("right"))
    with pytest.raises(RuntimeError, match=r"was not started: call start\(\) or press Run"):
        view.wait()
    with pytest.raises(RuntimeError, match="nothing to draw: the campaign has not ended"):
        view.chart()


def test_an_interrupted_wait_cancels_the_campaign(monkeypatch):
    gated = Gated()
    view = CampaignView(gated)
    view.start()
    assert gated.reached.wait(SECONDS)

    def interrupt():
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(view._thread, "join", interrupt)
        with pytest.raises(KeyboardInterrupt):
            view.wait()
    assert gated.cancelled
    with pytest.raises(RuntimeError, match="cancelled"):
        view.wait()


def test_the_table_has_a_row_per_design_and_a_column_per_property(view):
    html = view.table.value
    assert html.count("<tr>") == 5
    for word in ("no_duplicate", "no_stuck_record", "errors", "✓ 20", "✗ 4 (seed 3)"):
        assert word in html


def test_words_of_a_campaign_are_text_and_never_markup():
    rows = [Row("<img src=x onerror=alert(1)>", 1, 0, (Cell("<i>p</i>", 1, 5),), None)]
    assert "<img" not in table_html(rows)
    assert "&lt;img" in table_html(rows)
    assert "<i>" not in outcome_chart(rows).data[1].hovertemplate


def test_the_chart_is_a_plain_figure_with_our_small_template(view):
    figure = view.chart()
    assert type(figure) is go.Figure
    stored = json.loads(figure.to_json())["layout"]["template"]
    assert set(stored) == {"layout"}
    assert len(json.dumps(stored)) < 600
    assert len(figure.to_json()) < 5000


def test_the_bars_count_every_run_once(view):
    figure = view.chart()
    totals = [sum(bar.y[k] for bar in figure.data) for k in range(4)]
    assert totals == [20, 20, 20, 20]
    assert [bar.name for bar in figure.data] == [
        "holds",
        "“no_duplicate” breaks",
        "“no_stuck_record” breaks",
        "error",
    ]


def test_each_outcome_has_a_colour_and_a_pattern_of_its_own(view):
    looks = [(bar.marker.color, bar.marker.pattern.shape) for bar in view.chart().data]
    for part in (0, 1):
        assert len({look[part] for look in looks}) == len(looks)
    assert len({pattern for _, pattern in BROKEN}) == len(BROKEN)


@dataclass
class Cell:
    name: str
    count: int
    seed: int


@dataclass
class Row:
    name: str
    runs: int
    holds: int
    broken: tuple
    errors: Cell | None
    program: int = 0


def test_a_loop_that_is_cancelled_shows_the_runs_that_it_made():
    view = CampaignView(LoopCampaign("copy", ("right", "twice"), runs=20, task_module=STAND_IN))
    tell = view._on_progress

    def cancel_at(done, runs):
        tell(done, runs)
        if done == 25:
            view.cancel()

    view._on_progress = cancel_at
    with pytest.raises(Cancelled):
        view.run()
    assert view.result is not None
    assert [row.runs for row in view.result.summary("design")] == [20, 5]
    assert view.status.value.startswith("The campaign was cancelled. So far: ")
    assert "twice" in view.table.value
    assert view.bar.bar_style == "warning"
