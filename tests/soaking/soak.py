"""One soak: a server, its clients, faults, and a check every few seconds."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from kipviz.recordings.files.segments import batches
from tests.soaking import raw_client as raw
from tests.soaking.faults import Faults
from tests.soaking.ledger import Ledger, Place
from tests.soaking.raw_client import Client, Rejected, Tally, check_error
from tests.soaking.real_clients import RealClient, find_programs
from tests.soaking.server_process import MISTAKE, ServerProcess, Stuck
from tests.soaking.workers import (
    PARTITIONS,
    TOPICS,
    ClassicMember,
    ConsumerMember,
    Operator,
    PlainProducer,
    ShareMember,
    TransactionalProducer,
    Worker,
)

# How long a server may take, healed, until nothing is open any more, without the time in which it waited for a
# processor, and how often that is tried at least: on a busy machine a minute of the clock says little.
PROBE_S = 60.0
SETTLED_S = 90.0
TRIES_MIN = 60
CHECK_EVERY_S = 15.0
SAY_EVERY_S = 60.0
FAULT_EVERY_S = 0.25  # and more if the clients rest
FAULTS_PER_REST = 16
FIRST_BACK_CHECKS = 5  # each next one after twice as many
PROGRESS_EVERY_CHECKS = 8
PROGRESS_EVERY_RESTS = 4  # of the longest kind
# What a server takes at its bounds with the topics of a soak, measured: 35 MB without requests, 37 for the kept steps,
# 66 for full partitions and the bytes of batches, 20 for all else, and up to 60 that Python does not give back.
MEMORY_MAX_MB = 300.0
GROWTH_MAX_MB = 60  # in the second half of a soak: half of what partitions and kept bytes take, if they fill so slowly
SAMPLES_MAX = 60
FDS_MAX = 1_200
THREADS_MAX = 12
PLACES: tuple[Place, ...] = tuple((t, i) for t in TOPICS for i in range(PARTITIONS))


class Failed(Exception):
    """Something is wrong with the server."""


@dataclass
class Summary:
    """What a soak did, as it is printed and recorded."""

    seed: int
    pace_s: float = 0.0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    requests: int = 0
    committed: int = 0
    aborted: int = 0
    plain: int = 0
    compared: int = 0
    checks: int = 0
    backs: int = 0
    killed_clients: int = 0
    memory_mb: float = 0.0
    memory_samples_mb: list[int] = field(default_factory=list)
    slowest_script_line_s: float = 0.0
    slowest_probe_s: float = 0.0
    faults: dict[str, int] | None = None
    rejections: dict[str, int] | None = None
    pieces: dict[str, int] | None = None
    failure: str = ""

    def line(self) -> str:
        """Return the summary in one line."""
        faults = sum((self.faults or {}).values())
        what = self.failure or "no failure"
        return (
            f"seed {self.seed}, pace {self.pace_s:g} s: {self.seconds:,.0f} s, {self.requests:,} requests, {self.committed:,} commits, "
            f"{self.aborted:,} aborts, {self.plain:,} plain records, {faults:,} faults, {self.backs} times back, "
            f"{self.killed_clients} clients killed, {self.checks} checks of {self.compared:,} transactions and batches, "
            f"{self.memory_mb:.0f} MB, {self.cpu_seconds:,.0f} s of CPU time: {what}"
        )


class Soak:
    """A server under load and faults; `run` ends with a summary."""

    def __init__(
        self,
        seed: int,
        folder: Path,
        say: Callable[[str], None],
        *,
        real: int = 1,
        check_every_s: float = CHECK_EVERY_S,
        pace_s: float = 0.0,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._say, self._check_every_s = folder, say, check_every_s
        self._dice = Random(seed)
        self.server = ServerProcess(folder / f"soak-{seed}.err")
        self._faults = Faults(self.server, Random(f"{seed}/faults"))
        self._tally, self._ledger = Tally(), Ledger()
        self._summary = Summary(seed, pace_s)
        self.interrupted = False
        self._read_to = dict.fromkeys(PLACES, 0)
        self._back_at = FIRST_BACK_CHECKS
        self._pieces: dict[str, int] = {}
        self._progress_after_s = PROGRESS_EVERY_RESTS * pace_s
        self._fault_every_s = max(FAULT_EVERY_S, pace_s / FAULTS_PER_REST)
        self._progress_seen = (0, self._running_s())
        self._client = Client(self.server.ports, "probe", self._tally)
        programs = find_programs(say) * real if real else ()
        given = (seed, self.server.ports, self._tally, self._ledger)
        self._workers: list[Worker] = [
            *(TransactionalProducer(f"tx-{n}", *given, old=n % 3 == 2) for n in range(3)),
            PlainProducer("plain-0", *given),
            *(ClassicMember(f"classic-{n}", *given) for n in range(2)),
            *(ConsumerMember(f"consumer-{n}", *given) for n in range(2)),
            *(ShareMember(f"share-{n}", *given) for n in range(2)),
            Operator("operator", *given),
            *(
                RealClient(f"{program}-{number}", *given, program=program)
                for number, program in enumerate(programs)
            ),
        ]
        for worker in self._workers:
            worker.pace_s = pace_s

    # -- the run --------------------------------------------------------------------------------

    def run(self, seconds: float) -> Summary:
        """Soak for a time; the summary has the failure, if there was one."""
        begun = time.monotonic()
        try:
            self._go_on(begun, seconds)
        except (Failed, Stuck) as wrong:
            self._summary.failure = str(wrong)
            self._save()
        except KeyboardInterrupt:
            self.interrupted = True
        self._take_over(begun)
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            if isinstance(worker, RealClient):
                worker.end()
        for worker in self._workers:
            if worker.is_alive():
                worker.join(timeout=raw.TIMEOUT_S * 3)
        self._faults.close()
        self._client.forget()
        self.server.end()
        return self._summary

    def _go_on(self, begun: float, seconds: float) -> None:
        for worker in self._workers:
            worker.start()
        said = checked = time.monotonic()
        while time.monotonic() - begun < seconds:
            self._faults.inject()
            time.sleep(self._dice.random() * 2 * self._fault_every_s)
            self._look()
            now = time.monotonic()
            if now - checked >= self._check_every_s:
                self._check()
                checked = time.monotonic()
            if now - said >= SAY_EVERY_S:
                said = now
                self._take_over(begun)
                self._note_memory()
                self._say(self._summary.line())
        self._check()

    def _take_over(self, begun: float) -> None:
        found, tally = self._summary, self._tally
        found.seconds = round(time.monotonic() - begun, 1)
        found.requests, found.plain = tally.requests, tally.plain
        found.committed, found.aborted = tally.committed, tally.aborted
        found.compared = self._ledger.compared
        found.faults = dict(sorted(self._faults.counts.items()))
        found.killed_clients = sum(w.kills for w in self._workers if isinstance(w, RealClient))
        rejections: Counter[str] = Counter()
        for worker in self._workers:
            rejections.update(worker.rejections)
        found.rejections = dict(rejections.most_common())
        found.pieces = {worker.name: worker.pieces for worker in self._workers}
        found.slowest_script_line_s = round(self.server.slowest_s, 2)

    def _note_memory(self) -> None:
        """Note the memory; once there are many samples, every other one goes."""
        found = self._summary.memory_samples_mb
        found.append(round(self.server.measure()[0]))
        if len(found) > 2 * SAMPLES_MAX:
            del found[1::2]
        plateau = found[len(found) // 2 :]
        if len(found) >= SAMPLES_MAX and max(plateau) > min(plateau) + GROWTH_MAX_MB:
            raise Failed(f"the server's memory grows: {plateau} MB")

    def _save(self) -> None:
        path = self._folder / f"soak-{self._summary.seed}.trace"
        try:
            self.server.do("save", file=str(path))
            self._say(f"the run is in {path}")
        except Stuck:
            self._say("the run could not be saved")

    # -- checks ---------------------------------------------------------------------------------

    def _look(self) -> None:
        """Look at what is wrong at once: mistakes in the log, dead workers, memory, threads."""
        log = self.server.do("log")["log"]
        for line in log:
            if MISTAKE in line:
                raise Failed(line)
        if self.server.errors():
            raise Failed(f"on stderr: {self.server.errors()}")
        for worker in self._workers:
            if worker.failure:
                raise Failed(worker.failure)
        memory, fds, threads, cpu = self.server.measure()
        self._summary.memory_mb = max(self._summary.memory_mb, round(memory, 1))
        self._summary.cpu_seconds = round(cpu, 1)
        if memory > MEMORY_MAX_MB:
            raise Failed(f"the server uses {memory:.0f} MB")
        if fds > FDS_MAX or threads > THREADS_MAX:
            raise Failed(f"the server has {fds} file descriptors and {threads} threads")

    def _check(self) -> None:
        """Heal, see that a new client is served and nothing is stuck, and compare the logs with the ledger."""
        self._faults.heal()
        begun = time.monotonic()
        self._retry("a new transaction commits", PROBE_S, self._probe)
        took = round(time.monotonic() - begun, 2)
        self._summary.slowest_probe_s = max(self._summary.slowest_probe_s, took)
        self._pause()
        self._retry("no transaction stays open", SETTLED_S, self._expect_no_open_transaction)
        self._retry("the reader reads to the end", PROBE_S, self._read)
        wrong = self._ledger.compare(self._read_to)
        if wrong:
            raise Failed("; ".join(wrong[:5]))
        self._summary.checks += 1
        self._look_for_progress()
        if self._summary.checks >= self._back_at:
            # Ever more seldom: it goes back to a kept step, and what the memory had filled with since then is gone.
            self._back_at *= 2
            self._back()
        for worker in self._workers:
            worker.resume()
        self._look()

    def _look_for_progress(self) -> None:
        """Now and then: each client has come to the end of a piece of work since the last time."""
        now = self._running_s()
        checks, seen = self._progress_seen
        rests = now - seen < self._progress_after_s
        if rests or self._summary.checks - checks < PROGRESS_EVERY_CHECKS:
            return
        self._progress_seen = (self._summary.checks, now)
        for worker in self._workers:
            if worker.pieces == self._pieces.get(worker.name, 0):
                why = worker.rejections.most_common(3)
                raise Failed(f"{worker.name} makes no progress any more: {why}")
            self._pieces[worker.name] = worker.pieces

    def _pause(self) -> None:
        for worker in self._workers:
            worker.pause()
        for worker in self._workers:
            begun = self._running_s()
            while not worker.paused.wait(1.0) and not worker.failure:
                if self._running_s() - begun >= SETTLED_S:
                    raise Failed(f"{worker.name} does not come to an end of its piece of work")

    def _running_s(self) -> float:
        """Return a clock that stands still while the server or its clients wait for a processor."""
        return time.monotonic() - self.server.waited_s()

    def _retry(self, what: str, seconds: float, do: Callable[[], None]) -> None:
        """Repeat what may fail for a while, because leaders have just moved."""
        begun, tries = self._running_s(), 0
        while True:
            try:
                return do()
            except (Rejected, OSError) as wrong:
                self._client.forget()
                tries += 1
                took = self._running_s() - begun
                if took >= seconds and tries >= TRIES_MIN:
                    held = self.server.do("held")
                    raise Failed(
                        f"{what}: not within {took:.0f} s, tried {tries} times: {wrong}; {held}"
                    ) from wrong
                time.sleep(0.1)

    def _probe(self) -> None:
        name = f"probe-{self._summary.checks % 7}"
        probe = TransactionalProducer(
            name, self._dice.randrange(10**9), self.server.ports, self._tally, self._ledger
        )
        try:
            probe.work()
        finally:
            probe.client.forget()

    def _expect_no_open_transaction(self) -> None:
        for broker in self.server.ports:
            told = self._client.ask(broker, raw.LIST_TRANSACTIONS)
            check_error("ListTransactions", told["ErrorCode"])
            for each in told["TransactionStates"]:
                if each["TransactionState"] in ("Ongoing", "PrepareCommit", "PrepareAbort"):
                    raise ConnectionError(f"{each['TransactionalId']}: {each['TransactionState']}")

    def _read(self) -> None:
        """Read each partition with read_committed from where the last check stopped."""
        for place in PLACES:
            while self._read_part(place):
                pass

    def _read_part(self, place: Place) -> bool:
        topic, index = place
        leader = self._client.find_leader(topic, index)
        at = self._read_to[place]
        wanted = {"Partition": index, "FetchOffset": at, "PartitionMaxBytes": 1_000_000}
        topic_id = self._client.topic_ids[topic]
        told = self._client.ask(
            leader,
            raw.FETCH,
            MaxWaitMs=0,
            MinBytes=0,
            IsolationLevel=1,
            Topics=({"TopicId": topic_id, "Partitions": (wanted,)},),
        )
        check_error("Fetch", told["ErrorCode"])
        (part,) = told["Responses"][0]["Partitions"]
        check_error("Fetch", part["ErrorCode"])
        if part["LastStableOffset"] != part["HighWatermark"]:
            raise ConnectionError(f"{place} is not stable: {part['LastStableOffset']}")
        if part["LogStartOffset"] > at:
            raise Failed(f"{place} begins at {part['LogStartOffset']}, and {at} was not read yet")
        gone = sorted(
            (a["FirstOffset"], a["ProducerId"]) for a in part["AbortedTransactions"] or ()
        )
        aborted: set[int] = set()
        for batch in batches(part["Records"] or b"", f"{place}"):
            while gone and gone[0][0] <= batch.last_offset:
                aborted.add(gone.pop(0)[1])
            if batch.control:
                aborted.discard(batch.producer_id)
            elif not (batch.transactional and batch.producer_id in aborted):
                for record in batch.records:
                    self._ledger.see(place, record.offset, (record.value or b"").decode())
            self._read_to[place] = batch.last_offset + 1
        return self._read_to[place] > at and self._read_to[place] < part["HighWatermark"]

    def _back(self) -> None:
        """Go back to a kept step; what the clients were told since then does not count."""
        kept = self.server.do("step")["kept"]
        told = self.server.do("back", step=self._dice.randint(max(0, kept - 3_000), kept))
        if not told["ok"]:
            raise Failed(f"the cluster does not go back to a step that it has: {told['error']}")
        self._summary.backs += 1
        self._faults.heal()  # a broker may have been down at that step
        self._ledger.forget()
        self._client.forget()
        self._retry(
            "no transaction stays open after it went back",
            SETTLED_S,
            self._expect_no_open_transaction,
        )
        self._read_to = dict.fromkeys(PLACES, 0)
        self._retry("the reader reads to the end after it went back", PROBE_S, self._read)
        self._ledger.forget()
