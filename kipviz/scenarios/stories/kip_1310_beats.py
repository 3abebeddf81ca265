"""What the pairs of KIP-1310's use cases share: the two sides, what they call a thing, and beats."""

from __future__ import annotations

from kipviz.clients.application import Line
from kipviz.cluster.session_config import SessionSpec
from kipviz.cluster.spec import ApplicationSpec
from kipviz.core.values import Value
from kipviz.scenarios.script import Beat

BOUND = SessionSpec()
ALONE = SessionSpec(producers=())


class Side(Value, frozen=True):
    """One of the two designs of a pair: what the same thing is called there."""

    who: str
    init: str
    vote: str
    voter: str


TODAY = Side(
    "producer",
    "producer.initTransactions()",
    "producer.sendShareAcknowledgementsToTransaction()",
    "producer",
)
DRAFT = Side(
    "session",
    "session.initialize()",
    "shareConsumer.acknowledgeTransactionally(session)",
    "consumer",
)


def with_session(app: ApplicationSpec, program: tuple[Line, ...]) -> ApplicationSpec:
    """Give an application whose transactions are those of a session."""
    return app.but(session=BOUND, program=program)


def told(side: Side, *beats: Beat) -> tuple[Beat, ...]:
    """Give beats in the words of one side: {who}, {init}, {vote}, {voter}."""
    words = {name: getattr(side, name) for name in side.__struct_fields__}
    return tuple(
        Beat(
            beat.title.format(**words),
            beat.say.format(**words),
            tuple(step.format(**words) for step in beat.steps),
        )
        for beat in beats
    )


# -- beats that the pairs share ------------------------------------------------------------------

INIT = Beat(
    "{init}",
    "The {who} asks Broker 1, the coordinator of my-txn, for an identity: who had the name before "
    "is fenced.",
    ("app-1 goes on", "quiet", "app-1 goes on"),
)
BEGIN = Beat("{who}.beginTransaction()", "Purely local.", ("app-1 goes on",))
SEND = Beat(
    "producer.send(outputRecord)",
    "The records go out on the producer's connection, with the identity of the {who}. Broker 3 "
    "enlists output-A-0 before it appends them.",
    ("app-1 goes on", "quiet"),
)
PREPARED = Beat(
    "{who}.commitTransaction(): PREPARE_COMMIT",
    "Broker 1 logs the decision with the next epoch.",
    ("app-1 goes on", "until EndTxn arrives at B1"),
)
RETURNS = Beat(
    "commitTransaction() returns",
    "The answer carries the next epoch to the {who}. No marker is written yet.",
    ("EndTxnResponse arrives at app-1/{who}", "app-1 goes on"),
)
SHARE_POLL = Beat(
    "shareConsumer.poll()",
    "Broker 5 delivers offsets 100 and 101 and locks them for member M1.",
    ("app-1 goes on", "quiet", "app-1 goes on"),
)
GROUP_POLL = Beat(
    "consumer.poll()",
    "The consumer asks Broker 4 where its group left off, and Broker 5 for the records from there.",
    ("app-1 goes on", "quiet", "app-1 goes on"),
)
SHARE_MARKERS = Beat(
    "The markers",
    "Every participant gets its marker: the output is visible, the two records are acknowledged.",
    ("quiet", "maybe B5 refreshes src-0", "quiet"),
)
MARKERS = Beat(
    "The markers",
    "Every participant gets its marker, and the transaction is COMPLETE_COMMIT.",
    ("quiet",),
)
