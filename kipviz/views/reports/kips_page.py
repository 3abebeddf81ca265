"""What of each KIP is modelled, as a page and as plain entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kipviz.kips.row import HOW, OPEN, Kip, Row
from kipviz.scenarios.library import LIBRARY
from kipviz.scenarios.pains import PAINS
from kipviz.scenarios.scenario import Scenario
from kipviz.views.exports.markdown import plain, table_row

INDEX = "KIPS.md"
HEAD = """# The KIPs, clause by clause

`kipviz clauses --into docs/kips` writes these pages, and a test compares them. Each row of a page is one clause of the KIP:

- **modelled**: the model does what the clause says, or what Kafka does where it ships.
- **simplified**: the row says what is left out.
- **open**: the row says what is missing.
"""
BACK = f"[All KIPs]({INDEX})\n\n"
HEADS = ("clause", "what it says", "here", "handler", "scenario", "test", "page")


def entries(kips: Iterable[Kip], how: str = "") -> Iterator[Mapping[str, object]]:
    """Yield every row as a plain mapping, optionally only those of one kind."""
    for kip in kips:
        for row in _filter_rows(kip, how):
            yield {"kip": kip.number, "status": kip.status} | {
                name: getattr(row, name) for name in Row.__struct_fields__
            }


def pages(kips: Iterable[Kip]) -> Iterator[tuple[str, str]]:
    """Yield the files of a folder: an index with the counts of each KIP, and a page for each KIP.

    A file is its name and its Markdown. `kipviz clauses --into FOLDER` writes them.
    """
    known = tuple(kips)
    heads = ("KIP", "title", "status", *HOW)
    rows = [
        (f"[{kip.name}]({file_of(kip)})", *map(plain, (kip.title, kip.status)), *_numbers(kip))
        for kip in known
    ]
    table = [table_row(cells) for cells in (heads, ["---"] * len(heads), *rows)]
    yield INDEX, "\n".join((HEAD, *table, ""))
    for kip in known:
        more = further_stories(kip, known)
        text = page((kip,)).replace("## ", "# ", 1) + _render_stories(more)
        yield file_of(kip), BACK + text


def further_stories(kip: Kip, kips: Iterable[Kip]) -> tuple[Scenario, ...]:
    """Return the stories of a KIP, by their names, that no row of any KIP and no pain shows.

    Stories of small clusters are made for searches and are shown nowhere.
    """
    shown = {row.scenario for each in kips for row in each.rows} | {pain.story for pain in PAINS}
    own = (s for s in LIBRARY if s.name.startswith(f"kip-{kip.number}-") and s.beats)
    return tuple(s for s in own if s.name not in shown and "small" not in s.name)


def _render_stories(stories: Iterable[Scenario]) -> str:
    """Return a list of stories by title and clause, "" for none."""
    lines = [f"- {plain(s.listed_title)} (`{s.name}`): {plain(s.clause)}\n" for s in stories]
    return "".join(["\n## Further stories\n\n", *lines]) if lines else ""


def file_of(kip: Kip) -> str:
    """Return the name of a KIP's page: "kip-98.md"."""
    return f"kip-{kip.number}.md"


def page(kips: Iterable[Kip], how: str = "") -> str:
    """Return the rows of some KIPs as Markdown, one table for each KIP."""
    parts = []
    for kip in kips:
        rows = [_cells(row) for row in _filter_rows(kip, how)]
        if rows:
            parts.append(f"## {kip.name}: {kip.title}\n\nStatus: {kip.status}. {_counts(kip)}\n")
            parts += [table_row(cells) for cells in (HEADS, ["---"] * len(HEADS), *rows)]
            parts.append("")
    return "\n".join(parts)


def _filter_rows(kip: Kip, how: str) -> tuple[Row, ...]:
    return tuple(row for row in kip.rows if how in ("", row.how))


def _counts(kip: Kip) -> str:
    counts = zip(_numbers(kip), HOW, strict=True)
    return f"{len(kip.rows)} clauses: {', '.join(f'{n} {how}' for n, how in counts)}."


def _numbers(kip: Kip) -> tuple[str, ...]:
    return tuple(str(sum(row.how == how for row in kip.rows)) for how in HOW)


def _cells(row: Row) -> tuple[str, ...]:
    here = f"{row.how}: {row.note}" if row.note else row.how
    if row.how == OPEN:
        return (*map(plain, (row.clause, row.says, here)), "", "", "", "")
    names = (row.handler, row.scenario, row.test.rpartition("::")[2], row.page)
    return (*map(plain, (row.clause, row.says, here)), *map(_name, names))


def _name(name: str) -> str:
    """Return a name formatted as code."""
    return f"`{name}`" if name else ""
