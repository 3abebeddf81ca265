"""The further share consumers of a process: several sources that feed one sink (FLIP-573, draft).

Each is a member of the process's share group and reads its source. It drains its decisions, and the process's producer
stages them. If the process joins its group in the run, each has its own membership and epoch.
NOT MODELLED: the hosts between source and sink.
"""

from __future__ import annotations

from kipviz.cluster.specs.spec import ApplicationSpec


def why_no_further_members(application: ApplicationSpec) -> str:
    """Return why a process cannot have its further share consumers, or ""."""
    members, name = application.further_members, application.name
    if not members:
        return ""
    if not application.share or not application.explicit:
        return f"{name} has further_members, which takes a share group (share) and explicit acknowledgement (explicit)"
    alone = {
        "gathers": application.gathers,
        "threads": application.threads,
        "session": application.session,
        "further_sources": application.further_sources,
    }
    other = next((field for field, value in alone.items() if value), "")
    if other:
        return f"{name} has either further_members or {other}, not both"
    taken = (application.member_id, "consumer", "producer", "database", *application.tasks)
    for at, member in enumerate(members):
        if not member.isidentifier() or member in taken or member in members[:at]:
            return f"each of further_members of {name} is a name of its own such as 'M9', not {member!r}"
    return ""
