"""Actions of one role of a broker: its log is replicated, it loads, its locks, timers and delays end, it refreshes."""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.brokers.context import Context
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.share_leaders import share_partition_leader, share_timers
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.transactions import transaction_coordinator
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clauses import OURS, SHIPPED, Clause
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.cluster import dispatch
from kipviz.cluster.actions import (
    DelayOver,
    ExpireLock,
    Load,
    Refresh,
    Replicate,
    RunOut,
    TimeOutTransaction,
)
from kipviz.cluster.behaviour.action_name import ActionName, Verb
from kipviz.cluster.behaviour.behaviour import AnyBehaviour, Behaviour, Guard, Model
from kipviz.cluster.behaviour.naming import begin_sentence, partition_of, render_list, short_name
from kipviz.cluster.timing import role_delays, timer_deadlines
from kipviz.cluster.timing.clock import Deadline, Due, Place
from kipviz.cluster.timing.deadlines import scan_overdue
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import (
    LOGS,
    RELEASES,
    ROLES,
    BrokerRole,
    RoleKey,
    World,
    broker_host,
    is_loading,
    role_as,
    role_at,
    role_key,
)
from kipviz.core.watched import Cell
from kipviz.messages.apis.api import Role
from kipviz.settings.broker_configs import GROUP_SHARE_RECORD_LOCK_DURATION_MS
from kipviz.settings.client_configs import TRANSACTION_TIMEOUT_MS
from kipviz.settings.topic_configs import MIN_INSYNC_REPLICAS


class Replicating(Behaviour[Replicate]):
    """The in-sync replicas have a partition's log to its end: the high watermark advances."""

    action = Replicate
    dues = (Due.REPLICATION,)
    verbs = (Verb("replicate", "{0} is replicated"),)
    clause = Clause(
        "replicate", "KIP-98 Data flow, replication", SHIPPED, "Partition.maybeIncrementLeaderHW"
    )

    def why_not(self, model: Model, world: World, action: Replicate) -> str | None:
        log = world.logs.get(action.partition)
        if log is None:
            return f"there is no partition {action.partition}"
        if log.high_watermark == log.end_offset:
            return f"every in-sync replica has {action.partition} up to its end, offset {log.end_offset}"
        if not world.image.has_enough_replicas(action.partition):
            return f"fewer than {MIN_INSYNC_REPLICAS.name} of {action.partition} are in sync: its high watermark does not advance"
        return None

    def apply(self, turn: Turn, action: Replicate) -> None:
        turn.replicate(action.partition)

    def sentence(self, world: World, action: Replicate) -> str:
        return f"Every in-sync replica has all of {action.partition}: the high watermark advances."

    def looks_at(self, world: World, action: Replicate) -> Iterable[Guard]:
        log, leader = world.logs[action.partition], world.image.leader_of(action.partition)
        yield "high watermark", str(log.high_watermark)
        yield "end of the log", str(log.end_offset)
        role = world.roles.get(role_key(leader, action.partition))
        waits = () if role is None or isinstance(role, KafkaApis | ShareLeader) else role.waiting
        waiting = [w for w in waits if w.offset < log.end_offset]
        yield "responses waiting for it", str(len(waiting))

    def main_cause(self, action: Replicate) -> Cell:
        return LOGS, action.partition

    def name(self, world: World, action: Replicate) -> ActionName:
        return ActionName(self.verbs[0], (action.partition,))

    def host(self, world: World, action: Replicate) -> str:
        return broker_host(world.image.leader_of(action.partition))

    def lane(self, world: World, action: Replicate) -> str:
        leader = world.image.leader_of(action.partition)
        return broker_host(leader) if leader >= 0 else ""


class Loading(Behaviour[Load]):
    """A new coordinator has read its log and becomes active."""

    action = Load
    dues = (Due.LOADING,)
    parts_read = (RELEASES,)
    verbs = (Verb("load", "{0} takes office on {1}"),)
    clause = Clause(
        "on_loaded", "KIP-98 Coordinator failover", SHIPPED, "CoordinatorRuntime, loading"
    )

    def why_not(self, model: Model, world: World, action: Load) -> str | None:
        role = world.roles.get((action.broker, action.role, action.shard))
        if role is None:
            return f"broker {action.broker} does not coordinate {action.shard}"
        if is_loading(role):
            return None
        return f"broker {action.broker} already coordinates {action.shard}"

    def of_new_role(self, key: RoleKey, role: BrokerRole) -> Iterable[Load]:
        return (Load(*key),)

    def apply(self, turn: Turn, action: Load) -> None:
        turn.load((action.broker, action.role, action.shard))

    def sentence(self, world: World, action: Load) -> str:
        return f"Broker {action.broker} has loaded {action.shard} and starts serving it."

    def looks_at(self, world: World, action: Load) -> Iterable[Guard]:
        held, log = world.image.leaders[action.shard], world.logs[action.shard]
        yield f"leader of {short_name(action.shard)}", f"Broker {action.broker}, epoch {held.epoch}"
        yield "log to read", f"offsets 0 to {log.high_watermark - 1}"
        yield "loaded", "not yet"

    def main_cause(self, action: Load) -> Cell:
        return ROLES, (action.broker, action.role, action.shard)

    def name(self, world: World, action: Load) -> ActionName:
        return ActionName(self.verbs[0], (action.shard, broker_host(action.broker)))

    def host(self, world: World, action: Load) -> str:
        return broker_host(action.broker)

    def lane(self, world: World, action: Load) -> str:
        return broker_host(action.broker)


class ExpiringLock(Behaviour[ExpireLock]):
    """An acquisition lock of a share-partition expires."""

    action = ExpireLock
    dues = (Due.LOCK,)
    timer = f"acquisition lock ({GROUP_SHARE_RECORD_LOCK_DURATION_MS.name})"
    expires_at_rest = True
    shows_time_left = True
    verbs = (
        Verb("expire lock", "the lock of {0} runs out"),
        Verb("expire lock of group", "the lock of {0} in {1} runs out"),
    )
    clause = Clause(
        "on_lock_expiry",
        "KIP-932 acquisition lock; KIP-1289 corner case 6",
        SHIPPED,
        "SharePartition.releaseAcquisitionLockOnTimeout",
    )
    spends = "expire_lock"
    spent_as = "lock expiries"

    def why_not(self, model: Model, world: World, action: ExpireLock) -> str | None:
        role = role_at(world.roles, (action.broker, Role.SHARE_PARTITION_LEADER, ""), ShareLeader)
        if role is None:
            return f"broker {action.broker} is down"
        on = model.context(world, action.broker)
        return share_timers.why_no_lock_expiry(role, action.key, action.lock, on)

    def of_role(self, key: RoleKey, role: BrokerRole, on: Context) -> Iterable[ExpireLock]:
        if type(role) is not ShareLeader:
            return ()
        return [ExpireLock(key[0], share, lock) for share, lock in share_timers.locks(role, on)]

    def apply(self, turn: Turn, action: ExpireLock) -> None:
        key = (action.broker, Role.SHARE_PARTITION_LEADER, "")
        on = turn.context(action.broker)
        role = role_as(turn.roles[key], ShareLeader)
        turn.carry_out(
            key, share_partition_leader.on_lock_expiry(role, action.key, action.lock, on)
        )

    def sentence(self, world: World, action: ExpireLock) -> str:
        where = f"{partition_of(world, action.key)}@{action.lock}"
        return f"The acquisition lock of {where} expires on Broker {action.broker}."

    def looks_at(self, world: World, action: ExpireLock) -> Iterable[Guard]:
        yield "expiries left", str(world.budget.expire_lock)

    def detail(self, world: World, action: ExpireLock) -> str:
        return f"share-partition leader {broker_host(action.broker)}"

    def main_cause(self, action: ExpireLock) -> Cell:
        return ROLES, (action.broker, Role.SHARE_PARTITION_LEADER, "")

    def name(self, world: World, action: ExpireLock) -> ActionName:
        where = f"{partition_of(world, action.key)}@{action.lock}"
        if not _several_groups_share(world):
            return ActionName(self.verbs[0], (where,))
        return ActionName(self.verbs[1], (where, action.key.partition(":")[0]))

    def host(self, world: World, action: ExpireLock) -> str:
        return broker_host(action.broker)

    def lane(self, world: World, action: ExpireLock) -> str:
        return broker_host(action.broker)


class TimingOutTransaction(Behaviour[TimeOutTransaction]):
    """transaction.timeout.ms expires: the coordinator aborts the transaction."""

    action = TimeOutTransaction
    dues = (Due.TRANSACTION,)
    timer = f"transaction time-out ({TRANSACTION_TIMEOUT_MS.name})"
    expires_at_rest = True
    shows_time_left = True
    verbs = (Verb("time out transaction", "{0} times out"),)
    clause = Clause(
        "on_timeout",
        "KIP-98 transaction.timeout.ms",
        SHIPPED,
        "TransactionCoordinator.abortTimedOutTransactions",
    )
    spends = "time_out"
    spent_as = "transaction timeouts"

    def why_not(self, model: Model, world: World, action: TimeOutTransaction) -> str | None:
        role = _coordinator(world, action)
        if role is None:
            return f"broker {action.broker} does not coordinate {action.transactional_id}"
        return transaction_coordinator.why_no_timeout(role, action.transactional_id)

    def of_role(self, key: RoleKey, role: BrokerRole, on: Context) -> Iterable[TimeOutTransaction]:
        if type(role) is not TransactionCoordinator:
            return ()
        return [
            TimeOutTransaction(key[0], key[2], name)
            for name in role.transactions
            if transaction_coordinator.why_no_timeout(role, name) is None
        ]

    def apply(self, turn: Turn, action: TimeOutTransaction) -> None:
        """Let one scan of a broker abort all overdue transactions that it coordinates."""
        for name in turn.scan_overdue(action):
            key = (
                action.broker,
                Role.TRANSACTION_COORDINATOR,
                turn.image.home_of_transactions(name),
            )
            on = turn.context(action.broker)
            role = role_as(turn.roles[key], TransactionCoordinator)
            turn.carry_out(key, transaction_coordinator.on_timeout(role, name, on))

    def sentence(self, world: World, action: TimeOutTransaction) -> str:
        names = scan_overdue(world, action)
        them = "them in one scan" if len(names) > 1 else "it"
        late = " and ".join(names)
        return f"{late} took longer than {TRANSACTION_TIMEOUT_MS.name}: Broker {action.broker} aborts {them}."

    def looks_at(self, world: World, action: TimeOutTransaction) -> Iterable[Guard]:
        coordinator = _coordinator(world, action)
        known = coordinator.transactions.get(action.transactional_id) if coordinator else None
        if known is not None:
            yield "state", known.state.value
            yield "pending transition", known.pending_state.value if known.pending_state else "none"
            yield TRANSACTION_TIMEOUT_MS.name, str(known.timeout_ms)
            yield "epoch", str(known.producer_epoch)
            yield "partitions", render_list(tuple(map(short_name, known.partitions)))
        yield "timeouts left", str(world.budget.time_out)

    def detail(self, world: World, action: TimeOutTransaction) -> str:
        return f"transaction coordinator {broker_host(action.broker)}"

    def deadline_place(self, world: World, action: TimeOutTransaction) -> Place:
        return Due.TRANSACTION, (action.transactional_id,)

    def at_deadline(self, world: World, deadline: Deadline) -> TimeOutTransaction:
        name = str(deadline.place[0])
        home = world.image.home_of_transactions(name)
        return TimeOutTransaction(world.image.leader_of(home), home, name)

    def main_cause(self, action: TimeOutTransaction) -> Cell:
        return ROLES, (action.broker, Role.TRANSACTION_COORDINATOR, action.shard)

    def name(self, world: World, action: TimeOutTransaction) -> ActionName:
        return ActionName(self.verbs[0], (action.transactional_id,))

    def host(self, world: World, action: TimeOutTransaction) -> str:
        return broker_host(action.broker)

    def lane(self, world: World, action: TimeOutTransaction) -> str:
        return broker_host(action.broker)


def _coordinator(world: World, action: TimeOutTransaction) -> TransactionCoordinator | None:
    key = (action.broker, Role.TRANSACTION_COORDINATOR, action.shard)
    return role_at(world.roles, key, TransactionCoordinator)


class RunningOut(Behaviour[RunOut]):
    """Another timer of a role expires; the role's module knows which ones are running."""

    action = RunOut
    dues = (
        Due.ROLE_TIMER,
        Due.TRANSACTIONAL_ID,
        Due.PRODUCER_ID,
        Due.LOG_FRONT,
        Due.OFFSET,
        Due.GROUP_OFFSETS,
    )
    expires_at_rest = True
    shows_time_left = True
    verbs = (Verb("run out", "{0} runs out at {1}"),)
    spends = "run_out"
    spent_as = "other timer expiries"

    def why_not(self, model: Model, world: World, action: RunOut) -> str | None:
        role = world.roles.get((action.broker, action.role, action.shard))
        if role is None:
            return f"broker {action.broker} does not have {action.shard or action.role}"
        on = model.context(world, action.broker)
        set_now = dispatch.timers(role, on)
        if action.timer in set_now:
            return None
        known = ", ".join(timer.words for timer in set_now) or "none"
        return f"no timer {action.timer.words!r} is set there; set are: {known}"

    def of_role(self, key: RoleKey, role: BrokerRole, on: Context) -> Iterable[RunOut]:
        return [RunOut(*key, timer) for timer in dispatch.timers(role, on)]

    def apply(self, turn: Turn, action: RunOut) -> None:
        key = (action.broker, action.role, action.shard)
        role, on = turn.roles[key], turn.context(action.broker)
        effects = dispatch.timer_expired(role, action.timer, on)
        turn.carry_out(key, effects)
        for partition, _ in effects.deletes:
            turn.notify(partition)  # a waiting reader continues after the deleted records

    def sentence(self, world: World, action: RunOut) -> str:
        return f"{begin_sentence(action.timer.words)} expires on Broker {action.broker}."

    def looks_at(self, world: World, action: RunOut) -> Iterable[Guard]:
        yield "timer", action.timer.words
        yield "timers left", str(world.budget.run_out)

    def detail(self, world: World, action: RunOut) -> str:
        return f"{action.role.replace('_', ' ')} {broker_host(action.broker)}"

    def deadline_place(self, world: World, action: RunOut) -> Place:
        key = (action.broker, action.role, action.shard)
        return timer_deadlines.place_of(world, key, action.timer)

    def at_deadline(self, world: World, deadline: Deadline) -> RunOut:
        return RunOut(*timer_deadlines.timer_at(world, deadline))

    def main_cause(self, action: RunOut) -> Cell:
        return ROLES, (action.broker, action.role, action.shard)

    def expiring_timer(self, action: RunOut) -> str:
        return action.timer.NAME

    def name(self, world: World, action: RunOut) -> ActionName:
        return ActionName(
            self.verbs[0], (action.timer.text, broker_host(action.broker)), action.timer
        )

    def host(self, world: World, action: RunOut) -> str:
        return broker_host(action.broker)

    def lane(self, world: World, action: RunOut) -> str:
        return broker_host(action.broker)


class EndingDelay(Behaviour[DelayOver]):
    """A delay of a role ends; the role's module knows what it waited for."""

    action = DelayOver
    dues = (Due.ROLE_DELAY,)
    verbs = (Verb("delay over", "{0} is over at {1}"),)
    clause = Clause(
        "on_delay",
        "KIP-134 group.initial.rebalance.delay.ms; KIP-1263",
        SHIPPED,
        "GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule, canComputeNextTargetAssignment",
    )

    def why_not(self, model: Model, world: World, action: DelayOver) -> str | None:
        role = world.roles.get((action.broker, action.role, action.shard))
        if role is None:
            return f"broker {action.broker} does not have {action.shard or action.role}"
        kept = role_delays.delays(role)
        if action.delay in kept:
            return None
        known = ", ".join(delay.words for delay in kept) or "nothing"
        return f"nothing waits for {action.delay.words!r} there; waited for: {known}"

    def of_role(self, key: RoleKey, role: BrokerRole, on: Context) -> Iterable[DelayOver]:
        return [DelayOver(*key, delay) for delay in role_delays.delays(role)]

    def apply(self, turn: Turn, action: DelayOver) -> None:
        key = (action.broker, action.role, action.shard)
        role, on = turn.roles[key], turn.context(action.broker)
        turn.carry_out(key, role_delays.over(role, action.delay, on))

    def sentence(self, world: World, action: DelayOver) -> str:
        return f"{begin_sentence(action.delay.words)} ends on Broker {action.broker}."

    def looks_at(self, world: World, action: DelayOver) -> Iterable[Guard]:
        yield "waited for", action.delay.words

    def detail(self, world: World, action: DelayOver) -> str:
        return f"{action.role.replace('_', ' ')} {broker_host(action.broker)}"

    def main_cause(self, action: DelayOver) -> Cell:
        return ROLES, (action.broker, action.role, action.shard)

    def name(self, world: World, action: DelayOver) -> ActionName:
        return ActionName(
            self.verbs[0], (action.delay.text, broker_host(action.broker)), action.delay
        )

    def host(self, world: World, action: DelayOver) -> str:
        return broker_host(action.broker)

    def lane(self, world: World, action: DelayOver) -> str:
        return broker_host(action.broker)


class Refreshing(Behaviour[Refresh]):
    """A share-partition leader queries the outcome of its transactional acknowledgements. Our inference."""

    action = Refresh
    dues = (Due.LOOK_UP,)
    shows_time_left = True
    verbs = (Verb("refresh", "{0} refreshes {1}"),)
    clause = Clause(
        "on_refresh",
        "none: how a leader learns the outcome is not written",
        OURS,
        "none: our inference",
    )

    def why_not(self, model: Model, world: World, action: Refresh) -> str | None:
        role = role_at(world.roles, (action.broker, Role.SHARE_PARTITION_LEADER, ""), ShareLeader)
        if role is None:
            return f"broker {action.broker} is down"
        return share_timers.why_no_refresh(role, action.key, model.context(world, action.broker))

    def of_role(self, key: RoleKey, role: BrokerRole, on: Context) -> Iterable[Refresh]:
        if type(role) is not ShareLeader:
            return ()
        return [Refresh(key[0], share) for share in share_timers.refreshes(role, on)]

    def apply(self, turn: Turn, action: Refresh) -> None:
        key = (action.broker, Role.SHARE_PARTITION_LEADER, "")
        on = turn.context(action.broker)
        role = role_as(turn.roles[key], ShareLeader)
        turn.carry_out(key, share_partition_leader.on_refresh(role, action.key, on))

    def sentence(self, world: World, action: Refresh) -> str:
        where = partition_of(world, action.key)
        return f"Broker {action.broker} looks up the outcome of acknowledgements for {where}."

    def looks_at(self, world: World, action: Refresh) -> Iterable[Guard]:
        yield "share-partition", partition_of(world, action.key)

    def main_cause(self, action: Refresh) -> Cell:
        return ROLES, (action.broker, Role.SHARE_PARTITION_LEADER, "")

    def name(self, world: World, action: Refresh) -> ActionName:
        return ActionName(
            self.verbs[0], (broker_host(action.broker), partition_of(world, action.key))
        )

    def host(self, world: World, action: Refresh) -> str:
        return broker_host(action.broker)

    def lane(self, world: World, action: Refresh) -> str:
        return broker_host(action.broker)


BEHAVIOURS: tuple[AnyBehaviour, ...] = (
    Replicating(),
    Loading(),
    ExpiringLock(),
    Refreshing(),
    TimingOutTransaction(),
    EndingDelay(),
    RunningOut(),
)


def _several_groups_share(world: World) -> bool:
    """Return whether there are several share groups, so that the name of a lock needs its group's."""
    consumers = [app.consumer for app in world.applications.values()]
    groups = {c.group_id: True for c in consumers if isinstance(c, ShareConsumer)}
    return len(groups) > 1
