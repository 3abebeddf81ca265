"""A whole folder of a broker, as it lies on disk, with its request log: unpacked from its recording."""

from __future__ import annotations

from pathlib import Path

from tests.recordings.unpacked import FOLDERS
from tests.recordings.unpacked import unpack as unpacked_in

RECORDED = FOLDERS / "kafka-4.4.0.zip"


def unpack_folder(into: Path) -> tuple[Path, Path]:
    """Unpack the recording; return the folder of logs and the request log."""
    unpacked_in(RECORDED, into)
    return into / "kafka-logs", into / "kafka-request.log"
