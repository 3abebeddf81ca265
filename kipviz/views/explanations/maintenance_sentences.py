"""Sentences about maintenance: state that expires, late messages, upgrades, ACLs and installed releases."""

from __future__ import annotations

from typing import TypeAlias

from kipviz.messages.events import (
    AclsChanged,
    FeatureFinalized,
    LeftOnItsWay,
    NoResponse,
    NotSent,
    ProducerForgotten,
    ReleaseInstalled,
    TransactionForgotten,
)

MaintenanceEvent: TypeAlias = (
    TransactionForgotten
    | ProducerForgotten
    | LeftOnItsWay
    | FeatureFinalized
    | AclsChanged
    | ReleaseInstalled
    | NotSent
    | NoResponse
)


def render_maintenance(event: MaintenanceEvent) -> str:
    """Return the meaning of such an event in a sentence."""
    match event:
        case TransactionForgotten(transactional_id=name):
            return f"{name} expires: its next producer gets a new producer id."
        case ProducerForgotten(partition=partition, producer_id=pid):
            return f"The log of {partition} has expired its state for producer {pid}."
        case LeftOnItsWay(messages=messages):
            names = " and ".join(type(message).__name__ for message in messages)
            return f"{names} may still arrive."
        case FeatureFinalized():
            return "Brokers apply it at once. A client learns it when it opens a connection."
        case AclsChanged(created=created):
            what = "with it" if created else "without it"
            return (
                f"Every request that arrives from now on is checked {what}. No client is notified."
            )
        case ReleaseInstalled(broker=broker):
            return f"Broker {broker} runs it after its restart."
        case NotSent(broker=broker, message=message):
            return f"Broker {broker} does not know {type(message).__name__}: nothing is sent."
        case NoResponse():
            return "The request has acks=0, so no response is sent."
