"""Which producer a Kafka Streams application uses, by its version and two configurations (KIP-447, drafts).

The middle version of the KIP has CONSUMER_GROUP_AWARE_TRANSACTION: a producer for each thread if it is true. The
later one has UPGRADE_FROM instead: with it an application of the new version keeps a producer for each task, whose
offsets already name the member. Kafka shipped processing.guarantee.
NOT MODELLED: asking the brokers for their version at the start, which the KIP rejects.
"""

from __future__ import annotations

from kipviz.cluster.specs.spec import ApplicationSpec
from kipviz.core.values import Value
from kipviz.scenarios.applications import programs
from kipviz.scenarios.group_setting import member
from kipviz.scenarios.setting import TRANSACTIONAL_ID

# The release of Kafka Streams that introduces a producer for each thread, and the ones before it.
WITH_THREADS, WITH_TASKS = "2.4", "2.3"


class StreamsConfig(Value, frozen=True):
    """An instance of an application: its version, and the two configurations of the drafts.

    `upgrade_from` is a version or "" for unset; `group_aware` is True, False, or None if there is no such
    configuration.

    Raises:
        ValueError: if both are set, or a version is neither of the two.
    """

    version: str
    upgrade_from: str = ""
    group_aware: bool | None = None

    def __post_init__(self) -> None:
        if self.version not in (WITH_TASKS, WITH_THREADS) or self.upgrade_from not in (
            "",
            WITH_TASKS,
        ):
            raise ValueError(
                f"an application must have version {WITH_TASKS} or {WITH_THREADS} and be upgraded from {WITH_TASKS} or nothing, not "
                f"{self.version!r} from {self.upgrade_from!r}"
            )
        if self.upgrade_from and self.group_aware is not None:
            raise ValueError("the drafts have one configuration or the other, not both")

    @property
    def per_thread(self) -> bool:
        """Whether it has a producer for each thread, with its own transactional id."""
        return (
            self.version == WITH_THREADS and not self.upgrade_from and self.group_aware is not False
        )

    @property
    def names_member(self) -> bool:
        """Whether its producers name their member of the group, which is the purpose of the first bounce."""
        return self.version == WITH_THREADS


def instance(name: str, number: int, config: StreamsConfig) -> ApplicationSpec:
    """Return an instance with one task: under the task's transactional id, or under its thread's own."""
    return member(
        name,
        member_id=f"C{number}",
        transactional_id=f"{TRANSACTIONAL_ID}-2" if config.per_thread else TRANSACTIONAL_ID,
        program=programs.GROUP_LOOP if config.names_member else programs.GROUP_LOOP_BARE,
    )
