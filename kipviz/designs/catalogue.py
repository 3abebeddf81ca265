"""The named designs, and how a name is resolved to a design."""

from __future__ import annotations

from kipviz.core.outside.suggestions import unknown
from kipviz.designs.design import Design
from kipviz.designs.findings import CHANGES
from kipviz.designs.former_names import current_slot
from kipviz.designs.options.implementation_options import EARLY, LATE, MIDDLE
from kipviz.designs.options.options import SLOTS, UnknownDesign
from kipviz.designs.options.session_options import SESSION_CHANGES, WRITTEN

REPAIRED = Design(
    "repaired",
    "KIP-1289, repaired",
    "our inference",
    "The share coordinator writes the transactional acknowledgement to its log before the share-partition leader confirms it. The partition of that log is the participant, and only the end of the transaction releases the record.",
    "the findings of our review of KIP-1289 (draft of 2026)",
    tuple((slot.name, slot.options[0].name) for slot in SLOTS),
)

AS_WRITTEN = Design(
    "as-written",
    "KIP-1289 as written",
    "draft",
    "TX_PENDING is kept in memory. Each broker that receives a marker applies it to every record with the staged epoch. An expired lock releases the record.",
    "KIP-1289, state Voting; where its text contradicts itself: registered participant (Flow), abort to ACQUIRED (javadoc), the participant added at the transaction coordinator",
    tuple((slot.name, slot.as_written) for slot in SLOTS),
)

KAFKA = Design(
    "kafka",
    "Kafka 4.4.0 as it is",
    "shipped",
    "Producers and regular consumer groups have transactions. A share group cannot take part in one, so the questions of KIP-1289 do not arise.",
    "Kafka 4.4.0, transaction version 2, share version 2",
    AS_WRITTEN.chosen,
    stages_shares=False,
    sessions=False,
)


KIP_939 = Design(
    "kip-939",
    "KIP-939, two-phase commit",
    "draft",
    "Kafka 4.4.0 plus KIP-939: InitProducerId can keep an open transaction. The producer then asks an external database whether to commit or abort it.",
    "KIP-939 (accepted; version 6 of InitProducerId is unstable, keepPreparedTxn is pull request "
    "21735, open)",
    KAFKA.but(keep_prepared="next_epoch").chosen,
    stages_shares=False,
    sessions=False,
)

KIP_1309 = Design(
    "kip-1309",
    "KIP-1309, heartbeats of transactions",
    "draft",
    "KIP-939, and the coordinator aborts a transaction after three heartbeat intervals without a heartbeat. The text makes no exception for a two-phase commit.",
    "KIP-1309 (draft, revision 3), KAFKA-20381; on KIP-939",
    KIP_939.but(liveness="every_transaction").chosen,
    stages_shares=False,
    sessions=False,
)


def _older(name: str, title: str, sentence: str, source: str, **levels: int | bool) -> Design:
    """Return Kafka with older levels of its features: the same slots in another cluster."""
    pairs = tuple(sorted(levels.items()))
    return Design(
        name,
        title,
        "shipped",
        sentence,
        source,
        KAFKA.chosen,
        KAFKA.stages_shares,
        KAFKA.sessions,
        pairs,
    )


def _reading(name: str, title: str, sentence: str, **choices: str) -> Design:
    """Return another reading of the same text."""
    other = AS_WRITTEN.but(**choices)
    return Design(name, title, "draft", sentence, AS_WRITTEN.source, other.chosen)


def _finding(name: str, title: str, sentence: str, **choices: str) -> Design:
    """Return the repaired design with one slot as the KIP writes it: a single finding."""
    other = REPAIRED.but(**choices)
    return Design(name, title, "our inference", sentence, REPAIRED.source, other.chosen)


KIP_1310 = Design(
    "kip-1310",
    "KIP-1310 as written",
    "our inference",
    "A TransactionSession with exactly the methods on the page. It does not know its bound producers, so it neither waits for their batches nor learns of their failures.",
    "KIP-1310, under discussion, on the repaired KIP-1289",
    REPAIRED.but(**WRITTEN, silence="one_session_timeout").chosen,
)


def _make_iteration(name: str, title: str, sentence: str, source: str, **choices: str) -> Design:
    """Return an iteration of the draft implementation: what its source shows, otherwise what the KIP says."""
    chosen = AS_WRITTEN.but(**choices)
    return Design(name, title, chosen.status, sentence, source, chosen.chosen)


# The choices in which all iterations of the draft implementation differ from the text.
_IMPLEMENTED = {
    "participant": "state_partition_by_key",
    "abort_target": "available",
    "member_epoch": "whatever_it_is",
    "stage_parts": "each_for_itself",
    "poll_while_staging": "until_it_is_answered",
    "prepare_waits": "for_every_acknowledgement",
}
DRAFT_EARLY = _make_iteration(
    "draft-early",
    "KIP-1289 as first implemented: in memory (draft implementation, seen in source)",
    "The transactional acknowledgement is in the share-partition leader's memory. The leader adds the participant at the coordinator "
    "object of its own broker. A marker resolves acknowledgements on the broker that receives it, before it is appended, and the share coordinator does not learn of it. The lock's only timer finds the record staged.",
    f"{EARLY}; what becomes of the lock timer is our reading",
    **_IMPLEMENTED,
    enlistment="own_broker",
    lock_expiry="noticed_by_nobody",
    state_marker="behind_its_back",
    marker_hook="before_the_append",
)
DRAFT_MIDDLE = _make_iteration(
    "draft-middle",
    "KIP-1289 as implemented next: a persisted transactional acknowledgement (draft implementation, seen in source)",
    "The leader adds the participant and writes the acknowledgement as delivery state 5 before it responds. Staging cancels the lock's timer. A marker for a state partition resolves the acknowledgements with exactly its epoch in the memory of the broker that receives it, which then writes the outcome in another state write.",
    f"{MIDDLE}; how the outcome passes the merge, and which correction lets its tests commit under transaction "
    "version 2, is not known: read literally here",
    **_IMPLEMENTED,
    staged_acks="share_group_state",
    lock_expiry="pinned_until_marker",
    marker_hook="for_state_markers_alone",
    outcome_write="keeps_the_acknowledgement",
)
DRAFT_LATE = _make_iteration(
    "draft-late",
    "KIP-1289 as implemented last: the share coordinator resolves (draft implementation, seen in source)",
    "The acknowledgement is delivery state 5 as before. The marker goes to the share coordinator, which completes the records. The share-partition leader reads the state again and applies the outcome.",
    f"{LATE}; the coordinator's epoch rule is not known: the narrowest one that lets its tests commit",
    **_IMPLEMENTED | {"member_epoch": "the_current_or_the_one_before"},
    staged_acks="share_group_state",
    lock_expiry="pinned_until_marker",
    marker_reach="none_of_them",
    marker_epoch="equal_or_next",
    pending_resolver="share_coordinator_completes",
    outcome_join="replaces",
    unanswered_acknowledgement="stays_pending",
)


def _of_session(name: str, title: str, sentence: str, choices: dict[str, str]) -> Design:
    """Return the repaired design with one open point of KIP-1310: a single finding."""
    source = "KIP-1310, under discussion, on the repaired KIP-1289"
    return Design(name, title, "our inference", sentence, source, REPAIRED.but(**choices).chosen)


def _of_kip_447(
    name: str,
    title: str,
    status: str,
    sentence: str,
    levels: tuple[tuple[str, int | bool], ...] = (),
    **choices: str,
) -> Design:
    """Return Kafka with regular groups as they were, or as a draft of KIP-447 proposed them."""
    source = f"{KAFKA.source}; KIP-447, {title}"
    chosen = KAFKA.but(**choices).chosen
    shipped = (KAFKA.stages_shares, KAFKA.sessions)
    return Design(name, title, status, sentence, source, chosen, *shipped, levels=levels)


BEFORE_447 = _of_kip_447(
    "before-447",
    "Kafka before KIP-447",
    "shipped",
    "The group coordinator checks neither members when a producer sends offsets nor pending offsets when a consumer fetches them. One producer per partition has to fence its predecessor (exactly_once, until 2.5).",
    pending_offset="the_committed_one",
    zombie_offsets="anybody",
)
TWO_VERSIONS_1319 = Design(
    "kip-1319-two-versions",
    "KIP-1319, rejected: two versions of TxnOffsetCommit instead of one",
    "our inference",
    "Version 6 adds the specific errors, version 7 the topic ids. The KIP says only that one version is enough. One version avoids a release in between: its brokers support version 6 and return a specific error for an epoch, but a request still names a topic by its name.",
    "KIP-1319, Rejected Alternatives",
    KAFKA.chosen,
    KAFKA.stages_shares,
    KAFKA.sessions,
    (("topic_ids_from", 7),),
)
FIRST_DRAFT_447 = _of_kip_447(
    "kip-447-first-draft",
    "KIP-447, first draft (page of June 2019): the transaction coordinator knows the group",
    "our inference",
    "The group id is a producer config, and one coordinator serves all producers of the group. After every rebalance a producer sends its generation and its partitions with InitProducerId. The coordinator first ends the open transactions of older generations on these partitions, and rejects their producers from then on. It runs on transaction version 0, as Kafka did then. That the coordinator aborts open transactions at once, instead of waiting for their timeout, is our inference.",
    (
        ("partition_verification", False),
        ("transaction_version", 0),
        ("transactional_group_id", True),
    ),
    pending_offset="the_committed_one",
    zombie_offsets="anybody",
    group_metadata_gate="all_brokers_first",
    producer_member="of_nobody",
    older_generation="only_the_newest_is_served",
    older_transaction="it_is_aborted",
)
GROUP_ID_CONFIG = _of_kip_447(
    "kip-447-group-id",
    "KIP-447, a middle version: the group id is a producer config",
    "draft",
    "The producer takes its group from its configuration, and its member and generation as they were at InitProducerId. After a rebalance it has to initialize again. A consumer that fetches a pending offset gets PendingTransactionException; an older consumer gets COORDINATOR_LOAD_IN_PROGRESS and retries.",
    pending_offset="pending_to_new_loading_to_old",
    group_metadata_gate="all_brokers_first",
    producer_member="as_it_was_at_init",
)
INIT_WITH_CONSUMER = _of_kip_447(
    "kip-447-init-consumer",
    "KIP-447, the version beside it: initTransactions(consumer)",
    "draft",
    "The producer holds a reference to the consumer, waits until the consumer has joined its group (classic protocol), and sends offsets with the consumer's current member id and generation. transaction.timeout.ms is 10 s unless it is configured.",
    (("transaction_timeout_ms", 10_000),),
    producer_member="of_the_consumer_it_holds",
    init_joins="it_joins_first",
    group_metadata_gate="all_brokers_first",
)

CATALOGUE: tuple[Design, ...] = (
    KAFKA,
    BEFORE_447,
    FIRST_DRAFT_447,
    TWO_VERSIONS_1319,
    GROUP_ID_CONFIG,
    INIT_WITH_CONSUMER,
    KIP_939,
    KIP_1309,
    _older(
        "kafka-tv1",
        "Kafka, transaction version 1",
        "A client adds partitions to its transaction itself, and an epoch lasts for many transactions. Before the first batch of a transaction, the partition leader asks the coordinator whether the partition was added (KIP-890 part 1).",
        "Kafka 4.4.0 with transaction.version 1; the same requests as Kafka 3.6 and later",
        transaction_version=1,
    ),
    _older(
        "kafka-tv0",
        "Kafka, transaction version 0, nothing verified",
        "The first releases of KIP-98: a client adds partitions to its transaction itself, and a partition leader appends every batch with the current epoch without asking the coordinator.",
        "Kafka 0.11 to 3.5; Kafka 4.4.0 with transaction.version 0 and "
        "transaction.partition.verification.enable=false",
        transaction_version=0,
        partition_verification=False,
    ),
    REPAIRED,
    _finding(
        "finding-I",
        "repaired, but markers must carry the staged epoch",
        "Only a marker with exactly the staged epoch resolves an acknowledgement, but transaction version 2 bumps the epoch with the decision.",
        marker_epoch="equal",
    ),
    _finding(
        "finding-D",
        "repaired, but the lock runs on",
        "The acquisition lock of a staged record expires as usual, and the share-partition leader releases the record.",
        lock_expiry="back_to_available",
    ),
    AS_WRITTEN,
    _reading(
        "as-written-broadcast",
        "KIP-1289 as written, no participant",
        "The other reading: the coordinator does not track share-partitions at all and relies on the broadcast of its markers.",
        participant="nowhere",
    ),
    _reading(
        "as-written-available",
        "KIP-1289 as written, abort to AVAILABLE",
        "The other reading: an abort makes staged records AVAILABLE, as the test plan says.",
        abort_target="available",
    ),
    _reading(
        "as-written-local",
        "KIP-1289 as written, a local call adds the partition",
        "The literal reading: the share-partition leader calls the coordinator object on its own "
        "broker, which seldom coordinates this transaction.",
        enlistment="own_broker",
    ),
    DRAFT_EARLY,
    DRAFT_MIDDLE,
    DRAFT_LATE,
    KIP_1310,
    *(_of_session(*change) for change in SESSION_CHANGES),
)

# A design for each finding of the review that a design can show; they are found by name, not listed.
FINDINGS: tuple[Design, ...] = (
    *(_finding(name, title, sentence, **choices) for name, title, sentence, choices in CHANGES),
    # A level belongs to the cluster, not to a slot.
    Design(
        "finding-X9",
        "repaired, but share.version 2 turns it on",
        "our inference",
        "Every broker that has the code uses it as soon as share.version 2 (dead-letter queues) is finalized. No separate feature level has to be finalized.",
        REPAIRED.source,
        REPAIRED.chosen,
        levels=(("staging_level", 2),),
    ),
)


# The designs that a reader has proposed, by name, as long as the process lives.
_registered: dict[str, Design] = {}


def register_design(proposed: Design) -> None:
    """Register a reader's own design under its name in this process; a later one replaces it.

    Raises:
        ValueError: if the catalogue has a design with that name.
    """
    if any(known.name == proposed.name for known in (*CATALOGUE, *FINDINGS)):
        raise ValueError(f"a design {proposed.name!r} already exists: choose another name")
    _registered[proposed.name] = proposed


def to_propose(wrong: UnknownDesign, name: str) -> str:
    """Return the error for a file or link whose design is unknown: no code in it is run."""
    base = name.partition("+")[0]
    if is_design(base):
        return str(wrong)
    return f"{wrong} If it is a reader's own design, run kipviz.propose({base!r}, ...) first."


def registered_designs() -> tuple[Design, ...]:
    """Return the designs that a reader has registered in this process, in the order of their names."""
    return tuple(_registered[name] for name in sorted(_registered))


def is_design(name: str) -> bool:
    """Return whether there is a design of that name, or its base."""
    base = str(name).partition("+")[0]
    return any(known.name == base for known in (*CATALOGUE, *FINDINGS, *_registered.values()))


def design(name: str) -> Design:
    """Return a design by name, or one derived from it: "repaired", "repaired+lock_expiry=back_to_available".

    Raises:
        UnknownDesign: if there is no such design, slot or option.
    """
    base, *choices = str(name).split("+")
    for known in (*CATALOGUE, *FINDINGS, *_registered.values()):
        if known.name == base:
            break
    else:
        names = (d.name for d in (*CATALOGUE, *FINDINGS, *_registered.values()))
        asked = base if isinstance(name, str) else name
        raise UnknownDesign(unknown("design", asked, names, "`kipviz list`"))
    chosen: list[str] = []
    for choice in choices:
        slot, equals, option = choice.partition("=")
        if not equals:
            raise UnknownDesign(f"{choice!r} is not of the form slot=option")
        slot = current_slot(slot)
        if slot in chosen:
            raise UnknownDesign(f"the slot {slot!r} is named twice")
        chosen.append(slot)
        known = known.but(**{slot: option})
    return known
