import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's Java client, driven line by line: java -cp 'JARS/*' KafkaClient.java
 *
 * A line is ACTOR, CALL and its arguments, with tabs between them; the answer is ACTOR, CALL and what came of it:
 * a result, or "! " and the exception's class. Actors have a thread each, so that one may wait while another goes on.
 */
public class KafkaClient {
    private static final Map<String, KafkaProducer<String, String>> PRODUCERS = new ConcurrentHashMap<>();
    private static final Map<String, KafkaShareConsumer<String, String>> SHARES = new ConcurrentHashMap<>();
    private static String servers = "";

    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Map<String, ExecutorService> actors = new HashMap<>();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t");
            actors.computeIfAbsent(words[0], name -> Executors.newSingleThreadExecutor(run -> {
                Thread thread = new Thread(run, name);
                thread.setDaemon(true);
                return thread;
            })).execute(() -> answer(words));
        }
        System.exit(0);
    }

    private static void answer(String[] words) {
        String result;
        try {
            result = call(words);
        } catch (ExecutionException wrong) {
            result = "! " + wrong.getCause().getClass().getSimpleName();
        } catch (Exception wrong) {
            result = "! " + wrong.getClass().getSimpleName();
        }
        synchronized (System.out) {
            System.out.println(words[0] + "\t" + words[1] + "\t" + result);
            System.out.flush();
        }
    }

    private static String call(String[] words) throws Exception {
        var producer = PRODUCERS.get(words[0]);
        switch (words[1]) {
            case "servers":
                servers = words[2];
                return "";
            case "open":
                PRODUCERS.put(words[0], new KafkaProducer<>(Map.of(
                    "bootstrap.servers", servers, "client.id", words[0], "transactional.id", words[2],
                    "max.block.ms", 10000, "delivery.timeout.ms", 10000, "request.timeout.ms", 8000,
                    "transaction.timeout.ms", 60000, "linger.ms", 0),
                    new StringSerializer(), new StringSerializer()));
                return "";
            case "init":
                producer.initTransactions();
                return "";
            case "begin":
                producer.beginTransaction();
                return "";
            case "send":
                return String.valueOf(producer.send(new ProducerRecord<>(words[2], 0, null, words[3])).get().offset());
            case "offsets":
                producer.sendOffsetsToTransaction(
                    Map.of(new TopicPartition(words[3], 0), new OffsetAndMetadata(Long.parseLong(words[4]))),
                    new ConsumerGroupMetadata(words[2]));
                return "";
            case "commit":
                producer.commitTransaction();
                return "";
            case "abort":
                producer.abortTransaction();
                return "";
            case "close":
                PRODUCERS.remove(words[0]).close(Duration.ofMillis(500));
                return "";
            case "committed":
                return committed(words[2], new TopicPartition(words[3], 0));
            case "share-open":
                SHARES.put(words[0], new KafkaShareConsumer<>(Map.of(
                    "bootstrap.servers", servers, "client.id", words[0], "group.id", words[2],
                    "share.acknowledgement.mode", "explicit"),
                    new StringDeserializer(), new StringDeserializer()));
                SHARES.get(words[0]).subscribe(Set.of(words[3]));
                return "";
            case "share-poll":
                return polled(SHARES.get(words[0]), AcknowledgeType.valueOf(words[2]));
            case "share-commit":
                return committedShares(SHARES.get(words[0]));
            case "share-close":
                SHARES.remove(words[0]).close(Duration.ofSeconds(5));
                return "";
            default:
                throw new IllegalArgumentException(words[1]);
        }
    }

    private static String committed(String group, TopicPartition partition) {
        Map<String, Object> config = Map.of("bootstrap.servers", servers, "group.id", group, "client.id", "looks");
        try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            var found = consumer.committed(Set.of(partition), Duration.ofSeconds(5)).get(partition);
            return found == null ? "none" : String.valueOf(found.offset());
        }
    }

    private static String polled(KafkaShareConsumer<String, String> consumer, AcknowledgeType type) {
        var found = new StringBuilder();
        for (int tries = 0; tries < 50 && found.length() == 0; tries++) {
            for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                consumer.acknowledge(record, type);
                found.append(found.length() == 0 ? "" : " ").append(record.value())
                    .append("*").append(record.deliveryCount().orElse((short) 0));
            }
        }
        return found.toString();
    }

    private static String committedShares(KafkaShareConsumer<String, String> consumer) {
        var found = new StringBuilder();
        consumer.commitSync(Duration.ofSeconds(5)).forEach((partition, error) ->
            found.append(partition.topic()).append(error.map(e -> " " + e.getClass().getSimpleName()).orElse(" ok")));
        return found.toString();
    }
}
