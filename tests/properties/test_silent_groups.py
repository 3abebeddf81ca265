"""Exactly once where nobody puts anything out, or where an external database does: whose acknowledgements are looked at."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.transactions.external_database import ExternalDatabase
from kipviz.core.table import Table
from kipviz.properties.atomic import Atomic, groups_of_applications, silent_groups, silent_sources
from kipviz.properties.harm import Harm
from kipviz.properties.verdict import BROKEN, HOLDS, Finding
from kipviz.records.share_group_state import RecordState
from tests.clients.parts import change
from tests.properties.history import WORLD, completion, durable, states_from, world

ACKNOWLEDGED = RecordState.ACKNOWLEDGED
LOST = "src-0@100 is acknowledged, but none of its outputs is committed: it is lost"


def member(name: str, group: str, call: str, *assigned: str) -> tuple[str, Any]:
    consumer = ShareConsumer("src", group, name, 1, "src-0", 5)
    consumer = change(consumer, assigned=assigned) if assigned else consumer
    program = (SimpleNamespace(call="poll"), SimpleNamespace(call=call))
    return name, SimpleNamespace(consumer=consumer, program=program, others=Table.of())


def reader(name: str, partition: str, group: str = "cg") -> tuple[str, Any]:
    consumer = SimpleNamespace(partition=partition, group_id=group)
    return name, SimpleNamespace(consumer=consumer, program=(), others=Table.of())


def of(*applications: tuple[str, Any]) -> SimpleNamespace:
    return world(applications=Table.of(dict(applications)))


def test_a_share_group_is_silent_if_none_of_its_members_sends() -> None:
    assert silent_groups(of()) == ()
    assert silent_groups(of(member("a", "g2", "poll"), member("b", "g1", "poll"))) == ("g1", "g2")
    assert silent_groups(of(member("a", "g1", "send"), member("b", "g1", "poll"))) == ()
    assert silent_groups(of(member("a", "g1", "send"), member("b", "g2", "poll"))) == ("g2",)
    assert silent_groups(of(reader("a", "src-0"))) == ()
    assert silent_groups(SimpleNamespace()) == ()
    no_consumer = ("a", SimpleNamespace(program=(SimpleNamespace(call="send"),)))
    assert silent_groups(of(no_consumer)) == ()


def test_a_group_in_which_no_application_reads_is_a_real_clients_and_is_not_judged() -> None:
    consumer = ShareConsumer("src", "g1", "a", 1, "src-0", 5)
    sends = (SimpleNamespace(call="send"),)
    app = SimpleNamespace(consumer=consumer, program=sends, others=Table.of(), clients=(consumer,))
    assert groups_of_applications(of(("a", app))) == ("g1",)
    assert groups_of_applications(of()) is groups_of_applications(SimpleNamespace()) is None
    beside, alone = Atomic().initial(of(("a", app))), Atomic().initial(of())
    assert [beside.is_judged(group) for group in ("g1", "real")] == [True, False]
    assert alone.is_judged("real")


def test_a_partition_is_silent_if_only_silent_groups_read_it() -> None:
    quiet, loud = member("a", "g1", "poll"), member("b", "g2", "send")
    assert silent_sources(of(quiet)) == ("src-0",)
    assert silent_sources(of(loud)) == ()
    assert silent_sources(of(quiet, loud)) == ()
    louder = member("a", "g1", "send"), member("b", "g2", "poll")  # the silent one comes last
    assert silent_sources(of(*louder)) == ()
    assert silent_sources(of(quiet, reader("c", "src-1", group="g1"))) == ("src-0",)
    nowhere = (
        quiet[0],
        SimpleNamespace(**vars(quiet[1]) | {"consumer": quiet[1].consumer.but(partition="")}),
    )
    assert silent_sources(of(nowhere)) == ()
    assert silent_sources(of(quiet, reader("c", "src-0"))) == ()
    assert silent_sources(of(reader("c", "src-0"))) == ()
    assert silent_sources(of(quiet, reader("c", "src-1"))) == ("src-0",)
    several = member("a", "g1", "poll", "src-2", "src-1")
    assert silent_sources(of(several)) == ("src-0", "src-1", "src-2")
    assert silent_sources(of(several, reader("c", "src-1"))) == ("src-0", "src-2")
    assert silent_sources(of(several, member("c", "g2", "send", "src-2"))) == ("src-1",)


def test_what_a_silent_group_s_transaction_acknowledges_needs_no_output() -> None:
    quiet, loud = of(member("a", "g1", "poll")), of(member("a", "g1", "send"))
    for there, status in ((quiet, HOLDS), (loud, BROKEN)):
        prop = Atomic()
        state = states_from(prop, prop.initial(there), completion(), world=there)
        assert prop.finding(state).status == status


def test_nothing_is_said_of_what_a_silent_group_acknowledges() -> None:
    quiet, loud = of(member("a", "g1", "poll")), of(member("a", "g1", "send"))
    for there, status in ((quiet, HOLDS), (loud, BROKEN)):
        prop = Atomic()
        state = states_from(prop, prop.initial(there), durable(ACKNOWLEDGED), world=there)
        assert prop.finding(state).status == status


def test_a_run_begins_where_the_logs_begin_and_looks_at_a_database_only_where_one_is() -> None:
    empty = world(logs=Table.of({"src-0": PartitionLog("src-0")}))
    assert Atomic().initial(empty).starts == Table.of()
    assert dict(Atomic().initial(WORLD).starts.items()) == {"src-0": 100}
    assert dict(Atomic().initial(WORLD).topic_ids.items()) == {"SRC-ID": "src"}
    assert Atomic().initial(WORLD).stores is None
    assert Atomic().name == "atomic"  # what verdicts call it
    app = SimpleNamespace(
        others=Table.of({"database": ExternalDatabase("app-1/database")}), consumer=None, program=()
    )
    assert Atomic().initial(of(("app-1", app))).stores is not None


def test_with_a_database_the_invariant_still_breaks_by_its_own_clauses() -> None:
    app = SimpleNamespace(
        others=Table.of({"database": ExternalDatabase("app-1/database")}), consumer=None, program=()
    )
    prop, there = Atomic(), of(("app-1", app))
    state = states_from(prop, prop.initial(there), durable(ACKNOWLEDGED), world=there)
    assert prop.finding(state) == Finding(BROKEN, LOST, Harm.LOSS)
