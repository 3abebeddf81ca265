"""A branch of a payload as a still picture: for viewers without a front end, and for paper.

It always has a light background, and every style is on the drawn element itself, because a style sheet would also apply
to the page around it. Text widths are those of one font, from a table, so that the bytes are the same everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from kipviz.views.exports.letters import BOLD, REGULAR
from kipviz.views.page_parts import DownPart, MessagePart, NotePart, Shown
from kipviz.views.tones import MARKS

_SIZE = re.compile(r'width="(\d+)" height="(\d+)"')
GAP = 16
INK, DIM, EDGE = "#1b2330", "#525c6b", "#b3bac4"
TONES = {
    "calm": (DIM, "#f4f6f8"),
    "pending": ("#8a5f00", "#fdeecb"),
    "done": ("#00704f", "#dff3ec"),
    "warning": ("#b34700", "#fbe6da"),
    "broken": ("#b34700", "#f7d3bf"),
    "gone": ("#6b6b6b", "#efefef"),
}
CURSOR = "#0072b2"
SANS = "Inter, system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"

# Characters that XML cannot contain, not even as a code, and halves of surrogate pairs.
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def svg(
    payload: Shown,
    *,
    cursor: int | None = None,
    around: int | None = None,
    all_lanes: bool = True,
    narrow: bool = False,
    until: int | None = None,
) -> str:
    """Return the main branch of a payload as an SVG.

    Args:
        payload: the payload of a stepper.
        cursor: the step to mark; its sentence is below the picture.
        around: how many steps are drawn, most of them before the cursor; None means all.
        all_lanes: whether all lanes are drawn, or only those of the first screen.
        until: the last step that may be drawn; None means all.
        narrow: half the width, so that two pictures fit beside each other in a notebook.
    """
    first_screen = [lane for lane in payload["lanes"] if lane.get("first")][:4]
    lanes = payload["lanes"] if all_lanes or not first_screen else first_screen
    last = len(payload["steps"]) - 1
    begin, end = 0, last
    if around is not None:
        begin = max(0, min((cursor or 0) - around * 2 // 3, last - around))
        end = min(last, begin + around)
    if until is not None:
        end = max(cursor or 0, min(end, until))
    drawing = _Drawing(payload, lanes, NARROW if narrow else BROAD)
    if begin:
        drawing.words(f"… {begin} earlier steps are not drawn")
    for k in range(begin, end + 1):
        drawing.step(k)
        if k == cursor:
            drawing.cursor(k)
    drawing.on_the_wire(end)
    if end < last:
        drawing.words(f"… {last - end} later steps are not drawn")
    if cursor is not None:
        drawing.sentence(f"{cursor}. {payload['steps'][cursor]['sentence']}")
    return drawing.text()


def beside(pictures: Sequence[str], across: int = 2) -> str:
    """Return pictures of `svg` side by side, `across` in a row, as one SVG."""
    wide, top, parts = 0, 0, []
    for first in range(0, len(pictures), across):
        left, tall = 0, 0
        for one in pictures[first : first + across]:
            width, height = map(int, _SIZE.search(one).groups())  # type: ignore[union-attr]
            parts.append(f'<g transform="translate({left} {top})">{one.strip()}</g>')
            wide, tall = max(wide, left + width), max(tall, height)
            left += width + GAP
        top += tall + GAP
    tall, inside = top - GAP, "".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{tall}" viewBox="0 0 {wide} {tall}" '
        f'role="img"><rect width="{wide}" height="{tall}" fill="#fff"/>{inside}</svg>\n'
    )


def plain(text: object) -> str:
    """Escape a text for XML."""
    return escape(_NOT_IN_XML.sub("\ufffd", str(text)))


class _Grid(NamedTuple):
    """The distances in px: between lanes, to the edge, and the length of an arrow to a lane that is not drawn."""

    lane: int
    side: int
    stub: int
    least: int


# Four lanes of a broad picture, or of two narrow ones, are as wide as a cell's output beside the file browser (833).
BROAD = _Grid(lane=196, side=92, stub=54, least=560)
NARROW = _Grid(lane=100, side=54, stub=30, least=408)


class _Drawing:
    """Draws the steps from top to bottom; `y` is the current height."""

    def __init__(self, payload: Shown, lanes: Sequence[Shown], grid: _Grid) -> None:
        self.payload = payload
        self.grid = grid
        self.width = max(grid.least, 2 * grid.side + grid.lane * (len(lanes) - 1))
        side = grid.side if len(lanes) > 1 else self.width // 2
        gap = (self.width - 2 * side) // max(1, len(lanes) - 1)
        self.x = {lane["id"]: side + gap * n for n, lane in enumerate(lanes)}
        self.names = {lane["id"]: lane["title"] for lane in payload["lanes"]}
        self.gap = gap if len(lanes) > 1 else self.width
        self.tops: dict[int, int] = {}
        self.foot = 0  # where the lanes end, if words follow below them
        self.parts: list[str] = []
        self.rails = self._heads(lanes, self._title())
        self.y = self.rails + 10

    def text(self) -> str:
        """Return the whole picture."""
        payload, height = self.payload, self.y + 12
        rails = "".join(
            f'<path d="M{x} {self.rails}V{self.foot or height - 6}" stroke="{EDGE}" stroke-width="1.5"/>'
            for x in self.x.values()
        )
        rails += "".join(self._down(down) for down in payload.get("downs", []))
        name = f"{payload['title']} · {self._design()}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{height}" '
            f'viewBox="0 0 {self.width} {height}" role="img" font-family="{SANS}" font-size="12" '
            f'fill="{INK}"><title>{plain(name)}</title>'
            f'<rect width="{self.width}" height="{height}" fill="#fff"/>{rails}'
            f"{''.join(self.parts)}</svg>\n"
        )

    def step(self, k: int) -> None:
        """Draw a step: its big step's title, the messages that arrived or were lost, and the states reached."""
        self.tops[k] = self.y
        for number, big in enumerate(self.payload["bigs"], 1):
            if big["from"] == k:
                self._band(f"{number}. {big['title']}", "#e8f1f8", INK)
        silent = True
        for message in self.payload["messages"]:
            if k in (message["arrived"], message["lost"]):
                silent = not self._message(message, lost=message["lost"] == k) and silent
        notes = [n for n in self.payload["notes"] if n["step"] == k and n["lane"] in self.x]
        step = self.payload["steps"][k]
        if silent and not notes and k and (step["actor"] in self.x or step["kind"] == "fault"):
            self._local(step)
        if notes:
            self._notes(notes)
        for verdict in self.payload["verdicts"]:
            if verdict["state"] == "broken" and verdict["from"] == k:
                tone = TONES["broken"]
                self._band(f"⚠ {verdict['property']}: {verdict['reason']}", tone[1], tone[0])

    def cursor(self, k: int) -> None:
        """Draw the line after the step at which the reader stands."""
        y, right = self.y + 8, self.width - 4
        self.parts.append(
            f'<path d="M0 {y}H{self.width}" stroke="{CURSOR}" stroke-width="2"/>'
            f'<rect x="{right - 72}" y="{y - 9}" width="72" height="18" rx="9" fill="{CURSOR}"/>'
        )
        words = f"step {k}" if k else "start"
        self.parts.append(_label(right - 36, y + 4, words, weight=650, fill="#fff", edge=""))
        self.y += 20

    def on_the_wire(self, step: int) -> None:
        """Draw the messages that are in flight after a step, hollow."""
        for message in self.payload["messages"]:
            if _on_wire(message, step):
                self._flying(message)
        self.y += 12

    def sentence(self, text: str) -> None:
        """Write the sentence of the step at which the reader stands."""
        self.foot = self.y
        for line in wrap_words(text, self.width - 28, 14, 600):
            self.y += 20
            self.parts.append(_label(14, self.y, line, size=14, weight=600, anchor="start"))

    def words(self, text: str) -> None:
        """Draw a line of words."""
        self.parts.append(_label(14, self.y + 8, text, fill=DIM, anchor="start"))
        self.y += 20

    # --- pieces ------------------------------------------------------------------------------

    def _design(self) -> str:
        design = self.payload.get("design", {})
        return f"{design.get('name', '')} ({design.get('status', '')})"

    def _title(self) -> int:
        """Write the story's title, on as many lines as it needs, and its design; return the height below them."""
        room, y = self.width - 28, 5
        for line in wrap_words(self.payload["title"], room, 15, 700):
            y += 19
            self.parts.append(_label(14, y, line, size=15, weight=700, anchor="start"))
        y += 18
        design = _fit(f"design {self._design()}", room, 12)
        self.parts.append(_label(14, y, design, fill=DIM, anchor="start"))
        return y

    def _heads(self, lanes: Sequence[Shown], above: int) -> int:
        """Write the names of the lanes below a height; return where their lines begin."""
        below = above + 40
        for lane in lanes:
            x, room = self.x[lane["id"]], min(self.gap - 6, 190)
            name = _fit(lane["title"], room, 13, 680)
            self.parts.append(_label(x, above + 24, name, size=13, weight=680))
            for n, line in enumerate(wrap_words(lane.get("sub", ""), room, 12)):
                below = max(below, above + 40 + 15 * n)
                self.parts.append(_label(x, above + 40 + 15 * n, line, fill=DIM))
        return below + 10

    def _down(self, down: DownPart) -> str:
        """Draw the time during which a lane's host is down as dashes over its line."""
        first, last = min(self.tops), max(self.tops)
        to = last + 1 if down["to"] is None else down["to"]
        if down["lane"] not in self.x or to <= first or down["from"] > last:
            return ""
        x, top = self.x[down["lane"]], self.tops[max(first, down["from"])] + 18
        end = self.tops.get(to, self.y)
        return (
            f'<path d="M{x} {top}V{end}" stroke="#fff" stroke-width="4"/>'
            f'<path d="M{x} {top}V{end}" stroke="#6b6b6b" stroke-width="2" stroke-dasharray="2 6"/>'
        )

    def _band(self, text: str, ground: str, ink: str) -> None:
        lines = wrap_words(text, self.width - 28, 12, 650)
        height = 8 + 16 * len(lines)
        self.y += 8
        box = f'width="{self.width}" height="{height}" fill="{ground}"'
        self.parts.append(f'<rect y="{self.y}" {box}/>')
        for n, line in enumerate(lines):
            y = self.y + 16 * (n + 1)
            self.parts.append(_label(14, y, line, weight=650, fill=ink, anchor="start", edge=""))
        self.y += height + 6

    def _span(self, message: MessagePart) -> tuple[int, int] | None:
        """Return where an arrow begins and ends; a lane that is not drawn leaves a stub."""
        source, target = self.x.get(message["from"]), self.x.get(message["to"])
        if source is None and target is None:
            return None
        here = source if source is not None else target
        assert here is not None  # one of them is drawn
        left = here > self.width // 2 + self.grid.stub
        stub = here - self.grid.stub if left else here + self.grid.stub
        return (source if source is not None else stub, target if target is not None else stub)

    def _message(self, message: MessagePart, *, lost: bool) -> bool:
        """Draw a message; return whether one of its ends is on a lane of the picture."""
        span = self._span(message)
        if span is None:
            return False
        self.y += 24
        one, other = span
        ink = TONES.get("gone" if lost else message["tone"], TONES["calm"])[0]
        if lost:
            other = round(one + (other - one) * 0.6)
        way = 1 if other >= one else -1
        dash = ' stroke-dasharray="6 4"' if lost else ""
        line = f'<path d="M{one} {self.y}H{other}" stroke="{ink}" stroke-width="1.7"{dash}/>'
        if one == other:
            back = f"M{one} {self.y - 10}h{24 * way}v10h{-18 * way}"
            line = f'<path d="{back}" fill="none" stroke="{ink}" stroke-width="1.7"/>'
            way = -way
        if lost:
            d = f"M{other - 5} {self.y - 5}l10 10m-10 0l10 -10"
            tip = f'<path d="{d}" stroke="#b34700" stroke-width="2.4"/>'
        elif message["kind"] == "response":
            d = f"M{other - 8 * way} {self.y - 4.5}l{8 * way} 4.5l{-8 * way} 4.5"
            tip = f'<path d="{d}" fill="none" stroke="{ink}" stroke-width="1.6"/>'
        else:
            d = f"M{other} {self.y}l{-9 * way} -4.8v9.6z"
            tip = f'<path d="{d}" fill="{ink}"/>'
        self.parts += [line, tip, self._name(message, span, " ✗ lost" if lost else "")]
        return True

    def _name(self, message: MessagePart, span: tuple[int, int], more: str) -> str:
        """Write the label of a message above its arrow, or beside a stub with its other end."""
        one, other = min(span), max(span)
        if message["from"] in self.x and message["to"] in self.x:
            words = _fit(message["label"] + more, self.width - 24, 12)
            if one == other:
                left = one - 10 > _wide(words, 12)
                x, anchor = (one - 10, "end") if left else (one + 32, "start")
                return _label(x, self.y - 1, words, anchor=anchor)
            half = _wide(words, 12) / 2 + 6
            middle = min(max((one + other) / 2, half), self.width - half)
            return _label(round(middle), self.y - 6, words)
        to = message["to"] not in self.x
        far = f" → {self.names[message['to']]}" if to else f" ← {self.names[message['from']]}"
        left = (self.x.get(message["from"]) or self.x.get(message["to"])) == other
        room = (one if left else self.width - other) - 16
        words = message["label"] + far + more
        if _wide(words, 12) > room:
            words = _fit(words, self.width - 16, 12)
            half = _wide(words, 12) / 2 + 6
            middle = min(max((one + other) / 2, half), self.width - half)
            return _label(round(middle), self.y - 6, words, fill=DIM)
        x, anchor = (one - 8, "end") if left else (other + 8, "start")
        return _label(x, self.y + 4, words, fill=DIM, anchor=anchor)

    def _flying(self, message: MessagePart) -> None:
        span = self._span(message)
        if span is None:
            return
        self.y += 24
        one, other = span
        end = other if one == other else round(one + (other - one) * 0.5)
        self.parts.append(
            f'<path d="M{one} {self.y}H{end}" stroke="{CURSOR}" stroke-width="1.8" '
            f'stroke-dasharray="6 4"/><circle cx="{end}" cy="{self.y}" r="6" fill="#fff" '
            f'stroke="{CURSOR}" stroke-width="1.8"/>'
        )
        self.parts.append(self._name(message, span, " (in flight)"))

    def _local(self, step: Shown) -> None:
        ink = TONES.get(step["tone"], TONES["calm"])[0]
        x = self.x.get(step["actor"], 14)
        self.y += 18
        left = x > self.width - 180
        mark = MARKS.get(step["tone"], "")
        words = _fit(mark + step["title"], (x if left else self.width - x) - 16, 12)
        self.parts.append(f'<circle cx="{x}" cy="{self.y - 4}" r="3.6" fill="{ink}"/>')
        anchor = "end" if left else "start"
        self.parts.append(_label(x - 9 if left else x + 9, self.y, words, fill=DIM, anchor=anchor))

    def _notes(self, notes: Sequence[NotePart]) -> None:
        below: dict[str, int] = {}
        for note in notes:
            y = below.get(note["lane"], self.y + 7)
            ink, ground = TONES.get(note["tone"], TONES["calm"])
            words, sub = MARKS.get(note["tone"], "") + note["text"], note.get("sub", "")
            needed = round(max(_wide(words, 12, 650), _wide(sub, 12)))
            wide = min(needed + 22, self.width - 8)
            height = 38 if sub else 23
            middle = min(max(self.x[note["lane"]], wide // 2 + 3), self.width - wide // 2 - 3)
            dash = ' stroke-dasharray="5 3"' if note["tone"] in ("warning", "gone") else ""
            thick = "3" if note["tone"] == "broken" else "1.6"
            self.parts.append(
                f'<rect x="{middle - wide // 2}" y="{y}" width="{wide}" height="{height}" rx="7" '
                f'fill="{ground}" stroke="{ink}" stroke-width="{thick}"{dash}/>'
            )
            self.parts.append(
                _label(middle, y + 16, _fit(words, wide - 8, 12, 650), weight=650, edge="")
            )
            if sub:
                self.parts.append(_label(middle, y + 31, _fit(sub, wide - 8, 12), edge=""))
            below[note["lane"]] = y + height + 4
        self.y = max(below.values()) + 2


def _on_wire(message: MessagePart, step: int) -> bool:
    ended = message["arrived"] if message["arrived"] is not None else message["lost"]
    return bool(message["sent"] <= step and (ended is None or ended > step))


def _label(
    x: int,
    y: float,
    text: str,
    *,
    size: int = 12,
    weight: int = 500,
    fill: str = "",
    anchor: str = "middle",
    edge: str = ' stroke="#fff" stroke-width="4" paint-order="stroke"',
) -> str:
    """Return a text element; its light outline separates its letters from a line behind it."""
    if not text:
        return ""
    more = f' font-size="{size}"' if size != 12 else ""
    more += f' fill="{fill}"' if fill else ""
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-weight="{weight}"{more}{edge}>'
        f"{plain(text)}</text>"
    )


def _widths(table: Mapping[int, str]) -> dict[str, int]:
    return {letter: width for width, letters in table.items() for letter in letters}


# From weight 600 a browser uses bold letters if the font has no weight in between.
SEMIBOLD = 600
_REGULAR, _BOLD = _widths(REGULAR), _widths(BOLD)
# A letter that is in no table counts as wide as it is tall, like an ideograph.
_SQUARE = 1000


def _wide(text: str, size: int, weight: int = 500) -> float:
    """Return the width in px of a text in the widest font of `SANS`."""
    table = _BOLD if weight >= SEMIBOLD else _REGULAR
    return size * sum(table.get(letter, _SQUARE) for letter in text) / 1000


def _fit(text: str, room: float, size: int, weight: int = 500) -> str:
    """Cut a text to a width, with an ellipsis."""
    if _wide(text, size, weight) <= room:
        return text
    while text and _wide(text + "…", size, weight) > room:
        text = text[:-1]
    return f"{text}…" if text else ""


def wrap_words(text: str, room: float, size: int, weight: int = 500) -> list[str]:
    """Break a text into lines of a width in px; a wider word ends in an ellipsis."""
    lines = [""]
    for word in str(text).split():
        longer = f"{lines[-1]} {word}".strip()
        if _wide(longer, size, weight) <= room or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return [_fit(line, room, size, weight) for line in lines]
