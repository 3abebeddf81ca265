"""One real client of a soak, librdkafka by way of confluent-kafka; the lines are those of kafka_python_worker.py."""

import sys

from confluent_kafka import Consumer, KafkaException, Producer

SERVERS, NAME = sys.argv[1], sys.argv[2]
SHORT = {
    "bootstrap.servers": SERVERS,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "log_level": 0,
}


def make_producer():
    """Return a producer that has its transactional id."""
    made = Producer(
        {
            **SHORT,
            "transactional.id": NAME,
            "client.id": NAME,
            "transaction.timeout.ms": 5_000,
            "message.timeout.ms": 4_500,
            "retry.backoff.ms": 20,
            "linger.ms": 0,
        },
        error_cb=lambda _: None,
    )
    made.init_transactions(8)
    return made


def transact(producer, how, words):
    """Produce the records of a transaction and end it; return what became of it."""
    producer.begin_transaction()
    for word in words:
        topic, index, value = word.split(":", 2)
        producer.produce(topic, value.encode(), partition=int(index))
    if how == "abort":
        producer.flush(8)
        producer.abort_transaction(8)
        return "aborted"
    producer.commit_transaction(8)
    return "committed"


def poll(consumers, group):
    """Poll once as a member of a group and commit."""
    if group not in consumers:
        consumers[group] = Consumer(
            {
                **SHORT,
                "group.id": group,
                "client.id": f"{NAME}-reader",
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 10_000,
                "enable.auto.commit": False,
            },
            error_cb=lambda _: None,
        )
        consumers[group].subscribe(["orders"])
    found = [each for each in consumers[group].consume(100, 0.5) if each.error() is None]
    if found:
        consumers[group].commit(asynchronous=False)
    return f"polled {len(found)}"


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
            name = type(wrong).__name__
            if isinstance(wrong, KafkaException):
                name = wrong.args[0].name()
            said = f"unknown {name}"
            if how != "poll":
                producer = None
        print(said, flush=True)


main()
