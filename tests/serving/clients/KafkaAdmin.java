import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.CreateTopicsResult;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.Uuid;

/**
 * Kafka's Admin client, driven line by line: java -cp 'CLASSES:JARS/*' KafkaAdmin SERVERS
 *
 * A line is CALL and its arguments, with tabs between them; the answer is one line: a result, or "! " and the exception's class.
 */
public class KafkaAdmin {
    private final Admin admin;

    private KafkaAdmin(Admin admin) {
        this.admin = admin;
    }

    public static void main(String[] args) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        config.put("client.id", "java-admin");
        config.put("default.api.timeout.ms", "20000");
        config.put("request.timeout.ms", "10000");
        config.put("retry.backoff.ms", "20");
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (Admin admin = Admin.create(config)) {
            KafkaAdmin driven = new KafkaAdmin(admin);
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String answer;
                try {
                    answer = driven.call(line.split("\t"));
                } catch (ExecutionException error) {
                    answer = "! " + error.getCause().getClass().getSimpleName();
                } catch (Exception error) {
                    answer = "! " + error.getClass().getSimpleName() + " " + error.getMessage();
                }
                System.out.println(answer.replace('\n', ' '));
                System.out.flush();
            }
        }
    }

    private String call(String[] words) throws Exception {
        return switch (words[0]) {
            case "create" -> create(words, false);
            case "validate" -> create(words, true);
            case "add-partitions" -> done(() -> admin.createPartitions(
                Map.of(words[1], NewPartitions.increaseTo(Integer.parseInt(words[2])))).all().get());
            case "delete" -> done(() -> admin.deleteTopics(List.of(words[1])).all().get());
            case "delete-id" -> done(() -> admin.deleteTopics(
                TopicCollection.ofTopicIds(List.of(Uuid.fromString(words[1])))).all().get());
            case "topics" -> String.join(" ", new TreeSet<>(admin.listTopics().names().get()));
            case "describe" -> describe(admin.describeTopics(List.of(words[1])).allTopicNames().get().get(words[1]));
            case "groups" -> String.join(" ", new TreeSet<>(
                admin.listGroups().all().get().stream().map(group -> group.groupId()).toList()));
            case "set-offset" -> done(() -> admin.alterConsumerGroupOffsets(
                words[1], Map.of(partition(words), new OffsetAndMetadata(Long.parseLong(words[4])))).all().get());
            case "offset" -> {
                var found = admin.listConsumerGroupOffsets(words[1]).partitionsToOffsetAndMetadata().get();
                var offset = found.get(partition(words));
                yield offset == null ? "none" : String.valueOf(offset.offset());
            }
            case "forget-offset" -> done(() -> admin.deleteConsumerGroupOffsets(
                words[1], Set.of(partition(words))).all().get());
            case "delete-group" -> done(() -> admin.deleteConsumerGroups(List.of(words[1])).all().get());
            case "delete-records" -> String.valueOf(admin.deleteRecords(Map.of(
                new TopicPartition(words[1], Integer.parseInt(words[2])),
                RecordsToDelete.beforeOffset(Long.parseLong(words[3])))).lowWatermarks()
                .values().iterator().next().get().lowWatermark());
            case "set-share-offset" -> done(() -> admin.alterShareGroupOffsets(
                words[1], Map.of(partition(words), Long.parseLong(words[4]))).all().get());
            case "share-offset" -> {
                var found = admin.listShareGroupOffsets(Map.of(words[1], new ListShareGroupOffsetsSpec()))
                    .partitionsToOffsetInfo(words[1]).get().get(partition(words));
                yield found == null ? "none" : String.valueOf(found.startOffset());
            }
            case "forget-share-offsets" -> done(() -> admin.deleteShareGroupOffsets(
                words[1], Set.of(words[2])).all().get());
            case "delete-share-group" -> done(() -> admin.deleteShareGroups(List.of(words[1])).all().get());
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    private static TopicPartition partition(String[] words) {
        return new TopicPartition(words[2], Integer.parseInt(words[3]));
    }

    private interface Call {
        void run() throws Exception;
    }

    private static String done(Call call) throws Exception {
        call.run();
        return "done";
    }

    private String create(String[] words, boolean validate) throws Exception {
        NewTopic topic = new NewTopic(words[1], Integer.parseInt(words[2]), Short.parseShort(words[3]));
        if (words.length > 4) {
            Map<String, String> configs = new TreeMap<>();
            for (String each : words[4].split(",")) {
                configs.put(each.split("=")[0], each.split("=")[1]);
            }
            topic.configs(configs);
        }
        CreateTopicsResult made = admin.createTopics(
            List.of(topic), new CreateTopicsOptions().validateOnly(validate));
        made.all().get();
        return made.numPartitions(words[1]).get() + " " + made.replicationFactor(words[1]).get() + " "
            + made.topicId(words[1]).get() + " "
            + made.config(words[1]).get().get("min.insync.replicas").value();
    }

    private static String describe(TopicDescription topic) {
        List<String> parts = new ArrayList<>();
        for (TopicPartitionInfo each : topic.partitions()) {
            parts.add(each.partition() + ":" + Arrays.toString(each.replicas().stream().mapToInt(n -> n.id()).toArray()));
        }
        return topic.topicId() + " " + String.join(" ", parts);
    }
}
