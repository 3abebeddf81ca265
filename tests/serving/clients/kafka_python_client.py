"""kafka-python, driven line by line."""

import warnings

from driven import drive

warnings.simplefilter("ignore")

from kafka import KafkaConsumer, KafkaProducer, TopicPartition  # noqa: E402
from kafka.structs import OffsetAndMetadata  # noqa: E402

SERVERS = []
POLL_MS = 10_000


class Actor:
    def __init__(self, name):
        self.name = name

    def servers(self, servers):
        SERVERS[:] = servers.split(",")

    def open(self, transactional_id, timeout_ms="60000"):
        self.producer = KafkaProducer(
            bootstrap_servers=SERVERS,
            client_id=self.name,
            transactional_id=transactional_id,
            transaction_timeout_ms=int(timeout_ms),
            max_block_ms=10_000,
            delivery_timeout_ms=10_000,
            request_timeout_ms=8_000,
            retry_backoff_ms=20,
        )

    def init(self):
        self.producer.init_transactions()

    def begin(self):
        self.producer.begin_transaction()

    def send(self, topic, value):
        return str(self.producer.send(topic, partition=0, value=value.encode()).get(60).offset)

    def offsets(self, group, topic, offset):
        committed = {TopicPartition(topic, 0): OffsetAndMetadata(int(offset), "", -1)}
        self.producer.send_offsets_to_transaction(committed, group)

    def commit(self):
        self.producer.commit_transaction()

    def abort(self):
        self.producer.abort_transaction()

    def close(self):
        self.producer.close(timeout=0.5)

    def committed(self, group, topic):
        consumer = KafkaConsumer(bootstrap_servers=SERVERS, group_id=group, client_id=self.name)
        try:
            found = consumer.committed(TopicPartition(topic, 0))
        finally:
            consumer.close(autocommit=False)
        return "none" if found is None else str(found)

    def consume(self, protocol, group, topic):
        assert protocol == "classic"
        self.consumer = KafkaConsumer(
            topic,
            bootstrap_servers=SERVERS,
            group_id=group,
            client_id=self.name,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            max_poll_records=1,
            retry_backoff_ms=20,
        )

    def poll(self):
        # One long poll: one that ends while kafka-python rejoins its group makes it lose what it is assigned.
        for partition, records in self.consumer.poll(timeout_ms=POLL_MS).items():
            self.group = self.consumer.group_metadata()
            self.next = {partition: OffsetAndMetadata(records[0].offset + 1, "", -1)}
            return records[0].value.decode()
        return "nothing"

    def send_offsets(self):
        self.producer.send_offsets_to_transaction(self.next, self.group)

    def stop_consuming(self):
        self.consumer.close(autocommit=False)


if __name__ == "__main__":
    drive(Actor, lambda error: type(error).__name__)
