import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * One real client of a soak, Kafka's Java client: java -cp 'CLASSES:JARS/*' JavaWorker SERVERS NAME
 *
 * The lines are those of kafka_python_worker.py. A poll of GROUP is by the consumer protocol; "share GROUP" polls as a
 * member of a share group, and accepts, releases or rejects each record.
 */
public class JavaWorker {
    private static final Duration POLL = Duration.ofMillis(500);
    private static final Map<String, KafkaConsumer<String, String>> READERS = new HashMap<>();
    private static final Map<String, KafkaShareConsumer<String, String>> SHARERS = new HashMap<>();
    private static KafkaProducer<String, String> producer;
    private static String servers;
    private static String name;

    public static void main(String[] args) throws Exception {
        servers = args[0];
        name = args[1];
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            String said;
            try {
                said = answer(words);
            } catch (ExecutionException wrong) {
                said = "unknown " + wrong.getCause().getClass().getSimpleName();
            } catch (Exception wrong) {
                said = "unknown " + wrong.getClass().getSimpleName();
            }
            if (said.startsWith("unknown") && producer != null && !words[0].equals("poll") && !words[0].equals("share")) {
                producer.close(Duration.ZERO);
                producer = null;
            }
            System.out.println(said);
            System.out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "poll":
                return "polled " + poll(words[1]);
            case "share":
                return "shared " + share(words[1]);
            default:
                return transact(words);
        }
    }

    private static Map<String, Object> settings(String clientId) {
        return new HashMap<>(Map.of(
            "bootstrap.servers", servers, "client.id", clientId, "retry.backoff.ms", 20,
            "reconnect.backoff.ms", 20, "reconnect.backoff.max.ms", 200));
    }

    private static String transact(String[] words) throws Exception {
        if (producer == null) {
            var settings = settings(name);
            settings.putAll(Map.of(
                "transactional.id", name, "transaction.timeout.ms", 5000, "max.block.ms", 8000,
                "request.timeout.ms", 3000, "delivery.timeout.ms", 8000, "linger.ms", 0));
            producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
            producer.initTransactions();
        }
        producer.beginTransaction();
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (int place = 1; place < words.length; place++) {
            String[] parts = words[place].split(":", 3);
            sent.add(producer.send(new ProducerRecord<>(parts[0], Integer.parseInt(parts[1]), null, parts[2])));
        }
        for (var each : sent) {
            each.get();
        }
        if (words[0].equals("abort")) {
            producer.abortTransaction();
            return "aborted";
        }
        producer.commitTransaction();
        return "committed";
    }

    private static int poll(String group) {
        var reader = READERS.computeIfAbsent(group, known -> {
            var settings = settings(name + "-reader");
            settings.putAll(Map.of(
                "group.id", group, "group.protocol", "consumer", "isolation.level", "read_committed",
                "auto.offset.reset", "earliest", "enable.auto.commit", false, "default.api.timeout.ms", 8000));
            var made = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
            made.subscribe(Set.of("orders"));
            return made;
        });
        int count = reader.poll(POLL).count();
        reader.commitSync();
        return count;
    }

    private static int share(String group) {
        var sharer = SHARERS.computeIfAbsent(group, known -> {
            var settings = settings(name + "-sharer");
            settings.putAll(Map.of(
                "group.id", group, "share.acknowledgement.mode", "explicit", "default.api.timeout.ms", 8000));
            var made = new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
            made.subscribe(Set.of("orders"));
            return made;
        });
        var records = sharer.poll(POLL);
        int at = 0;
        for (var record : records) {
            at++;
            sharer.acknowledge(record,
                at % 7 == 0 ? AcknowledgeType.RELEASE : at % 11 == 0 ? AcknowledgeType.REJECT : AcknowledgeType.ACCEPT);
        }
        sharer.commitSync();
        return records.count();
    }
}
