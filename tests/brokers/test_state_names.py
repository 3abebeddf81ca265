"""The states of the brokers have the names that Kafka's classes give them, which requests and tools show."""

from __future__ import annotations

from kipviz.brokers.membership.classic_group import GroupState
from kipviz.brokers.share_leaders.share_partition import Status


def test_a_classic_group_s_states_are_named_as_describe_groups_shows_them():
    """ClassicGroupState.toString()."""
    names = ["Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"]
    assert [state.value for state in GroupState] == names


def test_a_share_partition_s_states_are_named_as_in_share_partition_state():
    names = ["EMPTY", "INITIALIZING", "ACTIVE", "FAILED", "FENCED"]
    assert [state.value for state in Status] == [state.name for state in Status] == names
