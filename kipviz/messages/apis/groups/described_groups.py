"""What the descriptions of a KIP-848 group and of a share group have in common on the wire. Kafka 4.4.0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kipviz.messages.message import taken_apart
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.kind import Around
from kipviz.messages.wire.schema import Field

MESSAGE = Field("ErrorMessage", "string", default="null", nullable="0+")
# The operations that a caller may do are not told: the least int32 stands for that.
NO_OPERATIONS = "-2147483648"

GROUPS_TO_DESCRIBE = (Field("GroupIds", "[]string"), Field("IncludeAuthorizedOperations", "bool"))

# The partitions that a member has, or is to have.
HELD = (
    Field(
        "TopicPartitions",
        "[]TopicPartitions",
        fields=(
            Field("TopicId", "uuid"),
            Field("TopicName", "string"),
            Field("Partitions", "[]int32"),
        ),
    ),
)


def of_each(described: Callable[[Any, Around], Struct]) -> Callable[[Any, Around], Struct]:
    """Return how an answer about several groups is put, from how one of them is."""
    return lambda m, around: {"Groups": tuple(described(each, around) for each in taken_apart(m))}


def described_groups(member: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields of such an answer; only its members are not alike."""
    return (
        Field("ThrottleTimeMs", "int32"),
        Field(
            "Groups",
            "[]DescribedGroup",
            fields=(
                Field("ErrorCode", "int16"),
                MESSAGE,
                Field("GroupId", "string"),
                Field("GroupState", "string"),
                Field("GroupEpoch", "int32"),
                Field("AssignmentEpoch", "int32"),
                Field("AssignorName", "string"),
                Field("Members", "[]Member", fields=member),
                Field("AuthorizedOperations", "int32", default=NO_OPERATIONS),
            ),
        ),
    )
