"""The result of a query as a page that refreshes itself, on this machine only: no script, no file, only GET.

The rows are those of `report.document`, and the sentences those of `report.lines`, which logs use, too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from kipviz.core.outside.printable import escape_line
from kipviz.recordings.auditing.audit_findings import moment_of, span_of
from kipviz.settings.client_configs import TRANSACTIONAL_ID
from kipviz.watching.admin_queries import ShareGroupNow
from kipviz.watching.cluster_query import Look
from kipviz.watching.report import lines

HOST = "127.0.0.1"
# The accepted host names: a request for another name that leads here belongs to another page.
NAMES = (HOST, "localhost")
STYLE = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 1.5rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin: 1.4rem 0 .4rem; }
table { border-collapse: collapse; width: 100%; font-size: .87rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid #8886; }
th { white-space: nowrap; } td { min-width: 3rem; max-width: 26rem; overflow-wrap: break-word; }
.wide { overflow-x: auto; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: .87rem/1.45 ui-monospace, monospace; }
.state { font-weight: 600; padding: .4rem .7rem; border-left: .4rem solid; display: inline-block; }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def page_of(look: Look | None, trouble: str, every_s: float) -> str:
    """Return the page of a query.

    Args:
        look: the last result, None if there was none yet.
        trouble: why the cluster has not answered since, "" if it has.
        every_s: the number of seconds after which a browser refreshes the page.
    """
    body = list(_body(look)) if look is not None else ["<p>No look has been answered yet.</p>"]
    if trouble:
        body.insert(0, f'<p class="state">✖ {_text(trouble)}; what is below may be out of date</p>')
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>kipviz watch</title>'
        f'<meta http-equiv="refresh" content="{max(1, round(every_s))}">'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
    )
    return f"{head}{''.join(body)}</body></html>"


def _body(look: Look) -> Iterator[str]:
    yield f"<h1>{_text(look.cluster_id or 'the cluster')}, {_text(moment_of(look.at_ms))}</h1>"
    mark, word = ("▲", "something is wrong") if look.is_wrong else ("●", "nothing is wrong")
    yield f'<p class="state">{mark} {word}</p>'
    if look.not_seen:
        yield f"<p>Not everything could be asked: {_text('; '.join(look.not_seen))}</p>"
    for part in (_open, _render_held_back, _pending, _shares):
        yield from part(look)
    yield "<h2>In words, with the ways out</h2><pre>"
    yield "\n".join(_text(line) for line in lines(look))
    yield "</pre>"


def _open(look: Look) -> Iterator[str]:
    return _table(
        "Open transactions",
        (
            TRANSACTIONAL_ID.name,
            "state",
            "open for",
            "producer id, epoch",
            "coordinator",
            "partitions",
        ),
        (
            (
                each.transactional_id,
                each.state + (" (overdue)" if look.is_overdue(each) else ""),
                span_of(max(0, look.at_ms - each.began_ms)) if each.began_ms >= 0 else "not known",
                f"{each.producer_id}, {each.producer_epoch}",
                f"broker {each.coordinator}",
                ", ".join(each.partitions) or "none yet",
            )
            for each in look.owned
        ),
    )


def _render_held_back(look: Look) -> Iterator[str]:
    return _table(
        "Last stable offsets held back",
        ("partition", "last stable offset", "high watermark", "by", "since", "hanging"),
        (
            (
                row.partition,
                _number(row.last_stable_offset),
                _number(row.high_watermark),
                row.transactional_id or f"producer id {row.producer_id}",
                row.since or "not known",
                row.hanging or "no",
            )
            for row in look.rows
            if row.blocks
        ),
    )


def _pending(look: Look) -> Iterator[str]:
    return _table(
        "Offsets that wait for a transaction (UNSTABLE_OFFSET_COMMIT)",
        ("group", "partition of __consumer_offsets", "by", "hanging"),
        (
            (
                each.group_id,
                each.log,
                each.transactional_id or f"producer id {each.producer_id}",
                each.hanging or "no",
            )
            for each in look.pending
        ),
    )


def _shares(look: Look) -> Iterator[str]:
    return _table(
        "Share groups",
        ("group", "state", "members", "partition", "start offset", "lag"),
        (
            (group.group_id, group.state or "not known", _number(group.members), *told)
            for group in look.shares
            for told in _backlog(group)
        ),
        len(look.shares),
    )


def _backlog(group: ShareGroupNow) -> Iterator[tuple[str, str, str]]:
    """Yield a share group's partitions with start offset and lag; a group without any has a row, too."""
    for each in group.backlog:
        yield each.partition, _number(each.start_offset), _number(each.lag)
    if not group.backlog:
        yield "none yet", "", ""


def _table(
    title: str, heads: Iterable[str], rows: Iterable[Iterable[str]], count: int | None = None
) -> Iterator[str]:
    """Yield a table; its title has the count, which is the number of rows by default."""
    found = [f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows]
    yield f"<h2>{_text(title)}: {(len(found) if count is None else count) or 'none'}</h2>"
    if found:
        top = "".join(f'<th scope="col">{_text(head)}</th>' for head in heads)
        # A table that is too wide for the page can be scrolled, with a keyboard, too.
        yield f'<div class="wide" tabindex="0" role="region" aria-label="{_text(title)}">'
        yield f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(found)}</tbody></table></div>"


def _number(number: int) -> str:
    return f"{number:,}" if number >= 0 else "not known"


def _text(words: str) -> str:
    """Return text from a cluster with all special characters escaped."""
    return escape(escape_line(words))


class WatchPage:
    """The page at a port of this machine, until the `with` block ends; `show` replaces its contents."""

    def __init__(self, port: int, every_s: float) -> None:
        """Start to listen.

        Raises:
            OSError: if the port is taken.
        """
        self._every_s = every_s
        self._last: Look | None = None
        self._page = page_of(None, "", every_s)
        shows = self

        class Handler(BaseHTTPRequestHandler):
            server_version, sys_version = "kipviz", ""

            def do_GET(self) -> None:
                shows.answer(self)

            def log_message(self, *_: object) -> None:
                """Log nothing to the console, which shows the results."""

        self._server = ThreadingHTTPServer((HOST, port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """The address for a browser."""
        return f"http://{HOST}:{self._server.server_address[1]}/"

    def show(self, look: Look) -> None:
        """Show the result of a query on the page."""
        self._last = look
        self._page = page_of(look, "", self._every_s)

    def trouble(self, why: str) -> None:
        """Show why there is no new result, above the last one."""
        self._page = page_of(self._last, why, self._every_s)

    def answer(self, asked: BaseHTTPRequestHandler) -> None:
        """Answer one request: only the page at /, and only for its own host names."""
        name = asked.headers.get("Host", "").rpartition(":")[0]
        if name not in NAMES:
            asked.send_error(421, "this page is on this machine only")
            return
        if asked.path != "/":
            asked.send_error(404)
            return
        data = self._page.encode()
        asked.send_response(200)
        asked.send_header("Content-Type", "text/html; charset=utf-8")
        asked.send_header("Content-Length", str(len(data)))
        asked.send_header("Content-Security-Policy", POLICY)
        asked.send_header("Cache-Control", "no-store")
        asked.end_headers()
        asked.wfile.write(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
