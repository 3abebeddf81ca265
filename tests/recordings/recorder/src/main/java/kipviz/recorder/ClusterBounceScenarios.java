package kipviz.recorder;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Brokers that are stopped and started one after the other, under an application that goes on. */
final class ClusterBounceScenarios {

    private static final String ID = "my-txn";
    private static final String GROUP = "my-group-4";

    private ClusterBounceScenarios() {
    }

    static List<Scenario> all() {
        return List.of(
            Layout.scenario("rolling-bounce",
                "Each of three brokers is stopped and started again under a consume-transform-produce loop.",
                ClusterBounceScenarios::rollingBounce));
    }

    /** One transaction per broker: it begins before the broker stops, and ends while it is away. */
    private static void rollingBounce(Cluster cluster, Layout layout, Recording recording) throws Exception {
        layout.topics(Map.of("src", List.of(List.of(1, 2, 3)), "output-A", List.of(
            List.of(1, 2, 3), List.of(2, 3, 1), List.of(3, 1, 2))));
        Clients.fill(cluster, recording, 0, 6);
        recording.awaitCoordinators(ID, GROUP);
        recording.watch(ID);
        try (KafkaProducer<String, String> producer = Clients.producer(cluster, "producer-1", Map.of(
                "transactional.id", ID, "transaction.timeout.ms", "60000", "linger.ms", "0"));
             KafkaConsumer<String, String> consumer = Clients.consumer(cluster, "app-consumer", Map.of(
                "group.id", GROUP, "group.protocol", "consumer", "isolation.level", "read_committed",
                "max.poll.records", "2"))) {
            recording.call("producer-1", "initTransactions", Map.of(), producer::initTransactions);
            recording.call("app-consumer", "subscribe", Map.of("topics", List.of("src")),
                () -> consumer.subscribe(List.of("src")));
            for (int broker = 1; broker <= Layout.BROKERS; broker++) {
                ConsumerRecords<String, String> found = recording.call("app-consumer", "poll",
                    Map.of("max.poll.records", 2), () -> Clients.poll(consumer::poll, 20), Clients::seen);
                recording.call("producer-1", "beginTransaction", Map.of(), producer::beginTransaction);
                send(recording, producer, 0, "before the stop of " + broker);
                layout.stop(cluster, broker);
                for (int partition = 0; partition < Layout.BROKERS; partition++) {
                    send(recording, producer, partition, "without " + broker);
                }
                pass(recording, producer, consumer, found);
                recording.call("producer-1", "commitTransaction", Map.of(), producer::commitTransaction);
                TransactionScenarios.settle(recording, ID, "CompleteCommit");
                layout.start(cluster, broker);
            }
            recording.call("app-consumer", "close", Map.of(), consumer::close);
        }
    }

    private static void send(Recording recording, KafkaProducer<String, String> producer, int partition, String value)
            throws Exception {
        ProducerRecord<String, String> record = new ProducerRecord<>("output-A", partition, value, value);
        recording.call("producer-1", "send", Clients.written(record), () -> producer.send(record).get(), Clients::place);
    }

    private static void pass(Recording recording, KafkaProducer<String, String> producer,
            KafkaConsumer<String, String> consumer, ConsumerRecords<String, String> found) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
        for (ConsumerRecord<String, String> in : found) {
            next.put(new TopicPartition(in.topic(), in.partition()), new OffsetAndMetadata(in.offset() + 1));
        }
        recording.call("producer-1", "sendOffsetsToTransaction", Map.of("group", GROUP, "offsets", next.toString()),
            () -> producer.sendOffsetsToTransaction(next, consumer.groupMetadata()));
    }
}
