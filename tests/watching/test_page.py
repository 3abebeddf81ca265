"""The page of a watch: text whatever a cluster says, for this machine only, and nothing but the page."""

import http.client

import pytest

from kipviz.views.reasons.open_transactions import Blocked
from kipviz.watching.admin_queries import Owned, ShareBacklog, ShareGroupNow
from kipviz.watching.cluster_query import Look
from kipviz.watching.page import WatchPage, page_of
from tests.patience import PATIENCE

EVIL = "<script>alert(1)</script>\x1b[2J"
ROW = Blocked(
    partition="orders-0",
    last_stable_offset=3,
    high_watermark=9,
    first_offset=3,
    blocks=True,
    hanging="hanging",
    producer_id=4711,
    producer_epoch=0,
    since="2026-11-26 10:00:00.000",
    transactional_id="",
    state="",
    why="nobody knows it",
    frees=("abort it",),
)
LOOK = Look(
    at_ms=1_800_000_000_000,
    cluster_id=EVIL,
    brokers=3,
    partitions=12,
    owned=(Owned(EVIL, "ONGOING", 7, 1, 60_000, 1_799_999_000_000, ("orders-0",), 2),),
    rows=(ROW,),
    pending=(),
    shares=(ShareGroupNow("workers", "Stable", 2, (ShareBacklog("orders-0", 1, 5),)),),
    not_seen=("broker 3: no answer within 10 s",),
)


@pytest.fixture
def page():
    with WatchPage(0, 5.0) as served:
        yield served


def ask_page(page, method="GET", path="/", host=None):
    port = int(page.address.rstrip("/").rpartition(":")[2])
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    client.request(method, path, headers={"Host": host or f"127.0.0.1:{port}"})
    answer = client.getresponse()
    text = answer.read().decode()
    client.close()
    return answer.status, text


def test_what_a_cluster_says_is_text_on_the_page():
    text = page_of(LOOK, "", 5)
    assert "<script" not in text
    assert "\x1b" not in text
    assert "&lt;script&gt;" in text


def test_the_rows_and_the_sentences_of_a_look_are_on_the_page():
    text = page_of(LOOK, "", 5)
    for words in (
        "Open transactions: 1",
        "(overdue)",
        "producer id 4711",
        "orders-0: open transaction",
    ):
        assert words in text
    assert "Offsets that wait for a transaction (UNSTABLE_OFFSET_COMMIT): none" in text
    assert "not shown: broker 3: no answer within 10 s" in text


def test_share_groups_are_counted_by_group_and_one_without_a_backlog_has_a_row():
    two = (ShareBacklog("orders-0", 1, 5), ShareBacklog("orders-1", 0, 2))
    groups = (ShareGroupNow("workers", "Stable", 2, two), ShareGroupNow("new", "Empty", 0, ()))
    text = page_of(LOOK.but(shares=groups), "", 5)
    assert "Share groups: 2" in text
    assert "<td>new</td><td>Empty</td><td>0</td><td>none yet</td>" in text


def test_what_could_not_be_asked_stands_beside_the_verdict():
    verdict, _, tables = page_of(LOOK, "", 5).partition("Open transactions")
    assert "Not everything could be asked: broker 3: no answer within 10 s" in verdict
    assert "Not everything could be asked" not in page_of(LOOK.but(not_seen=()), "", 5)
    assert tables


def test_a_cluster_that_does_not_answer_is_said_above_the_last_look(page):
    assert "No look has been answered yet" in ask_page(page)[1]
    page.show(LOOK)
    page.trouble("no broker answers")
    status, text = ask_page(page)
    assert status == 200
    assert "no broker answers; what is below may be out of date" in text
    assert "Open transactions: 1" in text
    page.show(LOOK)
    assert "out of date" not in ask_page(page)[1]


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"path": "/etc/passwd"}, 404),
        ({"host": "evil.example:80"}, 421),
        ({"method": "POST"}, 501),
        ({"method": "DELETE"}, 501),
    ],
)
def test_nothing_else_is_answered(page, more, status):
    assert ask_page(page, **more)[0] == status


def test_it_listens_on_loopback_and_no_more_after_the_end():
    with WatchPage(0, 5.0) as served:
        assert served._server.server_address[0] == "127.0.0.1"
    with pytest.raises(ConnectionRefusedError):
        ask_page(served)
