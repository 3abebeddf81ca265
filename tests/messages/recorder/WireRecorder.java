import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.InputStream;
import java.io.PrintWriter;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;

/**
 * Writes down what Kafka's own clients library says of the messages that kipviz models: the fields of
 * each one (from the schemas inside the jar), and the bytes that its generated classes make of random
 * values. See README.md beside it for how it is run.
 */
public final class WireRecorder {
    /** What consumers of one group tell each other: bytes for a broker. */
    private static final List<String> BETWEEN_CONSUMERS = List.of(
        "ConsumerProtocolSubscription", "ConsumerProtocolAssignment");
    private static final int EXAMPLES_OF_THE_LAST_VERSION = 4;
    private static final ObjectMapper JSON =
        new ObjectMapper().configure(JsonParser.Feature.ALLOW_COMMENTS, true);
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    private Random random;

    /** Arguments: the folder to write, this source, and the names of the requests. */
    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[0]);
        new WireRecorder().record(folder, List.of(args).subList(2, args.length));
        sign(folder, Path.of(args[1]));
    }

    private void record(Path folder, List<String> names) throws Exception {
        Files.createDirectories(folder);
        ObjectNode schemas = NODES.objectNode();
        ArrayNode messages = schemas.putArray("messages");
        try (PrintWriter bytes = new PrintWriter(folder.resolve("bytes.jsonl").toFile(), StandardCharsets.UTF_8)) {
            for (String name : names) {
                for (String way : List.of("Request", "Response")) {
                    JsonNode schema = load(name + way);
                    messages.add(told(schema));
                    examples(schema, bytes);
                }
            }
            for (String name : BETWEEN_CONSUMERS) {
                JsonNode schema = load(name);
                messages.add(told(schema));
                examples(schema, bytes);
            }
        }
        messages.add(told(load("RequestHeader")));
        messages.add(told(load("ResponseHeader")));
        String text = JSON.writerWithDefaultPrettyPrinter().writeValueAsString(schemas);
        Files.writeString(folder.resolve("schemas.json"), text + "\n");
    }

    /** Says what made the two files, so that a test can see that nobody changed one of them alone. */
    private static void sign(Path folder, Path source) throws Exception {
        Properties release = new Properties();
        try (InputStream in = Message.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            release.load(in);
        }
        Path jar = Path.of(Message.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        ObjectNode made = NODES.objectNode();
        made.put("kafka", release.getProperty("version"));
        made.put("commit", release.getProperty("commitId"));
        made.put("jar", jar.getFileName().toString());
        made.put("jar_sha256", sha256(jar));
        made.put("recorder_sha256", sha256(source));
        ObjectNode files = made.putObject("files");
        for (String name : List.of("schemas.json", "bytes.jsonl")) {
            files.put(name, sha256(folder.resolve(name)));
        }
        String text = JSON.writerWithDefaultPrettyPrinter().writeValueAsString(made);
        Files.writeString(folder.resolve("recording.json"), text + "\n");
    }

    private static String sha256(Path file) throws Exception {
        byte[] sum = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file));
        return HexFormat.of().formatHex(sum);
    }

    private static JsonNode load(String name) throws Exception {
        try (InputStream in = Message.class.getResourceAsStream("/common/message/" + name + ".json")) {
            return JSON.readTree(in);
        }
    }

    // -- the fields ------------------------------------------------------------------------------

    private static ObjectNode told(JsonNode schema) {
        ObjectNode out = NODES.objectNode();
        out.put("name", schema.get("name").asText());
        out.put("key", schema.path("apiKey").asInt(-1));
        out.put("versions", schema.get("validVersions").asText());
        out.put("flexible", schema.get("flexibleVersions").asText().replace("none", ""));
        out.set("fields", fields(schema.get("fields"), common(schema)));
        return out;
    }

    private static Map<String, JsonNode> common(JsonNode schema) {
        Map<String, JsonNode> found = new LinkedHashMap<>();
        schema.path("commonStructs").forEach(s -> found.put(s.get("name").asText(), s.get("fields")));
        return found;
    }

    private static ArrayNode fields(JsonNode fields, Map<String, JsonNode> common) {
        ArrayNode out = NODES.arrayNode();
        for (JsonNode field : fields) {
            ObjectNode one = out.addObject();
            one.put("name", field.get("name").asText());
            one.put("type", field.get("type").asText());
            one.put("versions", field.get("versions").asText());
            copy(field, "default", one, "default");
            copy(field, "nullableVersions", one, "nullable");
            copy(field, "taggedVersions", one, "tagged");
            copy(field, "tag", one, "tag");
            copy(field, "flexibleVersions", one, "flexible");
            JsonNode inner = inner(field, common);
            if (inner != null) {
                one.set("fields", fields(inner, common));
            }
        }
        return out;
    }

    private static JsonNode inner(JsonNode field, Map<String, JsonNode> common) {
        String type = field.get("type").asText().replace("[]", "");
        return field.has("fields") ? field.get("fields") : common.get(type);
    }

    private static void copy(JsonNode from, String name, ObjectNode to, String as) {
        if (from.has(name)) {
            to.put(as, from.get(name).asText());
        }
    }

    // -- the bytes -------------------------------------------------------------------------------

    private void examples(JsonNode schema, PrintWriter out) throws Exception {
        String name = schema.get("name").asText();
        random = new Random(name.hashCode()); // a new message changes no other one's values
        // The class of a request or response has "Data" behind its name.
        String data = schema.get("type").asText().equals("data") ? name : name + "Data";
        Class<?> converter = Class.forName("org.apache.kafka.common.message." + data + "JsonConverter");
        Method read = converter.getMethod("read", JsonNode.class, short.class);
        int first = first(schema.get("validVersions").asText());
        int last = last(schema.get("validVersions").asText());
        for (int version = first; version <= last; version++) {
            int wanted = version == last ? EXAMPLES_OF_THE_LAST_VERSION : 1;
            for (int i = 0; i < wanted; i++) {
                ObjectNode values = struct(schema.get("fields"), common(schema), version);
                Message message = (Message) read.invoke(null, values, (short) version);
                ByteBufferAccessor buffer = MessageUtil.toByteBufferAccessor(message, (short) version);
                byte[] raw = new byte[buffer.buffer().remaining()];
                buffer.buffer().get(raw);
                ObjectNode line = NODES.objectNode();
                line.put("message", name);
                line.put("version", version);
                line.set("values", values);
                line.put("bytes", HexFormat.of().formatHex(raw));
                out.print(JSON.writeValueAsString(line) + "\n");
            }
        }
    }

    private ObjectNode struct(JsonNode fields, Map<String, JsonNode> common, int version) {
        ObjectNode out = NODES.objectNode();
        for (JsonNode field : fields) {
            boolean tagged = covers(field.path("taggedVersions").asText(""), version);
            if (covers(field.get("versions").asText(), version) && !(tagged && random.nextBoolean())) {
                String name = field.get("name").asText();
                out.set(Character.toLowerCase(name.charAt(0)) + name.substring(1), value(field, common, version));
            }
        }
        return out;
    }

    private JsonNode value(JsonNode field, Map<String, JsonNode> common, int version) {
        String type = field.get("type").asText();
        if (covers(field.path("nullableVersions").asText(""), version) && random.nextInt(4) == 0) {
            return NODES.nullNode();
        }
        JsonNode inner = inner(field, common);
        if (type.startsWith("[]")) {
            ArrayNode items = NODES.arrayNode();
            for (int n = random.nextInt(3); n > 0; n--) {
                items.add(inner == null ? primitive(type.substring(2)) : struct(inner, common, version));
            }
            return items;
        }
        return inner == null ? primitive(type) : struct(inner, common, version);
    }

    private JsonNode primitive(String type) {
        switch (type) {
            case "bool":
                return NODES.booleanNode(random.nextBoolean());
            case "int8":
                return NODES.numberNode((byte) random.nextInt());
            case "int16":
                return NODES.numberNode((short) random.nextInt());
            case "int32":
                return NODES.numberNode(random.nextInt());
            case "int64":
                return NODES.numberNode(random.nextLong());
            case "uuid":
                return NODES.textNode(new Uuid(random.nextLong(), random.nextLong()).toString());
            case "string":
                return NODES.textNode(word());
            case "bytes":
            case "records":
                byte[] raw = new byte[random.nextInt(20)];
                random.nextBytes(raw);
                return NODES.textNode(Base64.getEncoder().encodeToString(raw));
            default:
                throw new IllegalArgumentException(type);
        }
    }

    private String word() {
        List<String> parts = new ArrayList<>(List.of("", "g1", "äöü", "日本", "🙂", "my-txn"));
        parts.add("x".repeat(130)); // its length needs two bytes as a varint
        return parts.get(random.nextInt(parts.size()));
    }

    private static boolean covers(String versions, int version) {
        return !versions.isEmpty() && !versions.equals("none") && first(versions) <= version && version <= last(versions);
    }

    private static int first(String versions) {
        return Integer.parseInt(versions.replace("+", "").split("-")[0]);
    }

    private static int last(String versions) {
        if (versions.endsWith("+")) {
            return Short.MAX_VALUE;
        }
        String[] ends = versions.split("-");
        return Integer.parseInt(ends[ends.length - 1]);
    }
}
