"""An operator's requests about ACLs, and what a filter means."""

from __future__ import annotations

import pytest

from kipviz.brokers import acl_administration as aa
from kipviz.brokers import kafka_apis
from kipviz.brokers.authorizer import CLUSTER_NAME, Acl
from kipviz.brokers.checks import error_of
from kipviz.brokers.context import Effects, ReplyTo, with_effects
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.cluster.actions import CreateAcls as CreateOne
from kipviz.cluster.actions import Deliver
from kipviz.cluster.world import Envelope
from kipviz.driving.desk import Desk
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.cluster.acls import (
    ANY,
    LITERAL,
    MATCH,
    PREFIXED,
    AclEntry,
    AclFilter,
    CreateAcls,
    DeleteAcls,
    DescribeAcls,
)
from kipviz.messages.errors import Errors
from kipviz.messages.events import AclsChanged
from tests.cluster.small_clusters import model_of, small_spec

W, R, A = Operation.WRITE, Operation.READ, Operation.ALTER
OUT = Acl("app-1", W, Resource.TOPIC, "output-A")
PREFIX = Acl("app-2", W, Resource.TOPIC, "out*")
EVERY = Acl("*", R, Resource.TOPIC, "*", allow=False)
GROUP = Acl("app-1", R, Resource.GROUP, "g1")
ACLS = (OUT, PREFIX, EVERY, GROUP)
TO = ReplyTo("operator/admin", 1, 0)


def call_handler(handler, request, acls=ACLS) -> Effects:
    desk = Desk(kafka_apis, KafkaApis(), leaders={})
    desk.image = {"acls": acls}
    return handler(desk.role, request, TO, desk.on)


def answer(effects: Effects):
    (reply,) = effects.replies
    assert reply.to == TO
    return reply.message


@pytest.mark.parametrize("acl", ACLS, ids=lambda acl: acl.words)
def test_an_acl_goes_over_the_wire_and_comes_back_as_the_same(acl):
    assert aa.acl_of(aa.entry_of(acl)) == acl


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        (AclFilter(), ACLS),
        (AclFilter("TOPIC"), (OUT, PREFIX, EVERY)),
        (AclFilter("TOPIC", "output-A", LITERAL), (OUT,)),
        (AclFilter("TOPIC", "output-A", ANY), (OUT,)),
        (AclFilter("TOPIC", "output-A", MATCH), (OUT, PREFIX, EVERY)),
        (AclFilter("TOPIC", "out", PREFIXED), (PREFIX,)),
        (AclFilter("TOPIC", pattern=PREFIXED), (PREFIX,)),
        (AclFilter("TOPIC", "src", MATCH), (EVERY,)),
        (AclFilter(principal="User:app-1"), (OUT, GROUP)),
        (AclFilter(operation="READ"), (EVERY, GROUP)),
        (AclFilter(allow=False), (EVERY,)),
        (AclFilter(allow=True), (OUT, PREFIX, GROUP)),
        (AclFilter("CLUSTER"), ()),
    ],
)
def test_a_filter_means_what_kafka_s_does(wanted, meant):
    told = answer(call_handler(aa.on_describe_acls, DescribeAcls(wanted)))
    assert told.error is Errors.NONE
    assert told.acls == tuple(map(aa.entry_of, meant))


def test_a_filter_deletes_all_that_it_means_and_says_what_that_was():
    filters = (
        AclFilter("TOPIC", "output-A", MATCH, operation="WRITE"),
        AclFilter(principal="User:app-1"),
    )
    effects = call_handler(aa.on_delete_acls, DeleteAcls(filters))
    assert effects.acls == (EVERY,)
    assert effects.events == tuple(
        AclsChanged(acl.words, created=False) for acl in (OUT, PREFIX, GROUP)
    )
    first, second = answer(effects).deleted
    assert first.acls == (aa.entry_of(OUT), aa.entry_of(PREFIX))
    assert second.acls == (aa.entry_of(OUT), aa.entry_of(GROUP))  # one of them under both


def test_a_filter_that_means_nothing_changes_nothing_and_is_no_error():
    effects = call_handler(aa.on_delete_acls, DeleteAcls((AclFilter("CLUSTER"),)))
    assert effects.acls is None
    assert effects.events == ()
    assert answer(effects).error is Errors.NONE


def test_each_acl_is_created_by_itself_and_one_that_is_there_is_no_error():
    new = Acl("app-3", A, Resource.CLUSTER, CLUSTER_NAME)
    wrong = (
        AclEntry("CLUSTER", "other", LITERAL, "User:app-3", "ALTER"),
        AclEntry("TOPIC", "", LITERAL, "User:app-3", "READ"),
    )
    entries = (aa.entry_of(OUT), wrong[0], aa.entry_of(new), wrong[1])
    effects = call_handler(aa.on_create_acls, CreateAcls(entries))
    told = answer(effects)
    none, invalid = Errors.NONE, Errors.INVALID_REQUEST
    assert told.errors == (none, invalid, none, invalid)
    assert told.error is invalid
    names = [(c.asked, c.error) for c in effects.checks if c.name == "resource name"]
    cluster = f"CLUSTER {CLUSTER_NAME}"
    assert names == [
        ("TOPIC output-A", none),
        ("CLUSTER other", invalid),
        (cluster, none),
        ("TOPIC", invalid),
    ]
    assert effects.acls == (*ACLS, new)
    assert effects.events == (AclsChanged(new.words, created=True),)


def test_what_is_there_already_changes_nothing():
    effects = call_handler(aa.on_create_acls, CreateAcls((aa.entry_of(OUT),)))
    assert (effects.acls, effects.events) == (None, ())


REQUESTS = (
    (aa.on_describe_acls, DescribeAcls(AclFilter())),
    (aa.on_create_acls, CreateAcls((aa.entry_of(OUT),))),
    (aa.on_delete_acls, DeleteAcls((AclFilter(),))),
)


@pytest.mark.parametrize(("handler", "request_"), REQUESTS, ids=["describe", "create", "delete"])
def test_where_everything_is_allowed_there_are_no_acls_to_speak_of(handler, request_):
    effects = call_handler(handler, request_, acls=None)
    assert answer(effects).error is Errors.SECURITY_DISABLED
    assert [check.name for check in effects.checks] == ["authorizer configured"]
    assert error_of(effects.checks) is Errors.SECURITY_DISABLED
    assert effects.acls is None


def ask_broker(acls, request_):
    """Let a broker of a cluster take a request of app-1; give its answer and the ACLs after it."""
    model = model_of(small_spec().but(acls=acls))
    turn = model.turn(model.initial())
    turn.put_request("app-1/admin", 5, Envelope(request_))
    world = model.step(turn.world(), Deliver("app-1/admin", 5, "request")).world
    (envelope,) = world.connections["app-1/admin", 5].responses
    return envelope.message, world.image.acls


@pytest.mark.parametrize(("_", "request_"), REQUESTS, ids=["describe", "create", "delete"])
def test_who_may_not_alter_the_cluster_changes_nothing_and_each_part_says_so(_, request_):
    acls = (GROUP,)
    told, after = ask_broker(acls, request_)
    assert told.error is Errors.CLUSTER_AUTHORIZATION_FAILED
    assert after == acls


def test_who_may_alter_the_cluster_may_list_the_acls_too_and_who_may_list_them_may_not_alter():
    alter = Acl("app-1", A, Resource.CLUSTER)
    describe = Acl("app-1", Operation.DESCRIBE, Resource.CLUSTER)
    assert ask_broker((alter,), DescribeAcls(AclFilter()))[0].error is Errors.NONE
    assert ask_broker((describe,), DescribeAcls(AclFilter()))[0].error is Errors.NONE
    told, _ = ask_broker((describe,), DeleteAcls((AclFilter(),)))
    assert told.error is Errors.CLUSTER_AUTHORIZATION_FAILED


def test_one_may_delete_the_right_by_which_one_deletes():
    alter = Acl("app-1", A, Resource.CLUSTER)
    told, after = ask_broker((alter, GROUP), DeleteAcls((AclFilter(),)))
    assert told.error is Errors.NONE
    assert after == ()


def test_what_an_admin_client_creates_stands_behind_what_the_cluster_knows_and_stays():
    alter = Acl("app-1", A, Resource.CLUSTER)
    entries = tuple(map(aa.entry_of, (PREFIX, GROUP)))
    model = model_of(small_spec().but(acls=(alter,), further_acls=(GROUP, OUT)))
    model = model_of(model.spec.but(budget=model.spec.budget.but(acls=1)))
    turn = model.turn(model.initial())
    turn.put_request("app-1/admin", 5, Envelope(CreateAcls(entries)))
    world = model.step(turn.world(), Deliver("app-1/admin", 5, "request")).world
    assert world.image.acls == (alter, GROUP, PREFIX)
    world = model.step(world, CreateOne(OUT)).world
    assert world.image.acls == (alter, GROUP, OUT, PREFIX)


def test_of_several_decisions_the_last_acls_count():
    parts = (Effects(None, acls=(OUT,)), Effects(None, acls=(GROUP,)), Effects(None))
    assert with_effects(None, *parts).acls == (GROUP,)
    assert with_effects(None, Effects(None)).acls is None
