package kipviz.recorder;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.tools.StorageTool;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;

/**
 * Several brokers and one controller of their own, all in this process and on loopback, with fresh storage.
 *
 * <p>When all have stopped in an orderly way, the replicas of a partition are the same, byte for byte; that is checked,
 * and one of them is kept.
 */
final class Cluster extends Broker {

    private static final String BROKERS = "broker";
    private static final String CONTROLLERS = "controller";

    private final Path home;
    private final int controller;
    private final int controllerPort = freePort();
    private final String clusterId = Uuid.randomUuid().toString();
    private final Map<Integer, Integer> ports;
    private final Map<String, String> features;
    private final Map<Integer, KafkaRaftServer> running = new TreeMap<>();
    private final Repeats repeats = new Repeats();

    Cluster(Path home, Scenario scenario, int brokers) throws IOException {
        this(home, free(brokers), scenario.settings(), scenario.features());
    }

    private Cluster(Path home, Map<Integer, Integer> ports, Map<String, String> changes, Map<String, String> features)
            throws IOException {
        super(home, ports.values().stream().map(Cluster::at).collect(Collectors.joining(",")),
            settings(ports.size(), changes));
        this.home = home;
        this.ports = ports;
        this.features = features;
        controller = ports.size() + 1;
        WireLog.name(ports.entrySet().stream().collect(Collectors.toMap(Map.Entry::getValue, Map.Entry::getKey)));
        for (int node = 1; node <= controller; node++) {
            format(node);
        }
        run(controller);
        // A broker's startup returns when the controller has unfenced it.
        ports.keySet().forEach(this::run);
    }

    /** Where one of the brokers listens. */
    String address(int broker) {
        return at(ports.get(broker));
    }

    /** Stops one broker in an orderly way: it hands over what it leads before it goes. */
    void stop(int broker) {
        KafkaRaftServer server = running.remove(broker);
        server.shutdown();
        server.awaitShutdown();
    }

    /** Starts a broker again, at the same address with the same storage. */
    void start(int broker) {
        run(broker);
    }

    private void run(int node) {
        KafkaRaftServer server = new KafkaRaftServer(new KafkaConfig(properties(node)), Time.SYSTEM);
        server.startup();
        running.put(node, server);
    }

    @Override
    void restart() {
        throw new UnsupportedOperationException("brokers of a cluster are stopped and started one by one");
    }

    /** The brokers go before the controller, which would not let them hand over what they lead. */
    @Override
    public void close() {
        ports.keySet().stream().filter(running::containsKey).toList().forEach(this::stop);
        stop(controller);
        WireLog.name(Map.of());
        repeats.close();
        try {
            agree();
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    /** Who led what since when, as the controller has logged it; and how often what was only repeated. */
    @Override
    Map<String, String> more() throws IOException {
        Map<String, String> files = new TreeMap<>();
        files.put("leaders.jsonl", Leaders.lines(disk(controller).resolve("__cluster_metadata-0")));
        if (!repeats.lines().isEmpty()) {
            files.put("repeated.jsonl", repeats.lines());
        }
        return files;
    }

    /** Keeps one of the replicas of each partition; all have to be the same. */
    private void agree() throws IOException {
        Map<Path, byte[]> known = new HashMap<>();
        for (int broker : ports.keySet()) {
            try (Stream<Path> files = Files.walk(disk(broker))) {
                for (Path file : files.filter(Cluster::isLog).toList()) {
                    Path name = disk(broker).relativize(file);
                    byte[] content = Files.readAllBytes(file);
                    byte[] other = known.putIfAbsent(name, content);
                    if (other == null) {
                        Path target = logs().resolve(name.toString());
                        Files.createDirectories(target.getParent());
                        Files.write(target, content);
                    } else if (!java.util.Arrays.equals(content, other)) {
                        throw new IllegalStateException("The replicas do not agree: " + name + " on broker " + broker);
                    }
                }
            }
        }
    }

    private static boolean isLog(Path file) {
        String name = file.getFileName().toString();
        return (name.endsWith(".log") || name.endsWith(".txnindex"))
            && !file.getParent().getFileName().toString().startsWith("__cluster_metadata");
    }

    private Path disk(int node) {
        return home.resolve("disk-" + node);
    }

    private Properties properties(int node) {
        Properties all = new Properties();
        all.putAll(settings);
        all.put("process.roles", node == controller ? CONTROLLERS : BROKERS);
        all.put("node.id", Integer.toString(node));
        all.put("log.dirs", disk(node).toString());
        all.put("controller.quorum.voters", controller + "@" + at(controllerPort));
        if (node == controller) {
            all.put("listeners", "CONTROLLER://" + at(controllerPort));
        } else {
            all.put("listeners", "PLAINTEXT://" + address(node));
            all.put("advertised.listeners", "PLAINTEXT://" + address(node));
        }
        return all;
    }

    /** What is the same for all brokers: few partitions of the internal topics, on all of the brokers. */
    private static Map<String, String> settings(int brokers, Map<String, String> changes) {
        Map<String, String> made = new TreeMap<>();
        made.put("controller.listener.names", "CONTROLLER");
        made.put("auto.create.topics.enable", "false");
        made.put("auto.leader.rebalance.enable", "false");
        // A broker that starts again waits until its former life is forgotten.
        made.put("broker.heartbeat.interval.ms", "500");
        made.put("broker.session.timeout.ms", "4000");
        made.put("group.initial.rebalance.delay.ms", "0");
        made.put("log.cleaner.dedupe.buffer.size", "4194304");
        for (String topic : List.of("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")) {
            made.put(topic + ".num.partitions", Integer.toString(brokers));
            made.put(topic + ".replication.factor", Integer.toString(brokers));
        }
        made.putAll(changes);
        return made;
    }

    private void format(int node) throws IOException {
        Files.createDirectories(disk(node));
        Path file = home.resolve("server-" + node + ".properties");
        try (var out = Files.newOutputStream(file)) {
            properties(node).store(out, null);
        }
        List<String> words = new ArrayList<>(List.of("format", "--cluster-id", clusterId, "--config", file.toString()));
        features.forEach((name, level) -> words.addAll(List.of("--feature", name + "=" + level)));
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        if (StorageTool.execute(words.toArray(new String[0]), new PrintStream(said)) != 0) {
            throw new IllegalStateException("The storage could not be formatted: " + said);
        }
    }

    private static Map<Integer, Integer> free(int brokers) throws IOException {
        Map<Integer, Integer> found = new LinkedHashMap<>();
        for (int broker : IntStream.rangeClosed(1, brokers).toArray()) {
            found.put(broker, freePort());
        }
        return found;
    }

    private static String at(int port) {
        return "127.0.0.1:" + port;
    }
}
