"""The debated questions that the model cannot answer yet, each with what it would need.

They stand beside the studies, so that the list of questions is complete and nobody takes a missing
answer for a good one.
"""

from __future__ import annotations

from kipviz.core.values import Value


class NotYet(Value, frozen=True):
    """A question without an answer, and what the model lacks for one."""

    name: str
    question: str
    needs: str


NOT_YET: tuple[NotYet, ...] = (
    NotYet(
        "B21",
        "Is one time-out enough, or does a session need a heartbeat?",
        "a clock for heartbeats: untimed, a coordinator may give up whoever beats",
    ),
)
