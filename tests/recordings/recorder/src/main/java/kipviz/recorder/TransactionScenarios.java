package kipviz.recorder;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Transactions as an application makes them: what is committed, aborted, fenced, timed out. */
final class TransactionScenarios {

    private static final String ID = "my-txn";
    private static final String GROUP = "my-group-4";
    private static final TopicPartition SOURCE = new TopicPartition("src", 0);
    private static final TopicPartition OUTPUT = new TopicPartition("output-A", 0);

    private TransactionScenarios() {
    }

    static List<Scenario> all() {
        return List.of(
            new Scenario("commit-and-abort",
                "A consume-transform-produce loop: one transaction commits, the next aborts, and is then done again.",
                Map.of(), TransactionScenarios::commitAndAbort),
            new Scenario("fenced-and-timed-out",
                "A second producer with the same transactional id, empty transactions, and two transactions that time out.",
                Map.of("transaction.abort.timed.out.transaction.cleanup.interval.ms", "500"),
                TransactionScenarios::fencedAndTimedOut),
            new Scenario("compressed",
                "Batches of three records with each compression that Kafka has.",
                Map.of(), TransactionScenarios::compressed),
            new Scenario("forgotten-id",
                "Nobody uses a transactional id for a while: it is forgotten, and who comes then is somebody else.",
                Map.of("transactional.id.expiration.ms", "2000",
                    "transaction.remove.expired.transaction.cleanup.interval.ms", "500"),
                TransactionScenarios::forgotten));
    }

    private static void forgotten(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(ID, null);
        recording.watch(ID);
        for (String name : List.of("producer-1", "producer-2")) {
            try (KafkaProducer<String, String> producer = producer(broker, name, 60_000)) {
                begin(recording, name, producer, true);
                send(recording, name, producer, "of " + name);
                recording.call(name, "commitTransaction", Map.of(), producer::commitTransaction);
                settle(recording, ID, "CompleteCommit");
            }
            recording.call("observer", "sleep", Map.of("ms", 5000), () -> Thread.sleep(5000));
        }
    }

    private static void compressed(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src");
        for (String compression : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            Map<String, String> batching = Map.of("compression.type", compression, "linger.ms", "200");
            try (KafkaProducer<String, String> producer = Clients.producer(broker, "source", batching)) {
                List<String> values = List.of("a".repeat(200), "b".repeat(200), "c".repeat(200));
                recording.call("source", "sendTogether",
                    Map.of("topic", "src", "compression.type", compression, "values", values), () -> {
                        for (String value : values) {
                            producer.send(new ProducerRecord<>("src", 0, compression, value));
                        }
                        producer.flush();
                    });
            }
        }
    }

    private static void commitAndAbort(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        Clients.fill(broker, recording, 0, 4);
        recording.awaitCoordinators(ID, GROUP);
        recording.watch(ID);
        Map<String, String> member = Map.of(
            "group.id", GROUP, "group.protocol", "consumer", "isolation.level", "read_committed", "max.poll.records", "2");
        try (KafkaProducer<String, String> producer = producer(broker, "app-producer", 60_000);
             KafkaConsumer<String, String> consumer = Clients.consumer(broker, "app-consumer", member)) {
            Loop loop = new Loop(recording, producer, consumer);
            recording.call("app-producer", "initTransactions", Map.of(), producer::initTransactions);
            recording.call("app-consumer", "subscribe", Map.of("topics", List.of("src")),
                () -> consumer.subscribe(List.of("src")));
            ConsumerRecords<String, String> first = loop.poll();
            loop.produce(first);
            look(broker, recording);
            loop.commit();
            settle(recording, ID, "CompleteCommit");
            look(broker, recording);
            ConsumerRecords<String, String> second = loop.poll();
            loop.produce(second);
            loop.abort();
            settle(recording, ID, "CompleteAbort");
            look(broker, recording);
            loop.goBack();
            loop.produce(loop.poll());
            loop.commit();
            settle(recording, ID, "CompleteCommit");
            look(broker, recording);
            recording.call("app-consumer", "close", Map.of(), consumer::close);
            recording.call("app-producer", "close", Map.of(), producer::close);
        }
    }

    private static void fencedAndTimedOut(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(ID, null);
        recording.watch(ID);
        try (KafkaProducer<String, String> old = producer(broker, "producer-1", 60_000);
             KafkaProducer<String, String> young = producer(broker, "producer-2", 60_000)) {
            begin(recording, "producer-1", old, true);
            send(recording, "producer-1", old, "one");
            recording.call("producer-2", "initTransactions", Map.of(), young::initTransactions);
            send(recording, "producer-1", old, "late");
            recording.call("producer-1", "commitTransaction", Map.of(), old::commitTransaction);
            recording.call("producer-1", "abortTransaction", Map.of(), old::abortTransaction);
            begin(recording, "producer-2", young, false);
            send(recording, "producer-2", young, "two");
            recording.call("producer-2", "commitTransaction", Map.of(), young::commitTransaction);
            settle(recording, ID, "CompleteCommit");
            begin(recording, "producer-2", young, false);
            recording.call("producer-2", "commitTransaction", Map.of(), young::commitTransaction);
            begin(recording, "producer-2", young, false);
            recording.call("producer-2", "abortTransaction", Map.of(), young::abortTransaction);
        }
        try (KafkaProducer<String, String> slow = producer(broker, "producer-3", 1_000)) {
            begin(recording, "producer-3", slow, true);
            send(recording, "producer-3", slow, "three");
            settle(recording, ID, "CompleteAbort");
            recording.call("producer-3", "commitTransaction", Map.of(), slow::commitTransaction);
        }
        try (KafkaProducer<String, String> slow = producer(broker, "producer-4", 1_000)) {
            begin(recording, "producer-4", slow, true);
            send(recording, "producer-4", slow, "four");
            settle(recording, ID, "CompleteAbort");
            recording.call("producer-4", "abortTransaction", Map.of(), slow::abortTransaction);
            begin(recording, "producer-4", slow, false);
            send(recording, "producer-4", slow, "five");
            recording.call("producer-4", "commitTransaction", Map.of(), slow::commitTransaction);
            settle(recording, ID, "CompleteCommit");
        }
        look(broker, recording);
    }

    private static KafkaProducer<String, String> producer(Broker broker, String name, int timeout) {
        return Clients.producer(broker, name, Map.of(
            "transactional.id", ID, "transaction.timeout.ms", Integer.toString(timeout), "linger.ms", "0"));
    }

    private static void begin(Recording recording, String name, KafkaProducer<String, String> producer, boolean init)
            throws Exception {
        if (init) {
            recording.call(name, "initTransactions", Map.of(), producer::initTransactions);
        }
        recording.call(name, "beginTransaction", Map.of(), producer::beginTransaction);
    }

    private static void send(Recording recording, String name, KafkaProducer<String, String> producer, String value)
            throws Exception {
        ProducerRecord<String, String> record = new ProducerRecord<>("output-A", 0, value, value);
        recording.call(name, "send", Clients.written(record), () -> producer.send(record).get(), Clients::place);
    }

    /** Waits until the coordinator has written its last record of the transaction, which no client waits for. */
    static void settle(Recording recording, String id, String state) throws Exception {
        recording.call("observer", "waitForState", Map.of("state", state), () -> {
            for (int i = 0; i < 200; i++) {
                var found = recording.observer().describeTransactions(List.of(id)).description(id).get();
                if (found.state().toString().equals(state)) {
                    return;
                }
                Thread.sleep(50);
            }
            throw new IllegalStateException("The transaction did not become " + state + ".");
        });
    }

    /** What two consumers without a group see in output-A from its beginning. */
    private static void look(Broker broker, Recording recording) throws Exception {
        for (String isolation : List.of("read_committed", "read_uncommitted")) {
            Map<String, String> reader = Map.of("isolation.level", isolation);
            try (KafkaConsumer<String, String> consumer = Clients.consumer(broker, "observer-reader", reader)) {
                recording.call("reader", "readAll", Map.of("partition", "output-A-0", "isolation.level", isolation),
                    () -> readAll(consumer), found -> found);
            }
        }
    }

    private static Map<String, Object> readAll(KafkaConsumer<String, String> consumer) {
        consumer.assign(List.of(OUTPUT));
        consumer.seekToBeginning(List.of(OUTPUT));
        long end = consumer.endOffsets(List.of(OUTPUT)).get(OUTPUT);
        List<Object> found = new ArrayList<>();
        for (int i = 0; i < 50 && consumer.position(OUTPUT) < end; i++) {
            found.addAll(Clients.seen(consumer.poll(Clients.WAIT)));
        }
        return Map.of("end", end, "position", consumer.position(OUTPUT), "records", found);
    }

    /** The four lines every exactly-once application has. */
    private record Loop(
            Recording recording, KafkaProducer<String, String> producer, KafkaConsumer<String, String> consumer) {

        ConsumerRecords<String, String> poll() throws Exception {
            ConsumerRecords<String, String> found = recording.call("app-consumer", "poll",
                Map.of("max.poll.records", 2), () -> Clients.poll(consumer::poll, 20), Clients::seen);
            if (found == null || found.count() != 2) {
                throw new IllegalStateException("The consumer should have got two records.");
            }
            return found;
        }

        void produce(ConsumerRecords<String, String> records) throws Exception {
            recording.call("app-producer", "beginTransaction", Map.of(), producer::beginTransaction);
            Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
            for (ConsumerRecord<String, String> in : records) {
                ProducerRecord<String, String> out =
                    new ProducerRecord<>("output-A", 0, in.key(), in.value().replace("in-", "out-"));
                recording.call("app-producer", "send", Clients.written(out),
                    () -> producer.send(out).get(), Clients::place);
                next.put(SOURCE, new OffsetAndMetadata(in.offset() + 1));
            }
            Map<String, Object> arguments = Map.of(
                "offsets", Map.of("src-0", next.get(SOURCE).offset()), "group", GROUP,
                "member", consumer.groupMetadata().memberId(), "generation", consumer.groupMetadata().generationId());
            recording.call("app-producer", "sendOffsetsToTransaction", arguments,
                () -> producer.sendOffsetsToTransaction(next, consumer.groupMetadata()));
        }

        void commit() throws Exception {
            recording.call("app-producer", "commitTransaction", Map.of(), producer::commitTransaction);
        }

        void abort() throws Exception {
            recording.call("app-producer", "abortTransaction", Map.of(), producer::abortTransaction);
        }

        void goBack() throws Exception {
            Map<TopicPartition, OffsetAndMetadata> committed = recording.call("app-consumer", "committed",
                Map.of("partition", "src-0"), () -> consumer.committed(Set.of(SOURCE)),
                found -> Map.of("src-0", found.get(SOURCE).offset()));
            long offset = committed.get(SOURCE).offset();
            recording.call("app-consumer", "seek", Map.of("partition", "src-0", "offset", offset),
                () -> consumer.seek(SOURCE, offset));
        }
    }
}
