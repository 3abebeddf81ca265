"""Markdown, Mermaid and PlantUML: text stays text, and every step, message and state is there once."""

from __future__ import annotations

import re

import pytest

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.seeded_run import Task
from kipviz.views.exports.markdown import markdown
from kipviz.views.exports.markdown import plain as in_markdown
from kipviz.views.exports.mermaid import mermaid
from kipviz.views.exports.mermaid import plain as in_mermaid
from kipviz.views.exports.plantuml import plain as in_plantuml
from kipviz.views.exports.plantuml import plantuml
from kipviz.views.payload import payload


def payload_of(run):
    return payload(run.scenario, run.design, run.model, run.trace, run.told)[0]


KNOWN_LINE = (
    r"sequenceDiagram|  %% [^{}]+|  participant L\d+ as ([^;#]|#\d+;)+"
    r"|  Note over L\d+(,L\d+)?: ([^;#]|#\d+;)+|  L\d+(->>|-->>|-x|--x)L\d+: ([^;#]|#\d+;)+"
)

SHOWN = r"(?![-.:=_/])([^<>&\"\\%~#@!'|{}\[\]*^$;=._/-]|([-._/=])(?![-._/=])|<U\+[0-9A-F]{4,6}>)+"
KNOWN_PLANTUML = (
    rf"@startuml|@enduml|title {SHOWN}|participant \"{SHOWN}\" as L\d+"
    rf"|note over L\d+(, L\d+)?: {SHOWN}|L\d+ --?>x? L\d+: {SHOWN}"
)


@pytest.fixture(scope="module")
def story():
    return runs.play("kip-1289-lock-expiry", "finding-D")


@pytest.fixture(scope="module")
def hostile():
    """A run in which messages are lost, brokers crash and come back."""
    for seed in range(20):
        run = runs.replay(Task("kip-1289-two-members", "repaired", "hostile", seed))
        shown = payload_of(run)
        lost = [m for m in shown["messages"] if m["lost"] is not None]
        if lost and any(down["to"] is not None for down in shown["downs"]):
            return shown
    raise AssertionError("no seed below 20 loses a message and brings a broker back")


def test_a_table_has_one_row_for_each_step_and_one_for_each_big_one(story):
    shown = payload_of(story)
    table = markdown(shown, runs.judge(story))
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + len(shown["steps"]) + len(shown["bigs"])
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}
    assert "✗ atomic: broken since step 33." in table


def test_what_markdown_would_read_is_shown_as_it_is():
    assert in_markdown("a|b\n*c* <d> [e](f) __g__ `h`") == (
        r"a\|b \*c\* \<d\> \[e\](f) \_\_g\_\_ \`h\`"
    )


def test_a_diagram_has_an_arrow_for_each_message_and_a_box_for_each_state(story):
    shown = payload_of(story)
    lines = mermaid(shown).splitlines()
    arrows = [line for line in lines if re.match(r"  L\d+-+>>L\d+: ", line)]
    assert len(arrows) == len(shown["messages"])
    notes = [line for line in lines if re.match(r"  Note over L\d+: ", line)]
    assert len(notes) == len(shown["notes"])
    assert sum("✗ atomic" in line for line in lines) == 1


def test_lost_messages_and_crashes_are_in_the_diagram(hostile):
    text = mermaid(hostile)
    lost = [m for m in hostile["messages"] if m["lost"] is not None]
    assert len(re.findall(r"L\d+-+xL\d+: ", text)) == len(lost)
    assert text.count(": is down") == len(hostile["downs"])
    back = [down for down in hostile["downs"] if down["to"] is not None]
    assert text.count(": is up again") == len(back)


def test_every_line_of_a_diagram_is_one_that_mermaid_knows(story, hostile):
    for shown in (payload_of(story), hostile):
        for line in mermaid(shown).splitlines():
            assert re.fullmatch(KNOWN_LINE, line), line


def test_what_mermaid_would_read_is_shown_as_it_is():
    assert in_mermaid("a;b #c\n<d> %%{e}") == "a#59;b #35;c #60;d#62; #37;#37;#123;e#125;"


def test_a_plantuml_diagram_has_each_lane_message_note_and_crash_once(story, hostile):
    for shown in (payload_of(story), hostile):
        lines = plantuml(shown).splitlines()
        assert (lines[0], lines[-1]) == ("@startuml", "@enduml")
        assert sum(line.startswith("participant ") for line in lines) == len(shown["lanes"])
        arrows = [line for line in lines if re.match(r"L\d+ --?>x? L\d+: ", line)]
        assert len(arrows) == len(shown["messages"])
        lost = [m for m in shown["messages"] if m["lost"] is not None]
        assert sum(" -->x " in line or " ->x " in line for line in arrows) == len(lost)
        dashed = [m for m in shown["messages"] if m["kind"] == "response"]
        assert sum(" --" in line for line in arrows) == len(dashed)
        notes = [line for line in lines if re.match(r"note over L\d+: ", line)]
        back = [down for down in shown["downs"] if down["to"] is not None]
        assert len(notes) == len(shown["notes"]) + len(shown["downs"]) + len(back)
    assert sum("✗ atomic" in line for line in plantuml(payload_of(story)).splitlines()) == 1


def test_every_line_of_a_diagram_is_one_that_plantuml_knows(story, hostile):
    for shown in (payload_of(story), hostile):
        for line in plantuml(shown).splitlines():
            assert re.fullmatch(KNOWN_PLANTUML, line), line


def test_what_plantuml_would_read_is_shown_as_it_is():
    hostile = '- a\n@enduml !include <b>**x**</b> --y-- __u__ //i// == "z" \\n %date() ...'
    written = in_plantuml(hostile)
    assert re.fullmatch(SHOWN, written)
    assert not re.search(r"--|\*\*|__|//|\.\.|==", written)
    again = re.sub(r"<U\+([0-9A-F]+)>", lambda found: chr(int(found[1], 16)), written)
    assert again == " ".join(hostile.split())
    ordinary = "broker-1 appends PREPARE_COMMIT: epoch=3, then responds."
    assert in_plantuml(ordinary) == ordinary
