package kipviz.recorder;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;

/** Requests by hand in any version, from their fields alone. */
final class Asking {

    private final Recording recording;
    private final ByHand hand;

    Asking(Recording recording, ByHand hand) {
        this.recording = recording;
        this.hand = hand;
    }

    AbstractResponse ask(ApiKeys api, int version, ApiMessage data, Object... told) throws Exception {
        Map<String, Object> arguments = new LinkedHashMap<>(Map.of("version", version));
        for (int i = 0; i < told.length; i += 2) {
            arguments.put((String) told[i], told[i + 1]);
        }
        return hand.call(arguments, request(api, version, data));
    }

    static AbstractRequest request(ApiKeys api, int version, ApiMessage data) {
        var bytes = MessageUtil.toByteBufferAccessor(data, (short) version);
        return AbstractRequest.parseRequest(api, (short) version, bytes).request;
    }

    /** Who the coordinator says the producer is now; nobody yet is 0 and 0. */
    static Producer now(Recording recording, String id) throws Exception {
        try {
            TransactionDescription found = recording.observer().describeTransactions(List.of(id)).description(id).get();
            return new Producer(found.producerId(), (short) found.producerEpoch());
        } catch (java.util.concurrent.ExecutionException nobody) {
            return new Producer(0, (short) 0);
        }
    }

    /** Waits until no transaction of the id is open or about to end, which no client waits for. */
    static void settle(Recording recording, String id) throws Exception {
        recording.call("observer", "waitForEnd", Map.of("id", id), () -> {
            for (int i = 0; i < 100; i++) {
                try {
                    var found = recording.observer().describeTransactions(List.of(id)).description(id).get();
                    if (found.state() != TransactionState.PREPARE_COMMIT
                            && found.state() != TransactionState.PREPARE_ABORT) {
                        return;
                    }
                } catch (java.util.concurrent.ExecutionException nobody) {
                    return;
                }
                Thread.sleep(50);
            }
        });
    }

    record Producer(long id, short epoch) {
    }

    /** One batch to each partition 0 of some topics; without an identity if the producer's id is -1. */
    void produce(String id, Producer as, int sequence, List<String> topics, String... values) throws Exception {
        var all = new ProduceRequestData.TopicProduceDataCollection();
        for (String topic : topics) {
            all.add(new ProduceRequestData.TopicProduceData().setName(topic).setPartitionData(List.of(
                new ProduceRequestData.PartitionProduceData().setIndex(0).setRecords(records(id, as, sequence, values)))));
        }
        ask(ApiKeys.PRODUCE, 12, new ProduceRequestData().setTransactionalId(id).setAcks((short) -1)
            .setTimeoutMs(5_000).setTopicData(all));
    }

    private static MemoryRecords records(String id, Producer as, int sequence, String... values) {
        SimpleRecord[] records = new SimpleRecord[values.length];
        for (int i = 0; i < values.length; i++) {
            records[i] = new SimpleRecord(System.currentTimeMillis(), values[i].getBytes());
        }
        if (as.id() < 0) {
            return MemoryRecords.withRecords(Compression.NONE, records);
        }
        return id == null
            ? MemoryRecords.withIdempotentRecords(Compression.NONE, as.id(), as.epoch(), sequence, records)
            : MemoryRecords.withTransactionalRecords(Compression.NONE, as.id(), as.epoch(), sequence, records);
    }
}
