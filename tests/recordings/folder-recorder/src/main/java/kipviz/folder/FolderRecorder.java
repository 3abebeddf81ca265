package kipviz.folder;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.tools.StorageTool;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Time;

/** Records the whole folder of one broker, as it lies on disk after an orderly stop, with its request log. */
public final class FolderRecorder {

    private static final int INDEX_KEPT = 4_096;
    private static final long PATIENCE_MS = 180_000;
    private static final Duration WAIT = Duration.ofSeconds(1);

    private FolderRecorder() {
    }

    public static void main(String[] words) throws Exception {
        if (words.length != 1) {
            System.err.println("usage: FolderRecorder <folder for the zip file>");
            System.exit(2);
        }
        stopByItself();
        Path home = Files.createTempDirectory("kipviz-folder");
        Path requests = home.resolve("kafka-request.log");
        // Read by log4j2.xml, so it is set before anything logs.
        System.setProperty("folder.requests", requests.toString());
        Path logs = home.resolve("kafka-logs");
        String address = "127.0.0.1:" + freePort();
        KafkaRaftServer server = new KafkaRaftServer(new KafkaConfig(formatted(home, logs, address)), Time.SYSTEM);
        server.startup();
        try {
            work(address, logs);
        } finally {
            server.shutdown();
            server.awaitShutdown();
        }
        Files.createDirectories(Path.of(words[0]));
        zip(home, List.of(logs, requests), Path.of(words[0], "kafka-4.4.0.zip"));
        System.exit(0);
    }

    // -- what happens ---------------------------------------------------------------------------------

    private static void work(String address, Path logs) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address, "client.id", "admin"))) {
            admin.createTopics(List.of(new NewTopic("src", 1, (short) 1), new NewTopic("orders", 2, (short) 1),
                new NewTopic("gone", 1, (short) 1))).all().get();
            set(admin, ConfigResource.Type.GROUP, "sharers", "share.auto.offset.reset", "earliest");
            set(admin, ConfigResource.Type.TOPIC, "orders", "retention.ms", "86400000");
            try (KafkaProducer<String, String> plain = producer(address, "source", Map.of())) {
                for (int i = 0; i < 6; i++) {
                    plain.send(new ProducerRecord<>("src", 0, "k" + i, "in-" + i)).get();
                }
                plain.send(new ProducerRecord<>("gone", 0, "k", "soon gone")).get();
            }
            share(address);
            transactions(address, admin, logs);
        }
    }

    private static void transactions(String address, Admin admin, Path logs) throws Exception {
        Map<String, String> member = Map.of("group.id", "readers", "group.protocol", "consumer",
            "isolation.level", "read_committed", "auto.offset.reset", "earliest");
        KafkaProducer<String, String> one = producer(address, "app-1", Map.of("transactional.id", "app-1"));
        KafkaProducer<String, String> two = producer(address, "app-2", Map.of("transactional.id", "app-2"));
        KafkaProducer<String, String> three = producer(address, "app-3", Map.of("transactional.id", "app-3"));
        try (KafkaConsumer<String, String> reader = consumer(address, "reader", member)) {
            reader.subscribe(List.of("src"));
            while (reader.poll(WAIT).isEmpty()) {
                Thread.onSpinWait();
            }
            one.initTransactions();
            copy(one, 0, 2, reader.groupMetadata());
            one.commitTransaction();
            copy(one, 1, 4, reader.groupMetadata());
            one.abortTransaction();
            // Two open transactions on one partition, and one of them has offsets of the group.
            two.initTransactions();
            copy(two, 0, 4, reader.groupMetadata());
            three.initTransactions();
            three.beginTransaction();
            three.send(new ProducerRecord<>("orders", 0, "k", "of app-3")).get();
            three.flush();
            one.beginTransaction();
            one.send(new ProducerRecord<>("orders", 1, "k", "of app-1")).get();
            one.commitTransaction();
        }
        try (KafkaConsumer<String, String> late = consumer(address, "late",
                Map.of("isolation.level", "read_committed", "auto.offset.reset", "earliest"))) {
            late.assign(List.of(new TopicPartition("orders", 0), new TopicPartition("orders", 1)));
            late.seekToBeginning(late.assignment());
            late.poll(WAIT);
            late.poll(WAIT);
        }
        admin.deleteTopics(List.of("gone")).all().get();
        while (!marked(logs)) {
            Thread.sleep(100);
        }
        // Without a grace period nothing is sent any more: the transactions stay open.
        for (KafkaProducer<String, String> each : List.of(two, three)) {
            each.close(Duration.ZERO);
        }
        one.close();
    }

    private static void copy(KafkaProducer<String, String> to, int partition, long offset,
            ConsumerGroupMetadata member) throws Exception {
        to.beginTransaction();
        to.send(new ProducerRecord<>("orders", partition, "k", "up to " + offset)).get();
        to.sendOffsetsToTransaction(Map.of(new TopicPartition("src", 0), new OffsetAndMetadata(offset)), member);
    }

    private static void share(String address) {
        Map<String, Object> settings = reading(address, "sharer");
        settings.put("group.id", "sharers");
        settings.put("share.acknowledgement.mode", "explicit");
        try (KafkaShareConsumer<String, String> sharer = new KafkaShareConsumer<>(settings)) {
            sharer.subscribe(List.of("src"));
            ConsumerRecords<String, String> found = ConsumerRecords.empty();
            while (found.isEmpty()) {
                found = sharer.poll(WAIT);
            }
            for (ConsumerRecord<String, String> record : found) {
                sharer.acknowledge(record, record.offset() == 1 ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT);
            }
            sharer.commitSync();
            for (ConsumerRecord<String, String> record : sharer.poll(WAIT)) {
                sharer.acknowledge(record, AcknowledgeType.REJECT);
            }
            sharer.commitSync();
        }
    }

    private static void set(Admin admin, ConfigResource.Type type, String name, String key, String value)
            throws Exception {
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(type, name),
            List.of(new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET)))).all().get();
    }

    // -- clients and the broker -----------------------------------------------------------------------

    private static KafkaProducer<String, String> producer(String address, String name, Map<String, String> more) {
        Map<String, Object> settings = new HashMap<>(more);
        settings.put("bootstrap.servers", address);
        settings.put("client.id", name);
        settings.put("key.serializer", StringSerializer.class);
        settings.put("value.serializer", StringSerializer.class);
        return new KafkaProducer<>(settings);
    }

    private static KafkaConsumer<String, String> consumer(String address, String name, Map<String, String> more) {
        Map<String, Object> settings = reading(address, name);
        settings.put("enable.auto.commit", "false");
        settings.putAll(more);
        return new KafkaConsumer<>(settings);
    }

    private static Map<String, Object> reading(String address, String name) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", address);
        settings.put("client.id", name);
        settings.put("key.deserializer", StringDeserializer.class);
        settings.put("value.deserializer", StringDeserializer.class);
        return settings;
    }

    /** Gives the settings, with storage made for them; few internal partitions keep the recording small. */
    private static Properties formatted(Path home, Path logs, String address) throws IOException {
        String controller = "127.0.0.1:" + freePort();
        Properties all = new Properties();
        all.putAll(Map.of("process.roles", "broker,controller", "node.id", "1",
            "controller.listener.names", "CONTROLLER", "log.dirs", logs.toString(),
            "listeners", "PLAINTEXT://" + address + ",CONTROLLER://" + controller,
            "advertised.listeners", "PLAINTEXT://" + address, "controller.quorum.voters", "1@" + controller,
            "group.initial.rebalance.delay.ms", "0"));
        for (String topic : List.of("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")) {
            all.put(topic + ".replication.factor", "1");
            all.put(topic + ".num.partitions", "3");
        }
        all.put("transaction.state.log.min.isr", "1");
        all.put("share.coordinator.state.topic.min.isr", "1");
        Files.createDirectories(logs);
        Path file = home.resolve("server.properties");
        try (var out = Files.newOutputStream(file)) {
            all.store(out, null);
        }
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        String[] words = {"format", "--cluster-id", Uuid.randomUuid().toString(), "--config", file.toString()};
        if (StorageTool.execute(words, new PrintStream(said)) != 0) {
            throw new IllegalStateException("The storage could not be formatted: " + said);
        }
        return all;
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private static boolean marked(Path logs) throws IOException {
        try (Stream<Path> found = Files.list(logs)) {
            return found.anyMatch(each -> each.getFileName().toString().endsWith("-delete"));
        }
    }

    // -- what is kept ---------------------------------------------------------------------------------

    private static void zip(Path home, List<Path> wanted, Path to) throws IOException {
        List<Path> files = new ArrayList<>();
        for (Path each : wanted) {
            try (Stream<Path> found = Files.walk(each)) {
                files.addAll(found.filter(Files::isRegularFile).toList());
            }
        }
        files.sort(Comparator.comparing(Path::toString));
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(to), StandardCharsets.UTF_8)) {
            for (Path file : files) {
                ZipEntry entry = new ZipEntry(home.relativize(file).toString().replace('\\', '/'));
                entry.setLastModifiedTime(FileTime.fromMillis(0));
                out.putNextEntry(entry);
                byte[] content = Files.readAllBytes(file);
                // An index file is allocated in advance; what is behind its beginning is zeros.
                boolean index = file.toString().endsWith("index");
                out.write(content, 0, index ? Math.min(content.length, INDEX_KEPT) : content.length);
                out.closeEntry();
            }
        }
    }

    /** A broker that hangs must not stay behind. */
    private static void stopByItself() {
        Thread watchdog = new Thread(() -> {
            try {
                Thread.sleep(PATIENCE_MS);
            } catch (InterruptedException stopped) {
                return;
            }
            System.err.println("The recording took longer than " + PATIENCE_MS / 1000 + " seconds and was stopped.");
            Runtime.getRuntime().halt(3);
        }, "watchdog");
        watchdog.setDaemon(true);
        watchdog.start();
    }
}
