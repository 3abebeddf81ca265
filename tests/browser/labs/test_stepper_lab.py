"""The stepper in JupyterLab: the kernel answers, and no key reaches the notebook around it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[3]
SHOW = f"""\
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.widgets import flow
from kipviz.widgets import Compare, Stepper
stepper = Stepper(flow.share_payload(), flow.Responder(flow.share_flow()))
stepper"""
CELLS = "() => [...window.jupyterapp.shell.currentWidget.content.model.cells].map(cell => cell.type + ' ' + cell.sharedModel.getSource())"
MODE = "() => window.jupyterapp.shell.currentWidget.content.mode"
ACTIVE = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"


@pytest.fixture
def stepper(open_notebook):
    def open_one(*more: str, **page):
        notebook = open_notebook(SHOW, *more, **page)
        notebook.run_all()
        assert notebook.errors() == []
        notebook.page.locator(".kv-say").first.wait_for()
        return notebook

    return open_one


def value(notebook, code: str) -> str:
    """What the kernel thinks of an expression."""
    answer = notebook.page.evaluate(
        """async (code) => {
          const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
          const future = kernel.requestExecute({ code: '', user_expressions: { it: code }, silent: false, store_history: false });
          const reply = await future.done;
          return reply.content.user_expressions.it.data['text/plain'];
        }""",
        code,
    )
    return str(answer)


def test_no_key_of_the_stepper_reaches_the_notebook(stepper):
    notebook = stepper("# the next cell", "# the last cell")
    page = notebook.page
    page.locator(".kv h2").click()
    before = page.evaluate(CELLS), page.evaluate(ACTIVE)
    for key in (
        "a",
        "b",
        "d",
        "d",
        "x",
        "m",
        "y",
        "z",
        "0",
        "0",
        "Enter",
        "ArrowDown",
        "ArrowUp",
        "j",
        "k",
        "c",
        "v",
    ):
        page.locator(".kv").focus()
        page.keyboard.press(key)
    for key in (
        "ArrowRight",
        "Shift+ArrowRight",
        "ArrowLeft",
        "Home",
        "f",
        "w",
        "?",
        "Escape",
        "Escape",
        "Escape",
    ):
        page.keyboard.press(key)
    assert (page.evaluate(CELLS), page.evaluate(ACTIVE)) == before
    assert page.locator(".kv-error").is_hidden()


def test_tab_leaves_the_stepper_and_escape_gives_the_keys_back(stepper):
    page = stepper("# next").page
    page.locator(".kv").focus()
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement.closest('.kv')") is None
    page.locator(".kv").focus()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("() => !document.activeElement.closest('.kv')"):
            break
    assert page.evaluate("() => !document.activeElement.closest('.kv')")


def test_a_choice_is_answered_by_the_kernel_and_both_know_where_we_are(stepper):
    notebook = stepper()
    page = notebook.page
    page.locator(".kv-slider").fill("40")
    page.locator(".kv").focus()
    page.keyboard.press("f")
    page.get_by_role("button", name="Crash Broker 5").click()
    page.get_by_text("Broker 5 is gone, and with it").wait_for()
    place = "(stepper.branch, stepper.step, len(stepper.branches))"
    found = [value(notebook, place)]
    while found[-1] != "(1, 41, 1)" and len(found) < 300:  # the page tells its place a little later
        page.wait_for_timeout(50)
        found.append(value(notebook, place))
    assert found[-1] == "(1, 41, 1)"
    page.keyboard.press("[")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("f")
    page.keyboard.press("f")
    page.get_by_role("button", name="Move the leader of output-A-0").click()
    page.get_by_role("alert").get_by_text("Broker 4 is not in sync").wait_for()


def test_python_moves_the_page_and_takes_choices(stepper):
    notebook = stepper()
    value(notebook, "setattr(stepper, 'step', 62)")
    notebook.page.locator(".kv-where-small", has_text="message 62 of 104").wait_for()
    value(notebook, "stepper.take('crash-src') and None")
    notebook.page.get_by_text("Broker 5 is gone, and with it").wait_for()
    assert notebook.page.locator(".kv-branch").input_value() == "1"


def test_after_a_restart_of_the_kernel_the_stepper_still_steps(stepper):
    notebook = stepper()
    page = notebook.page
    page.evaluate(
        "async () => { await window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart(); }"
    )
    notebook.wait_idle()
    page.locator(".kv").focus()
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".kv-context")).to_contain_text("The decision is durable")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".kv-where-big")).to_contain_text("8")


@pytest.mark.thorough
def test_two_designs_step_together_in_the_dark_theme(open_notebook):
    code = SHOW.rsplit("\n", 2)[0] + "\nCompare(flow.share_payload(), flow.repaired_payload())"
    notebook = open_notebook(code, scheme="dark")
    notebook.run_all()
    assert notebook.errors() == []
    page = notebook.page
    page.locator(".kv-side").nth(1).wait_for()
    assert page.locator(".kv").get_attribute("data-theme") == "dark"
    page.get_by_role("button", name="first difference").click()
    expect(page.locator(".kv-differs:visible")).to_have_count(2)


def test_the_stored_output_is_the_text_twin(stepper):
    notebook = stepper()
    stored = notebook.page.evaluate(
        "() => [...window.jupyterapp.shell.currentWidget.content.model.cells][0].sharedModel.toJSON().outputs.at(-1).data['text/plain']"
    )
    words = "".join(stored)
    assert words.startswith("step 0 of 14, message 0 of 104 | Two records wait in src-0")
    assert "0x" not in words
