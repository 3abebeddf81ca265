package kipviz.recorder;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.EndTxnRequestData;
import org.apache.kafka.common.message.InitProducerIdRequestData;
import org.apache.kafka.common.message.InitProducerIdResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.InitProducerIdResponse;
import org.apache.kafka.common.requests.RequestHeader;

/** Numbers of producers that are not as they should be: batches out of sequence, and the last epoch of an id. */
final class SequenceScenarios {

    private static final String ID = "my-txn";
    private static final int LAST_EPOCH = Short.MAX_VALUE - 1;
    private static final List<String> OUTPUT = List.of("output-A");
    private static final List<String> SOURCE = List.of("src");

    private SequenceScenarios() {
    }

    static List<Scenario> all() {
        return List.of(
            new Scenario("wrong-sequences",
                "Batches with gaps, twice, too late, of older and of newer epochs: with a transaction and without.",
                Map.of(), SequenceScenarios::sequences),
            new Scenario("last-epoch",
                "A transactional id comes to the last epoch of its producer id and goes on with another one.",
                Map.of("log.cleaner.backoff.ms", "200"), SequenceScenarios::lastEpoch));
    }

    // -- wrong-sequences -----------------------------------------------------------------------------

    private static void sequences(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(ID, null);
        recording.watch(ID);
        try (ByHand hand = new ByHand(broker, recording, "by-hand")) {
            Asking asking = new Asking(recording, hand);
            Asking.Producer one = init(asking, null, -1, -1);
            plain(asking, one);
            Asking.Producer other = init(asking, ID, -1, -1);
            transactional(recording, asking, other);
        }
    }

    private static void plain(Asking asking, Asking.Producer one) throws Exception {
        produce(asking, null, one, 0, SOURCE, "a", "b");
        produce(asking, null, one, 2, SOURCE, "c");
        produce(asking, null, one, 2, SOURCE, "c");
        produce(asking, null, one, 0, SOURCE, "a", "b");
        produce(asking, null, one, 5, SOURCE, "a gap");
        produce(asking, null, one, 1, SOURCE, "in between");
        for (int i = 3; i < 8; i++) {
            produce(asking, null, one, i, SOURCE, "v" + i);
        }
        produce(asking, null, one, 3, SOURCE, "v3");
        produce(asking, null, one, 2, SOURCE, "c");
        produce(asking, null, one, 0, SOURCE, "a", "b");
        produce(asking, null, one, 3, OUTPUT, "the first one here");
        produce(asking, null, one, 5, OUTPUT, "a gap");
        Asking.Producer newer = new Asking.Producer(one.id(), (short) (one.epoch() + 1));
        produce(asking, null, newer, 4, SOURCE, "a newer epoch from the middle");
        produce(asking, null, newer, 0, SOURCE, "a newer epoch");
        produce(asking, null, one, 8, SOURCE, "an older epoch");
        produce(asking, null, new Asking.Producer(one.id() + 7, (short) 0), 9, SOURCE, "of nobody");
    }

    private static void transactional(Recording recording, Asking asking, Asking.Producer other) throws Exception {
        produce(asking, ID, other, 0, OUTPUT, "one");
        produce(asking, ID, other, 1, OUTPUT, "two");
        produce(asking, ID, other, 1, OUTPUT, "two");
        produce(asking, ID, other, 3, OUTPUT, "a gap");
        produce(asking, null, other, 2, OUTPUT, "not of the transaction");
        produce(asking, ID, new Asking.Producer(other.id(), (short) (other.epoch() + 1)), 0, OUTPUT, "too new");
        end(asking, other, true);
        Asking.settle(recording, ID);
        produce(asking, ID, other, 2, OUTPUT, "of the epoch before");
        Asking.Producer next = Asking.now(recording, ID);
        produce(asking, ID, next, 4, OUTPUT, "from the middle");
        produce(asking, ID, next, 0, OUTPUT, "three");
        produce(asking, ID, other, 2, OUTPUT, "of the epoch before");
        end(asking, next, false);
        Asking.settle(recording, ID);
    }

    /** A moment later, so that what was answered before stands in the log by then. */
    private static void produce(
            Asking asking, String id, Asking.Producer as, int sequence, List<String> topics, String... values)
            throws Exception {
        Thread.sleep(100);
        asking.produce(id, as, sequence, topics, values);
    }

    private static Asking.Producer init(Asking asking, String id, long producerId, int epoch) throws Exception {
        while (true) {
            var answer = asking.ask(ApiKeys.INIT_PRODUCER_ID, 5, new InitProducerIdRequestData().setTransactionalId(id)
                .setTransactionTimeoutMs(60_000).setProducerId(producerId).setProducerEpoch((short) epoch),
                "id", String.valueOf(id), "producer_id", producerId, "producer_epoch", epoch);
            InitProducerIdResponseData told = ((InitProducerIdResponse) answer).data();
            if (told.errorCode() != Errors.COORDINATOR_LOAD_IN_PROGRESS.code()) {
                return new Asking.Producer(told.producerId(), told.producerEpoch());
            }
            Thread.sleep(200);
        }
    }

    private static void end(Asking asking, Asking.Producer as, boolean commits) throws Exception {
        asking.ask(ApiKeys.END_TXN, 5, new EndTxnRequestData().setTransactionalId(ID).setProducerId(as.id())
            .setProducerEpoch(as.epoch()).setCommitted(commits),
            "producer_id", as.id(), "producer_epoch", as.epoch(), "committed", commits);
    }

    // -- last-epoch ----------------------------------------------------------------------------------

    /**
     * The observer asks for one epoch after the other, which is in no file; the log is compacted meanwhile, so that it
     * stays short.
     */
    private static void lastEpoch(Broker broker, Recording recording) throws Exception {
        Clients.topics(recording, "src", "output-A");
        recording.awaitCoordinators(ID, null);
        settings(recording, Map.of("segment.bytes", "1048576", "min.cleanable.dirty.ratio", "0.01"));
        climb(broker, recording, LAST_EPOCH - 6);
        settings(recording, Map.of("segment.ms", "1000"));
        Thread.sleep(2_000);
        climb(broker, recording, LAST_EPOCH - 5);
        Thread.sleep(20_000);
        settings(recording, Map.of("segment.ms", "604800000"));
        recording.watch(ID);
        try (ByHand hand = new ByHand(broker, recording, "by-hand")) {
            Asking asking = new Asking(recording, hand);
            transaction(recording, asking, true);
            Asking.Producer before = Asking.now(recording, ID);
            init(asking, ID, before.id(), before.epoch());
            init(asking, ID, before.id(), before.epoch());
            Asking.Producer last = before;
            for (int i = 0; i < 5; i++) {
                Asking.Producer as = transaction(recording, asking, i % 2 == 0);
                last = as.id() == before.id() ? as : last;
            }
            Asking.Producer next = Asking.now(recording, ID);
            end(asking, last, true);
            asking.produce(ID, last, 1, OUTPUT, "of the id before");
            init(asking, ID, last.id(), last.epoch());
            init(asking, ID, before.id(), before.epoch());
            init(asking, ID, next.id(), next.epoch());
            init(asking, ID, -1, -1);
            transaction(recording, asking, false);
        }
    }

    private static Asking.Producer transaction(Recording recording, Asking asking, boolean commits) throws Exception {
        Asking.Producer now = Asking.now(recording, ID);
        asking.produce(ID, now, 0, OUTPUT, "epoch " + now.epoch());
        end(asking, now, commits);
        Asking.settle(recording, ID);
        return now;
    }

    /** Asks for one epoch after the other until a certain one is reached. */
    private static void climb(Broker broker, Recording recording, int epoch) throws Exception {
        for (int now = Asking.now(recording, ID).epoch(); now < epoch; now = Asking.now(recording, ID).epoch()) {
            climb(broker, epoch - now);
        }
    }

    private static void climb(Broker broker, int epochs) throws Exception {
        RequestHeader header = new RequestHeader(ApiKeys.INIT_PRODUCER_ID, (short) 5, "observer-climbing", 0);
        ByteBuffer bytes = Asking.request(ApiKeys.INIT_PRODUCER_ID, 5, new InitProducerIdRequestData()
            .setTransactionalId(ID).setTransactionTimeoutMs(60_000)).serializeWithHeader(header);
        byte[] request = new byte[4 + bytes.remaining()];
        ByteBuffer.wrap(request).putInt(bytes.remaining()).put(bytes);
        String[] place = broker.address.split(":");
        try (Socket socket = new Socket(place[0], Integer.parseInt(place[1]))) {
            socket.setTcpNoDelay(true);
            socket.setSoTimeout(20_000);
            DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            for (int i = 0; i < epochs; i++) {
                socket.getOutputStream().write(request);
                in.readNBytes(in.readInt());
            }
        }
    }

    private static void settings(Recording recording, Map<String, String> wanted) throws Exception {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, "__transaction_state");
        Collection<AlterConfigOp> changes = wanted.entrySet().stream().map(each ->
            new AlterConfigOp(new ConfigEntry(each.getKey(), each.getValue()), AlterConfigOp.OpType.SET)).toList();
        recording.observer().incrementalAlterConfigs(Map.of(topic, changes)).all().get();
    }
}
