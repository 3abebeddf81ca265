"""The facts of a run that the invariants remember."""

from __future__ import annotations

from kipviz.core.table import Table
from kipviz.core.values import Part
from kipviz.properties.facts.share_record import ShareRecord

Identity = tuple[int, int]
SentBatch = tuple[str, int, int, int]


class Facts(Part, frozen=True, cache_hash=True):
    """The facts of a run that the invariants remember.

    `owners` are the members that hold records; `staging` and `acknowledgements` are
    the staged records by (producer id, epoch), before and after the producer got a response; `decided` holds the
    outcomes by (producer id, epoch), "commit" or "abort"; `outcomes` the outcome of the last transactional
    acknowledgement on each record; `done` the records that are acknowledged or archived; `starts` the durable start
    offsets by share-partition; `epochs` the epoch that the last InitProducerId of a producer id returned; `ended` the
    epoch of a producer id's last marker in a partition; `markers` the outcome in the markers of (producer id, epoch).
    `broken` holds the reason by invariant.

    Below transaction version 2 an epoch lasts for many transactions, so that the last four are needed: `due` are the
    (partition, producer id) that wait for a marker, true while nothing is decided, `rounds` how many transactions of a
    producer id have begun, `sent_in` in which of them a batch was first sent, by (partition, producer id, epoch,
    sequence), `begun_at_2` the transactions that began before the level was lowered, if it may be.
    """

    owners: Table[ShareRecord, str] = Table.of()
    staging: Table[ShareRecord, Identity] = Table.of()
    acknowledgements: Table[ShareRecord, Identity] = Table.of()
    decided: Table[Identity, str] = Table.of()
    outcomes: Table[ShareRecord, str] = Table.of()
    done: Table[ShareRecord, bool] = Table.of()
    starts: Table[str, int] = Table.of()
    epochs: Table[int, int] = Table.of()
    ended: Table[tuple[str, int], int] = Table.of()
    markers: Table[Identity, str] = Table.of()
    broken: Table[str, str] = Table.of()
    due: Table[tuple[str, int], bool] = Table.of()
    rounds: Table[int, int] = Table.of()
    sent_in: Table[SentBatch, int] = Table.of()
    begun_at_2: Table[tuple[int, int], bool] = Table.of()
