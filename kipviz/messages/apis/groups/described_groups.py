"""The fields that descriptions of a KIP-848 group and of a share group share. Kafka 4.4.0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.kind import Around
from kipviz.messages.wire.schema import Field

MESSAGE = Field("ErrorMessage", "string", default="null", nullable="0+")
# The operations that a caller may do are not reported: the least int32 stands for that.
NO_OPERATIONS = "-2147483648"

GROUPS_TO_DESCRIBE = (Field("GroupIds", "[]string"), Field("IncludeAuthorizedOperations", "bool"))

# The partitions of a member's current or target assignment.
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


G = TypeVar("G")
G_co = TypeVar("G_co", covariant=True)


class OfGroups(Protocol[G_co]):
    """A response with a description for each group."""

    @property
    def groups(self) -> tuple[G_co, ...]:
        """The descriptions."""


def of_each(
    described: Callable[[G, Around], Struct],
) -> Callable[[OfGroups[G], Around], Struct]:
    """Return the encoder of a response about several groups, from the encoder of one."""
    return lambda m, around: {"Groups": tuple(described(each, around) for each in m.groups)}


def described_groups(member: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields of such a response; only the members differ."""
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
