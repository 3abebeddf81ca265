"""What blocks a value: why it does not change, and what would free it.

Pure functions from a world to findings. A finding names the row on screen that is blocked, states in plain words what
it waits for, and ends with the way out. `how` is what it takes: "soon" means that messages are in flight, "someone" a
person, a timer or a repair, "never" that nothing in the model will free it, and "idle" that there is nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.context import NOBODY
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.share_leaders import share_timers
from kipviz.brokers.share_leaders.in_flight import InFlight, staged_batches
from kipviz.brokers.share_leaders.share_partition import (
    ShareLeader,
    SharePartition,
    pending_cells,
)
from kipviz.brokers.transactions.transaction_metadata import PREPARED, TransactionMetadata
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clients.application import Application
from kipviz.clients.calls import client_of
from kipviz.clients.kinds import Client, Holder, next_request
from kipviz.clients.program_source import number_in_source
from kipviz.clients.sending.producer import Producer
from kipviz.clients.sessions.transaction_session import TransactionSession
from kipviz.clients.thread import why_no_step
from kipviz.cluster import dispatch
from kipviz.cluster.behaviour.naming import short_name
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.world import World, broker_host, is_loading, role_at, role_key
from kipviz.core.values import Value
from kipviz.messages.apis.catalogue import API_OF
from kipviz.messages.logs.producing import Fetch, Produce
from kipviz.messages.message import Message
from kipviz.messages.transactions.transactions import WriteTxnMarkers, WriteTxnMarkersResponse
from kipviz.records.placement import INTERNAL_TOPICS, SHARE_GROUP_STATE, TRANSACTION_STATE, topic_of
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState
from kipviz.settings.client_configs import TRANSACTION_TIMEOUT_MS
from kipviz.views.reasons.request_position import (
    IDLE,
    NEVER,
    SOMEONE,
    SOON,
    Reason,
    locate_on_connection,
    start_of,
    why_broker_waits,
    write_of,
)
from kipviz.views.role_cards import remaining_time

S = TransactionState
HANGING = "This is a hanging transaction."


class Hold(Value, frozen=True):
    """Blocked rows of a card: why, what would free them, and which rows show it.

    `chain` is what it waits for, and what that waits for, to the last reason; a sentence each. `see` are (card, row)
    pairs whose values the sentences mention.
    """

    card: str
    rows: tuple[str, ...]
    chain: tuple[str, ...]
    free: str
    how: str
    see: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """The whole chain, as a text."""
        return " ".join(self.chain)


def _hold(card: str, rows: tuple[str, ...], reason: Reason) -> Hold:
    return Hold(card, rows, reason.chain, reason.free, reason.how, reason.see)


def findings(model: ClusterModel, world: World) -> tuple[Hold, ...]:
    """Return everything that is blocked in a world: logs, records, transactions, clients."""
    found = (
        *(
            hold
            for log in world.logs.values()
            if (log.open or log.unreplicated) and (hold := why_log_is_blocked(world, log))
        ),
        *_of_shares(model, world),
        *(hold for _, known in _transactions(world) if (hold := _of_transaction(world, known))),
        *(hold for app in world.applications.values() if (hold := of_client(model, world, app))),
    )
    told: list[Hold] = []
    for hold in found:
        told.append(_once(hold, told))
    return tuple(told)


def _once(hold: Hold, told: list[Hold]) -> Hold:
    """Leave out what an earlier finding ends with, too: a finding that waits for that one waits for its end."""
    said = hold.chain
    for other in told:
        theirs, common = other.chain, 0
        if hold.free != other.free:
            continue
        while common < min(len(said), len(theirs)) and said[-1 - common] == theirs[-1 - common]:
            common += 1
        if 0 < common < len(said):
            row, card = other.rows[0], other.card.partition(":")[2].partition(":")[0]
            return hold.but(
                chain=said[:-common],
                free=f"what frees the {row} of {card}.",
                see=((other.card, row),),
            )
    return hold


# -- the last stable offset --------------------------------------------------------------------


def why_log_is_blocked(world: World, log: PartitionLog) -> Hold | None:
    """Return why the LSO of a log is below its high watermark, or None if it is not."""
    lso = log.last_stable_offset
    # Coordinators read their own logs completely: only a user's log is read up to the LSO.
    if lso == log.high_watermark or topic_of(log.name) in INTERNAL_TOPICS:
        return None
    reason = _unstable(world, log)
    text = f"The last stable offset of {short_name(log.name)} stays at {lso}, before the end of the log: read_committed consumers read nothing from there on."
    see = ((f"log:{log.name}", f"offset {lso}"),)
    return _hold(f"log:{log.name}", ("LSO",), reason.after(text, see=see))


def _unstable(world: World, log: PartitionLog) -> Reason:
    """Return what the first unstable offset of a log waits for."""
    lso = log.last_stable_offset
    if not log.open or max(log.open[0][0], log.start_offset) != lso:
        text = "The marker that ends the transaction is in the log, but not on every replica yet."
        return Reason((text,), f"{log.name} is replicated.", SOON)
    producer_id = log.open[0][1]
    epoch = log.producers[producer_id].epoch
    reason = what_ends_transaction(world, log.name, producer_id, epoch)
    where = f"Offset {lso} is the first record of an open transaction"
    if log.open[0][0] < lso:
        where = f"A transaction is open since offset {log.open[0][0]}, which was deleted"
    return reason.after(f"{where}, of producer id {producer_id} in epoch {epoch}.")


def what_ends_transaction(world: World, partition: str, producer_id: int, epoch: int) -> Reason:
    """Return which host can end an open transaction of a producer on a partition; NEVER is a hanging transaction."""
    found = next(((b, t) for b, t in _transactions(world) if t.producer_id == producer_id), None)
    if found is None:
        return _unknown(world, producer_id)
    broker, known = found
    who, see = f"Its coordinator, Broker {broker},", _row(known)
    if known.state in PREPARED and partition in known.partitions:
        reason = _marker(world, broker, known, partition)
        return reason.after(
            f"{who} has decided {known.transactional_id}: {known.state.value}.", see=see
        )
    if known.state is S.ONGOING and partition in known.partitions and known.producer_epoch == epoch:
        reason = _reason_undecided(world, broker, known)
        return reason.after(f"{who} has {known.transactional_id} ONGOING.", see=see)
    return Reason(
        (
            (
                f"{who} has {known.transactional_id} {known.state.value} in epoch {known.producer_epoch} "
                f"without {partition}: no marker for it will ever be sent."
            ),
            HANGING,
        ),
        "only an operator ends it: kafka-transactions.sh abort (KIP-664).",
        NEVER,
        see,
    )


def _unknown(world: World, producer_id: int) -> Reason:
    """Return why no coordinator has a transaction of this producer."""
    if not any(partition.startswith(TRANSACTION_STATE) for partition in world.image.leaders):
        return Reason(
            (f"No log of {TRANSACTION_STATE} is here: its coordinator's state is unknown.",),
            "whatever its coordinator does; read its log, too.",
            SOMEONE,
        )
    for partition, held in world.image.leaders.items():
        if not partition.startswith(TRANSACTION_STATE):
            continue
        if held.leader == NOBODY:
            return Reason(
                (f"{partition} has no leader, so the transaction has no coordinator now.",),
                f"{start_of(world, partition)}.",
                SOMEONE,
            )
        role = world.roles.get(role_key(held.leader, partition))
        if is_loading(role):
            return Reason(
                (f"Its coordinator, Broker {held.leader}, is still loading.",),
                f"Broker {held.leader} finishes loading.",
                SOON,
            )
    return Reason(
        (f"No coordinator knows producer id {producer_id}: no marker will ever be sent.", HANGING),
        "only an operator ends it: kafka-transactions.sh abort (KIP-664).",
        NEVER,
    )


def _reason_undecided(world: World, broker: int, known: TransactionMetadata) -> Reason:
    """Return which host has to end a transaction that is ONGOING."""
    name = known.transactional_id
    if known.pending_state is not None:
        text = f"It is appending {known.pending_state.value}, which has to reach every in-sync replica."
        return Reason((text,), "its log is replicated.", SOON)
    timeout = (
        f"{TRANSACTION_TIMEOUT_MS.name} ({known.timeout_ms // 1000} s) expires for {name} and Broker "
        f"{broker} aborts it{remaining_time.of_transaction(world, name)}"
    )
    app = _application(world, name)
    if app is None:
        text = "Its producer has not ended it; these logs do not show whether it is still running."
        return Reason((text,), f"{timeout}.", SOMEONE)
    see = ((f"clients:{app.name}", "process"),)
    if not app.alive:
        text = f"It waits for {app.name} to commit or abort, but {app.name} is down and will do neither."
        free = f"{timeout}; or {app.name} restarts, and its initTransactions() ends the old transaction."
        return Reason((text,), free, SOMEONE, see)
    if app.ended:
        text = (
            f"It waits for {app.name}, whose program has ended ({app.ended}) and will do neither."
        )
        return Reason((text,), f"{timeout}.", SOMEONE, see)
    if app.manager.producer_epoch != known.producer_epoch:
        text = f"It waits for a producer that no longer exists: {app.name} was restarted."
        return Reason((text,), f"{app.name} calls initTransactions(); or {timeout}.", SOMEONE, see)
    line = app.program[app.line]
    text = f"It waits for {app.name} to commit or abort; {app.name} is at {line.call.value}()."
    return Reason((text,), f"{app.name} reaches the end of the transaction; or {timeout}.", SOMEONE)


def _marker(world: World, broker: int, known: TransactionMetadata, partition: str) -> Reason:
    """Return where the marker of a decided transaction is for which a partition waits."""
    where = short_name(partition)
    to = next((b for p, b in known.sent if p == partition), NOBODY)
    if known.cancelled and to == NOBODY and partition not in known.to_send:
        home = world.image.home_of_transactions(known.transactional_id)
        return Reason(
            (
                f"A marker failed with a fatal error, and the coordinator does not retry: no marker will be sent for {where}.",
            ),
            f"{home} is loaded again (its leader moves or restarts), which resends all markers.",
            SOMEONE,
        )
    if partition in known.to_send:
        text = f"Its marker cannot be sent: {where} has no leader."
        return Reason((text,), f"{start_of(world, partition)}.", SOMEONE)
    if to == NOBODY:
        return Reason((f"Its marker for {where} is about to be sent.",), "it is sent.", SOON)
    channel = f"{broker_host(broker)}/markers"
    return locate_on_connection(
        world,
        channel,
        to,
        f"The marker for {where}",
        lambda m: _has_marker_for(m, partition),
    )


def _has_marker_for(message: Message, partition: str) -> bool:
    """Return whether a request brings markers for a partition, or a response is about them."""
    match message:
        case WriteTxnMarkers():
            return any(partition in marker.partitions for marker in message.markers)
        case WriteTxnMarkersResponse():
            return any(result.partition == partition for result in message.results)
        case _:
            return False


# -- transactions ------------------------------------------------------------------------------


def _of_transaction(world: World, known: TransactionMetadata) -> Hold | None:
    """Return which marker a decided transaction waits for, or that no host decides it."""
    broker = world.image.leader_of(world.image.home_of_transactions(known.transactional_id))
    card = f"transaction:{known.transactional_id}"
    if known.state is S.ONGOING:
        app = _application(world, known.transactional_id)
        if app is not None and app.alive and not app.ended:
            return None
        reason = _reason_undecided(world, broker, known)
        return _hold(card, ("state",), reason.after(f"{known.transactional_id} stays ONGOING."))
    if known.state not in PREPARED:
        return None
    if not known.partitions:
        text = f"{known.transactional_id} has all its markers; {S(known.pending_state or known.state).value} is being written."
        return Hold(card, ("state",), (text,), "its log is replicated.", SOON)
    missing = " and ".join(short_name(p) for p in known.partitions)
    worst = max(
        (_marker(world, broker, known, p) for p in known.partitions),
        key=lambda reason: (SOON, SOMEONE, NEVER).index(reason.how),
    )
    text = (
        f"{known.transactional_id} stays {known.state.value} until every participant has its "
        f"marker; missing: {missing}."
    )
    return _hold(card, ("state",), worst.after(text))


def _transactions(world: World) -> Iterator[tuple[int, TransactionMetadata]]:
    """Yield every transaction that a coordinator knows, with its coordinator's broker."""
    for (broker, _, _), role in world.roles.items():
        if isinstance(role, TransactionCoordinator) and not role.loading:
            for known in role.transactions.values():
                yield broker, known


def _application(world: World, transactional_id: str) -> Application | None:
    apps = world.applications.values()
    return next(
        (
            app
            for app in apps
            for client in app.clients
            if isinstance(client, Holder) and client.manager.transactional_id == transactional_id
        ),
        None,
    )


def _row(known: TransactionMetadata) -> tuple[tuple[str, str], ...]:
    return ((f"transaction:{known.transactional_id}", "state"),)


# -- records of a share-partition --------------------------------------------------------------


def _of_shares(model: ClusterModel, world: World) -> Iterator[Hold]:
    for (broker, _, _), role in world.roles.items():
        if not isinstance(role, ShareLeader):
            continue
        for share in role.shares.values():
            held: dict[Reason, list[int]] = {}
            for offset, record in share.records.items():
                if record.ongoing:
                    held.setdefault(_find_write(world, broker, share, offset), []).append(offset)
                elif record.state is RecordState.TX_PENDING:
                    reason = _pending(model, world, broker, role, share, record)
                    held.setdefault(reason, []).append(offset)
            for reason, offsets in held.items():
                which = ", ".join(map(str, offsets))
                state = (
                    "TX_PENDING"
                    if share.records[offsets[0]].state is RecordState.TX_PENDING
                    else "being written"
                )
                verb = "is" if len(offsets) == 1 else "are"
                yield _hold(
                    f"share:{share.key}",
                    tuple(f"offset {o}" for o in offsets),
                    reason.after(f"{share.partition}@{which} {verb} {state}."),
                )


def _find_write(world: World, broker: int, share: SharePartition, offset: int) -> Reason:
    """Return which response of the share coordinator a record waits for."""
    place = next((i for i, w in enumerate(share.writes) if offset in w.offsets), 0)
    reason = write_of(world, broker, share)
    if place == 0:
        return reason
    return reason.after(f"Its write waits behind {place} others of this share-partition.")


def _pending(
    model: ClusterModel,
    world: World,
    broker: int,
    role: ShareLeader,
    share: SharePartition,
    record: InFlight,
) -> Reason:
    """Return what a promised transactional acknowledgement waits for: a decision, a marker, a lookup, or nothing."""
    pid, epoch = record.staged_producer_id, record.staged_producer_epoch
    staged = f"Producer id {pid} staged this in epoch {epoch}."
    found = next(((b, t) for b, t in _transactions(world) if t.producer_id == pid), None)
    if found is None:
        return _unknown(world, pid).after(staged)
    home_broker, known = found
    see = _row(known)
    if known.state is S.ONGOING and known.producer_epoch == epoch:
        ongoing = f"Broker {home_broker} has {known.transactional_id} ONGOING."
        return _reason_undecided(world, home_broker, known).after(staged, ongoing, see=see)
    decided = (staged, f"{known.transactional_id} is {known.state.value}.")
    on = model.context(world, broker)
    durable = bool(on.rules.staged_acks(staged_batches(pending_cells(share))))
    home = world.image.home_of(SHARE_GROUP_STATE, share.key)
    entry = world.logs[home].producers.get(pid)
    passed = entry is not None and entry.transaction_first_offset < 0 and entry.epoch >= epoch
    if known.state in PREPARED and not (durable and passed):
        awaited = [p for p in known.partitions if p == home or world.image.leader_of(p) == broker]
        if awaited:
            return _marker(world, home_broker, known, awaited[0]).after(*decided, see=see)
    if not durable:
        return Reason(
            (
                *decided,
                f"The acknowledgement is only in Broker {broker}'s memory, and no further marker of this transaction will arrive here: it stays unresolved.",
            ),
            f"only losing this memory frees it: Broker {broker} crashes or {share.partition} moves, and the acknowledgement is lost.",
            NEVER,
            see,
        )
    keeper = role_at(world.roles, role_key(world.image.leader_of(home), home), ShareCoordinator)
    if keeper is None or keeper.loading:
        text = f"The share coordinator of {short_name(home)} is not loaded."
        return Reason((*decided, text), f"{start_of(world, home)}.", SOMEONE, see)
    acknowledgements = keeper.acknowledgements.get(pid, ())
    if any(v.key == share.key and v.producer_epoch == epoch for v in acknowledgements):
        marker = entry.epoch if entry is not None else known.producer_epoch
        return Reason(
            (
                *decided,
                f"Its marker is in {short_name(home)} with epoch {marker}, but this design resolves an acknowledgement only by a marker of epoch {epoch}: it never matches, and no other marker will come.",
            ),
            "nothing in this design frees it. Design repaired accepts the marker of the next epoch.",
            NEVER,
            (*see, (f"state:{home}", "transactional acknowledgements")),
        )
    if share_timers.why_no_refresh(role, share.key, on) is None:
        return Reason(
            (
                *decided,
                (
                    f"The share coordinator has the outcome in its log, and Broker {broker} has "
                    "not asked for it yet."
                ),
            ),
            f"Broker {broker} refreshes {share.partition}.",
            SOMEONE,
            (*see, (f"state:{home}", "durable")),
        )
    return write_of(world, broker, share).but(see=()).after(*decided, see=see)


# -- clients -----------------------------------------------------------------------------------


def of_client(model: ClusterModel, world: World, app: Application) -> Hold | None:
    """Return what a waiting application waits for, or None if it does not wait."""
    if not app.alive or not app.waiting or why_no_step(app) is None:
        return None
    call = app.program[app.line].call
    client = client_of(app, app.program[app.line])
    reason = (
        _of_holder(world, app) if isinstance(client, Holder) else _of_asking(world, app, client)
    )
    return _hold(
        f"program:{app.name}",
        (f"line {number_in_source(app.program, app.line) - 1}",),
        reason.after(f"{app.name} waits in {call.value}()."),
    )


def _of_asking(world: World, app: Application, client: Client) -> Reason:
    if client.on_wire is None:
        return _reason_unsent(world, app, client.source)
    return _find_request(world, client.source, client.on_wire_broker, type(client.on_wire))


def _of_holder(world: World, app: Application) -> Reason:
    holder = app.holder
    if isinstance(holder, TransactionSession) and holder.held_back_by:
        return _of_bound(world, app, holder.held_back_by[0])
    if holder.on_wire is not None:
        return _find_request(world, holder.source, holder.on_wire_broker, type(holder.on_wire))
    for batch in holder.accumulator.batches if isinstance(holder, Producer) else ():
        if batch.broker >= 0:
            return _find_request(world, holder.source, batch.broker, Produce)
    return _reason_unsent(world, app, holder.source)


def _of_bound(world: World, app: Application, source: str) -> Reason:
    """Return what a session waits for that a client bound to it has not finished."""
    client = app.client_at(source)
    batches = client.accumulator.batches if isinstance(client, Producer) else ()
    asked = next((batch.broker for batch in batches if batch.broker >= 0), NOBODY)
    if asked != NOBODY:
        return _find_request(world, source, asked, Produce)
    if client is not None and client.on_wire is not None:
        return _find_request(world, source, client.on_wire_broker, type(client.on_wire))
    return _reason_unsent(world, app, source)


def _reason_unsent(world: World, app: Application, source: str) -> Reason:
    client = app.client_at(source)
    request = next_request(client) if client is not None else None
    name = type(request).__name__
    if (
        client is not None
        and request is not None
        and dispatch.destination(client, request, world.image) == NOBODY
    ):
        text = f"{name} cannot be sent: its partition has no leader."
        return Reason((text,), "a broker with a replica of the partition starts.", SOMEONE)
    return Reason((f"{name} is about to be sent.",), f"the network thread sends {name}.", SOON)


def _find_request(world: World, source: str, broker: int, kind: type[Message]) -> Reason:
    """Return where a client's request is and, if it is at a broker, what it waits for there."""

    def ours(message: Message) -> bool:
        return type(message) in (kind, API_OF[kind].response)

    connection = world.connections.get((source, broker))
    serving = connection.serving if connection is not None else None
    if serving is not None and ours(serving.message):
        return _explain_delay(world, source, broker, serving.message)
    return locate_on_connection(world, source, broker, kind.__name__, ours)


def _explain_delay(world: World, source: str, broker: int, message: Message) -> Reason:
    """Return why a broker has not responded to a request."""
    name = type(message).__name__
    head = f"{name} is at Broker {broker}, which has not responded."
    match message:
        case Fetch():
            reason = _nothing_to_read(world, message)
        case _:
            reason = why_broker_waits(world, broker, message)
    return reason.after(head)


def _nothing_to_read(world: World, message: Fetch) -> Reason:
    # A fetch of several partitions does not wait at its broker.
    (wanted,) = message.partitions
    log, offset = world.logs[wanted.partition], wanted.fetch_offset
    see = ((f"log:{log.name}", "LSO"),)
    lso = log.last_stable_offset
    if lso < log.high_watermark and max(offset, log.start_offset) >= lso:
        reason = _unstable(world, log)
        text = (
            f"It fetches committed records from offset {offset} on, and the last stable "
            f"offset of {log.name} stays at {lso}."
        )
        return reason.after(text, see=see)
    text = f"It has read {log.name} up to offset {offset}, and nothing has been written there yet."
    return Reason((text,), f"a producer writes to {log.name}.", IDLE, see)
