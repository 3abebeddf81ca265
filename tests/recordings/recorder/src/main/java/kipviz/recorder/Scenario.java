package kipviz.recorder;

import java.util.Map;

/** One run against a fresh broker; features are the levels that are finalized when its storage is made. */
record Scenario(
        String name, String sentence, Map<String, String> settings, Map<String, String> features, Body body) {

    Scenario(String name, String sentence, Map<String, String> settings, Body body) {
        this(name, sentence, settings, Map.of(), body);
    }

    interface Body {
        void run(Broker broker, Recording recording) throws Exception;
    }
}
