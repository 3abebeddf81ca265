package kipviz.recorder;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * One run against a fresh broker, or several; features are the levels that are finalized when its storage is made. With
 * principals the broker has Kafka's authorizer, which allows them nothing at first.
 */
record Scenario(
        String name, String sentence, Map<String, String> settings, Map<String, String> features,
        List<String> principals, Opening opening, Body body) {

    Scenario(
            String name, String sentence, Map<String, String> settings, Map<String, String> features,
            List<String> principals, Body body) {
        this(name, sentence, settings, features, principals, Broker::new, body);
    }

    Scenario(String name, String sentence, Map<String, String> settings, Map<String, String> features, Body body) {
        this(name, sentence, settings, features, List.of(), body);
    }

    Scenario(String name, String sentence, Map<String, String> settings, Body body) {
        this(name, sentence, settings, Map.of(), body);
    }

    /** Starts what a scenario runs against. */
    interface Opening {
        Broker open(Path home, Scenario scenario) throws IOException;
    }

    interface Body {
        void run(Broker broker, Recording recording) throws Exception;
    }
}
