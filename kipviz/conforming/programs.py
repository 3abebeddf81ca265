"""Programs: the requests of several clients, in order, drawn from a seed.

A program names no ids, epochs or offsets. A step says "the previous identity" or "one sequence too high", and the
answers determine the values during the execution (`playing`). So any steps can be left out, and the rest is a program,
too. A step that is `at_once` is sent while the previous one is still in flight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from kipviz.core.values import Value, digest_of

STEPS = 40
BROKERS = (1, 3)
PARTITIONS = 2
# How often each kind of step is drawn, relative to the others; its clients, and its possible arguments.
PRODUCERS, READER, OPERATOR, MEMBERS, SHARERS, CLASSIC = (
    ("a", "b"),
    ("r",),
    ("o",),
    ("m", "n"),
    ("s", "t"),
    ("c", "d"),
)
# What gets another leader, or loses its leader: a partition of the topic, or the coordinator of the program's
# transactions, of its group of members or of its share group.
PLACES = ("0", "1", "transaction", "group", "share")
NOW, BEFORE, LATER = "now", "before", "later"
_WHOSE = (NOW,) * 6 + (BEFORE, LATER)
_SEQUENCES = ("next",) * 7 + ("again", "gap")
Kind = tuple[str, int, tuple[str, ...], tuple[tuple[str, ...], ...]]
KINDS: tuple[Kind, ...] = (
    ("init", 4, PRODUCERS, (("new", "new", "again"),)),
    ("add", 4, PRODUCERS, (_WHOSE, ("0", "1"))),
    ("produce", 12, PRODUCERS, (_WHOSE, ("0", "1"), _SEQUENCES)),
    ("stage", 4, PRODUCERS, (_WHOSE, ("0", "1"))),
    ("end", 8, PRODUCERS, (_WHOSE, ("commit", "commit", "abort"))),
    ("plain", 3, ("b",), (("0", "1"),)),
    ("read", 5, READER, (("committed", "uncommitted"), ("0", "1"))),
    ("offsets", 4, READER, (("stable", "any"),)),
    ("describe", 3, OPERATOR, ()),
    ("list", 1, OPERATOR, ()),
    ("producers", 3, OPERATOR, (("0", "1"),)),
    ("join", 3, MEMBERS, ()),
    ("beat", 4, MEMBERS, (_WHOSE,)),
    ("commit", 4, MEMBERS, (_WHOSE, ("0", "1"))),
    ("leave", 1, MEMBERS, ()),
    ("share-join", 4, SHARERS, ()),
    ("share-beat", 3, SHARERS, (_WHOSE,)),
    ("share-fetch", 7, SHARERS, (_WHOSE, ("1", "2", "500"))),
    ("share-acknowledge", 6, SHARERS, (_WHOSE, ("accept", "accept", "release", "reject"))),
    ("share-leave", 1, SHARERS, ()),
    ("share-describe", 1, OPERATOR, ()),
    ("share-offsets", 2, OPERATOR, ()),
    ("classic-join", 5, CLASSIC, ()),
    ("classic-beat", 3, CLASSIC, (_WHOSE,)),
    ("classic-commit", 3, CLASSIC, (_WHOSE, ("0", "1"))),
    ("classic-leave", 1, CLASSIC, ()),
)
MOVE, KILL = "move", "kill"
# Disturbances of a cluster of several brokers only. A kill takes seconds, so few programs have one, and none has two.
DISTURBANCES: tuple[Kind, ...] = ((MOVE, 4, OPERATOR, (PLACES,)), (KILL, 0, OPERATOR, (PLACES,)))
ONE_IN_KILLS = 16
ONE_IN_AT_ONCE = 3


def _list_kinds(*kinds: Kind) -> tuple[Kind, ...]:
    return tuple(kind for kind in kinds for _ in range(kind[1]))


_OF_ONE_BROKER, _OF_SEVERAL = _list_kinds(*KINDS), _list_kinds(*KINDS, *DISTURBANCES)


class ClientStep(Value, frozen=True):
    """A step of one client: the kind of its request, and its arguments.

    `at_once` says that it does not wait for the answers to earlier requests.
    """

    client: str
    does: str
    told: tuple[str, ...] = ()
    at_once: bool = False

    def __str__(self) -> str:
        words = " ".join((self.client, self.does, *self.told))
        return f"{words}, at once" if self.at_once else words


class Program(Value, frozen=True):
    """Steps in order; `old` are the producers that behave like clients before transaction version 2.

    `shared` says that both producers have one transactional id, and `brokers` is the number of brokers.
    """

    seed: int
    steps: tuple[ClientStep, ...]
    old: tuple[str, ...] = ()
    shared: bool = False
    brokers: int = 1

    def lines(self) -> Iterable[str]:
        """Yield the program as lines of text."""
        names = "one transactional id" if self.shared else "a transactional id each"
        old = f"; {' and '.join(self.old)} as before transaction version 2" if self.old else ""
        brokers = f"{self.brokers} brokers; " if self.brokers > 1 else ""
        yield f"seed {self.seed}: {brokers}the producers have {names}{old}"
        yield from (f"  {number:>3}  {step}" for number, step in enumerate(self.steps, 1))


def program(seed: int, steps: int = STEPS, brokers: int = 1) -> Program:
    """Return the program of a seed; it is the same on every machine."""
    told = _dice(seed, -1)
    old = tuple(who for at, who in enumerate(PRODUCERS) if told[at] % 3 == 0)
    kinds = _OF_SEVERAL if brokers > 1 else _OF_ONE_BROKER
    made = [_step(seed, number, kinds) for number in range(steps)]
    # The first steps make the others meaningful: identities, and members.
    first = [ClientStep(who, "init", ("new",)) for who in PRODUCERS]
    joined = [
        ClientStep("s", "share-join"),
        ClientStep("m", "join"),
        ClientStep("c", "classic-join"),
    ]
    opening = [*first, *(each for at, each in enumerate(joined) if told[4 + at] % 2)]
    if brokers > 1 and told[8] % ONE_IN_KILLS == 0:
        made.insert(steps // 2, ClientStep(*OPERATOR, KILL, (_one(told, 9, PLACES),)))
    whole = (*opening, *made)[:steps]
    return Program(seed, whole, old, told[3] % 2 == 0, brokers)


def _step(seed: int, number: int, kinds: tuple[Kind, ...]) -> ClientStep:
    dice = _dice(seed, number)
    does, _, who, choices = kinds[int.from_bytes(dice[:4], "big") % len(kinds)]
    told = tuple(_one(dice, 8 + at, some) for at, some in enumerate(choices))
    return ClientStep(_one(dice, 4, who), does, told, dice[5] % ONE_IN_AT_ONCE == 0)


def _dice(seed: int, number: int) -> bytes:
    return digest_of(f"{seed} {number}".encode())


def _one(dice: bytes, at: int, some: Sequence[str]) -> str:
    return some[dice[at] % len(some)]


def encode_program(made: Program) -> bytes:
    """Return a program as JSON."""
    return msgspec.json.format(msgspec.json.encode(made), indent=1)


def read(data: bytes) -> Program:
    """Return the program in a JSON text.

    Raises:
        ValueError: if it is not a program, in one sentence.
    """
    try:
        found = msgspec.json.decode(data, type=Program)
    except msgspec.MsgspecError as wrong:
        raise ValueError(f"this is not a program: {wrong}") from None
    if found.brokers not in BROKERS:
        raise ValueError(f"a program is for {' or '.join(map(str, BROKERS))} brokers")
    kinds = (*KINDS, *(DISTURBANCES if found.brokers > 1 else ()))
    known: dict[str, Any] = {kind[0]: kind for kind in kinds}
    for step in found.steps:
        kind = known.get(step.does)
        if kind is None or step.client not in kind[2] or len(step.told) != len(kind[3]):
            raise ValueError(f"this is not a step of a program: {step}")
        for word, choices in zip(step.told, kind[3], strict=True):
            if word not in choices:
                raise ValueError(
                    f"the argument of the step {step.does} must be one of {choices}, not {word!r}"
                )
    return found
