"""What it costs to open a served cluster's run: python tests/bench/bench_opening.py [transactions].

kafka-python produces and commits a quarter, half and all of so many transactions, each time on a new cluster, and the
run is opened. It prints seconds of processor time, the least of three, and asserts nothing.

    replay       the same steps are taken again, without a page
    run, live    kipviz.open(server.run()), kipviz.open(server)
    over replay  how much more than its steps a page costs: the ratio that says something on a busy machine
    growth       the cost of a step of the live page against that of the shortest run: 1 if it is the same
"""

import sys
import time
import warnings

from kafka import KafkaProducer

import kipviz
from kipviz.core.traces.trace import Trace

TIMES = 3


def main(transactions):
    """Print one line for each length."""
    warnings.simplefilter("ignore")
    first = None
    print(" steps  replay     run    live  over replay: run  live  growth")
    for count in (transactions // 4, transactions // 2, transactions):
        with kipviz.serve() as server:
            _produce(server.bootstrap_servers.split(","), count)
            run = server.run()
            steps = run.trace.depth
            replay = _measure(lambda run=run: _replay(run.trace))
            opened = _measure(lambda run=run: kipviz.open(run))
            live = _measure(lambda server=server: kipviz.open(server), lambda page: page.close())
        first = first or live / steps
        print(
            f"{steps:6} {replay:7.3f} {opened:7.3f} {live:7.3f} {opened / replay:17.1f}"
            f" {live / replay:5.1f} {live / steps / first:7.2f}"
        )


def _produce(servers, count):
    client = KafkaProducer(bootstrap_servers=servers, transactional_id="bench", retry_backoff_ms=5)
    client.init_transactions()
    for number in range(count):
        client.begin_transaction()
        client.send("orders", value=b"record %d" % number)
        client.commit_transaction()
    client.close()


def _replay(trace):
    again = Trace.start(trace.model, trace.observers)
    for node in trace.line[1:]:
        again = again.take(trace.node(node).action)


def _measure(work, end=lambda _: None):
    """Return the least processor time of this thread."""
    times = []
    for _ in range(TIMES):
        began = time.thread_time()
        made = work()
        times.append(time.thread_time() - began)
        end(made)
    return min(times)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 55)
