"""Text that would run, end something early or turn around, for every place where text may stand."""

from __future__ import annotations

from typing import Any

HOSTILE = (
    "</script></svg></title></textarea><script>window.caught = 1</script>"
    "<img src=x onerror='window.caught = 1'><svg onload=\"window.caught = 1\">"
    "[go](javascript:window.caught=1) javascript:window.caught=1 \"\"\" ''' \\ {{payload}} ${caught}"
    " a\u2028b\u2029c\x00d\x1be\u202ef\u200fg\ud800h\r\ni`j|k;l#m%%{n}--> ]]> &lt;b&gt;"
)
# A piece of it that has to be seen as it is.
SEEN = "<script>window.caught = 1</script>"

# What names a thing for other parts of a payload, or is one of a few words.
_NAMES = {
    *("id", "from", "to", "lane", "card", "kind", "tone", "state", "status", "group", "mark"),
    *("pick", "head", "start", "actor", "node", "message", "parent", "format", "name", "goal"),
    *("rows", "see", "how", "line", "now", "machine"),
}
# Parts that are ours or that no text is read from: schemas, bytes, state machines, lessons.
_OURS = {"wire", "bytes", "machines", "lesson", "goals"}


def poison(value: Any, key: str = "") -> Any:
    """A payload with the hostile text behind every text that is only read by people."""
    if isinstance(value, dict):
        return {
            name: inner if name in _OURS else poison(inner, name) for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [poison(inner, key) for inner in value]
    if isinstance(value, str) and key not in _NAMES:
        return f"{value} {HOSTILE}"
    return value
