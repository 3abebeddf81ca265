"""The abstraction profiles: every field of a spec is Kafka's, or is said by the spec, or is a row of the one table."""

from __future__ import annotations

import pytest
from msgspec.structs import fields

from kipviz.brokers.settings import BrokerSettings, GroupConfig
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.abstraction import (
    KAFKA,
    PROFILES,
    SMALL,
    UnknownProfile,
    profile_named,
    profile_of,
)
from kipviz.cluster.specs.simplifications import ALWAYS, CHOSEN, Owner
from kipviz.cluster.specs.spec import (
    ApplicationSpec,
    ClusterSpec,
    PlainSpec,
    SessionSpec,
    ThreadSpec,
)
from kipviz.cluster.timing.clock import Clock
from kipviz.designs.catalogue import design
from kipviz.messages.groups.reset_policy import EARLIEST, LATEST
from kipviz.scenarios.applications.programs import READ, SHARE_READ
from kipviz.scenarios.bases import CLUSTERS, PROCESSES, cluster_in, process_in
from kipviz.scenarios.documents.bad_story import BadStory
from kipviz.scenarios.documents.read import read_story
from kipviz.scenarios.library import LIBRARY, carried, scenario
from kipviz.scenarios.scenario import Scenario, at_levels
from kipviz.scenarios.setting_changes import BadChange, apply_changes

# The stories that are told to the end with Kafka's defaults; no paper of verdicts has them.
AS_KAFKA_IS = ("kip-447-as-kafka-is", "kip-1310-as-kafka-is")
ROWS = (*CHOSEN, *ALWAYS)
HOLDERS = {
    Owner.APPLICATION: ApplicationSpec,
    Owner.CLUSTER: ClusterSpec,
    Owner.BROKERS: BrokerSettings,
}
# Which processes there are and what they run, what exists in a cluster, what may go wrong: Kafka has no default of it.
SAID_BY_A_SPEC = {
    ApplicationSpec: "name transactional_id program group_id member_id share source output session admin listener database "
    "work_ms tasks further_sources plain shares threads further_members callback shares_sender later_assignors",
    ClusterSpec: "brokers placements applications records topic_ids budget first_producer_id settings group_configs "
    "dead_letter_topics clock transactions remade durations further_acls releases binaries deletable_topics later_topics "
    "splits kafka_version",
    BrokerSettings: "",
    Clock: "delay_max_ms pause_max_ms refresh_ms tick",
}
# Everything else is Kafka's default: Kafka's name of it, and the value.
KAFKAS_DEFAULT = {
    ApplicationSpec: {
        "explicit": ("share.acknowledgement.mode=implicit", False),
        "transaction_timeout_ms": ("transaction.timeout.ms", 60_000),
        "two_phase_commit": ("transaction.two.phase.commit.enable", False),
        "heartbeat_interval_ms": ("transaction.heartbeat.interval.ms (KIP-1309, draft)", 0),
        "acquire_mode": ("share.acquire.mode=batch_optimized", 0),
        "offset_fetch_version": ("OffsetFetchRequest.json", 10),
        "instance_id": ("group.instance.id", ""),
        "rack": ("client.rack", ""),
    },
    ClusterSpec: {
        "internal_partitions": ("offsets.topic.num.partitions", 50),
        "transaction_version": ("transaction.version", 2),
        "share_version": ("share.version", 2),
        "acls": ("authorizer.class.name is empty: everything is allowed", None),
        "txn_offset_commit": ("TxnOffsetCommitRequest.json", 6),
        "share_rollout": ("no rolling upgrade is under way", 0),
        "inter_broker_protocol": ("a version that knows KIP-447", 1),
        "staging_level": ("KIP-1289, draft", 3),
        "transactional_group_id": ("KIP-447, first draft, not shipped", False),
        "topic_ids_from": ("TxnOffsetCommitRequest.json", 6),
        "staging_transaction_version": ("KIP-1289, draft", 2),
    },
    BrokerSettings: {
        "delivery_count_limit": ("group.share.delivery.count.limit", 5),
        "record_locks_max": ("group.share.partition.max.record.locks", 2_000),
        "updates_per_snapshot": ("share.coordinator.snapshot.update.records.per.snapshot", 500),
        "transaction_max_timeout_ms": ("transaction.max.timeout.ms", 900_000),
        "two_phase_commit_enable": ("transaction.two.phase.commit.enable", False),
        "partition_verification": ("transaction.partition.verification.enable", True),
        "record_lock_duration_ms": ("group.share.record.lock.duration.ms", 30_000),
        "transaction_scan_ms": (
            "transaction.abort.timed.out.transaction.cleanup.interval.ms",
            10_000,
        ),
        "initial_rebalance_delay_ms": ("group.initial.rebalance.delay.ms", 3_000),
        "share_group_max_size": ("group.share.max.size", 200),
        "share_sessions_max": ("group.share.max.share.sessions", 2_000),
        "dead_letter_prefix": ("errors.deadletterqueue.topic.name.prefix", "dlq."),
        "consumer_group_max_size": ("group.consumer.max.size", 2**31 - 1),
        "group_max_size": ("group.max.size", 2**31 - 1),
        "dead_letter_auto_create": ("errors.deadletterqueue.auto.create.topics.enable", False),
    },
    Clock: {},
}


def rows_of(kind: type) -> list[str]:
    if kind is Clock:
        return [r.field.removeprefix("clock.") for r in ROWS if r.field.startswith("clock.")]
    return [r.field for r in ROWS if HOLDERS.get(r.owner) is kind and "." not in r.field]


@pytest.mark.parametrize("kind", SAID_BY_A_SPEC)
def test_every_field_is_in_the_table_or_is_as_in_kafka_or_is_what_a_spec_is_about(kind) -> None:
    sorted_out = [*rows_of(kind), *SAID_BY_A_SPEC[kind].split(), *KAFKAS_DEFAULT[kind]]
    assert sorted(sorted_out) == sorted(kind.__struct_fields__)


@pytest.mark.parametrize("kind", KAFKAS_DEFAULT)
def test_what_is_no_simplification_has_kafkas_default(kind) -> None:
    defaults = {field.name: field.default for field in fields(kind)}
    for name, (of_kafka, value) in KAFKAS_DEFAULT[kind].items():
        assert defaults[name] == value, of_kafka


def test_what_nobody_says_of_a_spec_is_kafkas() -> None:
    regular = ApplicationSpec("app-1", "t", READ, "g", "C1", False, "src-0", "out-0")
    sharing = ApplicationSpec(
        "app-1", "t", SHARE_READ, "g", "M1", True, "src-0", "out-0", further_sources=("src-1",)
    )
    assert (regular.protocol, regular.auto_offset_reset) == ("classic", LATEST)
    assert (regular.max_in_flight, regular.max_records) == (5, 500)
    assert regular.assignors == ("range", "cooperative-sticky")
    assert (sharing.protocol, sharing.gathers, sharing.by_session) == ("share", True, True)
    spec = ClusterSpec((1,), (), (), (), ())
    for row in CHOSEN:
        if row.owner is not Owner.APPLICATION:
            holder = spec.settings if row.owner is Owner.BROKERS else spec
            assert getattr(holder, row.field) == row.values[0], row.field
    assert profile_of(spec).profile is KAFKA
    assert PlainSpec().max_in_flight == 5
    assert GroupConfig("g").auto_offset_reset == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"threads": (ThreadSpec("T1", 1),)},
        {"read_uncommitted": True},
        {"admin": True},
    ],
)
def test_a_process_that_cannot_join_here_is_in_its_group_by_default(changes) -> None:
    app = ApplicationSpec("app-1", "t", READ, "g", "C1", False, "src-0", "out-0", **changes)
    assert app.protocol == ""


def test_the_producer_of_a_session_has_one_batch_at_a_time_by_default() -> None:
    app = ApplicationSpec("a", "t", READ, "g", "C1", False, "src-0", "o-0", session=SessionSpec())
    assert app.max_in_flight == 1


def test_every_row_says_what_is_lost_and_where_it_is_from() -> None:
    for row in ROWS:
        assert all((row.setting, row.kafka, row.small, row.lost, row.source)), row
        assert row.chosen == (row in CHOSEN)
        for holder in filter(None, (HOLDERS.get(row.owner) if row.field else None,)):
            assert row.field.split(".")[0] in holder.__struct_fields__


@pytest.mark.parametrize("kind", PROCESSES)
def test_the_profile_small_takes_back_what_the_profile_kafka_changes(kind) -> None:
    app = process_in(SMALL, kind, "app-1")
    there = process_in(KAFKA, kind, "app-1")
    assert KAFKA.of_application(there) == there
    kept = {"protocol": app.protocol}  # one that joins by a protocol of its own joins in both
    assert SMALL.of_application(there).but(**kept) == app


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_base_has_the_profile_that_it_is_asked_for(name) -> None:
    assert profile_of(cluster_in(SMALL, name)).profile is SMALL
    assert profile_of(cluster_in(KAFKA, name)).profile is KAFKA
    assert SMALL.of_cluster(cluster_in(KAFKA, name)) == cluster_in(SMALL, name)


@pytest.mark.parametrize("story", [s for s in LIBRARY if s.spec.applications], ids=lambda s: s.name)
def test_every_story_can_be_set_as_kafka_has_it(story: Scenario) -> None:
    spec = KAFKA.of_cluster(story.spec)
    check(at_levels(spec, design(story.designs[0])))
    assert profile_of(spec).profile is KAFKA, profile_of(spec).words


def test_a_profile_is_read_from_values_and_says_what_is_as_in_kafka() -> None:
    (app,) = (PROCESSES["group-member"]("app-1"),)
    spec = CLUSTERS["regular-group"].but(applications=(app.but(max_in_flight=5),))
    said = profile_of(spec)
    assert said.profile is SMALL
    assert "members are in their groups before the run" in said.left_out
    assert said.as_in_kafka == ("up to 5 batches of a partition in flight",)
    assert said.words.startswith("profile small: members are in their groups before the run, ")
    assert said.words.endswith("; as in Kafka: up to 5 batches of a partition in flight")
    assert profile_of(KAFKA.of_cluster(spec)).words == "profile kafka-defaults"


def test_a_cluster_with_only_some_simplifications_is_not_named_as_if_it_had_all() -> None:
    story = scenario("kip-447-race")
    assert profile_of(story.spec).name == "3 of the 8 simplifications of profile small"
    assert profile_of(story.searched.spec).name == "abstraction profile small"
    assert profile_of(KAFKA.of_cluster(story.spec)).name == "abstraction profile kafka-defaults"


def test_what_the_model_lacks_for_a_process_is_said_of_the_profile_kafka_too() -> None:
    app = PROCESSES["group-member"]("app-1").but(session=SessionSpec())
    said = profile_of(KAFKA.of_cluster(CLUSTERS["regular-group"].but(applications=(app,))))
    assert said.words == (
        "profile kafka-defaults: the model has here no more than: one batch of a partition in flight"
    )


def test_every_story_is_searched_under_the_profile_that_the_papers_of_verdicts_name() -> None:
    """LEDGER, FINDINGS and DRAFTS say of all their clusters that they are small."""
    found = {story.name: profile_of(story.searched.spec).profile.name for story in LIBRARY}
    others = {name: profile for name, profile in found.items() if profile != "small"}
    assert others == dict.fromkeys(AS_KAFKA_IS, "kafka-defaults")


def test_an_unknown_profile_is_refused_with_the_names() -> None:
    with pytest.raises(UnknownProfile, match="there is no profile 'tiny'"):
        profile_named("tiny")
    with pytest.raises(BadChange, match="there is no profile 'tiny'"):
        apply_changes(CLUSTERS["regular-group"], design("kafka"), ["profile=tiny"])
    assert [profile_named(profile.name) for profile in PROFILES] == list(PROFILES)


def test_a_cluster_is_changed_from_one_profile_to_the_other_by_a_setting() -> None:
    story = next(iter(LIBRARY))
    there, _ = apply_changes(story.spec, design("kafka"), ["profile=kafka-defaults"])
    assert profile_of(there).profile is KAFKA
    back, _ = apply_changes(there, design("kafka"), ["profile=small"])
    assert profile_of(back).profile is SMALL


DOCUMENT = """\
---
name: mine
clause: a test
designs: [kafka]
lanes: [app-1, B1]
{profile}cluster: regular-group
{cluster}applications:
  app-1:
    like: group-member
{app}---

# A story

It has no steps.
"""


def spec_of(profile: str = "", cluster: str = "", app: str = "") -> ClusterSpec:
    said = f"profile: {profile}\n" if profile else ""
    text = DOCUMENT.format(profile=said, cluster=cluster, app=app)
    return read_story(text, "mine.md").scenario.spec


def test_a_document_without_a_profile_is_as_kafka_has_it() -> None:
    assert spec_of() == spec_of("kafka-defaults")
    assert profile_of(spec_of()).profile is KAFKA
    assert profile_of(spec_of("small")).profile is SMALL


def test_a_document_says_what_differs_from_its_profile() -> None:
    spec = spec_of("small", "replication: stepwise\n", "    max_in_flight: 5\n")
    assert profile_of(spec).as_in_kafka == (
        "up to 5 batches of a partition in flight",
        "followers fetch in steps of their own",
    )
    assert (
        spec_of("kafka-defaults", app="    max_in_flight: 1\n").applications[0].max_in_flight == 1
    )


def test_a_document_without_a_word_of_it_has_the_default_of_the_process_that_it_makes() -> None:
    """What Kafka's value is depends on the process; a base that is changed is another process."""
    base = spec_of("kafka-defaults").applications[0]
    (session,) = spec_of("kafka-defaults", app="    session: {}\n").applications
    (unread,) = spec_of("kafka-defaults", app="    read_uncommitted: true\n").applications
    assert (base.max_in_flight, session.max_in_flight) == (5, 1)
    assert (base.protocol, unread.protocol) == ("classic", "")
    assert spec_of("small", app="    session: {}\n").applications[0].max_in_flight == 1
    (told,) = spec_of("kafka-defaults", app="    session: {}\n    max_in_flight: 5\n").applications
    assert told.max_in_flight == 5, "what a head says is not changed: the checks of specs refuse it"


@pytest.mark.parametrize(
    ("cluster", "app", "line", "says"),
    [
        ("replication: instant\n", "", 8, "followers have a batch as soon as it is appended"),
        ("settings:\n  asks_together: false\n", "", 9, "each verification is an AddPartit"),
        ("", '    protocol: ""\n', 11, "members are in their groups before the run"),
    ],
)
def test_a_document_of_kafkas_profile_cannot_say_what_kafka_is_not(cluster, app, line, says):
    with pytest.raises(BadStory, match=rf"mine\.md:{line}: .*contradict each other: {says}"):
        spec_of("kafka-defaults", cluster, app)


def test_an_unknown_profile_of_a_document_is_told_with_its_line() -> None:
    with pytest.raises(BadStory, match=r"mine\.md:6: unknown profile 'tiny'"):
        spec_of("tiny")


def test_a_link_from_before_the_profiles_carries_a_story_of_the_small_one(monkeypatch) -> None:
    text = DOCUMENT.format(profile="", cluster="", app="")
    assert carried("mine", text).spec == spec_of("small")


def test_a_share_group_begins_where_its_own_setting_says_or_where_the_brokers_do() -> None:
    with pytest.raises(BadChange, match="earliest or latest, not 'none'"):
        apply_changes(CLUSTERS["share-group"], design("kafka"), ["share_auto_offset_reset=none"])
    spec, _ = apply_changes(
        CLUSTERS["share-group"], design("kafka"), ["share_auto_offset_reset=latest"]
    )
    assert spec.settings.share_auto_offset_reset == LATEST
    assert CLUSTERS["share-group"].settings.share_auto_offset_reset == EARLIEST
