package kipviz.recorder;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;

/** Share groups: acknowledging, giving back, locks that run out, and the delivery limit. */
final class ShareScenarios {

    private static final String GROUP = "g1";
    private static final String ID = "my-txn";

    private ShareScenarios() {
    }

    static List<Scenario> all() {
        return List.of(
            new Scenario("share-acknowledge",
                "One share consumer accepts, releases and rejects, gets the released record again, and accepts it.",
                Map.of(), ShareScenarios::acknowledge),
            new Scenario("share-locks",
                "A member leaves without an answer, a lock runs out, and a record reaches the delivery limit.",
                Map.of("group.share.record.lock.duration.ms", "2000",
                    "group.share.min.record.lock.duration.ms", "1000",
                    "group.share.delivery.count.limit", "3",
                    "share.coordinator.snapshot.update.records.per.snapshot", "3"),
                ShareScenarios::locks),
            new Scenario("restart",
                "The broker restarts while a transaction is open and records are locked; both go on afterwards.",
                Map.of(), ShareScenarios::restart));
    }

    private static void restart(Broker broker, Recording recording) throws Exception {
        start(broker, recording);
        recording.awaitCoordinators(ID, GROUP);
        recording.watch(ID);
        Map<String, String> transactional = Map.of("transactional.id", ID, "linger.ms", "0");
        try (KafkaProducer<String, String> producer = Clients.producer(broker, "app-producer", transactional);
             KafkaShareConsumer<String, String> consumer = member(broker, "share-1")) {
            join(recording, "share-1", consumer);
            var first = poll(recording, "share-1", consumer, 4);
            acknowledge(recording, "share-1", consumer, first.get(1), AcknowledgeType.ACCEPT);
            for (int i : new int[] {0, 2, 3}) {
                acknowledge(recording, "share-1", consumer, first.get(i), AcknowledgeType.RELEASE);
            }
            commit(recording, "share-1", consumer);
            poll(recording, "share-1", consumer, 3);
            recording.call("app-producer", "initTransactions", Map.of(), producer::initTransactions);
            recording.call("app-producer", "beginTransaction", Map.of(), producer::beginTransaction);
            send(recording, producer, "out-1");
            recording.call("broker", "restart", Map.of(), broker::restart);
            send(recording, producer, "out-2");
            recording.call("app-producer", "commitTransaction", Map.of(), producer::commitTransaction);
        }
        try (KafkaShareConsumer<String, String> consumer = member(broker, "share-2")) {
            join(recording, "share-2", consumer);
            for (var record : poll(recording, "share-2", consumer, 3)) {
                acknowledge(recording, "share-2", consumer, record, AcknowledgeType.ACCEPT);
            }
            commit(recording, "share-2", consumer);
            offsets(recording);
            recording.call("share-2", "close", Map.of(), consumer::close);
        }
    }

    private static void send(Recording recording, KafkaProducer<String, String> producer, String value)
            throws Exception {
        ProducerRecord<String, String> record = new ProducerRecord<>("output-A", 0, value, value);
        recording.call("app-producer", "send", Clients.written(record), () -> producer.send(record).get(), Clients::place);
    }

    private static void acknowledge(Broker broker, Recording recording) throws Exception {
        start(broker, recording);
        try (KafkaShareConsumer<String, String> consumer = member(broker, "share-1")) {
            join(recording, "share-1", consumer);
            var first = poll(recording, "share-1", consumer, 4);
            acknowledge(recording, "share-1", consumer, first.get(0), AcknowledgeType.ACCEPT);
            acknowledge(recording, "share-1", consumer, first.get(1), AcknowledgeType.RELEASE);
            acknowledge(recording, "share-1", consumer, first.get(2), AcknowledgeType.REJECT);
            acknowledge(recording, "share-1", consumer, first.get(3), AcknowledgeType.ACCEPT);
            commit(recording, "share-1", consumer);
            offsets(recording);
            var again = poll(recording, "share-1", consumer, 1);
            acknowledge(recording, "share-1", consumer, again.get(0), AcknowledgeType.ACCEPT);
            commit(recording, "share-1", consumer);
            offsets(recording);
            recording.call("share-1", "close", Map.of(), consumer::close);
        }
    }

    private static void locks(Broker broker, Recording recording) throws Exception {
        start(broker, recording);
        try (KafkaShareConsumer<String, String> consumer = member(broker, "share-1")) {
            join(recording, "share-1", consumer);
            var got = poll(recording, "share-1", consumer, 4);
            acknowledge(recording, "share-1", consumer, got.get(0), AcknowledgeType.ACCEPT);
            recording.call("share-1", "close", Map.of(), consumer::close);
        }
        try (KafkaShareConsumer<String, String> consumer = member(broker, "share-2")) {
            join(recording, "share-2", consumer);
            var got = poll(recording, "share-2", consumer, 1);
            recording.call("share-2", "sleep", Map.of("ms", 3500), () -> Thread.sleep(3500));
            for (var record : got) {
                acknowledge(recording, "share-2", consumer, record, AcknowledgeType.ACCEPT);
            }
            commit(recording, "share-2", consumer);
            offsets(recording);
            releaseUntilNothingComes(recording, consumer);
            offsets(recording);
            recording.call("share-2", "close", Map.of(), consumer::close);
        }
    }

    /** Every round gives back all it got, so each record ends at the delivery limit. */
    private static void releaseUntilNothingComes(Recording recording, KafkaShareConsumer<String, String> consumer)
            throws Exception {
        for (int round = 0; round < 12; round++) {
            var got = poll(recording, "share-2", consumer, 0);
            if (got.isEmpty()) {
                return;
            }
            for (var record : got) {
                acknowledge(recording, "share-2", consumer, record, AcknowledgeType.RELEASE);
            }
            commit(recording, "share-2", consumer);
        }
    }

    private static void start(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(null, GROUP);
        Clients.fill(broker, recording, 0, 4);
        Clients.groupSetting(recording, GROUP, Map.of("share.auto.offset.reset", "earliest"));
    }

    private static KafkaShareConsumer<String, String> member(Broker broker, String name) {
        return Clients.shareConsumer(broker, name, Map.of("group.id", GROUP));
    }

    static void join(Recording recording, String name, KafkaShareConsumer<String, String> consumer)
            throws Exception {
        recording.call(name, "subscribe", Map.of("topics", List.of("src"), "group", GROUP),
            () -> consumer.subscribe(List.of("src")));
    }

    static List<ConsumerRecord<String, String>> poll(
            Recording recording, String name, KafkaShareConsumer<String, String> consumer, int least)
            throws Exception {
        int tries = least == 0 ? 3 : 20;
        ConsumerRecords<String, String> found = recording.call(name, "poll", Map.of(),
            () -> Clients.poll(consumer::poll, tries), Clients::seen);
        if (found == null || found.count() < least) {
            throw new IllegalStateException("The share consumer should have got " + least + " records.");
        }
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        found.forEach(records::add);
        return records;
    }

    static void acknowledge(Recording recording, String name, KafkaShareConsumer<String, String> consumer,
            ConsumerRecord<String, String> record, AcknowledgeType type) throws Exception {
        recording.call(name, "acknowledge",
            Map.of("partition", record.topic() + "-" + record.partition(), "offset", record.offset(),
                "type", type.toString()),
            () -> consumer.acknowledge(record, type));
    }

    static void commit(Recording recording, String name, KafkaShareConsumer<String, String> consumer)
            throws Exception {
        recording.call(name, "commitSync", Map.of(), () -> consumer.commitSync(), ShareScenarios::results);
    }

    private static Map<String, String> results(Map<TopicIdPartition, java.util.Optional<KafkaException>> made) {
        Map<String, String> view = new TreeMap<>();
        made.forEach((partition, problem) -> view.put(partition.topicPartition().toString(),
            problem.map(p -> p.getClass().getSimpleName()).orElse("NONE")));
        return view;
    }

    static void offsets(Recording recording) throws Exception {
        recording.call("observer", "listShareGroupOffsets", Map.of("group", GROUP),
            () -> recording.observer().listShareGroupOffsets(Map.of(GROUP, new ListShareGroupOffsetsSpec()))
                .partitionsToOffsetInfo(GROUP).get().toString(), found -> found);
    }
}
