"""Two runs side by side, stepped together: designs, seeds, branches, files."""

from __future__ import annotations

from functools import cached_property

import traitlets

from kipviz.views.exports.svg import beside, svg
from kipviz.views.page_parts import Part, Shown
from kipviz.views.tones import SIGN_OF_STATUS
from kipviz.widgets.comparing.alignment import compare_payloads, find_renamed, first_words
from kipviz.widgets.discoverable import Discoverable
from kipviz.widgets.pages import payload as payloads
from kipviz.widgets.pages import text_view
from kipviz.widgets.pages.line import line_of
from kipviz.widgets.pages.open_question import without_answer
from kipviz.widgets.stepping.cursor import Change, WithCursor
from kipviz.widgets.stepping.stepper import FRONT, STILL_STEPS, Bundle, with_words

SIDES = ("left", "right")


class Compare(Discoverable, WithCursor):
    """Two steppers in one: one cursor, two diagrams, every difference marked.

    Attributes:
        payload: both payloads, the pairs of steps that belong together, and the differences.
        lines: the branches shown on the left and on the right, 0 for the main run.
        step: the cursor, an index into the pairs.
        selection, all_lanes, presenter: as in the stepper.
    """

    _esm = FRONT.read_text(encoding="utf-8")

    payload = traitlets.Dict().tag(sync=True)
    lines = traitlets.List(traitlets.Int(), [0, 0], minlen=2, maxlen=2).tag(sync=True)
    selection = traitlets.Dict().tag(sync=True)
    all_lanes = traitlets.Bool(False).tag(sync=True)
    presenter = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        left: Shown,
        right: Shown,
        lines: tuple[int, int] = (0, 0),
        names: tuple[str, str] | None = None,
        **traits: object,
    ) -> None:
        """Show two payloads, each on one of its branches; `names` are the names of the sides.

        Raises:
            ValueError: if one is no payload or has no such branch, in one sentence.
        """
        for payload in (left, right):
            payloads.read(payload)
        self._payloads = (dict(left), dict(right))
        self._names = names or (left["design"]["name"], right["design"]["name"])
        super().__init__(payload=self._align_branches(lines), lines=list(lines), **traits)

    def _align_branches(self, lines: tuple[int, int]) -> Part:
        """Align two branches; called again when others are chosen."""
        one, other = self._payloads
        self._left, self._right = (
            line_of(payload, payload.get("branches", []), number)
            for payload, number in zip(self._payloads, lines, strict=True)
        )
        return compare_payloads(one, other, (self._left, self._right), lines, self._names)

    def _why_nowhere(self, said: dict[str, object]) -> str:
        """Remove unknown branches from the page's values; return a sentence about them, or ""."""
        lines = said.get("lines")
        if not isinstance(lines, list | tuple):  # it is two numbers, or the page did not send it
            return ""
        for payload, number in zip(self._payloads, lines, strict=True):
            if number not in (0, *(branch["id"] for branch in payload.get("branches", []))):
                del said["lines"]
                return f"There is no branch {number} on that side; the lines stay as they are."
        return ""

    @traitlets.observe("lines")
    def _on_lines(self, change: Change) -> None:
        if self.payload and change["new"] != self.payload["lines"]:
            left, right = change["new"]
            self.payload = self._align_branches((left, right))
            self.__dict__.pop("_fingerprint", None)

    @property
    def renamed(self) -> list[Part]:
        """The steps that are the same under another name: their place and both names."""
        return find_renamed(self._left, self._right, self.payload["pairs"], self.payload["marks"])

    @cached_property
    def _fingerprint(self) -> str:
        return payloads.fingerprint(self.payload)

    def verdicts(self) -> list[dict[str, str]]:
        """Return the table of verdicts at the end of both runs: properties x sides, with reasons."""
        ends = (
            {v["property"]: v for v in line.verdicts_at(line.last)}
            for line in (self._left, self._right)
        )
        left, right = ends
        return [
            {
                "property": name,
                "left": verdict_words(left.get(name)),
                "right": verdict_words(right.get(name)),
            }
            for name in dict.fromkeys((*left, *right))
        ]

    def text(self) -> str:
        """Both runs as tables for a plain terminal, one after the other."""
        left, right = self.payload["pairs"][self._place]
        halves = (
            (self.payload["left"], self._left, left),
            (self.payload["right"], self._right, right),
        )
        rows = [self.payload["title"]]
        for payload, line, step in halves:
            rows += ["", _design(payload), *text_view.table(line, step)]
        return "\n".join([*rows, "", repr(self)])

    @property
    def last_step(self) -> int:
        """The last index of the aligned steps."""
        return len(self.payload["pairs"]) - 1

    @property
    def _place(self) -> int:
        return max(0, min(self.step, self.last_step))

    def __repr__(self) -> str:
        """Step n of m | first difference | each side's verdicts | fingerprint."""
        left, right = self.payload["pairs"][self._place]
        where = f"step {self._place} of {self.last_step}"
        found = self.payload["differences"]
        first = first_words(found, self.renamed)
        sides = (
            f"{self.payload['left']['design']['name']}: {text_view.verdict_words(self._left, left)}",
            f"{self.payload['right']['design']['name']}: {text_view.verdict_words(self._right, right)}",
        )
        return " | ".join((where, first, *sides, self._fingerprint))

    def _repr_mimebundle_(self, **kwargs: object) -> Bundle:
        """Return the widget, and a still picture and both flows in words for places where no widget can be drawn."""
        bundle: Bundle = super()._repr_mimebundle_(**kwargs)
        rows = [repr(self)]
        for side, line in zip(SIDES, (self._left, self._right), strict=True):
            rows += [_design(self.payload[side]), *text_view.flow(line)]
        return with_words(bundle, "\n".join(rows), self.still())

    def still(self) -> str:
        """Return both diagrams around the first difference, side by side, as an SVG."""
        pairs, found = self.payload["pairs"], self.payload["differences"]
        places = pairs[self._place or (found[0]["at"] if found else 0)]
        sides = [without_answer(self.payload[side]) for side in SIDES]
        return beside(
            [
                svg(side, cursor=at, around=STILL_STEPS, all_lanes=False, narrow=True)
                for side, at in zip(sides, places, strict=True)
            ]
        )


def verdict_words(verdict: Shown | None) -> str:
    """Return the verdict on a property in words, with its sign and reason."""
    if verdict is None:
        return "not asked"
    words = f"{SIGN_OF_STATUS[verdict['state']]} {verdict['state']}"
    return f"{words}: {verdict['reason']}" if verdict.get("reason") else words


def _design(payload: Shown) -> str:
    return f"design {payload['design']['name']} ({payload['design']['status']})"
