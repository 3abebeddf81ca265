package kipviz.recorder;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.TransactionalIdNotFoundException;

/**
 * What one scenario leaves behind: every client call with its answer, what an outside observer saw right after it,
 * what went over the wire, and the log segments.
 *
 * <p>The observer is an Admin client of its own, whose requests are left out of the wire file. It asks after the call
 * has returned, so background work of the broker (markers, for example) may or may not be done at that moment: that is
 * what a client can see, too.
 */
final class Recording implements AutoCloseable {

    static final ObjectMapper JSON =
        new ObjectMapper().enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS);
    private static final List<String> WATCHED =
        List.of("src", "output-A", "dlq.g1", "__transaction_state", "__consumer_offsets", "__share_group_state");

    private final Path folder;
    private final Broker broker;
    private final Admin observer;
    private final List<Map<String, Object>> calls = new ArrayList<>();
    private final Map<String, Object> about = new LinkedHashMap<>();
    private String transactionalId;

    Recording(Path folder, Scenario scenario, String source, Broker broker) {
        this.folder = folder;
        this.broker = broker;
        this.observer = Admin.create(Map.of("bootstrap.servers", broker.address, "client.id", "observer"));
        about.put("format", 1);
        about.put("scenario", scenario.name());
        about.put("sentence", scenario.sentence());
        about.put("kafka", Broker.release().getProperty("version"));
        about.put("commit", Broker.release().getProperty("commitId"));
        about.put("source", source);
        about.put("recorder", Sources.digest(Path.of(System.getProperty("recorder.sources")), source));
    }

    Admin observer() {
        return observer;
    }

    /**
     * Waits until the coordinators of these names are loaded, so that a recording does not begin with the answers of a
     * broker that is still making its internal topics.
     */
    void awaitCoordinators(String id, String group) throws Exception {
        if (id != null) {
            unknownIsFine(observer.describeTransactions(List.of(id)).description(id));
        }
        if (group != null) {
            unknownIsFine(observer.describeConsumerGroups(List.of(group)).describedGroups().get(group));
        }
    }

    private static void unknownIsFine(KafkaFuture<?> answer) throws Exception {
        try {
            answer.get();
        } catch (ExecutionException problem) {
            Throwable cause = problem.getCause();
            if (!(cause instanceof TransactionalIdNotFoundException || cause instanceof GroupIdNotFoundException)) {
                throw problem;
            }
        }
    }

    /** From now on the state of this transactional id is noted after every call. */
    void watch(String id) {
        transactionalId = id;
    }

    /** Makes the call, notes its answer or its error, and hands the answer on (null when there was an error). */
    <T> T call(String actor, String call, Map<String, ?> arguments, Callable<T> body, Answer<T> answer) throws Exception {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("call", calls.size());
        line.put("actor", actor);
        line.put("name", call);
        line.put("arguments", arguments);
        line.put("called", System.currentTimeMillis());
        T made = null;
        try {
            made = body.call();
            line.put("result", answer.of(made));
        } catch (Exception problem) {
            line.put("error", error(problem));
        }
        line.put("returned", System.currentTimeMillis());
        line.put("seen", seen());
        calls.add(line);
        return made;
    }

    void call(String actor, String call, Map<String, ?> arguments, Effect body) throws Exception {
        call(actor, call, arguments, () -> {
            body.run();
            return "done";
        }, done -> done);
    }

    private static Map<String, Object> error(Throwable problem) {
        Throwable cause = problem instanceof ExecutionException ? problem.getCause() : problem;
        Map<String, Object> said = new LinkedHashMap<>();
        said.put("class", cause.getClass().getSimpleName());
        said.put("message", String.valueOf(cause.getMessage()));
        if (cause.getCause() != null) {
            said.put("cause", cause.getCause().getClass().getSimpleName());
        }
        return said;
    }

    private Map<String, Object> seen() throws Exception {
        Map<String, Object> view = new LinkedHashMap<>();
        if (transactionalId != null) {
            view.put("transaction", transaction());
        }
        view.put("ends", ends());
        return view;
    }

    private Map<String, Object> transaction() throws Exception {
        try {
            TransactionDescription found =
                observer.describeTransactions(List.of(transactionalId)).description(transactionalId).get();
            Map<String, Object> view = new LinkedHashMap<>();
            view.put("transactional_id", transactionalId);
            view.put("state", found.state().toString());
            view.put("producer_id", found.producerId());
            view.put("producer_epoch", found.producerEpoch());
            view.put("partitions", found.topicPartitions().stream().map(TopicPartition::toString).sorted().toList());
            return view;
        } catch (ExecutionException problem) {
            return Map.of("transactional_id", transactionalId, "error", problem.getCause().getClass().getSimpleName());
        }
    }

    /** High watermark and last stable offset of every watched partition that holds something. */
    private Map<String, Object> ends() throws Exception {
        Map<TopicPartition, OffsetSpec> asked = new LinkedHashMap<>();
        var known = observer.listTopics(new org.apache.kafka.clients.admin.ListTopicsOptions().listInternal(true))
            .names().get();
        List<String> topics = WATCHED.stream().filter(known::contains).toList();
        for (TopicDescription topic : observer.describeTopics(topics).allTopicNames().get().values()) {
            topic.partitions().forEach(p -> asked.put(new TopicPartition(topic.name(), p.partition()), OffsetSpec.latest()));
        }
        var high = observer.listOffsets(asked, new ListOffsetsOptions(IsolationLevel.READ_UNCOMMITTED)).all().get();
        var stable = observer.listOffsets(asked, new ListOffsetsOptions(IsolationLevel.READ_COMMITTED)).all().get();
        Map<String, Object> ends = new TreeMap<>();
        high.forEach((partition, end) -> {
            if (end.offset() > 0) {
                ends.put(partition.toString(), List.of(end.offset(), stable.get(partition).offset()));
            }
        });
        return ends;
    }

    /** Notes what the cluster was, asks for everything that the broker must be running for. */
    void describeCluster() throws Exception {
        Map<String, Integer> levels = new TreeMap<>();
        observer.describeFeatures().featureMetadata().get().finalizedFeatures()
            .forEach((name, range) -> levels.put(name, (int) range.maxVersionLevel()));
        about.put("features", levels);
        about.put("settings", broker.settings);
        Map<String, Object> topics = new TreeMap<>();
        var known = observer.listTopics(new org.apache.kafka.clients.admin.ListTopicsOptions().listInternal(true))
            .names().get();
        observer.describeTopics(WATCHED.stream().filter(known::contains).toList()).allTopicNames().get()
            .forEach((name, topic) -> topics.put(name,
                Map.of("topic_id", topic.topicId().toString(), "partitions", topic.partitions().size())));
        about.put("topics", topics);
    }

    /** Writes the files; the broker has to be stopped, because only then is every segment on disk. */
    void save() throws IOException {
        Files.createDirectories(folder);
        Map<String, String> files = copySegments();
        StringBuilder lines = new StringBuilder();
        for (Map<String, Object> line : calls) {
            lines.append(JSON.writeValueAsString(line)).append('\n');
        }
        files.put("calls.jsonl", write("calls.jsonl", lines.toString()));
        lines.setLength(0);
        for (ObjectNode line : WireLog.take()) {
            lines.append(JSON.writeValueAsString(line)).append('\n');
        }
        files.put("wire.jsonl", write("wire.jsonl", lines.toString()));
        for (Map.Entry<String, String> file : broker.more().entrySet()) {
            files.put(file.getKey(), write(file.getKey(), file.getValue()));
        }
        about.put("files", files);
        write("recording.json", JSON.writer().with(SerializationFeature.INDENT_OUTPUT).writeValueAsString(about) + "\n");
    }

    /** Every kept file with its SHA-256, because Kafka's own checksum leaves out offsets and leader epochs. */
    private Map<String, String> copySegments() throws IOException {
        Map<String, String> copied = new TreeMap<>();
        try (Stream<Path> partitions = Files.list(broker.logs()).sorted()) {
            for (Path partition : partitions.toList()) {
                String name = partition.getFileName().toString();
                if (WATCHED.stream().anyMatch(topic -> name.matches(topic + "-\\d+"))) {
                    copied.putAll(copyPartition(partition, name));
                }
            }
        }
        return copied;
    }

    private Map<String, String> copyPartition(Path partition, String name) throws IOException {
        Map<String, String> copied = new TreeMap<>();
        try (Stream<Path> files = Files.list(partition).sorted()) {
            for (Path file : files.toList()) {
                String kind = file.getFileName().toString();
                boolean kept = kind.endsWith(".log") || kind.endsWith(".txnindex");
                if (kept && Files.size(file) > 0) {
                    Path target = folder.resolve(name).resolve(kind);
                    Files.createDirectories(target.getParent());
                    Files.copy(file, target, StandardCopyOption.REPLACE_EXISTING);
                    copied.put(name + "/" + kind, sha256(Files.readAllBytes(file)));
                }
            }
        }
        return copied;
    }

    private static String sha256(byte[] content) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private String write(String name, String text) throws IOException {
        Files.writeString(folder.resolve(name), text);
        return sha256(text.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void close() {
        observer.close();
    }

    interface Answer<T> {
        Object of(T made) throws Exception;
    }

    interface Effect {
        void run() throws Exception;
    }
}
