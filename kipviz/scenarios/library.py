"""The scenarios, by name."""

from __future__ import annotations

from kipviz.core.nearest import unknown
from kipviz.scenarios.scenario import Scenario
from kipviz.scenarios.stories import (
    kip_11,
    kip_62,
    kip_98,
    kip_98_back_off,
    kip_98_idempotence,
    kip_98_in_flight,
    kip_98_max_block,
    kip_98_replicas,
    kip_98_reset,
    kip_98_silence,
    kip_98_topics,
    kip_140,
    kip_211,
    kip_229,
    kip_345,
    kip_360,
    kip_429,
    kip_447,
    kip_447_drafts,
    kip_447_rollout,
    kip_664,
    kip_848,
    kip_848_static,
    kip_890,
    kip_890_identities,
    kip_890_late,
    kip_890_rolling,
    kip_932,
    kip_932_deleted,
    kip_932_operator,
    kip_932_room,
    kip_932_sources,
    kip_939,
    kip_939_database,
    kip_939_operator,
    kip_939_writer,
    kip_994,
    kip_1191,
    kip_1289,
    kip_1289_corners,
    kip_1289_database,
    kip_1289_findings,
    kip_1289_members,
    kip_1289_operator,
    kip_1289_pipelines,
    kip_1289_rolling,
    kip_1289_rollout,
    kip_1289_several,
    kip_1309,
    kip_1309_committer,
    kip_1310,
    kip_1310_open,
    kip_1310_partitions,
    kip_1310_producers,
    kip_1310_threads,
    kip_1310_two_phase,
    kip_1319,
    late_polls,
    pains,
    pains_of_recovery,
    pains_of_releases,
    pains_of_sharing,
)


class UnknownScenario(ValueError):
    """A scenario of a name that there is not."""


# In the order in which a list shows them: what a release ships first, then the drafts.
LIBRARY: tuple[Scenario, ...] = (
    *kip_98.STORIES,
    *kip_11.STORIES,
    *kip_140.STORIES,
    *kip_98_idempotence.STORIES,
    *kip_98_in_flight.STORIES,
    *kip_98_max_block.STORIES,
    *kip_98_replicas.STORIES,
    *kip_98_reset.STORIES,
    *kip_98_silence.STORIES,
    *kip_98_topics.STORIES,
    *kip_98_back_off.STORIES,
    *kip_447.STORIES,
    *kip_447_rollout.STORIES,
    *kip_447_drafts.STORIES,
    *kip_664.STORIES,
    *kip_848.STORIES,
    *kip_848_static.STORIES,
    *kip_62.STORIES,
    *kip_429.STORIES,
    *late_polls.STORIES,
    *kip_345.STORIES,
    *kip_360.STORIES,
    *kip_211.STORIES,
    *kip_229.STORIES,
    *kip_890.STORIES,
    *kip_890_identities.STORIES,
    *kip_890_late.STORIES,
    *kip_890_rolling.STORIES,
    *kip_932.STORIES,
    *kip_932_sources.STORIES,
    *kip_932_operator.STORIES,
    *kip_932_deleted.STORIES,
    *kip_932_room.STORIES,
    *kip_939.STORIES,
    *kip_939_database.STORIES,
    *kip_939_operator.STORIES,
    *kip_939_writer.STORIES,
    *kip_994.STORIES,
    *kip_1191.STORIES,
    *kip_1319.STORIES,
    *pains.STORIES,
    *pains_of_recovery.STORIES,
    *pains_of_releases.STORIES,
    *pains_of_sharing.STORIES,
    *kip_1289.STORIES,
    *kip_1289_corners.STORIES,
    *kip_1289_pipelines.STORIES,
    *kip_1289_rollout.STORIES,
    *kip_1289_rolling.STORIES,
    *kip_1289_findings.STORIES,
    *kip_1289_operator.STORIES,
    *kip_1289_several.STORIES,
    *kip_1289_members.STORIES,
    *kip_1289_database.STORIES,
    *kip_1309.STORIES,
    *kip_1309_committer.STORIES,
    *kip_1310.STORIES,
    *kip_1310_open.STORIES,
    *kip_1310_partitions.STORIES,
    *kip_1310_producers.STORIES,
    *kip_1310_two_phase.STORIES,
    *kip_1310_threads.STORIES,
)


def scenario(name: str) -> Scenario:
    """Give a scenario by name.

    Raises:
        UnknownScenario: if there is none; the message has the names nearest to it.
    """
    for known in LIBRARY:
        if known.name == name:
            return known
    names = (s.name for s in LIBRARY)
    raise UnknownScenario(unknown("scenario", name, names, "`kipviz list`"))
