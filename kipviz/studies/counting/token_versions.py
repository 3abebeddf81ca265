"""With which version does a recovery end a transaction that was started with another one, or at the last epoch (B34)?

A job has written a transaction, its checkpoint contains the identity, and the process dies. The level of
transaction.version is changed or not, and then two recoveries in a row commit the same checkpoint, because the first
one dies before it can record the commit. The responses depend on the version of their EndTxn.
"""

from __future__ import annotations

from functools import partial

from kipviz.core.values import Value
from kipviz.messages.transactions.transactions import EndTxnResponse
from kipviz.records.transaction_state import LAST_CLIENT_EPOCH
from kipviz.scenarios.applications.programs import recover_by_reflection
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.setting import TRANSACTIONAL_ID
from kipviz.studies.counting.sessions import (
    BEGUN,
    LAST_BUT_ONE,
    WRITER_LOOP,
    by,
    list_sent,
    play_steps,
)
from kipviz.studies.review_findings.event_predicates import committed_values
from kipviz.studies.study import Part, Parts, Row, StoppedEarly, Tell

NO_ANSWER = "no answer"


class Situation(Value, frozen=True):
    """The level at which a transaction was started, the level at its recovery, and its epoch."""

    words: str
    begun: int
    now: int
    last_epoch: bool = False


SITUATIONS = (
    Situation("begun in version 1, and the cluster goes up to 2", 1, 2),
    Situation("begun in version 2, and the cluster goes down to 1", 2, 1),
    Situation("begun in version 2, at the last epoch of its producer id", 2, 2, last_epoch=True),
)


def versions_of(situation: Situation) -> tuple[tuple[str, int], ...]:
    """Return the rivals: the version with which each of them ends the transaction."""
    return (
        ("version 1, whatever it was (Flink today, by reflection)", 1),
        ("the version that the cluster has now", situation.now),
        ("the version in its token (FLINK-40689)", situation.begun),
    )


def answers(situation: Situation, version: int) -> tuple[str, str, str]:
    """Recover twice with a version; return both responses and what is committed in the end."""
    story = searched_scenario("kip-1310-flink-producer")
    writer, committer = story.spec.applications
    identity = (LAST_BUT_ONE.producer_id, LAST_CLIENT_EPOCH) if situation.last_epoch else (9, 0)
    token = f"{TRANSACTIONAL_ID} {identity[0]} {identity[1]} v{version}"
    recovery = recover_by_reflection(token)
    spec = story.spec.but(
        applications=(
            writer.but(program=WRITER_LOOP, max_records=1),
            committer.but(program=recovery),
        ),
        transactions=(LAST_BUT_ONE,) if situation.last_epoch else (),
        transaction_version=situation.begun,
        budget=story.spec.budget.but(upgrade=1, crash_client=2),
    )
    change = (
        (f"transaction.version {situation.now} is finalized",)
        if situation.now != situation.begun
        else ()
    )
    once = by("app-2", "goes on", "goes on", "quiet", "maybe app-2 goes on")
    trace = play_steps(
        spec,
        "kafka",
        (*BEGUN, "app-1 crashes", *change, *once, "app-2 crashes", "app-2 starts", *once),
    )
    said = [each.error.name for each in list_sent(trace, EndTxnResponse, "app-2")]
    first, second = (*said, NO_ANSWER, NO_ANSWER)[:2]
    return first, second, ", ".join(committed_values(trace.world, "output-A-0")) or "nothing"


def _play_situation(situation: Situation, tell: Tell) -> tuple[Row, ...]:
    rows = tuple(
        (situation.words, rival, *answers(situation, version))
        for rival, version in versions_of(situation)
    )
    if not tell(f"{len(rows)} recoveries, twice each"):
        raise StoppedEarly
    return rows


ANSWERS = Parts(
    (
        "the transaction",
        "it is ended in",
        "the first recovery hears",
        "the second one, for the same checkpoint",
        "committed in the end",
    ),
    tuple(Part(each.words, partial(_play_situation, each)) for each in SITUATIONS),
)
