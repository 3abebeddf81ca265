package kipviz.recorder;

import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Who reads what transactions wrote, and producers without a transactional id. */
final class ReaderScenarios {

    private static final String ID = "my-txn";
    private static final TopicPartition OUTPUT = new TopicPartition("output-A", 0);

    private ReaderScenarios() {
    }

    static List<Scenario> all() {
        return List.of(
            new Scenario("reader",
                "Readers of committed and of all records, while transactions commit, abort, and stay open.",
                Map.of(), ReaderScenarios::reader),
            new Scenario("idempotent",
                "Two idempotent producers without a transactional id; an operator sees what the log knows of them.",
                Map.of(), ReaderScenarios::idempotent),
            new Scenario("silent-producer",
                "A partition forgets producers that were silent; one without a transactional id goes on where it was.",
                Map.of("producer.id.expiration.ms", "2000", "producer.id.expiration.check.interval.ms", "500"),
                ReaderScenarios::silent));
    }

    private static void silent(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(ID, null);
        recording.watch(ID);
        Map<String, Object> settings = Map.of("bootstrap.servers", broker.address, "client.id", "operator");
        try (Admin operator = Admin.create(settings);
             KafkaProducer<String, String> plain = Clients.producer(broker, "producer-1", Map.of("linger.ms", "0"));
             KafkaProducer<String, String> producer = Clients.producer(broker, "app-producer",
                 Map.of("transactional.id", ID, "linger.ms", "0"))) {
            recording.call("app-producer", "initTransactions", Map.of(), producer::initTransactions);
            for (String value : List.of("one", "two")) {
                send(recording, "producer-1", plain, value);
                transaction(recording, producer, value + " in a transaction", true);
            }
            recording.call("app-producer", "beginTransaction", Map.of(), producer::beginTransaction);
            send(recording, "app-producer", producer, "left open");
            known(recording, operator);
            recording.call("observer", "sleep", Map.of("ms", 5000), () -> Thread.sleep(5000));
            known(recording, operator);
            recording.call("app-producer", "commitTransaction", Map.of(), producer::commitTransaction);
            TransactionScenarios.settle(recording, ID, "CompleteCommit");
            recording.call("observer", "sleep", Map.of("ms", 5000), () -> Thread.sleep(5000));
            known(recording, operator);
            send(recording, "producer-1", plain, "three");
            transaction(recording, producer, "three in a transaction", true);
            known(recording, operator);
        }
    }

    private static void known(Recording recording, Admin operator) throws Exception {
        recording.call("operator", "describeProducers", Map.of("partition", "output-A-0"),
            () -> operator.describeProducers(List.of(OUTPUT)).partitionResult(OUTPUT).get()
                .activeProducers().size(), found -> found);
    }

    private static void reader(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(ID, null);
        recording.watch(ID);
        try (KafkaProducer<String, String> producer = Clients.producer(broker, "app-producer",
                 Map.of("transactional.id", ID, "linger.ms", "0"));
             KafkaConsumer<String, String> committed = reader(broker, "committed", "read_committed");
             KafkaConsumer<String, String> everything = reader(broker, "everything", "read_uncommitted")) {
            recording.call("app-producer", "initTransactions", Map.of(), producer::initTransactions);
            transaction(recording, producer, "one", false);
            transaction(recording, producer, "two", true);
            transaction(recording, producer, "three", false);
            recording.call("app-producer", "beginTransaction", Map.of(), producer::beginTransaction);
            send(recording, "app-producer", producer, "four");
            read(recording, "committed", committed, 2);
            read(recording, "everything", everything, 2);
            recording.call("app-producer", "abortTransaction", Map.of(), producer::abortTransaction);
            TransactionScenarios.settle(recording, ID, "CompleteAbort");
            read(recording, "committed", committed, 2);
            transaction(recording, producer, "five", true);
            read(recording, "committed", committed, 2);
            read(recording, "everything", everything, 2);
            recording.call("everything", "seek", Map.of("offset", 40), () -> everything.seek(OUTPUT, 40));
            read(recording, "everything", everything, 2);
            recording.call("committed", "seek", Map.of("offset", 2), () -> committed.seek(OUTPUT, 2));
            read(recording, "committed", committed, 2);
        }
    }

    private static void idempotent(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        Map<String, Object> settings = Map.of("bootstrap.servers", broker.address, "client.id", "operator");
        try (Admin operator = Admin.create(settings);
             KafkaProducer<String, String> one = Clients.producer(broker, "producer-1", Map.of("linger.ms", "0"));
             KafkaProducer<String, String> other = Clients.producer(broker, "producer-2", Map.of("linger.ms", "0"))) {
            for (String value : List.of("one", "three", "five")) {
                send(recording, "producer-1", one, value);
                send(recording, "producer-2", other, value + " and one");
            }
            known(recording, operator);
        }
    }

    private static void transaction(
            Recording recording, KafkaProducer<String, String> producer, String value, boolean commits)
            throws Exception {
        recording.call("app-producer", "beginTransaction", Map.of(), producer::beginTransaction);
        send(recording, "app-producer", producer, value);
        if (commits) {
            recording.call("app-producer", "commitTransaction", Map.of(), producer::commitTransaction);
        } else {
            recording.call("app-producer", "abortTransaction", Map.of(), producer::abortTransaction);
        }
        TransactionScenarios.settle(recording, ID, commits ? "CompleteCommit" : "CompleteAbort");
    }

    private static void send(Recording recording, String name, KafkaProducer<String, String> producer, String value)
            throws Exception {
        ProducerRecord<String, String> record = new ProducerRecord<>("output-A", 0, value, value);
        recording.call(name, "send", Clients.written(record), () -> producer.send(record).get(), Clients::place);
    }

    private static void read(
            Recording recording, String name, KafkaConsumer<String, String> consumer, int tries) throws Exception {
        for (int i = 0; i < tries; i++) {
            recording.call(name, "poll", Map.of(), () -> consumer.poll(Clients.WAIT), Clients::seen);
        }
    }

    private static KafkaConsumer<String, String> reader(Broker broker, String name, String level) {
        KafkaConsumer<String, String> consumer = Clients.consumer(broker, name, Map.of("isolation.level", level));
        consumer.assign(List.of(OUTPUT));
        return consumer;
    }
}
