package kipviz.recorder;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.InitProducerIdRequestData;
import org.apache.kafka.common.requests.InitProducerIdRequest;

/** What an operator asks and does about transactions, and two-phase commit as far as the release serves it. */
final class OperatorScenarios {

    private static final String ID = "my-txn";
    private static final TopicPartition OUTPUT = new TopicPartition("output-A", 0);

    private OperatorScenarios() {
    }

    static List<Scenario> all() {
        return List.of(
            new Scenario("operator",
                "An operator lists and describes transactions, aborts one in a partition, ends one, fences a producer.",
                Map.of(), OperatorScenarios::operator),
            new Scenario("two-phase",
                "Transactions without a time limit: a producer that is gone, and one that asks to keep what is open.",
                Map.of("transaction.two.phase.commit.enable", "true", "unstable.api.versions.enable", "true",
                    "transaction.abort.timed.out.transaction.cleanup.interval.ms", "500"),
                OperatorScenarios::twoPhase));
    }

    private static void operator(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(ID, null);
        recording.watch(ID);
        Map<String, Object> settings = Map.of("bootstrap.servers", broker.address, "client.id", "operator");
        try (Admin operator = Admin.create(settings);
             KafkaProducer<String, String> producer = producer(broker, "producer-1", Map.of())) {
            recording.call("producer-1", "initTransactions", Map.of(), producer::initTransactions);
            look(recording, operator);
            begin(recording, "producer-1", producer);
            send(recording, "producer-1", producer, "one");
            look(recording, operator);
            recording.call("operator", "describeTransactions", Map.of("id", "nobody"),
                () -> operator.describeTransactions(List.of("nobody")).description("nobody").get());
            abort(recording, operator);
            look(recording, operator);
            send(recording, "producer-1", producer, "two");
            recording.call("producer-1", "abortTransaction", Map.of(), producer::abortTransaction);
            TransactionScenarios.settle(recording, ID, "CompleteAbort");
            begin(recording, "producer-1", producer);
            send(recording, "producer-1", producer, "three");
            recording.call("operator", "forceTerminateTransaction", Map.of("id", ID),
                () -> operator.forceTerminateTransaction(ID).result().get());
            TransactionScenarios.settle(recording, ID, "CompleteAbort");
            look(recording, operator);
            recording.call("producer-1", "commitTransaction", Map.of(), producer::commitTransaction);
        }
        try (Admin operator = Admin.create(settings);
             KafkaProducer<String, String> producer = producer(broker, "producer-2", Map.of())) {
            recording.call("producer-2", "initTransactions", Map.of(), producer::initTransactions);
            begin(recording, "producer-2", producer);
            send(recording, "producer-2", producer, "four");
            recording.call("operator", "fenceProducers", Map.of("id", ID),
                () -> operator.fenceProducers(List.of(ID)).all().get());
            send(recording, "producer-2", producer, "five");
            recording.call("producer-2", "abortTransaction", Map.of(), producer::abortTransaction);
            look(recording, operator);
        }
    }

    private static void look(Recording recording, Admin operator) throws Exception {
        recording.call("operator", "listTransactions", Map.of(),
            () -> operator.listTransactions().all().get().toString(), found -> found);
        recording.call("operator", "listTransactions", Map.of("states", List.of("Ongoing"), "pattern", "my-.*"),
            () -> operator.listTransactions(new ListTransactionsOptions()
                .filterStates(Set.of(TransactionState.ONGOING)).filterOnTransactionalIdPattern("my-.*"))
                .all().get().size(), found -> found);
        recording.call("operator", "describeTransactions", Map.of("id", ID),
            () -> operator.describeTransactions(List.of(ID)).description(ID).get().state().toString(),
            found -> found);
        recording.call("operator", "describeProducers", Map.of("partition", "output-A-0"),
            () -> operator.describeProducers(List.of(OUTPUT)).partitionResult(OUTPUT).get().activeProducers().size(),
            found -> found);
    }

    /** As kafka-transactions.sh does it: the marker goes to the partition, and the coordinator hears nothing. */
    private static void abort(Recording recording, Admin operator) throws Exception {
        var found = operator.describeProducers(List.of(OUTPUT)).partitionResult(OUTPUT).get()
            .activeProducers().iterator().next();
        int coordinatorEpoch = found.coordinatorEpoch().orElse(0);
        Map<String, Object> arguments = new LinkedHashMap<>();
        arguments.put("partition", "output-A-0");
        arguments.put("producer_id", found.producerId());
        arguments.put("producer_epoch", found.producerEpoch());
        arguments.put("coordinator_epoch", coordinatorEpoch);
        recording.call("operator", "abortTransaction", arguments,
            () -> operator.abortTransaction(new AbortTransactionSpec(
                OUTPUT, found.producerId(), (short) found.producerEpoch(), coordinatorEpoch)).all().get());
    }

    private static void twoPhase(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(ID, null);
        recording.watch(ID);
        Map<String, String> unlimited = Map.of("transaction.two.phase.commit.enable", "true");
        KafkaProducer<String, String> gone = producer(broker, "producer-1", unlimited);
        recording.call("producer-1", "initTransactions", Map.of(), gone::initTransactions);
        begin(recording, "producer-1", gone);
        send(recording, "producer-1", gone, "one");
        recording.call("producer-1", "close", Map.of("timeout.ms", 0), () -> gone.close(Duration.ZERO));
        recording.call("observer", "sleep", Map.of("ms", 2000), () -> Thread.sleep(2000));
        keep(broker, recording, true, true);
        keep(broker, recording, true, true);
        keep(broker, recording, true, false);
        TransactionScenarios.settle(recording, ID, "CompleteAbort");
        keep(broker, recording, true, true);
        keep(broker, recording, false, true);
        keep(broker, recording, true, false);
        try (KafkaProducer<String, String> producer = producer(broker, "producer-2", unlimited)) {
            recording.call("producer-2", "initTransactions", Map.of(), producer::initTransactions);
            begin(recording, "producer-2", producer);
            send(recording, "producer-2", producer, "two");
            recording.call("producer-2", "commitTransaction", Map.of(), producer::commitTransaction);
            TransactionScenarios.settle(recording, ID, "CompleteCommit");
        }
    }

    /** Sends InitProducerId in version 6, which no client of the release sends by itself. */
    private static void keep(Broker broker, Recording recording, boolean enable, boolean keep) throws Exception {
        var data = new InitProducerIdRequestData().setTransactionalId(ID)
            .setTransactionTimeoutMs(enable ? Integer.MAX_VALUE : 60_000).setProducerId(-1).setProducerEpoch((short) -1)
            .setEnable2Pc(enable).setKeepPreparedTxn(keep);
        try (ByHand hand = new ByHand(broker, recording, "by-hand")) {
            hand.call(Map.of("version", 6, "enable2Pc", enable, "keepPreparedTxn", keep),
                new InitProducerIdRequest.Builder(data).build((short) 6));
        }
    }

    private static KafkaProducer<String, String> producer(Broker broker, String name, Map<String, String> more) {
        Map<String, String> settings = new LinkedHashMap<>(Map.of("transactional.id", ID, "linger.ms", "0"));
        settings.putAll(more);
        return Clients.producer(broker, name, settings);
    }

    private static void begin(Recording recording, String name, KafkaProducer<String, String> producer)
            throws Exception {
        recording.call(name, "beginTransaction", Map.of(), producer::beginTransaction);
    }

    private static void send(Recording recording, String name, KafkaProducer<String, String> producer, String value)
            throws Exception {
        ProducerRecord<String, String> record = new ProducerRecord<>("output-A", 0, value, value);
        recording.call(name, "send", Clients.written(record), () -> producer.send(record).get(), Clients::place);
    }
}
