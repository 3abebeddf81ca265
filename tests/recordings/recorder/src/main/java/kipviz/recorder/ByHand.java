package kipviz.recorder;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestHeader;

/** One connection over which requests are sent that no client of the release sends by itself. */
final class ByHand implements AutoCloseable {

    private static final int PATIENCE_MS = 20_000;

    private final Recording recording;
    private final String name;
    private final Socket socket;
    private int sent;

    ByHand(Broker broker, Recording recording, String name) throws IOException {
        this.recording = recording;
        this.name = name;
        String[] place = broker.address.split(":");
        socket = new Socket(place[0], Integer.parseInt(place[1]));
        socket.setSoTimeout(PATIENCE_MS);
    }

    /** Sends a request as a call of the recording; what is answered is in the wire file. */
    AbstractResponse call(Map<String, ?> arguments, AbstractRequest request) throws Exception {
        AbstractResponse[] answered = new AbstractResponse[1];
        recording.call(name, request.apiKey().name, arguments, () -> {
            answered[0] = ask(request);
        });
        return answered[0];
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
