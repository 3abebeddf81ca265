"""How many requests a second are put to the model: python tests/bench/bench_accept.py [times] [--spark].

A recording of Kafka 4.4.0 has too few requests to measure, so its requests come again and again, one round after the other. The
logs do not: later answers differ from the model's, which costs as much as if they did not. With --spark the same is shared
out on two cores, cold and warm, and has to give the same report.
"""

import sys
import time
from functools import partial
from pathlib import Path

from kipviz.recordings.judging.report import of_evidence
from kipviz.recordings.request_context.evidence import Evidence, of_recording

RELEASE = Path(__file__).resolve().parents[1] / "recordings" / "kafka-4.4.0"
NAMES = ("members", "transaction-answers")


def repeat_requests(evidence: Evidence, times: int) -> Evidence:
    """Return the evidence with its requests so many times."""
    whole = [x for x in evidence.exchanges if not x.problem]
    round_ms = max(x.answered_ms for x in whole) - min(x.received_ms for x in whole) + 1
    exchanges = tuple(
        x.but(received_ms=x.received_ms + k * round_ms, answered_ms=x.answered_ms + k * round_ms)
        for k in range(times)
        for x in whole
    )
    return evidence.but(exchanges=exchanges)


def main(times: int, *, on_spark: bool) -> None:
    """Judge the requests in one process, and on Spark where that is wanted."""
    for name in NAMES:
        evidence = repeat_requests(of_recording(RELEASE / name), times)
        count = len(evidence.exchanges)
        start = time.perf_counter()
        one = of_evidence(evidence)
        seconds = time.perf_counter() - start
        print(
            f"{name}, one process: {count:,} requests, {seconds:.1f} s, {count / seconds:,.0f} a second"
        )
        if on_spark:
            from kipviz.spark.conformance import judge_on_spark
            from kipviz.spark.sessions.session import session

            judge = partial(judge_on_spark, session())
            for turn in ("cold", "warm"):
                start = time.perf_counter()
                found = of_evidence(evidence, judge)
                took = time.perf_counter() - start
                print(f"{name}, Spark, {turn}: {took:.1f} s, {seconds / took:.2f} times as fast")
                assert found == one
    if on_spark:
        from kipviz.spark.sessions.session import stop

        stop()


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:] if each.isdecimal()]
    main(numbers[0] if numbers else 40, on_spark="--spark" in sys.argv)
