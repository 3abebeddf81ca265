package kipviz.recorder;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Share groups: implicit acknowledgement, renewed locks, several members, limits, committed records only. */
final class ShareModeScenarios {

    private static final String GROUP = "g1";
    private static final String ID = "my-txn";

    private ShareModeScenarios() {
    }

    static List<Scenario> all() {
        return List.of(
            new Scenario("share-implicit",
                "In implicit mode the next poll accepts what the one before brought, and close accepts the last.",
                Map.of(), ShareModeScenarios::implicit),
            new Scenario("share-renew",
                "A member renews a lock, acknowledges after the first lock would have ended, and lets another one end.",
                Map.of("group.share.record.lock.duration.ms", "6000",
                    "group.share.min.record.lock.duration.ms", "1000"),
                ShareModeScenarios::renew),
            new Scenario("share-two-members",
                "Two members read one partition, at most two records each; one leaves and the other gets its records.",
                Map.of(), ShareModeScenarios::twoMembers),
            new Scenario("share-committed",
                "A group that reads committed records gets none of an aborted transaction.",
                Map.of(), ShareModeScenarios::committed));
    }

    private static void implicit(Broker broker, Recording recording) throws Exception {
        start(broker, recording, Map.of());
        try (KafkaShareConsumer<String, String> consumer =
                 member(broker, "share-1", Map.of("share.acknowledgement.mode", "implicit"))) {
            ShareScenarios.join(recording, "share-1", consumer);
            ShareScenarios.poll(recording, "share-1", consumer, 4);
            Clients.fill(broker, recording, 4, 2);
            ShareScenarios.poll(recording, "share-1", consumer, 1);
            ShareScenarios.offsets(recording);
            recording.call("share-1", "close", Map.of(), consumer::close);
        }
        ShareScenarios.offsets(recording);
    }

    private static void renew(Broker broker, Recording recording) throws Exception {
        start(broker, recording, Map.of());
        try (KafkaShareConsumer<String, String> consumer = member(broker, "share-1", Map.of())) {
            ShareScenarios.join(recording, "share-1", consumer);
            var got = ShareScenarios.poll(recording, "share-1", consumer, 4);
            ShareScenarios.acknowledge(recording, "share-1", consumer, got.get(0), AcknowledgeType.RENEW);
            ShareScenarios.acknowledge(recording, "share-1", consumer, got.get(1), AcknowledgeType.ACCEPT);
            ShareScenarios.acknowledge(recording, "share-1", consumer, got.get(2), AcknowledgeType.RENEW);
            ShareScenarios.acknowledge(recording, "share-1", consumer, got.get(3), AcknowledgeType.REJECT);
            ShareScenarios.commit(recording, "share-1", consumer);
            var renewed = ShareScenarios.poll(recording, "share-1", consumer, 2);
            sleep(recording, 2_500);
            ShareScenarios.acknowledge(recording, "share-1", consumer, renewed.get(0), AcknowledgeType.ACCEPT);
            ShareScenarios.acknowledge(recording, "share-1", consumer, renewed.get(1), AcknowledgeType.RENEW);
            ShareScenarios.commit(recording, "share-1", consumer);
            var again = ShareScenarios.poll(recording, "share-1", consumer, 1);
            sleep(recording, 8_000);
            ShareScenarios.acknowledge(recording, "share-1", consumer, again.get(0), AcknowledgeType.ACCEPT);
            ShareScenarios.commit(recording, "share-1", consumer);
            ShareScenarios.offsets(recording);
            recording.call("share-1", "close", Map.of(), consumer::close);
        }
    }

    private static void twoMembers(Broker broker, Recording recording) throws Exception {
        start(broker, recording, Map.of());
        Map<String, String> few = Map.of("max.poll.records", "2", "share.acquire.mode", "record_limit");
        try (KafkaShareConsumer<String, String> one = member(broker, "share-1", few);
             KafkaShareConsumer<String, String> other = member(broker, "share-2", few)) {
            ShareScenarios.join(recording, "share-1", one);
            ShareScenarios.join(recording, "share-2", other);
            var first = ShareScenarios.poll(recording, "share-1", one, 2);
            var second = ShareScenarios.poll(recording, "share-2", other, 2);
            ShareScenarios.acknowledge(recording, "share-2", other, second.get(1), AcknowledgeType.ACCEPT);
            ShareScenarios.acknowledge(recording, "share-2", other, second.get(0), AcknowledgeType.RELEASE);
            ShareScenarios.commit(recording, "share-2", other);
            ShareScenarios.acknowledge(recording, "share-1", one, first.get(0), AcknowledgeType.ACCEPT);
            recording.call("share-1", "close", Map.of(), one::close);
            List<ConsumerRecord<String, String>> again = new ArrayList<>();
            while (again.size() < 2) {
                var got = ShareScenarios.poll(recording, "share-2", other, 1);
                for (var record : got) {
                    ShareScenarios.acknowledge(recording, "share-2", other, record, AcknowledgeType.ACCEPT);
                }
                ShareScenarios.commit(recording, "share-2", other);
                again.addAll(got);
            }
            ShareScenarios.offsets(recording);
            recording.call("share-2", "close", Map.of(), other::close);
        }
    }

    private static void committed(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(ID, GROUP);
        recording.watch(ID);
        Clients.groupSetting(recording, GROUP, new HashMap<>(Map.of(
            "share.auto.offset.reset", "earliest", "share.isolation.level", "read_committed")));
        try (KafkaProducer<String, String> producer = Clients.producer(broker, "app-producer",
                 Map.of("transactional.id", ID, "linger.ms", "0"));
             KafkaShareConsumer<String, String> consumer = member(broker, "share-1", Map.of())) {
            recording.call("app-producer", "initTransactions", Map.of(), producer::initTransactions);
            transaction(recording, producer, "one", true);
            transaction(recording, producer, "two", false);
            transaction(recording, producer, "three", true);
            ShareScenarios.join(recording, "share-1", consumer);
            for (int got = 0; got < 2; ) {
                for (var record : ShareScenarios.poll(recording, "share-1", consumer, 1)) {
                    ShareScenarios.acknowledge(recording, "share-1", consumer, record, AcknowledgeType.ACCEPT);
                    got++;
                }
                ShareScenarios.commit(recording, "share-1", consumer);
            }
            ShareScenarios.offsets(recording);
            recording.call("share-1", "close", Map.of(), consumer::close);
        }
    }

    private static void transaction(
            Recording recording, KafkaProducer<String, String> producer, String value, boolean commits)
            throws Exception {
        recording.call("app-producer", "beginTransaction", Map.of(), producer::beginTransaction);
        ProducerRecord<String, String> record = new ProducerRecord<>("src", 0, value, value);
        recording.call("app-producer", "send", Clients.written(record),
            () -> producer.send(record).get(), Clients::place);
        if (commits) {
            recording.call("app-producer", "commitTransaction", Map.of(), producer::commitTransaction);
        } else {
            recording.call("app-producer", "abortTransaction", Map.of(), producer::abortTransaction);
        }
        TransactionScenarios.settle(recording, ID, commits ? "CompleteCommit" : "CompleteAbort");
    }

    private static void start(Broker broker, Recording recording, Map<String, String> group) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(null, GROUP);
        Clients.fill(broker, recording, 0, 4);
        Map<String, String> settings = new HashMap<>(group);
        settings.put("share.auto.offset.reset", "earliest");
        Clients.groupSetting(recording, GROUP, settings);
    }

    private static void sleep(Recording recording, int ms) throws Exception {
        recording.call("share-1", "sleep", Map.of("ms", ms), () -> Thread.sleep(ms));
    }

    private static KafkaShareConsumer<String, String> member(Broker broker, String name, Map<String, String> more) {
        Map<String, String> settings = new HashMap<>(more);
        settings.put("group.id", GROUP);
        return Clients.shareConsumer(broker, name, settings);
    }
}
