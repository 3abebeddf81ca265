"""The studies, by the numbers under which our review lists the questions.

A rival is the repaired design with one alternative, so that an answer is about that alternative. "As the text says it"
quotes KIP-1289 as of 2026; "as Kafka does" is 4.4.0.
"""

from __future__ import annotations

from functools import partial

from kipviz.checking.single_run.seeded_run import PROGRAM, Task, run
from kipviz.core.outside.suggestions import unknown_of
from kipviz.designs.options.options import UnknownDesign
from kipviz.properties.atomic import Atomic
from kipviz.properties.expectations import PollGoesOn
from kipviz.properties.pending import NothingPending
from kipviz.records.placement import partition_for, share_partition_key
from kipviz.studies.counting import (
    counted,
    databases,
    producers,
    rolling,
    share_counts,
    two_phase,
    zombies,
)
from kipviz.studies.counting.versions import VERSION_STUDIES
from kipviz.studies.draft_implementation import implementation
from kipviz.studies.session_library import SESSION_STUDIES
from kipviz.studies.study import Part, Parts, Rival, Row, StoppedEarly, Study, Tell
from kipviz.studies.test_plan import chaos, cost, rollout
from kipviz.studies.timed import aborted_batch, latency, lock_end, takeover
from kipviz.studies.timed.marker_hops import hops_of
from kipviz.studies.timed.one_timeout import ONE_TIMEOUT
from kipviz.studies.timed.time_limits import DELIVERIES, TIME_LIMITS

ATOMIC = Atomic.name
LIVE = NothingPending.name
GOES_ON = PollGoesOn.name
STATE_PARTITIONS = 50
TOPIC_ID = "SRC-ID"
SEEDS = range(40)


class UnknownStudy(UnknownDesign):
    """No study has this name."""


def _participants() -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Count the partitions of `__share_group_state` that one transaction has to reach."""
    rows = []
    for count in (1, 10, 60):
        keys = [share_partition_key("g1", TOPIC_ID, index) for index in range(count)]
        by_key = len({partition_for(key, STATE_PARTITIONS) for key in keys})
        outside = sum(
            partition_for(key, STATE_PARTITIONS) != partition_for("g1", STATE_PARTITIONS)
            for key in keys
        )
        rows.append((str(count), "1", str(by_key), str(outside)))
    heads = (
        "share-partitions acknowledged",
        "participants by group id (the text)",
        "participants by share-partition (Kafka)",
        "states that the text's marker misses",
    )
    return heads, tuple(rows)


def _counts(label: str, task: tuple[str, str, str], seeds: range, tell: Tell) -> tuple[Row, ...]:
    """Run a scenario, a design and a kind of faults with some seeds, and count what breaks."""
    scenario, design, faults = task
    verdicts = []
    for seed in seeds:
        verdicts.append(run(Task(scenario, design, faults, seed)))
        if not tell(f"{len(verdicts)} of {len(seeds)} seeded runs"):
            raise StoppedEarly
    # Some rivals are programs, so a violation that only the program causes counts here, too.
    broken = [v for v in verdicts if v.status in {"breaks", PROGRAM}]
    first = f"seed {broken[0].task.seed}: {broken[0].reason}" if broken else ""
    committed = sum(v.transactions for v in verdicts)
    return ((label, design, str(len(verdicts)), str(committed), str(len(broken)), first),)


def _runs(
    scenario: str, faults: str, rivals: tuple[tuple[str, str], ...], seeds: range = SEEDS
) -> Parts:
    return _runs_of(tuple((*rival, scenario) for rival in rivals), faults, seeds)


def _runs_of(rivals: tuple[tuple[str, str, str], ...], faults: str, seeds: range = SEEDS) -> Parts:
    heads = ("rival", "design", "seeded runs", "committed transactions", "broken runs", "the first")
    return Parts(
        heads,
        tuple(
            Part(label, partial(_counts, label, (scenario, design, faults), seeds))
            for label, design, scenario in rivals
        ),
    )


# Which host adds the partition of a transactional acknowledgement to the transaction: a broker that asks another one,
# or itself, or the client.
ENLISTERS = (
    Rival("the coordinator, over the wire", "repaired", faults="request_timeout=1"),
    Rival("the own broker", "repaired+enlistment=own_broker"),
    Rival(
        "the client adds it",
        "repaired+enlistment=nobody",
        "kip-1289-small-client-adds",
        "request_timeout=1",
    ),
)
# How many transactions commit.
ENLISTING = _runs_of(
    tuple((rival.label, rival.design, rival.scenario or "kip-1289-small") for rival in ENLISTERS),
    "calm",
)

# How often a record has two committed outputs if its lock expires while it is staged.
TWO_OWNERS = _runs(
    "kip-1289-two-members",
    "rough",
    (
        ("staged records cannot be acquired", "repaired"),
        ("the lock runs on", "repaired+lock_expiry=back_to_available"),
    ),
)

# What happens to repeated batches if sequences are not checked.
REPETITIONS = _runs(
    "kip-1289-group-commit",
    "hostile",
    (
        ("sequences are checked", "kafka"),
        ("switched off", "kafka+sequence_check=sequences_are_ignored"),
    ),
    range(120),
)


def _slot(label: str, **choices: str) -> Rival:
    words = "".join(f"+{slot}={option}" for slot, option in choices.items())
    return Rival(label, f"repaired{words}")


# Where a marker may be sent (B2).
DESTINATIONS = (
    _slot(
        "broadcast on the brokers that a marker reaches",
        staged_acks="memory_only",
        participant="nowhere",
        marker_reach="every_one_on_the_broker",
    ),
    _slot(
        "the same, and the partition of the group id is added (the text)",
        staged_acks="memory_only",
        participant="state_partition_by_group",
        marker_reach="every_one_on_the_broker",
    ),
    _slot("to the share coordinator, which has the acknowledgement and is asked"),
    _slot(
        "to the share coordinator, which tells the leader of the source",
        outcome_news="the_coordinator_tells",
    ),
)

STUDIES: tuple[Study, ...] = (
    Study(
        "B1",
        "Which marker may resolve a transactional acknowledgement: one with the same epoch, or a higher one?",
        "KIP-1289 'Per-record fencing by (producerId, producerEpoch)'; KIP-890 'EndTxn v5'",
        "Whether the record ever leaves TX_PENDING.",
        "kip-1289-small",
        "",
        (ATOMIC, LIVE),
        (
            _slot("the same epoch (the text)", marker_epoch="equal"),
            _slot("the same or a higher one", marker_epoch="at_least"),
            _slot("a higher one", marker_epoch="greater"),
        ),
    ),
    Study(
        "B2",
        "Where must the marker go: to the broker with the record in memory, or to the log with the acknowledgement?",
        "KIP-1289 'WriteTxnMarkers … broadcasts to all SharePartition instances on that broker'",
        "Whether the record leaves TX_PENDING when its leader, the partition of the group id and "
        "the share coordinator are on three brokers, and after how many messages between brokers.",
        "kip-1289-small-apart",
        "",
        (ATOMIC, LIVE),
        DESTINATIONS,
        beside=hops_of(DESTINATIONS),
    ),
    Study(
        "B3",
        "How many participants does a transaction have that acknowledges many share-partitions?",
        "KIP-1289 'partitionFor(groupId)'; SharePartitionKey in Kafka 4.4.0",
        "Share state is placed by group, topic id and partition, so one transaction reaches up to "
        "as many state partitions as it acknowledges share-partitions; by the group id alone it "
        "would reach one, and miss the others.",
        counting=_participants,
    ),
    Study(
        "B4",
        "May a marker be appended to __share_group_state without its coordinator?",
        "KIP-1289 'no ShareCoordinatorShard changes'; KafkaApis.handleWriteTxnMarkersRequest, "
        "CoordinatorRuntime 'out of sync with the underlying log' (Kafka's trunk)",
        "Whether the coordinator ever learns the outcome: its next write finds it out of step, receives "
        "NOT_COORDINATOR, and the whole partition is read again, for all groups on it.",
        "kip-1289-small",
        "",
        (ATOMIC, LIVE),
        (
            _slot("appended behind its back (the text, and Kafka)", state_marker="behind_its_back"),
            _slot("through the coordinator, as the group coordinator has it"),
        ),
    ),
    Study(
        "B5",
        "Is a partition added to the transaction by a local call, or by a request to the transaction coordinator?",
        "KIP-1289 'Flow', txnCoordinator.handleAddPartitionsToTransaction; AddPartitionsToTxnManager",
        "On its own broker the share-partition leader seldom finds the coordinator of the "
        "transaction, and then no staging succeeds. A client that sends AddPartitionsToTxn itself, as with KIP-98, saves "
        "the request between brokers; under transaction version 2 the marker fences a late acknowledgement. But it has "
        "to know the topic's id and the number of partitions of __share_group_state, and no text gives it either.",
        "kip-1289-small",
        "",
        (ATOMIC, LIVE),
        ENLISTERS,
        beside=ENLISTING,
    ),
    Study(
        "B6",
        "Is everything visible when commitTransaction() returns?",
        "KIP-1289 'the true synchronisation point'; TransactionCoordinator.endTransaction",
        "Kafka's coordinator responds as soon as the decision is logged, so the producer goes on while the record is "
        "TX_PENDING and the output is not visible yet. A coordinator that responds at COMPLETE_COMMIT (slot "
        "end_txn_response, our inference) makes every output visible first, and the share-partition leader may still not "
        "know the outcome. The consumers' side waits in each of them: read_committed stops at the last stable offset, and "
        "no member acquires a record that is TX_PENDING. The times are those of one round without faults.",
        counting=counted.window,
        timing=cost.responses,
    ),
    Study(
        "B7",
        "How does the share consumer learn that a record was acknowledged through the producer?",
        "KIP-1289 'Pseudo code'; ShareConsumerImpl, both acknowledgement modes",
        "In implicit mode, whether the next poll() accepts records whose transaction is not "
        "committed. In explicit mode, whether it throws IllegalStateException.",
        "kip-1289-small",
        "time_out=1",
        (ATOMIC, LIVE, GOES_ON),
        (
            _slot("implicit: it does not, and accepts all (the text)", next_poll="accept_all"),
            _slot(
                "implicit: it leaves the staged ones and accepts the rest",
                next_poll="accept_the_unstaged",
            ),
            _slot("implicit: it leaves the staged ones and releases the rest"),
            Rival(
                "explicit: it does not, and poll() wants acknowledge() (the text)",
                "repaired+explicit_mode=only_acknowledge_does",
                "kip-1289-small-explicit",
            ),
            Rival(
                "explicit: a staged record is acknowledged", "repaired", "kip-1289-small-explicit"
            ),
        ),
    ),
    Study(
        "B8",
        "What happens if the acquisition lock expires while the record is TX_PENDING?",
        "KIP-1289 corner cases 6 and 13",
        "Whether another member gets a record whose output is or will be committed; on the timed clock "
        "also whether a healthy transaction that is slower than the lock still commits.",
        "kip-1289-small",
        "expire_lock=1",
        (ATOMIC, LIVE),
        (
            _slot("the record is free again (the text)", lock_expiry="back_to_available"),
            _slot("it waits for the transaction's end"),
            _slot(
                "its timer passes it by and is not set again (Kafka's timer)",
                lock_expiry="noticed_by_nobody",
            ),
        ),
        beside=lock_end.PARTS,
    ),
    Study(
        "B9",
        "Must a transactional acknowledgement be durable before the producer receives the response?",
        "KIP-1289 corner cases 1 and 12, '__share_group_state schema unchanged'",
        "Whether a record with a committed output is delivered again after its leader moved.",
        "kip-1289-small",
        "move_leader=1",
        (ATOMIC,),
        (
            _slot("in memory only (the text)", staged_acks="memory_only"),
            _slot("in the share coordinator's log"),
        ),
    ),
    Study(
        "B10",
        "Does an abort return a record to the member that held it, or make it available?",
        "KIP-1289 javadoc 'ACQUIRED' against its test plan 'AVAILABLE'",
        "Whether the record is lost to the implicit acknowledgement of the next poll().",
        "kip-1289-small",
        "time_out=1",
        (ATOMIC, LIVE),
        (
            _slot("held again (the javadoc)", abort_target="acquired"),
            _slot(
                "held again, and the next poll() accepts all",
                abort_target="acquired",
                next_poll="accept_all",
            ),
            _slot("free (the test plan)"),
        ),
        timing=latency.abort_delays,
    ),
    Study(
        "B11",
        "Does an aborted transaction use up a delivery attempt of its records?",
        "KIP-932 group.share.delivery.count.limit; KIP-1289 test plan",
        "The number of outcomes in which a record is archived although no processing of it has failed: one transaction "
        "is aborted, one lock may expire, and a record may be delivered twice. The difference between the rows is the "
        "cost of the abort: what remains if an aborted delivery does not count comes from the lock and from releases. "
        "The second table has a batch of 100 with one poison record: from half the limit on, Kafka delivers a batch in "
        "smaller parts, and a record alone before its last attempt, so the others survive if the limit leaves room for "
        "it. A poison record that an abort releases past the limit is never archived, and blocks the records after it. "
        "To count a delivery only when a lock expires or a member releases would have the same result there.",
        parts=counted.ATTEMPTS,
        beside=aborted_batch.PARTS,
    ),
    Study(
        "B23",
        "What prevents the append of a verified batch after the abort marker?",
        "KIP-890 'VerificationGuard'; KIP-1228",
        "Whether a transaction hangs: a batch behind its marker that no request will end.",
        "kip-1289-small",
        "time_out=1",
        (LIVE,),
        (
            _slot("the guard and the epoch check (Kafka)"),
            _slot("the epoch check alone", verification_guard="never_guarded"),
            _slot("the guard alone", epoch_check="no_epoch_is_refused"),
            _slot(
                "neither",
                verification_guard="never_guarded",
                epoch_check="no_epoch_is_refused",
            ),
        ),
    ),
    Study(
        "B24",
        "Can two transactions acknowledge the same record?",
        "KIP-1289 corner case 6, 're-acquirable'",
        "If a staged record's lock expires, another member acquires it and both outputs are committed.",
        parts=TWO_OWNERS,
    ),
    Study(
        "B28",
        "Is a zombie fenced in a share group as reliably as in a consumer group?",
        "KIP-447 'Fence zombie'; KIP-848 member epochs; KIP-1289 corner case 6",
        "At how many moments of its transaction a process may pause, lose its partition or its "
        "lock to another member, and do harm when it goes on.",
        counting=zombies.zombies,
    ),
    Study(
        "B25",
        "What if one broker accepts its part of an acknowledgement and another rejects its part?",
        "KIP-1289 'Flow - Share Group'; partial results are not written",
        "The refusal makes the transaction abort, which frees what was staged elsewhere: no ending has "
        "one record of the two. Until the abort the staged one is locked.",
        counting=share_counts.split,
    ),
    Study(
        "B30",
        "What happens to a rejected record in a transaction if the group has a dead-letter queue?",
        "KIP-1289 'REJECT'; KIP-1191",
        "With the acknowledgement in the log the copy is made once the commit is known, at least once; an abort "
        "copies nothing. A copy that is itself an output of the transaction is there exactly once.",
        counting=share_counts.follow_rejected,
    ),
    Study(
        "B31",
        "Can a share group deadlock with the transaction that it is part of?",
        "KIP-932 'share.isolation.level'; KIP-1289 'Motivation'",
        "A member that writes to the topic it reads, and polls inside its transaction: a "
        "read_committed group waits for its own end, until the transaction times out.",
        counting=share_counts.loop,
    ),
    Study(
        "chaos",
        "What if a broker crashes at some step around the decision?",
        "KIP-1289 'Test Plan', chaos tests",
        "The commit flow is played, and at each of its steps from the staging to the end each broker "
        "crashes once, in a run of its own; then everything goes on by itself. The readings as written break the same "
        "flow without a crash, too, when the lock expires: their rows are no evidence about crashes.",
        parts=chaos.PARTS,
    ),
    Study(
        "share database",
        "Can a share group, an output and a database commit atomically, whichever process crashes?",
        "KIP-1289 'Follow-up KIP', databases as participants; KIP-939 dual write (our inference)",
        "A loop that stages, prepares and lets its database decide is run to its end. In other runs the application or "
        "a broker crashes once, at each of its steps. The table also has the two requirements: prepareTransaction() "
        "waits for the transactional acknowledgement, and the acknowledgement survives the process.",
        parts=databases.PARTS,
    ),
    Study(
        "rollout",
        "Which client works with which cluster?",
        "KIP-1289 'Cross-Version Client/Broker Matrix'",
        "Each cell is a run of one round. A broker without the code and one below the level look the "
        "same to a client; a client that was connected before the level was finalized is the cell "
        "that the text does not have.",
        counting=rollout.matrix,
    ),
    Study(
        "rolling",
        "Who is served at which stage of a rolling upgrade to KIP-1289, and back?",
        "KIP-1289 'Rolling Upgrade' and 'Downgrade'; KIP-584",
        "One run: brokers of 4.4 get the new binary one after the other, the level is finalized, the "
        "client connects again, and all of it back. The level is refused until the last broker has the "
        "code, and a client learns of it only with a new connection.",
        counting=rolling.stages,
    ),
    Study(
        "verification",
        "From which broker on does a rolling upgrade keep late batches out?",
        "KIP-890 part 1, Compatibility; AddPartitionsToTxnManager",
        "A batch arrives after its transaction was aborted, for each pair of binaries of coordinator "
        "and leader. It takes both: a leader that verifies goes on unverified where the coordinator "
        "does not know the question.",
        counting=rolling.verification,
    ),
    Study(
        "cost",
        "What does a transactional acknowledgement cost beside a plain one?",
        "KIP-1289 'Test Plan', system and performance tests",
        "One round of the loop with two records: messages, bytes as the schemas write them, appends, and "
        "how long it takes from poll() on. As written, no marker resolves the records. In the repaired "
        "design the durable acknowledgement replaces the ordinary write; added are a request to the coordinator, a marker "
        "and a look-up, which delays the acknowledgement and not the commit.",
        timing=cost.table,
        timing_of=cost.table_of,
    ),
    Study(
        "lock-end",
        "What does an acquisition lock that ends before its transaction cost?",
        "KIP-1289 corner cases 6 and 13; group.share.record.lock.duration.ms, transaction.timeout.ms",
        "Two members and one record, followed for two minutes or until the record is acknowledged. A member whose commit is refused "
        "ends, as Kafka's producer does on INVALID_TXN_STATE. Counted: how often its output is committed, deliveries, how long it is "
        "TX_PENDING, messages, bytes as the schemas write them, appends. Study B8 has the searches.",
        timing=lock_end.costs,
        work_ms=lock_end.WORK_MS,
    ),
    Study(
        "redelivery",
        "How long does a record wait for its next delivery after an abort or a crash?",
        "KIP-1289 'Test Plan', 'Abort -> AVAILABLE'; KIP-932 acquisition lock; KIP-447",
        "From abortTransaction(), or from the crash of a process whose acknowledgement is staged, to the "
        "poll() that returns the record again. An acknowledgement that outlives its process waits for "
        "transaction.timeout.ms, unless the process starts again and initTransactions() aborts it.",
        timing=latency.redelivery,
    ),
    Study(
        "producers",
        "What does a producer for every task cost against one for every thread?",
        "KIP-447 Motivation and Rejected Alternatives ('Producer Pooling', 'multiple transactional ids')",
        "Objects, connections and requests grow with the partitions, or they do not: counted from the "
        "runs of one thread that reads two records of each partition.",
        counting=producers.scaling,
    ),
    Study(
        "takeover",
        "How long is a partition idle when its owner is paused?",
        "KIP-447, three versions: first draft, 'Shrink transactional.timeout', OffsetFetch version 7",
        "From the last sign of the old owner to the first records of the new one, on a timed clock on "
        "which messages take no time: until the session expires, and until nothing is pending.",
        counting=takeover.takeover,
    ),
    Study(
        "sequences",
        "What breaks first when a log does not look at sequences?",
        "KIP-98 'Idempotent Producer Guarantees'; ProducerAppendInfo.checkSequence",
        "A batch that is sent again after a broken connection is in the log twice.",
        parts=REPETITIONS,
    ),
    ONE_TIMEOUT,
    TIME_LIMITS,
    DELIVERIES,
    *implementation.STUDIES,
    *two_phase.STUDIES,
    *VERSION_STUDIES,
    *SESSION_STUDIES,
)


def study(name: str) -> Study:
    """Find a study by name, such as "B8".

    Raises:
        UnknownStudy: if there is none; the message lists the known studies.
    """
    asked = str(name).strip().lower()
    for known in STUDIES:
        if known.name.lower() == asked:
            return known
    raise UnknownStudy(unknown_of("study", "studies", name, (s.name for s in STUDIES)))
