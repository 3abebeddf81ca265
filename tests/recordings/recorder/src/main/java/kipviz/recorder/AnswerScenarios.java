package kipviz.recorder;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AddOffsetsToTxnRequestData;
import org.apache.kafka.common.message.AddPartitionsToTxnRequestData.AddPartitionsToTxnTopic;
import org.apache.kafka.common.message.AddPartitionsToTxnRequestData.AddPartitionsToTxnTopicCollection;
import org.apache.kafka.common.message.AddPartitionsToTxnRequestData.AddPartitionsToTxnTransaction;
import org.apache.kafka.common.message.AddPartitionsToTxnRequestData.AddPartitionsToTxnTransactionCollection;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.EndTxnRequestData;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.InitProducerIdRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.LeaveGroupRequestData.MemberIdentity;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.ShareAcknowledgeRequestData;
import org.apache.kafka.common.message.ShareFetchRequestData;
import org.apache.kafka.common.message.ShareGroupHeartbeatRequestData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.TxnOffsetCommitRequestData;
import org.apache.kafka.common.requests.AddOffsetsToTxnRequest;
import org.apache.kafka.common.requests.AddPartitionsToTxnRequest;
import org.apache.kafka.common.requests.ConsumerGroupHeartbeatRequest;
import org.apache.kafka.common.requests.ConsumerGroupHeartbeatResponse;
import org.apache.kafka.common.requests.EndTxnRequest;
import org.apache.kafka.common.requests.HeartbeatRequest;
import org.apache.kafka.common.requests.InitProducerIdRequest;
import org.apache.kafka.common.requests.JoinGroupRequest;
import org.apache.kafka.common.requests.JoinGroupResponse;
import org.apache.kafka.common.requests.LeaveGroupRequest;
import org.apache.kafka.common.requests.OffsetCommitRequest;
import org.apache.kafka.common.requests.OffsetFetchRequest;
import org.apache.kafka.common.requests.ShareAcknowledgeRequest;
import org.apache.kafka.common.requests.ShareFetchRequest;
import org.apache.kafka.common.requests.ShareGroupHeartbeatRequest;
import org.apache.kafka.common.requests.ShareGroupHeartbeatResponse;
import org.apache.kafka.common.requests.SyncGroupRequest;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.requests.TxnOffsetCommitRequest;
import org.apache.kafka.common.requests.WriteTxnMarkersRequest;

/** What a coordinator and a leader answer to requests that no well-behaved client sends: by hand, one by one. */
final class AnswerScenarios {

    private static final String ID = "my-txn";
    private static final String GROUP = "my-group-4";
    private static final String SHARE_GROUP = "g1";
    private static final TopicPartition OUTPUT = new TopicPartition("output-A", 0);

    private AnswerScenarios() {
    }

    static List<Scenario> all() {
        Map<String, String> quick = Map.of("group.consumer.min.session.timeout.ms", "1000",
            "group.consumer.session.timeout.ms", "3000", "group.consumer.min.heartbeat.interval.ms", "500",
            "group.consumer.heartbeat.interval.ms", "500", "group.share.min.session.timeout.ms", "1000",
            "group.share.session.timeout.ms", "3000", "group.share.min.heartbeat.interval.ms", "500",
            "group.share.heartbeat.interval.ms", "500");
        Map<String, String> few = new LinkedHashMap<>(quick);
        few.put("group.share.max.size", "2");
        return List.of(
            new Scenario("transaction-answers",
                "What the transaction coordinator answers in every state, to older, present and newer epochs.",
                Map.of(), AnswerScenarios::transactions),
            new Scenario("transaction-answers-version-1",
                "What the transaction coordinator answers in every state under transaction.version 1.",
                Map.of(), Map.of("transaction.version", "1"), AnswerScenarios::transactions),
            new Scenario("group-answers",
                "What the group coordinator answers to members with wrong epochs and generations, and to who is late.",
                few, AnswerScenarios::groups),
            new Scenario("share-answers",
                "What the leader of a share-partition answers to wrong session epochs and acknowledgements.",
                Map.of("group.share.max.share.sessions", "1", "group.share.max.size", "1"), AnswerScenarios::shares));
    }

    // -- transactions ------------------------------------------------------------------------------

    private static void transactions(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(ID, GROUP);
        recording.watch(ID);
        try (ByHand hand = new ByHand(broker, recording, "by-hand")) {
            add(recording, hand, 0, 0);
            init(hand, new Identity(-1, (short) -1), 900_001);
            init(recording, hand, false, 0);
            init(recording, hand, false, 0);
            endings(recording, hand);
            additions(recording, hand);
            end(recording, hand, 4, -1, true);
            end(recording, hand, 5, 1, true);
            end(recording, hand, 4, 0, true);
            TransactionScenarios.settle(recording, ID, "CompleteCommit");
            endings(recording, hand);
            inits(recording, hand);
            additions(recording, hand);
            end(recording, hand, 5, -1, false);
            end(recording, hand, 5, 0, false);
            TransactionScenarios.settle(recording, ID, "CompleteAbort");
            endings(recording, hand);
            additions(recording, hand);
            init(recording, hand, true, -1);
            init(recording, hand, true, 1);
            init(recording, hand, true, 0);
            TransactionScenarios.settle(recording, ID, "CompleteAbort");
            inits(recording, hand);
            markers(recording, hand);
        }
    }

    /** Markers by hand, as only a coordinator sends them: to a partition with a transaction, and to one without. */
    private static void markers(Recording recording, ByHand hand) throws Exception {
        for (TopicPartition partition : List.of(OUTPUT, new TopicPartition("src", 0))) {
            for (int epoch = -1; epoch <= 1; epoch++) {
                mark(recording, hand, partition, epoch, -1);
            }
        }
        for (int epoch : new int[] {-1, 0}) {
            mark(recording, hand, OUTPUT, epoch, 5);
            mark(recording, hand, OUTPUT, epoch, 4);
        }
    }

    private static void mark(
            Recording recording, ByHand hand, TopicPartition partition, int epoch, int coordinatorEpoch)
            throws Exception {
        Identity as = now(recording).shifted(0, epoch);
        int office = Math.max(coordinatorEpoch, 0);
        hand.call(as.arguments("coordinator_epoch", office, "partition", partition.toString()),
            new WriteTxnMarkersRequest.Builder(List.of(new WriteTxnMarkersRequest.TxnMarkerEntry(
                as.producerId(), as.epoch(), office, TransactionResult.ABORT, List.of(partition), (short) 0)))
                .build((short) 1));
    }

    /** EndTxn of both protocols, to commit and to abort, with the epoch before, the present and the next one. */
    private static void endings(Recording recording, ByHand hand) throws Exception {
        for (int version : new int[] {4, 5}) {
            for (boolean commits : new boolean[] {true, false}) {
                for (int epoch = -1; epoch <= 1; epoch++) {
                    end(recording, hand, version, epoch, commits);
                    Thread.sleep(100);
                }
            }
        }
    }

    private static void inits(Recording recording, ByHand hand) throws Exception {
        for (int epoch : new int[] {-2, -1, 1, 0, -1}) {
            init(recording, hand, true, epoch);
        }
        init(recording, hand, false, 0);
    }

    private static void additions(Recording recording, ByHand hand) throws Exception {
        for (int epoch : new int[] {-1, 1}) {
            add(recording, hand, epoch, 0);
            add(recording, hand, epoch, 5);
            verify(recording, hand, epoch, 0, true);
            verify(recording, hand, epoch, 0, false);
            offsets(recording, hand, epoch);
        }
        verify(recording, hand, 0, 0, true);
        verify(recording, hand, 0, 7, true);
        add(recording, hand, 0, 7);
        add(recording, hand, 0, 0);
        add(recording, hand, 0, 0);
        verify(recording, hand, 0, 0, true);
        verify(recording, hand, -1, 0, true);
        verify(recording, hand, 0, 0, false);
        for (int epoch : new int[] {-1, 0, 1}) {
            stage(recording, hand, 4, epoch);
        }
        offsets(recording, hand, 0);
        for (int epoch : new int[] {-1, 0, 1}) {
            stage(recording, hand, 4, epoch);
            stage(recording, hand, 5, epoch);
        }
        end(recording, hand, 5, 1, true);
        end(recording, hand, 4, 1, false);
    }

    private record Identity(long producerId, short epoch) {
        Identity shifted(long ids, int epochs) {
            return new Identity(producerId + ids, (short) Math.max(-1, epoch + epochs));
        }

        Map<String, Object> arguments(Object... more) {
            Map<String, Object> found = new LinkedHashMap<>();
            found.put("producer_id", producerId);
            found.put("producer_epoch", epoch);
            for (int i = 0; i < more.length; i += 2) {
                found.put((String) more[i], more[i + 1]);
            }
            return found;
        }
    }

    /** Who the coordinator says the producer is now; nobody yet is 0 and 0. */
    private static Identity now(Recording recording) throws Exception {
        try {
            TransactionDescription found =
                recording.observer().describeTransactions(List.of(ID)).description(ID).get();
            return new Identity(found.producerId(), (short) found.producerEpoch());
        } catch (java.util.concurrent.ExecutionException nobody) {
            return new Identity(0, (short) 0);
        }
    }

    private static void init(Recording recording, ByHand hand, boolean known, int epoch) throws Exception {
        Identity as = known ? now(recording).shifted(0, epoch) : new Identity(-1, (short) -1);
        init(hand, as, 60_000);
    }

    private static void init(ByHand hand, Identity as, int timeout) throws Exception {
        hand.call(as.arguments("timeout.ms", timeout),
            new InitProducerIdRequest.Builder(new InitProducerIdRequestData()
                .setTransactionalId(ID).setTransactionTimeoutMs(timeout)
                .setProducerId(as.producerId()).setProducerEpoch(as.epoch())).build((short) 5));
    }

    private static void end(Recording recording, ByHand hand, int version, int epoch, boolean commits)
            throws Exception {
        Identity as = now(recording).shifted(0, epoch);
        hand.call(as.arguments("version", version, "committed", commits),
            new EndTxnRequest.Builder(new EndTxnRequestData().setTransactionalId(ID).setProducerId(as.producerId())
                .setProducerEpoch(as.epoch()).setCommitted(commits), true, version > 4).build((short) version));
    }

    private static void add(Recording recording, ByHand hand, int epoch, int ids) throws Exception {
        Identity as = now(recording).shifted(ids, epoch);
        hand.call(as.arguments("version", 3), AddPartitionsToTxnRequest.Builder.forClient(
            ID, as.producerId(), as.epoch(), List.of(OUTPUT)).build((short) 3));
    }

    private static void verify(Recording recording, ByHand hand, int epoch, int ids, boolean verifies)
            throws Exception {
        Identity as = now(recording).shifted(ids, epoch);
        String topic = verifies ? "output-A" : "src";
        var topics = new AddPartitionsToTxnTopicCollection(List.of(
            new AddPartitionsToTxnTopic().setName(topic).setPartitions(List.of(0))).iterator());
        var one = new AddPartitionsToTxnTransaction().setTransactionalId(ID).setProducerId(as.producerId())
            .setProducerEpoch(as.epoch()).setVerifyOnly(verifies).setTopics(topics);
        hand.call(as.arguments("version", 5, "verify_only", verifies), AddPartitionsToTxnRequest.Builder.forBroker(
            new AddPartitionsToTxnTransactionCollection(List.of(one).iterator())).build((short) 5));
    }

    private static void offsets(Recording recording, ByHand hand, int epoch) throws Exception {
        Identity as = now(recording).shifted(0, epoch);
        hand.call(as.arguments("version", 4), new AddOffsetsToTxnRequest.Builder(new AddOffsetsToTxnRequestData()
            .setTransactionalId(ID).setProducerId(as.producerId()).setProducerEpoch(as.epoch()).setGroupId(GROUP))
            .build((short) 4));
    }

    private static void stage(Recording recording, ByHand hand, int version, int epoch) throws Exception {
        Identity as = now(recording).shifted(0, epoch);
        var partition = new TxnOffsetCommitRequestData.TxnOffsetCommitRequestPartition()
            .setPartitionIndex(0).setCommittedOffset(3);
        var data = new TxnOffsetCommitRequestData().setTransactionalId(ID).setGroupId(GROUP)
            .setProducerId(as.producerId()).setProducerEpoch(as.epoch()).setGenerationIdOrMemberEpoch(-1).setMemberId("")
            .setTopics(List.of(new TxnOffsetCommitRequestData.TxnOffsetCommitRequestTopic()
                .setName("src").setPartitions(List.of(partition))));
        hand.call(as.arguments("version", version),
            TxnOffsetCommitRequest.Builder.forTopicNames(data, version > 4).build((short) version));
    }

    // -- groups ------------------------------------------------------------------------------------

    private static void groups(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, 2, "src");
        recording.awaitCoordinators(null, GROUP);
        try (ByHand hand = new ByHand(broker, recording, "by-hand")) {
            consumers(recording, hand);
            shareMembers(recording, hand);
            classic(recording, hand);
        }
    }

    private static void consumers(Recording recording, ByHand hand) throws Exception {
        beat(hand, "nobody", 3, false);
        beat(hand, "nobody", -1, false);
        int epoch = beat(hand, "m-1", 0, true);
        beat(hand, "m-1", epoch, false);
        beat(hand, "m-1", epoch + 1, false);
        beat(hand, "m-1", epoch - 1, false);
        beat(hand, "m-1", 0, true);
        beat(hand, "nobody", epoch, false);
        commit(hand, "m-1", epoch);
        commit(hand, "m-1", epoch + 1);
        commit(hand, "m-1", epoch - 1);
        commit(hand, "nobody", epoch);
        commit(hand, "", -1);
        fetch(hand, "m-1", epoch);
        fetch(hand, "m-1", epoch + 1);
        fetch(hand, "nobody", epoch);
        fetch(hand, null, -1);
        recording.call("observer", "sleep", Map.of("ms", 5000), () -> Thread.sleep(5000));
        fetch(hand, "m-1", epoch);
        beat(hand, "m-1", epoch, false);
        commit(hand, "", -1);
        int young = beat(hand, "m-2", 0, true);
        beat(hand, "m-2", -1, false);
        beat(hand, "m-2", -1, false);
        beat(hand, "m-2", young, false);
    }

    private static int beat(ByHand hand, String member, int epoch, boolean joins) throws Exception {
        var data = new ConsumerGroupHeartbeatRequestData().setGroupId(GROUP).setMemberId(member).setMemberEpoch(epoch);
        if (joins) {
            data.setRebalanceTimeoutMs(20_000).setSubscribedTopicNames(List.of("src")).setTopicPartitions(List.of());
        }
        var answer = hand.call(Map.of("member", member, "epoch", epoch),
            new ConsumerGroupHeartbeatRequest.Builder(data).build((short) 1));
        return ((ConsumerGroupHeartbeatResponse) answer).data().memberEpoch();
    }

    private static void commit(ByHand hand, String member, int epoch) throws Exception {
        commit(hand, GROUP, member, epoch);
    }

    private static void commit(ByHand hand, String group, String member, int epoch) throws Exception {
        var data = new OffsetCommitRequestData().setGroupId(group).setMemberId(member)
            .setGenerationIdOrMemberEpoch(epoch)
            .setTopics(List.of(new OffsetCommitRequestData.OffsetCommitRequestTopic().setName("src").setPartitions(
                List.of(new OffsetCommitRequestData.OffsetCommitRequestPartition()
                    .setPartitionIndex(0).setCommittedOffset(5)))));
        hand.call(Map.of("group", group, "member", member, "epoch", epoch),
            OffsetCommitRequest.Builder.forTopicNames(data).build((short) 9));
    }

    private static void fetch(ByHand hand, String member, int epoch) throws Exception {
        var topic = new OffsetFetchRequestData.OffsetFetchRequestTopics()
            .setName("src").setPartitionIndexes(List.of(0, 1));
        var data = new OffsetFetchRequestData().setRequireStable(true).setGroups(List.of(
            new OffsetFetchRequestData.OffsetFetchRequestGroup().setGroupId(GROUP).setMemberId(member)
                .setMemberEpoch(epoch).setTopics(List.of(topic))));
        hand.call(Map.of("member", String.valueOf(member), "epoch", epoch),
            OffsetFetchRequest.Builder.forTopicNames(data, false).build((short) 9));
    }

    private static void shareMembers(Recording recording, ByHand hand) throws Exception {
        shareBeat(hand, "nobody", 3, false);
        shareBeat(hand, "nobody", -1, false);
        int epoch = shareBeat(hand, "s-1", 0, true);
        shareBeat(hand, "s-1", epoch, false);
        shareBeat(hand, "s-1", epoch + 1, false);
        shareBeat(hand, "s-1", epoch - 1, false);
        shareBeat(hand, "s-1", 0, true);
        shareBeat(hand, "nobody", epoch, false);
        recording.call("observer", "sleep", Map.of("ms", 5000), () -> Thread.sleep(5000));
        shareBeat(hand, "s-1", epoch, false);
        int young = shareBeat(hand, "s-2", 0, true);
        shareBeat(hand, "s-3", 0, true);
        shareBeat(hand, "s-4", 0, true);
        shareBeat(hand, "s-3", -1, false);
        shareBeat(hand, "s-2", -1, false);
        shareBeat(hand, "s-2", -1, false);
        shareBeat(hand, "s-2", young, false);
    }

    private static int shareBeat(ByHand hand, String member, int epoch, boolean joins) throws Exception {
        var data = new ShareGroupHeartbeatRequestData()
            .setGroupId(SHARE_GROUP).setMemberId(member).setMemberEpoch(epoch);
        if (joins) {
            data.setSubscribedTopicNames(List.of("src"));
        }
        var answer = hand.call(Map.of("member", member, "epoch", epoch),
            new ShareGroupHeartbeatRequest.Builder(data).build((short) 1));
        return ((ShareGroupHeartbeatResponse) answer).data().memberEpoch();
    }

    private static void classic(Recording recording, ByHand hand) throws Exception {
        String group = "my-group-5";
        alive(hand, group, "nobody", 1);
        sync(hand, group, "nobody", 1, List.of());
        leave(hand, group, "nobody");
        join(hand, group, "nobody");
        String name = join(hand, group, "").data().memberId();
        alive(hand, group, name, 0);
        join(hand, group, "nobody");
        int generation = join(hand, group, name).data().generationId();
        sync(hand, group, name, generation + 1, List.of());
        sync(hand, group, "nobody", generation, List.of());
        commit(hand, group, name, generation);
        sync(hand, group, name, generation, List.of(
            new TopicPartition("src", 0), new TopicPartition("src", 1)));
        sync(hand, group, name, generation, List.of());
        alive(hand, group, name, generation);
        alive(hand, group, name, generation + 1);
        alive(hand, group, name, generation - 1);
        alive(hand, group, "nobody", generation);
        commit(hand, group, name, generation);
        commit(hand, group, name, generation + 1);
        commit(hand, group, "nobody", generation);
        commit(hand, group, "", -1);
        leave(hand, group, "nobody");
        leave(hand, group, name);
        leave(hand, group, name);
        alive(hand, group, name, generation);
        sync(hand, group, name, generation, List.of());
        commit(hand, group, "", -1);
        commit(hand, group, name, generation);
    }

    private static JoinGroupResponse join(ByHand hand, String group, String member) throws Exception {
        ByteBuffer told = ConsumerProtocol.serializeSubscription(
            new ConsumerPartitionAssignor.Subscription(List.of("src")));
        var protocols = new JoinGroupRequestData.JoinGroupRequestProtocolCollection(List.of(
            new JoinGroupRequestData.JoinGroupRequestProtocol().setName("range").setMetadata(bytes(told))).iterator());
        var data = new JoinGroupRequestData().setGroupId(group).setMemberId(member).setProtocolType("consumer")
            .setSessionTimeoutMs(10_000).setRebalanceTimeoutMs(10_000).setProtocols(protocols);
        return (JoinGroupResponse) hand.call(Map.of("group", group, "member", member),
            new JoinGroupRequest.Builder(data).build((short) 9));
    }

    private static void sync(
            ByHand hand, String group, String member, int generation, List<TopicPartition> given) throws Exception {
        List<SyncGroupRequestData.SyncGroupRequestAssignment> all = new ArrayList<>();
        if (!given.isEmpty()) {
            all.add(new SyncGroupRequestData.SyncGroupRequestAssignment().setMemberId(member).setAssignment(
                bytes(ConsumerProtocol.serializeAssignment(new ConsumerPartitionAssignor.Assignment(given)))));
        }
        var data = new SyncGroupRequestData().setGroupId(group).setMemberId(member).setGenerationId(generation)
            .setProtocolType("consumer").setProtocolName("range").setAssignments(all);
        hand.call(Map.of("group", group, "member", member, "generation", generation),
            new SyncGroupRequest.Builder(data).build((short) 5));
    }

    private static void alive(ByHand hand, String group, String member, int generation) throws Exception {
        var data = new HeartbeatRequestData().setGroupId(group).setMemberId(member).setGenerationId(generation);
        hand.call(Map.of("group", group, "member", member, "generation", generation),
            new HeartbeatRequest.Builder(data).build((short) 4));
    }

    private static void leave(ByHand hand, String group, String member) throws Exception {
        hand.call(Map.of("group", group, "member", member), new LeaveGroupRequest.Builder(
            group, List.of(new MemberIdentity().setMemberId(member))).build((short) 5));
    }

    private static byte[] bytes(ByteBuffer told) {
        byte[] found = new byte[told.remaining()];
        told.get(found);
        return found;
    }

    // -- share-partitions --------------------------------------------------------------------------

    private static void shares(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src");
        recording.awaitCoordinators(null, SHARE_GROUP);
        Clients.fill(broker, recording, 0, 6);
        Clients.groupSetting(recording, SHARE_GROUP, Map.of("share.auto.offset.reset", "earliest"));
        Uuid topic = recording.observer().describeTopics(List.of("src")).allTopicNames().get().get("src").topicId();
        try (ByHand hand = new ByHand(broker, recording, "by-hand")) {
            String member = Uuid.randomUuid().toString();
            Hand one = new Hand(hand, topic, member);
            one.acknowledge(1, 0, 0, 1);
            one.fetch(1, 10);
            one.fetch(0, 10, 0, 0, 1);
            one.fetch(0, 4);
            var joins = new ShareGroupHeartbeatRequestData().setGroupId(SHARE_GROUP).setMemberId(member)
                .setMemberEpoch(0).setSubscribedTopicNames(List.of("src"));
            hand.call(Map.of("member", member), new ShareGroupHeartbeatRequest.Builder(joins).build((short) 1));
            recording.call("observer", "sleep", Map.of("ms", 3000), () -> Thread.sleep(3000));
            one.fetch(2, 10);
            one.fetch(0, 4);
            one.acknowledge(0, 0, 0, 1);
            one.acknowledge(5, 0, 0, 1);
            one.acknowledge(1, 0, 0, 1);
            one.acknowledge(2, 0, 0, 1);
            one.acknowledge(3, 1, 9, 1);
            one.acknowledge(4, 2, 1, 1);
            one.acknowledge(5, 1, 2, 1, 2);
            one.acknowledge(6, 2, 2, 3);
            one.fetch(7, 10, 3, 3, 4);
            one.fetch(7, 0, 3, 3, 4);
            one.fetch(8, 10, 3, 3, 3);
            one.acknowledge(9, 2, 2, 4);
            Hand other = new Hand(hand, topic, Uuid.randomUuid().toString());
            other.fetch(1, 10);
            other.fetch(0, 10);
            one.fetch(10, 10);
            one.acknowledge(-1, 3, 3, 1);
            one.acknowledge(11, 2, 2, 1);
        }
    }

    /** A member that says what it is told to; numbers behind the epoch are first, last and types. */
    private record Hand(ByHand hand, Uuid topic, String member) {

        void fetch(int epoch, int most, int... acknowledged) throws Exception {
            var partition = new ShareFetchRequestData.FetchPartition().setPartitionIndex(0);
            if (acknowledged.length > 0) {
                partition.setAcknowledgementBatches(List.of(new ShareFetchRequestData.AcknowledgementBatch()
                    .setFirstOffset(acknowledged[0]).setLastOffset(acknowledged[1])
                    .setAcknowledgeTypes(types(acknowledged))));
            }
            var topics = new ShareFetchRequestData.FetchTopicCollection(List.of(new ShareFetchRequestData.FetchTopic()
                .setTopicId(topic).setPartitions(new ShareFetchRequestData.FetchPartitionCollection(
                    List.of(partition).iterator()))).iterator());
            boolean renews = acknowledged.length > 2 && acknowledged[2] == 4;
            var data = new ShareFetchRequestData().setGroupId(SHARE_GROUP).setMemberId(member)
                .setShareSessionEpoch(epoch).setMaxWaitMs(renews && most == 0 ? 0 : 500)
                .setMinBytes(renews && most == 0 ? 0 : 1)
                .setMaxBytes(renews && most == 0 ? 0 : 1_000_000).setMaxRecords(most).setBatchSize(most).setShareAcquireMode((byte) 1)
                .setIsRenewAck(renews).setTopics(topics);
            hand.call(Map.of("epoch", epoch, "max_records", most, "acknowledged", list(acknowledged)),
                new ShareFetchRequest.Builder(data).build((short) 2));
        }

        void acknowledge(int epoch, int... acknowledged) throws Exception {
            var batch = new ShareAcknowledgeRequestData.AcknowledgementBatch().setFirstOffset(acknowledged[0])
                .setLastOffset(acknowledged[1]).setAcknowledgeTypes(types(acknowledged));
            var topics = new ShareAcknowledgeRequestData.AcknowledgeTopicCollection(List.of(
                new ShareAcknowledgeRequestData.AcknowledgeTopic().setTopicId(topic).setPartitions(
                    new ShareAcknowledgeRequestData.AcknowledgePartitionCollection(List.of(
                        new ShareAcknowledgeRequestData.AcknowledgePartition().setPartitionIndex(0)
                            .setAcknowledgementBatches(List.of(batch))).iterator()))).iterator());
            boolean renews = acknowledged[2] == 4;
            var data = new ShareAcknowledgeRequestData().setGroupId(SHARE_GROUP).setMemberId(member)
                .setShareSessionEpoch(epoch).setIsRenewAck(renews).setTopics(topics);
            hand.call(Map.of("epoch", epoch, "acknowledged", list(acknowledged)),
                new ShareAcknowledgeRequest.Builder(data).build((short) 2));
        }

        private static List<Byte> types(int[] said) {
            List<Byte> found = new ArrayList<>();
            for (int i = 2; i < said.length; i++) {
                found.add((byte) said[i]);
            }
            return found;
        }

        private static List<Integer> list(int[] said) {
            return java.util.Arrays.stream(said).boxed().toList();
        }
    }
}
