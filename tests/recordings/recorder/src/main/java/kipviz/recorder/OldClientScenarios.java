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
                quick, Map.of("transaction.version", "0"), OldClientScenarios::run));
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

        private void ask(String call, Map<String, Object> arguments) throws Exception {
            recording.call(name, call, arguments, () -> {
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
