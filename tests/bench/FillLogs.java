import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Fills a broker's logs with small batches of transactions, for bench_logs.py: java -cp "libs/*" FillLogs.java
 * BOOTSTRAP LOGS MEGABYTES PRODUCERS SEED TOPIC:PARTITIONS...
 *
 * <p>Each transactional id is one KafkaProducer in one thread. A transaction has 20 to 4,000 batches of about 34
 * records in some of the partitions; one in ten aborts, one in eight has offsets of a group. At the start, at each quarter
 * and at the end another producer writes into the first and the last partition, and its transaction stays open. It ends when
 * the broker's folder LOGS has so many megabytes in segment files: each producer ends its transaction first.
 */
public final class FillLogs {
    private static final byte[] VALUE = new byte[50];
    // A record takes about 57 bytes, so a batch is full with about 34.
    private static final int BATCH_BYTES = 2_048;
    private static final int RECORDS = 34;
    private static final int QUARTERS = 4;

    private static KafkaProducer<byte[], byte[]> producer(String bootstrap, String id) {
        Properties told = new Properties();
        told.put("bootstrap.servers", bootstrap);
        told.put("transactional.id", id);
        told.put("batch.size", BATCH_BYTES);
        told.put("linger.ms", 20);
        told.put("buffer.memory", 8 << 20);
        // While one request is under way the next one gathers a batch of each partition: many more batches a second.
        told.put("max.in.flight.requests.per.connection", 1);
        told.put("transaction.timeout.ms", 900_000);
        // A machine with much other work may take a minute for an answer.
        told.put("max.block.ms", 600_000);
        told.put("delivery.timeout.ms", 600_000);
        KafkaProducer<byte[], byte[]> made =
                new KafkaProducer<>(told, new ByteArraySerializer(), new ByteArraySerializer());
        made.initTransactions();
        return made;
    }

    public static void main(String[] words) throws Exception {
        String bootstrap = words[0];
        Path logs = Path.of(words[1]);
        long bytes = Long.parseLong(words[2]) * 1_000_000;
        int producers = Integer.parseInt(words[3]);
        long seed = Long.parseLong(words[4]);
        List<TopicPartition> partitions = new ArrayList<>();
        for (int at = 5; at < words.length; at++) {
            String[] topic = words[at].split(":");
            for (int index = 0; index < Integer.parseInt(topic[1]); index++) {
                partitions.add(new TopicPartition(topic[0], index));
            }
        }
        AtomicLong written = new AtomicLong();
        List<Thread> threads = new ArrayList<>();
        List<Throwable> failed = Collections.synchronizedList(new ArrayList<>());
        for (int at = 0; at < producers; at++) {
            String id = "filler-" + at;
            Random dice = new Random(seed + at);
            Thread thread = new Thread(() -> fill(bootstrap, id, dice, partitions, written, bytes));
            thread.setUncaughtExceptionHandler((who, why) -> failed.add(why));
            thread.start();
            threads.add(thread);
        }
        for (int quarter = 0; quarter <= QUARTERS; quarter++) {
            long due = bytes * quarter / QUARTERS;
            while (written.get() < due && failed.isEmpty()) {
                Thread.sleep(200);
                written.set(bytesIn(logs));
            }
            KafkaProducer<byte[], byte[]> open = producer(bootstrap, "open-" + quarter);
            open.beginTransaction();
            for (TopicPartition each : List.of(partitions.get(0), partitions.get(partitions.size() - 1))) {
                open.send(new ProducerRecord<>(each.topic(), each.partition(), null, VALUE));
            }
            open.flush();
            System.out.println(written.get() + " bytes");
        }
        for (Thread thread : threads) {
            thread.join();
        }
        for (Throwable why : failed) {
            System.err.println(why);
        }
        // What is open stays open: nothing is closed, because that would abort it.
        Runtime.getRuntime().halt(failed.isEmpty() ? 0 : 1);
    }

    /** A broker renames and removes files of its own meanwhile: what is gone when it is looked at counts nothing. */
    private static long bytesIn(Path logs) {
        long bytes = 0;
        for (File partition : listed(logs.toFile())) {
            for (File file : listed(partition)) {
                bytes += file.getName().endsWith(".log") ? file.length() : 0;
            }
        }
        return bytes;
    }

    private static File[] listed(File folder) {
        File[] files = folder.listFiles();
        return files == null ? new File[0] : files;
    }

    private static void fill(
            String bootstrap, String id, Random dice, List<TopicPartition> partitions, AtomicLong written, long bytes) {
        KafkaProducer<byte[], byte[]> producer = producer(bootstrap, id);
        List<TopicPartition> some = new ArrayList<>(partitions);
        while (written.get() < bytes) {
            Collections.shuffle(some, dice);
            int used = 1 + dice.nextInt(some.size());
            int size = 20 + dice.nextInt(3_981);
            producer.beginTransaction();
            for (int record = 0; record < size * RECORDS; record++) {
                TopicPartition to = some.get(record % used);
                producer.send(new ProducerRecord<>(to.topic(), to.partition(), null, VALUE));
            }
            if (dice.nextInt(8) == 0) {
                producer.sendOffsetsToTransaction(
                        Map.of(some.get(0), new OffsetAndMetadata(dice.nextInt(1_000))),
                        new ConsumerGroupMetadata("readers"));
            }
            if (dice.nextInt(10) == 0) {
                producer.abortTransaction();
            } else {
                producer.commitTransaction();
            }
        }
    }
}
