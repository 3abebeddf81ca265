"""The lines by which another program drives a served cluster: one JSON object asks, one answers.

    {"do": "rule", "rule": "hold EndTxn"}    {"ok": true}
    {"do": "crash", "broker": 1}    {"ok": true, "step": 7}

docs/SERVING.md has every command with an example. Each answer has "ok", and "step" after a step: the step number at which the cluster is idle again. If "ok" is false,
"error" is one sentence that says what was wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from kipviz.core.model import NotEnabled
from kipviz.core.outside.suggestions import nearest
from kipviz.core.traces.tracefile import TraceFileError
from kipviz.core.written import action_to_json
from kipviz.serving.served_cluster import EXPIRY, why_not_handled

if TYPE_CHECKING:
    from kipviz.cluster.actions import ClusterAction
    from kipviz.serving.serve import Server

Line = dict[str, Any]
WAIT_MAX_S = 600


# By what a held message can be named, besides its index.
_NAMES = ("id", "source", "broker", "way", "message")


def _list_held(server: Server) -> list[Line]:
    return [
        {
            "index": index,
            "id": number,
            "source": held.source,
            "broker": held.broker,
            "way": held.way,
            "message": name,
        }
        for index, (number, held, name) in enumerate(server.list_held())
    ]


def _list_possible(server: Server) -> list[Line]:
    return [
        {
            "action": _in_json(action),
            "what": server.describe(action),
            "timer": action.KIND == EXPIRY,
        }
        for action in server.possible()
    ]


def _in_json(action: ClusterAction) -> Line:
    return dict(json.loads(action_to_json(action)))


def _find_possible(server: Server, asked: Line) -> ClusterAction:
    wanted = asked.get("action")
    if not isinstance(wanted, dict):
        raise ValueError(  # noqa: TRY004  bad input
            f"'action' must be one of the actions that 'possible' lists, not {wanted!r}"
        )
    found = next((a for a in server.possible() if _in_json(a) == wanted), None)
    if found is None:
        raise ValueError(f"{json.dumps(wanted)} is not possible now: 'possible' lists what is")
    return found


def _find_held(server: Server, asked: Line) -> int:
    """Return the number of the held message that a line names: by its id, by what it is, or by its index."""
    held = _list_held(server)
    if "index" in asked:
        index = _number(asked, "index")
        if not 0 <= index < len(held):
            raise ValueError(f"{len(held)} deliveries are held, and there is no index {index}")
        return int(held[index]["id"])
    named = {name: asked[name] for name in _NAMES if name in asked}
    if not named:
        raise ValueError(f"name a held message by 'index' or by some of {', '.join(_NAMES)}")
    found = [each["id"] for each in held if _has(each, named)]
    if len(found) != 1:
        known = ", ".join(str(number) for number in found) or "none"
        raise ValueError(
            f"one held message has to match {json.dumps(named)}; matching ids: {known}"
        )
    return int(found[0])


def _has(held: Line, named: Line) -> bool:
    """Return whether a held message is what a line names; True is not 1."""
    return all(
        type(value) is type(held[name]) and value == held[name] for name, value in named.items()
    )


def _act_on_held(server: Server, asked: Line, act: Callable[[int], int]) -> Line:
    # Between the look and the act another message may arrive.
    with server.paused():
        return {"step": act(_find_held(server, asked))}


def _wait_held(server: Server, asked: Line) -> Line:
    seconds = asked.get("seconds", 10)
    if type(seconds) not in (int, float) or not 0 <= seconds <= WAIT_MAX_S:
        raise ValueError(f"'seconds' must be a number from 0 to {WAIT_MAX_S}, not {seconds!r}")
    found = server.wait_held(_text(asked, "message") if "message" in asked else "", seconds)
    for index, (number, each, _) in enumerate(server.list_held()):
        if each == found:
            return {"index": index, "id": number}
    raise ValueError("it was held, and meanwhile it was lost or released")


def _clients(server: Server) -> list[Line]:
    names = ("connection", "software", "broker", "in_flight")
    return [dict(zip(names, each, strict=True)) for each in server.clients()]


def _requests(server: Server, asked: Line) -> list[Line]:
    return _list_requests(server.requests(_text(asked, "source") if "source" in asked else ""))


def _list_requests(found: Iterable[tuple[str, str]]) -> list[Line]:
    return [{"connection": source, "request": name} for source, name in found]


def _records(server: Server, asked: Line) -> list[Line]:
    names = ("offset", "value", "fate")
    found = server.records(_text(asked, "partition"))
    return [dict(zip(names, each, strict=True)) for each in found]


def _number(asked: Line, name: str) -> int:
    value = asked.get(name)
    if type(value) is not int:
        raise ValueError(f"{name!r} must be a whole number, not {value!r}")
    return value


def _text(asked: Line, name: str) -> str:
    value = asked.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name!r} must be a text, not {value!r}")  # noqa: TRY004  bad input
    return value


DO: dict[str, Callable[[Server, Line], Line | None]] = {
    "rule": lambda server, asked: server.rule(_text(asked, "rule")),
    "held": lambda server, _: {"held": _list_held(server)},
    "wait-held": _wait_held,
    "deliver": lambda server, asked: _act_on_held(server, asked, server.deliver),
    "lose": lambda server, asked: _act_on_held(server, asked, server.lose),
    "possible": lambda server, _: {"possible": _list_possible(server)},
    "take": lambda server, asked: {"step": server.take(_find_possible(server, asked))},
    "release": lambda server, _: server.release(),
    "crash": lambda server, asked: {"step": server.crash(_number(asked, "broker"))},
    "start": lambda server, asked: {"step": server.start(_number(asked, "broker"))},
    "move": lambda server, asked: {
        "step": server.move(_text(asked, "partition"), _number(asked, "to"))
    },
    "clients": lambda server, _: {"clients": _clients(server)},
    "requests": lambda server, asked: {"requests": _requests(server, asked)},
    "records": lambda server, asked: {"records": _records(server, asked)},
    "back": lambda server, asked: server.back(_number(asked, "step")),
    "step": lambda server, _: {"step": server.step, "kept": server.kept},
    "time-out": lambda server, asked: server.time_out(_text(asked, "transactional_id")),
    "polls": lambda server, _: {"polls": _list_requests(server.polls())},
    "end-polls": lambda server, _: {"ended": server.end_polls()},
    "line": lambda server, asked: server.log_line(_text(asked, "client"), _text(asked, "text")),
    "log": lambda server, _: {"log": list(server.log)},
    "save": lambda server, asked: server.save(_text(asked, "file")),
    "stop": lambda *_: None,
}


def answer(server: Server, asked: object) -> Line:
    """Carry out the command of one line and return the line that answers it."""
    try:
        if not isinstance(asked, dict) or not isinstance(asked.get("do"), str):
            raise ValueError('a line is a JSON object such as {"do": "held"}')  # noqa: TRY004
        do = DO.get(asked["do"])
        if do is None:
            like = ", ".join(nearest(asked["do"], DO))
            raise ValueError(f"unknown command {asked['do']!r}; the nearest are {like}")
        return {"ok": True} | (do(server, asked) or {})
    except (NotEnabled, TraceFileError, ValueError, OSError) as wrong:
        return {"ok": False, "error": str(wrong)}
    except Exception as mistake:  # noqa: BLE001  no line ends a server
        return {"ok": False, "error": why_not_handled(mistake)}
