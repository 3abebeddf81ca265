"""The findings of our review of KIP-1289 that a design can show, each as a change of the repaired one.

A finding is the repaired design with one slot as the KIP writes it. Some rules of the KIP only work together, such as
an acknowledgement in memory and the marker that finds it there. Such a finding changes both slots: a change of one slot
would break everything and show nothing. Findings I and D are in the catalogue, among the designs of the lessons.
"""

from __future__ import annotations

# The acknowledgement is only in the share-partition leader's memory, and any marker that its broker receives resolves
# it. This is the smallest change that makes an acknowledgement work as the KIP describes it.
IN_MEMORY = {"staged_acks": "memory_only", "marker_reach": "every_one_on_the_broker"}

# For each finding: name, title, sentence, and the slots that differ from the repaired design.
CHANGES: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    (
        "finding-A",
        "repaired, but no participant is added",
        "The coordinator learns of no share-partition, so it sends none of them a marker of the transaction.",
        {"participant": "nowhere"},
    ),
    (
        "finding-B",
        "repaired, but no marker reaches the acknowledgement",
        "The acknowledgement is in the source leader's memory; the marker goes to the leader of the state partition.",
        IN_MEMORY,
    ),
    (
        "finding-C",
        "repaired, but the group id alone chooses the participant",
        "The leader adds the partition that the group id hashes to, and the acknowledgement is in another one.",
        {"participant": "state_partition_by_group"},
    ),
    (
        "finding-E",
        "repaired, but the acknowledgement is lost with its leader",
        "The acknowledgement is only in memory: the next share-partition leader does not know it.",
        IN_MEMORY,
    ),
    (
        "finding-F",
        "repaired, but an abort returns the record to its member",
        "A record of an aborted transaction is ACQUIRED again by a member that does not know it.",
        {"abort_target": "acquired"},
    ),
    (
        "finding-G",
        "repaired, but a commit acknowledges what was rejected",
        "A rejected record becomes ACKNOWLEDGED with its transaction, as if it had been processed.",
        {"commit_target": "acknowledged_either_way"},
    ),
    (
        "finding-H",
        "repaired, but a marker is answered before it is safe",
        "The coordinator completes the transaction while the marker is on one broker alone.",
        {"marker_answer": "when_appended"},
    ),
    (
        "finding-K",
        "repaired, but a repeated staging is refused",
        "A staging whose response was lost is sent again and rejected with INVALID_RECORD_STATE.",
        {"stage_retry": "invalid_record_state"},
    ),
    (
        "finding-L",
        "repaired, but the member's epoch has to be the current one",
        "A staging is refused because another member has joined or left in the meantime.",
        {"member_epoch": "the_current_one"},
    ),
    (
        "finding-M",
        "repaired, but an aborted delivery counts up to the limit",
        "A record of an aborted transaction waits for its lock, which archives it at the limit.",
        {"abort_target": "acquired"},
    ),
    (
        "finding-Q",
        "repaired, but a request is staged as a whole or not at all",
        "A leader gives back what it has staged when it refuses another partition of the same request.",
        {"stage_parts": "all_or_none"},
    ),
    (
        "finding-R",
        "repaired, but the next poll() also acknowledges staged records",
        "The implicit acknowledgement names staged records, and one wrong name refuses all of them.",
        {"next_poll": "accept_all"},
    ),
    (
        "finding-S",
        "repaired, but a downgrade takes the hook along",
        "An acknowledgement is staged in memory, the feature is downgraded, and its marker has no effect.",
        IN_MEMORY | {"marker_below_level": "not_known_any_more"},
    ),
    (
        "finding-X1",
        "repaired, but the next poll() accepts what is not committed",
        "In implicit mode the next poll() accepts the whole batch, whatever became of it.",
        {"next_poll": "accept_all"},
    ),
    (
        "finding-X2",
        "repaired, but the participant is added on the local broker",
        "The share-partition leader adds the participant at the coordinator object of its own broker.",
        {"enlistment": "own_broker"},
    ),
    (
        "finding-X3",
        "repaired, but a marker bypasses the share coordinator",
        "The log has a marker that its coordinator does not know of, until it falls out of step.",
        {"state_marker": "behind_its_back"},
    ),
    (
        "finding-X4",
        "repaired, but nothing guards a staging against its own abort",
        "An acknowledgement is staged in memory after the marker that should have ended it.",
        IN_MEMORY,
    ),
    (
        "finding-X5",
        "repaired, but an acknowledgement in memory may be evicted",
        "When a group's last member leaves a broker, its acknowledgements in memory are dropped.",
        IN_MEMORY | {"eviction": "allowed"},
    ),
    (
        "finding-X6",
        "repaired, but a fenced share-partition drops its acknowledgements",
        "A reset raises the state epoch; the next write is fenced, and drops the acknowledgements in memory.",
        IN_MEMORY | {"reset_while_pending": "fences_the_acknowledgement"},
    ),
    (
        "finding-X8",
        "repaired, but the member's epoch is looked up on the own broker",
        "The share-partition leader asks the group coordinator of its own broker for the member.",
        {"member_check": "epoch_at_the_own_broker"},
    ),
    (
        "finding-X11",
        "repaired, but staging does not start the transaction",
        "A transaction of acknowledgements alone is over for the producer, and no broker is notified.",
        {"staging_starts": "only_sends_count"},
    ),
    (
        "finding-X13",
        "repaired, but a reset ignores a pending acknowledgement",
        "An operator's reset succeeds while an acknowledgement is pending, and the acknowledgement is fenced with the state.",
        {"reset_while_pending": "fences_the_acknowledgement"},
    ),
    (
        "finding-X15",
        "repaired, but the outcome is merged with TX_PENDING",
        "The stored TX_PENDING has the highest id, so it wins against every outcome.",
        {"outcome_join": "joined_with_the_acknowledgement"},
    ),
    (
        "finding-X16",
        "repaired, but a log is pruned up to its snapshots",
        "Pruning deletes everything that snapshots have replaced, including a pending acknowledgement before them.",
        {"prune_floor": "what_snapshots_replace"},
    ),
    (
        "finding-X18",
        "repaired, but a lock's only timer fires while the record is staged",
        "The timer finds nothing to do, the abort gives the record back, and no timer is left.",
        {"lock_expiry": "noticed_by_nobody", "abort_target": "acquired"},
    ),
    (
        "finding-X24",
        "repaired, but poll() knows of no transaction",
        "A second poll() before the staging gives records back whose outputs are in the transaction.",
        {"poll_before_staging": "at_any_time"},
    ),
    (
        "finding-X25",
        "repaired, but poll() overtakes a staging",
        "A staging that is late is taken for one of the next delivery to the same member.",
        {"poll_while_staging": "without_waiting"},
    ),
    (
        "finding-X26",
        "repaired, but a dropped staging counts as staged",
        "The consumer does not give back what the producer never staged, and waits for its own lock.",
        {"dropped_staging": "taken_for_staged"},
    ),
    (
        "finding-X27",
        "repaired, but a staged record is not acknowledged in explicit mode",
        "Kafka's consumer wants acknowledge() for every record before the next poll(), and throws.",
        {"explicit_mode": "only_acknowledge_does"},
    ),
    (
        "finding-X32",
        "repaired, but an expired lock returns the record to its member",
        "Corner case 6 by the letter: TX_PENDING reverts to ACQUIRED, and no timer is left.",
        {"lock_expiry": "back_to_acquired"},
    ),
    (
        "finding-X43",
        "repaired, but a marker counts as done before its outcome is durable",
        "The acknowledgement is in memory, the marker resolves it there, and the write that follows may fail.",
        IN_MEMORY | {"outcome_write": "counts_as_done"},
    ),
    (
        "pull-request-22357",
        "repaired, but the acknowledgement is in memory and a failed write fails the marker",
        "The record stays TX_PENDING until its outcome is durable, and the coordinator sends the marker again.",
        IN_MEMORY | {"outcome_write": "keeps_the_acknowledgement"},
    ),
)
