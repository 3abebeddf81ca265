"""A trace in the form of the page: everything with a lifetime, in plain words.

The main branch is sent completely; another branch sends only what differs after the step at which it leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

from kipviz.brokers.checks import Checked
from kipviz.checking.single_run.continuation import breaks_later
from kipviz.checking.single_run.permalink import encode_pick, mark_text
from kipviz.checking.single_run.quiescence import WORK
from kipviz.cluster.actions import ClusterAction, Deliver
from kipviz.cluster.behaviour.catalogue import lane_of
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.world import World, host_of
from kipviz.core.model import Event
from kipviz.core.traces.trace import Trace
from kipviz.designs.design import Design
from kipviz.lessons.glossary import terms_in
from kipviz.messages.events import (
    ConnectionLost,
    LeftOnItsWay,
    MessageDelivered,
    MessageSent,
    RecordsMoved,
    TransactionMoved,
)
from kipviz.messages.message import Message
from kipviz.properties.verdict import BROKEN, Finding, States, title_of
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.applications.program_faults import THE_PROGRAM, blame_for_harm
from kipviz.scenarios.scenario import Scenario
from kipviz.scenarios.script import Chapter
from kipviz.scenarios.setting_changes import settings as list_settings
from kipviz.views.choices import Choices, action_of
from kipviz.views.cluster_lanes import lanes_of_spec, list_lanes, list_left_out, spec_line
from kipviz.views.explanations.guards import why
from kipviz.views.explanations.network_sentences import notes_of_hosts
from kipviz.views.explanations.sentences import (
    detail,
    summary,
    tell,
    tone_of,
)
from kipviz.views.explanations.step_roles import by_role
from kipviz.views.lesson import LessonTelling, goals_of, lesson
from kipviz.views.lifetimes import Lifetimes
from kipviz.views.machines import drawing
from kipviz.views.page_parts import (
    ChoicePart,
    ChoicesPart,
    DownPart,
    HoldPart,
    MessagePart,
    MomentPart,
    NotePart,
    Part,
    VerdictPart,
)
from kipviz.views.reasons.beliefs import Beliefs
from kipviz.views.reasons.blockers import findings
from kipviz.views.reasons.causes import Causes, is_accident, take_watched
from kipviz.views.reasons.moments import clause
from kipviz.views.role_cards.cards import CardHead, Cards
from kipviz.views.role_cards.lane_heads import LaneHeads
from kipviz.views.role_cards.own_view import OwnView
from kipviz.views.role_cards.real_clients import ClientLogs
from kipviz.views.tones import CALM, TONE_OF_RECORD, TONE_OF_STATE
from kipviz.views.waypoints import rests
from kipviz.views.wire import WORDS, Wire


class Telling:
    """Builds the payload of one branch of a trace; the page already knows the part up to `since`."""

    def __init__(
        self,
        model: ClusterModel,
        since: int,
        lives: Lifetimes,
        goals: tuple[str, ...] = (),
        views: tuple[OwnView, ...] = (),
        *,
        asks: bool = True,
    ) -> None:
        """Start a branch; rows and choices up to and including `since` are known; `asks` is for predictions."""
        self._lesson = LessonTelling(model, goals, asks=asks)
        self._model = model
        self._since = since
        self.cards = Cards(model, views)
        self._shown_cards = frozenset(head.id for head in self.cards.heads)
        self._causes = Causes(model)
        self._possible = Choices(model)
        self.beliefs = Beliefs(model.spec)
        self._logs = ClientLogs(model)
        self.lives = lives
        self.steps: list[Part] = []
        self.messages: dict[str, MessagePart] = {}
        self.notes: list[NotePart] = []
        self.downs: list[DownPart] = []
        self.verdicts: list[VerdictPart] = []
        self.choices: list[ChoicesPart] = []
        self.moments: list[MomentPart] = []
        self._wire: dict[tuple[str, int, str], list[str]] = {}
        self._sent: dict[str, tuple[Message, Message | None, str, int]] = {}
        self._serving: dict[tuple[str, int], Message] = {}
        self._count = 0
        self._watched: tuple[Any, ...] = ()
        self._open_verdicts: dict[str, VerdictPart] = {}
        self._open_faults: dict[str, ChoicesPart] = {}
        self._faults: list[ChoicePart] = []
        self._heads = LaneHeads({lane: sub for lane, _, sub in lanes_of_spec(model)})
        self.holds: list[HoldPart] = []
        self._open_holds: dict[tuple[str, str], HoldPart] = {}

    def line(
        self,
        trace: Trace,
        path: tuple[int, ...],
        progress: Callable[[int, int], object] = lambda _done, _of: None,
    ) -> None:
        """Add every step of a path of nodes, the root first; `progress` hears how many are added, and of how many."""
        self._watched = trace.observers
        for k, node_id in enumerate(path):
            progress(k, len(path))
            node = trace.node(node_id)
            following = trace.node(path[k + 1]).action if k + 1 < len(path) else None
            before = trace.node(path[k - 1]).world if k else node.world
            self._step(k, str(node_id), before, node.action, node.world, node.events)
            self.cards.observe(node.world, node.events)
            self.beliefs.observe(node.world, node.events)
            self.cards.polls.observe(node_id)
            self._logs.observe(k, str(node_id))
            self.notes += self._logs.notes(k, str(node_id))
            if k > self._since:
                self.lives.add(
                    {
                        **self.cards.snapshot(node.world),
                        **self.beliefs.snapshot(node.world),
                        **self._logs.snapshot(),
                    }
                )
            self._verdicts(k, node.observations)
            self._lesson.see(k, node.action, node.world, node.events)
            self._heads.see(k, node.world)
            if k > self._since:
                self._holds(k, node.world)
            if k and (text := clause(node.events)):
                self.moments.append({"step": k, "text": text})
            if k >= self._since:
                items = self._possible.of(node.world, following)
                self._choices(k, items)
                self._lesson.choices(k, node.world, items, following)

    # -- pieces --------------------------------------------------------------------------------

    def _step(
        self,
        k: int,
        node: str,
        before: World,
        action: ClusterAction,
        world: World,
        events: tuple[Event, ...],
    ) -> None:
        """Add a step; a step that the page knows is only followed, for the sake of later ones."""
        told = k > self._since
        self.steps.append(self._encode_step(k, node, before, action, world, events) if told else {})
        if k == 0:
            return
        self._causes.add(k, before, world, events)
        self._messages(k, events)
        self._notes(k, lane_of(before, action), events)
        self.notes += [{**note, "step": k} for note in notes_of_hosts(before, action)]
        self._downs(k, before, world)

    def _encode_step(
        self,
        k: int,
        node: str,
        before: World,
        action: ClusterAction,
        world: World,
        events: tuple[Event, ...],
    ) -> Part:
        if k == 0:
            return {**_start(node), "mark": mark_text(world), "pick": 0}
        words = tell(before, action, events)
        places, outcome = take_watched(self._model, before, action)
        made = [each for each in outcome.checks if isinstance(each, Checked)]
        step = {
            "node": node,
            "kind": _kind(action.KIND),
            "actor": lane_of(before, action),
            "title": words.title,
            "sentence": words.sentence,
            "why": why(self._model, before, action, made),
            "tone": words.tone,
            "chapter": words.title if action.KIND in ("fault", "expiry", "repair") else "",
            "interesting": words.interesting,
            # For the page, which makes permalinks itself.
            "mark": mark_text(world),
            "pick": encode_pick(self._model, before, action),
            "causes": self._causes.of(before, action, places),
        }
        role = by_role(before, action, words)
        return (
            step
            | ({"accident": True} if is_accident(action) else {})
            | ({"role": list(role)} if role is not None else {})
        )

    def _messages(self, k: int, events: tuple[Event, ...]) -> None:
        for event in events:
            if isinstance(event, MessageSent):
                self._count += 1
                name = f"m{self._count}"
                client, broker = host_of(event.source), f"B{event.broker}"
                there = event.way == "request"
                request = None if there else self._serving.pop((event.source, event.broker), None)
                self.messages[name] = {
                    "id": name,
                    "from": client if there else broker,
                    "to": broker if there else client,
                    "label": summary(event.message),
                    "detail": detail(event.message, request),
                    "kind": event.way,
                    "sent": k,
                    "arrived": None,
                    "lost": None,
                    "tone": tone_of(event.message),
                }
                client_id = event.source if event.client_id is None else event.client_id
                header = (client_id, event.correlation_id)
                self._sent[name] = (event.message, request, *header)
                place = (event.source, event.broker, event.way)
                self._wire.setdefault(place, []).append(name)
            elif isinstance(event, MessageDelivered):
                place = (event.source, event.broker, event.way)
                name = self._wire[place].pop(0)
                self.messages[name] = {**self.messages[name], "arrived": k}
                if event.way == "request":
                    self._serving[event.source, event.broker] = event.message
            elif isinstance(event, LeftOnItsWay):
                names = self._wire.pop((event.source, event.broker, "request"), [])
                self._wire[event.late, event.broker, "request"] = names
            elif isinstance(event, ConnectionLost):
                self._serving.pop((event.source, event.broker), None)
                for way in ("request", "response"):
                    for name in self._wire.pop((event.source, event.broker, way), []):
                        self.messages[name] = {**self.messages[name], "lost": k}

    def _notes(self, k: int, lane: str, events: tuple[Event, ...]) -> None:
        states: dict[tuple[str, RecordState], list[int]] = {}
        for event in events:
            if isinstance(event, TransactionMoved) and event.before is not event.after:
                self.notes.append(
                    {
                        "lane": lane,
                        "step": k,
                        "text": event.after.value,
                        "sub": f"{event.transactional_id} · epoch {event.producer_epoch}",
                        "tone": TONE_OF_STATE.get(event.after, CALM),
                    }
                )
            elif isinstance(event, RecordsMoved):
                states.setdefault((event.partition, event.after), []).append(event.first)
        for (partition, state), offsets in states.items():
            span = str(offsets[0]) if len(offsets) == 1 else f"{offsets[0]}-{offsets[-1]}"
            self.notes.append(
                {
                    "lane": lane,
                    "step": k,
                    "text": f"{span} {state.name}",
                    "sub": partition,
                    "tone": TONE_OF_RECORD.get(state, CALM),
                }
            )

    def _downs(self, k: int, before: World, world: World) -> None:
        for host, was, is_up in _hosts(before, world):
            if was and not is_up:
                self.downs.append({"lane": host, "from": k, "to": None})
            elif is_up and not was:
                open_down = next(d for d in self.downs if d["lane"] == host and d["to"] is None)
                open_down["to"] = k

    def _verdicts(self, k: int, observations: States) -> None:
        for prop, state in zip(self._watched, observations, strict=True):
            found = prop.finding(state)
            self._verdict(k, prop.name, found)

    def _verdict(self, k: int, name: str, found: Finding) -> None:
        """Record the verdict on a property from a step on; a second one for the same step replaces the first."""
        status, reason = found.status, found.reason
        if status == BROKEN and (whose := blame_for_harm(self._model.spec, found.harm)):
            reason = f"{reason}; {THE_PROGRAM}: {whose}"
        before = self._open_verdicts.get(name)
        if before and (before["state"], before["reason"]) == (status, reason):
            return
        if before and before["from"] == k:
            self.verdicts.remove(before)
        elif before:
            before["to"] = k
        self._open_verdicts[name] = {
            "property": title_of(name),
            "sentence": next(prop.sentence for prop in self._watched if prop.name == name),
            "from": k,
            "to": None,
            "state": status,
            "reason": reason,
        }
        self.verdicts.append(self._open_verdicts[name])

    def to_the_end(self, trace: Trace, node_id: int, chapters: tuple[Chapter, ...] = ()) -> None:
        """Record at the last step of a run which properties break in what the cluster does next by itself.

        They are those that `kipviz play` names (`checking.single_run.continuation`). A run is at its end if its story
        is, or if only timers and faults are left: other steps cost nothing.
        """
        node, k = trace.node(node_id), len(self.steps) - 1
        if k == 0 or type(self._model) is not ClusterModel:
            return
        told = bool(chapters) and chapters[-1].end == k
        if not told and any(a.KIND in WORK for a in self._model.enabled(node.world)):
            return
        for later in breaks_later(self._model, node.world, node.observations, self._watched):
            self._verdict(k, later.property_name, Finding(BROKEN, later.sentence, later.harm))

    def _holds(self, k: int, world: World) -> None:
        """Record what is blocked for as long as the same sentence applies."""
        # A real client, or a request of an operator, may use what the cluster has no card for.
        shown = self._shown_cards
        now = {(h.card, h.text): h for h in findings(self._model, world) if h.card in shown}
        for key, known in tuple(self._open_holds.items()):
            same = now.get(key)
            if same is None or (same.free, list(same.rows)) != (known["free"], known["rows"]):
                known["to"] = k
                del self._open_holds[key]
        for key, hold in now.items():
            if key not in self._open_holds:
                self._open_holds[key] = {
                    "card": hold.card,
                    "rows": list(hold.rows),
                    "from": k,
                    "to": None,
                    "text": hold.text,
                    "free": hold.free,
                    "how": hold.how,
                    "see": [list(place) for place in dict.fromkeys(hold.see)],
                }
                self.holds.append(self._open_holds[key])

    def _choices(self, k: int, items: list[ChoicePart]) -> None:
        """Record faults as items with their own lifetime: they hardly change."""
        now = [self._with_message(i) for i in items if i["group"] == "next" or i["taken"]]
        self.choices.append({"from": k, "to": k + 1, "items": now})
        faults = [i for i in items if i["group"] == "fault" and not i["taken"]]
        before, self._faults = self._faults, faults
        if len(faults) == len(before) and all(map(is_, faults, before)):
            return
        steady = {i["id"]: i for i in faults}
        for name, entry in tuple(self._open_faults.items()):
            now_there, there = steady.get(name), entry["items"][0]
            if now_there is not there and now_there != there:
                entry["to"] = k
                del self._open_faults[name]
        for name, item in steady.items():
            if name not in self._open_faults:
                self._open_faults[name] = {"from": k, "to": None, "items": [item]}
                self.choices.append(self._open_faults[name])

    def _with_message(self, item: ChoicePart) -> ChoicePart:
        """Add the message in flight that a choice would deliver."""
        action = action_of(item["id"])
        if not isinstance(action, Deliver):
            return item
        waiting = self._wire.get((action.source, action.broker, action.way))
        return {**item, "message": waiting[0]} if waiting else item

    def suffix(self) -> Part:
        """Return what differs after `since`."""
        at = self._since
        wire = Wire(self._model.spec.topic_ids, self._known_kinds())
        return {
            "steps": self.steps[at + 1 :],
            "messages": [
                {**m, "bytes": wire.tell(*self._sent[m["id"]])}
                for m in self.messages.values()
                if m["sent"] > at or (m["arrived"] or at) > at or (m["lost"] or at) > at
            ],
            "wire": wire.tables(),
            "notes": [n for n in self.notes if n["step"] > at],
            "downs": [d for d in self.downs if d["from"] > at or (d["to"] or at) > at],
            **self._heads.changes_since(at),
            "verdicts": _cut(self.verdicts, at + 1),
            "holds": self.holds,
            "choices": self.choices,
            **self._lesson.news_since(at),
            "moments": [m for m in self.moments if m["step"] > at],
        }

    def _known_kinds(self) -> frozenset[str]:
        sent = (m["id"] for m in self.messages.values() if m["sent"] <= self._since)
        return frozenset(type(self._sent[name][0]).__name__ for name in sent)


def payload(
    scenario: Scenario,
    design: Design,
    model: ClusterModel,
    trace: Trace,
    chapters: tuple[Chapter, ...],
    head: str = "",
    views: tuple[OwnView, ...] = (),
    progress: Callable[[int, int], object] = lambda _done, _of: None,
    *,
    asks: bool = True,
    settings: Sequence[str] = (),
) -> tuple[Part, Lifetimes]:
    """Return the complete payload of a trace's current branch, and the rows' lifetimes for further branches.

    `head` is the head of a permalink to the run; without it there is not a permalink. `views` are the reader's own, whose
    cards come after all others. `progress` hears how many steps are added, and of how many. `asks` is whether the reader
    is asked for predictions. `settings` are the changes with which the run was made.
    """
    telling = Telling(model, -1, Lifetimes(), goals_of(scenario), views, asks=asks)
    telling.line(trace, trace.line, progress)
    telling.to_the_end(trace, trace.line[-1], chapters)
    told = telling.suffix()
    notable = [bool(step["interesting"]) for step in told["steps"]]
    said = [step["sentence"] for step in told["steps"]]
    said += [chapter.say for chapter in chapters if chapter.end > chapter.first]
    return {
        "format": 1,
        "glossary": terms_in(said),
        "title": scenario.title,
        "untold": scenario.untold,
        "scenario": scenario.name,
        "head": head,
        "spec_line": spec_line(model),
        "design": design_part(design.name, design.sentence, scenario, design, settings),
        "lanes": [
            {"id": name, "title": title, "sub": sub, "first": name in scenario.lanes}
            for name, title, sub in list_lanes(model)
        ],
        "cards": [_card(head) for head in (*telling.cards.heads, *telling.beliefs.heads)],
        "machines": [drawing(machine) for machine in telling.cards.machines],
        "rows": telling.lives.rows,
        "bigs": [
            {
                "from": c.first + 1,
                "to": c.end + 1,
                "title": c.title,
                "say": c.say,
                "rests": rests(c.first + 1, c.end, notable),
            }
            for c in chapters
            if c.end > c.first
        ],
        "questions": _questions(scenario, chapters),
        "lesson": lesson(scenario, chapters),
        "branches": [],
        "settings": [
            {"name": s.name, "asks": s.asks, "now": s.now, "options": [list(o) for o in s.options]}
            for s in list_settings(model.spec, design)
        ],
        **told,
        "wire": {**told["wire"], "names": WORDS},
    }, telling.lives


def design_part(
    name: str, sentence: str, scenario: Scenario, design: Design, settings: Sequence[str]
) -> Part:
    """Return what a page says of a run's design and of its cluster if that is the one of searches.

    `name` and `sentence` are those of the design, or say what was changed in it.
    """
    left_out = list_left_out(scenario, design, settings)
    part: Part = {"name": name, "status": design.status, "sentence": sentence}
    return part | ({"left_out": list(left_out)} if left_out else {})


def branch(
    model: ClusterModel,
    trace: Trace,
    path: tuple[int, ...],
    at: int,
    parent: Lifetimes,
    goals: tuple[str, ...] = (),
    views: tuple[OwnView, ...] = (),
    *,
    asks: bool = True,
) -> tuple[Part, Lifetimes]:
    """Return what differs on a branch that leaves a known one after step `at`."""
    lives = parent.fork(at)
    telling = Telling(model, at, lives, goals, views, asks=asks)
    telling.line(trace, path)
    telling.to_the_end(trace, path[-1])
    return {**telling.suffix(), "rows": lives.rows, "closes": lives.closes, "bigs": []}, lives


def _cut(verdicts: list[VerdictPart], first: int) -> list[VerdictPart]:
    """Return the verdicts from a step on; those that are alive there begin with it."""
    return [
        {**verdict, "from": max(verdict["from"], first)}
        for verdict in verdicts
        if verdict["to"] is None or verdict["to"] > first
    ]


def _card(head: CardHead) -> Part:
    card: Part = {
        "id": head.id,
        "title": head.title,
        "where": head.where,
        "kind": head.kind,
        "lane": head.lane,
        "order": head.order,
    }
    return (
        card
        | ({"machine": head.machine} if head.machine else {})
        | ({"about": head.about} if head.about else {})
    )


def _start(node: str) -> Part:
    return {
        "node": node,
        "kind": "start",
        "actor": "",
        "title": "start",
        "sentence": "All brokers and clients are running. No message is in flight.",
        "why": {
            "rule": "start of the run",
            "guards": [["steps before it", "none"]],
            "clause": "none: every run starts here",
            "status": "our inference",
            "kafka": "none: our inference",
        },
        "tone": "calm",
        "chapter": "",
        "interesting": False,
    }


def _kind(kind: str) -> str:
    return {
        "expiry": "fault",
        "repair": "fault",
        "refresh": "timer",
        "tick": "timer",
        "load": "local",
        "late": "deliver",
    }.get(kind, kind)


def _hosts(before: World, world: World) -> list[tuple[str, bool, bool]]:
    brokers = sorted({*before.up, *world.up})
    hosts = [(f"B{b}", b in before.up, b in world.up) for b in brokers]
    for name, app in world.applications.items():
        hosts.append((name, before.applications[name].alive, app.alive))
    return hosts


def _questions(scenario: Scenario, chapters: tuple[Chapter, ...]) -> list[Part]:
    question = scenario.question
    if question is None or question.beat >= len(chapters):
        return []
    return [
        {
            "id": f"{scenario.name}-1",
            "ask": 0,
            "step": chapters[question.beat].end,
            "text": question.text,
            "options": [{"text": c.text, "right": c.right, "say": c.say} for c in question.choices],
        }
    ]
