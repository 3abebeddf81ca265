"""The options of KIP-447's slots: who keeps a zombie of a regular group out, and who has to wait.

Both drafts of the KIP that are known, what Kafka ships since 2.5, and what there was before.
"""

from __future__ import annotations

from kipviz.designs.slot import DRAFT, SHIPPED, Option, Slot
from kipviz.messages.errors import Errors

Member = tuple[str, int]
# What a cluster has to have for these questions to come up: members that come and go.
MEMBERS = "members"
# Or brokers that do not all know of members yet.
GATED = "gated"
FIRST_STABLE = 7

# -- pending_offset: what is a consumer told whose group's offset is pending? ---------------------


def unstable_if_asked(require_stable: bool, version: int) -> Errors:
    """UNSTABLE_OFFSET_COMMIT, if it asks for stable offsets; else the offset that is committed."""
    return Errors.UNSTABLE_OFFSET_COMMIT if require_stable else Errors.NONE


def the_committed_one(require_stable: bool, version: int) -> Errors:
    """The offset that is committed: nobody looks at what is pending."""
    return Errors.NONE


def pending_to_new_loading_to_old(require_stable: bool, version: int) -> Errors:
    """PendingTransactionException if it knows that error, else "loading", which it tries again."""
    new = version >= FIRST_STABLE
    return Errors.PENDING_TRANSACTION if new else Errors.COORDINATOR_LOAD_IN_PROGRESS


# -- zombie_offsets: is a producer's TxnOffsetCommit held against the group? -----------------------


def members_only(error: Errors) -> Errors:
    """Yes: a member that is none any more, or of another epoch or generation, is refused."""
    return error


def anybody(error: Errors) -> Errors:
    """No: whoever has the group's id may commit for it."""
    return Errors.NONE


# -- group_metadata_gate: may a TxnOffsetCommit name a member of its group? ------------------------


def each_broker_for_itself(level: int) -> Errors:
    """Yes, if the broker knows that version: a connection tells it (ApiVersions)."""
    return Errors.NONE


def all_brokers_first(level: int) -> Errors:
    """Not before inter.broker.protocol.version is raised: until then a newer request is refused."""
    return Errors.NONE if level else Errors.UNSUPPORTED_VERSION


# -- producer_member: in whose name does a producer send offsets? ---------------------------------


def as_the_call_says(at_init: Member, now: Member, passed: Member) -> Member:
    """That of the ConsumerGroupMetadata that every sendOffsetsToTransaction() is given."""
    return passed


def of_the_consumer_it_holds(at_init: Member, now: Member, passed: Member) -> Member:
    """That of the consumer which initTransactions(consumer) was given, as it stands now."""
    return now


def as_it_was_at_init(at_init: Member, now: Member, passed: Member) -> Member:
    """The member and the generation that InitProducerId was sent with; a new one needs a new call."""
    return at_init


GROUP_SLOTS: tuple[Slot, ...] = (
    Slot(
        "pending_offset",
        "What is a consumer told whose group's offset is pending?",
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
        MEMBERS,
    ),
    Slot(
        "zombie_offsets",
        "Is a producer's TxnOffsetCommit held against the group's members?",
        "KIP-447",
        True,
        (
            Option("members_only", members_only, SHIPPED, "TxnOffsetCommit version 3, Kafka 2.5"),
            Option("anybody", anybody, SHIPPED, "Kafka before 2.5"),
        ),
        MEMBERS,
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
        GATED,
    ),
    Slot(
        "producer_member",
        "In whose name does a producer send offsets?",
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
        ),
        MEMBERS,
    ),
)

# What every design has that is not about KIP-447: what Kafka ships.
SHIPPED_GROUPS: dict[str, str] = {slot.name: slot.options[0].name for slot in GROUP_SLOTS}
