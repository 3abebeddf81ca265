"""Tones and signs: how a verdict and a state look besides their words, so that no colour stands alone.

A tone belongs to a value, never to the words in which it is shown.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from kipviz.checking.judging import verdicts
from kipviz.clients.groups.consumer_coordinator import MemberState as ClassicState
from kipviz.clients.groups.consumer_membership import MemberState
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.properties.verdict import BROKEN as IS_BROKEN
from kipviz.properties.verdict import HOLDS as IS_KEPT
from kipviz.properties.verdict import PENDING as IS_PENDING
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState

# -- verdicts ------------------------------------------------------------------------------------

KEPT, VIOLATED, OPEN, IDLE = "✓", "✗", "…", "○"

Tone: TypeAlias = Literal["", "holds", "breaks", "open"]
SIGNS: dict[Tone, str] = {"": "", "holds": KEPT, "breaks": VIOLATED, "open": OPEN}
"""The sign of a verdict in a table; "open" is not decided, or not judged."""
SIGN_OF_STATUS = {IS_KEPT: KEPT, IS_PENDING: OPEN, IS_BROKEN: VIOLATED}
"""The sign of a property's status at a step."""
TONE_OF_VERDICT: dict[str, Tone] = {
    verdicts.HOLDS: "holds",
    verdicts.SO_FAR: "open",
    verdicts.BREAKS: "breaks",
    verdicts.NOT_DECIDED: "open",
}
"""The tone of a search's verdict on a property."""

# -- states --------------------------------------------------------------------------------------

CALM, PENDING, DONE, WARNING, BROKEN, GONE = (
    "calm",
    "pending",
    "done",
    "warning",
    "broken",
    "gone",
)
MARKS = {DONE: f"{KEPT} ", WARNING: "△ ", BROKEN: "⚠ ", GONE: f"{VIOLATED} "}
"""The marks before the words of a state in a picture."""
TONE_OF_STATE = {
    TransactionState.PREPARE_COMMIT: PENDING,
    TransactionState.PREPARE_ABORT: PENDING,
    TransactionState.COMPLETE_COMMIT: DONE,
    TransactionState.COMPLETE_ABORT: WARNING,
}
"""The tone of a step that moves a transaction."""
TONE_OF_RECORD = {
    RecordState.TX_PENDING: PENDING,
    RecordState.ACKNOWLEDGED: DONE,
    RecordState.ARCHIVING: WARNING,
    RecordState.ARCHIVED: WARNING,
}
TONE_OF_MEMBER: dict[MemberState | ClassicState, str] = {
    MemberState.FENCED: WARNING,
    MemberState.FATAL: BROKEN,
    ClassicState.UNJOINED: WARNING,
}
TONE_OF_PRODUCER = {
    ProducerState.ABORTABLE_ERROR: WARNING,
    ProducerState.FATAL_ERROR: BROKEN,
}


def tone_of_transaction(state: TransactionState) -> str:
    """Return the tone of a transaction's state on its coordinator's card: one that was aborted is at rest there."""
    return CALM if state is TransactionState.COMPLETE_ABORT else TONE_OF_STATE.get(state, CALM)
