package kipviz.recorder;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.DescribeTransactionsRequestData;
import org.apache.kafka.common.message.EndTxnRequestData;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.DescribeTransactionsRequest;
import org.apache.kafka.common.requests.EndTxnRequest;
import org.apache.kafka.common.requests.ProduceRequest;

/** Three brokers: leaders and coordinators that move, markers between brokers, replicas that are missing. */
final class ClusterScenarios {

    private static final String ID = "my-txn";
    /** Where a name's coordinator keeps what it knows: __transaction_state-1, __consumer_offsets-2. */
    private static final TopicPartition TRANSACTIONS = new TopicPartition("__transaction_state", 1);
    private static final TopicPartition OFFSETS = new TopicPartition("__consumer_offsets", 2);
    private static final String GROUP = "my-group-4";
    private static final TopicPartition OUTPUT = new TopicPartition("output-A", 0);

    private ClusterScenarios() {
    }

    static List<Scenario> all() {
        return List.of(
            Layout.scenario("leader-move",
                "A partition gets another leader while a transaction is open, by an election and by a stop.",
                ClusterScenarios::leaderMove),
            Layout.scenario("coordinator-move",
                "Both coordinators of a transaction move while it is open, and between PREPARE and COMPLETE.",
                ClusterScenarios::coordinatorMove),
            Layout.scenario("markers-across-brokers",
                "Transactions over partitions of three brokers and the offsets of a group: a commit and an abort.",
                ClusterScenarios::markersAcrossBrokers),
            Layout.scenario("min-insync-replicas",
                "A replica too few: batches are refused, and a decided transaction waits for its marker.",
                ClusterScenarios::minInsyncReplicas));
    }

    private static void leaderMove(Cluster cluster, Layout layout, Recording recording) throws Exception {
        layout.topics(Map.of("output-A", List.of(List.of(1, 2, 3))));
        recording.awaitCoordinators(ID, null);
        recording.watch(ID);
        try (KafkaProducer<String, String> producer = producer(cluster, Map.of());
             ByHand zombie = new ByHand(recording, "zombie", cluster.address(1))) {
            Program program = new Program(recording, producer);
            program.init();
            program.begin();
            program.send(0, "one");
            layout.lead(OUTPUT, List.of(2, 1, 3));
            produce(zombie, recording, 1, "of a zombie");
            program.send(0, "two");
            program.commit();
            settle(recording, "CompleteCommit");
            look(cluster, recording);
            program.begin();
            program.send(0, "three");
            layout.stop(cluster, 2);
            program.send(0, "four");
            program.abort();
            settle(recording, "CompleteAbort");
            layout.start(cluster, 2);
            look(cluster, recording);
        }
    }

    private static void coordinatorMove(Cluster cluster, Layout layout, Recording recording) throws Exception {
        layout.topics(Map.of("src", List.of(List.of(3, 1, 2))));
        layout.needing(2, "output-A", List.of(List.of(3, 2), List.of(2, 1)));
        Clients.fill(cluster, recording, 0, 4);
        recording.awaitCoordinators(ID, GROUP);
        recording.watch(ID);
        try (KafkaProducer<String, String> producer = producer(cluster, Map.of());
             KafkaConsumer<String, String> consumer = member(cluster);
             ByHand second = new ByHand(recording, "by-hand-2", cluster.address(2));
             ByHand third = new ByHand(recording, "by-hand-3", cluster.address(3))) {
            Program program = new Program(recording, producer);
            program.init();
            recording.call("app-consumer", "subscribe", Map.of("topics", List.of("src")),
                () -> consumer.subscribe(List.of("src")));
            program.begin();
            program.pass(consumer);
            layout.lead(OFFSETS, List.of(2, 3, 1));
            program.pass(consumer);
            Thread asking = ask(third, 400);
            layout.lead(TRANSACTIONS, List.of(3, 2, 1));
            asking.join();
            end(second, now(recording), true);
            program.commit();
            settle(recording, "CompleteCommit");
            look(cluster, recording);
            program.begin();
            program.send(0, "to whom a marker comes");
            program.send(1, "to whom none comes");
            TransactionDescription before = now(recording);
            layout.stop(cluster, 1);
            program.commit();
            end(third, before, true);
            layout.lead(TRANSACTIONS, List.of(2, 3, 1));
            end(third, before, true);
            end(second, before, true);
            layout.start(cluster, 1);
            settle(recording, "CompleteCommit");
            end(second, before, true);
            end(second, before, false);
            look(cluster, recording);
            recording.call("app-consumer", "close", Map.of(), consumer::close);
        }
    }

    private static void markersAcrossBrokers(Cluster cluster, Layout layout, Recording recording) throws Exception {
        layout.topics(Map.of("src", List.of(List.of(1, 2, 3)), "output-A",
            List.of(List.of(1, 2, 3), List.of(2, 3, 1), List.of(3, 1, 2), List.of(3, 2, 1))));
        Clients.fill(cluster, recording, 0, 4);
        recording.awaitCoordinators(ID, GROUP);
        recording.watch(ID);
        try (KafkaProducer<String, String> producer = producer(cluster, Map.of());
             KafkaConsumer<String, String> consumer = member(cluster)) {
            Program program = new Program(recording, producer);
            program.init();
            recording.call("app-consumer", "subscribe", Map.of("topics", List.of("src")),
                () -> consumer.subscribe(List.of("src")));
            for (boolean commits : List.of(true, false)) {
                program.begin();
                for (int partition = 0; partition < 4; partition++) {
                    program.send(partition, (commits ? "kept-" : "dropped-") + partition);
                }
                program.pass(consumer);
                if (commits) {
                    program.commit();
                } else {
                    program.abort();
                }
                settle(recording, commits ? "CompleteCommit" : "CompleteAbort");
                look(cluster, recording);
            }
            recording.call("app-consumer", "close", Map.of(), consumer::close);
        }
    }

    private static void minInsyncReplicas(Cluster cluster, Layout layout, Recording recording) throws Exception {
        layout.topics(Map.of());
        layout.needing(2, "output-A", List.of(List.of(1, 2)));
        recording.awaitCoordinators(ID, null);
        recording.watch(ID);
        Map<String, String> impatient = Map.of("delivery.timeout.ms", "1500", "request.timeout.ms", "1000",
            "retry.backoff.ms", "200");
        try (KafkaProducer<String, String> producer = producer(cluster, impatient);
             ByHand hand = new ByHand(recording, "by-hand", cluster.address(1))) {
            Program program = new Program(recording, producer);
            program.init();
            program.begin();
            program.send(0, "one");
            layout.stop(cluster, 2);
            produce(hand, recording, 1, "one replica is not enough");
            program.send(0, "which is tried until it is too late");
            program.abort();
            look(cluster, recording);
            layout.start(cluster, 2);
            settle(recording, "CompleteAbort");
            look(cluster, recording);
            program.begin();
            program.send(0, "two");
            program.commit();
            settle(recording, "CompleteCommit");
            look(cluster, recording);
        }
    }

    // -- clients ------------------------------------------------------------------------------------

    private static KafkaProducer<String, String> producer(Cluster cluster, Map<String, String> more) {
        Map<String, String> settings = new HashMap<>(Map.of(
            "transactional.id", ID, "transaction.timeout.ms", "60000", "linger.ms", "0"));
        settings.putAll(more);
        return Clients.producer(cluster, "producer-1", settings);
    }

    private static KafkaConsumer<String, String> member(Cluster cluster) {
        return Clients.consumer(cluster, "app-consumer", Map.of("group.id", GROUP, "group.protocol", "consumer",
            "isolation.level", "read_committed", "max.poll.records", "2"));
    }

    /** A producer's calls, each of them noted. */
    private record Program(Recording recording, KafkaProducer<String, String> producer) {

        private static final String NAME = "producer-1";

        void init() throws Exception {
            recording.call(NAME, "initTransactions", Map.of(), producer::initTransactions);
        }

        void begin() throws Exception {
            recording.call(NAME, "beginTransaction", Map.of(), producer::beginTransaction);
        }

        void commit() throws Exception {
            recording.call(NAME, "commitTransaction", Map.of(), producer::commitTransaction);
        }

        void abort() throws Exception {
            recording.call(NAME, "abortTransaction", Map.of(), producer::abortTransaction);
        }

        void send(int partition, String value) throws Exception {
            ProducerRecord<String, String> record = new ProducerRecord<>("output-A", partition, value, value);
            recording.call(NAME, "send", Clients.written(record), () -> producer.send(record).get(), Clients::place);
        }

        /** Reads two records, passes them on, and how far it has come. */
        void pass(KafkaConsumer<String, String> consumer) throws Exception {
            ConsumerRecords<String, String> found = recording.call("app-consumer", "poll",
                Map.of("max.poll.records", 2), () -> Clients.poll(consumer::poll, 20), Clients::seen);
            Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
            Map<String, Object> offsets = new LinkedHashMap<>();
            for (ConsumerRecord<String, String> in : found) {
                send(0, in.value().replace("in-", "out-"));
                next.put(new TopicPartition(in.topic(), in.partition()), new OffsetAndMetadata(in.offset() + 1));
                offsets.put(in.topic() + "-" + in.partition(), in.offset() + 1);
            }
            recording.call(NAME, "sendOffsetsToTransaction", Map.of("group", GROUP, "offsets", offsets),
                () -> producer.sendOffsetsToTransaction(next, consumer.groupMetadata()));
        }
    }

    private static TransactionDescription now(Recording recording) throws Exception {
        return recording.observer().describeTransactions(List.of(ID)).description(ID).get();
    }

    private static void settle(Recording recording, String state) throws Exception {
        TransactionScenarios.settle(recording, ID, state);
    }

    /** Asks for a transaction every few milliseconds, as long as it is told. */
    private static Thread ask(ByHand hand, int duration) {
        Thread asking = new Thread(() -> {
            long end = System.currentTimeMillis() + duration;
            try {
                while (System.currentTimeMillis() < end) {
                    hand.ask(new DescribeTransactionsRequest.Builder(
                        new DescribeTransactionsRequestData().setTransactionalIds(List.of(ID))).build((short) 0));
                    Thread.sleep(1);
                }
            } catch (Exception problem) {
                throw new IllegalStateException(problem);
            }
        }, "asking");
        asking.start();
        return asking;
    }

    private static void end(ByHand hand, TransactionDescription known, boolean commits) throws Exception {
        hand.call(Map.of("producer_id", known.producerId(), "producer_epoch", known.producerEpoch(), "committed", commits),
            new EndTxnRequest.Builder(new EndTxnRequestData().setTransactionalId(ID).setProducerId(known.producerId())
                .setProducerEpoch((short) known.producerEpoch()).setCommitted(commits), true, true).build((short) 5));
    }

    /** A batch of the transactional id's present producer for output-A-0, sent to whoever is at the other end. */
    private static void produce(ByHand hand, Recording recording, int sequence, String value) throws Exception {
        TransactionDescription known = now(recording);
        Uuid topic = recording.observer().describeTopics(List.of("output-A")).allTopicNames().get()
            .get("output-A").topicId();
        MemoryRecords records = MemoryRecords.withTransactionalRecords(Compression.NONE, known.producerId(),
            (short) known.producerEpoch(), sequence, new SimpleRecord(value.getBytes()));
        var part = new ProduceRequestData.PartitionProduceData().setIndex(0).setRecords(records);
        var topics = new ProduceRequestData.TopicProduceDataCollection(List.of(
            new ProduceRequestData.TopicProduceData().setTopicId(topic).setPartitionData(List.of(part))).iterator());
        var data = new ProduceRequestData().setTransactionalId(ID).setAcks((short) -1).setTimeoutMs(5_000)
            .setTopicData(topics);
        hand.call(Map.of("partition", "output-A-0", "sequence", sequence),
            new ProduceRequest.Builder((short) 13, (short) 13, data).build((short) 13));
    }

    /** What a reader of committed records sees in output-A-0 from its beginning. */
    private static void look(Cluster cluster, Recording recording) throws Exception {
        Map<String, String> committed = Map.of("isolation.level", "read_committed");
        try (KafkaConsumer<String, String> consumer = Clients.consumer(cluster, "reader", committed)) {
            recording.call("reader", "readAll", Map.of("partition", "output-A-0"), () -> {
                consumer.assign(List.of(OUTPUT));
                consumer.seekToBeginning(List.of(OUTPUT));
                long end = consumer.endOffsets(List.of(OUTPUT)).get(OUTPUT);
                List<Object> found = new ArrayList<>();
                for (int i = 0; i < 20 && consumer.position(OUTPUT) < end; i++) {
                    found.addAll(Clients.seen(consumer.poll(Clients.WAIT)));
                }
                return found;
            }, found -> found);
        }
    }
}
