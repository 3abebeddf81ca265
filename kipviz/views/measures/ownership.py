"""The owners of objects, threads and connections: the picture of KIP-1310 3.1, drawn from runs.

The KIP's drawings "before" and "after" are counted here: every box is a client that a run has used, every line a
connection over which messages were sent, with their kinds and numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from kipviz.checking.timed.ledger import APPLICATION_THREAD, Ledger, Owner
from kipviz.core.values import Value
from kipviz.views.exports.svg import EDGE, INK, SANS, plain, wrap_words

PANEL, BOX, BROKER, ROW, HEAD = 720, 240, 92, 16, 58
TITLE = 14
SHADES = {"TransactionSession": "#fdeecb", "KafkaProducer": "#e8f1f8"}
OTHER = "#f4f6f8"


class Box(Value, frozen=True):
    """An object of a process as it is drawn: its lines of text, and its position."""

    owner: Owner
    lines: tuple[str, ...]
    y: int
    height: int


class Panel(Value, frozen=True):
    """One run: its title, its processes with their boxes, and the brokers that they talk to."""

    title: str
    processes: tuple[tuple[str, int, int], ...]
    boxes: tuple[Box, ...]
    brokers: tuple[tuple[int, int], ...]
    height: int


def panel(title: str, counted: Ledger) -> Panel:
    """Lay out the content of a ledger."""
    y, boxes, processes = HEAD, [], []
    for process in counted.processes:
        top = y
        y += 40
        for owner in counted.owners:
            if owner.process != process:
                continue
            lines = _lines(owner)
            height = ROW * (len(lines) + 1)
            boxes.append(Box(owner, lines, y, height))
            y += height + 10
        processes.append((process, top, y - top))
        y += 14
    numbers = sorted({broker for o in counted.owners for broker, _ in o.connections})
    room = (y - HEAD) // max(1, len(numbers))
    brokers = tuple((n, HEAD + room * k + room // 2) for k, n in enumerate(numbers))
    return Panel(title, tuple(processes), tuple(boxes), brokers, max(y, HEAD + 60 * len(numbers)))


def _lines(owner: Owner) -> tuple[str, ...]:
    lines = [owner.kind, owner.thread]
    if owner.most_waiting >= 0:
        records = "record" if owner.most_waiting == 1 else "records"
        lines.append(f"accumulator, at most {owner.most_waiting} {records}")
    if owner.bound_to:
        lines.append(f"bound to the {owner.bound_to}")
    elif owner.kind == "KafkaProducer":
        lines.append("TransactionManager inside")
    return tuple(lines)


def picture(panels: Sequence[Panel]) -> str:
    """Return panels beside each other as an SVG."""
    width, height = PANEL * len(panels), max(p.height for p in panels) + 10
    name, said = " | ".join(p.title for p in panels), " ".join(map(words, panels))
    body = "".join(_render_picture(p, PANEL * k) for k, p in enumerate(panels))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{plain(said)}" '
        f'style="max-width:100%;height:auto" font-family="{SANS}" font-size="12" '
        f'fill="{INK}"><title>{plain(name)}</title><desc>{plain(said)}</desc>'
        f'<rect width="{width}" height="{height}" fill="#fff"/>{body}</svg>\n'
    )


def side_by_side(panels: Sequence[Panel]) -> str:
    """Return panels as HTML: beside each other if there is room, otherwise below each other."""
    each = "".join(picture([one]) for one in panels)
    return f'<div style="display:flex;flex-wrap:wrap;gap:8px">{each}</div>'


def words(drawn: Panel) -> str:
    """Describe a panel as a text alternative: every object, its thread and connections."""
    said = []
    for process, _, _ in drawn.processes:
        own = [box for box in drawn.boxes if box.owner.process == process]
        said.append(f"Process {process}: {'; '.join(map(_in_words, own))}.")
    return f"{drawn.title}. {' '.join(said)}"


def _in_words(box: Box) -> str:
    owner = box.owner
    sent = (
        f"to Broker {broker} with {', '.join(f'{name} {count}' for name, count in requests)}"
        for broker, requests in owner.connections
    )
    return f"{', '.join(box.lines)}, {' and '.join(sent) or 'no connection'}"


def _render_picture(drawn: Panel, left: int) -> str:
    lines = wrap_words(drawn.title, PANEL - 32, TITLE, 700)
    parts = [_text(left + 16, 26 + 18 * k, line, TITLE, 700) for k, line in enumerate(lines)]
    for process, y, height in drawn.processes:
        parts.append(_rect(left + 12, y, BOX + 28, height, "none", 8))
        parts.append(_text(left + 24, y + 16, process, 12, 650))
        parts.append(_text(left + 24, y + 31, APPLICATION_THREAD, 12, 400))
    at = dict(drawn.brokers)
    said: list[str] = []
    x, to = left + 24 + BOX, left + PANEL - BROKER - 16
    for box in drawn.boxes:
        for k, (broker, sent) in enumerate(box.owner.connections):
            y = box.y + (k + 1) * box.height // (len(box.owner.connections) + 1)
            parts.append(
                f'<path d="M{x} {y}L{to} {at[broker]}" stroke="{INK}" stroke-width="1.5"/>'
            )
            words = ", ".join(f"{name} {count}" for name, count in sent)
            near = y + (at[broker] - y) * 10 // (to - x) - 4
            said.append(_text(x + 10, near, words, 12, 500, halo=True))
    parts += said
    for box in drawn.boxes:
        shade = SHADES.get(box.owner.kind, OTHER)
        parts.append(_rect(left + 24, box.y, BOX, box.height, shade, 6))
        for k, line in enumerate(box.lines):
            weight = 400 if k else 650
            parts.append(_text(left + 34, box.y + ROW * (k + 1), line, 12, weight))
    for broker, y in drawn.brokers:
        parts.append(_rect(to, y - 16, BROKER, 32, OTHER, 6))
        parts.append(_text(to + 14, y + 4, f"Broker {broker}", 12, 600))
    return "".join(parts)


def _rect(x: int, y: int, width: int, height: int, fill: str, round_: int) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{round_}" '
        f'fill="{fill}" stroke="{EDGE}"/>'
    )


def _text(x: int, y: int, text: str, size: int, weight: int, *, halo: bool = False) -> str:
    edge = ' stroke="#fff" stroke-width="4" paint-order="stroke"' if halo else ""
    return f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}"{edge}>{plain(text)}</text>'


def table(columns: Sequence[tuple[str, Ledger]]) -> tuple[tuple[str, ...], ...]:
    """Return ledgers side by side as rows: a head, then one for each kind of cost and request."""
    names, counted = [name for name, _ in columns], [each for _, each in columns]
    kinds = sorted({kind for each in counted for kind, _ in each.objects})
    rows: list[tuple[str, ...]] = [("", *names)]
    rows += [(kind, *(str(dict(c.objects).get(kind, 0)) for c in counted)) for kind in kinds]
    rows += [
        ("threads", *(str(c.threads) for c in counted)),
        ("connections to brokers", *(str(c.connections) for c in counted)),
        ("accumulators", *(str(c.accumulators) for c in counted)),
    ]
    sent = sorted({(request, kind) for each in counted for kind, request, _ in each.requests})
    rows += [
        (
            f"{request} of {kind}",
            *(str({(r, k): n for k, r, n in c.requests}.get((request, kind), 0)) for c in counted),
        )
        for request, kind in sent
    ]
    between = sorted({name for each in counted for name, _ in each.between_brokers})
    rows += [
        (f"{name} between brokers", *(str(dict(c.between_brokers).get(name, 0)) for c in counted))
        for name in between
    ]
    return tuple(rows)
