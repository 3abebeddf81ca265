"""Print the requests that a release ships, for `recorder/WireRecorder.java`."""

from __future__ import annotations

from kipviz.messages.wire.frame import KINDS


def list_shipped() -> tuple[str, ...]:
    """Kafka's names of the requests, in the order of the rows, each one once."""
    names = (kind.schema.name for kind in KINDS.values() if kind.schema.status == "shipped")
    return tuple(name.removesuffix("Request") for name in names if name.endswith("Request"))


if __name__ == "__main__":
    print(" ".join(list_shipped()))
