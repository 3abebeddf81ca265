"""The words of a step by the role of its call and client, so that a session and a producer can be compared.

A TransactionSession (KIP-1310, draft) does a producer's work in a transaction under other names: initialize() is
initTransactions(), and app-1/session sends EndTxn. By their roles both have the same words. Requests of other clients,
such as a share consumer's own acknowledgements, stay different.
"""

from __future__ import annotations

from kipviz.clients.workers import swap_thread
from kipviz.cluster.actions import ClusterAction, Deliver, Send, Step
from kipviz.cluster.specs.session_config import SESSION
from kipviz.cluster.world import World, host_of
from kipviz.views.explanations.sentences import Words

PRODUCER = "producer"


def by_role(before: World, action: ClusterAction, words: Words) -> tuple[str, str] | None:
    """Return a step's title and sentence in a producer's words, or None if they are the same already."""
    match action:
        case Step(application=name):
            app = swap_thread(before.applications[name], action.thread)
            call = app.program[app.line].call
            renamed = [(f"{call.value}()", f"{call.role.value}()")]
        case Send(source=source) | Deliver(source=source) if source.endswith(f"/{SESSION}"):
            host = host_of(source)
            renamed = [
                (source, f"{host}/{PRODUCER}"),
                (f"the {SESSION} of {host}", f"the {PRODUCER} of {host}"),
                (f"The {SESSION} of {host}", f"The {PRODUCER} of {host}"),
                (f"{SESSION} sends ", f"{PRODUCER} sends "),
            ]
        case _:
            return None
    found = words.title, words.sentence
    for name, role in renamed:
        found = found[0].replace(name, role), found[1].replace(name, role)
    return None if found == (words.title, words.sentence) else found
