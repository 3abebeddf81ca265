package kipviz.recorder;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** The same transactions under transaction.version 0 and 1, and while the level goes up and down. */
final class VersionScenarios {

    private static final String ID = "my-txn";
    private static final String GROUP = "my-group-4";
    private static final TopicPartition SOURCE = new TopicPartition("src", 0);
    private static final Map<String, String> QUICK =
        Map.of("transaction.abort.timed.out.transaction.cleanup.interval.ms", "500");

    private VersionScenarios() {
    }

    static List<Scenario> all() {
        return List.of(
            new Scenario("transaction-version-0",
                "Under transaction.version 0: commit, abort, an empty transaction, a fenced and a timed-out producer.",
                QUICK, Map.of("transaction.version", "0"), VersionScenarios::older),
            new Scenario("transaction-version-1",
                "Under transaction.version 1: commit, abort, an empty transaction, a fenced and a timed-out producer.",
                QUICK, Map.of("transaction.version", "1"), VersionScenarios::older),
            new Scenario("transaction-version-upgrade",
                "transaction.version goes from 1 to 2 and back while a transaction is open.",
                QUICK, Map.of("transaction.version", "1"), VersionScenarios::upgrade));
    }

    private static void older(Broker broker, Recording recording) throws Exception {
        start(recording);
        try (KafkaProducer<String, String> old = producer(broker, "producer-1", 60_000);
             KafkaProducer<String, String> young = producer(broker, "producer-2", 60_000)) {
            recording.call("producer-1", "initTransactions", Map.of(), old::initTransactions);
            begin(recording, "producer-1", old);
            send(recording, "producer-1", old, "one");
            offsets(recording, "producer-1", old, 1);
            recording.call("producer-1", "commitTransaction", Map.of(), old::commitTransaction);
            begin(recording, "producer-1", old);
            send(recording, "producer-1", old, "two");
            offsets(recording, "producer-1", old, 2);
            recording.call("producer-1", "abortTransaction", Map.of(), old::abortTransaction);
            begin(recording, "producer-1", old);
            recording.call("producer-1", "commitTransaction", Map.of(), old::commitTransaction);
            begin(recording, "producer-1", old);
            send(recording, "producer-1", old, "three");
            recording.call("producer-2", "initTransactions", Map.of(), young::initTransactions);
            send(recording, "producer-1", old, "late");
            recording.call("producer-1", "abortTransaction", Map.of(), old::abortTransaction);
            begin(recording, "producer-2", young);
            send(recording, "producer-2", young, "four");
            recording.call("producer-2", "commitTransaction", Map.of(), young::commitTransaction);
            TransactionScenarios.settle(recording, ID, "CompleteCommit");
        }
        try (KafkaProducer<String, String> slow = producer(broker, "producer-3", 1_000)) {
            recording.call("producer-3", "initTransactions", Map.of(), slow::initTransactions);
            begin(recording, "producer-3", slow);
            send(recording, "producer-3", slow, "five");
            TransactionScenarios.settle(recording, ID, "CompleteAbort");
            recording.call("producer-3", "commitTransaction", Map.of(), slow::commitTransaction);
            recording.call("producer-3", "abortTransaction", Map.of(), slow::abortTransaction);
        }
    }

    private static void upgrade(Broker broker, Recording recording) throws Exception {
        start(recording);
        try (KafkaProducer<String, String> producer = producer(broker, "producer-1", 60_000)) {
            recording.call("producer-1", "initTransactions", Map.of(), producer::initTransactions);
            begin(recording, "producer-1", producer);
            send(recording, "producer-1", producer, "one");
            level(recording, 1, 2);
            send(recording, "producer-1", producer, "two");
            offsets(recording, "producer-1", producer, 1);
            recording.call("producer-1", "commitTransaction", Map.of(), producer::commitTransaction);
            TransactionScenarios.settle(recording, ID, "CompleteCommit");
            begin(recording, "producer-1", producer);
            send(recording, "producer-1", producer, "three");
            recording.call("producer-1", "commitTransaction", Map.of(), producer::commitTransaction);
            TransactionScenarios.settle(recording, ID, "CompleteCommit");
        }
        try (KafkaProducer<String, String> producer = producer(broker, "producer-2", 60_000)) {
            recording.call("producer-2", "initTransactions", Map.of(), producer::initTransactions);
            begin(recording, "producer-2", producer);
            send(recording, "producer-2", producer, "four");
            level(recording, 2, 1);
            send(recording, "producer-2", producer, "five");
            recording.call("producer-2", "abortTransaction", Map.of(), producer::abortTransaction);
            TransactionScenarios.settle(recording, ID, "CompleteAbort");
            begin(recording, "producer-2", producer);
            send(recording, "producer-2", producer, "six");
            recording.call("producer-2", "commitTransaction", Map.of(), producer::commitTransaction);
            TransactionScenarios.settle(recording, ID, "CompleteCommit");
        }
    }

    private static void start(Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(ID, GROUP);
        recording.watch(ID);
    }

    private static void level(Recording recording, int from, int to) throws Exception {
        var type = to > from ? FeatureUpdate.UpgradeType.UPGRADE : FeatureUpdate.UpgradeType.SAFE_DOWNGRADE;
        Map<String, Object> arguments = Map.of("feature", "transaction.version", "from", from, "to", to);
        recording.call("admin", "updateFeatures", arguments, () -> {
            recording.observer().updateFeatures(
                Map.of("transaction.version", new FeatureUpdate((short) to, type)),
                new UpdateFeaturesOptions()).all().get();
            Thread.sleep(1_000);
        });
    }

    private static KafkaProducer<String, String> producer(Broker broker, String name, int timeout) {
        return Clients.producer(broker, name, Map.of(
            "transactional.id", ID, "transaction.timeout.ms", Integer.toString(timeout), "linger.ms", "0"));
    }

    private static void begin(Recording recording, String name, KafkaProducer<String, String> producer)
            throws Exception {
        recording.call(name, "beginTransaction", Map.of(), producer::beginTransaction);
    }

    private static void send(Recording recording, String name, KafkaProducer<String, String> producer, String value)
            throws Exception {
        ProducerRecord<String, String> record = new ProducerRecord<>("output-A", 0, value, value);
        recording.call(name, "send", Clients.written(record), () -> producer.send(record).get(), Clients::place);
    }

    /** The offsets of a group without members: nobody is asked who the member is. */
    private static void offsets(
            Recording recording, String name, KafkaProducer<String, String> producer, long next) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        offsets.put(SOURCE, new OffsetAndMetadata(next));
        recording.call(name, "sendOffsetsToTransaction", Map.of("offsets", Map.of("src-0", next), "group", GROUP),
            () -> producer.sendOffsetsToTransaction(offsets, new ConsumerGroupMetadata(GROUP)));
    }
}
