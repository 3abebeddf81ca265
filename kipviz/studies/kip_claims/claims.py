"""The claims of the KIPs, each as a row that a search judges.

A claim is stated in our words, with its clause. `under` names what is judged: the text as written, released Kafka, or
the repaired design; the same claim is judged once for each. Nothing here states the verdict: `judge_claims` computes it, with
the extent of the search.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.verdicts import (
    BREAKS,
    DesignVerdicts,
    PropertyVerdict,
    judge,
    property_named,
)
from kipviz.checking.search.explore import ProgressTold
from kipviz.checking.search.search_result import Bounds
from kipviz.core.values import Value

SMALL = "kip-1289-small"


class Claim(Value, frozen=True):
    """One guarantee: the claim, its clause, and the property and faults that test it.

    `until` names a property after whose violation the search stops: a record that is delivered twice is delivered again
    and again, and that state space has no end.
    """

    claim: str
    clause: str
    property: str
    faults: str
    under: tuple[str, ...] = ("as-written", "repaired")
    scenario: str = SMALL
    until: str = ""


class JudgedClaim(Value, frozen=True):
    """A claim under one design, judged."""

    claim: Claim
    judged: DesignVerdicts

    @property
    def cell(self) -> PropertyVerdict:
        """The cell of its property."""
        return self.judged.cell(self.claim.property)

    @property
    def where(self) -> str:
        """The extent of the verdict: scenario, faults, how much was searched, and up to where."""
        until = self.claim.until
        if not until or self.judged.cell(until).verdict != BREAKS:
            return self.judged.where
        return f"{self.judged.where}, followed up to where “{until}” breaks"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "A record is acknowledged if and only if its output is committed.",
        "KIP-1289 Motivation",
        "atomic",
        "",
        ("as-written", "as-written-broadcast", "finding-I", "repaired"),
    ),
    Claim(
        "Every staged record is resolved by the end of its transaction.",
        "KIP-1289 State machine additions",
        "no stuck transactions or records",
        "",
        ("as-written", "as-written-broadcast", "finding-I", "repaired"),
        until="atomic",
    ),
    Claim(
        "A lock that expires while a record is staged does no harm, because the late marker is ignored.",
        "KIP-1289 corner cases 6 and 13",
        "committed stays",
        "expire_lock=1",
        ("as-written", "finding-D", "repaired"),
    ),
    Claim(
        "No consumer can acquire a staged record.",
        "KIP-1289 State machine additions",
        "staged waits",
        "expire_lock=1",
        ("as-written", "finding-D", "repaired"),
    ),
    Claim(
        "An abort makes the records available again, with none lost and none acknowledged.",
        "KIP-1289 corner case 7, test plan",
        "abort undoes the acknowledgement",
        "time_out=1",
        until="atomic",
    ),
    Claim(
        "If the producer crashes, the coordinator times the transaction out and releases the staged records.",
        "KIP-1289 corner case 7",
        "no stuck transactions or records",
        "time_out=1",
        until="atomic",
    ),
    Claim(
        "A transaction has one outcome in every partition.",
        "KIP-98 Transactional Guarantees",
        "one outcome",
        "time_out=1",
        ("repaired",),
    ),
    Claim(
        "No batch is added to a transaction after its marker, so no transaction hangs.",
        "KIP-890 part 2",
        "nothing hangs",
        "time_out=1",
        (
            "repaired",
            "repaired+verification_guard=never_guarded",
            "repaired+epoch_check=no_epoch_is_refused+verification_guard=never_guarded",
        ),
    ),
    Claim(
        "A transaction is complete only when each of its partitions has the marker.",
        "KIP-98 Data flow 5.3",
        "complete means closed",
        "cut=1",
        ("repaired",),
    ),
    Claim(
        "The last stable offset advances when the transaction ends.",
        "KIP-98 Read Committed",
        "no stuck transactions or records",
        "",
        ("repaired",),
    ),
    Claim(
        "The database and Kafka have the same records, whenever the application crashes.",
        "KIP-939 Dual write",
        "stores agree",
        "crash_client=1",
        ("kip-939",),
        "kip-939-small",
    ),
    Claim(
        "The same with released Kafka, which has initTransactions() and no keepPreparedTxn.",
        "KIP-939 Dual write",
        "stores agree",
        "crash_client=1",
        ("kafka",),
        "kip-939-small-released",
    ),
    Claim(
        "Kafka ends a prepared transaction as the database has recorded it.",
        "KIP-939 completeTransaction",
        "prepared transactions have one outcome",
        "crash_client=2",
        ("kip-939", "kip-939+keep_prepared=the_same"),
        "kip-939-small",
    ),
    Claim(
        "A prepared transaction is not aborted by a time-out.",
        "KIP-939 transaction.max.timeout.ms",
        "stores agree",
        "crash_client=1,time_out=1",
        ("kip-939",),
        "kip-939-small",
    ),
    Claim(
        "Every prepared transaction ends, whenever a client crashes.",
        "KIP-939 completeTransaction",
        "no stuck transactions or records",
        "crash_client=1",
        ("kip-939",),
        "kip-939-small",
    ),
    Claim(
        "Two prepared participants can commit in any order.",
        "KIP-1310 4.5",
        "stores agree",
        "crash_client=1",
        ("kip-939",),
        "kip-939-small-kafka-first-undoes",
    ),
    Claim(
        "A producer and a share consumer with one session commit atomically.",
        "KIP-1310 4.2 'Atomic commit for both entities'",
        "atomic",
        "",
        ("kip-1310", "repaired"),
        "kip-1310-late-acknowledgement",
    ),
    Claim(
        "A session commits every record that its producer accepted before the commit.",
        "KIP-1310 2.1 commitTransaction, 4.4",
        "atomic",
        "",
        ("kip-1310", "kip-1310-unaware", "repaired"),
        "kip-1310-unsent-batch",
    ),
    Claim(
        "One session, one producer id, one epoch, regardless of how many clients use it.",
        "KIP-1310 6.2",
        "atomic",
        "",
        ("kip-1310-many-senders", "repaired"),
        "kip-1310-silent-loss",
    ),
    Claim(
        "A producer without an external session works as it does today.",
        "KIP-1310 5.1",
        "atomic",
        "time_out=1",
        ("kip-1310",),
        "kip-1310-produce-producer",
    ),
    Claim(
        "A transactional acknowledgement survives a change of the share-partition's leader.",
        "KIP-1289 corner cases 1 and 12",
        "transactional acknowledgements survive",
        "move_leader=1",
    ),
    Claim(
        "Two prepared stores have one outcome if the session is resumed with the state in the database.",
        "KIP-1310 2.1 resume(), 4.5",
        "stores agree",
        "crash_client=1",
        ("repaired",),
        "kip-1310-small-resumes",
    ),
    Claim(
        "The same with initialize(), which has no argument.",
        "KIP-1310 2.1 initialize()",
        "stores agree",
        "crash_client=1",
        ("repaired",),
        "kip-1310-small-initialize",
    ),
    Claim(
        "The same with an initialize() that keeps the prepared transaction, as in KIP-939.",
        "KIP-939 initTransactions(keepPreparedTxn)",
        "stores agree",
        "crash_client=1",
        ("repaired",),
        "kip-1310-small-keeps",
    ),
    Claim(
        "Offsets of a group and outputs of its producer are committed atomically.",
        "KIP-447 Motivation",
        "atomic",
        "",
        ("kip-447-first-draft", "kafka"),
        "kip-447-small-first-draft",
    ),
    Claim(
        "The same, whenever a member crashes.",
        "KIP-447 first draft, Proposed Changes",
        "atomic",
        "crash_client=1",
        ("kip-447-first-draft",),
        "kip-447-small-first-draft",
    ),
    Claim(
        "The group fences a member that has lost its partitions.",
        "KIP-447 'Fencing zombie'",
        "no zombie offset commits",
        "",
        ("kafka",),
        "kip-447-small-first-draft",
    ),
    Claim(
        "Clients with an older version of TxnOffsetCommit work as before.",
        "KIP-1319 Compatibility",
        "no zombie offset commits",
        "",
        ("kafka",),
        "kip-1319-remade-v5",
    ),
    Claim(
        "So do clients with transaction version 1.",
        "KIP-1319 Compatibility",
        "no zombie offset commits",
        "",
        ("kafka-tv1",),
        "kip-1319-remade-tv1",
    ),
    Claim(
        "A late batch of an ended transaction does not start a new one.",
        "KIP-890 Motivation",
        "nothing hangs",
        "request_timeout=1",
        ("kafka-tv0", "kafka"),
        "kip-890-small",
    ),
    Claim(
        "A late batch does not become part of the next transaction.",
        "KIP-890 part 2",
        "batch stays in its transaction",
        "request_timeout=1",
        ("kafka",),
        "kip-890-small",
    ),
    Claim(
        "A fenced producer commits nothing.",
        "KIP-98 Transactional Guarantees",
        "fenced producer cannot commit",
        "crash_client=1",
        ("kafka",),
        "kip-890-small",
    ),
)


def judge_claims(
    claims: tuple[Claim, ...] = CLAIMS,
    bounds: Bounds = Bounds(),  # noqa: B008  a value never changes
    progress: ProgressTold | None = None,
) -> Iterator[JudgedClaim]:
    """Judge claims one by one, each until it breaks; a caller may stop between two of them."""
    for claim in claims:
        asked = tuple(property_named(name) for name in (claim.property, claim.until) if name)
        bounds = bounds.but(breaks_max=len(asked))
        for design in claim.under:
            budget = budget_of(claim.faults)
            yield JudgedClaim(claim, judge(claim.scenario, design, budget, bounds, progress, asked))
