package kipviz.recorder;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.message.AddOffsetsToTxnRequestData;
import org.apache.kafka.common.message.AddPartitionsToTxnRequestData;
import org.apache.kafka.common.message.AlterShareGroupOffsetsRequestData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.DeleteGroupsRequestData;
import org.apache.kafka.common.message.DeleteShareGroupOffsetsRequestData;
import org.apache.kafka.common.message.DeleteShareGroupStateRequestData;
import org.apache.kafka.common.message.DescribeProducersRequestData;
import org.apache.kafka.common.message.DescribeShareGroupOffsetsRequestData;
import org.apache.kafka.common.message.DescribeTransactionsRequestData;
import org.apache.kafka.common.message.EndTxnRequestData;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FindCoordinatorRequestData;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.InitProducerIdRequestData;
import org.apache.kafka.common.message.InitializeShareGroupStateRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.ListTransactionsRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.ReadShareGroupStateRequestData;
import org.apache.kafka.common.message.ReadShareGroupStateSummaryRequestData;
import org.apache.kafka.common.message.ShareAcknowledgeRequestData;
import org.apache.kafka.common.message.ShareFetchRequestData;
import org.apache.kafka.common.message.ShareGroupDescribeRequestData;
import org.apache.kafka.common.message.ShareGroupHeartbeatRequestData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.TxnOffsetCommitRequestData;
import org.apache.kafka.common.message.WriteShareGroupStateRequestData;
import org.apache.kafka.common.message.WriteTxnMarkersRequestData;
import org.apache.kafka.common.protocol.ApiKeys;

/** Who may do what: the same requests with more and more rights, and clients that lose one. */
final class AclScenarios {

    private static final String APP = "app";
    private static final String ID = "my-txn";
    private static final String MEMBERS = "my-group-4";
    private static final String CLASSIC = "my-group-5";
    private static final String OFFSETS = "my-group-6";
    private static final String SHARE_GROUP = "g1";
    private static final List<String> TOPICS = List.of("src", "output-A");

    private AclScenarios() {
    }

    static List<Scenario> all() {
        return List.of(
            scenario("acls",
                "What brokers answer about transactions and groups to who has no rights, then some, then all, then is denied.",
                AclScenarios::byHand),
            scenario("acls-share",
                "What brokers answer about share groups to who has no rights, then some, then all, then is denied.",
                AclScenarios::shares),
            scenario("acls-clients",
                "A producer, a reader, a share consumer and an operator as they are delivered, without a right and with it.",
                AclScenarios::clients));
    }

    private static Scenario scenario(String name, String sentence, Scenario.Body body) {
        return new Scenario(name, sentence, Map.of(), Map.of(), List.of(APP), body);
    }

    // -- transactions and groups, by hand ------------------------------------------------------------

    private static void byHand(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        Clients.fill(broker, recording, 0, 2);
        recording.awaitCoordinators(ID, MEMBERS);
        recording.awaitCoordinators(null, CLASSIC);
        recording.awaitCoordinators(null, OFFSETS);
        recording.watch(ID);
        Wanted rights = new Wanted(recording, APP);
        try (ByHand hand = new ByHand(broker, recording, "by-hand", APP)) {
            Asking asking = new Asking(recording, hand);
            everything(recording, asking);
            rights.allow("DESCRIBE TRANSACTIONAL_ID " + ID, "DESCRIBE GROUP my-group-*", "DESCRIBE TOPIC src");
            everything(recording, asking);
            rights.allow("READ GROUP my-group-*");
            groups(asking, TOPICS);
            rights.allow("WRITE TRANSACTIONAL_ID " + ID, "READ TOPIC src", "WRITE TOPIC output-A");
            everything(recording, asking);
            rights.allow("WRITE TOPIC src", "READ TOPIC output-A", "DELETE GROUP my-group-*",
                "CLUSTER_ACTION CLUSTER kafka-cluster");
            everything(recording, asking);
            rights.deny("WRITE TOPIC output-A", "READ GROUP " + MEMBERS, "DESCRIBE TRANSACTIONAL_ID my-*");
            rights.takeAway(AclPermissionType.ALLOW, "CLUSTER_ACTION CLUSTER kafka-cluster");
            rights.allow("ALTER CLUSTER kafka-cluster");
            everything(recording, asking);
        }
    }

    private static void everything(Recording recording, Asking asking) throws Exception {
        coordinators(asking);
        transactions(recording, asking);
        groups(asking, List.of("src"));
        classic(asking);
        operators(recording, asking);
    }

    private static void coordinators(Asking asking) throws Exception {
        for (int kind = 0; kind < 3; kind++) {
            String key = List.of(MEMBERS, ID, SHARE_GROUP + ":" + Uuid.ONE_UUID + ":0").get(kind);
            asking.ask(ApiKeys.FIND_COORDINATOR, 6, new FindCoordinatorRequestData().setKeyType((byte) kind)
                .setCoordinatorKeys(List.of(key)), "key", key);
        }
    }

    private static void transactions(Recording recording, Asking asking) throws Exception {
        for (String id : new String[] {null, ID}) {
            asking.ask(ApiKeys.INIT_PRODUCER_ID, 5, new InitProducerIdRequestData().setTransactionalId(id)
                .setTransactionTimeoutMs(60_000), "id", String.valueOf(id));
        }
        Asking.settle(recording, ID);
        var as = Asking.now(recording, ID);
        asking.produce(null, new Asking.Producer(-1, (short) -1), -1, TOPICS, "plain");
        add(asking, as, TOPICS);
        add(asking, as, List.of("output-A"));
        verify(asking, as);
        asking.produce(ID, as, 0, List.of("output-A"), "in a transaction");
        asking.ask(ApiKeys.ADD_OFFSETS_TO_TXN, 4, new AddOffsetsToTxnRequestData().setTransactionalId(ID)
            .setProducerId(as.id()).setProducerEpoch(as.epoch()).setGroupId(OFFSETS));
        stage(asking, as, OFFSETS);
        stage(asking, as, MEMBERS);
        describe(asking);
        asking.ask(ApiKeys.END_TXN, 4, new EndTxnRequestData().setTransactionalId(ID).setProducerId(as.id())
            .setProducerEpoch(as.epoch()).setCommitted(true));
        Asking.settle(recording, ID);
    }

    private static void add(Asking asking, Asking.Producer as, List<String> topics) throws Exception {
        var all = new AddPartitionsToTxnRequestData.AddPartitionsToTxnTopicCollection();
        topics.forEach(topic -> all.add(new AddPartitionsToTxnRequestData.AddPartitionsToTxnTopic()
            .setName(topic).setPartitions(List.of(0))));
        asking.ask(ApiKeys.ADD_PARTITIONS_TO_TXN, 3, new AddPartitionsToTxnRequestData()
            .setV3AndBelowTransactionalId(ID).setV3AndBelowProducerId(as.id()).setV3AndBelowProducerEpoch(as.epoch())
            .setV3AndBelowTopics(all), "topics", topics);
    }

    private static void verify(Asking asking, Asking.Producer as) throws Exception {
        var topics = new AddPartitionsToTxnRequestData.AddPartitionsToTxnTopicCollection();
        topics.add(new AddPartitionsToTxnRequestData.AddPartitionsToTxnTopic().setName("output-A")
            .setPartitions(List.of(0)));
        var all = new AddPartitionsToTxnRequestData.AddPartitionsToTxnTransactionCollection();
        all.add(new AddPartitionsToTxnRequestData.AddPartitionsToTxnTransaction().setTransactionalId(ID)
            .setProducerId(as.id()).setProducerEpoch(as.epoch()).setVerifyOnly(true).setTopics(topics));
        asking.ask(ApiKeys.ADD_PARTITIONS_TO_TXN, 5, new AddPartitionsToTxnRequestData().setTransactions(all));
    }

    private static void stage(Asking asking, Asking.Producer as, String group) throws Exception {
        var topics = TOPICS.stream().map(topic -> new TxnOffsetCommitRequestData.TxnOffsetCommitRequestTopic()
            .setName(topic).setPartitions(List.of(new TxnOffsetCommitRequestData.TxnOffsetCommitRequestPartition()
                .setPartitionIndex(0).setCommittedOffset(1)))).toList();
        asking.ask(ApiKeys.TXN_OFFSET_COMMIT, 4, new TxnOffsetCommitRequestData().setTransactionalId(ID)
            .setGroupId(group).setProducerId(as.id()).setProducerEpoch(as.epoch()).setTopics(topics), "group", group);
    }

    private static void describe(Asking asking) throws Exception {
        asking.ask(ApiKeys.LIST_TRANSACTIONS, 2, new ListTransactionsRequestData());
        asking.ask(ApiKeys.DESCRIBE_TRANSACTIONS, 0,
            new DescribeTransactionsRequestData().setTransactionalIds(List.of(ID, "nobody")));
        var topics = new DescribeProducersRequestData.TopicRequestCollection();
        TOPICS.forEach(topic -> topics.add(
            new DescribeProducersRequestData.TopicRequest().setName(topic).setPartitionIndexes(List.of(0))));
        asking.ask(ApiKeys.DESCRIBE_PRODUCERS, 0, new DescribeProducersRequestData().setTopics(topics));
    }

    private static void groups(Asking asking, List<String> subscribed) throws Exception {
        asking.ask(ApiKeys.CONSUMER_GROUP_HEARTBEAT, 1, new ConsumerGroupHeartbeatRequestData().setGroupId(MEMBERS)
            .setMemberId("m-1").setMemberEpoch(0).setRebalanceTimeoutMs(20_000).setSubscribedTopicNames(subscribed)
            .setTopicPartitions(List.of()), "topics", subscribed);
        var offsets = TOPICS.stream().map(topic -> new OffsetCommitRequestData.OffsetCommitRequestTopic()
            .setName(topic).setPartitions(List.of(new OffsetCommitRequestData.OffsetCommitRequestPartition()
                .setPartitionIndex(0).setCommittedOffset(1)))).toList();
        asking.ask(ApiKeys.OFFSET_COMMIT, 9, new OffsetCommitRequestData().setGroupId(OFFSETS).setMemberId("")
            .setGenerationIdOrMemberEpoch(-1).setTopics(offsets));
        asking.ask(ApiKeys.OFFSET_FETCH, 9, new OffsetFetchRequestData().setRequireStable(true).setGroups(List.of(
            new OffsetFetchRequestData.OffsetFetchRequestGroup().setGroupId(OFFSETS).setMemberId(null)
                .setMemberEpoch(-1).setTopics(TOPICS.stream().map(topic ->
                    new OffsetFetchRequestData.OffsetFetchRequestTopics().setName(topic)
                        .setPartitionIndexes(List.of(0))).toList()))));
        var topics = TOPICS.stream().map(topic -> new FetchRequestData.FetchTopic().setTopic(topic)
            .setPartitions(List.of(new FetchRequestData.FetchPartition().setPartition(0).setCurrentLeaderEpoch(-1)
                .setFetchOffset(0).setPartitionMaxBytes(100_000)))).toList();
        asking.ask(ApiKeys.FETCH, 12, new FetchRequestData().setReplicaId(-1).setMaxWaitMs(0).setMinBytes(0)
            .setMaxBytes(100_000).setIsolationLevel((byte) 1).setSessionId(0).setSessionEpoch(0).setTopics(topics));
    }

    private static void classic(Asking asking) throws Exception {
        byte[] metadata = bytes(ConsumerProtocol.serializeSubscription(
            new ConsumerPartitionAssignor.Subscription(List.of("src"))));
        var protocols = new JoinGroupRequestData.JoinGroupRequestProtocolCollection();
        protocols.add(new JoinGroupRequestData.JoinGroupRequestProtocol().setName("range").setMetadata(metadata));
        asking.ask(ApiKeys.JOIN_GROUP, 9, new JoinGroupRequestData().setGroupId(CLASSIC).setMemberId("")
            .setProtocolType("consumer").setSessionTimeoutMs(10_000).setRebalanceTimeoutMs(10_000)
            .setProtocols(protocols));
        asking.ask(ApiKeys.SYNC_GROUP, 5, new SyncGroupRequestData().setGroupId(CLASSIC).setMemberId("nobody")
            .setGenerationId(1).setProtocolType("consumer").setProtocolName("range").setAssignments(List.of()));
        asking.ask(ApiKeys.HEARTBEAT, 4, new HeartbeatRequestData().setGroupId(CLASSIC).setMemberId("nobody")
            .setGenerationId(1));
        asking.ask(ApiKeys.LEAVE_GROUP, 5, new LeaveGroupRequestData().setGroupId(CLASSIC).setMembers(List.of(
            new LeaveGroupRequestData.MemberIdentity().setMemberId("nobody"))));
    }

    private static void operators(Recording recording, Asking asking) throws Exception {
        asking.ask(ApiKeys.DELETE_GROUPS, 2, new DeleteGroupsRequestData().setGroupsNames(List.of(OFFSETS, "nobody")));
        var as = Asking.now(recording, ID);
        asking.ask(ApiKeys.WRITE_TXN_MARKERS, 1, new WriteTxnMarkersRequestData().setMarkers(List.of(
            new WriteTxnMarkersRequestData.WritableTxnMarker().setProducerId(as.id()).setProducerEpoch(as.epoch())
                .setTransactionResult(false).setCoordinatorEpoch(0).setTopics(List.of(
                    new WriteTxnMarkersRequestData.WritableTxnMarkerTopic().setName("src")
                        .setPartitionIndexes(List.of(0)))))));
    }

    private static byte[] bytes(ByteBuffer told) {
        byte[] found = new byte[told.remaining()];
        told.get(found);
        return found;
    }

    // -- share groups, by hand -----------------------------------------------------------------------

    private static void shares(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(null, SHARE_GROUP);
        Clients.fill(broker, recording, 0, 4);
        Clients.groupSetting(recording, SHARE_GROUP, Map.of("share.auto.offset.reset", "earliest"));
        var known = recording.observer().describeTopics(TOPICS).allTopicNames().get();
        List<Uuid> ids = TOPICS.stream().map(topic -> known.get(topic).topicId()).toList();
        Wanted rights = new Wanted(recording, APP);
        try (ByHand hand = new ByHand(broker, recording, "by-hand", APP)) {
            Member member = new Member(recording, new Asking(recording, hand), ids, Uuid.randomUuid().toString());
            member.everything(0);
            rights.allow("DESCRIBE GROUP g*", "DESCRIBE TOPIC src");
            member.everything(0);
            rights.allow("READ GROUP g*");
            member.beat(TOPICS);
            rights.allow("READ TOPIC src", "DESCRIBE TOPIC output-A");
            member.everything(0);
            rights.allow("DELETE GROUP g*", "READ TOPIC output-A");
            member.everything(2);
            rights.allow("CLUSTER_ACTION CLUSTER kafka-cluster");
            member.states();
            rights.deny("READ GROUP " + SHARE_GROUP, "DESCRIBE TOPIC *");
            member.everything(2);
        }
    }

    /** A member that asks for everything it can think of. */
    private record Member(Recording recording, Asking asking, List<Uuid> ids, String name) {

        /** The session goes on from an epoch; records are read from an offset on. */
        void everything(int first) throws Exception {
            beat(List.of("src"));
            recording.call("observer", "sleep", Map.of("ms", 500), () -> Thread.sleep(500));
            fetch(0, 10);
            fetch(1, 10);
            acknowledge(2, first, first);
            acknowledge(3, first + 1, first + 1);
            acknowledge(-1, -1, -1);
            states();
            operators();
        }

        void beat(List<String> topics) throws Exception {
            asking.ask(ApiKeys.SHARE_GROUP_HEARTBEAT, 1, new ShareGroupHeartbeatRequestData()
                .setGroupId(SHARE_GROUP).setMemberId(name).setMemberEpoch(0).setSubscribedTopicNames(topics),
                "topics", topics);
        }

        private void fetch(int epoch, int most) throws Exception {
            var topics = new ShareFetchRequestData.FetchTopicCollection();
            for (Uuid id : ids) {
                var partitions = new ShareFetchRequestData.FetchPartitionCollection();
                partitions.add(new ShareFetchRequestData.FetchPartition().setPartitionIndex(0));
                topics.add(new ShareFetchRequestData.FetchTopic().setTopicId(id).setPartitions(partitions));
            }
            asking.ask(ApiKeys.SHARE_FETCH, 2, new ShareFetchRequestData().setGroupId(SHARE_GROUP).setMemberId(name)
                .setShareSessionEpoch(epoch).setMaxWaitMs(500).setMinBytes(1).setMaxBytes(1_000_000)
                .setMaxRecords(most).setBatchSize(most).setShareAcquireMode((byte) 1).setTopics(topics));
        }

        /** Accepts offsets of src and, so that there is something forbidden beside it, of output-A. */
        private void acknowledge(int epoch, long first, long last) throws Exception {
            var topics = new ShareAcknowledgeRequestData.AcknowledgeTopicCollection();
            for (Uuid id : first < 0 ? List.<Uuid>of() : ids.subList(0, epoch == 2 ? 1 : 2)) {
                var partitions = new ShareAcknowledgeRequestData.AcknowledgePartitionCollection();
                partitions.add(new ShareAcknowledgeRequestData.AcknowledgePartition().setPartitionIndex(0)
                    .setAcknowledgementBatches(List.of(new ShareAcknowledgeRequestData.AcknowledgementBatch()
                        .setFirstOffset(first).setLastOffset(last).setAcknowledgeTypes(List.of((byte) 1)))));
                topics.add(new ShareAcknowledgeRequestData.AcknowledgeTopic().setTopicId(id).setPartitions(partitions));
            }
            asking.ask(ApiKeys.SHARE_ACKNOWLEDGE, 2, new ShareAcknowledgeRequestData().setGroupId(SHARE_GROUP)
                .setMemberId(name).setShareSessionEpoch(epoch).setTopics(topics));
        }

        /** What only brokers ask each other, about a group of its own. */
        void states() throws Exception {
            Uuid id = ids.get(0);
            asking.ask(ApiKeys.INITIALIZE_SHARE_GROUP_STATE, 0, new InitializeShareGroupStateRequestData()
                .setGroupId("g2").setTopics(List.of(new InitializeShareGroupStateRequestData.InitializeStateData()
                    .setTopicId(id).setPartitions(List.of(new InitializeShareGroupStateRequestData.PartitionData()
                        .setPartition(0).setStateEpoch(0).setStartOffset(0))))));
            asking.ask(ApiKeys.READ_SHARE_GROUP_STATE, 0, new ReadShareGroupStateRequestData()
                .setGroupId("g2").setTopics(List.of(new ReadShareGroupStateRequestData.ReadStateData()
                    .setTopicId(id).setPartitions(List.of(new ReadShareGroupStateRequestData.PartitionData()
                        .setPartition(0).setLeaderEpoch(0))))));
            asking.ask(ApiKeys.WRITE_SHARE_GROUP_STATE, 1, new WriteShareGroupStateRequestData()
                .setGroupId("g2").setTopics(List.of(new WriteShareGroupStateRequestData.WriteStateData()
                    .setTopicId(id).setPartitions(List.of(new WriteShareGroupStateRequestData.PartitionData()
                        .setPartition(0).setStateEpoch(0).setLeaderEpoch(0).setStartOffset(1)
                        .setDeliveryCompleteCount(0).setStateBatches(List.of()))))));
            asking.ask(ApiKeys.READ_SHARE_GROUP_STATE_SUMMARY, 1, new ReadShareGroupStateSummaryRequestData()
                .setGroupId("g2").setTopics(List.of(new ReadShareGroupStateSummaryRequestData.ReadStateSummaryData()
                    .setTopicId(id).setPartitions(List.of(new ReadShareGroupStateSummaryRequestData.PartitionData()
                        .setPartition(0).setLeaderEpoch(0))))));
            asking.ask(ApiKeys.DELETE_SHARE_GROUP_STATE, 0, new DeleteShareGroupStateRequestData()
                .setGroupId("g2").setTopics(List.of(new DeleteShareGroupStateRequestData.DeleteStateData()
                    .setTopicId(id).setPartitions(List.of(new DeleteShareGroupStateRequestData.PartitionData()
                        .setPartition(0))))));
        }

        private void operators() throws Exception {
            asking.ask(ApiKeys.SHARE_GROUP_DESCRIBE, 1,
                new ShareGroupDescribeRequestData().setGroupIds(List.of(SHARE_GROUP)));
            asking.ask(ApiKeys.DESCRIBE_SHARE_GROUP_OFFSETS, 1, new DescribeShareGroupOffsetsRequestData()
                .setGroups(List.of(new DescribeShareGroupOffsetsRequestData.DescribeShareGroupOffsetsRequestGroup()
                    .setGroupId(SHARE_GROUP).setTopics(null))));
            asking.ask(ApiKeys.ALTER_SHARE_GROUP_OFFSETS, 0, new AlterShareGroupOffsetsRequestData()
                .setGroupId(SHARE_GROUP).setTopics(starts()));
            asking.ask(ApiKeys.DELETE_SHARE_GROUP_OFFSETS, 0, new DeleteShareGroupOffsetsRequestData()
                .setGroupId(SHARE_GROUP).setTopics(TOPICS.stream().map(topic ->
                    new DeleteShareGroupOffsetsRequestData.DeleteShareGroupOffsetsRequestTopic().setTopicName(topic))
                    .toList()));
            asking.ask(ApiKeys.DELETE_GROUPS, 2, new DeleteGroupsRequestData().setGroupsNames(List.of(SHARE_GROUP)));
        }

        private static AlterShareGroupOffsetsRequestData.AlterShareGroupOffsetsRequestTopicCollection starts() {
            var topics = new AlterShareGroupOffsetsRequestData.AlterShareGroupOffsetsRequestTopicCollection();
            TOPICS.forEach(topic -> topics.add(new AlterShareGroupOffsetsRequestData.AlterShareGroupOffsetsRequestTopic()
                .setTopicName(topic).setPartitions(List.of(
                    new AlterShareGroupOffsetsRequestData.AlterShareGroupOffsetsRequestPartition()
                        .setPartitionIndex(0).setStartOffset(0)))));
            return topics;
        }
    }

    // -- clients as they are delivered ---------------------------------------------------------------

    private static void clients(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        Clients.fill(broker, recording, 0, 2);
        recording.awaitCoordinators(ID, MEMBERS);
        recording.awaitCoordinators(null, SHARE_GROUP);
        Clients.groupSetting(recording, SHARE_GROUP, Map.of("share.auto.offset.reset", "earliest"));
        recording.watch(ID);
        Wanted rights = new Wanted(recording, APP);
        producers(broker, recording, rights);
        readers(broker, recording, rights);
        try (Admin operator = Admin.create(with(broker, Map.of("client.id", "operator")))) {
            recording.call("operator", "listTransactions", Map.of(),
                () -> operator.listTransactions().all().get().size(), found -> found);
            recording.call("operator", "describeTransactions", Map.of("id", ID),
                () -> operator.describeTransactions(List.of(ID)).description(ID).get().state().toString(),
                found -> found);
            recording.call("operator", "deleteConsumerGroups", Map.of("group", MEMBERS),
                () -> operator.deleteConsumerGroups(List.of(MEMBERS)).all().get());
            rights.allow("DELETE GROUP " + MEMBERS);
            recording.call("operator", "deleteConsumerGroups", Map.of("group", MEMBERS),
                () -> operator.deleteConsumerGroups(List.of(MEMBERS)).all().get());
        }
    }

    private static Map<String, Object> with(Broker broker, Map<String, Object> more) {
        Map<String, Object> all = new java.util.HashMap<>(broker.as(APP));
        all.putAll(more);
        return all;
    }

    private static Map<String, String> and(Broker broker, String... more) {
        Map<String, String> all = new java.util.HashMap<>(broker.as(APP));
        for (int i = 0; i < more.length; i += 2) {
            all.put(more[i], more[i + 1]);
        }
        return all;
    }

    /** Without the right to the id, with it, without the topic, with it, and without the id in a transaction. */
    private static void producers(Broker broker, Recording recording, Wanted rights) throws Exception {
        Map<String, String> settings = and(broker, "transactional.id", ID, "linger.ms", "0", "max.block.ms", "5000");
        try (KafkaProducer<String, String> refused = Clients.producer(broker, "producer-1", settings)) {
            recording.call("producer-1", "initTransactions", Map.of(), refused::initTransactions);
        }
        rights.allow("WRITE TRANSACTIONAL_ID " + ID, "WRITE TOPIC output-A");
        try (KafkaProducer<String, String> producer = Clients.producer(broker, "producer-2", settings)) {
            recording.call("producer-2", "initTransactions", Map.of(), producer::initTransactions);
            recording.call("producer-2", "beginTransaction", Map.of(), producer::beginTransaction);
            send(recording, "producer-2", producer, "output-A");
            recording.call("producer-2", "commitTransaction", Map.of(), producer::commitTransaction);
            recording.call("producer-2", "beginTransaction", Map.of(), producer::beginTransaction);
            send(recording, "producer-2", producer, "src");
            recording.call("producer-2", "abortTransaction", Map.of(), producer::abortTransaction);
            recording.call("producer-2", "beginTransaction", Map.of(), producer::beginTransaction);
            send(recording, "producer-2", producer, "output-A");
            rights.takeAway(AclPermissionType.ALLOW, "WRITE TRANSACTIONAL_ID " + ID);
            recording.call("producer-2", "commitTransaction", Map.of(), producer::commitTransaction);
            recording.call("producer-2", "abortTransaction", Map.of(), producer::abortTransaction);
        }
        rights.allow("WRITE TRANSACTIONAL_ID " + ID);
        try (KafkaProducer<String, String> producer = Clients.producer(broker, "producer-3", settings)) {
            recording.call("producer-3", "initTransactions", Map.of(), producer::initTransactions);
            Asking.settle(recording, ID);
        }
    }

    private static void send(Recording recording, String name, KafkaProducer<String, String> producer, String topic)
            throws Exception {
        ProducerRecord<String, String> record = new ProducerRecord<>(topic, 0, name, "of " + name);
        recording.call(name, "send", Clients.written(record), () -> producer.send(record).get(), Clients::place);
    }

    /** A member of a group and one of a share group: without any right, with that to the group, with both. */
    private static void readers(Broker broker, Recording recording, Wanted rights) throws Exception {
        for (int turn = 1; turn <= 3; turn++) {
            String name = "reader-" + turn;
            Map<String, String> settings = and(broker, "group.id", MEMBERS, "group.protocol", "consumer");
            try (KafkaConsumer<String, String> reader = Clients.consumer(broker, name, settings)) {
                reader.subscribe(List.of("src"));
                recording.call(name, "poll", Map.of("topics", List.of("src")),
                    () -> Clients.poll(reader::poll, 3), Clients::seen);
                if (turn == 3) {
                    recording.call(name, "commitSync", Map.of(), () -> reader.commitSync());
                }
            }
            String shares = "share-" + turn;
            try (KafkaShareConsumer<String, String> reader =
                     Clients.shareConsumer(broker, shares, and(broker, "group.id", SHARE_GROUP))) {
                reader.subscribe(List.of("src"));
                recording.call(shares, "poll", Map.of("topics", List.of("src")),
                    () -> Clients.poll(reader::poll, 3), Clients::seen);
            }
            if (turn < 3) {
                rights.allow(turn == 1
                    ? new String[] {"READ GROUP " + MEMBERS, "READ GROUP " + SHARE_GROUP, "DESCRIBE TOPIC src"}
                    : new String[] {"READ TOPIC src"});
            }
        }
    }
}
