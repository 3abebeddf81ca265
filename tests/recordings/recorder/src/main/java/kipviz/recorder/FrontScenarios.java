package kipviz.recorder;

import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.protocol.ApiKeys;

/** What goes from a log: records from its front, offsets that nobody needs any more, states that are written again. */
final class FrontScenarios {

    private static final String ID = "my-txn";
    private static final String GROUP = "my-group-4";
    private static final String SHARE_GROUP = "g1";
    private static final TopicPartition SOURCE = new TopicPartition("src", 0);
    private static final TopicPartition OUTPUT = new TopicPartition("output-A", 0);

    private FrontScenarios() {
    }

    static List<Scenario> all() {
        return List.of(
            new Scenario("deleted-records",
                "An operator deletes records from the front of a log: below readers, a share group, a transaction.",
                Map.of(), FrontScenarios::deleted),
            new Scenario("expired-offsets",
                "Offsets that nobody commits again expire after a minute, unless somebody is in the group.",
                Map.of("offsets.retention.minutes", "1", "offsets.retention.check.interval.ms", "1000"),
                FrontScenarios::expired),
            new Scenario("pruned-shares",
                "A share coordinator writes snapshots and deletes what is before all of them.",
                Map.of("share.coordinator.state.topic.prune.interval.ms", "1000",
                    "share.coordinator.snapshot.update.records.per.snapshot", "2"),
                FrontScenarios::pruned));
    }

    // -- deleted-records -----------------------------------------------------------------------------

    private static void deleted(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(ID, SHARE_GROUP);
        Clients.fill(broker, recording, 0, 6);
        Clients.groupSetting(recording, SHARE_GROUP, Map.of("share.auto.offset.reset", "earliest"));
        recording.watch(ID);
        try (Admin operator = Admin.create(Map.of("bootstrap.servers", broker.address, "client.id", "operator"));
             ByHand hand = new ByHand(broker, recording, "by-hand");
             KafkaProducer<String, String> producer = Clients.producer(broker, "producer-1",
                 Map.of("transactional.id", ID, "linger.ms", "0"))) {
            Asking asking = new Asking(recording, hand);
            fetch(asking, "src", 0);
            delete(recording, operator, SOURCE, 2);
            fetch(asking, "src", 0);
            fetch(asking, "src", 2);
            shares(broker, recording, operator);
            delete(recording, operator, SOURCE, 99);
            delete(recording, operator, SOURCE, -1);
            fetch(asking, "src", 5);
            fetch(asking, "src", 6);
            Clients.fill(broker, recording, 6, 1);
            fetch(asking, "src", 6);
            recording.call("producer-1", "initTransactions", Map.of(), producer::initTransactions);
            for (boolean commits : new boolean[] {false, true}) {
                transaction(recording, producer, operator, asking, commits);
            }
        }
    }

    /** A member holds records that an operator deletes. */
    private static void shares(Broker broker, Recording recording, Admin operator) throws Exception {
        try (KafkaShareConsumer<String, String> consumer =
                 Clients.shareConsumer(broker, "share-1", Map.of("group.id", SHARE_GROUP))) {
            ShareScenarios.join(recording, "share-1", consumer);
            var got = ShareScenarios.poll(recording, "share-1", consumer, 4);
            delete(recording, operator, SOURCE, 4);
            for (int i = 0; i < got.size(); i++) {
                AcknowledgeType type = i % 2 == 0 ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT;
                ShareScenarios.acknowledge(recording, "share-1", consumer, got.get(i), type);
            }
            ShareScenarios.commit(recording, "share-1", consumer);
            ShareScenarios.poll(recording, "share-1", consumer, 1);
            recording.call("share-1", "close", Map.of(), consumer::close);
        }
    }

    /** The first records of an open transaction go: its marker is still to come. */
    private static void transaction(
            Recording recording, KafkaProducer<String, String> producer, Admin operator, Asking asking, boolean commits)
            throws Exception {
        recording.call("producer-1", "beginTransaction", Map.of(), producer::beginTransaction);
        for (String value : List.of("one", "two")) {
            var record = new org.apache.kafka.clients.producer.ProducerRecord<>("output-A", 0, value, value);
            recording.call("producer-1", "send", Clients.written(record), () -> producer.send(record).get(),
                Clients::place);
        }
        long end = commits ? 4 : 1;
        delete(recording, operator, OUTPUT, end);
        fetch(asking, "output-A", (int) end);
        if (commits) {
            recording.call("producer-1", "commitTransaction", Map.of(), producer::commitTransaction);
        } else {
            recording.call("producer-1", "abortTransaction", Map.of(), producer::abortTransaction);
        }
        Asking.settle(recording, ID);
        fetch(asking, "output-A", (int) end);
    }

    private static void delete(Recording recording, Admin operator, TopicPartition partition, long before)
            throws Exception {
        recording.call("operator", "deleteRecords", Map.of("partition", partition.toString(), "before", before),
            () -> operator.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(before)))
                .lowWatermarks().get(partition).get().lowWatermark(), found -> found);
    }

    private static void fetch(Asking asking, String topic, int offset) throws Exception {
        for (byte isolation = 0; isolation < 2; isolation++) {
            asking.ask(ApiKeys.FETCH, 12, new FetchRequestData().setReplicaId(-1).setMaxWaitMs(0).setMinBytes(0)
                .setMaxBytes(100_000).setIsolationLevel(isolation).setSessionId(0).setSessionEpoch(0)
                .setTopics(List.of(new FetchRequestData.FetchTopic().setTopic(topic).setPartitions(List.of(
                    new FetchRequestData.FetchPartition().setPartition(0).setCurrentLeaderEpoch(-1)
                        .setFetchOffset(offset).setPartitionMaxBytes(100_000))))),
                "offset", offset, "isolation", (int) isolation);
        }
    }

    // -- expired-offsets -----------------------------------------------------------------------------

    private static void expired(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(null, GROUP);
        recording.awaitCoordinators(null, "my-group-5");
        Clients.fill(broker, recording, 0, 2);
        Map<String, String> settings = Map.of("group.id", GROUP, "group.protocol", "consumer");
        try (ByHand hand = new ByHand(broker, recording, "by-hand");
             KafkaConsumer<String, String> member = Clients.consumer(broker, "member-1", settings)) {
            Asking asking = new Asking(recording, hand);
            member.subscribe(List.of("src"));
            recording.call("member-1", "poll", Map.of(), () -> Clients.poll(member::poll, 10), Clients::seen);
            recording.call("member-1", "commitSync", Map.of("output-A-0", 1), () -> member.commitSync(Map.of(
                SOURCE, new OffsetAndMetadata(2), OUTPUT, new OffsetAndMetadata(1))));
            commit(asking, "my-group-5", "src");
            commit(asking, "my-group-5", "output-A");
            look(asking);
            recording.call("member-1", "poll", Map.of("ms", 50_000), () -> stay(member, 50_000));
            commit(asking, "my-group-5", "src");
            look(asking);
            recording.call("member-1", "poll", Map.of("ms", 15_000), () -> stay(member, 15_000));
            look(asking);
            recording.call("member-1", "close", Map.of(), () -> member.close());
            recording.call("observer", "sleep", Map.of("ms", 50_000), () -> Thread.sleep(50_000));
            look(asking);
            recording.call("observer", "sleep", Map.of("ms", 15_000), () -> Thread.sleep(15_000));
            look(asking);
        }
    }

    private static void stay(KafkaConsumer<String, String> member, int ms) {
        long until = System.currentTimeMillis() + ms;
        while (System.currentTimeMillis() < until) {
            member.poll(Clients.WAIT);
        }
    }

    private static void commit(Asking asking, String group, String topic) throws Exception {
        asking.ask(ApiKeys.OFFSET_COMMIT, 9, new OffsetCommitRequestData().setGroupId(group).setMemberId("")
            .setGenerationIdOrMemberEpoch(-1).setTopics(List.of(
                new OffsetCommitRequestData.OffsetCommitRequestTopic().setName(topic).setPartitions(List.of(
                    new OffsetCommitRequestData.OffsetCommitRequestPartition().setPartitionIndex(0)
                        .setCommittedOffset(1))))), "group", group, "topic", topic);
    }

    private static void look(Asking asking) throws Exception {
        for (String group : List.of(GROUP, "my-group-5")) {
            asking.ask(ApiKeys.OFFSET_FETCH, 9, new OffsetFetchRequestData().setRequireStable(true).setGroups(List.of(
                new OffsetFetchRequestData.OffsetFetchRequestGroup().setGroupId(group).setMemberId(null)
                    .setMemberEpoch(-1).setTopics(List.of("src", "output-A").stream().map(topic ->
                        new OffsetFetchRequestData.OffsetFetchRequestTopics().setName(topic)
                            .setPartitionIndexes(List.of(0))).toList()))), "group", group);
        }
    }

    // -- pruned-shares -------------------------------------------------------------------------------

    private static void pruned(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src");
        recording.awaitCoordinators(null, SHARE_GROUP);
        Clients.fill(broker, recording, 0, 8);
        Clients.groupSetting(recording, SHARE_GROUP, Map.of("share.auto.offset.reset", "earliest"));
        Map<String, String> settings = Map.of("group.id", SHARE_GROUP, "max.poll.records", "1",
            "share.acquire.mode", "record_limit");
        try (KafkaShareConsumer<String, String> consumer = Clients.shareConsumer(broker, "share-1", settings);
             ByHand hand = new ByHand(broker, recording, "by-hand")) {
            Asking asking = new Asking(recording, hand);
            ShareScenarios.join(recording, "share-1", consumer);
            for (int i = 0; i < 8; i++) {
                var got = ShareScenarios.poll(recording, "share-1", consumer, 1);
                for (var record : got) {
                    ShareScenarios.acknowledge(recording, "share-1", consumer, record, AcknowledgeType.ACCEPT);
                }
                ShareScenarios.commit(recording, "share-1", consumer);
                if (i % 3 == 2) {
                    recording.call("observer", "sleep", Map.of("ms", 2500), () -> Thread.sleep(2500));
                    states(recording, asking);
                }
            }
            recording.call("share-1", "close", Map.of(), consumer::close);
        }
    }

    /** Reads the topic of the share coordinator from its end: the answer says where it begins. */
    private static void states(Recording recording, Asking asking) throws Exception {
        var topic = recording.observer().describeTopics(List.of("__share_group_state")).allTopicNames().get()
            .get("__share_group_state");
        Map<TopicPartition, OffsetSpec> all = new java.util.HashMap<>();
        topic.partitions().forEach(p -> all.put(new TopicPartition(topic.name(), p.partition()), OffsetSpec.latest()));
        var ends = recording.observer().listOffsets(all).all().get();
        for (var each : ends.entrySet()) {
            if (each.getValue().offset() > 0) {
                asking.ask(ApiKeys.FETCH, 12, new FetchRequestData().setReplicaId(-1).setMaxWaitMs(0).setMinBytes(0)
                    .setMaxBytes(100_000).setSessionId(0).setSessionEpoch(0)
                    .setTopics(List.of(new FetchRequestData.FetchTopic().setTopic(topic.name()).setPartitions(List.of(
                        new FetchRequestData.FetchPartition().setPartition(each.getKey().partition())
                            .setCurrentLeaderEpoch(-1).setFetchOffset(each.getValue().offset())
                            .setPartitionMaxBytes(100_000))))), "partition", each.getKey().toString());
            }
        }
    }
}
