"""Permalinks and files on the command line."""

import json
import os
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.permalink import permalink
from kipviz.core.links.link import SumOfMarks
from kipviz.core.links.linkcode import read, write

STORY = "kip-1289-lock-expiry"


@pytest.fixture(scope="module")
def link():
    """A permalink to step 40 of a story."""
    run = runs.play(STORY)
    return permalink(run.at(run.trace.jump(run.trace.line[40])))


def test_a_permalink_is_played_as_its_story(kipviz, link):
    assert kipviz("play", link).out == kipviz("play", STORY).out
    told = kipviz("play", link, "--json").document
    assert told["permalink"] == link
    assert kipviz("play", STORY, "--json").document["permalink"] != link


def test_a_permalink_of_another_model_says_so(kipviz, link):
    other = write(read(link).but(witness=SumOfMarks(5)))
    assert (
        "changed: the model has changed since this permalink was made" in kipviz("play", other).out
    )


def test_what_is_no_permalink_is_refused(refused, link):
    assert "cut off or damaged" in refused("play", link[:-9])
    assert "cut off or damaged" in refused("export", "kv2.<script>", "--to", "x.html")
    assert "is about the design finding-D" in refused("play", link, "--design", "repaired")


@pytest.mark.parametrize(
    "suffix", [".html", ".svg", ".md", ".mmd", ".puml", ".json", ".py", ".itf.json", ".shiviz.log"]
)
def test_a_permalink_is_exported_in_every_format(kipviz, link, tmp_path, suffix):
    file = tmp_path / f"run{suffix}"
    done = kipviz("export", link, "--to", file, "--json")
    assert done.status == 0
    assert done.document["bytes"] == file.stat().st_size
    text = file.read_text(encoding="utf-8")
    if suffix == ".svg":
        ET.fromstring(text)
    if suffix == ".html":
        assert 'data-place="#step=40&amp;branch=0"' in text


def test_a_format_is_named_where_the_file_has_another_ending(kipviz, tmp_path):
    one, other = tmp_path / "a.svg", tmp_path / "b.txt"
    kipviz("export", STORY, "--to", one)
    kipviz("export", STORY, "--to", other, "--format", "svg")
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.slow
def test_an_exported_test_passes_under_pytest(kipviz, tmp_path):
    file = tmp_path / "test_story.py"
    kipviz("export", STORY, "--to", file)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)],
        cwd=tmp_path,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr


def test_open_shows_a_page_at_the_step_of_a_permalink(kipviz, link, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    file = tmp_path / "run.html"
    done = kipviz("open", link, "--to", file, "--json")
    assert shown == [file.as_uri()]
    assert (done.document["step"], done.document["branch"]) == (40, 0)
    kipviz("open", STORY, "--to", file, "--no-browser")
    assert len(shown) == 1
    assert json.dumps(done.document)
