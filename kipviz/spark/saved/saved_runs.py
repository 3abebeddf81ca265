"""The finished parts of a campaign in a folder, so that no finished part is lost, however the campaign ends.

A campaign is cut into stretches of places. The verdicts of a finished stretch are in a file of their own, after a
digest of its bytes, and the file appears completely or not at all. A worker, a JVM or the whole process may die, the
disk may be full: the same campaign with the same folder makes only the missing stretches. A damaged file is reported
with its name, and its stretch is made again.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

import msgspec
import pyarrow as pa

import kipviz
from kipviz.campaigns.plan import Plan
from kipviz.core.outside import atomic_write, untrusted_file
from kipviz.spark.sessions.failures import CampaignFailed
from kipviz.spark.workers.worker_runs import VERDICT_SCHEMA

# Changes with the format of a file.
_FORMAT = b"kipviz runs 1\n"
_DIGEST = hashlib.sha256().digest_size
_PLAN = "campaign.json"
_PART = re.compile(r"places-(\d+)-(\d+)\.verdicts")


class _About(msgspec.Struct):
    """The content of the file about a campaign."""

    version: str
    plan: Plan
    brought: tuple[str, ...] = ()


class SavedCampaign(NamedTuple):
    """A campaign in a folder: its plan, the version of kipviz that made it, and the verdicts so far, in job order.

    `damaged` names the files that were changed.
    """

    plan: Plan
    version: str
    table: pa.Table
    damaged: tuple[str, ...]


def saved_campaign(folder: str | Path) -> SavedCampaign:
    """Read the campaign in a folder, made by any version of kipviz; nothing is run or written.

    Raises:
        ValueError: if it is not the folder of a campaign.
        OSError: if it cannot be read.
    """
    place = Path(folder)
    try:
        about = msgspec.json.decode(untrusted_file.read(place / _PLAN), type=_About)
    except (FileNotFoundError, NotADirectoryError, msgspec.MsgspecError):
        raise ValueError(
            f"{folder} keeps no campaign: name the folder of `kipviz campaign --resume`"
        ) from None
    tables, damaged = [VERDICT_SCHEMA.empty_table()], []
    for file in sorted(place.glob("places-*.verdicts")):
        named = _PART.fullmatch(file.name)
        table = _verdicts_in(file, int(named[2]) - int(named[1])) if named else None
        if table is None:
            damaged.append(file.name)
        else:
            tables.append(table)
    table = pa.concat_tables(tables).sort_by("job").combine_chunks()
    return SavedCampaign(about.plan, about.version, table, tuple(damaged))


def _verdicts_in(file: Path, rows: int) -> pa.Table | None:
    """Read the verdicts of a finished part, None if the file was changed."""
    data = untrusted_file.read(file)
    digest, content = data[len(_FORMAT) :][:_DIGEST], data[len(_FORMAT) + _DIGEST :]
    if data.startswith(_FORMAT) and hashlib.sha256(content).digest() == digest:
        table = pa.ipc.open_stream(content).read_all()
        if table.schema == VERDICT_SCHEMA and table.num_rows == rows:
            return table
    return None


class KeptRuns:
    """The folder of one campaign.

    `damaged` names the files that were changed; their stretches are made again.
    """

    def __init__(self, folder: str | Path, plan: Plan) -> None:
        """Open a folder, or create it.

        Args:
            folder: the folder of the finished parts; it may be new, empty or that of the same campaign.
            plan: the campaign.

        Raises:
            ValueError: if it is the folder of another campaign or version, or of something else.
            OSError: if it cannot be created, read or written.
        """
        self._folder = Path(folder)
        self.damaged: tuple[str, ...] = ()
        said: dict[str, object] = {"version": kipviz.__version__, "plan": plan.with_plain_names()}
        if brought := plan.own_texts():
            said["brought"] = brought
        about = msgspec.json.encode(said)
        self._folder.mkdir(parents=True, exist_ok=True)
        known = self._folder / _PLAN
        if not known.exists():
            if any(self._folder.iterdir()):
                raise ValueError(
                    f"{folder} holds something that is not a campaign: name a new folder"
                )
            atomic_write.write(known, about)
        elif untrusted_file.read(known) != about:
            raise ValueError(
                f"{folder} keeps another campaign, or one of another version of kipviz: name another "
                "folder, or ask for the same runs again"
            )

    def read(self, first: int, last: int) -> pa.Table | None:
        """Return the verdicts of the places from `first` to before `last`, None if they are not kept completely."""
        file = self._file(first, last)
        try:
            table = _verdicts_in(file, last - first)
        except FileNotFoundError:
            return None
        if table is None:
            self.damaged = (*self.damaged, file.name)
        return table

    def keep(self, first: int, last: int, table: pa.Table) -> None:
        """Keep the verdicts of a finished stretch.

        Raises:
            CampaignFailed: if they cannot be written; earlier files are unchanged.
        """
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, VERDICT_SCHEMA) as stream:
            stream.write_table(table.cast(VERDICT_SCHEMA))
        content = sink.getvalue().to_pybytes()
        digest = hashlib.sha256(content).digest()
        try:
            atomic_write.write(self._file(first, last), _FORMAT + digest + content)
        except OSError as error:
            raise CampaignFailed(
                f"{self._folder} cannot be written: {error.strerror or error}. The parts that were "
                "finished before are kept: make room and run the same again"
            ) from error

    def _file(self, first: int, last: int) -> Path:
        return self._folder / f"places-{first}-{last}.verdicts"
