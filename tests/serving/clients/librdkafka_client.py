"""librdkafka by way of confluent-kafka, driven line by line."""

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from driven import drive

SERVERS = []
SECONDS = 10


class Actor:
    def __init__(self, name):
        self.name = name

    def servers(self, servers):
        SERVERS[:] = [servers]

    def open(self, transactional_id):
        self.producer = Producer(
            {
                "bootstrap.servers": SERVERS[0],
                "client.id": self.name,
                "transactional.id": transactional_id,
                "linger.ms": 0,
                "message.timeout.ms": 10_000,
                "transaction.timeout.ms": 60_000,
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
        consumer = Consumer({"bootstrap.servers": SERVERS[0], "group.id": group, "log_level": 0})
        try:
            committed = [TopicPartition(topic, 0, int(offset))]
            of_group = consumer.consumer_group_metadata()
            self.producer.send_offsets_to_transaction(committed, of_group, SECONDS)
        finally:
            consumer.close()

    def commit(self):
        self.producer.commit_transaction(SECONDS)

    def abort(self):
        self.producer.abort_transaction(SECONDS)

    def close(self):
        del self.producer

    def committed(self, group, topic):
        consumer = Consumer({"bootstrap.servers": SERVERS[0], "group.id": group, "log_level": 0})
        try:
            (found,) = consumer.committed([TopicPartition(topic, 0)], timeout=SECONDS)
        finally:
            consumer.close()
        return "none" if found.offset < 0 else str(found.offset)


def name_of(error):
    if isinstance(error, KafkaException):
        return error.args[0].name()
    # A fatal error that arrives while flush() calls back comes out of it as a SystemError with a cause.
    cause = f" from {name_of(error.__cause__)}" if error.__cause__ is not None else ""
    return type(error).__name__ + cause


if __name__ == "__main__":
    drive(Actor, name_of)
