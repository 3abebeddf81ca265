"""The one error of this floor."""

from __future__ import annotations

# The problem is no byte of a file: a folder holds nothing, or files do not belong together.
WHOLE = -1


class RecordingError(Exception):
    """A file has invalid content: one sentence with the file and the byte.

    Attributes:
        file: name of the file or folder, as the caller gave it.
        at: byte offset in the file where the problem starts, `WHOLE` if it is in no byte.
        why: the sentence without file and byte.
    """

    def __init__(self, file: str, at: int, why: str) -> None:
        super().__init__(f"{file}: {why}" if at == WHOLE else f"{file}, byte {at}: {why}")
        self.file = file
        self.at = at
        self.why = why

    def __reduce__(self) -> tuple[type[RecordingError], tuple[str, int, str]]:
        return type(self), (self.file, self.at, self.why)
