import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's Java client, driven line by line: java -cp 'CLASSES:JARS/*' KafkaClient
 *
 * A line is ACTOR, CALL and its arguments, with tabs between them; the answer is ACTOR, CALL and what came of it:
 * a result, or "! " and the exception's class. Actors have a thread each, so that one may wait while another goes on.
 */
public class KafkaClient {
    private static final Map<String, KafkaProducer<String, String>> PRODUCERS = new ConcurrentHashMap<>();
    private static final Map<String, KafkaShareConsumer<String, String>> SHARES = new ConcurrentHashMap<>();
    private static final Map<String, Reader> READERS = new ConcurrentHashMap<>();
    private static final int POLLS = 50;
    private static String servers = "";

    /** A consumer in a group, and what it knew of the group and its position when it last polled. */
    private static final class Reader {
        final KafkaConsumer<String, String> consumer;
        ConsumerGroupMetadata group;
        Map<TopicPartition, OffsetAndMetadata> next = Map.of();

        Reader(KafkaConsumer<String, String> consumer) {
            this.consumer = consumer;
        }
    }

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
                    "transaction.timeout.ms", words.length > 3 ? Integer.parseInt(words[3]) : 60000, "linger.ms", 0),
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
                return committed(words[0], words[2], new TopicPartition(words[3], 0));
            case "consume":
            case "poll":
            case "send-offsets":
            case "stop-consuming":
                return read(words);
            default:
                return share(words);
        }
    }

    private static String read(String[] words) {
        var reader = READERS.get(words[0]);
        switch (words[1]) {
            case "consume":
                READERS.put(words[0], new Reader(new KafkaConsumer<>(Map.of(
                    "bootstrap.servers", servers, "client.id", words[0], "group.protocol", words[2],
                    "group.id", words[3], "auto.offset.reset", "earliest", "enable.auto.commit", false,
                    "isolation.level", "read_committed", "max.poll.records", 1),
                    new StringDeserializer(), new StringDeserializer())));
                READERS.get(words[0]).consumer.subscribe(Set.of(words[4]));
                return "";
            case "poll":
                return polled(reader);
            case "send-offsets":
                PRODUCERS.get(words[0]).sendOffsetsToTransaction(reader.next, reader.group);
                return "";
            default:
                reader.consumer.close(CloseOptions.timeout(Duration.ofSeconds(5)));
                return "";
        }
    }

    private static String polled(Reader reader) {
        for (int tries = 0; tries < POLLS; tries++) {
            for (ConsumerRecord<String, String> record : reader.consumer.poll(Duration.ofMillis(200))) {
                reader.group = reader.consumer.groupMetadata();
                reader.next = Map.of(new TopicPartition(record.topic(), record.partition()),
                    new OffsetAndMetadata(record.offset() + 1));
                return record.value();
            }
        }
        return "nothing";
    }

    private static String committed(String client, String group, TopicPartition partition) {
        Map<String, Object> config = Map.of("bootstrap.servers", servers, "group.id", group, "client.id", client);
        try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            var found = consumer.committed(Set.of(partition), Duration.ofSeconds(1)).get(partition);
            return found == null ? "none" : String.valueOf(found.offset());
        }
    }

    private static String share(String[] words) {
        var consumer = SHARES.get(words[0]);
        switch (words[1]) {
            case "share-open":
                SHARES.put(words[0], new KafkaShareConsumer<>(Map.of(
                    "bootstrap.servers", servers, "client.id", words[0], "group.id", words[2],
                    "share.acknowledgement.mode", "explicit"),
                    new StringDeserializer(), new StringDeserializer()));
                SHARES.get(words[0]).subscribe(Set.of(words[3]));
                return "";
            case "share-poll":
                return polled(consumer, words[2].split(","));
            case "share-again":
                return String.valueOf(consumer.poll(Duration.ofMillis(200)).count());
            case "share-commit":
                return committedShares(consumer);
            case "share-close":
                SHARES.remove(words[0]).close(Duration.ofSeconds(5));
                return "";
            default:
                throw new IllegalArgumentException(words[1]);
        }
    }

    /** Polls until there are records, and acknowledges each with its type; the last type is that of all others. */
    private static String polled(KafkaShareConsumer<String, String> consumer, String[] types) {
        var found = new StringJoiner(" ");
        for (int tries = 0, at = 0; tries < POLLS && found.length() == 0; tries++) {
            for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                String type = types[Math.min(at++, types.length - 1)];
                if (!type.equals("none")) {
                    consumer.acknowledge(record, AcknowledgeType.valueOf(type));
                }
                found.add(record.value() + "*" + record.deliveryCount().orElse((short) 0));
            }
        }
        return found.length() == 0 ? "nothing" : found.toString();
    }

    private static String committedShares(KafkaShareConsumer<String, String> consumer) {
        var found = new StringBuilder();
        consumer.commitSync(Duration.ofSeconds(5)).forEach((partition, error) ->
            found.append(error.map(e -> e.getClass().getSimpleName()).orElse("ok")));
        return found.toString();
    }
}
