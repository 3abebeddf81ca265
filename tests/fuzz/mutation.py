"""Seeded mutations of bytes, JSON documents and words: the same dice give the same inputs."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

# What has broken readers before: borders of numbers, what is empty or deep, signs with a meaning.
NUMBERS = (0, 1, -1, 2, 7, 127, 128, 255, 256, 32_767, 32_768, 65_535, 2**31 - 1, 2**31, -(2**31))
NUMBERS += (2**53, 2**63 - 1, 2**63, -(2**63), 2**64, 10**400, -(10**25))
ODD: tuple[Any, ...] = (None, True, False, 0.5, -0.0, 1e300, "", " ", "\x00", "\x1b[31m", "a" * 300)
ODD += ("\ud800", "é", "9" * 5_000, "-1", "*", [], {}, [[]], [None], {"": None}, *NUMBERS)
TOKENS = (b"\x00", b"\xff" * 4, b"\x80" * 5, b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x0f", b"\n")
TOKENS += (b"\r\n", b'"', b"\\", b"=", b",", b"\x1b[2J", b"-1", b"9" * 30, b"9" * 5_000)
TOKENS += (b"[" * 200, b'{"a":' * 120)


def of_bytes(corpus: Sequence[bytes], dice: random.Random) -> bytes:
    """Give an input of the corpus with one to four pieces of it changed."""
    data = bytearray(dice.choice(corpus))
    for _ in range(dice.choice((1, 1, 2, 4))):
        at = dice.randrange(len(data) + 1)
        match dice.randrange(7):
            case 0 if data:
                data[at % len(data)] ^= 1 << dice.randrange(8)
            case 1:
                del data[at : at + dice.choice((1, 2, 4, 8, 40))]
            case 2:
                data[at:at] = dice.choice(TOKENS)
            case 3:
                data[at : at + 4] = dice.choice(TOKENS)
            case 4:
                data[at:at] = data[at : at + dice.choice((1, 8, 64))]
            case 5:
                other = dice.choice(corpus)
                data[at:] = other[dice.randrange(len(other) + 1) :]
            case _:
                size = dice.choice((1, 2, 4, 8))
                data[at : at + size] = (dice.choice(NUMBERS) % (1 << 8 * size)).to_bytes(
                    size, "big"
                )
    return bytes(data)


def of_json(document: Any, dice: random.Random) -> Any:
    """Give a document with one to three of its places changed."""
    made = json.loads(json.dumps(document))
    for _ in range(dice.choice((1, 1, 2, 3))):
        places = list(_places(made))
        if not places:
            return dice.choice(ODD)
        holder, key = dice.choice(places)
        match dice.randrange(5):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[dice.choice(("", "x", "do", "step", "branch"))] = holder[key]
            case 2:
                other, there = dice.choice(places)
                holder[key] = json.loads(json.dumps(other[there]))
            case _:
                holder[key] = dice.choice(ODD)
    return made


def of_words(words: Sequence[str], others: Sequence[str], dice: random.Random) -> list[str]:
    """Give words with one to three of them left out, changed, or put somewhere else."""
    made = list(words)
    for _ in range(dice.choice((1, 1, 2, 3))):
        at = dice.randrange(len(made) + 1)
        match dice.randrange(5):
            case 0:
                del made[at : at + 1]
            case 1:
                made.insert(at, dice.choice(others))
            case 2 if at < len(made):
                made[at] = dice.choice(others)
            case 3 if at < len(made):
                changed = of_bytes([made[at].encode("utf-8", "surrogatepass")], dice)
                made[at] = changed.decode("utf-8", "surrogateescape")
            case _:
                made[at:at] = made[:at]
    return made


def as_json(document: Any) -> bytes:
    """Give a document as another program may have written it."""
    return json.dumps(document, ensure_ascii=True).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        for key in list(value):
            yield value, key
            yield from _places(value[key])
    elif isinstance(value, list):
        for key in range(len(value)):
            yield value, key
            yield from _places(value[key])
