"""The limits of a process with several application threads."""

from __future__ import annotations

from kipviz.clients.application import Call
from kipviz.cluster.spec_checks.program_limits import why_no_such_call
from kipviz.cluster.specs.spec import ApplicationSpec, ClusterSpec


def why_no_threads(spec: ClusterSpec, application: ApplicationSpec) -> str:
    """Return why a process cannot have these threads, or which call of a thread has no object, or ""."""
    name, lines = application.name, len(application.program)
    names = [t.name for t in application.threads]
    for line in application.program:
        if line.call in (Call.SUBMIT, Call.GET) and line.target not in names:
            known = ", ".join(names) or "none"
            return f"{name} has no thread {line.target!r} for {line.call.value}(): its threads are {known}"
    if not names:
        return why_no_such_call(application)
    if application.protocol and not application.share:
        return f"{name} has several threads: a consumer of a regular group is in it since before the run"
    own = next((t.name for t in application.threads if t.consumer), "")
    if application.share and own:
        return f"thread {own} of {name} has no consumer of its own: the share consumer is one for all threads"
    if spec.look_up_topics and application.session is None:
        return f"{name} has several threads at one producer, which looks up no ids of topics: leave look_up_topics"
    if application.buffer and (spec.later_topics or spec.deletable_topics):
        return (
            f"{name} has several threads: their sends wait for room (buffer) or for topics that come "
            "and go, not for both"
        )
    for thread in application.threads:
        if not thread.name or names.count(thread.name) > 1:
            return f"each thread of {name} must have a name of its own, not {thread.name!r}"
        if not 0 < thread.first < lines:
            return (
                f"thread {thread.name} of {name} begins with a line from 1 to {lines - 1}, "
                f"not with {thread.first}"
            )
        placed = (p.partition for p in spec.placements)
        if thread.consumer and thread.source not in placed:
            return f"thread {thread.name} of {name} reads {thread.source!r}, which no placement gives a leader"
    return why_no_such_call(application)
