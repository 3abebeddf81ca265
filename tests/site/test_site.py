"""The files of the site: what stands in them, and that WebAssembly makes the same runs."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from html import escape
from itertools import pairwise
from pathlib import Path

import pytest

from kipviz.campaigns.loop import LoopCampaign
from kipviz.core.links.linkcode import PATTERN
from kipviz.scenarios.library import FORMER_NAMES, LIBRARY, scenario
from kipviz.site import desk_types, lite, runtime
from kipviz.site.build import ASSETS, asset_text, card, stored_run, story_page
from kipviz.site.desk import PageState, bake, compare, search
from kipviz.site.packing import pack
from kipviz.site.papers import html_of
from kipviz.site.pictures import picture
from kipviz.widgets.pages.page import MODULE, sheet_of
from tests.site.conftest import COLD_MAX, STORIES

SAME = Path(__file__).with_name("payloads.mjs")
# The stories whose first part was largest on the day of this list, for which the limit is looked at in every run.
LARGEST = ("kip-447-two-bounces", "kip-229-several", "kip-447-first-draft")
# Reads a stored run as the page does. The arguments are the module and a file of pairs of names.
UNPACK = """
const { unpack, whole } = await import(process.argv[1]);
const fs = await import("node:fs");
for (const line of fs.readFileSync(0, "utf8").split("\\n").filter(Boolean)) {
  const [first, rest] = JSON.parse(line);
  console.log(JSON.stringify(whole(unpack(JSON.parse(first)), unpack(JSON.parse(rest)))));
}
"""
# Every 100th story, and the flow of KIP-1289; `make thorough` makes all.
SAMPLE = ("kip-1289-share-commit", *(s.name for s in LIBRARY[::100]))


def in_node(words, lines) -> list[str]:
    node = shutil.which("node") or shutil.which("node", path=str(Path(sys.executable).parent))
    if node is None:
        pytest.skip("there is no node")
    done = subprocess.run(
        [node, *words], input="\n".join(lines), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_the_types_of_what_the_model_tells_a_page_are_as_new_as_the_model() -> None:
    stored = desk_types.DECLARATIONS.read_text(encoding="utf-8")
    assert stored == desk_types.declarations(), "run `python -m kipviz.site.desk_types`"
    assert "  payload: Payload;\n" in stored
    assert "interface Payload" not in stored


def in_webassembly(site: Path, names) -> dict[str, str]:
    return dict(line.split(" ", 1) for line in in_node([str(SAME), str(site / "runtime")], names))


def natively(names) -> dict[str, str]:
    return {name: hashlib.sha256(bake(name).encode()).hexdigest() for name in names}


@pytest.mark.slow
def test_runs_and_a_campaign_made_in_webassembly_equal_the_native_ones(site):
    made = in_webassembly(site, (*SAMPLE, "campaign kip-1289-small finding-D rough 3"))
    rows = LoopCampaign("kip-1289-small", "finding-D", "rough", 3).run().rows()
    assert json.loads(made.pop("campaign")) == rows
    assert made == natively(SAMPLE)


@pytest.mark.thorough
def test_every_run_made_in_webassembly_equals_the_native_one_byte_for_byte(site):
    names = [story.name for story in LIBRARY]
    assert in_webassembly(site, names) == natively(names)


def test_every_story_has_a_card_with_a_picture_and_a_page_with_its_run(site):
    gallery = (site / "index.html").read_text()
    for name in STORIES:
        assert f'href="story/{name}.html"' in gallery
        assert f'src="pictures/{name}.svg"' in gallery
        assert (site / "pictures" / f"{name}.svg").read_text().startswith("<svg")
        for file, text in stored_run(name, json.loads(bake(name))).items():
            assert (site / "runs" / file).read_text() == text
        assert f'data-story="{name}"' in (site / "story" / f"{name}.html").read_text()
    assert gallery.count("<li ") == len(STORIES)
    for former, now in FORMER_NAMES.items():
        pages = [site / "story" / f"{name}.html" for name in (former, now)]
        assert [page.exists() for page in pages] == [now in STORIES] * 2


@pytest.mark.parametrize("name", ["kip-1289-lock-expiry", "kip-62-rebalance", "kip-98-stuck-lso"])
def test_the_names_in_a_picture_of_the_gallery_are_whole_and_have_12_px_and_a_place_of_their_own(
    name,
):
    payload = json.loads(bake(name))
    found = re.findall(
        r'<text x="([\d.]+)" y="(\d+)" font-size="(\d+)"[^>]*>([^<]*)<', picture(payload)
    )
    assert [text for *_, text in found] == [lane["id"] for lane in payload["lanes"][: len(found)]]
    assert {int(size) for _, _, size, _ in found} == {12}
    for line in {y for _, y, _, _ in found}:
        texts = [(float(x), 3.6 * len(text)) for x, y, _, text in found if y == line]
        assert all(x - half >= 0 and x + half <= 300 for x, half in texts)
        assert all(x + half <= y - other for (x, half), (y, other) in pairwise(texts))


def test_the_gallery_does_not_tell_how_a_story_with_a_question_ends_and_finds_it_by_what_breaks():
    name = "kip-447-group-id-only"
    asked = card(scenario(name), json.loads(bake(name)))
    assert f">{scenario(name).untold}</a>" in asked
    assert ">breaks: " not in asked
    assert "asks a question" in asked
    assert 'data-breaks="atomic' in asked
    story = next(s for s in LIBRARY if s.question is None)
    plain = card(story, json.loads(bake(story.name)))
    assert f">{escape(story.title)}</a>" in plain
    assert "asks a question" not in plain


def bytes_until_drawn(name: str, baked: str) -> int:
    """Everything that a story's page loads before it steps, each file as a host with gzip sends it."""
    first, _ = stored_run(name, json.loads(baked)).values()
    files = [asset_text(ASSETS / file) for file in ("site.css", "story.js", "unpack.js")]
    texts = [story_page(scenario(name)), first, *files, MODULE.read_text("utf-8")]
    return sum(len(gzip.compress(text.encode(), 6, mtime=0)) for text in texts)


def check_stored_runs(names) -> None:
    """The page is drawn from less than the limit, and has the model's own payload when the rest is there."""
    baked = {name: bake(name) for name in names}
    assert {n: size for n in names if (size := bytes_until_drawn(n, baked[n])) >= COLD_MAX} == {}
    lines = [
        json.dumps(list(stored_run(name, json.loads(text)).values()))
        for name, text in baked.items()
    ]
    words = ["--input-type=module", "-e", UNPACK, (ASSETS / "unpack.js").as_uri()]
    for name, told in zip(names, in_node(words, lines), strict=True):
        assert json.loads(told) == json.loads(baked[name]), name
        assert list(json.loads(told)) == list(json.loads(baked[name]))


def test_a_script_is_served_without_its_types_and_comments_and_is_else_the_same(tmp_path):
    for name in ("story.js", "unpack.js", "gallery.js", "sw.js", "worker.mjs"):
        text = asset_text(ASSETS / name)
        assert "/**" not in text
        assert not re.search(r"(?m)^ *//", text)
        typed = re.sub(r"(?s)/\*\*.*?\*/ ?", "", (ASSETS / name).read_text("utf-8"))
        typed = re.sub(r"(?m)^ *//.*$", "", typed)
        assert text.split() == typed.split()
        script = tmp_path / f"{name}.mjs"
        script.write_text(text, encoding="utf-8")
        in_node(["--check", str(script)], [])


@pytest.mark.slow
def test_the_largest_runs_are_drawn_from_less_than_the_limit_and_become_whole():
    check_stored_runs(LARGEST)


@pytest.mark.thorough
def test_every_run_is_drawn_from_less_than_the_limit_and_becomes_whole():
    check_stored_runs([story.name for story in LIBRARY])


def test_lists_are_written_as_columns_and_a_mark_of_the_format_is_refused():
    assert pack([{"a": 3, "b": "x"}, {"a": 5}]) == {
        "~o": [["a", {"~d": [3, 2]}], ["b", ["x", "~"]]]
    }
    assert pack([[1, "x"], [2, "y"]]) == {"~l": [{"~d": [1, 1]}, ["x", "y"]]}
    assert pack([{"a": 1, "b": 2}, {"b": 2, "a": 1}]) == [{"a": 1, "b": 2}, {"b": 2, "a": 1}]
    with pytest.raises(ValueError, match="no text of a run may be"):
        pack({"a": "~"})
    with pytest.raises(ValueError, match="a field of a run may not be called"):
        pack({"~o": 1})


def test_every_run_of_the_papers_opens_and_every_symptom_is_there(site):
    root = Path(__file__).parents[2] / "docs"
    for name in ("ledger", "findings", "drafts"):
        links = re.findall(rf"`({PATTERN})`", (root / f"{name.upper()}.md").read_text())
        page = (site / f"{name}.html").read_text()
        assert len(links) > 30
        assert re.findall(r'href="open\.html#(kv[^"]+)"', page) == links
    assert (site / "symptoms.html").read_text().count("<li ") == 25


def test_a_row_in_which_nothing_breaks_opens_the_story_that_was_searched_under_its_design():
    text = """| claim | design | searched | the run |
| --- | --- | --- | --- |
| it holds | kip-939+keep\\_prepared=the\\_same | one-small, crash\\_client=2, 7 states | |
| it holds | of nobody | one-small-er | |"""
    page = html_of(text, frozenset({"one-small"}))
    address = "story/one-small.html#design=kip-939%2Bkeep_prepared%3Dthe_same"
    assert f'<td><a href="{address}">one-small</a>, crash_client=2, 7 states</td>' in page
    assert "<td>one-small-er</td>" in page
    assert page.count("<a ") == 1


def test_the_course_and_the_guide_are_pages_whose_links_lead_to_pages(site):
    course, guide = ((site / f"{name}.html").read_text() for name in ("course", "teaching"))
    notebooks = {file.stem for file in lite.notebooks(Path(__file__).parents[2])}
    asked = re.findall(r'href="notebooks\.html\?q=([^"]+)"', course)
    assert set(asked) == notebooks
    assert course.count("<ol>") == 3
    assert '<pre tabindex="0"><code>kipviz course read hand-ins</code></pre>' in guide
    for file in site.glob("*.html"):
        for target in re.findall(r'<a href="([\w/.-]+\.html)', file.read_text()):
            there = (site / target).is_file()
            assert there or target.startswith(("story/", "lite/")), (file.name, target)


def test_no_page_names_another_host(site):
    for file in site.glob("**/*.html"):
        text = file.read_text()
        assert not re.search(r'(src|data)="https?:|<link[^>]*href="https?:', text), file
        assert "default-src 'none'" in text


def test_a_page_allows_scripts_and_style_sheets_of_the_site_and_the_steppers_by_its_hash(site):
    sheet = sheet_of(MODULE.read_text(encoding="utf-8"))
    for file in site.glob("**/*.html"):
        text = file.read_text()
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
        assert f"script-src 'self' 'wasm-unsafe-eval'; style-src 'self' '{sheet}';" in policy
        assert "unsafe-inline" not in policy
        # What such a policy would not let through is not there.
        assert not re.search(r"<style|<[a-z]+[^>]* (style|on\w+)=|<script(?![^>]* src=)", text), (
            file
        )


def test_the_package_for_a_browser_is_the_same_bytes_each_time_and_has_no_spark(tmp_path):
    one, other = tmp_path / "one.zip", tmp_path / "other.zip"
    runtime.package(one)
    runtime.package(other)
    assert one.read_bytes() == other.read_bytes()
    names = zipfile.ZipFile(one).namelist()
    assert "kipviz/site/desk.py" in names
    assert sum(name.endswith(".md") for name in names) >= len(LIBRARY)
    assert not [name for name in names if name.startswith(("kipviz/spark", "kipviz/command"))]


def test_a_package_with_another_hash_is_refused(tmp_path):
    file = tmp_path / "msgspec.whl"
    file.write_bytes(b"not it")
    with pytest.raises(
        runtime.FetchError, match=r"^msgspec has the SHA-256 .* runtime\.json says 00"
    ):
        runtime._check(file, {"package": "msgspec", "sha256": "00"})


def test_a_paper_becomes_a_page_in_which_runs_and_stories_are_links_and_html_is_text():
    text = "# A <b>\n\n| a | b |\n| --- | --- |\n| `kv1.AB-_` `kv2.one.a+b=c.AB-_` | `one` x\\|y \\_z |\n\n[KIPs](KIPS.md) **now**"
    page = html_of(text, frozenset({"one"}))
    assert "<h1>A &lt;b&gt;</h1>" in page
    for link in ("kv1.AB-_", "kv2.one.a+b=c.AB-_"):
        assert f'<a href="open.html#{link}">open the run</a>' in page
    assert '<td><a href="story/one.html">one</a> x|y _z</td>' in page
    assert '<p><a href="kips.html">KIPs</a> <strong>now</strong></p>' in page


# --- what the worker answers --------------------------------------------------------------------------


def test_the_desk_opens_a_story_takes_a_choice_and_opens_its_own_link():
    desk = PageState()
    told = json.loads(desk.open("kip-1289-group-commit"))
    fault = next(
        item
        for part in told["payload"]["choices"]
        for item in part["items"]
        if item["group"] == "fault"
    )
    wish = {"do": "take", "choice": fault["id"], "branch": 0, "step": 1, "id": 7}
    answer = json.loads(desk.ask(json.dumps(wish)))
    assert answer["id"] == 7
    assert answer["branch"]["steps"][0]["title"] == fault["text"]
    assert json.loads(desk.file(8, "pytest", 1, 2))["name"].endswith(".py")
    wrong = json.loads(desk.ask(json.dumps({**wish, "step": 5_000})))
    assert wrong["error"].startswith("There is no step 5000")


def test_the_desk_stops_long_work_and_the_run_is_unchanged():
    desk = PageState()
    desk.open("kip-1289-group-commit")
    wish = {
        "do": "run",
        "seed": 3,
        "steps": 400,
        "faults": "rough",
        "branch": 0,
        "step": 1,
        "id": 9,
    }
    assert "busy" in json.loads(desk.ask(json.dumps(wish)))
    assert json.loads(desk.stop()) == {"id": 9, "error": "Stopped. The run is unchanged."}
    assert json.loads(desk.go_on())["error"] == "Nothing is under way."
    said = json.loads(desk.ask(json.dumps(wish)))
    while "busy" in said:
        said = json.loads(desk.go_on())
    assert said["branch"]["parent"] == 0


def test_the_desk_compares_two_designs_and_a_search_links_to_what_breaks():
    both = json.loads(compare("kip-1289-share-commit", "repaired", "as-written"))
    assert both["names"] == ["repaired", "as-written"]
    assert both["differences"]
    found = json.loads(search("kip-1289-small", "as-written", ""))
    assert "atomic breaks after 41 steps" in found["sentence"]
    (broken,) = (e for e in found["examples"] if e["property"] == "atomic")
    opened = json.loads(PageState().link(broken["link"]))
    assert opened["step"] == broken["steps"]
    assert opened["changes"] == []
