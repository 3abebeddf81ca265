package kipviz.recorder;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.metadata.PartitionRegistration;

/** Who led each partition since when, and which replicas were in sync: read from the controller's log. */
final class Leaders {

    private final Map<Uuid, String> topics = new HashMap<>();
    private final Map<String, PartitionRegistration> known = new HashMap<>();
    private final StringBuilder lines = new StringBuilder();

    private Leaders() {
    }

    /** One line for every change, in the order in which the controller has decided them. */
    static String lines(Path metadata) throws IOException {
        Leaders leaders = new Leaders();
        try (Stream<Path> files = Files.list(metadata)) {
            List<Path> segments = files.filter(f -> f.toString().endsWith(".log")).sorted().toList();
            for (Path segment : segments) {
                leaders.read(segment);
            }
        }
        return leaders.lines.toString();
    }

    private void read(Path segment) throws IOException {
        try (FileRecords records = FileRecords.open(segment.toFile(), false)) {
            for (RecordBatch batch : records.batches()) {
                for (Record record : batch.isControlBatch() ? List.<Record>of() : batch) {
                    ApiMessage said = MetadataRecordSerde.INSTANCE.read(
                        new ByteBufferAccessor(record.value()), record.valueSize()).message();
                    read(said, batch.maxTimestamp());
                }
            }
        }
    }

    private void read(ApiMessage said, long at) throws IOException {
        if (said instanceof TopicRecord topic) {
            topics.put(topic.topicId(), topic.name());
        } else if (said instanceof PartitionRecord made) {
            tell(topics.get(made.topicId()) + "-" + made.partitionId(), new PartitionRegistration(made), at);
        } else if (said instanceof PartitionChangeRecord change) {
            String partition = topics.get(change.topicId()) + "-" + change.partitionId();
            tell(partition, known.get(partition).merge(change), at);
        }
    }

    private void tell(String partition, PartitionRegistration now, long at) throws IOException {
        known.put(partition, now);
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("at", at);
        line.put("partition", partition);
        line.put("leader", now.leader);
        line.put("leader_epoch", now.leaderEpoch);
        line.put("replicas", now.replicas);
        line.put("isr", now.isr);
        lines.append(Recording.JSON.writeValueAsString(line)).append('\n');
    }
}
