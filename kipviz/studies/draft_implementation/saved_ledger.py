"""The rows of the draft ledger that were already judged, in one file, so that an interrupted command can continue.

The file belongs to one model: it has a digest of the package's sources and stories, and rows of another model are
rejected.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

import kipviz
from kipviz.core.outside import atomic_write, untrusted_file
from kipviz.studies.draft_implementation.draft_ledger import Entries
from kipviz.studies.draft_implementation.implementation import STATES_MAX


class LedgerFileError(ValueError):
    """The file holds no rows of this ledger; the message states the reason."""


class _Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the file: the model and the limits of the rows, and the rows of each case by name."""

    kipviz: str
    model: str
    states_max: int
    cases: dict[str, Entries]


class KeptLedger:
    """The rows of a file, and those that are judged from now on."""

    def __init__(self, path: str | Path) -> None:
        """Read a file, or start a new one.

        Raises:
            LedgerFileError: if it holds something else, or rows of another model or limit.
            OSError: if it cannot be read.
        """
        self._path = Path(path)
        self._cases: dict[str, Entries] = {}
        if not self._path.exists():
            return
        try:
            kept = msgspec.json.decode(untrusted_file.read(self._path), type=_Kept)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise LedgerFileError(f"{path} keeps no rows of a ledger: {error}") from None
        if kept != self._keep_cases(kept.cases):
            raise LedgerFileError(
                f"{path} keeps rows of another model or another limit of states: name a new file"
            )
        self._cases = dict(kept.cases)

    @property
    def cases(self) -> Mapping[str, Entries]:
        """The stored rows, by the name of their case."""
        return self._cases

    def keep(self, name: str, rows: Entries) -> None:
        """Store the rows of one more case.

        Raises:
            OSError: if the file cannot be written; its previous content is still there.
        """
        self._cases[name] = rows
        atomic_write.write(self._path, msgspec.json.encode(self._keep_cases(self._cases)))

    def _keep_cases(self, cases: dict[str, Entries]) -> _Kept:
        return _Kept(kipviz.__version__, digest_of_sources(), STATES_MAX, cases)


def digest_of_sources() -> str:
    """Return a digest of the package: of every module and every story, by name and content."""
    folder = Path(kipviz.__file__).parent
    digest = hashlib.sha256()
    for path in sorted((*folder.rglob("*.py"), *folder.rglob("stories/**/*.md"))):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
