"""Goals: what a learner's own run must have shown, as predicates on its moments.

A checkpoint of a scenario names one of these. A goal is not ticked off by hand: it is reached when the learner stands
at a moment, on the main run or on a branch, at which its predicate holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TypedDict

from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.groups.group_writes import HEARD_NO_MORE
from kipviz.brokers.membership.consumer_group import GroupMember
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.transactions.transaction_metadata import COMPLETED, PREPARED
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clients.groups.consumer import Consumer
from kipviz.clients.timers import MaxIdle
from kipviz.clients.transactions.external_database import ExternalDatabase
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.cluster.actions import (
    ClientTimer,
    ClusterAction,
    CrashBroker,
    CrashClient,
    TimeOutTransaction,
)
from kipviz.cluster.world import World
from kipviz.core.model import Event
from kipviz.lessons import late_request_goals, log_goals
from kipviz.lessons.group_goals import GROUP_GOALS
from kipviz.lessons.moment import Goal, Moment
from kipviz.lessons.operating_goals import OPERATING_GOALS
from kipviz.lessons.session_goals import SESSION_GOALS
from kipviz.lessons.share_goals import SHARE_GOALS
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    AssignmentMoved,
    BatchAppended,
    MessageDelivered,
    RecordsMoved,
    TopicRemade,
)
from kipviz.messages.groups.groups import TxnOffsetCommitResponse
from kipviz.records.batches import ABORT, COMMIT
from kipviz.records.placement import INTERNAL_TOPICS, topic_of
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState

# The errors for a removed member, or one with an older epoch or generation.
ZOMBIE = (
    Errors.UNKNOWN_MEMBER_ID,
    Errors.STALE_MEMBER_EPOCH,
    Errors.ILLEGAL_GENERATION,
    Errors.FENCED_INSTANCE_ID,
)


class UnknownGoal(ValueError):
    """A checkpoint names an unknown goal."""


def _states(moment: Moment) -> list[TransactionState]:
    roles = moment.world.roles.values()
    coordinators = (role for role in roles if isinstance(role, TransactionCoordinator))
    return [known.state for role in coordinators for known in role.transactions.values()]


def _records(moment: Moment) -> list[InFlight]:
    leaders = (role for role in moment.world.roles.values() if isinstance(role, ShareLeader))
    return [
        record
        for leader in leaders
        for share in leader.shares.values()
        for record in share.records.values()
    ]


def _lso_held_back(moment: Moment) -> bool:
    """The last stable offset of an output is below its high watermark."""
    return any(
        log.last_stable_offset < log.high_watermark
        for name, log in moment.world.logs.items()
        if topic_of(name) not in INTERNAL_TOPICS
    )


def _lso_released(moment: Moment) -> bool:
    """A marker in an output was just appended."""
    return any(
        isinstance(event, BatchAppended)
        and event.control != ""
        and topic_of(event.partition) not in INTERNAL_TOPICS
        for event in moment.events
    )


def _lso_set_free(moment: Moment) -> bool:
    """An application crashed, its transaction is aborted, and no output is held back any more."""
    return (
        _client_crashed(moment)
        and not _lso_held_back(moment)
        and any(
            len(log.aborted) > 0
            for name, log in moment.world.logs.items()
            if topic_of(name) not in INTERNAL_TOPICS
        )
    )


def _answered_before_markers(moment: Moment) -> bool:
    """A producer is READY for its next transaction while the coordinator still owes markers."""
    ready = any(
        app.alive and app.manager.state is ProducerState.READY and app.manager.producer_id >= 0
        for app in moment.world.applications.values()
    )
    return ready and any(state in PREPARED for state in _states(moment))


def _is_staged(moment: Moment) -> bool:
    """A record is TX_PENDING."""
    return any(record.state is RecordState.TX_PENDING for record in _records(moment))


def _acknowledgement_resolved(moment: Moment) -> bool:
    """A staged record was just resolved, by commit or abort."""
    return any(
        isinstance(event, RecordsMoved) and event.before is RecordState.TX_PENDING
        for event in moment.events
    )


def _is_given_away(moment: Moment) -> bool:
    """A staged record was just made AVAILABLE after its transaction was decided to commit."""
    freed = any(
        isinstance(event, RecordsMoved)
        and event.before is RecordState.TX_PENDING
        and event.after is RecordState.AVAILABLE
        for event in moment.events
    )
    return freed and TransactionState.PREPARE_COMMIT in _states(moment)


def _delivered_twice(moment: Moment) -> bool:
    """A record is acquired for the second time."""
    return any(
        record.state is RecordState.ACQUIRED and record.delivery_count >= 2
        for record in _records(moment)
    )


def _two_hold(moment: Moment) -> bool:
    """Two members hold records of one partition at the same time."""
    holders = [
        consumer.member_id
        for app in moment.world.applications.values()
        for consumer in app.share_consumers
        if consumer.in_hand
    ]
    return len(holders) >= 2


def _offset_pending(moment: Moment) -> bool:
    """A group's offset is staged in a transaction."""
    roles = moment.world.roles.values()
    return any(isinstance(role, GroupCoordinator) and bool(role.pending) for role in roles)


def _read_again(moment: Moment) -> bool:
    """A consumer has dropped its position after an abort and reads from the group's offset."""
    aborted = TransactionState.PREPARE_ABORT in _states(moment) or (
        TransactionState.COMPLETE_ABORT in _states(moment)
    )
    return aborted and any(
        isinstance(app.consumer, Consumer) and app.consumer.position < 0
        for app in moment.world.applications.values()
    )


def _complete(moment: Moment) -> bool:
    """A transaction has every marker."""
    return any(state in COMPLETED for state in _states(moment))


def _broker_crashed(moment: Moment) -> bool:
    """A broker crashed on this run; no story does that, so it was the learner."""
    return any(isinstance(action, CrashBroker) for action in moment.actions)


def _crashed_after_decision(moment: Moment) -> bool:
    """A broker just crashed while a decided transaction still owed markers."""
    return (
        bool(moment.actions)
        and isinstance(moment.actions[-1], CrashBroker)
        and any(state in PREPARED for state in _states(moment))
    )


def _client_crashed(moment: Moment) -> bool:
    """An application crashed on this run."""
    return any(isinstance(action, CrashClient) for action in moment.actions)


def _timed_out(moment: Moment) -> bool:
    """A transaction timed out on this run."""
    return any(isinstance(action, TimeOutTransaction) for action in moment.actions)


def _half_a_transaction(moment: Moment) -> bool:
    """Part of a producer's transaction is aborted and the rest committed, in the same epoch.

    An ABORT marker and a COMMIT marker of one producer are in one log, without a batch between them.
    """
    return any(
        (first.control, second.control, first.producer_id) == (ABORT, COMMIT, second.producer_id)
        for log in moment.world.logs.values()
        for first, second in pairwise(log.batches)
    )


def _members(moment: Moment) -> list[GroupMember]:
    roles = moment.world.roles.values()
    return [
        member
        for role in roles
        if isinstance(role, GroupCoordinator)
        for group in role.groups.values()
        for member in group.members.values()
    ]


def _giving_up(moment: Moment) -> bool:
    """A member of a group must revoke a partition before another member may get it."""
    return any(member.revoking for member in _members(moment))


def _partition_moved(moment: Moment) -> bool:
    """A partition has just been assigned to a member while another one lost or had lost it."""
    return any(
        isinstance(event, AssignmentMoved) and event.epoch_before > 0 and event.after > event.before
        for event in moment.events
    )


def _member_gone(moment: Moment) -> bool:
    """A member was just removed from its group because it sent no heartbeats."""
    return any(
        isinstance(event, AssignmentMoved) and event.epoch == 0 and event.because == HEARD_NO_MORE
        for event in moment.events
    )


def _told_unstable(moment: Moment) -> bool:
    """A consumer backs off because an offset is not stable yet."""
    return any(
        isinstance(a.consumer, Consumer) and a.consumer.backing_off
        for a in moment.world.applications.values()
    )


def _commit_failed(moment: Moment) -> bool:
    """A producer has just received the error that its consumer is no longer a member of the group."""
    return any(
        isinstance(event, MessageDelivered)
        and isinstance(event.message, TxnOffsetCommitResponse)
        and event.message.error in ZOMBIE
        for event in moment.events
    )


def _is_prepared(moment: Moment) -> bool:
    """A producer has a prepared transaction, which can only be ended."""
    apps = moment.world.applications.values()
    return any(app.producer.manager.state is ProducerState.PREPARED_TRANSACTION for app in apps)


def _is_kept(moment: Moment) -> bool:
    """A coordinator keeps an open transaction for a later producer to end."""
    roles = moment.world.roles.values()
    coordinators = (role for role in roles if isinstance(role, TransactionCoordinator))
    return any(known.is_kept for role in coordinators for known in role.transactions.values())


def _databases(moment: Moment) -> list[ExternalDatabase]:
    clients = (c for app in moment.world.applications.values() for c in app.others.values())
    return [client for client in clients if isinstance(client, ExternalDatabase)]


def _open_outputs(moment: Moment) -> bool:
    return any(
        log.open for name, log in moment.world.logs.items() if topic_of(name) not in INTERNAL_TOPICS
    )


def _database_ahead(moment: Moment) -> bool:
    """The database has committed the state of a transaction that is still open in Kafka."""
    return _open_outputs(moment) and any(
        f"{known.producer_id}:{known.producer_epoch}" == str(database.prepared_txn_state)
        for database in _databases(moment)
        for role in moment.world.roles.values()
        if isinstance(role, TransactionCoordinator)
        for known in role.transactions.values()
        if known.state is TransactionState.ONGOING
    )


def _in_doubt(moment: Moment) -> bool:
    """A database has a prepared transaction without an outcome."""
    return any(database.in_doubt for database in _databases(moment))


def _empty_handed(moment: Moment) -> bool:
    """Kafka has committed an output, and the database has neither a row nor a prepared transaction."""
    committed = any(
        batch.control == "COMMIT"
        for name, log in moment.world.logs.items()
        for batch in log.batches
        if topic_of(name) not in INTERNAL_TOPICS
    )
    bare = any(not d.rows and not d.open_rows for d in _databases(moment))
    return committed and bare


def _made_again(moment: Moment) -> bool:
    """A topic was just deleted and created again."""
    return any(isinstance(event, TopicRemade) for event in moment.events)


def _topic_id_kept(moment: Moment) -> bool:
    """A group's offset is stored with the id of its topic."""
    roles = moment.world.roles.values()
    return any(
        bool(kept.topic_id)
        for role in roles
        if isinstance(role, GroupCoordinator)
        for kept in role.offsets.values()
    )


def _topic_forgotten(moment: Moment) -> bool:
    """A producer has just dropped the metadata of topics that it did not use."""
    return (
        bool(moment.actions)
        and isinstance(moment.actions[-1], ClientTimer)
        and isinstance(moment.actions[-1].timer, MaxIdle)
    )


GOALS: Mapping[str, Goal] = {
    "lso held back": _lso_held_back,
    "marker in the output": _lso_released,
    "lso set free": _lso_set_free,
    "answered before markers": _answered_before_markers,
    "record staged": _is_staged,
    "acknowledgement resolved": _acknowledgement_resolved,
    "record given away": _is_given_away,
    "delivered twice": _delivered_twice,
    "two members hold": _two_hold,
    "offset pending": _offset_pending,
    "read again": _read_again,
    "complete": _complete,
    "topic made again": _made_again,
    "topic id kept": _topic_id_kept,
    "topic forgotten": _topic_forgotten,
    "partition given up": _giving_up,
    "partition moved": _partition_moved,
    "member gone": _member_gone,
    "told unstable": _told_unstable,
    "commit failed": _commit_failed,
    "broker crashed": _broker_crashed,
    "crashed after the decision": _crashed_after_decision,
    "client crashed": _client_crashed,
    "prepared": _is_prepared,
    "transaction kept": _is_kept,
    "database ahead": _database_ahead,
    "database in doubt": _in_doubt,
    "database empty-handed": _empty_handed,
    "timed out": _timed_out,
    **late_request_goals.GOALS,
    **log_goals.GOALS,
    "half a transaction": _half_a_transaction,
    **OPERATING_GOALS,
    **GROUP_GOALS,
    **SHARE_GOALS,
    **SESSION_GOALS,
}

FORMER_NAMES: Mapping[str, str] = {"vote resolved": "acknowledgement resolved"}
"""The names that goals have now, by names that they had in stories and labs."""


Span = TypedDict("Span", {"goal": str, "from": int, "to": int | None})


class Spans:
    """When each of some goals holds along one branch, moment by moment.

    Attributes:
        found: ``{"goal", "from", "to"}`` for each stretch of steps, `to` None while it lasts.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Watch for goals by name.

        Raises:
            UnknownGoal: if a goal is unknown; the message lists the known goals.
        """
        self._goals = {name: goal_named(name) for name in names}
        self._open: dict[str, Span] = {}
        self._actions: list[ClusterAction] = []
        self.found: list[Span] = []

    def see(
        self, step: int, action: ClusterAction | None, world: World, events: Sequence[Event]
    ) -> None:
        """Record the next moment of the branch."""
        if action is not None:
            self._actions.append(action)
        moment = Moment(world, events, self._actions)
        for name, goal in self._goals.items():
            holds, told = goal(moment), self._open.get(name)
            if holds and told is None:
                self._open[name] = {"goal": name, "from": step, "to": None}
                self.found.append(self._open[name])
            elif told is not None and not holds:
                told["to"] = step
                del self._open[name]


def goal_named(name: str) -> Goal:
    """Find a goal by its name, or by a name that it had before.

    Raises:
        UnknownGoal: if there is none; the message lists the known goals.
    """
    if not is_goal(name):
        raise UnknownGoal(f"there is no goal {name!r}; the goals are {', '.join(GOALS)}")
    return GOALS[FORMER_NAMES.get(name, name)]


def is_goal(name: str) -> bool:
    """Return whether there is a goal of that name, now or before."""
    return FORMER_NAMES.get(name, name) in GOALS
