"""The page as a file: what is in it, and what no text in it can do."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import re
from html.parser import HTMLParser

import pytest

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.seeded_run import Task
from kipviz.views.payload import payload as tell
from kipviz.widgets.pages import page as pages
from kipviz.widgets.pages.page import page
from tests.widgets import flow

NASTY = "</script><script>alert(1)</script><!-- <b>&amp; {{module}} \u2028 \ud800 \x00 ü"


class Scripts(HTMLParser):
    """Reads a page as a browser does: its scripts, and every address that is asked for."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.title = ""
        self._in = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._in = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag):
        self._in = ""

    def handle_data(self, data):
        if self._in == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self._in == "title":
            self.title += data


def read_embedded(text: str):
    (attributes, data) = Scripts(text).scripts[0]
    if attributes["type"] == "application/json":
        return json.loads(data)
    return json.loads(gzip.decompress(base64.b64decode(data)))


@pytest.fixture
def payload():
    return flow.share_payload()


def nasty(payload):
    payload = copy.deepcopy(payload)
    payload["title"] = NASTY
    payload["steps"][1]["sentence"] = NASTY
    payload["bigs"][0]["say"] = NASTY
    payload["bigs"][0]["title"] = NASTY
    return payload


def test_the_payload_comes_out_of_the_page_as_it_went_in(payload):
    assert read_embedded(page(payload)) == json.loads(json.dumps(payload))


def test_no_text_of_a_payload_becomes_markup_or_code(payload):
    shown = nasty(payload)
    read = Scripts(page(shown))
    assert [attributes["type"] for attributes, _ in read.scripts] == ["application/json", "module"]
    assert [tag for tag, _ in read.tags] == [tag for tag, _ in Scripts(page(payload)).tags]
    assert "alert(1)" not in read.scripts[1][1]
    found = read_embedded(page(shown).encode("utf-8").decode("utf-8"))
    assert found["steps"][1]["sentence"] == NASTY
    assert "</script>" in read.title


def test_a_page_asks_for_nothing(payload):
    text = page(payload)
    for tag, attributes in Scripts(text).tags:
        assert not {"src", "href", "action", "data"} & set(attributes), tag
        assert tag not in {"link", "img", "iframe", "base"}
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy[1].startswith("default-src 'none';")
    assert "http" not in policy[1]


def test_a_page_allows_its_own_style_sheets_and_no_other_one(payload):
    text = page(payload)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    styles = policy.partition("style-src ")[2].partition(";")[0].split()
    assert len(styles) == 2
    assert all(re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", one) for one in styles)
    assert "unsafe" not in policy
    assert not re.search(r"<(?!style)[^>]* style=", text.partition("<script")[0])


def test_a_page_is_the_same_every_time(payload):
    assert page(payload) == page(copy.deepcopy(payload))


def test_a_long_run_is_packed_and_comes_out_as_it_went_in():
    long = flow.long_payload(1_000)
    text = page(long)
    assert len(json.dumps(long)) > pages.PLAIN_MAX
    assert Scripts(text).scripts[0][0]["type"] == "application/gzip"
    assert read_embedded(text) == json.loads(json.dumps(long))


def test_a_long_run_with_half_a_sign_in_it_is_packed_too():
    long = nasty(flow.long_payload(1_000))
    assert read_embedded(page(long))["title"] == NASTY


def test_a_thousand_steps_of_the_model_are_less_than_a_megabyte():
    run = runs.replay(Task("kip-1289-two-members", "repaired", "hostile", 1))
    told, _ = tell(run.scenario, run.design, run.model, run.trace, ())
    steps = len(told["steps"])
    assert steps > 150
    text = page(told)
    front = pages.MODULE.stat().st_size
    assert front + (len(text.encode()) - front) * 1_000 / steps < 1_000_000


def test_two_designs_side_by_side_make_a_page_too(payload):
    from kipviz.widgets import Compare

    both = Compare(payload, flow.repaired_payload()).payload
    assert read_embedded(page(both)) == json.loads(json.dumps(both))


def test_what_is_no_payload_is_refused_in_one_sentence(payload):
    with pytest.raises(ValueError, match=r"this is not a payload of format 1: .*steps"):
        page({**payload, "steps": 3})


def test_a_front_end_that_cannot_stand_in_a_page_is_refused(payload, tmp_path, monkeypatch):
    for code in ("no export here", 'x="</script>";export{x as default};\n'):
        (tmp_path / "stepper.js").write_text(code)
        monkeypatch.setattr(pages, "MODULE", tmp_path / "stepper.js")
        with pytest.raises(RuntimeError, match="run `make front` again"):
            page(payload)
