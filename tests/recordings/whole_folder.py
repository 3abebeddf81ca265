"""A whole folder of a broker, as it lies on disk, with its request log: unpacked from its recording."""

from __future__ import annotations

import zipfile
from pathlib import Path

RECORDED = Path(__file__).parent / "folders" / "kafka-4.4.0.zip"


def unpacked(into: Path) -> tuple[Path, Path]:
    """Unpack the recording; return the folder of logs and the request log."""
    with zipfile.ZipFile(RECORDED) as recorded:
        recorded.extractall(into)
    return into / "kafka-logs", into / "kafka-request.log"
