"""The catalogues to choose from, as plain entries and as text."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

from kipviz.checking.judging.budgets import KINDS, budget_words
from kipviz.checking.judging.faults import FAULTS
from kipviz.cluster.specs.abstraction import KAFKA, PROFILES, SMALL
from kipviz.cluster.specs.simplifications import ALWAYS, CHOSEN
from kipviz.core.values import Value
from kipviz.designs.catalogue import CATALOGUE
from kipviz.designs.design import slot_named
from kipviz.designs.options.options import SLOTS
from kipviz.designs.own_rule import kind_words, question_of
from kipviz.designs.slot import Slot
from kipviz.scenarios.library import LIBRARY
from kipviz.views.reports.blocks import TableCell, TextTable, rows_of

Entry = Mapping[str, object]


class Listing(Value, frozen=True):
    """One catalogue: its entries, each with a name, and its lines of text.

    Its repr is the text; iterating over it yields the names.
    """

    what: str
    entries: tuple[Entry, ...]
    lines: tuple[str, ...]
    table: TextTable

    def __iter__(self) -> Iterator[str]:
        return (str(entry["name"]) for entry in self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return "\n".join(self.lines)


def scenarios() -> Listing:
    """Return the stories that can be played."""
    entries = tuple(
        {
            "name": s.name,
            "title": s.listed_title,
            "sentence": s.sentence,
            "clause": s.clause,
            "designs": list(s.designs),
            "beats": len(s.beats),
        }
        for s in LIBRARY
    )
    rows = [(s.name, s.listed_title, f"for {', '.join(s.designs)}") for s in LIBRARY]
    cells = tuple(
        (
            TableCell(s.name, run=s.name),
            TableCell(s.listed_title),
            TableCell(s.sentence),
            TableCell(", ".join(s.designs)),
        )
        for s in LIBRARY
    )
    heads = ("story", "title", "what happens", "designs")
    return Listing("scenarios", entries, _render_rows(rows), TextTable("stories", heads, cells))


def designs() -> Listing:
    """Return the named designs; `name+slot=option` derives another one."""
    entries = tuple(
        {
            "name": d.name,
            "title": d.title,
            "status": d.status,
            "sentence": d.sentence,
            "source": d.source,
            "options": d.choices,
        }
        for d in CATALOGUE
    )
    rows = [(d.name, f"{d.title} ({d.status})", d.sentence) for d in CATALOGUE]
    cells = rows_of((d.name, d.title, d.status, d.sentence, d.source) for d in CATALOGUE)
    heads = ("design", "title", "status", "what it does", "source")
    return Listing("designs", entries, _render_rows(rows), TextTable("designs", heads, cells))


def slots(*names: str) -> Listing:
    """Return the questions on which designs disagree, with the options of each; by default all of them.

    The line below a question describes the arguments of a rule of your own, and the type of its result.

    Raises:
        UnknownDesign: if a slot is unknown.
    """
    chosen = tuple(map(slot_named, names)) or SLOTS
    entries = tuple(
        {
            "name": slot.name,
            "question": slot.question,
            "finding": slot.finding,
            "rule": _rule(slot),
            "options": [
                {"name": o.name, "sentence": o.sentence, "status": o.status, "source": o.source}
                for o in slot.options
            ],
        }
        for slot in chosen
    )
    lines = []
    for slot in chosen:
        lines.append(f"{slot.name}: {slot.question}")
        lines.append(f"    a rule of your own {_rule(slot)}")
        lines += [f"    {o.name} ({o.status}): {o.sentence}" for o in slot.options]
    cells = rows_of(
        (slot.name, slot.question, o.name, o.status, o.sentence, o.source)
        for slot in chosen
        for o in slot.options
    )
    heads = ("slot", "question", "option", "status", "what it says", "source")
    return Listing("slots", entries, tuple(lines), TextTable("slots", heads, cells))


def _rule(slot: Slot) -> str:
    """Return the arguments and the result of a reader's own rule in a slot, in words."""
    takes, gives = question_of(slot)
    names = inspect.signature(slot.options[0].choose).parameters
    given = ", ".join(f"{n}: {kind_words(kind)}" for n, kind in zip(names, takes, strict=True))
    return f"takes ({given}) and returns {kind_words(gives)}"


def faults() -> Listing:
    """Return the fault profiles of seeded runs; their last line names the kinds of faults."""
    entries = tuple(
        {
            "name": f.name,
            "sentence": f.sentence,
            "budget": {kind: getattr(f.budget, kind) for kind in KINDS},
        }
        for f in FAULTS
    )
    rows = [(f.name, f.sentence, budget_words(f.budget) or "no faults") for f in FAULTS]
    lines = (*_render_rows(rows), f"kinds of faults: {', '.join(KINDS)}")
    heads = ("profile", "what goes wrong", "at most")
    return Listing("faults", entries, lines, TextTable("fault profiles", heads, rows_of(rows)))


def profiles() -> Listing:
    """Return the abstraction profiles, and row by row what the model leaves out of Kafka."""
    rows = [
        {
            "field": f"{row.owner.value}: {row.field}" if row.field else "",
            "setting": row.setting,
            "kafka": row.kafka.format(row.values[0]),
            "instead": row.small,
            "lost": row.lost,
            "source": row.source,
            "where": f"profile {SMALL.name}" if row.chosen else "every cluster",
        }
        for row in (*CHOSEN, *ALWAYS)
    ]
    left = {SMALL.name: rows, KAFKA.name: [row for row in rows if row["where"] == "every cluster"]}
    entries = tuple(
        {"name": p.name, "sentence": p.sentence, "leaves_out": left[p.name]} for p in PROFILES
    )
    lines = [f"{p.name}: {p.sentence}" for p in PROFILES]
    for row in rows:
        lines += [
            f"{row['setting']} ({row['where']}{', ' if row['field'] else ''}{row['field']})",
            f"    Kafka: {row['kafka']}",
            f"    here: {row['instead']}; not seen: {row['lost']} [{row['source']}]",
        ]
    names = ("setting", "where", "field", "kafka", "instead", "lost", "source")
    heads = (
        "Kafka's name",
        "left out in",
        "field",
        "in Kafka",
        "here instead",
        "not seen",
        "source",
    )
    cells = rows_of(tuple(row[name] for name in names) for row in rows)
    return Listing("profiles", entries, tuple(lines), TextTable("simplifications", heads, cells))


def _render_rows(rows: list[tuple[str, str, str]]) -> tuple[str, ...]:
    wide = max(len(name) for name, _, _ in rows)
    lines = []
    for name, title, more in rows:
        lines += [f"{name:<{wide}}  {title}", f"{'':<{wide}}  {more}"]
    return tuple(lines)
