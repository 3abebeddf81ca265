package kipviz.recorder;

import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatResponseData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.ConsumerGroupHeartbeatResponse;

/** Static members of the consumer protocol: by hand, and clients that are as they are delivered. */
final class StaticScenarios {

    private static final String GROUP = "my-group-4";

    private StaticScenarios() {
    }

    static List<Scenario> all() {
        return List.of(new Scenario("members-static",
            "group.instance.id in KIP-848: it goes and comes back, a double, the old one is fenced, it never comes back.",
            Map.of("group.consumer.min.session.timeout.ms", "1000", "group.consumer.session.timeout.ms", "4000",
                "group.consumer.min.heartbeat.interval.ms", "500", "group.consumer.heartbeat.interval.ms", "500"),
            StaticScenarios::statics));
    }

    private static void statics(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, 2, "src");
        recording.awaitCoordinators(null, GROUP);
        recording.awaitCoordinators(null, "my-group-5");
        Uuid topic = recording.observer().describeTopics(List.of("src")).allTopicNames().get().get("src").topicId();
        try (ByHand hand = new ByHand(broker, recording, "by-hand")) {
            Asking asking = new Asking(recording, hand);
            byHand(recording, asking, topic);
        }
        delivered(broker, recording);
    }

    private static void byHand(Recording recording, Asking asking, Uuid topic) throws Exception {
        beat(asking, "m-9", "one", 3, null);
        int epoch = join(asking, "m-1", "one");
        epoch = settled(recording, asking, "m-1", "one", epoch, topic, List.of(0, 1));
        commit(asking, "m-1", "one", epoch);
        join(asking, "m-2", "one");
        beat(asking, "m-2", "one", epoch, null);
        beat(asking, "m-1", "two", epoch, null);
        beat(asking, "m-1", null, epoch, null);
        commit(asking, "m-2", "one", epoch);
        commit(asking, "m-1", "two", epoch);
        beat(asking, "m-1", "one", -2, null);
        beat(asking, "m-1", "one", epoch, null);
        commit(asking, "m-1", "one", epoch);
        int taken = join(asking, "m-2", "one");
        beat(asking, "m-1", "one", epoch, null);
        beat(asking, "m-1", "one", -1, null);
        beat(asking, "m-1", "one", -2, null);
        taken = settled(recording, asking, "m-2", "one", taken, topic, List.of(0, 1));
        commit(asking, "m-2", "one", taken);
        beat(asking, "m-2", "one", -2, null);
        recording.call("observer", "sleep", Map.of("ms", 6000), () -> Thread.sleep(6000));
        beat(asking, "m-2", "one", taken, null);
        int late = join(asking, "m-3", "one");
        settled(recording, asking, "m-3", "one", late, topic, List.of(0, 1));
        beat(asking, "m-3", "one", -1, null);
        beat(asking, "m-3", "one", -2, null);
        join(asking, "m-4", "one");
        beat(asking, "m-4", "one", -1, null);
    }

    private static int join(Asking asking, String member, String instance) throws Exception {
        return beat(asking, member, instance, 0, List.of());
    }

    /** Goes on until the member has what it is to have. */
    private static int settled(
            Recording recording, Asking asking, String member, String instance, int epoch, Uuid topic,
            List<Integer> partitions) throws Exception {
        int now = epoch;
        for (int i = 0; i < 3; i++) {
            recording.call("observer", "sleep", Map.of("ms", 500), () -> Thread.sleep(500));
            var owned = List.of(new ConsumerGroupHeartbeatRequestData.TopicPartitions().setTopicId(topic)
                .setPartitions(partitions));
            now = beat(asking, member, instance, now, i == 0 ? null : owned);
        }
        return now;
    }

    private static int beat(
            Asking asking, String member, String instance, int epoch,
            List<ConsumerGroupHeartbeatRequestData.TopicPartitions> owned) throws Exception {
        var data = new ConsumerGroupHeartbeatRequestData().setGroupId(GROUP).setMemberId(member).setInstanceId(instance)
            .setMemberEpoch(epoch);
        if (epoch == 0) {
            data.setRebalanceTimeoutMs(20_000).setSubscribedTopicNames(List.of("src"));
        }
        data.setTopicPartitions(owned);
        var answer = asking.ask(ApiKeys.CONSUMER_GROUP_HEARTBEAT, 1, data,
            "member", member, "instance", String.valueOf(instance), "epoch", epoch);
        ConsumerGroupHeartbeatResponseData told = ((ConsumerGroupHeartbeatResponse) answer).data();
        return told.memberEpoch();
    }

    private static void commit(Asking asking, String member, String instance, int epoch) throws Exception {
        asking.ask(ApiKeys.OFFSET_COMMIT, 9, new OffsetCommitRequestData().setGroupId(GROUP).setMemberId(member)
            .setGroupInstanceId(instance).setGenerationIdOrMemberEpoch(epoch).setTopics(List.of(
                new OffsetCommitRequestData.OffsetCommitRequestTopic().setName("src").setPartitions(List.of(
                    new OffsetCommitRequestData.OffsetCommitRequestPartition().setPartitionIndex(0)
                        .setCommittedOffset(1))))), "member", member, "instance", instance, "epoch", epoch);
    }

    /** Two that stay, one of which is started again; a double of it; one that never comes back. */
    private static void delivered(Broker broker, Recording recording) throws Exception {
        try (KafkaConsumer<String, String> one = member(broker, "one", "one");
             KafkaConsumer<String, String> two = member(broker, "two", "two")) {
            together(recording, one, two);
            recording.call("two", "close", Map.of(), () -> two.close());
            try (KafkaConsumer<String, String> again = member(broker, "two-again", "two")) {
                together(recording, one, again);
                try (KafkaConsumer<String, String> twin = member(broker, "two-twin", "two")) {
                    recording.call("two-twin", "poll", Map.of(), () -> Clients.poll(twin::poll, 2), Clients::seen);
                }
                recording.call("two-again", "close", Map.of(), () -> again.close());
            }
            recording.call("one", "poll", Map.of("rounds", 7), () -> {
                for (int i = 0; i < 7; i++) {
                    one.poll(Clients.WAIT);
                }
                return one.assignment().size();
            }, found -> found);
        }
    }

    private static KafkaConsumer<String, String> member(Broker broker, String name, String instance) {
        KafkaConsumer<String, String> made = Clients.consumer(broker, name, Map.of("group.id", "my-group-5",
            "group.protocol", "consumer", "group.instance.id", instance));
        made.subscribe(List.of("src"));
        return made;
    }

    private static void together(
            Recording recording, KafkaConsumer<String, String> one, KafkaConsumer<String, String> other)
            throws Exception {
        recording.call("both", "poll", Map.of(), () -> {
            for (int i = 0; i < 30 && (one.assignment().size() != 1 || other.assignment().size() != 1); i++) {
                one.poll(java.time.Duration.ofMillis(200));
                other.poll(java.time.Duration.ofMillis(200));
            }
            return List.of(one.assignment().size(), other.assignment().size());
        }, found -> found);
    }
}
