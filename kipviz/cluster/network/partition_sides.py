"""The two sides of a network partition as text: "B1 B3 | B5 app-1", or "B1 | *" for one host against all others.

In an action and a world a side is the names of its hosts, separated by a slash, which no name contains: "B1/B3".
Brokers come first, by number, and the side with the first of all hosts comes first, so that one network partition is
written in one way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kipviz.cluster.specs.spec import ClusterSpec

BETWEEN = "/"
REST = "*"
EXAMPLE = "B1 B3 | B5 app-1"


class BadSides(ValueError):
    """Two invalid sides, explained in one sentence."""


@lru_cache(maxsize=4096)
def hosts_on(side: str) -> tuple[str, ...]:
    """Return the hosts of a side."""
    return tuple(host for host in side.split(BETWEEN) if host)


def hosts_in(words: str) -> tuple[str, ...]:
    """Return the hosts that a person names, separated by spaces or commas."""
    return tuple(words.replace(",", " ").split())


def two_sides(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the hosts before and after the bar.

    Raises:
        BadSides: if there are not two sides.
    """
    one, bar, other = text.partition("|")
    if not bar or "|" in other:
        raise BadSides(
            f"a network partition must have two sides with a bar between them, such as {EXAMPLE}, not {text!r}"
        )
    return hosts_in(one), hosts_in(other)


def sides(left: tuple[str, ...], right: tuple[str, ...], hosts: Iterable[str]) -> tuple[str, str]:
    """Return two sides in their written form; `hosts` are all existing ones.

    "*" on one side is all hosts but those of the other one.

    Raises:
        BadSides: if a side is empty or names an unknown host, a host is named twice, or no two are separated.
    """
    known = tuple(hosts)
    if left == right == (REST,):
        raise BadSides(f"{REST} is all hosts but those of the other side: name some on one side")
    if left == (REST,):
        left = tuple(host for host in known if host not in right)
    if right == (REST,):
        right = tuple(host for host in known if host not in left)
    for side in (left, right):
        if not side:
            raise BadSides(
                f"a network partition needs at least one host on each side, such as {EXAMPLE}"
            )
        unknown = [host for host in side if host not in known]
        if unknown:
            raise BadSides(f"there is no host {unknown[0]}; the hosts are {', '.join(known)}")
    twice = [host for host in left if host in right]
    if twice:
        raise BadSides(f"{twice[0]} is on both sides of the network partition")
    again = [host for host, times in Counter((*left, *right)).items() if times > 1]
    if again:
        raise BadSides(f"{again[0]} is twice on one side of the network partition")
    if not any(map(is_broker, (*left, *right))):
        raise BadSides(
            "applications do not talk to each other: one side of a network partition needs a broker"
        )
    return order_sides(left, right)


def hosts_of(spec: ClusterSpec) -> tuple[str, ...]:
    """Return all hosts of a cluster: its brokers by number, then its applications by name."""
    return in_order((*(f"B{b}" for b in spec.brokers), *(a.name for a in spec.applications)))


def why_no_splits(spec: ClusterSpec) -> str:
    """Return why one of the network partitions that a spec names is invalid, or ""."""
    hosts = hosts_of(spec)
    try:
        for text in spec.splits:
            sides(*two_sides(text), hosts)
    except BadSides as wrong:
        return str(wrong)
    return ""


def order_sides(one: Iterable[str], other: Iterable[str]) -> tuple[str, str]:
    """Return two sides in their written form: in order, and the one with the first host first."""
    first, second = sorted((in_order(one), in_order(other)), key=lambda side: _place(side[0]))
    return BETWEEN.join(first), BETWEEN.join(second)


def in_order(hosts: Iterable[str]) -> tuple[str, ...]:
    """Return hosts in the order in which a side names them: brokers by number, then applications."""
    return tuple(sorted(hosts, key=_place))


def is_broker(host: str) -> bool:
    """Return whether a host is a broker: "B3"; no application has such a name."""
    return host[:1] == "B" and host[1:].isdecimal()


def both(one: str, other: str) -> str:
    """Return the two sides of a network partition: "B1 and B5", or "B1 B3 | B5 app-1" if a side has several."""
    if are_two(one, other):
        return f"{one} and {other}"
    return f"{' '.join(hosts_on(one))} | {' '.join(hosts_on(other))}"


def are_two(one: str, other: str) -> bool:
    """Return whether a network partition is between two hosts."""
    return BETWEEN not in one + other


def _place(host: str) -> tuple[bool, int, str]:
    return (False, int(host[1:]), "") if is_broker(host) else (True, 0, host)


def hosts_in_words(side: str) -> str:
    """Return the hosts of a side in words: "brokers 1 and 3 and app-1"."""
    hosts = hosts_on(side)
    numbers = [host[1:] for host in hosts if is_broker(host)]
    brokers = [f"broker{'s' if len(numbers) > 1 else ''} {_and(numbers)}"] if numbers else []
    return _and([*brokers, *(host for host in hosts if not is_broker(host))])


def _and(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def pairs_in_words(pairs: Iterable[tuple[str, str]]) -> str:
    """Return pairs of hosts in words: "B1 and B2, B1 and app-1"."""
    return ", ".join(f"{one} and {other}" for one, other in pairs)
