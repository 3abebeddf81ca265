"""The name of a record of a partition, "src-0@100": an output's record has that of its source record."""

from __future__ import annotations


def name_record(partition: str, offset: int) -> str:
    """Return the name of the record at an offset."""
    return f"{partition}@{offset}"


def place_of(name: str) -> tuple[str, int]:
    """Return the partition and the offset of a record by its name.

    Raises:
        ValueError: if it is not the name of a record.
    """
    partition, _, offset = name.rpartition("@")
    return partition, int(offset)
