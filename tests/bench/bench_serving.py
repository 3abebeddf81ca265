"""How many transactions a second real clients get: python tests/bench/bench_serving.py [transactions].

One process serves, another one is the client, kafka-python: produce one record, commit, again.
"""

import subprocess
import sys
import time

import kipviz

CLIENT = """
import sys, time, warnings
warnings.simplefilter("ignore")
from kafka import KafkaProducer
servers, count = sys.argv[1].split(","), int(sys.argv[2])
client = KafkaProducer(bootstrap_servers=servers, transactional_id="bench", retry_backoff_ms=5)
client.init_transactions()
begun = time.perf_counter()
for number in range(count):
    client.begin_transaction()
    client.send("orders", value=b"record %d" % number)
    client.commit_transaction()
print(f"{count / (time.perf_counter() - begun):.0f} transactions a second")
client.close()
"""


def main(count):
    with kipviz.serve() as server:
        begun = time.process_time()
        words = [sys.executable, "-c", CLIENT, server.bootstrap_servers, str(count)]
        subprocess.run(words, check=True)
        spent = time.process_time() - begun
        print(f"{count / spent:.0f} transactions for a second of the server's CPU time")
        print(f"{server.cluster.steps} steps, {len(server.log)} lines in the log")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
