"""The errors that a response of an API may have, place by place.

A place is a field of the response's schema, such as `Topics.Partitions.ErrorCode`. An error that Kafka's schema or
handler allows there is of one of three kinds: the model returns it, too; the model never returns it, with the reason;
or, of the latter, a recorded broker returned it. `tests/messages/test_legal_errors.py` compares the rows with the
schemas, and with the responses of stories, random runs and brokers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kipviz.messages.errors import Errors
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.schema import Field

E = Errors


@dataclass(frozen=True)
class Never:
    """Errors that Kafka returns and the model never does, by their names in Kafka, and why not."""

    why: str
    errors: tuple[str, ...]


@dataclass(frozen=True)
class OnlyRecorded(Never):
    """Errors that no broker of the model returns, but a recorded one did.

    `kipviz.accept` follows the clients that got them.
    """


@dataclass(frozen=True)
class LegalErrors:
    """The errors that one place of a response may have.

    `place` is the path of the field in the response's schema. `errors` are those that the model returns, `never` those
    that only brokers return.
    """

    place: str
    errors: tuple[Errors, ...] = ()
    never: tuple[Never, ...] = ()

    def allows(self, error: Errors) -> bool:
        """Return whether the place may have an error; NONE is always allowed."""
        return error is E.NONE or error in self.errors or error.name in self.never_given

    @property
    def never_given(self) -> Mapping[str, str]:
        """Why the model never returns an error, by the error's name in Kafka."""
        return {name: each.why for each in self.never for name in each.errors}

    @property
    def only_recorded(self) -> tuple[str, ...]:
        """The errors among them that a recorded broker returned, by their names in Kafka."""
        told = (each for each in self.never if isinstance(each, OnlyRecorded))
        return tuple(name for each in told for name in each.errors)


def at(place: str, *errors: Errors | Never) -> LegalErrors:
    """Return the row of one place."""
    return LegalErrors(
        place,
        tuple(each for each in errors if isinstance(each, Errors)),
        tuple(each for each in errors if isinstance(each, Never)),
    )


def errors_in(
    response: Struct, fields: Iterable[Field], above: str = ""
) -> Iterator[tuple[str, int]]:
    """Yield each place of a response with an error, and the error's code."""
    for field in fields:
        path = f"{above}.{field.name}" if above else field.name
        found = response.get(field.name)
        if found and is_place(field):
            yield path, int(found)
        elif found and field.fields:
            for each in found if field.is_array else (found,):
                yield from errors_in(each, field.fields, path)


def places_in(fields: Iterable[Field], above: str = "") -> Iterator[str]:
    """Yield the places of a response's schema in the order of its fields."""
    for field in fields:
        path = f"{above}.{field.name}" if above else field.name
        if is_place(field):
            yield path
        yield from places_in(field.fields, path)


def is_place(field: Field) -> bool:
    """Return whether a field holds an error code."""
    return field.name.endswith("ErrorCode") and field.type == "int16"


# -- what several rows share ------------------------------------------------------------------------

COORDINATOR = (E.COORDINATOR_LOAD_IN_PROGRESS, E.NOT_COORDINATOR)
"""The errors of a coordinator that loads its log, and of a broker that is not the coordinator.

`retries.OF_A_COORDINATOR` has a third one: a log without enough replicas rejects writes.
"""

DISK = Never("no disk fails in the model", ("KAFKA_STORAGE_ERROR",))
DAMAGE = Never("no bytes are damaged in the model", ("CORRUPT_MESSAGE",))
READS = Never(
    "the model's coordinator fails with its log alone, and this request is not written there",
    ("COORDINATOR_NOT_AVAILABLE",),
)
SIZE = Never("batches have no limit of size", ("MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"))
ACKS = Never("every append asks for acks=all", ("INVALID_REQUIRED_ACKS",))
FORMAT = Never("every log has today's message format", ("UNSUPPORTED_FOR_MESSAGE_FORMAT",))
WAITS = Never(
    "a leader waits for its replicas as long as it leads",
    ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "REQUEST_TIMED_OUT"),
)
UNEXPECTED = Never("no handler of the model throws an exception here", ("UNKNOWN_SERVER_ERROR",))
NO_EPOCHS = Never(
    "a client's request carries no leader epoch", ("FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH")
)
WELL_FORMED = Never("what clients of the model send is well-formed", ("INVALID_REQUEST",))
RECORD_SIZE = Never("records of the model have no limit of size", ("INVALID_COMMIT_OFFSET_SIZE",))
OF_A_GROUP_ALONE = Never("every group has a name", ("INVALID_GROUP_ID",))
