"""A cluster that cannot be is refused with one sentence before anything runs."""

from __future__ import annotations

import pytest

from kipviz.brokers.authorizer import Acl
from kipviz.brokers.settings import BrokerSettings
from kipviz.clients.application import Call, Line
from kipviz.cluster.specs.spec import (
    BadSpec,
    ClusterSpec,
    FaultBudget,
    Placement,
    PlainSpec,
    Remade,
    SessionSpec,
)
from kipviz.designs.catalogue import REPAIRED
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.records.transaction_state import TransactionRecord, TransactionState
from kipviz.scenarios.applications import session_programs
from kipviz.scenarios.library import searched_scenario

SPEC = searched_scenario("kip-1289-small").spec
APP = SPEC.applications[0]
LEFT = TransactionRecord("old-txn", 3, 0, TransactionState.EMPTY)


def read_refusal(spec: ClusterSpec) -> str:
    with pytest.raises(BadSpec) as wrong:
        REPAIRED.model(spec)
    return str(wrong.value)


@pytest.mark.parametrize("name", ["", "a/b", "B3", "a\nb"])
def test_an_application_is_called_nothing_that_a_host_or_a_connection_is_called(name: str) -> None:
    said = read_refusal(SPEC.but(applications=(APP.but(name=name),)))
    assert said == (
        "an application's name must be unique and printable, without '/', and not the name of a broker such as B3; "
        f"{name!r} is not allowed"
    )


def test_two_applications_of_one_name_are_refused() -> None:
    assert "'app-1' is not allowed" in read_refusal(SPEC.but(applications=(APP, APP)))


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (SPEC.but(brokers=()), "brokers must be at least one number, and all different, not ()"),
        (
            SPEC.but(brokers=(1, 1)),
            "brokers must be at least one number, and all different, not (1, 1)",
        ),
        (SPEC.but(replication="slow"), "replication must be instant or stepwise, not 'slow'"),
        (
            SPEC.but(internal_partitions=0),
            "internal_partitions must be from 1 to 10000, not 0",
        ),
        (
            SPEC.but(placements=(Placement("more-0", 9), *SPEC.placements)),
            "more-0 is placed on broker 9, but the brokers are 1, 3, 5, 7",
        ),
        (
            SPEC.but(applications=(APP.but(output="nowhere-0"),)),
            "app-1 uses nowhere-0, which no placement gives a leader",
        ),
        (
            SPEC.but(budget=FaultBudget(cut=-1)),
            "the budget for cut must be from 0 to 2147483647, not -1",
        ),
        (
            SPEC.but(topic_ids_from=8),
            "TxnOffsetCommit has topic ids from version 6 or 7, not 8",
        ),
        (
            SPEC.but(records=(("nowhere-0", 0, ("r",)),)),
            "records must be in placed partitions at offset 0 or later, not in nowhere-0 from 0",
        ),
        (
            SPEC.but(records=(("src-0", -1, ("r",)),)),
            "records must be in placed partitions at offset 0 or later, not in src-0 from -1",
        ),
        (
            SPEC.but(staging_transaction_version=3),
            "staging_transaction_version must be from 1 to 2, not 3",
        ),
        (
            SPEC.but(transaction_version=1),
            "app-1 stages share-group acknowledgements, which needs transaction version 2, not 1",
        ),
        (SPEC.but(topic_ids=()), "app-1 shares src-0, but topic src has no id"),
        (
            SPEC.but(applications=(APP.but(program=()),)),
            "app-1 has no program: a program has at least one line",
        ),
        (
            SPEC.but(applications=(APP.but(max_records=0),)),
            "max_records of app-1 must be from 1 to 2147483647, not 0",
        ),
        (
            SPEC.but(applications=(APP, APP.but(name="app-2"))),
            (
                f"member {APP.member_id} is twice in group {APP.group_id}: "
                "every member has an id of its own"
            ),
        ),
        (
            SPEC.but(transactions=(LEFT.but(state=TransactionState.DEAD),)),
            "no log holds old-txn as DEAD",
        ),
        (
            SPEC.but(transactions=(LEFT.but(producer_id=SPEC.first_producer_id),)),
            (
                "old-txn was left by a producer id below first_producer_id, which is "
                f"{SPEC.first_producer_id}, not by {SPEC.first_producer_id}"
            ),
        ),
        (
            SPEC.but(txn_offset_commit=7),
            "txn_offset_commit, the brokers' newest version of TxnOffsetCommit, must be 5 or 6, not 7",
        ),
        (
            SPEC.but(remade=(Remade("nowhere", "AAAAAAAAAAAAAAAAAAAABw", ()),)),
            "nowhere cannot be created again: it does not exist",
        ),
        (
            SPEC.but(
                transaction_version=1,
                applications=(APP.but(session=SessionSpec(), program=session_programs.SHARE_SINK),),
            ),
            ("app-1 stages share-group acknowledgements, which needs transaction version 2, not 1"),
        ),
        (
            SPEC.but(applications=(APP.but(session=SessionSpec(("session",))),)),
            "a producer of app-1 is not called 'session': that is its session's name",
        ),
        (
            SPEC.but(applications=(APP.but(share=False, further_sources=("output-A-0",)),)),
            "app-1 reads further partitions, which only a member of a share group can",
        ),
        (
            SPEC.but(applications=(APP.but(offset_fetch_version=5),)),
            "app-1 must ask for offsets in version 6 to 10, not 5",
        ),
        (
            SPEC.but(applications=(APP, APP.but(name="app-2", member_id="M9", protocol="share"))),
            (
                "app-1 and app-2 are in group "
                f"{APP.group_id}: either all members of a group join it, by one protocol, or all "
                "are in it before the run"
            ),
        ),
        (
            SPEC.but(applications=(APP.but(program=(Line("", Call.LIST_TRANSACTIONS),)),)),
            "app-1 has no admin client: listTransactions() is not for it",
        ),
        (
            SPEC.but(applications=(APP.but(admin=True),)),
            "app-1 has an admin client alone: initTransactions() is not for it",
        ),
        (
            SPEC.but(
                applications=(
                    APP.but(
                        admin=True, program=(Line("", Call.LIST_TRANSACTIONS, target="epoch=9"),)
                    ),
                )
            ),
            "app-1: 'epoch=9' is not a filter: write state=Ongoing, producer=9, id=my-.* or duration=30000",
        ),
        (
            SPEC.but(inter_broker_protocol=2),
            "inter_broker_protocol must be 0 (below KIP-447) or 1, not 2",
        ),
        (
            SPEC.but(min_insync_replicas=(("nowhere", 2),)),
            "min.insync.replicas must be at least 1 and for a topic that exists, not 2 of nowhere",
        ),
        (
            SPEC.but(min_insync_replicas=(("src", 0),)),
            "min.insync.replicas must be at least 1 and for a topic that exists, not 0 of src",
        ),
        (
            SPEC.but(applications=(APP.but(two_phase_commit=True, transaction_timeout_ms=10_000),)),
            (
                "app-1 takes part in a two-phase commit, which has no time limit: "
                "leave transaction_timeout_ms as it is"
            ),
        ),
        (
            SPEC.but(settings=BrokerSettings(share_sessions_max=1)),
            "group.share.max.share.sessions (1) has to be at least group.share.max.size (200)",
        ),
        (
            SPEC.but(applications=(APP.but(instance_id="i1"),)),
            "app-1 has the instance id i1: a static member joins its group by protocol 'classic' or 'consumer'",
        ),
        (
            SPEC.but(
                applications=(APP.but(transactional_id="", plain=PlainSpec(max_in_flight=0)),)
            ),
            "app-1 must have at least one batch in flight, not 0",
        ),
        (
            SPEC.but(
                applications=(APP.but(admin=True, program=(Line("", Call.DELETE_SHARE_GROUPS),)),)
            ),
            "app-1: deleteShareGroups() needs the id of a share group",
        ),
    ],
)
def test_what_is_wrong_is_named_and_what_is_allowed(spec: ClusterSpec, sentence: str) -> None:
    assert read_refusal(spec) == sentence


def test_an_acl_that_no_resource_can_have_is_refused():
    """KIP-1289 asks for WRITE of a group, and there is no such operation."""
    write = Acl("app-1", Operation.WRITE, Resource.GROUP, "g1")
    assert read_refusal(SPEC.but(acls=(write,))) == (
        "an ACL of a GROUP is for ALL, READ, DESCRIBE, DELETE, not for WRITE"
    )
