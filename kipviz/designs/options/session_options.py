"""The options of TransactionSession (KIP-1310): what the KIP says, what it leaves open, and repairs."""

from __future__ import annotations

from collections.abc import Sequence

from kipviz.clients.rules import ThreadEntry
from kipviz.core.table import Table
from kipviz.designs.conditions import has_session, has_session_beside_id, has_session_of_threads
from kipviz.designs.slot import DRAFT, OURS, Option, Slot

Counted = Table[str, int]

# -- session_commit: For which clients does the EndTxn of a session wait? --------------------------


def for_all_unsent_work(unsent: tuple[str, ...]) -> tuple[str, ...]:
    """It waits until every bound client has sent its requests and knows their results."""
    return unsent


def for_nobody(unsent: tuple[str, ...]) -> tuple[str, ...]:
    """It waits for no client: a producer knows its session, but the session knows no producer."""
    return ()


# -- session_failure: Does a failure of a bound client also fail the session? ----------------------


def shared_failure() -> bool:
    """Yes: the session enters the error state, and its transaction can only be aborted."""
    return True


def separate_failure() -> bool:
    """No: the producer is in its error state, and the session can commit the records that arrived."""
    return False


# -- session_identity: What does a bound producer adopt when its session gets the next identity? ---


def at_once_from_zero(refused: bool) -> tuple[bool, bool]:
    """The next identity as soon as the session has it, with sequences from 0."""
    return True, True


def at_once_counting_on(refused: bool) -> tuple[bool, bool]:
    """The next identity as soon as the session has it; the producer's sequences continue."""
    return True, False


def when_refused(refused: bool) -> tuple[bool, bool]:
    """The next identity only after a batch under the old one was rejected."""
    return refused, refused


# -- session_sequences: Who counts the records that several producers of a session send to a partition? --


def counted_together(counted: Sequence[Counted]) -> tuple[Counted, ...]:
    """The session: every producer continues where the last one stopped."""
    most: dict[str, int] = {}
    for each in counted:
        for partition, count in each.items():
            most[partition] = max(count, most.get(partition, 0))
    together = Counted.of(dict(sorted(most.items())))
    return tuple(together for _ in counted)


def counted_apart(counted: Sequence[Counted]) -> tuple[Counted, ...]:
    """Each producer for itself."""
    return tuple(counted)


# -- session_producers: How many producers may be bound to a session? ------------------------------


def one_producer(bound: int) -> bool:
    """One: a second one is rejected with an IllegalStateException."""
    return bound == 0


def any_number_of_producers(bound: int) -> bool:
    """Any number of them."""
    return True


# -- resumed_send: May a producer that is bound to a resumed session send? -------------------------


def a_resumed_session_only_ends() -> bool:
    """No: it was resumed to be committed or aborted, as in KIP-939."""
    return False


def a_resumed_session_goes_on() -> bool:
    """Yes: it is in its transaction, and a producer may be bound to it."""
    return True


# -- resumed_complete: May completeTransaction(state) be called on a resumed session? --------------


def against_its_identity() -> bool:
    """Yes: it compares the state with the identity that it was resumed with."""
    return True


def only_when_prepared() -> bool:
    """No: a resumed session is IN_TRANSACTION, and only a prepared transaction can be completed."""
    return False


# -- session_timeout: What does a session send its coordinator as transaction.session.timeout.ms? --


def a_third_as_interval(timeout_ms: int, interval_ms: int) -> int:
    """The interval of its heartbeats, a third of the timeout: KIP-1309 has a field for it."""
    return interval_ms


def the_timeout_itself(timeout_ms: int, interval_ms: int) -> int:
    """The timeout itself: it is the setting that the session has."""
    return max(timeout_ms, 0)


# -- session_enlist: Below transaction version 2: which partitions does a session add to its transaction? --


def what_its_producers_send_to(partitions: tuple[str, ...]) -> tuple[str, ...]:
    """Those that its producers are about to send to, and those that the application names."""
    return partitions


def what_the_application_names(partitions: tuple[str, ...]) -> tuple[str, ...]:
    """Only those that the application gives to addPartitionsToTransaction()."""
    return ()


# -- session_adds: Under transaction version 2: does addPartitionsToTransaction() send AddPartitionsToTxn? --


def it_is_noted() -> bool:
    """No: the session notes that there is something to end, and brokers add partitions themselves."""
    return False


def it_is_sent_all_the_same() -> bool:
    """Yes: AddPartitionsToTxn, as a client of version 1 sends it."""
    return True


# -- session_close: What does close() of a session do with an open transaction? --------------------


def aborts_its_own(resumed: bool) -> bool:
    """It aborts a transaction that it began; one that it only resumed belongs to another process, and stays open."""
    return not resumed


def aborts_whatever_is_open(resumed: bool) -> bool:
    """It aborts any open transaction, as a producer does; only a prepared one stays."""
    return True


def leaves_it_open(resumed: bool) -> bool:
    """Nothing: the object ends, and the transaction waits for its timeout."""
    return False


# -- session_and_id: Which identity does a producer with both a session and a transactional.id use? --


def only_if_they_agree(session: str, configured: str) -> str:
    """The session's, if the configurations have the same; otherwise the constructor throws ConfigException."""
    return session if configured == session else ""


def the_id_of_the_session(session: str, configured: str) -> str:
    """The session's: the configured one is not used."""
    return session


def the_id_of_its_own(session: str, configured: str) -> str:
    """Its own: it works as today, with an internal session of its own."""
    return configured


# -- session_threads: What happens when a thread calls a session while another thread is using it? --


def one_lock_for_all(busy: bool, sends: bool) -> ThreadEntry:
    """It enters: a call checks and acts in one step, in the session and in its producers; waiting holds no lock."""
    return ThreadEntry.ENTERS


def a_lock_in_the_session(busy: bool, sends: bool) -> ThreadEntry:
    """It enters the session; a producer's send() checks the session's state first and appends afterwards."""
    return ThreadEntry.LOOKS if sends else ThreadEntry.ENTERS


def held_until_it_returns(busy: bool, sends: bool) -> ThreadEntry:
    """It waits until the other thread's call has returned."""
    return ThreadEntry.WAITS if busy else ThreadEntry.ENTERS


def one_thread_at_a_time(busy: bool, sends: bool) -> ThreadEntry:
    """It throws ConcurrentModificationException, like a KafkaConsumer."""
    return ThreadEntry.REFUSED if busy else ThreadEntry.ENTERS


SESSION_SLOTS: tuple[Slot, ...] = (
    Slot(
        "session_commit",
        "For which clients does the EndTxn of a session wait?",
        "B17",
        False,
        (
            Option("for_all_unsent_work", for_all_unsent_work, OURS, "study B17"),
            Option("for_nobody", for_nobody, DRAFT, "KIP-1310 2.1, no method names a producer"),
        ),
        has_session,
        written="for_nobody",
    ),
    Slot(
        "session_failure",
        "Does a failure of a bound client also fail the session?",
        "B18",
        False,
        (
            Option("shared_failure", shared_failure, OURS, "study B18"),
            Option(
                "separate_failure",
                separate_failure,
                DRAFT,
                "KIP-1310 3.2, in-flight batches stay with the TransactionManager",
            ),
        ),
        has_session,
        written="separate_failure",
    ),
    Slot(
        "session_identity",
        "What does a bound producer adopt when its session gets the next identity?",
        "B19",
        False,
        (
            Option("at_once_from_zero", at_once_from_zero, OURS, "TransactionManager, EndTxn"),
            Option(
                "at_once_counting_on",
                at_once_counting_on,
                DRAFT,
                "KIP-1310 3.2, identity in the session, sequence numbers in the producer",
            ),
            Option("when_refused", when_refused, OURS, "study B19, lazily on an error"),
        ),
        has_session,
        written="at_once_counting_on",
    ),
    Slot(
        "session_sequences",
        "Who counts the records that several producers of a session send to a partition?",
        "B15",
        False,
        (
            Option("counted_together", counted_together, OURS, "study B15"),
            Option("counted_apart", counted_apart, DRAFT, "KIP-1310 3.2, TransactionManager"),
        ),
        has_session,
        written="counted_apart",
    ),
    Slot(
        "session_producers",
        "How many producers may be bound to a session?",
        "B15",
        False,
        (
            Option("one_producer", one_producer, OURS, "study B15"),
            Option(
                "any_number_of_producers",
                any_number_of_producers,
                DRAFT,
                "KIP-1310 2.3 and 6.2, 'regardless of how many clients use it'",
            ),
        ),
        has_session,
        written="any_number_of_producers",
    ),
    Slot(
        "resumed_send",
        "May a producer that is bound to a resumed session send?",
        "B12",
        False,
        (
            Option(
                "a_resumed_session_only_ends",
                a_resumed_session_only_ends,
                OURS,
                "KIP-939 keepPreparedTxn",
            ),
            Option(
                "a_resumed_session_goes_on",
                a_resumed_session_goes_on,
                DRAFT,
                "KIP-1310 7.1 Session Resume, 'starts in IN_TRANSACTION'",
            ),
        ),
        has_session,
        written="a_resumed_session_goes_on",
    ),
    Slot(
        "resumed_complete",
        "May completeTransaction(state) be called on a resumed session?",
        "B29",
        False,
        (
            Option("against_its_identity", against_its_identity, OURS, "KIP-939 and KIP-1310 2.1"),
            Option(
                "only_when_prepared",
                only_when_prepared,
                DRAFT,
                "KIP-1310 7.1 'starts in IN_TRANSACTION' with KIP-939 completeTransaction",
            ),
        ),
        has_session,
        written="only_when_prepared",
    ),
    Slot(
        "session_timeout",
        "What does a session send its coordinator as transaction.session.timeout.ms?",
        "KIP-1309",
        False,
        (
            Option("a_third_as_interval", a_third_as_interval, OURS, "KIP-1309 and KIP-1310 2.2"),
            Option("the_timeout_itself", the_timeout_itself, DRAFT, "KIP-1310 2.2"),
        ),
        has_session,
        written="the_timeout_itself",
    ),
    Slot(
        "session_enlist",
        "Below transaction version 2: which partitions does a session add to its transaction?",
        "B17",
        False,
        (
            Option(
                "what_its_producers_send_to",
                what_its_producers_send_to,
                OURS,
                "TransactionManager.maybeAddPartition, across two objects",
            ),
            Option(
                "what_the_application_names",
                what_the_application_names,
                DRAFT,
                "KIP-1310 2.1 addPartitionsToTransaction; no method lets a producer tell it",
            ),
        ),
        has_session,
        written="what_the_application_names",
    ),
    Slot(
        "session_adds",
        "Under transaction version 2: does addPartitionsToTransaction() send AddPartitionsToTxn?",
        "B17",
        False,
        (
            Option("it_is_noted", it_is_noted, OURS, "KIP-890: brokers add partitions"),
            Option(
                "it_is_sent_all_the_same",
                it_is_sent_all_the_same,
                DRAFT,
                "KIP-1310 3.3 and 6.1 list AddPartitionsToTxn of the session without a version",
            ),
        ),
        has_session,
        written="it_is_sent_all_the_same",
    ),
    Slot(
        "session_close",
        "What does close() of a session do with an open transaction?",
        "B12",
        False,
        (
            Option("aborts_its_own", aborts_its_own, OURS, "KafkaProducer.close(), and 4.1"),
            Option(
                "aborts_whatever_is_open",
                aborts_whatever_is_open,
                OURS,
                "KafkaProducer.close(), Sender.run of 4.4.0, taken over for sessions",
            ),
            Option(
                "leaves_it_open", leaves_it_open, DRAFT, "KIP-1310 2.1: close() without a sentence"
            ),
        ),
        has_session,
        written="leaves_it_open",
    ),
    Slot(
        "session_and_id",
        "Which identity does a producer with both a session and a transactional.id use?",
        "KIP-1310",
        False,
        (
            Option(
                "only_if_they_agree", only_if_they_agree, OURS, "ProducerConfig, ConfigException"
            ),
            Option(
                "the_id_of_the_session", the_id_of_the_session, OURS, "KIP-1310 2.3, first half"
            ),
            Option(
                "the_id_of_its_own",
                the_id_of_its_own,
                DRAFT,
                "KIP-1310 2.3 'Constructing a producer with transactional.id in the config works as today'",
            ),
        ),
        has_session_beside_id,
        written="the_id_of_its_own",
    ),
    Slot(
        "session_threads",
        "What happens when a thread calls a session while another thread is using it?",
        "KIP-1310",
        False,
        (
            Option("one_lock_for_all", one_lock_for_all, OURS, "TransactionManager, synchronized"),
            Option(
                "a_lock_in_the_session",
                a_lock_in_the_session,
                DRAFT,
                "KIP-1310 2.1 'thread-safe'; 3.2 has the producer's batches in another object",
            ),
            Option("held_until_it_returns", held_until_it_returns, OURS, "2.1, a monitor"),
            Option("one_thread_at_a_time", one_thread_at_a_time, OURS, "KafkaConsumer.acquire"),
        ),
        has_session_of_threads,
        written="a_lock_in_the_session",
    ),
)

# The options of the KIP's text; where it is silent, those of an implementation that adds nothing.
WRITTEN: dict[str, str] = {slot.name: slot.as_written for slot in SESSION_SLOTS}

# Designs that differ from the repaired one in one question: name, title, sentence and changed slots.
SESSION_CHANGES: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    (
        "kip-1310-unaware",
        "repaired, but a session does not know its producers",
        "A session commits without waiting for what its clients have unsent.",
        {"session_commit": "for_nobody"},
    ),
    (
        "kip-1310-counting-on",
        "repaired, but the sequences go on in the next epoch",
        "The session's identity changes with a commit, and the producer's sequences do not.",
        {"session_identity": "at_once_counting_on"},
    ),
    (
        "kip-1310-lazy-epoch",
        "repaired, but a producer learns the next epoch from an error",
        "A bound producer keeps its epoch until a batch of it is rejected.",
        {"session_identity": "when_refused"},
    ),
    (
        "kip-1310-many-senders",
        "repaired, but several producers may be bound to a session",
        "Each producer counts its own records, from 0.",
        {"session_producers": "any_number_of_producers", "session_sequences": "counted_apart"},
    ),
    (
        "kip-1310-look-first",
        "repaired, but the lock is in the session alone",
        "A bound producer's send() checks the session's state, and appends its record later.",
        {"session_threads": "a_lock_in_the_session"},
    ),
    (
        "kip-1310-one-thread",
        "repaired, but one thread at a time may be in a session",
        "A call while another thread's is under way throws, as of a KafkaConsumer.",
        {"session_threads": "one_thread_at_a_time"},
    ),
)
