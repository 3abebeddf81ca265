"""The options for the exchange between a consumer and a producer about a staging (KIP-1289, draft).

The draft's producer gets a snapshot of the member's metadata and has no reference to the consumer. So there is no
exchange; the options that `Slot.written` names show the consequences.
"""

from __future__ import annotations

from kipviz.designs.conditions import holds_several_partitions, prepares_staged, stages_explicitly
from kipviz.designs.options.implementation_options import EARLY
from kipviz.designs.slot import DRAFT, OURS, SHIPPED, Option, Slot
from kipviz.messages.errors import Errors

# -- poll_before_staging: May poll() be called in a transaction before the batch is staged? --------


def all_of_it_is_staged(batch: tuple[int, ...], said: tuple[int, ...]) -> bool:
    """Only when every record of the batch is staged: otherwise a record delivered again produces a second output."""
    return all(offset in said for offset in batch)


def at_any_time(batch: tuple[int, ...], said: tuple[int, ...]) -> bool:
    """At any time: poll() knows no transaction."""
    return True


# -- poll_while_staging: Does poll() wait for the response to a staging? ---------------------------


def until_it_is_answered(unanswered: bool) -> bool:
    """It waits: a record whose staging is unanswered may still be delivered again."""
    return unanswered


def without_waiting(unanswered: bool) -> bool:
    """It does not wait: the producer stages, and the producer is another client."""
    return False


# -- dropped_staging: Who holds a record whose staging was rejected, or abandoned with its transaction? --


def the_consumer_has_it_back() -> bool:
    """The consumer's: its next poll() returns it again."""
    return True


def taken_for_staged() -> bool:
    """No client's: the consumer counts it as staged, and the broker waits for its lock to expire."""
    return False


# -- stage_parts: What happens to the staged records when another partition of the request is rejected? --


def each_for_itself(results: tuple[Errors, ...]) -> bool:
    """It stays staged: the transaction has to be aborted, and that ends it everywhere."""
    return False


def all_or_none(results: tuple[Errors, ...]) -> bool:
    """It is ACQUIRED again before the response is sent."""
    return any(error is not Errors.NONE for error in results)


# -- explicit_mode: In explicit mode, has the application acknowledged a record that it has staged? --


def staging_acknowledges(staged: tuple[int, ...]) -> tuple[int, ...]:
    """Yes: a staged record counts as acknowledged, and the next poll() continues."""
    return staged


def only_acknowledge_does(staged: tuple[int, ...]) -> tuple[int, ...]:
    """No: only acknowledge() does, and the next poll() throws IllegalStateException."""
    return ()


# -- prepare_waits: What does prepareTransaction() wait for? ---------------------------------------


def for_every_acknowledgement(unanswered: bool) -> bool:
    """It also waits for the responses to all stagings: a prepared transaction can be committed."""
    return unanswered


def for_batches_alone(unanswered: bool) -> bool:
    """It flushes batches only: a staging may be rejected after the database has decided."""
    return False


STAGING_SLOTS: tuple[Slot, ...] = (
    Slot(
        "poll_before_staging",
        "May poll() be called in a transaction before the batch is staged?",
        "X24",
        False,
        (
            Option("all_of_it_is_staged", all_of_it_is_staged, OURS, "finding X24"),
            Option("at_any_time", at_any_time, SHIPPED, "KafkaShareConsumer.poll, 4.4"),
        ),
        written="at_any_time",
    ),
    Slot(
        "poll_while_staging",
        "Does poll() wait for the response to a staging?",
        "X25",
        False,
        (
            Option("until_it_is_answered", until_it_is_answered, DRAFT, f"finding X25; {EARLY}"),
            Option(
                "without_waiting",
                without_waiting,
                DRAFT,
                "KIP-1289 Public Interfaces, 'returns after enqueueing'",
            ),
        ),
        written="without_waiting",
    ),
    Slot(
        "dropped_staging",
        "Who holds a record whose staging was rejected, or abandoned with its transaction?",
        "X26",
        False,
        (
            Option("the_consumer_has_it_back", the_consumer_has_it_back, OURS, "finding X26"),
            Option(
                "taken_for_staged",
                taken_for_staged,
                DRAFT,
                "KIP-1289 Pseudo code, 'Records will be re-delivered on next poll()' of the broker",
            ),
        ),
        written="taken_for_staged",
    ),
    Slot(
        "stage_parts",
        "What happens to the staged records when another partition of the request is rejected?",
        "Q",
        True,
        (
            Option("each_for_itself", each_for_itself, DRAFT, f"finding Q; {EARLY}"),
            Option("all_or_none", all_or_none, DRAFT, "KIP-1289 corner case 11"),
        ),
        only_with=holds_several_partitions,
        written="all_or_none",
    ),
    Slot(
        "explicit_mode",
        "In explicit mode, has the application acknowledged a record that it has staged?",
        "X27",
        False,
        (
            Option("staging_acknowledges", staging_acknowledges, OURS, "finding X27"),
            Option(
                "only_acknowledge_does",
                only_acknowledge_does,
                SHIPPED,
                "ShareConsumerImpl.collect, 'All records must be acknowledged', 4.4",
            ),
        ),
        only_with=stages_explicitly,
        written="only_acknowledge_does",
    ),
    Slot(
        "prepare_waits",
        "What does prepareTransaction() wait for?",
        "KIP-939",
        False,
        (
            Option(
                "for_every_acknowledgement",
                for_every_acknowledgement,
                DRAFT,
                f"KIP-1289 Follow-up KIP, with KIP-939; {EARLY}: the call that stages blocks",
            ),
            Option(
                "for_batches_alone", for_batches_alone, SHIPPED, "KafkaProducer.prepareTransaction"
            ),
        ),
        only_with=prepares_staged,
        written="for_batches_alone",
    ),
)
