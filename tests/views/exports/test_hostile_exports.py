"""What would run is only text in the files that a run is written to."""

from __future__ import annotations

import ast
import re

import pytest

import kipviz
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.link_head import read_head, write_head
from kipviz.checking.single_run.permalink import open_link, permalink
from kipviz.cluster.actions import Deliver, Step
from kipviz.core.links.link import BadLink, Leg
from kipviz.core.links.linkcode import read, write
from kipviz.views.exports.mermaid import mermaid
from kipviz.views.exports.plantuml import plantuml
from kipviz.views.exports.pytest_source import pytest_source, render_action, render_comment
from kipviz.views.payload import payload
from tests.core.links.first_format import first_written
from tests.views.exports.test_exports import KNOWN_LINE, KNOWN_PLANTUML
from tests.views.hostile import HOSTILE, poison

CODE = "x\nimport kipviz; kipviz.caught = 1 #\r\x0bkipviz.caught = 1\u2028kipviz.caught = 1\x00"


def test_a_generated_test_runs_nothing_but_the_run():
    run = runs.play("kip-1289-small")
    for text in (HOSTILE, CODE, '"""\n' + CODE, "'" + CODE):
        bad = runs.Run(run.scenario.but(title=text), run.design, run.model, run.trace, run.chapters)
        judged = [j.but(property=text, reason=text) for j in runs.judge(run)]
        source = pytest_source(bad, judged)
        tree = ast.parse(source)
        calls = [n for n in tree.body if isinstance(n, ast.Expr)]
        assert calls == []
        scope = {}
        exec(compile(source, "test_run.py", "exec"), scope)
        assert list(scope["VERDICTS"]) == [text]
        assert not hasattr(kipviz, "caught")


def test_a_generated_test_imports_what_it_uses_and_nothing_else():
    run = runs.play("kip-1289-small")
    tree = ast.parse(pytest_source(run, runs.judge(run)))
    imports = [n for n in tree.body if isinstance(n, ast.ImportFrom)]
    names = {alias.asname or alias.name for n in imports for alias in n.names}
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    assert names <= used, names - used


def test_an_action_is_written_so_that_python_reads_only_that_action():
    for text in (HOSTILE, CODE, "')+__import__('os')#"):
        for action in (Step(text), Deliver(text, 1, text)):
            assert render_action(action).isascii()
            again = eval(render_action(action), {"Step": Step, "Deliver": Deliver})
            assert again == action
        assert len(render_comment(text).splitlines()) <= 1


def test_every_line_of_a_diagram_is_still_one_that_mermaid_or_plantuml_knows():
    run = runs.play("kip-1289-lock-expiry")
    shown, _ = payload(run.scenario, run.design, run.model, run.trace, run.told)
    for line in mermaid(poison(shown)).splitlines():
        assert re.fullmatch(KNOWN_LINE, line), line
    for line in plantuml(poison(shown)).splitlines():
        assert re.fullmatch(KNOWN_PLANTUML, line), line


def test_a_link_with_markup_in_its_head_or_actions_is_refused_or_said_in_words():
    run = runs.play("kip-1289-small")
    link = read(permalink(run))
    text = HOSTILE.replace("\ud800", "")
    scripted = write_head(read_head(link.head).but(scenario="<script>"))
    links = [write(link.but(head=head)) for head in (text, scripted)]
    links += [
        first_written(head, bytes(8), bytes(8), 0, [Leg(0, ())])
        for head in (text, '["<img onerror=1>"]', '["<script>","kafka","own","4.4.0","0.1.0"]')
    ]
    for bad in links:
        with pytest.raises(BadLink) as refused:
            open_link(bad)
        assert len(str(refused.value).splitlines()) == 1
    (part,) = link.parts
    taken = (part.taken[0].but(pick=text), *part.taken[1:])
    (change,) = open_link(write(link.but(parts=(part.but(taken=taken),)))).changes
    assert "there is no such action" in change
