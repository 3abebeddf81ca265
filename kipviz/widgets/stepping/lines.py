"""The model behind a stepper: the runs, the reader's branches of them, and the answers to the page's requests."""

from __future__ import annotations

from collections.abc import Callable, Generator

import msgspec

from kipviz.checking.single_run.alternative_run import HeldAction, Missing
from kipviz.checking.single_run.learner_record import NOTHING, Learned
from kipviz.checking.single_run.permalink import head_of, mark_text
from kipviz.checking.single_run.runs import KeptLine, Run
from kipviz.core.traces.trace import Trace
from kipviz.views.choices import choice_id
from kipviz.views.lesson import goals_of
from kipviz.views.lifetimes import Lifetimes
from kipviz.views.page_parts import Part
from kipviz.views.payload import branch as tell_branch
from kipviz.views.payload import design_part
from kipviz.views.payload import payload as tell
from kipviz.views.role_cards.own_view import OwnView
from kipviz.widgets.stepping import whatif
from kipviz.widgets.stepping.page_messages import Command, PageAnswer, Work
from kipviz.widgets.stepping.whatif import Continuation, Standing

WISHES: dict[str, Callable[[Standing, Command], Continuation]] = {
    "take": whatif.take,
    "cut": whatif.cut,
    "hold": whatif.hold,
    "lose": whatif.lose,
    "release": whatif.release,
    "delay": whatif.delay,
    "skip": whatif.skip,
    "move": whatif.move,
    "change": whatif.change,
}
LONG_WISHES: dict[str, Callable[[Standing, Command], Generator[str, None, Continuation]]] = {
    "run": whatif.run_on,
    "until": whatif.run_until,
}
COMMANDS = (*WISHES, *LONG_WISHES, "rename", "prune")
NAME_MAX = 80


class _Shown(msgspec.Struct, eq=False):
    """A branch on the page: its run, its nodes, and the reader's request.

    `parent` is the branch that it leaves after step `at`, -1 for the main branch, which leaves none.
    """

    number: int
    name: str
    parent: int
    at: int
    tree: int
    path: tuple[int, ...]
    lives: Lifetimes
    said: str = ""
    held: tuple[HeldAction, ...] = ()
    missing: tuple[Missing, ...] = ()


class Lab:
    """A run and its model behind one stepper: answers the page's requests with branches.

    The runs grow, and the reader adds branches. `lost` names the branches of a file that were lost because the model
    has changed.
    """

    ASKS = True  # whether the main branch has questions for the reader's predictions

    def __init__(
        self,
        run: Run,
        views: tuple[OwnView, ...] = (),
        progress: Callable[[int, int], object] = lambda _done, _of: None,
    ) -> None:
        """Prepare the main branch and the branches that the run already has; `views` are the reader's own.

        `progress` hears how many steps of the main branch are prepared, and of how many.
        """
        self.views = views
        self.model = run.model
        self.lost: list[str] = []
        self._runs = list(run.trees)
        self._here = 0  # the run of the last request
        kept = run.lines or _branches(run)
        trace = run.trace.jump(kept[0].tip)
        self._runs[0] = run.at(trace)
        told = self._runs[0].told
        head = head_of(run)
        self.payload, lives = tell(
            run.scenario,
            run.design,
            run.model,
            trace,
            told,
            head,
            views,
            progress,
            asks=self.ASKS,
            settings=run.settings,
        )
        path = trace.path(kept[0].tip)
        self._lines = {0: _Shown(0, kept[0].name, -1, 0, 0, path, lives)}
        self._number = 0
        numbers = [0]
        for line in kept[1:]:
            numbers.append(self._restore(line, numbers[line.parent]))
        here = run.trees[kept[run.line].tree].trace
        self.place = self.place_of(run.trace.cursor, run.trace.line)
        if run.lines:
            number = numbers[run.line]
            self.place = number, min(here.depth, len(self._lines[number].path) - 1)

    @property
    def trace(self) -> Trace:
        """The trace of the run of the last request."""
        return self._runs[self._here].trace

    def run_at(self, branch: int, step: int) -> Run:
        """Return the run of a branch in its present state, standing at a step of the branch."""
        line = self._lines[branch]
        run = self._runs[line.tree]
        # Jump by way of the tip, so that the trace stands on this branch.
        at = min(step, len(line.path) - 1)
        return run.at(run.trace.jump(line.path[-1]).jump(line.path[at]))

    def run_with_branches(self, branch: int, step: int, learned: Learned = NOTHING) -> Run:
        """Return the run with all of the reader's branches, standing at a step of one, and the reader's answers."""
        numbers = list(self._lines)
        trees = sorted({0, *(line.tree for line in self._lines.values())})
        lines = tuple(
            KeptLine(
                line.name,
                numbers.index(line.parent) if line.parent >= 0 else -1,
                trees.index(line.tree),
                line.path[-1],
                line.said,
                line.held,
                line.missing,
            )
            for line in self._lines.values()
        )
        here = self._lines[branch]
        runs = [self._runs[tree] for tree in trees]
        runs[trees.index(here.tree)] = self.run_at(branch, step)
        now = {tree: n for n, tree in enumerate(trees)}
        same = [{n: n for n in range(len(run.trace))} for run in runs]
        return msgspec.structs.replace(
            runs[0],
            others=tuple(runs[1:]),
            lines=lines,
            line=numbers.index(branch),
            learned=learned.renumber(now, same),
        )

    def another(
        self, branch: int, step: int, learned: Learned, views: tuple[OwnView, ...]
    ) -> tuple[Lab, Learned]:
        """Return an independent lab of the same run and its branches, and the answers under its names of questions."""
        run = self.run_with_branches(branch, step, learned)
        return Lab(run, views), run.learned

    def place_of(self, node: int, path: tuple[int, ...] = ()) -> tuple[int, int]:
        """Return the branch and the step at which a node of the run is shown, on `path` if it is there."""
        step = self._runs[0].trace.node(node).depth
        for number, line in sorted(self._lines.items(), key=lambda one: one[1].path != path):
            if line.tree == 0 and step < len(line.path) and line.path[step] == node:
                return number, step
        return 0, 0

    # -- answers -------------------------------------------------------------------------------------

    def respond(self, command: Command) -> PageAnswer | Work:
        """Answer a request: with a new branch, or with the place of one that exists already.

        ``{"branch"}`` is a new branch; ``{"go": {"branch", "step"}}`` is an existing place; ``{"name"}`` and
        ``{"gone"}`` change existing branches; ``{"say"}`` is a sentence. A request that may take long is answered by a
        generator, which yields its progress and returns the answer.

        Raises:
            ValueError: if the request is not possible there, in one sentence.
        """
        do = command.get("do", "take")
        if do == "rename":
            return self._rename(command)
        if do == "prune":
            return self._prune(command)
        if do in WISHES:
            here = self._standing(command)
            return self._show_branch(here, command, WISHES[do](here, command))
        if do in LONG_WISHES:
            return self._work(self._standing(command), command, LONG_WISHES[do])
        raise ValueError(f"unknown command {do!r}; the commands are {', '.join(COMMANDS)}")

    def _work(
        self,
        here: Standing,
        command: Command,
        wish: Callable[[Standing, Command], Generator[str, None, Continuation]],
    ) -> Work:
        told = yield from wish(here, command)
        return self._show_branch(here, command, told)

    def _standing(self, command: Command) -> Standing:
        line = self._line(command.get("branch"))
        at = command.get("step")
        if type(at) is not int or not 0 <= at < len(line.path):
            last = len(line.path) - 1
            raise ValueError(f"there is no step {at!r} on this line; it has 0 to {last}")
        return Standing(self._runs[line.tree], line.path, at, line.held)

    def _line(self, number: object) -> _Shown:
        if type(number) is not int or number not in self._lines:
            known = ", ".join(map(str, self._lines))
            raise ValueError(f"there is no line {number!r}; there are {known}")
        return self._lines[number]

    def _show_branch(self, here: Standing, command: Command, told: Continuation) -> PageAnswer:
        """Make a branch of another continuation, unless an equal one exists."""
        parent = self._line(command["branch"])
        path = told.trace.path(told.trace.cursor)
        if told.run is not here.run:
            at = whatif.first_difference(here, told)
            if at is None:
                said = f"{told.name[:1].upper()}{told.name[1:]} this run is the same."
                return {"say": said, "go": {"branch": parent.number, "step": here.at}}
            self._here = len(self._runs)
            self._runs.append(told.run.at(told.trace))
        else:
            at = _together(parent.path, path)
            self._here = parent.tree
            self._runs[parent.tree] = told.run.at(told.trace)
            same = self._same(parent.tree, path, told.held)
            if same is not None:
                step = min(here.at + 1, len(path) - 1)
                said = f"{told.said} That branch already exists." if told.said else ""
                return {"go": {"branch": same, "step": step}, "say": said}
        branch = self._tell(parent, at, self._here, path, told)
        return {"branch": branch, "say": told.said}

    def _same(self, tree: int, path: tuple[int, ...], held: tuple[HeldAction, ...]) -> int | None:
        holds = [(h.action, h.number) for h in held if h.until < 0]
        for line in self._lines.values():
            mine = [(h.action, h.number) for h in line.held if h.until < 0]
            if line.tree == tree and line.path[: len(path)] == path and mine == holds:
                return line.number
        return None

    def _tell(
        self, parent: _Shown, at: int, tree: int, path: tuple[int, ...], told: Continuation
    ) -> Part:
        """Return the payload of a branch that leaves another one after a step, or the one that this one left."""
        while at <= parent.at and parent.parent >= 0:
            above = self._lines[parent.parent]
            if above.tree != parent.tree:
                break
            parent = above
        self._number += 1
        run = self._runs[tree]
        goals = goals_of(run.scenario)
        suffix, lives = tell_branch(run.model, run.trace, path, at, parent.lives, goals, self.views)
        if tree:  # the nodes of another trace are also numbered from 0
            suffix["steps"] = [{**s, "node": f"{tree}:{s['node']}"} for s in suffix["steps"]]
        line = _Shown(
            self._number,
            told.name or suffix["steps"][0]["title"],
            parent.number,
            at,
            tree,
            path,
            lives,
            told.said,
            told.held,
            told.missing,
        )
        self._lines[line.number] = line
        return {
            "id": line.number,
            "name": line.name,
            "parent": parent.number,
            "at": at,
            **suffix,
            "tree": tree,
            "design": _design(run) if tree != parent.tree else None,
            "head": head_of(run) if tree != parent.tree else "",
            "start": mark_text(run.trace.node(0).world) if tree != parent.tree else "",
            "said": line.said,
            "missing": [[m.name, m.why] for m in line.missing],
            "held": [_hold(h) for h in line.held],
        }

    def _restore(self, line: KeptLine, parent: int) -> int:
        """Restore a branch of a file; a branch without any step left is dropped and replaced by its parent."""
        above, run = self._lines[parent], self._runs[line.tree]
        path = run.trace.path(line.tip)
        told = Continuation(run, run.trace, line.name, line.said, line.held, line.missing)
        if line.tree == above.tree:
            at = _together(above.path, path)
        else:
            here = Standing(self._runs[above.tree], above.path, 0, ())
            jumped = msgspec.structs.replace(told, trace=run.trace.jump(line.tip))
            at = whatif.first_difference(here, jumped) or 0
        if at + 1 >= len(path):
            self.lost.append(
                f"the line {line.name!r} was dropped: none of its steps is possible now"
            )
            return parent
        self.payload["branches"].append(self._tell(above, at, line.tree, path, told))
        return self._number

    # -- the tree ------------------------------------------------------------------------------------

    def _rename(self, command: Command) -> PageAnswer:
        line, name = self._line(command.get("branch")), command.get("name")
        if not isinstance(name, str) or not name.strip() or len(name) > NAME_MAX:
            raise ValueError(f"a name must be 1 to {NAME_MAX} characters, not {name!r}")
        if any("\ud800" <= sign <= "\udfff" for sign in name):
            raise ValueError(f"a name has whole characters, not halves of one as {name!r}")
        line.name = " ".join(name.split())
        return {"name": (line.number, line.name)}

    def _prune(self, command: Command) -> PageAnswer:
        line = self._line(command.get("branch"))
        if line.parent < 0:
            raise ValueError("the main branch stays: only other branches can be deleted")
        gone = [line.number]
        for other in self._lines.values():  # a branch is always newer than the one it leaves
            if other.parent in gone:
                gone.append(other.number)
        for number in gone:
            del self._lines[number]
        count = "" if len(gone) == 1 else f" and what left it ({len(gone) - 1})"
        return {
            "gone": gone,
            "go": {"branch": line.parent, "step": line.at},
            "say": f"“{line.name}”{count} is deleted.",
        }


def _branches(run: Run) -> tuple[KeptLine, ...]:
    """Return the branches of a run that has no kept branches."""
    return tuple(
        KeptLine("main" if b.parent is None else "", -1 if b.parent is None else b.parent, 0, b.tip)
        for b in run.trace.branches()
    )


def _together(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Return the last step that two paths of a run share."""
    return sum(a == b for a, b in zip(one, other, strict=False)) - 1


def _design(run: Run) -> Part:
    design = run.design
    changes = ", ".join(run.settings)
    name = design.name if all(c in design.name for c in run.settings) else changes
    sentence = f"{design.sentence} Changed: {changes}."
    return design_part(name, sentence, run.scenario, design, run.settings)


def _hold(held: HeldAction) -> Part:
    return {
        "id": choice_id(held.action),
        "message": f"m{held.number}" if held.number else "",
        "text": held.name,
        "from": held.since,
        "to": held.until if held.until >= 0 else None,
    }
