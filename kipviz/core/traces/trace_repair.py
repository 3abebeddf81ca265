"""A damaged trace file: which of its lines are whole, and which can be repaired.

The last line of a file has a check of every line before it, and one of itself. So the damaged lines are known, and a
line with one changed bit is found again by trying: of some thousand lines that differ from it in one bit only the right
one has its check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kipviz.core.values import digest_of

CHECK_SIZE = 8
# A longer line is not tried bit by bit: it would take seconds.
TRIED_MAX = 1 << 15
_END = ord("\n")


def check_of(line: bytes) -> str:
    """Return the check of one line, without its end."""
    return digest_of(line)[: CHECK_SIZE // 2].hex()


def checks_of(body: bytes) -> str:
    """Return the checks of all lines, one after the other; `body` ends with the last line's end."""
    return "".join(map(check_of, body.split(b"\n")[:-1]))


def end_of(data: bytes, fits: Callable[[bytes], bool]) -> tuple[bytes, bytes] | None:
    """Return all lines but the last, and the last one without its end, repaired if one bit has changed.

    `fits` returns whether a line is a last line. Return None if neither this line nor any that differs in one bit is
    one.
    """
    return next((parts for parts in _ends(data) if fits(parts[1])), None)


def _ends(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    whole = data if data.endswith(b"\n") else data[:-1] + b"\n"
    at = whole.rfind(b"\n", 0, len(whole) - 1) + 1
    body, last = whole[:at], whole[at:-1]
    yield body, last
    yield from ((body, other) for other in _one_bit_off(last))
    # The end of the previous line may have become a letter, and a letter an end.
    for place, byte in enumerate(last):
        if (byte ^ _END).bit_count() == 1:
            yield body + last[:place] + b"\n", last[place + 1 :]
    before = body.rfind(b"\n", 0, max(len(body) - 1, 0)) + 1
    for bit in range(8):
        yield body[:before], body[before:-1] + bytes((_END ^ 1 << bit,)) + last


def lines_in(body: bytes, checks: str) -> list[bytes | None]:
    """Return the lines of a body, each whole or repaired, and None for a lost one."""
    expected = [checks[at : at + CHECK_SIZE] for at in range(0, len(checks), CHECK_SIZE)]
    found: list[bytes | None] = []
    at = 0
    while len(found) < len(expected):
        line = _line_at(body, at, expected[len(found)])
        if line is not None:
            found.append(line)
            at += len(line) + 1
            continue
        number, at = _next_whole(body, at, expected, len(found))
        found += [None] * (number - len(found))
    return found


def _line_at(body: bytes, at: int, check: str) -> bytes | None:
    """Return the line that begins at a place, repaired if one bit of it or of its end has changed."""
    end = body.find(b"\n", at)
    line = body[at:end] if end >= 0 else body[at:]
    if check_of(line) == check:
        return line
    # The end of a line may have become a letter, and a letter an end: the next line is included in the attempt.
    beyond = body.find(b"\n", end + 1) if end >= 0 else -1
    for other in _one_bit_off(body[at : beyond + 1] if beyond >= 0 else body[at:]):
        found = other.partition(b"\n")[0]
        if check_of(found) == check:
            return found
    return None


def _next_whole(body: bytes, at: int, expected: Sequence[str], number: int) -> tuple[int, int]:
    """Return the number and the place of the next whole line; after all lines if there is none."""
    later = {check: n for n, check in reversed([*enumerate(expected)]) if n > number}
    start = body.find(b"\n", at) + 1
    while 0 < start < len(body):
        end = body.find(b"\n", start)
        if end < 0:
            break
        found = later.get(check_of(body[start:end]))
        if found is not None:
            return found, start
        start = end + 1
    return len(expected), len(body)


def _one_bit_off(line: bytes) -> Iterator[bytes]:
    if len(line) > TRIED_MAX:
        return
    made = bytearray(line)
    for at in range(len(made)):
        for bit in range(8):
            made[at] ^= 1 << bit
            yield bytes(made)
            made[at] ^= 1 << bit
