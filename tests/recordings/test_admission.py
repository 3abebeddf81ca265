"""Whoever has a right is served and nobody else: the recorded answers are those of the recorded ACLs alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from kipviz.brokers.authorizer import Acl
from kipviz.core.table import Table
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.request_context.admission import Admission, Allowed
from kipviz.recordings.request_context.evidence import of_recording

RELEASE = Path(__file__).parent / "kafka-4.4.0"
READ_G = Acl("app", Operation.READ, Resource.GROUP, "g")


def refused(name: str, *allowed: Allowed) -> list[str]:
    """Give the APIs of the answers that a broker with other ACLs could not have given."""
    evidence = of_recording(RELEASE / name).but(allowed=allowed)
    return [each.api for each in Acceptor(evidence).asked() if not each.accepted]


def test_the_errors_of_every_resource_are_recorded() -> None:
    asked = Acceptor(of_recording(RELEASE / "acls")).asked()
    told = {value for each in asked for _, value in each.recorded if isinstance(value, str)}
    assert told >= {
        Errors.TOPIC_AUTHORIZATION_FAILED.name,
        Errors.GROUP_AUTHORIZATION_FAILED.name,
        Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.name,
        Errors.CLUSTER_AUTHORIZATION_FAILED.name,
        Errors.OPERATION_NOT_ATTEMPTED.name,
        Errors.NONE.name,
    }


def test_a_broker_that_lets_everybody_do_everything_could_not_have_said_it() -> None:
    """Of every kind of request there is one that would have been answered otherwise."""
    assert set(refused("acls")) == {x.api for x in of_recording(RELEASE / "acls").exchanges}


def test_a_broker_that_lets_nobody_do_anything_could_not_have_said_it() -> None:
    assert {"END_TXN", "JOIN_GROUP", "FETCH", "FIND_COORDINATOR"} <= set(
        refused("acls", Allowed(0, 0, ()))
    )


@pytest.mark.parametrize("number", range(1, 5))
def test_every_acl_is_needed_for_the_answers(number: int) -> None:
    """Without one of the operator's changes the answers after it would have been others."""
    known = of_recording(RELEASE / "acls").allowed
    left = (*known[:number], *(each.but(acls=known[number - 1].acls) for each in known[number:]))
    assert refused("acls", *left)


@pytest.mark.parametrize("name", ["acls", "acls-share", "acls-clients"])
def test_where_both_may_be_whoever_was_served_and_whoever_was_refused_may_have_been(
    name: str,
) -> None:
    """A broker that may or may not know of all ACLs from the beginning on could have said all of it."""
    known = of_recording(RELEASE / name).allowed
    last = max(each.known_ms for each in known) + 1_000_000
    assert refused(name, *(each.but(begin_ms=0, known_ms=last) for each in known)) == []


def exchange(begin: int, end: int, principal: str = "app") -> Exchange:
    request = Table.of({"groupId": "g"})
    return Exchange("HEARTBEAT", 4, "c", begin, end, request, Table.of({}), principal=principal)


def test_while_an_acl_changes_a_broker_may_go_by_either() -> None:
    admission = Admission((Allowed(0, 0, ()), Allowed(1_000, 1_100, (READ_G,))))
    assert admission.of_group(exchange(10, 20)) == (False,)
    assert admission.of_group(exchange(1_010, 1_020)) == (False, True)
    assert admission.of_group(exchange(1_200, 1_300)) == (True,)


def test_the_listener_of_the_brokers_and_one_without_an_authorizer_refuse_nobody() -> None:
    nobody = (Allowed(0, 0, ()),)
    assert Admission(nobody).of_group(exchange(0, 1, "ANONYMOUS")) == (True,)
    assert Admission(()).of_group(exchange(0, 1)) == (True,)
