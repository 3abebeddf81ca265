package kipviz.recorder;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Utils;

/** Share groups at several brokers: what is locked and what is kept when leaders and coordinators move. */
final class ClusterShareScenarios {

    private static final String SHARE_GROUP = "my-share-group";
    private static final TopicPartition SOURCE = new TopicPartition("src", 0);

    private ClusterShareScenarios() {
    }

    static List<Scenario> all() {
        return List.of(
            Layout.scenario("share-leader-move",
                "The leader of a share-partition moves while records are locked, and then its coordinator.",
                ClusterShareScenarios::shareLeaderMove));
    }

    private static void shareLeaderMove(Cluster cluster, Layout layout, Recording recording) throws Exception {
        layout.topics(Map.of("src", List.of(List.of(1, 2, 3))));
        recording.awaitCoordinators(null, SHARE_GROUP);
        Clients.groupSetting(recording, SHARE_GROUP, Map.of("share.auto.offset.reset", "earliest"));
        Clients.fill(cluster, recording, 0, 4);
        TopicPartition states = stateOf(recording, "src", 0);
        int keeper = states.partition() + 1;
        try (KafkaShareConsumer<String, String> one = Clients.shareConsumer(cluster, "share-1",
                Map.of("group.id", SHARE_GROUP))) {
            recording.call("share-1", "subscribe", Map.of("topics", List.of("src")), () -> one.subscribe(List.of("src")));
            List<ConsumerRecord<String, String>> first = take(recording, one);
            acknowledge(recording, one, first.subList(0, 1));
            layout.lead(SOURCE, List.of(2, 1, 3));
            acknowledge(recording, one, first.subList(1, first.size()));
            List<ConsumerRecord<String, String>> again = take(recording, one);
            layout.lead(states, List.of(keeper % Layout.BROKERS + 1, keeper, (keeper + 1) % Layout.BROKERS + 1));
            acknowledge(recording, one, again);
            recording.call("share-1", "close", Map.of(), one::close);
        }
    }

    /** Where the state of a share-partition is kept. */
    private static TopicPartition stateOf(Recording recording, String topic, int partition) throws Exception {
        Uuid id = recording.observer().describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId();
        String key = SHARE_GROUP + ":" + id + ":" + partition;
        return new TopicPartition("__share_group_state", Utils.abs(key.hashCode()) % Layout.BROKERS);
    }

    private static List<ConsumerRecord<String, String>> take(
            Recording recording, KafkaShareConsumer<String, String> consumer) throws Exception {
        ConsumerRecords<String, String> found = recording.call("share-1", "poll", Map.of(),
            () -> Clients.poll(consumer::poll, 20), Clients::seen);
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        found.forEach(records::add);
        return records;
    }

    /** Accepts some records, and says so at once. */
    private static void acknowledge(Recording recording, KafkaShareConsumer<String, String> consumer,
            List<ConsumerRecord<String, String>> records) throws Exception {
        for (ConsumerRecord<String, String> record : records) {
            recording.call("share-1", "acknowledge", Map.of("offset", record.offset(), "type", "ACCEPT"),
                () -> consumer.acknowledge(record, AcknowledgeType.ACCEPT));
        }
        recording.call("share-1", "commitSync", Map.of(), () -> consumer.commitSync(),
            told -> {
                Map<String, Object> errors = new LinkedHashMap<>();
                told.forEach((partition, error) -> errors.put(partition.topicPartition().toString(),
                    error.map(problem -> problem.getClass().getSimpleName()).orElse("NONE")));
                return errors;
            });
    }
}
