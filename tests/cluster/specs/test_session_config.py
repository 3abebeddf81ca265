"""KIP-1310 2.2: what a session is configured with, what is refused, and what is not used."""

from __future__ import annotations

import pytest

from kipviz.clients.sending.in_flight import MAX_IN_FLIGHT
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.abstraction import KAFKA, SMALL
from kipviz.cluster.specs.kafka_defaults import DEFAULT_NUMBER
from kipviz.cluster.specs.session_config import (
    CONFIGS,
    OFF,
    ConfigException,
    SessionConfig,
    configure,
    parse,
)
from kipviz.cluster.specs.spec import BadSpec, SessionSpec
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import REPAIRED
from kipviz.scenarios.applications import session_programs
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.scenarios.script import follow
from kipviz.scenarios.setting_changes import BadChange, apply_changes

LEAST = {"transactional.id": "my-txn", "bootstrap.servers": "b1:9092,b3:9092"}
STORY = searched_scenario("kip-1310-heartbeat")


def test_the_rows_are_the_pages_and_the_defaults_kafkas() -> None:
    assert [row.name for row in CONFIGS] == [
        "transactional.id",
        "transaction.timeout.ms",
        "transaction.session.timeout.ms",
        "bootstrap.servers",
        "security.*",
        "client.id",
    ]
    assert parse(LEAST) == SessionConfig("my-txn", ("b1:9092", "b3:9092"), 60_000, OFF)


def test_numbers_may_come_as_texts_and_servers_as_a_list() -> None:
    read = parse(
        {
            "transactional.id": "t",
            "bootstrap.servers": ["[::1]:9092", "b3:1"],
            "transaction.timeout.ms": "5000",
            "transaction.session.timeout.ms": " 9000 ",
            "client.id": "sink",
            "security.protocol": "ssl",
            "ssl.truststore.type": "PEM",
        }
    )
    assert read.bootstrap_servers == ("[::1]:9092", "b3:1")
    assert (read.transaction_timeout_ms, read.session_timeout_ms) == (5_000, 9_000)
    assert (read.client_id, len(read.security), read.unused) == ("sink", 2, ())


def test_what_the_page_does_not_list_is_not_used() -> None:
    names = ("acks", "transaction.two.phase.commit.enable")
    assert parse({**LEAST, **dict.fromkeys(names, "true")}).unused == names


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("transactional.id", "", "transactional.id: it has to be a string that is not empty"),
        ("transactional.id", 7, "Invalid value 7 for configuration transactional.id"),
        ("transaction.timeout.ms", "soon", "timeout.ms: it has to be a whole number of 32 bits"),
        ("transaction.timeout.ms", True, "Invalid value True for configuration"),
        ("transaction.timeout.ms", 2**31, "a whole number of 32 bits"),
        ("transaction.session.timeout.ms", -2, "it has to be -1 (off) or at least 1"),
        ("transaction.session.timeout.ms", 0, "it has to be -1 (off) or at least 1"),
        ("transaction.session.timeout.ms", 4.5, "a whole number of 32 bits"),
        ("bootstrap.servers", "", "at least one host:port"),
        ("bootstrap.servers", "b1", "Invalid value b1 for configuration bootstrap.servers"),
        ("bootstrap.servers", "b1:0", "of the form host:port"),
        ("bootstrap.servers", 9092, "a list, not of type int"),
        ("security.protocol", "TLS", "one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ("client.id", None, "a string, not of type NoneType"),
    ],
)
def test_a_bad_value_is_refused_in_one_sentence(name: str, value: object, sentence: str) -> None:
    with pytest.raises(ConfigException) as wrong:
        parse({**LEAST, name: value})
    assert sentence in str(wrong.value)
    assert name in str(wrong.value)


@pytest.mark.parametrize("name", LEAST)
def test_what_is_required_has_no_default(name: str) -> None:
    with pytest.raises(ConfigException, match=f'"{name}" is missing'):
        parse({n: v for n, v in LEAST.items() if n != name})


@pytest.mark.parametrize(("timeout", "interval"), [(-1, 0), (1, 1), (2, 1), (9_000, 3_000)])
def test_only_minus_1_switches_the_heartbeat_off(timeout: int, interval: int) -> None:
    assert SessionSpec(session_timeout_ms=timeout).heartbeat_interval_ms == interval


def test_a_cluster_with_a_session_that_cannot_be_is_refused() -> None:
    (app,) = STORY.spec.applications
    bad = STORY.spec.but(applications=(app.but(session=SessionSpec(session_timeout_ms=0)),))
    with pytest.raises(BadSpec, match=r"the session of app-1: Invalid value 0 for configuration"):
        check(bad)


@pytest.mark.parametrize("profile", [KAFKA, SMALL], ids=["kafka-defaults", "small"])
def test_an_application_that_gets_a_session_may_have_had_kafkas_number_in_flight(profile) -> None:
    """The producer of a session has one batch in flight: nobody who did not set a number is told to set one."""
    (app,) = STORY.spec.applications
    plain = profile.of_application(app.but(session=None, max_in_flight=DEFAULT_NUMBER))
    assert plain.max_in_flight == (MAX_IN_FLIGHT if profile is KAFKA else 1)
    for each in (plain.but(session=SessionSpec()), configure(plain, LEAST)):
        assert each.max_in_flight == 1
        check(STORY.spec.but(applications=(each,)))


def test_a_number_in_flight_that_is_set_with_a_session_is_refused() -> None:
    (app,) = STORY.spec.applications
    for several in (2, MAX_IN_FLIGHT):
        bad = app.but(session=SessionSpec(), max_in_flight=several)
        with pytest.raises(BadSpec, match="max_in_flight of app-1 is for a producer with"):
            check(STORY.spec.but(applications=(bad,)))


def test_the_time_out_of_a_session_is_a_setting_under_kafkas_name() -> None:
    name = "app-1.transaction.session.timeout.ms"
    spec, _ = apply_changes(STORY.spec, REPAIRED, [f"{name}=-1"])
    assert spec.applications[0].session.session_timeout_ms == OFF
    for value in ("-7", "0", "soon"):
        with pytest.raises(BadChange, match=f"Invalid value {value} for configuration transaction"):
            apply_changes(STORY.spec, REPAIRED, [f"{name}={value}"])


def run_app(app, *steps):
    spec = STORY.spec.but(applications=(app,))
    model = STORY.but(spec=spec).model(REPAIRED)
    trace = Trace.start(model, PROPERTIES)
    for step in steps:
        trace = follow(trace, model, step, "here")
    return trace.world.applications["app-1"]


TURN = ("app-1 goes on", "quiet", "app-1 goes on")


def test_a_time_limit_that_the_broker_does_not_allow_is_refused_by_the_broker() -> None:
    (app,) = STORY.spec.applications
    for limit in (-5, 0, 900_001):
        app = configure(app, {**LEAST, "transaction.timeout.ms": limit})
        assert run_app(app, *TURN).ended == (
            "initialize() threw InitProducerId: INVALID_TRANSACTION_TIMEOUT"
        )


def test_a_session_that_is_configured_by_the_page_cannot_prepare() -> None:
    """KIP-1310 2.1 has prepareTransaction(); 2.2 lacks what KIP-939 asks for."""
    (app,) = STORY.spec.applications
    program = (*session_programs.COPY[:4], session_programs.TWO_PHASE_SESSION[5])
    app = configure(
        app.but(program=program), {**LEAST, "transaction.two.phase.commit.enable": "true"}
    )
    ended = run_app(
        app, *TURN, *TURN, "app-1 goes on", "app-1 goes on", "quiet", "app-1 goes on"
    ).ended
    assert ended == (
        "prepareTransaction() threw InvalidTxnStateException: "
        "transaction.two.phase.commit.enable is false"
    )


def test_the_page_says_of_one_row_that_it_is_new_and_of_three_that_clients_have_them() -> None:
    existing, new = "existing producer config", "new (KAFKA-20381)"
    sources = [row.source for row in CONFIGS]
    assert sources == [existing, existing, new, "existing", "existing", "existing"]
