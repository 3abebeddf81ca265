"""Build the site: the gallery, a page for each story, the papers, and the model for the browser."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import kipviz
from kipviz.designs.catalogue import CATALOGUE
from kipviz.scenarios.library import FORMER_NAMES, LIBRARY
from kipviz.scenarios.pains import PAINS, Pain
from kipviz.scenarios.scenario import Scenario
from kipviz.site import lite, runtime
from kipviz.site.desk import bake
from kipviz.site.packing import pack, split
from kipviz.site.papers import KIP_PAPERS, PAPERS, html_of, inline, under
from kipviz.site.pictures import picture
from kipviz.widgets.pages.page import MODULE, sheet_of

ASSETS = Path(__file__).parent / "assets"
TABS = {
    "index": "Stories",
    "symptoms": "Symptoms",
    "designs": "Designs",
    "notebooks": "Notebooks",
    **{name: title for name, (_, title) in PAPERS.items()},
}
# What a script says to tsc and to its readers: types, the sentences above functions, and comments on lines of their own.
COMMENTS = re.compile(r"(?ms)^ */\*\*(?:(?!\*/).)*\*/\n|/\*\*(?:(?!\*/).)*\*/ ?|^ *//[^\n]*\n")
# No other host is contacted; only the worker compiles WebAssembly. The one style sheet that is no file of the site is
# the stepper's, by its hash.
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' '{sheet}'; "
    "img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'"
)
HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>{more}
<link rel="stylesheet" href="{root}site.css">
<link rel="icon" href="data:,"></head>
<body{data}>
<header><b>kipviz</b><nav aria-label="site">{tabs}</nav></header>
"""
# Reading: words of technical text per minute, and seconds to look at a step of the diagram.
WORDS_A_MINUTE, SECONDS_A_STEP = 180, 2
# The levels, by the number of small steps of the story.
LEVELS = ((35, "short"), (80, "medium"), (10**9, "long"))


def asset_text(asset: Path) -> str:
    """Return a file of `ASSETS` as a browser gets it: a script without its types and comments."""
    text = asset.read_text(encoding="utf-8")
    return COMMENTS.sub("", text) if asset.suffix in (".js", ".mjs") else text


def build(root: Path, into: Path, fetched: Path, stories: Iterable[Scenario] = LIBRARY) -> int:
    """Write the whole site into a folder, which is created again; return the number of stories.

    Args:
        root: the folder of the project, with its papers.
        into: the folder of the site.
        fetched: Pyodide's files and msgspec's wheel, as `runtime.fetch` returns them.
        stories: the stories that get a page; by default all of them.
    """
    shutil.rmtree(into, ignore_errors=True)
    for folder in ("story", "runs", "pictures"):
        (into / folder).mkdir(parents=True)
    for file in sorted(ASSETS.iterdir()):
        _write(into / file.name, asset_text(file))
    shutil.copyfile(MODULE, into / MODULE.name)
    runtime.lay_out(fetched, into / "runtime")
    cards, ends = [], {}
    for story in stories:
        text = bake(story.name)
        payload = json.loads(text)
        for name, part in stored_run(story.name, payload).items():
            _write(into / "runs" / name, part)
        (into / "pictures" / f"{story.name}.svg").write_text(picture(payload), encoding="utf-8")
        former = (name for name, now in FORMER_NAMES.items() if now == story.name)
        for name in (story.name, *former):
            _write(into / "story" / f"{name}.html", story_page(story))
        cards.append(card(story, payload))
        ends[story.name] = [big["to"] for big in payload["bigs"]]
    _write(into / "open.html", story_page(None))
    _write(into / "index.html", _gallery(cards))
    _write(into / "symptoms.html", _symptoms(ends))
    names = frozenset(ends)
    _write(into / "designs.html", _designs())
    _write(into / "notebooks.html", _notebooks(root))
    for name, (paper, title) in (*PAPERS.items(), *KIP_PAPERS.items()):
        text = (root / paper).read_text(encoding="utf-8")
        _write(into / f"{name}.html", _table_page(name, title, html_of(text, names)))
    (into / ".nojekyll").touch()  # GitHub Pages then serves the files unchanged
    _service_worker(into)
    return len(cards)


def stored_run(name: str, payload: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of a story's run by their names: the part that is drawn first, and the rest."""
    parts = zip((f"{name}.json", f"{name}.rest.json"), split(payload), strict=True)
    return {
        file: json.dumps(pack(part), separators=(",", ":"), ensure_ascii=True)
        for file, part in parts
    }


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def _head(title: str, here: str, root: str = "", more: str = "", data: str = "") -> str:
    tabs = " ".join(
        f'<a href="{root}{name}.html"{" aria-current=page" if name == here else ""}>{words}</a>'
        for name, words in TABS.items()
    )
    return HEAD.format(policy=_policy(), title=title, root=root, more=more, data=data, tabs=tabs)


@cache
def _policy() -> str:
    return POLICY.format(sheet=sheet_of(MODULE.read_text(encoding="utf-8")))


# --- a story ---------------------------------------------------------------------------------------


def story_page(story: Scenario | None) -> str:
    """Return the page of a story, or without a story the page on which a permalink opens."""
    name = "" if story is None else story.name
    title = "A run" if story is None else escape(story.listed_title)
    root = "" if story is None else "../"
    more = f'\n<link rel="modulepreload" href="{root}stepper.js"><link rel="modulepreload" href="{root}unpack.js">'
    data = ""
    if story is not None:
        more += f'\n<link rel="preload" href="{root}runs/{name}.json" as="fetch" crossorigin>'
        data = f' data-story="{name}" data-designs="{escape(" ".join(story.designs))}"'
    sentence = "" if story is None else f"<noscript><p>{escape(story.sentence)}</p></noscript>"
    return (
        _head(f"{title} · kipviz", "", root, more, data)
        + f"""<main class="story"><h1 id="title">{title}</h1>{sentence}
<div class="tools"><button id="share">share this step</button>
<label>design <select id="design" disabled></select></label>
<label>compare with <select id="other" disabled></select></label><button id="compare" disabled>compare</button>
<label>search with faults <input id="faults" value="crash_broker=1" spellcheck="false" disabled></label>
<button id="search" disabled>search</button><button id="stop" hidden>stop the search</button></div>
<p id="state" role="status">The run is loading …</p><div id="found" role="status"></div>
<div id="stepper"></div></main>
<script type="module" src="{root}story.js"></script></body></html>
"""
    )


# --- the gallery -----------------------------------------------------------------------------------


def card(story: Scenario, payload: Mapping[str, Any]) -> str:
    """Return a story's entry in the gallery."""
    kip = _kip(story)
    level = next(name for most, name in LEVELS if len(payload["steps"]) <= most)
    said = " ".join(f"{big['title']} {big['say']}" for big in payload["bigs"])
    seconds = len(said.split()) * 60 / WORDS_A_MINUTE + SECONDS_A_STEP * len(payload["steps"])
    minutes = max(1, round(seconds / 60))
    broken = list(
        dict.fromkeys(
            v["property"] for v in payload["verdicts"] if v["state"] == "broken" and v["to"] is None
        )
    )
    # How a story with a question ends would be its answer; the list of what breaks finds it all the same.
    breaks = (
        "asks a question"
        if story.question is not None
        else f'<span class="broken">breaks: {escape(", ".join(broken))}</span>'
        if broken
        else "all holds"
    )
    words = " ".join((story.name, story.title, story.sentence, story.clause, kip, *broken)).lower()
    about = f"{kip} · {level} · {minutes} min · design {payload['design']['name']}"
    return f"""<li data-words="{escape(words)}" data-kip="{kip}" data-level="{level}" data-breaks="{escape("|".join(broken) or "nothing")}">
<img src="pictures/{story.name}.svg" alt="" loading="lazy" width="300" height="132">
<div><a href="story/{story.name}.html">{escape(story.listed_title)}</a><p>{escape(story.sentence)}</p><small>{escape(about)}<br>{breaks}</small></div></li>"""


def _kip(story: Scenario) -> str:
    found = re.match(r"kip-(\d+)", story.name) or re.search(r"KIP-(\d+)", story.clause)
    return f"KIP-{found[1]}" if found else "in practice"


def _pick(name: str, words: str, cards: list[str]) -> str:
    values: set[str] = set()
    for card in cards:
        found = re.search(rf'data-{name}="([^"]*)"', card)
        values |= set(found[1].split("|")) if found else set()
    known = [level for _, level in LEVELS]
    ordered = sorted(
        values,
        key=lambda v: (
            known.index(v) if v in known else 0,
            int("".join(re.findall(r"\d", v)) or 0),
            v,
        ),
    )
    options = "".join(f'<option value="{value}">{value}</option>' for value in ordered)
    return f'<label>{words} <select data-filter="{name}"><option value="">all</option>{options}</select></label>'


def _gallery(cards: list[str]) -> str:
    picks = "".join(
        _pick(*each, cards)
        for each in (("kip", "KIP"), ("level", "length"), ("breaks", "what breaks"))
    )
    return (
        _head("kipviz: step through Kafka's transactions and share groups", "index")
        + f"""<main><h1>Step through Kafka's transactions and share groups</h1>
<p>Each story is a run of an exact model of Kafka's protocol. Open one, step through it, then crash a broker, lose a
message or choose another design: the model runs in your browser. Nothing is sent anywhere. New here? Start with
<a href="story/kip-1289-group-commit.html">a transaction that commits</a>, with <a href="course.html">six lessons</a>, or with <a href="symptoms.html">a symptom</a>.</p>
{_bar(picks)}
<ul class="cards">{"".join(cards)}</ul></main>
<script src="gallery.js"></script></body></html>
"""
    )


def _bar(more: str = "") -> str:
    return (
        '<div class="bar"><input id="find" type="search" placeholder="search: crash, fenced …" '
        f'aria-label="search">{more}<span id="count" class="dim" role="status"></span></div>'
    )


# --- tables ----------------------------------------------------------------------------------------


def _table_page(name: str, title: str, body: str) -> str:
    return (
        _head(f"{title} · kipviz", name)
        + f'<main>{_bar()}{body}</main>\n<script src="gallery.js"></script></body></html>\n'
    )


def _designs() -> str:
    cards = []
    for design in CATALOGUE:
        story = next((s for s in LIBRARY if design.name in s.designs), None)
        words = f"{design.name} {design.title} {design.sentence} {design.status}".lower()
        own = design.name if story and design.name != story.designs[0] else ""
        run = (
            f'<a href="story/{story.name}.html{under(own)}">{escape(story.listed_title)}</a>'
            if story
            else ""
        )
        cells = (f"<code>{escape(design.name)}</code>", escape(design.title), design.status)
        rest = (inline(design.sentence, frozenset()), inline(design.source, frozenset()), run)
        body = "".join(f"<td>{cell}</td>" for cell in (*cells, *rest))
        cards.append(f'<tr data-words="{escape(words)}">{body}</tr>')
    heads = ("design", "title", "status", "what it is", "source", "a story for it")
    head = "".join(f'<th scope="col">{each}</th>' for each in heads)
    return _table_page(
        "designs",
        "Designs",
        "<h1>Designs</h1><p>A design fills every slot on which the texts disagree. Choose any of them on a story's page.</p>"
        f'<div class="table" tabindex="0" role="region" aria-label="designs"><table><thead><tr>{head}</tr></thead><tbody>{"".join(cards)}</tbody></table></div>',
    )


def _notebooks(root: Path) -> str:
    cards = []
    for file, missing in lite.notebooks(root).items():
        first = json.loads(file.read_text(encoding="utf-8"))["cells"][0]
        title, _, rest = "".join(first["source"]).partition("\n")
        sentence = rest.strip().partition("\n\n")[0].replace("\n", " ")
        title = inline(title.lstrip("# "), frozenset())
        link = f'<a href="lite/lab/index.html?path=notebooks/{file.name}">{title}</a>'
        about = f'<span class="broken">{missing}</span>' if missing else "runs in the browser"
        words = escape(f"{file.stem} {title} {sentence}".lower())
        cards.append(
            f'<li data-words="{words}"><div>{f"<b>{title}</b>" if missing else link}'
            f"<p>{inline(sentence, frozenset())}</p><small>{file.stem}<br>{about}</small></div></li>"
        )
    return _table_page(
        "notebooks",
        "Notebooks",
        "<h1>Notebooks</h1><p>A notebook opens in JupyterLite. Its Python runs in your browser and loads 25 MB once. "
        f'Your changes stay in this browser.</p><ul class="cards">{"".join(cards)}</ul>',
    )


def _symptoms(ends: Mapping[str, list[int]]) -> str:
    items = "".join(_symptom(pain, ends.get(pain.story)) for pain in PAINS)
    return _table_page(
        "symptoms",
        "Symptoms",
        f"<h1>What do you see?</h1><p>{len(PAINS)} symptoms from issue trackers and mailing lists, each with its cause, "
        "its way out, and the story that opens at the moment where it shows.</p>"
        f'<ul class="cards">{items}</ul>',
    )


def _symptom(pain: Pain, ends: list[int] | None) -> str:
    at = max(0, ends[pain.beat - 1] - 1) if ends and pain.beat <= len(ends) else 0
    words = f"{pain.symptom} {pain.see} {pain.cause} {pain.way_out} {pain.source}".lower()
    missing = f"<p class=dim>{escape(pain.missing)}</p>" if pain.missing else ""
    link = f"story/{pain.story}.html#step={at}" if ends else "index.html"
    return f"""<li data-words="{escape(words)}"><div><a href="{link}">{pain.number}. {escape(pain.symptom)}</a>
<p>{escape(pain.see)}</p><p><b>Cause.</b> {escape(pain.cause)}</p><p><b>Way out.</b> {escape(pain.way_out)}</p>{missing}
<small>{escape(pain.source)} · <a href="{link}">see it happen</a></small></div></li>"""


# --- offline ---------------------------------------------------------------------------------------


def _service_worker(into: Path) -> None:
    """Write the service worker: the files that the first visit stores, and a version that changes with any of them."""
    first = [f"{name}.html" for name in (*TABS, "open")]
    first += ["./", "site.css", "gallery.js", "story.js", "unpack.js", "stepper.js", "worker.mjs"]
    first += [f"runtime/{file.name}" for file in sorted((into / "runtime").iterdir())]
    digest = hashlib.sha256(kipviz.__version__.encode())
    for file in sorted(into.rglob("*")):
        if file.is_file():
            digest.update(file.relative_to(into).as_posix().encode() + file.read_bytes())
    worker = into / "sw.js"
    text = worker.read_text(encoding="utf-8")
    text = text.replace("{{version}}", digest.hexdigest()[:16]).replace(
        '["{{files}}"]', json.dumps(first)
    )
    _write(worker, text)
