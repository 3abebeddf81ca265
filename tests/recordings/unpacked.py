"""Recordings that are kept as one file each: unpacked, and what is known of one of three brokers."""

from __future__ import annotations

import zipfile
from pathlib import Path

import msgspec

from kipviz.conforming.judging import evidence_of
from kipviz.conforming.real_cluster import files_in
from kipviz.recordings.request_context.evidence import Evidence
from kipviz.recordings.request_context.handmade_requests import RequestBatch

FOLDERS = Path(__file__).parent / "folders"


def unpack(recorded: Path, into: Path) -> Path:
    """Unpack a recording; return the folder that it is in now."""
    with zipfile.ZipFile(recorded) as kept:
        kept.extractall(into)
    return into


def evidence_of_three(folder: Path) -> Evidence:
    """Return what is known of the programs of `kipviz conform --brokers 3` in a folder."""
    sent = msgspec.json.decode((folder / "sent.json").read_bytes(), type=tuple[RequestBatch, ...])
    return evidence_of(files_in(folder, 3), sent)
