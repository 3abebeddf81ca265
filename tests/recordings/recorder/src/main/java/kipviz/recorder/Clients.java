package kipviz.recorder;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Makes the clients and topics of the scenarios, and puts what they answer into plain values. */
final class Clients {

    static final Duration WAIT = Duration.ofSeconds(1);

    private Clients() {
    }

    static KafkaProducer<String, String> producer(Broker broker, String name, Map<String, String> more) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", broker.address);
        settings.put("client.id", name);
        settings.put("key.serializer", StringSerializer.class);
        settings.put("value.serializer", StringSerializer.class);
        settings.put("max.block.ms", "20000");
        settings.putAll(more);
        return new KafkaProducer<>(settings);
    }

    static KafkaConsumer<String, String> consumer(Broker broker, String name, Map<String, String> more) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", broker.address);
        settings.put("client.id", name);
        settings.put("key.deserializer", StringDeserializer.class);
        settings.put("value.deserializer", StringDeserializer.class);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.putAll(more);
        return new KafkaConsumer<>(settings);
    }

    static KafkaShareConsumer<String, String> shareConsumer(Broker broker, String name, Map<String, String> more) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", broker.address);
        settings.put("client.id", name);
        settings.put("key.deserializer", StringDeserializer.class);
        settings.put("value.deserializer", StringDeserializer.class);
        settings.put("share.acknowledgement.mode", "explicit");
        settings.putAll(more);
        return new KafkaShareConsumer<>(settings);
    }

    static void topics(Recording recording, String... names) throws Exception {
        topics(recording, 1, names);
    }

    static void topics(Recording recording, int partitions, String... names) throws Exception {
        List<NewTopic> wanted = new ArrayList<>();
        for (String name : names) {
            wanted.add(new NewTopic(name, partitions, (short) 1));
        }
        recording.observer().createTopics(wanted).all().get();
    }

    /** Writes in-0, in-1, … to src, one batch for each record, without a producer id. */
    static void fill(Broker broker, Recording recording, int first, int count) throws Exception {
        Map<String, String> plain = Map.of("enable.idempotence", "false", "linger.ms", "0");
        try (KafkaProducer<String, String> producer = producer(broker, "source", plain)) {
            for (int i = first; i < first + count; i++) {
                ProducerRecord<String, String> record = new ProducerRecord<>("src", 0, "k" + i, "in-" + i);
                recording.call("source", "send", written(record), () -> producer.send(record).get(), Clients::place);
            }
        }
    }

    static void groupSetting(Recording recording, String group, Map<String, String> settings) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        List<AlterConfigOp> changes = new ArrayList<>();
        settings.forEach((name, value) ->
            changes.add(new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)));
        recording.call("admin", "incrementalAlterConfigs", Map.of("group", group, "settings", settings),
            () -> recording.observer().incrementalAlterConfigs(Map.of(resource, changes)).all().get());
    }

    /** Polls until something came or the tries are used up; an empty answer is an answer, too. */
    static ConsumerRecords<String, String> poll(Poll client, int tries) {
        ConsumerRecords<String, String> found = ConsumerRecords.empty();
        for (int i = 0; i < tries && found.isEmpty(); i++) {
            found = client.poll(WAIT);
        }
        return found;
    }

    static Map<String, Object> written(ProducerRecord<String, String> record) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("topic", record.topic());
        view.put("partition", record.partition());
        view.put("key", record.key());
        view.put("value", record.value());
        return view;
    }

    static Object place(RecordMetadata made) {
        return Map.of("topic", made.topic(), "partition", made.partition(), "offset", made.offset());
    }

    static List<Object> seen(ConsumerRecords<String, String> records) {
        List<Object> views = new ArrayList<>();
        for (ConsumerRecord<String, String> record : records) {
            Map<String, Object> view = new LinkedHashMap<>();
            view.put("topic", record.topic());
            view.put("partition", record.partition());
            view.put("offset", record.offset());
            view.put("value", record.value());
            record.deliveryCount().ifPresent(count -> view.put("delivery_count", count));
            views.add(view);
        }
        return views;
    }

    interface Poll {
        ConsumerRecords<String, String> poll(Duration wait);
    }
}
