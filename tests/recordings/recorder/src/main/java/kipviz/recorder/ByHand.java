package kipviz.recorder;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.message.SaslAuthenticateRequestData;
import org.apache.kafka.common.message.SaslHandshakeRequestData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.Records;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.SaslAuthenticateRequest;
import org.apache.kafka.common.requests.SaslAuthenticateResponse;
import org.apache.kafka.common.requests.SaslHandshakeRequest;

/** One connection over which requests are sent that no client of the release sends by itself. */
final class ByHand implements AutoCloseable {

    private static final int PATIENCE_MS = 20_000;

    private final Recording recording;
    private final String name;
    private final Socket socket;
    private int sent;

    ByHand(Broker broker, Recording recording, String name) throws IOException {
        this(recording, name, broker.address);
    }

    /** Opens a connection as a principal. */
    ByHand(Broker broker, Recording recording, String name, String principal) throws IOException {
        this(recording, name, broker.named);
        ask(new SaslHandshakeRequest.Builder(new SaslHandshakeRequestData().setMechanism("PLAIN")).build((short) 1));
        byte[] told = ("\0" + principal + "\0" + broker.secret).getBytes(StandardCharsets.UTF_8);
        var answer = ask(new SaslAuthenticateRequest(new SaslAuthenticateRequestData().setAuthBytes(told), (short) 2));
        if (((SaslAuthenticateResponse) answer).error() != Errors.NONE) {
            throw new IllegalStateException("The broker does not know " + principal + ".");
        }
    }

    /** Opens a connection to one of several brokers. */
    ByHand(Recording recording, String name, String address) throws IOException {
        this.recording = recording;
        this.name = name;
        String[] place = address.split(":");
        socket = new Socket(place[0], Integer.parseInt(place[1]));
        socket.setSoTimeout(PATIENCE_MS);
    }

    /** Sends a request as a call of the recording; what is answered is in the wire file. */
    AbstractResponse call(Map<String, ?> arguments, AbstractRequest request) throws Exception {
        Map<String, Object> noted = new LinkedHashMap<>(arguments);
        if (request instanceof ProduceRequest produce) {
            noted.put("correlation", sent);
            noted.put("batches", batches(produce));
        }
        AbstractResponse[] answered = new AbstractResponse[1];
        recording.call(name, request.apiKey().name, noted, () -> {
            answered[0] = ask(request);
        });
        return answered[0];
    }

    /** What a request log does not have: the batches that were sent. */
    private static List<Map<String, Object>> batches(ProduceRequest request) {
        List<Map<String, Object>> found = new ArrayList<>();
        request.data().topicData().forEach(topic -> topic.partitionData().forEach(partition -> {
            for (RecordBatch batch : ((Records) partition.records()).batches()) {
                Map<String, Object> view = new LinkedHashMap<>();
                view.put("topic", topic.name().isEmpty() ? topic.topicId().toString() : topic.name());
                view.put("partition", partition.index());
                view.put("producer_id", batch.producerId());
                view.put("producer_epoch", batch.producerEpoch());
                view.put("base_sequence", batch.baseSequence());
                view.put("transactional", batch.isTransactional());
                List<String> values = new ArrayList<>();
                batch.forEach(record -> values.add(StandardCharsets.UTF_8.decode(record.value()).toString()));
                view.put("values", values);
                found.add(view);
            }
        }));
        return found;
    }

    /** Sends a request and waits for its answer. */
    AbstractResponse ask(AbstractRequest request) throws IOException {
        RequestHeader header = new RequestHeader(request.apiKey(), request.version(), name, sent++);
        ByteBuffer bytes = request.serializeWithHeader(header);
        DataOutputStream out = new DataOutputStream(socket.getOutputStream());
        out.writeInt(bytes.remaining());
        out.write(bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining());
        out.flush();
        DataInputStream in = new DataInputStream(socket.getInputStream());
        byte[] answer = new byte[in.readInt()];
        in.readFully(answer);
        return AbstractResponse.parseResponse(ByteBuffer.wrap(answer), header);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
