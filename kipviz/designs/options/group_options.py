"""The options of KIP-447's slots: which role fences a zombie of a regular group, and which request has to wait.

There is an option for each known draft of the KIP, for Kafka since release 2.5, and for Kafka before it.
"""

from __future__ import annotations

from kipviz.designs.conditions import has_group_ids, has_members_that_join, is_gated, remakes_topics
from kipviz.designs.slot import DRAFT, OURS, SHIPPED, Option, Slot
from kipviz.messages.errors import Errors

Member = tuple[str, int]
FIRST_DRAFT = "KIP-447, first draft (page of June 2019; what a later diff takes out)"
FIRST_STABLE = 7

# -- pending_offset: What response does a consumer get while its group's offset is pending? --------


def unstable_if_asked(require_stable: bool, version: int) -> Errors:
    """UNSTABLE_OFFSET_COMMIT, if it asks for stable offsets; otherwise the committed offset."""
    return Errors.UNSTABLE_OFFSET_COMMIT if require_stable else Errors.NONE


def the_committed_one(require_stable: bool, version: int) -> Errors:
    """The committed offset: pending offsets are not checked."""
    return Errors.NONE


def pending_to_new_loading_to_old(require_stable: bool, version: int) -> Errors:
    """PendingTransactionException if it knows that error, otherwise COORDINATOR_LOAD_IN_PROGRESS, which it retries."""
    new = version >= FIRST_STABLE
    return Errors.PENDING_TRANSACTION if new else Errors.COORDINATOR_LOAD_IN_PROGRESS


# -- zombie_offsets: Is a producer's TxnOffsetCommit checked against the group's members? ----------


def members_only(error: Errors) -> Errors:
    """Yes: a former member, or one with another epoch or generation, is rejected."""
    return error


def anybody(error: Errors) -> Errors:
    """No: any producer with the group's id may commit for it."""
    return Errors.NONE


# -- group_metadata_gate: May a TxnOffsetCommit name a member before all brokers know of it? -------


def each_broker_for_itself(level: int) -> Errors:
    """Yes, if the broker knows that version: a connection reports it (ApiVersions)."""
    return Errors.NONE


def all_brokers_first(level: int) -> Errors:
    """Not before inter.broker.protocol.version is raised: until then a newer request is rejected."""
    return Errors.NONE if level else Errors.UNSUPPORTED_VERSION


# -- older_generation: Does the transaction coordinator serve a producer of an older generation? ---


def no_generation_is_known(generation: int, newest: int) -> Errors:
    """Yes: it checks the transactional id and its epoch, and knows no group."""
    return Errors.NONE


def only_the_newest_is_served(generation: int, newest: int) -> Errors:
    """No: once it knows a newer generation, older producers can only initialise again."""
    return Errors.PRODUCER_FENCED if generation < newest else Errors.NONE


# -- older_transaction: What happens to a transaction that an older generation left open? ----------


def it_stays_open() -> tuple[bool, bool]:
    """Nothing: its producer may end it, otherwise it times out."""
    return False, False


def it_is_aborted() -> tuple[bool, bool]:
    """It is aborted at once: its producer's requests are rejected, so only the coordinator can end it."""
    return True, True


def it_has_to_time_out() -> tuple[bool, bool]:
    """The new owner has to wait until it is complete, at the latest until its timeout."""
    return False, True


# -- name_beside_id: Is a topic with an unknown id looked up by a name beside the id? --------------


def ids_alone() -> bool:
    """No: a version has names or ids, never both, and an unknown id is UNKNOWN_TOPIC_ID."""
    return False


def names_too() -> bool:
    """Yes: the offset goes to the topic that now has the name."""
    return True


# -- producer_member: As which member does a producer send offsets? --------------------------------


def as_the_call_says(at_init: Member, now: Member, passed: Member) -> Member:
    """The member of the ConsumerGroupMetadata that every sendOffsetsToTransaction() gets."""
    return passed


def of_the_consumer_it_holds(at_init: Member, now: Member, passed: Member) -> Member:
    """The current member of the consumer that initTransactions(consumer) got."""
    return now


def as_it_was_at_init(at_init: Member, now: Member, passed: Member) -> Member:
    """The member and the generation of its InitProducerId; a new member needs a new call."""
    return at_init


def of_nobody(at_init: Member, now: Member, passed: Member) -> Member:
    """None: TxnOffsetCommit has no field for a member, only one for the group's id."""
    return ("", -1)


# -- init_joins: Does initTransactions() wait until the consumer has joined its group? -------------


def it_needs_no_consumer() -> bool:
    """No: it returns with the producer's identity, and the first poll() joins."""
    return False


def it_joins_first() -> bool:
    """Yes: it gets the consumer, lets it join, and returns when there is a generation."""
    return True


GROUP_SLOTS: tuple[Slot, ...] = (
    Slot(
        "pending_offset",
        "What response does a consumer get while its group's offset is pending?",
        "KIP-447",
        True,
        (
            Option(
                "unstable_if_asked", unstable_if_asked, SHIPPED, "OffsetFetch version 7, Kafka 2.5"
            ),
            Option("the_committed_one", the_committed_one, SHIPPED, "Kafka before 2.5"),
            Option(
                "pending_to_new_loading_to_old",
                pending_to_new_loading_to_old,
                DRAFT,
                "KIP-447, a middle version: Compatibility, Deprecation, and Migration Plan",
            ),
        ),
        has_members_that_join,
    ),
    Slot(
        "zombie_offsets",
        "Is a producer's TxnOffsetCommit checked against the group's members?",
        "KIP-447",
        True,
        (
            Option("members_only", members_only, SHIPPED, "TxnOffsetCommit version 3, Kafka 2.5"),
            Option("anybody", anybody, SHIPPED, "Kafka before 2.5"),
        ),
        has_members_that_join,
    ),
    Slot(
        "group_metadata_gate",
        "May a TxnOffsetCommit name a member before all brokers know of it?",
        "KIP-447",
        True,
        (
            Option(
                "each_broker_for_itself",
                each_broker_for_itself,
                SHIPPED,
                "ApiVersions; TxnOffsetCommit version 3 is bound to no release of the others",
            ),
            Option(
                "all_brokers_first",
                all_brokers_first,
                DRAFT,
                "KIP-447, both drafts: Compatibility, Deprecation, and Migration Plan",
            ),
        ),
        is_gated,
    ),
    Slot(
        "producer_member",
        "As which member does a producer send offsets?",
        "KIP-447",
        False,
        (
            Option(
                "as_the_call_says",
                as_the_call_says,
                SHIPPED,
                "KafkaProducer.sendOffsetsToTransaction(offsets, ConsumerGroupMetadata)",
            ),
            Option(
                "of_the_consumer_it_holds",
                of_the_consumer_it_holds,
                DRAFT,
                "KIP-447, the version compared with it: initTransactions(consumer)",
            ),
            Option(
                "as_it_was_at_init",
                as_it_was_at_init,
                DRAFT,
                "KIP-447, a middle version: group id in the producer's config, InitProducerId "
                "with group id and generation",
            ),
            Option("of_nobody", of_nobody, DRAFT, f"{FIRST_DRAFT}: TxnOffsetCommit is not changed"),
        ),
        has_members_that_join,
    ),
    Slot(
        "init_joins",
        "Does initTransactions() wait until the consumer has joined its group?",
        "KIP-447",
        False,
        (
            Option(
                "it_needs_no_consumer",
                it_needs_no_consumer,
                SHIPPED,
                "KafkaProducer.initTransactions() has no argument for a consumer",
            ),
            Option(
                "it_joins_first",
                it_joins_first,
                DRAFT,
                "KIP-447, the version compared with it: a blocking call until the consumer has joined",
            ),
        ),
        has_members_that_join,
    ),
    Slot(
        "older_generation",
        "Does the transaction coordinator serve a producer of an older generation?",
        "KIP-447",
        True,
        (
            Option(
                "no_generation_is_known",
                no_generation_is_known,
                SHIPPED,
                "TransactionCoordinator has no word of groups",
            ),
            Option(
                "only_the_newest_is_served",
                only_the_newest_is_served,
                DRAFT,
                f"{FIRST_DRAFT}: Fencing zombie",
            ),
        ),
        has_group_ids,
    ),
    Slot(
        "older_transaction",
        "What happens to a transaction that an older generation left open?",
        "KIP-447",
        True,
        (
            Option("it_stays_open", it_stays_open, SHIPPED, "OffsetFetch waits for it, Kafka 2.5"),
            Option(
                "it_is_aborted",
                it_is_aborted,
                OURS,
                f"{FIRST_DRAFT}: it has to be completed; as InitProducerId does for its own name",
            ),
            Option(
                "it_has_to_time_out",
                it_has_to_time_out,
                DRAFT,
                f"{FIRST_DRAFT}: checks which transactions need to be completed",
            ),
        ),
        has_group_ids,
    ),
    Slot(
        "name_beside_id",
        "Is a topic with an unknown id looked up by a name beside the id?",
        "KIP-1319",
        True,
        (
            Option("ids_alone", ids_alone, SHIPPED, "TxnOffsetCommit version 6, Kafka 4.4"),
            Option(
                "names_too",
                names_too,
                OURS,
                "KIP-1319, Rejected Alternatives: keeping topic names alongside topic ids; the KIP "
                "says redundant and ambiguous, not which of the two counts",
            ),
        ),
        remakes_topics,
    ),
)
