"""Rows of an event log, and small logs with what an audit of each must find."""

import pyarrow as pa
import pytest

from kipviz.spark.workers.worker_runs import EVENT_SCHEMA

COLUMNS = ["scenario", "design", "faults", "seed", "source", "offset"]
COLUMNS += ["finding", "step", "outputs", "deliveries"]
IDENTITY = {"scenario": "s", "design": "d", "faults": "calm", "seed": 1}
BLANK = {"actor": "", "source": "", "offset": -1, "state": "", "delivery_count": -1}
BLANK |= {"transactional_id": "", "producer_id": -1, "producer_epoch": -1, "committed": -1}


def row(step, kind, **fields):
    return {**IDENTITY, **BLANK, "text": "", "step": step, "kind": kind, **fields}


def output(step, epoch, offset=0, **fields):
    at = {"source": "src-0", "offset": offset, "producer_id": 9, "producer_epoch": epoch}
    return row(step, "output_appended", **{**at, **fields})


def decision(step, epoch, committed=1, **fields):
    of = {"producer_id": 9, "producer_epoch": epoch, "committed": committed}
    return row(step, "transaction_decided", **{**of, **fields})


def state(step, name, offset=0, delivery_count=1, **fields):
    at = {"source": "src-0", "offset": offset, "delivery_count": delivery_count, "state": name}
    return row(step, "record_state", **{**at, **fields})


END = row(99, "run_ended")


def table_of(rows):
    return pa.Table.from_pylist(rows, schema=EVENT_SCHEMA)


GOOD = [state(1, "ACQUIRED"), output(2, 0), state(3, "TX_PENDING"), decision(4, 0)]
GOOD += [state(5, "ACKNOWLEDGED")]


SMALL_LOGS = [
    pytest.param([*GOOD, END], [], id="a clean run has no findings"),
    pytest.param(
        [*GOOD, output(6, 1), decision(7, 1), END],
        [(0, "duplicate", 7)],
        id="a second committed output is a duplicate at its commit",
    ),
    pytest.param(
        [*GOOD, output(6, 1), decision(7, 1), output(8, 2), decision(9, 2), END],
        [(0, "duplicate", 7)],
        id="three committed outputs are one duplicate at the second commit",
    ),
    pytest.param(
        [*GOOD, output(6, 1), decision(7, 1, committed=0), END],
        [],
        id="an aborted second output is no duplicate",
    ),
    pytest.param([*GOOD, output(6, 1), END], [], id="an undecided second output is no duplicate"),
    pytest.param(
        [*GOOD, output(6, 0), decision(8, 0, committed=0), END],
        [],
        id="the same producer epoch decides each output once and only by the next decision",
    ),
    pytest.param(
        [*GOOD, output(6, 0), decision(8, 0), decision(9, 0, committed=0), END],
        [(0, "duplicate", 8)],
        id="a later decision does not undo an earlier one",
    ),
    pytest.param(
        [output(4, 0), decision(4, 0), output(5, 1), decision(5, 1), END],
        [(0, "duplicate", 5)],
        id="a decision in the step of its output decides it",
    ),
    pytest.param(
        [output(2, -1, producer_id=-1), *GOOD, END],
        [(0, "duplicate", 4)],
        id="an output without a producer id counts at once",
    ),
    pytest.param(
        [output(2, 0), output(3, 0), decision(4, 0), END],
        [(0, "duplicate", 4)],
        id="two outputs in one transaction are a duplicate",
    ),
    pytest.param(
        [state(1, "ACQUIRED"), output(2, 0), decision(4, 0, 0), state(5, "ACKNOWLEDGED"), END],
        [(0, "loss", 5)],
        id="an acknowledged record without a committed output is a loss",
    ),
    pytest.param(
        [state(1, "ACKNOWLEDGED"), END], [(0, "loss", 1)], id="no output at all is a loss, too"
    ),
    pytest.param(
        [state(1, "ACKNOWLEDGED"), state(3, "AVAILABLE", delivery_count=2), END],
        [],
        id="only the last state counts",
    ),
    pytest.param([state(1, "ARCHIVED"), END], [], id="an archived record is not lost"),
    pytest.param(
        [state(1, "ACQUIRED"), output(2, 0), state(3, "TX_PENDING"), decision(4, 0), END],
        [(0, "stuck", 3)],
        id="a record that ends TX_PENDING is stuck",
    ),
    pytest.param(
        [
            output(2, 0),
            decision(3, 0),
            output(4, 1),
            decision(5, 1),
            state(6, "TX_PENDING"),
            END,
        ],
        [(0, "duplicate", 5), (0, "stuck", 6)],
        id="one record can be wrong in two ways",
    ),
    pytest.param(
        [state(3, "TX_PENDING"), state(3, "ACKNOWLEDGED"), output(1, 0), decision(2, 0), END],
        [],
        id="of two states in one step the later one in a record's life counts",
    ),
    pytest.param(
        [row(0, "no_output_expected", source="src-0"), state(2, "ACKNOWLEDGED"), END],
        [],
        id="what a group acknowledges that puts nothing out is not lost",
    ),
    pytest.param(
        [row(0, "no_output_expected", source="src-1"), state(2, "ACKNOWLEDGED"), END],
        [(0, "loss", 2)],
        id="that a group puts nothing out says nothing of another source",
    ),
    pytest.param(
        [
            *(row(0, "no_output_expected", source="src-0"), state(2, "ACKNOWLEDGED"), END),
            *({**r, "seed": 2} for r in (state(3, "ACKNOWLEDGED"), END)),
        ],
        [(0, "loss", 3)],
        id="that a group puts nothing out says nothing of another run",
    ),
    pytest.param(
        [state(1, "TX_PENDING"), state(2, "ACKNOWLEDGED", offset=1)],
        [],
        id="nothing is claimed lost or stuck in a run that has not ended",
    ),
    pytest.param(
        [*GOOD, END, *({**r, "seed": 2} for r in [*GOOD, END])],
        [],
        id="the same record in two runs is no duplicate",
    ),
    pytest.param(
        [*GOOD, *({**r, "source": "src-1"} for r in GOOD if r["source"]), END],
        [],
        id="the same offset of two sources is no duplicate",
    ),
]
