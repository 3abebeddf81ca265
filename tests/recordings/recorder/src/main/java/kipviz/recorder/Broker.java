package kipviz.recorder;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.tools.StorageTool;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;

/** One broker that is its own controller, on loopback, with fresh storage; it stops when it is closed. */
class Broker implements AutoCloseable {

    private static final String PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required";
    private static final Map<String, String> AUTHORIZED = Map.of(
        "authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users", "User:ANONYMOUS", "sasl.enabled.mechanisms", "PLAIN", "inter.broker.listener.name", "PLAINTEXT",
        "listener.security.protocol.map",
        "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT");

    private final Path home;
    private final Properties all = new Properties();
    private KafkaRaftServer server;
    final String address;
    /** Where clients with names come, and the password of all of them; it is in no recording. */
    final String named;
    final String secret = Uuid.randomUuid().toString();
    final Map<String, String> settings;

    Broker(Path home, Scenario scenario) throws IOException {
        this.home = home;
        int port = freePort();
        int controllerPort = freePort();
        address = "127.0.0.1:" + port;
        settings = settings(scenario.settings());
        all.putAll(settings);
        all.put("log.dirs", logs().toString());
        all.put("listeners", "PLAINTEXT://" + address + ",CONTROLLER://127.0.0.1:" + controllerPort);
        all.put("advertised.listeners", "PLAINTEXT://" + address);
        named = "127.0.0.1:" + freePort();
        if (!scenario.principals().isEmpty()) {
            settings.putAll(AUTHORIZED);
            all.putAll(settings);
            admit(scenario.principals());
        }
        all.put("controller.quorum.voters", "1@127.0.0.1:" + controllerPort);
        format(scenario.features());
        start();
    }

    /** Opens a listener for clients with names; who comes over the other one is a super user. */
    private void admit(List<String> principals) {
        for (String kind : List.of("listeners", "advertised.listeners")) {
            all.put(kind, all.getProperty(kind) + ",SASL_PLAINTEXT://" + named);
        }
        StringBuilder known = new StringBuilder(PLAIN);
        for (String name : principals) {
            known.append(" user_").append(name).append("=\"").append(secret).append('"');
        }
        all.put("listener.name.sasl_plaintext.plain.sasl.jaas.config", known.append(';').toString());
    }

    /** What a client that is somebody is told, besides its own settings. */
    Map<String, String> as(String principal) {
        return Map.of("bootstrap.servers", named, "security.protocol", "SASL_PLAINTEXT", "sasl.mechanism", "PLAIN",
            "sasl.jaas.config",
            PLAIN + " username=\"" + principal + "\" password=\"" + secret + "\";");
    }

    /** For a cluster of several brokers, which starts and stops them itself. */
    Broker(Path home, String address, Map<String, String> settings) {
        this.home = home;
        this.address = address;
        this.named = address;
        this.settings = settings;
    }

    private void start() {
        server = new KafkaRaftServer(new KafkaConfig(all), Time.SYSTEM);
        server.startup();
    }

    /** Stops the broker in an orderly way and starts it again at the same address with the same storage. */
    void restart() {
        close();
        start();
    }

    /** Version and commit, as the client jar says. */
    static Properties release() {
        Properties said = new Properties();
        try (InputStream in = Broker.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            said.load(in);
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
        return said;
    }

    Path logs() {
        return home.resolve("logs");
    }

    /** Further files of a recording, by their names; asked when the broker has stopped. */
    Map<String, String> more() throws IOException {
        return Map.of();
    }

    /** Everything that is not a port or a path: kept in the recording. Partition counts stay as Kafka has them. */
    private static Map<String, String> settings(Map<String, String> changes) {
        Map<String, String> made = new TreeMap<>();
        made.put("process.roles", "broker,controller");
        made.put("node.id", "1");
        made.put("controller.listener.names", "CONTROLLER");
        made.put("auto.create.topics.enable", "false");
        made.put("offsets.topic.replication.factor", "1");
        made.put("transaction.state.log.replication.factor", "1");
        made.put("transaction.state.log.min.isr", "1");
        made.put("share.coordinator.state.topic.replication.factor", "1");
        made.put("share.coordinator.state.topic.min.isr", "1");
        made.put("group.initial.rebalance.delay.ms", "0");
        made.putAll(changes);
        return made;
    }

    private void format(Map<String, String> features) throws IOException {
        Files.createDirectories(logs());
        Path file = home.resolve("server.properties");
        try (var out = Files.newOutputStream(file)) {
            all.store(out, null);
        }
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        List<String> words = new ArrayList<>(List.of(
            "format", "--cluster-id", Uuid.randomUuid().toString(), "--config", file.toString()));
        features.forEach((name, level) -> words.addAll(List.of("--feature", name + "=" + level)));
        int status = StorageTool.execute(words.toArray(new String[0]), new PrintStream(said));
        if (status != 0) {
            throw new IllegalStateException("The storage could not be formatted: " + said);
        }
    }

    static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    @Override
    public void close() {
        server.shutdown();
        server.awaitShutdown();
    }
}
