"""The finished parts of a campaign in a folder, so that whatever ends it loses no part that was finished.

A campaign is cut into stretches of places. The verdicts of a stretch that is finished stand in a file of
their own, behind a digest of its bytes, and the file appears whole or not at all. A worker, a JVM or the whole
process may die, the disk may be full: the same campaign with the same folder makes only the stretches that
are not there. A file that was damaged is told with its name, and its stretch is made again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

import kipviz
from kipviz.core import atomic_write, untrusted_file
from kipviz.spark.failures import CampaignFailed
from kipviz.spark.worker_runs import VERDICT_SCHEMA

if TYPE_CHECKING:
    from kipviz.campaigns.plan import Plan

# Changes with what a file holds.
_FORMAT = b"kipviz runs 1\n"
_DIGEST = hashlib.sha256().digest_size
_PLAN = "campaign.json"


class KeptRuns:
    """The folder of one campaign.

    `damaged` names the files that are not what was written; their stretches are made again.
    """

    def __init__(self, folder: str | Path, plan: Plan) -> None:
        """Open a folder, or make it.

        Args:
            folder: where the finished parts stand; it may be new, empty or that of the same campaign.
            plan: the campaign.

        Raises:
            ValueError: if it is the folder of another campaign or version, or of something else.
            OSError: if it cannot be made, read or written.
        """
        self._folder = Path(folder)
        self.damaged: tuple[str, ...] = ()
        said: dict[str, object] = {"version": kipviz.__version__, "plan": plan.named()}
        if brought := plan.brought():
            said["brought"] = brought
        about = msgspec.json.encode(said)
        self._folder.mkdir(parents=True, exist_ok=True)
        known = self._folder / _PLAN
        if not known.exists():
            if any(self._folder.iterdir()):
                raise ValueError(
                    f"{folder} holds something that is no campaign: name a new folder."
                )
            atomic_write.write(known, about)
        elif untrusted_file.read(known) != about:
            raise ValueError(
                f"{folder} keeps another campaign, or one of another version of kipviz: name another "
                "folder, or ask for the same runs again."
            )

    def read(self, first: int, last: int) -> pa.Table | None:
        """Return the verdicts of the places from `first` to before `last`, None if they are not kept whole."""
        file = self._file(first, last)
        try:
            data = untrusted_file.read(file)
        except FileNotFoundError:
            return None
        digest, content = data[len(_FORMAT) :][:_DIGEST], data[len(_FORMAT) + _DIGEST :]
        if data.startswith(_FORMAT) and hashlib.sha256(content).digest() == digest:
            table = pa.ipc.open_stream(content).read_all()
            if table.schema == VERDICT_SCHEMA and table.num_rows == last - first:
                return table
        self.damaged = (*self.damaged, file.name)
        return None

    def keep(self, first: int, last: int, table: pa.Table) -> None:
        """Keep the verdicts of a stretch that is finished.

        Raises:
            CampaignFailed: if they cannot be written; what was kept before is as it was.
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
                "finished before are kept: make room and run the same again."
            ) from error

    def _file(self, first: int, last: int) -> Path:
        return self._folder / f"places-{first}-{last}.verdicts"
