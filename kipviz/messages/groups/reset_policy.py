"""auto.offset.reset of a consumer or of a share group: the start position without an offset (KIP-1106)."""

from __future__ import annotations

import re

EARLIEST, LATEST, BY_DURATION = "earliest", "latest", "by_duration:"
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3}))?S)?)?")


def reset_duration_ms(reset: str) -> int:
    """Return the duration of a by_duration policy in ms, -1 for any other or an invalid policy.

    The format is ISO 8601 with days and smaller units: by_duration:P1DT2H, by_duration:PT10S. Source:
    AutoOffsetResetStrategy.fromString, java.time.Duration.parse.
    """
    kind, _, text = reset.partition(":")
    found = _DURATION.fullmatch(text) if f"{kind}:" == BY_DURATION else None
    if found is None or not any(found.groups()) or text.endswith("T"):
        return -1
    days, hours, minutes, seconds, fraction = (part or "0" for part in found.groups())
    whole = ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)
    return whole * 1_000 + int(fraction.ljust(3, "0"))
