package kipviz.recorder;

import java.util.List;
import java.util.Map;

/**
 * One run against a fresh broker; features are the levels that are finalized when its storage is made. With principals
 * the broker has Kafka's authorizer, which allows them nothing at first.
 */
record Scenario(
        String name, String sentence, Map<String, String> settings, Map<String, String> features,
        List<String> principals, Body body) {

    Scenario(String name, String sentence, Map<String, String> settings, Map<String, String> features, Body body) {
        this(name, sentence, settings, features, List.of(), body);
    }

    Scenario(String name, String sentence, Map<String, String> settings, Body body) {
        this(name, sentence, settings, Map.of(), body);
    }

    interface Body {
        void run(Broker broker, Recording recording) throws Exception;
    }
}
