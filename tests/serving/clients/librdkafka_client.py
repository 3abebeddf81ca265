"""librdkafka by way of confluent-kafka, driven line by line."""

from confluent_kafka import (
    AcknowledgeType,
    Consumer,
    KafkaException,
    Producer,
    ShareConsumer,
    TopicPartition,
)
from driven import drive

SERVERS = []
SECONDS, SECONDS_OF_A_LOOK = 10, 1
POLLS = 50


class Actor:
    def __init__(self, name):
        self.name = name

    def servers(self, servers):
        SERVERS[:] = [servers]

    def open(self, transactional_id, timeout_ms="60000"):
        self.producer = Producer(
            {
                "bootstrap.servers": SERVERS[0],
                "client.id": self.name,
                "transactional.id": transactional_id,
                "linger.ms": 0,
                "message.timeout.ms": min(10_000, int(timeout_ms)),
                "transaction.timeout.ms": int(timeout_ms),
                "log_level": 0,
            }
        )

    def init(self):
        self.producer.init_transactions(SECONDS)

    def begin(self):
        self.producer.begin_transaction()

    def send(self, topic, value):
        found = []
        self.producer.produce(
            topic, value, partition=0, on_delivery=lambda error, told: found.append((error, told))
        )
        self.producer.flush(SECONDS)
        ((error, told),) = found
        if error is not None:
            raise KafkaException(error)
        return str(told.offset())

    def offsets(self, group, topic, offset):
        consumer = Consumer(self._config(group))
        try:
            committed = [TopicPartition(topic, 0, int(offset))]
            of_group = consumer.consumer_group_metadata()
            self.producer.send_offsets_to_transaction(committed, of_group, SECONDS)
        finally:
            consumer.close()

    def _config(self, group):
        return {
            "bootstrap.servers": SERVERS[0],
            "group.id": group,
            "client.id": self.name,
            "log_level": 0,
        }

    def commit(self):
        self.producer.commit_transaction(SECONDS)

    def abort(self):
        self.producer.abort_transaction(SECONDS)

    def close(self):
        del self.producer

    def committed(self, group, topic):
        consumer = Consumer(self._config(group))
        try:
            (found,) = consumer.committed([TopicPartition(topic, 0)], timeout=SECONDS_OF_A_LOOK)
        finally:
            consumer.close()
        return "none" if found.offset < 0 else str(found.offset)

    def consume(self, protocol, group, topic):
        more = {
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
        self.consumer = Consumer(self._config(group) | more)
        self.consumer.subscribe([topic])

    def poll(self):
        for _ in range(POLLS):
            message = self.consumer.poll(0.2)
            if message is not None:
                if message.error() is not None:
                    raise KafkaException(message.error())
                self.group = self.consumer.consumer_group_metadata()
                next_offset = message.offset() + 1
                self.next = [TopicPartition(message.topic(), message.partition(), next_offset)]
                return message.value().decode()
        return "nothing"

    def send_offsets(self):
        self.producer.send_offsets_to_transaction(self.next, self.group, SECONDS)

    def stop_consuming(self):
        self.consumer.close()

    def share_open(self, group, topic):
        self.shares = ShareConsumer(
            self._config(group) | {"share.acknowledgement.mode": "explicit"}
        )
        self.shares.subscribe([topic])

    def share_poll(self, types):
        """Poll until there are records, and acknowledge each with its type; the last type is that of all others."""
        types = types.split(",")
        for _ in range(POLLS):
            found = []
            for at, message in enumerate(self.shares.poll(0.2)):
                if message.error() is not None:
                    raise KafkaException(message.error())
                kind = types[min(at, len(types) - 1)]
                if kind != "none":
                    self.shares.acknowledge(message, AcknowledgeType[kind])
                found.append(f"{message.value().decode()}*{message.delivery_count()}")
            if found:
                return " ".join(found)
        return "nothing"

    def share_again(self):
        return str(len(self.shares.poll(0.2)))

    def share_commit(self):
        told = self.shares.commit_sync(5).values()
        return " ".join("ok" if error is None else name_of(error) for error in told)

    def share_close(self):
        self.shares.close()


def name_of(error):
    if isinstance(error, KafkaException):
        return error.args[0].name()
    # A fatal error may come out of flush() as a SystemError with a cause, or first in a delivery report: which one
    # differs from run to run.
    return type(error).__name__ if error.__cause__ is None else name_of(error.__cause__)


if __name__ == "__main__":
    drive(Actor, name_of)
