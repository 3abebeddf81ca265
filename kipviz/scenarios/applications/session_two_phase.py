"""Programs of a TransactionSession and a database: two orders of the two commits, and recoveries.

The KIP has the calls (KIP-1310 2.1, 4.5). What a process does after a crash is not in its text: our inference, and each
way to do it is a separate program.
"""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.clients.calling.database_calls import WITH_IDENTITY, WITH_STATE
from kipviz.clients.calling.producer_calls import KEEP_PREPARED_TXN
from kipviz.clients.transactions.external_database import IN_DOUBT, STORED
from kipviz.cluster.specs.session_config import SESSION
from kipviz.scenarios.applications.programs import READ_ON, SEEK, UNDO
from kipviz.scenarios.applications.session_programs import ABORT, BEGIN, COMMIT, INITIALIZE, SEND

C = Call


def _of_session(text: str, call: Call, **more: object) -> Line:
    return Line(text, call, client=SESSION, **more)  # type: ignore[arg-type]


NEW = _of_session(
    "session = new TransactionSession(configs); producer = new KafkaProducer(configs, session);",
    C.NEW_SESSION,
)
PREPARE = _of_session("state = session.prepareTransaction();", C.PREPARE_TRANSACTION)
RESUME_STORED = _of_session(
    "session = TransactionSession.resume(id, database.state(), configs); // throws if there is none",
    C.RESUME,
    target=STORED,
)
COMPLETE_STORED = _of_session(
    "session.completeTransaction(database.state());", C.COMPLETE_TRANSACTION, target=STORED
)


def _database_first(recovery: tuple[Line, ...]) -> tuple[Line, ...]:
    """Return KIP-939's order with a session: the database decides, Kafka follows."""
    at = len(recovery)
    catch = at + 8
    return (
        *recovery,
        Line(SEEK, C.SEEK),
        Line(READ_ON, C.POLL),
        BEGIN,
        SEND.but(on_error=catch),
        PREPARE.but(on_error=catch),
        Line("database.insert(rows(records), state);", C.DATABASE_INSERT, target=WITH_STATE),
        Line("database.commit();", C.DATABASE_COMMIT),
        COMPLETE_STORED.but(text="session.completeTransaction(state);", then=at + 1),
        ABORT.but(then=at),
    )


# Recovery with only what the KIP has: initialize() takes no argument, so it aborts.
INITIALIZES: tuple[Line, ...] = _database_first((INITIALIZE,))
# What KIP-939 has and the KIP lacks: initialize() keeps the open transaction, like initTransactions(true).
KEEPS: tuple[Line, ...] = _database_first(
    (
        _of_session(
            "session.initialize(true); // keepPreparedTxn, which is not on the page",
            C.INITIALIZE,
            target=KEEP_PREPARED_TXN,
        ),
        COMPLETE_STORED.but(
            text="if (prepared) session.completeTransaction(database.state());", on_error=2
        ),
    )
)
# The KIP's own means: a session is resumed with the database's state, and then a new one begins.
RESUMES: tuple[Line, ...] = _database_first(
    (
        RESUME_STORED.but(on_error=2),
        COMPLETE_STORED.but(on_error=2),
        NEW,
        INITIALIZE,
    )
)


def _kafka_first(recovery: tuple[Line, ...], preparations: tuple[Line, ...]) -> tuple[Line, ...]:
    """Return the order of KIP-1310 4.5: both prepare, Kafka commits, then the database."""
    at = len(recovery)
    catch = at + 8
    return (
        *recovery,
        Line(SEEK, C.SEEK),
        Line(READ_ON, C.POLL),
        BEGIN,
        SEND.but(on_error=catch),
        *(preparation.but(on_error=catch) for preparation in preparations),
        COMMIT.but(text="resumed.commitTransaction();"),
        Line("database.commitTransaction(dbTxnId);", C.DATABASE_COMMIT, then=at + 1),
        ABORT,
        Line(UNDO, C.DATABASE_ROLLBACK, then=at),
    )


PREPARATIONS: tuple[Line, ...] = (
    Line(
        "database.prepareTransaction(dbTxnId); // dbTxnId names the session's id and epoch",
        C.DATABASE_PREPARE,
        target=WITH_IDENTITY,
    ),
    PREPARE.but(text="kafkaSession.prepareTransaction();"),
)
ROLLBACK = Line("database.rollback(dbTxnId); // whatever is in doubt", C.DATABASE_ROLLBACK)
# A restart begins again on both sides.
UNDOES: tuple[Line, ...] = _kafka_first((INITIALIZE, ROLLBACK), PREPARATIONS)
# "Recovery-friendly": the transaction that is prepared in the database is resumed and committed in Kafka, then here.
RECOVER: tuple[Line, ...] = (
    _of_session(
        "resumed = TransactionSession.resume(txnId, pid, epoch, configs); // of what is in doubt",
        C.RESUME,
        on_error=4,
        target=IN_DOUBT,
    ),
    COMMIT.but(text="resumed.commitTransaction();", on_error=3),
    Line("database.commitTransaction(dbTxnId);", C.DATABASE_COMMIT, then=4),
    ROLLBACK.but(text="} catch (KafkaException e) { database.rollback(dbTxnId); }"),
    NEW,
    INITIALIZE,
)
COMMITS: tuple[Line, ...] = _kafka_first(RECOVER, PREPARATIONS)
# The same with the prepares in the other order: a prepared transaction in the database then means that Kafka has all of
# it.
SWAPPED: tuple[Line, ...] = _kafka_first(RECOVER, PREPARATIONS[::-1])
