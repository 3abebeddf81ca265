"""The harness itself: what it must do and what it must notice."""

import pytest

pytestmark = pytest.mark.browser

COUNTER = """\
import ipywidgets
button, label = ipywidgets.Button(description="Step"), ipywidgets.Label("step=0")
button.on_click(lambda _: setattr(label, "value", f"step={int(label.value[5:]) + 1}"))
ipywidgets.VBox([button, label])"""


def test_a_click_reaches_python_and_its_answer_reaches_the_page(open_notebook):
    notebook = open_notebook(COUNTER)
    notebook.run_all()
    assert notebook.errors() == []
    for step in (1, 2, 3):
        notebook.page.get_by_role("button", name="Step").click()
        notebook.page.get_by_text(f"step={step}", exact=True).wait_for()


def test_an_error_in_a_cell_is_noticed(open_notebook):
    notebook = open_notebook("1 + 1", "1 / 0")
    notebook.run_all()
    assert notebook.errors() == ["ZeroDivisionError: division by zero"]


@pytest.mark.thorough
def test_a_chart_is_drawn_in_the_dark_theme_without_a_network(open_notebook):
    notebook = open_notebook(
        "import plotly.graph_objects as go\ngo.Figure(go.Bar(x=['a', 'b'], y=[1, 2]))",
        scheme="dark",
    )
    notebook.run_all()
    assert notebook.errors() == []
    notebook.page.locator(".js-plotly-plot .bars path").nth(1).wait_for(state="attached")


def test_a_request_that_would_leave_this_machine_fails_and_is_recorded(lab, tmp_path):
    file = tmp_path / "page.html"
    file.write_text("<img src='https://example.org/x.png' onerror='document.title=\"refused\"'>")
    page = lab.new_page()
    page.goto(file.as_uri())
    page.wait_for_function("() => document.title === 'refused'")
    page.close()
    assert lab.outside[-1] == "https://example.org/x.png"


def test_a_javascript_error_that_no_page_caught_is_recorded(lab, tmp_path):
    file = tmp_path / "page.html"
    file.write_text("<script>document.title = 'ran'; throw new Error('lost')</script>")
    page = lab.new_page()
    page.goto(file.as_uri())
    page.wait_for_function("() => document.title === 'ran'")
    page.close()
    assert lab.mistakes[-1] == "lost"


def test_what_jupyterlab_lets_go_with_a_kernel_that_is_stopped_is_no_mistake_of_a_page(
    lab, tmp_path
):
    file = tmp_path / "page.html"
    words = "Canceled future for create_subshell_request message before replies were done"
    file.write_text(
        f"<script>Promise.reject(new Error('{words}'));"
        "setTimeout(() => { document.title = 'ran'; throw new Error('lost after it'); });</script>"
    )
    page = lab.new_page()
    page.goto(file.as_uri())
    page.wait_for_function("() => document.title === 'ran'")
    page.close()
    assert lab.mistakes[-1] == "lost after it"
    assert not any(words in mistake for mistake in lab.mistakes)


def test_a_page_without_a_server_is_opened_as_a_file(open_file, tmp_path):
    file = tmp_path / "page.html"
    file.write_text("<button onclick='this.textContent=\"stepped\"'>step</button>")
    page = open_file(file, width=800)
    page.get_by_role("button").click()
    page.get_by_text("stepped").wait_for()
    assert page.viewport_size["width"] == 800
