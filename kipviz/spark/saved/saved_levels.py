"""The complete levels of a search in its folder, so that another search can continue from there.

Beside each complete level there is one row: the digest of the question (model, properties, reductions), the version of
kipviz, the number of rows in the level and a checksum of them. A level without that row was being written when the
search ended, and is written again, as is a damaged one. Only Spark touches the files, so it works wherever Spark does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import kipviz
from kipviz.core.values import digest_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Changes with the format of a level's rows, and with the fields of what is in the states there.
_FORMAT = b"levels 9"
_SCHEMA = "`question` binary, `version` string, `rows` bigint, `checksum` bigint"
_LEVEL = "`key` binary, `way` binary, `state` binary"


class KeptLevels:
    """The levels of one question in one folder."""

    def __init__(self, spark: SparkSession, place: str, question: bytes, *, fresh: bool) -> None:
        """Open a folder; a `fresh` search uses nothing from it."""
        self._spark = spark
        self._place = place.rstrip("/")
        self._mark = digest_of(_FORMAT + question)
        self._fresh = fresh

    def has(self, name: str) -> bool:
        """Return whether a level is there and complete.

        Raises:
            ValueError: if the folder holds the search of another question.
        """
        if self._fresh:
            return False
        found = self._row(name)
        if found is None:
            self._fresh = True  # later levels are older than the ones that are made now
            return False
        mark, version, *content = found
        if (mark, version) != (self._mark, kipviz.__version__):
            raise ValueError(
                f"{self._place} keeps a search of another model, other properties or another "
                "version of kipviz: name another folder, or do not resume"
            )
        return self._content(name) == tuple(content)

    def keep(self, name: str) -> None:
        """Note that a level is complete."""
        row = [(self._mark, kipviz.__version__, *self._content(name))]
        frame = self._spark.createDataFrame(row, _SCHEMA).coalesce(1)
        frame.write.mode("overwrite").parquet(f"{self._place}/kept-{name}")

    def _row(self, name: str) -> tuple[bytes, str, int, int] | None:
        from pyspark.errors import AnalysisException

        try:
            rows = self._spark.read.schema(_SCHEMA).parquet(f"{self._place}/kept-{name}").collect()
        except AnalysisException:  # there is no such path
            return None
        return (bytes(rows[0][0]), *rows[0][1:]) if rows else None

    def _content(self, name: str) -> tuple[int, int]:
        """Return how many rows a level has, and a checksum of them that does not depend on their order."""
        from pyspark.sql import functions as sql

        level = self._spark.read.schema(_LEVEL).parquet(f"{self._place}/{name}")
        row = sql.xxhash64("key", "way", "state")
        (found,) = level.agg(sql.count("key"), sql.coalesce(sql.bit_xor(row), sql.lit(0))).collect()
        return found[0], found[1]
