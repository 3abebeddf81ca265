"""All KIPs, by number."""

from __future__ import annotations

from kipviz.kips import (
    kip_11,
    kip_62,
    kip_98,
    kip_211,
    kip_345,
    kip_360,
    kip_447,
    kip_664,
    kip_709,
    kip_848,
    kip_890,
    kip_932,
    kip_939,
    kip_994,
    kip_1106,
    kip_1191,
    kip_1289,
    kip_1309,
    kip_1310,
    kip_1319,
)
from kipviz.kips.row import Kip

KIPS: tuple[Kip, ...] = (
    kip_11.KIP,
    kip_62.KIP,
    kip_98.KIP,
    kip_211.KIP,
    kip_345.KIP,
    kip_360.KIP,
    kip_447.KIP,
    kip_664.KIP,
    kip_709.KIP,
    kip_848.KIP,
    kip_890.KIP,
    kip_932.KIP,
    kip_939.KIP,
    kip_994.KIP,
    kip_1106.KIP,
    kip_1191.KIP,
    kip_1289.KIP,
    kip_1309.KIP,
    kip_1310.KIP,
    kip_1319.KIP,
)


class UnknownKip(ValueError):
    """The number of an unknown KIP."""


def kip(number: str) -> Kip:
    """Return a KIP by its number or name: "98", "KIP-98".

    Raises:
        UnknownKip: if there is no such KIP here; the message lists the known ones.
    """
    wanted = number.upper().removeprefix("KIP-")
    for known in KIPS:
        if str(known.number) == wanted:
            return known
    allowed = ", ".join(str(known.number) for known in KIPS)
    raise UnknownKip(f"there is no KIP {number!r} here; the KIPs are {allowed}")
