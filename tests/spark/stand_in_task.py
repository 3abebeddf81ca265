"""A small task module for tests: the interface of kipviz.checking.single_run.seeded_run with a model of one page.

A source record is acquired, an output for it is appended in a transaction, the transaction is decided
and the record is acknowledged. The design "twice" sometimes does it again, "forgets" acknowledges
although the transaction was aborted, "sticks" never resolves a transactional acknowledgement, "crashes"
raises at some seeds, "dies" kills the process it runs in, "dies once" the first one only, "slow" takes its time,
"sleeps" does not end within a test.
"""

import os
import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import msgspec


class Task(msgspec.Struct, frozen=True):
    scenario: str
    design: str
    faults: str
    seed: int
    steps_max: int = 600


class Verdict(msgspec.Struct, frozen=True):
    task: Task
    status: str
    broken: str
    step: int
    reason: str
    steps: int
    transactions: int
    fingerprint: str


class EventRow(msgspec.Struct, frozen=True):
    scenario: str
    design: str
    faults: str
    seed: int
    step: int
    kind: str
    actor: str = ""
    source: str = ""
    offset: int = -1
    state: str = ""
    delivery_count: int = -1
    transactional_id: str = ""
    producer_id: int = -1
    producer_epoch: int = -1
    committed: int = -1
    text: str = ""


RECORDS = 6
WRONG = {"twice": "no_duplicate", "forgets": "no_loss", "sticks": "no_stuck_record"}


def known_names():
    return {
        "scenarios": ("copy", "copy_slowly"),
        "designs": (
            "right",
            "twice",
            "forgets",
            "sticks",
            "crashes",
            "dies",
            "dies once",
            "slow",
            "sleeps",
        ),
        "faults": ("calm", "rough"),
    }


def dice(task: Task, *what: object) -> int:
    text = "/".join(map(str, (task.scenario, task.design, task.faults, task.seed, *what)))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def wrong_record(task: Task) -> int:
    """The record at which this run goes wrong, RECORDS or more for none."""
    return dice(task, "wrong") % (3 * RECORDS)


def rows(task: Task) -> Iterator[EventRow]:
    identity = (task.scenario, task.design, task.faults, task.seed)
    misbehave(task)
    step = 0
    epoch = 0
    for offset in range(RECORDS):
        wrong = offset == wrong_record(task)
        at = {"source": "src-0", "offset": offset}
        decided = [1]
        if task.faults == "rough" and dice(task, offset) % 3 == 0:
            decided = [0, 1]
        if wrong and task.design == "twice":
            decided.append(1)
        if wrong and task.design == "forgets":
            decided = [0]
        for delivery, committed in enumerate(decided, 1):
            by = {"producer_id": 7, "producer_epoch": epoch, "transactional_id": "tx"}
            held = {**at, "delivery_count": delivery, **by}
            yield EventRow(*identity, step + 1, "record_state", state="ACQUIRED", **held)
            yield EventRow(*identity, step + 2, "output_appended", **at, **by)
            yield EventRow(*identity, step + 3, "record_state", state="TX_PENDING", **held)
            if wrong and task.design == "sticks":
                step += 4
                epoch += 1
                break
            yield EventRow(*identity, step + 4, "transaction_decided", committed=committed, **by)
            good = committed or (wrong and task.design == "forgets")
            state = "ACKNOWLEDGED" if good else "AVAILABLE"
            yield EventRow(*identity, step + 5, "record_state", state=state, **held)
            step += 5
            epoch += 1
    yield EventRow(*identity, step + 1, "run_ended")


def misbehave(task: Task) -> None:
    if task.design == "crashes" and task.seed % 5 == 3:
        raise RuntimeError(f"the model has no answer\nfor seed {task.seed}")
    if task.design == "dies" and task.seed == 3:
        os._exit(17)
    if task.design == "dies once" and task.seed == 3:
        # What it needs to know stands in a file, because the next try is another process.
        died = Path(os.environ["KIPVIZ_TEST_DIED"])
        if not died.exists():
            died.touch()
            os._exit(17)
    if task.design == "slow":
        time.sleep(0.15)
    if task.design == "sleeps":
        Path(os.environ["KIPVIZ_TEST_ASLEEP"]).touch()
        time.sleep(3600)


def run(task: Task) -> Verdict:
    events = list(rows(task))
    broken = WRONG.get(task.design, "") if wrong_record(task) < RECORDS else ""
    digest = blake2b(msgspec.json.encode(events), digest_size=8).hexdigest()
    committed = sum(event.committed == 1 for event in events)
    step = next((e.step for e in events if e.offset == wrong_record(task)), -1) if broken else -1
    status = "breaks" if broken else "holds"
    reason = f"record {wrong_record(task)} went wrong" if broken else ""
    return Verdict(task, status, broken, step, reason, len(events), committed, digest)
