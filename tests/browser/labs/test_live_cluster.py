"""A stepper that follows a client, in JupyterLab: its messages are delivered by a click, while a cell waits for them."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

SERVE = """\
import warnings; warnings.simplefilter("ignore")
from kafka import KafkaProducer
import kipviz
server = kipviz.serve(time="model", rules=["hold EndTxn", "hold EndTxnResponse"])
stepper = kipviz.open(server)
stepper"""
CLIENT = """\
producer = KafkaProducer(bootstrap_servers=server.bootstrap_servers.split(",")[0], client_id="app-1",
                         transactional_id="t", retry_backoff_ms=50, request_timeout_ms=240_000,
                         delivery_timeout_ms=280_000, max_block_ms=280_000)
producer.init_transactions()
producer.begin_transaction()
producer.send("orders", b"once").get(240)"""
COMMIT = """\
producer.commit_transaction()
print("it is", "committed")"""
CLOSE = "producer.close(); server.stop()"
START = "() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }"


@pytest.mark.parametrize("size", [(1280, 800)], ids=["a laptop"])
def test_a_click_delivers_the_message_for_whose_answer_a_cell_waits(open_notebook, size):
    width, height = size
    notebook = open_notebook(SERVE, CLIENT, COMMIT, CLOSE, width=width, height=height)
    page = notebook.page
    page.evaluate(START)
    live = page.locator(".kv-live").first
    expect(live).to_have_text("● live: 1 client, 1 message waits for you")
    expect(page.locator(".jp-InputPrompt", has_text="[*]").first).to_be_attached()
    page.locator(".kv-next-list button", has_text="EndTxn arrives").first.click()
    response = page.locator(".kv-next-list button", has_text="EndTxnResponse").first
    expect(response).to_be_visible()
    assert "committed" not in page.locator(".jp-OutputArea-output").last.inner_text()
    # An earlier step is looked at, and the newest one is a click away.
    page.locator(".kv").first.focus()
    page.keyboard.press("ArrowLeft")
    expect(live).to_contain_text("newer →")
    live.click()
    expect(live).to_be_disabled()
    response.click()
    expect(page.locator(".jp-OutputArea-output", has_text="it is committed").first).to_be_attached()
    notebook.wait_idle()
    expect(live).to_have_text("○ not live: the cluster has stopped")
    assert notebook.errors() == []


def test_every_display_of_a_live_run_follows_it(open_notebook):
    notebook = open_notebook(SERVE, "stepper", CLIENT)
    page = notebook.page
    notebook.run_all()
    page.locator(".kv-live").nth(1).wait_for()
    for number in (0, 1):
        expect(page.locator(".kv-live").nth(number)).to_have_text("● live: 1 client")
        expect(page.locator(".kv-say").nth(number)).to_contain_text("the response to Produce")
    assert notebook.errors() == []
