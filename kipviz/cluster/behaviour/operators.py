"""An operator's actions on a running cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kipviz.brokers.authorizer import Acl
from kipviz.clauses import SHIPPED, Clause
from kipviz.cluster import replication_control
from kipviz.cluster.actions import (
    CreateAcls,
    CreateTopic,
    DeleteAcls,
    DeleteRecords,
    DeleteTopic,
    InstallRelease,
    RemakeTopic,
    UpgradeFeature,
)
from kipviz.cluster.behaviour.action_name import ActionName, Verb
from kipviz.cluster.behaviour.behaviour import AnyBehaviour, Behaviour, Guard, Model
from kipviz.cluster.behaviour.naming import render_list
from kipviz.cluster.operating import (
    acl_changes,
    add_acl,
    installations,
    remove_acl,
    set_release,
    upgrades,
    why_no_acl_change,
    why_no_installation,
    why_no_upgrade,
)
from kipviz.cluster.replication_control import (
    creatable,
    removable,
    why_no_creation,
    why_no_removal,
)
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import ACLS, RELEASES, UP, World, broker_host
from kipviz.messages.events import AclsChanged, FeatureFinalized, ReleaseInstalled
from kipviz.records.placement import INTERNAL_TOPICS, topic_of
from kipviz.settings.broker_configs import TRANSACTION_VERSION


class RemakingTopic(Behaviour[RemakeTopic]):
    """An operator deletes a topic and creates another one of the same name."""

    action = RemakeTopic
    verbs = (Verb("remake topic", "{0} is deleted and made again"),)
    place = 10
    clause = Clause(
        "remake",
        "KIP-516 topic ids: a topic that is made again is another one",
        SHIPPED,
        "ReplicationControlManager.deleteTopics, createTopics",
    )

    def why_not(self, model: Model, world: World, action: RemakeTopic) -> str | None:
        fresh = next((each for each in model.spec.remade if each.topic == action.topic), None)
        if fresh is None:
            names = ", ".join(each.topic for each in model.spec.remade) or "none"
            return (
                f"{action.topic} cannot be created again in this cluster; topics that can: {names}"
            )
        now = world.image.topic_ids.get(action.topic)
        if now is None:
            return f"{action.topic} is deleted for good"
        return f"{action.topic} has already been created again" if now == fresh.topic_id else None

    def comes_up(self, spec: ClusterSpec) -> bool:
        return bool(spec.remade)

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[RemakeTopic]:
        ids = world.image.topic_ids
        old = [each for each in spec.remade if ids.get(each.topic, each.topic_id) != each.topic_id]
        return [RemakeTopic(each.topic) for each in old]

    def apply(self, turn: Turn, action: RemakeTopic) -> None:
        replication_control.remake(turn, action.topic)

    def sentence(self, world: World, action: RemakeTopic) -> str:
        return f"An operator deletes {action.topic} and creates a topic of the same name."

    def looks_at(self, world: World, action: RemakeTopic) -> Iterable[Guard]:
        yield "id of the topic", world.image.topic_ids.get(action.topic, "none: it does not exist")

    def name(self, world: World, action: RemakeTopic) -> ActionName:
        return ActionName(self.verbs[0], (action.topic,))


class DeletingTopic(Behaviour[DeleteTopic]):
    """An operator deletes a topic for good (kafka-topics.sh --delete)."""

    action = DeleteTopic
    verbs = (Verb("delete topic", "{0} is deleted for good"),)
    place = 20
    clause = Clause("delete_topic", "KIP-4 DeleteTopics", SHIPPED, "ReplicaManager.stopPartitions")

    def why_not(self, model: Model, world: World, action: DeleteTopic) -> str | None:
        return why_no_removal(model.spec, world, action)

    def comes_up(self, spec: ClusterSpec) -> bool:
        return bool(spec.deletable_topics)

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[DeleteTopic]:
        return map(DeleteTopic, removable(spec, world))

    def apply(self, turn: Turn, action: DeleteTopic) -> None:
        replication_control.delete_topic(turn, action.topic)

    def sentence(self, world: World, action: DeleteTopic) -> str:
        return f"An operator deletes {action.topic}."

    def looks_at(self, world: World, action: DeleteTopic) -> Iterable[Guard]:
        yield "id of the topic", world.image.topic_ids.get(action.topic, "none: it does not exist")

    def name(self, world: World, action: DeleteTopic) -> ActionName:
        return ActionName(self.verbs[0], (action.topic,))


class CreatingTopic(Behaviour[CreateTopic]):
    """An operator creates a topic that did not exist at the start (kafka-topics.sh --create)."""

    action = CreateTopic
    verbs = (Verb("create topic", "{0} is made"),)
    place = 30
    clause = Clause("create_topic", "KIP-4 CreateTopics", SHIPPED, "ReplicationControlManager")

    def why_not(self, model: Model, world: World, action: CreateTopic) -> str | None:
        return why_no_creation(model.spec, world, action)

    def comes_up(self, spec: ClusterSpec) -> bool:
        return bool(spec.later_topics)

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[CreateTopic]:
        return map(CreateTopic, creatable(spec, world))

    def apply(self, turn: Turn, action: CreateTopic) -> None:
        placed = replication_control.placed_topic(turn.spec, action.topic)
        replication_control.create_topic(turn, placed)

    def sentence(self, world: World, action: CreateTopic) -> str:
        return f"An operator creates {action.topic}."

    def looks_at(self, world: World, action: CreateTopic) -> Iterable[Guard]:
        yield "id of the topic", world.image.topic_ids.get(action.topic, "none: it does not exist")

    def name(self, world: World, action: CreateTopic) -> ActionName:
        return ActionName(self.verbs[0], (action.topic,))


class DeletingRecords(Behaviour[DeleteRecords]):
    """Retention, or an operator (DeleteRecords), deletes a partition's oldest batch."""

    action = DeleteRecords
    verbs = (Verb("delete records", "the oldest batch of {0} is deleted"),)
    place = 90
    clause = Clause(
        "delete_oldest",
        "KIP-107 DeleteRecords; retention.ms, retention.bytes",
        SHIPPED,
        "UnifiedLog.maybeIncrementLogStartOffset",
    )
    spends = "delete_records"
    spent_as = "batch deletions"

    def why_not(self, model: Model, world: World, action: DeleteRecords) -> str | None:
        if action.partition in deletable(world):
            return None
        if action.partition not in world.logs or topic_of(action.partition) in INTERNAL_TOPICS:
            return f"{action.partition} is not a partition of a user's topic"
        return f"{action.partition} has no batch below its high watermark"

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[DeleteRecords]:
        return [DeleteRecords(partition) for partition in deletable(world)]

    def apply(self, turn: Turn, action: DeleteRecords) -> None:
        turn.delete_oldest(action.partition)

    def sentence(self, world: World, action: DeleteRecords) -> str:
        return f"Retention, or an operator, deletes the oldest batch of {action.partition}."

    def looks_at(self, world: World, action: DeleteRecords) -> Iterable[Guard]:
        log = world.logs[action.partition]
        oldest = log.batches[0]
        yield "log start", str(log.start_offset)
        yield "oldest batch", f"offsets {oldest.base_offset} to {oldest.last_offset}"
        yield "high watermark", str(log.high_watermark)
        yield "deletions left", str(world.budget.delete_records)

    def name(self, world: World, action: DeleteRecords) -> ActionName:
        return ActionName(self.verbs[0], (action.partition,))


class UpgradingFeature(Behaviour[UpgradeFeature]):
    """An operator finalizes another level of a feature, up or down (kafka-features.sh)."""

    action = UpgradeFeature
    parts_read = (RELEASES,)
    shows_time_left = True
    verbs = (Verb("upgrade feature", "{0} {1} is finalized"),)
    place = 120
    clause = Clause(
        "connected",
        "KIP-584 finalized features; KIP-890 Upgrade",
        SHIPPED,
        "FeatureControlManager; TransactionManager.maybeUpdateTransactionV2Enabled",
    )
    spends = "upgrade"
    spent_as = "feature level changes"

    def why_not(self, model: Model, world: World, action: UpgradeFeature) -> str | None:
        return why_no_upgrade(model.spec, world, action)

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[UpgradeFeature]:
        return upgrades(spec, world)

    def apply(self, turn: Turn, action: UpgradeFeature) -> None:
        turn.image = turn.image.but(
            features=turn.image.features.but(**{action.feature: action.level})
        )
        turn.events.append(FeatureFinalized(action.feature, action.level))

    def sentence(self, world: World, action: UpgradeFeature) -> str:
        return f"An operator finalizes {action.feature.replace('_', '.')} {action.level}."

    def looks_at(self, world: World, action: UpgradeFeature) -> Iterable[Guard]:
        yield "finalized now", str(getattr(world.image.features, action.feature))
        yield "changes left", str(world.budget.upgrade)

    def name(self, world: World, action: UpgradeFeature) -> ActionName:
        return ActionName(self.verbs[0], (action.feature.replace("_", "."), str(action.level)))


class InstallingRelease(Behaviour[InstallRelease]):
    """An operator installs another release on a broker, with a controlled shutdown if it runs."""

    action = InstallRelease
    parts_read = (UP, RELEASES)
    verbs = (Verb("install release", "{0} is stopped for {1}"),)
    place = 130
    clause = Clause(
        "installed",
        "KIP-584 supported features; KIP-631 controlled shutdown and broker registration",
        SHIPPED,
        "ClusterControlManager.registerBroker, ReplicationControlManager.handleBrokerInControlledShutdown",
    )
    spends = "restart"
    spent_as = "restarts with another release"

    def why_not(self, model: Model, world: World, action: InstallRelease) -> str | None:
        return why_no_installation(model.spec, world, action)

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[InstallRelease]:
        return installations(spec, world)

    def apply(self, turn: Turn, action: InstallRelease) -> None:
        if action.broker in turn.up:
            replication_control.crash(
                turn, action.broker
            )  # controlled: other brokers lead before it stops
        turn.image = turn.image.but(
            releases=set_release(turn.image.releases, action.broker, action.release)
        )
        turn.events.append(ReleaseInstalled(action.broker, action.release))

    def sentence(self, world: World, action: InstallRelease) -> str:
        return f"An operator stops Broker {action.broker} and installs {action.release} on it."

    def looks_at(self, world: World, action: InstallRelease) -> Iterable[Guard]:
        yield "release now", world.image.release_of(action.broker).name
        levels = world.image.features
        yield TRANSACTION_VERSION.name, str(levels.transaction_version)
        yield "share.version", str(levels.share_version)
        yield "restarts left", str(world.budget.restart)

    def name(self, world: World, action: InstallRelease) -> ActionName:
        return ActionName(self.verbs[0], (broker_host(action.broker), action.release))

    def lane(self, world: World, action: InstallRelease) -> str:
        return broker_host(action.broker)


class CreatingAcls(Behaviour[CreateAcls]):
    """An operator creates one of the spec's ACLs, a right or a denial (kafka-acls.sh --add)."""

    action = CreateAcls
    parts_read = (ACLS,)
    verbs = (Verb("create ACLs", "the ACL '{0}' is created"),)
    place = 140
    clause = Clause(
        "on_create_acls",
        "KIP-11 ACLs; KIP-140 CreateAcls",
        SHIPPED,
        "AclControlManager.createAcls, StandardAuthorizer",
    )
    spends = "acls"
    spent_as = "ACL changes"

    def why_not(self, model: Model, world: World, action: CreateAcls) -> str | None:
        return why_no_acl_change(model.spec, world, action)

    def possible_actions(
        self, spec: ClusterSpec, world: World
    ) -> Iterable[CreateAcls | DeleteAcls]:
        # Each ACL once, in the order of the spec: an existing one can be deleted, a missing one can be created.
        return acl_changes(spec, world)

    def apply(self, turn: Turn, action: CreateAcls) -> None:
        turn.image = turn.image.but(acls=add_acl(turn.spec, turn.image.acls or (), action.acl))
        turn.events.append(AclsChanged(action.acl.words, created=True))

    def sentence(self, world: World, action: CreateAcls) -> str:
        return f"An operator creates an ACL: {action.acl.words}."

    def looks_at(self, world: World, action: CreateAcls) -> Iterable[Guard]:
        yield from _of_resource(world, action.acl)

    def name(self, world: World, action: CreateAcls) -> ActionName:
        return ActionName(self.verbs[0], (action.acl.words,))


class DeletingAcls(Behaviour[DeleteAcls]):
    """An operator deletes an ACL, a right or a denial (kafka-acls.sh --remove)."""

    action = DeleteAcls
    parts_read = (ACLS,)
    verbs = (Verb("delete ACLs", "the ACL '{0}' is deleted"),)
    clause = Clause(
        "on_delete_acls",
        "KIP-11 ACLs; KIP-140 DeleteAcls",
        SHIPPED,
        "AclControlManager.deleteAcls, StandardAuthorizer",
    )
    spends = "acls"
    spent_as = "ACL changes"

    def why_not(self, model: Model, world: World, action: DeleteAcls) -> str | None:
        return why_no_acl_change(model.spec, world, action)

    def apply(self, turn: Turn, action: DeleteAcls) -> None:
        turn.image = turn.image.but(acls=remove_acl(turn.image.acls or (), action.acl))
        turn.events.append(AclsChanged(action.acl.words, created=False))

    def sentence(self, world: World, action: DeleteAcls) -> str:
        return f"An operator deletes the ACL '{action.acl.words}'. Requests accepted before stay accepted."

    def looks_at(self, world: World, action: DeleteAcls) -> Iterable[Guard]:
        yield from _of_resource(world, action.acl)

    def name(self, world: World, action: DeleteAcls) -> ActionName:
        return ActionName(self.verbs[0], (action.acl.words,))


def _of_resource(world: World, acl: Acl) -> Iterable[Guard]:
    """Return the ACLs of a resource, and how many changes are left."""
    same = [a.words for a in world.image.acls or () if a.resource is acl.resource]
    yield f"ACLs of a {acl.resource.value}", render_list(tuple(same))
    yield "changes left", str(world.budget.acls)


BEHAVIOURS: tuple[AnyBehaviour, ...] = (
    RemakingTopic(),
    DeletingTopic(),
    CreatingTopic(),
    DeletingRecords(),
    UpgradingFeature(),
    InstallingRelease(),
    CreatingAcls(),
    DeletingAcls(),
)


# -- pieces --------------------------------------------------------------------------------------


def deletable(world: World) -> Iterator[str]:
    """Return the partitions of users' topics that have a batch below the high watermark."""
    for partition, log in zip(world.logs.keys(), world.logs.values(), strict=True):
        if topic_of(partition) in INTERNAL_TOPICS or not log.batches:
            continue
        if log.batches[0].last_offset < log.high_watermark:
            yield partition
