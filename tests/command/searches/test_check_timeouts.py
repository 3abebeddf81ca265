"""check-timeouts: what it says, and what its status is."""

from __future__ import annotations


def test_each_rule_is_told_with_what_follows_and_the_status_says_whether_all_are_kept(kipviz):
    done = kipviz("check-timeouts", "--work", "40000")
    assert done.status == 1
    first, second, *_ = done.out.splitlines()
    assert first.startswith(
        "✓ transaction.timeout.ms > the processing time of a batch: 40 s of processing end"
    )
    assert second.startswith(
        "✗ lock > min(work, timeout + scan) + lookup: an acknowledgement waits up to 45 s"
    )
    usual = kipviz("check-timeouts")
    assert usual.status == 0
    assert "○ lock > timeout + scan + lookup: 30 s is not above 75 s" in usual.out
    kept = kipviz("check-timeouts", "--lock", "60000", "--timeout", "40000", "--json")
    assert kept.status == 0
    assert all(check["right"] for check in kept.document["checks"])
    assert kept.document["limits"]["deliveries"] == 5


def test_nonsense_is_refused_in_one_sentence(kipviz):
    done = kipviz("check-timeouts", "--lock", "soon")
    assert done.status == 2
    assert done.err.count("\n") == 1
