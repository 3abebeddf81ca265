package kipviz.recorder;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.config.LoggerConfig;
import org.apache.logging.log4j.core.filter.AbstractFilter;

/**
 * Leaves out of the request log what is said again and again, and counts it: a coordinator tries a marker again without
 * a pause, hundreds of times a second. The first of what one client is told in a row are kept.
 */
final class Repeats extends AbstractFilter implements AutoCloseable {

    private static final int KEPT = 20;
    private static final String PREFIX = "Completed request:";

    private final Map<String, Integer> counted = new LinkedHashMap<>();
    private final LoggerConfig logger;
    private final Map<String, String> last = new HashMap<>();
    private final Map<String, Integer> inARow = new HashMap<>();

    Repeats() {
        LoggerContext context = (LoggerContext) LogManager.getContext(false);
        logger = context.getConfiguration().getLoggerConfig("kafka.request.logger");
        logger.addFilter(this);
        context.updateLoggers();
    }

    @Override
    public synchronized Result filter(LogEvent event) {
        String text = event.getMessage().getFormattedMessage();
        if (!text.startsWith(PREFIX)) {
            return Result.NEUTRAL;
        }
        try {
            JsonNode line = Recording.JSON.readTree(text.substring(PREFIX.length()));
            JsonNode header = line.path("requestHeader");
            String client = header.path("clientId").asText();
            if (client.startsWith("observer") || client.contains("-fetcher-") || client.startsWith("raft-")) {
                return Result.NEUTRAL;
            }
            String api = header.path("requestApiKeyName").asText();
            String said = String.join("|", api, client, line.path("request").toString(), line.path("response").toString());
            int times = said.equals(last.put(client, said)) ? inARow.merge(client, 1, Integer::sum) : 1;
            inARow.put(client, times);
            if (times > KEPT) {
                counted.merge(api + " of " + client, 1, Integer::sum);
                return Result.DENY;
            }
            return Result.NEUTRAL;
        } catch (JsonProcessingException problem) {
            throw new IllegalStateException("The broker's request log has a line that is no JSON: " + text, problem);
        }
    }

    /** How often what was left out, one line each. */
    String lines() throws JsonProcessingException {
        StringBuilder lines = new StringBuilder();
        for (Map.Entry<String, Integer> each : counted.entrySet()) {
            lines.append(Recording.JSON.writeValueAsString(Map.of("what", each.getKey(), "times", each.getValue())))
                .append('\n');
        }
        return lines.toString();
    }

    @Override
    public void close() {
        logger.removeFilter(this);
    }
}
