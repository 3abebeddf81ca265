"""The programs that real clients run in the simulated cluster and at real brokers: one list for both.

A line is an actor, its call and the call's arguments; the programs in `clients/` carry them out. The actor `cluster` is
what happens in between. A name in braces is another one in each run at the real brokers, which keep their topics.
"""

from __future__ import annotations

from dataclasses import dataclass, field

PYTHON, C, JAVA = "kafka-python", "librdkafka", "java"
CLIENTS = (PYTHON, C, JAVA)
CLUSTER = "cluster"


@dataclass(frozen=True)
class Program:
    """A program, and the clients that cannot run it, each with the reason.

    If it `searches`, what a client asks in vain is not compared: whom it asks first, while the brokers agree on a new
    coordinator, depends on the moment.
    """

    name: str
    text: str
    without: dict[str, str] = field(default_factory=dict)
    searches: bool = False

    @property
    def steps(self) -> list[str]:
        """Its lines."""
        return [line.strip() for line in self.text.splitlines() if line.strip()]


BEGUN = """
    p open {t}
    p init
    p begin
    p send {orders} one
"""
# The two records that consumers read are committed by another producer.
TWO_RECORDS = """
    w open {w}
    w init
    w begin
    w send {orders} one
    w send {orders} two
    w commit
"""
NEXT_TRANSACTION = """
    p begin
    p send {orders} two
    p commit
"""
RELEASED = """
    s share-poll RELEASE
    s share-commit
"""


def _consume(protocol: str, end: str) -> str:
    """A record is read, processed, and its offset committed or not; the next member of the group goes on from there."""
    return f"""{TWO_RECORDS}
    p consume {protocol} {{group}} {{orders}}
    p poll
    p open {{t}}
    p init
    p begin
    p send {{results}} from-one
    p send-offsets
    p {end}
    p stop-consuming
    q consume {protocol} {{group}} {{orders}}
    q poll
    q stop-consuming
"""


def _leave_and_commit(protocol: str) -> str:
    """A member leaves its group and then commits offsets in a transaction with what it knew of the group."""
    return f"""{TWO_RECORDS}
    p consume {protocol} {{group}} {{orders}}
    p poll
    p open {{t}}
    p init
    p begin
    p send {{results}} from-one
    p stop-consuming
    p send-offsets
    p commit
    p abort
    {NEXT_TRANSACTION}
    q committed {{group}} {{orders}}
"""


NO_KIP_848 = {PYTHON: "kafka-python 3.0.12 has the classic group protocol alone"}
NO_SHARES = {
    PYTHON: "kafka-python 3.0.12 has no share consumer",
}
PROGRAMS = (
    Program(
        "commit-and-abort",
        f"""{BEGUN}
    p commit
    p begin
    p send {{orders}} two
    p abort
    p begin
    p commit
    p begin
    p send {{orders}} three
    p commit
""",
    ),
    Program(
        "offsets-by-group-name",
        f"""{BEGUN}
    p offsets {{group}} {{orders}} 7
    q committed {{group}} {{orders}}
    p commit
    cluster settle {{t}}
    q committed {{group}} {{orders}}
    p begin
    p offsets {{group}} {{orders}} 9
    p abort
    cluster settle {{t}}
    q committed {{group}} {{orders}}
""",
    ),
    Program("offsets-classic-commit", _consume("classic", "commit")),
    Program("offsets-classic-abort", _consume("classic", "abort")),
    Program("offsets-consumer-commit", _consume("consumer", "commit"), NO_KIP_848),
    Program("offsets-consumer-abort", _consume("consumer", "abort"), NO_KIP_848),
    Program("member-left-classic", _leave_and_commit("classic")),
    Program("member-left-consumer", _leave_and_commit("consumer"), NO_KIP_848),
    Program(
        "zombie-commits",
        f"""{BEGUN}
    q open {{t}}
    q init
    p commit
    p abort
    q begin
    q send {{orders}} of-the-heir
    q commit
""",
    ),
    Program(
        "zombie-sends",
        f"""{BEGUN}
    q open {{t}}
    q init
    p send {{orders}} late
    p commit
    p abort
    q begin
    q send {{orders}} of-the-heir
    q commit
""",
    ),
    Program(
        "zombie-commits-offsets",
        f"""{BEGUN}
    q open {{t}}
    q init
    p offsets {{group}} {{orders}} 7
    p commit
    p abort
    q committed {{group}} {{orders}}
""",
    ),
    Program(
        "zombie-begins-again",
        f"""{BEGUN}
    p commit
    q open {{t}}
    q init
    p begin
    p send {{orders}} late
    p commit
    p abort
    q begin
    q send {{orders}} of-the-heir
    q commit
""",
    ),
    Program(
        "readers-skip-aborted-records",
        f"""{BEGUN}
    p abort
    {NEXT_TRANSACTION}
    r consume classic {{group}} {{orders}}
    r poll
    r stop-consuming
""",
    ),
    Program(
        "lost-answer-to-a-commit",
        f"""{BEGUN}
    cluster lose-answer EndTxn
    p commit
    {NEXT_TRANSACTION}
""",
    ),
    Program(
        "lost-answer-to-an-abort",
        f"""{BEGUN}
    cluster lose-answer EndTxn
    p abort
    {NEXT_TRANSACTION}
""",
    ),
    Program(
        "lost-request-to-commit",
        f"""{BEGUN}
    cluster lose-request EndTxn
    p commit
    {NEXT_TRANSACTION}
""",
    ),
    Program(
        "lost-answer-to-offsets",
        f"""{BEGUN}
    cluster lose-answer TxnOffsetCommit
    p offsets {{group}} {{orders}} 7
    p commit
    cluster settle {{t}}
    q committed {{group}} {{orders}}
""",
    ),
    Program(
        "lost-answer-to-a-send",
        f"""{BEGUN}
    cluster lose-answer Produce
    p send {{orders}} again
    p commit
    {NEXT_TRANSACTION}
""",
    ),
    Program(
        "lost-answer-to-init",
        """
    p open {t}
    cluster lose-answer InitProducerId
    p init
    p begin
    p send {orders} one
    p commit
""",
    ),
    Program(
        "coordinator-moves",
        f"""{BEGUN}
    cluster move-coordinator {{t}}
    p commit
    {NEXT_TRANSACTION}
""",
    ),
    Program(
        "coordinator-crashes",
        f"""{BEGUN}
    cluster crash-coordinator {{t}}
    p commit
    {NEXT_TRANSACTION}
""",
        {PYTHON: "commit_transaction() of kafka-python 3.0.12 does not return; a test of its own"},
        searches=True,
    ),
    Program(
        "leader-moves",
        f"""{BEGUN}
    cluster move-leader {{orders}}
    p send {{orders}} after
    p commit
""",
    ),
    Program(
        "transaction-times-out",
        """
    p open {t} 3000
    p init
    p begin
    p send {orders} one
    cluster time-out {t}
    p commit
    p abort
    p begin
    p send {orders} two
    p commit
""",
    ),
    Program(
        "send-after-a-time-out",
        """
    p open {t} 3000
    p init
    p begin
    p send {orders} one
    cluster time-out {t}
    p send {orders} late
    p commit
    p abort
    cluster rest
    p begin
    p send {orders} two
    p commit
""",
    ),
    Program(
        "share-release-and-accept",
        f"""{TWO_RECORDS}
    cluster share-from-the-start {{group}}
    s share-open {{group}} {{orders}}
    s share-poll RELEASE
    s share-commit
    s share-poll ACCEPT
    s share-commit
    s share-close
""",
        NO_SHARES,
    ),
    Program(
        "share-reject-and-the-next-member",
        f"""{TWO_RECORDS}
    cluster share-from-the-start {{group}}
    s share-open {{group}} {{orders}}
    s share-poll REJECT,RELEASE
    s share-commit
    s share-close
    v share-open {{group}} {{orders}}
    v share-poll ACCEPT
    v share-commit
    v share-close
""",
        NO_SHARES,
    ),
    Program(
        "share-unacknowledged",
        f"""{TWO_RECORDS}
    cluster share-from-the-start {{group}}
    s share-open {{group}} {{orders}}
    s share-poll ACCEPT,none
    s share-again
    s share-close
    v share-open {{group}} {{orders}}
    v share-poll ACCEPT
    v share-commit
    v share-close
""",
        NO_SHARES,
    ),
    Program(
        "share-delivery-limit",
        f"""{TWO_RECORDS}
    cluster share-from-the-start {{group}}
    s share-open {{group}} {{orders}}
    {5 * RELEASED}
    w begin
    w send {{orders}} three
    w commit
    s share-poll ACCEPT
    s share-commit
    s share-close
""",
        NO_SHARES,
    ),
    Program(
        "share-lost-answer",
        f"""{TWO_RECORDS}
    cluster share-from-the-start {{group}}
    s share-open {{group}} {{orders}}
    s share-poll ACCEPT
    cluster lose-answer ShareAcknowledge
    s share-commit
    w begin
    w send {{orders}} three
    w commit
    s share-poll ACCEPT
    s share-commit
    s share-close
""",
        NO_SHARES,
    ),
    Program(
        "share-leader-moves",
        f"""{TWO_RECORDS}
    cluster share-from-the-start {{group}}
    s share-open {{group}} {{orders}}
    s share-poll ACCEPT
    cluster move-leader {{orders}}
    s share-commit
    s share-poll ACCEPT
    s share-commit
    w begin
    w send {{orders}} three
    w commit
    s share-poll ACCEPT
    s share-commit
    s share-close
""",
        NO_SHARES,
    ),
)


def programs_of(client: str) -> list[Program]:
    """Return the programs that a client can run."""
    return [each for each in PROGRAMS if client not in each.without]
