package kipviz.recorder;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Groups of the consumer protocol: members that come and go, and members of yesterday in a transaction. */
final class GroupScenarios {

    private static final String ID = "my-txn";
    private static final String GROUP = "my-group-4";
    private static final TopicPartition SOURCE = new TopicPartition("src", 0);

    private GroupScenarios() {
    }

    static List<Scenario> all() {
        return List.of(
            new Scenario("members",
                "Three members share three partitions, commit offsets, and leave one after the other.",
                Map.of("group.consumer.min.heartbeat.interval.ms", "500",
                    "group.consumer.heartbeat.interval.ms", "500"),
                GroupScenarios::members),
            new Scenario("zombie",
                "A transaction is to commit offsets for a member that is gone, for an old epoch, and for nobody.",
                Map.of(), GroupScenarios::zombie));
    }

    private static void members(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, 3, "src");
        recording.awaitCoordinators(null, GROUP);
        Map<String, KafkaConsumer<String, String>> all = new TreeMap<>();
        try {
            for (int count = 1; count <= 3; count++) {
                String name = "member-" + count;
                KafkaConsumer<String, String> consumer = member(broker, name);
                all.put(name, consumer);
                recording.call(name, "subscribe", Map.of("topics", List.of("src")),
                    () -> consumer.subscribe(List.of("src")));
                share(recording, all);
                commit(recording, name, consumer);
            }
            recording.call("admin", "alterConsumerGroupOffsets", Map.of("group", GROUP, "src-0", 7),
                () -> recording.observer()
                    .alterConsumerGroupOffsets(GROUP, Map.of(SOURCE, new OffsetAndMetadata(7))).all().get());
            for (String name : List.of("member-2", "member-1", "member-3")) {
                KafkaConsumer<String, String> gone = all.remove(name);
                recording.call(name, "close", Map.of(), () -> gone.close());
                share(recording, all);
            }
            recording.call("admin", "alterConsumerGroupOffsets", Map.of("group", GROUP, "src-0", 7),
                () -> recording.observer()
                    .alterConsumerGroupOffsets(GROUP, Map.of(SOURCE, new OffsetAndMetadata(7))).all().get());
        } finally {
            all.values().forEach(KafkaConsumer::close);
        }
    }

    /** Lets all members poll in turn until every partition has one owner and nothing moves any more. */
    private static void share(Recording recording, Map<String, KafkaConsumer<String, String>> all) throws Exception {
        Map<String, Object> owned = new TreeMap<>();
        int still = 0;
        for (int round = 0; round < 60 && still < 8 && !all.isEmpty(); round++) {
            Map<String, Object> now = new TreeMap<>();
            Set<TopicPartition> taken = new java.util.HashSet<>();
            for (var entry : all.entrySet()) {
                entry.getValue().poll(Duration.ofMillis(100));
                Set<String> names = new TreeSet<>();
                entry.getValue().assignment().forEach(p -> names.add(p.toString()));
                taken.addAll(entry.getValue().assignment());
                now.put(entry.getKey(), List.copyOf(names));
            }
            boolean same = now.equals(owned) && taken.size() == 3
                && now.values().stream().noneMatch(List.of()::equals);
            still = same ? still + 1 : 0;
            owned = now;
        }
        Map<String, Object> shared = owned;
        recording.call("observer", "assignments", Map.of(), () -> shared, found -> found);
    }

    private static void commit(Recording recording, String name, KafkaConsumer<String, String> consumer)
            throws Exception {
        Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
        consumer.assignment().forEach(p -> next.put(p, new OffsetAndMetadata(3)));
        Map<String, Object> told = new TreeMap<>();
        next.forEach((p, offset) -> told.put(p.toString(), offset.offset()));
        recording.call(name, "commitSync", Map.of("offsets", told), () -> consumer.commitSync(next));
    }

    private static void zombie(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        Clients.fill(broker, recording, 0, 4);
        recording.awaitCoordinators(ID, GROUP);
        recording.watch(ID);
        try (KafkaProducer<String, String> producer = Clients.producer(broker, "app-producer",
                 Map.of("transactional.id", ID, "linger.ms", "0"));
             KafkaConsumer<String, String> young = member(broker, "member-2")) {
            ConsumerGroupMetadata gone;
            try (KafkaConsumer<String, String> old = member(broker, "member-1")) {
                join(recording, "member-1", old);
                gone = old.groupMetadata();
                recording.call("member-1", "close", Map.of(), () -> old.close());
            }
            join(recording, "member-2", young);
            ConsumerGroupMetadata now = young.groupMetadata();
            recording.call("app-producer", "initTransactions", Map.of(), producer::initTransactions);
            refused(recording, producer, gone);
            refused(recording, producer, new ConsumerGroupMetadata(
                GROUP, now.generationId() - 1, now.memberId(), Optional.empty()));
            refused(recording, producer, new ConsumerGroupMetadata(
                GROUP, now.generationId() + 5, now.memberId(), Optional.empty()));
            stage(recording, producer, now, 1);
            recording.call("member-2", "committed", Map.of("partition", "src-0", "timeout.ms", 1500),
                () -> young.committed(Set.of(SOURCE), Duration.ofMillis(1500)));
            recording.call("app-producer", "commitTransaction", Map.of(), producer::commitTransaction);
            TransactionScenarios.settle(recording, ID, "CompleteCommit");
            recording.call("member-2", "committed", Map.of("partition", "src-0"),
                () -> young.committed(Set.of(SOURCE)), found -> Map.of("src-0", found.get(SOURCE).offset()));
            stage(recording, producer, new ConsumerGroupMetadata(GROUP), 2);
            recording.call("app-producer", "commitTransaction", Map.of(), producer::commitTransaction);
            TransactionScenarios.settle(recording, ID, "CompleteCommit");
            recording.call("member-2", "close", Map.of(), () -> young.close());
        }
    }

    private static void refused(
            Recording recording, KafkaProducer<String, String> producer, ConsumerGroupMetadata group)
            throws Exception {
        stage(recording, producer, group, 1);
        recording.call("app-producer", "abortTransaction", Map.of(), producer::abortTransaction);
        TransactionScenarios.settle(recording, ID, "CompleteAbort");
    }

    private static void stage(
            Recording recording, KafkaProducer<String, String> producer, ConsumerGroupMetadata group, long next)
            throws Exception {
        recording.call("app-producer", "beginTransaction", Map.of(), producer::beginTransaction);
        ProducerRecord<String, String> record = new ProducerRecord<>("output-A", 0, "k", "out-" + next);
        recording.call("app-producer", "send", Clients.written(record),
            () -> producer.send(record).get(), Clients::place);
        Map<String, Object> arguments = Map.of("offsets", Map.of("src-0", next), "group", group.groupId(),
            "member", group.memberId(), "generation", group.generationId());
        recording.call("app-producer", "sendOffsetsToTransaction", arguments,
            () -> producer.sendOffsetsToTransaction(Map.of(SOURCE, new OffsetAndMetadata(next)), group));
    }

    private static void join(Recording recording, String name, KafkaConsumer<String, String> consumer)
            throws Exception {
        recording.call(name, "subscribe", Map.of("topics", List.of("src")), () -> consumer.subscribe(List.of("src")));
        recording.call(name, "poll", Map.of(), () -> Clients.poll(consumer::poll, 20), Clients::seen);
    }

    private static KafkaConsumer<String, String> member(Broker broker, String name) {
        return Clients.consumer(broker, name, Map.of(
            "group.id", GROUP, "group.protocol", "consumer", "isolation.level", "read_committed"));
    }
}
