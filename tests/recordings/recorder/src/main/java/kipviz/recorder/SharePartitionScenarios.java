package kipviz.recorder;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Share groups with several partitions in a session, an operator who moves them, and a dead-letter queue. */
final class SharePartitionScenarios {

    private static final String GROUP = "g1";
    // Of a topic whose name begins otherwise a broker takes nothing (errors.deadletterqueue.topic.name.prefix).
    private static final String DEAD_LETTERS = "dlq.g1";

    private SharePartitionScenarios() {
    }

    static List<Scenario> all() {
        return List.of(
            new Scenario("share-partitions",
                "One member reads three partitions in one session and acknowledges several at once; another one comes.",
                Map.of(), SharePartitionScenarios::partitions),
            new Scenario("share-operator",
                "An operator describes a share group, has it begin elsewhere, lets it forget, and deletes it.",
                Map.of(), SharePartitionScenarios::operator),
            new Scenario("share-dead-letters",
                "A rejected record and one that was delivered too often are copied to a dead-letter topic (KIP-1191).",
                Map.of("group.share.delivery.count.limit", "2"), Map.of("share.version", "2"),
                SharePartitionScenarios::deadLetters));
    }

    private static void partitions(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, 3, "src");
        recording.awaitCoordinators(null, GROUP);
        Clients.groupSetting(recording, GROUP, Map.of("share.auto.offset.reset", "earliest"));
        fill(broker, recording, 0, 3);
        try (KafkaShareConsumer<String, String> one = member(broker, "share-1");
             KafkaShareConsumer<String, String> other = member(broker, "share-2")) {
            ShareScenarios.join(recording, "share-1", one);
            AcknowledgeType[] verdicts =
                {AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT};
            int seen = 0;
            for (int round = 0; round < 12 && seen < 12; round++) {
                for (var record : poll(recording, "share-1", one)) {
                    ShareScenarios.acknowledge(recording, "share-1", one, record, verdicts[seen % 3]);
                    seen++;
                }
                if (round % 2 == 0) {
                    ShareScenarios.commit(recording, "share-1", one);
                }
            }
            ShareScenarios.commit(recording, "share-1", one);
            ShareScenarios.join(recording, "share-2", other);
            fill(broker, recording, 3, 2);
            for (int round = 0; round < 8; round++) {
                for (var pair : List.of(Map.entry("share-1", one), Map.entry("share-2", other))) {
                    for (var record : poll(recording, pair.getKey(), pair.getValue())) {
                        ShareScenarios.acknowledge(
                            recording, pair.getKey(), pair.getValue(), record, AcknowledgeType.ACCEPT);
                    }
                    ShareScenarios.commit(recording, pair.getKey(), pair.getValue());
                }
            }
            recording.call("share-1", "close", Map.of(), one::close);
            recording.call("share-2", "close", Map.of(), other::close);
        }
    }

    private static void operator(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(null, GROUP);
        Clients.fill(broker, recording, 0, 4);
        Clients.groupSetting(recording, GROUP, Map.of("share.auto.offset.reset", "earliest"));
        Map<String, Object> settings = Map.of("bootstrap.servers", broker.address, "client.id", "operator");
        try (Admin operator = Admin.create(settings)) {
            look(recording, operator);
            try (KafkaShareConsumer<String, String> consumer = member(broker, "share-1")) {
                ShareScenarios.join(recording, "share-1", consumer);
                var got = ShareScenarios.poll(recording, "share-1", consumer, 4);
                ShareScenarios.acknowledge(recording, "share-1", consumer, got.get(0), AcknowledgeType.ACCEPT);
                ShareScenarios.acknowledge(recording, "share-1", consumer, got.get(2), AcknowledgeType.ACCEPT);
                ShareScenarios.acknowledge(recording, "share-1", consumer, got.get(1), AcknowledgeType.RELEASE);
                ShareScenarios.acknowledge(recording, "share-1", consumer, got.get(3), AcknowledgeType.RELEASE);
                ShareScenarios.commit(recording, "share-1", consumer);
                look(recording, operator);
                change(recording, operator, 0);
                recording.call("share-1", "close", Map.of(), consumer::close);
            }
            look(recording, operator);
            change(recording, operator, 3);
            look(recording, operator);
            try (KafkaShareConsumer<String, String> consumer = member(broker, "share-2")) {
                ShareScenarios.join(recording, "share-2", consumer);
                for (var record : ShareScenarios.poll(recording, "share-2", consumer, 1)) {
                    ShareScenarios.acknowledge(recording, "share-2", consumer, record, AcknowledgeType.ACCEPT);
                }
                ShareScenarios.commit(recording, "share-2", consumer);
                recording.call("share-2", "close", Map.of(), consumer::close);
            }
            look(recording, operator);
            for (String topic : List.of("src", "src", "nothing")) {
                recording.call("operator", "deleteShareGroupOffsets", Map.of("group", GROUP, "topic", topic),
                    () -> operator.deleteShareGroupOffsets(GROUP, Set.of(topic)).topicResult(topic).get());
            }
            look(recording, operator);
            change(recording, operator, 1);
            for (int i = 0; i < 2; i++) {
                recording.call("operator", "deleteShareGroups", Map.of("group", GROUP),
                    () -> operator.deleteShareGroups(List.of(GROUP)).all().get());
                look(recording, operator);
            }
        }
    }

    private static void look(Recording recording, Admin operator) throws Exception {
        recording.call("operator", "describeShareGroups", Map.of("group", GROUP),
            () -> operator.describeShareGroups(List.of(GROUP)).all().get().get(GROUP).groupState().toString(),
            found -> found);
        recording.call("operator", "listShareGroupOffsets", Map.of("group", GROUP),
            () -> operator.listShareGroupOffsets(Map.of(GROUP, new ListShareGroupOffsetsSpec()
                .topicPartitions(List.of(new TopicPartition("src", 0), new TopicPartition("output-A", 0)))))
                .partitionsToOffsetInfo(GROUP).get().toString(), found -> found);
        recording.call("operator", "listShareGroupOffsets", Map.of("group", GROUP, "partitions", "all"),
            () -> operator.listShareGroupOffsets(Map.of(GROUP, new ListShareGroupOffsetsSpec()))
                .partitionsToOffsetInfo(GROUP).get().toString(), found -> found);
    }

    private static void change(Recording recording, Admin operator, long to) throws Exception {
        TopicPartition place = new TopicPartition("src", 0);
        recording.call("operator", "alterShareGroupOffsets", Map.of("group", GROUP, "src-0", to),
            () -> operator.alterShareGroupOffsets(GROUP, Map.of(place, to)).partitionResult(place).get());
    }

    private static void deadLetters(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src");
        recording.call("admin", "createTopics", Map.of("topic", DEAD_LETTERS, "errors.deadletterqueue.group.enable", "true"),
            () -> recording.observer().createTopics(List.of(new NewTopic(DEAD_LETTERS, 1, (short) 1)
                .configs(Map.of("errors.deadletterqueue.group.enable", "true")))).all().get());
        recording.awaitCoordinators(null, GROUP);
        Clients.fill(broker, recording, 0, 3);
        Clients.groupSetting(recording, GROUP, new TreeMap<>(Map.of(
            "share.auto.offset.reset", "earliest", "errors.deadletterqueue.topic.name", DEAD_LETTERS,
            "errors.deadletterqueue.copy.record.enable", "true")));
        try (KafkaShareConsumer<String, String> consumer = member(broker, "share-1")) {
            ShareScenarios.join(recording, "share-1", consumer);
            var got = ShareScenarios.poll(recording, "share-1", consumer, 3);
            ShareScenarios.acknowledge(recording, "share-1", consumer, got.get(0), AcknowledgeType.ACCEPT);
            ShareScenarios.acknowledge(recording, "share-1", consumer, got.get(1), AcknowledgeType.REJECT);
            ShareScenarios.acknowledge(recording, "share-1", consumer, got.get(2), AcknowledgeType.RELEASE);
            ShareScenarios.commit(recording, "share-1", consumer);
            var again = ShareScenarios.poll(recording, "share-1", consumer, 1);
            ShareScenarios.acknowledge(recording, "share-1", consumer, again.get(0), AcknowledgeType.RELEASE);
            ShareScenarios.commit(recording, "share-1", consumer);
            recording.call("observer", "sleep", Map.of("ms", 2000), () -> Thread.sleep(2000));
            ShareScenarios.offsets(recording);
            recording.call("share-1", "close", Map.of(), consumer::close);
        }
    }

    private static List<ConsumerRecord<String, String>> poll(
            Recording recording, String name, KafkaShareConsumer<String, String> consumer) throws Exception {
        List<ConsumerRecord<String, String>> found = new ArrayList<>();
        var polled = recording.call(name, "poll", Map.of(), () -> consumer.poll(Clients.WAIT), Clients::seen);
        polled.forEach(found::add);
        return found;
    }

    private static void fill(Broker broker, Recording recording, int first, int count) throws Exception {
        Map<String, String> plain = Map.of("enable.idempotence", "false", "linger.ms", "0");
        try (KafkaProducer<String, String> producer = Clients.producer(broker, "source", plain)) {
            for (int i = first; i < first + count; i++) {
                for (int partition = 0; partition < 3; partition++) {
                    ProducerRecord<String, String> record =
                        new ProducerRecord<>("src", partition, "k" + i, "in-" + partition + "-" + i);
                    recording.call("source", "send", Clients.written(record),
                        () -> producer.send(record).get(), Clients::place);
                }
            }
        }
    }

    private static KafkaShareConsumer<String, String> member(Broker broker, String name) {
        return Clients.shareConsumer(broker, name, Map.of("group.id", GROUP));
    }
}
