"""The relation of three time limits: acquisition lock, transaction timeout, and the processing time of a batch.

In KIP-1289's corner case 6 a lock expires while its record is staged, and there is no advice on how the lock should
relate to transaction.timeout.ms. A transactional acknowledgement is held from its staging until a leader knows its
outcome: as long as the processing takes, or as the coordinator waits, and then until the next lookup. A lock that
outlasts this releases nothing early. `studies.timed.time_limits` compares the rule with searches of every cell.
"""

from __future__ import annotations

from kipviz.cluster.specs import spec_limits
from kipviz.cluster.timing.clock import ms
from kipviz.core.values import Value
from kipviz.settings import broker_configs
from kipviz.settings.client_configs import TRANSACTION_TIMEOUT_MS
from kipviz.settings.setting_def import SettingDef

# The range that brokers allow unless an operator changes the bounds (Kafka 4.4.0).
LOCK_LEAST_MS = broker_configs.GROUP_SHARE_MIN_RECORD_LOCK_DURATION_MS.default
LOCK_MOST_MS = broker_configs.GROUP_SHARE_MAX_RECORD_LOCK_DURATION_MS.default
TIMEOUT_MOST_MS = broker_configs.TRANSACTION_MAX_TIMEOUT_MS.default

# Kafka's setting of each limit.
LOCK = broker_configs.GROUP_SHARE_RECORD_LOCK_DURATION_MS
TIMEOUT = TRANSACTION_TIMEOUT_MS
SCAN = broker_configs.TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS
DELIVERIES = broker_configs.GROUP_SHARE_DELIVERY_COUNT_LIMIT
# A broker's setting has the range that a broker accepts.
OF_BROKERS: dict[str, SettingDef[int]] = {"lock": LOCK, "scan": SCAN, "deliveries": DELIVERIES}


class BadLimits(ValueError):
    """A limit is not valid; the message states the reason in one sentence."""


class Limits(Value, frozen=True):
    """The configured limits, in ms, and the maximum time in which the application processes a batch.

    `lock`, `timeout`, `scan` and `deliveries` are Kafka's settings `LOCK`, `TIMEOUT`, `SCAN` and `DELIVERIES`;
    `look_up` is the interval at which a leader looks up the outcome of transactional acknowledgements (our inference).
    `aborts` is the number of transactions in a row that abort around a record although its processing never failed.
    """

    lock: int = LOCK.default
    timeout: int = TIMEOUT.default
    work: int = 20_000
    scan: int = SCAN.default
    look_up: int = 5_000
    deliveries: int = DELIVERIES.default
    aborts: int = 1

    @property
    def held(self) -> int:
        """The maximum time for which a transactional acknowledgement waits for its outcome."""
        return min(self.work, self.timeout + self.scan) + self.look_up

    @property
    def lock_outlasts_acknowledgements(self) -> bool:
        """Whether no lock can expire under a transactional acknowledgement that can still commit."""
        return self.lock > self.held

    @property
    def outlives_aborts(self) -> bool:
        """Whether a record is delivered again after the last of its aborts."""
        return self.deliveries > self.aborts

    @property
    def can_commit(self) -> bool:
        """Whether the processing can end before the coordinator's last moment to abort it."""
        return self.work <= self.timeout + self.scan


class Advice(Value, frozen=True):
    """One rule about the limits: whether it is kept, the rule, and what follows.

    A rule that is not `needed` only ensures that another rule is kept whatever the application does.
    """

    right: bool
    rule: str
    says: str
    needed: bool = True


def advice(limits: Limits) -> tuple[Advice, ...]:
    """Check every rule about the limits, the most important first.

    Raises:
        BadLimits: if one of them is not a number of at least 1, in one sentence.
    """
    for name in limits.__struct_fields__:
        value = getattr(limits, name)
        if type(value) is not int or value < 1:
            raise BadLimits(f"{name} must be a whole number of at least 1, not {value!r}")
    for name, setting in OF_BROKERS.items():
        limit = spec_limits.OF_BROKERS[setting.field]
        wrong = spec_limits.why_no_number(limit, getattr(limits, name), limit.name)
        if wrong:
            raise BadLimits(wrong)
    rules = (_work, _acknowledgements, _whatever, _deliveries, _aborts, _bounds)
    return tuple(rule(limits) for rule in rules)


def _work(limits: Limits) -> Advice:
    rule = f"{TIMEOUT.name} > the processing time of a batch"
    work, timeout = ms(limits.work), ms(limits.timeout)
    if limits.work < limits.timeout:
        return Advice(
            True, rule, f"{work} of processing end before {timeout}: a healthy transaction commits"
        )
    if limits.can_commit:
        says = (
            f"{work} of processing end after {timeout}: whether a healthy transaction commits depends on "
            f"the scan, which comes up to {ms(limits.scan)} later"
        )
        return Advice(False, rule, says)
    return Advice(
        False, rule, f"{work} of processing never end before {timeout}: no transaction ever commits"
    )


def _acknowledgements(limits: Limits) -> Advice:
    rule = "lock > min(work, timeout + scan) + lookup"
    held, lock = ms(limits.held), ms(limits.lock)
    if limits.lock_outlasts_acknowledgements:
        return Advice(
            True,
            rule,
            f"an acknowledgement waits {held} at most for its outcome, and the lock lasts {lock}",
        )
    says = (
        f"an acknowledgement waits up to {held} for its outcome, and the lock of {lock} may expire first: with KIP-1289 as "
        "written (draft) a record can be committed twice; with pinned acknowledgements (repaired) it cannot"
    )
    return Advice(False, rule, says)


def _whatever(limits: Limits) -> Advice:
    rule = "lock > timeout + scan + lookup"
    longest = limits.timeout + limits.scan + limits.look_up
    if limits.lock > longest:
        says = "no lock expires under a transactional acknowledgement, however long the processing takes"
        return Advice(True, rule, says, needed=False)
    fits = limits.lock - limits.scan - limits.look_up
    way_out = (
        f"a {TIMEOUT.name} below {ms(fits)} would be enough"
        if fits > 0
        else f"no {TIMEOUT.name} would be enough"
    )
    says = f"{ms(limits.lock)} is not above {ms(longest)}: it depends on the processing time; {way_out}"
    return Advice(False, rule, says, needed=False)


def _deliveries(limits: Limits) -> Advice:
    rule = "lock > work, if records are acknowledged without a transaction"
    if limits.lock > limits.work:
        return Advice(True, rule, "no consumer loses a record during processing")
    gone = ms(limits.deliveries * limits.lock)
    says = (
        f"a record is released during its processing, {limits.deliveries} times, and is archived "
        f"after {gone}, although no processing failed; renewing the lock (KIP-1222) avoids it"
    )
    return Advice(False, rule, says)


def _aborts(limits: Limits) -> Advice:
    rule = "delivery limit > aborts in a row"
    if limits.outlives_aborts:
        return Advice(True, rule, "a record survives them, with KIP-1289 as written, too")
    says = (
        f"{limits.aborts} aborts use up {limits.deliveries} deliveries: with KIP-1289 as written (draft) "
        "the record is archived although no processing failed; if an abort does not count as a delivery, it is not"
    )
    return Advice(False, rule, says)


def _bounds(limits: Limits) -> Advice:
    rule = "the brokers' bounds"
    wrong = []
    if not LOCK_LEAST_MS <= limits.lock <= LOCK_MOST_MS:
        wrong.append(f"a lock lasts from {ms(LOCK_LEAST_MS)} to {ms(LOCK_MOST_MS)}")
    if limits.timeout > TIMEOUT_MOST_MS:
        wrong.append(f"{TIMEOUT.name} is {ms(TIMEOUT_MOST_MS)} at most")
    if wrong:
        return Advice(False, rule, f"by default {' and '.join(wrong)}")
    return Advice(True, rule, "a broker with default settings accepts them")
