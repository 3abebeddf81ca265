package kipviz.recorder;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.Uuid;

/** Three brokers: leaders and coordinators that move, markers between brokers, replicas that are missing. */
final class ClusterScenarios {

    private static final int BROKERS = 3;
    private static final String ID = "my-txn";
    private static final TopicPartition OUTPUT = new TopicPartition("output-A", 0);

    private ClusterScenarios() {
    }

    static List<Scenario> all() {
        return List.of(
            of("leader-move",
                "A partition gets another leader while a transaction is open, by an election and by a stop.",
                Map.of(), ClusterScenarios::leaderMove));
    }

    private static Scenario of(String name, String sentence, Map<String, String> settings, Body body) {
        return new Scenario(name, sentence, settings, Map.of(), List.of(),
            (home, scenario) -> new Cluster(home, scenario, BROKERS),
            (broker, recording) -> body.run((Cluster) broker, recording));
    }

    private static void leaderMove(Cluster cluster, Recording recording) throws Exception {
        topics(recording, "output-A", List.of(List.of(1, 2, 3)));
        recording.awaitCoordinators(ID, null);
        recording.watch(ID);
        try (KafkaProducer<String, String> producer = producer(cluster, "producer-1");
             ByHand zombie = new ByHand(recording, "zombie", cluster.address(1))) {
            recording.call("producer-1", "initTransactions", Map.of(), producer::initTransactions);
            recording.call("producer-1", "beginTransaction", Map.of(), producer::beginTransaction);
            send(recording, producer, 0, "one");
            lead(recording, OUTPUT, List.of(2, 1, 3));
            produce(zombie, recording, 0, 1, "of a zombie");
            send(recording, producer, 0, "two");
            recording.call("producer-1", "commitTransaction", Map.of(), producer::commitTransaction);
            TransactionScenarios.settle(recording, ID, "CompleteCommit");
            look(cluster, recording);
            recording.call("producer-1", "beginTransaction", Map.of(), producer::beginTransaction);
            send(recording, producer, 0, "three");
            stop(cluster, recording, 2);
            send(recording, producer, 0, "four");
            recording.call("producer-1", "abortTransaction", Map.of(), producer::abortTransaction);
            TransactionScenarios.settle(recording, ID, "CompleteAbort");
            start(cluster, recording, 2);
            look(cluster, recording);
        }
    }

    // -- clients ------------------------------------------------------------------------------------

    private static KafkaProducer<String, String> producer(Cluster cluster, String name) {
        return Clients.producer(cluster, name, Map.of(
            "transactional.id", ID, "transaction.timeout.ms", "60000", "linger.ms", "0"));
    }

    private static void send(Recording recording, KafkaProducer<String, String> producer, int partition, String value)
            throws Exception {
        ProducerRecord<String, String> record = new ProducerRecord<>("output-A", partition, value, value);
        recording.call("producer-1", "send", Clients.written(record), () -> producer.send(record).get(), Clients::place);
    }

    /** A batch of the transactional id's present producer, sent to whoever is at the other end. */
    private static void produce(ByHand hand, Recording recording, int partition, int sequence, String value)
            throws Exception {
        var known = recording.observer().describeTransactions(List.of(ID)).description(ID).get();
        Uuid topic = recording.observer().describeTopics(List.of("output-A")).allTopicNames().get()
            .get("output-A").topicId();
        MemoryRecords records = MemoryRecords.withTransactionalRecords(Compression.NONE, known.producerId(),
            (short) known.producerEpoch(), sequence, new SimpleRecord(value.getBytes()));
        var part = new ProduceRequestData.PartitionProduceData().setIndex(partition).setRecords(records);
        var topics = new ProduceRequestData.TopicProduceDataCollection(List.of(
            new ProduceRequestData.TopicProduceData().setTopicId(topic).setPartitionData(List.of(part))).iterator());
        var data = new ProduceRequestData().setTransactionalId(ID).setAcks((short) -1).setTimeoutMs(5_000)
            .setTopicData(topics);
        hand.call(Map.of("partition", "output-A-" + partition, "sequence", sequence),
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

    // -- the cluster ----------------------------------------------------------------------------------

    /** Makes the internal topics where every recording has them, and one more: replicas per partition. */
    private static void topics(Recording recording, String name, List<List<Integer>> replicas) throws Exception {
        List<List<Integer>> all = List.of(List.of(1, 2, 3), List.of(2, 3, 1), List.of(3, 1, 2));
        List<NewTopic> wanted = new ArrayList<>();
        for (String internal : List.of("__transaction_state", "__consumer_offsets", "__share_group_state")) {
            wanted.add(topic(internal, all).configs(Map.of(
                "cleanup.policy", internal.equals("__share_group_state") ? "delete" : "compact",
                "min.insync.replicas", "2")));
        }
        wanted.add(topic(name, replicas));
        recording.observer().createTopics(wanted).all().get();
    }

    private static NewTopic topic(String name, List<List<Integer>> replicas) {
        Map<Integer, List<Integer>> placed = new HashMap<>();
        for (int i = 0; i < replicas.size(); i++) {
            placed.put(i, replicas.get(i));
        }
        return new NewTopic(name, placed);
    }

    /** Makes the first of the replicas the leader. */
    private static void lead(Recording recording, TopicPartition partition, List<Integer> replicas) throws Exception {
        Map<String, Object> arguments = new LinkedHashMap<>();
        arguments.put("partition", partition.toString());
        arguments.put("replicas", replicas);
        recording.call("admin", "electLeaders", arguments, () -> {
            recording.observer().alterPartitionReassignments(
                Map.of(partition, Optional.of(new NewPartitionReassignment(replicas)))).all().get();
            recording.observer().electLeaders(ElectionType.PREFERRED, Set.of(partition)).all().get();
        });
    }

    private static void stop(Cluster cluster, Recording recording, int broker) throws Exception {
        recording.call("cluster", "stopBroker", Map.of("broker", broker), () -> cluster.stop(broker));
    }

    private static void start(Cluster cluster, Recording recording, int broker) throws Exception {
        recording.call("cluster", "startBroker", Map.of("broker", broker), () -> cluster.start(broker));
    }

    interface Body {
        void run(Cluster cluster, Recording recording) throws Exception;
    }
}
