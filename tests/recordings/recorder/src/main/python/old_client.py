"""One transactional producer or member of a group of librdkafka that makes the calls it is told, one JSON line each.

python old_client.py ADDRESS NAME TRANSACTIONAL_ID TRANSACTION_TIMEOUT_MS

Needs confluent-kafka from PyPI, which nothing else of kipviz needs.
"""

import json
import sys
import time

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


class Member:
    """A member of a group of the classic protocol."""

    def __init__(self, address: str, name: str) -> None:
        self.settings = {
            "bootstrap.servers": address,
            "client.id": name,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "heartbeat.interval.ms": 500,
            "session.timeout.ms": 6000,
        }
        self.consumer: Consumer | None = None

    def answer(self, asked: dict) -> dict:
        """Make one call; a poll goes on until the member owns as many partitions as it is told."""
        match asked["call"]:
            case "version":
                return {"librdkafka": libversion()[0]}
            case "subscribe":
                self.consumer = Consumer({**self.settings, "group.id": asked["group"]})
                self.consumer.subscribe([asked["topic"]])
            case "poll":
                end = time.monotonic() + (PATIENCE_S if asked["owned"] >= 0 else 0.5)
                while time.monotonic() < end:
                    self.consumer.poll(0.1)
                    if len(self.consumer.assignment()) == asked["owned"]:
                        break
                return {"owned": len(self.consumer.assignment())}
            case "commit":
                offsets = [
                    TopicPartition(p.topic, p.partition, asked["offset"])
                    for p in self.consumer.assignment()
                ]
                self.consumer.commit(offsets=offsets, asynchronous=False)
            case "close":
                self.consumer.close()
        return {}


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
    member = Member(address, name) if name.startswith("member") else None
    producer = None if member else Producer(settings)
    for line in sys.stdin:
        try:
            asked = json.loads(line)
            said = member.answer(asked) if member else answer(producer, address, asked)
        except KafkaException as problem:
            said = {"error": problem.args[0].name()}
        print(json.dumps(said), flush=True)


main()
