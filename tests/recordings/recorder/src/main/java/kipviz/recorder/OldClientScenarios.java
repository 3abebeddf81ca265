package kipviz.recorder;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * librdkafka as the client that speaks the older protocol: it adds its partitions itself and keeps its epoch.
 *
 * <p>It runs in a Python process that takes one call per line and answers each with one line (old_client.py).
 */
final class OldClientScenarios {

    private static final String ID = "my-txn";
    private static final String GROUP = "my-group-4";

    private OldClientScenarios() {
    }

    static List<Scenario> all() {
        Map<String, String> quick = Map.of("transaction.abort.timed.out.transaction.cleanup.interval.ms", "500");
        return List.of(
            new Scenario("older-client",
                "librdkafka at a broker of today: commit, abort, an empty transaction, a fenced and a timed-out producer.",
                quick, OldClientScenarios::run),
            new Scenario("older-client-version-0",
                "librdkafka under transaction.version 0: commit, abort, an empty transaction, a fenced and a timed-out producer.",
                quick, Map.of("transaction.version", "0"), OldClientScenarios::run),
            new Scenario("older-client-members",
                "librdkafka in a group of the classic protocol: two members, a rebalance, one leaves, then the other.",
                Map.of(), OldClientScenarios::members));
    }

    private static void members(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, 3, "src");
        recording.awaitCoordinators(null, GROUP);
        try (Client one = new Client(broker, recording, "member-1", 60_000);
             Client other = new Client(broker, recording, "member-2", 60_000)) {
            one.call("version");
            one.ask("subscribe", Map.of("group", GROUP, "topic", "src"));
            one.ask("poll", Map.of("owned", 3));
            one.ask("commit", Map.of("offset", 3));
            other.ask("subscribe", Map.of("group", GROUP, "topic", "src"));
            share(one, other);
            other.ask("commit", Map.of("offset", 4));
            other.call("close");
            one.ask("poll", Map.of("owned", 3));
            one.ask("commit", Map.of("offset", 5));
            one.call("close");
        }
    }

    /** Lets both poll in turn, because each has to answer to the other one's coming. */
    private static void share(Client one, Client other) throws Exception {
        for (int i = 0; i < 30; i++) {
            JsonNode first = one.ask("poll", Map.of("owned", -1));
            JsonNode second = other.ask("poll", Map.of("owned", -1));
            if (first.path("owned").asInt() + second.path("owned").asInt() == 3 && second.path("owned").asInt() > 0) {
                return;
            }
        }
        throw new IllegalStateException("The members do not share the partitions.");
    }

    private static void run(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(ID, GROUP);
        recording.watch(ID);
        try (Client old = new Client(broker, recording, "producer-1", 60_000);
             Client young = new Client(broker, recording, "producer-2", 60_000)) {
            old.call("version");
            old.call("init_transactions");
            old.call("begin_transaction");
            old.send("one");
            old.offsets(1);
            old.call("commit_transaction");
            old.call("begin_transaction");
            old.send("two");
            old.offsets(2);
            old.call("abort_transaction");
            old.call("begin_transaction");
            old.call("commit_transaction");
            old.call("begin_transaction");
            old.send("three");
            young.call("init_transactions");
            old.send("late");
            old.call("commit_transaction");
            young.call("begin_transaction");
            young.send("four");
            young.call("commit_transaction");
            TransactionScenarios.settle(recording, ID, "CompleteCommit");
        }
        try (Client slow = new Client(broker, recording, "producer-3", 1_000)) {
            slow.call("init_transactions");
            slow.call("begin_transaction");
            slow.send("five");
            TransactionScenarios.settle(recording, ID, "CompleteAbort");
            slow.call("commit_transaction");
        }
    }

    /** One producer of librdkafka, in a process of its own. */
    private static final class Client implements AutoCloseable {

        private final Recording recording;
        private final String name;
        private final Process process;
        private final PrintWriter questions;
        private final BufferedReader answers;

        Client(Broker broker, Recording recording, String name, int timeout) throws IOException {
            this.recording = recording;
            this.name = name;
            process = new ProcessBuilder(
                    System.getProperty("recorder.python", "python3"), System.getProperty("recorder.sources") + "/src/main/python/old_client.py",
                    broker.address, name, ID, Integer.toString(timeout))
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
            questions = new PrintWriter(process.getOutputStream(), true, StandardCharsets.UTF_8);
            answers = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        }

        void call(String call) throws Exception {
            ask(call, Map.of());
        }

        void send(String value) throws Exception {
            ask("produce", Map.of("topic", "output-A", "partition", 0, "value", value));
        }

        void offsets(long next) throws Exception {
            ask("send_offsets_to_transaction",
                Map.of("group", GROUP, "topic", "src", "partition", 0, "offset", next));
        }

        private JsonNode ask(String call, Map<String, Object> arguments) throws Exception {
            return recording.call(name, call, arguments, () -> {
                Map<String, Object> question = new LinkedHashMap<>(arguments);
                question.put("call", call);
                questions.println(Recording.JSON.writeValueAsString(question));
                String line = answers.readLine();
                if (line == null) {
                    throw new IllegalStateException("The client ended before it answered " + call + ".");
                }
                JsonNode answer = Recording.JSON.readTree(line);
                if (answer.has("error")) {
                    throw new OldClientError(answer.path("error").asText());
                }
                return answer;
            }, found -> found);
        }

        @Override
        public void close() throws IOException {
            questions.close();
            try {
                process.waitFor();
            } catch (InterruptedException stopped) {
                process.destroy();
                Thread.currentThread().interrupt();
            }
        }
    }

    /** What librdkafka said went wrong. */
    private static final class OldClientError extends Exception {
        OldClientError(String said) {
            super(said);
        }
    }
}
