"""A payload as a log for ShiViz: an event for each step, with the vector clock of its host.

The first line is the regular expression with which ShiViz reads the log; the second one is empty, which means that the
log is of one execution. With a message its receiver learns what its sender knew. If a step on one host makes another
host send (a crash that a coordinator notices), the other host has its own event after it. What happens to no single
host, such as a leader change, is an event of the host "cluster".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from kipviz.views.page_parts import Shown

# An event has two lines: its host with the clock as JSON, and its text.
EXPRESSION = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"
CLUSTER = "cluster"

_UNSEEN = re.compile("[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")


def shiviz(payload: Shown) -> str:
    """Return the main branch of a payload as a log for ShiViz."""
    lines = [EXPRESSION, ""]
    for host, clock, text in events(payload):
        lines += [f"{host} {json.dumps(clock)}", text]
    return "\n".join(lines) + "\n"


def events(payload: Shown) -> Iterator[tuple[str, dict[str, int], str]]:
    """Yield the events of the main branch: host, vector clock and text."""
    clocks: dict[str, dict[str, int]] = {}
    sent: dict[str, dict[str, int]] = {}
    for k, step in enumerate(payload["steps"]):
        if not k:
            continue
        begun = [m for m in payload["messages"] if m["sent"] == k]
        actor = step["actor"] or CLUSTER
        arrived = [m["id"] for m in payload["messages"] if m["arrived"] == k and m["to"] == actor]
        first = _tick(clocks, actor, [sent[message] for message in arrived])
        yield actor, first, f"{k}. {_one_line(step['title'])}"
        sent |= {m["id"]: first for m in begun if m["from"] == actor}
        for host in dict.fromkeys(m["from"] for m in begun if m["from"] != actor):
            here = [m for m in begun if m["from"] == host]
            clock = _tick(clocks, host, [first])
            yield host, clock, f"{k}. sends {_one_line(', '.join(m['label'] for m in here))}"
            sent |= {m["id"]: clock for m in here}


def _tick(
    clocks: dict[str, dict[str, int]], host: str, heard: Sequence[Mapping[str, int]]
) -> dict[str, int]:
    """Count one more event on a host that has learnt the other clocks; return its clock."""
    clock = dict(clocks.get(host, {}))
    for other in heard:
        for name, count in other.items():
            clock[name] = max(clock.get(name, 0), count)
    clock[host] = clock.get(host, 0) + 1
    clocks[host] = clock = dict(sorted(clock.items()))
    return clock


def _one_line(text: str) -> str:
    return _UNSEEN.sub("\ufffd", " ".join(text.split()))
