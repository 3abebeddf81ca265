"""The run of a served cluster behind a stepper that follows it.

The main branch is the run of the real clients, and it grows while they work. What a reader chooses at its newest step
happens in the cluster that the clients are connected to. A choice at an earlier step makes a branch of the reader's
own, in which no client takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from threading import RLock

import msgspec

from kipviz.checking.single_run.learner_record import Learned
from kipviz.checking.single_run.runs import KeptLine, Run
from kipviz.cluster.actions import ClusterAction, Deliver
from kipviz.cluster.world import World
from kipviz.core.model import NotEnabled
from kipviz.core.traces.trace import Trace
from kipviz.messages.message import Message
from kipviz.scenarios.served_scenario import ServedScenario, renumber_nodes
from kipviz.serving.serve import Server, WentOn
from kipviz.views.page_parts import Part
from kipviz.views.payload import branch as tell_branch
from kipviz.views.role_cards.own_view import OwnView
from kipviz.widgets.live.longer_payload import lengthen
from kipviz.widgets.stepping import whatif
from kipviz.widgets.stepping.lines import Lab
from kipviz.widgets.stepping.page_messages import Command, PageAnswer, Work
from kipviz.widgets.stepping.whatif import Standing

Place = tuple[int, int, Learned]

# A page follows so many steps; a client that works on and on would make it slower and slower.
FOLLOWED_MAX = 2_000
# How often a step is tried again because the clients took one meanwhile.
TRIES = 20


class Growth(msgspec.Struct, frozen=True):
    """What a page is sent: more steps of the main branch or, with `is_whole`, a new payload."""

    told: Part
    is_whole: bool = False


class LiveLines(Lab):
    """The run of a server, which grows, and the reader's branches of it.

    `find_place` returns where the reader stands, with the reader's answers; `grown` hears of each growth, before the
    request that caused it is answered. All methods hold `turn`, because one thread follows the server and another one
    answers the page.
    """

    ASKS = False

    def __init__(
        self,
        server: Server,
        views: tuple[OwnView, ...],
        find_place: Callable[[], Place],
        grown: Callable[[Growth], None],
    ) -> None:
        """Begin with the server's run as it is now."""
        self.turn = RLock()
        self.server = server
        self._find_place, self._grown = find_place, grown
        self._goes_along = False
        self._growths = 0
        self._working = False
        run = server.run()
        # The page's run has nodes of its own, because the reader's branches are in it, too.
        self._nodes = {node: node for node in range(len(run.trace))}
        self._begin(msgspec.structs.replace(run, lines=_lines_of(run.trace)), views)

    def _begin(self, run: Run, views: tuple[OwnView, ...]) -> None:
        super().__init__(run, views)
        self.payload |= {"live": True, "grown": self._growths}

    @property
    def last(self) -> int:
        """The newest step of the clients' run that the page knows."""
        return len(self._lines[0].path) - 1

    @property
    def is_full(self) -> bool:
        """Whether the page follows no more steps."""
        return self.last >= FOLLOWED_MAX

    # -- following ---------------------------------------------------------------------------------

    def catch_up(self) -> bool:
        """Send the page everything that is new; return whether there was anything."""
        with self.turn:
            if self._working or self.is_full:
                return False
            before = _clients_of(self._runs[0])
            served = self.server.run()
            path = self._follow(served)
            # What the clients did has been replayed in this run; here are the clients and their log lines.
            run = self._with_clients(served, self._runs[0].trace)
            old = self._lines[0].path
            same = sum(one == two for one, two in zip(old, path, strict=False)) - 1
            now = _clients_of(run)
            late = _first_late(before, now, run.trace)
            known = path == old and now == before
            self._runs[0] = run
            if known:
                return False
            if same < len(old) - 1 or not _same_clients(before, now):
                self._send_whole(path, same)
            else:
                self._send_more(path, max(0, min(same, late - 1)))
            return True

    def _follow(self, served: Run) -> tuple[int, ...]:
        """Take the server's new steps in this run, too, and return the nodes of its branch here."""
        theirs = served.trace.path(served.trace.cursor)
        start = len(theirs)
        while theirs[start - 1] not in self._nodes:
            start -= 1
        run = self._runs[0]
        trace = run.trace.jump(self._nodes[theirs[start - 1]])
        for node in theirs[start:]:
            trace = trace.take(served.trace.node(node).action)
            self._nodes[node] = trace.cursor
        self._runs[0] = run.at(trace)
        return trace.path(trace.cursor)

    def _with_clients(self, served: Run, trace: Trace) -> Run:
        scenario = _clients_of(served)
        scenario = renumber_nodes(scenario, self._nodes)
        model = scenario.model(served.design)
        return msgspec.structs.replace(
            self._runs[0],
            scenario=scenario,
            model=model,
            trace=msgspec.structs.replace(trace, model=model),
        )

    def _send_more(self, path: tuple[int, ...], at: int) -> None:
        """Send the steps after `at`; the page has the others."""
        line, run = self._lines[0], self._runs[0]
        told, lives = tell_branch(
            run.model, run.trace, path, at, line.lives, (), self.views, asks=self.ASKS
        )
        cards = {card["id"] for card in self.payload["cards"]}
        if any(row["card"] not in cards for row in lives.rows):
            # Such as the card of a client's log, with the first line.
            self._send_whole(path, self.last)
            return
        self._growths += 1
        told |= {"at": at, "grown": self._growths}
        self.model = run.model
        line.path, line.lives = path, lives.join_parent()
        lengthen(self.payload, told, line.lives.rows)
        self._grown(Growth(told))

    def _send_whole(self, path: tuple[int, ...], same: int) -> None:
        """Send a new payload: there is another client, or the cluster went back and is on another branch."""
        branch, step, learned = self._find_place()
        follows = self._goes_along or (branch, step) == (0, self.last)
        went_back = same < self.last
        run = self.run_with_branches(branch, min(step, self.last), learned)
        main, *others = run.lines
        here = run.line
        if went_back:
            left = KeptLine(
                f"left at step {same}",
                0,
                0,
                main.tip,
                "The cluster went back; its clients could not.",
            )
            # What left the former main branch leaves the branch that it is now.
            others = [left, *(line.but(parent=line.parent + 1) for line in others)]
            here += 1 if here or step > same else 0
        if follows:
            here, run = 0, run.at(run.trace.jump(path[-1]))
        self._growths += 1
        lines = (main.but(tip=path[-1]), *others)
        self._begin(msgspec.structs.replace(run, lines=lines, line=here), self.views)
        self._grown(Growth(self.payload, is_whole=True))

    # -- acting ------------------------------------------------------------------------------------

    def respond(self, command: Command) -> PageAnswer | Work:
        """Answer a request: at the newest step the clients' cluster carries it out, elsewhere a branch does.

        Raises:
            ValueError: if it is not possible, in one sentence.
        """
        with self.turn:
            if command.get("do") == "back":
                return self._go_back(command)
            # A page that stands at its newest step says so: meanwhile there may be a newer one.
            newest = command.get("step") == self.last or command.get("live") is True
            if (
                newest
                and command.get("branch") == 0
                and not self.server.stopped
                and not self.is_full
            ):
                here = self._standing(command)
                action = whatif.find_action(here, command)
                if action is not None:
                    return self._act(action, here)
                if command.get("do") == "hold":
                    raise ValueError(
                        "the clients' own messages are held by a rule: server.rule('hold EndTxn'). With "
                        "kipviz.serve(by='hand') each delivery waits for you"
                    )
            answer = super().respond(command)
            if isinstance(answer, Generator):
                self._working = True
                return self._work_alone(answer)
            return _without_clients(answer)

    def _work_alone(self, work: Work) -> Work:
        """Work on a long request while the main branch does not grow: both would add to one run."""
        try:
            answer = yield from work
        finally:
            self._working = False
        return _without_clients(answer)

    def _act(self, action: ClusterAction, seen: Standing) -> PageAnswer:
        """Take a step of the clients' cluster; a delivery is one of the message that the reader saw."""
        for _ in range(TRIES):
            self.catch_up()
            world = self._runs[0].trace.node(self._lines[0].path[-1]).world
            if isinstance(action, Deliver) and _in_front(world, action) is not _in_front(
                seen.node(seen.at).world, action
            ):
                break
            try:
                self.server.take(action, at=self.last)
            except WentOn:
                continue
            except NotEnabled as wrong:
                raise ValueError(f"that is not possible here: {wrong.why}") from wrong
            self.catch_up()
            return {"go": {"branch": 0, "step": self.last}, "say": ""}
        raise ValueError(
            "the cluster has gone on meanwhile: look at the newest step, then choose again"
        )

    def _go_back(self, command: Command) -> PageAnswer:
        here = self._standing(command)
        if command.get("branch") != 0:
            raise ValueError("the cluster goes back on the branch of its clients, main")
        if self.server.stopped:
            raise ValueError("the cluster has stopped: choose what happens here, on a branch")
        self._goes_along = True
        try:
            self.server.back(here.at)
            self.catch_up()
        finally:
            self._goes_along = False
        return {
            "go": {"branch": 0, "step": self.last},
            "say": f"The cluster went back to step {here.at}. Its clients cannot: their connections were dropped.",
        }


def _in_front(world: World, action: Deliver) -> Message | None:
    """Return the message that a delivery would deliver."""
    connection = world.connections.get((action.source, action.broker))
    if connection is None:
        return None
    queue = connection.requests if action.way == "request" else connection.responses
    return queue[0].message if queue else None


def _without_clients(answer: PageAnswer) -> PageAnswer:
    if "branch" not in answer:
        return answer
    said = f"{answer['say']}. " if answer.get("say") else ""
    return answer | {"say": f"{said}No client takes part in this branch."}


def _lines_of(trace: Trace) -> tuple[KeptLine, ...]:
    """Return the branches of a server's run; the one on which the clients are now is the main branch."""
    here = set(trace.path(trace.cursor))
    others = [b.tip for b in trace.branches() if b.tip not in here]
    return (
        KeptLine("main", -1, 0, trace.cursor),
        *(KeptLine("", 0, 0, tip) for tip in others),
    )


def _clients_of(run: Run) -> ServedScenario:
    """Return the cluster of a server's run, with its clients and their log lines."""
    assert isinstance(run.scenario, ServedScenario), run.scenario
    return run.scenario


def _same_clients(before: ServedScenario, now: ServedScenario) -> bool:
    return before.clients == now.clients


def _first_late(before: ServedScenario, now: ServedScenario, trace: Trace) -> int:
    """Return the first step with a log line or a long poll that the page shows otherwise, or one after the last step."""
    known, polls = set(before.lines), set(before.polls)
    new = [line.node for line in now.lines if line not in known]
    new += [poll.node for poll in now.polls if poll not in polls]
    # One that ended before the next step is in no list any more.
    polls.difference_update(now.polls)
    new += [poll.node for poll in polls if poll.until < 0]
    return min((trace.node(node).depth for node in new), default=len(trace))
