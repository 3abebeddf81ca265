"""One transactional producer of librdkafka that makes the calls it is told, one JSON line each.

python old_client.py ADDRESS NAME TRANSACTIONAL_ID TRANSACTION_TIMEOUT_MS

Needs confluent-kafka from PyPI, which nothing else of kipviz needs.
"""

import json
import sys

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition, libversion

PATIENCE_S = 20


def answer(producer: Producer, address: str, asked: dict) -> dict:
    """Make one call; a record is waited for, as its offset is what is told."""
    told: dict = {}

    def delivered(error: object, message: object) -> None:
        if error is not None:
            told["error"] = str(error)
        else:
            told["offset"] = message.offset()

    match asked["call"]:
        case "version":
            told["librdkafka"] = libversion()[0]
        case "init_transactions" | "commit_transaction" | "abort_transaction" as name:
            getattr(producer, name)(PATIENCE_S)
        case "begin_transaction":
            producer.begin_transaction()
        case "produce":
            place = (asked["topic"], asked["value"], asked["value"], asked["partition"])
            producer.produce(*place, on_delivery=delivered)
            producer.flush(PATIENCE_S)
        case "send_offsets_to_transaction":
            settings = {"bootstrap.servers": address, "group.id": asked["group"]}
            consumer = Consumer(settings)
            offsets = [TopicPartition(asked["topic"], asked["partition"], asked["offset"])]
            metadata = consumer.consumer_group_metadata()
            producer.send_offsets_to_transaction(offsets, metadata, PATIENCE_S)
            consumer.close()
    return told


def main() -> None:
    """Take calls until there are no more."""
    address, name, transactional_id, timeout = sys.argv[1:]
    settings = {
        "bootstrap.servers": address,
        "client.id": name,
        "transactional.id": transactional_id,
        "transaction.timeout.ms": int(timeout),
        "linger.ms": 0,
        # A fatal error is told by the call that it ends, not by whichever call comes next.
        "error_cb": lambda _: None,
    }
    producer = Producer(settings)
    for line in sys.stdin:
        try:
            said = answer(producer, address, json.loads(line))
        except KafkaException as problem:
            said = {"error": problem.args[0].name()}
        print(json.dumps(said), flush=True)


main()
