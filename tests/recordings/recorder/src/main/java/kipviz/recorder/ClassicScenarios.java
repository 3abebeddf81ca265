package kipviz.recorder;

import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;

/** Groups of the classic protocol: generations, members that come and go, and members with a name of their own. */
final class ClassicScenarios {

    private static final String ID = "my-txn";
    private static final String GROUP = "my-group-4";
    private static final String YOUNG_GROUP = "my-group-5";
    private static final int PARTITIONS = 3;

    private ClassicScenarios() {
    }

    static List<Scenario> all() {
        return List.of(
            new Scenario("classic-members",
                "The classic protocol: two members, a rebalance, offsets in transactions of two generations, both leave.",
                Map.of(), ClassicScenarios::members),
            new Scenario("classic-static",
                "Members with a group.instance.id: one is started again, one is fenced, one is removed, one never returns.",
                Map.of(), ClassicScenarios::named),
            new Scenario("groups-restart",
                "The broker restarts under a group of the classic protocol and one of KIP-848: both go on from the log.",
                Map.of(), ClassicScenarios::restarted));
    }

    private static void restarted(Broker broker, Recording recording) throws Exception {
        start(recording);
        recording.awaitCoordinators(null, YOUNG_GROUP);
        Map<String, KafkaConsumer<String, String>> classic = new TreeMap<>();
        Map<String, KafkaConsumer<String, String>> young = new TreeMap<>();
        Map<String, String> newer = Map.of("group.id", YOUNG_GROUP, "group.protocol", "consumer",
            "isolation.level", "read_committed");
        try {
            join(broker, recording, classic, "member-1", Map.of());
            join(broker, recording, classic, "member-2", Map.of());
            commit(recording, "member-1", classic.get("member-1"), 3);
            young.put("member-3", Clients.consumer(broker, "member-3", newer));
            recording.call("member-3", "subscribe", Map.of("topics", List.of("src")),
                () -> young.get("member-3").subscribe(List.of("src")));
            share(recording, young);
            commit(recording, "member-3", young.get("member-3"), 4);
            recording.call("broker", "restart", Map.of(), broker::restart);
            share(recording, classic);
            share(recording, young);
            commit(recording, "member-2", classic.get("member-2"), 5);
            commit(recording, "member-3", young.get("member-3"), 6);
            leave(recording, classic, "member-1");
            share(recording, classic);
        } finally {
            classic.values().forEach(KafkaConsumer::close);
            young.values().forEach(KafkaConsumer::close);
        }
    }

    private static void members(Broker broker, Recording recording) throws Exception {
        start(recording);
        recording.watch(ID);
        Map<String, KafkaConsumer<String, String>> all = new TreeMap<>();
        try (KafkaProducer<String, String> producer = Clients.producer(broker, "app-producer",
                 Map.of("transactional.id", ID, "linger.ms", "0"))) {
            recording.call("app-producer", "initTransactions", Map.of(), producer::initTransactions);
            join(broker, recording, all, "member-1", Map.of());
            ConsumerGroupMetadata before = all.get("member-1").groupMetadata();
            commit(recording, "member-1", all.get("member-1"), 3);
            join(broker, recording, all, "member-2", Map.of());
            commit(recording, "member-2", all.get("member-2"), 4);
            stage(recording, producer, before, 5);
            recording.call("app-producer", "abortTransaction", Map.of(), producer::abortTransaction);
            TransactionScenarios.settle(recording, ID, "CompleteAbort");
            stage(recording, producer, all.get("member-1").groupMetadata(), 6);
            recording.call("app-producer", "commitTransaction", Map.of(), producer::commitTransaction);
            TransactionScenarios.settle(recording, ID, "CompleteCommit");
            leave(recording, all, "member-2");
            share(recording, all);
            leave(recording, all, "member-1");
        } finally {
            all.values().forEach(KafkaConsumer::close);
        }
    }

    private static void named(Broker broker, Recording recording) throws Exception {
        start(recording);
        Map<String, KafkaConsumer<String, String>> all = new TreeMap<>();
        KafkaConsumer<String, String> fenced = null;
        try {
            join(broker, recording, all, "member-1", Map.of("group.instance.id", "one"));
            join(broker, recording, all, "member-2", Map.of("group.instance.id", "two"));
            leave(recording, all, "member-2");
            join(broker, recording, all, "member-2", Map.of("group.instance.id", "two"));
            commit(recording, "member-2", all.get("member-2"), 3);
            fenced = all.remove("member-2");
            join(broker, recording, all, "member-3", Map.of("group.instance.id", "two"));
            KafkaConsumer<String, String> old = fenced;
            recording.call("member-2", "poll", Map.of(), () -> Clients.poll(old::poll, 5), Clients::seen);
            leave(recording, all, "member-3");
            remove(broker, recording, "two");
            share(recording, all);
            join(broker, recording, all, "member-4", Map.of("group.instance.id", "two"));
            leave(recording, all, "member-4");
            recording.call("observer", "sleep", Map.of("ms", 7000), () -> {
                for (int i = 0; i < 70; i++) {
                    all.get("member-1").poll(Duration.ofMillis(100));
                }
            });
            share(recording, all);
        } finally {
            all.values().forEach(KafkaConsumer::close);
            if (fenced != null) {
                fenced.close();
            }
        }
    }

    private static void remove(Broker broker, Recording recording, String name) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", broker.address, "client.id", "operator");
        try (Admin operator = Admin.create(settings)) {
            recording.call("operator", "removeMembersFromConsumerGroup", Map.of("group", GROUP, "instance", name),
                () -> operator.removeMembersFromConsumerGroup(GROUP,
                    new RemoveMembersFromConsumerGroupOptions(List.of(new MemberToRemove(name)))).all().get());
        }
    }

    private static void start(Recording recording) throws Exception {
        Clients.topics(recording, PARTITIONS, "src");
        recording.awaitCoordinators(ID, GROUP);
    }

    private static void join(
            Broker broker, Recording recording, Map<String, KafkaConsumer<String, String>> all, String name,
            Map<String, String> more) throws Exception {
        Map<String, String> settings = new HashMap<>(Map.of(
            "group.id", GROUP, "group.protocol", "classic", "isolation.level", "read_committed",
            "heartbeat.interval.ms", "500", "session.timeout.ms", "6000", "max.poll.interval.ms", "20000"));
        settings.putAll(more);
        KafkaConsumer<String, String> consumer = Clients.consumer(broker, name, settings);
        all.put(name, consumer);
        recording.call(name, "subscribe", Map.of("topics", List.of("src")), () -> consumer.subscribe(List.of("src")));
        share(recording, all);
    }

    private static void leave(Recording recording, Map<String, KafkaConsumer<String, String>> all, String name)
            throws Exception {
        KafkaConsumer<String, String> gone = all.remove(name);
        recording.call(name, "close", Map.of(), () -> gone.close());
    }

    /** Lets all members poll in turn until every partition has one owner and nothing moves any more. */
    static void share(Recording recording, Map<String, KafkaConsumer<String, String>> all) throws Exception {
        Map<String, Object> owned = new TreeMap<>();
        int still = 0;
        for (int round = 0; round < 100 && still < 8; round++) {
            Map<String, Object> now = new TreeMap<>();
            Set<TopicPartition> taken = new HashSet<>();
            for (var entry : all.entrySet()) {
                entry.getValue().poll(Duration.ofMillis(100));
                Set<String> names = new TreeSet<>();
                entry.getValue().assignment().forEach(p -> names.add(p.toString()));
                taken.addAll(entry.getValue().assignment());
                now.put(entry.getKey(), List.copyOf(names));
            }
            boolean same = now.equals(owned) && now.values().stream().noneMatch(List.of()::equals);
            still = same && !taken.isEmpty() ? still + 1 : 0;
            owned = now;
        }
        Map<String, Object> shared = owned;
        recording.call("observer", "assignments", Map.of(), () -> shared, found -> found);
    }

    private static void commit(
            Recording recording, String name, KafkaConsumer<String, String> consumer, long offset) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
        consumer.assignment().forEach(p -> next.put(p, new OffsetAndMetadata(offset)));
        Map<String, Object> told = new TreeMap<>();
        next.forEach((p, at) -> told.put(p.toString(), at.offset()));
        recording.call(name, "commitSync", Map.of("offsets", told), () -> consumer.commitSync(next));
    }

    private static void stage(
            Recording recording, KafkaProducer<String, String> producer, ConsumerGroupMetadata group, long next)
            throws Exception {
        recording.call("app-producer", "beginTransaction", Map.of(), producer::beginTransaction);
        Map<String, Object> arguments = Map.of("offsets", Map.of("src-0", next), "group", group.groupId(),
            "member", group.memberId(), "generation", group.generationId());
        recording.call("app-producer", "sendOffsetsToTransaction", arguments,
            () -> producer.sendOffsetsToTransaction(
                Map.of(new TopicPartition("src", 0), new OffsetAndMetadata(next)), group));
    }
}
