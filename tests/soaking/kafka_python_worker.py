"""One real client of a soak, kafka-python, driven line by line: `python kafka_python_worker.py SERVERS NAME`.

commit TOPIC:INDEX:VALUE ...     ->   committed, aborted, or unknown and why
abort TOPIC:INDEX:VALUE ...
poll GROUP                       ->   polled COUNT
"""

import sys
import warnings

warnings.simplefilter("ignore")
from kafka import KafkaConsumer, KafkaProducer  # noqa: E402
from kafka.errors import KafkaError  # noqa: E402

SERVERS, NAME = sys.argv[1].split(","), sys.argv[2]
SHORT = {"retry_backoff_ms": 20, "reconnect_backoff_ms": 20, "reconnect_backoff_max_ms": 200}


def make_producer():
    """Return a producer that has its transactional id."""
    made = KafkaProducer(
        bootstrap_servers=SERVERS,
        transactional_id=NAME,
        client_id=NAME,
        transaction_timeout_ms=5_000,
        request_timeout_ms=3_000,
        delivery_timeout_ms=8_000,
        max_block_ms=8_000,
        linger_ms=0,
        **SHORT,
    )
    made.init_transactions()
    return made


def transact(producer, how, words):
    """Produce the records of a transaction and end it; return what became of it."""
    producer.begin_transaction()
    sent = []
    for word in words:
        topic, index, value = word.split(":", 2)
        sent.append(producer.send(topic, value=value.encode(), partition=int(index)))
    for each in sent:
        each.get(8)
    if how == "abort":
        producer.abort_transaction()
        return "aborted"
    producer.commit_transaction()
    return "committed"


def poll(consumers, group):
    """Poll once as a member of a group and commit."""
    if group not in consumers:
        consumers[group] = KafkaConsumer(
            "orders",
            bootstrap_servers=SERVERS,
            group_id=group,
            client_id=f"{NAME}-reader",
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            session_timeout_ms=10_000,
            request_timeout_ms=11_000,
            enable_auto_commit=False,
            **SHORT,
        )
    found = consumers[group].poll(timeout_ms=500, max_records=500)
    consumers[group].commit()
    return f"polled {sum(map(len, found.values()))}"


def main():
    """Read a line, do it, write a line."""
    producer, consumers = None, {}
    for line in sys.stdin:
        how, *words = line.split()
        try:
            if how == "poll":
                said = poll(consumers, words[0])
            else:
                producer = producer or make_producer()
                said = transact(producer, how, words)
        except Exception as wrong:  # noqa: BLE001  every error of the client is an answer
            said = f"unknown {type(wrong).__name__}" + (
                "" if isinstance(wrong, KafkaError) else " !"
            )
            if producer is not None and how != "poll":
                producer.close(timeout=0)
                producer = None
        print(said, flush=True)


main()
