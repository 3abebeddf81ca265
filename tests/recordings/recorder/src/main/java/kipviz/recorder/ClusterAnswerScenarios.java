package kipviz.recorder;

import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AddOffsetsToTxnRequestData;
import org.apache.kafka.common.message.AddPartitionsToTxnRequestData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.DescribeProducersRequestData;
import org.apache.kafka.common.message.DescribeTransactionsRequestData;
import org.apache.kafka.common.message.EndTxnRequestData;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FindCoordinatorRequestData;
import org.apache.kafka.common.message.InitProducerIdRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.ReadShareGroupStateRequestData;
import org.apache.kafka.common.message.ShareGroupHeartbeatRequestData;
import org.apache.kafka.common.message.TxnOffsetCommitRequestData;
import org.apache.kafka.common.message.WriteTxnMarkersRequestData;
import org.apache.kafka.common.protocol.ApiKeys;

/** What brokers answer that are not in office: by hand, each request to one of them and then to who is. */
final class ClusterAnswerScenarios {

    private static final String ID = "my-txn";
    private static final String GROUP = "my-group-4";
    private static final TopicPartition OUTPUT = new TopicPartition("output-A", 0);

    private ClusterAnswerScenarios() {
    }

    static List<Scenario> all() {
        return List.of(
            Layout.scenario("cluster-answers",
                "Requests of coordinators, producers, readers and members, to brokers that are not in office and that are.",
                ClusterAnswerScenarios::answers));
    }

    /** The transaction's coordinator is Broker 2, the group's is 3, the data are led by 1 and then by 2. */
    private static void answers(Cluster cluster, Layout layout, Recording recording) throws Exception {
        layout.topics(Map.of("src", List.of(List.of(1, 2, 3)), "output-A", List.of(List.of(1, 2, 3))));
        recording.awaitCoordinators(ID, GROUP);
        recording.watch(ID);
        Uuid source = recording.observer().describeTopics(List.of("src")).allTopicNames().get().get("src").topicId();
        try (KafkaProducer<String, String> producer = Clients.producer(cluster, "producer-1", Map.of(
                "transactional.id", ID, "transaction.timeout.ms", "60000", "linger.ms", "0"));
             ByHand first = new ByHand(recording, "by-hand-1", cluster.address(1));
             ByHand second = new ByHand(recording, "by-hand-2", cluster.address(2));
             ByHand third = new ByHand(recording, "by-hand-3", cluster.address(3))) {
            Asking one = new Asking(recording, first);
            Asking two = new Asking(recording, second);
            Asking three = new Asking(recording, third);
            recording.call("producer-1", "initTransactions", Map.of(), producer::initTransactions);
            recording.call("producer-1", "beginTransaction", Map.of(), producer::beginTransaction);
            ProducerRecord<String, String> record = new ProducerRecord<>("output-A", 0, "one", "one");
            recording.call("producer-1", "send", Clients.written(record), () -> producer.send(record).get(),
                Clients::place);
            TransactionDescription known = recording.observer().describeTransactions(List.of(ID)).description(ID).get();
            for (Asking asking : List.of(one, two, three)) {
                find(asking);
            }
            for (Asking asking : List.of(three, two)) {
                ofTransactions(asking, known);
            }
            for (Asking asking : List.of(two, three)) {
                ofGroups(asking, known);
                asking.ask(ApiKeys.READ_SHARE_GROUP_STATE, 0, new ReadShareGroupStateRequestData().setGroupId("nobody")
                    .setTopics(List.of(new ReadShareGroupStateRequestData.ReadStateData().setTopicId(source)
                        .setPartitions(List.of(new ReadShareGroupStateRequestData.PartitionData()
                            .setPartition(0).setLeaderEpoch(0))))));
            }
            for (Asking asking : List.of(two, one)) {
                ofLeaders(asking);
            }
            layout.lead(OUTPUT, List.of(2, 1, 3));
            recording.call("observer", "sleep", Map.of("ms", 1500), () -> Thread.sleep(1500));
            for (Asking asking : List.of(one, two)) {
                for (int epoch : List.of(-1, 0, 1, 2)) {
                    read(asking, epoch);
                }
            }
            mark(one, known);
            mark(two, known);
            recording.call("producer-1", "abortTransaction", Map.of(), producer::abortTransaction);
            TransactionScenarios.settle(recording, ID, "CompleteAbort");
        }
    }

    private static void find(Asking asking) throws Exception {
        for (int type : List.of(0, 1)) {
            asking.ask(ApiKeys.FIND_COORDINATOR, 4, new FindCoordinatorRequestData().setKeyType((byte) type)
                .setCoordinatorKeys(List.of(type == 0 ? GROUP : ID)));
        }
    }

    private static void ofTransactions(Asking asking, TransactionDescription known) throws Exception {
        asking.ask(ApiKeys.DESCRIBE_TRANSACTIONS, 0,
            new DescribeTransactionsRequestData().setTransactionalIds(List.of(ID)));
        var topics = new AddPartitionsToTxnRequestData.AddPartitionsToTxnTopicCollection();
        topics.add(new AddPartitionsToTxnRequestData.AddPartitionsToTxnTopic().setName("output-A")
            .setPartitions(List.of(0)));
        asking.ask(ApiKeys.ADD_PARTITIONS_TO_TXN, 3, new AddPartitionsToTxnRequestData()
            .setV3AndBelowTransactionalId(ID).setV3AndBelowProducerId(known.producerId())
            .setV3AndBelowProducerEpoch((short) known.producerEpoch()).setV3AndBelowTopics(topics));
        asking.ask(ApiKeys.ADD_OFFSETS_TO_TXN, 4, new AddOffsetsToTxnRequestData().setTransactionalId(ID)
            .setProducerId(known.producerId()).setProducerEpoch((short) known.producerEpoch()).setGroupId(GROUP));
        asking.ask(ApiKeys.END_TXN, 5, new EndTxnRequestData().setTransactionalId(ID).setProducerId(known.producerId())
            .setProducerEpoch((short) (known.producerEpoch() - 1)).setCommitted(true));
        asking.ask(ApiKeys.INIT_PRODUCER_ID, 5, new InitProducerIdRequestData().setTransactionalId(ID)
            .setTransactionTimeoutMs(60_000).setProducerId(known.producerId() + 7).setProducerEpoch((short) 0));
    }

    private static void ofGroups(Asking asking, TransactionDescription known) throws Exception {
        asking.ask(ApiKeys.TXN_OFFSET_COMMIT, 4, new TxnOffsetCommitRequestData().setTransactionalId(ID)
            .setGroupId(GROUP).setProducerId(known.producerId()).setProducerEpoch((short) known.producerEpoch())
            .setTopics(List.of(new TxnOffsetCommitRequestData.TxnOffsetCommitRequestTopic().setName("src")
                .setPartitions(List.of(new TxnOffsetCommitRequestData.TxnOffsetCommitRequestPartition()
                    .setPartitionIndex(0).setCommittedOffset(1))))));
        asking.ask(ApiKeys.OFFSET_COMMIT, 9, new OffsetCommitRequestData().setGroupId(GROUP).setMemberId("")
            .setGenerationIdOrMemberEpoch(-1).setTopics(List.of(new OffsetCommitRequestData.OffsetCommitRequestTopic()
                .setName("src").setPartitions(List.of(new OffsetCommitRequestData.OffsetCommitRequestPartition()
                    .setPartitionIndex(0).setCommittedOffset(1))))));
        asking.ask(ApiKeys.OFFSET_FETCH, 9, new OffsetFetchRequestData().setRequireStable(false).setGroups(List.of(
            new OffsetFetchRequestData.OffsetFetchRequestGroup().setGroupId(GROUP).setMemberId(null)
                .setMemberEpoch(-1).setTopics(List.of(new OffsetFetchRequestData.OffsetFetchRequestTopics()
                    .setName("src").setPartitionIndexes(List.of(0)))))));
        asking.ask(ApiKeys.CONSUMER_GROUP_HEARTBEAT, 1, new ConsumerGroupHeartbeatRequestData().setGroupId(GROUP)
            .setMemberId("nobody").setMemberEpoch(3));
        asking.ask(ApiKeys.SHARE_GROUP_HEARTBEAT, 1, new ShareGroupHeartbeatRequestData().setGroupId(GROUP)
            .setMemberId("nobody").setMemberEpoch(3));
    }

    private static void ofLeaders(Asking asking) throws Exception {
        var topics = new DescribeProducersRequestData.TopicRequestCollection();
        topics.add(new DescribeProducersRequestData.TopicRequest().setName("output-A").setPartitionIndexes(List.of(0)));
        asking.ask(ApiKeys.DESCRIBE_PRODUCERS, 0, new DescribeProducersRequestData().setTopics(topics));
        read(asking, 0);
    }

    /** A read of output-A-0 by somebody who knows a leader of an epoch, -1 of none. */
    private static void read(Asking asking, int epoch) throws Exception {
        asking.ask(ApiKeys.FETCH, 12, new FetchRequestData().setReplicaId(-1).setMaxWaitMs(0).setMinBytes(0)
            .setMaxBytes(100_000).setIsolationLevel((byte) 0).setSessionId(0).setSessionEpoch(-1)
            .setTopics(List.of(new FetchRequestData.FetchTopic().setTopic("output-A").setPartitions(List.of(
                new FetchRequestData.FetchPartition().setPartition(0).setCurrentLeaderEpoch(epoch)
                    .setFetchOffset(0).setPartitionMaxBytes(100_000))))));
    }

    /** An abort that no coordinator has decided: only a leader may take it. */
    private static void mark(Asking asking, TransactionDescription known) throws Exception {
        asking.ask(ApiKeys.WRITE_TXN_MARKERS, 1, new WriteTxnMarkersRequestData().setMarkers(List.of(
            new WriteTxnMarkersRequestData.WritableTxnMarker().setProducerId(known.producerId())
                .setProducerEpoch((short) known.producerEpoch()).setTransactionResult(false).setCoordinatorEpoch(0)
                .setTopics(List.of(new WriteTxnMarkersRequestData.WritableTxnMarkerTopic().setName("output-A")
                    .setPartitionIndexes(List.of(0)))))));
    }
}
