package kipviz.recorder;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.LoggerConfig;
import org.apache.logging.log4j.core.config.Property;

/** Keeps the broker's request log in memory, without the fields that only say how fast this machine is. */
public final class WireLog extends AbstractAppender {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String PREFIX = "Completed request:";
    private static final Set<String> KEPT = Set.of(
        "PRODUCE", "FIND_COORDINATOR", "INIT_PRODUCER_ID", "ADD_PARTITIONS_TO_TXN",
        "ADD_OFFSETS_TO_TXN", "END_TXN", "WRITE_TXN_MARKERS", "TXN_OFFSET_COMMIT", "OFFSET_COMMIT",
        "OFFSET_FETCH", "FETCH", "CONSUMER_GROUP_HEARTBEAT", "SHARE_GROUP_HEARTBEAT", "SHARE_FETCH",
        "SHARE_ACKNOWLEDGE", "INITIALIZE_SHARE_GROUP_STATE", "READ_SHARE_GROUP_STATE",
        "WRITE_SHARE_GROUP_STATE", "DELETE_SHARE_GROUP_STATE", "READ_SHARE_GROUP_STATE_SUMMARY",
        "LIST_TRANSACTIONS", "DESCRIBE_TRANSACTIONS", "DESCRIBE_PRODUCERS",
        "JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT", "LEAVE_GROUP", "DELETE_GROUPS", "SHARE_GROUP_DESCRIBE",
        "DESCRIBE_SHARE_GROUP_OFFSETS", "ALTER_SHARE_GROUP_OFFSETS", "DELETE_SHARE_GROUP_OFFSETS",
        "DELETE_RECORDS", "LIST_GROUPS", "DESCRIBE_GROUPS", "CONSUMER_GROUP_DESCRIBE", "OFFSET_DELETE");

    private static final List<ObjectNode> LINES = new ArrayList<>();
    private static final Map<Integer, Integer> BROKERS = new ConcurrentHashMap<>();

    private WireLog() {
        super("wire", null, null, false, Property.EMPTY_ARRAY);
    }

    /** Starts keeping; called once, before the first broker starts. */
    static void listen() {
        LoggerContext context = (LoggerContext) LogManager.getContext(false);
        LoggerConfig logger = context.getConfiguration().getLoggerConfig("kafka.request.logger");
        WireLog wire = new WireLog();
        wire.start();
        logger.addAppender(wire, Level.DEBUG, null);
        context.updateLoggers();
    }

    @Override
    public void append(LogEvent event) {
        String text = event.getMessage().getFormattedMessage();
        if (!text.startsWith(PREFIX)) {
            return;
        }
        try {
            keep(JSON.readTree(text.substring(PREFIX.length())), event.getTimeMillis());
        } catch (Exception problem) {
            throw new IllegalStateException("The broker's request log has a line that is no JSON: " + text, problem);
        }
    }

    private static void keep(JsonNode line, long answeredAt) {
        JsonNode header = line.path("requestHeader");
        String api = header.path("requestApiKeyName").asText();
        String client = header.path("clientId").asText();
        if (!KEPT.contains(api) || client.startsWith("observer") || isReplica(line)) {
            return;
        }
        double took = line.path("totalTimeMs").asDouble();
        ObjectNode kept = JSON.createObjectNode();
        kept.put("api", api);
        kept.put("version", header.path("requestApiVersion").asInt());
        kept.put("client", client);
        kept.put("correlation", header.path("correlationId").asInt());
        kept.put("principal", line.path("principal").asText());
        kept.put("received", answeredAt - Math.round(took));
        kept.put("answered", answeredAt);
        Integer broker = BROKERS.get(port(line.path("connection").asText()));
        if (broker != null) {
            kept.put("broker", broker);
        }
        kept.set("request", line.path("request"));
        kept.set("response", line.path("response"));
        synchronized (LINES) {
            LINES.add(kept);
        }
    }

    /** Says which brokers listen at which ports, where there are several: a line then names who answered. */
    static void name(Map<Integer, Integer> ports) {
        BROKERS.clear();
        BROKERS.putAll(ports);
    }

    /** A connection is named after both its ends, this broker's first: 127.0.0.1:1234-127.0.0.1:5678-0-1. */
    private static int port(String connection) {
        String own = connection.split("-")[0];
        return Integer.parseInt(own.substring(own.lastIndexOf(':') + 1));
    }

    /** A follower that copies a log says who it is; readers do not. */
    private static boolean isReplica(JsonNode line) {
        return line.path("request").path("replicaState").path("replicaId").asInt(-1) >= 0;
    }

    /** What was answered since the last call of this method, in the order of the answers. */
    static List<ObjectNode> take() {
        synchronized (LINES) {
            List<ObjectNode> taken = new ArrayList<>(LINES);
            LINES.clear();
            return taken;
        }
    }
}
