package kipviz.recorder;

import java.util.Map;

/** One run against a fresh broker. */
record Scenario(String name, String sentence, Map<String, String> settings, Body body) {

    interface Body {
        void run(Broker broker, Recording recording) throws Exception;
    }
}
